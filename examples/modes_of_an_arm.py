"""An arm with a slender boom that bends and twists: how it sags, how it swings, rigid and as segments. Draws a mode."""

import linkwork as lw
from linkwork import sections
from linkwork.model import solids

tube = sections.tube(0.015, 0.001, sections.ALUMINIUM)


def arm(flexibility: str) -> lw.Dynamics:
    b = lw.Builder(f"{flexibility} arm")
    column = solids.cylinder(8.0, 0.06, 0.6, center=(0, 0, 0.3))
    b.body("column", joint=lw.Revolute(stiffness=400.0, damping=0.5), joint_name="slew", **column)
    b.beam("boom", 1.5, tube, "column", (0, 0, 0.6), flexibility=flexibility, segments=8, damping=1e-4, color=(0.25, 0.45, 0.7, 1.0))
    b.body("load", "boom_tip", **solids.box(0.5, (0.08, 0.08, 0.08), color=(0.75, 0.3, 0.25, 1.0)))
    return lw.Dynamics(b.model(), compiled=False)


for flexibility in ("rigid", "lumped"):
    robot = arm(flexibility)
    rest = robot.equilibrium(robot.neutral())
    modes = robot.modes(rest)
    sag = 0.6 - robot.pose(rest.q, "load")[2, 3]
    print(f"{flexibility}: the load sags by {1e3 * sag:.2f} mm; {modes.frequencies[:4].round(3)} Hz, damping {modes.damping[:4].round(5)}")
print("\n".join(str(modes).splitlines()[:8]))
lw.snapshot(modes[3], [0.0, 0.5, 1.5], "modes_of_an_arm.png", size=(6.4, 3.6), azimuth=-80, elevation=10)
print("modes_of_an_arm.png")
