"""Maximal coordinates: the mechanism as free bodies constrained by the joints (the lecture; Müller and Terze, 2.2).

Every node is a free body with a pose T(k) and a twist V(k); joints are constraints between them, and constraint forces
are unknowns like the accelerations:

    [M  C*] [ α ]   [f]        M(k) α(k) + b(k) = f(k) + joint torques + constraint forces
    [C  0 ] [-λ ] = [c]        N(k) (α(k) - φ*(p,k) α(p) - a(k)) = 0,   N(k) H*(k) = 0

Loops, couplings, drives and other constraints of the model are rows too: with v = S V the velocities of the joints, a row Jc of the
tree's constraints is Jc S over the twists. Rows that follow from others would make the matrix singular, and are left out.

The matrix is sparse and simple, but rounding and finite steps make the poses T(k) drift off the joints, which cannot
happen in generalized coordinates.
"""

from dataclasses import dataclass, replace

import numpy as np

from ..errors import ShapeError
from ..lie import SE3
from ..lie.attitude import quaternion_from_matrix
from ..motion.equations import runge_kutta_step
from ..spatial import bar, phi, tilde
from ..sweeps import poses, velocities
from ..systems import lower
from ..systems.rigid import placements
from .given import as_robot


@dataclass(frozen=True)
class FreeBodies:
    """The state of all nodes: poses (n, 4, 4) and twists in their own axes (n, 6); q (nq,) are coordinates of the joints that are
    near: those of the poses are counted on from them, turn by turn."""

    T: np.ndarray
    V: np.ndarray
    q: np.ndarray | None = None


class MaximalCoordinates:
    """A robot in maximal coordinates, for comparison and teaching: one state at a time, in plain NumPy.

        maximal = lw.MaximalCoordinates(robot)
        maximal.forward_dynamics(q, v, tau)          # the result of robot.forward_dynamics, loops and couplings kept, in another way
        run = maximal.simulate(q, v, until=5.0, step=0.01)
        run.drift                                    # the error of the joint constraints, in metres or radians
    """

    def __init__(self, robot):
        self.robot = as_robot("MaximalCoordinates", robot)
        robot.lowered.only_rigid("MaximalCoordinates")
        self._nodes = lower(robot.model)
        self._N = [_complement(H) for H in self._nodes.H]
        self._coordinates = [np.linalg.pinv(H.T) for H in self._nodes.H]  # joint velocities from a relative twist

    @property
    def n(self) -> int:
        """The number of free bodies; bodies welded together are one."""
        return len(self._nodes.tree)

    @property
    def constraints(self) -> int:
        """The number of constraint equations of the joints: for each body, 6 less the degrees of freedom of its joint. Those of
        loops and other constraints that do not repeat others come after them in the matrix."""
        return sum(len(N) for N in self._N)

    def free(self, q, v) -> FreeBodies:
        """The free bodies at a state of the robot."""
        nodes, tree = self._nodes, self._nodes.tree
        q = np.asarray(q, float)
        X = placements(nodes, q)
        T = poses(tree, X, np.eye(4))
        V = velocities(nodes.placed_blocks(X, q), tree.split(np.asarray(v, float)), nodes.still)
        order = list(tree.base_to_tips())
        poses_, twists = np.array([T[k] for k in order]).reshape(-1, 4, 4), np.array([V[k][:, 0] for k in order]).reshape(-1, 6)
        return FreeBodies(poses_, twists, q)

    def joint_state(self, state: FreeBodies) -> tuple[np.ndarray, np.ndarray]:
        """(q, v) of the robot whose joints are nearest to the free bodies."""
        nodes, tree = self._nodes, self._nodes.tree
        q = self.robot.neutral() if state.q is None else state.q.copy()
        v = tree.slots()
        for k in tree.base_to_tips():
            base = np.eye(4) if tree.parent[k] == tree.world else state.T[tree.parent[k]]
            group, rows = nodes.groups[k], nodes.q_rows[k]
            left = _log(np.linalg.inv(base @ nodes.fixed[k] @ group.matrix(q[rows])) @ state.T[k])
            q[rows] = group.compose(q[rows], group.exp(self._coordinates[k] @ left))
            v[k] = (self._coordinates[k] @ self._relative(state, k)[1])[:, None]
        return q, tree.join(v) if self.n else np.zeros(0)

    def constraint_rows(self, state: FreeBodies, t: float | None = None) -> tuple[np.ndarray, np.ndarray]:
        """(C, c) of the rows C α = c of loops, couplings and other constraints that do not repeat others.

            v = S V,   v̇ = S α − E a,   Jc v̇ + γ = 0:   C = Jc S,   c = Jc E a − γ
        """
        held, tree = self.robot.constraints, self._nodes.tree
        if held is None:
            return np.zeros((0, 6 * self.n)), np.zeros(0)
        rows = held.rows(*self.joint_state(state), t)
        S, bend = np.zeros((tree.nv, self.n, 6)), np.zeros(tree.nv)
        for k in tree.base_to_tips():
            E, (shift, V_rel), own = self._coordinates[k], self._relative(state, k), tree.rows[k]
            S[own, k] += E
            if tree.parent[k] != tree.world:
                S[own, tree.parent[k]] -= E @ shift.T
            bend[own] = E @ self._a(state, k, V_rel)
        used = held.enough(rows)
        return rows.Jc[used] @ S.reshape(tree.nv, -1), rows.Jc[used] @ bend - rows.gamma[used]

    def kkt(self, state: FreeBodies, tau, t: float | None = None):
        """The sparse matrix and right side of the equations for accelerations and multipliers: 6n accelerations, the multipliers of
        the joints, and those of the model's constraints; t where some of these move in time."""
        from scipy.sparse import coo_array

        nodes, tree = self._nodes, self._nodes.tree
        tau = tree.split(np.asarray(tau, float))
        C, c = self.constraint_rows(state, t)
        rows, blocks, right = 6 * self.n, [], np.zeros(6 * self.n + self.constraints + len(C))
        for k in tree.base_to_tips():
            own, p = slice(6 * k, 6 * k + 6), tree.parent[k]
            shift, V_rel = self._relative(state, k)
            E = self._coordinates[k]
            w = E.T @ (tau[k][:, 0] - nodes.joint_inertias[k] @ (E @ -self._a(state, k, V_rel)))  # the motor's wrench on the child
            weight = nodes.M[k] @ np.concatenate([np.zeros(3), state.T[k, :3, :3].T @ nodes.gravity])
            V = state.V[k]
            right[own] += weight - bar(V) @ (nodes.M[k] @ V) + w
            N, a = self._N[k], self._a(state, k, V_rel)
            rotor = E.T @ nodes.joint_inertias[k] @ E
            lines = slice(rows, rows + len(N))
            right[lines] = N @ a
            blocks += [(own, own, nodes.M[k] + rotor), (lines, own, N), (own, lines, N.T)]
            if p != tree.world:
                base = slice(6 * p, 6 * p + 6)
                right[base] -= shift @ w
                blocks += [(lines, base, -N @ shift.T), (base, lines, -shift @ N.T)]
                blocks += [(base, base, shift @ rotor @ shift.T), (own, base, -rotor @ shift.T), (base, own, -shift @ rotor)]
            rows = lines.stop
        everywhere, lines = slice(0, 6 * self.n), slice(rows, rows + len(C))
        right[lines], rows = c, lines.stop
        blocks += [(lines, everywhere, C), (everywhere, lines, C.T)]
        parts = [(np.arange(r.start, r.stop), np.arange(c.start, c.stop), block) for r, c, block in blocks]
        i = np.concatenate([np.repeat(r, len(c)) for r, c, _ in parts])
        j = np.concatenate([np.tile(c, len(r)) for r, c, _ in parts])
        return coo_array((np.concatenate([block.ravel() for *_, block in parts]), (i, j)), shape=(rows, rows)).tocsc(), right

    def accelerations(self, state: FreeBodies, tau, t: float | None = None):
        """Accelerations of the free bodies (n, 6), the rates of their twists in body axes, and the multipliers λ."""
        from scipy.sparse.linalg import spsolve

        if not self.n:
            return np.zeros((0, 6)), np.zeros(0)
        solved = spsolve(*self.kkt(state, tau, t))
        return solved[: 6 * self.n].reshape(-1, 6), -solved[6 * self.n :]

    def forward_dynamics(self, q, v, tau, t: float | None = None):
        """v̇ of the robot from the accelerations of its free bodies, constraints kept; t where some of them move in time."""
        if np.ndim(q) != 1:
            raise ShapeError(f"q has shape {np.shape(q)}; MaximalCoordinates takes one state, robot.forward_dynamics any batch.")
        state, tree = self.free(q, v), self._nodes.tree
        alpha, _ = self.accelerations(state, tau, t)
        vdot = tree.slots()
        for k in tree.base_to_tips():
            shift, V_rel = self._relative(state, k)
            inboard = shift.T @ alpha[tree.parent[k]] if tree.parent[k] != tree.world else 0.0
            vdot[k] = (self._coordinates[k] @ (alpha[k] - inboard - self._a(state, k, V_rel)))[:, None]
        found = tree.join(vdot) if self.n else np.zeros(0)
        if self.robot.constraints is not None:
            self.robot.constraints.check_acceleration(q, v, found, t)  # rows that were left out too
        return found

    def drift(self, state: FreeBodies, t: float | None = None) -> np.ndarray:
        """The constraint error of each joint, the part of the logarithm of its displacement that it does not allow (n,), and of
        each row of the model's constraints after them."""
        nodes, out = self._nodes, np.zeros(self.n)
        for k, (T, p) in enumerate(zip(state.T, nodes.tree.parent)):
            base = np.eye(4) if p == nodes.tree.world else state.T[p]
            X = np.linalg.inv(base @ nodes.fixed[k]) @ T
            out[k] = np.abs(self._N[k] @ _log(X)).max(initial=0.0)
        if (held := self.robot.constraints) is None:
            return out
        return np.concatenate([out, np.abs(held.rows(*self.joint_state(state), t).c)])

    def simulate(self, q, v, *, until: float, step: float, tau=None) -> "MaximalRun":
        """The motion of the free bodies from t = 0 by the classical Runge-Kutta method, without correction of the drift."""
        tau = np.zeros(self._nodes.tree.nv) if tau is None else tau
        state, times = self.free(q, v), np.arange(0, until + step / 2, step)
        states = [state]
        for t in times[:-1]:
            states.append(state := self._step(state, step, tau, t))
        drift = np.array([self.drift(x, t).max(initial=0.0) for x, t in zip(states, times)])
        return MaximalRun(times, np.array([x.T for x in states]), np.array([x.V for x in states]), drift)

    def _step(self, s: FreeBodies, h: float, tau, t: float) -> FreeBodies:
        """One step in exponential coordinates θ about the present poses: T = T(0) exp θ, V = S(θ) θ̇."""

        def at(theta, V):
            return FreeBodies(s.T @ SE3.matrix(SE3.exp(theta)), V, s.q)

        def rates(c, theta, V):
            A, _ = self.accelerations(at(theta, V), tau, t + c * h)
            return (SE3.dexp_inverse(theta, side="right") @ V[..., None])[..., 0], A

        first, still = self.accelerations(s, tau, t)[0], np.zeros_like(s.V)
        there = at(*runge_kutta_step(lambda _, theta: theta, rates, (s.V, first), still, s.V, np.asarray(h)))
        return there if self.robot.constraints is None else replace(there, q=self.joint_state(there)[0])

    def _relative(self, state: FreeBodies, k: int):
        """φ(p,k) from the present poses, and the twist of a node relative to its parent."""
        p = self._nodes.tree.parent[k]
        if p == self._nodes.tree.world:
            return phi(state.T[k]), state.V[k]
        shift = phi(np.linalg.inv(state.T[p]) @ state.T[k])
        return shift, state.V[k] - shift.T @ state.V[p]

    def _a(self, state: FreeBodies, k: int, V_rel):
        return tilde(state.V[k]) @ V_rel


@dataclass(frozen=True)
class MaximalRun:
    """A motion in maximal coordinates: times (m,), poses (m, n, 4, 4) and twists (m, n, 6) of the nodes, largest drift (m,)."""

    t: np.ndarray
    T: np.ndarray
    V: np.ndarray
    drift: np.ndarray


def _complement(H) -> np.ndarray:
    """Orthonormal rows N with N H* = 0: the directions that the joint does not allow."""
    _, _, Vt = np.linalg.svd(H)
    return Vt[len(H) :]


def _log(X) -> np.ndarray:
    """The twist of a pose."""
    return SE3.log(np.concatenate([quaternion_from_matrix(X[:3, :3]), X[:3, 3]]))
