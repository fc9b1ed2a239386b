"""Spatial vectors (6,), angular part first: shifts, cross products, inertias."""

from .inertia import inertia, inertia_parameters, is_physical, kinetic_energy, momentum, parallel_axis, point_masses
from .ldl import logdet, root, root_solve, root_transposed_solve, solve
from .pose import Pose
from .shift import bar, blocks, hat, homogeneous, phi, phi_inverse, pose_inverse, tilde

__all__ = [
    "Pose", "bar", "blocks", "hat", "homogeneous", "inertia", "inertia_parameters", "is_physical", "kinetic_energy",
    "logdet", "momentum", "parallel_axis", "phi", "phi_inverse", "pose_inverse", "point_masses", "root", "root_solve",
    "root_transposed_solve", "solve", "tilde",
]
