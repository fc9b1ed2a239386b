"""Long programs as assembly: the bits of LLVM's code for every program, width, number of registers and kind of machine."""

import numpy as np
import pytest
from real_robots import model
from test_pieces import NAMES, kernel, results

import linkwork as lw
from linkwork.engine.loading import compiler, samples
from linkwork.engine.loading.kernel import Kernel
from linkwork.engine.tracing.program import Input, record
from linkwork.engine.tracing.routines import Routine
from linkwork.engine.writers import allocation, assembly
from linkwork.engine.writers.loop_bodies import bodies

HERE = assembly.registers()
pytestmark = pytest.mark.skipif(not HERE, reason="assembly is written for x86-64 with AVX2")
MACHINES = {"as it is": (HERE, 0), "few registers": (5, 0), "AVX2": (16, 32)}


def assembled(monkeypatch, machine="as it is", piece=100):
    """From here on every program is written as assembly, for a machine of this kind."""
    count, register = MACHINES[machine]
    monkeypatch.setattr(assembly, "FEWEST", 0)
    monkeypatch.setattr(assembly, "OTHERS", 1.0)
    monkeypatch.setattr(allocation, "PIECE", piece)
    monkeypatch.setattr(assembly, "count_of_registers", lambda program: count)
    if register:
        target = compiler.target()[0]
        monkeypatch.setattr(assembly, "registers", lambda: count)
        monkeypatch.setattr(compiler, "target", lambda: (target, register))
    monkeypatch.setenv("LINKWORK_CACHE_DIR", "")


def by_llvm(monkeypatch):
    monkeypatch.setattr(assembly, "registers", lambda: 0)
    monkeypatch.setenv("LINKWORK_CACHE_DIR", "")


@pytest.mark.parametrize("what", NAMES)
@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("machine", MACHINES)
def test_assembly_has_the_bits_of_llvm(what, kind, machine, rng):
    """One sample, a few, a vector and a half, strided ones and large angles."""
    if machine == "AVX2" and HERE < 16:
        pytest.skip("no AVX2")
    arrays = [rng.standard_normal((21, *x.shape)).astype(kind) for x in kernel(what).inputs]
    for x in arrays:
        x[3] *= 1e12
    batches = [[x[at] for x in arrays] for at in (slice(None), 0, 3, slice(2), slice(0, 19, 2), slice(5, 5))]
    found = []
    for prepare in (by_llvm, lambda patch: assembled(patch, machine, piece=7)):
        with pytest.MonkeyPatch.context() as patch:
            prepare(patch)
            made = kernel(what)
            assert assembly.serves(made.program) is (prepare is not by_llvm)
            found.append([results(made, some) for some in batches])
    for before, after in zip(*found):
        for a, b in zip(before, after):
            np.testing.assert_array_equal(a, b)


SIGNS = {
    "products": lambda x: (-x[0] * x[1] - x[2], x[0] * x[1] - x[2], x[2] - x[0] * x[1], x[0] * x[1] + x[2]),
    "squares": lambda x: (x[0] * x[0] + x[0], x[1] - x[1] * x[1], x[0] * x[1] + x[1], -(x[3] * x[3]) - 2.0),
    "constants": lambda x: (2.0 - x[0] * 3.0, x[1] * 3.0 - 0.1, -x[2] * 0.1, x[0] * 1e-300 + 0.1, 0.1 - x[3]),
    "sums": lambda x: (-x[0] - x[1], x[1] - x[0], x[0] + x[0] + x[1], -(x[2] + x[3])),
    "functions": lambda x: (-np.sqrt(abs(x[0])), 1 / -x[1], abs(-x[2]), 1 / (x[0] * x[3]), abs(x[0] - x[1])),
    "results": lambda x: (x[1], -x[0], 2.0, -0.5, x[2] * x[3], -(x[2] * x[3]), x[2] * x[3]),
    "comparisons": lambda x: (np.where(x[0] * x[1] < x[2], x[3] * x[0], -x[1]) * x[2] + x[0], np.minimum(x[0], x[1]) * np.sin(x[2] * x[3])),
}


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("what", SIGNS)
def test_signs_constants_and_copies(what, machine, monkeypatch, rng):
    """Every form of a multiply-add, a sum and a result, against NumPy."""
    f = SIGNS[what]
    x = rng.standard_normal((19, 4))
    assembled(monkeypatch, machine)
    made = Kernel("signs", lambda x: np.stack(f(x)), (Input("x", (4,)),))
    expected = np.stack(np.broadcast_arrays(*f(x.T)), -1)
    np.testing.assert_allclose(made.gufunc("d")(x), expected, rtol=4e-16, atol=4e-16)
    np.testing.assert_array_equal(np.stack([made.gufunc("d")(row) for row in x]), made.gufunc("d")(x))


@pytest.mark.parametrize("size", [3, 4, 5, 8, 33, 70])
def test_random_programs(size, monkeypatch, rng):
    """Sums of products of whatever was made before, so that registers and places in memory are used again and again."""
    steps = rng.integers(0, 10**6, (400, 4))

    def f(x):
        made = list(x)
        for i, j, k, sign in steps:
            a, b, c = (made[-1 - n % min(len(made), 60)] for n in (i, j, k))
            made.append((a * b - c if sign % 3 else c - a * b) * 0.5 if sign % 7 else (a + b) / (2.0 + abs(c)))
        return np.stack([*made[-size:], -made[-3]])

    x = rng.standard_normal((9, 6))
    by_llvm(monkeypatch)
    expected = Kernel("f", f, (Input("x", (6,)),)).gufunc("d")(x)
    monkeypatch.undo()
    for machine in MACHINES:
        with pytest.MonkeyPatch.context() as patch:
            assembled(patch, machine)
            np.testing.assert_array_equal(Kernel("f", f, (Input("x", (6,)),)).gufunc("d")(x), expected)


def roots(x, a):
    """Arithmetic before, in and after a loop that uses values of the code around it; samples take different numbers of rounds."""
    scale = 1.0 + a @ a + np.sin(x)
    lower = np.where(x > 0, scale, 2 * scale)

    def nearer(y, total):
        new = (y + lower / y) / 2 - 0.0 * a[0]
        return new, total + np.cos(new) * a[1], np.abs(new - y) <= 1e-15 * scale

    (y, total), rounds = lw.iterate(nearer, (scale, 0.0), most=30)
    return y * y - a[1] * total, rounds, -total


def routines(x, a):
    """The same called as a routine, twice, one call in a loop."""
    y, rounds, total = CALLED(x, a)
    y, _ = lw.iterate(lambda y: (CALLED(y, a)[0] / 4, np.abs(y) < 0.5), y, most=9)
    return y + rounds, total * y


CALLED = Routine(record("roots", roots, (Input("x", ()), Input("a", (2,)))))


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("f", [roots, routines])
def test_programs_with_loops_and_routines_have_the_bits_of_llvm(f, machine, kind, rng):
    """One sample, a few and more than a vector of them, a large angle and what is no number among them."""
    x, a = rng.standard_normal(21).astype(kind), rng.standard_normal((21, 2)).astype(kind)
    x[4], x[9] = 1e7, np.nan
    found = []
    for prepare in (by_llvm, lambda patch: assembled(patch, machine, piece=3)):
        with pytest.MonkeyPatch.context() as patch:
            prepare(patch)
            made = Kernel(f.__name__, f, (Input("x", ()), Input("a", (2,))))
            assert assembly.serves(made.program) is (prepare is not by_llvm)
            assert bool(bodies(made.program)) is (prepare is not by_llvm and f is roots)  # a body that calls stays where it is
            run = made.gufunc(np.dtype(kind).char)
            found.append([*run(x, a), *run(x[:3], a[:3]), *run(x[4], a[4])])
    for before, after in zip(*found):
        np.testing.assert_array_equal(before, after)


def test_a_result_may_be_written_over_an_input(monkeypatch, rng):
    """Of one sample the inputs are copied before the first result is written."""
    assembled(monkeypatch)

    def turned(x):
        return np.stack([x[1], x[2], x[0], np.sin(x[0]) * x[2] + x[1] * x[0] * x[3]])

    f = Kernel("turned", turned, (Input("x", (4,)),)).gufunc("d")
    x = rng.standard_normal((5, 4))
    expected = f(x)
    for i in range(5):
        f(x[i], out=x[i])
    np.testing.assert_array_equal(x, expected)


def test_a_march_has_the_bits_of_llvm(monkeypatch):
    robot = lw.Dynamics(model("panda"))
    Q, V = robot.random_state((11,), seed=1)
    by_llvm(monkeypatch)
    expected = lw.rollout(lw.Dynamics(model("panda")), Q, V, dt=1e-3, steps=5)
    monkeypatch.undo()
    assembled(monkeypatch)
    found = lw.rollout(robot, Q, V, dt=1e-3, steps=5)
    np.testing.assert_array_equal(expected.q, found.q)
    np.testing.assert_array_equal(expected.v, found.v)


def test_many_arguments_are_left_to_llvm(monkeypatch):
    """Each argument needs a register for its address; those past the sixth lie on the stack."""
    assembled(monkeypatch)
    for n in (1, 5, 8, 12, 13, 14):
        names = [f"x{i}" for i in range(n)]
        made = Kernel("sums", lambda *x: sum(k * a * a for k, a in enumerate(x, 2)), tuple(Input(x, ()) for x in names))
        assert assembly.serves(made.program) is (n < 14)
        np.testing.assert_allclose(made.gufunc("d")(*[np.full(9, 2.0)] * n), 4 * sum(range(2, n + 2)))


def test_places_in_memory_are_used_again():
    """A chain of values needs no place, and a value that waits long needs one."""

    def chain(x):
        y = [x * k for k in range(2, 42)]
        for i in range(1, 200):
            x = x * x + i
        return x + sum(y)

    program = record("chain", chain, (Input("x", ()),))
    assert allocation.plan(program, 16).room <= 40
    assert allocation.plan(program, 64).room == 0


@pytest.mark.parametrize("offset", [0, 1, 2, 4, 6])
def test_results_written_while_the_next_are_computed_have_the_same_bits(offset, monkeypatch):
    """Wherever results begin and however they are strided, for any number of samples, large angles among them."""
    monkeypatch.setattr(samples, "FILLED", 0)
    monkeypatch.setenv("LINKWORK_CACHE_DIR", "")
    robot = lw.Dynamics(model("ur5"))
    q, v = robot.random_state((43,), seed=3)
    q[10, 2] = q[33, 0] = 1e13
    made = robot.quantity("forward_dynamics_derivatives").kernel()
    wide = compiler.kinds("double")[0]
    assert assembly.overlaps(made.program, wide) is (HERE == 32 and wide.width == 8)
    f = made.gufunc("d")
    expected = [np.stack(x) for x in zip(*(f(a, b, b) for a, b in zip(q, v)))]
    for count in (43, 40, 17, 8, 3):
        for apart in (0, 1, 4):
            out = tuple(room(count, robot.nv, offset + 2 * n, apart) for n in range(3))
            f(q[:count], v[:count], v[:count], out=out)
            for a, b in zip(expected, out):
                np.testing.assert_array_equal(a[:count], b)


def room(count: int, n: int, offset: int, apart: int):
    """An array (count, n, n) that begins so many numbers after a border of 64 bytes, with some more between its samples."""
    memory = np.full(count * (n * n + apart) + 16, np.nan)
    start = -memory.ctypes.data % 64 // 8 + offset
    samples = memory[start : start + count * (n * n + apart)].reshape(count, n * n + apart)
    return np.lib.stride_tricks.as_strided(samples, (count, n, n), (samples.strides[0], 8 * n, 8))
