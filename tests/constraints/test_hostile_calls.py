"""Whatever is given to a constrained robot: an answer, or an error of the library that names the argument."""

from contextlib import suppress
from functools import cache

import numpy as np
import pytest

import linkwork as lw
from linkwork import constraints


@cache
def four_bar():
    robot = lw.Dynamics(lw.load("four_bar"), compiled=False)
    q, v = robot.constraints.project(robot.assemble(robot.neutral() + 0.1), np.ones(3))
    return robot, robot.constraints, q, v, np.zeros(3)


STATES = {
    "assemble": lambda c, q, v, f, x: c.assemble(x),
    "project": lambda c, q, v, f, x: c.project(x, v),
    "project, v": lambda c, q, v, f, x: c.project(q, x),
    "lift": lambda c, q, v, f, x: c.lift(x, v),
    "tangent": lambda c, q, v, f, x: c.tangent(q, x),
    "residual": lambda c, q, v, f, x: c.residual(x),
    "jacobian": lambda c, q, v, f, x: c.jacobian(x),
    "bias": lambda c, q, v, f, x: c.bias(x, v),
    "rows": lambda c, q, v, f, x: c.rows(x, v),
    "check": lambda c, q, v, f, x: c.check(x, v),
    "check_acceleration": lambda c, q, v, f, x: c.check_acceleration(q, v, x),
    "solution": lambda c, q, v, f, x: c.solution(x, v, f),
    "constraint_forces": lambda c, q, v, f, x: c.constraint_forces(x, v, f),
    "derivatives": lambda c, q, v, f, x: c.derivatives(x, v, f),
    "reduced": lambda c, q, v, f, x: c.reduced(x),
    "embedded": lambda c, q, v, f, x: c.embedded(x),
    "embedded, v": lambda c, q, v, f, x: c.embedded(q, x),
    "integrable": lambda c, q, v, f, x: c.integrable(x),
    "move_squeeze": lambda c, q, v, f, x: c.move_squeeze(x, f),
    "move_squeeze, tau": lambda c, q, v, f, x: c.move_squeeze(q, x),
    "compliance": lambda c, q, v, f, x: c.compliance(x),
    "actuation": lambda c, q, v, f, x: c.actuation(x),
    "report": lambda c, q, v, f, x: c.report(x),
    "equilibrium": lambda c, q, v, f, x: c.robot.equilibrium(x),
    "equilibrium, tau": lambda c, q, v, f, x: c.robot.equilibrium(q, x),
    "modes": lambda c, q, v, f, x: c.robot.modes(x),
    "modes, v": lambda c, q, v, f, x: c.robot.modes(q, x),
    "linearize": lambda c, q, v, f, x: c.robot.linearize(x, v, f),
    "linearize, tau": lambda c, q, v, f, x: c.robot.linearize(q, v, x),
}
VALUES = {
    "None": None, "number": 1.0, "text": "abc", "texts": ["a"] * 3, "short": np.zeros(2), "long": np.zeros(4), "empty": np.zeros(0),
    "no numbers": np.full(3, np.nan), "infinite": np.full(3, np.inf), "complex": np.zeros(3) + 1j, "objects": np.array([object()] * 3),
    "ragged": [[1, 2], [3]], "no samples": np.zeros((0, 3)), "dict": {},
}  # fmt: skip


@pytest.mark.parametrize("call", STATES)
def test_a_wrong_state_gives_an_answer_or_an_error_of_the_library(call):
    """Shapes, types and numbers of all kinds; lists and whole numbers are taken."""
    _, c, q, v, f = four_bar()
    for value in VALUES.values():
        with suppress(lw.LinkworkError):
            STATES[call](c, q, v, f, value)


OPTIONS = {
    "hold": lambda c, q, v, f, x: c.assemble(q, hold=x),
    "hold of project": lambda c, q, v, f, x: c.project(q, v, hold=x),
    "tolerance": lambda c, q, v, f, x: c.assemble(q, tolerance=x),
    "t": lambda c, q, v, f, x: c.project(q, v, t=x),
    "seed": lambda c, q, v, f, x: c.random_state(seed=x),
    "reach": lambda c, q, v, f, x: c.random_state(reach=x),
    "search": lambda c, q, v, f, x: c.robot.equilibrium(q, search=x),
    "limits": lambda c, q, v, f, x: c.robot.equilibrium(q, limits=x),
    "motors": lambda c, q, v, f, x: c.actuation(q, motors=x),
    "W": lambda c, q, v, f, x: c.move_squeeze(q, f, W=x),
    "stabilization": lambda c, q, v, f, x: c.solution(q, v, f, stabilization=x),
    "method": lambda c, q, v, f, x: c.solution(q, v, f, method=x),
    "states": lambda c, q, v, f, x: c.robot.linearize(q, v, f, states=x),
}


@pytest.mark.parametrize("option", OPTIONS)
def test_a_wrong_option_is_named(option):
    """None and defaults aside, none of these is an option of anything: an error whose text has the option, or the name that it gave."""
    _, c, q, v, f = four_bar()
    for value in (1.5, "abc", ["nothing"], np.full((2, 2), np.nan), [[1, 2], [3]], {"a": 1}):
        if (option, type(value)) in (("reach", float), ("t", float), ("seed", list)):  # some of which NumPy takes
            continue
        with pytest.raises(lw.LinkworkError) as error:
            OPTIONS[option](c, q, v, f, value)
        assert any(x in str(error.value) for x in (option.split()[0], "abc", "nothing", "no joint", "no state")), str(error.value)


def test_what_is_not_a_number_stays_so_on_both_roads():
    """project and lift: NaN in, NaN out; a velocity that is none leaves the position."""
    robot, _, q, v, _ = four_bar()
    for c in (robot.constraints, lw.Dynamics(robot.model).constraints):
        assert np.isnan(c.project(q * np.nan, v)).all()
        there, slow = c.project(q, v * np.nan)
        assert np.abs(there - q).max() < 1e-14 and np.isnan(slow).all()


def test_a_metric_of_forces_is_positive():
    _, c, q, _, f = four_bar()
    with pytest.raises(lw.LinkworkError, match="positive"):
        c.move_squeeze(q, f, W=-np.eye(3))


@cache
def arm():
    return lw.Dynamics(lw.load("planar_2r"), compiled=False)


PARTS = {
    "length": lambda x: constraints.Distance("rod", None, arm().model.bodies[-1].name, x),
    "terms": lambda x: constraints.Linear("sum", x),
    "coefficient": lambda x: constraints.Linear("sum", {arm().model.joints[0].name: x}),
    "constant": lambda x: constraints.Linear("sum", {arm().model.joints[0].name: 1.0}, x),
    "function of time": lambda x: constraints.Driven("drive", arm().model.joints[0].name, x),
    "value": lambda x: arm_with(constraints.Driven("drive", arm().model.joints[0].name, lambda t: x)).residual([0.1, 0.2], t=0.0),
    "rate": lambda x: constraints.Driven("drive", arm().model.joints[0].name, np.sin, rate=x),
    "count": lambda x: constraints.Holonomic("rows", lambda q: q[..., :1], x),
    "rows": lambda x: arm_with(constraints.Holonomic("rows", lambda q: x)).residual([0.1, 0.2]),
    "direction": lambda x: constraints.KnifeEdge("skate", arm().model.bodies[-1].name, x),
    "height": lambda x: constraints.Touching("disk", arm().model.bodies[-1].name, 1.0, height=x),
    "robot": lambda x: constraints.of(x),
    "form": lambda x: lw.Equations(arm()).coriolis_matrix([0.1, 0.2], [0.0, 0.0], x),
    "body": lambda x: lw.Equations(arm()).acceleration([0.1, 0.2], [0.0, 0.0], [0.0, 0.0], x),
    "dt": lambda x: arm().linearize([0.1, 0.2], [0.0, 0.0], [0.0, 0.0], dt=x),
    "tau": lambda x: arm().linearize([0.1, 0.2], [0.0, 0.0], x),
}


def arm_with(x):
    return constraints.of(arm(), x)


@pytest.mark.parametrize("part", PARTS)
def test_a_wrong_part_of_a_constraint_or_an_equation_is_an_error_of_the_library(part):
    for value in ("abc", ["a"], np.full((2, 3), np.nan), [[1, 2], [3]], {1: 2}, object()):
        with pytest.raises(lw.LinkworkError):
            PARTS[part](value)


def test_equations_of_no_samples_are_none():
    none, equations = np.zeros((0, 2)), lw.Equations(arm())
    assert equations.coriolis_matrix(none, none).shape == (0, 2, 2) and equations.riemann(none).shape == (0, 2, 2, 2, 2)
