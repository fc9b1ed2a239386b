"""A step with contacts: Moreau's midpoint rule.

    q½ = q ∘ exp(h v/2),    v_f = v + h v̇(q½),    u = J v_f + G λ,  G = J 𝓜⁻¹ J*  at q½
    0 ≤ u_n + gap(q½)/h ⟂ λ_n ≥ 0,    Coulomb's law on λ_t, u_t
    v⁺ = v_f + 𝓜⁻¹ J* λ,    q⁺ = q½ ∘ exp(h v⁺/2)

Midpoints lie h v⁺ apart, so that gap(q½)/h is the speed with which a contact may close within the step. v̇ is taken at half the step's
velocity, of second order; linear velocities move in axes that do not rotate. Joint limits and dry friction of joints are blocks of
the same problem: a limit has no friction and no tangents, dry friction a normal that nothing moves.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from .. import quantities
from ..contact.cone import blocks, flat, times
from ..lie.scalars import like, still
from ..model.tree import concatenated
from .equations import acceleration
from .rotation_translation import cross_product, element, rotated, rotations

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


def free_velocity(nodes, q, v, tau, h, external=None, rates=acceleration):
    """v_f: the velocity after h without contacts, at configuration q, v̇ being that of the velocity after half of h."""
    half = kick(nodes, v, v, rates(nodes, q, v, tau, external), h / 2)
    return kick(nodes, v, half, rates(nodes, q, half, tau, external), h)


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
    bias: Callable | None = None  # (system, q, v) -> J̇ v (3n,), where derivatives know that impacts come earlier or later

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

    def normals(self, gaps, J, before, free, h):
        """What the normal rows of b are: positive where a block does not act unless others make it.

            b_n = u_n + gap/(h + c d)        c compliance, d damping; rigid: gap/h
            b_n = u_n + e u_n⁻               at an impact: where the gap closes, and e |u_n⁻| exceeds the free change of u_n
        """
        x, normal = h[..., None], J[..., ::3, :]
        e, c, d = self._materials(free)
        un, before_n = times(normal, free), times(normal, before)
        closing = gaps / (x + c * d)
        closing = np.where(c > 0, closing, np.maximum(closing, -self.recovery))
        return un + np.where(self._struck(gaps, un, before_n, e, x), e * before_n, closing)

    def _struck(self, gaps, un, before_n, e, x):
        """Which blocks bounce."""
        return (before_n < 0) & (gaps / x + un < 0) & (-e * before_n > np.abs(un - before_n))

    def later(self, system, q, gaps, J, before, free, h):
        """δt (N,), zero in value, by which a change of the state delays the impact of each block that bounces; and what it does to b (3N,):

            δt = −δgap/u_n⁻,    δb_n = (1 + e) d̈_n δt,    δb_t = d̈_t δt                          d̈ = J v̇ + J̇ v

        An impact that comes later finds the velocity that is reached then: the saltation matrix, in steps.
        """
        n, x, e = self.contacts, h[..., None], next(self._materials(free))
        un, before_n = times(J[..., ::3, :], free), times(J[..., ::3, :], before)
        struck = self._struck(gaps, un, before_n, e, x)
        when = gaps / np.where(struck, -before_n, 1.0)
        late = np.where(struck, when - still(when), 0.0)
        rate = times(J, free - before) / x
        bias = self.bias(system, q, before) if n and self.bias is not None else q[..., :0]
        rate = still(blocks(rate + np.concatenate([bias, np.zeros_like(rate[..., 3 * n :])], -1)))
        more = np.stack([1 + e, np.ones_like(e), np.ones_like(e)], -1)
        return late, flat(rate * more * late[..., None])

    def _materials(self, free):
        """Restitution, compliance and damping of all blocks."""
        L, F = len(self.limits), len(self.rows_of_friction)
        given = (self.restitution, self.limit_restitution), (self.compliance, 0.0), (self.damping, 0.0)
        return (like(np.concatenate([a, np.full(L, b), np.zeros(F)]), free) for a, b in given)

    def problem(self, gaps, J, response, before, free, dry, h, friction=None):
        """G, b and μ of Coulomb's problem, from velocities before and after the free part of a step; `response` is 𝓜⁻¹ J*.

        Compliance c with damping d adds c/(h (h + c d)) to G_nn.
        """
        n, L, F, x = self.contacts, len(self.limits), len(self.rows_of_friction), h[..., None]
        mu = like(self.friction, free) if friction is None else friction
        mu = np.concatenate([mu + np.zeros_like(gaps[..., :n]), np.zeros_like(gaps[..., n : n + L]), np.ones_like(gaps[..., n + L :])], -1)
        G, u, normal = J @ response, times(J, free), self.normals(gaps, J, before, free, h)
        _, c, d = self._materials(free)
        own = blocks(np.diagonal(G, axis1=-2, axis2=-1))
        zero = np.zeros_like(own[..., 0])
        extra = np.stack([c / (x * (x + c * d)), zero, zero], -1)
        if L + F:
            unused = [np.concatenate([zero[..., :n], parts], -1) for parts in self._unused(own, zero)]
            extra = extra + np.stack(unused, -1)
            held = np.concatenate([np.zeros_like(normal[..., : n + L]), -own[..., n + L :, 1] * (x * dry)], -1) if F else 0.0
            normal = normal + held
        b = flat(np.concatenate([normal[..., None], blocks(u)[..., 1:]], -1))
        return G + flat(extra)[..., :, None] * like(np.eye(3 * self.count), free), b, mu

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


def rubbed(rows, inverse, v, most):
    """Velocities after an impulse against each of some joints, which stops it by itself if that takes no more than `most`:

        p(i) = −v(i)/𝓜⁻¹(i,i), cut off at ± most(i),    v' = v + 𝓜⁻¹ p
    """
    some = [v[..., i] / inverse[..., i, i] for i in rows]
    p = [-np.minimum(np.maximum(x, -most[..., k]), most[..., k]) for k, x in enumerate(some)]
    return v + sum(inverse[..., :, i] * x[..., None] for i, x in zip(rows, p))


def prepared(law: ContactLaw, nodes, q, v, tau, h, external=None):
    """The first half of a step: q½, v½, v_f, the gaps (N,), J (3N, nv) and 𝓜⁻¹. `nodes` have joints without dry friction."""
    q, v = drift(nodes, q, v, h / 2)
    free = free_velocity(nodes, q, v, tau, h, external)
    return q, v, free, *law.rows(nodes, q, v.shape[-1]), quantities.mass_matrix_inverse(nodes, q)


def contact_step(law: ContactLaw, solver: Callable, nodes, q, v, tau, impulse, h, dry, external=None, friction=None):
    """The state after a step, the impulses (3N,) of its blocks, what the solver says of them, and the gaps (N,).

    `solver` (G, b, μ, λ) -> (λ, more) starts from the impulses of the step before.
    """
    q, v, free, gaps, J, inverse = prepared(law, nodes, q, v, tau, h, external)
    if law.friction_first and law.rough:
        free = rubbed(law.rough, inverse, free, h[..., None] * dry)
    response = inverse @ J.mT
    G, b, mu = law.problem(gaps, J, response, v, free, dry, h, friction)
    if law.bias is None:
        impulse, said = solver(G, b, mu, impulse)
    else:
        late, more = law.later(nodes, q, gaps, J, v, free, h)
        impulse, said = solver(G, b + more, mu, impulse)
        q = quantities.integrate(nodes, q, -times(response, flat(still(blocks(impulse)) * late[..., None])))
    q, v = drift(nodes, q, free + times(response, impulse), h / 2)
    return q, v, impulse, said, gaps
