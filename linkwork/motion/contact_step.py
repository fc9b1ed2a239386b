"""A step with contacts: Moreau's midpoint rule.

    q½ = q ∘ exp(h v/2),    v_f = v + h v̇(q½, v),    u = J v_f + G λ,  G = J 𝓜⁻¹ J*  at q½
    0 ≤ u_n + gap(q½)/h ⟂ λ_n ≥ 0,    Coulomb's law on λ_t, u_t
    w = v_f + 𝓜⁻¹ J* λ,    v⁺ = w + h (v̇(q½, (v + w)/2) − v̇(q½, v)),    q⁺ = q½ ∘ exp(h v⁺/2)

Midpoints lie h v⁺ apart, so that gap(q½)/h is the speed with which a contact may close within the step. Forces that depend on velocity,
dampers and gyroscopic ones, act as at the mean velocity of the step, contacts and all: what contacts hold at rest moves no damper. By how
much they change within the step, of order h², contacts answer in the next one. So does friction against the mean slip, not the last:
steps are of second order. Linear velocities move in axes that do not rotate. Joint limits and dry friction of joints are blocks of the
same problem: a limit has no friction and no tangents, dry friction a normal that nothing moves.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from .. import quantities, sweeps
from ..contact.solver.cone import blocks, flat, mean_compliance, norm, residuals_of, speed, times, worst
from ..contact.solver.sparse_newton import Bounded, Contacts, Newton, SparseProblem
from ..lie.scalars import like, still
from ..model.tree import concatenated
from .rotation_translation import cross_product, element, rotated, rotations

FREE = 1e30  # an impulse that has no bound
RECOVERY = 0.1  # m/s: the fastest that bodies which are in each other are pushed apart


def drift(nodes, q, v, h):
    """q after h at a velocity, and the velocity in its axes there: R' = R exp(h ω), x' = x + h R u, u' = R'* R u."""
    tree = nodes.tree
    q, v, h = nodes.split(q), tree.split(v), h[..., None]
    q1, v1 = tree.slots(2)
    for k in tree.base_to_tips():
        group, now = nodes.groups[k], v[k][..., 0]
        a, b = now[..., : rotations(group)], now[..., rotations(group) :]
        q1[k] = group.compose(q[k], element(group, h * a, h * b))
        v1[k] = np.concatenate([a, rotated(group, -h * a, b)], -1)[..., None]
    return nodes.join(q1), tree.join(v1)


def kick(nodes, v, at, vdot, h):
    """v after h at acceleration v̇, in axes that do not rotate: ω' = ω + h ω̇, u' = u + h (v̇ + ω × u), ω and u of the last those of `at`."""
    tree, h = nodes.tree, h[..., None]
    v, at, vdot = tree.split(v), tree.split(at), tree.split(vdot)
    out = tree.slots()
    for k in tree.base_to_tips():
        group, now, then, rate = nodes.groups[k], v[k][..., 0], at[k][..., 0], vdot[k][..., 0]
        n = rotations(group)
        u = now[..., n:] + h * (rate[..., n:] + cross_product(group, then[..., :n], then[..., n:]))
        out[k] = np.concatenate([now[..., :n] + h * rate[..., :n], u], -1)[..., None]
    return tree.join(out)


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
    """The motion without contacts in a step, at the configuration q in its middle."""

    nodes: Any
    v: Any
    h: Any
    rates: Callable  # v -> v̇ at q

    def velocity(self, at):
        """v_f = v + h v̇(q½, at): the velocity after the step, its forces being those at a velocity."""
        return kick(self.nodes, self.v, at, self.rates(at), self.h)


@dataclass(frozen=True)
class Bound:
    """side (q[row] − bound) ≥ 0, a joint limit; `rate` is the row of its velocity."""

    row: int
    rate: int
    side: float
    bound: float


@dataclass(frozen=True, eq=False)
class ContactLaw:
    """What may touch and how, as blocks (n, t1, t2): contacts, then joint limits, then joints with dry friction."""

    touching: Callable  # (system, q) -> gaps (n,), rows J (3n, nv)
    friction: np.ndarray  # (n,) of contacts
    restitution: np.ndarray
    compliance: np.ndarray  # m/N
    damping: np.ndarray  # N s/m
    limits: tuple[Bound, ...] = ()
    limit_restitution: float = 0.0
    rough: tuple[int, ...] = ()  # rows of v of joints with dry friction
    recovery: float = RECOVERY
    friction_first: bool = False  # is dry friction of joints taken off before the contacts are solved, joint by joint?
    impact_times: bool = False  # do derivatives know that impacts come earlier or later?

    @property
    def contacts(self) -> int:
        return len(self.friction)

    @property
    def count(self) -> int:
        """Of all blocks."""
        return self.contacts + len(self.limits) + len(self.rows_of_friction)

    @property
    def rows_of_friction(self) -> tuple[int, ...]:
        """Rows of v with a block of dry friction."""
        return () if self.friction_first else self.rough

    def rows(self, system, q, nv: int):
        """Gaps (N,) and rows J (3N, nv); those of a block that are not used are zero."""
        N, L = self.contacts, len(self.limits)
        fixed = np.zeros((3 * (L + len(self.rows_of_friction)), nv))
        for k, x in enumerate(self.limits):
            fixed[3 * k, x.rate] = x.side
        for k, row in enumerate(self.rows_of_friction):
            fixed[3 * (L + k) + 1, row] = 1.0
        gaps, J = self.touching(system, q) if N else (q[..., :0], like(np.zeros((0, nv)), q))
        batch = q.shape[:-1]
        more = [x.side * (q[..., x.row] - x.bound) for x in self.limits] + [np.zeros_like(q[..., 0]) for _ in self.rows_of_friction]
        gaps = np.concatenate([gaps, np.stack(more, -1)], -1) if more else gaps
        J = np.broadcast_to(J, (*batch, *J.shape[-2:]))
        return gaps, concatenated([J, np.broadcast_to(like(fixed, q), (*batch, *fixed.shape))], -2)

    def some(self, chosen: np.ndarray) -> "ContactLaw":
        """The law of some blocks, a mask (N,)."""
        n, m = self.contacts, self.contacts + len(self.limits)
        limits = tuple(x for x, here in zip(self.limits, chosen[n:m]) if here)
        rough = tuple(x for x, here in zip(self.rough, chosen[m:]) if here)
        materials = {name: getattr(self, name)[chosen[:n]] for name in ("friction", "restitution", "compliance", "damping")}
        return replace(self, limits=limits, rough=rough, **materials)

    def normals(self, gaps, J, own, before, free, h):
        """The normal rows of b, positive where a block does not act unless others make it, and what compliance adds to `own`, G_nn.

            b_n = u_n + gap/h                                        rigid; where bodies overlap, no faster than `recovery`
            b_n = u_n + e u_n⁻                                       at an impact: the gap closes, e |u_n⁻| exceeds the free change of u_n
            b_n = u_n + (gap − B u_n⁻)/A,    G_nn + c/(h A)          compliant
        """
        x, normal = h[..., None], J[..., ::3, :]
        (_, c, *_), e = self._materials(free), self._newtons(own, x, free)
        un, before_n = times(normal, free), times(normal, before)
        closing, gives, struck = np.maximum(gaps / x, -self.recovery), np.zeros_like(gaps), self._struck(gaps, un, before_n, e, x)
        if self.compliance.any():
            A, B = self._soft_weights(gaps, own, before_n, x, free)
            closing, gives = np.where(c > 0, (gaps - B * before_n) / A, closing), np.where(struck, 0.0, c / (x * A))
        return un + np.where(struck, e * before_n, closing), gives

    def _soft_weights(self, gaps, own, before_n, x, free):
        """A and B of compliant blocks, whose force N = −gap/c − d gap' is made with the gap and its rate as they are in a step:

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
        """Which blocks bounce."""
        return (before_n < 0) & (gaps / x + un < 0) & (-e * before_n > np.abs(un - before_n))

    def _newtons(self, own, x, free):
        """Newton's restitution of blocks that are rigid, or so stiff that a step does not resolve their springs, h² g > c; else zero."""
        e, c, *_ = self._materials(free)
        return np.where(c < x * x * own, e, np.where(c > 0, 0.0, e)) if self.compliance.any() else e

    def later(self, gaps, J, own, before, free, h):
        """δt (N,), zero in value, by which a change of the state delays each impact that bounces, −δgap/u_n⁻; and their mean."""
        e = self._newtons(own, h[..., None], free)
        un, before_n = times(J[..., ::3, :], free), times(J[..., ::3, :], before)
        struck = self._struck(gaps, un, before_n, e, h[..., None])
        when = gaps / np.where(struck, -before_n, 1.0)
        late = np.where(struck, when - still(when), 0.0)
        return late, late.sum(-1) / np.maximum(np.where(struck, 1.0, 0.0).sum(-1), 1.0)

    def at_impact(self, J, own, before, free, h, late):
        """What the delay of impacts does to b (3N,): δb_n = (1 + e) u̇_n δt, δb_t = u̇_t δt, u̇ = J v̇."""
        e = self._newtons(own, h[..., None], free)
        rate = still(blocks(times(J, free - before) / h[..., None]))
        return flat(rate * np.stack([1 + e, np.ones_like(e), np.ones_like(e)], -1) * late[..., None])

    @property
    def _damping_ratios(self) -> np.ndarray:
        return np.array([damping_ratio(e) if c > 0 else 0.0 for e, c in zip(self.restitution, self.compliance)])

    def _materials(self, free):
        """Restitution, compliance, damping and damping ratio of all blocks."""
        L, F = len(self.limits), len(self.rows_of_friction)
        given = (self.restitution, self.limit_restitution), (self.compliance, 0.0), (self.damping, 0.0), (self._damping_ratios, 0.0)
        return (like(np.concatenate([a, np.full(L, b), np.zeros(F)]), free) for a, b in given)

    def turn(self, J, own, mu, before, free, after, impulse):
        """What is added to λ (3N,) so that friction is against the mean slip of a step, ū = (u_t + u_t⁺)/2, and not against u_t⁺, where a
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

    def problem(self, gaps, J, G, before, free, dry, h, friction=None):
        """G, b and μ of Coulomb's problem, from velocities before and after the free part of a step and G = J 𝓜⁻¹ J* of rigid contacts;
        and what compliance adds to the normal rows of G (N,)."""
        n, L, F, x = self.contacts, len(self.limits), len(self.rows_of_friction), h[..., None]
        mu = like(self.friction, free) if friction is None else friction
        mu = np.concatenate([mu + np.zeros_like(gaps[..., :n]), np.zeros_like(gaps[..., n : n + L]), np.ones_like(gaps[..., n + L :])], -1)
        own = blocks(np.diagonal(G, axis1=-2, axis2=-1))
        u, zero = times(J, free), np.zeros_like(own[..., 0])
        normal, gives = self.normals(gaps, J, own[..., 0], before, free, h)
        extra = np.stack([gives, zero, zero], -1)
        if L + F:
            unused = [np.concatenate([zero[..., :n], parts], -1) for parts in self._unused(own, zero)]
            extra = extra + np.stack(unused, -1)
            held = np.concatenate([np.zeros_like(normal[..., : n + L]), -own[..., n + L :, 1] * (x * dry)], -1) if F else 0.0
            normal = normal + held
        b = flat(np.concatenate([normal[..., None], blocks(u)[..., 1:]], -1))
        return G + flat(extra)[..., :, None] * like(np.eye(3 * self.count), free), b, mu, gives

    def solved_by_rows(self, solver: Newton, inertia: Inertia, J, G, b, mu, gives, dry, h, impulse):
        """λ (3N,), residual and rounds, and the change of v."""
        p, rows = self._by_rows(inertia, J, G, b, mu, gives, dry, h)
        forces, rounds = solver.by_rows(p, [impulse[..., i] for i in rows])
        impulse, u = (self._spread(rows, each, b) for each in (forces, p.velocities(forces)))
        if self.rows_of_friction:
            impulse = impulse + self._spread([self._single_rows[len(self.limits) :] - 1], [h[..., None] * dry], b)
        left = worst(residuals_of(mean_compliance(G), u, mu, impulse, speed(b)))
        return impulse, np.stack([left, rounds + 0.0 * left], -1), p.change(forces)

    def _by_rows(self, inertia: Inertia, J, G, b, mu, gives, dry, h) -> tuple[SparseProblem, list[np.ndarray]]:
        """The problem by rows, three of each contact, one of each limit and joint with dry friction; and where they are in (3N,)."""
        n, m, x, single = self.contacts, self.contacts + len(self.limits), h[..., None], self._single_rows
        g = mean_compliance(G)
        none, most = np.zeros_like(g[..., n:m]), [x * dry] if self.rows_of_friction else []
        lower, upper = np.concatenate([none, *(-y for y in most)], -1), np.concatenate([none + FREE, *most], -1)
        contacts = Contacts(J[..., : 3 * n, :], b[..., : 3 * n], g[..., :n], gives[..., :n], mu[..., :n])
        bounded = Bounded(J[..., single, :], b[..., single], g[..., n:], lower, upper)
        there = [(kind, rows) for kind, rows in ((contacts, np.arange(3 * n)), (bounded, single)) if len(rows)]
        size = speed(b)
        kinds = tuple(kind for kind, _ in there)
        return SparseProblem(inertia.mass, inertia.divided, kinds, np.where(size > 0, size, 1.0)), [rows for _, rows in there]

    def has_many_rows(self, nv: int) -> bool:
        """Does Newton's method by rows take fewer operations than with G? Counted on robots: where rows are more than velocities, and
        for single rows, which add to the diagonal of 𝓜 alone."""
        return 3 * self.contacts > nv or self.count > self.contacts

    @property
    def _single_rows(self) -> np.ndarray:
        """The rows that are used in blocks of limits, then of dry friction."""
        n, m = self.contacts, self.contacts + len(self.limits)
        return np.concatenate([3 * np.arange(n, m), 3 * np.arange(m, self.count) + 1])

    def _spread(self, rows, values, some):
        """Values in their rows of (3N,), zeros elsewhere."""
        out = np.zeros_like(some)
        for where, value in zip(rows, values):
            out[..., where] = value
        return out

    def _unused(self, own, zero):
        """What stands on the diagonal of G in rows that are not used: as much as in the row that is."""
        n, m = self.contacts, self.contacts + len(self.limits)
        limit, rough = own[..., n:m, 0], own[..., m:, 1]
        none = np.zeros_like(rough)
        return (
            np.concatenate([np.zeros_like(limit), rough], -1),
            np.concatenate([limit, none], -1),
            np.concatenate([limit, rough], -1),
        )


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


def prepared(law: ContactLaw, nodes, q, v, tau, h, external=None):
    """The first half of a step: q½, its free motion from v½, the gaps (N,), J (3N, nv) and 𝓜. `nodes` have joints without dry friction."""
    q, v = drift(nodes, q, v, h / 2)
    inertia = Inertia(nodes, q)
    motion = FreeMotion(nodes, v, h, lambda v: inertia.acceleration(nodes, q, v, tau, external))
    return q, motion, *law.rows(nodes, q, v.shape[-1]), inertia


def at_the_mean(law: "ContactLaw", J, own, mu, v, free, after, impulse, free_velocity: Callable, change: Callable):
    """v⁺ of a step with friction and forces at its mean velocity, from the one with forces at its first and friction at its last.

    `own` (3N,) is the diagonal of G, `free_velocity` of a velocity is v_f with the forces there, `change` of λ is 𝓜⁻¹ J* λ.
    """
    turn = law.turn(J, own, mu, v, free, after, impulse)
    return after + change(turn) + (free_velocity((v + after) / 2) - free_velocity(v))


def contact_step(
    law: ContactLaw, solver, nodes, q, v, tau, impulse, h, dry, external=None, friction=None, prepare: Callable = prepared,
    inertia_at: Callable = Inertia,
):  # fmt: skip
    """The state after a step, the impulses (3N,) of its blocks, what the solver says of them, and the gaps (N,).

    `solver` (G, b, μ, λ) -> (λ, more), or a Newton, starts from the impulses of the step before. `prepare` makes its first half,
    `inertia_at` of (nodes, q) an Inertia.

    Where derivatives know the times of impacts, an impact that comes δt later finds the configuration and the velocity that are reached
    then, and the velocities before and after it act δt longer and shorter (the saltation matrix): all of it is zero in value.
    """
    q, motion, gaps, J, inertia = prepare(law, nodes, q, v, tau, h, external)
    v, nv = motion.v, motion.v.shape[-1]
    y = inertia.half(J)
    rigid = inertia.compliance(J, y)
    own = np.diagonal(rigid, axis1=-2, axis2=-1)
    by_rows = isinstance(solver, Newton) and isinstance(inertia, Inertia) and law.has_many_rows(nv)

    free = motion.velocity(v)
    if law.friction_first and law.rough:
        free = rubbed(law.rough, inertia, free, h[..., None] * dry)
    G, b, mu, gives = law.problem(gaps, J, rigid, v, free, dry, h, friction)
    if by_rows:
        impulse, said, change = law.solved_by_rows(solver, inertia, J, G, b, mu, gives, dry, h, impulse)
    elif not law.impact_times:
        impulse, said = solver(G, b, mu, impulse)
        change = inertia.change(y, impulse)
    else:
        normal = own[..., ::3]
        late, mean = law.later(gaps, J, normal, v, free, h)
        there = quantities.integrate(nodes, q, v * mean[..., None])
        (_, J), inertia = law.rows(nodes, there, nv), inertia_at(nodes, there)
        y = inertia.half(J)
        G, b, mu, _ = law.problem(gaps, J, inertia.compliance(J, y), v, free, dry, h, friction)
        impulse, said = solver(G, b + law.at_impact(J, normal, v, free, h, late), mu, impulse)
        change = inertia.change(y, impulse)
        q = quantities.integrate(nodes, q, -inertia.change(y, flat(still(blocks(impulse)) * late[..., None])))
    change_of = lambda impulse: inertia.change(y, impulse)
    after = at_the_mean(law, J, own, mu, v, free, free + change, impulse, motion.velocity, change_of)
    q, v = drift(nodes, q, after, h / 2)
    return q, v, impulse, said, gaps
