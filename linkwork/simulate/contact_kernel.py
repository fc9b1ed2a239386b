"""A step with contacts as a kernel of its own, with derivatives."""

from dataclasses import replace
from math import inf

from ..dynamics import Dynamics
from ..errors import SimulationError
from ..kernels import RobotKernel, UserKernel
from ..lie.scalars import like
from .contact import ContactSolver, check_touching, derivative_law, law_of
from .contact_rollout import moved_with_contacts
from .whole_step import LENGTH, TAU

MOST = 16  # blocks: the derivative solves a linear system of three rows for each in straight-line code


def contact_kernel(robot: Dynamics, *, dt: float, solver: ContactSolver | None = None) -> RobotKernel:
    """The step of `rollout(method="contact")` as a kernel: (q, v, tau, impulse) -> (q, v, impulse).

    impulse (3 n,) is that of the step before, or zeros. It is a kernel like all others: batches, NumPy, torch, JAX and CuPy arrays,
    `jvp`, `vjp`, `jacobian`. Its derivative is that of the solved problem, by the implicit function theorem, where each contact is
    strictly open, stuck or sliding; at a change between these there is none, and what comes out is that of one side. Where a problem is
    not solved, it is that of a Newton step from what was found. Loops are closed first, as in a rollout.
    """
    solver = solver or ContactSolver(rounds=60, tolerance=1e-9)
    if not 0 < dt < inf:
        raise SimulationError(f"dt is {dt}; it must be a positive number of seconds.")
    if robot.rolled:
        raise SimulationError(f"{robot.model.name} is rolled: there is no kernel of a step with contacts. Use lw.simulate.")
    if robot.constraints is not None and robot.constraints.set.drives:
        raise SimulationError(f"{robot.model.name} has drives, which move in time: use lw.rollout, whose steps know their time.")
    law = replace(law_of(robot, limits=solver.limits, recovery=solver.recovery), friction_first=solver.friction == "first")
    check_touching(robot, law, "robot.forward_dynamics in a kernel of your own")
    if law.count > MOST:
        raise SimulationError(
            f"{robot.model.name} has {law.count} contact points, limits and dry joints; a kernel of a step takes {MOST} at most. Name what "
            'touches, as in model.with_contacts(["left foot", "right foot"]).'
        )
    moved, h = moved_with_contacts(robot, derivative_law(law, solver), solver.differentiable, None, None), float(dt)

    def step(q, v, tau, impulse):
        return moved({"q": q, "v": v, TAU: tau, "impulse": impulse, LENGTH: like(h, q)})[:3]

    return UserKernel(robot, step, {"impulse": 3 * law.count})
