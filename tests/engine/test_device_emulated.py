"""Arrays on a GPU in, the same kind out: all of it but the GPU, for which something stands in."""

import numpy as np
import pytest
import stand_in

import linkwork as lw
from linkwork.engine.loading.cuda import DeviceError
from linkwork.engine.running import device
from linkwork.errors import ModelError

ARM = lw.Dynamics(lw.load("arm_6r"))
THERE = lw.Dynamics(lw.load("arm_6r"))  # never asked with arrays of NumPy, which those that stand in are too


@pytest.fixture
def cupy(monkeypatch):
    return stand_in.install(monkeypatch)


def state(count=70):
    q, v = ARM.random_state(count, seed=0)
    return q, v, np.random.default_rng(1).standard_normal(v.shape)


def same(found, expected):
    assert type(found) is stand_in.ndarray
    np.testing.assert_array_equal(np.asarray(found), expected)


def test_any_layout_gives_the_same_numbers(cupy):
    q, v, u = state()
    expected = ARM.forward_dynamics(q, v, u)
    there = [cupy.asarray(x) for x in (q, v, u)]
    same(THERE.forward_dynamics(*there), expected)
    same(THERE.forward_dynamics(*(cupy.asarray(x.T).T for x in (q, v, u))), expected)
    same(THERE.forward_dynamics(*(cupy.asarray(np.repeat(x, 2, -1))[:, ::2] for x in (q, v, u))), expected)
    same(THERE.forward_dynamics(there[0][0], *there[1:]), ARM.forward_dynamics(q[0], v, u))
    same(THERE.forward_dynamics(*(x.reshape(7, 10, 6) for x in there)), expected.reshape(7, 10, 6))
    out = cupy.empty((70, 6))
    assert THERE.forward_dynamics(*there, out=out) is out
    same(out, expected)


def test_a_result_may_be_written_over_an_input(cupy):
    q, v, u = state()
    q[3, 1] = 1e12
    there = [cupy.asarray(x) for x in (q, v, u)]
    same(THERE.forward_dynamics(*there, out=there[2]), ARM.forward_dynamics(q, v, u))


def test_a_rollout_has_the_bits_of_one_on_the_cpu(cupy):
    q, v, _ = state()
    tau = np.random.default_rng(2).standard_normal((70, 6, 6))
    for controls in (None, tau, tau[:, :1], tau[0, 0]):
        expected = lw.rollout(ARM, q, v, controls, dt=0.01, steps=6, every=2)
        there = None if controls is None else cupy.asarray(controls)
        found = lw.rollout(THERE, cupy.asarray(q), cupy.asarray(v), there, dt=0.01, steps=6, every=2)
        for a, b in zip(found, expected):
            same(a, b)


def test_a_batch_of_any_axes_and_room_given_make_no_difference(cupy):
    q, v, _ = state()
    expected = lw.rollout(ARM, q, v, dt=0.01, steps=4)
    there = [cupy.asarray(x).reshape(7, 10, 6) for x in (q, v)]
    same(lw.rollout(THERE, *there, dt=0.01, steps=4).q, expected.q.reshape(7, 10, 5, 6))
    out = cupy.empty((70, 5, 6)), cupy.empty((70, 5, 6))
    lw.rollout(THERE, cupy.asarray(q), cupy.asarray(v), dt=0.01, steps=4, out=out)
    same(out[0], expected.q)
    same(out[1], expected.v)


@ARM.kernel(gain=())
def holds(t, q, v, gain, target):
    return gain * (target - q) + np.sin(t)


@ARM.kernel(again=(), q_new=6)
def restarted(q, v, again, q_new):
    return np.where(again > 0, q_new, q), np.where(again > 0, 0 * v, v)


def test_policy_reset_and_constants_run_inside_the_loop_there_too(cupy):
    q, v, target = state()
    varying, rng = ARM.varying("mass"), np.random.default_rng(3)
    given = {"gain": np.float64(3.0), "target": target, "q_new": q[::-1], "mass": rng.uniform(0.5, 2, (70, 1)) * varying.value("mass")}
    how = {"dt": 0.01, "steps": 8, "reset": restarted}
    again = rng.random((70, 8)) < 0.2
    expected = lw.rollout(varying, q, v, holds, given=given, each_step={"again": again}, **how)
    given = {name: cupy.asarray(x) for name, x in given.items()}
    found = lw.rollout(varying, *map(cupy.asarray, (q, v)), holds, given=given, each_step={"again": cupy.asarray(again)}, **how)
    same(found.q, expected.q)
    same(found.v, expected.v)


def test_the_gradient_of_a_rollout_is_that_of_the_cpu(cupy):
    """Straight from stored states, and from checkpoints, whose rows lie otherwise in memory."""
    q, v, _ = state()
    tau, by_q, by_v = (np.random.default_rng(n).standard_normal((70, rows, 6)) for n, rows in ((2, 6), (3, 4), (4, 4)))
    how = {"dt": 0.01, "steps": 6, "every": 2}
    expected = lw.rollout_gradient(ARM, q, v, tau, weights=(by_q, by_v), **how)
    for spacing in (1, 4):
        there = [cupy.asarray(x) for x in (q, v, tau)]
        found = lw.rollout_gradient(THERE, *there, weights=(cupy.asarray(by_q), cupy.asarray(by_v)), checkpoint=spacing, **how)
        for a, b in zip(found[:3], expected[:3]):
            assert type(a) is stand_in.ndarray
            np.testing.assert_allclose(np.asarray(a), b, rtol=0, atol=1e-12 * abs(b).max())


def test_a_users_kernel_runs_there(cupy):
    power = THERE.kernel(lambda q, v, tau: tau @ v + THERE.kinetic_energy(q, v))
    q, v, u = state()
    same(power(*map(cupy.asarray, (q, v, u))), power(q, v, u))


def test_constants_may_vary_there(cupy):
    q, v, u = state()
    varying = ARM.varying("mass", "gravity")
    masses = np.linspace(0.5, 2, 70)[:, None] * varying.value("mass")
    expected = varying.forward_dynamics(q, v, u, mass=masses)
    same(varying.forward_dynamics(*map(cupy.asarray, (q, v, u)), mass=cupy.asarray(masses)), expected)


def test_derivatives_are_taken_there(cupy):
    """by q and by constants, the model's own and others"""
    here, there = (lw.Dynamics(lw.load("double_pendulum")) for _ in range(2))
    q, v = here.random_state(70, seed=0)
    masses = np.linspace(0.5, 2, 70)[:, None] * here.varying("mass").value("mass")
    given = [cupy.asarray(x) for x in (q, v, v)]
    same(there.derivative("inverse_dynamics", *given, by="mass"), here.derivative("inverse_dynamics", q, v, v, by="mass"))
    same(there.derivative("inverse_dynamics", *given, mass=cupy.asarray(masses)), here.derivative("inverse_dynamics", q, v, v, mass=masses))
    same(there.gravity_force_derivative(given[0]), here.gravity_force_derivative(q))


def test_functions_of_the_batch_are_asked_there(cupy):
    q, v, target = state()
    again = np.zeros((70, 5))
    again[::3, 2] = 1

    def run(place, control):
        how = {"dt": 0.01, "steps": 5, "every": 2, "reset": restarted}
        given, each_step = {"q_new": place(target)}, {"again": place(again)}
        return lw.rollout(ARM, place(q), place(v), control, given=given, each_step=each_step, **how)

    expected, found = (run(place, lambda t, Q, V: -0.5 * V) for place in (np.asarray, cupy.asarray))
    same(found.q, expected.q)


def test_arrays_in_different_places_are_refused(cupy):
    q, v, u = state()
    with pytest.raises(DeviceError, match=r"different places \(q on the GPU, v on the CPU, tau on the CPU\)"):
        THERE.forward_dynamics(cupy.asarray(q), v, u)
    with pytest.raises(DeviceError, match=r"different places \(Q0 on the GPU, V0 on the CPU\)"):
        lw.rollout(THERE, cupy.asarray(q), v, dt=0.01, steps=1)
    with pytest.raises(DeviceError, match=r"different places \(the states on the GPU, controls on the CPU\)"):
        lw.rollout(THERE, cupy.asarray(q), cupy.asarray(v), u[:, None], dt=0.01, steps=1)


def test_types_do_not_mix(cupy):
    q, v, u = map(cupy.asarray, state())
    with pytest.raises(DeviceError, match="mix float64 and float32"):
        THERE.forward_dynamics(q, v.astype(np.float32), u)
    with pytest.raises(DeviceError, match="mix float64 and float32"):
        THERE.forward_dynamics(q, v, u, out=cupy.empty((70, 6), dtype=np.float32))
    with pytest.raises(DeviceError, match="has dtype int64; kernels take"):
        THERE.forward_dynamics(q, v, u.astype(int))


@pytest.mark.parametrize("name", ["forward_dynamics", "inverse_dynamics", "integrate", "kinetic_energy"])
def test_a_rolled_kernel_has_the_bits_of_the_cpu(cupy, monkeypatch, name):
    """Also where there is scratch memory for few threads, which then do several samples each."""
    model = lw.load("satellite")
    here, there = (lw.Dynamics(model, rolled=True) for _ in range(2))
    q, v = here.random_state(200, seed=0)
    u = np.random.default_rng(1).standard_normal(v.shape)
    given = {"forward_dynamics": (q, v, u), "inverse_dynamics": (q, v, u), "integrate": (q, v), "kinetic_energy": (q, v)}[name]
    expected = getattr(here, name)(*given)
    for room in (device.WORKSPACE, 1):
        monkeypatch.setattr(device, "WORKSPACE", room)
        same(getattr(there, name)(*map(cupy.asarray, given)), expected)
        same(getattr(there, name)(*(cupy.asarray(x.T).T for x in given)), expected)


def test_a_kernel_that_loops_over_loops_has_the_bits_of_the_cpu(cupy):
    model = lw.load("four_bar")
    here, there = (lw.Dynamics(model, rolled=True) for _ in range(2))
    q = np.array([here.assemble(x) for x in here.neutral() + 0.1 * np.random.default_rng(0).standard_normal((7, 3))])
    v, u = np.zeros((7, 3)), np.random.default_rng(1).standard_normal((7, 3))
    same(there.forward_dynamics(*map(cupy.asarray, (q, v, u))), here.forward_dynamics(q, v, u))
    with pytest.raises(ModelError, match="forward dynamics without external"):
        there.forward_dynamics(*map(cupy.asarray, (q, v, u)), external=cupy.asarray(np.zeros((7, 3, 6))))


@pytest.mark.parametrize("way", ["jvp", "vjp"])
def test_derivatives_of_a_rolled_kernel_have_the_bits_of_the_cpu(cupy, way):
    kernel = lw.Dynamics(lw.load("arm_6r"), rolled=True).as_kernel("inverse_dynamics")
    given = [np.random.default_rng(n).standard_normal((70, 6)) for n in range(6 if way == "jvp" else 4)]
    expected = getattr(kernel, way)(*given)
    found = getattr(kernel, way)(*map(cupy.asarray, given))
    for a, b in zip(found if way == "vjp" else (found,), expected if way == "vjp" else (expected,)):
        same(a, b)


def test_derivatives_that_numpy_finishes_are_refused_there(cupy):
    kernel = lw.Dynamics(lw.load("arm_6r"), rolled=True).as_kernel("poses").jvp
    with pytest.raises(lw.TraceError, match="Call it with NumPy arrays"):
        kernel(*map(cupy.asarray, (state()[0], state()[0])))


def test_a_rolled_matrix_is_refused_there(cupy):
    there = lw.Dynamics(lw.load("arm_6r"), rolled=True)
    with pytest.raises(DeviceError, match="q is on the GPU, where a rolled mass_matrix does not run: use Dynamics"):
        there.mass_matrix(cupy.asarray(state()[0]))


def test_a_robot_with_loops_has_the_numbers_of_its_formula_and_of_its_rollout(cupy):
    here, there = lw.Dynamics(lw.load("four_bar")), lw.Dynamics(lw.load("four_bar"))
    q, v = map(np.array, zip(*(here.constraints.random_state(seed=i) for i in range(40))))
    u = np.random.default_rng(0).standard_normal(v.shape)
    on_gpu = [cupy.asarray(x) for x in (q, v, u)]
    same(there.forward_dynamics(*on_gpu), here.as_kernel("forward_dynamics")(q, v, u))
    expected = lw.rollout(here, q, v, dt=0.01, steps=4)
    found = lw.rollout(there, *on_gpu[:2], dt=0.01, steps=4)
    for a, b in zip(found, expected):
        same(a, b)
    lengths = here.varying("loop_on").value("loop_on") * np.linspace(0.999, 1.001, 40)[:, None, None]
    same(there.varying("loop_on").forward_dynamics(*on_gpu, loop_on=cupy.asarray(lengths)),
         here.varying("loop_on").forward_dynamics(q, v, u, loop_on=lengths))  # fmt: skip


def test_an_ensemble_has_the_numbers_of_one_on_the_cpu(cupy):
    """Adaptive steps, statistics, events, what is given and held controllers: one thread makes all steps of a sample."""
    robot, there = (lw.Dynamics(lw.load("double_pendulum")) for _ in range(2))
    q, v = robot.random_state((5,), seed=0)
    goal = np.linspace(-1, 1, 10).reshape(5, 2)

    def run(robot, put):
        pull = robot.kernel(goal=2)(lambda q, v, goal: goal - q - 0.1 * v)
        energy = robot.kernel()(lambda q, v: robot.kinetic_energy(q, v) + robot.potential_energy(q))
        crossing = lw.Event(robot.kernel()(lambda q: q[0]), "crossing")
        how = {"statistics": {"energy": energy}, "events": [crossing], "given": {"goal": put(goal)}}
        return lw.simulate(robot, (put(q), put(v)), until=0.3, control=[pull, lw.hold(pull, rate=10.0)], **how)

    start = lw.simulate(
        there, (cupy.asarray(q), cupy.asarray(v)), until=0.0, save=lw.Save(statistics={"angle": there.kernel()(lambda q: q[0])})
    )
    np.testing.assert_array_equal(np.asarray(start.statistics["angle"].mean), q[:, 0])
    here, made = run(robot, np.asarray), run(there, cupy.asarray)
    assert type(made.end.q) is stand_in.ndarray and made.status.tolist() == here.status.tolist() and "5 finished" in str(made)
    np.testing.assert_array_equal(made.steps, here.steps)
    for found, expected in (
        (made.end.q, here.end.q), (made.end.v, here.end.v), (made.statistics["energy"].mean, here.statistics["energy"].mean),
        (made.statistics["energy"].greatest, here.statistics["energy"].greatest),
        (made.events["crossing"].first, here.events["crossing"].first),
    ):  # fmt: skip
        np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-10, atol=1e-12)
