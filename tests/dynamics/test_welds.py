"""Bodies that are fixed to each other, or to the world: what the joints between them carry."""

from dataclasses import replace

import numpy as np
import pytest

import linkwork as lw
from linkwork.model import solids


def arm() -> lw.Model:
    """A base on the floor, an arm with a sensor and a tool fixed to it, and a finger that moves on the tool."""
    builder = lw.Builder("arm")
    builder.body("base", at=(0.1, 0.2, 0.3), **solids.box(2.0, (0.2, 0.3, 0.4)))
    builder.body("arm", parent="base", at=(0, 0, 0.2), joint=lw.Revolute(axis=(0, 1, 0.1)), **solids.rod(1.0, (0.5, 0, 0)))
    builder.body("sensor", parent="arm", at=(0.5, 0, 0), **solids.box(0.2, (0.05, 0.05, 0.05)))
    builder.body("tool", parent="sensor", at=(0.1, 0, 0.05), **solids.box(0.4, (0.1, 0.05, 0.05)))
    builder.body("finger", parent="tool", at=(0.1, 0, 0), joint=lw.Universal(), **solids.rod(0.1, (0.1, 0, 0.1)))
    return builder.model()


def free(model: lw.Model, name: str) -> lw.Model:
    """The same with a joint of six freedoms in place of a fixed one."""
    return replace(model, joints=tuple(replace(x, joint=lw.Free()) if x.child == name else x for x in model.joints))


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("name", ["base", "sensor", "tool"])
def test_a_fixed_joint_carries_what_a_free_one_would_have_to_hold(name, compiled, rng):
    """f of the weld = τ of a joint of six freedoms that does not move, in the body's axes at its origin."""
    model = arm()
    robot, other = lw.Dynamics(model, compiled=compiled), lw.Dynamics(free(model, name), compiled=False)
    q, v = robot.random_state((2,), seed=0)
    vdot, push = rng.standard_normal((2, robot.nv)), rng.standard_normal((2, len(robot.bodies), 6))
    for external in (None, push):
        found = robot.joint_wrenches(q, v, vdot, name, external=external)[:, 0]
        state = [np.zeros((2, n)) for n in (other.nq, other.nv, other.nv)]
        state[0] += other.neutral()
        for joint in robot.joints:
            for x, mine, at in zip(state, (q, v, vdot), ("q_index", "v_index", "v_index")):
                x[:, getattr(other, at)(joint)] = mine[:, getattr(robot, at)(joint)]
        held = other.inverse_dynamics(*state, external)[:, other.v_index(f"{name}_joint")]
        np.testing.assert_allclose(found, held, atol=1e-12)


def test_the_floor_carries_the_weight_of_a_robot_at_rest():
    robot = lw.Dynamics(arm())
    q = robot.random_state(seed=1)[0]
    still = np.zeros(robot.nv)
    np.testing.assert_allclose(robot.joint_wrenches(q, still, still, "base")[0, 3:], (0, 0, 3.7 * 9.81), atol=1e-12)
    assert robot.joint_wrenches(q, still, still).shape == (len(robot.bodies), 6)
