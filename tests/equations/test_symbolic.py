"""Equations in symbols: equal to the closed forms of textbooks, which SymPy proves, and to the kernels."""

import numpy as np
import pytest
from zoo import close, state

sympy = pytest.importorskip("sympy")

from sympy import Matrix, cos, sin  # noqa: E402
from sympy.simplify.fu import TR8  # noqa: E402

import linkwork as lw  # noqa: E402

PIN = lw.Revolute(axis=(0, 1, 0))


def vanishes(expression):
    """SymPy proves it: products of sines and cosines as sums, which have only one way to be zero."""
    expression = Matrix(expression) if isinstance(expression, (list, sympy.MatrixBase)) else Matrix([expression])
    return expression.applyfunc(lambda e: sympy.expand(TR8(sympy.expand(e)))).is_zero_matrix


def lagrange(system):
    """d/dt ∂L/∂q̇ - ∂L/∂q from the energies alone, for v = q̇."""
    L, q, v = system.lagrangian, Matrix(system.q), Matrix(system.v)
    momentum = Matrix([L]).jacobian(v).T
    rate = momentum.jacobian(q) * v + momentum.jacobian(v) * Matrix(system.vdot)
    return rate - Matrix([L]).jacobian(q).T


def positive(names):
    return sympy.symbols(names, positive=True)


def double_pendulum():
    builder = lw.Builder("double pendulum")
    rod = {"mass": 1.0, "center": (0, 0, -0.5), "tensor": (1 / 12, 1 / 12, 0)}
    builder.body("upper", joint=PIN, **rod).body("lower", "upper", (0, 0, -1), PIN, **rod)
    return lw.symbolic(
        builder.model(),
        names={"q": ["theta1", "theta2"]},
        mass=["m1", "m2"],
        center=[[0, 0, "-c1"], [0, 0, "-c2"]],
        tensor={"upper": ["I1", "I1", 0], "lower": ["I2", "I2", 0]},
        at=[[0, 0, 0], [0, 0, "-l1"]],
        gravity=[0, 0, "-g"],
    )


def test_the_double_pendulum():
    s = double_pendulum()
    m1, m2, c1, c2, l1, I1, I2, g = positive("m1 m2 c1 c2 l1 I1 I2 g")
    (a, b), (u, w) = s.q, s.v
    h, k = m2 * l1 * c2, I2 + m2 * c2**2
    M = Matrix([[I1 + m1 * c1**2 + m2 * l1**2 + k + 2 * h * cos(b), k + h * cos(b)], [k + h * cos(b), k]])
    assert vanishes(s.M - M)
    assert vanishes(s.C - h * sin(b) * Matrix([[-w, -u - w], [u, 0]]))
    assert vanishes(s.N - g * Matrix([(m1 * c1 + m2 * l1) * sin(a) + m2 * c2 * sin(a + b), m2 * c2 * sin(a + b)]))
    assert vanishes(s.potential + g * (m1 * c1 * cos(a) + m2 * (l1 * cos(a) + c2 * cos(a + b))))
    assert vanishes(lagrange(s) - Matrix([e.lhs for e in s.equations]))


def test_the_cart_pole():
    builder = lw.Builder("cart pole")
    builder.body("cart", joint=lw.Prismatic(axis=(1, 0, 0)), mass=1.0)
    builder.body("pole", "cart", joint=PIN, mass=0.1, center=(0, 0, 1), tensor=(1, 1, 0))
    symbols = {"mass": ["M", "m"], "center": {"pole": [0, 0, "l"]}, "tensor": {"pole": ["J", "J", 0]}, "gravity": [0, 0, "-g"]}
    s = lw.symbolic(builder.model(), names={"q": ["x", "theta"]}, **symbols)
    M, m, l, J, g = positive("M m l J g")
    (_, t), (_, w) = s.q, s.v
    assert vanishes(s.M - Matrix([[M + m, m * l * cos(t)], [m * l * cos(t), J + m * l**2]]))
    assert vanishes(s.C - Matrix([[0, -m * l * w * sin(t)], [0, 0]]))
    assert vanishes(s.N - Matrix([0, -m * g * l * sin(t)]))
    assert vanishes(lagrange(s) - Matrix([e.lhs for e in s.equations]))


def test_the_spherical_pendulum():
    builder = lw.Builder("spherical pendulum")
    builder.body("bob", joint=lw.Universal(axes=((0, 0, 1), (0, 1, 0))), mass=1.0, center=(0, 0, -1))
    s = lw.symbolic(builder.model(), names={"q": ["phi", "theta"]}, mass=["m"], center=[[0, 0, "-l"]], gravity=[0, 0, "-g"])
    m, l, g = positive("m l g")
    (_, t), (u, w), (a, b) = s.q, s.v, s.vdot
    assert vanishes(s.M - m * l**2 * Matrix([[sin(t) ** 2, 0], [0, 1]]))
    known = [m * l**2 * (sin(t) ** 2 * a + 2 * sin(t) * cos(t) * u * w), m * l**2 * (b - sin(t) * cos(t) * u**2) + m * g * l * sin(t)]
    assert vanishes(Matrix([e.lhs for e in s.equations]) - Matrix(known))
    assert vanishes(lagrange(s) - Matrix(known))


def test_the_planar_arm_of_three_links():
    """M_ij = Σ over rods of m (J_v* J_v) + I, written out: c_i the centres, l_i the lengths."""
    builder = lw.Builder("planar 3R", gravity=(0, -9.81, 0))
    for i in (1, 2, 3):
        on, at = (f"link{i - 1}", (1, 0, 0)) if i > 1 else (None, None)
        builder.body(f"link{i}", on, at, lw.Revolute(), mass=1.0, center=(0.5, 0, 0), tensor=(0, 1 / 12, 1 / 12))
    s = lw.symbolic(
        builder.model(),
        mass=["m1", "m2", "m3"],
        center=[["c1", 0, 0], ["c2", 0, 0], ["c3", 0, 0]],
        tensor=[[0, "I1", "I1"], [0, "I2", "I2"], [0, "I3", "I3"]],
        at=[[0, 0, 0], ["l1", 0, 0], ["l2", 0, 0]],
        gravity=[0, "-g", 0],
    )
    m, c, inertia, (l1, l2, g) = positive("m1:4"), positive("c1:4"), positive("I1:4"), positive("l1 l2 g")
    a, q = [sum(s.q[: i + 1]) for i in range(3)], Matrix(s.q)
    joints = [Matrix([0, 0]), l1 * Matrix([cos(a[0]), sin(a[0])])]
    joints.append(joints[1] + l2 * Matrix([cos(a[1]), sin(a[1])]))
    centers = [joints[i] + c[i] * Matrix([cos(a[i]), sin(a[i])]) for i in range(3)]
    M = sympy.zeros(3, 3)
    for i in range(3):
        J, w = centers[i].jacobian(q), Matrix([[1] * (i + 1) + [0] * (2 - i)])
        M += m[i] * J.T * J + inertia[i] * w.T * w
    assert vanishes(s.M - M)
    height = sum(m[i] * centers[i][1] for i in range(3))
    assert vanishes(s.N - g * Matrix([height]).jacobian(q).T)
    Gamma = [[[(M[i, j].diff(q[k]) + M[i, k].diff(q[j]) - M[j, k].diff(q[i])) / 2 for k in range(3)] for j in range(3)] for i in range(3)]
    C = Matrix(3, 3, lambda i, j: sum(Gamma[i][j][k] * s.v[k] for k in range(3)))
    assert vanishes(s.C - C)


def test_a_free_rigid_body():
    """Newton and Euler in body axes: I ω̇ + ω × I ω = 0, m (u̇ + ω × u) = m R* g."""
    builder = lw.Builder("free body")
    builder.body("body", joint=lw.Free(), mass=1.0, tensor=(1, 1, 1))
    names = {"q": ["x", "y", "z", "w", "a", "b", "c"], "v": ["omega1", "omega2", "omega3", "u1", "u2", "u3"]}
    s = lw.symbolic(builder.model(), names=names, mass=["m"], tensor=[["I1", "I2", "I3"]], gravity=[0, 0, "-g"])
    m, g, inertia = *positive("m g"), sympy.diag(*positive("I1:4"))
    x, y, z, w = s.q[:4]
    omega, u = Matrix(s.v[:3]), Matrix(s.v[3:])
    up = Matrix([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)])  # R* e_z of a unit quaternion
    euler = inertia * Matrix(s.vdot[:3]) + omega.cross(inertia * omega)
    newton = m * (Matrix(s.vdot[3:]) + omega.cross(u)) + m * g * up
    assert vanishes(Matrix([e.lhs for e in s.equations]) - Matrix([*euler, *newton]))
    assert vanishes(s.kinetic - (omega.dot(inertia * omega) + m * u.dot(u)) / 2)
    assert vanishes(s.potential - m * g * s.q[6])


@pytest.mark.parametrize("name", ["double_pendulum", "cartpole", "spherical_pendulum", "planar_3r", "free_body", "pendulum"])
def test_in_numbers_they_are_the_kernels(name):
    robot = lw.Dynamics(lw.load(name), compiled=False)
    s, symbolic = state(robot), lw.symbolic(robot)
    close(symbolic.function("M")(s.q), robot.mass_matrix(s.q))
    close(symbolic.function("C")(s.q, s.v), robot.coriolis_matrix(s.q, s.v))
    close(symbolic.function("N")(s.q)[:, 0], robot.gravity_force(s.q))
    close(symbolic.function("lagrangian")(s.q, s.v), robot.kinetic_energy(s.q, s.v) - robot.potential_energy(s.q))
    close(symbolic.function("equations")(s.q, s.v, s.vdot)[:, 0], robot.inverse_dynamics(s.q, s.v, s.vdot))
    close(np.array(symbolic.pose(robot.bodies[-1]).subs(dict(zip(symbolic.q, s.q))), float), robot.pose(s.q, robot.bodies[-1]))


def test_a_page_of_latex():
    """Short enough to print, with dots for rates."""
    text = double_pendulum().latex()
    assert r"\ddot{\theta_{1}}" in text and r"\mathcal{M} &= \left(\begin{matrix}" in text
    assert len(text) < 2500
    assert r"\dot{\omega_{1}}" in lw.symbolic(lw.load("free_body"), names={"v": [f"omega{i}" for i in range(1, 7)]}).latex()


def test_what_cannot_be():
    model = lw.load("pendulum")
    with pytest.raises(lw.ModelError, match=r'"masses" is not a constant of pendulum\. Did you mean "mass"'):
        lw.symbolic(model, masses=["m"])
    with pytest.raises(lw.ModelError, match="q has 1 entries, but 2 names: a, b"):
        assert lw.symbolic(model, names={"q": ["a", "b"]}).M
    with pytest.raises(lw.ModelError, match=r"mass of pendulum is \['m', 'n'\]; its shape must be \(1,\)"):
        lw.symbolic(model, mass=["m", "n"])


def test_casadi_runs_the_same_operations():
    casadi = pytest.importorskip("casadi")
    from linkwork.equations.casadi_functions import casadi_function

    robot = lw.Dynamics(lw.load("arm_6r"), compiled=False)
    s = state(robot)
    for what, arguments, expected in (
        ("mass_matrix", (s.q,), robot.mass_matrix(s.q)),
        ("forward_dynamics", (s.q, s.v, s.tau), robot.forward_dynamics(s.q, s.v, s.tau)),
        (("jacobian", "tool", "world"), (s.q,), robot.jacobian(s.q, "tool", "world")),
    ):
        found = np.array(casadi_function(robot, what)(*arguments))
        close(found if expected.ndim == 2 else found[:, 0], expected)
    fd, q = casadi_function(robot, "potential_energy"), casadi.SX.sym("q", robot.nq)
    slope = casadi.Function("g", [q], [casadi.gradient(fd(q), q)])
    close(np.array(slope(s.q))[:, 0], robot.gravity_force(s.q), 1e-11)


def bound_chain():
    b = lw.Builder("chain")
    rod = {"mass": 1.0, "center": (0, 0, -0.5), "tensor": (1 / 12, 1 / 12, 0)}
    return b.body("upper", joint=PIN, **rod).body("lower", "upper", (0, 0, -1), PIN, **rod)


BOUND = {
    "loop": lambda: bound_chain().body("slider", joint=lw.Prismatic(axis=(0, 0, 1)), mass=1.0).loop(
        "ball", "slider", "lower", lw.Spherical(), on=(0, 0, -1)),
    "coupling": lambda: bound_chain().couple("lower_joint", "upper_joint", (0.1, 2.0, 0.5), "gear"),
    "relation": lambda: bound_chain().relate("tie", {"lower_joint": 1.0, "upper_joint": -2.0}),
    "distance": lambda: bound_chain().distance("rod", None, "lower", 1.2, at=(0.3, 0, 0), on=(0, 0, -1)),
    "skate": lambda: lw.Builder("sledge").body("sledge", joint=lw.Planar(), mass=1.0, center=(0.1, 0, 0), tensor=(1, 1, 1)).skate(
        "edge", "sledge", (0, 1, 0), at=(0.2, 0, 0)),
}  # fmt: skip


@pytest.mark.parametrize("name", BOUND)
def test_constraints_are_in_the_equations(name):
    """M v̇ + C v + N = τ + Jc* λ,   Jc v̇ + γ = 0: with the accelerations and multipliers of the robot they balance."""
    robot = lw.Dynamics(BOUND[name]().model(), compiled=False)
    s, rng = lw.symbolic(robot), np.random.default_rng(0)
    q, v = robot.constraints.project(robot.assemble(np.array([0.4, -0.9, 0.2])[: robot.nq]), rng.standard_normal(robot.nv))
    tau = rng.standard_normal(robot.nv)
    forces, rows = robot.constraint_forces(q, v, tau), robot.constraints.rows(q, v)
    kept = [i for i, row in enumerate(rows.Jc) if np.abs(row).max() > 1e-12]
    assert len(s.rows) == len(s.lam) == len(kept) < 3 and str(len(kept)) in repr(s)
    close(s.function("Jc")(q), rows.Jc[kept])
    close(s.function("gamma")(q, v)[:, 0], rows.gamma[kept])
    close(s.function("c")(q)[:, 0], np.zeros(len(kept)))
    known = dict(zip([*s.q, *s.v, *s.vdot, *s.tau, *s.lam], [*q, *v, *forces.vdot, *tau, *forces.lam[kept]]))
    close(np.array([float((e.lhs - e.rhs).subs(known)) for e in s.equations]), np.zeros(robot.nv + len(kept)), 1e-8)
    assert "J_c" in s.latex() and r"\gamma" in s.latex() and r"\lambda" in s.latex()


def test_a_loop_of_lengths_in_symbols():
    """A crank of length l whose tip is a distance d from a point: c = |l e − a| − d."""
    b = lw.Builder("crank").body("crank", joint=PIN, mass=1.0).body("tip", "crank", (0, 0, -1.0), PIN, mass=1.0, tensor=(1, 1, 1))
    model = b.distance("rod", None, "tip", 2.0, at=(0, 0, 1)).model()
    s = lw.symbolic(model, names={"q": ["a", "b"], "lam": ["F"]}, at=[[0, 0, 0], [0, 0, "-l"]])
    length = positive("l")
    assert vanishes([sympy.expand((s.c[0] + 2) ** 2 - (1 + length**2 + 2 * length * cos(s.q[0])))])
    assert [str(x) for x in s.lam] == ["F"] and s.Jc[1] == 0


def test_a_drive_is_a_symbol_with_two_rates():
    s = lw.symbolic(bound_chain().drive("upper_joint", np.sin, name="lead").model())
    lead, rate, bend = s.drives["lead"]
    assert s.c[0] == s.q[0] - lead and s.U[0] == rate and s.gamma[0] == -bend
    assert s.equations[-1].lhs == s.vdot[0] - bend
    with pytest.raises(lw.ModelError, match="lead_ddot"):
        s.function("equations")


def test_a_function_of_the_user_has_no_symbols_and_says_so():
    from linkwork.constraints import Pfaffian

    s = lw.symbolic(bound_chain().constrain(Pfaffian("mine", lambda q: [[1.0 + float(q[0]), 2.0]])).model())
    assert s.M.shape == (2, 2)
    with pytest.raises(lw.ModelError, match='"mine" of chain is a function that cannot be written out'):
        _ = s.equations
