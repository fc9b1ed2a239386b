"""A kernel is as accurate as its sweep in plain NumPy, within a factor of ten: both against 60 digits."""

import numpy as np
import pytest
from hard_models import HARD, PAIRS, slider, states, tilted
from sixty_digits import Exact, error

import linkwork as lw
from linkwork.engine.loading import interpreter
from linkwork.engine.tracing.program import Input, record

LEAST = 2 * np.finfo(float).eps  # what a rounding or two may leave anywhere
ARGUMENTS = {"mass_matrix": 1, "pose": 1, "forward_dynamics": 3, "inverse_dynamics": 3}


def errors(robot, exact, what, some) -> tuple[float, float]:
    """The largest errors of the kernel's program and of the sweep over some states."""
    plain, program, worst = lw.Dynamics(robot.model, compiled=False), robot.program(what), [0.0, 0.0]
    name, *options = what
    for q, v in some:
        given = (q, v, np.cos(np.arange(robot.nv) + 1.0))[: ARGUMENTS[name]]
        true = exact(robot, *given)
        (found,) = interpreter.run(program, dict(zip((x.name for x in program.inputs), given)))
        both = found, getattr(plain, name)(*given, *options)
        worst = [max(w, error(x, true)) for w, x in zip(worst, both)]
    return worst[0], worst[1]


@pytest.mark.parametrize("name", HARD)
def test_a_kernel_is_as_accurate_as_its_sweep(name):
    """Mass ratios of 1e6, thin rods, folded and stretched arms, offsets that cancel."""
    robot = HARD[name]()
    for what in (("mass_matrix",), ("forward_dynamics",), ("inverse_dynamics",), ("pose", robot.bodies[-1])):
        kernel, sweep = errors(robot, Exact(robot, *what), what, states(robot))
        assert kernel <= 10 * max(sweep, LEAST), (what, kernel, sweep)


@pytest.mark.parametrize("around", [0.0, np.pi], ids=["parallel", "antiparallel"])
@pytest.mark.parametrize("pair", [pytest.param(x, marks=() if x == "revolute, revolute" else pytest.mark.slow) for x in PAIRS])
def test_axes_that_are_almost_parallel_cost_no_digits(pair, around):
    """Tilts of 10⁻ᵏ, k = 0 ... 16, around 0 and π: the common normal of the axes is not defined where they are parallel."""
    robot = tilted(pair, 1.0)
    known = {what: Exact(robot, *what) for what in (("mass_matrix",), ("forward_dynamics",), ("pose", "three"))}
    for k in range(17):
        robot = tilted(pair, around + (-1) ** k * 10.0**-k)
        for what, exact in known.items():
            kernel, sweep = errors(robot, exact, what, [robot.random_state(seed=k), robot.random_state(seed=100 + k)])
            assert kernel <= 10 * max(sweep, LEAST), (k, what, kernel, sweep)


@pytest.mark.parametrize("offset", [1e-3, 1.0, 1000.0])
def test_a_slider_near_the_axis_of_its_turntable_keeps_its_digits(offset):
    """𝓜 = m (offset + q)², however small."""
    robot = slider(offset)
    for k in range(1, 15):
        q = np.array([0.3, -offset * (1 - 10.0**-k)])
        (found,) = interpreter.run(robot.program("mass_matrix"), {"q": q})
        assert found[0, 0] == pytest.approx((offset + q[1]) ** 2, rel=1e-15, abs=0)


@pytest.mark.parametrize("divided", [False, True])
def test_of_equal_forms_the_one_that_cancels_less_is_kept(divided):
    """1 + 2 q + q² = (1 + q)²: what was written as the square is computed as the square, whichever comes first."""

    def forms(q):
        by = 3.0 + q[1] if divided else 1.0
        expanded = (1.0 + 2.0 * q[0] + q[0] * q[0]) / by
        return np.stack([expanded, (1.0 + q[0]) ** 2 / by, 5.0 + (1.0 + q[0]) ** 2 / by - 5.0])

    q = np.array([-1 + 1e-9, 0.7])
    (found,) = interpreter.run(record("forms", forms, (Input("q", (2,)),)), {"q": q})
    np.testing.assert_allclose(found[1:], (1 + q[0]) ** 2 / (3.7 if divided else 1.0), rtol=1e-15)


FORMS = {
    "difference of squares": (lambda x, y: x * x - y * y, lambda x, y: (x - y) * (x + y), (1 + 1e-9, 1.0)),
    "versine": (lambda x, y: 1 - np.cos(x), lambda x, y: np.sin(x) ** 2 / (1 + np.cos(x)), (1e-6, 0.0)),
}


@pytest.mark.parametrize("name", FORMS)
def test_a_product_is_not_replaced_by_an_equal_sum_that_cancels(name):
    """x² − y² = (x − y) (x + y),  1 − cos x = sin² x / (1 + cos x)"""
    expanded, factored, at = FORMS[name]
    program = record("forms", lambda q: np.stack([expanded(q[0], q[1]), factored(q[0], q[1])]), (Input("q", (2,)),))
    (found,) = interpreter.run(program, {"q": np.array(at)})
    np.testing.assert_allclose(found[1], factored(*at), rtol=1e-15)


def test_constants_past_single_precision_are_infinite_in_its_kernels():
    robot = lw.Dynamics(lw.load("pendulum"))
    for function, expected in ((lambda q: np.minimum(q, 1e300), 1.0), (lambda q: q * 1e300, np.inf), (lambda q: q / 1e-40, np.inf)):
        assert robot.kernel(function)(np.ones(1, np.float32)) == expected
