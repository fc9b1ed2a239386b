"""Elementary functions as LLVM IR: against mpmath in units of the last place, and against other widths."""

import ctypes
import math
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
import pytest
from mpmath import mp, mpf

from linkwork.engine.elementary.functions_circular import LIMIT
from linkwork.engine.writers import functions

WIDTHS  = 1, 2, 4, 8, 16
NUMPY   = {"double": np.float64, "float": np.float32}
EXACT   = {"sincos": (mp.sin, mp.cos), "asin": (mp.asin,), "acos": (mp.acos,),
           "atan2": (mp.atan2,), "exp": (mp.exp,), "log": (mp.log,),
           "fmod": (lambda x, y: mpf(math.fmod(x, y)),)}
COUNT   = 1024  # numbers in a sample, a multiple of every width
grid    = pytest.mark.parametrize(("name", "dtype"), [(n, d) for d in NUMPY for n in EXACT])
dtypes  = pytest.mark.parametrize("dtype", NUMPY)

llvm.initialize_all_targets()
llvm.initialize_all_asmprinters()


def driver(name, dtype, width):
    """IR of `name(in, out, n)`: the function on arrays of shape (arguments, n) and (results, n)."""
    vector  = dtype if width == 1 else f"<{width} x {dtype}>"
    inputs  = range(functions.FUNCTIONS[name])
    outputs = range(len(EXACT[name.removesuffix("_near")]))
    record  = f"{{{', '.join([vector] * len(outputs))}}}"
    returns = record if len(outputs) > 1 else vector
    member  = (lambda j: f"extractvalue {record} %y, {j}") if len(outputs) > 1 else (lambda j: f"freeze {vector} %y")
    address = lambda array, row, p: (f"  %{p}.row = mul i64 %n, {row}\n  %{p}.at = add i64 %{p}.row, %i\n"
                                     f"  %{p} = getelementptr {dtype}, ptr %{array}, i64 %{p}.at\n")
    loads   = "".join(address("in", j, f"p{j}") + f"  %x{j} = load {vector}, ptr %p{j}, align 4\n" for j in inputs)
    stores  = "".join(f"  %y{j} = {member(j)}\n" + address("out", j, f"q{j}") +
                      f"  store {vector} %y{j}, ptr %q{j}, align 4\n" for j in outputs)
    given   = ", ".join(f"{vector} %x{j}" for j in inputs)
    return f"""
define void @{name}(ptr %in, ptr %out, i64 %n) {{
entry:
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
{loads}  %y = call {returns} @{functions.symbol(name, dtype, width)}({given})
{stores}  %next = add i64 %i, {width}
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %end
end:
  ret void
}}
"""


def module(dtype, width, machine):
    """A verified and optimised module with every function, and scalar ones beside the others as kernels have them."""
    wanted = [(name, dtype, w) for name in functions.FUNCTIONS for w in (width, 1)]
    text   = functions.library(wanted) + "".join(driver(name, dtype, width) for name in functions.FUNCTIONS)
    parsed = llvm.parse_assembly(text)
    parsed.verify()
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=1))
    builder.getModulePassManager().run(parsed, builder)
    return parsed


@cache
def engine(dtype, width):
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=1, jit=True)
    compiled = llvm.create_mcjit_compiler(module(dtype, width, machine), machine)
    compiled.finalize_object()
    return compiled


def evaluate(name, dtype, width, *arguments):
    """Results, of shape (results, n), of the compiled function."""
    x   = np.array(np.broadcast_arrays(*arguments), NUMPY[dtype])
    out = np.empty((len(EXACT[name.removesuffix("_near")]), x.shape[1]), x.dtype)
    run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
    run(engine(dtype, width).get_function_address(name))(x.ctypes.data, out.ctypes.data, x.shape[1])
    return out


def ulps(y, exact):
    """|y - exact| in units of the last place of the exact value, which may be subnormal."""
    info = np.finfo(y.dtype)
    if abs(exact) >= mpf(2) ** info.maxexp * (1 - mpf(2) ** (-info.nmant - 2)):
        return 0.0 if np.isinf(y) and (y > 0) == (exact > 0) else np.inf
    _, exponent = mp.frexp(exact)
    return float(abs(mpf(float(y)) - exact) / mpf(2) ** max(exponent - info.nmant - 1, info.minexp - info.nmant))


def worst(name, dtype, *arguments):
    """The largest error over a sample, at width 8."""
    arguments = np.array(np.broadcast_arrays(*arguments), NUMPY[dtype])
    results   = evaluate(name, dtype, 8, *arguments)
    with mp.workprec(130):
        return max(ulps(y, f(*(mpf(float(v)) for v in x)))
                   for f, row in zip(EXACT[name], results) for x, y in zip(arguments.T, row))


def spread(rng, low, high, count=COUNT):
    """Numbers of both signs and of every magnitude from 2^low to 2^high."""
    return np.exp2(rng.uniform(low, high, count)) * rng.choice([-1.0, 1.0], count)


def near_quarter_turns(rng, dtype, last):
    """The numbers of the format next to multiples of π/2 on both sides, the first hundred and others up to `last`."""
    k = np.concatenate([np.arange(1, 129), rng.integers(128, last, COUNT - 128)])
    with mp.workprec(200):
        x = np.array([float(mp.pi / 2 * int(i)) for i in k], NUMPY[dtype])
    return np.concatenate([x, np.nextafter(x, 0), -np.nextafter(x, NUMPY[dtype](np.inf))])


def samples(name, dtype, rng):
    """Arguments of a function, by the kind of region they probe."""
    double = dtype == "double"
    low, high = (-1074, 1023) if double else (-149, 127)
    tiny = spread(rng, low, low + 60)
    if name == "sincos":
        return {"everyday": rng.uniform(-7, 7, COUNT), "to a million": rng.uniform(-1e6, 1e6, COUNT),
                "magnitudes": spread(rng, -30, 20), "past the limit": spread(rng, 10, 40),
                "huge": spread(rng, 23, high), "tiny": tiny,
                "near quarter turns": near_quarter_turns(rng, dtype, 600_000 if double else 60_000)}
    if name in ("asin", "acos"):
        ends = np.copysign(1 - np.exp2(-rng.uniform(0, 53, COUNT)), tiny)
        return {"all": rng.uniform(-1, 1, COUNT), "near ends": ends,
                "near half": rng.uniform(0.499, 0.501, COUNT), "magnitudes": spread(rng, -60, 0), "tiny": tiny}
    if name == "atan2":
        return {"everyday": rng.uniform(-1, 1, (2, COUNT)), "diagonals": rng.uniform(0.99, 1, (2, COUNT)) * [[1], [-1]],
                "magnitudes": np.array([spread(rng, -60, 60), spread(rng, -60, 60)]),
                "extremes": np.array([spread(rng, low, high), spread(rng, low, high)])}
    if name == "fmod":
        wide = (-500, 500) if double else (low, high)
        return {"everyday": rng.uniform(-7, 7, (2, COUNT)), "whole": rng.integers(-99, 99, (2, COUNT)) + np.array([[0], [0.5]]),
                "far": np.array([spread(rng, 20, 60), spread(rng, -3, 3)]), "extremes": np.array([spread(rng, *wide), spread(rng, *wide)])}
    if name == "exp":
        ends = (-745.2, -708.0, 709.7) if double else (-103.9, -87.3, 88.7)
        return {"everyday": rng.uniform(-1, 1, COUNT), "all": rng.uniform(ends[0], ends[2], COUNT),
                "subnormal results": rng.uniform(ends[0], ends[1], COUNT), "magnitudes": spread(rng, -60, 4)}
    return {"near one": 1 + spread(rng, -50 if double else -22, -1), "everyday": rng.uniform(0.01, 10, COUNT),
            "magnitudes": abs(spread(rng, low, high)), "tiny": abs(tiny)}


@grid
def test_every_result_is_within_two_ulps(name, dtype, rng):
    for region, x in samples(name, dtype, rng).items():
        error = worst(name, dtype, *np.atleast_2d(x))
        assert error <= 2, f"{name}, {dtype}, {region}: {error:.2f} ulp"


def test_the_double_nearest_to_a_multiple_of_half_pi_keeps_its_digits():
    """6381956970095103 2^797 is within 2^-60.9 of one (Muller, Elementary Functions, table 11.1)."""
    x = np.full(8, 6381956970095103.0 * 2.0**797)
    assert worst("sincos", "double", x) <= 1
    assert 0 < abs(evaluate("sincos", "double", 8, x)[1, 0]) < 1e-18


@grid
def test_bits_do_not_depend_on_the_width(name, dtype, rng):
    special = np.tile([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 1e30], 2)
    for x in (*samples(name, dtype, rng).values(), np.array([special, rng.permutation(special)])):
        x = np.atleast_2d(x)[: functions.FUNCTIONS[name]]
        one, *others = (evaluate(name, dtype, width, *x) for width in WIDTHS)
        for other in others:
            np.testing.assert_array_equal(np.signbit(one) & ~np.isnan(one), np.signbit(other) & ~np.isnan(one))
            np.testing.assert_array_equal(one, other)  # takes NaN for equal to NaN


@grid
@pytest.mark.parametrize("stranger", [np.nan, np.inf, -np.inf, 1e30])
def test_a_strange_lane_does_not_disturb_its_neighbours(name, dtype, stranger, rng):
    x = rng.uniform(0.1, 0.9, (functions.FUNCTIONS[name], 16))
    calm, mixed = evaluate(name, dtype, 16, *x), x.copy()
    mixed[:, 5] = stranger
    np.testing.assert_array_equal(np.delete(evaluate(name, dtype, 16, *mixed), 5, 1), np.delete(calm, 5, 1))


@dtypes
@pytest.mark.parametrize("name", ["sincos", "asin"])
def test_odd_functions_are_odd_to_the_bit(name, dtype, rng):
    """f(-x) = -f(x)"""
    for x in samples(name, dtype, rng).values():
        np.testing.assert_array_equal(evaluate(name, dtype, 8, -x)[0], -evaluate(name, dtype, 8, x)[0])


INF, NAN, PI = np.inf, np.nan, np.pi
SPECIAL = [
    ("sincos", [(0.0,), (-0.0,), (INF,), (-INF,), (NAN,)], [(0.0, 1), (-0.0, 1), (NAN, NAN), (NAN, NAN), (NAN, NAN)]),
    ("asin",  [(0.0,), (-0.0,), (1,), (-1,), (1.001,), (-INF,), (NAN,)], [0.0, -0.0, PI / 2, -PI / 2, NAN, NAN, NAN]),
    ("acos",  [(1,), (-1,), (0,), (-0.0,), (-1.001,), (INF,), (NAN,)], [0.0, PI, PI / 2, PI / 2, NAN, NAN, NAN]),
    ("exp",   [(0.0,), (-0.0,), (INF,), (-INF,), (NAN,), (1e5,), (-1e5,)], [1, 1, INF, 0.0, NAN, INF, 0.0]),
    ("log",   [(1,), (0.0,), (-0.0,), (INF,), (-1,), (-INF,), (NAN,)], [0.0, -INF, -INF, INF, NAN, NAN, NAN]),
]


@dtypes
@pytest.mark.parametrize(("name", "arguments", "expected"), SPECIAL, ids=[name for name, *_ in SPECIAL])
def test_special_values_are_those_of_c(name, dtype, arguments, expected):
    y        = evaluate(name, dtype, 1, *np.transpose(arguments))
    expected = np.array(expected, y.dtype).reshape(len(arguments), -1).T
    np.testing.assert_array_equal(y, expected)
    np.testing.assert_array_equal(np.signbit(y) & ~np.isnan(y), np.signbit(expected))


@dtypes
def test_atan2_has_the_special_values_of_c(dtype):
    """All pairs of signed zeros, infinities, NaN and ordinary numbers, against the C library's by way of NumPy."""
    v    = np.array([0.0, 1.0, 3.0, 1e-30, 1e30, INF], NUMPY[dtype])
    y, x = np.meshgrid([*v, *-v, NAN], [*v, *-v, NAN])
    found, expected = evaluate("atan2", dtype, 1, y.ravel(), x.ravel())[0], np.arctan2(y, x).ravel()
    np.testing.assert_allclose(found, expected, rtol=4 * np.finfo(NUMPY[dtype]).eps, atol=np.finfo(NUMPY[dtype]).tiny)
    np.testing.assert_array_equal(np.signbit(found) & ~np.isnan(found), np.signbit(expected) & ~np.isnan(expected))


@dtypes
def test_ptx_needs_no_library_and_leaves_nothing_to_contract(dtype):
    """Without .rn, ptxas may fuse a product with a sum."""
    machine = llvm.Target.from_triple("nvptx64-nvidia-cuda").create_target_machine(cpu="sm_90", opt=2)
    ptx     = machine.emit_assembly(module(dtype, 1, machine))
    assert ".extern" not in ptx
    assert not re.findall(r"\b(?:add|sub|mul|div|fma|sqrt)\.(?!rn\b)[.a-z]*f(?:32|64)", ptx)


def test_the_text_calls_intrinsics_and_itself_only():
    for name in functions.FUNCTIONS:
        called = re.findall(r"call [^@]*@([\w.]+)\(", functions.library([(name, "double", 8)]))
        assert all(symbol.startswith(("llvm.", "lw.")) for symbol in called)


@pytest.mark.slow
def test_the_tables_are_what_the_tool_prints():
    tool  = Path(__file__).parents[2] / "tools" / "fit_functions.py"
    table = Path(functions.__file__).parents[1] / "elementary" / "functions_tables.py"
    shown = subprocess.run([sys.executable, tool], capture_output=True, check=True, encoding="utf-8")
    assert shown.stdout == table.read_text(encoding="utf-8")


@dtypes
def test_the_short_way_to_sin_and_cos_has_the_same_bits_up_to_its_limit(dtype):
    limit = LIMIT[dtype]
    x = np.concatenate([np.random.default_rng(0).uniform(-limit, limit, COUNT - 8), [0.0, -0.0, 1e-30, limit, -limit, 0.5, 3.0, -3.0]])
    np.testing.assert_array_equal(evaluate("sincos_near", dtype, 8, x), evaluate("sincos", dtype, 8, x))
