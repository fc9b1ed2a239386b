"""A robot in the velocities of its links: its gears are exact, and their rotors part of the links (Jain, chapter 12)."""

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ModelError, OptionError, ShapeError
from ..model.coordinates import entry_names
from ..operators.geared import geared, velocities_of_all
from ..operators.rigid import rigid
from ..operators.sko import SKO
from ..systems.gears import gears


class Geared:
    """A view of a robot whose couplings are gears, one rotor beside each joint that it drives: u are the velocities of what is no rotor.

        links = robot.geared()
        links.mass_matrix(q)                            # (..., nu, nu), with what the rotors add
        links.forward_dynamics(q, u, tau)               # tau at the joints: ratio times those of the motors
        links.velocity(u)                               # v of the whole tree, rotors turning with their gears

    Nodes are pairs of motor and link, so that all is O(N) by the same sweeps (Algorithms 12.1, 12.3 and 12.4; 12.2 and 12.5 are two of
    them without the zeros of the pairs). q is that of the whole robot, whose sizes do not change; leading axes are batch axes. It computes
    in NumPy.
    """

    def __init__(self, robot):
        robot.lowered.only_rigid("geared")
        model, nodes = robot.model, robot.lowered.plain()
        found = gears(model, nodes)
        driven = {nodes.labels[m] for m, _ in found.values()}
        others = [x.name for x in (*model.couplings, *model.loops) if x.active and getattr(x, "joint", None) not in driven]
        others += [x.name for x in model.constraints]
        if others:
            raise ModelError(f'{model.name} is bound by "{others[0]}", which is no gear; robot.forward_dynamics keeps all constraints.')
        self.robot, self.gears = robot, found
        self.X = velocities_of_all(rigid(nodes, robot.neutral()), found)
        rotors = {row for m, _ in found.values() for row in range(robot.nv)[nodes.tree.rows[m]]}
        self.rows = np.array([i for i in range(robot.nv) if i not in rotors], int)  # of the velocities u in v
        self.names = [entry_names(model)[1][i] for i in self.rows]

    @property
    def nu(self) -> int:
        return len(self.rows)

    @property
    def ratios(self) -> dict[str, float]:
        """Joint by joint, how many times as fast its rotor turns."""
        labels = self.robot.lowered.plain().labels
        return {labels[k]: ratio for k, (_, ratio) in self.gears.items()}

    def velocity(self, u: ArrayLike) -> np.ndarray:
        """v (..., nv) of all joints, those of rotors included."""
        return np.matvec(self.X, self._checked("u", u))

    def mass_matrix(self, q: ArrayLike) -> np.ndarray:
        """𝓜_G = X* 𝓜 X (..., nu, nu)                                                                     Jain, Algorithm 12.1."""
        return self._over_batch(q, self._sko(q).mass_matrix)

    def mass_matrix_inverse(self, q: ArrayLike) -> np.ndarray:
        """𝓜_G⁻¹ (..., nu, nu), by articulated bodies of pairs                                            Jain, Algorithm 12.3."""
        return self._over_batch(q, self._sko(q).mass_matrix_inverse)

    def inverse_dynamics(self, q: ArrayLike, u: ArrayLike, udot: ArrayLike) -> np.ndarray:
        """Forces at the joints (..., nu) of a motion                                                      Jain, Algorithm 9.1."""
        return self._sko(q, u).inverse_dynamics(self._checked("udot", udot))

    def forward_dynamics(self, q: ArrayLike, u: ArrayLike, tau: ArrayLike) -> np.ndarray:
        """u̇ (..., nu) of forces at the joints, gravity included                                          Jain, Algorithm 12.4."""
        return self._sko(q, u).forward_dynamics(self._checked("tau", tau))

    def hybrid_dynamics(self, q: ArrayLike, u: ArrayLike, given: ArrayLike, prescribed: ArrayLike) -> np.ndarray:
        """Forces where `given` is an acceleration (prescribed = 1), accelerations where it is a force (0)   Jain, Algorithm 16.2."""
        told = self._checked("prescribed", prescribed)
        if not np.isin(told, (0, 1)).all():
            raise OptionError(f"prescribed is {told}; each entry is 1 where an acceleration is given and 0 where a force is.")
        return self._sko(q, u).hybrid_dynamics(self._checked("given", given), told)

    def motor_forces(self, tau: ArrayLike) -> np.ndarray:
        """Forces along v (..., nv) that motors exert to make tau at the joints: τ / ratio at a rotor, tau where there is no gear."""
        tau = self._checked("tau", tau)
        out = np.zeros((*tau.shape[:-1], self.robot.nv))
        out[..., self.rows] = tau
        tree = self.robot.lowered.plain().tree
        for k, (m, ratio) in self.gears.items():
            out[..., tree.rows[m]] = out[..., tree.rows[k]] / ratio
            out[..., tree.rows[k]] = 0.0
        return out

    def _over_batch(self, q, M) -> np.ndarray:
        """A matrix that does not change with q, once for each."""
        return np.broadcast_to(M, (*np.shape(q)[:-1], self.nu, self.nu)).copy()

    def _sko(self, q, u=None) -> SKO:
        q = np.asarray(q)
        if q.shape[-1:] != (self.robot.nq,):
            raise ShapeError(f"q has shape {q.shape}, but {self.robot.model.name} has nq = {self.robot.nq}, rotors included.")
        nodes = self.robot.lowered.plain(np.result_type(q, np.float32))
        return geared(rigid(nodes, q, None if u is None else self.velocity(u).astype(nodes.gravity.dtype)), self.gears)

    def _checked(self, name: str, x) -> np.ndarray:
        x = np.asarray(x)
        if x.shape[-1:] != (self.nu,):
            raise ShapeError(f"{name} has shape {x.shape}, but {self.robot.model.name} without its rotors has {self.nu} velocities.")
        return x

    def __repr__(self) -> str:
        return f"<{self.robot.model.name}: {len(self.gears)} gears, {self.nu} of {self.robot.nv} velocities>"
