"""What does not depend on which body of a free mechanism is its root (Jain, sections 17.3 and 17.5)."""

from .. import spatial, sweeps
from ..errors import ModelError
from ..joints import Free
from . import long
from .declaration import Honours, quantity


def of_free_base(model):
    """Every joint of the model moves a tree whose root is free, with no inertia in the joint of the root."""
    for placed in model.joints:
        if placed.joint.nv:
            check_free(model, placed.child)
    return ()


def of_free_bodies(model, *bodies: str):
    """Numbers of bodies that a free joint carries; all of them if none is named."""
    names = bodies or [body.name for body in model.bodies]
    for name in names:
        check_free(model, name)
    return (tuple(model.body_index(name) for name in names),)


def check_free(model, body: str) -> None:
    """A free joint carries the body, or it is said what to do."""
    carrying = {placed.child: placed for placed in model.joints}
    free = [x for name in model.path(body) if isinstance((x := carrying[name]).joint, Free)]
    if not free:
        raise ModelError(
            f'{model.name}: no free joint carries body "{body}", so that the rest of the mechanism has no finite inertia: the world is '
            "part of it. robot.forward_dynamics(q, v, tau) and robot.task_inertia(q, body) are for every base; "
            "model.floating() sets it free."
        )
    if heavy := [x.name for x in free if x.joint.each("armature").any()]:
        raise ModelError(
            f'{model.name}: free joint "{heavy[0]}" has an armature, an inertia between the body and what it stands on. Set it to zero, or '
            "use robot.forward_dynamics(q, v, tau)."
        )


@quantity(
    ("nv",), Honours.GRAVITY | Honours.EXTERNAL, of_joints=True, options=of_free_base, rolls=False, long=long.forward_dynamics,
    divides_by_inertia=True, refuses="robot.forward_dynamics(q, v, tau) keeps them",
)  # fmt: skip
def base_invariant_dynamics(system, q, v, tau, external=None):
    """v̇ of forces τ from two sweeps that do not wait for each other, then each node for itself          Jain, Algorithm 17.3."""
    system.check_rigid("base_invariant_dynamics")
    s = system.blocks(q)
    r = system.rates(s, v, tau, external)
    P, D, G, P_plus = sweeps.articulated_inertia(s)
    vdot, _ = sweeps.base_invariant_dynamics(s, P, D, G, P_plus, r, inverse_shifts(s))
    return s.tree.join(vdot)


@quantity(
    ("bodies", 6, 6), Honours.NOTHING, of_joints=True, options=of_free_bodies, rolls=False, long=long.operational_inertias,
    divides_by_inertia=True, refuses="robot.task_inertia(q, body) keeps them",
)  # fmt: skip
def operational_inertias(system, q, bodies):
    """Υ⁻¹ = P + S of each body, at its origin, in its axes: its own inertia and what it feels of all others
                                                                                  Jain, Lemma 17.5, Algorithm 17.5."""
    system.check_rigid("operational_inertias")
    s = system.blocks(q)
    P, _, _, P_plus = sweeps.articulated_inertia(s)
    S, _, _, _ = sweeps.dual_articulated_inertia(s, P_plus, inverse_shifts(s))
    felt = {k: P[k] + S[k] for k in S}
    return system.on_bodies(felt, inertia_at, bodies)


@quantity(("nb", 6, 6), Honours.NOTHING, of_joints=True, of_tree=True, divides_by_inertia=True)
def body_compliances(system, q):
    """Υ = J 𝓜⁻¹ J* of every body, at its origin, in its axes: its acceleration under a force on itself, whatever carries the base
                                                                                  Jain, Algorithm 10.3."""
    s = system.blocks(q)
    _, D, G, _ = sweeps.articulated_inertia(s)
    Upsilon, _, _ = sweeps.compliances(s, D, G, system.still @ system.still.mT)
    return system.on_bodies(Upsilon, compliance_at)


def inverse_shifts(s):
    """A⁻¹(p,k) of every node of a rigid tree, φ being [[R, X], [0, R]] with the inverse [[R*, X*], [0, R*]]      Jain, Lemma 1.1."""
    back = s.tree.slots()
    for k in s.tree.base_to_tips():
        R, X = s.A[k][..., :3, :3].mT, s.A[k][..., :3, 3:].mT
        back[k] = spatial.blocks(R, X, s.A[k][..., 3:, :3], R)
    return back


def inertia_at(M, place):
    back = spatial.phi_inverse(place)
    return back @ M @ back.mT


def compliance_at(Upsilon, place):
    shift = spatial.phi(place)
    return shift.mT @ Upsilon @ shift
