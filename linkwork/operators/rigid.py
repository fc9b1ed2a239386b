"""Rigid mechanisms as SKO models, in the four ways chapter 5 writes them: the same mass matrix and the same forces."""

from dataclasses import replace
from functools import lru_cache

import numpy as np

from ..engine.running.checks import array_of
from ..engine.tracing.program import Input
from ..errors import ModelError
from ..lie.scalars import like, working_dtype
from ..lie.so3 import tilde as skew
from ..model import Model
from ..spatial import Pose, phi, phi_inverse
from ..spatial.single_body import gyroscopic_inertial
from ..sweeps import poses, velocities
from ..systems import Lowered, Nodes
from ..systems.rigid import placements
from .algebra import Operators
from .geared import driven
from .sko import SKO, Changes
from .tasks import RobotState


def rigid(nodes, q, v=None, external=None) -> SKO:
    """Rates taken in each node's own frame: a = V~ H* v, b = V̄ M V (Jain, 5.11, 2.28). Without v it is at rest."""
    check_dry(nodes, "rigid")
    v = np.zeros_like(nodes.gravity, shape=(nodes.tree.nv,)) if v is None else v
    s = nodes.blocks(q)
    r = nodes.rates(s, v, external=external)
    changes = Changes(lambda v: nodes.entry_rates(s, v), nodes.is_rigid)
    return SKO(s.tree, s.A, s.H, s.M, s.armature, r.a, r.b, r.base, changes)


def check_dry(nodes, who: str) -> None:
    """Raises where nodes leave out a fluid that their bodies are in."""
    if isinstance(nodes, Nodes) and nodes.in_fluid:
        raise ModelError(f"{who} leaves out the fluid that these bodies are in. robot.operators(q, v) of a Dynamics knows it.")


def with_inertial_rates(nodes: Nodes, q, v) -> SKO:
    """Rates of velocities seen from the inertial frame, α + [0; ω~ v]:

        c(k) = [0; ω~ v](k),   a = V~ H* v + c(k) − φ*(p,k) c(p),   b = V^ω~ M V^ω          Jain (5.19), (2.26)
    """
    check_dry(nodes, "with_inertial_rates")
    nodes.check_rigid("with_inertial_rates")
    tree, M, s = nodes.tree, nodes.M, nodes.blocks(q)
    V, r = velocities(s, tree.split(v), nodes.still), nodes.rates(s, v)
    c, a_I, b_I = tree.slots(3)
    c[tree.world] = nodes.still
    for k in tree.base_to_tips():
        w, u   = V[k][..., :3, :], V[k][..., 3:, :]
        c[k]   = np.concatenate([np.zeros_like(u), skew(w[..., 0]) @ u], -2)
        a_I[k] = r.a[k] + c[k] - s.A[k].mT @ c[tree.parent[k]]
        b_I[k] = gyroscopic_inertial(M[k], V[k])
    return SKO(s.tree, s.A, s.H, s.M, s.armature, a_I, b_I, nodes.falling)


def about_a_fixed_point(nodes: Nodes, q, v) -> SKO:
    """Everything referred to the world's origin and axes, so that nothing changes from node to node:

        φ = I,   H_𝕀 = H φ⁻¹(0,k),   M_𝕀 = φ(0,k) M φ*(0,k)
        a = V_𝕀~ H_𝕀* v,   b = V̄_𝕀 M_𝕀 V_𝕀                                                      Jain (5.47) to (5.66)
    """
    check_dry(nodes, "about_a_fixed_point")
    nodes.check_rigid("about_a_fixed_point")
    tree, T = nodes.tree, poses(nodes.tree, placements(nodes, q), like(np.eye(4), nodes.gravity))
    shift, back = ({k: of(T[k]) for k in tree.base_to_tips()} for of in (phi, phi_inverse))
    return replace(shifted(rigid(nodes, q, v), shift, back), A=tree.constant(like(np.eye(6), nodes.gravity)))


def shifted(sko: SKO, shift, back) -> SKO:
    """The model with node k's velocities referred elsewhere, V_B = Δ⁻*(k) V: `shift` is Δ(k), `back` its inverse.

        A_B = Δ A Δ⁻¹,   H_B = H Δ⁻¹,   M_B = Δ M Δ*,   a_B = Δ⁻* a,   b_B = Δ b       Jain, Lemma 8.8, (5.27) to (5.31)
    """
    tree = sko.tree
    A, H, M, a, b = tree.slots(5)
    for k in tree.base_to_tips():
        inboard = sko.A[k] if tree.parent[k] == tree.world else shift[tree.parent[k]] @ sko.A[k]
        A[k] = inboard @ back[k]
        H[k] = sko.H[k] @ back[k]
        M[k] = shift[k] @ sko.M[k] @ shift[k].mT
        a[k] = back[k].mT @ sko.a[k]
        b[k] = shift[k] @ sko.b[k]
    return SKO(tree, A, H, M, sko.armature, a, b, sko.base)


def prescribed(sko: SKO, moved, vdot) -> SKO:
    """The passive arm: velocities that are `moved` (True) have the accelerations vdot and are no longer velocities.

        H(k) loses its rows,   a(k) + H*(k) v̇(k)                                             Jain (16.1) to (16.3)
    """
    tree, given = sko.tree, sko.tree.split(np.where(moved, vdot, 0.0))
    a, free = tree.slots(2)
    for k in tree.base_to_tips():
        is_prescribed = np.asarray(moved)[tree.rows[k]].astype(bool)
        free[k] = like(np.eye(tree.widths[k])[:, ~is_prescribed], sko.base)
        if np.any((free[k].mT @ sko.armature[k])[..., is_prescribed]):
            raise ModelError(f"the armature of node {k} ties what is moved to what is free; use hybrid_dynamics.")
        a[k] = sko.a[k] + sko.H[k].mT @ given[k]
    return replace(driven(sko, free), a=a, changes=None)


def operators(robot, q, v=None, t=None) -> Operators:
    """The spatial operators of a robot (a Dynamics, or a Model) at q, and with v its a and b: those of its tree. Tasks made of
    them keep the constraints of a Dynamics; if some move in time, t says when.

    Inside a kernel q is traced, and so is what is made from it. Places go by name: see `on_node`.
    """
    lowered, q = lowered_of(robot) if isinstance(robot, Model) else robot.lowered, array_of("q", q)
    nodes = lowered.plain(working_dtype(q)) if isinstance(q, np.ndarray) else lowered.plain().over(q)
    model = lowered.model
    given = {"q": q} | ({} if v is None else {"v": array_of("v", v)})
    lowered.check([Input(name, lowered.shape((f"n{name}",))) for name in given], given.values())
    q, v = (x if x is None or isinstance(x, type(nodes.gravity)) else np.asarray(x) for x in (q, v))
    system = lowered.system(nodes)
    names = [body.name for body in model.bodies]
    return Operators(rigid(system, q, v), lambda place: on_node(model, nodes, place), RobotState(robot, q, v, t), names)


@lru_cache(maxsize=64)
def lowered_of(model: Model) -> Lowered:
    return Lowered(model)


def on_node(model: Model, nodes: Nodes, place):
    """A place of a robot as (node, directions on it).

    "hand" is a body or frame, all six directions, in its own axes at its origin; ("hand", pose) the same at a pose on
    it; ("hand", (x, y, z)) a point of it, the three directions of its linear velocity.
    """
    name, where = (place, None) if isinstance(place, str) else place
    index, pose = model.place(name)
    B = phi(nodes.pose_matrix(nodes.placements[index] @ pose @ Pose.of(where)))
    point = where is not None and np.shape(where) == (3,)
    return nodes.on[index], B[..., 3:] if point else B
