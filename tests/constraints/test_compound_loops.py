"""Loops closed by joints in a row: one text for NumPy and kernels."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.constraints.rows.kinematics import Kinematics
from linkwork.spatial import Pose

R, P = lw.Revolute, lw.Prismatic
JOINTS = {
    "universal": lw.Universal(),
    "universal, not square": lw.Universal(axes=((1, 0, 0), (1, 1, 0))),
    "turn, slide, turn": lw.Compound(row=(R(), P(axis=(1, 0, 0)), R(axis=(0, 1, 0)))),
    "arm of three": lw.Compound(row=(("a", R()), ("b", R(axis=(0, 1, 0)), (0.5, 0, 0)), ("c", R(axis=(0, 1, 0)), (0.3, 0.2, 0)))),
    "Euler's angles": lw.Compound(row=(R(), R(axis=(0, 1, 0)), R(axis=(1, 0, 0)))),
    "one axis twice": lw.Compound(row=(R(), R())),
    "ball on a slide": lw.Compound(row=(lw.Spherical(), P(axis=(0, 1, 0)))),
}
FREEDOMS = {"universal": 2, "universal, not square": 2, "one axis twice": 1, "ball on a slide": 4}


def robot(joint, compiled=False):
    b = lw.Builder("x").body("p", None, None, lw.Free(), mass=1, tensor=(0.04, 0.1, 0.1))
    return lw.Dynamics(b.loop("j", None, "p", joint, on=(-2, 0, 0)).model(), compiled=compiled)


@pytest.mark.parametrize("name", JOINTS)
def test_a_loop_leaves_what_its_joint_allows(name):
    """N J = 0 wherever the joint stands, and no more: N has full rank."""
    x = robot(JOINTS[name]).constraints.set.constraints[0]
    assert len(x) == 6 - FREEDOMS.get(name, 3)
    s = x._samples[1:]
    N, J = x.selector(x._nodes, s), Kinematics(x._nodes, s).place(0, Pose()).J
    np.testing.assert_allclose(N @ J, 0, atol=1e-13)
    assert np.linalg.svd(N)[1][..., -1].min() > 0.05


@pytest.mark.parametrize("name", JOINTS)
def test_coordinates_of_the_joint_are_found_from_its_pose(name):
    """K(s) of the s that is found is the pose, from any s."""
    x = robot(JOINTS[name]).constraints.set.constraints[0]
    X = Kinematics(x._nodes, x._samples).place(0, Pose()).T
    np.testing.assert_allclose(x.misfit(X), 0, atol=1e-12)


@pytest.mark.parametrize("name", JOINTS)
def test_rows_are_rates_of_the_residual(name):
    """Jc e = ∂c along e and γ = d/dt (Jc v) at v̇ = 0, next to the constraints."""
    r = robot(JOINTS[name])
    held = r.constraints
    q = held.assemble(r.random_state(seed=1)[0])
    v = held.project(q, np.random.default_rng(0).standard_normal(6))[1]
    h = 1e-4
    slopes = [(held.residual(r.integrate(q, h * e)) - held.residual(r.integrate(q, -h * e))) / (2 * h) for e in np.eye(6)]
    np.testing.assert_allclose(held.jacobian(q), np.stack(slopes, -1), atol=1e-6)
    step = held.forward_dynamics(q, v, np.ones(6))
    after = r.integrate(q, h * v + h * h / 2 * step)
    assert np.abs(held.residual(after)).max() < 20 * h**3


@pytest.mark.parametrize("name", ["universal", pytest.param("arm of three", marks=pytest.mark.slow)])
def test_kernels_of_compound_loops_are_the_plain_run(name):
    plain, quick = robot(JOINTS[name]), robot(JOINTS[name], compiled=True)
    held = plain.constraints
    q = np.stack([held.assemble(plain.random_state(seed=i)[0]) for i in range(3)])
    v = held.project(q, np.random.default_rng(0).standard_normal((3, 6)))[1]
    assert quick.constraints.compiled
    tau = np.ones(6)
    np.testing.assert_allclose(quick.forward_dynamics(q, v, tau), plain.forward_dynamics(q, v, tau), rtol=1e-11, atol=1e-11)
    each = np.stack([quick.forward_dynamics(a, b, tau) for a, b in zip(q, v)])
    assert (quick.forward_dynamics(q, v, tau) == each).all()
