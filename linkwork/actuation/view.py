"""A robot seen from its motors: what they feel, what they move, and what follows (Jain, chapter 16)."""

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..engine.loading.cuda import DeviceError
from ..engine.running.device import on_device
from ..errors import ConstraintError, ModelError, OptionError, ShapeError, listed
from ..lie.scalars import working_dtype
from ..model.coordinates import entry_names
from ..model.tree import concatenated
from ..quantities.options import Place, hashable
from .control import follow, track
from .integrals import Integrals, curvature, integrals_of

ZERO = 1e-9  # relative to what was asked: an acceleration that misses by more was not reached


class HybridBlocks(NamedTuple):
    """(τ_a, v̇_p) = [aa, ap; −ap*, pp] (v̇_a, τ_p)                                                Jain (16.4), (16.5)"""

    aa: np.ndarray  # what the motors feel as inertia: 𝓜_aa − 𝓜_ap 𝓜_pp⁻¹ 𝓜_pa
    ap: np.ndarray  # 𝓜_ap 𝓜_pp⁻¹
    pp: np.ndarray  # 𝓜_pp⁻¹


class Actuated:
    """A view of a robot: the joints that were named have motors (active), all others move by themselves (passive).

        arm = robot.actuated("elbow")
        arm.disturbance_jacobian(q)                     # passive accelerations per active ones
        tau, vdot = arm.computed_torque(q, v, [1.0])    # the elbow accelerates with 1 rad/s²

    Arrays of active or passive joints hold their velocities in the order of v: `active` and `passive` are their places in it.
    Everything takes batches: leading axes are batch axes.
    """

    def __init__(self, robot, *joints: str):
        if not joints:
            raise OptionError('robot.actuated takes the joints that have motors, such as robot.actuated("elbow", "wrist").')
        if unnamed := [x for x in joints if not isinstance(x, str)]:
            raise OptionError(f"robot.actuated takes names of joints one by one, robot.actuated(*joints); one of them is {unnamed[0]!r}.")
        self.robot = robot
        self.joints = tuple(dict.fromkeys(joints))
        self.prescribed = np.zeros(robot.nv)  # 1 for the velocities of active joints
        for joint in self.joints:
            self.prescribed[robot.v_index(joint)] = 1.0
        self.active, self.passive = np.flatnonzero(self.prescribed == 1), np.flatnonzero(self.prescribed == 0)

    @property
    def passive_joints(self) -> tuple[str, ...]:
        """Joints without a motor, and such parts of others."""
        found, told = list[str](), self.prescribed.copy()
        for name in self.robot.joints:  # a joint comes before its parts
            rows = self.robot.v_index(name)
            if not told[rows].any():
                found.append(name)
                told[rows] = 1.0
        return tuple(found)

    def __repr__(self):
        return f"<{self.robot.model.name}: {', '.join(self.joints)} driven, {', '.join(self.passive_joints) or 'none'} passive>"

    # --- how motors and passive joints feel each other

    def hybrid_blocks(self, q: ArrayLike) -> HybridBlocks:
        """S_aa, S_ap, S_pp, by sweeps: no inverse is formed."""
        S = self._matrix(q)
        a, p = self.active, self.passive
        return HybridBlocks(S[..., a[:, None], a], S[..., a[:, None], p], S[..., p[:, None], p])

    def disturbance_jacobian(self, q: ArrayLike) -> np.ndarray:
        """J_D (..., passive, active): what accelerations of the motors do to the passive joints                  Jain (16.23)."""
        return self._matrix(q)[..., self.passive[:, None], self.active]

    def _matrix(self, q) -> np.ndarray:
        if on_device(q):
            raise DeviceError('a view of motors takes NumPy arrays; on a GPU there is robot.ask("hybrid_matrix", q, prescribed).')
        return self.robot.ask("hybrid_matrix", q, self._told(q))

    def _told(self, q) -> np.ndarray:
        """Which velocities are active, in the precision of q."""
        return self.prescribed.astype(working_dtype(q))

    def generalized_jacobian(self, q: ArrayLike, body: str, axes: str = "body") -> np.ndarray:
        """J_G (..., 6, active): accelerations of a body or frame per acceleration of the motors while passive joints follow; of a
        free-flying robot without momentum velocities, too                                                        Jain (16.21)."""
        return self.robot.ask(("generalized_jacobian", body, axes), q, self._told(q))[..., self.active]

    def generalized_jacobian_times(self, q: ArrayLike, acceleration: ArrayLike, body: str, axes: str = "body") -> np.ndarray:
        """J_G v̇_a (..., 6) in O(N), by one sweep                                                      Jain, Algorithm 16.3."""
        q = np.asarray(q)
        given = self._spread(acceleration, self.active, "acceleration").astype(working_dtype(q))
        vdot = self.robot.ask("hybrid_matrix_times", q, self._told(q), given)
        vdot = np.where(self.prescribed > 0, given, vdot)
        return (self.robot.jacobian(q, body, axes) @ vdot[..., None])[..., 0]

    # --- motion

    def hybrid_dynamics(
        self, q: ArrayLike, v: ArrayLike, acceleration: ArrayLike, force: ArrayLike | None = None, external: ArrayLike | None = None, *,
        t: float | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
        """(tau, vdot), both (..., nv), of accelerations of the active and forces of the passive joints (none if not said).

        Loops, couplings and drives of the model are kept.                                            Jain, Algorithm 16.2
        """
        given = self._spread(acceleration, self.active, "acceleration")
        if force is not None:
            given = given + self._spread(force, self.passive, "force")
        given, held = given.astype(working_dtype(q)), self.prescribed > 0
        found = self.robot.hybrid_dynamics(q, v, given, self._told(q), external, t=t)
        if not np.isfinite(found).all():
            self._check_inertia(found, q, v, given, 0.0 if external is None else external)
        return np.where(held, found, given), np.where(held, given, found)

    def _check_inertia(self, found, *arrays) -> None:
        """Raises if finite arrays make a passive joint accelerate without bound: nothing that it moves has inertia."""
        if all(np.isfinite(x).all() for x in arrays):
            wild = [i for i in self.passive if not np.isfinite(found[..., i]).all()]
            names = [entry_names(self.robot.model)[1][i] for i in wild]
            raise ModelError(
                f"{self.robot.model.name}: passive {listed(names)} moves nothing that has inertia along it, so its acceleration is not "
                "defined. Give what it carries a mass or a tensor, or the joint an armature or a motor."
            )

    def computed_torque(
        self, q: ArrayLike, v: ArrayLike, acceleration: ArrayLike, *places: Place, passive: ArrayLike | None = None, axes: str = "body",
        force: ArrayLike | None = None, external: ArrayLike | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
        """(tau, vdot) with which the places, said as for `robot.task_jacobian`, accelerate as wanted; without places, the active joints.

            tau, vdot = arm.computed_torque(q, v, [0, 0, 0.5], ("hand", (0, 0, 0)), axes="world")

        `passive` are accelerations that the passive joints are to have besides. Motors that are more than needed share the work with
        the least accelerations, (16.25); if they cannot do what is wanted it raises a ConstraintError. `force` acts at passive joints.
        Jain, Algorithm 16.4
        """
        if not places and passive is None:
            return self.hybrid_dynamics(q, v, acceleration, force, external)
        if self.robot.constraints is not None:
            raise ModelError("computed_torque of places is for trees; robot.motor_forces(q, v, vdot, motors=...) keeps loops.")
        q, v, wanted = np.asarray(q, float), np.asarray(v, float), np.asarray(acceleration, float)
        _, drift = self.hybrid_dynamics(q, v, np.zeros(len(self.active)), force, external)
        rows, missing = [], []
        JD = self.disturbance_jacobian(q)
        if places:
            J = self.robot.task_jacobian(q, *places, axes=axes)
            if wanted.shape[-1:] != J.shape[-2:-1]:
                raise ShapeError(f"acceleration has shape {wanted.shape}; these places have {J.shape[-2]} directions.")
            rows.append(J[..., self.active] + J[..., self.passive] @ JD)
            drifting = "task_acceleration", *(hashable(place, axes) for place in places)
            missing.append(wanted - self.robot.ask(drifting, q, v, self.robot.inverse_dynamics(q, v, drift)))
        else:
            rows.append(np.eye(len(self.active)))
            missing.append(self._spread(wanted, self.active, "acceleration")[..., self.active])
        if passive is not None:
            rows.append(JD)
            missing.append(self._spread(passive, self.passive, "passive")[..., self.passive] - drift[..., self.passive])
        return self.hybrid_dynamics(q, v, solved(rows, missing), force, external)

    def _spread(self, x: ArrayLike, rows: np.ndarray, name: str) -> np.ndarray:
        """Entries of the active or passive joints in their places of a vector (..., nv), others zero."""
        x = np.asarray(x, float)
        if x.shape[-1:] != rows.shape:
            which = "active" if rows is self.active else "passive"
            raise ShapeError(f"{name} has shape {x.shape}; there are {len(rows)} {which} velocities, so that it is (..., {len(rows)}).")
        out = np.zeros((*x.shape[:-1], self.robot.nv))
        out[..., rows] = x
        return out

    # --- control

    def follow(self, path: Callable, *joints: str, stiffness: float = 100.0, damping: float | None = None) -> Callable:
        """A control for `lw.simulate`: the named joints follow a path(t) -> (positions, velocities, accelerations), one entry each.

        Of active joints this is collocated, of passive ones non-collocated partial feedback linearisation; all active ones if none is
        named. Deviations e die out as ë + damping ė + stiffness e = 0, critically damped if not said.
        """
        return follow(self, path, joints or self.joints, stiffness, damping)

    def track(self, path: Callable, *places: Place, stiffness: float = 100.0, damping: float | None = None) -> Callable:
        """A control for `lw.simulate`: points of the robot follow a path(t) -> (positions, velocities, accelerations) in the world, one
        below the other in one array each, whatever the passive joints do meanwhile: `computed_torque` with feedback.

            control = arm.track(path, ("hand", (0, 0, 0.1)))

        Deviations die out as in `follow`. It raises where the motors cannot.                          Jain, Algorithm 16.4
        """
        return track(self, path, places, stiffness, damping)

    # --- what is conserved

    @cached_property
    def integrals(self) -> Integrals:
        """Momenta that stay as they are whatever the motors do; print it."""
        return integrals_of(self)

    def curvature(self, q: ArrayLike) -> np.ndarray:
        """How far v_p = J_D v_a is from a relation between positions (..., passive, active, active): zero everywhere means that it is one;
        otherwise the passive joints move by it times the area of a small closed path of the active ones."""
        q = np.asarray(q, float)
        rows = [curvature(self, one) for one in q.reshape(-1, q.shape[-1])]
        size = len(self.passive), len(self.active), len(self.active)
        return np.reshape(rows, (*q.shape[:-1], *size))


def solved(rows: list, missing: list) -> np.ndarray:
    """The least accelerations of the motors that do what is missing."""
    J, wanted = concatenated(rows, -2), concatenated([x[..., None] for x in missing], -2)
    found = np.linalg.pinv(J, rcond=1e-12) @ wanted
    off = np.abs(J @ found - wanted).max(initial=0.0)
    if off > ZERO * max(1.0, np.abs(wanted).max(initial=0.0)):
        raise ConstraintError(
            f"the motors cannot make these accelerations: they miss by {off:.3g}. Ask for fewer directions, or name more joints as driven."
        )
    return found[..., 0]
