"""What constraints carry: multipliers, wrenches on the bodies that they hold on to, and the wrench in every joint of the tree."""

from dataclasses import dataclass

import numpy as np

from ...errors import ConstraintError
from ...quantities import joint_wrenches
from ...quantities.options import some_bodies
from ...spatial import phi_inverse
from ..rows.loop_rows import LoopRows
from ..rows.set import ConstraintSet
from ..solution.at_state import FORCES, AtState
from .under_constraints import under_constraints


@dataclass(frozen=True, eq=False)
class Forces:
    """Forces of constraints at a state; print them. Where rows are redundant, how they share the load is not determined by rigid
    bodies: `lam` is the sharing of least length, and `rank` is below the number of rows."""

    lam: np.ndarray  # (..., m): along the rows of the constraints
    tau: np.ndarray  # (..., nv): Jc* λ, what the constraints add to the joints' forces
    vdot: np.ndarray  # (..., nv)
    rank: np.ndarray
    slices: dict[str, slice]
    generalized: dict[str, np.ndarray]  # constraint: its part (..., nv) of `tau`
    wrenches: dict[str, dict[str | None, np.ndarray]]
    """constraint: {body: wrench (..., 6) that it exerts on the body, moment first, in the body's axes, at the body's origin}; None is the
    world, its axes and origin. Of couplings, relations and drives it acts through joints: on the child, and against the parent.
    Constraints that are not here are rows over velocities, functions of the user among them: `generalized` has all that is known."""
    cuts: dict[str, np.ndarray]  # loop: wrench (..., 6) on its child, in the loop's frame there, at its origin
    joints: dict[str, np.ndarray]
    """every body: wrench (..., 6) that its joint, or what it is fixed to, exerts on it, τ included, in its axes, at its origin.
    With `wrenches` and gravity it balances the body; what is known only as a generalized force acts as forces of the joints."""

    def of(self, name: str) -> np.ndarray:
        """The multipliers of one constraint."""
        return self.lam[..., self.slices[name]]

    def __str__(self) -> str:
        lines = ["constraint forces: moment; force on each body, in its axes, at its origin"]
        for name in self.slices:
            if name not in self.wrenches:
                lines.append(f"  {name}: no wrenches are known; generalized force {_numbers(self.generalized[name])}")
            for body, x in self.wrenches.get(name, {}).items():
                lines.append(f"  {name} on {'the world' if body is None else body}: {_numbers(x[..., :3])}; {_numbers(x[..., 3:])}")
        lines += [f"  joint of {body}: {_numbers(x[..., :3])}; {_numbers(x[..., 3:])}" for body, x in self.joints.items()]
        return "\n".join(lines)


def _numbers(x) -> str:
    if x.ndim > 1:
        return f"an array {x.shape}"
    return f"({', '.join(f'{e:.4g}' for e in x)})"


def constraint_forces(set_: ConstraintSet, q, v, tau, vdot, external, t) -> Forces:
    """Of accelerations that forces τ make."""
    rows = set_.rows(q, v, t)
    at = AtState(set_, q, v, rows)
    lam, _, rank = at.multipliers(at.needed(vdot, external) - tau)
    every = every_wrench(set_, q, lam, t)
    names, (bodies,) = set_.robot.bodies, some_bodies(set_.robot.model)
    f = joint_wrenches(set_.system, q, v, vdot, bodies, _on_bodies(set_, every, lam.shape[:-1], external))
    generalized = {x: np.matvec(rows.Jc[..., at, :].mT, lam[..., at]) for x, at in set_.slices.items()}
    wrenches = {x: {None if i is None else names[i]: w for i, w in found.items()} for x, found in every.items()}
    joints = {name: f[..., i, :] for i, name in enumerate(names)}
    cuts = {x.name: np.matvec(phi_inverse(x.loop.on.matrix), every[x.name][x.child]) for x in set_.constraints if isinstance(x, LoopRows)}
    return Forces(lam, np.matvec(rows.Jc.mT, lam), vdot, rank, set_.slices, generalized, wrenches, cuts, joints)


@under_constraints(joint_wrenches)
def wrenches_in_joints(set_: ConstraintSet, q, v, vdot, bodies, tau=None, external=None, t=0.0, kind=np.float64):
    """What the joints of bodies (numbers) carry (..., n, 6) while the mechanism moves with v̇ and its joints exert τ; without τ, the
    least forces that make v̇."""
    at = AtState.of(set_, q, v, t)
    at.check_possible(vdot, kind)
    force = at.needed(vdot, external)
    lam, left, _ = at.multipliers(force if tau is None else force - tau)
    if tau is not None:
        size = (np.abs(force) + np.abs(tau)).max(-1, initial=0.0)
        if not (np.abs(left).max(-1, initial=0.0) <= at.allowance(FORCES, kind) * size).all():
            raise ConstraintError(
                f"{set_.robot.model.name}: tau does not make this vdot: forces along the joints are off by {np.abs(left).max():.3g}. "
                "vdot = robot.forward_dynamics(q, v, tau) is what it makes; without tau, the least forces that make vdot are taken."
            )
    every = every_wrench(set_, q, lam, t)
    return joint_wrenches(set_.system, q, v, vdot, bodies, _on_bodies(set_, every, lam.shape[:-1], external))


def every_wrench(set_: ConstraintSet, q, lam, t) -> dict[str, dict[int | None, np.ndarray]]:
    """Of each constraint whose wrenches are known, {number of a body: wrench (..., 6)}."""
    motion, out = set_.motion(q, t=t), {}
    for x in set_.constraints:
        found = x.wrenches(motion, lam[..., set_.slices[x.name]])
        if found is not None:
            each: dict[int | None, np.ndarray] = {}
            for body, w in found:
                each[body] = each[body] + w if body in each else w
            out[x.name] = each
    return out


def _on_bodies(set_: ConstraintSet, every, batch, external):
    """The sum of all wrenches on each body (..., nb, 6)."""
    total = np.zeros((*batch, len(set_.robot.bodies), 6))
    for found in every.values():
        for body, w in found.items():
            if body is not None:
                total[..., body, :] += w
    return total if external is None else total + external
