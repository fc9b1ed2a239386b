"""Calls with arrays of every layout and kind, with results put over inputs, from several threads, and with arrays that do not fit.

Each gives the bits of a clean call on contiguous arrays, or an error of the library where the clean call gives one, or where what was
given is no array of the right shape. `make test` makes the first block of calls, `make test-hostile` all 40,000.
"""

from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
import pytest

import linkwork as lw

WHOLE, BLOCK = 40_000, 500
POOL = 32  # states of each robot
BATCHES = ((), (), (1,), (7,), (33,), (2, 3), (0,), (2, 0))
T = 0.3

SIZES = {"q": "nq", "q0": "nq", "q1": "nq", "v": "nv", "dv": "nv", "vdot": "nv", "tau": "nv", "given": "nv", "prescribed": "nv"}
METHODS = {  # the arrays that a method takes, and how it is called
    "mass_matrix": ("q", lambda r, a, out: r.mass_matrix(*a, out=out)),
    "mass_matrix_inverse": ("q", lambda r, a, out: r.mass_matrix_inverse(*a, out=out)),
    "inverse_dynamics": ("q v vdot", lambda r, a, out: r.inverse_dynamics(*a, out=out)),
    "inverse_dynamics with wrenches": ("q v vdot external", lambda r, a, out: r.inverse_dynamics(*a, out=out)),
    "forward_dynamics": ("q v tau", lambda r, a, out: r.forward_dynamics(*a, t=T, out=out)),
    "forward_dynamics with wrenches": ("q v tau external", lambda r, a, out: r.forward_dynamics(*a, t=T, out=out)),
    "bias": ("q v", lambda r, a, out: r.bias(*a, out=out)),
    "gravity_force": ("q", lambda r, a, out: r.gravity_force(*a, out=out)),
    "coriolis_matrix": ("q v", lambda r, a, out: r.coriolis_matrix(*a, out=out)),
    "passive_force": ("q v", lambda r, a, out: r.passive_force(*a, out=out)),
    "kinetic_energy": ("q v", lambda r, a, out: r.kinetic_energy(*a, out=out)),
    "potential_energy": ("q", lambda r, a, out: r.potential_energy(*a, out=out)),
    "center_of_mass": ("q", lambda r, a, out: r.center_of_mass(*a, out=out)),
    "centroidal_momentum": ("q v", lambda r, a, out: r.centroidal_momentum(*a, out=out)),
    "poses": ("q", lambda r, a, out: r.poses(*a, out=out)),
    "pose": ("q", lambda r, a, out: r.pose(*a, r.bodies[-1], out=out)),
    "jacobian": ("q", lambda r, a, out: r.jacobian(*a, r.bodies[-1], "world", out=out)),
    "integrate": ("q dv", lambda r, a, out: r.integrate(*a, out=out)),
    "difference": ("q0 q1", lambda r, a, out: r.difference(*a, out=out)),
    "qdot": ("q v", lambda r, a, out: r.qdot(*a, out=out)),
    "hybrid_dynamics": ("q v given prescribed", lambda r, a, out: r.hybrid_dynamics(*a, out=out)),
    "task_jacobian": ("q", lambda r, a, out: r.task_jacobian(*a, r.bodies[0], out=out)),
    "task_compliance": ("q", lambda r, a, out: r.task_compliance(*a, (r.bodies[-1], (0.1, 0, 0)), t=T, out=out)),
    "joint_wrenches": ("q v vdot", lambda r, a, out: r.joint_wrenches(*a, r.bodies[-1], out=out)),
    "a kernel": ("q v", lambda r, a, out: kernel(r)(*a, out=out)),
}


@cache
def kernel(robot):
    return robot.kernel(lambda q, v: (robot.mass_matrix(q) @ v) * np.sin(q[0]))


def tree(free=False):
    builder = lw.Builder("tree")
    builder.body("a", None, (0, 0, 0.1), lw.Free() if free else lw.Revolute(axis=(0, 1, 0)), mass=1.0, tensor=(0.1, 0.2, 0.15))
    builder.body("b", "a", (0.3, 0, 0), lw.Spherical(damping=0.1), mass=2.0, center=(0.1, 0, 0), tensor=(0.1, 0.2, 0.15))
    builder.body("c", "a", (0, 0.3, 0), lw.Prismatic(axis=(1, 1, 0), stiffness=3.0), mass=0.5, tensor=(0.1, 0.1, 0.1))
    return builder.model()


def driven():
    builder = lw.Builder("driven")
    builder.body("wheel", joint=lw.Revolute(), mass=1.0, tensor=(1, 1, 1))
    builder.body("arm", "wheel", (1, 0, 0), lw.Revolute(axis=(0, 1, 0)), mass=1.0, center=(0.2, 0, 0), tensor=(1, 1, 1))
    return builder.drive("wheel_joint", lambda t: 0.5 * t * t, lambda t: t, lambda t: 1.0 + 0 * t).model()


@cache
def robots() -> dict[str, lw.Dynamics]:
    return {
        "tree": lw.Dynamics(tree()),
        "plain": lw.Dynamics(tree(), compiled=False),
        "rolled": lw.Dynamics(tree(free=True), rolled=True),
        "floating": lw.Dynamics(tree(free=True)),
        "loop": lw.Dynamics(lw.load("four_bar")),
        "driven": lw.Dynamics(driven()),
    }


@cache
def states(name: str) -> dict[str, np.ndarray]:
    """Arrays (POOL, ...) by the name of the argument; where there are constraints, q keeps them."""
    robot, rng = robots()[name], np.random.default_rng(0)
    q, v = robot.random_state((POOL,), seed=1)
    if robot.constraints is not None:
        near = robot.neutral() + rng.uniform(-0.2, 0.2, q.shape)
        q = np.stack([robot.assemble(x, t=T) for x in near])
        v = np.stack([robot.constraints.project(x, y, T)[1] for x, y in zip(q, v)])
    other = robot.random_state((POOL,), seed=2)
    pool = {"q": q, "q0": q, "q1": other[0], "v": v, "prescribed": np.zeros((POOL, robot.nv)) + (np.arange(robot.nv) % 2)}
    pool |= {x: rng.standard_normal((POOL, robot.nv)) for x in ("dv", "vdot", "tau", "given")}
    return pool | {"external": rng.standard_normal((POOL, len(robot.bodies), 6))}


# --- layouts: the same numbers, elsewhere in memory


def fortran(x, rng):
    return np.asfortranarray(x)


def strided(x, rng):
    room = np.full([2 * n + 1 for n in x.shape], np.nan, x.dtype)
    room[tuple(slice(1, None, 2) for _ in x.shape)] = x
    return room[tuple(slice(1, None, 2) for _ in x.shape)]


def reversed_(x, rng):
    way = tuple(slice(None, None, -1) for _ in x.shape)
    return x[way].copy()[way]


def unaligned(x, rng):
    raw = np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:]
    return np.ndarray(x.shape, x.dtype, raw.data)


def swapped_bytes(x, rng):
    return x.astype(x.dtype.newbyteorder(">"))


def read_only(x, rng):
    y = x.copy()
    y.flags.writeable = False
    return y


def moved_axes(x, rng):
    return np.moveaxis(np.moveaxis(x, 0, -1).copy(), -1, 0) if x.ndim else x


def as_lists(x, rng):
    return x.tolist() if x.dtype == np.float64 and x.size else x


def subclass(x, rng):
    return np.ma.masked_array(x)


LAYOUTS = (
    lambda x, rng: x,
    lambda x, rng: x,
    fortran,
    strided,
    reversed_,
    unaligned,
    swapped_bytes,
    read_only,
    moved_axes,
    as_lists,
    subclass,
)
LOST = {  # what is no array of the right shape or kind
    "none": lambda x: None,
    "ragged": lambda x: [[1.0], [1.0, 2.0]],
    "text": lambda x: "text",
    "complex": lambda x: x + 1j,
    "objects": lambda x: x.astype(object),
    "long": lambda x: x.astype(np.longdouble),
    "one more": lambda x: np.concatenate([x, x[..., :1]], -1),
    "one less": lambda x: x[..., :-1],
    "number": lambda x: 1.0,
    "dates": lambda x: x.astype("datetime64[s]"),
    "other batch": lambda x: np.zeros((5, 9, 4, *x.shape[-1:])),
    "dict": lambda x: {"q": x},
}


class Call:
    """One call: the robot, the method, clean arrays, and the same as they are given."""

    def __init__(self, number: int):
        self.rng = rng = np.random.default_rng([12, number])
        self.method = list(METHODS)[(number // BLOCK + number % 2) % len(METHODS)]
        self.robot_name = list(robots())[number // 2 % len(robots())]
        self.robot, names = robots()[self.robot_name], METHODS[self.method][0].split()
        self.batch = BATCHES[rng.integers(len(BATCHES))]
        dtype = (np.float64, np.float64, np.float32, np.int64)[rng.integers(4)]
        self.clean = [self._array(name, dtype if name != "q" or dtype != np.int64 else np.float64) for name in names]
        self.given = [LAYOUTS[rng.integers(len(LAYOUTS))](self._spread(x), rng) for x in self.clean]
        self.clean = [
            np.array(x, dtype=x.dtype.newbyteorder("="), order="C") if isinstance(x, np.ndarray) else np.array(x) for x in self.given
        ]
        self.lost = ""
        if rng.random() < 0.15:
            self.lost = list(LOST)[rng.integers(len(LOST))]
            i = rng.integers(len(names) - (self.lost == "none" and names[-1] == "external"))  # without wrenches is a call too
            self.given[i] = LOST[self.lost](np.asarray(self.given[i]))

    def _array(self, name, dtype):
        pool = states(self.robot_name)[name]
        x = pool[self.rng.integers(POOL, size=self.batch)].astype(dtype)
        if self.rng.random() < 0.05 and x.size and dtype != np.int64:
            x = x.copy()
            x.flat[self.rng.integers(x.size)] = (np.nan, np.inf, -np.inf)[self.rng.integers(3)]
        return x

    def _spread(self, x):
        """Sometimes one sample stands for all."""
        core = x.shape[len(self.batch) :]
        if self.batch and 0 not in self.batch and self.rng.random() < 0.2:
            return np.broadcast_to(x[(0,) * len(self.batch)], self.batch + core)
        return x

    def run(self, arrays, out=None):
        with np.errstate(all="ignore"):
            return METHODS[self.method][1](self.robot, arrays, out)

    def outcome(self, arrays, out=None):
        """The result, or an error of the library; other errors are not caught."""
        try:
            return self.run(arrays, out)
        except lw.LinkworkError as error:
            return error

    def into(self, expected):
        """A place for the result: an input that it fits, a part of one, or room of any layout; and arrays beside it."""
        arrays = [np.array(x) for x in self.given]
        same = [x for x in arrays if x.shape == expected.shape and x.dtype == expected.dtype and x.flags.writeable]
        if same and self.rng.random() < 0.5:
            return arrays, same[-1]
        if same and self.rng.random() < 0.5 and expected.ndim > 1 and len(expected) > 1:
            room = np.zeros((len(expected) + 1, *expected.shape[1:]), expected.dtype)
            room[:-1] = same[-1]
            arrays[next(i for i, x in enumerate(arrays) if x is same[-1])] = room[:-1]
            return arrays, room[1:]
        return arrays, LAYOUTS[(0, 2, 3, 4)[self.rng.integers(4)]](np.zeros_like(expected, subok=False), self.rng)

    def check(self):
        expected = self.outcome(self.clean)
        found = self.outcome(self.given)
        if self.lost:
            if not isinstance(found, lw.LinkworkError) and self.lost not in ("number", "other batch", "one less", "one more"):
                raise AssertionError(f"{self.lost} was taken")
            return
        same(expected, found)
        if (
            isinstance(expected, np.ndarray)
            and expected.ndim
            and self.rng.random() < 0.4
            and not any(isinstance(x, list) for x in self.given)
        ):
            arrays, out = self.into(expected)
            if not (out.shape == expected.shape and out.dtype == expected.dtype):
                return
            got = self.outcome(arrays, out)
            same(expected, got)
            assert got is out


def same(expected, found):
    if isinstance(expected, lw.LinkworkError):
        assert isinstance(found, lw.LinkworkError), f"{found!r} instead of {expected!r}"
        return
    assert not isinstance(found, lw.LinkworkError), f"{found!r}"
    expected, found = np.asarray(expected), np.asarray(found)
    assert (expected.dtype, expected.shape) == (found.dtype, found.shape)
    number = ~np.isnan(expected)
    assert (np.isnan(found) == ~number).all()
    assert (expected[number].tobytes() == found[number].tobytes()) or not number.any(), "other bits"


def make(block: int) -> None:
    """A block of calls, one after another, and those that only read together on threads."""
    bad, calls = [], range(block * BLOCK, (block + 1) * BLOCK)
    for number in calls:
        try:
            (call := Call(number)).check()
        except Exception as error:
            what = f"{call.method} of {call.robot_name}, {call.batch}, {call.lost or 'whole'}"
            bad.append(f"Call({number}), {what}: {type(error).__name__}: {str(error)[:300]}")
    assert not bad, f"{len(bad)} of {BLOCK}:\n" + "\n".join(bad[:40])
    some = [Call(number) for number in calls[::10]]
    alone = [call.outcome(call.given) for call in some if not call.lost]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda call: call.outcome(call.given), [call for call in some if not call.lost]))
    for one, other in zip(alone, together):
        same(one, other)


@pytest.mark.parametrize("block", [0, *(pytest.param(i, marks=pytest.mark.slow) for i in range(1, WHOLE // BLOCK))])
def test_calls_give_the_bits_of_clean_ones(block):
    make(block)


TIMES = np.linspace(0, 4, 401)
MANY = {
    "array": {"until": TIMES}, "list": {"until": TIMES.tolist()}, "tuple": {"loops": tuple(TIMES)}, "truths": {"until": TIMES > 1},
    "columns": {"until": np.stack([TIMES, TIMES], -1)}, "no numbers": {"until": TIMES * np.nan}, "names": {"save": ["door"] * 401},
}  # fmt: skip


@pytest.mark.parametrize("what", MANY)
def test_a_message_has_the_ends_of_a_long_array_only(what):
    """And still says what was expected, after them."""
    with pytest.raises(lw.LinkworkError, match=r" \.\.\. ") as error:
        lw.simulate(lw.Dynamics(lw.load("pendulum")), ([1.0], [0.0]), **{"until": 1.0} | MANY[what])
    assert len(str(error.value)) < 350 and str(error.value).endswith(".")
