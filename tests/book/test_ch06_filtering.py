"""Jain, section 6.4: the sweeps of forward dynamics are a Kalman filter and smoother.

x = A w with cov(w) = M, and T = H x + n with cov(n) = armature: linear and Gaussian, so the best estimates are conditional means.
"""

import numpy as np
from systems import every_bookish_model, every_model
from zoo import close

from linkwork.sweeps.filtering import kalman_filter, smoother


def covariances(m):
    """Of x, of x with T, of T."""
    X = m.A @ m.M @ m.A.mT
    return X, X @ m.H.mT, m.mass


def observed(m, tau):
    """What filter and smoother take, the world at rest."""
    sko = m.sko
    return sko.blocks, sko.P, sko.D, sko.G, m.tree.split(tau), 0 * sko.base


def filtered(m, rng):
    tau = rng.standard_normal((2, m.nv))
    return tau, *kalman_filter(*observed(m, tau))


def subtree(m, k):
    """The nodes that k carries, without k."""
    return [j for j in range(m.n) if k in m.path(j)[1:]]


def known(m, nodes):
    """The rows of T that these nodes observe."""
    return np.concatenate([np.arange(m.nv)[m.tree.rows[j]] for j in nodes] or [np.zeros(0)]).astype(int)


@every_model
def test_R_is_the_covariance_of_x(m):
    """E[x(k) x*(k)] = R(k): the Lyapunov equation (6.47)."""
    close(m.only_diagonal(covariances(m)[0]), m.R, 1e-11)


@every_model
def test_the_mass_matrix_is_the_covariance_of_the_observations(m):
    """E[T T*] = 𝓜."""
    X = covariances(m)[0]
    close(m.H @ X @ m.H.mT + m.armature, m.sko.mass_matrix, 1e-11)


@every_model
def test_the_filter_is_a_conditional_mean(m, rng):
    """z(k) = E[x(k) | T of the nodes that k carries] (6.48)."""
    tau, z, _ = filtered(m, rng)
    _, XT, TT = covariances(m)
    for k in range(m.n):
        rows = known(m, subtree(m, k))
        gain = XT[..., m.rows[k], :][..., rows] @ np.linalg.inv(TT[..., rows, :][..., rows])
        close(z[k][..., 0], np.matvec(gain, tau[..., rows]), 1e-9)


@every_model
def test_P_is_the_covariance_of_the_filters_error(m):
    """E[(x − z)(x − z)*](k) = P(k): the Riccati equation (6.48)."""
    X, XT, TT = covariances(m)
    for k in range(m.n):
        rows = known(m, subtree(m, k))
        cross = XT[..., m.rows[k], :][..., rows]
        left = m.block(X, k, k) - cross @ np.linalg.solve(TT[..., rows, :][..., rows], cross.mT)
        close(left, m.sko.P[k], 1e-9)


@every_model
def test_innovations_are_white(m, rng):
    """ε = (I − HψK) T, and E[ε ε*] = D: uncorrelated between joints (6.49)."""
    tau, _, eps = filtered(m, rng)
    close(m.tree.join(eps), np.matvec(m.right, tau), 1e-10)
    close(m.right @ m.mass @ m.right.mT, m.D, 1e-9)


@every_model
def test_the_smoother_is_a_conditional_mean(m, rng):
    """f = E[x | T] = A M A* H* 𝓜⁻¹ T (6.50)."""
    tau = rng.standard_normal((2, m.nv))
    f = smoother(*observed(m, tau))
    close(m.column(f), covariances(m)[1] @ np.linalg.solve(m.mass, tau[..., None]), 1e-9)


@every_bookish_model
def test_the_best_estimate_of_the_forces_are_the_forces(m, rng):
    """At rest, H f = T: what the smoother estimates is what the joints of the mechanism carry (table 6.1)."""
    tau = rng.standard_normal((2, m.nv))
    f = smoother(*observed(m, tau))
    vdot = np.linalg.solve(m.mass, tau[..., None])
    close(m.column(f), m.A @ m.M @ m.A.mT @ m.H.mT @ vdot, 1e-9)
    close(m.H @ m.column(f), tau[..., None], 1e-9)


@every_model
def test_the_innovations_are_the_log_likelihood(m, rng):
    """T* 𝓜⁻¹ T = Σ ε* D⁻¹ ε: what a filter is for."""
    tau, _, eps = filtered(m, rng)
    whitened = sum(np.vecdot(eps[k][..., 0], np.linalg.solve(m.sko.D[k], eps[k])[..., 0]) for k in range(m.n))
    close(whitened, np.vecdot(tau, np.linalg.solve(m.mass, tau[..., None])[..., 0]), 1e-9)
