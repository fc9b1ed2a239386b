"""Rigid, prescribed, geared and embedded systems run the same sweeps, on other blocks."""

from pathlib import Path

import numpy as np
import pytest

import linkwork as lw
from linkwork import constraints, quantities, sweeps
from linkwork.systems import lower
from linkwork.systems.embedded import Embedding, with_roots

SWEEPS = "articulated_inertia", "forward_dynamics", "composite_inertia", "mass_matrix", "inverse_dynamics"
PACKAGE = Path(lw.__file__).parent


def geared_arm():
    """An arm whose two joints have rotors, bound to them by gears of ratio 5."""
    arm = lw.Builder("arm")
    arm.body("upper", joint=lw.Revolute(axis=(0, 1, 0)), mass=2.0, center=(0.3, 0, 0.1), tensor=(0.1, 0.2, 0.15))
    arm.body("fore", "upper", (0.6, 0, 0), lw.Revolute(axis=(0, 0.6, 0.8)), mass=1.0, center=(0.2, 0.1, 0), tensor=(0.1, 0.1, 0.05))
    for joint in ("upper_joint", "fore_joint"):
        arm.motor(joint, 5.0, mass=0.1, tensor=(0.01, 0.02, 0.01))
    return arm.model()


@pytest.fixture
def calls(monkeypatch):
    """The sweeps that are called, as they are called."""
    seen = []

    def recorded(name, sweep):
        def run(*arguments):
            seen.append((name, sweep))
            return sweep(*arguments)

        return run

    for name in SWEEPS:
        monkeypatch.setattr(sweeps, name, recorded(name, getattr(sweeps, name)))
    return seen


def rigid(robot, q, v, tau):
    quantities.forward_dynamics(robot.lowered.plain(), q, v, tau)


def prescribed(robot, q, v, tau):
    quantities.hybrid_dynamics(robot.lowered.plain(), q, v, tau, np.ones(robot.nv))


def embedded(robot, q, v, tau):
    constraints.of(robot).forward_dynamics(q, v, tau, method="embedded")


@pytest.mark.parametrize(
    ("model", "run"),
    [(lw.load("four_bar"), rigid), (lw.load("four_bar"), prescribed), (lw.load("four_bar"), embedded), (geared_arm(), embedded)],
    ids=["rigid", "prescribed", "embedded", "geared"],
)
def test_every_kind_of_system_runs_the_same_sweeps(model, run, calls):
    robot = lw.Dynamics(model, compiled=False)
    q = robot.assemble(robot.neutral())
    functions = {name: getattr(__import__(f"linkwork.sweeps.{name}", fromlist=[name]), name) for name in SWEEPS[:2]}
    calls.clear()
    run(robot, q, np.zeros(robot.nv), np.ones(robot.nv))
    forward = [(name, sweep) for name, sweep in calls if name in functions]
    assert [name for name, _ in forward] == ["articulated_inertia", "forward_dynamics"]
    assert all(sweep is functions[name] for name, sweep in forward)


def test_the_articulated_recursion_stands_in_one_file():
    """P⁺ = P − G H P is written once."""
    found = [path for path in PACKAGE.rglob("*.py") if "P[k] - G[k] @" in path.read_text(encoding="utf-8")]
    assert [path.relative_to(PACKAGE).as_posix() for path in found] == ["sweeps/articulated_inertia.py"]


@pytest.mark.parametrize("name", ["four_bar", "slider_crank", "peaucellier", "geared"])
def test_the_mass_matrix_of_an_embedded_loop_is_that_of_the_tree_on_its_motions(name):
    """𝓜_u = X* 𝓜 X, and forward dynamics after inverse dynamics is the identity."""
    robot = lw.Dynamics(geared_arm() if name == "geared" else lw.load(name), compiled=False)
    held = constraints.of(robot)
    q, v = held.random_state(seed=1, reach=0.2)
    view = held.embedded(q, v)
    X = np.stack([view.whole(u) for u in np.eye(view.sko.nv)], -1)
    np.testing.assert_allclose(view.sko.mass_matrix, X.T @ robot.mass_matrix(q) @ X, rtol=1e-11, atol=1e-12)
    udot = np.arange(1.0, 1 + view.sko.nv)
    np.testing.assert_allclose(view.sko.forward_dynamics(view.sko.inverse_dynamics(udot)), udot, rtol=1e-9, atol=1e-10)


def test_the_coriolis_matrix_of_gears_is_that_of_their_blocks():
    """C_u = X* C X with constant X, so that C_u + C_u* = X* d𝓜/dt X: the same sweep, on the rates of other blocks."""
    nodes = lower(geared_arm())
    of = {label: k for k, label in enumerate(nodes.labels)}
    pairs = [(of[name], of[f"{name}_rotor_joint"]) for name in of if f"{name}_rotor_joint" in of]
    rooted, loops = with_roots(nodes, [sorted(pair) for pair in pairs])
    embedding = Embedding(rooted.tree, loops, [1] * len(loops))
    X = {e: np.array([[5.0 if "rotor" in rooted.labels[k] else 1.0] for k in members]) for e, members in loops}
    rng = np.random.default_rng(0)
    q, v = rng.standard_normal(nodes.nq), rng.standard_normal(nodes.tree.nv)
    s = rooted.blocks(q)
    rates = embedding.block_rates(s, rooted.block_rates(s, v), {e: np.zeros_like(x) for e, x in X.items()})
    C = sweeps.coriolis_matrix(embedding.blocks(s, X), rates)
    still = {k: np.zeros((1, 1)) for _, members in loops for k in members}
    whole = np.stack([embedding.whole(embedding.tree.split(u), X, still) for u in np.eye(embedding.tree.nv)], -1)
    plain = nodes.blocks(q)
    np.testing.assert_allclose(C, whole.T @ sweeps.coriolis_matrix(plain, nodes.block_rates(plain, v)) @ whole, atol=1e-12)
    product = sweeps.coriolis_matrix_times(embedding.blocks(s, X), rates, embedding.tree.split(np.ones(len(C))), np.zeros((6, 1)))
    np.testing.assert_allclose(embedding.tree.join(product), C @ np.ones(len(C)), atol=1e-12)
