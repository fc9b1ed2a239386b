"""Events of joints that compiled code settles: the motion and the events that the host makes of them, with one solution of each problem."""

import numpy as np
import pytest
from test_guarded_steps import START, arm, same

import linkwork as lw
from linkwork.contact.solver.complementarity import lcp
from linkwork.model import solids
from linkwork.simulate.ensembles.host import Host
from linkwork.simulate.events.events import EventDetector
from linkwork.simulate.rest.unique import unique_forces
from linkwork.simulate.runs import compiled_steps
from linkwork.simulate.runs.transitions import Transition

CASES = {
    "limits": ({"lower": -0.3, "upper": 0.4}, 0.6),
    "no rebound": ({"lower": -0.3, "upper": 0.4}, 0.0),
    "dry friction": ({"friction": 4.0}, 0.0),
    "both": ({"friction": 1.0, "lower": -0.3, "upper": 0.4}, 0.6),
}


def simulated(robot, start, restitution, until=3.0, **more):
    method = lw.RK45(rtol=1e-10, atol=1e-12)
    return lw.simulate(robot, start, until=until, method=method, contact=lw.ContactLaw(limits=True, restitution=restitution), **more)


def on_host(monkeypatch):
    """From here on the host settles all events."""
    monkeypatch.setattr(Transition, "serves", staticmethod(lambda *_: False))


@pytest.mark.parametrize("name", CASES)
def test_transitions_are_what_the_host_does(name, monkeypatch):
    """The same events, and the same motion but for rounding; none of them is sought by the host."""
    model, restitution = CASES[name]
    sought, find = [], EventDetector.find
    monkeypatch.setattr(EventDetector, "find", lambda *x: sought.append(x) or find(*x))
    run = simulated(arm(**model), START, restitution)
    assert not sought
    on_host(monkeypatch)
    other = simulated(arm(**model), START, restitution)
    assert len(sought) and [x.name for x in run.events] == [x.name for x in other.events]
    np.testing.assert_allclose([x.t for x in run.events], [x.t for x in other.events], rtol=1e-9)
    assert len(run.t) == len(other.t)
    for x, y in zip(run(np.linspace(0, 3, 50)), other(np.linspace(0, 3, 50)), strict=True):
        np.testing.assert_allclose(x, y, atol=1e-8)
    np.testing.assert_allclose(np.concatenate(run.end[1:]), np.concatenate(other.end[1:]), atol=1e-9)


@pytest.mark.parametrize("store", [{"save": "steps"}, {"dt": 0.25}, {"save": "last"}])
def test_samples_are_settled_together_and_are_their_single_runs(store, monkeypatch):
    """Ends, rows, events and resumed parts to the bit, without the host; ends that are rows at multiples of dt but for their rounding."""
    alone = []
    monkeypatch.setattr(Host, "settle", lambda *x: alone.append(x))
    monkeypatch.setattr(Host, "begin", lambda *x: alone.append(x))
    robot, rng = arm(friction=1.0, lower=-0.3, upper=0.4), np.random.default_rng(0)
    Q, V = rng.uniform(-0.3, 0.4, (5, 2)), rng.uniform(-2.0, 2.0, (5, 2))
    V[0] = 0.0
    batch = simulated(robot, (Q, V), 0.6, 1.5, **store)
    further = batch.resume(2.0)
    assert not alone and sum(x.count.sum() for x in batch.events.values())
    for i in range(5):
        run = simulated(robot, (Q[i], V[i]), 0.6, 1.5, **{k: x for k, x in store.items() if k == "dt"})
        for one, many in ((run, batch), (run.resume(2.0), further)):
            for x, y in zip(one.end[1:], many.end[1:], strict=True):
                np.testing.assert_array_equal(x, y[i])
        assert run.steps == batch.steps[i]
        for name, times in batch.events.items():
            own = [x.t for x in run.events if x.name == name]
            assert times.count[i] == len(own) and (not own or times.first[i] == own[0])
        if store == {"save": "steps"}:
            for x, y in zip(batch.rows(i), (run.t, run.q, run.v), strict=True):
                np.testing.assert_array_equal(x, y)


def test_statistics_know_both_sides_of_an_impact():
    """The greatest speed is that just before a limit is struck, the least that after it."""
    robot = arm(lower=-0.3, upper=0.4)
    elbow = robot.kernel(lambda q, v: v[1])
    Q, V = np.tile(START[0], (3, 1)), np.tile(START[1], (3, 1))
    batch = simulated(robot, (Q, V), 0.6, 1.5, save=lw.Save(statistics={"elbow": elbow}))
    run = simulated(robot, START, 0.6, 1.5)
    np.testing.assert_array_equal(batch.end.q, np.tile(run.end.q, (3, 1)))
    ends = batch.statistics["elbow"]
    assert run.v[:, 1].max() <= ends.greatest[0] + 1e-12 and ends.least[0] <= run.v[:, 1].min() + 1e-12


def test_a_run_is_stopped_and_goes_on_between_events(tmp_path):
    """resume equals resume from a file, and what rests at the end goes on to rest."""
    run = simulated(arm(friction=4.0, lower=-0.3, upper=0.4), START, 0.3, 2.0)
    run.save(tmp_path / "run.npz")
    same(run.resume(3.0), type(run).load(tmp_path / "run.npz").resume(3.0))


@pytest.mark.parametrize("seed", range(4))
def test_forces_are_the_solution_of_their_complementarity_problem(seed):
    """w = C z + b, w ≥ 0 at low, w ≤ 0 at high, w = 0 in between; C positive definite."""
    rng = np.random.default_rng(seed)
    A, b = rng.normal(size=(6, 6)), rng.normal(size=6)
    C, low, high = A @ A.T + 0.1 * np.eye(6), -rng.uniform(0, 1, 6), rng.uniform(0, 1, 6)
    low[:2], high[1:3], low[5], high[5] = -np.inf, np.inf, 0.25, 0.25
    solution, known = unique_forces(C, b, low, high), lcp(C, b, low, high)
    assert solution.solved and solution.clear.all()
    np.testing.assert_allclose(solution.z, known.z, atol=1e-10)
    np.testing.assert_allclose(solution.w[:5], known.w[:5], atol=1e-10)
    np.testing.assert_array_equal(solution.place[:5] == 0, known.between[:5])


def test_a_force_at_its_bound_is_not_clear():
    """Then other roundings would lead to another mode, and the host decides."""
    solution = unique_forces(np.eye(2), np.array([1.0, 2.0]), -np.ones(2), np.ones(2))
    assert solution.solved and solution.clear.tolist() == [False, True]


def ball(restitution=0.9, friction=0.3):
    builder = lw.Builder("ball").body("ball", joint=lw.Free(), **solids.sphere(1.0, 0.1))
    return lw.Dynamics(builder.ground().contact("ball", friction=friction, restitution=restitution).model())


def flail():
    """A rod with a ball at its tip, on a rail above the ground, with dry friction and a limit: its tip strikes at an angle."""
    builder = lw.Builder("flail").body("cart", joint=lw.Prismatic(axis=(1, 0, 0), friction=0.3, lower=-0.6, upper=0.6), **solids.point(1.0))
    builder.body("rod", "cart", joint=lw.Revolute(axis=(0, 1, 0)), **solids.rod(1.0, (0, 0, -0.8)))
    builder.body("tip", "rod", (0, 0, -0.8), joint=lw.Prismatic(axis=(0, 0, 1), lower=-0.1, upper=0.2), **solids.sphere(0.5, 0.1))
    return lw.Dynamics(builder.ground(height=-0.87).contact("tip", friction=0.4, restitution=0.6).model())


POINTS = {
    "ball": (ball, (np.array([0, 0, 0, 1.0, 0, 0, 0.7]), np.array([3.0, 5.0, -2.0, 1.0, 0.5, 0.0])), 3.0),
    "ball that comes to rest": (lambda: ball(0.3), (np.array([0, 0, 0, 1.0, 0, 0, 0.3]), np.array([0.3, 0.5, -0.2, 1.0, 0.5, 0.0])), 1.5),
    "flail": (flail, (np.array([0.0, 1.2, 0.05]), np.array([0.5, 0.3, 0.0])), 1.0),
}


@pytest.mark.parametrize("name", POINTS)
def test_impacts_of_points_are_what_the_host_does(name, monkeypatch):
    """The same events and the same motion but for rounding; samples are single runs to the bit, those that come to rest too."""
    make, (q, v), until = POINTS[name]
    robot, sought, find = make(), [], EventDetector.find
    monkeypatch.setattr(EventDetector, "find", lambda *x: sought.append(x) or find(*x))
    run = simulated(robot, (q, v), 0.5, until)
    looks = len(sought)
    batch = simulated(robot, (np.stack([q, q]), np.stack([v, 0.9 * v])), 0.5, until, save="last")
    np.testing.assert_array_equal(batch.end.q[0], run.end.q)
    np.testing.assert_array_equal(batch.end.v[0], run.end.v)
    for event, times in batch.events.items():
        assert times.count[0] == sum(x.name == event for x in run.events)
    part = simulated(robot, (q, v), 0.5, until / 2)
    assert part.contact.force.shape == (len(part.t), 1, 3)
    on_host(monkeypatch)
    monkeypatch.setattr(compiled_steps, "watches_points", lambda stops, *_: stops is None or stops.points is None)
    sought.clear()
    other = simulated(make(), (q, v), 0.5, until)
    assert looks < len(sought) and (looks == 0) == (name == "ball")
    assert [x.name for x in run.events] == [x.name for x in other.events] and len(run.events) > 2
    np.testing.assert_allclose([x.t for x in run.events], [x.t for x in other.events], rtol=1e-8)
    np.testing.assert_allclose(np.concatenate(run.end[1:]), np.concatenate(other.end[1:]), atol=1e-8)


def test_held_controllers_go_on_together(monkeypatch):
    """What rests and slides is chosen anew where a sampled force changes: single runs to the bit, and the host but for rounding."""
    alone = []
    monkeypatch.setattr(Host, "go_on", lambda *x: alone.append(x))
    robot, Q = arm(friction=1.0, lower=-0.3, upper=0.4), np.array([[0.1, 0.2], [0.3, -0.1]])
    elbow = robot.kernel(lambda v: np.abs(v[1]))

    def control():
        return lw.hold(lambda t, q, v: 8.0 * (0.3 - q) - 2.0 * v, rate=20.0)

    batch = simulated(robot, (Q, 0.0 * Q), 0.5, 1.0, control=control(), save=lw.Save(statistics={"elbow": elbow}))
    assert not alone
    runs = [simulated(robot, (q, 0.0 * q), 0.5, 1.0, control=control()) for q in Q]
    on_host(monkeypatch)
    others = [simulated(arm(friction=1.0, lower=-0.3, upper=0.4), (q, 0.0 * q), 0.5, 1.0, control=control()) for q in Q]
    for i, (run, other) in enumerate(zip(runs, others)):
        np.testing.assert_array_equal(batch.end.q[i], run.end.q)
        np.testing.assert_array_equal(batch.end.v[i], run.end.v)
        assert batch.statistics["elbow"].greatest[i] >= np.abs(run.v[:, 1]).max() - 1e-12
        assert [x.name for x in run.events] == [x.name for x in other.events]
        np.testing.assert_allclose(np.concatenate(run.end[1:]), np.concatenate(other.end[1:]), atol=1e-9)
        np.testing.assert_allclose(run(0.5), other(0.5), atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_accumulating_impacts_and_stops_of_many_joints_are_those_of_the_host(seed, monkeypatch):
    """Three joints with friction that drive each other against their limits, whose slips end while gaps are as small as rounding."""
    builder, on = lw.Builder("chain"), "ground"
    for k, name in enumerate("abc"):
        joint = lw.Revolute(axis=(0, 1, 0), friction=0.3, damping=0.2, lower=-0.4, upper=0.3)
        builder.body(name, *((on, (0, 0, -0.5)) if k else ()), joint=joint, joint_name=name, **solids.rod(1.0, (0, 0, -0.5)))
        on = name
    model, rng = builder.model(), np.random.default_rng(seed)
    start = rng.uniform(-0.3, 0.3, 3), rng.uniform(-6.0, 6.0, 3)
    run = lw.simulate(lw.Dynamics(model), start, until=1.0, contact=lw.ContactLaw(limits=True, restitution=0.3))
    on_host(monkeypatch)
    other = lw.simulate(lw.Dynamics(model), start, until=1.0, contact=lw.ContactLaw(limits=True, restitution=0.3))
    assert [x.name for x in run.events] == [x.name for x in other.events] and len(run.events) > 10 and run.status == other.status
    np.testing.assert_allclose(np.concatenate(run.end[1:]), np.concatenate(other.end[1:]), atol=1e-9)
