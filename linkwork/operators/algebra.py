"""The spatial operators of one SKO model, by their letters."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import OptionError, ShapeError, UnknownNameError, did_you_mean, old_name
from ..lie.scalars import like
from ..model.coordinates import joint_rows
from . import notation
from .leaves import Diagonal, Kernel, Leaf, PickOff, Propagation, Strict, SymmetricDiagonal
from .operator import Identity, Operator, Space, as_array
from .rates import rate
from .sko import SKO
from .tasks import RobotState, Task, task

SYMBOLS = {"I": "I"}  # the attribute of each letter


class Letter(cached_property):
    """An operator with a letter: its kind, the spaces it maps to and from, and where an SKO model has its blocks."""

    def __init__(self, letter: str, kind: Callable[..., Leaf], rows: str, columns: str, blocks: Callable[[SKO], Any], meaning: str):
        def operator(ops: "Operators") -> Leaf:
            return kind(letter, ops, ops.tree, getattr(ops, rows), getattr(ops, columns), lambda: blocks(ops.sko))

        super().__init__(operator)
        self.letter, self.__doc__ = letter, meaning

    def __set_name__(self, owner, name: str):
        super().__set_name__(owner, name)
        SYMBOLS[self.letter] = name


class Operators:
    """H, φ, M ... of an SKO model at a state. They compose to operators, printed as the book writes them.

        op   = robot.operators(q)
        mass = op.H @ op.phi @ op.M @ op.phi.T @ op.H.T + op.armature   # H φ M φ* H* + armature
        mass = op("H φ M φ* H* + armature")                              # the same
        mass.inv() @ tau                                             # (I − H ψ K)* D⁻¹ (I − H ψ K), O(N)
    """

    def __init__(self, sko: SKO, find: Callable = tuple, state: RobotState | None = None, places: Sequence | None = None):
        """`find` says where a place is: (node, directions on it). Of a bare SKO model places are given so. `state` is the robot
        that they are operators of, and its state; `places` are those that B picks off where none are named: the nodes by default."""
        self.sko, self.state, self.places = sko, state, places
        self.some = sko.base
        self.find = find

    # --- the spaces that they map between

    @cached_property
    def velocities(self) -> Space:
        """Of the joints: v, τ."""
        return Space("velocities", tuple(self.sko.tree.widths))

    @cached_property
    def nodes(self) -> Space:
        """Of the nodes: V, f."""
        return Space("nodes", self.sko.heights)

    # --- kinematics and inertia (Jain, chapters 3 to 5)

    I = Identity()
    H = Letter("H", Diagonal, "velocities", "nodes", lambda sko: sko.H, "Joint map, from nodes to velocities: τ = H f.")
    phi = Letter("φ", Propagation, "nodes", "nodes", lambda sko: sko.A, "Propagation operator: V = φ* H* v.")
    phi_tilde = Letter("φ~", Strict, "nodes", "nodes", lambda sko: sko.A, "φ~ = φ − I.")
    E_phi = Letter("𝓔φ", Kernel, "nodes", "nodes", lambda sko: sko.A, "𝓔φ: each node to its parent, φ = (I − 𝓔φ)⁻¹.")
    M = Letter("M", SymmetricDiagonal, "nodes", "nodes", lambda sko: sko.M, "Inertia of the nodes.")
    armature = Letter("armature", SymmetricDiagonal, "velocities", "velocities", lambda sko: sko.armature,
                      "Inertia in the joints: rotors; zero without.")  # fmt: skip
    R = Letter("R", SymmetricDiagonal, "nodes", "nodes", lambda sko: sko.R, "Composite inertias: M = R − 𝓔φ R 𝓔φ*.")

    J = old_name("the operator J", "armature", "armature")

    # --- articulated bodies (Jain, chapters 6, 7, 9 and 10)

    P = Letter("P", SymmetricDiagonal, "nodes", "nodes", lambda sko: sko.P, "Articulated inertias: M = P − 𝓔ψ P 𝓔φ*.")
    P_plus = Letter("P⁺", SymmetricDiagonal, "nodes", "nodes", lambda sko: sko.P_plus, "P⁺ = (I − G H) P.")
    D = Letter("D", SymmetricDiagonal, "velocities", "velocities", lambda sko: sko.D, "D = H P H* + armature.")
    G = Letter("G", Diagonal, "nodes", "velocities", lambda sko: sko.G, "G = P H* D⁻¹.")
    K = Letter("K", Kernel, "nodes", "velocities", lambda sko: sko.K, "K = 𝓔φ G.")
    psi = Letter("ψ", Propagation, "nodes", "nodes", lambda sko: sko.psi,
                 "ψ = (I − 𝓔ψ)⁻¹, the propagation through joints that give way.")  # fmt: skip
    psi_tilde = Letter("ψ~", Strict, "nodes", "nodes", lambda sko: sko.psi, "ψ~ = ψ − I.")
    E_psi = Letter("𝓔ψ", Kernel, "nodes", "nodes", lambda sko: sko.psi, "𝓔ψ = 𝓔φ (I − G H).")
    Upsilon = Letter("Υ", SymmetricDiagonal, "nodes", "nodes", lambda sko: sko.Upsilon, "Υ, the diagonal of Ω (Jain, chapter 10).")

    # --- what is written with them

    @cached_property
    def mass_matrix(self) -> Operator:
        return self("H φ M φ* H* + armature")

    @cached_property
    def Omega(self) -> Operator:
        """Ω = ψ* H* D⁻¹ H ψ = φ* H* 𝓜⁻¹ H φ                                              Jain (10.12)."""
        return self("ψ* H* D⁻¹ H ψ")

    def B(self, *places) -> Operator:
        """Pick-off of places: B f takes forces on them to their nodes, B* V their velocities off the nodes. Without places, of
        all bodies; of a bare SKO model, of all nodes."""
        found = [self.find(place) for place in (places or self.places or ())]
        if not found:
            found = [(k, like(np.eye(n), self.some)) for k, n in enumerate(self.sko.heights)]
        space = Space("places", tuple(B.shape[-1] for _, B in found))
        return PickOff("B", self, self.sko.tree, self.nodes, space, lambda: found)

    def jacobian(self, *places) -> Operator:
        """J = B* φ* H* of places                                                         Jain (3.53)."""
        return self.B(*places).T @ self.phi.T @ self.H.T

    def task(self, *places, deficient: str = "refuse", axes: str = "body") -> Task:
        """Places as a task: Λ, J̄, N, C_os and the control law of operational space (Jain, chapter 10), in the axes of each place
        or in the world's. Of a robot with loops, couplings or drives it is the task of the constrained motion."""
        return task(self, *places, deficient=deficient, axes=axes)

    def diagonal(self, blocks, name: str = "W", *, of: str = "nodes") -> Operator:
        """diag{X(k)} of symmetric blocks of your own, `of` the nodes or the velocities."""
        space = {"nodes": self.nodes, "velocities": self.velocities}[of]
        return SymmetricDiagonal(name, self, self.tree, space, space, lambda: blocks)

    # --- stacked vectors of a state that moves

    @property
    def a(self):
        """Coriolis accelerations (..., n)."""
        return self.nodes.join(self.sko.a)[..., 0]

    @property
    def b(self):
        """Gyroscopic forces (..., n)."""
        return self.nodes.join(self.sko.b)[..., 0]

    @property
    def tree(self):
        return self.sko.tree

    # --- reading

    def __call__(self, text: str) -> Operator:
        """The operator that a text in the book's notation describes: op("(I − H ψ K)* D⁻¹ (I − H ψ K)")."""
        return notation.read(text, self.symbol)

    def symbol(self, name: str) -> Operator:
        """The operator of a letter."""
        if name == "J":
            return self.J
        if name == "B":
            return self.B()
        if name not in SYMBOLS:
            raise UnknownNameError(f'no operator is called "{name}".{did_you_mean(name, SYMBOLS)}')
        return getattr(self, SYMBOLS[name])

    def has_letter(self, A) -> bool:
        """Is A one of these operators, and not blocks of somebody's that are called so?"""
        return A.home is self and A.name in SYMBOLS and A.blocks is getattr(self, SYMBOLS[A.name]).blocks

    # --- how they change (Jain, chapter 18)

    def rate(self, A: Operator, v=None) -> Operator:
        """Ȧ, how the entries of A change while the robot moves with v, or with the v that these operators are taken at.

            op.rate(op("H φ M φ* H*"))                  # H φ~ Δ̄ φ M φ* H* + H φ M φ* Δ̄* φ~* H*
        """
        given = self.state.v if v is None and self.state is not None else v
        if given is None:
            raise OptionError("the rate of an operator is along a velocity: robot.operators(q, v).rate(A), or op.rate(A, v).")
        return rate(A, self._velocity(given))

    def sensitivity(self, A: Operator, joint: str | int, axis: int | None = None) -> Operator:
        """∂A/∂q along one velocity, on the group as `integrate` moves: that of a joint by its name, of a joint with several velocities
        by the number of its axis too; or by its number in v.

            op.sensitivity(op.phi, "elbow")             # φ~ H̄_elbow φ
        """
        at, index = self._which(joint, axis)
        return rate(A, like(np.eye(self.sko.nv)[at], self.some), index)

    def _velocity(self, v):
        v = as_array(v, self.some)
        if v.ndim == 0 or v.shape[-1] != self.sko.nv:
            raise ShapeError(f"v has shape {v.shape}, but there are nv = {self.sko.nv} velocities.")
        return like(v, self.some)

    def _which(self, joint, axis) -> tuple[int, str]:
        """A velocity's number, and how it is printed."""
        if isinstance(joint, str) and self.state is not None:
            rows = joint_rows(self.state.model)
            if joint not in rows:
                raise UnknownNameError(f'{self.state.model.name} has no joint "{joint}" that moves.{did_you_mean(joint, rows)}')
            own = range(self.sko.nv)[rows[joint][1]]
            if len(own) == 1 and axis is None:
                return own[0], joint
            if axis is None or not -len(own) <= axis < len(own):
                said = "none is named" if axis is None else f"axis is {axis}"
                raise OptionError(
                    f'joint "{joint}" has {len(own)} velocities, and {said}: sensitivity(A, "{joint}", axis), axis 0 to {len(own) - 1}.'
                )
            return own[axis], f"{joint}[{own.index(own[axis])}]"
        if isinstance(joint, str):
            raise UnknownNameError(
                f'operators of a bare SKO model know no joint "{joint}": give the number of a velocity, 0 to {self.sko.nv - 1}.'
            )
        if axis is not None or not -self.sko.nv <= joint < self.sko.nv:
            raise OptionError(f"there is no velocity {joint}; they are numbered 0 to {self.sko.nv - 1}, and a number takes no axis.")
        at = range(self.sko.nv)[joint]
        return at, str(at)

    def __repr__(self) -> str:
        return f"<Operators {' '.join(SYMBOLS)} of {self.sko!r}>"


SYMBOLS["Ω"] = "Omega"
