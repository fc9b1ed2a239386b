"""Every type of joint in one tree, for tests and for looking around."""

from ... import joints
from ...spatial import Pose
from .. import solids
from ..builder import Builder
from ..model import Model


def joint_zoo() -> Model:
    """A branched tree with every joint there is, on skew frames, some with springs, damping, friction and rotors."""
    shoulder = joints.Revolute(axis=(1.0, 2.0, 3.0), stiffness=3.0, rest=0.3, damping=0.1, friction=0.05, armature=0.02)
    telescope = joints.Prismatic(axis=(0.0, 1.0, 1.0), stiffness=20.0, damping=2.0, armature=0.3)
    ball = joints.Spherical(axis=(1.0, 1.0, 0.0), stiffness=2.0, damping=0.2, armature=(0.01, 0.02, 0.03))
    wrist = joints.Compound(
        row=(
            ("twist", joints.Revolute(axis=(0.0, 1.0, 0.0), damping=0.1)),
            ("reach", joints.Prismatic(axis=(1.0, 0.0, 0.0), armature=0.1), Pose.rpy((0.0, 0.1, 0.0), (0.2, 0.0, 0.5))),
            ("pivot", joints.Spherical(), (0.0, 0.0, 0.1)),
        )
    )
    tree = [  # body, what it stands on, its joint
        ("pedestal", None, joints.Fixed()),
        ("arm", "pedestal", shoulder),
        ("slider", "arm", telescope),
        ("nut", "slider", joints.Helical(pitch=0.05, axis=(1.0, 0.0, 0.0), friction=0.02)),
        ("sleeve", "arm", joints.Cylindrical(axis=(0.0, 1.0, 0.0), damping=(0.1, 1.0))),
        ("puck", "sleeve", joints.Planar(axis=(0.3, 0.0, 1.0))),
        ("plate", "puck", joints.PlanarTranslation(axis=(0.0, 0.0, -1.0), stiffness=(5.0, 10.0))),
        ("bracket", "plate", joints.Fixed()),
        ("head", "pedestal", ball),
        ("cube", "head", joints.Translation(axis=(1.0, 0.0, 1.0), damping=0.5)),
        ("moon", "cube", joints.Free(axis=(0.0, 1.0, 0.0), stiffness=1.0)),
        ("stage", "head", joints.Schoenflies(axis=(1.0, -1.0, 0.0))),
        ("cross", "stage", joints.Universal(axes=((1.0, 0.0, 0.0), (0.0, 1.0, 0.2)), names=("inner", "outer"), damping=0.1)),
        ("hand", "cross", wrist),
    ]
    zoo = Builder("joint_zoo")
    for i, (name, parent, joint) in enumerate(tree):
        block = solids.box(0.5 + 0.1 * i, (0.1, 0.15 + 0.01 * i, 0.25), center=(0.02, -0.01 * i, 0.1))
        at = Pose.rpy((0.1, 0.05 * (i % 3), 0.2), (0.3 * (i % 2), -0.2 * i, 0.1 * i))
        joint_on = Pose.rpy((-0.02, 0.0, 0.01 * i), (0.0, 0.1 * (i % 4), 0.0))
        zoo.body(name, parent, at, joint, joint_name=f"{name}_{joint.kind}", joint_on=joint_on, **block)
    zoo.frame("finger", "hand", Pose.rpy((0.0, 0.0, 0.3), (0.1, 0.2, 0.3)))
    return zoo.model()
