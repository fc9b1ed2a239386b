"""Files of format 4, written by the version before the state of a run was one value, and of format 5, `law`, before a contact law was:
they are read, and their runs go on."""

from pathlib import Path

import numpy as np
import pytest

import linkwork as lw
from linkwork.simulate.state import Collocation, Impulses, Midpoints, Released

FILES = Path(__file__).with_name("old")
HOLD = lw.hold(lambda t, q, v: [0.1 * np.sin(3 * t)], rate=30.0)
EVENTS = [lw.Event(lambda t, q, v: q[0] + 0.2, "low")]
FORCE = {"control": lambda t, q, v: -0.5 * v - 3 * q * np.cos(t)}
ENDS = {  # of the runs that were not stopped, and what the file remembers of the method
    "rk45": (0.6, [-0.3, 0.0], Released, {"control": HOLD, "events": EVENTS}),
    "radau": (0.6, [1.3700522040833305, 0.2082077654363042, 0.7191983964469558, 0.16471922153504334], Collocation, FORCE),
    "midpoint": (0.6, [1.370079300090572, 0.20810143495911235, 0.7224964078495288, 0.16592684598831728], Midpoints, FORCE),
    "contact": (0.4, [0.023256499999999996, 0.06, 0.0, 0.0], Impulses, {}),
    "law": (0.3, [0.1202703142709566, 0.06, 1.2749718333041784, 0.3600320208313969, 0.0, 6.000533680523282], Impulses, {}),
    "points": (0.6, [0.02331305140884607, 0.06, 0.0, 0.0], type(None), {}),
    "embed": (0.6, [1.5093459111101548, -1.2457177987824015, 0.6227058932235198, 10.795799884159324, -7.309229051555073, 3.707607757728183],
              type(None), {}),
}  # fmt: skip


@pytest.mark.parametrize("name", ENDS)
def test_a_run_in_an_old_file_goes_on_from_all_that_it_knew(name, tmp_path):
    until, end, memory, functions = ENDS[name]
    old = lw.Trajectory.load(FILES / f"{name}.npz")
    assert old.state.t == old.t[-1] and type(old.state.memory) is memory
    assert (old.state.keeper is not None) == (name == "embed") and (old.state.stops is not None) == (name in ("rk45", "points"))
    old.save(tmp_path / "new.npz")
    for each in (old, lw.Trajectory.load(tmp_path / "new.npz")):
        run = each.resume(until, on_step=None, **functions)
        assert run.status == "finished"
        np.testing.assert_allclose([*run.q[-1], *run.v[-1]], end, rtol=1e-11, atol=1e-13)
