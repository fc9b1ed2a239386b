"""Ten boxes on each other stand still, the heaviest on top; then a ball strikes them. Films it if asked: --film"""

import sys

import numpy as np

import linkwork as lw
from linkwork.model import solids

BOXES, EDGE = 10, 0.1
made = lw.Builder("stack").ground(material=lw.Material(friction=0.5))
for i in range(BOXES):
    color = (0.25 + 0.06 * i, 0.4, 0.75 - 0.05 * i, 1.0)
    made.body(f"box{i}", joint=lw.Free(), **solids.box(10 ** (2 * i / (BOXES - 1) - 1), (EDGE, EDGE, EDGE), color=color))
made.body("ball", joint=lw.Free(), **solids.sphere(20.0, 0.08))
for i in range(BOXES):
    made.contact(f"box{i}").contact("ball", f"box{i}", friction=0.3)
    if i:
        made.contact(f"box{i}", f"box{i - 1}", friction=0.5)
made.contact("ball")
robot = lw.Dynamics(made.model())
print(robot)
