"""SKO: one tree of blocks, and everything of chapter 9 that follows from it."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import ModelError, ShapeError
from ..model.tree import Tree
from ..spatial import logdet
from ..sweeps.articulated_inertia import articulated_inertia
from ..sweeps.composite_inertia import composite_inertia
from ..sweeps.corrections import corrections
from ..sweeps.divide_and_conquer import divide_and_conquer, with_massive_nodes
from ..sweeps.forward_dynamics import forward_dynamics
from ..sweeps.gather_scatter import gather, scatter
from ..sweeps.hybrid_dynamics import hybrid_dynamics
from ..sweeps.inverse_dynamics import inverse_dynamics
from ..sweeps.lyapunov import backward_element
from ..sweeps.mass_matrix import mass_matrix
from ..sweeps.mass_matrix_inverse import mass_matrix_inverse
from ..sweeps.operational_space import compliance, compliances, joint_compliance, transitions


@dataclass(frozen=True, eq=False)
class SKO:
    """A tree or forest of nodes with blocks of any sizes, at one state or a batch of them (Jain, section 9.1).

        V = A* H* v,   α = A* (H* v̇ + a),   f = A (M α + b),   τ = H f + J v̇              Jain (9.1) to (9.3)

    tree    the number of each node's parent, -1 for a root; parents come before their children
    A       A(p,k), from node k to its parent; for a root, to the world
    H       one row per velocity of the node's joint; a joint may have none
    M, J    inertia of the node, and inertia that sits in the joint
    a, b    Coriolis acceleration and gyroscopic force, columns; zero by default
    base    acceleration of the world, a column: minus gravity, or zero

    Blocks are given node by node and may have leading batch axes. Vectors of the joints are (..., nv); what belongs to
    nodes is kept in slots, indexed by node, as columns.
    """

    tree: Any
    A: Any
    H: Any
    M: Any
    J: Any = None
    a: Any = None
    b: Any = None
    base: Any = None

    def __post_init__(self):
        set_ = lambda name, value: object.__setattr__(self, name, value)
        if not isinstance(self.tree, Tree):
            set_("tree", tree_of(self.tree, self.H))
        nodes = range(len(self.tree))
        zero = lambda k, n, m: np.zeros_like(self.A[k], shape=(n, m))
        if self.J is None:
            set_("J", [zero(k, self.tree.widths[k], self.tree.widths[k]) for k in nodes])
        for name in ("a", "b"):
            if getattr(self, name) is None:
                set_(name, [zero(k, self.M[k].shape[-1], 1) for k in nodes])
        if self.base is None:
            set_("base", zero(0, self.A[0].shape[-2], 1) if nodes else np.zeros((0, 1)))
        check_blocks(self)

    @property
    def nv(self) -> int:
        return self.tree.nv

    @cached_property
    def heights(self) -> tuple[int, ...]:
        """How many entries the velocity of each node has."""
        return tuple(self.M[k].shape[-1] for k in self.tree.base_to_tips())

    # --- motion (Jain, Lemmas 9.1 and 9.2, Algorithm 9.1)

    def gather(self, x):
        """A x, slots."""
        return gather(self.tree, self.A, x)

    def scatter(self, x):
        """A* x, slots."""
        return scatter(self.tree, self.A, x, np.zeros_like(self.base))

    def velocities(self, v):
        """V = A* H* v, slots."""
        v = self.tree.split(v)
        return self.scatter({k: self.H[k].mT @ v[k] for k in self.tree.base_to_tips()})

    def inverse_dynamics(self, vdot):
        """τ = 𝓜 v̇ + 𝓒 (..., nv)."""
        return self.tree.join(self._motion(vdot)[0])

    def forces(self, vdot):
        """f = A (M α + b), slots: what each node is held by."""
        return self._motion(vdot)[2]

    def _motion(self, vdot):
        vdot = self.tree.split(vdot)
        return inverse_dynamics(self.tree, self.A, self.H, self.M, self.J, self.a, self.b, vdot, self.base)

    @cached_property
    def bias(self):
        """𝓒 = H A (M A* a + b), gravity included (..., nv)."""
        return self.inverse_dynamics(np.zeros_like(self.base, shape=(self.nv,)))

    # --- inertia (Jain, Algorithms 9.2, 9.3, Lemma 9.7)

    @cached_property
    def R(self):
        """Composite inertias, slots."""
        return composite_inertia(self.tree, self.A, self.M)

    @cached_property
    def mass_matrix(self):
        """𝓜 = H A M A* H* + J (..., nv, nv)."""
        return mass_matrix(self.tree, self.A, self.H, self.J, self.R)

    @cached_property
    def articulated(self):
        """P, D, G, P⁺, slots each."""
        return articulated_inertia(self.tree, self.A, self.H, self.M, self.J)

    P = property(lambda self: self.articulated[0])
    D = property(lambda self: self.articulated[1])
    G = property(lambda self: self.articulated[2])
    P_plus = property(lambda self: self.articulated[3])

    @cached_property
    def psi(self):
        """ψ(p,k) = A(p,k) (I − G(k) H(k)), slots."""
        return transitions(self.tree, self.A, self.H, self.G)

    @cached_property
    def log_determinant(self):
        """log det 𝓜 = Σ log det D(k)                                                      Jain (9.53)."""
        return self.tree.total({k: logdet(self.D[k]) for k in self.tree.base_to_tips()})

    # --- forward dynamics (Jain, Algorithms 9.5, 7.3, 16.2, 10.6)

    def forward_dynamics(self, tau):
        """v̇ = 𝓜⁻¹ (τ − 𝓒) (..., nv)."""
        P, D, G, _ = self.articulated
        tau = self.tree.split(tau)
        return self.tree.join(forward_dynamics(self.tree, self.A, self.H, P, D, G, self.a, self.b, tau, self.base)[0])

    def solve(self, tau):
        """𝓜⁻¹ τ for a block of columns (..., nv, m)."""
        P, D, G, _ = self.articulated
        still = {k: np.zeros_like(self.a[k]) for k in self.tree.base_to_tips()}
        base = np.zeros_like(self.base)
        vdot, _, _ = forward_dynamics(self.tree, self.A, self.H, P, D, G, still, still, self.tree.split_rows(tau), base)
        return self.tree.join_rows(vdot)

    def corrections(self, force):
        """δv̇ = 𝓜⁻¹ H A f of forces f(k) on the nodes, slots (..., nv)."""
        D, G = self.D, self.G
        return self.tree.join(corrections(self.tree, self.A, self.H, D, G, force, np.zeros_like(self.base))[0])

    def hybrid_dynamics(self, given, prescribed):
        """Forces where accelerations are given (prescribed = 1), accelerations where forces are (0): (..., nv)."""
        blocks = self.tree, self.A, self.H, self.M, self.J, self.a, self.b
        given, prescribed = self.tree.split(given), self.tree.split(prescribed)
        return self.tree.join(hybrid_dynamics(*blocks, given, prescribed, self.base)[0])

    def divide_and_conquer(self, tau):
        """v̇ of a chain, and how many steps must follow one another: they grow as the logarithm of the length."""
        if any(p != k - 1 for k, p in enumerate(self.tree.parent)):
            raise ModelError("divide and conquer takes a chain; this tree forks. Use forward_dynamics.")
        has_mass = [bool(np.any(self.M[k])) for k in self.tree.base_to_tips()]
        if not (has_mass and has_mass[-1]):
            raise ModelError("divide and conquer needs a last node with mass. Use forward_dynamics.")
        A, H, M, J, a, b = with_massive_nodes(self.tree, self.A, self.H, self.M, self.J, self.a, self.b, has_mass)
        links = tree_of(range(-1, len(A) - 1), H)
        vdot, depth = divide_and_conquer(links, A, H, M, J, a, b, links.split(tau), self.base)
        return links.join(vdot), depth

    # --- operational space (Jain, chapter 10); a place is (node k, B) with B(m_k, n) its directions

    @cached_property
    def compliances(self):
        """Υ, L, U, slots each; L is the diagonal of 𝓜⁻¹."""
        zero = np.zeros_like(self.base, shape=(self.base.shape[-2],) * 2)
        return compliances(self.tree, self.A, self.H, self.D, self.G, zero)

    Upsilon = property(lambda self: self.compliances[0])

    def Omega(self, i, j):
        """The block (i, j) of Ω = A* H* 𝓜⁻¹ H A                                         Jain, Algorithm 10.1."""
        return backward_element(self.tree, self.psi, self.Upsilon, self.psi, i, j)

    @cached_property
    def mass_matrix_inverse(self):
        """𝓜⁻¹ (..., nv, nv)                                                            Jain (10.29), Algorithm 10.4."""
        return mass_matrix_inverse(self.tree, self.A, self.G, self.psi, *self.compliances)

    def compliance(self, *places):
        """Λ̲ = B* Ω B of places                                                           Jain, Algorithm 10.2."""
        return compliance(self.tree, self.A, self.H, self.D, self.G, places)

    def joint_compliance(self, *places):
        """𝓜⁻¹ J* (..., nv, m) of places                                                  Jain (7.44)."""
        columns = [joint_compliance(self.tree, self.A, self.H, self.D, self.G, k, B) for k, B in places]
        joined = [self.tree.join_rows(vdot) for vdot in columns]
        batch = np.broadcast_shapes(*(x.shape[:-2] for x in joined))
        return np.concatenate([np.broadcast_to(x, batch + x.shape[-2:]) for x in joined], -1)

    @cached_property
    def operators(self):
        """H, φ, M ... as operators."""
        from .algebra import Operators

        return Operators(self)

    def __repr__(self) -> str:
        roots = len(self.tree.children[self.tree.world])
        return f"<SKO of {len(self.tree)} nodes, {roots} of them roots, {self.nv} velocities>"


def tree_of(parent: Iterable[int], H) -> Tree:
    """The tree with these parents and one velocity per row of H(k)."""
    parent = tuple(int(p) for p in parent)
    for k, p in enumerate(parent):
        if not -1 <= p < k:
            raise ModelError(f"node {k} has parent {p}; parents are numbered before their children, roots have -1.")
    return Tree(parent, [H[k].shape[-2] for k in range(len(parent))])


def check_blocks(sko: SKO) -> None:
    """Every block fits its neighbours, or it is said which does not."""
    tree, height = sko.tree, sko.heights
    for k, p in enumerate(tree.parent):
        m, r = height[k], tree.widths[k]
        above = height[p] if p != tree.world else sko.base.shape[-2]
        takes = {"A": (above, m), "H": (r, m), "M": (m, m), "J": (r, r), "a": (m, 1), "b": (m, 1)}
        for name, shape in takes.items():
            came = getattr(sko, name)[k].shape
            if came[-2:] != shape:
                raise ShapeError(
                    f"{name}({k}) has shape {came}; node {k} has {m} entries and {r} velocities, "
                    f"its parent {above} entries, so it takes {shape}."
                )
