"""The same mechanism in Pinocchio, joint by joint, and its constrained dynamics."""

import numpy as np
import pinocchio as pin

import linkwork as lw


def se3(pose):
    T = np.array(pose.matrix)
    return pin.SE3(T[:3, :3].copy(), T[:3, 3].copy())


class Peer:
    """A Pinocchio model of a linkwork one, its loops, and states written its way."""

    def __init__(self, model):
        self.model, self.ours = pin.Model(), model
        self.model.gravity.linear = np.array(model.gravity)
        self.place = {None: (0, lw.Pose())}  # of each body: the joint that carries it, and its pose there
        self.q_rows, self.v_rows = [], []  # where each of our numbers is there
        for placed in model.joints:
            k, at = self.place[placed.parent]
            at = at @ placed.at
            for i, (_, joint, extra) in enumerate(placed.joint.parts):
                at = at @ extra
                if not joint.nv:
                    continue
                kind, swap = KINDS[type(joint)]
                k = self.model.addJoint(k, kind(joint), se3(at), f"{placed.name}_{i}")
                at = lw.Pose()
                there = self.model.joints[k]
                self.q_rows += [there.idx_q + j for j in (swap[0] if swap else range(joint.nq))]
                self.v_rows += [there.idx_v + j for j in (swap[1] if swap else range(joint.nv))]
                for j, x in enumerate(joint.each("armature")):
                    self.model.armature[there.idx_v + j] = x
            self.place[placed.child] = k, at @ placed.on.inverse()
            body = model.body(placed.child)
            inertia = pin.Inertia(body.mass, np.array(body.center), np.array(body.tensor))
            self.model.appendBodyToJoint(k, inertia, se3(self.place[placed.child][1]))
        self.q_rows, self.v_rows = np.array(self.q_rows, int), np.array(self.v_rows, int)
        self.data = self.model.createData()
        self.loops = [part for loop in model.loops if loop.active for part in self._loop(loop)]
        self.loop_data = [x.createData() for x in self.loops]
        pin.initConstraintDynamics(self.model, self.data, self.loops, self.loop_data)

    def _loop(self, loop):
        """A pin is two balls on its axis: there is no contact of five rows."""
        (i, at), (k, on) = self.place[loop.parent], self.place[loop.child]
        at, on = (x @ loop.joint.frame for x in (at @ loop.at, on @ loop.on))
        ball, weld = pin.ContactType.CONTACT_3D, pin.ContactType.CONTACT_6D
        kind, spots = {lw.Spherical: (ball, (0.0,)), lw.Fixed: (weld, (0.0,)), lw.Revolute: (ball, (-0.5, 0.5))}[type(loop.joint)]
        for z in spots:
            ends = [se3(x @ lw.Pose.of((0, 0, z))) for x in (on, at)]
            yield pin.RigidConstraintModel(kind, self.model, k, ends[0], i, ends[1], pin.ReferenceFrame.LOCAL)

    def state(self, q, v, tau):
        there = pin.neutral(self.model), np.zeros(self.model.nv), np.zeros(self.model.nv)
        for x, rows, mine in zip(there, (self.q_rows, self.v_rows, self.v_rows), (q, v, tau)):
            x[rows] = mine
        return there

    def forward_dynamics(self, q, v, tau, mu=1e-6, steps=20):
        settings = pin.ProximalSettings(1e-14, mu, steps)
        vdot = pin.constraintDynamics(self.model, self.data, *self.state(q, v, tau), self.loops, self.loop_data, settings)
        return np.array(vdot)[self.v_rows]


def axis(kind):
    return lambda joint: kind(np.asarray(joint.axis) / np.linalg.norm(joint.axis))


KINDS = {
    lw.Revolute: (axis(pin.JointModelRevoluteUnaligned), None),
    lw.Prismatic: (axis(pin.JointModelPrismaticUnaligned), None),
    lw.Spherical: (lambda joint: pin.JointModelSpherical(), None),
    lw.Free: (lambda joint: pin.JointModelFreeFlyer(), ((3, 4, 5, 6, 0, 1, 2), (3, 4, 5, 0, 1, 2))),
}  # and where quaternion, position, ω, velocity are
