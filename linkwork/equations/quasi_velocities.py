"""Dynamics in other velocities u, v = S(x) u joint by joint (From, part one, section 2; part two, Theorem 2.1)."""

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from ..errors import ModelError, OptionError
from ..lie import Group
from ..model.check import part_rows
from .choices import Choice, LibraryChoice, as_choice
from .given import as_robot

STEP = 1e-30
SINGULAR = 1e8  # condition number of a joint's S above which its velocities are called singular


class QuasiVelocities:
    """The dynamics of a robot in coordinates x and velocities u chosen by the user, converted from q and v.

        euler = lw.QuasiVelocities(robot, {"floating_base": "ZYX"})
        udot  = euler.forward_dynamics(x, u, force)

    A choice is an Euler sequence, "exponential", "world", "own" (q and v), a function S(q), or a `Choice`; joints not
    named have q and v. The force dual to u is S* τ, with the same power: force · u = τ · v. Leading axes are batch axes.
    """

    def __init__(self, robot, choices: dict):
        self.robot = as_robot("QuasiVelocities", robot)
        if not isinstance(choices, Mapping):
            first = next((x.name for x in robot.model.joints if x.joint.nv), "joint")
            raise OptionError(f'choices is {choices!r}; QuasiVelocities takes a choice for each joint by its name, {{"{first}": choice}}.')
        self._choices = {joint: as_choice(choice) for joint, choice in choices.items()}
        self._rows: list[tuple[str, Choice, Group, slice, slice, slice]] = []  # name, choice, group, in x, in q, in v
        self.nx, self.nv = 0, robot.nv
        for placed, part, joint, q, v in part_rows(robot.model.joints):
            name = next((n for n in (f"{placed.name}.{part}", part, placed.name) if n in self._choices), placed.name)
            choice = self._choices.get(name, LibraryChoice())
            if not choice.suits(joint.group):
                raise ModelError(f'joint "{name}" has the group {joint.group}, for which {choice} is not defined.')
            before, self.nx = self.nx, self.nx + choice.nx(joint.group)
            if joint.nv:
                self._rows.append((name, choice, joint.group, slice(before, self.nx), q, v))
        for name in self._choices:
            robot.v_index(name)  # raises if there is no such joint

    # --- conversions

    def q(self, x):
        """The robot's q at coordinates x."""
        return self._each(lambda choice, group, x: choice.q(group, x), x, 3)

    def x(self, q):
        """Coordinates x of a q."""
        return self._each(lambda choice, group, q: choice.x(group, q), q, 4)

    def S(self, x):
        """v = S(x) u, block diagonal (..., nv, nv)."""
        x = np.asarray(x)
        S = np.zeros((*x.shape[:-1], self.nv, self.nv), np.result_type(x, float))
        for _, choice, group, columns, _, rows in self._rows:
            S[..., rows, rows] = choice.S(group, x[..., columns])
        return S

    def v(self, x, u):
        """The robot's v from u."""
        return _times(self.S(x), u)

    def u(self, x, v):
        """u from the robot's v; not finite or meaningless where S is singular."""
        return _solved(self.S(x), v)

    def xdot(self, x, u):
        """The rate of the coordinates."""
        x, u = np.asarray(x), np.asarray(u)
        rates = [choice.xdot(group, x[..., columns], u[..., rows]) for _, choice, group, columns, _, rows in self._rows]
        return np.concatenate([np.zeros((*np.broadcast_shapes(x.shape[:-1], u.shape[:-1]), 0)), *rates], -1)

    def S_rate(self, x, u):
        """Ṡ at velocity u, by a complex step."""
        return np.imag(self.S(x + 1j * STEP * self.xdot(x, u))) / STEP

    def force(self, x, tau):
        """The force dual to u, S* τ."""
        return _times(self.S(x).mT, tau)

    def tau(self, x, force):
        """The robot's τ from a force dual to u."""
        return _solved(self.S(x).mT, force)

    def vdot(self, x, u, udot):
        """v̇ = S u̇ + Ṡ u."""
        return _times(self.S(x), udot) + _times(self.S_rate(x, u), u)

    def udot(self, x, u, vdot):
        """u̇ = S⁻¹ (v̇ - Ṡ u)."""
        return _solved(self.S(x), vdot - _times(self.S_rate(x, u), u))

    # --- the dynamics

    def mass_matrix(self, x):
        """S* M S."""
        S = self.S(x)
        return S.mT @ self.robot.mass_matrix(self.q(x)) @ S

    def coriolis_matrix(self, x, u):
        """S* (C S + M Ṡ), whose symmetric part is half the rate of the mass matrix."""
        S, q = self.S(x), self.q(x)
        return S.mT @ (self.robot.coriolis_matrix(q, _times(S, u)) @ S + self.robot.mass_matrix(q) @ self.S_rate(x, u))

    def gravity_force(self, x):
        return self.force(x, self.robot.gravity_force(self.q(x)))

    def inverse_dynamics(self, x, u, udot):
        """The force dual to u of a motion: S* (M v̇ + C v + N)."""
        return self.force(x, self.robot.inverse_dynamics(self.q(x), self.v(x, u), self.vdot(x, u, udot)))

    def forward_dynamics(self, x, u, force, t: float | None = None):
        """u̇ from forces dual to u, constraints kept; t where some of them move in time."""
        return self.udot(x, u, self.robot.forward_dynamics(self.q(x), self.v(x, u), self.tau(x, force), t=t))

    def kinetic_energy(self, x, u):
        return self.robot.kinetic_energy(self.q(x), self.v(x, u))

    def potential_energy(self, x):
        return self.robot.potential_energy(self.q(x))

    def jacobian(self, x, body: str, axes: str = "body"):
        """Twist of a body or frame from u (..., 6, nv)."""
        return self.robot.jacobian(self.q(x), body, axes) @ self.S(x)

    def gamma(self, x):
        """Boltzmann's symbols γ[k] of v = S(x) ẋ: the equations in v have Σ γ[k] v_k times the momentum (..., nv, nv, nv).

            γ[k]_ij = Σ S⁻¹_li (∂S_jl/∂x_m - ∂S_jm/∂x_l) S⁻¹_mk                            From, part one (46)

        Only for choices with u = ẋ. They are the structure constants of the groups, for any coordinates: γ[k]_ij = c[j, i, k].
        """
        if self.nx != self.nv:
            raise ModelError(f"{self.robot.model.name} has {self.nx} coordinates and {self.nv} velocities here; gamma needs u = ẋ.")
        x = np.asarray(x, float)
        dS = np.moveaxis(np.imag(self.S(x[..., None, :] + 1j * STEP * np.eye(self.nx))) / STEP, -3, -1)  # [j, l, m]
        inverse = np.linalg.inv(self.S(x))
        return np.einsum("...li,...jlm,...mk->...kij", inverse, dS - dS.mT, inverse)

    # --- singularities

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The joints whose velocities are not v."""
        return tuple(dict.fromkeys(name for name, choice, *_ in self._rows if choice != LibraryChoice()))

    def condition(self, x) -> dict[str, np.ndarray]:
        """The condition number of S (...) of each such joint, which grows towards a singularity."""
        x = np.asarray(x, float)
        out: dict[str, np.ndarray] = {}
        for name, choice, group, columns, _, _ in self._rows:
            if choice != LibraryChoice():
                out[name] = np.maximum(out.get(name, 1.0), np.linalg.cond(choice.S(group, x[..., columns])))
        return out

    def check(self, x) -> None:
        """Raise a ModelError that names the joint if some x is a singularity of its velocities."""
        condition = self.condition(x)
        for name, choice, group, *_ in self._rows:
            if choice != LibraryChoice() and np.any(condition[name] > SINGULAR):
                raise ModelError(
                    f'joint "{name}" of {self.robot.model.name} is at a singularity of its velocities: {choice.trouble(group)}. '
                    "The velocities v of the library have none."
                )

    def _each(self, function, x, column):
        """Apply the function joint by joint; columns 3 and 4 of the rows are the slices of x and q."""
        x = np.asarray(x)
        parts = [function(row[1], row[2], x[..., row[column]]) for row in self._rows]
        return np.concatenate([np.zeros((*x.shape[:-1], 0)), *parts], -1)


def _times(A, x):
    return (A @ np.asarray(x)[..., None])[..., 0]


def _solved(A, x):
    return np.linalg.solve(A, np.asarray(x)[..., None])[..., 0]
