"""Derivatives of rolled kernels: sweeps with rates beside their values, and transposed sweeps, O(N) in time and memory."""

import re
from itertools import product

import numpy as np
import pytest
from pairwise import pairwise
from zoo import MECHANISMS

import linkwork as lw
from linkwork.engine.running import ptx, ptx_rolled
from linkwork.engine.tracing import trace
from linkwork.engine.writers import rolled_llvm
from linkwork.engine.writers.llvm import Kind
from linkwork.quantities import QUANTITIES

MODELS = MECHANISMS | {"chain:3": lw.load("chain:3")}
ROLL = [name for name, x in QUANTITIES.items() if x.rolls and x.product is None and x.decided_by]
TREES = "tree", "chain", "floating", "forest", "welded", "geared"
SIMPLE = ["inverse_dynamics", "forward_dynamics", "kinetic_energy", "center_of_mass", "integrate", "body_velocities"]
LONG = {n: lw.Dynamics(lw.load(f"chain:{n}"), rolled=True) for n in (100, 300)}


def drawn(kernel, robot, batch=(), dtype=float, seed=0):
    """Arguments of a kernel; coordinates on their groups."""
    rng = np.random.default_rng(seed)
    q, _ = robot.random_state(batch, seed=seed)
    scale = 0.1 if robot.nv > 20 else 1.0
    out = []
    for x in kernel.inputs():
        given = robot.integrate(scale * q if robot.nq == robot.nv else q, 0.2 * rng.standard_normal(robot.nv)) if x.name[0] == "q" else None
        out.append((scale * rng.standard_normal(batch + x.shape) if given is None else given).astype(dtype))
    return out


def as_tuple(x):
    return x if isinstance(x, tuple) else (x,)


def agree(found, expected, tolerance=1e-12):
    """|found − expected| ≤ tolerance max |expected|, for each result."""
    found, expected = as_tuple(found), as_tuple(expected)
    assert [(x.shape, x.dtype) for x in found] == [(x.shape, x.dtype) for x in expected]
    for a, b in zip(found, expected):
        assert np.abs(a - b).max(initial=0.0) <= tolerance * max(1.0, np.abs(b).max(initial=0.0))


def same_derivatives(straight, rolled, robot, ways=("jvp", "vjp"), batch=(), dtype=float, tolerance=1e-11):
    for way in ways:
        a, b = straight, rolled
        for each in way.split("."):
            a, b = getattr(a, each), getattr(b, each)
        assert a.inputs() == b.inputs() and b.rolled() is not None and a.rolled() is None
        given = drawn(a, robot, batch, dtype)
        agree(b(*given), a(*given), tolerance)


def both(model):
    return [lw.Dynamics(model, rolled=x) for x in (False, True)]


# --- the same as those of straight-line code


@pytest.mark.parametrize("what", [*SIMPLE, ("inverse_dynamics", "external"), "poses"], ids=str)
def test_derivatives_of_a_loop_are_those_of_straight_line_code(what):
    straight, rolled = both(MODELS["chain:3"])
    same_derivatives(straight.as_kernel(what), rolled.as_kernel(what), straight, ("jvp", "vjp"), (3,))


@pytest.mark.parametrize("mechanism", ["spherical", pytest.param("compound", marks=pytest.mark.slow), "welded"])
@pytest.mark.parametrize("what", ["bias", "potential_energy", "poses", "joint_forces", "integrate"])
def test_also_on_groups_of_compound_joints_and_of_welded_bodies(mechanism, what):
    """Derivatives by q along the group; bodies on the world; wrenches on bodies that share a node."""
    straight, rolled = both(MODELS[mechanism])
    same_derivatives(straight.as_kernel(what), rolled.as_kernel(what), straight)


def cells():
    """Each pair of a joint and a quantity, rates and transposes in turn; of trees of many joints, which take seconds, two a quantity."""
    yield from pairwise(product([name for name in MODELS if name not in (*TREES, "fixed", "massless")], ROLL, ("jvp", "vjp")))
    for i, what in enumerate(ROLL):
        yield from ((TREES[(i + k) % len(TREES)], what, way) for k, way in ((0, "jvp"), (i // len(TREES) + 1, "vjp")))


@pytest.mark.slow
@pytest.mark.parametrize("mechanism, what, way", list(cells()))
def test_of_every_quantity_and_mechanism(mechanism, what, way):
    straight, rolled = both(MODELS[mechanism])
    if what == "joint_wrenches":
        what = (what, *straight.bodies[-1:])
    if rolled.constraints is not None or rolled.as_kernel(what).rolled() is None:
        pytest.skip("it is no loop")
    same_derivatives(straight.as_kernel(what), rolled.as_kernel(what), straight, [way], tolerance=1e-9)


@pytest.mark.parametrize("what", ["kinetic_energy", "bias", pytest.param("forward_dynamics", marks=pytest.mark.slow)])
def test_of_second_order_forwards_then_backwards(what):
    """Hessian times vector: weight · ∂(rate)."""
    straight, rolled = both(MODELS["chain:3"])
    same_derivatives(straight.as_kernel(what), rolled.as_kernel(what), straight, ("jvp.jvp", "jvp.vjp"))


def test_in_float32_and_into_out():
    straight, rolled = both(MODELS["chain:3"])
    a, b = (robot.as_kernel("inverse_dynamics") for robot in (straight, rolled))
    same_derivatives(a, b, straight, batch=(9,), dtype=np.float32, tolerance=1e-4)
    for way in rolled.as_kernel("poses").jvp, rolled.as_kernel("poses").vjp:
        given = drawn(way, rolled, (2,))
        out = np.zeros_like(way(*given))
        assert way(*given, out=out) is out
        agree(out, way(*given))


def test_shapes_that_do_not_fit_are_named():
    kernel = LONG[100].as_kernel("forward_dynamics").vjp
    q, v, tau, weight = drawn(kernel, LONG[100])
    kernel(q, v, tau, weight)
    with pytest.raises(lw.ShapeError, match="weight has shape"):
        kernel(q, v, tau, weight[:-1])
    poses = LONG[100].as_kernel("poses").vjp
    q, weight = drawn(poses, LONG[100])
    poses(q, weight)
    with pytest.raises(lw.ShapeError, match="weight has shape"):
        poses(q, weight[:-1])


# --- user kernels


def kernels(robot):
    rest = np.linspace(-1, 1, robot.nv)

    def cost(q, v, gains, target):
        tau = -gains[0] * v - gains[1] * (v - rest) + target
        vdot = robot.forward_dynamics(q, v, tau)
        return robot.kinetic_energy(q, v) * gains[1] + gains[0] ** 2 + 0.5 * vdot @ vdot + np.sum(np.sin(v) * target)

    def step(q, v, h):
        w = v + h * robot.forward_dynamics(q, v, robot.gravity_force(q) - 0.3 * v)
        return robot.integrate(q, h * w), w, robot.potential_energy(q)

    return [robot.kernel(cost, gains=2, target=robot.nv), robot.kernel(step, h=())]


@pytest.mark.parametrize("mechanism", ["chain:3", pytest.param("spherical", marks=pytest.mark.slow)])
def test_a_kernel_of_whole_vectors_is_a_loop_with_derivatives(mechanism):
    straight, rolled = both(MODELS[mechanism])
    for a, b in zip(kernels(straight), kernels(rolled)):
        given = drawn(a, straight, (3,))
        agree(b(*given), a(*given))
        same_derivatives(a, b, straight, batch=(3,))


def test_a_kernel_that_takes_entries_is_straight_line_code():
    robot = lw.Dynamics(MODELS["chain:3"], rolled=True)
    for function in (lambda q, v: q[0] * v, lambda q, v: np.where(v > 0, v, q), lambda q, v: robot.mass_matrix(q) @ v,
                     lambda q, v: robot.kinetic_energy(q, v) * v):  # fmt: skip
        kernel, expected = robot.kernel(function), lw.Dynamics(robot.model, rolled=False)
        assert kernel.rolled() is None
        given = drawn(kernel, robot)
        agree(kernel.vjp(*given, np.ones(3)), expected.kernel(function).vjp(*given, np.ones(3)))


def test_why_a_long_kernel_is_no_loop_is_said(monkeypatch):
    robot = LONG[300]
    kernel = robot.kernel(lambda q, v: q[0] * robot.forward_dynamics(q, v, v))
    monkeypatch.setattr(trace, "MOST", 3000)
    with pytest.raises(lw.TraceError) as error:
        kernel(*drawn(kernel, robot))
    assert "not traced as loops over the joints either: an entry" in error.value.__notes__[-1]


# --- size


@pytest.mark.parametrize("name", ["forward_dynamics", "inverse_dynamics"])
def test_long_derivatives_are_those_of_sweeps_written_by_hand(name):
    """The rate of forward dynamics by hand is 𝓜⁻¹ of a difference of large forces, and loses digits."""
    robot, kernel = LONG[300], LONG[300].as_kernel(name)
    for way, by_hand, tolerance in ((kernel.vjp, "gradient", 1e-10), (kernel.jvp, "rate", 1e-10 if name[0] == "i" else 1e-7)):
        given = drawn(way, robot)
        agree(way(*given), robot.ask(f"{name}_{by_hand}", *given), tolerance)


@pytest.mark.parametrize("what", ["forward_dynamics", "kinetic_energy", "poses", "cost", "step"])
def test_weights_times_rates_are_the_same_both_ways(what):
    """w · (J ẋ) = (w J) · ẋ."""
    robot = LONG[300]
    kernel = robot.as_kernel(what) if what in QUANTITIES else kernels(robot)[what == "step"]
    x = drawn(kernel, robot)
    rng = np.random.default_rng(1)
    rates = as_tuple(kernel.jvp(*x, *(dx := [rng.standard_normal(i.shape) for i in kernel.jvp.inputs()[len(x) :]])))
    weights = [rng.standard_normal(y.shape) for y in rates]
    gradients = as_tuple(kernel.vjp(*x, *weights))
    terms = [np.vdot(a, b) for a, b in zip(weights, rates)]
    assert sum(np.vdot(a, b) for a, b in zip(gradients, dx)) == pytest.approx(sum(terms), rel=1e-9, abs=1e-9 * max(map(abs, terms)))


def program(n, name, way):
    return getattr(LONG[n].as_kernel(name), way).rolled().function.kernel.program


@pytest.mark.parametrize("way", ["jvp", "vjp"])
@pytest.mark.parametrize("name", ["forward_dynamics", "kinetic_energy"])
def test_neither_code_nor_memory_of_a_link_grows_with_the_chain(name, way):
    one, three = (program(n, name, way) for n in (100, 300))
    assert one.record == three.record and three.workspace == 301 * three.record
    texts = [re.sub(r"\d+", "0", rolled_llvm.function(x, Kind("double", 8), "f", "")) for x in (one, three)]
    assert texts[0] == texts[1]


def test_the_gradient_of_a_loop_takes_few_more_operations_than_the_loop():
    own = sum(LONG[100].quantity("forward_dynamics").rolled_kernel().program.operations.values())
    assert sum(program(100, "forward_dynamics", "vjp").operations.values()) < 3.2 * own
    assert sum(program(100, "forward_dynamics", "jvp").operations.values()) < 3.0 * own


@pytest.mark.slow
def test_of_ten_thousand_links():
    robot = lw.Dynamics(lw.load("chain:10000"))
    for name in "inverse_dynamics", "forward_dynamics":
        kernel = robot.as_kernel(name)
        given = drawn(kernel.vjp, robot)
        agree(kernel.vjp(*given), robot.ask(f"{name}_gradient", *given), 1e-10)
    kernel = kernels(robot)[1]
    assert all(np.isfinite(x).all() for x in kernel.vjp(*drawn(kernel.vjp, robot)))


# --- elsewhere


@pytest.mark.parametrize("way", ["jvp", "vjp"])
@pytest.mark.parametrize("dtype", ["double", "float"])
def test_derivatives_of_loops_are_written_for_a_gpu(way, dtype):
    found = program(100, "forward_dynamics", way)
    assembly = ptx.ptx(ptx_rolled.text(found, dtype, ("rows",) * (len(found.inputs) + len(found.outputs))), "sm_90")
    assert ".entry kernel" in assembly and ".extern" not in assembly


def test_c_is_straight_line_code(tmp_path):
    robot = lw.Dynamics(MODELS["chain:3"], rolled=True)
    source, _ = robot.export.c(robot.as_kernel("kinetic_energy").vjp, tmp_path)
    assert "weight" in source.read_text()
