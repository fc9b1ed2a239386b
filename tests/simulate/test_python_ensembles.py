"""Controls of an ensemble that are Python functions take the whole batch, between the compiled parts of its steps."""

import numpy as np
import pytest

import linkwork as lw

ARM = lw.Dynamics(lw.load("double_pendulum"))
RNG = np.random.default_rng(5)
Q, V = RNG.uniform(-1, 1, (6, 2)), RNG.uniform(-1, 1, (6, 2))


def damp(t, q, v):
    """For one robot and for many."""
    return -0.3 * v + 0.1 * np.sin(3 * np.asarray(t))[..., None]


@pytest.mark.parametrize("method", ["rk45", "dop853"])
@pytest.mark.parametrize("how", [{}, {"dt": 0.1}, {"store": "last"}])
def test_samples_are_their_single_runs(method, how):
    """To the bit, also in a mechanism with loops."""
    many = lw.simulate(ARM, (Q, V), until=1.0, control=damp, method=method, **how)
    for i in (0, 4):
        one = lw.simulate(ARM, (Q[i], V[i]), until=1.0, control=damp, method=method, dt=how.get("dt"))
        np.testing.assert_array_equal(many.end.q[i], one.q[-1])
        np.testing.assert_array_equal(many.end.v[i], one.v[-1])
        assert (many.steps[i], many.rejected[i]) == (one.steps, one.rejected)
    if "dt" in how:
        np.testing.assert_allclose(many.q[4], one.q, atol=1e-13)


def test_samples_with_loops_are_their_single_runs():
    """Each step returns to the loops."""
    bar = lw.Dynamics(lw.load("four_bar"))
    q, v = bar.constraints.put_back(bar.neutral(), np.full(bar.nv, 1.0))
    many = lw.simulate(bar, (np.stack([q, q]), np.stack([v, 0.5 * v])), until=0.5, control=lambda t, q, v: -0.1 * v)
    one = lw.simulate(bar, (q, 0.5 * v), until=0.5, control=lambda t, q, v: -0.1 * v)
    np.testing.assert_array_equal(many.end.q[1], one.q[-1])


def test_a_function_sees_all_samples_at_each_call_and_may_not_change_them():
    """Also those that are done, in the axes of the batch."""
    seen = []

    def control(t, q, v):
        seen.append((t.shape, q.shape, v.shape))
        with pytest.raises(ValueError, match="read-only"):
            q[..., 0] = 0.0
        return GAINS * -v

    GAINS = np.arange(6.0).reshape(3, 2, 1)
    many = lw.simulate(ARM, (Q.reshape(3, 2, 2), V.reshape(3, 2, 2)), until=1.0, control=control)
    assert set(seen) == {((3, 2), (3, 2, 2), (3, 2, 2))} and len(np.unique(many.steps)) > 1
    one = lw.simulate(ARM, (Q[5], V[5]), until=1.0, control=lambda t, q, v: 5.0 * -v)
    np.testing.assert_array_equal(many.end.q[2, 1], one.q[-1])


def test_functions_kernels_and_held_functions_add():
    """As in a single run."""
    parts = [damp, ARM.kernel(lambda q: -0.5 * q), lw.hold(lambda t, q, v: -0.2 * q, rate=20.0)]
    many = lw.simulate(ARM, (Q, V), until=0.5, control=parts)
    one = lw.simulate(ARM, (Q[3], V[3]), until=0.5, control=parts)
    np.testing.assert_allclose(many.end.q[3], one.q[-1], atol=1e-12)
    only = lw.simulate(ARM, (Q, V), until=0.5, control=parts[2])
    np.testing.assert_array_equal(only.end.q[3], lw.simulate(ARM, (Q[3], V[3]), until=0.5, control=parts[2]).q[-1])


def test_constants_vary_beside_a_function():
    """Each sample has its own masses."""
    masses = np.stack([x * np.array(ARM.varying("mass").own["mass"]) for x in (1.0, 2.0)])
    many = lw.simulate(ARM.varying("mass"), (Q[:2], V[:2]), until=0.5, control=damp, given={"mass": masses}, rtol=1e-9)
    one = lw.simulate(ARM, (Q[0], V[0]), until=0.5, control=damp, rtol=1e-9)
    np.testing.assert_allclose(many.end.q[0], one.q[-1], atol=1e-7)
    assert np.abs(many.end.q[1] - lw.simulate(ARM, (Q[1], V[1]), until=0.5, control=damp, rtol=1e-9).q[-1]).max() > 1e-4


def test_an_ensemble_with_a_function_goes_on_and_watches():
    """A resumed ensemble has the bits of a whole one; statistics and events are those of its motion."""
    height = ARM.kernel(lambda q: np.cos(q[0]))
    how = {"control": damp, "statistics": {"height": height}, "events": [lw.Event(ARM.kernel(lambda q: q[0]), "down")]}
    part = lw.simulate(ARM, (Q, V), until=0.4, **how).resume(0.8)
    split = lw.simulate(ARM, (Q, V), until=0.4, **how)
    again = split.resume(0.8)
    np.testing.assert_array_equal(part.end.q, again.end.q)
    assert (part.statistics["height"].greatest <= 1.0).all() and part.events["down"].count.sum() > 0


@pytest.mark.parametrize(
    "control, said",
    [(lambda t, q, v: v[0], "must return shape"), (lambda t, q, v: None, "returned None"), (lambda t, q, v: 1j * v, "complex")],
)
def test_a_wrong_answer_is_named(control, said):
    with pytest.raises(lw.ShapeError, match=said):
        lw.simulate(ARM, (Q, V), until=0.5, control=control)


def test_an_error_of_a_function_is_raised():
    """There is no part of a batch to return."""

    def control(t, q, v):
        if t.max() > 0.2:
            raise RuntimeError("out of order")
        return -v

    with pytest.raises(RuntimeError, match="out of order"):
        lw.simulate(ARM, (Q, V), until=0.5, control=control)


def test_ctrl_c_and_a_timeout_leave_what_goes_on():
    """Samples that are not done are stopped, and go on."""
    calls = []

    def control(t, q, v):
        calls.append(1)
        if len(calls) == 100:
            raise KeyboardInterrupt
        return -0.1 * v

    part = lw.simulate(ARM, (Q, V), until=2.0, control=control, rtol=1e-10)
    assert (part.status == "stopped").any()
    whole = lw.simulate(ARM, (Q, V), until=2.0, control=lambda t, q, v: -0.1 * v, rtol=1e-10)
    np.testing.assert_array_equal(part.resume().end.q, whole.end.q)
    late = lw.simulate(ARM, (Q, V), until=1e4, control=lambda t, q, v: 0.1 * np.sin(q), timeout=0.2)
    assert (late.status == "stopped").all()
