"""The table of operations: rows are complete, derivatives are derivatives, and an operation is added by adding a row."""

import ctypes
import math
import subprocess
import sys

import numpy as np
import operations
import pytest
from emulated import emulated
from test_c import called, library, needs_compiler

from linkwork.engine.elementary.functions_exponential import log
from linkwork.engine.elementary.functions_tables import TABLES
from linkwork.engine.loading.interpreter import run
from linkwork.engine.loading.kernel import Kernel
from linkwork.engine.running import ptx
from linkwork.engine.tracing.operations import LEAVES, LOOPS, OPERATIONS, SAME, Operation, meanings
from linkwork.engine.tracing.program import Input, Output, Program, evaluate, record
from linkwork.engine.tracing.trace import ZERO, Trace
from linkwork.engine.writers import c, symbols

ROWS = {name: row for name, row in OPERATIONS.items() if name not in (*LEAVES, *LOOPS)}
NUMBERS = {name: row for name, row in ROWS.items() if not row.truth}
POSITIVE = "sqrt", "log"
each = pytest.mark.parametrize("name", ROWS)


# --- rows


@each
def test_a_row_has_a_meaning_for_every_writer(name):
    row = ROWS[name]
    assert name in SAME or (row.c and sum(map(bool, (row.instruction, row.intrinsic, row.library))) == 1)
    assert row.value and row.sympy and row.casadi


@each
def test_a_constant_folds_to_its_value(name, rng):
    row = ROWS[name]
    for values in rng.uniform(0.1, 0.9, (20, row.arity)).round(rng.integers(0, 6)):
        folded = row.folded(*values)
        assert folded is None or folded == pytest.approx(float(row.value(*values)), rel=1e-15)


@each
def test_a_row_makes_its_own_node(name):
    trace = Trace()
    made = ROWS[name].traced(trace, *_operands(trace, ROWS[name]))
    assert trace.nodes[made][0] == name
    assert ROWS[name].truth == trace.is_truth(made)


def test_the_table_imports_neither_sympy_nor_casadi():
    code = "import linkwork.engine.tracing.operations, sys; print({'sympy', 'casadi'} & {*sys.modules})"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "set()\n"


def test_every_operation_means_the_same_in_casadi(rng):
    casadi = pytest.importorskip("casadi")
    program, arrays = operations.program(), operations.samples(rng)
    x, y = casadi.SX.sym("x"), casadi.SX.sym("y")
    entries = evaluate(program, {"x": [x], "y": [y]}, meanings("casadi", casadi), casadi.SX)
    function = casadi.Function("everything", [x, y], [casadi.vertcat(*(e for entry in entries for e in entry))])
    found = np.array(function(arrays["x"][None], arrays["y"][None]))
    expected = np.concatenate([np.reshape(result, (len(arrays["x"]), -1)) for result in run(program, arrays)], axis=1)
    np.testing.assert_allclose(found.T, expected, rtol=1e-12, atol=1e-14)


# --- derivatives


def _operands(trace, row):
    """Inputs x0, x1 ...; a truth where the operation takes one."""
    numbers = [trace.input(f"x{i}", 0) for i in range(row.arity)]
    if row.name in ("and", "or", "not"):
        return [trace.compare("lt", x, trace.one) for x in numbers]
    return [trace.compare("lt", numbers[0], ZERO), *numbers[1:]] if row.name == "where" else numbers


@pytest.mark.parametrize("name", [name for name in NUMBERS if name != "still"])
def test_a_derivative_is_the_limit_of_differences(name, rng):
    """∂f/∂xᵢ = (f(x + h eᵢ) − f(x − h eᵢ)) / 2h + O(h²), by the interpreter in float64."""
    row, trace, h = ROWS[name], Trace(), 1e-5
    operands = _operands(trace, row)
    result = row.traced(trace, *operands)
    slopes = row.derivative(trace, result, *operands)
    assert len(slopes) == row.arity
    inputs = tuple(Input(f"x{i}", ()) for i in range(row.arity))
    program = Program(name, trace, inputs, tuple(Output((ref,), ()) for ref in (result, *(s or ZERO for s in slopes))))
    x = rng.uniform(0.2, 0.8, (row.arity, 100)) * (1 if name in POSITIVE else rng.choice([-1, 1], (row.arity, 100)))
    value = lambda x: run(program, dict(zip((i.name for i in inputs), x)))[0]
    for i, found in enumerate(run(program, dict(zip((i.name for i in inputs), x)))[1:]):
        step = h * np.eye(row.arity)[i][:, None]
        np.testing.assert_allclose(found, (value(x + step) - value(x - step)) / (2 * h), rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("name", NUMBERS)
def test_a_change_is_the_sum_of_slopes_times_changes(name, rng):
    """df = Σ ∂f/∂xᵢ dxᵢ."""
    row, trace = ROWS[name], Trace()
    operands = _operands(trace, row)
    changes = [trace.input("d", i) for i in range(row.arity)]
    result = row.traced(trace, *operands)
    slopes = row.derivative(trace, result, *operands)
    outputs = [row.changed(trace, result, operands, changes), *(s or ZERO for s in slopes)]
    inputs = (*(Input(f"x{i}", ()) for i in range(row.arity)), Input("d", (row.arity,)))
    x, d = rng.uniform(0.2, 0.8, row.arity), rng.normal(size=row.arity)
    program = Program(name, trace, inputs, tuple(Output((ref,), ()) for ref in outputs))
    found, *partial = run(program, dict(zip((i.name for i in inputs), (*x, d))))
    np.testing.assert_allclose(found, np.dot(partial, d), rtol=1e-14)


def test_the_change_of_a_choice_is_the_change_of_what_is_chosen():
    """d(a > 0 ? √a : 0) at a = −1, where the root changes by no number, is 0."""
    trace, row = Trace(), ROWS["where"]
    a, da = trace.input("a", 0), trace.input("da", 0)
    root = trace.function("sqrt", a)
    chosen = (trace.compare("lt", ZERO, a), root, ZERO)
    change = row.changed(trace, trace.where(*chosen), chosen, (ZERO, ROWS["sqrt"].changed(trace, root, (a,), (da,)), ZERO))
    program = Program("choice", trace, (Input("a", ()), Input("da", ())), (Output((change,), ()),))
    assert run(program, {"a": -1.0, "da": 1.0})[0] == 0 and run(program, {"a": 4.0, "da": 1.0})[0] == 0.25


def test_truths_have_no_derivative():
    assert all(row.derivative is None for row in ROWS.values() if row.truth)
    assert ROWS["where"].derivative(Trace(), 0, 0, 0, 0)[0] is None


# --- a new operation


def log2(x):
    return log(x) * TABLES[x.body.dtype]["log2_e"][0]


def casadi_log2(x):
    import casadi

    return casadi.log(x) / math.log(2)


LOG2 = Operation(
    name="log2", arity=1, value=np.log2, library=log2, c="log2",
    sympy=lambda x: symbols.sympy_module().log(x, 2), casadi=casadi_log2,
    derivative=lambda t, y, a: (t.reciprocal(t.mul(a, t.constant(math.log(2)))),),
)  # fmt: skip


@pytest.fixture
def program(monkeypatch):
    """log₂(x) + x, with the row in the table."""
    monkeypatch.setitem(OPERATIONS, "log2", LOG2)
    program = record("logarithm", _added, [Input("x", ())])
    assert dict(program.operations) == {"log2": 1, "add": 1}
    return program


def _added(x):
    return np.log2(x) + x


X = np.linspace(0.1, 3.0, 70)
close = pytest.mark.parametrize("kind", [np.float64, np.float32])


def _agrees(found, kind=np.float64):
    np.testing.assert_allclose(found, _added(X), rtol=0, atol=8 * np.finfo(kind).eps)


def test_a_new_row_is_interpreted_and_folded(program):
    _agrees(run(program, {"x": X})[0])
    trace = Trace()
    assert trace.value(trace.function("log2", trace.constant(8.0))) == 3.0


@close
def test_a_new_row_is_compiled(program, kind):
    _agrees(Kernel("logarithm", _added, program.inputs).gufunc(np.dtype(kind).char)(X.astype(kind)), kind)


@close
def test_a_new_row_runs_on_a_gpu(program, kind):
    x, out, flag = X.astype(kind), np.full(70, np.nan, kind), np.zeros(4, np.int32)
    at = lambda a: ctypes.c_void_p(a.ctypes.data)
    text = ptx.text(program, {"float64": "double", "float32": "float"}[np.dtype(kind).name], ("rows", "rows"))
    emulated(text)(70, 70, at(flag), at(x), 1, at(out), 1)
    _agrees(out, kind)


@needs_compiler
@close
def test_a_new_row_is_exported_as_c(program, kind, tmp_path):
    dtype = np.dtype(kind).name
    (tmp_path / "f.c").write_text(c.source(program, "f", dtype, "f.h"))
    (tmp_path / "f.h").write_text(c.header(program, "f", dtype))
    _agrees(called(library(tmp_path / "f.c", tmp_path)["f"], program, {"x": X}, kind)[0], kind)


def test_a_new_row_is_sympys(program):
    sympy = pytest.importorskip("sympy")
    (found,) = symbols.expressions(program)
    _agrees([float(found.subs(sympy.Symbol("x0", real=True), x)) for x in X])


def test_a_new_row_is_casadis(program):
    casadi = pytest.importorskip("casadi")
    x = casadi.SX.sym("x")
    ((found,),) = evaluate(program, {"x": [x]}, meanings("casadi", casadi), casadi.SX)
    _agrees([float(casadi.Function("f", [x], [found])(value)) for value in X])
