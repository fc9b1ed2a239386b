"""Constraints given by functions: traced into kernels, differentiated exactly, and moved by time only if they say so."""

import numpy as np
import pytest

import linkwork as lw
from linkwork import constraints
from linkwork.constraints import Distance, Driven, Holonomic, KnifeEdge, Linear, Pfaffian, Rolling, Touching

ROD = {"mass": 1.0, "center": (1, 0, 0), "tensor": (1, 1, 1)}


def two_rods(*more, compiled=True):
    b = lw.Builder("tied")
    b.body("a", joint=lw.Revolute(axis=(0, 1, 0)), **ROD).body("b", joint=lw.Revolute(axis=(0, 1, 0)), **ROD)
    return constraints.of(lw.Dynamics(b.model(), compiled=compiled), *more)


def free(*more, compiled=True):
    model = lw.Builder("bob").body("bob", None, (0, 0, 1), lw.Free(), mass=1.0, tensor=(1, 2, 2)).model()
    return constraints.of(lw.Dynamics(model, compiled=compiled), *more)


def coupled():
    b = lw.Builder("tied")
    b.body("a", joint=lw.Revolute(axis=(0, 1, 0)), **ROD).body("b", joint=lw.Revolute(axis=(0, 1, 0)), **ROD)
    return constraints.of(lw.Dynamics(b.couple("b_joint", "a_joint", (0, 2)).model()))


KINDS = {
    "pin": lambda: two_rods_closed(lw.Revolute(axis=(0, 1, 0))),
    "universal": lambda: two_rods_closed(lw.Universal()),
    "distance": lambda: free(Distance("x", None, "bob", 1.0)),
    "coupling": lambda: coupled(),
    "relation": lambda: two_rods(Linear("x", {"a_joint": 1.0, "b_joint": 1.0})),
    "drive": lambda: two_rods(Driven("x", "a_joint", np.sin)),
    "own function": lambda: two_rods(Holonomic("x", lambda q: q[0] - q[1])),
    "own function of time": lambda: two_rods(Holonomic("x", lambda q, t: q[0] - q[1] - t * t)),
    "own rows": lambda: two_rods(Pfaffian("x", lambda q: [[np.cos(q[1]), np.sin(q[0])]])),
    "knife edge": lambda: free(KnifeEdge("x", "bob", (0, 1, 0))),
    "rolling": lambda: free(Rolling("x", "bob", 1.0)),
    "touching": lambda: free(Touching("x", "bob", 1.0)),
}  # every kind of constraint there is


def two_rods_closed(joint):
    b = lw.Builder("closed")
    b.body("a", joint=lw.Revolute(axis=(0, 1, 0)), **ROD).body("b", "a", (1, 0, 0), lw.Spherical(), **ROD)
    return constraints.of(lw.Dynamics(b.loop("x", None, "b", joint, at=(2, 0, 0), on=(1, 0, 0)).model()))


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_constraint_has_a_kernel(kind):
    held = KINDS[kind]()
    assert held.compiled and held.picked == "embedded kernel"


def test_every_kind_is_in_the_list():
    from linkwork.constraints.rows.set import ROWS

    built = {type(x) for make in KINDS.values() for x in make().set.constraints}
    assert set(ROWS.values()) <= built


def test_a_function_without_time_does_not_move_in_time():
    """c(q) = 0 asks for no t."""
    assert two_rods(Holonomic("x", lambda q: q[0] - q[1]), compiled=False).set.moving == ()
    assert two_rods(Holonomic("x", lambda q, t: q[0] - q[1] * t), compiled=False).set.moving == ("x",)
    assert two_rods(Holonomic("x", lambda q, k=2.0: q[0] - k * q[1]), compiled=False).set.moving == ()


def own_rod(held):
    return Holonomic("x", lambda q: [np.linalg.norm((held.robot.pose(q, "bob") @ [0.1, 0.2, 0.3, 1])[:3] - [0, 0, 1]) - 2.0])


@pytest.mark.parametrize("compiled", [False, True])
def test_derivatives_of_a_function_are_exact(compiled):
    """A rod written by hand has the rows of `Distance` to rounding, in attitudes too."""
    rod = free(Distance("x", None, "bob", 2.0, at=(0, 0, 1), on=(0.1, 0.2, 0.3)), compiled=False)
    own = free(own_rod(rod), compiled=compiled)
    q = rod.assemble(rod.robot.random_state(seed=0)[0])
    v = rod.project(q, np.random.default_rng(0).standard_normal(6))[1]
    np.testing.assert_allclose(own.jacobian(q), rod.jacobian(q), atol=1e-14)
    np.testing.assert_allclose(own.bias(q, v), rod.bias(q, v), atol=1e-14)
    np.testing.assert_allclose(own.forward_dynamics(q, v, np.zeros(6)), rod.forward_dynamics(q, v, np.zeros(6)), atol=1e-12)


@pytest.mark.parametrize("compiled", [False, True])
def test_a_function_of_time_is_a_drive(compiled):
    """c = q(0) − sin t is what `drive` says, at one time and another."""
    own = two_rods(Holonomic("x", lambda q, t: q[0] - np.sin(t)), compiled=compiled)
    led = two_rods(Driven("x", "a_joint", np.sin, np.cos, lambda t: -np.sin(t)), compiled=False)
    for t in (0.0, 0.7):
        state = np.array([np.sin(t), 0.2]), np.array([np.cos(t), 0.3]), np.array([0.1, 0.2])
        np.testing.assert_allclose(own.forward_dynamics(*state, t=t), led.forward_dynamics(*state, t=t), atol=1e-13)


def test_rows_of_a_function_have_the_rate_of_differences():
    """γ = J̇c v."""
    held = two_rods(Pfaffian("x", lambda q: [[np.cos(q[1]), np.sin(q[0]) * q[1]]]), compiled=False)
    q, v = np.array([0.3, 0.4]), np.array([0.5, -0.7])
    numbers = two_rods(Pfaffian("x", lambda q: [[float(np.cos(q[1])), float(np.sin(q[0]) * q[1])]]), compiled=False)
    np.testing.assert_allclose(held.bias(q, v), numbers.bias(q, v), atol=1e-10)


def test_a_function_that_cannot_be_traced_runs_in_numpy_and_says_so():
    held = two_rods(Holonomic("tie", lambda q: float(q[0]) - q[1]))
    assert not held.compiled and 'no kernels: "tie" cannot be traced' in repr(held)
    same = two_rods(Holonomic("tie", lambda q: q[0] - q[1]), compiled=False)
    q, v = np.array([0.3, 0.3]), np.array([0.5, 0.5])
    np.testing.assert_allclose(held.forward_dynamics(q, v, v), same.forward_dynamics(q, v, v), atol=1e-9)


def test_a_function_of_the_wrong_size_is_named():
    with pytest.raises(lw.ShapeError, match=r'rows of "x" have shape \(2,\); with count = 1'):
        two_rods(Holonomic("x", lambda q: q), compiled=False).residual(np.zeros(2))


@pytest.mark.parametrize("plain", [False, True])
def test_rows_of_one_s_own_move_in_time(plain):
    """γ = J̇c v with ∂Jc/∂t: (1 + t) v₀ = v₁ gives v̇₁ = (1 + t) v̇₀ + v₀."""

    def matrix(q, t):
        return [[1 + t if not plain else 1 + float(t), -1.0]]

    held = two_rods(Pfaffian("x", matrix), compiled=False)
    assert held.set.moving == ("x",) and held.compiled is False and held.set.constraints[0].traceable is not plain
    with pytest.raises(constraints.ConstraintError, match="say when"):
        held.jacobian(np.zeros(2))
    v = np.array([2.0, 3.0])
    vdot = held.forward_dynamics(np.array([0.3, 0.4]), v, np.ones(2), t=0.5)
    np.testing.assert_allclose(vdot[1], 1.5 * vdot[0] + 2.0, rtol=1e-9)


TIMED = [lambda q, t: q[1] - t, lambda q, *, t=0.0: q[1] - t, lambda q, t=0.0: q[1] - t, lambda *x: x[0][1] - x[1]]


@pytest.mark.parametrize("function", TIMED)
def test_time_is_given_however_it_is_taken(function):
    held = two_rods(Holonomic("x", function), compiled=False)
    assert held.set.moving == ("x",)
    np.testing.assert_allclose(held.residual(np.array([0.0, 2.0]), t=0.5), [1.5])


@pytest.mark.parametrize("function", [lambda: 0.0, lambda q, t, more: q[0], lambda q, *, time: q[0], lambda *, t: t])
def test_a_function_that_takes_something_else_is_refused(function):
    with pytest.raises(lw.ModelError, match='constraint "x": its function is called with q'):
        two_rods(Holonomic("x", function), compiled=False).residual(np.zeros(2), t=0.0)


def test_a_function_that_is_not_traced_says_why():
    held = two_rods(Holonomic("x", lambda q: np.array([q[0] - q[1]])))
    assert "np.stack instead of np.array" in repr(held)


def test_a_value_that_is_no_number_is_named():
    """U(t) of rows G v = U, as G itself."""
    row = Pfaffian("feed", lambda q: [[1.0, 1.0]], value=lambda t: "fast")
    robot = lw.Dynamics(lw.load("double_pendulum").with_constraints(row))
    with pytest.raises(lw.LinkworkError, match=r'"feed" gives .*fast.* no numbers'):
        robot.forward_dynamics(np.zeros(2), np.zeros(2), np.zeros(2), t=0.0)
