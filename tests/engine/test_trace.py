"""Residues prove what is equal: laws of the trace itself."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkwork.engine.loading.interpreter import run
from linkwork.engine.tracing.program import Input, record
from linkwork.engine.tracing.trace import PRIME, ZERO, Trace, exact, sphere
from linkwork.errors import TraceError
from linkwork.lie import so3
from linkwork.lie.scalars import opaque, unit

X, Y, Z = (Input(name, ()) for name in "xyz")
MATRIX = Input("A", (3, 3))
QUATERNION = Input("q", (4,), (slice(0, 4),))
finite = st.floats(allow_nan=False, allow_infinity=False)


def traced(function, *inputs):
    return record("test", function, inputs)


def count(function, *inputs):
    """How many operations a function takes."""
    return sum(traced(function, *inputs).operations.values())


def known(function, *inputs):
    """The constants that a function is proved to be."""
    program = traced(function, *inputs)
    found = [program.trace.value(ref) for output in program.outputs for ref in output.refs]
    assert None not in found
    return np.array(found).reshape(program.outputs[0].shape)


# --- equal functions are one


def test_sine_and_cosine_lie_on_the_circle():
    """sin² + cos² = 1, of any angle."""
    assert known(lambda x, y: np.sin(x * y + 1) ** 2 + np.cos(x * y + 1) ** 2, X, Y) == 1


def test_sine_is_odd_and_cosine_even():
    assert known(lambda x: np.sin(-x) + np.sin(x) + np.cos(-x) - np.cos(x), X) == 0


def test_a_rotation_times_its_transpose_is_the_identity():
    """R R* = I of a unit quaternion."""
    R = so3.rotation_matrix
    np.testing.assert_array_equal(known(lambda q: R(q) @ R(q).mT, QUATERNION), np.eye(3))


def test_a_quaternion_not_said_to_be_unit_is_not_taken_for_one():
    assert count(lambda q: q @ q, Input("q", (4,))) == 7


def test_the_binomial_formula_vanishes():
    """(x + y)³ − x³ − 3x²y − 3xy² − y³ = 0."""
    assert known(lambda x, y: (x + y) ** 3 - x**3 - 3 * x * x * y - 3 * x * y * y - y**3, X, Y) == 0


def test_a_symmetric_product_is_computed_once():
    """A D A* has six different entries."""
    program = traced(lambda A: A @ np.diag(np.array([1.0, 2.0, 3.0])) @ A.mT, MATRIX)
    refs = np.reshape(program.outputs[0].refs, (3, 3))
    assert (refs == refs.T).all()
    assert len(set(program.outputs[0].refs)) == 6


def test_determinants_multiply():
    """det(A B) = det A det B, three hundred terms of it."""
    det = lambda A: A[0] @ np.cross(A[1], A[2])
    assert known(lambda A, B: det(A @ B) - det(A) * det(B), MATRIX, Input("B", (3, 3))) == 0


def test_a_fraction_is_one_whatever_its_form():
    assert known(lambda x, y: 1 / (1 / x + 1 / y) - x * y / (x + y), X, Y) == 0


def test_functions_are_the_same_of_the_same_arguments_only():
    assert known(lambda x, y: np.sqrt(x * y) - np.sqrt(y * x), X, Y) == 0
    assert count(lambda x, y: np.sqrt(x) - np.sqrt(y), X, Y) == 3
    assert count(lambda x: np.exp(x) - np.log(x), X) == 3


def test_negation_is_free():
    assert count(lambda x: -x, X) == 0
    assert count(lambda x, y: (x - y, y - x, -(x - y)), X, Y) == 1
    assert count(lambda x, y: (-x) * (-y) - x * (-y), X, Y) == 2
    assert count(lambda x, y: np.where(x < y, -x, 0.0) + np.where(x < y, x, 0.0), X, Y) == 0


def test_constants_are_folded():
    assert known(lambda x: (x + 2.0) * 3.0 - 3.0 * x - 6.0, X) == 0
    assert count(lambda x: 2.0 * (3.0 * x), X) == 2  # a product of three is left as it is written
    assert count(lambda x: (2.0 * 3.0) * x * 1.0 + 0.0, X) == 1


@pytest.mark.parametrize(
    ("function", "number"),
    [
        (np.sqrt, 0.25), (np.sqrt, 2.0), (np.exp, 0.0), (np.exp, 1.0), (np.log, 1.0), (np.log, 3.0), (np.arccos, 1.0),
        (np.arccos, 0.3), (np.arcsin, 0.0), (np.floor, 2.5), (np.floor, 0.5), (np.abs, -3.0), (np.sin, 1.0),
        (np.cos, 0.0), (np.arctan, 0.0), (np.arctan, 2.0), (np.sign, -4.0), (np.tanh, 0.0), (np.reciprocal, 8.0),
    ],
)  # fmt: skip
def test_a_function_of_a_constant_is_a_constant(function, number):
    np.testing.assert_allclose(known(lambda x: x - x + function(like(x, number)), X), function(number), rtol=1e-15)


def like(x, number):
    """A number as a constant beside a traced one."""
    return np.full_like(x, number)


def test_what_is_exactly_a_number_is_that_number():
    """√¼ = ½, exp 0 = 1, log 1 = arccos 1 = 0, ⌊2.5⌋ = 2, |−3| = 3; but √2 is no float."""
    assert known(lambda x: np.sqrt(like(x, 0.25)) * x - x / 2, X) == 0
    assert known(lambda x: np.exp(like(x, 0.0)) * x - x, X) == 0
    assert known(lambda x: (np.log(like(x, 1.0)) + np.arccos(like(x, 1.0))) * x, X) == 0
    assert known(lambda x: np.floor(like(x, 2.5)) * x - 2 * x, X) == 0
    assert known(lambda x: np.abs(like(x, -3.0)) * x - 3 * x, X) == 0
    assert count(lambda x: np.sqrt(like(x, 2.0)) * x - math.sqrt(2.0) * x, X) == 3


def test_a_function_outside_its_domain_is_left_to_the_kernel():
    for function, number in ((np.sqrt, -1.0), (np.log, 0.0), (np.exp, 1e4), (np.arccos, 2.0), (np.sin, np.inf)):
        result = run(traced(lambda x, f=function, n=number: x + f(like(x, n)), X), {"x": 1.0})[0]
        with np.errstate(all="ignore"):
            np.testing.assert_equal(result, function(number))


def test_absolute_values_are_taken_once():
    assert known(lambda x: np.abs(-x) - np.abs(x), X) == 0
    assert known(lambda x: np.abs(np.abs(x)) - np.abs(x) + np.abs(np.sqrt(x)) - np.sqrt(x), X) == 0


def test_the_smaller_of_two_is_the_same_in_either_order():
    assert known(lambda x, y: np.minimum(x, y) - np.minimum(y, x) + np.maximum(x, y) + np.minimum(-x, -y), X, Y) == 0


def test_a_choice_between_equals_is_none():
    assert count(lambda x, y: np.where(x < y, (x + y) ** 2, x * x + 2 * x * y + y * y), X, Y) == count(
        lambda x, y: (x + y) ** 2, X, Y
    )


def test_a_value_is_not_always_equal_to_itself():
    """NaN is not; only x < x is known."""
    assert known(lambda x: np.where(x < x, 1.0, 0.0), X) == 0
    for function in (lambda x: x == x, lambda x: x != x, lambda x: x <= x):
        result = run(traced(function, X), {"x": np.array([1.0, np.nan])})[0]
        np.testing.assert_array_equal(result, function(np.array([1.0, np.nan])))


# --- what a proof must not delete


def test_unit_survives():
    """A unit quaternion is normalised all the same, scaled first so that no square is lost, and the result is known to be one."""
    assert count(unit, QUATERNION) == 25
    assert known(lambda q: unit(q) @ unit(q), QUATERNION) == 1
    q = np.array([3.0, 0.0, 4.0, 0.0])
    np.testing.assert_allclose(run(traced(unit, QUATERNION), {"q": q})[0], q / 5, rtol=1e-15)


def test_unit_of_few_entries_lies_on_a_smaller_sphere():
    few = lambda q: np.concatenate([q[:1] * 0, q[1:3], q[:1] * 0])
    assert known(lambda q: unit(few(q)) @ unit(few(q)), QUATERNION) == 1
    assert count(lambda q: unit(few(q)), QUATERNION) == 13


def test_unit_of_one_entry_is_its_sign():
    one = traced(lambda x: unit(np.stack([x * 0, x])), X)
    np.testing.assert_array_equal(run(one, {"x": np.array([-3.0, 2.0])})[0], [[0, -1], [0, 1]])


def test_unit_is_odd_entry_by_entry():
    program = traced(lambda q: unit(-q) + unit(q), QUATERNION)
    np.testing.assert_allclose(run(program, {"q": [0.1, 0.2, 0.3, 0.4]})[0], 0, atol=1e-16)


def test_opaque_hides_what_a_value_is():
    """x − opaque(x) is not known to vanish, and s²/(1 + c) is not turned into 1 − c."""
    assert count(lambda x: x - opaque(x), X) == 1
    assert known(lambda x: np.sin(x) ** 2 / (1 + np.cos(x)) - (1 - np.cos(x)), X) == 0
    assert count(lambda x: opaque(np.sin(x)) ** 2 / opaque(1 + np.cos(x)), X) == 6
    assert known(lambda x: opaque(x) - opaque(x) + opaque(-x) + opaque(x), X) == 0


# --- division


def test_division_by_what_is_always_zero_names_the_place():
    trace = Trace()
    x = trace.input("x", 0)
    trace.label, trace.remedy = "step 3", "Choose another x."
    with pytest.raises(TraceError, match=r"zero for every input at step 3\. Choose another x\.$"):
        trace.div(x, trace.sub(x, x))
    with pytest.raises(TraceError, match="zero for every input"):
        trace.power(ZERO, -1)


def test_a_constant_that_underflowed_is_no_python_error():
    program = traced(lambda x: 1 / (like(x, 1e-300) * 1e-300) + x, X)
    assert run(program, {"x": 1.0})[0] == np.inf


# --- residues


@given(finite)
def test_a_residue_is_the_floats_exact_value(x):
    """p / q modulo the prime, with x = p / q."""
    assert exact(x) * x.as_integer_ratio()[1] % PRIME == x.as_integer_ratio()[0] % PRIME


@given(finite, finite)
def test_equal_residues_are_equal_numbers(x, y):
    assert (exact(x) == exact(y)) == (x == y)


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=6))
def test_sums_are_merged_by_their_exact_values(numbers):
    """A sum of constants is zero if the exact one is, not if the rounded one is."""
    trace = Trace()
    total = ZERO
    for x in numbers:
        total = trace.add(total, trace.constant(x))
    assert (total == ZERO) == (sum(map(Fraction, numbers)) == 0)


def test_a_tenth_and_two_tenths_are_not_three_tenths():
    """In floats 0.1 + 0.2 ≠ 0.3, in exact values of those floats neither."""
    trace = Trace()
    assert trace.add(trace.constant(0.1), trace.constant(0.2)) != trace.constant(0.3)


def test_constants_without_a_value_are_kept_apart():
    trace = Trace()
    assert len({trace.constant(x) for x in (math.inf, -math.inf, math.nan, 1.0, 0.0)}) == 5
    assert trace.constant(-math.inf) == -trace.constant(math.inf)
    assert trace.constant(-0.0) == trace.constant(0.0) == ZERO
    assert math.isnan(trace.value(trace.constant(math.nan)))


@pytest.mark.parametrize("n", [2, 3, 4, 7])
def test_points_of_the_sphere_are_on_it(n):
    assert sum(x * x for x in sphere(n, "test")) % PRIME == 1


STEPS = [
    np.add, np.subtract, np.multiply, np.minimum, lambda a, b: a / (2 + b * b), lambda a, b: np.sin(a + b),
    lambda a, b: np.where(a < b, a, -b), lambda a, b: np.sqrt(a * a + 1),
]  # fmt: skip


@given(st.data())
def test_a_program_is_its_function(data):
    """Random expressions of x, y, z: the interpreter against the same text on floats."""
    numbers = {name: data.draw(st.floats(0.1, 2.0)) for name in "xyz"}
    steps = data.draw(st.lists(st.tuples(st.integers(0, len(STEPS) - 1), *2 * [st.integers(0, 50)]), max_size=25))

    def function(x, y, z):
        found = [x, y, z, x * 0 + 2.0]
        for kind, i, j in steps:
            a, b = found[i % len(found)], found[j % len(found)]
            found.append(STEPS[kind](a, b) / 2)
        return found[-1] + 0 * x

    plain = function(*(np.float64(numbers[name]) for name in "xyz"))
    np.testing.assert_allclose(run(traced(function, X, Y, Z), numbers)[0], plain, rtol=1e-12, atol=1e-12)


# --- the text of a program


def test_a_program_prints_its_inputs_operations_and_outputs():
    text = str(traced(lambda x, y: np.stack([x * y + 2.0, -(x * y), np.sin(x)]), X, Y))
    first, *lines = text.splitlines()
    assert first.startswith("test: 3 operations (")
    assert {"1 mul", "1 add", "1 sin"} == set(first[first.index("(") + 1 : -1].split(", "))
    assert [line.partition(" = ")[2] for line in lines[:2]] == ["x[0]", "y[0]"]
    assert any(line.endswith(", 2.0") and " = add " in line for line in lines)
    outputs = [line for line in lines if line.startswith("out")]
    assert [line.partition(" = ")[0] for line in outputs] == ["out0[0]", "out0[1]", "out0[2]"]
    assert outputs[1].partition(" = ")[2].startswith("-x")


def test_what_no_output_needs_is_not_in_the_program():
    unused = lambda x, y: (np.exp(y) * 5, x + 1)[1]
    program = traced(unused, X, Y)
    assert dict(program.operations) == {"add": 1}
    assert "y[0]" not in str(program)


def test_operations_are_counted_by_kind():
    program = traced(lambda x, y: (x * y + x, x / y, np.sqrt(opaque(x))), X, Y)
    assert dict(program.operations) == {"mul": 2, "add": 1, "rcp": 1, "sqrt": 1}
