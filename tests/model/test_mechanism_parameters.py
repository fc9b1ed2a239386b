"""Built-in mechanisms with other sizes and masses than their own."""

import numpy as np
import pytest

import linkwork as lw
from linkwork import mechanisms
from linkwork.model.mechanisms import NAMES


def plain(model):
    return lw.Dynamics(model, compiled=False)


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_a_function_too(name):
    assert getattr(mechanisms, name)() == lw.load(name)


@pytest.mark.parametrize("cut", ["pin", "foot"])
def test_a_four_bar_of_any_lengths_is_closed_as_drawn(cut):
    model = mechanisms.four_bar(cut, crank=0.7, coupler=1.9, rocker=1.4, ground=2.1, extension=0.0, angle=0.8, masses=(1, 2, 3))
    robot = plain(model)
    assert robot.constraint_report(robot.neutral()).closed
    assert [body.mass for body in model.bodies if body.name == "coupler"] == [2.0]
    assert np.allclose(robot.pose(robot.neutral(), "coupler")[:2, 3], 0.7 * np.array([np.cos(0.8), np.sin(0.8)]))


@pytest.mark.parametrize("cut", ["pin", "foot"])
def test_a_stretched_four_bar_has_the_angles_between_its_bars(cut):
    """Loop closure: a e^(iθ) + b e^(i(θ+β)) = d + c e^(iγ)."""
    model = mechanisms.four_bar(cut, crank=1.0, coupler=2.0, rocker=1.5, ground=2.2, stretched=True)
    robot = plain(model)
    guess = {"pin": [1.0, -0.7, 1.4], "foot": [1.0, -0.7, 1.1]}[cut]
    crank, coupler, rocker = robot.assemble(guess, hold=["crank_joint"])
    rocker += 0.0 if cut == "pin" else crank + coupler
    turn = lambda angle: np.exp(1j * angle)
    assert np.isclose(turn(crank) + 2.0 * turn(crank + coupler), 2.2 + 1.5 * turn(rocker))


def test_a_slider_crank_moves_its_piston_twice_the_crank():
    robot = plain(mechanisms.slider_crank(crank=0.5, rod=1.5, masses=(1.0, 2.0, 3.0)))
    q = robot.assemble([np.pi, -np.pi, -0.9], hold=["crank_joint"])
    assert np.isclose(q[robot.q_index("piston_joint")], -1.0).all()
    assert [body.mass for body in robot.model.bodies] == [1.0, 2.0, 3.0]


def test_intelsat_without_cables_has_a_freedom_for_each_joint():
    model = mechanisms.intelsat(base=lw.Planar(axis=(1, 0, 0)), cables=False, panels=4, damping=0.0)
    assert not model.couplings and plain(model).nv == 3 + 2 * 5


def test_a_snakeboard_in_parts_moves_as_the_whole():
    """Accelerations of the board alike, twelve coordinates or six."""
    whole, parts = (plain(mechanisms.snakeboard(separate=x)) for x in (False, True))
    q = parts.neutral()
    for axle, angle in (("front", 0.3), ("back", -0.2)):
        q[parts.q_index(f"{axle}_joint")][-1] = angle
    tau, force = np.zeros(12), np.zeros(6)
    tau[parts.v_index("rider_joint")][-1], tau[parts.v_index("board_joint")][-1] = 1.0, -1.0
    force[whole.v_index("rider_joint")] = 1.0
    one = parts.forward_dynamics(q, np.zeros(12), tau)[parts.v_index("board_joint")]
    other = whole.forward_dynamics(np.array([0, 0, 0, 0, 0.3, -0.2]), np.zeros(6), force)[whole.v_index("board_joint")]
    assert np.allclose(one[[2, 0, 1]], other) and abs(other[0]) > 0.1


@pytest.mark.parametrize("length", [0.5, 2.0])
def test_a_pendulum_of_any_length_swings_as_a_rod_does(length):
    """(m l²/3) q̈ = −m g (l/2) sin q."""
    robot = plain(mechanisms.pendulum(length=length, mass=3.0))
    assert np.allclose(robot.forward_dynamics([0.7], [0.0], [0.0]), -1.5 * 9.81 / length * np.sin(0.7))


WRONG = {
    "four_bar has crank = -0.1; it takes a finite positive number": lambda: mechanisms.four_bar(crank=-0.1),
    "four_bar has ground = '2'; it takes": lambda: mechanisms.four_bar(ground="2"),
    "four_bar has extension = -1; it takes": lambda: mechanisms.four_bar(extension=-1),
    r"four_bar does not close as drawn: bars of 0.25 m and 0.25 m": lambda: mechanisms.four_bar(ground=2.0),
    "four_bar takes the mass of crank, coupler, rocker: 3 numbers, not 2": lambda: mechanisms.four_bar(masses=(1, 2)),
    "four_bar has the mass of the coupler = 0": lambda: mechanisms.four_bar(masses=(1, 0, 2)),
    'four_bar is cut at "rod"; it may be "pin" or "foot"': lambda: mechanisms.four_bar("rod"),
    "peaucellier does not close as drawn": lambda: mechanisms.peaucellier(arm=1.0),
    "slider_crank has rod = nan": lambda: mechanisms.slider_crank(rod=float("nan")),
    "a wing of intelsat has 0 parts; it takes a whole number from 1": lambda: mechanisms.intelsat(panels=0),
    "chain_2.5 has 2.5 parts; it takes a whole number": lambda: mechanisms.chain(2.5),
    "snakeboard has the moment of the rider = -1": lambda: mechanisms.snakeboard(moments=(1, -1, 1)),
    "rolling_disk has radius = 0": lambda: mechanisms.rolling_disk(radius=0),
    "cartpole has pole_mass = inf": lambda: mechanisms.cartpole(pole_mass=float("inf")),
}


@pytest.mark.parametrize("said", WRONG)
def test_a_parameter_that_cannot_be_is_named(said):
    with pytest.raises(lw.ModelError, match=said):
        WRONG[said]()
