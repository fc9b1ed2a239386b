"""Contacts in a run: Moreau's midpoint rule as an integrator with fixed steps (`motion/contact_step.py`).

A kernel makes gaps, rows and compliance of a step; `solve_contacts` solves the problem of the points that can matter. Where no load is
shared by several points, or with a solver that the user chose, the whole step is one kernel with rounds in a loop; where its residual is
too large, the first way is gone.
Of robots that have no such kernels (loops, long mechanisms, blocks of somebody else) gaps and rows are made in NumPy.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Annotated, NamedTuple

import numpy as np

from ... import quantities
from ...contact.cone import blocks, flat, norm, times
from ...contact.geometry.pairs import pairs_of
from ...contact.problem import Problem
from ...contact.quantities import contact_bias, contact_gaps, contact_jacobian
from ...contact.solver.accelerations import GAP, SPEED
from ...contact.solver.accurate import closing, solve_rows
from ...contact.solver.solve import GOOD
from ...contact.step_rows import rows_of
from ...dynamics import Dynamics
from ...engine.loading.kernel import Kernel
from ...errors import ConstraintError, SimulationError
from ...lie.scalars import like
from ...model.contacts import contacts_off
from ...motion.contact_step import RECOVERY, Compliance, FreeMotion, Inertia, StepLaw, applied_force, contact_step, drift
from ...motion.joint_limits import each_velocity, limits_of
from ...motion.rotation_translation import turned
from ..rates.compliance import compliance
from ..state import Impulses, entry_shapes
from .contact_law import PRECISE, UNSHARED, ContactLaw
from .flow import Flow
from .interpolate import through
from .record import Growing
from .step import Integrator, Step

ONE = np.ones(())
UNROLLED = 40  # blocks of a problem whose rounds are straight-line code
FEW = 2  # blocks for which the whole step is a kernel unless a solver is given
MANY = 32  # and if no points share a load: Newton's rounds for more compile for seconds


def law_of(robot: Dynamics, *, limits: bool, restitution: float = 0.0, recovery: float = RECOVERY, all_rough=None) -> StepLaw:
    """The contacts of a robot, with its joint limits if asked for, and dry friction of joints: of those that have it, or of all."""
    table = robot.contacts
    bounds = tuple(limits_of(robot)) if limits else ()
    rows = tuple(range(robot.nv)) if all_rough else tuple(map(int, np.flatnonzero(each_velocity(robot, "friction"))))
    touching: Callable = _nothing
    if len(table):
        touching = partial(_touching, pairs_of(robot.model))
    return StepLaw(
        touching, table.friction, table.restitution, table.compliance, table.damping, bounds, restitution, rows, rows_of(robot), recovery
    )  # fmt: skip


def _touching(pairs, system, q):
    return contact_gaps(system, q, pairs), contact_jacobian(system, q, pairs)


def _nothing(system, q):
    raise AssertionError("a law without contacts has no rows of them")


def smooth(nodes):
    """Nodes whose joints have no dry friction, and that friction, one number for each velocity."""
    dry = np.concatenate([np.zeros_like(nodes.gravity[..., :0]), *nodes.friction], -1)
    return nodes.without_friction(), dry


def check_touching(robot: Dynamics, law: StepLaw, instead: str) -> None:
    """Raise where steps with contacts have no contact point and no joint limit: dry friction of joints alone is no contact."""
    if not (law.contacts or law.limits or law.own):
        ways = " ".join(contacts_off(robot.model)) or 'Make them with model.with_contacts("ground").'
        raise SimulationError(f"{robot.model.name} has no contacts: it takes contact points or limits. {ways} Or use {instead}.")


class ContactRecord(NamedTuple):
    """Contacts of n points, at the middle of each of the m steps of a run with method "contact".

    Of a run that goes event by event, with another method: at each of its m rows, on both sides of an impact, whose impulse is in no
    row. Residuals are then those of the cone alone, relative to the largest force, and there are no rounds.
    """

    t: Annotated[np.ndarray, "steps"]
    gap: Annotated[np.ndarray, "steps", "points"]
    force: Annotated[np.ndarray, "steps", "points", 3]  # N, normal and two tangents: impulses over the length of a step, or forces
    residual: Annotated[np.ndarray, "steps"]  # the largest of Signorini, cone, dissipation
    rounds: Annotated[np.ndarray, "steps"]


class ContactLog(Growing):
    """The contacts of the steps of a run, as they are made, with `lack`: by how much their velocities fall short, at least."""

    def __init__(self, count: int):
        super().__init__(entry_shapes(ContactRecord, {"points": count}) | {"lack": ()})

    @property
    def record(self) -> ContactRecord:
        columns = self.columns()
        return ContactRecord(*(columns[name] for name in ContactRecord._fields))

    @property
    def note(self) -> str:
        """Returns what is to be said of steps whose contacts are not solved."""
        columns = self.columns()
        left, lack = columns["residual"], columns["lack"]
        poor, jammed = ~(left <= GOOD), lack > 0
        if not poor.any():
            return ""
        worst = int(np.argmax(np.where(np.isnan(left), np.inf, left)))
        said = (
            f"contacts of {poor.sum()} steps are not solved to {GOOD:g} (worst residual {left[worst]:.2g} at "
            f"t = {columns['t'][worst]:.6g} s): with friction there may be no solution, or take a smaller dt."
        )
        if not jammed.any():
            return said
        return (
            f"{said} In {jammed.sum()} of them bodies are jammed in each other: every velocity leaves contacts short of what they ask "
            f"for, by {lack.max():.2g} m/s at least. Start where nothing overlaps, or leave out pairs that always do."
        )


class ContactFlow(Flow):
    """Rates of a run with contacts: accelerations with the forces of contacts, limits and joints with dry friction."""

    def __init__(self, robot: Dynamics, controls, settings, keeper):
        """`settings` are those of the run."""
        self.solver: ContactLaw | None = settings.contact
        recovery = (self.solver or PRECISE).recovery
        self.law = law_of(robot, limits=settings.limits, restitution=settings.restitution, recovery=recovery)
        check_touching(robot, self.law, 'another method, e.g. "rk45", which has dry friction of joints too')
        robot.lowered.refuse_singular(None)
        super().__init__(robot, controls, settings.external, None, keeper)

    def at(self, t, q, v):
        """v̇ and τ of a state. Contacts that touch and do not part act, and so do limits; so does dry friction of joints at rest, that of
        others being a force like any other."""
        vdot, tau = super().at(t, q, v)
        law, robot, n = self.law, self.robot, self.law.contacts
        if not law.count or not np.isfinite(vdot).all():
            return vdot, tau
        nodes, still = robot.lowered.system(robot.lowered.plain()), np.abs(v) <= SPEED
        gaps, J = law.rows(nodes, q, robot.nv)
        dry = np.where(still, each_velocity(robot, "friction"), 0.0)
        low, high = -dry, dry.copy()
        for x, gap in zip(law.limits, gaps[n:]):
            if gap <= GAP and still[x.rate]:
                low[x.rate], high[x.rate] = (low[x.rate], np.inf) if x.side > 0 else (-np.inf, high[x.rate])
        rows, u, C = np.flatnonzero(low < high), blocks(J[: 3 * n] @ v), compliance(robot, q, t)
        pressed = law.soft_forces(gaps[:n], u[:, 0], (J[: 3 * n : 3] @ C * J[: 3 * n : 3]).sum(-1))
        vdot = vdot + C @ (J[: 3 * n : 3].T @ pressed)
        closed = np.where(law.compliance > 0, pressed > 0, (gaps[:n] <= GAP) & (np.abs(u[:, 0]) <= SPEED))
        slip, press = np.where((norm(u[:, 1:]) > SPEED)[:, None], u[:, 1:], 0.0)[closed], pressed[closed]
        R = np.concatenate([J[: 3 * n][np.repeat(closed, 3)], np.eye(robot.nv)[rows]])
        b = R @ vdot
        if closed.any():
            b[: 3 * len(slip)] += contact_bias(nodes, q, v, pairs_of(robot.model))[np.repeat(closed, 3)]
        soft = 3 * np.flatnonzero(press)  # normals that nothing moves: their forces are known
        R[soft] = 0.0
        response = C @ R.T
        G = R @ response
        G[soft, soft] = own = G[soft + 1, soft + 1]
        b[soft] = -own * press[soft // 3]
        found = solve_rows(G, b, law.friction[closed], low[rows], high[rows], slip)
        return vdot + response @ np.concatenate([flat(found.contact), found.z]), tau


class ContactMidpoint(Integrator):
    """Moreau's midpoint rule: order 2 where contacts do not change, order 1 in the times of impacts."""

    Memory = (Impulses,)

    def __init__(self, flow):
        super().__init__(flow)
        self.law: StepLaw = flow.law
        robot, law = self.robot, self.law
        nodes, dry = smooth(robot.lowered.plain())
        self.nodes, self.dry = robot.lowered.system(nodes), dry[list(law.rough)]
        self.constrained = robot.constraints is not None
        self.kernels = bool(robot.compiled and robot.nv and not robot.long and not self.constrained)
        self.compiled: tuple | None = None  # the law and the solver of steps that are one kernel
        alone = UNSHARED if FEW < law.count <= MANY and not shares_loads(robot) else PRECISE
        most = FEW if alone is PRECISE else MANY
        if self.kernels and 0 < law.count <= (most if flow.solver is None else UNROLLED):
            solver = flow.solver or alone
            self.compiled = replace(law, by_mass=solver.by_mass), solver

    @property
    def sizes(self):
        answers = self.n + (0 if self.flow.external is None else 6 * len(self.robot.bodies))
        return super().sizes | {"impulses": self.law.width, "answers": answers}

    def restarted(self, memory, *, jump):
        return None if jump else memory

    def impulse(self, memory) -> np.ndarray:
        """Where the solution of the next step starts."""
        return memory.impulse if isinstance(memory, Impulses) else np.zeros(self.law.width)

    def step(self, s, h):
        t, q, v, n = s.t, s.q, s.v, self.law.contacts
        tau, *wrenches = self._forces(t, q, v, h, None if s.memory is None else s.memory.answer)
        q1, v1, impulse, said, gaps, rates = self._by_parts(t, q, v, tau, h, self.impulse(s.memory), *wrenches or (None,))
        contact = {"t": t + h / 2, "gap": gaps[:n], "force": blocks(impulse[: 3 * n]) / h} | said
        change = (v1 - v) / h
        within = through(self.robot, h, q, q1, v, change, v1)
        free_rate = rates[0] if rates else None
        return Step(h, q, q1, v1, within, (change, self.flow.tau), Impulses(impulse), contact=contact, free_rate=free_rate)

    def record_of(self, t, h, rows) -> dict[str, np.ndarray]:
        """The record of compiled steps of lengths h from the times t, of which these are the rows."""
        n, shape = self.law.contacts, (len(h), self.law.contacts, 3)
        force = rows["impulse"][:, : 3 * n].reshape(shape) / h[:, None, None]
        said = {"residual": rows["left"], "rounds": rows["rounds"], "lack": np.zeros(len(h))}
        return {"t": t + h / 2, "gap": rows["gap"][:, :n].copy(), "force": force} | {name: x.copy() for name, x in said.items()}

    def _forces(self, t, q, v, h, answer) -> tuple:
        """The forces in the middle of a step, for which functions are asked once; `answer` is theirs if they were asked already."""
        flow, n = self.flow, self.n
        if answer is not None:
            return answer[:n], *((answer[n:].reshape(-1, 6),) if len(answer) > n else ())
        flow.evaluations += 1
        middle = drift(self.nodes, q, v, np.asarray(h / 2)) if flow.reacts else (q, v)
        return flow.forces(t + h / 2, *middle)

    def _by_parts(self, t, q, v, tau, h, start, external):
        """The step with its problem solved as well as can be, from the impulses `start`: q, v, impulses, how well that is solved, gaps, and
        accelerations without contacts."""
        h, rates, law = np.asarray(float(h)), list[np.ndarray](), self.law
        prepare = self._by_kernels if self.kernels else partial(self._by_numbers, t + float(h) / 2, rates)
        end = partial(self._as_in_the_middle, t, h) if self.constrained else drift
        step = contact_step(law, solve_closing, self.nodes, q, v, tau, start, h, self.dry, external, None, prepare, end=end)
        return *step, rates

    def _by_kernels(self, law: StepLaw, nodes, q, v, tau, h, external):
        """The first half of a step, by kernels: q½, v½, gaps, J and 𝓜⁻¹ are one, v_f of them and a velocity another."""

        def half(nodes, q, v, h):
            q, v = drift(nodes, q, v, h / 2)
            return q, v, *law.rows(nodes, q, v.shape[-1]), Inertia(nodes, q).solve(like(np.eye(v.shape[-1]), q))

        def free(nodes, q, v, at, tau, h, inverse, *external):
            rates = lambda v: times(inverse, applied_force(nodes, q, v, tau, *external))
            return FreeMotion.of(nodes, v, h, rates).velocity(at)

        wrenches = () if external is None else (external,)
        names = "v", "at", "tau", "h", "inverse", *(("external",) if wrenches else ())
        q, v, gaps, J, inverse = self._kernel("contact_problem", half, ("v", "h"))(q, v, h)
        velocity = self._kernel("free_velocity", free, names)
        return q, FreeMotion(v, lambda at: velocity(q, v, at, tau, h, inverse, *wrenches)), gaps, J, Compliance(inverse)

    def _kernel(self, name: str, function: Callable, names: tuple[str, ...]):
        """A function of the nodes without dry friction, q and arrays of these names, as a gufunc."""
        robot, law = self.robot, self.law

        def make():
            lowered, own = robot.lowered, robot.lowered.nodes
            run = lambda q, *arguments: function(lowered.system(smooth(own.over(q))[0]), q, *arguments)
            shapes = {"q": ("nq",), "h": (), "inverse": ("nv", "nv"), "external": ("nb", 6)}
            inputs = tuple(lowered.input(x, shapes.get(x, ("nv",))) for x in ("q", *names))
            return Kernel(name, run, inputs, (lowered, law)).gufunc("d")

        return robot.made.once(make, name, law.limits, law.limit_restitution, law.recovery, names)

    def _by_numbers(self, t, rates: list, law: StepLaw, nodes, q, v, tau, h, external):
        """The first half of a step, in NumPy; what is asked for accelerations is added to `rates`."""
        robot, (q, v) = self.robot, drift(nodes, q, v, h / 2)
        if self.constrained:
            q, v, _ = self._back(t, q, v)
            inverse, dynamics = robot.constraints.compliance(q, t), partial(robot.constraints.forward_dynamics, t=t)
        else:
            inverse, dynamics = robot.mass_matrix_inverse(q), partial(robot.forward_dynamics)

        def acceleration(v):
            rates.append(dynamics(q, v, tau + quantities.passive_force(nodes, q, v), external))
            return rates[-1]

        onto = (partial(self._onto, t, q),) if self.constrained else ()
        return q, FreeMotion.of(nodes, v, h, acceleration, *onto), *law.rows(nodes, q, robot.nv), Compliance(inverse)

    def _onto(self, t, q, v):
        """P v: the velocity that a configuration on the constraints may have."""
        return self.flow.keeper.back(t, q, v)[1]

    def _as_in_the_middle(self, t, h, nodes, q, after, half):
        """The configuration at the end of a step, on the constraints, and what is v⁺ once it is put there, of which P½ v⁺ is the velocity
        in the middle: what is lost on the way from the middle is what came in on the way there, and the step is of second order."""
        q1, v1 = drift(nodes, q, after, half)
        try:
            q1, there, turn = self._back(t + float(h), q1, v1)
        except ConstraintError:  # which the run says
            return q1, v1
        lost = after - self._onto(t + float(half), q, turned(nodes, after, turned(nodes, turn, there, -ONE), -half))
        return q1, turned(nodes, turn, v1 + turned(nodes, after, lost, half), ONE)

    def _back(self, t, q, v):
        """The state on the constraints, and the way there: velocities are in the axes that it leads to."""
        there, slow = self.flow.keeper.back(t, q, v)
        way = self.robot.difference(q, there)
        along = turned(self.nodes, way, v, ONE)
        return there, slow if np.array_equal(along, v) else self._onto(t, there, along), way


def solve_closing(p: Problem, force):
    """λ as exact as can be, and what is said of it."""
    solution = closing(p, force)
    left = float(solution.residuals.max())
    said = {"residual": left if left >= 0 else np.inf, "rounds": int(solution.rounds), "lack": float(solution.violation.max(initial=0.0))}
    return solution.force, said


def shares_loads(robot: Dynamics) -> bool:
    """Do two bodies touch at several points, or are there more rows of contacts than velocities? Such forces are not unique."""
    if not len(robot.contacts):
        return False
    bodies = [*zip(*(x.tolist() for x in pairs_of(robot.model).bodies))]
    return len(set(bodies)) < len(bodies) or 3 * len(bodies) > robot.nv


def picked(dry, rows: tuple[int, ...]):
    """Some entries of an array over any scalar."""
    return np.stack([dry[..., i] for i in rows], -1) if rows else dry[..., :0]
