"""Bodies and joints keep the order in which they were added, and nothing but rows and columns depends on it."""

import numpy as np
import pytest
from zoo import close

import linkwork as lw

STEPS = {"a": None, "c": None, "b": "a", "e": "c", "d": "b", "f": "a"}  # breadth first: no subtree stands together


def tree(order, loop=False):
    builder = lw.Builder("tree")
    for name in order:
        i = sorted(STEPS).index(name)
        turned = lw.Pose.rpy((0.1 * i, 0.3, 0.2), (0.3 * i, 0.2, 0.1)) if not loop else (0.5, 0.1 * i, 0.0)
        joint = lw.Free() if name == "c" and not loop else lw.Revolute(axis=(0, 0, 1), damping=0.1 * i)
        builder.body(name, STEPS[name], turned, joint, mass=1.0 + i, center=(0.1, 0.02 * i, 0), tensor=(0.1, 0.2, 0.25))
    if loop:
        builder.couple("d_joint", "e_joint", (0.1, 0.7))
        builder.distance("rod", "d", "e", 1.5)
    return builder.model()


def rows(robot, index, other):
    return np.concatenate([np.arange(getattr(other, "n" + index[0]))[getattr(other, index)(name)] for name in robot.joints])


def test_a_builder_keeps_the_order_in_which_bodies_were_added():
    robot = lw.Dynamics(tree(STEPS))
    assert robot.bodies == list(STEPS)
    assert robot.joints == [f"{name}_joint" for name in STEPS]
    assert robot.q_index("c_joint") == slice(1, 8)


def test_a_body_added_before_its_parent_follows_it():
    assert lw.Dynamics(tree("dfbaec")).bodies == list("afbdce")


def test_a_model_added_to_another_comes_after_it():
    model = lw.load("double_pendulum").with_model("link1", lw.load("pendulum"), prefix="p_")
    assert [body.name for body in model.bodies] == ["link1", "link2", "p_link1"]


def test_files_are_read_depth_first():
    """URDF gives the order of its joints no meaning; `docs/other-libraries.md` says that they are taken depth first."""
    joint = '<joint name="{0}" type="continuous"><parent link="{1}"/><child link="{0}"/></joint>'
    inertia = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'
    text = "".join([f'<link name="{x}">{inertia}</link>' for x in "wacb"] + [joint.format(*x) for x in ("aw", "cw", "ba")])
    assert lw.Dynamics(lw.load(f"<robot>{text}</robot>")).bodies == list("wabc")


@pytest.mark.parametrize(
    "way",
    [
        pytest.param({"compiled": False}, id="plain"),
        pytest.param({"rolled": False}, id="straight", marks=pytest.mark.slow),
        pytest.param({"rolled": True}, id="rolled", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("loop", [False, True], ids=["tree", "bound"])
def test_nothing_but_rows_and_columns_depends_on_the_order(way, loop):
    breadth, depth = lw.Dynamics(tree(STEPS, loop), **way), lw.Dynamics(tree("abdfce", loop), compiled=False)
    q, v = breadth.random_state(seed=1)
    if loop:
        q = breadth.assemble(q)
    tau = np.random.default_rng(0).standard_normal(breadth.nv)
    of_q, of_v = rows(depth, "q_index", breadth), rows(depth, "v_index", breadth)
    Q, V, T = q[of_q], v[of_v], tau[of_v]
    close(breadth.mass_matrix(q)[of_v][:, of_v], depth.mass_matrix(Q))
    close(breadth.inverse_dynamics(q, v, tau)[of_v], depth.inverse_dynamics(Q, V, T))
    close(breadth.coriolis_matrix(q, v)[of_v][:, of_v], depth.coriolis_matrix(Q, V))
    close(breadth.jacobian(q, "d")[:, of_v], depth.jacobian(Q, "d"))
    close(breadth.passive_force(q, v)[of_v], depth.passive_force(Q, V))
    close(breadth.center_of_mass(q), depth.center_of_mass(Q))
    if loop:
        v = breadth.constraints.project(q, v)[1]
        V = v[of_v]
    close(breadth.forward_dynamics(q, v, tau)[of_v], depth.forward_dynamics(Q, V, T), 1e-9)
