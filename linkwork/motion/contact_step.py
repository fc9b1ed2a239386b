"""A step with contacts: Moreau's midpoint rule.

    q½ = q ∘ exp(h v/2),    v_f = v + h v̇(q½, v),    u = J v_f + G λ,  G = J 𝓜⁻¹ J*  at q½
    0 ≤ u_n + gap(q½)/h ⟂ λ_n ≥ 0,    Coulomb's law on λ_t, u_t
    w = v_f + 𝓜⁻¹ J* λ,    v⁺ = w + h (v̇(q½, (v + w)/2) − v̇(q½, v)),    q⁺ = q½ ∘ exp(h v⁺/2)

Midpoints lie h v⁺ apart, so that gap(q½)/h is the speed with which a contact may close within the step. Forces that depend on velocity,
dampers and gyroscopic ones, act as at the mean velocity of the step, contacts and all: what contacts hold at rest moves no damper. By how
much they change within the step, of order h², contacts answer in the next one. So does friction against the mean slip, not the last:
steps are of second order. Linear velocities move in axes that do not rotate. Joint limits and dry friction of joints are rows of the
same problem.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .. import quantities, sweeps
from ..contact.cone import blocks, flat, norm, times
from ..contact.kinds import Bounded, Contact, Kind, Unilateral
from ..contact.problem import ByMass, Matrix, Problem
from ..contact.step_rows import StepRows
from ..lie.scalars import like, still
from ..model.tree import concatenated
from .joint_limits import Limit
from .rotation_translation import drift, kick

RECOVERY = 0.1  # m/s: the fastest that bodies which are in each other are pushed apart


class Inertia:
    """𝓜 = L* D L at a configuration, factored once for all that is divided by it in a step: free motion, and what impulses change."""

    def __init__(self, nodes, q):
        self.tree, self.mass = sweeps.velocity_tree(nodes.tree), quantities.mass_matrix(nodes, q)
        self.factors = sweeps.factored(self.tree, self.mass)

    def half(self, J):
        """y = L⁻* J* of rows (..., m, nv), as sparse as the ways of what they move to the world."""
        return sweeps.inwards(self.tree, self.factors, J.mT)

    def compliance(self, J, y):
        """J 𝓜⁻¹ J* = y* D⁻¹ y."""
        return sweeps.rows_compliance(self.tree, self.factors, y)

    def change(self, y, impulse):
        """𝓜⁻¹ J* λ = L⁻¹ D⁻¹ (y λ)."""
        return sweeps.outwards(self.tree, self.factors, times(y, impulse)[..., None])[..., 0]

    def solve(self, x):
        """𝓜⁻¹ x of columns (..., nv, m)."""
        return sweeps.mass_matrix_solve(self.tree, self.factors, x)

    def divided(self, x):
        """𝓜⁻¹ x of a vector (..., nv)."""
        return self.solve(x[..., None])[..., 0]

    def acceleration(self, nodes, q, v, tau, external=None):
        """v̇ with the springs and damping of the joints."""
        return self.divided(applied_force(nodes, q, v, tau, external))


def applied_force(nodes, q, v, tau, external=None):
    """𝓜 v̇ of a tree with the springs and damping of its joints."""
    return tau + quantities.passive_force(nodes, q, v) - quantities.inverse_dynamics(nodes, q, v, np.zeros_like(v), external)


class Compliance(NamedTuple):
    """What an Inertia does, by 𝓜⁻¹ as a matrix (..., nv, nv): of mechanisms with loops, where it has no inverse."""

    inverse: Any

    def half(self, J):
        """y = 𝓜⁻¹ J*."""
        return self.inverse @ J.mT

    def compliance(self, J, y):
        return J @ y

    def change(self, y, impulse):
        return times(y, impulse)


class FreeMotion(NamedTuple):
    """The motion without contacts in a step, from the velocity in its middle: `velocity` of another one is the velocity after the step,
    its forces being those there."""

    v: Any
    velocity: Callable

    @staticmethod
    def of(nodes, v, h, rates: Callable, onto: Callable = lambda v: v) -> "FreeMotion":
        """v_f = v + h v̇(q½, at), `rates` being v̇ at q½, put on what the mechanism allows."""
        return FreeMotion(v, lambda at: onto(kick(nodes, v, at, rates(at), h)))


@dataclass(frozen=True, eq=False)
class StepLaw:
    """What may touch and how: contacts, three rows (n, t1, t2) each, then joint limits, joints with dry friction, and rows of somebody
    else's kinds, one each."""

    touching: Callable  # (system, q) -> gaps (n,), rows J (3n, nv)
    friction: np.ndarray  # (n,) of contacts
    restitution: np.ndarray
    compliance: np.ndarray  # m/N
    damping: np.ndarray  # N s/m
    limits: tuple[Limit, ...] = ()
    limit_restitution: float = 0.0
    rough: tuple[int, ...] = ()  # rows of v of joints with dry friction
    own: tuple[StepRows, ...] = ()
    recovery: float = RECOVERY
    friction_first: bool = False  # is dry friction of joints taken off before the contacts are solved, joint by joint?
    by_mass: bool = False  # do solvers take rows and the mass matrix in place of G, as rounds of Newton's method may?
    impact_times: bool = False  # do derivatives know that impacts come earlier or later?

    @property
    def contacts(self) -> int:
        return len(self.friction)

    @property
    def count(self) -> int:
        """Contacts and single rows."""
        return self.contacts + len(self.limits) + len(self.rows_of_friction) + sum(x.count for x in self.own)

    @property
    def width(self) -> int:
        """All rows."""
        return self.count + 2 * self.contacts

    @property
    def gaps(self) -> int:
        """All but dry friction have a gap."""
        return self.count - len(self.rows_of_friction)

    @property
    def rows_of_friction(self) -> tuple[int, ...]:
        """Rows of v with a row of dry friction."""
        return () if self.friction_first else self.rough

    @property
    def bounces(self) -> bool:
        """Does anything bounce?"""
        return bool(self.restitution.any() or (self.limits and self.limit_restitution))

    @property
    def normal(self) -> np.ndarray:
        """The rows of gaps: normals of contacts, and limits."""
        n, L = self.contacts, len(self.limits)
        return np.concatenate([3 * np.arange(n), 3 * n + np.arange(L)])

    def each_row(self, normal, tangent):
        """Numbers of each gap (n + L,) at all rows: of a contact once for its normal and once for its tangents; zero for rows without."""
        n = self.contacts
        contact = flat(np.stack([normal[..., :n], tangent[..., :n], tangent[..., :n]], -1))
        none = np.zeros_like(normal, shape=(*normal.shape[:-1], self.width - len(self.normal) - 2 * n))
        return np.concatenate([contact, normal[..., n:], none], -1)

    def rows(self, system, q, nv: int):
        """Gaps (n + L and one of each own row,) and rows J (width, nv)."""
        fixed = np.zeros((len(self.limits) + len(self.rows_of_friction), nv))
        for row, x in zip(fixed, self.limits):
            row[x.rate] = x.side
        fixed[np.arange(len(self.limits), len(fixed)), list(self.rows_of_friction)] = 1.0
        gaps, J = self.touching(system, q) if self.contacts else (q[..., :0], like(np.zeros((0, nv)), q))
        own, more = zip(*(x.rows(system, q) for x in self.own)) if self.own else ((), ())
        gaps = np.concatenate([gaps, *((x.side * (q[..., x.row] - x.bound))[..., None] for x in self.limits), *own], -1)
        return gaps, concatenated([np.broadcast_to(x, (*q.shape[:-1], *x.shape[-2:])) for x in (J, like(fixed, q), *more)], -2)

    def normals(self, gaps, J, own, before, free, h):
        """Of each gap b (n + L,), positive where a row does not act unless others make it, and what compliance adds to `own`, G_nn.

            b_n = u_n + gap/h                                        rigid; where bodies overlap, no faster than `recovery`
            b_n = u_n + e u_n⁻                                       at an impact: the gap closes, e |u_n⁻| exceeds the free change of u_n
            b_n = u_n + (gap − B u_n⁻)/A,    G_nn + c/(h A)          compliant
        """
        x, normal, gaps = h[..., None], J[..., self.normal, :], gaps[..., : len(self.normal)]
        (_, c, *_), e = self._materials(free), self._newtons(own, x, free)
        un, before_n = times(normal, free), times(normal, before)
        closing, gives, struck = np.maximum(gaps / x, -self.recovery), np.zeros_like(gaps), self._struck(gaps, un, before_n, e, x)
        if self.compliance.any():
            A, B = self._soft_weights(gaps, own, before_n, x, free)
            closing, gives = np.where(c > 0, (gaps - B * before_n) / A, closing), np.where(struck, 0.0, c / (x * A))
        return un + np.where(struck, e * before_n, closing), gives

    def _soft_weights(self, gaps, own, before_n, x, free):
        """A and B of compliant contacts, whose force N = −gap/c − d gap' is made with the gap and its rate as they are in a step:

            λ_n = h N = −h/c (gap + A u_n⁺ − B u_n⁻),    A = h (1 + 3θ)/4 + c d f (1 + θ)/2,    B = h (1 − θ)/4 − c d f (1 − θ)/2

        θ = 0 is the trapezoidal rule, of second order; θ = 1 the implicit Euler rule, for springs and dampers that a step does not resolve;
        θ = s/(1 + s), s = h g (d + h/c), g = G_nn. f is the part of the step in which the gap is below zero.
        """
        _, c, d, ratio = self._materials(free)
        soft, way = c > 0, x * np.abs(before_n)
        c = np.where(soft, c, 1.0)
        d = d + 2 * ratio / np.sqrt(np.where(soft & (own > 0), c * own, 1.0))
        part = np.abs(gaps) < way / 2
        f = np.where(part, 0.5 - gaps / np.where(part, way, 1.0), np.where(gaps < 0, 1.0, 0.0))
        s = x * own * (c * d + x)
        theta = s / (c + s)
        return x * (1 + 3 * theta) / 4 + c * d * f * (1 + theta) / 2, (x / 2 - c * d * f) * (1 - theta) / 2

    def soft_forces(self, gaps, rates, own):
        """N of compliant contacts (n,) at a state, zero for rigid ones: max(0, −gap/c − d gap') where gap < 0, G_nn being `own`."""
        c = np.where(self.compliance > 0, self.compliance, 1.0)
        d = self.damping + 2 * self._damping_ratios / np.sqrt(np.where(own > 0, c * own, 1.0))
        return np.where((self.compliance > 0) & (gaps < 0), np.maximum(-gaps / c - d * rates, 0.0), 0.0)

    def _struck(self, gaps, un, before_n, e, x):
        """Which gaps bounce."""
        return (before_n < 0) & (gaps / x + un < 0) & (-e * before_n > np.abs(un - before_n))

    def _newtons(self, own, x, free):
        """Newton's restitution of what is rigid, or so stiff that a step does not resolve their springs, h² g > c; else zero."""
        e, c, *_ = self._materials(free)
        return np.where(c < x * x * own, e, np.where(c > 0, 0.0, e)) if self.compliance.any() else e

    def later(self, gaps, J, own, before, free, h):
        """δt of each gap (n + L,), zero in value, by which a change of the state delays each impact that bounces,
        −δgap/u_n⁻; and their mean."""
        e, gaps = self._newtons(own, h[..., None], free), gaps[..., : len(self.normal)]
        un, before_n = times(J[..., self.normal, :], free), times(J[..., self.normal, :], before)
        struck = self._struck(gaps, un, before_n, e, h[..., None])
        when = gaps / np.where(struck, -before_n, 1.0)
        late = np.where(struck, when - still(when), 0.0)
        return late, late.sum(-1) / np.maximum(np.where(struck, 1.0, 0.0).sum(-1), 1.0)

    def at_impact(self, J, own, before, free, h, late):
        """What the delay of impacts does to b (width,): δb_n = (1 + e) u̇_n δt, δb_t = u̇_t δt, u̇ = J v̇."""
        e = self._newtons(own, h[..., None], free)
        return still(times(J, free - before) / h[..., None]) * self.each_row((1 + e) * late, late)

    @property
    def _damping_ratios(self) -> np.ndarray:
        return np.array([damping_ratio(e) if c > 0 else 0.0 for e, c in zip(self.restitution, self.compliance)])

    def _materials(self, free):
        """Restitution, compliance, damping and damping ratio of what has a gap."""
        given = (self.restitution, self.limit_restitution), (self.compliance, 0.0), (self.damping, 0.0), (self._damping_ratios, 0.0)
        return (like(np.concatenate([a, np.full(len(self.limits), b)]), free) for a, b in given)

    def turn(self, J, own, mu, before, free, after, impulse):
        """What is added to λ (width,) so that friction is against the mean slip of a step, ū = (u_t + u_t⁺)/2, not against u_t⁺, where a
        slip goes on: λ_t turns by the angle between the two.

        A slip goes on if the next step would not end it, |u_t⁺| > |u_t − u_t⁺| and |u_t⁺| > g μ λ_n, and if nothing strikes.
        """
        n = self.contacts
        rows, others = J[..., : 3 * n, :], np.zeros_like(impulse[..., 3 * n :])
        u, u_free, u_after = (blocks(times(rows, x)) for x in (before, free, after))
        last, mean, force = u_after[..., 1:], (u[..., 1:] + u_after[..., 1:]) / 2, blocks(impulse[..., : 3 * n])
        speed, t = norm(last), force[..., 1:]
        friction = np.max(blocks(own[..., : 3 * n])[..., 1:], -1) * mu[..., :n] * force[..., 0]
        lasts = (speed > norm(u[..., 1:] - last)) & (speed > friction) & (-u[..., 0] <= np.abs(u_free[..., 0] - u[..., 0]))
        size = np.where(lasts, speed * norm(mean), 1.0)
        c, s = (last * mean).sum(-1), last[..., 0] * mean[..., 1] - last[..., 1] * mean[..., 0]
        c, s = np.where(lasts, c / size, 1.0), np.where(lasts, s / size, 0.0)
        turned = np.stack([c * t[..., 0] - s * t[..., 1], s * t[..., 0] + c * t[..., 1]], -1)
        return np.concatenate([flat(np.concatenate([np.zeros_like(t[..., :1]), turned - t], -1)), others], -1)

    def problem(self, compliance: Matrix | ByMass, gaps, J, own, before, free, dry, h, friction) -> Problem:
        """The problem of a step from velocities before and after its free part; `own` (width,) is the diagonal of J 𝓒 J*."""
        n, m, u = self.contacts, 3 * self.contacts + len(self.limits), times(J, free)
        normal, gives = self.normals(gaps, J, own[..., self.normal], before, free, h)
        kinds: list[Kind] = []
        if n:
            b = flat(np.concatenate([normal[..., :n, None], blocks(u[..., : 3 * n])[..., 1:]], -1))
            g = (blocks(own[..., : 3 * n]).sum(-1) + gives[..., :n]) / 3
            kinds.append(Contact(b, g, gives[..., :n], friction + np.zeros_like(g)))
        if self.limits:
            kinds.append(Unilateral(normal[..., n:], own[..., 3 * n : m]))
        if self.rows_of_friction:
            most = h[..., None] * dry
            last = m + len(self.rows_of_friction)
            kinds.append(Bounded(u[..., m:last], own[..., m:last], -most, most))
        row, gap = m + len(self.rows_of_friction), len(self.normal)
        for x in self.own:
            here = slice(row, row + x.count)
            kinds.append(x.kind(gaps[..., gap : gap + x.count], u[..., here], own[..., here], h))
            row, gap = row + x.count, gap + x.count
        return Problem(tuple(kinds), compliance)

    def takes_rows(self, nv: int) -> bool:
        """Are problems of rows and the mass matrix? Newton's method then takes fewer operations than with G, as counted on robots, where
        rows are more than velocities, and for single rows, which add to the diagonal of 𝓜 alone."""
        return self.by_mass and (3 * self.contacts > nv or self.count > self.contacts)


def damping_ratio(restitution: float) -> float:
    """ζ of the spring and damper that sends a mass back with e times the speed it came with, and lets go where its force ends:

        ln e = −(π − 2φ) tan φ,  ζ = sin φ    down to e = exp(−2);    below it    ln e = −2 ψ coth ψ,  ζ = cosh ψ;    0 for e = 0 and e = 1

    as the force k x + d x' of x'' + 2 ζ ω x' + ω² x = 0 ends at √(1 − ζ²) ω t = π − 2φ.
    """
    from scipy.optimize import brentq

    if not 0 < restitution < 1:
        return 0.0
    loss = -np.log(restitution)
    if loss < 2:
        return float(np.sin(brentq(lambda x: (np.pi - 2 * x) * np.tan(x) - loss, 0.0, np.pi / 2 - 1e-9)))
    return float(np.cosh(brentq(lambda x: 2 * x / np.tanh(x) - loss, 1e-9, loss)))


def rubbed(rows, inertia: Inertia | Compliance, v, most):
    """Velocities after an impulse against each of some joints, which stops it by itself if that takes no more than `most`:

        p(i) = −v(i)/𝓜⁻¹(i,i), cut off at ± most(i),    v' = v + 𝓜⁻¹ p
    """
    units = like(np.eye(v.shape[-1])[list(rows)], v)
    units = np.broadcast_to(units, (*v.shape[:-1], *units.shape))
    y = inertia.half(units)
    own = np.diagonal(inertia.compliance(units, y), axis1=-2, axis2=-1)
    p = [-np.minimum(np.maximum(v[..., i] / own[..., k], -most[..., k]), most[..., k]) for k, i in enumerate(rows)]
    return v + inertia.change(y, np.stack(p, -1))


def prepared(law: StepLaw, nodes, q, v, tau, h, external=None):
    """The first half of a step: q½, its free motion from v½, the gaps, J (width, nv) and 𝓜. `nodes` have joints without dry friction."""
    q, v = drift(nodes, q, v, h / 2)
    inertia = Inertia(nodes, q)
    motion = FreeMotion.of(nodes, v, h, lambda v: inertia.acceleration(nodes, q, v, tau, external))
    return q, motion, *law.rows(nodes, q, v.shape[-1]), inertia


def contact_step(
    law: StepLaw, solver, nodes, q, v, tau, impulse, h, dry, external=None, friction=None, prepare: Callable = prepared,
    inertia_at: Callable = Inertia, end: Callable = drift,
):  # fmt: skip
    """The state after a step, the impulses (width,) of its rows, what the solver says of them, and the gaps (n + L,).

    `solver` (problem, λ) -> (λ, more) starts from the impulses of the step before. `prepare` makes its first half, `inertia_at` of
    (nodes, q) an Inertia, `end` its second half.

    Where derivatives know the times of impacts, an impact that comes δt later finds the configuration and the velocity that are reached
    then, and the velocities before and after it act δt longer and shorter (the saltation matrix): all of it is zero in value.
    """
    q, motion, gaps, J, inertia = prepare(law, nodes, q, v, tau, h, external)
    v, nv = motion.v, motion.v.shape[-1]
    friction = like(law.friction, v) if friction is None else friction
    y = inertia.half(J)
    rigid = inertia.compliance(J, y)
    own = np.diagonal(rigid, axis1=-2, axis2=-1)
    first = free = motion.velocity(v)
    if law.friction_first and law.rough:
        free = rubbed(law.rough, inertia, first, h[..., None] * dry)
    given = gaps, J, own, v, free, dry, h, friction
    if isinstance(inertia, Inertia) and law.takes_rows(nv):
        rows = ByMass(inertia.mass, inertia.divided, J)
        impulse, said = solver(law.problem(rows, *given), impulse)
        change = rows.motion(impulse)
    elif not law.impact_times:
        impulse, said = solver(law.problem(Matrix(rigid), *given), impulse)
        change = inertia.change(y, impulse)
    else:
        normal = own[..., law.normal]
        late, mean = law.later(gaps, J, normal, v, free, h)
        there = quantities.integrate(nodes, q, v * mean[..., None])
        (_, J), inertia = law.rows(nodes, there, nv), inertia_at(nodes, there)
        y = inertia.half(J)
        G = inertia.compliance(J, y)
        problem = law.problem(Matrix(G), gaps, J, np.diagonal(G, axis1=-2, axis2=-1), *given[3:])
        impulse, said = solver(problem.plus(law.at_impact(J, normal, v, free, h, late)), impulse)
        change = inertia.change(y, impulse)
        q = quantities.integrate(nodes, q, -inertia.change(y, still(impulse) * law.each_row(late, late)))
    after = free + change
    turn = inertia.change(y, law.turn(J, own, friction, v, free, after, impulse))
    after = after + turn + (motion.velocity((v + after) / 2) - first)
    return *end(nodes, q, after, h / 2), impulse, said, gaps
