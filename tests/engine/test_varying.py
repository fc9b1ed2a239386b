"""Constants of a model as inputs: a mass, a length, a gain for every sample is a model for every sample."""

from dataclasses import replace

import numpy as np
import pytest
from real_robots import model
from zoo import CALLS, MECHANISMS, close, each, plain, planar_2r, state
from zoo.mechanisms import solid

import linkwork as lw

EVERYTHING = "mass", "center", "tensor", "at", "armature", "damping", "friction", "stiffness", "gravity"
PHYSICS = "armature", "damping", "friction", "stiffness"


def drawn(model, rng):
    """Other constants for a model, all of them."""
    nv = lw.Dynamics(model).nv
    solids = [solid(rng) for _ in model.bodies]
    return {
        "mass": np.array([x["mass"] for x in solids]),
        "center": np.array([x["center"] for x in solids]),
        "tensor": np.array([x["tensor"] for x in solids]),
        "at": rng.uniform(-1, 1, (len(solids), 3)),
        **{name: rng.uniform(0.1, 1, nv) for name in PHYSICS},
        "gravity": rng.uniform(-10, 10, 3),
    }


def rebuilt(model, constants):
    """The model with these constants in it."""
    bodies, joints, row = list(model.bodies), list(model.joints), 0
    for i, (body, placed) in enumerate(zip(model.bodies, model.joints)):
        changes = {name: constants[name][i] for name in ("mass", "center", "tensor") if name in constants}
        bodies[i] = replace(body, **changes)
        if "at" in constants:
            placed = replace(placed, at=lw.Pose(placed.at.quaternion, tuple(constants["at"][i])))
        rows = slice(row, row + placed.joint.nv)
        physics = {name: tuple(constants[name][rows]) for name in PHYSICS if name in constants and placed.joint.nv}
        joints[i] = replace(placed, joint=with_physics(placed.joint, physics))
        row = rows.stop
    gravity = constants.get("gravity", model.gravity)
    return replace(model, bodies=tuple(bodies), joints=tuple(joints), gravity=tuple(gravity))


def with_physics(joint, physics):
    """Numbers for each velocity, laid out as the joint's own parts are."""
    if not physics:
        return joint
    if not isinstance(joint, lw.Compound):
        return replace(joint, **{name: x if len(x) > 1 else x[0] for name, x in physics.items()})
    row, at = [], 0
    for name, part, place in joint.row:
        rows = slice(at, at + part.nv)
        row.append((name, with_physics(part, {key: x[rows] for key, x in physics.items()}), place))
        at = rows.stop
    return replace(joint, row=tuple(row))


def agree(model, names, call, rng, batch=3):
    """varying.f(q, v, constants)[i] = f(q[i], v[i]) of a model with the i-th constants."""
    varying = lw.Dynamics(model).varying(*names)
    constants = [{name: x for name, x in drawn(model, rng).items() if name in names} for _ in range(batch)]
    s = state(varying.robot, (batch,))
    stacked = {name: np.stack([c[name] for c in constants]) for name in names}
    whole = CALLS[call](With(varying, stacked), s)
    for i, c in enumerate(constants):
        close(whole[i], CALLS[call](plain(rebuilt(model, c)), each(s, lambda x, i=i: x[i])), 1e-11)


class With:
    """The methods of varying, called with these constants."""

    def __init__(self, varying, constants):
        self.varying, self.constants, self.bodies = varying, constants, varying.robot.bodies

    def __getattr__(self, method):
        return lambda *x: getattr(self.varying, method)(*x, **self.constants)


@pytest.mark.parametrize("name", EVERYTHING)
@pytest.mark.parametrize("call", ["forward_dynamics", "passive_force", "potential_energy"])
def test_a_constant_of_its_own_for_each_sample_is_a_model_for_each_sample(name, call, rng):
    agree(MECHANISMS["compound"], [name], call, rng)


@pytest.mark.parametrize("call", ["mass_matrix", "inverse_dynamics pushed", "pose", "jacobian world", "center_of_mass"])
def test_all_constants_at_once(call, rng):
    agree(MECHANISMS["welded"], EVERYTHING, call, rng)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", [name for name in MECHANISMS if name != "fixed"])
@pytest.mark.parametrize("call", CALLS)
def test_all_constants_of_every_mechanism(mechanism, call, rng):
    agree(MECHANISMS[mechanism], EVERYTHING, call, rng)


def test_a_payload_of_its_own_for_each_sample(rng):
    """One number of a real robot: the mass of what the hand holds."""
    panda = lw.Dynamics(model("panda"))
    varying, s, hand = panda.varying("mass"), state(panda, (5,)), panda.bodies.index("panda_hand")
    masses = np.tile(varying.value("mass"), (5, 1))
    masses[:, hand] += np.arange(5)
    result = varying.forward_dynamics(s.q, s.v, s.tau, mass=masses)
    close(result[0], panda.forward_dynamics(s.q[0], s.v[0], s.tau[0]), 1e-11)
    heavier = rebuilt(panda.model, {"mass": masses[4]})
    close(result[4], plain(heavier).forward_dynamics(s.q[4], s.v[4], s.tau[4]), 1e-11)


def test_gravity_of_many_planets_for_one_state():
    """The constants bring a batch with them."""
    arm = lw.Dynamics(planar_2r())
    q, down = np.array([0.3, -0.2]), np.array([[0, -9.81, 0], [0, -1.62, 0], [0, 0, 0]])
    result = arm.varying("gravity").gravity_force(q, gravity=down)
    for tau, gravity in zip(result, down):
        close(tau, plain(planar_2r(tuple(gravity))).gravity_force(q))


def test_what_is_not_given_is_the_models_own(rng):
    robot = lw.Dynamics(MECHANISMS["geared"])
    varying, s = robot.varying(*EVERYTHING), state(robot, (4,))
    for call in "forward_dynamics", "passive_force":
        close(CALLS[call](varying, s), CALLS[call](plain(robot.model), s), 1e-11)
    assert varying.value("mass").tolist() == [body.mass for body in robot.model.bodies]
    varying.value("mass")[:] = 7.0
    assert 7.0 not in varying.value("mass")


def test_arguments_may_be_named_and_single_precision_stays():
    arm = lw.Dynamics(planar_2r((0, -9.81, 0)))
    varying, s = arm.varying("mass", "stiffness"), state(arm, (4,))
    np.testing.assert_array_equal(varying.bias(v=s.v, q=s.q), varying.bias(s.q, s.v))
    expected = varying.inverse_dynamics(s.q, s.v, s.vdot, s.external)
    np.testing.assert_array_equal(varying.inverse_dynamics(s.q, s.v, external=s.external, vdot=s.vdot), expected)
    out = np.empty_like(expected)
    assert varying.inverse_dynamics(s.q, s.v, s.vdot, s.external, out=out) is out
    single = varying.inverse_dynamics(*(x.astype(np.float32) for x in (s.q, s.v, s.vdot)), mass=[1.0, 2.0])
    assert single.dtype == np.float32
    close(varying.pose(s.q, body="fore"), varying.pose(s.q, "fore"))
    close(varying.jacobian(s.q, "fore"), varying.jacobian(s.q, "fore", "body"))
    assert {"forward_dynamics", "pose"} <= set(dir(varying)) and not {"motion", "mass_matrix_times"} & set(dir(varying))


@pytest.mark.parametrize("call", ["forward_dynamics", "inverse_dynamics", "forward_dynamics_derivatives"])
def test_an_external_force_of_none_is_no_external_force(call):
    """By place as by name, and as the robot itself takes it; any other array that is None is refused by both."""
    robot = lw.Dynamics(MECHANISMS["free"])
    varying, s = robot.varying("mass", "gravity"), state(robot)
    expected = getattr(robot, call)(s.q, s.v, s.tau, None)
    for result in (getattr(varying, call)(s.q, s.v, s.tau, None), getattr(varying, call)(s.q, s.v, s.tau, external=None)):
        close(result, expected, 1e-11)
    for asked in (robot, varying):
        with pytest.raises(lw.ShapeError, match="v has dtype object"):
            getattr(asked, call)(s.q, None, s.tau, None)


def test_a_robot_without_joints_varies_too():
    still = lw.Dynamics(MECHANISMS["fixed"])
    q, masses = np.zeros((3, 0)), np.array([[1.0], [2.0], [3.0]])
    result = still.varying("mass", "gravity").potential_energy(q, mass=masses)
    close(result, result[0] * masses[:, 0])


ARM = lw.Dynamics(planar_2r())
Q = np.zeros(2)
WRONG = {
    '"mas" is no constant that can be varied. Did you mean "mass"?': lambda: ARM.varying("mas"),
    '"wheel" is no constant that can be varied. There are:': lambda: ARM.varying("wheel"),
    '"gravity" is not varied here. There are: mass.': lambda: ARM.varying("mass").mass_matrix(Q, gravity=[0, 0, 1]),
    '"center" is not varied here.': lambda: ARM.varying("mass").value("center"),
    "mass has shape (3,), but mass_matrix takes (2,) for each sample": lambda: (
        ARM.varying("mass").mass_matrix(Q, mass=np.ones(3))
    ),
    "q has shape (3,), but mass_matrix takes (2,)": lambda: ARM.varying("mass").mass_matrix(np.zeros(3)),
    "the batch axes do not go together: q (4,), mass (5,)": lambda: (
        ARM.varying("mass").mass_matrix(np.zeros((4, 2)), mass=np.ones((5, 2)))
    ),
    "mass has dtype complex128": lambda: ARM.varying("mass").mass_matrix(Q, mass=np.ones(2) + 0j),
    "mass has dtype <U5": lambda: ARM.varying("mass").mass_matrix(Q, mass="heavy"),
    "inverse_dynamics takes q, v, vdot; got 2 arrays": lambda: ARM.varying("mass").inverse_dynamics(Q, Q),
    "mass_matrix takes q; got 2 arrays": lambda: ARM.varying("mass").mass_matrix(Q, Q),
    "pose takes q and the name of a body or frame": lambda: ARM.varying("mass").pose(Q),
    'Varying has no method forward_dynamic. Did you mean "forward_dynamics"?': lambda: ARM.varying().forward_dynamic,
    'planar 2R has no body or frame "hand"': lambda: ARM.varying("mass").pose(Q, "hand"),
}


@pytest.mark.parametrize("said", WRONG)
def test_what_does_not_fit_is_named(said):
    with pytest.raises((lw.LinkworkError, TypeError, AttributeError)) as error:
        WRONG[said]()
    assert said in str(error.value)


# --- division by what is always zero


def massless_tip():
    arm = lw.Builder("arm").body("upper", joint=lw.Revolute(axis=(0, 1, 0)), mass=1.0, center=(0, 0, 1), joint_name="shoulder")
    arm.body("ghost", "upper", (0, 0, 1), lw.Revolute(axis=(1, 0, 0)), joint_name="elbow")
    return lw.Dynamics(arm.model())


def test_a_joint_that_moves_nothing_is_named():
    """By the robot from numbers, by a trace from proofs; what needs no division works."""
    robot = massless_tip()
    zero = np.zeros(2)
    with pytest.raises(lw.ModelError, match='joint "elbow" moves nothing that has inertia'):
        robot.forward_dynamics(zero, zero, zero)
    for trace in (lambda: robot.program("forward_dynamics"), lambda: robot.varying("gravity").forward_dynamics(zero, zero, zero)):
        with pytest.raises(lw.TraceError, match=r'zero for every input at joint "elbow"\. .*armature'):
            trace()
    assert robot.mass_matrix(zero)[1, 1] == 0
    masses, tensors = np.ones(2), np.array([np.eye(3)] * 2)
    result = robot.varying("mass", "tensor").forward_dynamics(zero, zero, zero, mass=masses, tensor=tensors)
    assert np.isfinite(result).all()


@pytest.mark.parametrize("road", [{"compiled": False}, {}, {"rolled": True}], ids=str)
def test_a_spring_acts_by_its_stiffness_whatever_the_models_is(road):
    """Q = −k q and ∂Q/∂k = −q at a joint that has no spring in the model; a negative stiffness pushes away."""
    builder = lw.Builder("pair")
    for name, parent, stiffness in (("a", None, 0.0), ("c", "a", 2.0)):
        joint = lw.Revolute(axis=(0, 1, 0), stiffness=stiffness)
        builder.body(name, parent, (1, 0, 0), joint, mass=1.0, center=(1, 0, 0), tensor=(1, 1, 1))
    robot, q = lw.Dynamics(builder.model(), **road), np.array([0.5, 0.7])
    close(np.diag(robot.derivative("passive_force", q, np.zeros(2), by="stiffness")), -q, 1e-12)
    close(robot.varying("stiffness").passive_force(q, np.zeros(2), stiffness=np.array([-3.0, 4.0])), np.array([3.0, -4.0]) * q, 1e-12)


def test_the_end_of_a_run_changes_with_a_stiffness_that_is_zero():
    """∂x/∂k of m ẍ = −k x at k = 0 is −(x₀ t²/2 + v₀ t³/6) / m."""
    robot = lw.Dynamics(lw.Builder("mass", gravity=(0, 0, 0)).body("m", joint=lw.Prismatic(axis=(1, 0, 0)), mass=2.0).model())
    run = lw.simulate(robot, ([0.3], [0.1]), until=1.0, method="rk4", dt=0.25)
    slope = -(0.3 / 2 + 0.1 / 6) / 2
    close(run.sensitivity(by="stiffness")["stiffness"][-1, 0], [slope], 1e-12)
    weights, more = (np.arange(5.0)[:, None] == 4) * 1.0, {"dt": 0.25, "steps": 4, "method": "rk4", "given": {"stiffness": np.zeros(1)}}
    back = lw.rollout_gradient(robot.varying("stiffness"), [0.3], [0.1], weights=(weights, None), **more)
    close(back.given["stiffness"], [slope], 1e-12)


@pytest.mark.parametrize("call", ["method", "derivative", "rollout", "simulate"])
def test_a_negative_mass_is_refused(call):
    robot, q, masses = lw.Dynamics(planar_2r()), np.ones((1, 2)), np.array([1.0, -1.0])
    varied, more = robot.varying("mass"), {"given": {"mass": masses}}
    calls = {
        "method": lambda: varied.mass_matrix(q, mass=masses),
        "derivative": lambda: robot.derivative("mass_matrix", q, by="mass", mass=masses),
        "rollout": lambda: lw.rollout(varied, q, q, None, dt=0.1, steps=1, **more),
        "simulate": lambda: lw.simulate(varied, (q, q), until=0.1, **more),
    }
    with pytest.raises(lw.ModelError, match=r"mass has -1 kg for body .* may not be negative"):
        calls[call]()
