"""Small motions about rest or about a steady motion: frequencies, damping, shapes.

At rest, along the motions X that constraints allow, with 𝓜, D and K of the mechanism,

    X*𝓜X ÿ + X*DX ẏ + X*KX y = 0,      y = shape e^{λt},      |λ| the natural frequency, −Re λ / |λ| the damping ratio

About a steady motion, and under rows that bind velocities alone, λ are the eigenvalues of A, δẋ = A δx (`robot.linearize`), with the
gyroscopic terms.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import ConstraintError, EquilibriumError, ModelError, ShapeError, listed
from ..lie.scalars import numbers
from ..model.coordinates import entry_names
from ..motion.joint_limits import each_velocity
from ..motion.linearize import numbered
from .balance import INDIFFERENT, Place
from .equilibrium import Equilibrium, posed
from .search import force_text
from .spectrum import spectrum
from .swings import Swings, swings
from .tables import table

AT_REST = 1e-6  # radians or sizes: how far rest may be from where modes are asked for
UNBALANCED = 1e-8  # of the force scale
UNDAMPED = 1e-13  # damping forces against the others: what is below is none
STEADY = 1e-6  # of the speed squared: accelerations that are rounding
GROWS = 1e-9  # of |λ|: a real part above is no rounding


@dataclass(frozen=True, eq=False, repr=False)
class Mode:
    """One of them, and a motion to be seen: t (n,), q (n, nq), v (n, nv) of some slow swings of a visible size.

        lw.record(robot.modes(q)[3], "third.html")
        lw.view(robot.modes(q)[3].motion(amplitude=0.2, period=1.0))

    eigenvalue    λ of e^{λt}
    shape         (nv,) along the velocities, with 𝓜 of length one; complex where parts swing out of phase
    kind          "swings", "free" (nothing pushes back), "decays" or "grows" without swinging
    """

    modes: "Modes" = field(repr=False)
    eigenvalue: complex
    shape: np.ndarray

    @property
    def omega(self) -> float:
        """|λ| in rad/s, the natural frequency; zero where it does not swing."""
        return abs(self.eigenvalue) if self.kind == "swings" else 0.0

    @property
    def frequency(self) -> float:
        """The natural frequency in Hz; zero where it does not swing."""
        return self.omega / (2 * np.pi)

    @property
    def damping(self) -> float:
        """−Re λ / |λ|; negative where it grows."""
        return 0.0 if self.eigenvalue == 0 else float(-self.eigenvalue.real / abs(self.eigenvalue)) + 0.0

    @property
    def kind(self) -> str:
        if self.eigenvalue == 0:
            return "free"
        if self.eigenvalue.imag:
            return "swings"
        return "decays" if self.eigenvalue.real < 0 else "grows"

    # --- to be seen

    @property
    def robot(self):
        return self.modes.robot

    @property
    def t(self) -> np.ndarray:
        return self._shown.t

    @property
    def q(self) -> np.ndarray:
        return self._shown.q

    @property
    def v(self) -> np.ndarray:
        return self._shown.v

    @cached_property
    def _shown(self) -> "Swings":
        return self.motion()

    def motion(self, amplitude: float | None = None, period: float = 2.0, cycles: float = 2.0, samples: int = 48) -> "Swings":
        """The mechanism swinging along the shape, undamped and in slow motion: one swing takes `period` seconds, and is stored `samples`
        times. `amplitude` is that of the coordinate that moves most, in rad or m; None is one that can be seen. Loops are kept closed.
        """
        return swings(self.modes, self.shape, self.omega, amplitude, period, cycles, samples)

    def __repr__(self) -> str:
        return f"Mode({self.frequency:.4g} Hz, damping {self.damping:.3g}, {self.kind}, mostly {self.modes.mostly(self.shape)})"


@dataclass(frozen=True, eq=False, repr=False)
class Modes(Sequence):
    """Small motions about a state, slowest first: a sequence of `Mode`; print it.

    q, v           the state
    eigenvalues    λ (n,): of a pair λ, λ̄ the one with Im λ > 0; of a pair ±σ of a state that falls over, the one that grows
    shapes         (nv, n), real where all swing in phase
    frequencies    Hz (n,); damping, ratios (n,); kinds
    notes          what else is to be known
    """

    robot: Any
    q: np.ndarray
    v: np.ndarray
    eigenvalues: np.ndarray
    shapes: np.ndarray
    t: float | None = None
    notes: tuple[str, ...] = ()
    reach: np.ndarray = field(default_factory=lambda: np.zeros(0))

    @property
    def frequencies(self) -> np.ndarray:
        return np.array([x.frequency for x in self])

    @property
    def damping(self) -> np.ndarray:
        return np.array([x.damping for x in self])

    @property
    def kinds(self) -> list[str]:
        return [x.kind for x in self]

    @property
    def stable(self) -> bool:
        """Does none grow? Those that are free may drift away."""
        return not any(x.eigenvalue.real > GROWS * abs(x.eigenvalue) for x in self)

    def __len__(self) -> int:
        return len(self.eigenvalues)

    def __getitem__(self, i):
        if isinstance(i, slice):
            return [self[j] for j in range(*i.indices(len(self)))]
        if not -len(self) <= i < len(self):
            raise IndexError(f"{self.robot.model.name} has {len(self)} modes, 0 to {len(self) - 1}; there is no mode {i}.")
        return Mode(self, complex(self.eigenvalues[i]), self.shapes[:, i])

    def __iter__(self) -> Iterator[Mode]:
        return (self[i] for i in range(len(self)))

    def mostly(self, shape) -> str:
        """The coordinates that move most in a shape."""
        names, size = entry_names(self.robot.model)[1], np.abs(shape) / self.reach
        order = [i for i in np.argsort(-size, kind="stable")[:3] if size[i] > 0.3 * size.max(initial=0.0)]
        return ", ".join(names[i] for i in order)

    def __str__(self) -> str:
        moving = "a steady motion" if self.v.any() else "rest"
        head = f"{self.robot.model.name} about {moving}: {len(self)} modes{'' if self.stable else ', not stable'}"
        rows = []
        for i, x in enumerate(self):
            number = f"{x.frequency:.5g}" if x.kind == "swings" else "0"
            said = x.kind if x.eigenvalue.imag or not x.eigenvalue else f"{x.kind}, {1 / abs(x.eigenvalue.real):.4g} s"
            rows.append((i, number, f"{round(x.damping, 12) + 0.0:.4g}", said, self.mostly(x.shape)))
        return "\n".join([head, *table(("mode", "Hz", "damping", "", "mostly"), rows), *(f"note: {x}" for x in self.notes)])

    def __repr__(self) -> str:
        return f"Modes({self.robot.model.name}, {len(self)})"


def modes(robot, q, v=None, tau=None, external=None, *, t=None) -> Modes:
    """About a state at rest, an `Equilibrium`, or a steady motion."""
    active: tuple = ()
    if isinstance(q, Equilibrium):
        rest = q
        if rest.robot is not robot and rest.robot.model != robot.model:
            raise ModelError(f"modes of {robot.model.name} were asked for at the equilibrium of {rest.robot.model.name}.")
        if v is not None or tau is not None or external is not None or t is not None:
            raise ShapeError("modes of an equilibrium take its own tau, external and t; give rest.q to choose others.")
        q, tau, external, t, active = rest.place.q, rest.place.problem.tau, rest.external, rest.t, rest.place.active
    problem, q, kind = posed(robot, "modes", q, tau, external, t, bool(active))
    v = np.zeros(robot.nv) if v is None else numbers(v)
    if v.shape != (robot.nv,) or not np.isfinite(v).all():
        raise ShapeError(
            f"modes of {robot.model.name} are about one steady motion: v has shape {v.shape}; it takes ({robot.nv},) finite numbers."
        )
    place = problem.at(q, active)
    check_on_constraints(place, v)
    if active and v.any():
        raise ModelError("modes of a motion do not know joints at limits.")
    if not v.any() and problem.set.holonomic.all():
        check_at_rest(place)
        values, shapes = about_rest(place)
    else:
        values, shapes = about_motion(place, v, t)
    shapes = shapes if shapes.dtype.kind == "c" and np.abs(shapes.imag).max(initial=0.0) > 0 else shapes.real
    complex_kind = np.result_type(kind, np.complex64)
    shapes = shapes.astype(complex_kind if shapes.dtype.kind == "c" else kind)
    state = robot, q.astype(kind), v.astype(kind), values.astype(complex_kind), shapes, t
    return Modes(*state, tuple(left_out(robot, v)), problem.set.reach)


def left_out(robot, v) -> Iterator[str]:
    """What small motions would be held by."""
    dry = (each_velocity(robot, "friction") > 0) & (v == 0)
    if dry.any():
        yield (
            f"dry friction ({listed([name for name, x in zip(entry_names(robot.model)[1], dry) if x])}) is left out: "
            "motions that are small enough are held by it"
        )


def check_on_constraints(place: Place, v) -> None:
    """The state keeps the constraints."""
    problem = place.problem
    if not len(problem.set):
        return
    if not v.any() and np.abs(place.rows.U).max(initial=0.0) > 0:
        raise ConstraintError(
            f"{problem.robot.model.name} is driven, and is not at rest at t = {problem.t:g}: give the steady motion v, such as that of "
            "robot.constraints.project(q, v, t)."
        )
    problem.held.check(place.q, v, problem.t)
    if problem.held.report(place.q, problem.t).singular:
        raise ConstraintError(
            f"{problem.robot.model.name} is singular at q: it can move in more ways than nearby, and small motions there are not linear. "
            "Take a configuration next to it, or one without the singularity."
        )


def check_at_rest(place: Place) -> None:
    if place.far <= AT_REST and place.unbalanced <= UNBALANCED:
        return
    name, left = place.problem.robot.model.name, place.X @ place.g
    raise EquilibriumError(
        f"{name} is not at rest at q: forces of up to {force_text(place, left)} are not balanced. robot.equilibrium(q) finds rest near "
        "it, and robot.modes takes its answer; or give tau that holds it, or the velocities v of a steady motion."
    )


# --- about rest


def about_rest(place: Place) -> tuple[np.ndarray, np.ndarray]:
    """λ and shapes (nv, n)."""
    from scipy.linalg import cholesky, solve_triangular

    problem, X, reach = place.problem, place.X, place.problem.set.reach
    if not X.shape[1]:
        return np.zeros(0), X
    weigh = lambda A: X.T @ (A * reach[:, None] * reach) @ X
    M = weigh(problem.robot.mass_matrix(place.q))
    D = X.T @ place.whole_damping @ X
    K, free, symmetric = without_indifferent(place)
    check_inertia(problem, M, X)
    L = cholesky((M + M.T) / 2, lower=True)
    by_mass = lambda A: solve_triangular(L, solve_triangular(L, A, lower=True).T, lower=True).T
    K, D, whole = by_mass(K), by_mass(D), reach[:, None] * (X @ np.linalg.inv(L).T)
    rate = float(np.sqrt(np.abs(K).max())) or float(np.abs(D).max()) or 1.0
    if symmetric and np.abs(D).max() <= UNDAMPED * rate:
        squares, Y = np.linalg.eigh((K + K.T) / 2)
        squares[np.argsort(np.abs(squares))[:free]] = 0.0
        values = np.where(squares > 0, 1j * np.sqrt(np.abs(squares)), np.sqrt(np.abs(squares)))
        return in_order(values, whole @ Y)
    n = len(K)
    A = np.block([[np.zeros((n, n)), rate * np.eye(n)], [-K / rate, -D]])
    values, shapes = of_matrix(A, lambda x: whole @ x[:n], 1e-13)
    return values, of_unit_mass(shapes, problem.robot.mass_matrix(place.q))


def without_indifferent(place: Place) -> tuple[np.ndarray, int, bool]:
    """The stiffness along X, without the rounding along motions that nothing resists; how many these are; and is it symmetric?"""
    K = place.X.T @ place.whole_stiffness @ place.X
    if np.abs(K - K.T).max() > 1e-9 * place.stiffness_scale:
        return K, 0, False
    values, V = np.linalg.eigh((K + K.T) / 2)
    none = np.abs(values) <= INDIFFERENT * place.stiffness_scale
    return (V * np.where(none, 0.0, values)) @ V.T, int(none.sum()), True


def of_unit_mass(shapes, M) -> np.ndarray:
    """Shapes with 𝓜 of length one."""
    size = np.sqrt(np.maximum(np.einsum("ia,ij,ja->a", shapes.conj(), M, shapes).real, 0.0))
    return shapes / np.where(size > 0, size, 1.0)


def check_inertia(problem, M, X) -> None:
    """Every motion that is left moves something."""
    values, vectors = np.linalg.eigh(M)
    if values[0] <= 1e-13 * values[-1]:
        names = entry_names(problem.robot.model)[1]
        where = names[int(np.argmax(np.abs(X @ vectors[:, 0])))]
        raise ModelError(
            f"{problem.robot.model.name} moves nothing that has inertia along {where}, so that its small motions have no frequency. "
            "Give what it carries a mass, or the joint an armature."
        )


# --- about a steady motion


def about_motion(place: Place, v, t) -> tuple[np.ndarray, np.ndarray]:
    """λ and shapes from A of `robot.linearize`."""
    problem, robot, q = place.problem, place.problem.robot, place.q
    push = () if problem.external is None else (problem.external,)
    linear = lambda q, t, states=None: robot.linearize(q, v, problem.tau, None, *push, t=t, states=states)
    total = problem.tau + robot.passive_force(q, v)
    vdot = np.asarray(robot.forward_dynamics(q, v, total, *push, t=t)) / problem.set.reach
    speed = float(np.abs(v / problem.set.reach).max(initial=0.0))
    here = linear(q, t)
    A, states = here.A, here.states
    rate = max(speed, float(np.sqrt(np.abs(A).max(initial=0.0))))
    if np.abs(vdot).max(initial=0.0) > STEADY * rate**2:
        i = int(np.argmax(np.abs(vdot)))
        raise EquilibriumError(
            f"{robot.model.name} does not move steadily: {entry_names(robot.model)[1][i]} accelerates with "
            f"{(vdot * problem.set.reach)[i]:.3g} at this state. Give tau that keeps the motion, or robot.equilibrium(q) for rest."
        )
    check_steady(place, v, t, here, linear, rate)
    positions, velocities = numbered(robot, states)
    reach = np.concatenate([problem.set.reach[positions], problem.set.reach[velocities] * max(rate, 1e-300)])
    A = A / reach[:, None] * reach
    X = place.X_position
    basis = problem.set.reach[:, None] * (X @ np.linalg.inv(X[positions])) if len(positions) else X
    values, shapes = of_matrix(A, lambda x: basis @ x[: len(positions)], 1e-10)
    return values, of_unit_mass(shapes, robot.mass_matrix(q))


def check_steady(place: Place, v, t, here, linear, rate: float) -> None:
    """The equations are the same a little later, or the motion has no modes."""
    robot, A = place.problem.robot, here.A
    if not v.any():
        return
    for angle in (0.3, 1.1):
        dt = angle / max(float(np.abs(v / place.problem.set.reach).max()), 1e-300)
        try:
            after = linear(robot.integrate(place.q, dt * v), None if t is None else t + dt, here.states).A
        except ConstraintError:
            after = np.full_like(A, np.inf)
        if not np.abs(after - A).max(initial=0.0) <= 1e-6 * max(np.abs(A).max(initial=0.0), rate**2):
            raise EquilibriumError(
                f"{robot.model.name} does not look the same all along this motion, so that small changes of it have no modes; "
                "robot.linearize gives A at each state, and lw.simulate what becomes of a change."
            )


def of_matrix(A, shape_of, zero: float) -> tuple[np.ndarray, np.ndarray]:
    """λ and shapes of A: one for each conjugate pair, each real value, and each direction along which nothing pushes."""
    zeros, values, vectors = spectrum(A, zero)
    keep = values.imag >= 0
    shapes = [shape_of(x) for x in zeros.T] + [in_phase(shape_of(x)) for x in vectors[:, keep].T]
    values = np.concatenate([np.zeros(zeros.shape[1]), values[keep]])
    moving = [i for i, x in enumerate(shapes) if np.abs(x).max(initial=0.0) > 0]
    n = len(shape_of(np.zeros(len(A))))
    return in_order(values[moving], np.array([shapes[i] for i in moving], complex).reshape(-1, n).T)


def in_phase(shape) -> np.ndarray:
    """A complex shape turned so that it is as real as it can be, its largest entry positive."""
    total = np.sum(shape * shape)
    shape = shape * np.exp(-0.5j * np.angle(total))
    if np.abs(shape.imag).max(initial=0.0) < 1e-9 * np.abs(shape).max(initial=0.0):
        shape = shape.real + 0j
    largest = shape[np.argmax(np.abs(shape))] if len(shape) else 1.0
    return shape * (np.sign(largest.real) or 1.0)


def in_order(values, shapes):
    """Slowest first; those that are free, grow or decay before those that swing at the same rate."""
    order = np.lexsort((np.abs(values.imag), np.abs(values)))
    return values[order], shapes[:, order]
