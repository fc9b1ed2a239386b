"""What joint-space results do not notice: where the world is, how bodies are numbered, where their frames are."""

from dataclasses import replace

import numpy as np
from zoo import close, every_mechanism, plain, robots, spread, state

import linkwork as lw

SHAPE = (2, 3)


def joint_space(robot, s):
    """Everything that has no frame."""
    return [
        robot.mass_matrix(s.q),
        robot.mass_matrix_inverse(s.q),
        robot.inverse_dynamics(s.q, s.v, s.vdot),
        robot.forward_dynamics(s.q, s.v, s.tau),
        robot.coriolis_matrix(s.q, s.v),
        robot.gravity_force(s.q),
        robot.passive_force(s.q, s.v),
        robot.kinetic_energy(s.q, s.v),
    ]


def all_close(one, other):
    for a, b in zip(one, other):
        close(a, b, 1e-11)


@every_mechanism
def test_joints_do_not_notice_where_the_world_is(robot, rng):
    """The world moved by X and gravity with it: T → X T, everything in joint space the same."""
    X, s = spread(rng), state(robot, SHAPE)
    joints = tuple(replace(h, at=X @ h.at) if h.parent is None else h for h in robot.model.joints)
    moved = plain(replace(robot.model, joints=joints, gravity=X.rotation @ robot.model.gravity))
    all_close(joint_space(moved, s), joint_space(robot, s))
    close(moved.poses(s.q), X.matrix @ robot.poses(s.q))
    h = robot.centroidal_momentum(s.q, s.v).reshape(*SHAPE, 2, 3)
    close(moved.centroidal_momentum(s.q, s.v).reshape(*SHAPE, 2, 3), h @ X.rotation.T)


@robots("tree", "chain", "floating", "forest", "welded", "massless", "geared")
def test_joints_do_not_notice_how_bodies_are_numbered(robot):
    """Bodies in reverse order: rows and columns move with their joints, nothing else."""
    s = state(robot, SHAPE)
    other = plain(robot.model.renumbered(robot.bodies[::-1]))
    joints = [placed.name for placed in other.model.joints if placed.joint.nq]
    of_q = np.concatenate([np.arange(robot.nq)[robot.q_index(name)] for name in joints])
    of_v = np.concatenate([np.arange(robot.nv)[robot.v_index(name)] for name in joints])
    body = [robot.bodies.index(name) for name in other.bodies]
    q, v, tau, external = s.q[..., of_q], s.v[..., of_v], s.tau[..., of_v], s.external[..., body, :]
    close(other.mass_matrix(q), robot.mass_matrix(s.q)[..., of_v, :][..., of_v])
    close(other.coriolis_matrix(q, v), robot.coriolis_matrix(s.q, s.v)[..., of_v, :][..., of_v])
    vdot = robot.forward_dynamics(s.q, s.v, s.tau, s.external)
    close(other.forward_dynamics(q, v, tau, external), vdot[..., of_v], 1e-11)
    close(other.poses(q), robot.poses(s.q)[..., body, :, :])


@every_mechanism
def test_joints_do_not_notice_where_body_frames_are(robot, rng):
    """Every body's frame moved by its own X: T → T X, wrenches f → φ(X)⁻¹ f, everything in joint space the same."""
    s = state(robot, SHAPE)
    X = {body: spread(rng) for body in robot.bodies}
    moved = plain(moved_frames(robot.model, X))
    all_close(joint_space(moved, s), joint_space(robot, s))
    matrices = np.stack([pose.matrix for pose in X.values()])
    close(moved.poses(s.q), robot.poses(s.q) @ matrices)
    wrenches = (lw.spatial.phi_inverse(matrices) @ s.external[..., None])[..., 0]
    close(moved.inverse_dynamics(s.q, s.v, s.vdot, wrenches), robot.inverse_dynamics(s.q, s.v, s.vdot, s.external))
    close(moved.center_of_mass(s.q), robot.center_of_mass(s.q))
    close(moved.centroidal_momentum(s.q, s.v), robot.centroidal_momentum(s.q, s.v))


def moved_frames(model, X):
    """The same mechanism with the frame of every body at X in the old one."""

    def of(placed):
        at = placed.at if placed.parent is None else X[placed.parent].inverse() @ placed.at
        return replace(placed, at=at, on=X[placed.child].inverse() @ placed.on)

    def body(b):
        back = X[b.name].inverse()
        R = back.rotation
        return replace(b, center=R @ b.center + back.translation, tensor=R @ b.tensor @ R.T)

    return replace(model, bodies=tuple(map(body, model.bodies)), joints=tuple(map(of, model.joints)))


@robots("tree", "floating", "geared")
def test_a_mechanism_does_not_notice_another_one_beside_it(robot):
    """Two mechanisms on one world: 𝓜 is block-diagonal, each moves as if alone."""
    s = state(robot, SHAPE)
    both = plain(robot.model.with_model(None, robot.model, (1.0, 2.0, 3.0), prefix="other "))
    q, v, tau = (np.concatenate([x, x], -1) for x in (s.q, s.v, s.tau))
    alone = robot.forward_dynamics(s.q, s.v, s.tau)
    close(both.forward_dynamics(q, v, tau), np.concatenate([alone, alone], -1))
    close(both.mass_matrix(q)[..., : robot.nv, robot.nv :], np.zeros((robot.nv, robot.nv)))


@robots("revolute", "spherical", "universal", "planar", "free")
def test_a_body_cut_in_two_and_welded_again_is_the_same_body(robot):
    """Half the mass and tensor twice, at one place: M is the same."""
    s, model = state(robot, SHAPE), robot.model
    body = model.bodies[0]
    half = replace(body, mass=body.mass / 2, tensor=np.array(body.tensor) / 2)
    cut = plain(replace(model, bodies=(half,)).with_payload(body.name, replace(half, name="half")))
    all_close(joint_space(cut, s), joint_space(robot, s))
