"""What a new user does first, with an installed linkwork and none of its extras."""

from pathlib import Path

import numpy as np

import linkwork as lw

here = Path(lw.__file__).parent
assert "site-packages" in here.parts, f"linkwork comes from {here}, not from an installed wheel."
for file in ("py.typed", "view/page.html", "view/page.js", "view/page_bent.js"):
    assert (here / file).is_file(), f"the wheel has no {file}."

robot = lw.Dynamics(lw.load("double_pendulum"))
q, v = np.array([0.4, 1.1]), np.array([0.3, -0.2])
tau = robot.inverse_dynamics(q, v, np.array([1.0, 2.0]))
np.testing.assert_allclose(robot.forward_dynamics(q, v, tau), [1.0, 2.0], rtol=1e-12)
run = lw.simulate(robot, (q, v), until=1.0)
np.testing.assert_allclose(run.energy, run.energy[0], rtol=0, atol=1e-5)
for name in lw.mechanisms.NAMES:
    lw.load(name)
print(f"linkwork {lw.__version__} from {here}: forward dynamics and a simulation of {robot.model.name}")
