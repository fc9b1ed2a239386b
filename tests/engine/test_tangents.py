"""Rates of traced values follow from the table of operations."""

import numpy as np
import pytest

from linkwork.engine.interpreter import run
from linkwork.engine.program import Input, record
from linkwork.engine.tangents import along, rate, used
from linkwork.errors import TraceError

FUNCTIONS = {
    "arithmetic": lambda x: (x[0] + 2.0) * x[1] / (3.0 - x[2]),
    "circular": lambda x: np.sin(x[0] * x[1]) + np.cos(x[2]) * np.arctan2(x[0], x[1]),
    "inverse": lambda x: np.arcsin(0.3 * x[0]) + np.arccos(0.2 * x[1] * x[2]),
    "exponential": lambda x: np.exp(x[0]) * np.log(x[1] + 2.0) + np.sqrt(x[2] + 1.0),
    "choices": lambda x: np.where(x[0] > x[1], x[0] * x[2], x[1]) + np.abs(x[2] - x[0]) + np.maximum(x[0], x[1]),
    "norm": lambda x: np.linalg.norm(x) ** 3,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_rate_is_what_differences_approach(name):
    """ẏ = Σ ∂y/∂x ẋ, and so is the rate of the rate along a line."""
    f, x, dx = FUNCTIONS[name], np.array([0.4, 0.7, 0.9]), np.array([0.3, -0.5, 0.2])

    def rates(x, dx):
        y = x.like(f(x)).reshape(1)
        first = rate(y, along(x, dx))
        return first, rate(first, along(x, dx))

    first, second = run(record("rates", rates, [Input("x", (3,)), Input("dx", (3,))]), {"x": x, "dx": dx})
    h = 1e-3
    a, b, c = (f(x + s * dx) for s in (-h, 0.0, h))
    np.testing.assert_allclose(first[0], (c - a) / (2 * h), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(second[0], (a - 2 * b + c) / h**2, rtol=1e-4, atol=1e-5)


def test_what_stands_still_has_no_rate():
    """d/dt (y − y) and of what does not depend on x are zero by proof, and only used inputs are found."""

    def function(x):
        assert not rate((x[0] * x[1]).reshape(1), along(x[2:], np.ones(1))).refs.any()
        assert used(x[0] * x[1]) == {("x", 0), ("x", 1)}
        return x

    record("still", function, [Input("x", (3,))])


def test_a_loop_has_no_rate_and_says_so():
    from linkwork.lie.iteration import iterate

    def function(x):
        y, _ = iterate(lambda y: (0.5 * (y + x / y), np.all(y * y < x, -1)), x, 10)
        return rate(y, along(x, np.ones(1)))

    with pytest.raises(TraceError, match="has no derivative"):
        record("loop", function, [Input("x", (1,))])


def test_the_side_of_where_that_is_not_taken_has_no_rate():
    """d/dx where(x > 0, √x, x²) at −2 is 2 x, though √x has none there."""
    made = record("f", lambda x: (rate(np.where(x > 0, np.sqrt(x), x * x), along(x, np.ones(1))),), (Input("x", (1,)),))
    with np.errstate(all="ignore"):
        assert run(made, {"x": np.array([-2.0])})[0] == -4.0
