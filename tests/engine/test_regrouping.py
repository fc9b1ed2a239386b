"""Inertia that no joint notices may belong to either side of it: the joints move as before."""

import numpy as np
import pytest
from real_robots import model
from zoo import JOINTS, MECHANISMS, grown

import linkwork as lw
from linkwork import quantities
from linkwork.lie import R
from linkwork.spatial import inertia, phi
from linkwork.systems import lower
from linkwork.systems.regrouping import ENTRIES, UNITS, unnoticed

MODELS = {**MECHANISMS, "panda": model("panda"), "anymal_c": model("anymal_c")}
PARTS = {f"{name} {i}": part for name, joint in JOINTS.items() for i, (_, part, _) in enumerate(joint.parts) if part.nv}


@pytest.mark.parametrize("name", PARTS)
def test_a_joint_neither_feels_nor_changes_what_it_does_not_notice(name):
    """E H* = 0 and φ E φ* = E for every motion."""
    group = PARTS[name].group
    rng = np.random.default_rng(0)
    for i, row in unnoticed(group):
        E = np.tensordot(row, UNITS, 1)
        assert row[i] == 1 and np.allclose(E @ group.basis.T, 0, atol=1e-12)
        for _ in range(5):
            shift = phi(group.matrix(group.exp(rng.uniform(-2, 2, group.nv))))
            np.testing.assert_allclose(shift @ E @ shift.T, E, atol=1e-11)


def test_how_much_joints_do_not_notice():
    """Three parameters of ten for a turning joint, the tensor for a sliding one, the mass for a ball, nothing for a free body."""
    counts = {name: len(unnoticed(PARTS[f"{name} 0"].group)) for name in ("revolute", "prismatic", "spherical", "free")}
    assert counts == {"revolute": 3, "prismatic": 6, "spherical": 1, "free": 0}
    assert len(unnoticed(R(0))) == 10


def test_ten_parameters_are_an_inertia():
    rng = np.random.default_rng(1)
    A = rng.standard_normal((3, 3))
    M = inertia(np.array(1.7), rng.standard_normal(3), A @ A.T)
    np.testing.assert_allclose(np.tensordot([M[entry] for entry in ENTRIES], UNITS, 1), M)


@pytest.mark.parametrize("name", MODELS)
def test_results_in_joint_space_do_not_notice_either(name):
    nodes = lower(MODELS[name])
    lean = nodes.regrouped()
    q, v = lw.Dynamics(MODELS[name]).random_state(4, seed=2)
    u, s = v[::-1].copy(), np.arange(v.size).reshape(v.shape) % 2.0
    calls = [
        lambda n: quantities.mass_matrix(n, q),
        lambda n: quantities.inverse_dynamics(n, q, v, u),
        lambda n: quantities.gravity_force(n, q),
        lambda n: quantities.kinetic_energy(n, q, v),
        lambda n: quantities.hybrid_dynamics(n, q, v, u, s),
    ]
    scale = np.linalg.cond(quantities.mass_matrix(nodes, q)).max() if v.size else 1.0
    if np.isfinite(scale) and scale < 1e12:
        calls.append(lambda n: quantities.forward_dynamics(n, q, v, u))
    else:
        calls.pop()
    for call in calls:
        a, b = np.broadcast_arrays(call(nodes), call(lean))
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-14 * max(scale, 10) * np.abs(a).max(initial=0))


def test_behind_turning_joints_no_mass_is_left():
    """All of it is at the free base, as the mass of the whole."""
    robot = lw.Dynamics(model("anymal_c"))
    masses = np.array([M[5, 5] for M in robot.lowered.joint_space.M])
    total = sum(body.mass for body in robot.model.bodies)
    moving = [k for k, group in enumerate(robot.lowered.joint_space.groups) if group.nv]
    assert masses[moving[0]] == pytest.approx(total)
    assert not masses[moving[1:]].any()


def test_a_long_chain_loses_no_more_than_its_condition_allows():
    chain = grown("long", [(None, JOINTS["revolute"]), *((i, JOINTS["revolute"]) for i in range(59))])
    nodes = lower(chain)
    q, v = lw.Dynamics(chain).random_state(4, seed=3)
    a, b = (quantities.forward_dynamics(n, q, v, v) for n in (nodes, nodes.regrouped()))
    cond = np.linalg.cond(quantities.mass_matrix(nodes, q)).max()
    assert np.abs(a - b).max() <= 1e-15 * cond * np.abs(a).max()
