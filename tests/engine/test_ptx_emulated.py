"""GPU kernels without a GPU: their own text, run on the CPU thread after thread, gives the bits of the CPU kernels."""

import ctypes

import numpy as np
import pytest
from emulated import emulated

import linkwork as lw
from linkwork.engine.running import ptx, ptx_repeat
from linkwork.engine.running.repeat import Form
from linkwork.simulate.methods.fixed_step import LENGTH, TAU, FixedStep

ROBOT = lw.Dynamics(lw.load("satellite"))
ARM = lw.Dynamics(lw.load("arm_6r"))
KINDS = {"double": np.float64, "float": np.float32}
every_kind = pytest.mark.parametrize("dtype", KINDS)
every_layout = pytest.mark.parametrize("layout", ["rows", "columns"])


def laid(x, layout):
    """Samples apart, or side by side; and the step between them, or between their numbers."""
    flat = x.reshape(len(x), -1)
    return (flat.copy(), flat.shape[1]) if layout == "rows" else (flat.T.copy(), len(x))


def back(x, layout, shape):
    return (x if layout == "rows" else x.T).reshape(shape)


def pointer(x):
    return ctypes.c_void_p(x.ctypes.data)


def run(program, dtype, layout, arrays, shapes):
    """A kernel, and @far behind it, as DeviceKernel launches them."""
    samples, flag = len(arrays[0]), np.zeros(4, np.int32)
    text = ptx.text(program, dtype, (layout,) * (len(arrays) + len(shapes)))
    places = [laid(x, layout) for x in arrays] + [laid(np.full((samples, *s), np.nan, KINDS[dtype]), layout) for s in shapes]
    arguments = [x for place, step in places for x in (pointer(place), step)]
    for name in ("kernel", "far") if "@far(" in text else ("kernel",):
        emulated(text, name)(samples, samples, pointer(flag), *arguments)
    return [back(place, layout, (samples, *s)) for (place, _), s in zip(places[len(arrays) :], shapes)], flag[0]


@every_kind
@every_layout
@pytest.mark.parametrize("name", ["forward_dynamics", "inverse_dynamics", "integrate", "center_of_mass"])
def test_a_gpu_kernel_has_the_bits_of_the_cpu_kernel(name, layout, dtype):
    robot = ROBOT
    program, rng = robot.program(name), np.random.default_rng(0)
    q, v = (x.astype(KINDS[dtype]) for x in robot.random_state(70, seed=0))
    given = {"q": q, "v": v, "dv": v}
    arrays = [given.get(x.name, rng.standard_normal(v.shape).astype(KINDS[dtype])) for x in program.inputs]
    expected = getattr(robot, name)(*arrays)
    (result,), _ = run(program, dtype, layout, arrays, [expected.shape[1:]])
    np.testing.assert_array_equal(result, expected)


@every_kind
@pytest.mark.parametrize("what", ["hamiltonian", "generalized_momentum", ("body_velocity", "left_panel3", "right_panel1", "world")])
def test_momenta_and_relative_velocities(what, dtype):
    """Of a craft in a current as well, whose blocks are not a rigid tree's."""
    panel = lw.Immersed("left_panel1", 0.01, added_mass=np.full(6, 0.3), quadratic_drag=np.full(6, 0.2))
    wet = ROBOT.model.in_fluid(panel, current=(1, 0, 0))
    for robot, asked in ((ROBOT, what), (lw.Dynamics(wet), "forward_dynamics")):
        arrays = [x.astype(KINDS[dtype]) for x in robot.random_state(5, seed=0)]
        arrays += [arrays[1]] * (asked == "forward_dynamics")
        expected = robot.ask(asked, *arrays)
        (result,), _ = run(robot.program(asked), dtype, "rows", arrays, [expected.shape[1:]])
        np.testing.assert_array_equal(result, expected)


@every_layout
def test_a_large_angle_and_a_nan_disturb_nobody(layout):
    q, v = ARM.random_state(70, seed=0)
    q[3, 2], q[66, 0], q[9, 1] = 3e12, -7e11, np.nan
    expected = ARM.forward_dynamics(q, v, v)
    (result,), flag = run(ARM.program("forward_dynamics"), "double", layout, [q, v, v], [(6,)])
    assert flag == 1 and np.isnan(expected).any(1).sum() == 1
    np.testing.assert_array_equal(result, expected)


@every_kind
@every_layout
@pytest.mark.parametrize("every", [1, 3])
@pytest.mark.parametrize("robot", [ROBOT, ARM], ids=["satellite", "arm"])
def test_a_march_on_the_gpu_has_the_bits_of_the_march_on_the_cpu(robot, layout, dtype, every):
    """Forces for each step, a constant of each robot's own, and kept rows anywhere."""
    kind, samples, steps, rows = KINDS[dtype], 70, 7, 7 // every
    q, v = (x.astype(kind) for x in robot.random_state(samples, seed=0))
    q[5, -1] = 3e6
    tau = np.random.default_rng(1).standard_normal((samples, steps, robot.nv)).astype(kind)
    h = np.full(samples, 0.01, kind)
    expected = lw.rollout(robot, q, v, tau, dt=0.01, steps=steps, every=every)
    program = FixedStep(robot, "euler").kernel({TAU: (robot.nv,), LENGTH: ()}).program
    (first, fast), length = (laid(x, layout) for x in (q, v)), (h, 1)
    forces = [laid(tau[:, i], layout)[0] for i in range(steps)]
    kept = [[laid(np.full_like(x, np.nan), layout)[0] for _ in range(rows + 1)] for x in (q, v)]
    stream, kept = np.stack(forces), [np.stack(x) for x in kept]
    one = {"rows": lambda x: x.shape[2], "columns": lambda x: samples}[layout]
    places = [first, fast, (stream, one(stream)), length, *((x, one(x)) for x in kept)]
    layouts = (layout, layout, layout, "rows", layout, layout)
    onward = [x[0].size for x in (stream, *kept)]
    march = emulated(ptx_repeat.text(program, dtype, layouts, Form(2, 1)))
    march(samples, samples, steps, every, *(x for place, step in places for x in (pointer(place), step)), *onward)
    for x, whole in zip(kept, (expected.q, expected.v)):
        for row in range(1, rows + 1):
            np.testing.assert_array_equal(back(x[row], layout, whole[:, row].shape), whole[:, row])
        assert np.isnan(x[0]).all()
