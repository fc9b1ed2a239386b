"""Joints are prescribed or they are not."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import OptionError


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", ["double_pendulum", "four_bar"])
def test_a_joint_is_prescribed_or_it_is_not(name, compiled):
    robot = lw.Dynamics(lw.load(name), compiled=compiled)
    q, x = robot.neutral(), np.zeros(robot.nv)
    for dtype in (float, np.float32, int):
        told = np.eye(robot.nv)[0].astype(dtype)
        assert robot.hybrid_dynamics(q, x, x, told).shape == (robot.nv,)
        for wrong in (0.5 * told, 2 * told, -told):
            if (wrong != 0).any() and (wrong != 1).any() and not np.isin(wrong, (0, 1)).all():
                with pytest.raises(OptionError, match="each entry is 1"):
                    robot.hybrid_dynamics(q, x, x, wrong)
                with pytest.raises(OptionError, match="each entry is 1"):
                    robot.ask("hybrid_dynamics", q, x, x, [*wrong])
                with pytest.raises(OptionError, match="each entry is 1"):
                    robot.hybrid_dynamics(q, x, x, wrong, np.zeros((len(robot.bodies), 6)))
    assert robot.hybrid_dynamics(q, x, x, np.ones(robot.nv, bool)).shape == (robot.nv,)


def test_a_robot_of_varied_constants_asks_for_the_same():
    robot = lw.Dynamics(lw.load("double_pendulum")).varying("mass")
    x = np.zeros(2)
    with pytest.raises(OptionError, match="each entry is 1"):
        robot.hybrid_dynamics(x, x, x, np.array([0.5, 0.0]))
