"""Coriolis matrices, plural. All have the same C v; they differ in what else they are good for.

    christoffel         Σ Γ_abc v_c, Γ by brackets                Müller and Terze (47)     Ṁ - 2C skew
    binet               the same Γ from second moments of mass    Müller and Terze (48)     Ṁ - 2C skew
    momentum            K* (J K̇ + ãd_{JV} K)                      From (74), body by body   Ṁ - 2C skew
    centers             Σ J* (M_c J̇ + [ω~] M_c J)                 the lecture               Ṁ - 2C skew
    body                K* (J K̇ - ad*_V J K)                      Müller and Terze (52)     not
    boltzmann_hamel     ∂M and ∂S along the group                 From, part two (60)       not

The Christoffel one is the library's own `coriolis_matrix`, by another road. Γ is that of the Levi-Civita connection in
left-invariant velocities; for one-axis joints these are the usual symbols, symmetric in the last two indices.
Rotors (armature) are constant here, as in the sweeps: they are in M, and in no C.
"""

import numpy as np

from ..lie.embedding import tilde as skew
from ..lie.scalars import like
from ..spatial import bar, blocks, hat, inertia_parameters
from ..sweeps import poses
from ..systems.rigid import placements
from .kinematic_derivatives import brackets, jacobian_derivatives, jacobian_rate, node_inertias, node_jacobians, precedes


def christoffel_symbols(nodes, q):
    """Γ_abc (..., nv, nv, nv), with C_ab = Σ_c Γ_abc v_c, from brackets of Jacobian columns, summed over the nodes.

        Γ_abc = ½ Σ (K_b* J [K_a, K_c] + K_c* J [K_a, K_b] ± K_a* J [K_b, K_c])     + if b ≺ c, else -

    Müller and Terze (47), with the order of joints in place of the order of indices, so that joints may have any group.
    """
    K = node_jacobians(nodes, q)
    JB = node_inertias(nodes) @ brackets(K).reshape(*K.shape[:-1], -1)
    F = (K.mT @ JB).reshape(*K.shape[:-2], *(K.shape[-1:] * 3)).sum(-4)  # F[x, y, z] = Σ K_x* J [K_y, K_z]
    sign = 2 * like(precedes(nodes.tree), q) - 1
    return (np.moveaxis(F, -3, -2) + np.moveaxis(F, -3, -1) + F * sign) / 2


def christoffel(nodes, q, v):
    """C = Σ_c Γ_abc v_c (..., nv, nv)."""
    return contracted(christoffel_symbols(nodes, q), v)


def binet_symbols(nodes, q):
    """The same Γ_abc from the second moments of mass Σ = ∫ [x; 1][x; 1]* dm of each node.

        Γ_abc = Σ ∫ K_a(x) · (ω_b × K_c(x)) dm = Σ tr(ω_b~ K_c^ Σ K_a^*)            if b ≺ c, else with b and c exchanged

    At the centre of mass that is ω_b · (ϑ (ω_c × ω_a) + m v_c × v_a), ϑ = ½ tr(Θ) I - Θ being Binet's tensor. In print
    (Müller and Terze, 48) the roles of the three are exchanged in the linear part.
    """
    K = node_jacobians(nodes, q)
    B = skew(K[..., :3, :].mT)
    field = np.concatenate([B, K[..., 3:, :].mT[..., None]], -1)  # K_a(x) = field [x; 1], (..., n, nv, 3, 4)
    moments = binet_moments(node_inertias(nodes))[..., None, :, :]
    turned = np.einsum("...nbij,...ncjx->...nbcix", B, field)
    G = np.einsum("...naix,...nbcix->...abc", field @ moments, turned)
    before = like(precedes(nodes.tree), q)
    return before * G + (1 - before) * G.mT


def binet(nodes, q, v):
    """C = Σ_c Γ_abc v_c with those."""
    return contracted(binet_symbols(nodes, q), v)


def binet_moments(J):
    """∫ [x; 1][x; 1]* dm (..., 4, 4) of spatial inertias: ½ tr(Θ) I - Θ, first moments and the mass."""
    theta = J[..., :3, :3]
    trace = theta[..., 0, 0] + theta[..., 1, 1] + theta[..., 2, 2]
    second = trace[..., None, None] / 2 * like(np.eye(3), J) - theta
    first = np.stack([J[..., 2, 4], J[..., 0, 5], J[..., 1, 3]], -1)[..., None]
    return blocks(second, first, first.mT, J[..., 5:, 5:])


def momentum(nodes, q, v):
    """C = Σ K* (J K̇ + ãd_{JV} K): each node's matrix is From's, skew, so that C + C* is the rate of M."""
    K, J, V = _moving(nodes, q, v)
    rate = jacobian_rate(nodes, K, v[..., None, :])
    return (K.mT @ (J @ rate - hat((J @ V)[..., 0]) @ K)).sum(-3)


def body(nodes, q, v):
    """C = Σ K* (J K̇ - ad*_V J K), Müller and Terze (52) with K̇ = -A a K and b = diag ad_V; in print b* has a plus."""
    K, J, V = _moving(nodes, q, v)
    rate = jacobian_rate(nodes, K, v[..., None, :])
    return (K.mT @ (J @ rate + bar(V[..., 0]) @ (J @ K))).sum(-3)


def centers(nodes, q, v):
    """C = Σ J* (M_c J̇ + [ω~] M_c J), at each node's centre of mass, in world axes (the lecture).

    J̇ is the rate of the entries: for K̇ in the node's own axes, [R (K̇_ω + ω × K_ω); R (K̇_v + ω × K_v)].
    """
    K, J, V = _moving(nodes, q, v)
    mass, center, theta = inertia_parameters(J)
    omega = skew(V[..., :3, 0])
    eye, o = like(np.eye(3), q), np.zeros_like(omega)
    R = rotations(nodes, q) + o
    shift = blocks(eye + o, o, o - skew(center), eye + o)  # twists of the node to those of its centre
    turn = blocks(R, o, o, R)
    K_c = shift @ K
    K_c_dot = shift @ jacobian_rate(nodes, K, v[..., None, :]) + blocks(omega, o, o, omega) @ K_c
    J_c, J_c_dot = turn @ K_c, turn @ K_c_dot
    M_c = blocks(R @ theta @ R.mT, o, o, o + mass[..., None, None] * eye)
    gyroscopic = blocks(R @ omega @ R.mT, o, o, o)
    return (J_c.mT @ (M_c @ J_c_dot + gyroscopic @ (M_c @ J_c))).sum(-3)


def contracted(symbols, v):
    """Σ_c Γ_abc v_c."""
    return (symbols @ v[..., None, :, None])[..., 0]


def mass_matrix(nodes, q):
    """M = Σ K* J K, and the rotors': From, part two (34); Müller and Terze (43), (51)."""
    K = node_jacobians(nodes, q)
    return (K.mT @ (node_inertias(nodes) @ K)).sum(-3) + rotors(nodes, q)


def rotors(nodes, q):
    """The diagonal of rotor inertias (nv, nv)."""
    return nodes.tree.matrix({(k, k): nodes.joint_inertias[k] for k in nodes.tree.base_to_tips()}) + like(np.zeros((1, 1)), q)


def mass_matrix_derivatives(nodes, q):
    """∂_c M_ab (..., nv, nv, nv), the last axis c: Σ [K_a, K_c]* J K_b where a ≺ c, and the same with a and b exchanged."""
    K = node_jacobians(nodes, q)
    dK = jacobian_derivatives(nodes, K)
    JdK = node_inertias(nodes) @ dK.reshape(*K.shape[:-1], -1)
    half = (K.mT @ JdK).reshape(*K.shape[:-2], *(K.shape[-1:] * 3)).sum(-4)  # [a, b, c] = K_a* J ∂_c K_b
    return half + np.moveaxis(half, -3, -2)


def _moving(nodes, q, v):
    """K, J and V of every node, V as columns."""
    K = node_jacobians(nodes, q)
    return K, node_inertias(nodes), K @ v[..., None, :, None]


def rotations(nodes, q):
    """World from node, rotations only, last the world's own (..., n + 1, 3, 3)."""
    tree = nodes.tree
    T = poses(tree, placements(nodes, q), like(np.eye(4), q))
    return nodes.stack([*(T[k] for k in tree.base_to_tips()), T[tree.world]])[..., :3, :3]

