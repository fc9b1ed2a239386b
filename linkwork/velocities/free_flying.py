"""Free flying: a mechanism whose base moves as its joints and its momentum say, in the velocities u of the joints alone.

    v = [v_base; u],    𝓜 = [[𝓜_bb, 𝓜_bj], [𝓜_jb, 𝓜_jj]]
    v_base = B u + 𝓜_bb⁻¹ φ⁻¹ h,    B = −𝓜_bb⁻¹ 𝓜_bj                     Jain (16.26) to (16.28)

h is the momentum about the world's origin, in its axes, which nothing inside the mechanism changes.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..contact import refuse_contacts
from ..errors import ModelError, OptionError, ShapeError, listed
from ..lie import SE3
from ..lie.scalars import working_dtype
from ..model import Spring
from ..quantities.momentum import of_one_free_root

BASE = slice(0, 6)


class Flight(NamedTuple):
    """Times (n,), coordinates (n, nq) and velocities (n, nv) of a motion."""

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray


class FreeFlying:
    """A robot without gravity whose root is free, with its momentum instead of the velocity of its base.

        flight = robot.free_flying()
        v = flight.velocity(q, u)                       # all velocities, at momentum zero
        flight.mass_matrix(q), flight.jacobian(q, "hand")
        flight.turned(joints, cycle=1.0)                # how the base has moved after a cycle of joint angles

    Joint velocities u, forces and reduced matrices are those of v[6:], in its order. Arrays have any leading batch axes.
    """

    def __init__(self, robot):
        of_one_free_root(robot.model)
        robot.lowered.only_rigid("free_flying")
        if robot.constraints is not None:
            raise ModelError(
                f"{robot.model.name} has loops, couplings or constraints, which the velocities of its joints alone do not keep. "
                "robot.momentum(q, v) and robot.forward_dynamics(q, v, tau) do for it; lw.simulate(robot, state) keeps them."
            )
        self.robot: Any = robot

    @property
    def nu(self) -> int:
        """How many joint velocities there are."""
        return self.robot.nv - 6

    # --- velocities

    def velocity(self, q: ArrayLike, u: ArrayLike, momentum: ArrayLike = 0.0) -> np.ndarray:
        """All velocities (..., nv) of joint velocities u (..., nu) and a momentum (..., 6)."""
        u = self._checked("u", u)
        v = np.concatenate([np.zeros((*u.shape[:-1], 6)), u], -1).astype(working_dtype(q))
        return self.robot.ask("free_flying_velocity", q, v, self._momentum(momentum).astype(v.dtype))

    def base_velocity(self, q: ArrayLike, u: ArrayLike, momentum: ArrayLike = 0.0) -> np.ndarray:
        """That of the base, [ω; velocity] in its axes (..., 6)."""
        return self.velocity(q, u, momentum)[..., BASE]

    def locked_velocity(self, q: ArrayLike, v: ArrayLike) -> np.ndarray:
        """The velocity of the base if all joints were locked at once, the momentum kept (..., 6)."""
        M = self.robot.mass_matrix(q)[..., BASE, :]
        return np.linalg.solve(M[..., BASE], np.matvec(M, np.asarray(v, M.dtype))[..., None])[..., 0]

    def base_map(self, q: ArrayLike) -> np.ndarray:
        """B (..., 6, nu) with v_base = B u at momentum zero."""
        M = self.robot.mass_matrix(q)[..., BASE, :]
        return -np.linalg.solve(M[..., BASE], M[..., 6:])

    # --- matrices in u

    def mass_matrix(self, q: ArrayLike) -> np.ndarray:
        """𝓜_jj − 𝓜_jb 𝓜_bb⁻¹ 𝓜_bj (..., nu, nu): ½ u* of it u is the kinetic energy at momentum zero."""
        M = self.robot.mass_matrix(q)
        found = M[..., 6:, 6:] + M[..., 6:, BASE] @ self.base_map(q)
        return (found + found.mT) / 2

    def jacobian(self, q: ArrayLike, body: str, axes: str = "body") -> np.ndarray:
        """The generalized Jacobian (..., 6, nu): the velocity of a body or frame from u at momentum zero, J_j + J_b B."""
        J = self.robot.jacobian(q, body, axes)
        return J[..., 6:] + J[..., BASE] @ self.base_map(q)

    def forward_dynamics(self, q: ArrayLike, u: ArrayLike, tau: ArrayLike, momentum: ArrayLike = 0.0) -> np.ndarray:
        """u̇ (..., nu) of joint forces tau (..., nu); the base is pushed by nothing. Gravity, if the model has any, pulls all bodies."""
        v, tau = self.velocity(q, u, momentum), self._checked("tau", tau)
        return self.robot.forward_dynamics(q, v, np.concatenate([np.zeros((*tau.shape[:-1], 6)), tau], -1).astype(v.dtype))[..., 6:]

    # --- motion

    def path(self, q: ArrayLike, joints: Callable, *, until: float, steps: int = 200, momentum: ArrayLike = 0.0) -> Flight:
        """The motion of the base while the joints follow joints(t) -> (coordinates, velocities u), from the base of q, by steps of order 4.

        Momentum is kept whatever the steps: the velocity of the base is computed from it.
        """
        self._check_alone("path")
        q = np.array(q, float)
        if q.shape != (self.robot.nq,):
            raise ShapeError(f"q has shape {q.shape}; a path starts at one configuration of {self.robot.model.name}, ({self.robot.nq},).")
        if steps < 1:
            raise OptionError(f"a path has {steps} steps; it takes one at least.")
        base, h, t = q[:7], until / steps, np.linspace(0.0, until, steps + 1)
        momentum = self._momentum(momentum)

        def state(t, base):
            angles, u = self._told(joints, t)
            q = np.concatenate([base, angles])
            return q, self.velocity(q, u, momentum)

        def rates(base, t):
            return state(t, base)[1][BASE], 1.0

        rows = [state(0.0, base)]
        for now in t[:-1]:
            base, _ = step(lambda base, dv: SE3.compose(base, SE3.exp(dv)), rates, (rows[-1][1][BASE], 1.0), base, now, h)
            base[:4] /= np.linalg.norm(base[:4])
            rows.append(state(now + h, base))
        return Flight(t, *map(np.array, zip(*rows)))

    def turned(self, joints: Callable, *, cycle: float, steps: int = 200) -> np.ndarray:
        """The pose (4, 4) of the base after a cycle of the joints on its pose before, at momentum zero.

        joints(t) -> (coordinates, velocities u) is where it was after t = `cycle`; the base is not: momentum is no constraint of
        configurations (nonholonomic).
        """
        start, end = (self._told(joints, t)[0] for t in (0.0, cycle))
        if not np.allclose(start, end, rtol=0.0, atol=1e-9 * max(1.0, np.abs(start).max(initial=0.0))):
            raise OptionError(f"the joints are at {end} after the cycle of {cycle} s, but began at {start}; a cycle ends where it began.")
        q = np.concatenate([SE3.identity, start])
        return SE3.matrix(self.path(q, joints, until=cycle, steps=steps).q[-1][:7])

    def simulate(
        self,
        q: ArrayLike,
        u: ArrayLike,
        *,
        until: float,
        dt: float,
        momentum: ArrayLike = 0.0,
        control: Callable | None = None,
        every: int = 1,
    ) -> Flight:
        """The motion under joint forces control(t, q, v) -> (nu,) and the springs and damping of the joints, in the momentum-reduced form:
        joint velocities are integrated, by steps dt of order 4; the base follows from the momentum, which is kept to rounding however
        long the run. `every` n-th step is stored. Forces are held during a step. lw.simulate has adaptive steps, events and limits.
        """
        self._check_alone("simulate")
        if not (dt > 0 and until >= 0 and every >= 1):
            raise OptionError(f"dt is {dt}, until {until} and every {every}; dt is positive, until not negative, every a number from 1.")
        if abs(until / dt - round(until / dt)) > 1e-6:
            raise OptionError(f"until is {until}, which is no whole number of steps dt = {dt}.")
        momentum = self._momentum(momentum)
        at, v = np.array(q, float), self.velocity(q, u, momentum)
        tau, h, rows = np.zeros_like(v), np.array(float(dt)), [(0.0, at, v)]
        count = round(until / dt)
        for i in range(count):
            if control is not None:
                tau[..., 6:] = self._checked("control's answer", control(i * dt, at.copy(), v.copy()))
            at, v = self._step(at, v, tau, momentum, h)
            if (i + 1) % every == 0 or i + 1 == count:
                rows.append(((i + 1) * dt, at, v))
        return Flight(*map(np.array, zip(*rows)))

    def _check_alone(self, who: str) -> None:
        """Raises where something outside acts on the craft, so that its momentum changes."""
        model = self.robot.model
        refuse_contacts(model, f"free_flying().{who}", "lw.simulate(robot, (q, v), ...)")
        if outside := from_outside(model):
            raise ModelError(
                f"{model.name} has {listed(outside)}, which changes its momentum: free_flying().{who} keeps it. Use lw.simulate or a model "
                "without: model.with_gravity((0, 0, 0)), dataclasses.replace(model, forces=())."
            )

    def _told(self, joints: Callable, t: float) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates and velocities of the joints at t, as a path says them."""
        found = joints(t)
        if not isinstance(found, (tuple, list)) or len(found) != 2:
            raise ShapeError(f"joints({t:g}) is {found!r}; it gives two arrays, coordinates of the joints and their velocities u.")
        angles, u = (np.atleast_1d(np.asarray(x, float)) for x in found)
        if angles.shape != (self.robot.nq - 7,):
            raise ShapeError(f"joints({t:g}) has coordinates of shape {angles.shape}; those of all joints are ({self.robot.nq - 7},).")
        return angles, u

    @cached_property
    def _step(self):
        """One step of `simulate`, as a kernel."""
        robot = self.robot

        def momentum_kept(q, v, tau, momentum, h):
            def rates(q, v):
                v = robot.ask("free_flying_velocity", q, v, momentum)
                return v, robot.forward_dynamics(q, v, tau + robot.passive_force(q, v))

            there, v = step(robot.integrate, rates, rates(q, v), q, v, h)
            return there, robot.ask("free_flying_velocity", there, v, momentum)

        return robot.kernel(momentum_kept, momentum=6, h=())

    def _momentum(self, h) -> np.ndarray:
        h = np.asarray(h, float)
        if h.shape[-1:] not in {(), (6,)} or (not h.ndim and h):
            raise ShapeError(f"momentum has shape {h.shape}; it takes [angular; linear] (..., 6), about the world's origin, or 0.")
        return h if h.ndim else np.zeros(6)

    def _checked(self, name: str, x) -> np.ndarray:
        x = np.asarray(x, float)
        if x.shape[-1:] != (self.nu,):
            has = f"{self.robot.model.name} has {self.nu} joint velocities besides those of its free base"
            raise ShapeError(f"{name} has shape {x.shape}, but {has}.")
        return x


def from_outside(model) -> list[str]:
    """The names of what pushes a model that flies freely from outside: gravity, springs and pushes of the world, a spring of its base."""
    base = next(x for x in model.joints if x.joint.nv)
    moving, joint = {*model.subtree(base.child)}, base.joint
    held = any(map(np.any, (joint.stiffness, joint.damping, joint.friction)))
    inner = [
        isinstance(x, Spring) and x.one is not None and all(model.bodies[model.place(end)[0]].name in moving for end in x.bodies)
        for x in model.forces
    ]
    forces = [f'{type(x).__name__.lower()} "{x.name}"' for x, inside in zip(model.forces, inner) if not inside]
    return [*(["gravity"] if any(model.gravity) else []), *([f'passive forces of its base "{base.name}"'] if held else []), *forces]


def step(integrate: Callable, rates: Callable, first, q, v, h):
    """A step of the classical Runge-Kutta method on a group without commutators (Celledoni 2003): `integrate(q, dv)` moves along dv,
    `rates(q, v)` gives the velocity and its rate, `first` are those at the start."""
    k1, a1 = first
    second = integrate(q, h / 2 * k1)
    k2, a2 = rates(second, v + h / 2 * a1)
    k3, a3 = rates(integrate(q, h / 2 * k2), v + h / 2 * a2)
    k4, a4 = rates(integrate(second, h * k3 - h / 2 * k1), v + h * a3)
    half = integrate(q, h / 12 * (3 * k1 + 2 * k2 + 2 * k3 - k4))
    return integrate(half, h / 12 * (-k1 + 2 * k2 + 2 * k3 + 3 * k4)), v + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
