"""Sets of constraints that say things twice, or cannot all hold: a correct answer with a report, or an error that names
them; never a wrong number."""

from dataclasses import replace

import numpy as np
import pytest

import linkwork as lw
from linkwork import constraints
from linkwork.constraints import ConstraintError, Distance, Driven, Holonomic, KnifeEdge, Linear, Pfaffian, Rolling, Touching

from .dense_equations import kkt
from .gallery import ABOUT_Z, dual_arm, four_bar, rod, slider_crank

PIN = {"mass": 1.0, "tensor": (1, 2, 2)}


def plain(model, *more):
    return constraints.of(lw.Dynamics(replace(model, constraints=more), compiled=False))


def wheels(*more, couples=()):
    """Three wheels beside each other; couples are (joint, of, coefficients)."""
    m = lw.Builder("wheels", (0, 0, 0))
    for i in range(3):
        m.body(f"w{i}", joint=ABOUT_Z, mass=1.0, tensor=(2, 2, 1 + i))
    for i, (joint, of, coefficients) in enumerate(couples):
        m.couple(f"w{joint}_joint", f"w{of}_joint", coefficients, f"gear{i}")
    return plain(m.model(), *more)


def locomotive(rods=3):
    """Wheels of one size with cranks on one bar: two would be enough."""
    m = lw.Builder("locomotive", (0, -9.81, 0))
    for i in range(3):
        m.body(f"w{i}", None, (i, 0, 0), ABOUT_Z, **rod(0.3))
    m.body("bar", "w0", (0.3, 0, 0), ABOUT_Z, **rod(2.0))
    for i in range(1, rods):
        m.loop(f"pin{i}", "bar", f"w{i}", ABOUT_Z, at=(i, 0, 0), on=(0.3, 0, 0))
    if rods == 2:
        m.couple("w2_joint", "w0_joint")
    held = plain(m.model())
    order = [held.robot.q_index(f"{x}_joint").start for x in ("w0", "w1", "w2", "bar")]
    q = np.zeros(4)
    q[order] = 0.7, 0.7, 0.7, -0.7
    return held, q


def door(joints=3):
    """A door in as many joints as it has, on one line."""
    m = lw.Builder("door", (0, -9.81, 1.0))
    m.body("door", joint=ABOUT_Z, mass=20.0, center=(0.4, 0, 1), tensor=(6, 8, 2))
    for i in range(1, joints):
        m.loop(f"hinge{i}", None, "door", ABOUT_Z, at=(0, 0, i), on=(0, 0, i))
    return plain(m.model()), np.array([0.4])


def table(*feet, weld=False):
    """A free body held by ball joints at its feet, or welded."""
    m = lw.Builder("table")
    m.body("top", joint=lw.Free(), **PIN)
    for i, foot in enumerate(feet):
        m.loop(f"foot{i}", None, "top", lw.Spherical(), at=foot, on=foot)
    if weld:
        m.loop("weld", None, "top", lw.Fixed())
    held = plain(m.model())
    return held, held.robot.neutral()


def arms(*more):
    """A dual arm and further welds of its bar, displaced."""
    model = dual_arm()
    bar = model.loops[0]
    extra = [replace(bar, name=f"bar{i}", at=bar.at @ lw.Pose.of(x), on=bar.on @ lw.Pose.of(y)) for i, (x, y) in enumerate(more)]
    held = plain(replace(model, loops=(bar, *extra)))
    guess = np.array([0.3 * (-1) ** i * (i > 0) for _ in range(2) for i in range(5)])
    return held, guess


def bars(joint=ABOUT_Z, *more, twice=False):
    model = four_bar(joint=joint)
    loops = (*model.loops, replace(model.loops[0], name="again")) if twice else model.loops
    held = plain(replace(model, loops=loops), *more)
    return held, plain(four_bar()).assemble([1.0, -0.7, 1.1], hold=["crank_joint"])


def ball(*more):
    m = lw.Builder("ball", (0.0, 1.0, -9.81))
    m.body("ball", joint=lw.Free(), mass=3.0, tensor=(1.2,) * 3)
    return plain(m.model(), *more), np.array([0, 0, 0, 1.0, 0.3, 0.2, 1.0])


def sled(*more):
    m = lw.Builder("sled", (0.3, 0.2, 0))
    m.body("sled", joint=lw.Planar(), **PIN)
    return plain(m.model(), *more), np.array([0.4, 1.0, 2.0])


def triangle(*lengths):
    """Two bars on the ground and rods between them, each of which says how far their ends are apart."""
    m = lw.Builder("triangle", (0, -9.81, 0))
    m.body("left", joint=ABOUT_Z, **rod(1.0))
    m.body("right", None, (1, 0, 0), ABOUT_Z, **rod(1.0))
    ends = {"at": (1, 0, 0), "on": (1, 0, 0)}
    return plain(m.model(), *(Distance(f"rod{i}", "left", "right", x, **ends) for i, x in enumerate(lengths))), np.array([1.0, 2.0])


def edges(*ends):
    return sled(*(KnifeEdge(f"edge{i}", "sled", (0, 1, 0), at=x) for i, x in enumerate(ends)))


def driven(**rates):
    return wheels(*(Driven(name, "w0_joint", lambda t, r=r: r * t) for name, r in rates.items())), np.zeros(3)


TOUCH = "ball", 1.0, None
TWO, THREE = ((1, 0, (0, 2.0)),), ((1, 0, (0, 2.0)), (2, 1, (0, 3.0)))

# --- what says something twice: (the set, one that is enough)

SOLVED = {
    "a pin twice": (lambda: bars(twice=True), bars),
    "a pin where a ball is enough": (bars, lambda: bars(lw.Spherical())),
    "a pin, and the rod that it already is": (
        lambda: bars(ABOUT_Z, Distance("rod", None, "rocker", 1.5, at=(2.2, 0, 0))), bars),
    "a distance within a body": (lambda: bars(ABOUT_Z, Distance("rod", "rocker", "rocker", 1.5, on=(1.5, 0, 0))), bars),
    "three wheels on a bar": (locomotive, lambda: locomotive(2)),
    "a door in three hinges": (door, lambda: door(1)),
    "a table on four feet": (lambda: table((0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)), lambda: table(weld=True)),
    "a bar welded twice": (lambda: arms(((0.1, 0.2, 0), (0.1, 0.2, 0))), arms),
    "gears in a ring": (lambda: (wheels(couples=(*THREE, (2, 0, (0, 6.0)))), np.zeros(3)), lambda: (wheels(couples=THREE), np.zeros(3))),
    "gears in a ring that cannot turn": (
        lambda: (wheels(couples=((1, 0, (0, 2.0)), (1, 0, (0, 3.0)))), np.zeros(3)),
        lambda: (wheels(Linear("a", {"w0_joint": 1}), Linear("b", {"w1_joint": 1})), np.zeros(3))),
    "a gear, and the same as a relation": (
        lambda: (wheels(Linear("same", {"w1_joint": 3, "w0_joint": -6}), couples=TWO), np.zeros(3)),
        lambda: (wheels(couples=TWO), np.zeros(3))),
    "nothing is nothing": (lambda: (wheels(Linear("none", {"w0_joint": 0.0}), couples=TWO), np.zeros(3)),
                           lambda: (wheels(couples=TWO), np.zeros(3))),
    "one motor twice": (lambda: driven(one=2.0, other=2.0), lambda: driven(one=2.0)),
    "two motors that agree through a gear": (
        lambda: (wheels(Driven("a", "w0_joint", np.sin), Driven("b", "w1_joint", lambda t: 2 * np.sin(t)), couples=TWO), np.zeros(3)),
        lambda: (wheels(Driven("a", "w0_joint", np.sin), couples=TWO), np.zeros(3))),
    "a triangle with one rod twice": (lambda: triangle(1.0, 1.0), lambda: triangle(1.0)),
    "three parallel edges": (lambda: edges((0, 0, 0), (1, 0, 0), (2, 0, 0)), lambda: edges((0, 0, 0), (1, 0, 0))),
    "a ball that touches twice": (
        lambda: ball(Rolling("roll", *TOUCH), Touching("touch", *TOUCH), Touching("again", *TOUCH)),
        lambda: ball(Rolling("roll", *TOUCH), Touching("touch", *TOUCH))),
}  # fmt: skip


@pytest.mark.parametrize("name", SOLVED)
def test_what_is_said_twice_holds_once(name):
    """Every way to solve it gives what the smaller set gives; the report counts what is too much and names where it is from."""
    (held, guess), (enough, _) = (make() for make in SOLVED[name])
    rng = np.random.default_rng(0)
    q, v = held.project(held.assemble(guess, t=0.0), rng.standard_normal(held.nv), t=0.0)
    tau = rng.standard_normal(held.nv)
    expected = kkt(enough.set, q, v, tau)[0]
    close = lambda x: np.testing.assert_allclose(x, expected, rtol=1e-9, atol=1e-9 * max(1.0, np.abs(expected).max()))
    close(held.forward_dynamics(q, v, tau, t=0.0, method="augmented"))
    close(held.forward_dynamics(q, v, tau, t=0.0, method="projected"))
    close(constraints.of(lw.Dynamics(held.robot.model)).forward_dynamics(q, v, tau, t=0.0))
    report = held.report(q, t=0.0)
    assert report.closed and report.rank == enough.report(q, t=0.0).rank
    assert len(report.redundant) == report.rows - report.rank == str(report).count("redundant:")
    forces = held.constraint_forces(q, v, tau, t=0.0)
    needed = held.robot.inverse_dynamics(q, v, forces.vdot)
    np.testing.assert_allclose(needed, tau + forces.tau, rtol=1e-9, atol=1e-9 * max(1.0, np.abs(needed).max()))


# --- what cannot be: (the set, what is asked of it, what is said)


def weld(gap):
    """A bar welded twice, at places that miss each other."""
    return arms(((0.1, 0.2, 0), (0.1, 0.2 + gap, 0)))


def piston(function):
    held = plain(slider_crank(), Driven("push", "piston_joint", function))
    return held, np.array([0.3, -0.5, -0.1])


def flat_wheels():
    """Three wheels on a bar, dead flat: it could go three ways, and two of them at once it cannot."""
    held, _ = locomotive()
    return held, np.zeros(4)


def level(h):
    return Holonomic(f"height {h}", lambda q, t: [q[6] - h])


REFUSED = {
    "welds that miss each other": (lambda: weld(0.05), "assemble", r'cannot be assembled.*"bar'),
    "welds that miss each other by little": (lambda: weld(1e-6), "assemble", r'cannot be assembled.*"bar'),
    "welds that miss each other, asked for a motion": (lambda: weld(0.05), "forward", r'no state of dual_arm: open are "bar'),
    "rods of two lengths": (lambda: triangle(1.0, 1.1), "assemble", '"rod'),
    "a rod too long": (lambda: triangle(3.5), "assemble", '"rod0" by 0.5'),
    "a piston pushed too far": (lambda: piston(lambda t: 0.1), "assemble", '"push"|"wrist"'),
    "two motors on one shaft": (lambda: driven(slow=1.0, fast=2.0), "project", '"slow".*"fast"'),
    "two heights": (lambda: ball(level(1.0), level(1.5)), "assemble", '"height 1'),
    "nothing is something": (lambda: (wheels(Linear("none", {"w0_joint": 0.0}, 1.0)), np.zeros(3)), "assemble", '"none" by 1'),
    "rows of two speeds": (
        lambda: sled(Pfaffian("slow", lambda q: [[0, 1, 0]], value=1.0), Pfaffian("fast", lambda q: [[0, 1, 0]], value=2.0)),
        "project", '"slow".*"fast"'),
    "a speed that no velocity gives": (lambda: sled(Pfaffian("none", lambda q: [[0, 0, 0]], value=1.0)), "project", '"none"'),
    "both branches at once": (flat_wheels, "forward", '"pin.*contradict'),
    "a table whose feet miss the floor": (lambda: (table((0, 0, 0), (1, 0, 0))[0], np.array([0, 0, 0, 1, 0, 0, 0.5])), "forward", '"foot'),
}  # fmt: skip

ASKED = {
    "assemble": lambda held, q: held.assemble(q, t=0.0),
    "project": lambda held, q: held.project(q, np.ones(held.nv), t=0.0),
    "forward": lambda held, q: held.forward_dynamics(q, *moving(held, q), t=0.0),
}


def moving(held, q):
    """A velocity that no row forbids, in every way it can go, and no force."""
    G = held.jacobian(q, t=0.0)
    v = np.ones(held.nv)
    return v - np.linalg.pinv(G, rcond=1e-9) @ (G @ v), np.zeros(held.nv)


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_named(name):
    make, asked, said = REFUSED[name]
    held, q = make()
    with pytest.raises(ConstraintError, match=said):
        ASKED[asked](held, q)
    if asked == "assemble":
        assert not held.report(q, t=0.0).closed
