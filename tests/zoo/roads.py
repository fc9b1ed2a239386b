"""Other roads to the same numbers."""

from functools import partial
from types import SimpleNamespace

import numpy as np

from linkwork import quantities
from linkwork.spatial import inertia
from linkwork.systems import lower

STEP = 1e-30


class Sweeps:
    """The quantities of a model on whatever numbers come, complex ones too: the sweeps without Dynamics."""

    def __init__(self, model, **how):
        self.nodes = lower(model, **how)

    def __getattr__(self, quantity):
        return partial(self._run, quantity)

    def _run(self, quantity, q, *others):
        """The quantity with the batch axes of q, even where it does not depend on q."""
        result = np.asarray(quantities.QUANTITIES[quantity](self.nodes, q, *others))
        core = result.ndim - len(quantities.QUANTITIES[quantity].result)
        return np.broadcast_to(result, np.broadcast_shapes(q.shape[:-1], result.shape[:core]) + result.shape[core:])


def rate(robot, f, q, v):
    """d/dt f(q) while q moves with v, from a step in the imaginary direction: exact to rounding.

        f(q ∘ exp(i h v)) = f(q) + i h df/dt,    h = 1e-30
    """
    sweeps = Sweeps(robot.model, dtype=complex)
    return np.imag(f(sweeps)(sweeps.integrate(q, 1j * STEP * v))) / STEP


def gradient(robot, f, q):
    """The rates of f along every velocity, last axis: what multiplies v in df/dt."""
    along = np.eye(robot.nv)
    q = np.asarray(q)[..., None, :]
    return np.moveaxis(rate(robot, f, q, along), q.ndim - 2, -1)


def slope(f, h=1e-3):
    """df/dt at t = 0 from four values of f, to h⁴."""
    return (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h)


def differences(robot, f, q):
    """The same by finite differences of the public methods, for what no imaginary step goes through."""
    along = np.eye(robot.nv)
    q = np.asarray(q)[..., None, :]
    return np.moveaxis(slope(lambda h: f(robot.integrate(q, h * along))), q.ndim - 2, -1)


def state(robot, shape=(), seed=0):
    """q, v, vdot, tau and external wrenches at random."""
    rng = np.random.default_rng(seed)
    q, v = robot.random_state(shape, seed)
    vdot, tau = rng.standard_normal((2, *shape, robot.nv))
    external = rng.standard_normal((*shape, len(robot.bodies), 6))
    return SimpleNamespace(q=q, v=v, vdot=vdot, tau=tau, external=external)


def body_inertias(model):
    """The spatial inertia of each body in its own frame, (nb, 6, 6)."""
    return np.stack([inertia(*map(np.asarray, (b.mass, b.center, b.tensor))) for b in model.bodies])


def jacobians(robot, q, axes="body"):
    """The Jacobian of each body, (..., nb, 6, nv)."""
    return np.stack([robot.jacobian(q, body, axes) for body in robot.bodies], -3)


def physics(model, name):
    """A property of the joints, one number for each velocity of the model."""
    return np.concatenate([part.each(name) for placed in model.joints for _, part, _ in placed.joint.parts])


def close(a, b, tolerance=1e-12):
    """Equal to within the tolerance, relative to the largest entry but not to less than one."""
    a, b = np.broadcast_arrays(a, b)
    np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * max(1.0, np.abs(b).max(initial=0.0)))
