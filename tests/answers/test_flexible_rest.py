"""Rest and small motions of beams with modes, beside beams of segments."""

import numpy as np
import pytest

import linkwork as lw
from linkwork import sections
from linkwork.model import solids

TUBE = sections.tube(0.015, 0.001, sections.ALUMINIUM)


def arm(flexibility, **how):
    """A column that slews on a spring, a boom, a load at its tip."""
    b = lw.Builder(f"{flexibility} arm")
    column = solids.cylinder(8.0, 0.06, 0.6, center=(0, 0, 0.3))
    b.body("column", joint=lw.Revolute(stiffness=400.0, damping=0.5), joint_name="slew", **column)
    b.beam("boom", 1.5, TUBE, "column", (0, 0, 0.6), flexibility=flexibility, damping=1e-4, **how)
    b.body("load", "boom_tip", **solids.box(0.5, (0.08, 0.08, 0.08)))
    return lw.Dynamics(b.model(), compiled=False)


def test_a_boom_of_modes_rests_and_swings_as_one_of_segments():
    """Sag of the load, slew and first bending with their damping; more segments come nearer. Modes sag by (P L³/3 + w L⁴/8)/EI."""
    found = {}
    for name, robot in {"modal": arm("modal", segments=16), 6: arm("lumped", segments=6), 12: arm("lumped", segments=12)}.items():
        rest = robot.equilibrium(robot.neutral())
        modes = robot.modes(rest)
        assert rest.stability == "stable" and modes.stable
        found[name] = np.array([0.6 - robot.pose(rest.q, "load")[2, 3], *modes.frequencies[:2], *modes.damping[:2]])
    coarse, fine = (found[n] / found["modal"] - 1 for n in (6, 12))
    assert np.isclose(found["modal"][0], 9.81 * (0.5 * 1.5**3 / 3 + TUBE.mass_per_length * 1.5**4 / 8) / TUBE.EIy, rtol=1e-6)
    assert np.abs(fine).max() < 3e-3
    assert np.abs(coarse[0]) > 3 * np.abs(fine[0])


@pytest.mark.parametrize("count", [2, 6])
def test_frequencies_of_a_beam_of_modes_are_those_it_was_made_of(count):
    """√K of the modes, without gravity."""
    body = lw.FlexibleBody.beam(1.0, TUBE, count=count)
    robot = lw.Dynamics(lw.Builder("beam", gravity=(0, 0, 0)).flexible("beam", body).model(), compiled=False)
    np.testing.assert_allclose(2 * np.pi * robot.modes(robot.neutral()).frequencies, np.sqrt(np.linalg.eigvalsh(body.stiffness)), rtol=1e-8)


def test_a_mode_of_a_flexible_body_can_be_shown(tmp_path):
    robot = arm("modal", segments=8)
    mode = robot.modes(robot.equilibrium(robot.neutral()))[1]
    assert lw.record(mode, tmp_path / "mode.html").stat().st_size > 1000
