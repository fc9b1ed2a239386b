"""Jain, sections 17.1 to 17.3 and 17.5: a free mechanism seen from each of its bodies, and what does not depend on the root."""

import numpy as np
import pytest
from test_ch17_another_base import every_craft, two_arms
from zoo import MECHANISMS, close, plain, state

import linkwork as lw
from linkwork import sweeps
from linkwork.quantities.base_invariant import inverse_shifts
from linkwork.systems import lower


class Both:
    """Both sweeps of a mechanism at a state."""

    def __init__(self, model):
        self.robot = plain(model)
        x = self.state = state(self.robot)
        nodes = lower(model)
        s = self.s = nodes.blocks(x.q)
        self.tree, self.r = s.tree, nodes.rates(s, x.v, x.tau, x.external)
        self.P, self.D, self.G, self.P_plus = sweeps.articulated_inertia(s)
        self.z, eps, self.nu = sweeps.innovations(s, self.P, self.D, self.G, self.r)
        self.z_plus = {k: self.z[k] + self.G[k] @ eps[k] for k in self.z}
        self.back = inverse_shifts(s)
        self.S, self.S_plus, self.D_dl, self.G_dl = sweeps.dual_articulated_inertia(s, self.P_plus, self.back)
        self.z_dl, self.nu_dl = sweeps.dual_innovations(s, self.S_plus, self.D_dl, self.G_dl, self.back, self.r, self.z_plus)
        self.vdot, self.alpha = sweeps.accelerations(s, self.G, self.r, self.nu)
        self.f = sweeps.interbody_forces(s, self.P, self.r, self.alpha, self.z)
        self.inner = [k for k in self.tree.base_to_tips() if k in self.S_plus]

    def alpha_plus(self, k):
        return self.s.A[k].mT @ self.alpha[self.tree.parent[k]]


@every_craft
def test_the_free_base_passes_nothing_on(model):
    """D(n) = P(n), P⁺(n) = 0, S(n) = 0 (17.1), and α(n) = P⁻¹ ε + a (17.2)."""
    x = Both(model)
    (root,) = x.tree.children[x.tree.world]
    close(x.D[root], x.P[root])
    close(x.P_plus[root], 0.0)
    close(x.S[root], 0.0)
    eps = x.r.tau[root] - x.z[root]
    close(x.alpha[root], np.linalg.solve(x.P[root], eps) + x.r.a[root], 1e-10)


@every_craft
def test_dual_weights_are_inverses(model):
    """A⁻¹ A = I (exercise 17.1)."""
    x = Both(model)
    for k in x.inner:
        close(x.back[k] @ x.s.A[k], np.eye(6))


@pytest.mark.parametrize("name", ["floating", "massless"])
def test_dual_projections(name):
    """S H* = 0; S⁺ goes through the joint drawn the other way as P does: τ̄_dl S⁺ = S = τ̄_dl S⁺ τ̄_dl* (exercise 17.2)."""
    x = Both(MECHANISMS[name])
    for k in x.inner:
        H, G, S_plus = x.s.H[k], x.G_dl[k], x.S_plus[k]
        through = np.eye(6) - G @ H
        close(x.S[k] @ H.mT, 0.0, 1e-11)
        close(through @ S_plus @ through.mT, x.S[k], 1e-11)
        close((G @ H) @ (np.eye(6) - x.G[k] @ H), 0.0, 1e-10)  # H τ̄ = 0
        close(H @ through, 0.0, 1e-11)


@every_craft
def test_a_joint_carries_the_same_from_both_sides(model):
    """f = P (α − a) + z = P⁺ α⁺ + z⁺ (17.9), −f = S⁺ (α⁺ + a) + z_dl⁺ = S α + z_dl (17.10)."""
    x = Both(model)
    for k in x.inner:
        close(x.P_plus[k] @ x.alpha_plus(k) + x.z_plus[k], x.f[k], 1e-9)
        close(x.S[k] @ x.alpha[k] + x.z_dl[k], -x.f[k], 1e-9)


@every_craft
def test_accelerations_of_each_body_for_itself(model):
    """α = −(P + S)⁻¹ (z + z_dl − P a), v̇ = ν − G* α⁺ = ν_dl + G_dl* α (lemmas 17.1, 17.6)."""
    x = Both(model)
    for k in x.inner:
        right = x.z[k] + x.z_dl[k] - x.P[k] @ x.r.a[k]
        close(-np.linalg.solve(x.P[k] + x.S[k], right), x.alpha[k], 1e-9)
        close(x.nu_dl[k] + x.G_dl[k].mT @ x.alpha[k], x.nu[k] - x.G[k].mT @ x.alpha_plus(k), 1e-9)


@every_craft
def test_base_invariant_forward_dynamics(model):
    """Algorithm 17.3 gives what forward dynamics from the root do, wrenches on the bodies included."""
    robot = plain(model)
    s = state(robot, (2, 3))
    for external in (None, s.external):
        expected = robot.forward_dynamics(s.q, s.v, s.tau, external)
        close(robot.forward_dynamics(s.q, s.v, s.tau, external, method="base_invariant"), expected, 1e-10)


@every_craft
def test_operational_inertias_are_the_inverse_of_compliances(model):
    """Υ⁻¹ = P + S = (J 𝓜⁻¹ J*)⁻¹, positive definite, that of the root P itself (lemma 17.5)."""
    robot = plain(model)
    s = state(robot, (2,))
    inertias, compliances = robot.operational_inertias(s.q), robot.body_compliances(s.q)
    for i, body in enumerate(robot.bodies):
        close(compliances[:, i], robot.task_compliance(s.q, body), 1e-11)
        close(inertias[:, i] @ compliances[:, i], np.eye(6), 1e-9)
        assert (np.linalg.eigvalsh(inertias[:, i]) > 0).all()
        close(robot.operational_inertias(s.q, body)[:, 0], inertias[:, i])


@every_craft
def test_operational_inertias_do_not_depend_on_the_root(model):
    """Lemmas 17.3, 17.4."""
    robot = plain(model)
    s = state(robot)
    expected = robot.operational_inertias(s.q)
    for body in robot.bodies:
        other = plain(model.rebased(body))
        q, _ = robot.rebase(s.q, s.v, body)
        close(other.operational_inertias(q, *robot.bodies), expected, 1e-10)


@pytest.mark.parametrize("name", ["floating", "massless"])
def test_compliance_between_bodies_does_not_depend_on_the_root(name):
    """Ω of any two bodies (lemma 17.3)."""
    robot = plain(MECHANISMS[name])
    s, bodies = state(robot), robot.bodies
    expected = robot.task_compliance(s.q, *bodies)
    for body in bodies:
        other = plain(robot.model.rebased(body))
        close(other.task_compliance(robot.rebase(s.q, s.v, body)[0], *bodies), expected, 1e-9)


def slider():
    """A free base of 1 kg, a slider of 2 kg along x through its centre."""
    craft = lw.Builder("slider", gravity=(0, 0, 0))
    craft.body("base", joint=lw.Free(), mass=1.0, tensor=(0.1, 0.2, 0.3))
    craft.body("slide", "base", joint=lw.Prismatic(axis=(1, 0, 0)), mass=2.0, tensor=(0.3, 0.2, 0.1))
    return craft.model()


def test_a_slider_on_a_free_base():
    """Along its axis a force on the slider moves it alone, across it both: (2, 3, 3) kg."""
    robot = plain(slider())
    close(robot.operational_inertias(robot.neutral(), "slide")[0, 3:, 3:], np.diag([2.0, 3.0, 3.0]))


def test_two_arms_by_kernels():
    """The compiled road, and the rolled one."""
    model = two_arms()
    expected, s = plain(model), state(plain(model), (3,))
    for robot in (lw.Dynamics(model), lw.Dynamics(model, rolled=True)):
        close(robot.operational_inertias(s.q), expected.operational_inertias(s.q), 1e-10)
        close(robot.forward_dynamics(s.q, s.v, s.tau, method="base_invariant"), expected.forward_dynamics(s.q, s.v, s.tau), 1e-9)
        for found, wanted in zip(robot.rebase(s.q, s.v, "left2"), expected.rebase(s.q, s.v, "left2")):
            close(found, wanted, 1e-12)


def test_a_base_that_is_not_free_has_none():
    robot = plain(MECHANISMS["chain"])
    s = state(robot)
    with pytest.raises(lw.ModelError, match=r"no free joint carries body .* robot\.task_inertia"):
        robot.operational_inertias(s.q)
    with pytest.raises(lw.ModelError, match=r"no free joint carries body"):
        robot.forward_dynamics(s.q, s.v, s.tau, method="base_invariant")
    with pytest.raises(lw.OptionError, match='method is "fast"'):
        robot.forward_dynamics(s.q, s.v, s.tau, method="fast")
