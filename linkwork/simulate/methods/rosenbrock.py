"""A linearly implicit method for stiff springs, strong damping and large gains, as compiled steps: RODAS of Hairer and Wanner, order 4(3).

    (I − γ h J) kᵢ = γ (f(t + cᵢ h, y + h Σ aᵢⱼ kⱼ) + Σ Cᵢⱼ kⱼ + dᵢ h ∂f/∂t),    i = 1 ... 6              (IV.7.25) of Solving ODEs II

J is exact, from the derivatives of the traced equations. The method is L-stable and stiffly accurate; there are no iterations, so that a
step is a bounded number of operations.
"""

import numpy as np

from ...constraints.choice.pivoting import Pivoted
from ...lie.scalars import like
from .pairs import Pair, rms, split

GAMMA = 0.25
A = np.array(
    [
        [0, 0, 0, 0, 0, 0],
        [1.544000000000000, 0, 0, 0, 0, 0],
        [0.9466785280815826, 0.2557011698983284, 0, 0, 0, 0],
        [3.314825187068521, 2.896124015972201, 0.9986419139977817, 0, 0, 0],
        [1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950, 0, 0],
        [1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950, 1, 0],
    ]
)
C = np.array(
    [
        [0, 0, 0, 0, 0],
        [-5.668800000000000, 0, 0, 0, 0],
        [-2.430093356833875, -0.2063599157091915, 0, 0, 0],
        [-0.1073529058151375, -9.594562251023355, -20.47028614809616, 0, 0],
        [7.496443313967647, -10.24680431464352, -33.99990352819905, 11.70890893206160, 0],
        [8.083246795921522, -7.981132988064893, -31.52159432874371, 16.31930543123136, -6.058818238834054],
    ]
)
TIMES = np.array([0, 0.386, 0.21, 0.63, 1, 1])
BY_TIME = np.array([0.25, -0.1043, 0.1035, -0.03620000000000023, 0, 0])
DENSE = np.array(
    [
        [10.12623508344586, -7.487995877610167, -34.80091861555747, -7.992771707568823, 1.025137723295662],
        [-0.6762803392801253, 6.087714651680015, 16.43084320892478, 24.76722511418386, -6.594389125716872],
    ]
)


class Rosenbrock(Pair):
    """Order 4(3), interpolant of order 3. Of K, row 0 has the rates at the start, rows 1 to 6 have k, row 7 has the rates at the end."""

    A, B, C, order, estimate, degree = A, A[-1], TIMES, 4, 3, 3
    stages = 7

    def attempted(self, rates, K, t, q, v, h):
        n = v.shape[-1]
        W, by_xi, by_v, by_time, bend, others = rates.slopes(t, q, v, K[0, n : 2 * n])
        g = GAMMA * h
        P, R = W - g * by_v, like(np.eye(n), v) - g * bend
        lu = Pivoted(P @ R - g * g * by_xi, n)

        def solved(r, force):
            """(I − g J)⁻¹ γ (r + W⁻¹ force), J = [[bend, I], W⁻¹ [by ξ, by v]]; what depends on these two follows from them."""
            x = lu.particular((GAMMA * (g * (W @ r[n : 2 * n] + force) + P @ r[:n]))[:, None])[:, 0]
            y = (R @ x - GAMMA * r[:n]) / g
            along = g * (others[0] @ x + others[1] @ y) if others else 0.0
            return np.concatenate([x, y, GAMMA * r[2 * n :] + along])

        still = np.concatenate([0.0 * v, 0.0 * v, *(others[2:] or [K[0, 2 * n :]])])
        for i in range(6):
            f = K[0]
            if i:
                dy = (h * A[i, :i]) @ K[1 : i + 1]
                f = like(np.zeros(K.shape[1]), v)
                rates(t + TIMES[i] * h, q, dy[:n], v + dy[n : 2 * n], split(f, n))
            earlier = C[i, :i] @ K[1 : i + 1] if i else 0.0
            K[i + 1] = solved(f + earlier + (BY_TIME[i] * h) * still, (BY_TIME[i] * h) * by_time)
        dy = (h * np.append(A[5, :5], 1.0)) @ K[1:7]
        xi, v1 = dy[:n], v + dy[n : 2 * n]
        rates(t + h, q, xi, v1, split(K[7], n))
        return xi, v1, dy[2 * n :]

    def errors(self, K):
        return K[6][None]

    def size(self, errors, scale):
        return rms(errors[0] / scale)

    def coefficients(self, rates, K, t, q, v, h, xi, v1):
        dy = np.concatenate([xi, v1 - v])
        a, b = (h * DENSE) @ K[1:6, : dy.shape[-1]]
        return np.stack([np.concatenate([0.0 * v, v]), dy + a, b - a, -b])
