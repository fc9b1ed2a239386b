"""Cut joints of every type: residual, rows and their rates belong together."""

import numpy as np
import pytest
from zoo import JOINTS

import linkwork as lw
from linkwork import constraints
from linkwork.constraints.rows.loop_rows import complement

from .gallery import ABOUT_Z, G, four_bar, mixed, rod

CUTS = {name: joint for name, joint in JOINTS.items() if joint.nv < 6}
every_cut = pytest.mark.parametrize("joint", CUTS.values(), ids=CUTS)


def tied(joint, seed=3):
    model, q = mixed(joint, seed)
    robot = lw.Dynamics(model, compiled=False)
    return robot, constraints.of(robot), q


def along(robot, q, v, h):
    return robot.integrate(q, h * v)


@every_cut
def test_a_loop_placed_where_it_is_closed_is_closed(joint):
    _, held, q = tied(joint)
    assert len(held) == 6 - joint.nv
    np.testing.assert_allclose(held.residual(q), 0, atol=1e-12)


@every_cut
def test_rows_are_the_rate_of_the_residual(joint):
    """ċ = G v where c = 0, for velocities the loop allows and others."""
    robot, held, q = tied(joint)
    v, h = np.random.default_rng(0).standard_normal(robot.nv), 1e-5
    rate = (held.residual(along(robot, q, v, h)) - held.residual(along(robot, q, v, -h))) / (2 * h)
    if len(joint.parts) > 1:  # the selector turns with the joint: compare lengths
        assert abs(np.linalg.norm(rate) - np.linalg.norm(held.jacobian(q) @ v)) < 1e-7
    else:
        np.testing.assert_allclose(rate, held.jacobian(q) @ v, atol=1e-7)


@every_cut
def test_the_bias_keeps_the_loop_closed_at_second_order(joint):
    """G v̇ + γ = 0 and G v = 0 make c(q(h)) = O(h³)."""
    robot, held, q = tied(joint)
    rng = np.random.default_rng(1)
    q, v = held.project(q, rng.standard_normal(robot.nv))
    vdot = held.forward_dynamics(q, v, rng.standard_normal(robot.nv))

    def left(h):
        """c after h along v + v̇ t."""
        x = q
        for i in range(64):
            x = robot.integrate(x, h / 64 * (v + vdot * h * (i + 0.5) / 64))
        return np.abs(held.residual(x)).max()

    assert left(1e-2) < 1e-3
    assert left(1e-3) < 1.5e-3 * left(1e-2) + 1e-9


@every_cut
def test_selector_and_basis_are_complements(joint):
    for _, part, _ in joint.parts:
        N = complement(part.group.basis)
        assert N.shape == (6 - part.nv, 6)
        np.testing.assert_allclose(N @ part.group.basis.T, 0, atol=1e-15)


@every_cut
def test_a_perturbed_tie_is_assembled_again(joint):
    robot, held, q = tied(joint)
    guess = robot.integrate(q, 0.2 * np.random.default_rng(2).uniform(-1, 1, robot.nv))
    there = held.assemble(guess)
    np.testing.assert_allclose(held.residual(there), 0, atol=1e-12)
    assert np.abs(robot.difference(guess, there)).max() < 1.0


def test_a_screw_counts_its_turns():
    m = lw.Builder("jack")
    m.body("nut", joint=lw.Cylindrical(), mass=1.0, tensor=(1, 1, 1))
    m.loop("thread", None, "nut", lw.Helical(pitch=0.01))
    held = constraints.of(lw.Dynamics(m.model(), compiled=False))
    for turns in (0.0, 2.0, 50.0):
        assert abs(held.residual(np.array([turns, 0.01 * turns]))).max() < 1e-14
    assert abs(held.residual(np.array([0.0, 0.01]))).max() > 5e-3


def test_a_flipped_pin_is_no_solution_and_is_named():
    """Müller and Terze, Remark 4: the selector alone allows the axis to point the other way."""
    m = lw.Builder("flipped", G)
    m.body("crank", joint=ABOUT_Z, **rod(1.0))
    m.body("over", "crank", (1, 0, 0), lw.Revolute(axis=(1, 0, 0)), **rod(1.0))
    m.loop("pin", None, "over", ABOUT_Z, at=(1, 0, 0))
    robot = lw.Dynamics(m.model(), compiled=False)
    held = constraints.of(robot)
    assert held.report([0.0, 0.0]).closed
    assert abs(held.residual([0.0, np.pi]).max() - np.pi) < 1e-12
    with pytest.raises(constraints.ConstraintError, match=r'"pin" .*flipped'):
        held.assemble([0.0, np.pi], hold=["over_joint"])


def test_a_planar_loop_closed_by_a_spatial_pin_has_rank_two_of_five():
    """Müller and Terze, Remark 5."""
    held = constraints.of(lw.Dynamics(four_bar(), compiled=False))
    q = held.assemble([1.0, -0.7, 1.1])
    report = held.report(q)
    assert (report.rows, report.rank, report.mobility, report.overconstrained) == (5, 2, 1, True)
    said = [f"{x} of foot on rocker" for x in ("turn about x", "turn about y", "shift along z")]
    assert [label for _, label, _ in report.redundant] == said


@pytest.mark.parametrize(
    ("axis", "free", "oblique"), [((0, 1, 0), "y", False), ((0, 0, 1), "z", False), ((-1, 0, 0), "x", False), ((0, 0.6, 0.8), "", True)]
)
def test_rows_are_named_in_the_axes_of_the_joint_and_say_whose(axis, free, oblique):
    """A pin about y forbids turns about x and z of its own frame, whatever frame the rows are computed in."""
    b = lw.Builder("tied").body("plate", joint=lw.Free(), mass=1.0, tensor=(1, 1, 1))
    b.loop("pin", None, "plate", lw.Revolute(axis=axis), on=lw.Pose.rpy((1, 0, 0), (0.3, 0.2, 0.1)))
    held = constraints.of(lw.Dynamics(b.model(), compiled=False))
    turns = {label for label in held.set.constraints[0].labels if label.startswith("turn")}
    if oblique:
        assert "turn about x of pin on plate" in turns and "turn about (0, 0.8, -0.6) of pin on plate" in turns
    else:
        assert turns == {f"turn about {x} of pin on plate" for x in "xyz" if x != free}
    q = held.assemble(held.robot.neutral())
    J = held.jacobian(q)  # of a plate that turns about the directions named, no other row feels it
    for i, label in enumerate(held.set.constraints[0].labels):
        if label.startswith("turn about") and "(" not in label:
            e = (held.set.constraints[0].loop.on.rotation)[:, "xyz".index(label[11])]
            turn = np.concatenate([e, -np.cross(e, (1.0, 0, 0))])  # about the pin's place on the plate
            np.testing.assert_allclose(np.abs(J @ turn), np.eye(5)[i], atol=1e-9)


def test_a_batch_is_its_samples():
    robot, held, q = tied(JOINTS["revolute"])
    rng = np.random.default_rng(5)
    q, v = held.project(np.broadcast_to(q, (2, 3, robot.nq)), rng.standard_normal((2, 3, robot.nv)))
    tau = rng.standard_normal((3, robot.nv))
    whole = held.forward_dynamics(q, v, tau)
    for i in np.ndindex(2, 3):
        np.testing.assert_allclose(whole[i], held.forward_dynamics(q[i], v[i], tau[i[1]]), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", [name for name in JOINTS if name != "free"])
def test_functions_to_read_close_where_the_residual_does(name):
    """Entries of the pose in place of a logarithm: zero at the same places, and to first order along the same motions."""
    robot, held, q = tied(JOINTS[name])
    x, h = held.set.constraints[0], 1e-6
    at = lambda dv: x.closure(held.set.motion(robot.integrate(q, dv)))
    np.testing.assert_allclose(at(np.zeros(robot.nv)), 0, atol=1e-9)
    D = np.stack([(at(h * e) - at(-h * e)) / (2 * h) for e in np.eye(robot.nv)], -1)
    J = held.jacobian(q)
    rank = np.linalg.matrix_rank(J, rtol=1e-6)
    assert np.linalg.matrix_rank(D, rtol=1e-6) == np.linalg.matrix_rank(np.concatenate([D, J]), rtol=1e-6) == rank
