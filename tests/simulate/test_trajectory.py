"""Trajectories: rows, slices, times in between, quantities along them, files and tables."""

import json
import sys
from types import ModuleType

import numpy as np
import pytest

import linkwork as lw
from linkwork.model import solids

ARM = lw.Dynamics(lw.load("planar_2r"))
BLOCK = lw.Dynamics(lw.load("free_body"))
SWING = lw.simulate(ARM, ([0.3, 0.5], [0.0, 1.0]), until=2.0, control=lambda t, q, v: -0.1 * v)
TUMBLE = lw.simulate(BLOCK, (BLOCK.neutral(), [3, 1, 0.2, 1, 2, 3.0]), until=2.0, rtol=1e-9, atol=1e-9)
both = pytest.mark.parametrize("run", [SWING, TUMBLE], ids=["arm", "block"])


@both
def test_a_trajectory_is_frozen(run):
    with pytest.raises(ValueError):
        run.q[0] = 0
    with pytest.raises(AttributeError):
        run.t = None


@both
def test_a_row_is_a_state(run):
    """So that a run can start where another was."""
    q, v = run[-1]
    np.testing.assert_array_equal(q, run.q[-1])
    np.testing.assert_array_equal(v, run.v[-1])
    assert len(list(run)) == len(run) == len(run.t)
    assert lw.simulate(run.robot, run[3], until=0.1).status == "finished"


@both
def test_slices_are_trajectories(run):
    part = run[2:9:3]
    assert isinstance(part, lw.Trajectory) and len(part) == 3
    np.testing.assert_array_equal(part.energy, run.energy[2:9:3])
    assert len(run[:-5]) == len(run) - 5
    with pytest.raises(lw.SimulationError, match="none are left"):
        run[5:5]


@both
def test_in_between_is_the_motion(run):
    """At the rows it is the rows; between them it is as exact as the run."""
    q, v = run(run.t)
    np.testing.assert_allclose(q, run.q, atol=1e-12)
    np.testing.assert_allclose(v, run.v, atol=1e-12)
    middle = (run.t[1:] + run.t[:-1]) / 2
    exact = lw.simulate(run.robot, run[0], until=2.0, control=run.settings.control, rtol=1e-12, atol=1e-12, method="dop853")
    q, v = run(middle)
    there = exact(middle)
    assert np.abs(run.robot.difference(there[0], q)).max() < 1e-4
    assert np.abs(there[1] - v).max() < 1e-3
    one = run(1.0)
    assert one[0].shape == run.q[0].shape and one[1].shape == run.v[0].shape
    grid = run(np.linspace(0, 2, 6).reshape(2, 3))
    assert grid[0].shape == (2, 3, run.robot.nq)


def test_attitudes_in_between_are_attitudes():
    q, _ = TUMBLE(np.linspace(0, 2, 501))
    np.testing.assert_allclose(np.linalg.norm(q[:, :4], axis=-1), 1, atol=1e-15)


@both
def test_other_times_make_another_trajectory(run):
    t = np.linspace(0, 2, 21)
    other = run.at(t)
    np.testing.assert_array_equal(other.t, t)
    np.testing.assert_array_equal(other.q, run(t)[0])
    assert other.tau.shape == (21, run.robot.nv) and other.robot is run.robot
    np.testing.assert_allclose(run.at(run.t).tau, run.tau, atol=1e-12)


def test_a_held_force_is_held_in_between(tmp_path):
    """Not interpolated, and so it is after a file."""
    run = lw.simulate(ARM, SWING[0], until=1.0, control=lw.hold(lambda t, q, v: [t, 2 * t], rate=4.0))
    run.save(tmp_path / "run.npz")
    for each in (run, lw.Trajectory.load(tmp_path / "run.npz")):
        np.testing.assert_array_equal(each.at([0.1, 0.3, 0.6, 0.9]).tau[:, 0], [0.0, 0.25, 0.5, 0.75])
    np.testing.assert_allclose(SWING.at([0.5]).tau, -0.1 * SWING(0.5)[1][None], atol=1e-2)


@both
def test_times_outside_are_refused(run):
    with pytest.raises(lw.SimulationError, match=r"the trajectory runs from 0 s to 2 s; asked for 2\.5 s"):
        run(2.5)


@both
def test_quantities_along_a_trajectory(run):
    robot = run.robot
    np.testing.assert_array_equal(run.energy, robot.kinetic_energy(run.q, run.v) + robot.potential_energy(run.q))
    np.testing.assert_array_equal(run.momentum, robot.centroidal_momentum(run.q, run.v))
    np.testing.assert_array_equal(run.center_of_mass, robot.center_of_mass(run.q))
    assert run.poses.shape == (len(run), len(robot.bodies), 4, 4)
    np.testing.assert_allclose(run.pose(robot.bodies[0]), run.poses[:, 0], atol=1e-15)
    passive = robot.passive_force(run.q, run.v)
    np.testing.assert_allclose(run.vdot, robot.forward_dynamics(run.q, run.v, run.tau + passive), atol=1e-9)
    assert run.energy is run.energy


def test_coordinates_have_names():
    assert SWING.q_names == SWING.v_names == ARM.joints
    assert TUMBLE.q_names == [f"free[{i}]" for i in range(7)] and TUMBLE.v_names == [f"free[{i}]" for i in range(6)]


@both
def test_it_says_what_it_is(run):
    assert repr(run) == f"<Trajectory of {run.robot.model.name}: 0 to 2 s, {len(run)} rows, rk45>"
    assert f"{run.steps} steps, {run.rejected} rejected" in str(run)


def test_every_keeps_fewer_rows():
    full = lw.simulate(ARM, SWING[0], until=1.0, method="rk4", dt=0.01)
    few = lw.simulate(ARM, SWING[0], until=1.0, method="rk4", dt=0.01, save=lw.Save(every=7))
    np.testing.assert_array_equal(few.q, full.q[[*range(0, 100, 7), 100]])
    assert few.steps == full.steps == 100


# --- files


@both
def test_a_file_brings_everything_back(run, tmp_path):
    run.save(tmp_path / "run.npz")
    back = lw.Trajectory.load(tmp_path / "run.npz")
    for name in ("t", "q", "v", "vdot", "tau"):
        np.testing.assert_array_equal(getattr(back, name), getattr(run, name))
    assert back.robot.model == run.robot.model
    for name in ("status", "message", "steps", "rejected", "evaluations"):
        assert getattr(back, name) == getattr(run, name)
    np.testing.assert_allclose(back.energy, run.energy, atol=1e-12)
    np.testing.assert_array_equal(back(1.234)[0], run(1.234)[0])
    assert back.settings.rtol == run.settings.rtol


def test_a_file_keeps_the_events(tmp_path):
    run = lw.simulate(ARM, SWING[0], until=2.0, events=[lw.Event(lambda t, q, v: q[0], "down")])
    run.save(tmp_path / "run.npz")
    back = lw.Trajectory.load(tmp_path / "run.npz")
    assert [(e.t, e.name, *e.q, *e.v) for e in back.events] == [(e.t, e.name, *e.q, *e.v) for e in run.events] != []


def test_a_run_goes_on_after_a_file(tmp_path):
    """The same steps as without; but a file holds no functions, so they are given again."""
    how = {"method": "rk4", "dt": 0.01, "control": lambda t, q, v: -0.1 * v}
    whole = lw.simulate(ARM, SWING[0], until=1.0, **how)
    lw.simulate(ARM, SWING[0], until=0.5, **how).save(tmp_path / "half.npz")
    half = lw.Trajectory.load(tmp_path / "half.npz")
    with pytest.raises(lw.SimulationError, match=r"a file does not hold functions: resume\(until=1.0, control=...\)"):
        half.resume(until=1.0)
    np.testing.assert_array_equal(half.resume(until=1.0, control=how["control"]).q, whole.q)
    lw.simulate(ARM, SWING[0], until=0.5).save(tmp_path / "free.npz")
    assert lw.Trajectory.load(tmp_path / "free.npz").resume(until=1.0).t[-1] == 1.0


@pytest.mark.parametrize(("old", "limits", "restitution"), [(None, False, 0.0), (0.0, True, 0.0), (0.5, True, 0.5)])
def test_a_file_of_format_1_loads_and_resumes(tmp_path, old, limits, restitution):
    """In format 1, `limits` was the restitution, or null for no limits, and joints in their places were hinges."""
    path = tmp_path / "old.npz"
    lw.simulate(ARM, SWING[0], until=0.1).save(path)
    with np.load(path) as file:
        header = json.loads(file["header"].tobytes())
    settings, model = header["settings"], header["model"]
    settings.pop("restitution")
    model["hinges"] = [joint | {"type": "Hinge"} for joint in model.pop("joints")]
    changed(path, NO_EVENTS, version=1, settings=settings | {"limits": old}, model=model, dense=None, state=None)
    back = lw.Trajectory.load(path)
    assert (back.settings.limits, back.settings.restitution) == (limits, restitution)
    assert back.resume(until=0.2).t[-1] == 0.2


def test_other_files_are_no_trajectories(tmp_path):
    path = tmp_path / "x.npz"
    np.savez(path, a=np.zeros(3))
    with pytest.raises(lw.SimulationError, match="is not a trajectory of linkwork"):
        lw.Trajectory.load(path)
    path.write_text("no zip at all")
    with pytest.raises(lw.SimulationError, match="is not a trajectory of linkwork"):
        lw.Trajectory.load(path)
    with pytest.raises(FileNotFoundError):
        lw.Trajectory.load(tmp_path / "none.npz")


NO_EVENTS = {"event_t": np.zeros(0), "event_q": np.zeros((0, 2)), "event_v": np.zeros((0, 2))}  # arrays of formats before 5


def changed(path, more=(), **entries):
    """The file with more arrays, and other entries in its header."""
    with np.load(path) as file:
        arrays = dict(file) | dict(more)
    header = json.loads(arrays.pop("header").tobytes()) | entries
    np.savez(path, header=np.frombuffer(json.dumps(header).encode(), np.uint8), **arrays)


def test_a_newer_file_says_so(tmp_path):
    path = tmp_path / "run.npz"
    SWING.save(path)
    changed(path, version=99)
    with pytest.raises(lw.SimulationError, match="was written by a newer linkwork"):
        lw.Trajectory.load(path)


def test_a_file_cannot_name_any_class_it_likes(tmp_path):
    """Only what a model is made of is made; nothing in a file is executed."""
    path = tmp_path / "run.npz"
    SWING.save(path)
    changed(path, model={"type": "Popen", "args": ["true"]})
    with pytest.raises(lw.SimulationError, match="is not a trajectory of linkwork, or is damaged"):
        lw.Trajectory.load(path)


# --- tables


class Table:
    """Stands for a DataFrame or a Dataset where those are not installed."""

    def __init__(self, data, *arguments, **options):
        self.data, self.arguments, self.options = data, arguments, options


def test_a_table_for_pandas(monkeypatch):
    fake = ModuleType("pandas")
    fake.DataFrame, fake.Index = Table, lambda values, name: (name, values)
    monkeypatch.setitem(sys.modules, "pandas", fake)
    table = TUMBLE.to_pandas()
    np.testing.assert_array_equal(table.data["q.free[4]"], TUMBLE.q[:, 4])
    np.testing.assert_array_equal(table.data["tau.free[5]"], TUMBLE.tau[:, 5])
    np.testing.assert_array_equal(table.data["energy"], TUMBLE.energy)
    assert table.options["index"][0] == "t"


@pytest.mark.parametrize("name", ["pandas", "xarray"])
def test_a_table_without_its_library_says_what_to_install(name, monkeypatch):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=rf'pip install {name}\. run\.save\("run\.csv"\)'):
        getattr(TUMBLE, f"to_{name}")()


def test_a_damaged_step_of_the_grid_is_named(tmp_path):
    """A step without end, in a file or in a call, is no number of seconds."""
    lw.simulate(ARM, SWING[0], until=0.1, dt=0.05).save(tmp_path / "run.npz")
    with np.load(tmp_path / "run.npz") as file:
        settings = json.loads(file["header"].tobytes())["settings"]
    changed(tmp_path / "run.npz", settings=settings | {"dt": float("inf")})
    with pytest.raises(lw.SimulationError, match=r"is not a trajectory of linkwork, or is damaged.*dt is inf"):
        lw.Trajectory.load(tmp_path / "run.npz")
    with pytest.raises(lw.SimulationError, match="dt is inf; it must be a positive number of seconds"):
        lw.simulate(ARM, SWING[0], until=0.1, dt=np.inf)


def test_a_dataset_for_xarray(monkeypatch):
    fake = ModuleType("xarray")
    fake.Dataset = Table
    monkeypatch.setitem(sys.modules, "xarray", fake)
    data = TUMBLE.to_xarray()
    labels, facts = data.arguments
    for axes, values in data.data.values():
        axes = (axes,) if isinstance(axes, str) else axes
        assert values.shape == tuple(len(labels[axis]) for axis in axes)
    assert facts["model"] == "free_body"


def test_real_tables():
    pytest.importorskip("pandas")
    pytest.importorskip("xarray")
    assert TUMBLE.to_pandas().shape == (len(TUMBLE), 7 + 6 + 6 + 3)
    assert float(TUMBLE.to_xarray()["q"].sel(coordinate="free[4]")[-1]) == TUMBLE.q[-1, 4]


def test_a_bar_is_quiet_where_nobody_looks(capsys):
    lw.simulate(ARM, SWING[0], until=0.1, progress=True)
    lw.simulate(ARM, SWING[0], until=0.1)
    assert capsys.readouterr().out == ""


def test_rows_that_are_not_in_order_of_time_are_not_saved_loaded_or_resumed(tmp_path):
    run = lw.simulate(lw.Dynamics(lw.load("pendulum")), ([1.0], [0.0]), until=1.0, save=lw.Save(dense=False))
    for backwards in (run[::-1], run.at([0.5, 0.1])):
        with pytest.raises(lw.SimulationError, match="in order of time"):
            backwards.save(tmp_path / "run.npz")
        with pytest.raises(lw.SimulationError, match="not in order of time"):
            backwards.resume(2.0)
    run.save(tmp_path / "run.npz")
    with np.load(tmp_path / "run.npz") as file:
        arrays = dict(file)
    np.savez(tmp_path / "run.npz", **arrays | {"t": arrays["t"][::-1].copy()})
    with pytest.raises(lw.SimulationError, match="times in order"):
        lw.Trajectory.load(tmp_path / "run.npz")


METHODS = {"rk45": {}, "dop853": {}, "stiff": {}, "rk4": {"dt": 0.02}, "midpoint": {"dt": 0.02}}


@pytest.mark.parametrize("method", METHODS)
def test_a_run_that_is_stopped_within_a_step_goes_on_to_the_bit(method, tmp_path):
    """Ctrl-C in any call of the controller, during steps, impacts and rests, also with the file in between: the rows are those of a run
    that was not stopped."""
    builder = lw.Builder("ball")
    builder.body("ball", joint=lw.Prismatic(axis=(0, 0, 1), lower=-0.3, friction=0.1), **solids.point(1.0))
    robot, calls = lw.Dynamics(builder.model()), []

    def run(stop):
        def control(t, q, v):
            calls.append(t)
            if len(calls) == stop:
                raise KeyboardInterrupt
            return [0.1 * np.sin(3 * t)]

        calls.clear()
        made = lw.simulate(
            robot,
            ([0.0], [0.0]),
            until=0.8,
            control=control,
            method=method,
            contact=lw.ContactLaw(limits=True, restitution=0.3),
            **METHODS[method],
        )
        return made, control

    (whole, _), count = run(-1), len(calls)
    for k, stop in enumerate(np.random.default_rng(0).integers(2, count, 6)):
        part, control = run(int(stop))
        assert part.status == "stopped" and part.t[-1] < 0.8
        if k % 2:
            part.save(tmp_path / "run.npz")
            part = lw.Trajectory.load(tmp_path / "run.npz").resume(0.8, control=control)
        else:
            part = part.resume(0.8)
        for name in ("t", "q", "v", "vdot", "tau"):
            np.testing.assert_array_equal(getattr(part, name), getattr(whole, name))
        assert [event.t for event in part.events] == [event.t for event in whole.events]
