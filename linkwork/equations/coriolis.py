"""Six Coriolis matrices. All have the same C v; they differ in other properties.

    christoffel         Σ Γ_abc v_c, Γ by brackets                Müller and Terze (47)     d𝓜/dt - 2C skew
    binet               the same Γ from second moments of mass    Müller and Terze (48)     d𝓜/dt - 2C skew
    momentum            K* (M K̇ + ãd_{MV} K)                      From (74), body by body   d𝓜/dt - 2C skew
    centers             Σ J* (M_c J̇ + [ω~] M_c J)                 the lecture               d𝓜/dt - 2C skew
    body                K* (M K̇ - ad*_V M K)                      Müller and Terze (52)     not
    boltzmann_hamel     ∂𝓜 and ∂S along the group                 From, part two (60)       not

M is the spatial inertia of a node, 𝓜 the mass matrix. The first is the `coriolis_matrix` of `Dynamics`, computed in
another way. Γ is that of the Levi-Civita connection in left-invariant velocities; for one-axis joints these are the
usual symbols, symmetric in the last two indices. Rotors (armature) are constant: they are in 𝓜, and in no C.
"""

import numpy as np

from ..lie.embedding import tilde as skew
from ..lie.scalars import like
from ..spatial import bar, blocks, hat, inertia_parameters
from ..sweeps import poses
from ..sweeps.jacobian import brackets
from ..systems.rigid import placements
from .kinematic_derivatives import jacobian_derivatives, jacobian_rate, node_inertias, node_jacobians, precedes


def christoffel_symbols(nodes, q):
    """Γ_abc (..., nv, nv, nv), with C_ab = Σ_c Γ_abc v_c, from brackets of Jacobian columns, summed over the nodes.

        Γ_abc = ½ Σ (K_b* M [K_a, K_c] + K_c* M [K_a, K_b] ± K_a* M [K_b, K_c])     + if b ≺ c, else -

    Müller and Terze (47), with the order of joints in place of the order of indices, so that joints may have any group.
    """
    K = node_jacobians(nodes, q)
    MB = node_inertias(nodes) @ brackets(K).reshape(*K.shape[:-1], K.shape[-1] ** 2)
    return of_brackets(nodes, (K.mT @ MB).reshape(*K.shape[:-2], *(K.shape[-1:] * 3)).sum(-4))


def of_brackets(nodes, F):
    """Γ_abc, or their derivatives, of F[x, y, z] = Σ K_x* M [K_y, K_z]."""
    sign = 2 * like(precedes(nodes.tree), F) - 1
    return (np.moveaxis(F, -3, -2) + np.moveaxis(F, -3, -1) + F * sign) / 2


def christoffel(nodes, q, v):
    """C = Σ_c Γ_abc v_c (..., nv, nv)."""
    return contracted(christoffel_symbols(nodes, q), v)


def binet_symbols(nodes, q):
    """The same Γ_abc from the second moments of mass Σ = ∫ [x; 1][x; 1]* dm of each node.

        Γ_abc = Σ ∫ K_a(x) · (ω_b × K_c(x)) dm = Σ tr(ω_b~ K_c^ Σ K_a^*)            if b ≺ c, else with b and c exchanged

    At the centre of mass that is ω_b · (ϑ (ω_c × ω_a) + m v_c × v_a), ϑ = ½ tr(Θ) I - Θ being Binet's tensor. The printed
    equation (Müller and Terze, 48) exchanges the indices in the linear part.
    """
    K = node_jacobians(nodes, q)
    B = skew(K[..., :3, :].mT)
    field = np.concatenate([B, K[..., 3:, :].mT[..., None]], -1)  # K_a(x) = field [x; 1], (..., n, nv, 3, 4)
    moments = binet_moments(node_inertias(nodes))[..., None, :, :]
    rotated = np.einsum("...nbij,...ncjx->...nbcix", B, field)
    F = np.einsum("...naix,...nbcix->...abc", field @ moments, rotated)
    before = like(precedes(nodes.tree), q)
    return before * F + (1 - before) * F.mT


def binet(nodes, q, v):
    """C = Σ_c Γ_abc v_c with Γ from `binet_symbols`."""
    return contracted(binet_symbols(nodes, q), v)


def binet_moments(M):
    """∫ [x; 1][x; 1]* dm (..., 4, 4) of spatial inertias: ½ tr(Θ) I - Θ, first moments and the mass."""
    theta = M[..., :3, :3]
    trace = theta[..., 0, 0] + theta[..., 1, 1] + theta[..., 2, 2]
    second = trace[..., None, None] / 2 * like(np.eye(3), M) - theta
    first = np.stack([M[..., 2, 4], M[..., 0, 5], M[..., 1, 3]], -1)[..., None]
    return blocks(second, first, first.mT, M[..., 5:, 5:])


def momentum(nodes, q, v):
    """C = Σ K* (M K̇ + ãd_{MV} K): the matrix of each node is that of From, skew, so that C + C* is the rate of 𝓜."""
    K, M, V = _moving(nodes, q, v)
    rate = jacobian_rate(nodes, K, v[..., None, :])
    return (K.mT @ (M @ rate - hat((M @ V)[..., 0]) @ K)).sum(-3)


def body(nodes, q, v):
    """C = Σ K* (M K̇ - ad*_V M K), Müller and Terze (52) with K̇ = -A a K and b = diag ad_V; in print b* has a plus."""
    K, M, V = _moving(nodes, q, v)
    rate = jacobian_rate(nodes, K, v[..., None, :])
    return (K.mT @ (M @ rate + bar(V[..., 0]) @ (M @ K))).sum(-3)


def centers(nodes, q, v):
    """C = Σ J* (M_c J̇ + [ω~] M_c J), J the Jacobian of each node's centre of mass, in world axes (the lecture).

    J̇ is the rate of the entries: for K̇ in the axes of the node, [R (K̇_ω + ω × K_ω); R (K̇_v + ω × K_v)].
    """
    K, M, V = _moving(nodes, q, v)
    mass, center, theta = inertia_parameters(M)
    omega = skew(V[..., :3, 0])
    eye, o = like(np.eye(3), q), np.zeros_like(omega)
    R = rotations(nodes, q) + o
    shift = blocks(eye + o, o, o - skew(center), eye + o)  # twists of the node to those of its centre of mass
    rotation = blocks(R, o, o, R)
    K_c = shift @ K
    K_c_dot = shift @ jacobian_rate(nodes, K, v[..., None, :]) + blocks(omega, o, o, omega) @ K_c
    J_c, J_c_dot = rotation @ K_c, rotation @ K_c_dot
    M_c = blocks(R @ theta @ R.mT, o, o, o + mass[..., None, None] * eye)
    gyroscopic = blocks(R @ omega @ R.mT, o, o, o)
    return (J_c.mT @ (M_c @ J_c_dot + gyroscopic @ (M_c @ J_c))).sum(-3)


def contracted(symbols, v):
    """Σ_c Γ_abc v_c."""
    return (symbols @ v[..., None, :, None])[..., 0]


def mass_matrix(nodes, q):
    """𝓜 = Σ K* M K plus the rotors: From, part two (34); Müller and Terze (43), (51)."""
    K = node_jacobians(nodes, q)
    return (K.mT @ (node_inertias(nodes) @ K)).sum(-3) + rotors(nodes, q)


def rotors(nodes, q):
    """The diagonal of rotor inertias (nv, nv)."""
    return nodes.tree.matrix({(k, k): nodes.joint_inertias[k] for k in nodes.tree.base_to_tips()}) + like(np.zeros((1, 1)), q)


def mass_matrix_derivatives(nodes, q):
    """∂_c 𝓜_ab (..., nv, nv, nv), the last axis c: Σ [K_a, K_c]* M K_b where a ≺ c, and the same with a and b exchanged."""
    K = node_jacobians(nodes, q)
    dK = jacobian_derivatives(nodes, K)
    MdK = node_inertias(nodes) @ dK.reshape(*K.shape[:-1], K.shape[-1] ** 2)
    half = (K.mT @ MdK).reshape(*K.shape[:-2], *(K.shape[-1:] * 3)).sum(-4)  # [a, b, c] = K_a* M ∂_c K_b
    return half + np.moveaxis(half, -3, -2)


def _moving(nodes, q, v):
    """K, M and V of every node, V as columns."""
    K = node_jacobians(nodes, q)
    return K, node_inertias(nodes), K @ v[..., None, :, None]


def rotations(nodes, q):
    """Rotations, world from node, the last one that of the world (..., n + 1, 3, 3)."""
    tree = nodes.tree
    T = poses(tree, placements(nodes, q), like(np.eye(4), q))
    return nodes.stack([*(T[k] for k in tree.base_to_tips()), T[tree.world]])[..., :3, :3]

