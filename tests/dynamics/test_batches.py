"""Batch axes lead, whatever their shape; one sample never knows of another; float32 stays float32."""

from types import SimpleNamespace

import numpy as np
import pytest
from zoo import CALLS, close, each, every_call, robots, state
from zoo.mechanisms import ROBOTS

from linkwork.quantities import QUANTITIES

SHAPES = {
    "mass_matrix": ("nv", "nv"), "mass_matrix_inverse": ("nv", "nv"), "coriolis_matrix": ("nv", "nv"),
    "inverse_dynamics": ("nv",), "inverse_dynamics pushed": ("nv",), "forward_dynamics": ("nv",),
    "forward_dynamics pushed": ("nv",), "bias": ("nv",), "gravity_force": ("nv",), "passive_force": ("nv",),
    "kinetic_energy": (), "potential_energy": (), "center_of_mass": (3,), "centroidal_momentum": (6,),
    "poses": ("nb", 4, 4), "pose": (4, 4), "jacobian": (6, "nv"), "jacobian world": (6, "nv"),
    "integrate": ("nq",), "difference": ("nv",), "qdot": ("nq",),
}  # fmt: skip
every_shape = pytest.mark.parametrize("shape", [(), (5,), (2, 3)], ids=str)


def size(robot, name):
    sizes = {"nq": robot.nq, "nv": robot.nv, "nb": len(robot.bodies)}
    return tuple(sizes.get(n, n) for n in SHAPES[name])


@robots(*ROBOTS)
@every_shape
def test_a_batch_is_its_samples_one_by_one(robot, shape):
    """f(q, v)[i] = f(q[i], v[i]), of the shape that is written."""
    s = state(robot, shape)
    for name, call in CALLS.items():
        whole = call(robot, s)
        assert whole.shape == (*shape, *size(robot, name)), name
        for i in np.ndindex(*shape):
            close(whole[i], call(robot, each(s, lambda x, i=i: x[i])))


@robots("tree", "planar", "welded", "geared", "fixed", "free kernel")
@pytest.mark.parametrize("alone", ["q", "v", "vdot", "tau", "external"])
def test_one_of_a_kind_goes_with_many_of_the_others(robot, alone):
    """q (nq,) with v (5, nv), and the like, as NumPy broadcasts."""
    s = state(robot, (5,))
    one = each(s, lambda x: x)
    setattr(one, alone, getattr(s, alone)[2])
    many = each(s, lambda x: x)
    setattr(many, alone, np.stack([getattr(s, alone)[2]] * 5))
    for call in CALLS.values():
        close(call(robot, one), call(robot, many))


@robots("tree", "forest", "fixed", "free kernel")
def test_batch_axes_of_different_inputs_meet(robot):
    """q (4, 1, nq) with v (5, nv) is (4, 5, ...)."""
    s, t = state(robot, (4, 1)), state(robot, (5,), seed=1)
    mixed = SimpleNamespace(q=s.q, v=t.v, vdot=t.vdot, tau=s.tau, external=t.external)
    for name in "inverse_dynamics pushed", "forward_dynamics pushed", "kinetic_energy", "coriolis_matrix", "integrate":
        whole = CALLS[name](robot, mixed)
        assert whole.shape == (4, 5, *size(robot, name))
        pick = SimpleNamespace(q=s.q[3, 0], v=t.v[2], vdot=t.vdot[2], tau=s.tau[3, 0], external=t.external[2])
        close(whole[3, 2], CALLS[name](robot, pick))


@robots("tree", "fixed", "free kernel")
@every_call
def test_a_batch_of_none_gives_none(robot, name):
    assert CALLS[name](robot, state(robot, (0,))).shape == (0, *size(robot, name))


@robots("tree", "floating", "geared", "free kernel", "universal kernel")
@every_call
def test_a_sample_that_is_not_a_number_stays_alone(robot, name):
    """NaN in, NaN out for that sample only, unless the result is a constant."""
    s = state(robot, (4,))
    spoiled = each(s, np.copy)
    for x in vars(spoiled).values():
        x[1] = np.nan
    good, bad = CALLS[name](robot, s), CALLS[name](robot, spoiled)
    np.testing.assert_array_equal(np.delete(bad, 1, 0), np.delete(good, 1, 0))
    assert np.isnan(bad[1]).any() or (good == good[0]).all()


@robots("tree", "floating", "planar 2R", "geared", "universal kernel")
@every_call
def test_float32_stays_float32(robot, name):
    """float32 in, float32 out, and the same number to its precision."""
    s = each(state(robot, (5,)), np.float32)
    single, double = CALLS[name](robot, s), CALLS[name](robot, each(s, np.float64))
    assert single.dtype == np.float32 and double.dtype == np.float64
    close(single, double, 2e-4 if "inverse" in name or "forward" in name else 3e-6)


@robots("fixed")
@every_call
def test_a_mechanism_that_cannot_move_has_quantities_too(robot, name):
    s = state(robot, (2, 3))
    assert CALLS[name](robot, s).shape == (2, 3, *size(robot, name))
    assert CALLS[name](robot, each(s, np.float32)).dtype == np.float32


@robots("tree", "universal kernel")
def test_whole_numbers_and_lists_are_numbers(robot):
    """Lists and integers are taken as float64."""
    q = robot.neutral().astype(int)
    v = [1] * robot.nv
    result = robot.bias(q.tolist(), v)
    assert result.dtype == np.float64
    close(result, robot.bias(q.astype(float), np.ones(robot.nv)))


@robots("tree", "universal kernel")
def test_one_double_makes_the_result_double(robot):
    s = state(robot)
    assert robot.bias(s.q.astype(np.float32), s.v).dtype == np.float64


@robots("tree", "fixed", "free kernel")
@every_call
def test_out_is_filled_and_returned(robot, name):
    """out= takes the result, and is it."""
    s = state(robot, (2,))
    expected = CALLS[name](robot, s)
    out = np.full_like(expected, np.nan)

    class Into:  # the robot with out= in every call
        bodies = robot.bodies

        def __getattr__(self, method):
            return lambda *args: getattr(robot, method)(*args, out=out if method == name.split()[0] else None)

    assert CALLS[name](Into(), s) is out
    np.testing.assert_array_equal(out, expected)


@robots("tree", "free kernel")
@every_call
def test_what_is_returned_can_be_written_to_and_what_was_given_is_left_alone(robot, name):
    s = state(robot, (2,))
    before = each(s, np.copy)
    CALLS[name](robot, s)[...] = 7.0
    for key, x in vars(s).items():
        np.testing.assert_array_equal(x, getattr(before, key))


@robots("tree", "free kernel")
@every_call
def test_arrays_in_any_order_in_memory_are_the_same_numbers(robot, name):
    """Transposed, strided and read-only inputs."""
    s = state(robot, (3,))

    def awkward(x):
        wide = np.zeros((*x.shape[:-1], 2 * x.shape[-1]))
        wide[..., ::2] = x
        wide.flags.writeable = False
        return wide[..., ::2]

    close(CALLS[name](robot, each(s, awkward)), CALLS[name](robot, s), 1e-13)


def test_every_public_quantity_is_called_here():
    """A new method of Dynamics belongs into CALLS, or is a declared quantity, which test_every_road.py takes by itself."""
    methods = {name for name in vars(type(ROBOTS["tree"])) if not name.startswith("_")}
    described = {"nq", "nv", "long", "decided_by", "bodies", "joints", "q_index", "v_index", "neutral", "random_state"}
    described |= {"operators", "kernel", "varying", "program", "export_c", "export", "symbolic", "quantity"}
    described |= {"hybrid_dynamics", "task_jacobian", "task_compliance", "task_inertia", "joint_wrenches"}  # tests/operators
    described |= {"ask"}  # tests/test_extending.py
    described |= {"as_kernel", "derivative", "linearize", "jax", "export_casadi"}  # tests of derivatives
    described |= {"actuated", "actuators", "contacts", "free_flying", "diagonal"} | set(QUANTITIES)
    described |= {"contact_dynamics", "equilibrium", "modes", "geared"}  # tests/contact, tests/answers, tests/book
    described |= {"constraints", "constraint_report", "assemble", "constraint_forces", "motor_forces"}  # tests/constraints
    assert methods - described <= {name.split()[0] for name in CALLS}
    assert set(CALLS) == set(SHAPES)
