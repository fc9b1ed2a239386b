"""Derivatives of the steps of a run with contacts: what a step of Moreau's midpoint rule makes of changes of state, τ and constants.

    δx⁺ = ∂F/∂x δx + ∂F/∂τ (∂u/∂x½ ∂x½/∂x δx + δτ) + ∂F/∂p δp             u the control, which is asked in the middle of the step

F is the step with its problem solved, as `contact_kernel` has it.
"""

from dataclasses import replace

import numpy as np

from ...dynamics import Dynamics
from ...kernels import UserKernel
from ...motion.rotation_translation import drift
from ..methods.contact_law import PRECISE
from ..methods.fixed_step import FRICTION, LENGTH, TAU, FixedStep
from ..requests.settings import Settings


class ContactSlopes:
    """The step of one run as kernels, by the state, τ, and constants by name."""

    def __init__(self, robot: Dynamics, settings: Settings, names: tuple[str, ...]):
        varied = tuple(x for x in names if x != FRICTION)
        varying = robot.made.once(lambda: robot.varying(*varied), varied) if varied else None
        solver = replace(settings.contact or PRECISE, limits=settings.limits, restitution=settings.restitution)
        made = FixedStep.of(varying or robot, "contact", solver=solver).differentiable()
        assert made.law is not None
        self.law = made.law
        every = {FRICTION: self.law.friction, **(varying.own if varying else {})}
        self.own = {name: every[name] for name in names}
        self.step = made.of_robot({TAU: (robot.nv,), LENGTH: (), **{name: x.shape for name, x in self.own.items()}})
        nodes = robot.lowered.joint_space
        half = lambda q, v, h: drift(nodes.over(q), q, v, h / 2)
        self.middle = robot.made.once(lambda: UserKernel(robot, half, {"h": ()}, coordinates=(0,)), "half a step with contacts")

    def at(self, q, v, tau, h, impulse):
        """The slopes of F by q, v, τ and all constants: of q, and of v."""
        arrays = q, v, impulse, np.zeros((len(q), 2)), tau, h, *self.own.values()
        found = self.step.jacobian(of=(0, 1), by=("q", "v", TAU, *self.own))(*arrays)
        count = len(found) // 2
        parts = []
        for part in (found[:count], found[count:]):
            by_q, by_v, by_tau, *by = part
            lead = by_q.shape[:2]
            parts.append((by_q, by_v, by_tau, np.concatenate([np.zeros((*lead, 0)), *(x.reshape(*lead, -1) for x in by)], -1)))
        return parts

    def half(self, q, v, h):
        """q½ and v½, and their slopes by q and v."""
        return self.middle(q, v, h), self.middle.jacobian(by=("q", "v"))(q, v, h)

    def impulses(self, run, t, h):
        """Where the rounds of each step start: forces that the run found, (N, 3 blocks)."""
        out = np.zeros((len(t), self.law.width))
        at = np.clip(np.searchsorted(run.contact.t, t), 0, max(len(run.contact.t) - 1, 0))
        if self.law.contacts and len(t):
            out[:, : 3 * self.law.contacts] = run.contact.force[at].reshape(len(t), -1) * h[:, None]
        return out
