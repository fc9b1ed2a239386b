"""Many adaptive steps in one call of compiled code: the text of `pairs`, traced with the equations of motion in it.

One attempt at a step is a kernel of the state of an integration; the engine repeats it (engine/segments.py), keeps a row for each step
that is accepted, and comes back when there is no more room for rows, when the target is reached, or when a step cannot be made.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..dynamics import Dynamics
from ..engine.kernel import Kernel
from ..engine.program import Input, record
from ..engine.routines import Routine
from ..engine.segments import Segment
from ..errors import ShapeError
from ..kernels import UserKernel
from ..lie.scalars import like, opaque
from ..motion import equations
from ..quantities import integrate
from .grid import later
from .motion_checks import LARGEST
from .pairs import SHORTEST, Pair
from .tolerances import Tolerances

STATE = "t", "late", "q", "v", "vdot", "tau", "wanted", "again", "stuck", "tries"
BOUNDS = "target", "slack", "max_step", "rtol", "atol", "held"  # held: the part of τ that stays during the segment
ROWS = "t", "late", "h", "q", "v", "vdot", "tau"
POLYNOMIAL = "coefficients"
IN_PLACE = 400  # operations of the equations of motion that are written out at each stage


@dataclass(frozen=True, eq=False)
class Equations:
    """What is integrated: the motion of a robot under controls that are kernels of (t, q, v), with the nodes of any scalars."""

    robot: Dynamics
    nodes_like: Callable  # (some scalar, values by name) -> nodes
    controls: tuple[UserKernel, ...] = ()
    varied: Mapping[str, tuple[int, ...]] = None  # type: ignore[assignment]  # shapes of constants that are inputs, by name
    content: object = None

    @staticmethod
    def of(robot: Dynamics, controls=()) -> "Equations":
        lowered, nodes = robot.lowered, robot.lowered.joint_space
        known = lowered.is_ours and not controls
        return Equations(
            robot,
            lambda some, at: lowered.system(nodes.mapped(lambda name, index, x: like(x, some))),
            tuple(controls), {}, lowered.digest if known else None,
        )  # fmt: skip

    def forces(self, t, q, v, held):
        """τ of all controls."""
        tau = held
        for control in self.controls:
            force = control.function(t, q, v)
            if np.shape(force) != np.shape(v):
                shapes = f"shape {np.shape(force)} for one robot; as control it must return {np.shape(v)}"
                raise ShapeError(f"{control.__name__} returns {shapes}.")
            tau = tau + force
        return tau


class Rates:
    """ξ̇ and v̇ at q ∘ exp ξ, as `pairs` asks for them; `tau` is that of the last call. Short ones are traced in place, others are
    a routine that each stage calls."""

    def __init__(self, of: Equations, at: Mapping):
        self.of, self.at = of, {"held": at["held"], **{name: at[name] for name in of.varied}}
        robot = of.robot
        shapes = {"t": (), "q": (robot.nq,), **dict.fromkeys(("xi", "v", "held"), (robot.nv,)), **of.varied}
        inputs = [robot.lowered.input(name, shape) for name, shape in shapes.items()]
        routine = Routine(record("rates", self._rates, inputs))
        self.rates = self._rates if routine.length < IN_PLACE else routine

    def _rates(self, t, q, xi, v, held, *varied):
        system = self.of.nodes_like(q, dict(zip(self.of.varied, varied)))
        tau = self.of.forces(t, integrate(system, q, xi), v, held) if self.of.controls else held
        return *equations.local_rates(system, q, xi, v, tau), tau

    def __call__(self, t, q, xi, v, out) -> None:
        found = self.rates(t, q, xi, v, *self.at.values())
        out[0][...], out[1][...], self.tau = map(opaque, found)  # so that bits do not depend on who uses them

    def integrate(self, q, xi):
        return integrate(self.of.nodes_like(q, self.at), q, xi)


def attempt(of: Equations, pair: Pair, dense: bool, at: Mapping):
    """One attempt at a step: the new state, the entries of a row, whether it is kept, and whether the segment ends."""
    t, late, q, v, target = at["t"], at["late"], at["q"], at["v"], at["target"]
    rates, tolerances, n = Rates(of, at), Tolerances(of.robot, at["rtol"], at["atol"]), of.robot.nv
    K = like(np.zeros((pair.stages + pair.extra_rows, 2 * n)), q)
    K[0, :n], K[0, n:] = v, at["vdot"]
    wanted, left = pair.longest(tolerances, v, at["wanted"], at["max_step"]), (target - t) - late
    h = np.minimum(wanted, left)
    xi, v1, _ = pair.end(rates, K, t, q, v, h)
    q1, vdot1, tau1 = rates.integrate(q, xi), K[pair.stages, n:], rates.tau
    error = h * pair.size(pair.errors(K), tolerances.tolerance(q, v, v1, v[:0]))
    after = pair.next_length(error, h, wanted, at["again"] > 0)
    near = np.max(np.abs(np.concatenate([q1, v1]))) <= LARGEST
    made = (error < 1) & near
    stuck = ((error < 1) & ~near) | (~(error < 1) & (after <= SHORTEST * np.abs(t)))
    nearly, rest = later(t, late, h)
    arrived = (h >= left) | (target - nearly <= at["slack"])
    there, late1 = np.where(arrived, target, nearly), np.where(arrived, 0.0, rest)
    new = there, late1, q1, v1, vdot1, tau1
    state = [np.where(made, x, at[name]) for name, x in zip(STATE, new)]
    state += [after, np.where(made, 0.0, 1.0), np.where(stuck, 1.0, 0.0), at["tries"] + 1.0]
    row = [there, late1, h, q1, v1, vdot1, tau1]
    if dense:
        row.append(pair.coefficients(rates, *map(opaque, (K, t, q, v, h, xi, v1))))
    return *state, *row, np.where(made, 1.0, 0.0), np.where((made & arrived) | stuck, 1.0, 0.0)


def first(of: Equations, pair: Pair, at: Mapping):
    """The length of the first step of a run."""
    q, v = at["q"], at["v"]
    K = like(np.zeros((2, 2 * of.robot.nv)), q)
    K[0] = np.concatenate([v, at["vdot"]])
    left = (at["target"] - at["t"]) - at["late"]
    return pair.first_length(Rates(of, at), K, Tolerances(of.robot, at["rtol"], at["atol"]), at["t"], q, v, left)


class Program(NamedTuple):
    """The kernels of one pair for some equations."""

    attempt: Kernel
    first: Kernel
    rows: tuple[str, ...]


def program(of: Equations, pair: Pair, dense: bool) -> Program:
    """The kernel of an attempt and that of the first length, of (STATE..., BOUNDS..., what varies)."""
    robot = of.robot
    shapes = {"q": (robot.nq,), "v": (robot.nv,), "vdot": (robot.nv,), "tau": (robot.nv,), "held": (robot.nv,)}
    inputs = *(robot.lowered.input(name, shapes.get(name, ())) for name in (*STATE, *BOUNDS)), *(
        Input(name, shape) for name, shape in of.varied.items()
    )
    names = [x.name for x in inputs]
    kind = type(pair).__name__
    content = None if of.content is None else (of.content, kind, dense)
    return Program(
        Kernel(f"steps_{kind}", lambda *x: attempt(of, pair, dense, dict(zip(names, x))), inputs, content),
        Kernel(f"first_step_{kind}", lambda *x: first(of, pair, dict(zip(names, x))), inputs, content),
        (*ROWS, POLYNOMIAL) if dense else ROWS,
    )


class Segments:
    """Compiled steps of one pair for some equations, and the memory that their rows are written to."""

    def __init__(self, of: Equations, pair: Pair, dense: bool, *, wide: bool):
        self.of, self.pair, self.dense = of, pair, dense
        made = program(of, pair, dense)
        self.inputs, self.rows = made.attempt.inputs, made.rows
        self.segment = Segment(made.attempt, "d", len(STATE), len(made.rows), wide)
        self.first = made.first.gufunc("d")
        n, coefficients = of.robot.nv, (pair.degree + 1, 2 * of.robot.nv)
        widths = {"q": (of.robot.nq,), "v": (n,), "vdot": (n,), "tau": (n,), POLYNOMIAL: coefficients}
        self.widths = [widths.get(name, ()) for name in made.rows]

    def room(self, samples: int, capacity: int) -> list[np.ndarray]:
        """Arrays for rows."""
        return [np.empty((samples, capacity, *width)) for width in self.widths]

    def run(self, arrays: list[np.ndarray], rows: list[np.ndarray], capacity: int) -> np.ndarray:
        """Advance the states of some samples, in place; the number of rows of each."""
        counts = np.zeros(len(arrays[0]))
        self.segment(arrays, rows, counts, capacity)
        return counts
