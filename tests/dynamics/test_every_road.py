"""Each quantity, of each kind of mechanism, by every road: it is that of the plain sweep, or an error says what to do.

The table is made from the declarations, so a new quantity is in it by itself. Each pair of quantity, mechanism and road is run in some
cell, where there is a result and where there is an error; the interpreter and compiled code have different cells.
"""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import roads
from pairwise import pairwise
from roads import MECHANISMS, OF_ONE_FORMULA, ROADS, case_of, has_none, model_of, plain, results, robot_of

import linkwork as lw
from linkwork.constraints.systems.under_constraints import UNDER_CONSTRAINTS
from linkwork.engine.loading.kernel import Kernel
from linkwork.errors import LinkworkError
from linkwork.quantities import QUANTITIES, Honours

BOUND = "loop", "coupling", "drive", "rolling"
OURS = [name for name, x in QUANTITIES.items() if x.decided_by]


def is_refused(name: str, mechanism: str, road: str) -> bool:
    """How constraints share a load, and what prescribed motion leaves free, is decided from numbers: that is no one formula. Some
    quantities do not know constraints that would change them."""
    return mechanism in BOUND and (bool(QUANTITIES[name].refuses) or (QUANTITIES[name] in UNDER_CONSTRAINTS and road in OF_ONE_FORMULA))


def cells(interpreter: bool):
    """Programs of long mechanisms take a while, and no interpreter runs rolled ones."""
    whole = product(OURS, MECHANISMS, [x for x in ROADS if not (interpreter and x == "rolled")])
    kinds = {}
    for cell in reversed(list(whole)) if interpreter else whole:
        kinds.setdefault((has_none(*cell[:2]), is_refused(*cell)), []).append(cell)
    for cell in (cell for kind in kinds.values() for cell in pairwise(kind)):
        yield pytest.param(*cell, marks=[pytest.mark.slow] if cell[1] == "long" else [])


def check(name, mechanism, road, interpreter, folder):
    model, case = model_of(mechanism), case_of(mechanism)
    more = (folder,) if road == "C" else ()
    if has_none(name, mechanism):
        with pytest.raises(LinkworkError, match=r"robot\.\w+\(|takes a root|no free joint|model\.\w+\("):
            ROADS[road](model, name, case, interpreter, *more)
        return
    if is_refused(name, mechanism, road):
        with pytest.raises(LinkworkError, match=r"robot\.\w+\(|constraints\."):
            ROADS[road](model, name, case, interpreter, *more)
        return
    found, expected = ROADS[road](model, name, case, interpreter, *more), plain(model, name, case, interpreter)
    if name == "task_inertia":
        found, expected = comparable(found), comparable(expected)
    for one, other in zip(results(name, found), results(name, expected), strict=True):
        assert one.shape == other.shape
        scale = max(1.0, np.abs(other).max(initial=0.0))
        np.testing.assert_allclose(one, other, rtol=0, atol=(2e-3 if road == "float32" else 1e-9) * scale)


def comparable(task_inertia):
    """Λ means nothing where the independence of the directions is rounding."""
    inertia, independence = task_inertia
    meant = independence > 1e-4
    return np.where(meant[..., None, None], inertia, 0.0), np.where(meant, independence, 0.0)


@pytest.mark.parametrize("name, mechanism, road", list(cells(interpreter=True)))
def test_every_road_leads_to_the_plain_result_or_says_what_to_do(name, mechanism, road, monkeypatch, tmp_path):
    monkeypatch.setattr(Kernel, "_loaded", roads.interpreted)
    check(name, mechanism, road, True, tmp_path)


@pytest.mark.parametrize("name, mechanism, road", list(cells(interpreter=False)))
def test_compiled_code_does_too(name, mechanism, road, tmp_path):
    if road == "C" and roads.CC is None:
        pytest.skip("no C compiler here")
    check(name, mechanism, road, False, tmp_path)


# --- declarations are true


def without(model: lw.Model, feature: Honours) -> lw.Model:
    if feature is Honours.GRAVITY:
        return model.with_gravity((0, 0, 0))
    if feature is Honours.POINT_FORCES:
        return replace(model, forces=())
    if feature in Honours.CONSTRAINTS:
        return replace(model, loops=(), couplings=(), constraints=())
    change = {"stiffness": 0.0, "damping": 0.0} if feature is Honours.JOINT_SPRINGS else {"friction": 0.0}
    return replace(model, joints=tuple(replace(x, joint=replace(x.joint, **change)) if x.joint.nv else x for x in model.joints))


FEATURES = {
    Honours.GRAVITY: "tree",
    Honours.LOOPS: "loop",
    Honours.COUPLINGS: "coupling",
    Honours.ROLLING: "rolling",
    Honours.DRIVES: "drive",
    Honours.JOINT_SPRINGS: "springs",
    Honours.FRICTION: "springs",
    Honours.POINT_FORCES: "springs",
}


@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize("feature", FEATURES, ids=str)
def test_a_quantity_changes_with_what_it_takes_into_account_and_with_nothing_else(name, feature):
    model, case = model_of(FEATURES[feature]), case_of(FEATURES[feature])
    asked, arrays = roads.what(name, model), case.arrays(name)
    if QUANTITIES[name].refuses and feature in Honours.CONSTRAINTS:
        pytest.skip("refused under constraints")
    if has_none(name, FEATURES[feature]):
        pytest.skip("of mechanisms with a free root")
    before = results(name, robot_of(model, compiled=False).ask(asked, *arrays, t=case.t))
    after = results(name, robot_of(without(model, feature), compiled=False).ask(asked, *arrays))
    same = all(np.allclose(a, b, rtol=1e-12, atol=1e-12) for a, b in zip(before, after))
    assert same == (feature not in QUANTITIES[name].honours)


# --- what is constrained is right, by dense matrices


def constrained_compliance(robot, q, t):
    """𝓨 = v̇ for each unit of τ = T (T* 𝓜 T)⁻¹ T*, T a basis of the velocities that keep the constraints."""
    M, Jc = robot.mass_matrix(q), robot.constraints.set.rows(q, np.zeros(robot.nv), t or 0.0).Jc
    _, s, V = np.linalg.svd(Jc)
    T = V[np.sum(s > 1e-9 * s[0]) :].T
    return T @ np.linalg.solve(T.T @ M @ T, T.T), Jc


@pytest.mark.parametrize("mechanism", BOUND)
def test_accelerations_under_constraints_are_those_of_dense_matrices(mechanism):
    """v̇ = v̇₀ + 𝓨 (τ − C v − g − 𝓜 v̇₀), v̇₀ any acceleration that keeps them"""
    robot, case = robot_of(model_of(mechanism), compiled=False), case_of(mechanism)
    for q, v, tau, vdot in zip(*(case.given[x] for x in ("q", "v", "tau", "vdot"))):
        Y, Jc = constrained_compliance(robot, q, case.t)
        some = np.linalg.lstsq(Jc, Jc @ vdot, rcond=None)[0]
        expected = some + Y @ (tau - robot.bias(q, v) - robot.mass_matrix(q) @ some)
        np.testing.assert_allclose(vdot, expected, atol=1e-8 * np.abs(expected).max())


@pytest.mark.parametrize("mechanism", BOUND)
def test_tasks_under_constraints_are_those_of_dense_matrices(mechanism):
    """J 𝓨 J*"""
    robot, case = robot_of(model_of(mechanism), compiled=False), case_of(mechanism)
    body = robot.bodies[-1]
    for q in case.given["q"]:
        Y, _ = constrained_compliance(robot, q, case.t)
        J = robot.task_jacobian(q, body)
        np.testing.assert_allclose(robot.task_compliance(q, body, t=case.t), J @ Y @ J.T, atol=1e-9)


@pytest.mark.parametrize("mechanism", BOUND)
def test_a_motion_that_is_prescribed_takes_the_force_that_made_it(mechanism):
    robot, case = robot_of(model_of(mechanism), compiled=False), case_of(mechanism)
    found = robot.hybrid_dynamics(*case.arrays("hybrid_dynamics"), t=case.t)
    tau, vdot, prescribed = (case.given[x] for x in ("tau", "vdot", "prescribed"))
    np.testing.assert_allclose(found, np.where(prescribed > 0, tau, vdot), atol=1e-8 * max(1, np.abs(vdot).max()))
