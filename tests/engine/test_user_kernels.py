"""robot.kernel: a user's own function of (q, v, ...) becomes a gufunc, or it is said why it cannot."""

import math

import numpy as np
import pytest
from real_robots import model
from zoo import close, planar_2r, state
from zoo.mechanisms import ROBOTS

import linkwork as lw
from linkwork.errors import TraceError

ARM = lw.Dynamics(planar_2r((0, -9.81, 0)))
FREE = ROBOTS["free kernel"]
PANDA = lw.Dynamics(model("panda"))
STILL = lw.Dynamics(lw.Builder("still").body("block", mass=1.0).model())


def hand_power(q, v, force):
    """Of a force on the hand, in its axes."""
    return force @ (PANDA.jacobian(q, "panda_hand") @ v)


@pytest.fixture
def s():
    return state(PANDA, (5,))


# --- it is the function


def test_a_kernel_is_its_function_sample_by_sample(s, rng):
    kernel = PANDA.kernel(hand_power)
    force = rng.standard_normal((5, 6))
    result = kernel(s.q, s.v, force)
    assert result.shape == (5,)
    for i in range(5):
        close(result[i], hand_power(s.q[i], s.v[i], force[i]))


FUNCTIONS = {
    "arithmetic": lambda q, v: 2 * q - v / 3 + q * v**2,
    "functions": lambda q, v: np.sin(q) * np.exp(-v * v) + np.arctan2(q, v) + np.sqrt(np.abs(q)) + np.tanh(v),
    "a choice": lambda q, v: np.where(q > 0, np.minimum(q, v), np.maximum(q, -1.0)),
    "a saturated controller": lambda q, v: np.clip(-5 * q - 2 * v, -1.0, 1.0),
    "matrices": lambda q, v: np.outer(q, v) @ np.eye(2) + np.diag(q),
    "a number": lambda q, v: q @ v,
    "a constant": lambda q, v: np.ones(3),
    "several": lambda q, v: (q + v, q @ v, np.stack([q, v])),
    "loops": lambda q, v: sum(q[i] * v[1 - i] for i in range(2)),
    "four axes": lambda q, v: np.multiply.outer(np.outer(q, v), np.outer(v, q)),
    "nothing in it": lambda q, v: q[:0],
}


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(), (1,), (11,), (2, 3)], ids=str)
def test_numpy_is_understood(function, kind, shape, rng):
    """Whatever its results look like, on any batch, in order in memory or not."""
    q, v = rng.standard_normal((2, *shape, 2)).astype(kind)
    kernel = ARM.kernel(function)
    results = (kernel(q, v), kernel(np.asfortranarray(q), np.repeat(v, 2, -1)[..., ::2]))
    for result in results:
        for n, part in enumerate(result if isinstance(result, tuple) else (result,)):
            assert part.dtype == kind
            for i in np.ndindex(*shape):
                expected = function(q[i], v[i])
                expected = expected[n] if isinstance(expected, tuple) else expected
                close(part[i], expected, 20 * np.finfo(kind).eps)


def test_methods_of_the_robot_are_its_own_text():
    """A controller: what cancels gravity and damps; and whatever is known of the robot is used."""
    kernel = ARM.kernel(lambda q, v: ARM.forward_dynamics(q, v, ARM.gravity_force(q) - 2.0 * v))
    s = state(ARM, (4,))
    close(kernel(s.q, s.v), ARM.forward_dynamics(s.q, s.v, ARM.gravity_force(s.q) - 2.0 * s.v))
    nothing = ARM.kernel(lambda q, v, vdot: ARM.inverse_dynamics(q, v, vdot) - ARM.mass_matrix(q) @ vdot - ARM.bias(q, v))
    assert not nothing.program.operations


def test_a_kernel_may_be_used_in_another():
    inner = ARM.kernel(lambda q, v: np.sin(q) + v)
    outer = ARM.kernel(lambda q, v: 2 * inner(q, v))
    s = state(ARM, (4,))
    close(outer(s.q, s.v), 2 * inner(s.q, s.v))


def test_a_robot_without_joints_has_kernels_too():
    """Arrays without entries go in and come out."""
    kernel = STILL.kernel(lambda q, v: (STILL.center_of_mass(q) + 1, 2 * v))
    center, double = kernel(np.zeros((4, 0)), np.zeros(0))
    np.testing.assert_array_equal(center, np.ones((4, 3)))
    assert double.shape == (4, 0)
    out = np.zeros((4, 3)), np.zeros((4, 0))
    assert kernel(np.zeros((4, 0)), np.zeros(0), out=out)[0] is out[0]
    np.testing.assert_array_equal(out[0], center)


# --- shapes


def test_shapes_are_known_given_or_seen(s):
    force = np.ones((5, 6))
    seen, given = PANDA.kernel(hand_power), PANDA.kernel(hand_power, force=6)
    np.testing.assert_array_equal(seen(s.q, s.v, force), given(s.q, s.v, force[0]))

    @PANDA.kernel(force=(6,))
    def decorated(q, v, force):
        """What it is for."""
        return hand_power(q, v, force)

    np.testing.assert_array_equal(decorated(s.q, s.v, force), seen(s.q, s.v, force))
    assert decorated.__name__ == "decorated" and decorated.__doc__ == "What it is for."
    assert repr(decorated) == "<kernel decorated(q, v, force) of panda>"


def test_the_first_call_tells_the_shape_of_what_is_not_known():
    """What is left of it when the batch axes of q are taken off."""
    kernel = ARM.kernel(lambda q, gain, table: gain * q + table @ q)
    q, table = np.ones((4, 3, 2)), np.ones((4, 3, 2, 2))
    assert kernel(q, np.ones((4, 3)), table).shape == (4, 3, 2)
    np.testing.assert_array_equal(kernel(q[0, 0], 2.0, table[0, 0]), [4.0, 4.0])


def test_a_first_call_that_failed_leaves_nothing_behind():
    kernel = ARM.kernel(lambda q, x: q * x[1])
    with pytest.raises(IndexError) as error:
        kernel(np.ones((5, 2)), np.ones(3))
    assert "<lambda> was being traced for one sample: q (2,), x ()." in error.value.__notes__
    np.testing.assert_array_equal(kernel(np.ones(2), np.arange(3.0)), [1.0, 1.0])


def test_wrenches_and_other_states_are_known_by_name():
    kernel = ARM.kernel(lambda q0, q1, dv, external: ARM.difference(q0, q1) + dv + external[1, :2])
    np.testing.assert_array_equal(kernel(np.zeros(2), np.ones(2), np.ones(2), np.ones((2, 6))), [3.0, 3.0])
    assert [x.size for x in FREE.kernel(lambda q, v, vdot, tau: q).kernel().inputs] == [7, 6, 6, 6]


def test_a_unit_quaternion_is_known_to_be_one():
    """|u| = 1 costs nothing: the robot's coordinates are the kernel's."""
    program = FREE.kernel(lambda q: np.sum(q[:4] ** 2)).program
    assert not program.operations and "1.0" in str(program)


# --- what is said when it cannot be

WRONG = {
    "branch": (lambda q, v: q if q[0] > 0 else v, "a branch on a value cannot become a kernel"),
    "math": (lambda q, v: math.sin(q[0]), "Inside a kernel use np.sin, not math.sin"),
    "float": (lambda q, v: float(q[0]), "a traced value has no number yet"),
    "unsupported": (lambda q, v: np.fft.fft(q), "cannot be traced"),
    "pinv": (lambda q, v: np.linalg.pinv(ARM.mass_matrix(q)) @ v, "np.linalg.solve"),
    "array": (lambda q, v: np.array([q[0], v[0]]), "np.stack instead of np.array"),
    "index": (lambda q, v: np.arange(5)[q], "plain NumPy array"),
    "zero": (lambda q, v: 1 / (np.sin(q) ** 2 + np.cos(q) ** 2 - 1), "zero for every input"),
    "none": (lambda q, v: None, "returns a NoneType as result 0"),
    "text": (lambda q, v: "q", "returns a str as result 0"),
    "no result": (lambda q, v: (), "<lambda> returns nothing"),
}


@pytest.mark.parametrize(("function", "said"), WRONG.values(), ids=WRONG)
def test_what_cannot_become_a_kernel_is_refused_with_a_reason(function, said):
    with pytest.raises(TraceError) as error:
        ARM.kernel(function)(np.ones(2), np.ones(2))
    assert said in str(error.value)
    assert error.value.__cause__ is None and (error.value.__context__ is None or error.value.__suppress_context__)  # no KeyError above
    if said[0] != "<":
        assert error.value.__notes__ == ["<lambda> was being traced for one sample: q (2,), v (2,)."]


def test_a_division_after_a_sweep_is_not_blamed_on_a_joint():
    with pytest.raises(TraceError, match=r"zero for every input\.\n"):
        ARM.kernel(lambda q, v: ARM.forward_dynamics(q, v, v) / (v - v))(np.ones(2), np.ones(2))


def test_a_mistake_in_the_function_is_its_own():
    """Any error comes through as it is, with a note on what was being traced."""
    with pytest.raises(ZeroDivisionError) as error:
        ARM.kernel(lambda q: q * (1 / 0))(np.ones(2))
    assert error.value.__notes__ == ["<lambda> was being traced for one sample: q (2,)."]


Q = np.ones(2)
KERNEL = ARM.kernel(lambda q, x: q * x[0], x=3)
CALLS = {
    "x has shape (2,), but <lambda> takes (3,) for each sample": lambda: KERNEL(Q, np.ones(2)),
    "q has shape (3,), but <lambda> takes (2,)": lambda: KERNEL(np.ones(3), np.ones(3)),
    "q has shape (), but": lambda: KERNEL(1.0, np.ones(3)),
    "the batch axes do not go together: q (4,), x (5,)": lambda: KERNEL(np.ones((4, 2)), np.ones((5, 3))),
    "q has dtype complex128; <lambda> takes float64 or float32": lambda: KERNEL(Q + 0j, np.ones(3)),
    "x has dtype object": lambda: KERNEL(Q, [None] * 3),
    "x has dtype <U1": lambda: KERNEL(Q, ["a", "b", "c"]),
    "q has dtype float128": lambda: KERNEL(Q.astype(np.longdouble), np.ones(3)),
    "<lambda> takes 2 arguments (q, x); got 1": lambda: KERNEL(Q),
    "<lambda> takes 2 arguments (q, x); got 3": lambda: KERNEL(Q, Q, Q),
    "<lambda> takes 2 arguments (q, x); got 0": lambda: KERNEL(),
    "the shape of x is not known. Say it, for a vector of 3: robot.kernel(x=3)": lambda: ARM.kernel(lambda x: x)(Q),
    "the shape of y is not known": lambda: ARM.kernel(lambda q, y: q * y).program,
    "x was said to have shape -1": lambda: ARM.kernel(lambda x: x, x=-1),
    "x was said to have shape 2.5": lambda: ARM.kernel(lambda x: x, x=2.5),
    "x was said to have shape (2, 'a')": lambda: ARM.kernel(lambda x: x, x=(2, "a")),
    "<lambda> has no argument y; its arguments are q": lambda: ARM.kernel(lambda q: q, y=3),
    "3 is not a function; robot.kernel takes one": lambda: ARM.kernel(3),
    "a kernel takes plain arguments, not *more": lambda: ARM.kernel(lambda q, *more: q),
    "kernels are made for float64 and float32, not for int64": lambda: KERNEL.gufunc(np.int64),
}


@pytest.mark.parametrize("said", CALLS)
def test_a_call_that_does_not_fit_is_named(said):
    if "float128" in said and np.longdouble is np.float64:
        pytest.skip("no longer doubles here")
    KERNEL(Q, np.ones(3))
    with pytest.raises((lw.LinkworkError, TypeError)) as error:
        CALLS[said]()
    assert said in str(error.value)


def test_lists_and_whole_numbers_are_numbers():
    np.testing.assert_array_equal(KERNEL([1, 2], [[2, 0, 0], [3, 0, 0]]), [[2.0, 4.0], [3.0, 6.0]])
    assert KERNEL(Q.astype(np.float32), np.ones(3, np.float32)).dtype == np.float32
    assert KERNEL(Q.astype(np.float32), np.ones(3)).dtype == np.float64


def test_the_program_of_a_kernel_can_be_read():
    text = str(ARM.kernel(lambda q: q[0] * q[1] + 1).program)
    assert text.splitlines() == [
        "<lambda>: 2 operations (1 mul, 1 add)",
        "x2 = q[0]",
        "x3 = q[1]",
        "x4 = mul x2, x3",
        "x5 = add x4, 1.0",
        "out0[0] = x5",
    ]
