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
from .nodes import Nodes
from .parts import Body, Coupling, Hinge


def gears(model: Model, nodes: Nodes) -> dict[int, tuple[int, float]]:
    """The couplings of a model that are gears, as {node of the joint: (node of its rotor, ratio)}.

    A gear is linear, and joint and rotor, one velocity each, stand on the same node, the rotor carrying nothing else.
    """
    own = {label: k for k, label in enumerate(nodes.labels) if nodes.tree.widths[k] == 1}
    found: dict[int, tuple[int, float]] = {}
    for coupling in model.couplings:
        m, k = own.get(coupling.joint), own.get(coupling.of or "")
        linear = coupling.active and len(coupling.coefficients) == 2
        if linear and m is not None and k is not None:
            alone = not nodes.tree.children[m] and nodes.tree.parent[m] == nodes.tree.parent[k]
            if alone and k not in found:
                found[k] = m, coupling.coefficients[1]
    return found


def with_gears(model: Model, ratios: Mapping[str, float]) -> Model:
    """The model with the gear ratios of these joints known: {joint: ratio}."""
    hinges = [replace(h, joint=replace(h.joint, gear=float(ratios[h.name]))) if h.name in ratios else h for h in model.hinges]
    return replace(model, hinges=tuple(hinges))


def with_rotors(model: Model, ratios: Mapping[str, float] | None = None) -> Model:
    """The model with the armature of the named joints made a rotor that turns `ratio` times as fast: {joint: ratio}.

    Without ratios, all joints are meant that have an armature and whose gear is known, from a file or otherwise.

    An armature is what the joint feels of a rotor, ratio² times its inertia. The rotor also pulls at the body that
    carries the joint, which an armature leaves out. While it does not turn, its inertia is taken to be part of that
    body already, as files have it, and is taken off there.
    """
    if ratios is None:
        ratios = {h.name: h.joint.gear for h in model.hinges if h.joint.gear and h.joint.nv == 1 and h.joint.each("armature").any()}
    hinges, bodies, couplings = list(model.hinges), list(model.bodies), list(model.couplings)
    for name, ratio in ratios.items():
        hinge = model.hinge(name)
        if hinge.joint.nv != 1 or len(hinge.joint.parts) != 1 or not np.isfinite(ratio) or not ratio:
            raise ModelError(
                f'joint "{name}" is {hinge.joint.kind} and its ratio {ratio}; a rotor takes a joint with one velocity '
                "and a finite ratio, not zero."
            )
        spin = float(hinge.joint.each("armature")[0]) / ratio**2
        axis = np.asarray(hinge.joint.axis) / np.linalg.norm(hinge.joint.axis)
        rotor = f"{name}_rotor"
        bodies.append(Body(rotor, tensor=rows(spin * np.outer(axis, axis))))
        hinges.append(Hinge(f"{rotor}_joint", hinge.parent, rotor, Revolute(axis=hinge.joint.axis), hinge.at))
        couplings.append(Coupling(f"{name}_gear", f"{rotor}_joint", name, (0.0, float(ratio))))
        hinges[model.hinges.index(hinge)] = replace(hinge, joint=replace(hinge.joint, armature=0.0))
        if hinge.parent is not None:
            i = model.body_index(hinge.parent)
            along = hinge.at.rotation @ axis
            bodies[i] = replace(bodies[i], tensor=rows(np.asarray(bodies[i].tensor) - spin * np.outer(along, along)))
            if (said := bodies[i].complaint) is not None:
                raise ModelError(f'the rotor of "{name}" cannot be part of its carrier: without it, {said}')
    return replace(model, bodies=tuple(bodies), hinges=tuple(hinges), couplings=tuple(couplings))


def rows(tensor) -> tuple:
    return tuple(map(tuple, tensor))
