"""States and forces as other libraries write them: Pinocchio, MuJoCo, Drake.

    mj = lw.convert.mujoco(robot)
    data.qpos[:], data.qvel[:] = mj.q_to(q), mj.v_to(q, v)
    vdot = mj.vdot_from(q, v, data.qacc)

The same joint is written otherwise there: quaternions begin with w, translation comes before rotation, velocities are
in axes that stand still. Whatever the axes, they are at right angles; so with an orthogonal A(q)

    v' = A v        tau' = A⁻* tau = A tau        vdot' = A vdot + Ȧ v = A (vdot + c(v))
"""

from .convention import Convention
from .libraries import drake, mujoco, pinocchio

__all__ = ["Convention", "drake", "mujoco", "pinocchio"]
