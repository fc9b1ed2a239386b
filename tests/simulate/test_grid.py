"""The grid of features and roads: what the table of capabilities says goes, runs, and agrees with its neighbour road; what it
refuses raises the table's words."""

import runpy
from pathlib import Path

import grid
import numpy as np
import pytest
from grid import END, HALF, ROADS_OF, Call

import linkwork as lw
from linkwork.simulate.requests.capabilities import BATCH, CONDITIONS, GRADIENT, KERNEL, ROADS, ROLLOUT, RUN, SETTLED, SLOPE, TABLE
from linkwork.simulate.requests.features import FEATURES

STORED = dict(np.load(grid.STORED))
pytestmark = pytest.mark.filterwarnings("ignore:simulate.*is now:DeprecationWarning")  # sensitivity=, velocities= beside any method
TOLERANCE = 1e-11  # of stored motions: processors round differently


def close(found, expected, tolerance):
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * max(1.0, np.abs(expected).max(initial=0)))


def goes_on(call, whole):
    """A run that is stopped and resumed is the run that was not, to the bit."""
    seen = call.how.get("on_step", lambda t, q, v: False)
    part = call(on_step=lambda t, q, v: t >= HALF or seen(t, q, v))
    again = part.resume(END, on_step=call.how.get("on_step"))
    assert part.status == "stopped" and again.status == whole.status
    counts = call.how.get("save") == lw.Save(every=2)  # rows from where a run begins
    rows = slice(-1, None) if counts else slice(None)
    for name in ("t", "q", "v", "tau"):
        np.testing.assert_array_equal(getattr(again, name)[rows], getattr(whole, name)[rows])


def is_its_run(call, many):
    """A sample of an ensemble is its single run, to the bit, also when both go on."""
    alone = call.beside(RUN)
    if alone.refused or call.vary or "given" in call.how:
        return
    run = alone()
    equal = np.testing.assert_array_equal if call.is_compiled else lambda x, y: close(x, y, 1e-12)
    equal(many.end.q[1], run.q[-1])
    equal(many.end.v[1], run.v[-1])
    if call.road == BATCH:
        later, run = call(HALF).resume(END), alone(HALF).resume(END)
        equal(later.end.q[1], run.q[-1])


def is_the_run_of_its_method(call, many):
    """A rollout is the run with the same fixed steps."""
    alone = call.beside(RUN)
    bound = call.case.robot.constraints is not None  # to which runs and rollouts return by other metrics
    if not (alone.refused or call.vary or "given" in call.how or "reset" in call.how):
        run = alone()
        order = 1e-2 if bound and run.settings.method == "euler" else 1e-6 if bound else 1e-9
        close(many.q[1, -1], run.q[-1], order)
        close(many.v[1, -1], run.v[-1], 10 * order)


def is_its_adjoint(call, run):
    """Derivatives forwards are those backwards."""
    if "state" not in run.settings.sensitivity:
        return
    cost = lw.gradient(run, final=lambda q, v: call.weight @ v)
    close(call.weight @ run.sensitivity["state"][-1, call.case.robot.nv :], np.concatenate([cost.q, cost.v]), 1e-9)


def is_the_adjoint_of_its_run(call, gradient):
    """The gradient of a rollout is the adjoint of the run with the same fixed steps."""
    run = call.beside(RUN)
    slopes = Call(SLOPE, call.case, run.how | {"sensitivity": "state"})
    if not (run.refused or slopes.refused or call.vary or "given" in call.how or "reset" in call.how):
        cost, robot = lw.gradient(run(), final=lambda q, v: call.weight @ v), call.case.robot
        along = np.eye(robot.nv) if robot.constraints is None else robot.constraints.project(run.case.q, np.eye(robot.nv))[1]
        close(along @ gradient.v[1], along @ cost.v, 1e-6)
        if robot.constraints is None:
            close(gradient.q[1], cost.q, 1e-6)


def is_a_step_of_the_rollout(call, step):
    at, count = call.case, len(call.case.robot.contacts)
    q, v, _ = step(at.q, at.v, np.zeros_like(at.v), np.zeros(3 * count))
    many = Call(ROLLOUT, at, {"method": "contact"} | call.how)(grid.DT)
    close(q, many.q[1, -1], 1e-7)
    close(v, many.v[1, -1], 1e-6)


NEIGHBOUR = {
    RUN: goes_on, BATCH: is_its_run, ROLLOUT: is_the_run_of_its_method, SLOPE: is_its_adjoint,
    GRADIENT: is_the_adjoint_of_its_run, KERNEL: is_a_step_of_the_rollout,
}  # fmt: skip


def check(call: Call, name: str = "") -> None:
    """The call goes and agrees with its neighbour road, or raises the first of the table's refusals."""
    if refused := call.refused:
        with pytest.raises(lw.SimulationError) as error:
            call()
        assert str(error.value) == refused[0]
    else:
        result = call()
        if hasattr(result, "status"):
            assert np.all(result.status == "finished"), result.message if call.road == RUN else ""
        if name in STORED:
            close(grid.ends(result), STORED[name], TOLERANCE)
        NEIGHBOUR[call.road](call, result)


@pytest.mark.parametrize(
    "road, feature", [pytest.param(*x, marks=[pytest.mark.slow] if x[1].endswith("blocks") else []) for x in grid.cells()]
)
def test_a_feature_goes_on_a_road_or_is_refused_by_the_table(road, feature):
    call = Call.of(road, feature)
    if feature in TABLE[road]:
        assert any(TABLE[road][feature][0] in said for said in call.refused)
    check(call, f"{road}: {feature}")


@pytest.mark.parametrize("condition, feature", [x for x in grid.conditions() if x[1] in TABLE[x[0]]])
def test_a_feature_is_refused_under_a_condition(condition, feature):
    call = Call.of(ROADS_OF.get(condition, RUN), feature, condition)
    assert any(TABLE[condition][feature][0] in said for said in call.refused)
    check(call)


@pytest.mark.slow
@pytest.mark.parametrize("condition, feature", [x for x in grid.conditions() if x[1] not in TABLE[x[0]]])
def test_a_feature_goes_under_a_condition(condition, feature):
    check(Call.of(ROADS_OF.get(condition, RUN), feature, condition))


def test_the_table_names_features_roads_and_remedies():
    """Every column has a name; every row is a feature; every refusal has a reason and a remedy, without a full stop."""
    assert set(TABLE) == set(ROADS) | set(CONDITIONS)
    for column in TABLE.values():
        assert set(column) <= set(FEATURES)
        for reason, remedy in column.values():
            assert reason and remedy and not reason.endswith(".") and (not remedy.endswith(".") or remedy.endswith("..."))
    used = {name for column in TABLE.values() for name in column} | set(SETTLED)
    assert all(name in used for name in FEATURES if name not in ("rk45", "dop853", "statistics", "given", "varying"))


def test_the_page_has_the_tables():
    """docs/simulation.md is what tools/make_capabilities.py makes of it."""
    tools = Path(__file__).parents[2] / "tools" / "make_capabilities.py"
    made = runpy.run_path(str(tools))
    text = made["PAGE"].read_text(encoding="utf-8")
    assert made["page"](text) == text, "run: python tools/make_capabilities.py"
