"""What decides a kernel is its identity: equal in every process, and another for whatever would change a result."""

import math
import os
import random
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from fresh import python
from test_cache import NO_TRACE

import linkwork as lw
from linkwork.contact.cone import blocks
from linkwork.engine.loading.compiled import Made
from linkwork.engine.loading.identity import digest

PENDULUM = lw.Dynamics(lw.load("double_pendulum"))
HEAVY = lw.Dynamics(lw.load("double_pendulum").with_gravity((0, 0, -20.0)))
GAIN, TABLE, SEEN = 2.0, np.arange(3.0), []
CALLS = """
import numpy as np, linkwork as lw
def gained(x):
    return GAIN * np.sin(x)
GAIN = 2.0
robot, two = lw.Dynamics(lw.load("double_pendulum")), (np.full((3, 2), 0.1), np.zeros((3, 2)))
b = lw.Builder("ball")
b.body("ball", joint=lw.Free(), mass=1.0, tensor=(0.1, 0.1, 0.1), collisions=[lw.Shape("sphere", (0.1,))])
ball = lw.Dynamics(b.model().with_contacts("ground"))
control = robot.kernel(lambda t, q, v: -gained(v))
print(control(0.0, np.ones(2), np.ones(2)).tolist())
print(control.jacobian(by="v")(0.0, np.ones(2), np.ones(2)).tolist())
print(lw.rollout(robot, *two, control, dt=0.01, steps=5, method="rk4").q[0, -1].tolist())
print(lw.rollout(ball, ball.neutral(), np.zeros(6), dt=0.01, steps=5, method="contact").q[-1].tolist())
print(lw.simulate(robot, (two[0][0], two[1][0]), until=0.1, control=control).q[-1].tolist())
watched = {"speed": robot.kernel(lambda q, v: v @ v)}
print(lw.simulate(robot, two, until=0.1, control=control, save=lw.Save(at="last", statistics=watched)).end.q[0].tolist())
"""


def test_a_new_process_traces_nothing_that_is_on_disk(tmp_path):
    """Kernels of users, rollouts with and without contact, runs, ensembles with statistics."""
    first = python(CALLS, LINKWORK_CACHE_DIR=tmp_path)
    assert python(NO_TRACE + CALLS, LINKWORK_CACHE_DIR=tmp_path) == first


def scaled(x):
    return GAIN * x


def made(gain=2.0, *, offset=0.0, of=PENDULUM, table=TABLE):
    power = 2
    return lambda q, by=gain: by * q**power + offset + of.gravity_force(q) * table[1]


CHANGES = {
    "a default": lambda: made(3.0),
    "what is closed over": lambda: made(offset=1.0),
    "a robot": lambda: made(of=HEAVY),
    "an array": lambda: made(table=np.array([0.0, 1.0, 5.0])),
    "a constant": lambda: lambda q: 3.0 * q,
    "another constant": lambda: lambda q: 3.5 * q,
    "a name": lambda: lambda q: np.sin(q),
    "another name": lambda: lambda q: np.cos(q),
    "a ufunc in a closure": lambda: (lambda f: lambda q: f(q))(np.tan),
    "a partial": lambda: partial(made(), by=4.0),
}


def test_whatever_changes_a_function_changes_its_identity():
    found = [digest(made()), *(digest(change()) for change in CHANGES.values())]
    assert None not in found and len(set(found)) == len(found)
    assert digest(made()) == found[0]


def test_the_value_of_a_global_is_part_of_the_identity(monkeypatch):
    """Also of one that only a function which is called names."""
    function = lambda q: scaled(q) + TABLE[0]
    before = digest(function)
    monkeypatch.setitem(globals(), "GAIN", 5.0)
    assert None not in (before, digest(function)) and digest(function) != before
    monkeypatch.setitem(globals(), "GAIN", 2.0)
    assert digest(function) == before
    TABLE[0] = 7.0
    after = digest(function)
    TABLE[0] = 0.0
    assert after != before


class Controller:
    gain = 2.0

    def force(self, q):
        return self.gain * q


def recursive(q, n):
    return q if n == 0 else recursive(q, n - 1)


def importing(q):
    import numpy

    return numpy.sin(q)


REFUSED = {
    "a module that may do anything": lambda q: q * os.getpid(),
    "chance": lambda q: q * np.random.default_rng().random(),
    "chance by another name": lambda q: q * random.random(),
    "a state drawn at random": lambda q: q + PENDULUM.random_state()[0],
    "a file": lambda q: lw.load("panda").name and q,
    "memory that is not cleared": lambda q: q + np.empty(2),
    "a list that may grow": lambda q: SEEN.append(1) or q,
    "an object of a user": Controller().force,
    "what calls itself": lambda q: recursive(q, 2),
    "an import": importing,
    "what is printed": lambda q: print(q) or q,
    "a name that is not there": lambda q: q * nowhere,  # noqa: F821
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_may_do_more_than_compute_has_no_identity(what):
    assert digest(REFUSED[what]) is None


def test_a_robot_with_an_attribute_of_a_user_has_no_identity():
    robot = lw.Dynamics(lw.load("double_pendulum"))
    assert digest(robot) == digest(PENDULUM) != digest(HEAVY)
    robot.gain = 2.0
    assert digest(robot) is None


def test_a_function_with_attributes_is_known_by_them():
    first, second = made(), made()
    second.gain = 3.0
    assert digest(first) != digest(second)


def test_numbers_of_other_kinds_are_others():
    arrays = [np.array(1), np.array([1]), np.array([1.0])]
    values = [1, 1.0, True, "1", b"1", (1,), [1], {1}, {1: 1}, np.float64(1), np.float32(1), *arrays]
    values += [-0.0, 0.0, math.nan, None, (), ((),), ((), ()), slice(1), range(1)]
    values += [np.sin, math.sin, float, np.float64, np.dtype("f"), blocks]
    found = list(map(digest, values))
    assert None not in found and len(set(found)) == len(found)


def test_long_arrays_that_differ_in_one_entry_have_other_identities():
    """Their text leaves most entries out."""
    one = np.arange(5000.0)
    other = one.copy()
    other[2500] += 1e-9
    assert repr(one) == repr(other) and digest(one) != digest(other)


def test_what_is_made_at_two_places_is_kept_apart():
    owner, count = Made(), []
    for _ in range(2):
        assert owner.once(lambda: count.append(1) or "first", "key") == "first"
        assert owner.once(lambda: count.append(2) or "second", "key") == "second"
    assert count == [1, 2]


def test_mechanisms_that_differ_are_others():
    model = lw.load("double_pendulum")
    body = replace(model.bodies[0], mass=model.bodies[0].mass + 1)
    assert digest(lw.Dynamics(replace(model, bodies=(body, *model.bodies[1:])))) != digest(PENDULUM)
    assert digest(lw.Dynamics(model, rolled=True)) != digest(PENDULUM)
