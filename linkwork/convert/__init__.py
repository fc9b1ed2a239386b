"""Conversion of states and forces to and from the conventions of Pinocchio, MuJoCo and Drake.

    mj = lw.convert.mujoco(robot)
    data.qpos[:], data.qvel[:] = mj.q_to(q), mj.v_to(q, v)
    vdot = mj.vdot_from(q, v, data.qacc)

Other libraries describe the same joint differently: quaternions begin with w, translation comes before rotation,
velocities are in fixed axes. All axes are orthonormal, so that, with an orthogonal A(q),

    v' = A v        tau' = A⁻* tau = A tau        vdot' = A vdot + Ȧ v = A (vdot + c(v))
"""

from .convention import Convention
from .libraries import drake, mujoco, pinocchio

__all__ = ["Convention", "drake", "mujoco", "pinocchio"]
