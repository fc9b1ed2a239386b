"""SKO: one tree of blocks, and everything of chapter 9 that follows from it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from .. import sweeps
from ..errors import ModelError, ShapeError, old_name, renamed_keyword
from ..model.tree import Tree, concatenated
from ..sweeps import Blocks, Rates, at_rest
from ..sweeps.blocks import shapes
from ..sweeps.divide_and_conquer import divide_and_conquer
from ..sweeps.lyapunov import backward_element
from ..sweeps.schedule import Schedule, schedule
from ..systems import prescribed as prescribed_joints


@dataclass(frozen=True)
class Changes:
    """How the blocks of an SKO model change with its configuration."""

    rates: Callable  # of v (..., nv): the rates of the entries of A, H and M, as BlockRates; armatures are constant
    is_rigid: bool = False  # is Ȧ = A Δ̄ with Δ = H* v, and are H and M constant?


@dataclass(frozen=True, eq=False)
class SKO:
    """A tree or forest of nodes with blocks of any sizes, at one state or a batch of them (Jain, section 9.1).

        V = A* H* v,   α = A* (H* v̇ + a),   f = A (M α + b),   τ = H f + armature v̇       Jain (9.1) to (9.3)

    tree    the number of each node's parent, -1 for a root; parents come before their children
    A       A(p,k), from node k to its parent; for a root, to the world
    H       one row per velocity of the node's joint; a joint may have none
    M       inertia of the node
    armature  inertia that sits in the joint, zero by default
    a, b    Coriolis acceleration and gyroscopic force, columns; zero by default
    base    acceleration of the world, a column: minus gravity, or zero
    changes   how the blocks change with the configuration, for rates of operators; not known by default

    Blocks are given node by node and may have leading batch axes. Vectors of the joints are (..., nv); what belongs to
    nodes is kept in slots, indexed by node, as columns.
    """

    tree: Any
    A: Any
    H: Any
    M: Any
    armature: Any = None
    a: Any = None
    b: Any = None
    base: Any = None
    changes: Changes | None = None

    def __post_init__(self):
        set_ = lambda name, value: object.__setattr__(self, name, value)
        if not isinstance(self.tree, Tree):
            set_("tree", tree_of(self.tree, self.H))
        nodes = range(len(self.tree))
        zero = lambda k, n, m: np.zeros_like(self.A[k], shape=(n, m))
        if self.armature is None:
            set_("armature", [zero(k, self.tree.widths[k], self.tree.widths[k]) for k in nodes])
        for name in ("a", "b"):
            if getattr(self, name) is None:
                set_(name, [zero(k, self.M[k].shape[-1], 1) for k in nodes])
        if self.base is None:
            set_("base", zero(0, self.A[0].shape[-2], 1) if nodes else np.zeros((0, 1)))
        check_blocks(self)

    @property
    def nv(self) -> int:
        return self.tree.nv

    J = old_name("SKO.J", "SKO.armature", "armature")

    @cached_property
    def blocks(self) -> Blocks:
        """What every sweep takes."""
        return Blocks(self.tree, self.A, self.H, self.M, self.armature)

    def rates(self, tau=None) -> Rates:
        """a, b, the acceleration of the world, and forces τ (..., nv) if given."""
        return Rates(self.a, self.b, self.base, None if tau is None else self.tree.split(tau))

    def _still(self, tau=None) -> Rates:
        """Rates of the same model at rest and without gravity."""
        return at_rest(self.blocks, np.zeros_like(self.base), tau)

    @cached_property
    def heights(self) -> tuple[int, ...]:
        """How many entries the velocity of each node has."""
        return tuple(self.M[k].shape[-1] for k in self.tree.base_to_tips())

    # --- motion (Jain, Lemmas 9.1 and 9.2, Algorithm 9.1)

    def gather(self, x):
        """A x, slots."""
        return sweeps.gather(self.tree, self.A, x)

    def scatter(self, x):
        """A* x, slots."""
        return sweeps.scatter(self.tree, self.A, x, np.zeros_like(self.base))

    def velocities(self, v):
        """V = A* H* v, slots."""
        return sweeps.velocities(self.blocks, self.tree.split(v), np.zeros_like(self.base))

    def inverse_dynamics(self, vdot):
        """τ = 𝓜 v̇ + 𝓒 (..., nv)."""
        return self.tree.join(self._motion(vdot)[0])

    def forces(self, vdot):
        """f = A (M α + b), slots: what each node is held by."""
        return self._motion(vdot)[2]

    def _motion(self, vdot):
        return sweeps.inverse_dynamics(self.blocks, self.rates(), self.tree.split(vdot))

    @cached_property
    def bias(self):
        """𝓒 = H A (M A* a + b), gravity included (..., nv)."""
        return self.inverse_dynamics(np.zeros_like(self.base, shape=(self.nv,)))

    # --- inertia (Jain, Algorithms 9.2, 9.3, Lemma 9.7)

    @cached_property
    def R(self):
        """Composite inertias, slots."""
        return sweeps.composite_inertia(self.blocks)

    @cached_property
    def mass_matrix(self):
        """𝓜 = H A M A* H* + armature (..., nv, nv)."""
        return sweeps.mass_matrix(self.blocks, self.R)

    @cached_property
    def articulated(self):
        """P, D, G, P⁺, slots each."""
        return sweeps.articulated_inertia(self.blocks)

    P = property(lambda self: self.articulated[0])
    D = property(lambda self: self.articulated[1])
    G = property(lambda self: self.articulated[2])
    P_plus = property(lambda self: self.articulated[3])

    @cached_property
    def K(self):
        """K(p,k) = A(p,k) G(k), slots."""
        return {k: self.A[k] @ self.G[k] for k in self.tree.base_to_tips()}

    @cached_property
    def psi(self):
        """ψ(p,k) = A(p,k) (I − G(k) H(k)), slots."""
        return sweeps.transitions(self.blocks, self.G)

    @cached_property
    def log_determinant(self):
        """log det 𝓜 = Σ log det D(k)                                                      Jain (9.53)."""
        return sweeps.log_determinant(self.blocks, self.D)

    # --- forward dynamics (Jain, Algorithms 9.5, 7.3, 16.2, 10.6)

    def forward_dynamics(self, tau):
        """v̇ = 𝓜⁻¹ (τ − 𝓒) (..., nv)."""
        return self.tree.join(self._moved(self.rates(tau)))

    def solve(self, tau):
        """𝓜⁻¹ τ for a block of columns (..., nv, m)."""
        return self.tree.join_rows(self._moved(self._still(self.tree.split_rows(tau))))

    def corrections(self, force):
        """δv̇ = 𝓜⁻¹ H A f of forces f(k) on the nodes, slots (..., nv)                     Jain, Algorithm 7.3."""
        r = self._still(self.tree.split(np.zeros_like(self.base, shape=(self.nv,))))
        return self.tree.join(self._moved(r._replace(b={k: -force[k] for k in self.tree.base_to_tips()})))

    def _moved(self, r: Rates):
        P, D, G, _ = self.articulated
        return sweeps.forward_dynamics(self.blocks, P, D, G, r)[0]

    def innovations(self, tau):
        """(I − HψK) τ of a block of columns (..., nv, m), slots                           Jain (7.18)."""
        P, D, G, _ = self.articulated
        return sweeps.innovations(self.blocks, P, D, G, self._still(self.tree.split_rows(tau)))[1]

    def hybrid_dynamics(self, given, prescribed):
        """Forces where accelerations are given (prescribed = 1), accelerations where forces are (0): (..., nv)."""
        return self.tree.join(prescribed_joints.dynamics(self.blocks, self.rates(given), self.tree.split(prescribed)))

    def divide_and_conquer(self, tau):
        """v̇ (..., nv), and how many steps must follow one another, those of `schedule`: they grow as the logarithm of the length."""
        from .aggregation import massive

        sko, tau, order = massive(self, tau)
        vdot = sko.tree.join(divide_and_conquer(sko.blocks, sko.rates(tau), self.schedule))
        return vdot[..., np.argsort(order)], self.schedule.steps

    @cached_property
    def schedule(self) -> Schedule:
        """The merges of `divide_and_conquer`, by levels of such as do not wait for each other; print it."""
        from .aggregation import massive

        return schedule(massive(self, np.zeros_like(self.base, shape=(self.nv,)))[0].tree)

    # --- operational space (Jain, chapter 10); a place is (node k, B) with B(m_k, n) its directions

    @cached_property
    def compliances(self):
        """Υ, L, U, slots each; L is the diagonal of 𝓜⁻¹."""
        zero = np.zeros_like(self.base, shape=(self.base.shape[-2],) * 2)
        return sweeps.compliances(self.blocks, self.D, self.G, zero)

    Upsilon = property(lambda self: self.compliances[0])

    def Omega(self, i, j):
        """The block (i, j) of Ω = A* H* 𝓜⁻¹ H A                                         Jain, Algorithm 10.1."""
        return backward_element(self.tree, self.psi, self.Upsilon, self.psi, i, j)

    @cached_property
    def mass_matrix_inverse(self):
        """𝓜⁻¹ (..., nv, nv)                                                            Jain (10.29), Algorithm 10.4."""
        return sweeps.mass_matrix_inverse(self.blocks, self.G, self.psi, *self.compliances)

    def compliance(self, *places):
        """Λ̲ = B* Ω B of places                                                           Jain, Algorithm 10.2."""
        return sweeps.compliance(self.blocks, self.D, self.G, places)

    def joint_compliance(self, *places):
        """𝓜⁻¹ J* (..., nv, m) of places                                                  Jain (7.44)."""
        columns = [sweeps.joint_compliance(self.blocks, self.D, self.G, k, B) for k, B in places]
        return concatenated([self.tree.join_rows(vdot) for vdot in columns], -1)

    @cached_property
    def operators(self):
        """H, φ, M ... as operators."""
        from .algebra import Operators

        return Operators(self)

    def __repr__(self) -> str:
        roots = len(self.tree.children[self.tree.world])
        return f"<SKO of {len(self.tree)} nodes, {roots} of them roots, {self.nv} velocities>"


SKO.__init__ = renamed_keyword("SKO", "J", "armature", [x.name for x in fields(SKO)])(SKO.__init__)  # type: ignore[method-assign]


def tree_of(parent: Iterable[int], H) -> Tree:
    """The tree with these parents and one velocity per row of H(k)."""
    parent = tuple(int(p) for p in parent)
    for k, p in enumerate(parent):
        if not -1 <= p < k:
            raise ModelError(f"node {k} has parent {p}; parents are numbered before their children, roots have -1.")
    return Tree(parent, [H[k].shape[-2] for k in range(len(parent))])


def check_blocks(sko: SKO) -> None:
    """Every block fits its neighbours, or it is said which does not."""
    columns = ((k, name, getattr(sko, name)[k].shape, (m, 1)) for k, m in enumerate(sko.heights) for name in "ab")
    for k, name, came, fitting in (*shapes(sko.blocks, sko.base.shape[-2]), *columns):
        if came[-2:] != fitting:
            p, m, r = sko.tree.parent[k], sko.heights[k], sko.tree.widths[k]
            above = sko.heights[p] if p != sko.tree.world else sko.base.shape[-2]
            raise ShapeError(
                f"{name}({k}) has shape {came}; node {k} has {m} entries and {r} velocities, "
                f"its parent {above} entries, so it takes {fitting}."
            )
