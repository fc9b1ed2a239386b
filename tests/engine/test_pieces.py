"""Long straight-line code is cut into pieces: the same bits for every program, batch and width, and less time to compile."""

import numpy as np
import operations
import pytest
from real_robots import model

import linkwork as lw
from linkwork.engine.loading import compiler
from linkwork.engine.loading.kernel import Kernel
from linkwork.engine.tracing.program import Input, record
from linkwork.engine.writers import assembly, pieces

PANDA = lw.Dynamics(model("panda"))
NAMES = {"everything": "", "forward dynamics": "forward_dynamics", "mass matrix": "mass_matrix_inverse", "poses": "poses"}


def in_pieces(monkeypatch, size=7):
    """From here on every program is cut into functions of so many operations."""
    monkeypatch.setattr(assembly, "registers", lambda: 0)
    monkeypatch.setattr(pieces, "LONGEST", 0)
    monkeypatch.setattr(pieces, "PIECE", size)
    monkeypatch.setenv("LINKWORK_CACHE_DIR", "")


def kernel(what):
    if not NAMES[what]:
        return Kernel("everything", operations.everything, (Input("x", ()), Input("y", ())))
    quantity = PANDA.quantity(NAMES[what])
    return Kernel(what.replace(" ", "_"), quantity.function, quantity.inputs)


def results(kernel, arrays):
    found = kernel.gufunc(arrays[0].dtype.char)(*arrays)
    return found if isinstance(found, tuple) else (found,)


@pytest.mark.parametrize("what", NAMES)
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_pieces_give_the_bits_of_one_function(what, kind, monkeypatch, rng):
    """Multiply-adds are chosen over the whole program; one sample, a few, a vector and a half, and large angles."""
    inputs = kernel(what).inputs
    arrays = [rng.standard_normal((21, *x.shape)).astype(kind) for x in inputs]
    for x in arrays:
        x[3] *= 1e12
    batches = [[x[at] for x in arrays] for at in (slice(None), 0, 3, slice(2), slice(0, 19, 2), slice(5, 5))]
    whole = [results(kernel(what), some) for some in batches]
    in_pieces(monkeypatch)
    cut = kernel(what)
    assert len(pieces.cut(cut.program).pieces) > 5
    for before, some in zip(whole, batches):
        for a, b in zip(before, results(cut, some)):
            np.testing.assert_array_equal(a, b)


def test_a_result_may_be_written_over_an_input(monkeypatch, rng):
    """Results go out after the last piece that reads an input, inputs that are results themselves among them."""
    in_pieces(monkeypatch, 3)

    def turned(x):
        return np.stack([x[1], x[2], x[0], np.sin(x[0]) * x[2] + x[1] * x[0] * x[3]])

    f = Kernel("turned", turned, (Input("x", (4,)),)).gufunc("d")
    x = rng.standard_normal((5, 4))
    expected = f(x)
    np.testing.assert_allclose(expected, np.stack([turned(row) for row in x]), rtol=1e-15)
    for i in range(5):
        f(x[i], out=x[i])
    np.testing.assert_array_equal(x, expected)


def test_a_march_in_pieces_has_the_same_bits(monkeypatch, rng):
    Q, V = PANDA.random_state((11,), seed=1)
    monkeypatch.setenv("LINKWORK_CACHE_DIR", "")
    whole = lw.rollout(PANDA, Q, V, dt=1e-3, steps=5)
    in_pieces(monkeypatch, 40)
    cut = lw.rollout(lw.Dynamics(model("panda")), Q, V, dt=1e-3, steps=5)
    np.testing.assert_array_equal(whole.q, cut.q)
    np.testing.assert_array_equal(whole.v, cut.v)


def test_places_in_memory_are_used_again(monkeypatch):
    """A chain of values needs room for a few of them, however long it is, and no place for what one piece uses alone."""
    monkeypatch.setattr(pieces, "PIECE", 10)

    def chain(x):
        for i in range(1, 200):
            x = x * x + i
        return x

    cut = pieces.cut(record("chain", chain, (Input("x", ()),)))
    assert len(cut.pieces) > 15
    assert cut.room <= 3


def test_the_sine_and_the_cosine_of_an_angle_are_in_one_piece(monkeypatch):
    monkeypatch.setattr(pieces, "PIECE", 2)
    program = record("turns", lambda x: np.cos(x + 1) * np.sin(np.sin(x + 1) * x), (Input("x", ()),))
    nodes = program.trace.nodes
    (piece,) = [p for p in pieces.cut(program).pieces if any(nodes[i][0] == "cos" for i in p)]
    angle = next(nodes[i][1] for i in piece if nodes[i][0] == "cos")
    assert ("sin", angle) in [nodes[i] for i in piece]


def test_no_function_of_a_long_program_is_long(monkeypatch):
    """x ← sin x + i v, 5,000 times: every function of its text is short, and sin is called, not written 5,000 times."""
    monkeypatch.setattr(assembly, "registers", lambda: 0)

    def long(x, v):
        for i in range(5000):
            x = np.sin(x) + v * i
        return x

    text = compiler.module_text(record("long", long, (Input("x", ()), Input("v", ()))), "double")
    assert max(function.count("\n") for function in text.split("define ")) < 3000
    assert "alwaysinline" not in text
