"""Generalized forces by virtual work: what a force at a point does along every velocity, Q = J* f (the lecture)."""

import numpy as np

from .engine.array import Traced
from .errors import ShapeError
from .lie.embedding import cross, tilde
from .lie.scalars import dot, like
from .model import Push, Spring


class VirtualWork:
    """Generalized forces of forces at points, torques, wrenches, and of the springs and pushes that the model carries.

        work = lw.VirtualWork(robot)
        tau  = work.of_force(q, "hand", (0, 0, -10.0), at=(0.1, 0, 0))      # ten newtons down at a point of the hand
        tau  = work.force(q, v)                                             # all of model.forces

    The model's own forces are part of `robot.passive_force` and `robot.potential_energy`, and so act in `lw.simulate`.

    Written with the robot's methods, so any of it can stand in a user's kernel. Leading axes are batch axes.
    """

    def __init__(self, robot):
        self.robot = robot
        kernel = robot.kernel if robot.compiled and robot.nv and not robot.rolled else lambda function: function
        self._force, self._energy = kernel(self._all_forces), kernel(self._all_energies)

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
        q, v = _arrays(q, v)
        d, J = self._between(q, spring)
        ddot = (J @ v[..., None])[..., 0]
        square = dot(d, d)
        apart = square > 0
        L = np.sqrt(np.where(apart, square, 1.0))
        pull = spring.stiffness * (1 - np.where(apart, spring.length / L, 0.0)) * d + spring.damping * dot(d, ddot) / (L * L) * d
        return -(J.mT @ pull[..., None])[..., 0]

    def spring_energy(self, q, spring: Spring):
        """½ k (L - length)² (...)."""
        (q,) = _arrays(q)
        d, _ = self._between(q, spring)
        stretch = np.sqrt(dot(d, d)) - spring.length
        return (spring.stiffness / 2 * stretch * stretch)[..., 0]

    def of_push(self, q, push: Push):
        """Q of a constant force and torque."""
        (q,) = _arrays(q)
        T = self.robot.pose(q, push.body)
        turn = T[..., :3, :3] if push.axes == "body" else like(np.eye(3), T) + np.zeros_like(T[..., :3, :3])
        force, torque = ((turn @ like(x, T)[:, None])[..., 0] for x in (push.force, push.torque))
        return self.of_force(q, push.body, force, push.at) + self.of_torque(q, push.body, torque)

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
        poses, names = self.robot.poses(q), self.robot.bodies
        out = np.zeros((*q.shape[:-1], len(names), 6))
        for force in self.robot.model.forces:
            for body, at, f, n in self._applied(q, v, force):
                index, _ = self.robot.model.place(body)
                R, p = poses[..., index, :3, :3], poses[..., index, :3, 3]
                moment = n + cross(self.point(q, body, at) - p, f)
                out[..., index, :3] += (R.mT @ moment[..., None])[..., 0]
                out[..., index, 3:] += (R.mT @ f[..., None])[..., 0]
        return out

    def _applied(self, q, v, force):
        """(body, point on it, force, torque), the last two in the world's axes."""
        if isinstance(force, Push):
            R = self.robot.pose(q, force.body)[..., :3, :3] if force.axes == "body" else np.eye(3)
            yield force.body, force.at, R @ force.force, R @ force.torque
            return
        d, J = self._between(q, force)
        L2 = dot(d, d)
        stretch = force.stiffness * (1 - force.length / np.sqrt(L2)) if force.length else force.stiffness
        f = (stretch + force.damping * dot(d, (J @ v[..., None])[..., 0]) / np.where(L2 > 0, L2, 1.0)) * d
        for body, at, sign in ((force.one, force.at, 1.0), (force.other, force.on, -1.0)):
            if body is not None:
                yield body, at, sign * f, np.zeros_like(f)

    def _between(self, q, spring: Spring):
        """From the first point of a spring to the second, and the Jacobian of that."""
        d = self.point(q, spring.other, spring.on) - self.point(q, spring.one, spring.at)
        return d, self.point_jacobian(q, spring.other, spring.on) - self.point_jacobian(q, spring.one, spring.at)

    def _all_forces(self, q, v):
        total = np.zeros_like(v) + np.zeros_like(q[..., :1])
        for force in self.robot.model.forces:
            total = total + (self.of_spring(q, v, force) if isinstance(force, Spring) else self.of_push(q, force))
        return total

    def _all_energies(self, q):
        total = np.zeros_like(q[..., 0])
        for force in self.robot.model.forces:
            if isinstance(force, Spring):
                total = total + self.spring_energy(q, force)
            elif force.axes == "world" and not any(force.torque):
                total = total - dot(self.point(q, force.body, force.at), like(force.force, q))[..., 0]
        return total


def _arrays(*arrays):
    if any(isinstance(x, Traced) for x in arrays):
        some = next(x for x in arrays if isinstance(x, Traced))
        return tuple(x if isinstance(x, Traced) else like(x, some) for x in arrays)
    return tuple(np.asarray(x, float) for x in arrays)


def _vector(name, x, n):
    if x.shape[-1:] != (n,):
        raise ShapeError(f"{name} has shape {x.shape}, but one takes {n} numbers, batch axes before.")
    return x
