"""Explicit Runge-Kutta methods: one step of a vector, over any scalar, in batches too."""

import numpy as np

from ..lie.scalars import like


class RungeKutta:
    """A method with stages y + h Σ A[i, j] K[j] at t + C[i] h, which ends at y + h Σ B[j] K[j], K[i] being the rates at stage i."""

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    order: int

    @property
    def stages(self) -> int:
        return len(self.B)

    def step(self, rates, K, y, h):
        """The vector y (..., m) after a step; K[..., 0, :] is known, the rates (..., stages, m) of the other stages are written to K.

        `rates(c, y, out)` writes the rates of y at a fraction c of the step into `out`. The length h is one number, or (..., 1).
        """
        for i in range(1, len(self.B)):
            rates(self.C[i], y + np.vecmat(h * like(self.A[i, :i], y), K[..., :i, :]), K[..., i, :])
        return y + np.vecmat(h * like(self.B, y), K[..., : len(self.B), :])

    def end(self, rates, first, y, h):
        """The vector after a step of rates that are returned, `rates(c, y)`; `first` are those at the start."""
        K = np.empty_like(first, shape=(*np.broadcast_shapes(first.shape[:-1], y.shape[:-1], h.shape[:-1]), self.stages, first.shape[-1]))
        K[..., 0, :] = first

        def written(c, y, out):
            out[...] = rates(c, y)

        return self.step(written, K, y, h)


class Classical(RungeKutta):
    """The classical method of order 4."""

    A = np.array([[0, 0, 0, 0], [1 / 2, 0, 0, 0], [0, 1 / 2, 0, 0], [0, 0, 1, 0]])
    B = np.array([1, 2, 2, 1]) / 6
    C = np.array([0, 1 / 2, 1 / 2, 1])
    order = 4


RK4 = Classical()
