"""One rigid body on any group of motions, in closed form: M v̇ + C(v) v + N(Q) = τ (From, part one)."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .. import spatial
from ..errors import ModelError
from ..lie.scalars import like
from .algebra import TABLE, Algebra


@dataclass(frozen=True, eq=False)
class SingleBody:
    """A body whose pose is an element of a group: `lw.SingleBody("SE(2)", mass=2.0, tensor=(1, 1, 3))`.

    The group is one of `linkwork.lie`, or a name in Table 1 of From; mass, centre and tensor are in the frame of the
    body, the tensor about the centre of mass. Velocities are those of the body in its own frame; twists angular first.
    """

    group: Any
    mass: float = 1.0
    center: tuple = (0.0, 0.0, 0.0)
    tensor: tuple = (0.0, 0.0, 0.0)
    gravity: tuple = (0.0, 0.0, 0.0)

    def __post_init__(self):
        if isinstance(self.group, str):
            if self.group not in TABLE:
                raise ModelError(f'"{self.group}" is not a group of motions; there are {", ".join(TABLE)}.')
            object.__setattr__(self, "group", TABLE[self.group])
        tensor = np.asarray(self.tensor, float)
        object.__setattr__(self, "tensor", np.diag(tensor) if tensor.ndim == 1 else tensor)

    @cached_property
    def algebra(self) -> Algebra:
        return Algebra.of(self.group)

    @property
    def H(self):
        """The selection matrix (6, m): the body's twist is V = H v (From, Definition 4.2)."""
        return np.asarray(self.group.basis.T)

    @cached_property
    def inertia(self):
        """The spatial inertia (6, 6) about the frame's origin."""
        return spatial.inertia(np.asarray(self.mass, float), np.asarray(self.center, float), self.tensor)

    @cached_property
    def M(self):
        """The reduced inertia H* I H (From, 60): constant, because velocities are in the frame of the body."""
        return self.H.T @ self.inertia @ self.H

    def S(self, xi):
        """S of v = S(ξ) ξ̇ in exponential coordinates ξ, in closed form (From, 29, 64, 72)."""
        return self.group.S(xi)

    def C(self, v):
        """ãd_{Mv} (From, 68, 74, 82, 93)."""
        return self.algebra.coriolis(like(self.M, v), v)

    def C_from_definition(self, v):
        """Σₖ (∂S_ki/∂ξ_j - ∂S_kj/∂ξ_i)(Mv)_k at ξ = 0, with S of the group itself (From, 51)."""
        return self.algebra.coriolis_from_definition(like(self.M, v), v)

    def N(self, q):
        """The generalized force that balances gravity: -H* [c × m R* g; m R* g]."""
        g = (self.group.matrix(q)[..., :3, :3].mT @ like(self.gravity, q)[:, None])[..., 0]
        field = np.concatenate([np.zeros_like(g), g], axis=-1)
        return -(like(self.H.T @ self.inertia, q) @ field[..., None])[..., 0]

    def inverse_dynamics(self, q, v, vdot):
        """τ = M v̇ + C(v) v + N(Q)."""
        inertial = like(self.M, v) @ vdot[..., None] + self.C(v) @ v[..., None]
        return inertial[..., 0] + self.N(q)

    def forward_dynamics(self, q, v, tau):
        """v̇ = M⁻¹ (τ - C(v) v - N(Q))."""
        rest = (tau - self.N(q))[..., None] - self.C(v) @ v[..., None]
        return spatial.solve(like(self.M, v), rest)[..., 0]
