"""Jain, chapter 9: everything follows from a tree of blocks, whatever their sizes.

With inertia in the joints, 𝓜 = H A M A* H* + armature and D = H P H* + armature: the factorization keeps its form.
"""

import numpy as np
from recursions import backward_lyapunov, forward_element, forward_lyapunov
from systems import every_bookish_model, every_model, models, serial
from zoo import close

from linkwork.sweeps.gather_scatter import gather, scatter
from linkwork.sweeps.lyapunov import backward_element
from linkwork.sweeps.neighbours import from_children, from_parent


def vector(m, rng):
    return rng.standard_normal((2, m.size, 1))


def nothing(m):
    return np.zeros_like(m.sko.base)


def other_weights(m, rng):
    """Another SPO on the same nodes: B(p,k)."""
    return [A + 0.2 * rng.standard_normal(A.shape) for A in (m.sko.A[k] for k in range(m.n))]


def between(m, rng):
    """X(k), square but not symmetric."""
    return [rng.standard_normal((2, h, h)) for h in m.sko.heights]


# --- gather and scatter


@every_model
def test_gather(m, rng):
    """y = A x from the tips to the base (lemma 9.1)."""
    x = vector(m, rng)
    close(m.column(gather(m.tree, m.sko.A, m.slots(x))), m.A @ x)


@every_model
def test_scatter(m, rng):
    """y = A* x from the base to the tips (lemma 9.2)."""
    x = vector(m, rng)
    close(m.column(scatter(m.tree, m.sko.A, m.slots(x), nothing(m))), m.A.mT @ x)


@every_model
def test_one_step_of_either(m, rng):
    """𝓔 x and 𝓔* x: from children, from parents (8.9)."""
    x = vector(m, rng)
    close(m.column(from_children(m.tree, m.sko.A, m.slots(x), m.sko.heights)), m.E @ x)
    close(m.column(from_parent(m.tree, m.sko.A, m.slots(x), nothing(m))), m.E.mT @ x)


@every_model
def test_gather_and_scatter_without_the_own_term(m, rng):
    """A~ x = 𝓔 A x,  A~* x = 𝓔* A* x (exercise 9.1)."""
    x = vector(m, rng)
    op = m.sko.operators
    close(op.phi_tilde @ x, m.At @ x)
    close(op.phi_tilde.T @ x, m.At.mT @ x)


@every_model
def test_velocities(m, rng):
    """V = A* H* θ̇ (9.1)."""
    v = rng.standard_normal((2, m.nv))
    close(m.column(m.sko.velocities(v)), m.A.mT @ m.H.mT @ v[..., None])


@every_model
def test_partial_velocities(m):
    """∂V/∂θ̇ = A* H*: Kane's partial velocities, one column each."""
    columns = [m.column(m.sko.velocities(e)) for e in m.Iv]
    close(np.concatenate(columns, -1), m.A.mT @ m.H.mT)


@every_model
def test_inverse_dynamics(m, rng):
    """T = 𝓜 θ̈ + 𝓒 by Newton and Euler (algorithm 9.1)."""
    vdot = rng.standard_normal((2, m.nv))
    close(m.sko.inverse_dynamics(vdot)[..., None], m.mass @ vdot[..., None] + m.bias, 1e-11)


@every_model
def test_the_bias(m):
    """𝓒 = H A (M A* (a + E* g) + b) (9.3)."""
    close(m.sko.bias[..., None], m.bias, 1e-11)


# --- forward Lyapunov equation


@every_model
def test_the_forward_lyapunov_equation(m, rng):
    """X = Y − 𝓔_A Y 𝓔_B* (9.12)."""
    X, B = between(m, rng), other_weights(m, rng)
    Y = m.diagonal(forward_lyapunov(m.tree, m.sko.A, X, B))
    close(m.diagonal(X), Y - m.E @ Y @ m.kernel(B).mT)


@every_model
def test_decomposition_of_A_X_B(m, rng):
    """A X B* = Y + A~ Y + Y B~* (lemma 9.3)."""
    X, weights = between(m, rng), other_weights(m, rng)
    B = np.linalg.inv(m.I - m.kernel(weights))
    Y = m.diagonal(forward_lyapunov(m.tree, m.sko.A, X, weights))
    close(m.A @ m.diagonal(X) @ B.mT, Y + m.At @ Y + Y @ (B - m.I).mT, 1e-11)


@every_model
def test_elements_of_A_X_B(m, rng):
    """A(i,j) Y(j), Y(i) B*(j,i), or nothing (9.15)."""
    X, weights = between(m, rng), other_weights(m, rng)
    B = np.linalg.inv(m.I - m.kernel(weights))
    Y = forward_lyapunov(m.tree, m.sko.A, X, weights)
    dense = m.A @ m.diagonal(X) @ B.mT
    for i, j in np.ndindex(m.n, m.n):
        close(forward_element(m.tree, m.sko.A, Y, weights, i, j), m.block(dense, i, j), 1e-11)


@every_model
def test_composite_inertias(m):
    """M = R − 𝓔 R 𝓔* (9.18)."""
    close(m.M, m.R - m.E @ m.R @ m.E.mT)


@every_model
def test_decomposition_of_A_M_A(m):
    """A M A* = R + A~ R + R A~* (9.16)."""
    close(m.A @ m.M @ m.A.mT, m.R + m.At @ m.R + m.R @ m.At.mT)


@every_model
def test_decomposition_of_the_mass_matrix(m):
    """𝓜 = H R H* + H A~ R H* + H R A~* H*, and armature (lemma 9.4)."""
    H = m.H
    close(m.mass, H @ m.R @ H.mT + H @ m.At @ m.R @ H.mT + H @ m.R @ m.At.mT @ H.mT + m.armature)


@every_model
def test_the_mass_matrix(m):
    """𝓜 = H A M A* H* + armature by composite bodies (algorithm 9.3)."""
    close(m.sko.mass_matrix, m.mass)


@every_model
def test_the_trace_of_the_mass_matrix(m):
    """tr 𝓜 = Σ tr(H R H* + armature) (4.21)."""
    close(np.trace(m.mass, axis1=-2, axis2=-1), np.trace(m.H @ m.R @ m.H.mT + m.armature, axis1=-2, axis2=-1))


# --- backward Lyapunov equation


def backward(m, X, weights):
    zero = np.zeros((2, m.sko.base.shape[-2], m.sko.base.shape[-2]))
    return backward_lyapunov(m.tree, m.sko.A, X, weights, zero)


@every_model
def test_the_backward_lyapunov_equation(m, rng):
    """X = Y − diagOf{𝓔_A* Y 𝓔_B} (9.22)."""
    X, B = between(m, rng), other_weights(m, rng)
    Y = m.diagonal(backward(m, X, B))
    close(m.diagonal(X), Y - m.only_diagonal(m.E.mT @ Y @ m.kernel(B)))


@every_model
def test_decomposition_of_A_X_B_backward(m, rng):
    """A* X B = Y + A~* Y + Y B~ + R, R(i,j) = A*(k,i) Y(k) B(k,j) for unrelated i, j that k carries (lemma 9.5)."""
    X, weights = between(m, rng), other_weights(m, rng)
    B = np.linalg.inv(m.I - m.kernel(weights))
    Y = m.diagonal(backward(m, X, weights))
    rest = m.A.mT @ m.diagonal(X) @ B - (Y + m.At.mT @ Y + Y @ (B - m.I))
    for i, j in np.ndindex(m.n, m.n):
        k = m.common(i, j)
        expected = 0 * m.block(rest, i, j)
        if k not in (None, i, j):
            expected = m.block(m.A, k, i).mT @ m.block(Y, k, k) @ m.block(B, k, j)
        close(m.block(rest, i, j), expected, 1e-10)


@every_model
def test_elements_of_A_X_B_backward(m, rng):
    """A*(k,i) Y(k) B(k,j), k the nearest that carries both (9.25), algorithm 9.4."""
    X, weights = between(m, rng), other_weights(m, rng)
    Y = backward(m, X, weights)
    dense = m.A.mT @ m.diagonal(X) @ np.linalg.inv(m.I - m.kernel(weights))
    for i, j in np.ndindex(m.n, m.n):
        close(backward_element(m.tree, m.sko.A, Y, weights, i, j), m.block(dense, i, j), 1e-10)


@serial
def test_a_chain_leaves_no_rest(m, rng):
    """A* X B = Y + A~* Y + Y B~,  X = Y − 𝓔_A* Y 𝓔_B (lemma 9.6)."""
    X, weights = between(m, rng), other_weights(m, rng)
    B = np.linalg.inv(m.I - m.kernel(weights))
    Y = m.diagonal(backward(m, X, weights))
    close(m.A.mT @ m.diagonal(X) @ B, Y + m.At.mT @ Y + Y @ (B - m.I), 1e-11)
    close(m.diagonal(X), Y - m.E.mT @ Y @ m.kernel(weights))


# --- Riccati equation


@every_bookish_model
def test_the_riccati_equation(m):
    """M = P − 𝓔 [P − P H* (H P H*)⁻¹ H P] 𝓔* (lemma 9.7)."""
    HP = m.H @ m.P
    close(m.M, m.P - m.E @ (m.P - HP.mT @ np.linalg.solve(HP @ m.H.mT, HP)) @ m.E.mT)


@every_model
def test_the_riccati_equation_with_joint_inertia(m):
    """M = P − 𝓔 [P − P H* D⁻¹ H P] 𝓔*,  D = H P H* + armature."""
    HP = m.H @ m.P
    close(m.D, HP @ m.H.mT + m.armature)
    close(m.M, m.P - m.E @ (m.P - HP.mT @ np.linalg.solve(m.D, HP)) @ m.E.mT)


@every_model
def test_P_plus(m):
    """P⁺ = τ̄ P = P τ̄* = P − G D G* (9.32)."""
    close(m.P_plus, m.tau_bar @ m.P)
    close(m.P_plus, m.P @ m.tau_bar.mT)
    close(m.P_plus, m.P - m.G @ m.D @ m.G.mT)


@every_bookish_model
def test_P_plus_from_both_sides(m):
    """P⁺ = τ̄ P τ̄*,  H P⁺ = 0 (9.33)."""
    close(m.P_plus, m.tau_bar @ m.P @ m.tau_bar.mT)
    close(m.H @ m.P_plus, 0, 1e-11)


@every_model
def test_inertias_are_in_order(m):
    """R ≥ P ≥ M and P ≥ P⁺ ≥ 0 (6.31), exercise 7.1."""
    scale = np.abs(m.R).max()
    for larger, smaller in ((m.R, m.P), (m.P, m.M), (m.P, m.P_plus), (m.P_plus, 0 * m.P)):
        assert (np.linalg.eigvalsh(larger - smaller) > -1e-12 * scale).all()


@every_model
def test_E_psi_is_a_kernel_too(m):
    """𝓔ψ = 𝓔 τ̄ has the weights ψ(p,k) = A(p,k) τ̄(k) (lemma 9.8)."""
    close(m.E_psi, m.kernel(m.sko.psi))
    close(np.linalg.matrix_power(m.E_psi, m.n), 0 * m.E)


@every_bookish_model
def test_M_from_P_and_psi(m):
    """M = P − 𝓔ψ P 𝓔ψ* (9.36)."""
    close(m.M, m.P - m.E_psi @ m.P @ m.E_psi.mT)


@every_model
def test_M_from_P_psi_and_A(m):
    """M = P − 𝓔ψ P 𝓔* = P − 𝓔 P 𝓔ψ* (9.36)."""
    close(m.M, m.P - m.E_psi @ m.P @ m.E.mT)
    close(m.M, m.P - m.E @ m.P @ m.E_psi.mT)


# --- identities


@every_bookish_model
def test_H_and_G(m):
    """H G = I,  H τ = H,  H τ̄ = 0,  τ G = G,  τ̄ G = 0 (9.38)."""
    close(m.H @ m.G, m.Iv)
    close(m.H @ m.tau_, m.H)
    close(m.H @ m.tau_bar, 0)
    close(m.tau_ @ m.G, m.G)
    close(m.tau_bar @ m.G, 0)


@every_bookish_model
def test_tau_is_a_projection(m):
    """τ² = τ,  τ̄² = τ̄ (6.18)."""
    close(m.tau_ @ m.tau_, m.tau_, 1e-11)
    close(m.tau_bar @ m.tau_bar, m.tau_bar, 1e-11)


@every_bookish_model
def test_the_factor_by_G(m):
    """I + H A K = H A G (9.39)."""
    close(m.left, m.H @ m.A @ m.G)


@every_bookish_model
def test_H_A_tau(m):
    """H A τ̄ = H A 𝓔ψ,  H A τ = H A ψ⁻¹ (9.40)."""
    HA = m.H @ m.A
    close(HA @ m.tau_bar, HA @ m.E_psi)
    close(HA @ m.tau_, HA @ (m.I - m.E_psi))


@every_model
def test_A_M_psi(m):
    """A M ψ* = P + A~ P + P ψ~* (9.41)."""
    close(m.A @ m.M @ m.psi.mT, m.P + m.At @ m.P + m.P @ m.psit.mT, 1e-11)


@every_bookish_model
def test_psi_M_psi(m):
    """ψ M ψ* = P + ψ~ P + P ψ~* (9.42)."""
    close(m.psi @ m.M @ m.psi.mT, m.P + m.psit @ m.P + m.P @ m.psit.mT, 1e-11)


@every_model
def test_the_difference_of_the_inverses(m):
    """ψ⁻¹ − A⁻¹ = K H (9.43)."""
    close(m.E - m.E_psi, m.K @ m.H)


@every_model
def test_A_over_psi(m):
    """ψ⁻¹ A = I + K H A,  A ψ⁻¹ = I + A K H (9.44)."""
    close((m.I - m.E_psi) @ m.A, m.I + m.K @ m.H @ m.A, 1e-11)
    close(m.A @ (m.I - m.E_psi), m.I + m.A @ m.K @ m.H, 1e-11)


@every_model
def test_psi_over_A(m):
    """A⁻¹ ψ = I − K H ψ,  ψ A⁻¹ = I − ψ K H (9.44)."""
    close((m.I - m.E) @ m.psi, m.I - m.K @ m.H @ m.psi, 1e-11)
    close(m.psi @ (m.I - m.E), m.I - m.psi @ m.K @ m.H, 1e-11)


@every_model
def test_A_becomes_psi(m):
    """(I − HψK) H A = H ψ,  A K (I − HψK) = ψ K (9.45)."""
    close(m.right @ m.H @ m.A, m.H @ m.psi, 1e-11)
    close(m.A @ m.K @ m.right, m.psi @ m.K, 1e-11)


@every_model
def test_psi_becomes_A(m):
    """(I + HAK) H ψ = H A,  ψ K (I + HAK) = A K (9.45)."""
    close(m.left @ m.H @ m.psi, m.H @ m.A, 1e-11)
    close(m.psi @ m.K @ m.left, m.A @ m.K, 1e-11)


@every_bookish_model
def test_H_psi_M_psi_H_is_D(m):
    """H ψ M ψ* H* = D (9.46)."""
    close(m.H @ m.psi @ m.M @ m.psi.mT @ m.H.mT, m.D, 1e-11)


@every_bookish_model
def test_A_M_A(m):
    """A M A* = P + A~ P + P A~* + A K D K* A* (9.47)."""
    last = m.A @ m.K @ m.D @ m.K.mT @ m.A.mT
    close(m.A @ m.M @ m.A.mT, m.P + m.At @ m.P + m.P @ m.At.mT + last, 1e-11)


@every_model
def test_A_M_A_with_joint_inertia(m):
    """The same holds with rotors, since P − 𝓔 P 𝓔* = M − K D K* whatever D contains."""
    close(m.M - m.K @ m.D @ m.K.mT, m.P - m.E @ m.P @ m.E.mT, 1e-11)


@every_bookish_model
def test_A_M_A_H(m):
    """A M A* H* = (I + A K H) P A* H* (9.48)."""
    close(m.A @ m.M @ m.A.mT @ m.H.mT, (m.I + m.A @ m.K @ m.H) @ m.P @ m.A.mT @ m.H.mT, 1e-11)


# --- factorization


@every_model
def test_the_innovations_factorization(m):
    """𝓜 = (I + HAK) D (I + HAK)* (9.49)."""
    close(m.mass, m.left @ m.D @ m.left.mT, 1e-11)


@every_model
def test_the_inverse_of_the_factor(m):
    """(I + HAK)⁻¹ = I − HψK (9.50)."""
    close(m.left @ m.right, m.Iv, 1e-11)


@every_model
def test_the_inverse_of_the_mass_matrix(m):
    """𝓜⁻¹ = (I − HψK)* D⁻¹ (I − HψK) (9.51)."""
    close(m.right.mT @ np.linalg.solve(m.D, m.right) @ m.mass, m.Iv, 1e-10)


@every_model
def test_the_factor_has_determinant_one(m):
    """det(I + HAK) = 1 (9.52)."""
    close(np.linalg.det(m.left), 1.0, 1e-11)


@every_model
def test_the_determinant_of_the_mass_matrix(m):
    """det 𝓜 = Π det D(k) (9.53)."""
    close(m.sko.log_determinant, np.linalg.slogdet(m.mass)[1], 1e-11)


# --- forward dynamics


def moving(m, rng):
    """T, θ̈, α, z with the world at rest."""
    tau = rng.standard_normal((2, m.nv, 1))
    C = m.H @ m.A @ (m.M @ m.A.mT @ m.a + m.b)
    vdot = np.linalg.solve(m.mass, tau - C)
    return tau, vdot, m.A.mT @ (m.H.mT @ vdot + m.a), m.psi @ (m.K @ tau + m.P @ m.a + m.b)


@every_model
def test_forward_dynamics(m, rng):
    """θ̈ = 𝓜⁻¹ (T − 𝓒) by articulated bodies (algorithm 9.5)."""
    tau = rng.standard_normal((2, m.nv, 1))
    close(m.sko.forward_dynamics(tau[..., 0])[..., None], np.linalg.solve(m.mass, tau - m.bias), 1e-10)


@every_model
def test_forward_dynamics_is_the_inverse_of_inverse_dynamics(m, rng):
    """FD(ID(θ̈)) = θ̈."""
    vdot = rng.standard_normal((2, m.nv))
    close(m.sko.forward_dynamics(m.sko.inverse_dynamics(vdot)), vdot, 1e-10)


@every_model
def test_accelerations_in_operator_form(m, rng):
    """θ̈ = (I − HψK)* D⁻¹ [T − Hψ (K T + P a + b)] − K* ψ* a (9.54)."""
    tau, vdot, _, z = moving(m, rng)
    close(vdot, m.right.mT @ np.linalg.solve(m.D, tau - m.H @ z) - m.K.mT @ m.psi.mT @ m.a, 1e-10)


@every_model
def test_the_residual_force(m, rng):
    """z = A (K ε + P a + b),  ε = T − H z (9.58)."""
    tau, _, _, z = moving(m, rng)
    close(z, m.A @ (m.K @ (tau - m.H @ z) + m.P @ m.a + m.b), 1e-10)


@every_model
def test_accelerations_of_the_nodes(m, rng):
    """α = ψ* (H* ν + a),  θ̈ = ν − K* α (9.58)."""
    tau, vdot, alpha, z = moving(m, rng)
    nu = np.linalg.solve(m.D, tau - m.H @ z)
    close(alpha, m.psi.mT @ (m.H.mT @ nu + m.a), 1e-10)
    close(vdot, nu - m.K.mT @ alpha, 1e-10)


@every_model
def test_forces_between_the_nodes(m, rng):
    """f = A (M α + b) = P (α − a) + z,  H f + armature θ̈ = T (7.34)."""
    tau, vdot, alpha, z = moving(m, rng)
    f = m.A @ (m.M @ alpha + m.b)
    close(f, m.P @ (alpha - m.a) + z, 1e-10)
    close(m.H @ f + m.armature @ vdot, tau, 1e-10)


@every_model
def test_forces_with_gravity(m, rng):
    """The forces of a motion, gravity included, give back T = H f + armature θ̈ (5.43)."""
    vdot = rng.standard_normal((2, m.nv))
    f = m.column(m.sko.forces(vdot))
    alpha = m.A.mT @ (m.H.mT @ vdot[..., None] + m.a + m.base)
    close(f, m.A @ (m.M @ alpha + m.b), 1e-11)
    close(m.H @ f + m.armature @ vdot[..., None], m.sko.inverse_dynamics(vdot)[..., None], 1e-11)


@every_model
def test_corrections_for_forces_on_the_nodes(m, rng):
    """δθ̈ = 𝓜⁻¹ H A f = (I − HψK)* D⁻¹ Hψ f, f the forces on the nodes (7.44), algorithm 7.3."""
    f = vector(m, rng)
    delta = m.sko.corrections(m.slots(f))[..., None]
    close(delta, np.linalg.solve(m.mass, m.H @ m.A @ f), 1e-10)
    close(delta, m.right.mT @ np.linalg.solve(m.D, m.H @ m.psi @ f), 1e-10)


@every_model
def test_corrections_add_to_a_motion(m, rng):
    """FD with b − f is FD and the correction for f (section 7.6)."""
    tau, f = rng.standard_normal((2, m.nv)), vector(m, rng)
    pulled = type(m.sko)(m.tree, m.sko.A, m.sko.H, m.sko.M, m.sko.armature, m.sko.a, m.slots(m.b - f), m.sko.base)
    close(pulled.forward_dynamics(tau), m.sko.forward_dynamics(tau) + m.sko.corrections(m.slots(f)), 1e-10)


# --- limits


@models("tree", "random forest", "gear train")
def test_frozen_joints_make_articulated_bodies_composite(m):
    """Without velocities P = R and ψ = A (section 4, limit tests)."""
    none = [H[..., :0, :] for H in (m.sko.H[k] for k in range(m.n))]
    frozen = type(m.sko)(m.tree.parent, m.sko.A, none, m.sko.M)
    close(m.diagonal(frozen.P), m.R)
    close(m.kernel(frozen.psi), m.E)


@models("random forest", "random chain", "tree")
def test_a_joint_that_allows_everything_passes_nothing_on(m):
    """H = I: G = I, τ̄ = 0, P⁺ = 0 (17.1)."""
    free = [np.eye(h) for h in m.sko.heights]
    loose = type(m.sko)(m.tree.parent, m.sko.A, free, [M + np.eye(M.shape[-1]) for M in (m.sko.M[k] for k in range(m.n))])
    close(m.diagonal(loose.G), m.I)
    close(m.diagonal(loose.P_plus), 0, 1e-11)
    close(m.kernel(loose.psi), 0)
