"""Laws on trees drawn at random, up to forty bodies, any joints in any order."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from zoo import Sweeps, body_inertias, close, plain, trees

import linkwork as lw
from linkwork.lie import embedding
from linkwork.sweeps import articulated_inertia

few = settings(max_examples=25, suppress_health_check=list(HealthCheck))
many = settings(max_examples=250, suppress_health_check=list(HealthCheck))
STEP = 1e-30


class Drawn(Sweeps):
    """A model that was drawn, run in plain NumPy at one random state."""

    def __init__(self, model, seed=0):
        super().__init__(model)
        self.model = model
        robot = plain(model)  # for its sizes and random state
        self.nv = robot.nv
        self.q, self.v = robot.random_state(seed=seed)
        self.vdot, self.tau = np.random.default_rng(seed).standard_normal((2, robot.nv))

    def jacobians(self):
        return np.stack([self.jacobian(self.q, i, lw.Pose()) for i in range(len(self.model.bodies))])


def forward_after_inverse(drawn):
    """FD(ID(v̇)) = v̇, to the condition of the mass matrix."""
    q, v, vdot = drawn.q, drawn.v, drawn.vdot
    error = drawn.forward_dynamics(q, v, drawn.inverse_dynamics(q, v, vdot)) - vdot
    condition = np.linalg.cond(drawn.mass_matrix(q)) if drawn.nv else 1.0
    assert np.linalg.norm(error) <= 1e-13 * condition * (1 + np.linalg.norm(drawn.bias(q, v)))


def mass_matrix_over_bodies(drawn):
    """𝓜 = Σ J* M J > 0."""
    J = drawn.jacobians()
    mass = drawn.mass_matrix(drawn.q)
    close(mass, (J.mT @ body_inertias(drawn.model) @ J).sum(0))
    assert (np.linalg.eigvalsh(mass) > 0).all()


def velocity_of_bodies(drawn):
    """dT/dt = T (J v)^."""
    step = Sweeps(drawn.model, dtype=complex)
    rate = step.poses(step.integrate(drawn.q, 1j * STEP * drawn.v)).imag / STEP
    close(drawn.poses(drawn.q) @ embedding.hat(drawn.jacobians() @ drawn.v), rate)


def coriolis(drawn):
    """C v + g = bias and d𝓜/dt = C + C*."""
    q, v = drawn.q, drawn.v
    C = drawn.coriolis_matrix(q, v)
    close(C @ v + drawn.gravity_force(q), drawn.bias(q, v))
    step = Sweeps(drawn.model, dtype=complex)
    close(C + C.T, step.mass_matrix(step.integrate(q, 1j * STEP * v)).imag / STEP)


def work(drawn):
    """dT/dt = (τ − g) · v."""
    q, v, tau = drawn.q, drawn.v, drawn.tau
    step = Sweeps(drawn.model, dtype=complex)
    vdot = drawn.forward_dynamics(q, v, tau)
    rate = np.imag(step.kinetic_energy(step.integrate(q, 1j * STEP * v), v + 1j * STEP * vdot)) / STEP
    scale = np.abs(v) @ np.abs(drawn.bias(q, v)) + 1
    assert abs(rate - (tau - drawn.gravity_force(q)) @ v) <= 1e-11 * scale


def determinant(drawn):
    """log det 𝓜 = Σ log det D                              Jain (9.53)."""
    _, D, _, _ = articulated_inertia(drawn.nodes.blocks(drawn.q))
    close(np.linalg.slogdet(drawn.mass_matrix(drawn.q))[1], sum(np.linalg.slogdet(D[k])[1] for k in D), 1e-11)


def split(drawn):
    """Fixed placements as nodes of their own change nothing."""
    other = Sweeps(drawn.model, split=True)
    q, v = drawn.q, drawn.v
    close(other.inverse_dynamics(q, v, drawn.vdot), drawn.inverse_dynamics(q, v, drawn.vdot))
    close(other.poses(q), drawn.poses(q))


LAWS = [forward_after_inverse, mass_matrix_over_bodies, velocity_of_bodies, coriolis, work, determinant, split]


@few
@given(model=trees(max_bodies=40), seed=st.integers(0, 2**16))
def test_laws_hold_on_any_tree(model, seed):
    for law in LAWS:
        law(Drawn(model, seed))


@pytest.mark.slow
@many
@given(model=trees(max_bodies=40), seed=st.integers(0, 2**16))
def test_laws_hold_on_very_many_trees(model, seed):
    for law in LAWS:
        law(Drawn(model, seed))
