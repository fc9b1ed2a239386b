"""How the rates of a run change with its state: what implicit methods solve with. Exact, unless functions of the user take part."""

import numpy as np

from ...errors import ConstraintError, ModelError
from ...motion.linearize import accelerations, chart


def known(flow) -> bool:
    """Are the rates of a run made by the library alone, so that their slopes are known? A function of the user, joints held at rest, and
    a choice of dependent velocities that the run changes are not."""
    keeper, stops = flow.keeper, flow.stops
    given = flow.controls.functions or flow.external is not None
    return not given and not (stops is not None and stops.held) and (keeper.held is None or keeper.how in ("project", None))


def rate_slopes(flow, t: float, q, xi, v):
    """∂(ξ̇, v̇)/∂(ξ, v) (2 nv, 2 nv) at q ∘ exp ξ; None where the state is none of the mechanism, or where blocks
    of a producer, or a constraint that cannot be traced, have no slopes.

        ∂v̇/∂ξ = ∂v̇/∂q S(ξ),    ∂ξ̇/∂v = S⁻¹(ξ)
    """
    robot = flow.robot
    try:
        by_q, by_v = accelerations(robot, flow.integrate(q, xi), v, flow.steady[0], t=t if flow.timed else None)
    except (ConstraintError, ModelError):
        return None
    S, inverse, _, bend = chart(robot, xi, v)
    return np.block([[bend, inverse], [by_q @ S, by_v]])
