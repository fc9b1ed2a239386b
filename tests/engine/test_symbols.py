"""SymPy expressions: the double pendulum against the equations one derives by hand."""

import numpy as np
import operations
import pytest

sympy = pytest.importorskip("sympy")

from sympy import Rational, cos, sin  # noqa: E402

import linkwork as lw  # noqa: E402
from linkwork import export  # noqa: E402
from linkwork.engine.loading.interpreter import run  # noqa: E402
from linkwork.engine.writers import symbols  # noqa: E402
from linkwork.errors import OptionError  # noqa: E402

G = Rational(981, 100)
PIN = lw.Revolute(axis=(0, 1, 0))
q1, q2, v1, v2, t1, t2 = NAMES = sympy.symbols("q0 q1 v0 v1 tau0 tau1", real=True)


def double_pendulum():
    """Two unit masses on massless rods of unit length; the second angle is counted from the first."""
    pendulum = lw.Builder("double pendulum")
    pendulum.body("upper", joint=PIN, mass=1.0, center=(0, 0, -1))
    pendulum.body("lower", "upper", (0, 0, -1), PIN, mass=1.0, center=(0, 0, -1))
    return lw.Dynamics(pendulum.model())


ROBOT = double_pendulum()
MASS = sympy.Matrix([[3 + 2 * cos(q2), 1 + cos(q2)], [1 + cos(q2), 1]])
GRAVITY = G * sympy.Matrix([2 * sin(q1) + sin(q1 + q2), sin(q1 + q2)])
CORIOLIS = sin(q2) * sympy.Matrix([-(2 * v1 + v2) * v2, v1**2])


def vanishes(expression):
    """SymPy proves it."""
    return sympy.simplify(sympy.expand_trig(expression)).is_zero_matrix


def test_the_mass_matrix_is_the_textbooks():
    """[3 + 2 cos q₂, 1 + cos q₂; 1 + cos q₂, 1]: here without even simplifying."""
    assert export.symbolic(ROBOT, "mass_matrix") == MASS


def test_gravity_is_the_textbooks():
    """g [2 sin q₁ + sin(q₁ + q₂); sin(q₁ + q₂)]."""
    assert vanishes(export.symbolic(ROBOT, "gravity_force") - GRAVITY)


def test_the_bias_is_the_textbooks():
    """sin q₂ [−(2 v₁ + v₂) v₂; v₁²] + gravity."""
    assert vanishes(export.symbolic(ROBOT, "bias") - CORIOLIS - GRAVITY)


def test_inverse_dynamics_is_lagranges():
    """d/dt ∂L/∂v − ∂L/∂q, from the energies alone."""
    T, V = export.symbolic(ROBOT, "kinetic_energy"), export.symbolic(ROBOT, "potential_energy")
    a = sympy.symbols("vdot0 vdot1", real=True)
    q, v = sympy.Matrix([q1, q2]), sympy.Matrix([v1, v2])
    momentum = sympy.Matrix([T]).jacobian(v).T
    rate = momentum.jacobian(q) * v + momentum.jacobian(v) * sympy.Matrix(a)
    lagrange = rate - sympy.Matrix([T - V]).jacobian(q).T
    assert vanishes(export.symbolic(ROBOT, "inverse_dynamics") - lagrange)


def test_forward_dynamics_solves_the_textbooks_equations():
    """𝓜 v̇ + C v + g = τ, at a hundred digits."""
    vdot = export.symbolic(ROBOT, "forward_dynamics")
    residual = MASS * vdot + CORIOLIS + GRAVITY - sympy.Matrix([t1, t2])
    at = dict(zip(NAMES, map(Rational, ("1/3", "-5/7", "11/10", "-2", "13/4", "1/9"))))
    assert all(abs(x) < 1e-90 for x in residual.subs(at).evalf(100))


def test_forward_dynamics_is_the_textbooks():
    """v̇ = 𝓜⁻¹ (τ − C v − g), proved."""
    expected = MASS.inv() * (sympy.Matrix([t1, t2]) - CORIOLIS - GRAVITY)
    assert vanishes(export.symbolic(ROBOT, "forward_dynamics") - expected)


def test_symbols_can_have_other_names():
    theta = sympy.symbols("theta_1:3")
    mass = export.symbolic(ROBOT, "mass_matrix", {"q": theta})
    assert mass == MASS.subs(q2, theta[1])
    assert export.symbolic(ROBOT, "mass_matrix", {"q": ["a", "b"]}).free_symbols == {sympy.Symbol("b", real=True)}
    with pytest.raises(OptionError, match="q has 2 entries, but 1 names: a"):
        export.symbolic(ROBOT, "mass_matrix", {"q": ["a"]})
    with pytest.raises(OptionError, match=r"names is \['a', 'b'\]; it takes names of entries by input"):
        export.symbolic(ROBOT, "mass_matrix", ["a", "b"])


def test_shapes_are_scalars_matrices_and_arrays():
    assert export.symbolic(ROBOT, "kinetic_energy").is_real
    assert export.symbolic(ROBOT, "bias").shape == (2, 1)
    assert export.symbolic(ROBOT, ("pose", "lower")).shape == (4, 4)
    assert export.symbolic(ROBOT, "poses").shape == (2, 4, 4)
    before, after = (sympy.Matrix(sympy.symbols(f"{q}_0 {q}_1", real=True)) for q in ("q0", "q1"))
    assert export.symbolic(ROBOT, "difference") == after - before


def test_a_rotation_stays_one():
    """R R* = I, for symbols as for residues."""
    R = export.symbolic(ROBOT, ("pose", "lower"))[:3, :3]
    assert vanishes(R * R.T - sympy.eye(3))


@pytest.mark.parametrize(
    ("x", "expected"),
    [(3.0, 3), (0.5, "1/2"), (1 / 3, "1/3"), (-0.25, "-1/4"), (9.81, "981/100"), (0.0, 0), (1e6, 1000000)],
)
def test_a_float_that_was_meant_as_a_fraction_is_one(x, expected):
    assert symbols.number(x) == Rational(expected)


def test_other_floats_stay_floats():
    assert symbols.number(np.pi).is_Float
    assert float(symbols.number(np.pi)) == np.pi
    assert symbols.number(np.inf) == sympy.oo
    assert symbols.number(-np.inf) == -sympy.oo
    assert symbols.number(np.nan) is sympy.nan


@pytest.mark.parametrize(("x", "y"), [(0.3, 0.7), (-0.7, 0.25), (0.9, -1.5), (-0.2, 0.1)])
def test_every_operation_means_the_same(x, y):
    program = operations.program()
    at = dict(zip(sympy.symbols("x0 y0", real=True), (sympy.Float(x), sympy.Float(y))))
    for found, expected in zip(symbols.expressions(program), run(program, {"x": x, "y": y}), strict=True):
        found = [float(e.subs(at)) for e in np.ravel(found)]
        np.testing.assert_allclose(found, np.ravel(expected), rtol=1e-13)


@pytest.mark.parametrize("name", ["four_bar forward_dynamics", "slider_crank forward_dynamics", "satellite difference"])
def test_symbols_with_very_many_branches_are_refused_before_they_are_made(name):
    name, what = name.split()
    with pytest.raises(lw.OptionError, match="branches, written out"):
        lw.Dynamics(lw.load(name)).symbolic(what)


def test_branches_between_numbers_are_none():
    """Forward dynamics of a rolling disk, with a number for each symbol, chooses its pivots at once."""
    robot = lw.Dynamics(lw.load("rolling_disk"))
    q = robot.constraints.assemble(robot.neutral())
    v = robot.constraints.project(q, np.ones(robot.nv))[1]
    vdot = np.array(robot.symbolic("forward_dynamics", {"q": q, "v": v, "tau": v}), float)[:, 0]
    assert np.allclose(vdot, robot.forward_dynamics(q, v, v))
