"""A robot with its constraints: the state stays the tree's (q, v), and every motion keeps the loops closed."""

from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np

from ..engine.array import Traced
from ..engine.program import Input
from ..errors import ConstraintError, LinkworkError, ModelError, TraceError
from . import assembly, projection
from .augmented import Solution, augmented, check_closed, trusted
from .compiled import Compiled
from .embedding import Embedded, Embedding
from .forces import Forces, constraint_forces
from .integrability import integrable
from .move_squeeze import motor_forces, move_squeeze
from .projected import projected
from .rank import Factored
from .reduced import Reduced
from .report import Report, report
from .rows import Constraint
from .set import ConstraintSet

KEPT = 1e-6  # of the mechanism's size, or of its speed: what a state may be off where one is given
METHODS = ("augmented", "projected", "embedded")


class Constrained:
    """Loops, couplings and other constraints of a robot (a Dynamics), and its dynamics under them.

        held = lw.constraints.of(robot)                          the active loops and couplings of its model
        held = lw.constraints.of(robot, Distance(...), ...)      and more
    """

    def __init__(self, robot, *more: Constraint):
        self.robot: Any = robot
        self.set = ConstraintSet.of(robot, *more)

    @property
    def nv(self) -> int:
        return self.robot.nv

    @property
    def names(self) -> list[str]:
        return [x.name for x in self.set.constraints]

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self.set)

    # --- the constraints themselves

    def residual(self, q, t=0.0):
        """c(q, t) (..., m), zero where the constraints are kept."""
        return self.set.residual(q, t)

    def jacobian(self, q, t=0.0):
        """G (..., m, nv)."""
        return self.set.rows(q, t=t).G

    def bias(self, q, v, t=0.0):
        """γ (..., m) of G v̇ + γ = 0."""
        return self.set.rows(q, v, t).gamma

    def report(self, q, t=0.0) -> Report:
        return report(self.set, q, self._when(t))

    def _when(self, t) -> float:
        """A time; None will do where nothing depends on it."""
        if t is None and self.set.moving:
            raise ConstraintError(
                f'{self.robot.model.name} has constraints that move in time ("{", ".join(self.set.moving)}"): say when, t=0.5.'
            )
        return 0.0 if t is None else t

    # --- states that keep them

    def assemble(self, q, hold: Iterable[str] = (), t=0.0, tolerance=assembly.CLOSED) -> np.ndarray:
        """The q nearest to a guess in which every loop is closed, the joints in `hold` as they are."""
        return assembly.assemble(self.set, q, hold=tuple(hold), t=self._when(t), tolerance=tolerance)

    def check(self, q, v, t=0.0) -> None:
        """(q, v) keeps the constraints, but for rounding; or it is said which it breaks, and what to do."""
        rows, v = self.set.rows(q, t=t), np.asarray(v, float)
        check_closed(self.set, rows, KEPT)
        off = np.matvec(rows.G, v) - rows.U
        size = np.abs(rows.G) @ np.abs(v)[..., None]
        if (np.abs(off) > KEPT * (size[..., 0].max(-1, keepdims=True, initial=0.0) + np.abs(rows.U))).any():
            worst = int(np.argmax(np.abs(off).reshape(-1, len(self)).max(0)))
            raise ConstraintError(
                f'the velocities break "{self.set.labels[worst][0]}" of {self.robot.model.name} by {np.abs(off).max():.3g} '
                f"({self.set.labels[worst][1]}). robot.constraints.project(q, v) gives the nearest that keep the constraints."
            )

    def project(self, q, v, t=0.0, fixed=None):
        """(q, v) put back on the constraints, nearest in the metric of the mass matrix; where that is none because a joint
        moves nothing with inertia, by `lift`."""
        if fixed is not None:
            return projection.project(self.set, q, v, t, fixed)
        return self._returned(q, v, t, lift=self.set.massless)

    def tangent(self, q, w, t=0.0):
        """Of velocities w (m, nv) at one q the part that `project` would leave of them, drives at rest."""
        if self.set.massless:
            return w
        found = None if self.compiled is None else self.compiled.tangent(q, w, t)
        return projection.tangent(self.set, q, w, t) if found is None else found

    def lift(self, q, v, t=0.0):
        """(q, v) put back on the constraints by its dependent velocities alone, the independent ones as they are."""
        return self._returned(q, v, t, lift=True)

    def _returned(self, q, v, t, lift):
        """By kernels, and what they do not serve the plain way."""
        q, v = (np.asarray(x, float) for x in (q, v))
        plain = projection.lift if lift else projection.project
        if self.compiled is None or not np.size(q):
            return plain(self.set, q, v, t)
        kept, open_ = self.compiled.project(q, v, t, lift=lift)
        if open_ is None:
            return kept
        q, v, there, slow = (np.broadcast_to(x, (*np.shape(open_), x.shape[-1])) for x in (q, v, *kept))
        there, slow = there.copy(), slow.copy()
        there[open_], slow[open_] = plain(self.set, q[open_], v[open_], t)
        return there, slow

    def random_state(self, seed=None, reach=1.0):
        """A state that keeps the constraints, near the assembly closest to neutral."""
        rng = np.random.default_rng(seed)
        start = self.assemble(self.robot.neutral())
        for scale in (reach, reach / 2, reach / 4, reach / 8, reach / 16, 0.0):
            guess = self.robot.integrate(start, scale * rng.uniform(-1, 1, self.nv))
            try:
                q = self.assemble(guess)
                break
            except ValueError:
                continue
        return self.project(q, rng.standard_normal(self.nv))

    # --- dynamics

    def forward_dynamics(self, q, v, tau, external=None, *, t=0.0, method=None, stabilization=None, out=None):
        """v̇ (..., nv) that forces τ make under the constraints; `method` as in `solution`, None for `picked`.

        Where there are kernels (`picked` is "embedded kernel") they run by default.
        """
        quick = method is None and self.compiled is not None and stabilization is None
        try:
            if quick:
                return self.compiled.forward_dynamics(q, v, tau, external, out, self._when(t))
        except (AttributeError, TypeError, ValueError) as error:
            if isinstance(error, LinkworkError) and not isinstance(error, TraceError):
                raise
        q, v, tau, external = self._checked(q, v, tau, external)
        if quick:
            vdot = self.compiled.forward_dynamics(q, v, tau, external, t=self._when(t))
        elif (method or self.picked) == "embedded" and stabilization is None:  # no multipliers: linear in the number of loops
            vdot = self.embedding.forward_dynamics(q, v, tau, external, self._when(t))
        else:
            method = "augmented" if method is None else method
            vdot = self.solution(q, v, tau, external, t=self._when(t), method=method, stabilization=stabilization).vdot
        if out is None:
            return vdot
        out[...] = vdot
        return out

    def _checked(self, q, v, tau, external):
        """Arrays of the right shapes, or it is said which is not."""
        given = [x for x in (q, v, tau, external) if x is not None]
        if any(isinstance(x, Traced) for x in given):
            raise TraceError(
                f"forward_dynamics of {self.robot.model.name}, which has loops or couplings, cannot be part of another kernel: "
                "which velocities depend on which is decided from numbers. Call it outside."
            )
        arrays = [np.asarray(x) for x in given]
        shapes = {"q": (self.robot.nq,), "v": (self.nv,), "tau": (self.nv,), "external": (len(self.robot.bodies), 6)}
        self.robot.lowered.check([Input(name, shape) for name, shape in shapes.items()], arrays)
        arrays = [x.astype(float, copy=False) for x in arrays]
        return (*arrays, None) if external is None else arrays

    def solution(self, q, v, tau, external=None, *, t=0.0, method="augmented", stabilization=None) -> Solution:
        """v̇ and multipliers."""
        if method not in METHODS:
            raise ModelError(f'there is no method "{method}"; there are {", ".join(METHODS)}.')
        if method == "augmented":
            return augmented(self.set, q, v, tau, external, t, stabilization)
        if stabilization is not None:
            raise ModelError(f'method "{method}" takes no stabilization; "augmented" does.')
        if method == "embedded":
            vdot = self.embedding.forward_dynamics(q, v, tau, external, t)
            return self.embedding.solution(q, v, tau, vdot, external, t)
        vdot, lam = projected(self.set, q, v, tau, external, t)
        rows = self.set.rows(q, t=t)
        rank = np.linalg.matrix_rank(self.set.even(rows.G), rtol=1e-9)
        return Solution(vdot, lam, rank, rows.G)

    def constraint_forces(self, q, v, tau, external=None, *, t=0.0) -> Forces:
        """Multipliers, and the wrenches in the cut joints and in the joints of the tree."""
        return constraint_forces(self.set, q, v, self.solution(q, v, tau, external, t=self._when(t)), external)

    def compliance(self, q, t=0.0) -> np.ndarray:
        """v̇ for each unit of τ under the constraints (..., nv, nv), what 𝓜⁻¹ is without: 𝓒 = 𝓒*, G 𝓒 = 0, 𝓒 𝓜 X = X.

            𝓒 = F (F 𝓜 F + s B)⁻¹ F        B and F = I − B project on what G binds, and what it leaves free; s any mass
        """
        rows, M = self.set.rows(q, t=t), self.robot.mass_matrix(q)
        basis = Factored(rows.G / self.set.scale[:, None], trusted(self.set, rows)).row_space()
        bound = basis.mT @ basis
        free, s = np.eye(self.nv) - bound, np.trace(M, axis1=-2, axis2=-1)[..., None, None] / self.nv
        return free @ np.linalg.solve(free @ M @ free + s * bound, free)

    def move_squeeze(self, q, tau, W=None, t=0.0):
        """(move, squeeze): the part of τ that moves it, and the part that the constraints carry."""
        return move_squeeze(self.set, q, tau, W, t)

    def motor_forces(self, q, v, vdot, motors, external=None, W=None, t=0.0):
        """Forces (nv,) of the named motors alone that make v̇, of least norm where there are more than it takes."""
        return motor_forces(self.set, q, v, vdot, motors, external, W, t)

    # --- other views

    def reduced(self, q, t=0.0) -> Reduced:
        """The minimal view, its velocities chosen at q."""
        return Reduced.of(self.set, q, t)

    def embedded(self, q, v=None, external=None) -> Embedded:
        """The SKO model in minimal velocities at a state: every operator and sweep of chapter 9 runs on it."""
        q = np.asarray(q, float)
        v = np.zeros((*q.shape[:-1], self.nv)) if v is None else np.asarray(v, float)
        first = q[(0,) * (q.ndim - 1)]
        return self.embedding.at(self.embedding.nodes, self.embedding.choose(first), q, v, external)

    def integrable(self, q, t=0.0) -> bool:
        """Do the constraints bind positions, or only velocities?"""
        return integrable(self.set, q, t)

    @cached_property
    def compiled(self):
        """Kernels of the embedded loops, or None where there are none."""
        return Compiled(self.set) if self.set.traced else None

    @property
    def picked(self) -> str:
        """How forward dynamics runs by default: without kernels, large robots and those with joints that move nothing with
        inertia by embedding in plain NumPy, others by correction of the tree's."""
        if self.compiled is not None:
            return "embedded kernel"
        return "embedded" if self.set.embeddable and (self.robot.rolled or self.set.massless) else "augmented"

    @cached_property
    def embedding(self):
        """The loops as nodes of their own (constraint embedding)."""
        return Embedding(self.set)

    def __repr__(self) -> str:
        return f"<{self.robot.model.name} with {len(self.names)} constraints, {len(self)} rows>"
