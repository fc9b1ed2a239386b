"""A thousand kernels from random programs, with constants of all magnitudes: each against the same program to 60 digits.

A program is a list of instructions, so that NumPy, mpmath and the trace run the same text. Beside each value NumPy's run has a bound of
its rounding error, to which a kernel is held: it may be more accurate than NumPy, and not much less. A choice that rounding could turn
is not judged. Every program runs in the interpreter and compiled.
"""

import math

import mpmath
import numpy as np
import pytest

import linkwork as lw
from linkwork.engine.loading import interpreter
from linkwork.engine.loading.kernel import Kernel
from linkwork.engine.tracing.program import Input, record
from linkwork.errors import TraceError

BLOCKS, PROGRAMS, POINTS = 20, 50, 4
LENGTH = 14
ROUNDING, TINIEST = 2.0**-53, 2.0**-1074
SLACK = 64  # how often the bound of one order of operations may be that of another
INPUTS = Input("q", (3,)), Input("v", (3,))
ONE = {"sin", "cos", "sqrt", "exp", "log", "abs", "floor"}
TWO = {"add", "sub", "mul", "div", "min", "max", "atan2"}
IDENTITIES = ["square of a sum", "circle", "back and forth", "distributed", "itself"]


def constant(rng) -> float:
    """Powers of two from the smallest subnormal to the largest, other subnormals, huge ones, and what people write."""
    kind = rng.integers(5)
    if kind == 0:
        return float(rng.choice([-1, 1]) * math.ldexp(1.0, int(rng.integers(-1074, 1024))))
    if kind == 1:
        return float(rng.choice([-1, 1]) * int(rng.integers(1, 2**52)) * TINIEST)
    if kind == 2:
        return float(rng.choice([-1, 1]) * rng.uniform(1, 10) * 10.0 ** rng.integers(-300, 308))
    limits = [np.finfo(np.float32).tiny, np.finfo(float).tiny, np.finfo(float).eps]
    special = [0.0, 1.0, -1.0, 2.0, 0.1, math.pi, 2.0**127, -(2.0**-127), *limits]
    return float(rng.choice(special)) if kind == 3 else float(rng.normal())


def program(seed: int) -> list[tuple]:
    """Instructions (name, operands or value); the first six are the inputs. The last three are the results."""
    rng = np.random.default_rng(seed)
    out: list[tuple] = [("in", i) for i in range(6)]
    pick = lambda: int(rng.integers(max(0, len(out) - 8), len(out))) if rng.random() < 0.7 else int(rng.integers(len(out)))
    add = lambda *instruction: (out.append(instruction), len(out) - 1)[1]
    while len(out) < 6 + LENGTH:
        name = str(rng.choice([*sorted(ONE), *sorted(TWO) * 2, "const", "const", "where", *IDENTITIES]))
        a, b = pick(), pick()
        if name in ONE:
            add(name, a)
        elif name in TWO:
            add(name, a, add("const", constant(rng)) if rng.random() < 0.4 else b)
        elif name == "const":
            add("const", constant(rng))
        elif name == "where":
            add("where", a, b, pick(), pick())
        elif name == "square of a sum":  # a² + 2ab + b², and (a + b)²
            two = add("const", 2.0)
            add("add", add("add", add("mul", a, a), add("mul", add("mul", two, a), b)), add("mul", b, b))
            add("mul", add("add", a, b), add("add", a, b))
        elif name == "circle":
            s, c = add("sin", a), add("cos", a)
            add("add", add("mul", s, s), add("mul", c, c))
        elif name == "back and forth":
            c = add("const", constant(rng) or 3.0)
            add("div", add("mul", a, c), c)
        elif name == "distributed":
            add("sub", add("mul", a, add("add", b, 0)), add("mul", a, b))
        else:
            add("sub", add("mul", a, b), add("mul", b, a))
    return out


def run(instructions, inputs, scalar, number):
    """The values of all instructions: `scalar` has the functions, `number` makes constants."""
    values: list = []
    for name, *rest in instructions:
        if name == "in":
            values.append(inputs[rest[0]])
        elif name == "const":
            values.append(number(rest[0]))
        else:
            values.append(scalar[name](*(values[i] for i in rest)))
    return values


NUMPY = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "min": np.minimum, "max": np.maximum, "atan2": np.arctan2,
    "sin": np.sin, "cos": np.cos, "abs": np.abs, "floor": np.floor, "sqrt": lambda x: np.sqrt(np.abs(x)),
    "exp": lambda x: np.exp(np.minimum(np.maximum(x, -50.0), 50.0)), "log": lambda x: np.log(np.abs(x) + 0.5),
    "where": lambda a, b, x, y: np.where(a < b, x, y),
}  # fmt: skip
EXACT = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b,
    "min": min, "max": max, "atan2": mpmath.atan2, "sin": mpmath.sin, "cos": mpmath.cos, "abs": abs, "floor": mpmath.floor,
    "sqrt": lambda x: mpmath.sqrt(abs(x)), "exp": lambda x: mpmath.exp(min(max(x, mpmath.mpf(-50)), mpmath.mpf(50))),
    "log": lambda x: mpmath.log(abs(x) + 0.5), "where": lambda a, b, x, y: x if a < b else y,
}  # fmt: skip


def bounds(instructions, values) -> list[float]:
    """The rounding error of each value of NumPy's run, to first order; infinite where a choice is not safe."""
    out: list[float] = []
    for (name, *rest), y in zip(instructions, map(float, values)):
        e = [] if name in ("in", "const") else [out[i] for i in rest]
        x = [] if name in ("in", "const") else [float(values[i]) for i in rest]
        if name in ("in", "const"):
            out.append(0.0)
            continue
        if not all(map(math.isfinite, (*x, y))):
            out.append(math.inf)
            continue
        own = 4 * ROUNDING * abs(y) + 4 * TINIEST
        with np.errstate(all="ignore"):
            out.append(float(np.float64(own) + _carried(name, [np.float64(a) for a in x], [np.float64(a) for a in e], np.float64(y))))
        if math.isnan(out[-1]):
            out[-1] = math.inf
    return out


def _carried(name, x, e, y):
    """The error that comes from those of the operands."""
    if name in ("add", "sub"):
        return e[0] + e[1]
    if name == "mul":
        return abs(x[0]) * e[1] + abs(x[1]) * e[0] + e[0] * e[1]
    if name == "div":
        return (e[0] + abs(y) * e[1]) / (abs(x[1]) - e[1]) if abs(x[1]) > e[1] else math.inf
    if name == "sqrt":
        return e[0] / math.sqrt(abs(x[0])) if abs(x[0]) > 2 * e[0] else math.sqrt(3 * e[0])
    if name == "log":
        return 2 * e[0]
    if name == "exp":
        return 2 * y * e[0] if e[0] < 1 else math.inf
    if name == "atan2":
        size = math.hypot(*x)
        return 2 * (e[0] + e[1]) / size if size > 2 * (e[0] + e[1]) and (x[1] > 0 or abs(x[0]) > e[0]) else math.inf
    if name == "floor":
        return 0.0 if e[0] < min(x[0] - math.floor(x[0]), math.ceil(x[0]) - x[0]) or e[0] == 0 else math.inf
    if name == "where":
        safe = abs(x[0] - x[1]) > e[0] + e[1] or e[0] == e[1] == 0
        return (e[2] if x[0] < x[1] else e[3]) if safe else math.inf
    return max(e)  # sin, cos, abs, min, max


def judged(instructions, q, v, found, results) -> int:
    """How many results were judged; a wrong one is an error."""
    inputs = [*q, *v]
    with np.errstate(all="ignore"):
        plain = run(instructions, inputs, NUMPY, np.float64)
    error, count = bounds(instructions, plain), 0
    with mpmath.workdps(60):
        try:
            exact = run(instructions, [mpmath.mpf(float(x)) for x in inputs], EXACT, mpmath.mpf)
        except (ZeroDivisionError, ValueError):
            return 0
        for k, y in zip(results, found):
            if math.isfinite(error[k]):
                off = abs(mpmath.mpf(float(y)) - exact[k]) if math.isfinite(y) else mpmath.inf
                assert off <= SLACK * error[k] + 4 * TINIEST, (float(y), float(plain[k]), float(exact[k]), error[k])
                count += 1
    return count


@pytest.mark.parametrize("block", [0, *(pytest.param(i, marks=pytest.mark.slow) for i in range(1, BLOCKS))])
def test_random_kernels_are_right(block, monkeypatch):
    """|kernel − exact| ≤ 64 times the bound of NumPy's rounding error."""
    monkeypatch.setenv("LINKWORK_CACHE_DIR", "")
    count = 0
    for seed in range(block * PROGRAMS, (block + 1) * PROGRAMS):
        instructions = program(seed)
        results = range(len(instructions) - 3, len(instructions))

        def function(q, v, instructions=instructions, results=results):
            values = run(instructions, [*(q[i] for i in range(3)), *(v[i] for i in range(3))], NUMPY, lambda x, q=q: q.like(x))
            return np.stack([values[k] for k in results])

        rng = np.random.default_rng(seed)
        q, v = rng.normal(size=(2, POINTS, 3)) * 10.0 ** rng.integers(-2, 3, size=(2, POINTS, 3))
        try:
            traced = record("random", function, INPUTS)
        except TraceError as error:
            assert "division by a value that is zero" in str(error), (seed, error)
            continue
        found = [interpreter.run(traced, {"q": q, "v": v})[0], Kernel("random", function, INPUTS).call("d")(q, v)]
        for results_of in found:
            for i in range(POINTS):
                try:
                    count += judged(instructions, q[i], v[i], results_of[i], results)
                except AssertionError as error:
                    raise AssertionError(f"program {seed}, point {i}: {error}\n" + "\n".join(map(str, enumerate(instructions)))) from None
    assert count > PROGRAMS * POINTS  # most results can be judged


def test_the_judge_finds_a_wrong_constant():
    """A kernel in which 2¹²⁷ is 1 does not pass."""
    instructions = [*(("in", i) for i in range(6)), ("const", 2.0**127), ("mul", 0, 6)]
    q, v = np.array([0.3, 0.4, 0.5]), np.ones(3)
    assert judged(instructions, q, v, [0.3 * 2.0**127], [7]) == 1
    with pytest.raises(AssertionError):
        judged(instructions, q, v, [0.3], [7])


def test_a_kernel_of_a_robot_takes_constants_of_all_magnitudes():
    robot = lw.Dynamics(lw.load("double_pendulum"))
    kernel = robot.kernel(lambda q: q * 2.0**127 / 2.0**120)
    np.testing.assert_array_equal(kernel(np.array([0.3, 0.4])), np.array([0.3, 0.4]) * 2.0**7)
