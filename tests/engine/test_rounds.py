"""Whole kernels repeated until done, rolled or straight, in one call: the same as the plain loop around the plain sweep."""

from functools import partial

import numpy as np
import pytest

import linkwork as lw
from linkwork import quantities
from linkwork.engine.loading.kernel import Kernel
from linkwork.engine.running.repeat import Form, Repeat
from linkwork.engine.tracing.program import Input
from linkwork.errors import TraceError
from linkwork.sweeps import at_rest, inverse_dynamics
from linkwork.systems.rolled import RolledFunction

MOST = 40


def rounds(kernel, kind, most, states=1):
    """A function of (states..., constants...) -> (states..., rounds)."""
    repeat = Repeat(kernel, kind, Form(states, leaves=True))

    def run(*arrays):
        batch = np.broadcast_shapes(*(x.shape[: x.ndim - len(known.shape)] for x, known in zip(arrays, kernel.inputs)))
        given = [np.array(np.broadcast_to(x, (*batch, *known.shape)), kind) for x, known in zip(arrays, kernel.inputs)]
        flat, counts = [x.reshape(-1, *known.shape) for x, known in zip(given, kernel.inputs)], np.zeros(int(np.prod(batch)), kind)
        repeat.rounds(flat, [], counts, most=most)
        return *(x.reshape(batch + x.shape[1:]) for x in flat[:states]), counts.reshape(batch)

    return run


def settle(nodes, q, target, stiffness):
    """A round of q ← q − residual / stiffness, where springs carry gravity: residual = g(q) + stiffness (q − target)."""
    tree, s = nodes.tree, nodes.blocks(q)
    load, _, _ = inverse_dynamics(s, at_rest(s, nodes.falling), tree.split(nodes.zeros))
    q, target = tree.split(q), tree.split(target)
    new, size = tree.slots(2)
    for k in tree.base_to_tips():
        residual = load[k] + stiffness * (q[k] - target[k])
        new[k] = q[k] - residual / stiffness
        size[k] = residual.mT @ residual
    return tree.join(new), np.where(tree.total(size) < 1e-20 * stiffness**2, 1.0, 0.0)[..., 0, 0]


def stiffness_of(n):
    """Some times the stiffness of gravity, which grows as the cube of the length, so that the iteration contracts."""
    return 20.0 * n**3


def sweeps(n):
    """Plain and rolled nodes of a chain, and the round as a kernel of (q, target)."""
    nodes = lw.Dynamics(lw.load(f"chain:{n}"), compiled=False).lowered.nodes
    inputs = Input("q", (n,)), Input("v", (n,))
    function = partial(settle, stiffness=stiffness_of(n))
    return nodes, RolledFunction.of("settle", nodes, function, inputs).kernel


def test_a_rolled_sweep_is_repeated_until_each_sample_is_done(rng):
    """A hanging chain of 1,000 links on springs: g(q) + K (q − target) = 0; a vector of samples, and some more."""
    n, count = 1000, 11
    nodes, kernel = sweeps(n)
    target = rng.standard_normal((count, n)) * np.linspace(0.01, 1.0, count)[:, None]
    q, taken = rounds(kernel, "d", MOST)(np.zeros((count, n)), target)
    plain, expected = lw.iterate(lambda q: _plain(nodes, n, q, target), np.zeros((count, n)), most=MOST)
    np.testing.assert_allclose(q, plain, rtol=0, atol=1e-11)
    np.testing.assert_array_equal(taken, expected)
    assert 2 < taken.min() <= taken.max() < MOST
    residual = quantities.gravity_force(nodes, q) + stiffness_of(n) * (q - target)
    assert np.abs(residual).max() < 1e-9 * stiffness_of(n)


def _plain(nodes, n, q, target):
    new, done = settle(nodes, q, target, stiffness_of(n))
    return new, done != 0


def test_samples_do_not_depend_on_their_neighbours(rng):
    """One by one, together, in any order, beside one that is not a number."""
    n = 30
    repeated = rounds(sweeps(n)[1], "d", MOST)
    target = rng.standard_normal((19, n))
    alone = [np.stack(x) for x in zip(*(repeated(np.zeros(n), x) for x in target))]
    target[3] = np.nan
    found, taken = repeated(np.zeros(n), target[::-1])
    others = np.arange(19) != 3
    np.testing.assert_array_equal(found[::-1][others], alone[0][others])
    np.testing.assert_array_equal(taken[::-1][others], alone[1][others])
    assert taken[::-1][3] == MOST + 1


def test_a_rolled_sweep_makes_steps_whose_rows_are_kept(rng):
    """A chain of 150 links: each second of seven steps is what the kernel makes of the one before, to the bit."""
    n, count, steps = 150, 11, 7
    nodes = lw.Dynamics(lw.load(f"chain:{n}"), compiled=False).lowered.nodes
    pull = lambda nodes, q, target: settle(nodes, q, target, stiffness_of(n))[0]
    kernel = RolledFunction.of("pull", nodes, pull, (Input("q", (n,)), Input("v", (n,)))).kernel
    start, target = rng.standard_normal((2, count, n))
    rows = np.full((steps // 2 + 1, count, n), np.nan)
    Repeat(kernel, "d", Form(1)).steps([start, target], [rows], steps, 2)
    q = start
    for i in range(1, steps + 1):
        q = kernel.gufunc("d")(q, target)
        if i % 2 == 0:
            np.testing.assert_array_equal(rows[i // 2], q)


@pytest.mark.parametrize("kind", ["d", "f"])
@pytest.mark.parametrize("most", [0, 1, 25])
def test_a_straight_kernel_is_repeated_as_iterate_does(kind, most, rng):
    """x ← cos(x + p), with two states, one of them a matrix."""

    def step(x, y, p):
        new = np.cos(x + p) / 2
        return new, y / 2 + 1, np.where(np.max(np.abs(new - x)) < 1e-4, 1.0, 0.0)

    f = rounds(Kernel("step", step, (Input("x", (3,)), Input("y", (2, 2)), Input("p", (3,)))), kind, most, 2)
    x, y, p = (rng.standard_normal((13, *shape)).astype(kind) for shape in ((3,), (2, 2), (3,)))
    a, b, taken = f(x, y, p)
    for i in range(13):
        (c, d), expected = lw.iterate(lambda x, y, p=p[i]: step(x, y, p), (x[i], y[i]), most=most)
        np.testing.assert_allclose(a[i], c, atol=1e-6)
        np.testing.assert_allclose(b[i], d, atol=1e-6)
        assert taken[i] == expected


def test_a_kernel_that_does_not_return_its_states_is_told():
    kernel = Kernel("shrunk", lambda x: (x[:2], x[0]), (Input("x", (3,)),))
    with pytest.raises(TraceError, match="shrunk cannot be repeated"):
        rounds(kernel, "d", 5)
