"""A step with contacts as a kernel of its own, with derivatives."""

from dataclasses import replace
from math import inf

from ...dynamics import Dynamics
from ...errors import SimulationError, renamed_keyword
from ...kernels import RobotKernel, UserKernel
from ...lie.scalars import like
from ..methods.contact import ContactSolver, check_touching, derivative_law, law_of
from ..rates.whole_step import LENGTH, TAU
from ..requests.capabilities import KERNEL, refuse
from ..requests.features import Asked
from ..requests.options import ContactLaw, solver_of
from ..requests.settings import Settings
from .contact_rollout import moved_with_contacts

PRECISE = ContactSolver(method="newton", rounds=30, tolerance=1e-11)  # a step to the digits that its differences need


@renamed_keyword("contact_kernel", "solver", "contact")
def contact_kernel(robot: Dynamics, *, dt: float, contact: ContactLaw | None = None) -> RobotKernel:
    """The step of `rollout(method="contact")` as a kernel: (q, v, tau, impulse) -> (q, v, impulse).

    impulse (3 n,) is that of the step before, or zeros. It is a kernel like all others: batches, NumPy, torch, JAX and CuPy arrays,
    `jvp`, `vjp`, `jacobian`, of q and by q along the group. Its derivative is that of the solved problem, by the implicit function theorem,
    where each contact is strictly open, stuck or sliding; at a change between these there is none, and what comes out is that of one side.
    Where a problem is not solved, it is that of a Newton step from what was found. Loops are closed first, as in a rollout.
    """
    solver = solver_of(contact) or PRECISE
    if not 0 < dt < inf:
        raise SimulationError(f"dt is {dt}; it must be a positive number of seconds.")
    refuse(Asked.of(robot, Settings("contact", limits=solver.limits, contact=solver)), KERNEL)
    law = replace(law_of(robot, limits=solver.limits, recovery=solver.recovery), friction_first=solver.friction == "first")
    check_touching(robot, law, "robot.forward_dynamics in a kernel of your own")
    moved, h = moved_with_contacts(robot, derivative_law(law, solver), solver.differentiable, None, None), float(dt)

    def step(q, v, tau, impulse):
        return moved({"q": q, "v": v, TAU: tau, "impulse": impulse, LENGTH: like(h, q)})[:3]

    return UserKernel(robot, step, {"impulse": 3 * law.count}, coordinates=(0,))
