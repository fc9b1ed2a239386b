"""Geometric Jacobians and their derivatives by Lie brackets (Müller and Terze, 15-33), over any scalar.

Velocities are left-invariant joint by joint, so ∂_c is the derivative along the velocity e_c: for a one-axis joint it is
∂/∂q_c. Twists of a node are in its own frame. The column K_a of a node's Jacobian changes with e_c only if joint a is a
strict ancestor of joint c on the path to the node, and then by their bracket:

    ∂_c K_a = [K_a, K_c]   where a ≺ c, else 0                                         Müller and Terze (26), (27)
"""

import numpy as np

from ..lie.embedding import tilde as skew
from ..lie.scalars import like
from ..model.tree import concatenated
from ..quantities import jacobian, jacobian_derivative, pose
from ..sweeps import velocities
from ..sweeps.jacobian import brackets, owners


def precedes(tree) -> np.ndarray:
    """1 where the joint of velocity a is a strict ancestor of that of velocity c: a ≺ c, (nv, nv)."""
    above = np.zeros((len(tree), len(tree)))
    for k in tree.base_to_tips():
        p = tree.parent[k]
        if p != tree.world:
            above[:, k] = above[:, p]
            above[p, k] = 1.0
    own = owners(tree)
    return above[np.ix_(own, own)]


def node_jacobians(nodes, q):
    """K (..., n + 1, 6, nv), which maps v to the twist of each node, base to tips; the last is that of the world, zero.

        K(k) = φ*(p,k) K(p) + H*(k)                      Müller and Terze (18), in the closed form (24)
    """
    tree = nodes.tree
    K = velocities(nodes.blocks(q), tree.split_rows(like(np.eye(tree.nv), q)), like(np.zeros((6, tree.nv)), q))
    return nodes.stack([*(K[k] for k in tree.base_to_tips()), K[tree.world]])


def node_inertias(nodes):
    """The inertias of the nodes (n + 1, 6, 6); the last is that of the world, zero."""
    return nodes.stack([*nodes.M, like(np.zeros((6, 6)), nodes.gravity)])


def jacobian_derivatives(nodes, K):
    """∂_c K_a (..., 6, nv, nv), the last axis c."""
    return brackets(K) * like(precedes(nodes.tree), K)


def jacobian_rate(nodes, K, v):
    """K̇ = Σ ∂_c K v_c in the axes of the body (..., 6, nv)."""
    return (jacobian_derivatives(nodes, K) @ v[..., None, :, None])[..., 0]


def body_jacobian_rate(nodes, q, v, body, place):
    """K̇ of a frame on a body at velocity v (..., 6, nv)."""
    return (jacobian_derivative(nodes, q, body, place) @ v[..., None, :, None])[..., 0]


def body_acceleration(nodes, q, v, vdot, body, place):
    """V̇ = K v̇ + Σ_{b ≺ c} [K_b, K_c] v_b v_c (..., 6), in the axes of the frame               Müller and Terze (28)."""
    K = jacobian(nodes, q, body, place)
    return (K @ vdot[..., None] + body_jacobian_rate(nodes, q, v, body, place) @ v[..., None])[..., 0]


def point_motion(nodes, q, v, vdot, body, place):
    """Position, velocity and classical acceleration of the origin of a frame, in the world (..., 3, 3), one in each row.

        ẋ = R u,   ẍ = R (u̇ + ω × u)      V = [ω; u],  V̇ = [ω̇; u̇] the spatial acceleration
    """
    T, K = pose(nodes, q, body, place), jacobian(nodes, q, body, place)
    V, Vdot = K @ v[..., None], body_acceleration(nodes, q, v, vdot, body, place)[..., None]
    omega, u, udot = V[..., :3, :], V[..., 3:, :], Vdot[..., 3:, :]
    R, x = T[..., :3, :3], T[..., :3, 3:]
    return concatenated([x, R @ u, R @ (udot + skew(omega[..., 0]) @ u)], -1).mT
