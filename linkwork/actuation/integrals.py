"""What stays as it is in a robot with passive joints, whatever its motors do (Jain, 16.26 to 16.28).

A passive joint along which no force acts has a momentum that does not change. On a group the directions are those of the parent's axes:
ξ · Ad⁻* p is constant, p = (𝓜 v) of that joint, where its rate is zero at every state,

    Ad⁻¹ ξ · (Q + 𝓜̇ v − 𝓒) − p · ad(v) Ad⁻¹ ξ = 0,    Jc Ad⁻¹ ξ = 0,

Q being springs, dampers, friction and pushes, 𝓒 forces of inertia, gravity and fluids, Jc the rows of constraints. For a base that flies
freely these are the linear and angular momentum in world axes, about a fixed point: those about the moving base, as in (16.27), change.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..contact import refuse_contacts
from ..errors import ConstraintError

SAMPLES = 12
SMALL = 1e-9  # relative: a derivative below is rounding


@dataclass(frozen=True)
class Integral:
    """A momentum that is conserved."""

    joint: str
    node: int
    direction: np.ndarray  # ξ, in the algebra of the joint, in the parent's axes

    def __str__(self):
        one = np.flatnonzero(np.abs(self.direction) > 0.5)
        if self.direction.size == 1:
            return f"momentum of {self.joint}"
        which = f"along velocity {one[0]}" if len(one) == 1 and np.isclose(abs(self.direction[one[0]]), 1) else f"along {self.direction}"
        return f"momentum of {self.joint} {which}, in its parent's axes"


@dataclass(frozen=True)
class Integrals:
    """Momenta of passive joints that are conserved while no force acts at these joints."""

    view: Any
    found: tuple[Integral, ...]
    integrable: bool  # are all passive momenta conserved, and is v_p = J_D v_a a relation between positions?

    @property
    def complete(self) -> bool:
        """Are they as many as the passive velocities? Then these follow from the active ones."""
        return len(self.found) == len(self.view.passive)

    def values(self, q, v) -> np.ndarray:
        """The momenta (..., n)."""
        q, v = np.asarray(q, float), np.asarray(v, float)
        p = self.view.robot.ask("mass_matrix_times", q, v)
        system = self.view.robot.lowered.plain()
        parts = []
        for each in self.found:
            moved = symmetry(system, q, each.node) @ each.direction
            parts.append(np.sum(moved * p[..., system.tree.rows[each.node]], -1))
        return np.stack(parts, -1) if parts else np.zeros((*p.shape[:-1], 0))

    def __str__(self):
        view = self.view
        kept = f"{len(self.found)} of {len(view.passive)} passive momenta are conserved"
        lines = [f"{view.robot.model.name} with motors at {', '.join(view.joints)}: {kept}"]
        if not len(view.passive):
            return f"{view.robot.model.name} has a motor at every joint: nothing is conserved"
        lines += [f"  {each}" for each in self.found]
        if self.integrable:
            lines.append("  from rest the passive joints are functions of the active ones")
        elif self.complete:
            path = ", their positions from the path taken" if view.robot.constraints is None else ""
            lines.append(f"  from rest the passive velocities follow from the active ones{path}")
        return "\n".join(lines)


def symmetry(system, q, k: int) -> np.ndarray:
    """Ad⁻¹(q) of the group of a node: velocities of a motion in the parent's axes."""
    group = system.groups[k]
    own = system.split(q)[k]
    return group.Ad(group.inverse(own))


def integrals_of(view) -> Integrals:
    """The integrals of a view: the directions in which no force acts at random states, and which no constraint binds."""
    robot, system, found = view.robot, view.robot.lowered.plain(), []
    refuse_contacts(robot.model, "integrals")
    q, v = possible_states(robot)
    p, fall = robot.ask("mass_matrix_times", q, v), robot.gravity_force(q)
    pushed = robot.passive_force(q, v) - fall
    inertial = np.matvec(robot.mass_matrix_rate(q, v), v) - (robot.bias(q, v) - fall)
    rates = [pushed[:, None], inertial[:, None]]  # of p while the motors do nothing
    turns, sizes = [0.0, 1.0], [max(np.abs(fall).max(), np.abs(pushed).max()), np.abs(inertial).max() + np.abs(p).max() * np.abs(v).max()]
    if robot.constraints is not None:
        J = robot.constraints.jacobian(q, t=0.0)
        rates, turns, sizes = [*rates, J], [*turns, 0.0], [*sizes, np.abs(J).max(initial=0.0)]
    for joint in view.passive_joints:
        for k in nodes_of(system, robot.v_index(joint)):
            X, rows = symmetry(system, q, k), system.tree.rows[k]
            turning = p[:, None, rows] @ system.groups[k].ad(v[:, rows])  # the parent's axes turn in those of the joint
            felt = [((rate[..., rows] - turn * turning) @ X) / (size or 1.0) for rate, turn, size in zip(rates, turns, sizes)]
            every = np.concatenate([x.reshape(-1, X.shape[-1]) for x in felt])
            _, s, V = np.linalg.svd(np.where(np.abs(every) < SMALL, 0.0, every))
            s = np.concatenate([s, np.zeros(len(V) - len(s))])
            found += [Integral(joint, k, tidy(V[i])) for i in reversed(range(len(V))) if s[i] < SMALL]
    flat = len(found) == len(view.passive) and robot.constraints is None
    flat = flat and all(np.abs(curvature(view, one)).max(initial=0.0) < 1e-7 for one in q[:3])
    return Integrals(view, tuple(found), bool(flat))


def possible_states(robot) -> tuple[np.ndarray, np.ndarray]:
    """States (SAMPLES, ...) at random, on the constraints if there are any."""
    q, v = robot.random_state((SAMPLES,), seed=16)
    if robot.constraints is None:
        return q, v
    found = []
    for one, rate in zip(q, v):
        try:
            found.append(robot.constraints.project(robot.constraints.assemble(one, t=0.0), rate, t=0.0))
        except ConstraintError:
            continue  # its loops do not close from there
    if not found:
        raise ConstraintError(f"{robot.model.name} could be assembled from none of {SAMPLES} random guesses: its integrals are not known.")
    return tuple(map(np.array, zip(*found)))  # type: ignore[return-value]


def nodes_of(system, rows: slice) -> list[int]:
    """The nodes of a joint: a compound joint has several."""
    return [k for k, own in enumerate(system.tree.rows) if own.stop > own.start and rows.start <= own.start < rows.stop]


def tidy(direction: np.ndarray) -> np.ndarray:
    """Rounding off, and the first entry that is not zero positive."""
    direction = np.where(np.abs(direction) < 1e-12, 0.0, direction)
    return direction * np.sign(direction[np.flatnonzero(direction)[0]])


def curvature(view, q) -> np.ndarray:
    """F(a, b) = D_a A b − D_b A a + [A a, A b] − A [a, b] with A = J_D = −𝓜_pp⁻¹ 𝓜_pa, D_a the derivative along (a, A a):

    D_a A b = −𝓜_pp⁻¹ [D_a 𝓜 (b, A b)]_p
    """
    robot, active, passive = view.robot, view.active, view.passive
    if not len(passive):
        return np.zeros((0, len(active), len(active)))
    A = view.disturbance_jacobian(q)
    along = np.zeros((robot.nv, len(active)))
    along[active], along[passive] = np.eye(len(active)), A
    rate = robot.as_kernel("mass_matrix").jvp(q, along.T)
    compliance = view.hybrid_blocks(q).pp
    moved = -(compliance @ (rate @ along)[:, passive]).transpose(1, 0, 2)  # (passive, a, b): D_a A b
    bracket = brackets(robot.lowered.plain(), along)
    return moved - moved.mT + bracket[passive] - np.einsum("pc,cab->pab", A, bracket[active])


def brackets(system, fields: np.ndarray) -> np.ndarray:
    """[x, y] of velocities, joint by joint, for all pairs of columns (nv, n, n)."""
    out = np.zeros((len(fields), fields.shape[1], fields.shape[1]))
    for k, rows in enumerate(system.tree.rows):
        if rows.stop > rows.start:
            own = fields[rows]
            out[rows] = np.einsum("aij,jb->iab", system.groups[k].ad(own.T), own)
    return out
