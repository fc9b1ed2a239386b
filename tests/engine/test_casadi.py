"""Functions for CasADi: values, sparsity and derivatives are ours, and its solvers take them."""

import shutil
import subprocess

import numpy as np
import pytest

import linkwork as lw

casadi = pytest.importorskip("casadi")
CC = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
pytestmark = pytest.mark.skipif(CC is None, reason="no C compiler here")
STRICT = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC"]


def external(robot, what, folder, order=1):
    source = robot.export.casadi(what, folder, order)
    subprocess.run([CC, *STRICT, source, "-o", source.with_suffix(".so"), "-lm"], check=True)
    return casadi.external(source.stem, str(source.with_suffix(".so")))


def state(robot):
    q, v = robot.random_state(seed=0)
    return q, v, np.random.default_rng(1).standard_normal(robot.nv)


def matrix(x):
    """As CasADi has it: all but the last axis are rows."""
    return np.asarray(x).reshape(-1, x.shape[-1]) if np.ndim(x) > 1 else np.reshape(x, (-1, 1))


def vec(x):
    return matrix(x).ravel(order="F")


CASES = [("double_pendulum", x) for x in ("forward_dynamics", "mass_matrix", "potential_energy", "poses", "inverse_dynamics_derivatives")]
CASES += [("satellite", x) for x in ("bias", "potential_energy", "poses")]


@pytest.mark.parametrize("name, what", CASES)
def test_an_external_function_has_our_values_and_derivatives(name, what, tmp_path):
    robot = lw.Dynamics(lw.load(name))
    found, kernel = external(robot, what, tmp_path), robot.as_kernel(what)
    x = state(robot)[: len(kernel.names)]
    values, several = kernel(*x), isinstance(kernel(*x), tuple)
    for ours, theirs in zip(values if several else (values,), found.call(list(x)), strict=True):
        np.testing.assert_allclose(np.array(theirs), matrix(ours), rtol=1e-12, atol=1e-12)
    jacobian = found.jacobian()
    blocks = jacobian.call([*x, *(0 for _ in range(found.n_out()))])
    expected = kernel.by_components("jacobian", tuple(range(len(x))))(*x)
    for i, (ours, theirs) in enumerate(zip(expected if isinstance(expected, tuple) else (expected,), blocks, strict=True)):
        n = x[i % len(x)].size
        columns = [vec(ours[..., k]) if np.ndim(ours) > 1 else ours[k : k + 1] for k in range(n)]
        np.testing.assert_allclose(np.array(casadi.DM(theirs)), np.stack(columns, -1), rtol=1e-10, atol=1e-10)


def test_entries_that_are_zero_for_every_input_are_left_out(tmp_path):
    """The gravity force of a tree: the last joint's does not change with its own sliding."""
    robot = lw.Dynamics(lw.load("cartpole"))
    jacobian = external(robot, "gravity_force", tmp_path).jacobian()
    assert jacobian.nnz_out(0) == 1


def test_matrices_go_in_column_by_column(tmp_path):
    robot = lw.Dynamics(lw.load("double_pendulum"))
    wrenches = np.random.default_rng(2).standard_normal((len(robot.bodies), 6))
    found = external(robot, ("inverse_dynamics", "external"), tmp_path)
    expected = robot.inverse_dynamics(*state(robot), wrenches)
    np.testing.assert_allclose(np.array(found(*state(robot), wrenches)).ravel(), expected, rtol=1e-12)


def test_second_derivatives_are_those_of_casadi(tmp_path):
    """∂²T/∂v² = 𝓜"""
    robot = lw.Dynamics(lw.load("double_pendulum"))
    found = external(robot, "kinetic_energy", tmp_path, order=2)
    q, v = casadi.MX.sym("q", 2), casadi.MX.sym("v", 2)
    hessian, _ = casadi.hessian(found(q, v), v)
    at = state(robot)
    np.testing.assert_allclose(np.array(casadi.Function("h", [q, v], [hessian])(*at[:2])), robot.mass_matrix(at[0]), rtol=1e-12)


def test_a_users_kernel_is_exported_too(tmp_path):
    robot = lw.Dynamics(lw.load("double_pendulum"))
    power = robot.kernel(lambda q, v, force: force @ robot.bias(q, v), force=2)
    found = external(robot, power, tmp_path)
    np.testing.assert_allclose(float(found(*state(robot))), power(*state(robot)), rtol=1e-12)


@pytest.mark.parametrize("order", [1, 2])
def test_ipopt_finds_the_equilibrium_of_least_energy(order, tmp_path):
    """min V(q) by exact gradients: all links hang down, g(q) = 0."""
    robot = lw.Dynamics(lw.load("double_pendulum"))
    energy = external(robot, "potential_energy", tmp_path, order)
    q = casadi.MX.sym("q", robot.nq)
    options = {"print_time": False, "ipopt.print_level": 0}
    if order == 1:
        options["ipopt.hessian_approximation"] = "limited-memory"
    solver = casadi.nlpsol("solver", "ipopt", {"x": q, "f": energy(q)}, options)
    found = np.array(solver(x0=[0.4, -0.3])["x"]).ravel()
    assert solver.stats()["success"]
    np.testing.assert_allclose(robot.gravity_force(found), 0, atol=1e-5)


def test_an_order_that_is_none_is_named(tmp_path):
    robot = lw.Dynamics(lw.load("double_pendulum"))
    with pytest.raises(lw.OptionError, match="order is 3"):
        robot.export.casadi("bias", tmp_path, order=3)
