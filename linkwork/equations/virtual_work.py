"""Generalized forces by virtual work: what a force at a point does along every velocity, Q = J* f (the lecture)."""

from dataclasses import replace

import numpy as np

from ..engine.tracing.array import Traced
from ..errors import ShapeError
from ..lie.embedding import tilde
from ..lie.scalars import like
from ..model import Push, Spring
from ..quantities.point_forces import applied, point_energy, point_force
from ..spatial import phi
from ..systems.lowering import ends_of
from .given import as_robot


class VirtualWork:
    """Generalized forces of forces at points, torques, wrenches, and of the springs and pushes that the model carries.

        work = lw.VirtualWork(robot)
        tau  = work.of_force(q, "hand", (0, 0, -10.0), at=(0.1, 0, 0))      # ten newtons down at a point of the hand
        tau  = work.force(q, v)                                             # all of model.forces

    The model's own forces are part of `robot.passive_force` and `robot.potential_energy`, and so act in `lw.simulate`.

    Written with the robot's methods, so any of it can stand in a user's kernel. Leading axes are batch axes.
    """

    def __init__(self, robot):
        self.robot = as_robot("VirtualWork", robot)
        kernel = robot.kernel if robot.compiled and robot.nv and not robot.rolled else lambda function: function
        forces = robot.model.forces
        self._force = kernel(lambda q, v: self._force_of(q, v, *forces))
        self._energy = kernel(lambda q: self._energy_of(q, *forces))

    # --- one force

    def point(self, q, body: str | None, at=(0.0, 0.0, 0.0)):
        """Where a point of a body or frame is in the world (..., 3); of the world (None), the point itself."""
        if body is None:
            return like(at, q) + np.zeros_like(q[..., :1])
        T = self.robot.pose(q, body)
        return (T[..., :3, :3] @ like(at, T)[:, None])[..., 0] + T[..., :3, 3]

    def point_jacobian(self, q, body: str | None, at=(0.0, 0.0, 0.0)):
        """Velocity of a point of a body in the world from v: J_p = J_v - (R p)~ J_ω (..., 3, nv)."""
        if body is None:
            return np.zeros_like(q, shape=(*q.shape[:-1], 3, self.robot.nv))
        J, R = self.robot.jacobian(q, body, axes="world"), self.robot.pose(q, body)[..., :3, :3]
        return J[..., 3:, :] - tilde((R @ like(at, R)[:, None])[..., 0]) @ J[..., :3, :]

    def of_force(self, q, body: str, force, at=(0.0, 0.0, 0.0)):
        """Q = J_p* f of a force in world axes (..., 3) at a point of a body: Q · v = f · ẋ."""
        q, force = _arrays(q, force)
        return (self.point_jacobian(q, body, at).mT @ _vector("force", force, 3)[..., None])[..., 0]

    def of_torque(self, q, body: str, torque):
        """Q = J_ω* n of a torque in world axes (..., 3)."""
        q, torque = _arrays(q, torque)
        return (self.robot.jacobian(q, body, axes="world")[..., :3, :].mT @ _vector("torque", torque, 3)[..., None])[..., 0]

    def of_wrench(self, q, body: str, wrench, axes: str = "body"):
        """Q = J* [n; f] of a wrench at the origin of a body or frame (..., 6), angular first, in its axes or the world's."""
        q, wrench = _arrays(q, wrench)
        return (self.robot.jacobian(q, body, axes=axes).mT @ _vector("wrench", wrench, 6)[..., None])[..., 0]

    def of_spring(self, q, v, spring: Spring):
        """Q of a spring with its damper: equal and opposite forces along the line between its two points."""
        return self._force_of(*_arrays(q, v), spring)

    def spring_energy(self, q, spring: Spring):
        """½ k (L - length)² (...)."""
        return self._energy_of(*_arrays(q), spring)

    def of_push(self, q, push: Push):
        """Q of a constant force and torque."""
        (q,) = _arrays(q)
        return self._force_of(q, np.zeros_like(q, shape=(*q.shape[:-1], self.robot.nv)), push)

    # --- all that the model carries

    def force(self, q, v):
        """Q of all springs and pushes of the model (..., nv); add it to τ."""
        return self._force(*_arrays(q, v))

    def energy(self, q):
        """The potential energy of the model's springs, and of pushes by a force that is constant in the world (...)."""
        return self._energy(*_arrays(q))

    def external(self, q, v):
        """The same forces as wrenches on the bodies (..., nb, 6), as `forward_dynamics(external=)` takes them."""
        q, v = _arrays(q, v)
        out = np.zeros((*q.shape[:-1], len(self.robot.bodies), 6))
        for point, force, torque in applied(self._system(q, *self.robot.model.forces), q, v):
            out[..., point.body, :] += (phi(point.place) @ point.wrench(force, torque))[..., 0]
        return out

    def _system(self, q, *forces):
        """The robot's nodes over the scalars of q, with these forces alone."""
        model, lowered = self.robot.model, self.robot.lowered
        nodes = lowered.nodes.over(q) if isinstance(q, Traced) else lowered.plain()
        return replace(nodes, forces=tuple((force, ends_of(model, force)) for force in forces))

    def _force_of(self, q, v, *forces):
        return point_force(self._system(q, *forces), q, v, np.zeros_like(v) + np.zeros_like(q[..., :1]))

    def _energy_of(self, q, *forces):
        return point_energy(self._system(q, *forces), q, np.zeros_like(q[..., 0]))


def _arrays(*arrays):
    if any(isinstance(x, Traced) for x in arrays):
        some = next(x for x in arrays if isinstance(x, Traced))
        return tuple(x if isinstance(x, Traced) else like(x, some) for x in arrays)
    return tuple(np.asarray(x, float) for x in arrays)


def _vector(name, x, n):
    if x.shape[-1:] != (n,):
        raise ShapeError(f"{name} has shape {x.shape}, but one takes {n} numbers, batch axes before.")
    return x
