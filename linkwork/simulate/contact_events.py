"""A run with few contacts, event by event: impacts, lift-off, slip and stick at their exact times.

Between events each contact point is open, sticks or slides, and the motion is smooth: a run like any other, in which contact forces are
wrenches from outside. They make the accelerations of closed contacts zero:

    J v̇ + J̇ v = 0 in the normals of closed points and the tangents of those that stick,    λ_t = −μ λ_n e where one slides along e

A part ends where a gap or a normal force comes to zero, a force reaches the cone, or a slip stops. Then impulses are exchanged if something
strikes, and accelerations under contact (`contact/accelerations.py`) say what each point does next. A rebound much slower than the
fastest impact of its contact is none: accumulating impacts end in rest.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ..contact.accelerations import SPEED, accelerations
from ..contact.cone import blocks, flat, norm, times
from ..contact.gauss_seidel import local
from ..contact.solve import solve_contacts
from ..dynamics import Dynamics
from ..errors import SimulationError
from ..motion.joint_limits import each_velocity
from .control import Hold, at_state
from .events import Event

if TYPE_CHECKING:
    from .settings import Settings
    from .trajectory import Trajectory

METHODS = "rk45", "dop853", "rk4", "stiff"
REST = 1e-7  # of the fastest impact of a contact: a rebound slower than that is none
OVERLAP = 1e-4  # m: shapes may be in each other at the start by so much
NEAR = 1e-7  # m: points nearer than that take part in an impact of another
SAME = 1e-12  # s: parts shorter than that repeat at one time
REPEATS = 50
TURNED = 0.5  # cosine of the angle by which the direction of a slip may change before it is taken anew
FEW = 12  # points that may be closed at once


def check_events(robot: Dynamics, s: "Settings") -> None:
    """Raise where a run with contacts cannot go event by event."""
    why = ""
    if s.limits:
        why = "limits=True"
    elif each_velocity(robot, "friction").any():
        why = "dry friction of joints"
    elif any(isinstance(x, Hold) for x in _parts(s.control)):
        why = "a held controller"
    elif any(getattr(x, "reset", None) is not None for x in s.events):
        why = "events that reset the state"
    elif s.dt is not None and not s.fixed:
        why = "dt= for the rows, which run(t) gives at any times"
    elif s.sensitivity:
        why = "sensitivity="
    elif (robot.contacts.compliance > 0).any():
        why = "a compliant contact"
    if why:
        raise SimulationError(
            f'{robot.model.name} has contacts, which method "{s.method}" treats event by event, without {why}. '
            'Use method="contact" with dt=....'
        )


def _parts(control) -> list:
    return [] if control is None else list(control) if isinstance(control, (list, tuple)) else [control]


class Points:
    """What the contact points of a robot do at a state: modes, forces, and what ends them."""

    def __init__(self, robot: Dynamics, control, external: Callable | None):
        self.robot, self.control, self.external = robot, _parts(control), external
        self.n, self.mu = len(robot.contacts), robot.contacts.friction
        self.closed, self.slides = np.zeros(self.n, bool), np.zeros(self.n, bool)
        self.along = np.zeros((self.n, 2))  # where each point that slides goes
        self.fastest = np.zeros(self.n)
        self._seen: tuple = ()
        self._found: tuple = ()

    # --- at a state

    def at(self, t: float, q, v):
        """Gaps, J, u, 𝓒 J*, and accelerations b of the points without contact forces, (n, 3)."""
        key = t, q.tobytes(), v.tobytes()
        if key != self._seen:
            robot = self.robot
            tau = sum((np.asarray(f(t, q, v), float) for f in self.control), np.zeros(robot.nv)) + robot.passive_force(q, v)
            wrenches = None if self.external is None else at_state(self.external, t, q, v)
            free = robot.forward_dynamics(q, v, tau, wrenches, t=None if robot.constraints is None else t)
            J = robot.contact_jacobian(q)
            inverse = robot.mass_matrix_inverse(q) if robot.constraints is None else robot.constraints.compliance(q, t)
            found = robot.contact_gaps(q), J, blocks(J @ v), inverse @ J.T, blocks(J @ free + robot.contact_bias(q, v))
            self._seen, self._found = key, found
        return self._found

    def forces(self, t: float, q, v) -> np.ndarray:
        """λ (n, 3) of the present modes; the least-norm ones where they are not unique."""
        _, J, u, response, b = self.at(t, q, v)
        force = np.zeros((self.n, 3))
        if not self.closed.any():
            return force
        E, rows = self._unknowns(u)
        A = (J @ response @ E)[rows]
        z = np.linalg.lstsq(A, -flat(b)[rows], rcond=1e-10)[0]
        return blocks(E @ z)

    def _unknowns(self, u) -> tuple[np.ndarray, np.ndarray]:
        """Columns (3n, m) of forces, one for each unknown, and the rows of zero acceleration."""
        columns, rows = [], []
        for i in np.flatnonzero(self.closed):
            if self.slides[i]:
                own = np.concatenate([[1.0], -self.mu[i] * self._direction(i, u)])[:, None]
                rows.append(3 * i)
            else:
                own = np.eye(3) if self.mu[i] > 0 else np.eye(3)[:, :1]
                rows += [3 * i + k for k in range(own.shape[1])]
            column = np.zeros((3 * self.n, own.shape[1]))
            column[3 * i : 3 * i + 3] = own
            columns.append(column)
        return np.concatenate(columns, 1), np.array(rows)

    def _direction(self, i, u) -> np.ndarray:
        """Of a slip: that of its velocity, unless it has turned back."""
        slip = u[i, 1:]
        return slip / norm(slip) if slip @ self.along[i] > 1e-9 * norm(slip) and norm(slip) > SPEED else self.along[i]

    def wrenches(self, t: float, q, v) -> np.ndarray:
        """Contact forces as wrenches on the bodies, with those of the user."""
        robot = self.robot
        out = np.zeros((len(robot.bodies), 6)) if self.external is None else np.array(at_state(self.external, t, q, v), float)
        if not self.closed.any():
            return out
        force, R, x, T = self.forces(t, q, v), robot.contact_frames(q), robot.contact_points(q).mean(1), robot.poses(q)
        table = robot.contacts
        for i in np.flatnonzero(self.closed):
            push = R[i] @ force[i]
            for sign, body in ((1.0, table.first[i]), (-1.0, table.second[i])):
                if body >= 0:
                    turn = T[body, :3, :3]
                    out[body] += sign * np.concatenate([turn.T @ np.cross(x[i] - T[body, :3, 3], push), turn.T @ push])
        return out

    # --- events

    def events(self, t: float, q, v) -> list[Event]:
        """What ends a part that begins at a state."""
        gaps, _, u, *_ = self.at(t, q, v)
        parts, made = u[:, 0] > self._slow(u), []

        def ends(what: str, function: Callable, i: int) -> None:
            watched = lambda t, q, v: function(i, t, q, v)
            made.append(Event(watched, f"{self.robot.contacts.labels[i]} {what}", -1, terminal=True))

        for i in range(self.n):
            if not self.closed[i]:
                slack = 0.0 if gaps[i] > 1e-9 or parts[i] else 1e-9 - gaps[i]  # one that stays there is not to strike by rounding
                ends("strikes", partial(self._gap, slack), i)
                continue
            ends("lifts", lambda i, t, q, v: self.forces(t, q, v)[i, 0], i)
            if self.slides[i] and self.mu[i] > 0:
                ends("stops sliding", lambda i, t, q, v: self.at(t, q, v)[2][i, 1:] @ self.along[i], i)
                ends("turns", self._turn, i)
            elif self.mu[i] > 0:
                ends("slips", self._room, i)
        return made

    def _gap(self, slack: float, i: int, t, q, v) -> float:
        return self.at(t, q, v)[0][i] + slack

    def _room(self, i: int, t, q, v) -> float:
        force = self.forces(t, q, v)[i]
        return self.mu[i] * force[0] - norm(force[1:])

    def _turn(self, i: int, t, q, v) -> float:
        slip = self.at(t, q, v)[2][i, 1:]
        return slip @ self.along[i] - TURNED * norm(slip) if norm(slip) > SPEED else 1.0

    # --- changes

    def struck(self, t: float, q, v, struck, impacts: str):
        """v after an impact of the points that touch and approach, and whether there was one."""
        gaps, J, u, response, _ = self.at(t, q, v)
        touching = self.closed | (gaps <= NEAR)
        touching[list(struck)] = True
        if not (touching & (u[:, 0] < -self._slow(u))).any():
            return v, False
        for _ in range(1000):
            u = blocks(J @ v)
            slow = self._slow(u)
            approaching = touching & (u[:, 0] < -slow)
            if not approaching.any():
                break
            self.fastest = np.where(approaching, np.maximum(self.fastest, -u[:, 0]), self.fastest)
            e = np.where(approaching, self.robot.contacts.restitution, 0.0)
            e = np.where(-e * u[:, 0] < REST * self.fastest, 0.0, e)
            b = u.copy()
            b[:, 0] += e * u[:, 0]
            if impacts == "one_by_one":
                i = int(np.argmin(np.where(approaching, u[:, 0], 0.0)))
                rows, force = slice(3 * i, 3 * i + 3), np.zeros(3)
                for _ in range(4):
                    force = local((J @ response)[rows, rows], b[i], self.mu[i], force)
                v = v + response[:, rows] @ force
                continue
            if impacts == "poisson":
                v, force = self._together(t, u, J, response, touching, v)
                given = np.zeros_like(u)
                given[:, 0] = e * force[:, 0]
                v = v + response @ flat(given)
                v, _ = self._together(t, blocks(J @ v), J, response, touching, v)
            else:
                v, _ = self._together(t, b, J, response, touching, v)
            break
        return v, True

    def _together(self, t: float, b, J, response, touching, v):
        """v after impulses of all points that touch, with 0 ≤ b_n + (G λ)_n ⟂ λ_n ≥ 0 and Coulomb's law, and the impulses (n, 3)."""
        some, force = np.repeat(touching, 3), np.zeros(3 * self.n)
        found = solve_contacts((J @ response)[np.ix_(some, some)], flat(b)[some], self.mu[touching])
        if not found.converged:
            left = f"residual {found.residuals.max():.2g}"
            raise SimulationError(f"t = {t:.9g} s: the impact of {self._named(touching)} has no solution ({left}).")
        force[some] = found.force
        return v + response @ force, blocks(force)

    def _slow(self, u) -> np.ndarray:
        """Speeds that are none."""
        return np.maximum(SPEED * 1e-3, REST * self.fastest)

    def choose(self, t: float, q, v, struck=(), lifts=(), slips=()):
        """Find what each point does from a state on; v without the rounding that closed points have.

        A force that has just come to zero, or to the cone, is at a boundary, where it is decided by the event: such a point opens, or
        slides against its friction.
        """
        gaps, J, u, response, b = self.at(t, q, v)
        u = u.copy()
        for i in slips:
            push = self.forces(t, q, v)[i, 1:]
            u[i, 1:] = -push / norm(push)
        touching = self.closed | (gaps <= 1e-9)
        touching[list(struck)] = True
        rests = np.abs(u[:, 0]) <= np.maximum(1e-8, REST * self.fastest)
        closed = touching & rests
        closed[list(lifts)] = False
        slipping = closed & (norm(u[:, 1:]) > np.maximum(SPEED, 1e-6 * np.abs(v).max(initial=0.0)))
        force, found = accelerations(J @ response, flat(b), self.mu, u[:, 1:], closed, slipping)
        if not found.converged:
            raise SimulationError(
                f"t = {t:.9g} s: contacts {self._named(closed)} have no accelerations (Painlevé): residual {found.residuals.max():.2g}. "
                'Steps with method="contact" go on, by an impulse.'
            )
        rate = blocks(times(J @ response, flat(force))) + b
        size = np.abs(b).max(initial=1e-300)
        self.closed = closed & (force[:, 0] > 1e-9 * np.abs(force).max(initial=0.0))
        if self.closed.sum() > FEW:
            raise SimulationError(
                f'{self.closed.sum()} points are closed at once; event by event there may be {FEW}. Use method="contact" with dt=....'
            )
        begins = self.closed & ~slipping & (norm(rate[:, 1:]) > 1e-7 * size)
        self.slides = self.closed & (slipping | begins | (self.mu == 0))
        where = np.where(slipping[:, None], u[:, 1:], rate[:, 1:])
        self.along = np.where(self.slides[:, None], where / np.where(norm(where) > 0, norm(where), 1.0)[:, None], 0.0)
        return self._at_rest(J, response, v)

    def _at_rest(self, J, response, v):
        """v on the closed contacts."""
        if not self.closed.any():
            return v
        rows = np.concatenate([[3 * i] if self.slides[i] else 3 * i + np.arange(3) for i in np.flatnonzero(self.closed)]).astype(int)
        A = (J @ response)[np.ix_(rows, rows)]
        return v - response[:, rows] @ np.linalg.lstsq(A, J[rows] @ v, rcond=1e-10)[0]

    def _named(self, some) -> str:
        return ", ".join(np.array(self.robot.contacts.labels)[some][:4])


def by_events(robot: Dynamics, state, s: "Settings", start: float, until: float, impacts: str, simulated: Callable) -> "Trajectory":
    """The motion of a robot with contacts, part by part; `simulated` makes a part of it without them."""
    check_events(robot, s)
    points, (q, v), t = Points(robot, s.control, s.external), state, start
    _refuse_overlap(robot, q, s.method)
    smooth = _without_contacts(robot)
    run, repeats, hit, lifts, slips = None, 0, set[int](), set[int](), set[int]()
    while True:
        with _told(run):
            v, _ = points.struck(t, q, v, hit, impacts)
            v = points.choose(t, q, v, hit, lifts, slips)
        watched = points.events(t, q, v)
        part = simulated(smooth, (q, v), replace(s, events=(*s.events, *watched), external=points.wrenches), t, until)
        run = part if run is None else _joined(run, part)
        ours = part.status == "event" and part.events and any(part.events[-1].name == x.name for x in watched)
        if not ours or run.t[-1] >= until:
            break
        repeats = repeats + 1 if run.t[-1] - t <= SAME * max(1.0, abs(t)) else 0
        if repeats > REPEATS:
            said = f"t = {t:.9g} s: {part.events[-1].name}: this repeats at the same time"
            return replace(run, status="failed", message=said, robot=robot)
        q, v, t = run.q[-1].copy(), run.v[-1].copy(), float(run.t[-1])
        name = part.events[-1].name
        labels = robot.contacts.labels
        hit, lifts, slips = ({i for i, x in enumerate(labels) if name == f"{x} {what}"} for what in ("strikes", "lifts", "slips"))
    events = tuple(x for x in run.events if not x.name.endswith(" turns"))
    status = "finished" if run.status == "event" and ours else run.status
    return replace(run, robot=robot, events=events, settings=s, status=status, message="" if status == "finished" else run.message)


def _refuse_overlap(robot: Dynamics, q, method: str) -> None:
    """A run event by event keeps the gaps of closed contacts, so that shapes that are in each other at the start would stay so."""
    gaps = robot.contact_gaps(q)
    if gaps.min() < -OVERLAP:
        raise SimulationError(
            f'{robot.model.name}: shapes of {robot.contacts.labels[int(gaps.argmin())]} are in each other by {-gaps.min():.3g} m at the '
            f'start, and method "{method}" would leave them so. Move them apart, or use method="contact" with dt=..., which does.'
        )


def _joined(run: "Trajectory", part: "Trajectory") -> "Trajectory":
    """A run and its next part; at a jump of v, both rows of its time are kept."""
    if np.array_equal(run.v[-1], part.v[0]):
        return run.joined(part)
    rows: dict = {name: np.concatenate([getattr(run, name), getattr(part, name)[:1]]) for name in ("t", "q", "v", "vdot", "tau")}
    return replace(run, **rows).joined(part)


@contextmanager
def _told(run) -> Iterator[None]:
    """An error after the first part says what came before."""
    try:
        yield
    except SimulationError as error:
        if run is not None:
            error.add_note(f"The run was at t = {run.t[-1]:.9g} s, after {run.steps} steps.")
        raise


def _without_contacts(robot: Dynamics) -> Dynamics:
    if "without contacts" not in robot.made:
        robot.made["without contacts"] = Dynamics(replace(robot.model, contacts=()), compiled=robot.compiled)
    return robot.made["without contacts"]
