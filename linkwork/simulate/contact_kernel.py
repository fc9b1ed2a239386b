"""A step with contacts as a kernel of its own, with derivatives."""

from dataclasses import replace

from ..dynamics import Dynamics
from ..errors import SimulationError
from ..kernels import RobotKernel, UserKernel
from ..lie.scalars import like
from ..motion.contact_step import contact_step
from .contact import ContactSolver, derivative_law, law_of, picked, smooth

MOST = 16  # blocks: the derivative solves a linear system of three rows for each in straight-line code


def contact_kernel(robot: Dynamics, *, dt: float, solver: ContactSolver | None = None) -> RobotKernel:
    """The step of `rollout(method="contact")` as a kernel: (q, v, tau, impulse) -> (q, v, impulse).

    impulse (3 n,) is that of the step before, or zeros. It is a kernel like all others: batches, NumPy, torch, JAX and CuPy arrays,
    `jvp`, `vjp`, `jacobian`. Its derivative is that of the solved problem, by the implicit function theorem, where each contact is
    strictly open, stuck or sliding; at a change between these there is none, and what comes out is that of one side. Where a problem is
    not solved to 1e-6, it is the derivative of the rounds that were made.
    """
    solver = solver or ContactSolver(rounds=60, tolerance=1e-9)
    if robot.constraints is not None or robot.rolled:
        raise SimulationError(f"{robot.model.name} has loops or is rolled: there is no kernel of a step with contacts. Use lw.simulate.")
    law = replace(law_of(robot, limits=solver.limits, recovery=solver.recovery), friction_first=solver.friction == "first")
    if not 0 < law.count <= MOST:
        raise SimulationError(
            f"{robot.model.name} has {law.count} contact points, limits and dry joints; a kernel of a step takes 1 to {MOST}. Name what "
            'touches, as in model.with_contacts(["left foot", "right foot"]).'
        )
    law = derivative_law(robot, law, solver)
    lowered, own, h = robot.lowered, robot.lowered.joint_space, float(dt)

    def step(q, v, tau, impulse):
        nodes, dry = smooth(own.mapped(lambda name, index, x: like(x, q)))
        found = contact_step(law, solver.differentiable, lowered.system(nodes), q, v, tau, impulse, like(h, q), picked(dry, law.rough))
        return found[:3]

    return UserKernel(robot, step, {"impulse": 3 * law.count})
