"""C99 files: their shape, and, where there is a C compiler, their numbers."""

import ctypes
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import operations
import pytest
from zoo import MECHANISMS, state

import linkwork as lw
from linkwork import export
from linkwork.engine.loading.interpreter import run
from linkwork.engine.tracing.program import Input, record
from linkwork.engine.writers import c
from linkwork.errors import UnknownNameError

MODELS = Path(__file__).parents[1] / "models"
CC = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
STRICT = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Werror", "-O2", "-shared", "-fPIC"]
needs_compiler = pytest.mark.skipif(CC is None, reason="no C compiler here")
dtypes = pytest.mark.parametrize("dtype", c.TYPES)
CALL = re.compile(r"\b(\w+)\(")


def robot_of(name):
    if name in MECHANISMS:
        return lw.Dynamics(MECHANISMS[name])
    floating = name in ("solo12", "simple_humanoid")
    return lw.Dynamics(lw.load(MODELS / name / f"{name}.urdf", floating=floating, mimic="free"))


def library(source, folder):
    """The compiled file, every warning being an error."""
    path = folder / f"{source.stem}.so"
    made = subprocess.run([CC, *STRICT, source, "-o", path, "-lm"], capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    return ctypes.CDLL(str(path))


def called(function, program, arrays, kind):
    """The outputs for a batch, sample by sample."""
    size = len(next(iter(arrays.values())))
    outputs = [np.full((size, *x.shape), np.nan, kind) for x in program.outputs]
    inputs = [np.ascontiguousarray(arrays[x.name], kind) for x in program.inputs]
    for i in range(size):
        function(*(ctypes.c_void_p(a[i : i + 1].ctypes.data) for a in (*inputs, *outputs)))
    return outputs


def close(found, expected, tolerance):
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * max(1.0, np.abs(expected).max(initial=0.0)))


# --- numbers

QUANTITIES = [
    ("double_pendulum", "forward_dynamics"),
    ("panda", "forward_dynamics"),
    ("panda", ("jacobian", "panda_hand", "world")),
    ("panda", ("jacobian", "panda_hand")),
    ("ur5", "mass_matrix"),
    ("solo12", "inverse_dynamics"),
    ("solo12", ("forward_dynamics", "external")),
    ("solo12", "integrate"),
    ("solo12", "poses"),
    ("geared", "passive_force"),
    ("geared", "potential_energy"),
]


@needs_compiler
@pytest.mark.parametrize(("name", "what"), QUANTITIES, ids=str)
def test_a_c_file_is_its_kernel(name, what, tmp_path):
    """To 1e-12 of the largest entry."""
    robot = robot_of(name)
    program = export.program(robot, what)
    s = state(robot, (20,))
    s.dv = s.vdot
    source, _ = robot.export.c(what, tmp_path)
    function = library(source, tmp_path)[source.stem]
    found = called(function, program, vars(s), np.float64)[0]
    method, *options = (what,) if isinstance(what, str) else what
    options = [] if options == ["external"] else options
    expected = getattr(robot, method)(*(getattr(s, x.name) for x in program.inputs), *options)
    close(found, expected, 1e-12)


@needs_compiler
def test_a_float32_file_is_as_good_as_floats_are(tmp_path):
    robot = robot_of("panda")
    program, s = export.program(robot, "inverse_dynamics"), state(robot, (20,))
    source, header = robot.export.c("inverse_dynamics", tmp_path / "id.h", "float32")
    found = called(library(source, tmp_path).panda_inverse_dynamics, program, vars(s), np.float32)[0]
    close(found, robot.inverse_dynamics(s.q, s.v, s.vdot), 1e-5)
    assert "double" not in source.read_text() + header.read_text()


@needs_compiler
@dtypes
def test_every_operation_is_written_right(dtype, tmp_path, rng):
    program, source = operations.program(), tmp_path / "everything.c"
    source.write_text(c.source(program, "everything", dtype, "everything.h"))
    source.with_suffix(".h").write_text(c.header(program, "everything", dtype))
    arrays = {name: a.astype(dtype) for name, a in operations.samples(rng).items()}
    found = called(library(source, tmp_path).everything, program, arrays, dtype)
    for a, b in zip(found, run(program, arrays), strict=True):
        np.testing.assert_allclose(a, b, rtol=20 * np.finfo(dtype).eps, atol=np.finfo(dtype).eps)


@needs_compiler
@dtypes
def test_constants_and_empty_results_are_written_too(dtype, tmp_path):
    numbers = np.array([1.0, -0.25, np.inf, -np.inf, np.nan])
    program = record("test", lambda x: (numbers * np.ones_like(x, shape=5), np.zeros((2, 0))), [Input("x", ())])
    source = tmp_path / "constants.c"
    source.write_text(c.source(program, "constants", dtype, "constants.h"))
    source.with_suffix(".h").write_text(c.header(program, "constants", dtype))
    found, _ = called(library(source, tmp_path).constants, program, {"x": np.zeros(1)}, dtype)
    np.testing.assert_array_equal(found[0], numbers)


@needs_compiler
def test_names_that_c_does_not_like_are_changed(tmp_path):
    """Keywords, functions of math.h, the names of results and of intermediate values, Greek, a digit first."""
    names = ["restrict", "sin", "out", "x0", "θ", "x0_", "double"]
    program = record("2 R/arm", lambda *each: np.sin(sum(each)), [Input(name, (1,)) for name in names])
    source = tmp_path / "odd.c"
    name = c.identifier("2 R/arm é")
    source.write_text(c.source(program, name, "float64", "odd.h", ["ends early */ not, nor /* begins, nor é"]))
    source.with_suffix(".h").write_text(c.header(program, name, "float64"))
    found = called(library(source, tmp_path)[name], program, {name: np.full((1, 1), 0.1) for name in names}, np.float64)
    np.testing.assert_allclose(found[0], [[np.sin(0.7)]])


@needs_compiler
@pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler here")
def test_the_header_serves_cpp(tmp_path):
    _, header = robot_of("double_pendulum").export.c("bias", tmp_path)
    (tmp_path / "use.cpp").write_text(f'#include "{header.name}"\nauto use = {header.stem};\n')
    subprocess.run(["c++", "-Wall", "-Werror", "-c", tmp_path / "use.cpp", "-o", tmp_path / "use.o"], check=True)


# --- text


def test_a_file_is_one_function_that_calls_math_only(tmp_path):
    """No allocation, no loops, no includes but math.h and its own header; every temporary is used after it is made."""
    robot = robot_of("panda")
    source, header = robot.export.c("forward_dynamics", tmp_path / "fd.c")
    assert (source, header) == (tmp_path / "fd.c", tmp_path / "fd.h")
    code = re.sub(r"/\*.*?\*/", "", source.read_text(), flags=re.S)
    assert re.findall(r"#include (\S+)", code) == ['"fd.h"', "<math.h>"]
    assert code.count("{") == code.count("}") == 1
    assert set(CALL.findall(code)) == {"panda_forward_dynamics", "sin", "cos"}
    assert not re.search(r"\b(for|while|goto|static|malloc|fma)\b", code)
    made = re.findall(r"const double (x\d+) = ", code)
    assert made == [f"x{i}" for i in range(len(made))]
    for line in re.findall(r"(?:const double (x\d+)|out\[\d+\]) = (.*);", code):
        assert all(int(used) < int(line[0][1:] or len(made)) for used in re.findall(r"\bx(\d+)\b", line[1]))
    assert re.findall(r"out\[(\d+)\]", code) == [str(i) for i in range(robot.nv)]


def test_the_header_says_what_is_where(tmp_path):
    robot = robot_of("solo12")
    _, header = robot.export.c(("forward_dynamics", "external"), tmp_path)
    text = header.read_text()
    assert header.name == f"{robot.model.name}_forward_dynamics_external.h"
    assert f"written by linkwork {lw.__version__}" in text
    assert re.search(r"in +q +19\n.*in +v +18\n.*in +tau +18\n.*in +external +\d+ x 6\n.*out +out +18\n", text)
    assert re.search(r"q\[0\.\.6\] +v\[0\.\.5\] +\S+ +free", text)
    assert re.search(r"q\[7\] +v\[6\] +FL_HAA +revolute", text)
    assert all(f" {body}\n" in text for body in robot.bodies)
    assert re.search(r"void \w+\(\s*const double \*q,\s*const double \*v,\s*const double \*tau,", text)
    assert "restrict" not in re.sub(r"/\*.*?\*/", "", text, flags=re.S)


def test_constants_are_written_so_that_they_come_back():
    program = record("test", lambda x: x * np.array([0.1, 1 / 3, 6.02e23, 5e-324, 123456789.0]), [Input("x", ())])
    code = c.source(program, "test", "float64", "test.h")
    assert [float(text) for text in re.findall(r"x\[0\]\*(\S+);", code)] == [0.1, 1 / 3, 6.02e23, 5e-324, 123456789.0]
    assert re.findall(r"x\[0\]\*(\S+);", c.source(program, "test", "float32", "test.h")) == [
        "0.1f", "0.33333334f", "6.02e+23f", "0.0f", "1.2345679e+08f",
    ]  # fmt: skip


def test_a_sum_of_products_reads_as_one():
    program = record("test", lambda x: (x[0] * x[1] - x[1] * x[2] - (x[0] - (x[1] - x[2])), -x[0]), [Input("x", (3,))])
    code = c.source(program, "test", "float64", "test.h")
    assert "out0[0] = x[0]*x[1] - x[1]*x[2] - (x[0] - (x[1] - x[2]));" in code
    assert "out1[0] = -x[0];" in code


def test_an_input_that_does_not_matter_gives_no_warning():
    program = record("test", lambda x, y: y, [Input("x", (3,)), Input("y", (1,))])
    assert "(void)x;" in c.source(program, "test", "float64", "test.h")


@pytest.mark.parametrize(
    ("name", "changed"),
    [("panda", "panda"), ("My robot-2", "My_robot_2"), ("3R", "m3R"), ("é/ü", "e_u"), ("机器人", "x")],
)
def test_any_name_becomes_an_identifier(name, changed):
    assert c.identifier(name) == changed


def test_mistakes_are_named(tmp_path):
    robot = robot_of("double_pendulum")
    with pytest.raises(UnknownNameError, match=r'no quantity "foward_dynamics"\. Did you mean "forward_dynamics"'):
        robot.export.c("foward_dynamics", tmp_path)
    with pytest.raises(ValueError, match=r"'pose' is not a quantity; ask for \('pose', 'body'\)"):
        robot.export.c("pose", tmp_path)
    with pytest.raises(ValueError, match="'mass_matrix', 'external'"):
        robot.export.c(("mass_matrix", "external"), tmp_path)
    with pytest.raises(ValueError, match="'float64' or 'float32'"):
        robot.export.c("forward_dynamics", tmp_path, "int")


def test_a_users_kernel_is_exported_as_a_method_is(tmp_path):
    """robot.program, robot.export.c and robot.symbolic take a kernel in place of a name."""
    robot = lw.Dynamics(lw.load("double_pendulum"))

    @robot.kernel
    def power(q, v):
        return v @ robot.gravity_force(q)

    source, header = robot.export.c(power, tmp_path / "power")
    assert "power" in source.read_text() and header.exists()
    assert sum(robot.program(power).operations.values()) > 3
    assert len(robot.symbolic(power).free_symbols) == 4


def descent(x):
    """Values from around a loop, used in it more than once, and once but in every round."""
    a, b = x[0] * x[1], x[1] * x[2]
    return lw.iterate(lambda y: (y * a - y * y * a + b, y < a), x[0] * x[2], most=9)[0]


def nested(x):
    """The same for a loop in a loop."""
    a, b = x[0] * x[1], x[1] * x[2]
    inner = lambda y, rate: lw.iterate(lambda z: (z * rate + rate + a, z < a), y, most=5)[0]
    return lw.iterate(lambda y: (inner(y, y * b) + b, y < x[0]), x[0] * x[2], most=9)[0]


def settled(x):
    """A mechanism that goes down by steps of its mass matrix at first."""
    robot = lw.Dynamics(lw.load("double_pendulum"))
    M = robot.mass_matrix(x[:2])
    return lw.iterate(lambda q: (q - M @ robot.gravity_force(q), np.all(q > 1.0)), x[:2], most=9)[0]


@pytest.mark.parametrize("function", [descent, nested, settled])
def test_what_no_round_changes_is_written_once_and_before_the_loop(function):
    """The products of the text are those of the program, inside of loops and outside of them."""
    program = record("test", function, [Input("x", (3,))])
    lines = c.CFunction(program, "float64").lines
    assert "\n".join(lines).count("*") == program.operations["mul"]
    outside = [line for line in lines if not line.startswith(("    ", "for"))]
    assert len(program.loops) and "\n".join(outside).count("*") == program.outer_operations["mul"]
