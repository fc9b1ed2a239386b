"""A step with contacts as a kernel of its own, with derivatives."""

from math import inf

from ...dynamics import Dynamics
from ...errors import SimulationError, renamed_keyword
from ...kernels import RobotKernel, UserKernel
from ...lie.scalars import like
from ..methods.contact_law import ContactLaw
from ..methods.fixed_step import IMPULSE, LENGTH, TAU, FixedStep
from ..requests.capabilities import KERNEL, refuse
from ..requests.features import Asked
from ..requests.options import solver_of
from ..requests.settings import Settings

PRECISE = ContactLaw(solver="newton", rounds=30, tolerance=1e-11)  # a step to the digits that its differences need


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
    made, h = FixedStep.of(robot, "contact", solver=solver).differentiable(), float(dt)
    moved = made.function()

    def step(q, v, tau, impulse):
        return moved({"q": q, "v": v, TAU: tau, IMPULSE: impulse, LENGTH: like(h, q)})

    return UserKernel(robot, step, {"impulse": made.memory[IMPULSE]}, coordinates=(0,))
