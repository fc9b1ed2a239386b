"""Contacts and actuators of an MJCF model: world geoms, excluded bodies, explicit pairs, motors and servos."""

from math import inf

import numpy as np

from ..model import Actuator, Contact, Material, Shape
from ..model.model import unused
from .mjcf_shapes import colliding, shapes
from .mjcf_source import Compiled

JOINT, TENDON = (0, 1), 3  # mjtTrn: of a joint (in its own axes or its parent's), of a tendon
WRAP_JOINT = 1  # mjtWrap: a fixed tendon, a sum of joint coordinates


def ground(c: Compiled) -> tuple[Shape, ...]:
    """The geoms of the world that collide."""
    return shapes(c, 0)[1]


def excluded(c: Compiled) -> tuple[tuple[str | None, str | None], ...]:
    """Pairs of bodies of <exclude>."""
    both = [(int(x) >> 16, int(x) & 0xFFFF) for x in c.m.exclude_signature]
    return tuple((body(c, a), body(c, b)) for a, b in both)


def body(c: Compiled, i: int) -> str | None:
    return c.bodies[i] if i else None


def contacts(c: Compiled) -> tuple[Contact, ...]:
    """The explicit pairs of the file; they are not active until contacts are asked for."""
    out: list[Contact] = []
    for i in range(c.m.npair):
        geoms = int(c.m.pair_geom1[i]), int(c.m.pair_geom2[i])
        sides = [side(c, g) for g in geoms]
        if None in sides or sides[0][0] == sides[1][0]:  # type: ignore[index]
            continue
        (one, first), (other, second) = sides  # type: ignore[misc]
        name = unused(c.m.pair(i).name or f"pair{i + 1}", {x.name for x in out})
        friction = 0.0 if c.m.pair_dim[i] == 1 else float(c.m.pair_friction[i, 0])
        out.append(Contact(name, one, other, first, second, Material(friction), active=False))
    return tuple(out)


def side(c: Compiled, g: int) -> tuple[str | None, int] | None:
    """The body of a geom and its number among the collision shapes there; None for one that has no shape."""
    here = colliding(c, int(c.m.geom_bodyid[g]))
    numbers = [n for n, (geom, _) in enumerate(here) if geom == g]
    return (body(c, int(c.m.geom_bodyid[g])), numbers[0]) if numbers else None


def actuators(c: Compiled) -> tuple[tuple[Actuator, ...], list[str]]:
    """Motors and servos on joints and fixed tendons; and the names of actuators that are something else."""
    made: list[Actuator] = []
    lost: list[str] = []
    for i in range(c.m.nactuator):
        name = c.m.actuator(i).name or f"actuator{i + 1}"
        terms = gears(c, i)
        is_affine = c.m.actuator_gaintype[i] == 0 and c.m.actuator_biastype[i] in (0, 1) and c.m.actuator_dyntype[i] == 0
        if not terms or not is_affine or c.m.actuator_ctrlnum[i] != 1:
            lost.append(name)
            continue
        offset, by_length, by_rate = map(float, c.m.actuator_biasprm[i, :3] if c.m.actuator_biastype[i] else np.zeros(3))
        u = int(c.m.actuator_ctrladr[i])  # the ranges are those of controls, of which an actuator may have several
        reach = map(float, c.m.actuator_ctrlrange[u] if c.m.actuator_ctrllimited[u] else (-inf, inf))
        force = map(float, c.m.actuator_forcerange[i] if c.m.actuator_forcelimited[i] else (-inf, inf))
        gain = float(c.m.actuator_gainprm[i, 0])
        unique = unused(name, {x.name for x in made})
        made.append(Actuator(unique, terms, gain, offset, 0.0 - by_length, 0.0 - by_rate, *reach, *force))
    return tuple(made), lost


def gears(c: Compiled, i: int) -> tuple[tuple[str, float], ...]:
    """(joint, ratio) of all joints that an actuator moves; nothing if that is no sum of coordinates."""
    gear, what = float(c.m.actuator_gear[i, 0]), int(c.m.actuator_trnid[i, 0])
    if c.m.actuator_trntype[i] in JOINT:
        return ((c.joints[what], gear),) if c.m.jnt_type[what] in (2, 3) else ()  # slide, hinge
    if c.m.actuator_trntype[i] != TENDON:
        return ()
    wraps = range(c.m.tendon_adr[what], c.m.tendon_adr[what] + c.m.tendon_num[what])
    if any(c.m.wrap_type[w] != WRAP_JOINT for w in wraps):
        return ()
    return tuple((c.joints[int(c.m.wrap_objid[w])], gear * float(c.m.wrap_prm[w])) for w in wraps)
