"""Gears: a rotor is a body like any other, its joint bound by a ratio to the joint that it drives.

In a model a geared joint is three things: the joint, a rotor on the body that carries the joint, and a coupling
q(rotor) = c₀ + ratio q(joint). `Builder.motor` adds rotor and coupling; `with_rotors` makes them from an armature.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ..errors import ModelError
from ..joints import Revolute
from .model import Model
from .parts import Body, Coupling, PlacedJoint


def with_gears(model: Model, ratios: Mapping[str, float]) -> Model:
    """The model with the gear ratios of these joints known: {joint: ratio}."""
    joints = [replace(h, joint=replace(h.joint, gear=float(ratios[h.name]))) if h.name in ratios else h for h in model.joints]
    return replace(model, joints=tuple(joints))


def with_rotors(model: Model, ratios: Mapping[str, float] | None = None) -> Model:
    """The model with the armature of the named joints made a rotor that turns `ratio` times as fast: {joint: ratio}.

    Without ratios, all joints are meant that have an armature and whose gear is known, from a file or otherwise.

    An armature is what the joint feels of a rotor, ratio² times its inertia. The rotor also pulls at the body that
    carries the joint, which an armature leaves out. While it does not turn, its inertia is taken to be part of that
    body already, as files have it, and is taken off there.
    """
    if ratios is None:
        ratios = {h.name: h.joint.gear for h in model.joints if h.joint.gear and h.joint.nv == 1 and h.joint.each("armature").any()}
    joints, bodies, couplings = list(model.joints), list(model.bodies), list(model.couplings)
    for name, ratio in ratios.items():
        placed = model.joint(name)
        if placed.joint.nv != 1 or len(placed.joint.parts) != 1 or not np.isfinite(ratio) or not ratio:
            raise ModelError(
                f'joint "{name}" is {placed.joint.kind} and its ratio {ratio}; a rotor takes a joint with one velocity '
                "and a finite ratio, not zero."
            )
        spin = float(placed.joint.each("armature")[0]) / ratio**2
        axis = np.asarray(placed.joint.axis) / np.linalg.norm(placed.joint.axis)
        rotor = f"{name}_rotor"
        bodies.append(Body(rotor, tensor=rows(spin * np.outer(axis, axis))))
        joints.append(PlacedJoint(f"{rotor}_joint", placed.parent, rotor, Revolute(axis=placed.joint.axis), placed.at))
        couplings.append(Coupling(f"{name}_gear", f"{rotor}_joint", name, (0.0, float(ratio))))
        joints[model.joints.index(placed)] = replace(placed, joint=replace(placed.joint, armature=0.0))
        if placed.parent is not None:
            i = model.body_index(placed.parent)
            along = placed.at.rotation @ axis
            bodies[i] = replace(bodies[i], tensor=rows(np.asarray(bodies[i].tensor) - spin * np.outer(along, along)))
            if (said := bodies[i].complaint) is not None:
                raise ModelError(f'the rotor of "{name}" cannot be part of its carrier: without it, {said}')
    return replace(model, bodies=tuple(bodies), joints=tuple(joints), couplings=tuple(couplings))


def rows(tensor) -> tuple:
    return tuple(map(tuple, tensor))
