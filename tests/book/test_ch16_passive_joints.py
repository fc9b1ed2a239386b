"""Jain, sections 16.1 to 16.5: what motors and passive joints do to each other, places that motors move, momenta that stay."""

import numpy as np
import pytest
from zoo import close, every_mechanism, state

import linkwork as lw
from linkwork.errors import ConstraintError, ModelError, OptionError, ShapeError
from linkwork.model import solids


def two_rods(gravity=(0, 0, 0)):
    """Rods of 1 kg and 1 m in a plane, the elbow driven."""
    builder = lw.Builder("two_rods")
    rod = {"mass": 1.0, "center": (0.5, 0, 0), "tensor": (0, 1 / 12, 1 / 12)}
    builder.body("upper", joint=lw.Revolute(axis=(0, 0, 1)), **rod)
    builder.body("lower", parent="upper", at=(1, 0, 0), joint=lw.Revolute(axis=(0, 0, 1)), **rod)
    builder.frame("tip", "lower", at=(1, 0, 0))
    return builder.model().with_gravity(gravity)


def satellite(gravity=(0, 0, 0)):
    """A hull that floats, an arm of three links on it."""
    builder = lw.Builder("satellite")
    builder.body("hull", joint=lw.Free(), **solids.box(20.0, (1.0, 0.8, 0.6)))
    builder.body("a", parent="hull", at=(0.5, 0, 0.1), joint=lw.Revolute(axis=(0, 0, 1)), **solids.rod(3.0, (0.7, 0, 0)))
    builder.body("b", parent="a", at=(0.7, 0, 0), joint=lw.Revolute(axis=(0, 1, 0)), **solids.rod(2.0, (0.6, 0, 0)))
    builder.body("c", parent="b", at=(0.6, 0, 0), joint=lw.Revolute(axis=(0, 1, 0)), **solids.rod(1.0, (0.4, 0, 0)))
    builder.frame("tip", "c", at=(0.4, 0, 0))
    return builder.model().with_gravity(gravity)


ELBOW = np.array([0.3, np.pi / 2])


def test_two_rods_with_a_driven_elbow_have_the_numbers_of_the_closed_form():
    arm = lw.Dynamics(two_rods()).actuated("lower_joint")
    S = arm.hybrid_blocks(ELBOW)
    close(np.array([S.aa, S.ap, S.pp]).ravel(), np.array([4 / 15, 1 / 5, 3 / 5]), 1e-14)
    close(arm.disturbance_jacobian(ELBOW), np.array([[-1 / 5]]), 1e-14)
    close(arm.generalized_jacobian(ELBOW, "tip")[[2, 3, 4], 0], np.array([0.8, -0.2, 0.8]), 1e-14)
    straight = np.array([0.0, np.pi / 2])
    close(arm.generalized_jacobian(straight, "tip", "world")[[2, 3, 4], 0], np.array([0.8, -0.8, -0.2]), 1e-14)


@every_mechanism
def test_blocks_are_those_of_the_mass_matrix(robot):
    """S_aa = 𝓜_aa − 𝓜_ap 𝓜_pp⁻¹ 𝓜_pa, S_ap = 𝓜_ap 𝓜_pp⁻¹, S_pp = 𝓜_pp⁻¹; J_G = J_a − J_p S_ap*"""
    if len(robot.joints) < 2:
        pytest.skip("one joint")
    view, q = robot.actuated(*robot.joints[::2]), state(robot, (2,)).q
    M, a, p = robot.mass_matrix(q), view.active, view.passive
    if not len(p) or np.linalg.cond(M[..., p[:, None], p]).max() > 1e12:
        pytest.skip("no passive joint, or one that moves no mass")
    S, ap = view.hybrid_blocks(q), np.linalg.solve(M[..., p[:, None], p], M[..., p[:, None], a]).mT
    close(S.ap, ap, 1e-9)
    close(S.pp, np.linalg.inv(M[..., p[:, None], p]), 1e-9)
    close(S.aa, M[..., a[:, None], a] - ap @ M[..., p[:, None], a], 1e-9)
    for axes in ("body", "world"):
        J = robot.jacobian(q, robot.bodies[-1], axes)
        close(view.generalized_jacobian(q, robot.bodies[-1], axes), J[..., a] - J[..., p] @ ap.mT, 1e-9)
        x = np.linspace(-1, 1, len(a))
        close(view.generalized_jacobian_times(q, x, robot.bodies[-1], axes), view.generalized_jacobian(q, robot.bodies[-1], axes) @ x, 1e-9)


@every_mechanism
def test_hybrid_dynamics_is_a_motion_of_the_robot(robot, rng):
    """Forward dynamics of the forces that it gives has the accelerations that were asked for."""
    if len(robot.joints) < 2:
        pytest.skip("one joint")
    view, s = robot.actuated(*robot.joints[1::2]), state(robot, (3,))
    tau, vdot = view.hybrid_dynamics(s.q, s.v, s.vdot[..., view.active], s.tau[..., view.passive])
    close(vdot[..., view.active], s.vdot[..., view.active], 0)
    close(robot.inverse_dynamics(s.q, s.v, vdot), tau, 1e-9)


def test_a_place_accelerates_as_told():
    """Algorithm 16.4; (16.25) with the passive joints told as well"""
    robot = lw.Dynamics(satellite())
    view = robot.actuated("a_joint", "b_joint", "c_joint")
    q, v = robot.random_state((5,), seed=1)
    wanted = np.array([0.1, -0.2, 0.3])
    for place, axes in ((("tip", (0, 0, 0)), "world"), (("c", (0.1, 0.2, 0.3)), "body")):
        tau, vdot = view.computed_torque(q, v, wanted, place, axes=axes)
        assert not tau[..., view.passive].any()
        close(robot.forward_dynamics(q, v, tau), vdot, 1e-9)
        found = robot.ask(("task_acceleration", (*place, axes)), q, v, tau)
        close(found, np.broadcast_to(wanted, found.shape), 1e-9)


def test_passive_joints_accelerate_as_told():
    robot = lw.Dynamics(two_rods((0, -9.81, 0)))
    view, q, v = robot.actuated("lower_joint"), np.array([0.4, 1.1]), np.array([0.3, -0.7])
    _, drift = view.hybrid_dynamics(q, v, [0.0])
    needed = (0.5 - drift[0]) / view.disturbance_jacobian(q)[0, 0]
    _, vdot = view.computed_torque(q, v, [needed], passive=[0.5])
    close(vdot, np.array([0.5, needed]), 1e-12)
    with pytest.raises(ConstraintError, match="miss by"):
        view.computed_torque(q, v, [needed + 1], passive=[0.5])


# --- what is conserved


def test_the_momentum_of_a_free_base_is_an_integral():
    """(16.26) to (16.28): about a fixed point, in world axes; linear momentum that is not zero included"""
    robot = lw.Dynamics(satellite())
    view = robot.actuated("a_joint", "b_joint", "c_joint")
    assert len(view.integrals.found) == 6 and view.integrals.complete and not view.integrals.integrable
    q, v = robot.random_state(seed=4)
    control = lambda t, q, v: np.array([0] * 6 + [np.sin(t), 1.0, -np.cos(3 * t)])
    run = lw.simulate(robot, (q, v), until=0.4, control=control, rtol=1e-10, atol=1e-12, progress=False)
    kept = view.integrals.values(run.q, run.v)
    close(kept, np.broadcast_to(kept[0], kept.shape), 1e-8)


def test_gravity_leaves_three_of_six():
    found = lw.Dynamics(satellite((0, 0, -9.81))).actuated("a_joint", "b_joint", "c_joint").integrals
    directions = np.array([each.direction for each in found.found])
    assert np.linalg.matrix_rank(directions) == 3
    close(directions[:, [0, 1, 5]], np.zeros((3, 3)), 1e-9)  # rotations about the vertical, and motions along the ground


def test_a_pendulum_in_a_plane_that_lies_has_one_and_one_that_stands_has_none():
    flat, standing = (lw.Dynamics(two_rods(g)).actuated("lower_joint").integrals for g in ((0, 0, -9.81), (0, -9.81, 0)))
    assert flat.complete and flat.integrable and not standing.found
    assert "conserved" in str(flat) and "0 of 1" in str(standing)


def test_small_closed_paths_of_the_joints_turn_the_base_by_the_curvature():
    """A square of side ε in two joint angles, followed with v_p = J_D v_a, moves the base by F ε² + O(ε³)"""
    robot = lw.Dynamics(satellite())
    view = robot.actuated("a_joint", "b_joint", "c_joint")
    q0, _ = robot.random_state(seed=2)
    F = view.curvature(q0)

    def turned(side, steps=20):
        q = q0.copy()
        for sign, axis in ((1, 0), (1, 1), (-1, 0), (-1, 1)):
            for _ in range(steps):

                def velocity(q, axis=axis, sign=sign):
                    v = np.zeros(robot.nv)
                    v[view.active[axis]] = sign * side / steps
                    v[view.passive] = view.disturbance_jacobian(q) @ v[view.active]
                    return v

                q = robot.integrate(q, velocity(robot.integrate(q, velocity(q) / 2)))
        return robot.difference(q0, q)[view.passive] / side**2

    one, two = turned(0.02), turned(0.01)
    close(2 * two - one, F[:, 0, 1], 2e-3)


# --- control


def test_a_passive_joint_follows_a_path_that_its_neighbour_makes():
    """Non-collocated: the shoulder of two rods has no motor and moves as told"""
    robot = lw.Dynamics(two_rods())
    view = robot.actuated("lower_joint")

    def path(t):
        return [0.1 * np.sin(2 * t)], [0.2 * np.cos(2 * t)], [-0.4 * np.sin(2 * t)]

    control = view.follow(path, "upper_joint")
    start = np.array([0.0, 1.2]), np.array([0.2, -1.0])
    run = lw.simulate(robot, start, until=1.0, control=control, rtol=1e-10, atol=1e-12, progress=False)
    close(run.q[:, 0], 0.1 * np.sin(2 * run.t), 1e-8)


def test_driven_joints_follow_a_path_against_springs_and_damping():
    builder = lw.Builder("sprung")
    builder.body("cart", joint=lw.Prismatic(axis=(1, 0, 0), damping=0.3, stiffness=2.0), **solids.box(1.0, (0.1, 0.1, 0.1)))
    builder.body("pole", parent="cart", joint=lw.Revolute(axis=(0, 1, 0), damping=0.1, stiffness=1.0), **solids.rod(0.3, (0, 0, 0.5)))
    robot = lw.Dynamics(builder.model())
    control = robot.actuated("cart_joint").follow(lambda t: ([t**3], [3 * t**2], [6 * t]))
    run = lw.simulate(robot, (np.array([0.0, 0.3]), np.zeros(2)), until=1.0, control=control, rtol=1e-10, atol=1e-12, progress=False)
    close(run.q[:, 0], run.t**3, 1e-8)


def test_the_tip_of_a_free_flying_arm_follows_a_path():
    """to 1e-8, the base free"""
    robot = lw.Dynamics(satellite())
    view = robot.actuated("a_joint", "b_joint", "c_joint")
    q0 = robot.neutral()
    q0[robot.q_index("b_joint")], q0[robot.q_index("c_joint")] = 0.5, -1.1
    start = robot.pose(q0, "tip")[:3, 3]
    where = lambda t: start + np.array([0.05 * (1 - np.cos(t)), 0.04 * (1 - np.cos(2 * t)), -0.03 * (1 - np.cos(t))])
    rate = lambda t: np.array([0.05 * np.sin(t), 0.08 * np.sin(2 * t), -0.03 * np.sin(t)])
    second = lambda t: np.array([0.05 * np.cos(t), 0.16 * np.cos(2 * t), -0.03 * np.cos(t)])

    control = view.track(lambda t: (where(t), rate(t), second(t)), ("tip", (0, 0, 0)))
    run = lw.simulate(robot, (q0, np.zeros(robot.nv)), until=1.5, control=control, rtol=1e-10, atol=1e-12, progress=False)
    close(robot.pose(run.q, "tip")[:, :3, 3], np.array([where(t) for t in run.t]), 1e-8)


def test_a_point_comes_back_to_its_path_against_springs_and_gravity():
    """ë + d ė + k e = 0 for an offset e, passive joint and spring included."""
    builder = lw.Builder("arm")
    rod = {"mass": 1.0, "center": (0.5, 0, 0), "tensor": (0, 1 / 12, 1 / 12)}
    for i, on in enumerate((None, "link0", "link1")):
        joint = lw.Revolute(axis=(0, 0, 1), stiffness=2.0, damping=0.3)
        builder.body(f"link{i}", on, (1, 0, 0) if i else None, joint, **rod)
    robot = lw.Dynamics(builder.model().with_gravity((0, -9.81, 0)))
    view = robot.actuated("link0_joint", "link1_joint")
    q0, tip = np.array([0.4, 1.0, -0.6]), ("link1", (1.0, 0, 0))
    T = robot.pose(q0, "link1")
    goal = (T[:3, :3] @ tip[1] + T[:3, 3])[:2] - [0.01, 0.02]
    along = lambda x: np.r_[x, 0.0]
    path = lambda t: (along(goal), np.zeros(3), np.zeros(3))
    run = lw.simulate(
        robot, (q0, np.zeros(3)), until=0.5, control=view.track(path, tip, stiffness=25.0), rtol=1e-9, atol=1e-11, progress=False
    )
    T = robot.pose(run.q, "link1")
    away = (np.matvec(T[:, :3, :3], tip[1]) + T[:, :3, 3])[:, :2] - goal
    close(away, np.array([0.01, 0.02]) * ((1 + 5 * run.t) * np.exp(-5 * run.t))[:, None], 1e-7)


def test_momenta_of_passive_compound_joints_are_counted_once():
    """A universal joint without motors between two bodies in space: its momenta are not conserved, those of the base are."""
    builder = lw.Builder("cat", gravity=(0, 0, 0))
    builder.body("front", joint=lw.Free(), **solids.box(2.0, (0.4, 0.2, 0.1)))
    builder.body(
        "back",
        "front",
        (0.2, 0, 0),
        lw.Universal(names=("bend", "lean")),
        joint_name="spine",
        **solids.box(1.0, (0.3, 0.2, 0.1), (0.15, 0, 0)),
    )
    builder.body("tail", "back", (0.3, 0, 0), lw.Revolute(), **solids.rod(0.1, (0.3, 0, 0)))
    robot = lw.Dynamics(builder.model())
    view = robot.actuated("tail_joint")
    assert view.passive_joints == ("front_joint", "spine")
    assert robot.actuated("spine").passive_joints == ("front_joint", "tail_joint")
    assert robot.actuated("bend", "tail_joint").passive_joints == ("front_joint", "lean")
    assert len(view.integrals.found) == 6
    assert "6 of 8" in str(view.integrals)


def test_forces_from_the_world_leave_those_momenta_that_they_do_not_change():
    """A damper to a point leaves the momentum about that point, a push along z those across, a thrust fixed to the hull none."""
    damper = lw.Spring("s", None, "hull", (0, 2, 0), (0, 0, 0), damping=3.0)
    cases = {damper: 3, lw.Push("p", "hull", force=(0, 0, 1.0)): 3, lw.Push("p", "hull", force=(0, 0, 1.0), axes="body"): 0}
    for force, count in cases.items():
        robot = lw.Dynamics(satellite().with_forces(force), compiled=False)
        assert len(robot.actuated("a_joint", "b_joint", "c_joint").integrals.found) == count


def test_a_loop_inside_leaves_the_momentum_of_the_base():
    """Six momenta stay while the crank of a four-bar on a free hull moves, and a pin to the world leaves the angular three."""
    builder = lw.Builder("craft", gravity=(0, 0, 0))
    builder.body("hull", joint=lw.Free(), **solids.box(5.0, (1, 0.8, 0.6)))
    builder.body("crank", "hull", None, lw.Revolute(), **solids.rod(1.0, (1, 0, 0)))
    builder.body("coupler", "crank", (1, 0, 0), lw.Revolute(), **solids.rod(2.0, (2, 0, 0)))
    builder.body("rocker", "hull", (2.2, 0, 0), lw.Revolute(), **solids.rod(1.5, (1.5, 0, 0)))
    builder.loop("pin", "coupler", "rocker", lw.Revolute(), at=(2, 0, 0), on=(1.5, 0, 0))
    robot = lw.Dynamics(builder.model(), compiled=False)
    assert "6 of 8" in str(robot.actuated("crank_joint").integrals)
    builder.loop("mooring", None, "hull", lw.Spherical())
    moored = lw.Dynamics(builder.model(), compiled=False).actuated("crank_joint").integrals
    close(sum(np.outer(x.direction, x.direction) for x in moored.found), np.diag([1.0, 1, 1, 0, 0, 0]), 1e-9)


def test_drag_of_a_fluid_takes_all_momenta():
    robot = lw.Dynamics(satellite().in_fluid(lw.Immersed("hull", drag=(1,) * 6)), compiled=False)
    assert "0 of 6" in str(robot.actuated("a_joint", "b_joint", "c_joint").integrals)


def test_single_precision_and_batches():
    robot = lw.Dynamics(satellite())
    view = robot.actuated("a_joint", "b_joint", "c_joint")
    q, v = (x.astype(np.float32) for x in robot.random_state((2, 3), seed=0))
    one = np.ones(3, np.float32)
    for found in (
        *view.hybrid_blocks(q),
        *view.hybrid_dynamics(q, v, one),
        view.generalized_jacobian(q, "tip"),
        view.disturbance_jacobian(q),
    ):
        assert found.dtype == np.float32
        assert found.shape[:2] == (2, 3)
    F = view.curvature(q)
    assert F.shape == (2, 3, 6, 3, 3)
    close(F[1, 2], view.curvature(q[1, 2]), 1e-12)


def test_where_a_motor_does_not_move_a_joint_the_control_stays_finite():
    """A pole that lies: its cart does nothing to it, J_D = 0."""
    robot = lw.Dynamics(lw.load("cartpole"))
    control = robot.actuated("rail").follow(lambda t: ([1.4], [0.0], [0.0]), "pin")
    assert np.abs(control(0.0, np.array([0.0, np.pi / 2]), np.zeros(2))).max() < 100.0


# --- errors


def test_what_cannot_be_is_said():
    robot = lw.Dynamics(two_rods())
    view = robot.actuated("lower_joint")
    with pytest.raises(OptionError, match="takes the joints"):
        robot.actuated()
    with pytest.raises(KeyError, match="no joint"):
        robot.actuated("elbow")
    with pytest.raises(ShapeError, match="1 active"):
        view.hybrid_dynamics([0, 0], [0, 0], [1.0, 2.0])
    with pytest.raises(ShapeError, match="3 directions"):
        view.computed_torque([0, 0], [0, 0], [1.0], ("tip", (0, 0, 0)))
    with pytest.raises(ConstraintError, match="miss by"):
        view.computed_torque([0, 0.3], [0, 0], [1.0, 2.0, 0.0], ("tip", (0, 0, 0)))
    with pytest.raises(ModelError, match=r"robot\.hybrid_dynamics"):
        lw.Dynamics(lw.load("four_bar")).actuated("crank_joint").hybrid_blocks(np.zeros(3))
    with pytest.raises(OptionError, match=r"robot\.actuated\(\*joints\)"):
        robot.actuated(["lower_joint"])
    with pytest.raises(ShapeError, match="three arrays"):
        view.follow(lambda t: 0.0)(0.0, np.zeros(2), np.zeros(2))
    with pytest.raises(OptionError, match="damping"):
        view.follow(lambda t: 0.0, damping=-1.0)
    light = lw.Builder("light")
    light.body("base", joint=lw.Revolute(), mass=1.0, center=(1, 0, 0)).body("tip", "base", (1, 0, 0), lw.Revolute())
    with pytest.raises(ModelError, match="passive tip_joint moves nothing that has inertia"):
        lw.Dynamics(light.model()).actuated("base_joint").hybrid_dynamics([0, 0], [0, 0], [1.0])
    with pytest.raises(OptionError, match="takes points"):
        view.track(lambda t: 0.0, "tip")
    with pytest.raises(OptionError, match="motors cannot"):
        view.follow(lambda t: ([0, 0],) * 3, "upper_joint", "lower_joint")
    with pytest.raises(ModelError, match="6 velocities"):
        lw.Dynamics(satellite()).actuated("a_joint").follow(lambda t: ([0],) * 3, "hull_joint")
