"""The same quantities by Pinocchio, on one thread, for a batch and for one state."""

from collections import deque
from itertools import repeat
from pathlib import Path

import numpy as np
import pinocchio as pin

import linkwork as lw
from linkwork import convert

METHODS = "forward_dynamics", "inverse_dynamics", "mass_matrix"


class Peer:
    """A model of Pinocchio beside a robot of ours, and states of both."""

    def __init__(self, robot: lw.Dynamics, model, to, batch: int):
        self.robot, self.model, self.data, self.pool = robot, model, model.createData(), pin.ModelPool(model, 1)
        self.q, self.v = robot.random_state((batch,), seed=0)
        self.u = np.random.default_rng(0).standard_normal(self.v.shape)  # forces, or accelerations
        self.to = to
        there = to.q_to(self.q), to.v_to(self.q, self.v), to.tau_to(self.q, self.u)
        self.columns = [np.asfortranarray(x.T) for x in there]
        self.one = [np.ascontiguousarray(x[0]) for x in there]
        self.out = np.zeros((model.nv, batch), order="F")

    def batch(self, method: str):
        q, v, u = self.columns
        if method == "mass_matrix":  # Pinocchio has no loop of its own for this one; results, which are copies, are not kept
            return lambda: deque((pin.crba(self.model, self.data, q0) for q0 in repeat(self.one[0], q.shape[1])), maxlen=0)
        run = {"forward_dynamics": pin.abaInParallel, "inverse_dynamics": pin.rneaInParallel}[method]
        return lambda: run(1, self.pool, q, v, u, self.out)

    def single(self, method: str):
        q, v, u = self.one
        run = {"forward_dynamics": pin.aba, "inverse_dynamics": pin.rnea, "mass_matrix": pin.crba}[method]
        given = (q,) if method == "mass_matrix" else (q, v, u)
        return lambda: run(self.model, self.data, *given)

    def ours(self, method: str):
        """(batch, one call) by our kernels."""
        given = [x.copy() for x in ((self.q,) if method == "mass_matrix" else (self.q, self.v, self.u))]
        run, first = getattr(self.robot, method), [x[0].copy() for x in given]
        out = np.empty_like(run(*given))
        return lambda: run(*given, out=out), lambda: run(*first)

    def off(self, method: str) -> float:
        """How far the two results are apart, relative to the largest entry."""
        theirs, ours = self.single(method)(), self.ours(method)[1]()
        if method == "mass_matrix":
            axes = self.to.axes(self.q[0])
            theirs = axes.T @ (np.triu(theirs) + np.triu(theirs, 1).T) @ axes
        else:
            theirs = self.to.tau_from(self.q[0], theirs)
        return float(np.abs(ours - theirs).max() / np.abs(theirs).max())


def of_file(robot: lw.Dynamics, file: Path, floating: bool, batch: int) -> Peer:
    root = [pin.JointModelFreeFlyer()] if floating else []
    return Peer(robot, pin.buildModelFromUrdf(str(file), *root), convert.pinocchio(robot), batch)


def of_chain(robot: lw.Dynamics, folder: Path, batch: int) -> Peer:
    """Through a URDF; turning without limits would be (cos, sin) for Pinocchio, so there are some."""
    file = folder / "chain.urdf"
    lw.save(robot.model, file, lossy=True)
    limit = '<limit lower="-1000" upper="1000" effort="1" velocity="1"/></joint>'
    text = file.read_text().replace('type="continuous"', 'type="revolute"').replace("</joint>", limit)
    return Peer(robot, pin.buildModelFromXML(text), convert.pinocchio(robot, continuous=[]), batch)
