"""Mechanisms with flexible bodies: equations of motion by other roads, laws, every way to run."""

import numpy as np
import pytest
import scipy.linalg

import linkwork as lw
from linkwork.errors import ModelError, SimulationError
from linkwork.flexible import Deflection
from linkwork.flexible.attachment import Attachment
from linkwork.flexible.body import FlexibleBody
from linkwork.flexible.samples import Fields, Samples
from linkwork.lie import SE3, SO2

from .dense import Link, equations
from .models import SECTION, bodies, small, tree

STEP = 1e-6


def plain(model):
    return lw.Dynamics(model, compiled=False)


def along(robot, q, f):
    """∂f/∂q along each velocity, by central differences."""
    moved = [(f(robot.integrate(q, STEP * e)) - f(robot.integrate(q, -STEP * e))) / (2 * STEP) for e in np.eye(robot.nv)]
    return np.stack(moved, -1)


def all_samples(monkeypatch, make):
    """What a body is made of: (body, points and directors)."""
    from linkwork.flexible import beams

    kept = []
    own = beams.made
    monkeypatch.setattr(
        beams,
        "made",
        lambda points, directors, *more, **options: (kept.append((points, directors)), own(points, directors, *more, **options))[1],
    )
    return make(), [x for x in kept[-1] if x is not None]


@pytest.mark.slow
def test_a_free_tree_has_the_equations_of_all_its_finite_element_masses(monkeypatch, rng):
    """𝓜, 𝓒, kinetic energy and v̇ of floating-frame equations summed over every sample of mass; "all" leaves nothing out."""
    options = {"elements": 2, "keep": "all"}
    arm, arm_samples = all_samples(
        monkeypatch, lambda: lw.FlexibleBody.beam(1.3, SECTION, modes="craig-bampton", interfaces=["tip"], count=0, **options)
    )
    core, samples = all_samples(
        monkeypatch, lambda: lw.FlexibleBody.beam(1.3, SECTION, modes="free", count=3, frames={"mid": 0.65}, **options)
    )
    b = lw.Builder("tree", gravity=(0.3, -1.0, -9.81))
    b.flexible("core", core, joint=lw.Free(), root="mid").flexible("arm", arm, "core.tip", None, lw.Revolute())
    b.flexible("leg", core, "core.root", None, lw.Revolute())
    robot = plain(b.model())
    links = [
        Link(-1, np.eye(4), SE3, core, "mid", samples),
        Link(0, "tip", SO2, arm, "root", arm_samples),
        Link(0, "root", SO2, core, "root", samples),
    ]
    q, v = robot.random_state(seed=3)
    for joint in robot.model.flexible_bodies:
        q[robot.q_index(joint)] *= 6
    M, C, energy = equations(links, q, v, robot.model.gravity)
    tau = rng.standard_normal(robot.nv)
    vdot = np.linalg.solve(M, tau - C)
    assert np.allclose(robot.mass_matrix(q), M, rtol=0, atol=1e-9 * np.abs(M).max())
    assert np.allclose(robot.bias(q, v), C, rtol=0, atol=1e-9 * np.abs(C).max())
    assert np.isclose(robot.kinetic_energy(q, v), energy, rtol=1e-9)
    assert np.allclose(robot.forward_dynamics(q, v, tau), vdot, rtol=0, atol=1e-9 * np.abs(vdot).max())


def test_forward_dynamics_follow_inverse_dynamics(rng):
    robot = plain(tree())
    q, v = robot.random_state(seed=0)
    vdot = rng.standard_normal(robot.nv)
    assert np.allclose(robot.forward_dynamics(q, v, robot.inverse_dynamics(q, v, vdot)), vdot, atol=1e-9)


def test_a_prismatic_joint_with_an_axial_mode():
    """m = (1, 2), k = 30: 𝓜 = [[2, 2], [2, 3]] in the order (η, θ), ω² = 45."""
    points = Samples(
        np.array([[0.0, 0, 0], [0, 0, 1]]),
        np.array([[[0.0], [0], [0]], [[0], [0], [1]]]),
        np.zeros((2, 3, 1, 1)),
        np.ones(2),
        np.array([1.0, 2.0]),
    )
    root = Attachment(lw.Pose(), np.zeros((6, 1)), np.zeros((6, 1, 1)))
    weighed = Fields(*(np.sqrt(points.weights).reshape(-1, *[1] * (np.ndim(x) - 1)) * x for x in points[:4]))
    body = FlexibleBody(weighed, None, np.array([[30.0]]), np.zeros(1), {"root": root}, "root")
    robot = plain(lw.Builder("slider").flexible("rod", body, joint=lw.Prismatic()).model())
    M = robot.mass_matrix(np.zeros(2))[::-1, ::-1]
    assert np.allclose(M, [[2, 2], [2, 3]])
    assert np.isclose(scipy.linalg.eigvalsh(np.diag([30.0, 0.0]), M)[-1], 45)
    assert list(robot.model.flexible_bodies) == ["rod_modes"]


def test_without_modes_a_body_is_a_rigid_one():
    """The same blocks, hence the same kernel."""
    beam = lw.FlexibleBody.beam(1.3, SECTION, elements=4, count=0)
    flexible = lw.Builder("arm").flexible("a", beam, joint=lw.Revolute()).flexible("b", beam, "a.tip", None, lw.Revolute()).model()
    data = {"mass": beam.mass, "center": beam.rigid[1], "tensor": beam.rigid[2]}
    rigid = lw.Builder("arm").body("a", joint=lw.Revolute(), **data).body("b", "a", (1.3, 0, 0), lw.Revolute(), **data).model()
    one, other = lw.Dynamics(flexible), lw.Dynamics(rigid)
    assert str(one.program("forward_dynamics")) == str(other.program("forward_dynamics"))


def test_with_growing_stiffness_a_body_tends_to_a_rigid_one():
    """Joint accelerations, the modes following their static deflection, tend to those of the rigid arm as 1/stiffness."""
    off = []
    for factor in (1e2, 1e3):
        beam = lw.FlexibleBody.beam(1.0, {x: y * (factor if x[0] in "EG" else 1) for x, y in SECTION.items()}, elements=4, count=4)
        robot = plain(lw.Builder("arm").flexible("a", beam, joint=lw.Revolute(axis=(0, 1, 0))).model())
        rigid = plain(
            lw.Builder("arm")
            .body("a", joint=lw.Revolute(axis=(0, 1, 0)), mass=beam.mass, center=beam.rigid[1], tensor=beam.rigid[2])
            .model()
        )
        M, g = robot.mass_matrix(robot.neutral()), robot.gravity_force(robot.neutral())
        expected = rigid.forward_dynamics(np.zeros(1), np.zeros(1), np.zeros(1))
        eta = np.linalg.solve(beam.stiffness, -g[1:] - M[1:, 0] * expected)
        vdot = robot.forward_dynamics(np.r_[0, eta], np.zeros(5), np.zeros(5))
        off.append(abs(vdot[0] - expected[0]))
    assert off[1] < off[0] / 5


def test_potential_energy_has_the_forces_that_hold_it():
    """∂U/∂q = g: gravity and elasticity."""
    robot = plain(tree())
    q, _ = robot.random_state(seed=1)
    assert np.allclose(along(robot, q, robot.potential_energy), robot.gravity_force(q), rtol=1e-6, atol=1e-6)


def test_the_coriolis_matrix_splits_the_rate_of_the_mass_matrix():
    """C + C* = d𝓜/dt and C v + g = bias."""
    robot = plain(tree())
    q, v = robot.random_state(seed=1)
    C = robot.coriolis_matrix(q, v)
    rate = (robot.mass_matrix(robot.integrate(q, STEP * v)) - robot.mass_matrix(robot.integrate(q, -STEP * v))) / (2 * STEP)
    assert np.allclose(C + C.T, rate, rtol=0, atol=1e-7 * np.abs(rate).max())
    assert np.allclose(robot.mass_matrix_rate(q, v), rate, rtol=0, atol=1e-7 * np.abs(rate).max())
    assert np.allclose(C @ v + robot.gravity_force(q), robot.bias(q, v), atol=1e-9)


@pytest.mark.parametrize("place", ["core", "core.floating", "core.tip", "arm.tip", "leg"])
def test_jacobians_and_accelerations_of_frames_are_those_of_their_poses(place):
    robot = plain(tree())
    q, v = robot.random_state(seed=2)
    T, (back, ahead) = robot.pose(q, place), (robot.pose(robot.integrate(q, s * STEP * v), place) for s in (-1, 1))
    W = np.linalg.inv(T) @ (ahead - back) / (2 * STEP)
    V = robot.jacobian(q, place) @ v
    assert np.allclose([W[2, 1], W[0, 2], W[1, 0], *W[:3, 3]], V, atol=1e-7)
    later, before = (robot.jacobian(robot.integrate(q, s * STEP * v), place) @ v for s in (1, -1))
    alpha = robot.quantity("body_accelerations").plain(np.dtype(float))(q, v, np.zeros(robot.nv))[robot.bodies.index(place)]
    assert np.allclose((later - before) / (2 * STEP), alpha, atol=1e-5 * (1 + np.abs(alpha).max()))


def test_forces_from_outside_work_along_jacobians(rng):
    robot = plain(tree())
    q, v = robot.random_state(seed=4)
    wrenches = rng.standard_normal((len(robot.bodies), 6))
    less = robot.bias(q, v) - robot.inverse_dynamics(q, v, np.zeros(robot.nv), wrenches)
    assert np.allclose(less, sum(robot.jacobian(q, x).T @ w for x, w in zip(robot.bodies, wrenches)), atol=1e-10)


def test_operators_have_blocks_of_their_sizes(rng):
    """H_fl φ_fl M_fl φ_fl* H_fl* is the mass matrix, and its factors invert it              Jain (13.42) to (13.63)."""
    robot = plain(tree())
    q, v = robot.random_state(seed=5)
    op, tau = robot.operators(q, v), rng.standard_normal(robot.nv)
    mass = op.H @ op.phi @ op.M @ op.phi.T @ op.H.T
    assert np.allclose(mass.dense(), robot.mass_matrix(q), atol=1e-10)
    assert np.allclose(mass.inv() @ tau, np.linalg.solve(robot.mass_matrix(q), tau), atol=1e-8)
    assert {x.shape[-1] for x in robot.lowered.system(robot.lowered.plain()).blocks(q).M.values()} == {6, 11, 13}


@pytest.mark.slow
def test_derivatives_are_those_of_differences():
    robot = plain(small())
    q, v = robot.random_state(seed=6)
    tau = np.linspace(-1, 1, robot.nv)
    by_q, by_v, by_tau = robot.forward_dynamics_derivatives(q, v, tau, passive=True)
    moved = lambda q, v: robot.forward_dynamics(q, v, tau + robot.passive_force(q, v))
    assert np.allclose(by_q, along(robot, q, lambda q: moved(q, v)), rtol=0, atol=1e-6 * np.abs(by_q).max())
    assert np.allclose(by_v @ v, (moved(q, v * (1 + STEP)) - moved(q, v * (1 - STEP))) / (2 * STEP), rtol=0, atol=1e-5)
    assert np.allclose(by_tau, np.linalg.inv(robot.mass_matrix(q)), atol=1e-8)
    assert np.allclose(robot.center_of_mass_jacobian(q), along(robot, q, robot.center_of_mass), atol=1e-7)
    assert np.allclose(robot.potential_energy_gradient(q), along(robot, q, robot.potential_energy), rtol=1e-6, atol=1e-5)
    assert np.allclose(robot.passive_force_derivatives(q, v)[0], along(robot, q, lambda q: robot.passive_force(q, v)), atol=1e-5)
    A, _ = robot.linearize(q, v, tau)
    assert np.allclose(A[robot.nv :, : robot.nv], by_q)


def test_compiled_runs_are_the_plain_ones():
    robot, slow = lw.Dynamics(small(0.01)), plain(small(0.01))
    Q, V = robot.random_state((5,), seed=7)
    for run in (
        lambda r: r.forward_dynamics(Q, V, V),
        lambda r: r.poses(Q),
        lambda r: r.potential_energy(Q),
        lambda r: r.passive_force(Q, V),
    ):
        assert np.allclose(run(robot), run(slow), rtol=1e-10, atol=1e-9)
    single = robot.forward_dynamics(*(x.astype("f") for x in (Q, V, V)))
    assert single.dtype == np.float32
    assert np.allclose(single, robot.forward_dynamics(Q, V, V), rtol=1e-2, atol=2e-2 * np.abs(single).max())


def test_the_number_of_finite_elements_does_not_change_the_number_of_operations():
    count = []
    for elements in (6, 24):
        body = lw.FlexibleBody.beam(1.0, {"EIy": 1.0, "EIz": 1.0, "rhoA": 1.0}, elements=elements, directions="y", count=3)
        model = lw.Builder("arm").flexible("a", body, joint=lw.Revolute()).flexible("b", body, "a.tip", None, lw.Revolute()).model()
        count.append(sum(lw.Dynamics(model).program("forward_dynamics").operations.values()))
    assert abs(count[1] - count[0]) < 0.06 * count[0]


@pytest.mark.parametrize("keep", ["second", "all"])
def test_a_free_body_keeps_energy_and_momentum(keep):
    """Two hinged beams without gravity, deflected by some 10 % of their lengths."""
    beam = lw.FlexibleBody.beam(1.0, {"EIy": 1.0, "EIz": 2.0, "rhoA": 1.0}, elements=6, directions="yz", count=2, keep=keep)
    b = lw.Builder("pair", gravity=(0, 0, 0)).flexible("a", beam, joint=lw.Free()).flexible("b", beam, "a.tip", None, lw.Revolute())
    robot = lw.Dynamics(b.model())
    q, v = robot.random_state(seed=8)
    q[robot.q_index("a_modes")] = [0.04, -0.03]
    run = lw.simulate(robot, (q, v), until=2.0, method="dop853", rtol=1e-11, atol=1e-12)
    energy, momentum = run.energy, robot.momentum(run.q, run.v)
    assert np.ptp(np.abs(run.q[:, robot.q_index("a_modes")])) > 0.05
    assert np.abs(energy / energy[0] - 1).max() < 1e-9
    assert np.abs(momentum - momentum[0]).max() < 1e-9 * np.abs(momentum).max()


def test_modal_damping_is_a_passive_force():
    """−2 ζ ω η̇ of mass-orthonormal modes; forward dynamics is without it, simulate with it."""
    robot = plain(lw.Builder("arm", gravity=(0, 0, 0)).flexible("a", lw.FlexibleBody.beam(1.0, SECTION, count=2, damping=0.1)).model())
    v = np.array([1.0, -2.0])
    w = 2 * np.pi * robot.model.flexible_bodies["a_modes"].frequencies
    assert np.allclose(robot.passive_force(np.zeros(2), v), -0.2 * w * v)
    run = lw.simulate(robot, (np.array([0.01, 0.0]), np.zeros(2)), until=1.0, method="stiff")
    assert run.energy[-1] < 0.2 * run.energy[0]


@pytest.mark.parametrize("world_frame", [False, True])
@pytest.mark.parametrize("ending", ["json", "yaml"])
def test_a_flexible_model_is_saved_and_loaded(ending, world_frame, tmp_path):
    path = tmp_path / f"arm.{ending}"
    lw.save(small(0.01), path, world_frame=world_frame)
    one, other = plain(small(0.01)), plain(lw.load(path))
    q, v = one.random_state(seed=9)
    for run in (lambda r: r.forward_dynamics(q, v, v), lambda r: r.passive_force(q, v), lambda r: r.potential_energy(q)):
        assert np.allclose(run(one), run(other), rtol=1e-11, atol=1e-11)


def test_a_flexible_body_that_a_file_does_not_have_is_named(tmp_path):
    lw.save(small(0.01), tmp_path / "arm.json", world_frame=True)
    text = (tmp_path / "arm.json").read_text().replace('"flexible": "flexible1"', '"flexible": "flexible7"')
    with pytest.raises(ModelError, match=r'line .*flexible body "flexible7"'):
        lw.load(text)


def test_a_trajectory_of_a_flexible_model_is_saved_and_loaded(tmp_path):
    robot = plain(small(0.01))
    q, v = robot.random_state(seed=10)
    run = lw.simulate(robot, (q, 0 * v), until=0.01)
    run.save(tmp_path / "run.npz")
    again = lw.Trajectory.load(tmp_path / "run.npz")
    assert again.robot.model == robot.model
    assert np.array_equal(again.q, run.q)


def test_a_payload_on_a_flexible_frame_moves_with_it():
    """𝓜 grows by J* M J."""
    model = small()
    robot, loaded = plain(model), plain(model.with_payload("arm.tip", 0.7, (0.1, 0.2, 0.3)))
    q, _ = robot.random_state(seed=11)
    J = loaded.jacobian(q, "payload")[3:]
    assert np.allclose(loaded.mass_matrix(q), robot.mass_matrix(q) + 0.7 * J.T @ J, atol=1e-10)


def test_lengths_can_be_varied_where_bodies_stand_on_flexible_frames():
    model = small()
    robot = plain(model)
    q, v = robot.random_state(seed=12)
    places = np.array([x.at.translation for x in model.joints])
    moved = places.copy()
    i = [x.name for x in model.joints].index("load_joint")
    moved[i] += (0.1, 0.2, 0.3)
    b = lw.Builder("longer", model.gravity)
    for body, joint, place in zip(model.bodies, model.joints, moved):
        data = {"mass": body.mass, "center": body.center, "tensor": body.tensor, "joint_name": joint.name, "joint_on": joint.on}
        b.body(body.name, joint.parent, lw.Pose(joint.at.quaternion, tuple(place)), joint.joint, **data)
    longer = plain(b.model())
    varied = lw.Dynamics(model).varying("at")
    assert np.allclose(varied.inverse_dynamics(q, v, v, at=moved), longer.inverse_dynamics(q, v, v), atol=1e-9)


def test_derivatives_where_constants_vary_are_those_of_programs():
    model = small()
    robot, varied = lw.Dynamics(model), lw.Dynamics(model).varying("mass")
    q, v = robot.random_state(seed=13)
    mass = np.array([body.mass for body in model.bodies]) + 0.1
    by_v = robot.derivative("forward_dynamics", q, v, v, by="v", mass=mass)
    moved = [varied.forward_dynamics(q, v * (1 + s * STEP), v, mass=mass) for s in (1, -1)]
    assert np.allclose(by_v @ v, (moved[0] - moved[1]) / (2 * STEP), rtol=1e-5, atol=1e-4)
    with pytest.raises(ModelError, match=r"robot.derivative\("):
        varied.forward_dynamics_derivatives(q, v, v, mass=mass)


def test_what_flexible_bodies_do_not_have_is_refused():
    model = small()
    robot = plain(model)
    q, v = robot.random_state(seed=0)
    for wrong, kind, said in (
        (lambda: lw.MaximalCoordinates(robot), ModelError, "flexible bodies"),
        (lambda: lw.Equations(robot), ModelError, "flexible bodies"),
        (lambda: lw.Screws(model), ModelError, "flexible bodies"),
        (lambda: model.locked({"arm_modes": np.zeros(2)}), ModelError, "without these modes"),
        (lambda: tree().rebased("arm"), ModelError, "root="),
        (lambda: lw.save(model, "x.urdf"), ModelError, "URDF cannot express"),
        (lambda: lw.simulate(robot, (q, v), until=0.1, method="midpoint", dt=0.01), SimulationError, "flexible bodies"),
        (lambda: lw.Builder("x").flexible("a", 3.0), ModelError, "FlexibleBody"),
        (
            lambda: plain(lw.Builder("x").body("a").body("b", "a", None, Deflection(body=bodies()[0], frame_name="tip")).model()).poses(
                np.zeros(0)
            ),
            ModelError,
            "no modes",
        ),
    ):
        with pytest.raises(kind, match=said):
            wrong()


@pytest.mark.parametrize(("make", "said"), [
    (lambda model: lw.Equations(model), r'the model "flexible_small": Equations\(lw.Dynamics\(model\)\)'),
    (lambda model: lw.MaximalCoordinates(model), r"MaximalCoordinates\(lw.Dynamics\(model\)\)"),
    (lambda model: lw.QuasiVelocities(model, {}), r"QuasiVelocities\(lw.Dynamics\(model\)\)"),
    (lambda model: lw.VirtualWork(model), r"VirtualWork\(lw.Dynamics\(model\)\)"),
    (lambda model: lw.Equations("arm.urdf"), "not a str"),
    (lambda model: lw.Screws(plain(model)), r'the robot "flexible_small": Screws\(robot.model\)'),
    (lambda model: lw.Screws(3), "not a int"),
])  # fmt: skip
def test_a_model_in_place_of_a_robot_is_told_of(make, said):
    with pytest.raises(ModelError, match=said):
        make(small())
