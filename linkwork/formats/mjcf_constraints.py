"""Equality constraints of an MJCF model, and notes on what a Model cannot represent."""

import numpy as np
from numpy.polynomial import Polynomial

from ..errors import listed
from ..joints import Fixed, Spherical
from ..model import Coupling, Loop
from ..spatial import Pose
from .mjcf_source import Compiled, names_of

EQUALITIES = ("connect", "weld", "joint", "tendon", "flex", "flexvert", "flexstrain", "distance")  # as in mjtEq
KEPT = ("connect", "weld", "joint")
SITE = 6  # of mjtObj: the constraint is between sites instead of bodies


def loops(c: Compiled) -> tuple[Loop, ...]:
    """The loops of <connect> and <weld>: a point, or a whole frame, of one body coincides with one of another."""
    names = equality_names(c)
    return tuple(_loop(c, e, names[e]) for e in range(c.m.neq) if EQUALITIES[c.m.eq_type[e]] in ("connect", "weld"))


def _loop(c: Compiled, e: int, name: str) -> Loop:
    m, data = c.m, c.m.eq_data[e]
    connect = EQUALITIES[m.eq_type[e]] == "connect"
    ends = int(m.eq_obj1id[e]), int(m.eq_obj2id[e])
    if m.eq_objtype[e] == SITE:
        at, on = (c.place(m.site_pos[s], m.site_quat[s], f'equality "{name}"') for s in ends)
        one, other = (int(m.site_bodyid[s]) for s in ends)
    elif connect:
        (one, other), at, on = ends, Pose.of(data[:3]), Pose.of(data[3:6])
    else:
        (one, other), at, on = ends, c.place(data[3:6], data[6:10], f'equality "{name}"'), Pose.of(data[:3])
    if other == 0:  # the world is a parent, never a child
        one, other, at, on = other, one, on, at
    joint = Spherical() if connect else Fixed()
    active = bool(m.eq_active0[e]) and not c.is_disabled("equality")
    return Loop(name, c.body(one), c.bodies[other], joint, at, on, active)


def couplings(c: Compiled) -> tuple[Coupling, ...]:
    """The couplings of <joint>: q₁ - ref₁ = p(q₂ - ref₂), or q₁ - ref₁ = p(0) without a second joint; q starts from 0 here."""
    names, out = equality_names(c), []
    for e in range(c.m.neq):
        if EQUALITIES[c.m.eq_type[e]] != "joint":
            continue
        one, other = int(c.m.eq_obj1id[e]), int(c.m.eq_obj2id[e])
        ref, of_ref = (float(c.m.qpos0[c.m.jnt_qposadr[j]]) if j >= 0 else 0.0 for j in (one, other))
        p = Polynomial(c.m.eq_data[e, : 5 if other >= 0 else 1])
        p = ref + p(Polynomial([-of_ref, 1.0]))
        of = c.joints[other] if other >= 0 else None
        active = bool(c.m.eq_active0[e]) and not c.is_disabled("equality")
        out.append(Coupling(names[e], c.joints[one], of, tuple(map(float, p.trim().coef)), active))
    return tuple(out)


def equality_names(c: Compiled) -> list[str]:
    return names_of(c.m.neq, c.m.equality, lambda e: f"{EQUALITIES[c.m.eq_type[e]]}{e + 1}")


def omitted(c: Compiled, actuators: list[str]) -> tuple[list[str], list[str]]:
    """Notes on all that is left out, these actuators among it, and those among them that change the motion without actuators."""
    m = c.m
    free, dof = m.jnt_type == 0, m.jnt_dofadr
    names = equality_names(c)
    tendons = [m.tendon(t).name or f"tendon{t + 1}" for t in range(m.ntendon)]
    pulling = (m.tendon_stiffness + m.tendon_damping + m.tendon_armature + m.tendon_frictionloss > 0) | (
        m.tendon_stiffnesspoly.any(-1) | m.tendon_dampingpoly.any(-1)
    )
    changes = {
        "equality constraints": [name for name, kind in zip(names, m.eq_type) if EQUALITIES[kind] not in KEPT],
        "springs, dampers, friction and inertia of tendons": _where(tendons, pulling),
        "the nonlinear part of springs": _where(c.joints, m.jnt_stiffnesspoly.any(-1) | (m.jnt_springyield > 0)),
        "the nonlinear part of dampers": _where(c.joints, m.dof_dampingpoly[dof].any(-1)),
        "springs of free joints": _where(c.joints, free & (m.jnt_stiffness > 0)),
        "that armature of free joints is along world axes": _where(c.joints, free & (m.dof_armature[dof] > 0)),
        "gravity compensation": _where(c.bodies, m.body_gravcomp != 0),
        "passive forces of plugins": _where(c.bodies, m.body_plugin >= 0),
        "forces of a fluid with": [name for name in ("density", "viscosity") if getattr(m.opt, name)],
        "deformable bodies": [m.flex(i).name or f"flex{i + 1}" for i in range(m.nflex)],
    }
    all_meshes = (*c.meshes.values(), *c.opened.values())
    uneven = m.jnt_actfrclimited.astype(bool) & (m.jnt_actfrcrange.sum(-1) != 0)
    others = {
        "tendons": tendons,
        "actuators": actuators,
        "sensors": [m.sensor(i).name or f"sensor{i + 1}" for i in range(m.nsensor)],
        "keyframes": [m.key(i).name or f"key{i + 1}" for i in range(m.nkey)],
        "limits of ball joints": _where(c.joints, (m.jnt_type == 1) & (m.jnt_limited != 0)),
        "the smaller side of uneven force limits": _where(c.joints, uneven),
        "motion of mocap bodies": _where(c.bodies, m.body_mocapid >= 0),
        "meshes that are rotated before they are scaled": sorted({x.file for x in all_meshes if x.skewed}),
        "geoms fitted to meshes that are not there, of": [c.bodies[m.geom_bodyid[g]] for g in sorted(c.unfitted)],
    }
    texts = [[f"{what} {_quoted(which)}" for what, which in part.items() if which] for part in (changes, others)]
    return [f"left out: {each}" for each in (*texts[0], *texts[1])], texts[0]


def _where(names: list[str], mask) -> list[str]:
    return [names[i] for i in np.flatnonzero(mask)]


def _quoted(names: list[str]) -> str:
    return listed([f'"{name}"' for name in dict.fromkeys(names)], limit=20)
