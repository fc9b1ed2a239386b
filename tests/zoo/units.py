"""The same mechanism in other units: lengths times L, masses times M, times times T.

With powers of two every number of a model, and of what it does, is scaled exactly, so that nothing may differ but in last bits.
"""

from dataclasses import dataclass, replace

import numpy as np

import linkwork as lw
from linkwork.flexible.attachment import Attachment
from linkwork.flexible.body import Outline
from linkwork.flexible.samples import Fields
from linkwork.model import Distance, KnifeEdge, Linear, Push, Rolling, Spring, Touching


@dataclass(frozen=True)
class Units:
    """How many new units an old one has."""

    L: float = 1.0
    M: float = 1.0
    T: float = 1.0

    def of(self, length=0, mass=0, time=0):
        return self.L ** np.asarray(length, float) * self.M**mass * self.T**time

    @property
    def force(self):
        return self.of(1, 1, -2)

    # --- coordinates of a model

    def lengths(self, model, what="v"):
        """The power of a length in each coordinate (nq,) or velocity (nv,); modal coordinates have no unit here."""
        out = [np.zeros(0, int)]
        for placed in model.joints:
            for _, joint, _ in placed.joint.parts:
                out.append(power_v(joint) if what == "v" or joint.nq == joint.nv else power_q(joint))
        return np.concatenate(out)

    def q(self, model, q):
        return np.asarray(q) * self.of(self.lengths(model, "q"))

    def v(self, model, v):
        return np.asarray(v) * self.of(self.lengths(model), 0, -1)

    def vdot(self, model, vdot):
        return np.asarray(vdot) * self.of(self.lengths(model), 0, -2)

    def tau(self, model, tau):
        return np.asarray(tau) * self.of(2 - self.lengths(model), 1, -2)

    # --- the parts of a model

    def model(self, model):
        """The model, all of it, in these units."""
        L = self.L
        return replace(
            model,
            bodies=tuple(map(self.body, model.bodies)),
            joints=tuple(replace(x, joint=self.joint(x.joint), at=self.pose(x.at), on=self.pose(x.on)) for x in model.joints),
            loops=tuple(replace(x, joint=self.joint(x.joint), at=self.pose(x.at), on=self.pose(x.on)) for x in model.loops),
            frames=tuple(replace(x, pose=self.pose(x.pose)) for x in model.frames),
            couplings=tuple(self.coupling(model, x) for x in model.couplings),
            gravity=tuple(self.of(1, 0, -2) * np.array(model.gravity)),
            forces=tuple(map(self.forces, model.forces)),
            constraints=tuple(self.constraint(model, x) for x in model.constraints),
            ground=tuple(map(self.shape, model.ground)),
            contacts=tuple(replace(x, material=self.material(x.material)) for x in model.contacts),
            actuators=(),
            fluid=None,
        ) if L else model  # fmt: skip

    def pose(self, pose):
        return replace(pose, translation=tuple(self.L * np.array(pose.translation)))

    def body(self, body):
        shapes = {what: tuple(map(self.shape, getattr(body, what))) for what in ("visuals", "collisions")}
        center, tensor = self.L * np.array(body.center), self.of(2, 1) * np.array(body.tensor)
        return replace(body, mass=self.M * body.mass, center=center, tensor=tensor, **shapes)

    def shape(self, shape):
        size = tuple(self.L * np.array(shape.size))
        return replace(shape, size=size, pose=self.pose(shape.pose), material=self.material(shape.material))

    def material(self, material):
        if material is None:
            return None
        return replace(material, compliance=material.compliance * self.of(0, -1, 2), damping=material.damping * self.of(0, 1, -1))

    def joint(self, joint):
        if isinstance(joint, lw.Compound):
            return replace(joint, row=tuple((name, self.joint(x), self.pose(at)) for name, x, at in joint.row))
        if isinstance(joint, (lw.flexible.Modes, lw.flexible.Deflection)):
            return replace(joint, body=self.flexible(joint.body))
        n, power = power_q(joint), power_v(joint)
        scales = {
            "lower": self.of(power), "upper": self.of(power), "rest": self.of(n), "speed": self.of(power, 0, -1),
            "damping": self.of(2 - 2 * power, 1, -1), "friction": self.of(2 - power, 1, -2), "effort": self.of(2 - power, 1, -2),
            "stiffness": self.of(2 - 2 * power, 1, -2), "armature": self.of(2 - 2 * power, 1),
        }  # fmt: skip
        new = {name: tuple(x * np.array(getattr(joint, name))) for name, x in scales.items() if getattr(joint, name) is not None}
        return replace(joint, **new, **({"pitch": self.L * joint.pitch} if isinstance(joint, lw.Helical) else {}))

    def flexible(self, body):
        L, root = self.L, np.sqrt(self.M)
        six = np.array([1.0, 1.0, 1.0, L, L, L])
        frames = {
            name: Attachment(self.pose(x.pose), six[:, None] * x.linear, six[:, None, None] * x.quadratic)
            for name, x in body.frames.items()
        }
        f, o = body.fields, body.outline
        fields = Fields(L * root * f.r0, L * root * f.r1, L * root * f.r2, root * f.moves)
        outline = o and Outline(L * o.points, L * o.linear, None if o.quadratic is None else L * o.quadratic)
        energy = self.of(2, 1, -2)
        return replace(
            body, fields=fields, stiffness=energy * body.stiffness, damping=energy * self.T * body.damping, frames=frames, outline=outline
        )

    def coupling(self, model, x):
        power = dict(zip(names(model), self.lengths(model)))
        own, of = power[x.joint], 0 if x.of is None else power[x.of]
        return replace(x, coefficients=tuple(c * self.of(own - i * of) for i, c in enumerate(x.coefficients)))

    def forces(self, x):
        match x:
            case Spring():
                stiffness, damping = self.of(0, 1, -2), self.of(0, 1, -1)
                return replace(x, at=self.L * np.array(x.at), on=self.L * np.array(x.on), stiffness=stiffness * x.stiffness,
                               length=self.L * x.length, damping=damping * x.damping)  # fmt: skip
            case Push():
                force, at = self.force * np.array(x.force), self.L * np.array(x.at)
                return replace(x, force=force, torque=self.L * self.force * np.array(x.torque), at=at)

    def constraint(self, model, x):
        L = self.L
        match x:
            case Distance():
                return replace(x, length=L * x.length, at=L * np.array(x.at), on=L * np.array(x.on))
            case Linear():
                power = dict(zip(names(model), self.lengths(model)))
                return replace(x, terms=tuple((joint, c / self.of(power[joint])) for joint, c in x.terms))
            case KnifeEdge():
                return replace(x, at=L * np.array(x.at))
            case Rolling() | Touching():
                return replace(x, radius=L * x.radius, center=L * np.array(x.center), height=L * x.height)
        raise NotImplementedError(type(x))


def power_v(joint):
    """Which velocities of a joint are lengths: 0 or 1 (nv,)."""
    if isinstance(joint, lw.flexible.Modes):
        return np.zeros(joint.nv, int)
    return 1 - (joint.group.basis[:, :3] != 0).any(1)


def power_q(joint):
    """Which coordinates of a joint are lengths: 0 or 1 (nq,)."""
    if joint.nq == joint.nv:
        return power_v(joint)
    out = np.ones(joint.nq, int)
    for rows in joint.group.units:
        out[rows] = 0
    return out


def names(model):
    """The name of each velocity's joint."""
    return [placed.name for placed in model.joints for _ in range(placed.joint.nv)]
