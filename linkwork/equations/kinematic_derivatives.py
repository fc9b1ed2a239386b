"""Geometric Jacobians and their derivatives by Lie brackets (Müller and Terze, 15-33), over any scalar.

Velocities are left-invariant joint by joint, so ∂_c is the derivative along the velocity e_c: for a one-axis joint it is
∂/∂q_c. Twists of a node are in its own frame. The column K_a of a node's Jacobian changes with e_c only if joint a comes
strictly before joint c on the way to the node, and then by their bracket:

    ∂_c K_a = [K_a, K_c]   where a ≺ c, else 0                                         Müller and Terze (26), (27)
"""

import numpy as np

from ..lie.scalars import like
from ..model.tree import concatenated
from ..spatial import homogeneous, phi_inverse, tilde
from ..sweeps.kinematics import placements, poses, shifts


def owners(tree) -> np.ndarray:
    """The node of each velocity."""
    return np.repeat(np.arange(len(tree)), tree.widths).astype(int)


def precedes(tree) -> np.ndarray:
    """1 where the joint of velocity a comes strictly before that of velocity c on a way to a tip: a ≺ c, (nv, nv)."""
    above = np.zeros((len(tree), len(tree)))
    for k in tree.base_to_tips():
        p = tree.parent[k]
        if p != tree.world:
            above[:, k] = above[:, p]
            above[p, k] = 1.0
    own = owners(tree)
    return above[np.ix_(own, own)]


def node_jacobians(nodes, q):
    """K (..., n, 6, nv): the twist of every node from v, base to tips.

        K(k) = φ*(p,k) K(p) + H*(k)                      Müller and Terze (18), in the closed form (24)
    """
    tree, H = nodes.tree, nodes.H
    phi = shifts(tree, placements(nodes, q))
    K, own = tree.slots(), like(np.eye(tree.nv), q)
    K[tree.world] = like(np.zeros((6, tree.nv)), q)
    for k in tree.base_to_tips():
        K[k] = phi[k].mT @ K[tree.parent[k]] + H[k].mT @ own[tree.rows[k], :]
    return nodes.stack([K[k] for k in tree.base_to_tips()])


def node_inertias(nodes):
    """The inertias of the nodes (n, 6, 6)."""
    return nodes.stack(nodes.M)


def brackets(K):
    """[K_a, K_c] of every two columns: (..., 6, nv, nv) of (..., 6, nv)."""
    columns = K.mT
    return np.moveaxis(tilde(columns) @ K[..., None, :, :], -3, -2)


def jacobian_derivatives(nodes, K):
    """∂_c K_a (..., 6, nv, nv), the last axis c."""
    return brackets(K) * like(precedes(nodes.tree), K)


def jacobian_rate(nodes, K, v):
    """K̇ = Σ ∂_c K v_c in the body's own components (..., 6, nv)."""
    return (jacobian_derivatives(nodes, K) @ v[..., None, None, :, None])[..., 0]


def at_places(nodes, q, places):
    """K of frames placed on bodies (body number, pose): (..., places, 6, nv)."""
    K = node_jacobians(nodes, q)
    rows = []
    for body, place in places:
        k, T = nodes.on_node(body, place)
        still = np.zeros_like(K[..., 0, :, :])
        rows.append(still if k == nodes.tree.world else phi_transposed(T) @ K[..., k, :, :])
    return nodes.stack(rows)


def phi_transposed(T):
    """φ*: from the twist of a node to that of a frame at T on it."""
    return phi_inverse(inverse(T)).mT


def inverse(T):
    """The inverse of a pose."""
    R, p = T[..., :3, :3].mT, T[..., :3, 3:]
    return homogeneous(R, -(R @ p)[..., 0])


def body_jacobian(nodes, q, body, place):
    """K of a frame on a body, in its own axes (..., 6, nv)."""
    return at_places(nodes, q, [(body, place)])[..., 0, :, :]


def body_jacobian_derivatives(nodes, q, body, place):
    """∂_c K_a of a frame on a body (..., 6, nv, nv)."""
    return jacobian_derivatives(nodes, body_jacobian(nodes, q, body, place))


def body_jacobian_rate(nodes, q, v, body, place):
    """K̇ of a frame on a body while the mechanism moves with v (..., 6, nv)."""
    K = body_jacobian(nodes, q, body, place)
    return (jacobian_derivatives(nodes, K) @ v[..., None, None, :, None])[..., 0]


def body_acceleration(nodes, q, v, vdot, body, place):
    """V̇ = K v̇ + Σ_{b ≺ c} [K_b, K_c] v_b v_c (..., 6), in the frame's own axes                Müller and Terze (28)."""
    K = body_jacobian(nodes, q, body, place)
    rate = (jacobian_derivatives(nodes, K) @ v[..., None, None, :, None])[..., 0]
    return (K @ vdot[..., None] + rate @ v[..., None])[..., 0]


def point_motion(nodes, q, v, vdot, body, place):
    """Position, velocity and classical acceleration of the origin of a frame, in the world (..., 3, 3), one in each row.

        ẋ = R u,   ẍ = R (u̇ + ω × u)      V = [ω; u],  V̇ = [ω̇; u̇] the spatial acceleration
    """
    k, T = nodes.on_node(body, place)
    world = like(np.eye(4), q)
    X = poses(nodes.tree, placements(nodes, q), world)[k] @ T
    K = body_jacobian(nodes, q, body, place)
    R, V = X[..., :3, :3], (K @ v[..., None])[..., 0]
    a = body_acceleration(nodes, q, v, vdot, body, place)
    turned = (tilde(V)[..., :3, :3] @ V[..., 3:, None])[..., 0]
    columns = [X[..., :3, 3:], R @ V[..., 3:, None], R @ (a[..., 3:] + turned)[..., None]]
    return concatenated(columns, -1).mT
