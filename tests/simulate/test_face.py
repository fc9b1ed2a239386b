"""What `simulate` is asked with: few keywords, options that are objects, and the keywords of earlier versions."""

import inspect
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import linkwork as lw
from linkwork import errors
from linkwork.simulate.requests.options import METHODS, OLD, SHORT

ARM = lw.Dynamics(lw.load("double_pendulum"))
START = np.array([1.2, 0.3]), np.zeros(2)
FOUR_BAR = lw.Dynamics(lw.load("four_bar"))


def test_simulate_has_at_most_fifteen_keywords_and_five_shorthands():
    named = [x.name for x in inspect.signature(lw.simulate).parameters.values() if x.kind is x.KEYWORD_ONLY]
    assert set(SHORT) <= set(named) and len(SHORT) <= 5 and len(named) - len(SHORT) <= 15


@pytest.mark.parametrize("name", METHODS)
def test_a_name_is_its_method_with_defaults(name):
    """The same bits."""
    made = METHODS[name](0.01) if name in ("rk4", "euler", "midpoint") else METHODS[name] if name == "contact" else METHODS[name]()
    if name == "contact":
        return
    dt = {"dt": 0.01} if name in ("rk4", "euler", "midpoint") else {}
    by_name, by_object = lw.simulate(ARM, START, until=0.1, method=name, **dt), lw.simulate(ARM, START, until=0.1, method=made)
    np.testing.assert_array_equal(by_name.q, by_object.q)


def four_bar_state():
    q = FOUR_BAR.assemble(FOUR_BAR.neutral() + 0.3, hold=[FOUR_BAR.joints[0]])
    return q, FOUR_BAR.constraints.project(q, np.array([1.0, 0.0, 0.0]))[1]


SAME = {
    "first_step": ({"first_step": 1e-3}, {"method": lw.RK45(first_step=1e-3)}),
    "max_steps": ({"max_steps": 3}, {"method": lw.RK45(max_steps=3)}),
    "velocities": ({"velocities": "eta"}, {"method": lw.RK45(velocities="eta")}),
    "every": ({"every": 2}, {"save": lw.Save(every=2)}),
    "dense": ({"dense": False}, {"save": lw.Save(dense=False)}),
    "restitution": ({"limits": True, "restitution": 0.5}, {"contact": lw.ContactLaw(limits=True, restitution=0.5)}),
    "constraints": ({"constraints": "embed"}, {"loops": lw.Embed()}),
    "keep": ({"keep": FOUR_BAR.constraints}, {"loops": lw.Project(onto=FOUR_BAR.constraints)}),
    "tolerance": ({"tolerance": 1e-3}, {"loops": lw.Project(tolerance=1e-3)}),
}


@pytest.mark.parametrize("name", SAME)
def test_a_keyword_of_earlier_versions_warns_and_does_what_its_new_form_does(name):
    old, new = SAME[name]
    robot, start = (FOUR_BAR, four_bar_state()) if name in ("constraints", "keep", "tolerance") else (ARM, START)
    with pytest.warns(DeprecationWarning, match=rf"simulate\({name}=\.\.\.\) is now "):
        before = lw.simulate(robot, start, until=0.1, **old)
    after = lw.simulate(robot, start, until=0.1, **new)
    np.testing.assert_array_equal(before.q, after.q)
    np.testing.assert_array_equal(before.t, after.t)


def test_old_keywords_of_ensembles_and_derivatives_warn():
    Q, V = (np.stack([x, x]) for x in START)
    angle = ARM.kernel()(lambda q: q[0])
    for old, new in (({"store": "last"}, {"save": "last"}), ({"statistics": {"a": angle}}, {"save": lw.Save(statistics={"a": angle})})):
        with pytest.warns(DeprecationWarning, match=f"simulate.{next(iter(old))}"):
            before = lw.simulate(ARM, (Q, V), until=0.1, **old)
        np.testing.assert_array_equal(before.end.v, lw.simulate(ARM, (Q, V), until=0.1, **new).end.v)
    with pytest.warns(DeprecationWarning, match=r"run\.sensitivity\(by="):
        before = lw.simulate(ARM, START, until=0.1, sensitivity="state")
    after = lw.simulate(ARM, START, until=0.1).sensitivity(by="state")
    np.testing.assert_array_equal(before.sensitivity["state"], after["state"])
    assert set(SAME) | {"store", "statistics", "sensitivity"} == set(OLD)


def test_names_that_are_now_others_warn():
    with pytest.warns(DeprecationWarning, match="ContactLaw"):
        solver = lw.ContactSolver(method="newton")
    assert solver == lw.ContactLaw(solver="newton").chosen
    with pytest.warns(DeprecationWarning, match="gradient"):
        assert lw.adjoint is lw.gradient


@pytest.mark.parametrize(
    "how, said",
    [
        ({"metod": "rk4"}, r'no option "metod"\. Did you mean "method"'),
        ({"method": lw.RK45(rtol=1e-8), "rtol": 1e-6}, "given rtol twice"),
        ({"method": lw.RK4(0.01), "dt": 0.02}, "given dt twice"),
        ({"dt": 0.1, "save": lw.Save(dt=0.2)}, "given dt twice"),
        ({"loops": "glue"}, r"loops is 'glue'; it may be lw\.Project"),
        ({"contact": 3}, r"contact is 3; it takes an lw\.ContactLaw"),
        ({"save": 3}, r"save is 3; it takes an lw\.Save"),
        ({"save": "all"}, "store is 'all'|save"),
    ],
)
def test_what_is_no_option_or_is_said_twice_is_named(how, said):
    with pytest.raises(lw.SimulationError, match=said):
        lw.simulate(ARM, tuple(np.stack([x, x]) for x in START), until=0.1, **how)


def test_a_run_is_resumed_with_the_same_options():
    run = lw.simulate(ARM, START, until=0.1).resume(0.2, method=lw.DOP853(rtol=1e-9), save=lw.Save(every=3))
    assert run.settings.method == "dop853" and run.settings.rtol == 1e-9 and run.settings.every == 3


def test_an_ensemble_has_rows_as_a_run_has():
    """q (..., n, nq), whatever is kept: rows at multiples of dt, at all steps, the end alone; what ends earlier is NaN after it."""
    Q, V = (np.stack([x, 0.5 * x, 0.2 * x]) for x in (START[0], START[1] + 0.3))
    falls = lw.Event(ARM.kernel()(lambda q: q[0]), "zero", terminal=True)
    for how, shape in (({"dt": 0.05}, (11,)), ({"save": "steps"}, None), ({"save": "last"}, (3, 1))):
        many = lw.simulate(ARM, (Q, V), until=0.5, events=[falls], **how)
        shape = shape or (3, max(len(many.rows(i)[0]) for i in range(3)))
        assert many.t.shape == shape and many.q.shape == (3, shape[-1], 2) == many.v.shape
        for i in range(3 if how != {"save": "last"} else 0):
            t, q, v = many.rows(i)
            n = len(t)
            np.testing.assert_array_equal(many.q[i, :n], q)
            np.testing.assert_array_equal(many.v[i, :n], v)
            np.testing.assert_array_equal(many.t[:n] if how == {"dt": 0.05} else many.t[i, :n], t)
            assert np.isnan(many.q[i, n:]).all()
            alone = lw.simulate(ARM, (Q[i], V[i]), until=0.5, events=[falls], **({} if how == {"save": "steps"} else how))
            np.testing.assert_allclose(alone.q[: n - 1], q[: n - 1], rtol=0, atol=1e-12)
    np.testing.assert_array_equal(many.q[:, 0], many.end.q)
    limited = lw.simulate(lw.Dynamics(lw.load("double_pendulum")), (Q, V), until=0.2, save="steps", limits=True)
    assert limited.q.shape == (*limited.t.shape, 2) and (limited.q[:, 0] == Q).all()


def test_what_has_changed_its_meaning_says_so_once(monkeypatch):
    """`q` of an ensemble were the ends; rows at multiples of dt were Q."""
    monkeypatch.setattr(errors, "TOLD", set())
    many = lw.simulate(ARM, tuple(np.stack([x, x]) for x in START), until=0.1, dt=0.05)
    with pytest.warns(FutureWarning, match=r"Ensemble\.q is not what it was in earlier versions: it has the rows .*ensemble\.end") as seen:
        rows = many.q
    assert seen[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert many.q is rows and many.end.q.shape == (2, 2)
    for old, new in (("times", "t"), ("Q", "q"), ("V", "v")):
        with pytest.warns(DeprecationWarning, match=rf"Ensemble\.{old} is now Ensemble\.{new}"):
            np.testing.assert_array_equal(getattr(many, old), getattr(many, new))
    with pytest.raises(AttributeError, match="no attribute 'w'"):
        _ = many.w


def test_every_motion_has_an_end():
    """Of a run, an ensemble and a rollout: t, q and v of the last state."""
    Q, V = (np.stack([x, x]) for x in START)
    run, many = lw.simulate(ARM, START, until=0.1), lw.simulate(ARM, (Q, V), until=0.1, dt=0.05)
    np.testing.assert_array_equal(run.end.q, run.q[-1])
    np.testing.assert_allclose(many.end.q, np.stack([run.end.q, run.end.q]), rtol=0, atol=1e-14)
    np.testing.assert_allclose(many.end.v, many.v[:, -1], rtol=0, atol=1e-14)
    marched = lw.rollout(ARM, Q, V, dt=0.01, steps=10)
    np.testing.assert_array_equal(marched.end.q, marched.q[:, -1])
    assert (run.end.t, marched.end.t) == (0.1, pytest.approx(0.1))
    assert many.q.shape[1:] == (3, 2) and marched.q.shape[1:] == (11, 2) and run.q.shape[1:] == (2,)


def test_a_rollout_says_what_became_of_each_sample_as_an_ensemble_does():
    Q, V = (np.stack([x, x, x]) for x in START)
    V[1] = 1e200
    marched, many = lw.rollout(ARM, Q, V, dt=0.01, steps=10), lw.simulate(ARM, (Q, V), until=0.1)
    assert marched.status.tolist() == many.status.tolist() == ["finished", "failed", "finished"]
    assert marched.message(0) == "finished at t = 0.1 s" == many.message(0)
    assert marched.message(1).startswith("failed before t = 0.0") and many.message(1).startswith("failed at t = ")
    t, q, v = marched
    assert q is marched.q and len(t) == q.shape[1] == v.shape[1]


def test_every_public_name_of_dynamics_has_its_place():
    """docs/how-it-is-built.md lists them all, each once, and nothing else."""
    page = (Path(__file__).parents[2] / "docs" / "how-it-is-built.md").read_text(encoding="utf-8")
    rows = page.partition("## What stands where")[2].partition("\n## ")[0].splitlines()
    rows = [row for row in rows if row.startswith("| ") and not row.startswith("| `lw.`")]
    told = [name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[3])]
    assert sorted(told) == [name for name in dir(lw.Dynamics) if not name.startswith("_")]


def test_files_for_other_programs_are_of_the_export(tmp_path):
    with pytest.warns(DeprecationWarning, match=r"robot\.export_c is now robot\.export\.c"):
        before = [x.read_text() for x in ARM.export_c("gravity_force", tmp_path)]
    assert before == [x.read_text() for x in ARM.export.c("gravity_force", tmp_path)]
