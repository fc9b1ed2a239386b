"""A step of fixed length as one kernel: what the control asks for, the motion with contacts or without, and what a reset makes of its end.

Rollouts repeat this kernel, gradients and sensitivities differentiate it. A single run has the same texts of the motion, with its own
forces (runs/fixed_steps.py).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ...constraints.systems.loop_binding import ByChoice, ByNumbers
from ...dynamics import Dynamics
from ...engine.loading.kernel import Kernel
from ...engine.tracing.program import Input
from ...errors import ShapeError
from ...kernels import QuantityKernel, UserKernel
from ...lie.scalars import like
from ...motion.contact_step import StepLaw, contact_step
from ...motion.equations import STEPS
from ...systems import Mechanism
from ...varying import Varying
from ..rates.constrained_step import CONSTRAINED_STEPS, ConstrainedMotion
from ..rates.kernels import mechanism_of, own_robot, source
from .contact import check_touching, law_of, picked, smooth
from .contact_law import ContactLaw

TAU, LENGTH, DRIVE = "the step's tau", "the step's length", "the step's drives"  # inputs that no user's function asks for
FRICTION = "contact_friction"  # of each point, where samples have their own
IMPULSE, SOLVED = "impulse", "said"  # of the step before; the largest residual of all steps, and the rounds of the last one
DEFAULT = ContactLaw()
Shapes = Mapping[str, tuple[int, ...]]


@dataclass(frozen=True, eq=False)
class FixedStep:
    """A step of a robot: a function of (q, v) and all else that it takes by name. With contacts, by a `law` and its solver, impulses and
    what is said of their solution are part of the state.

    `slopes` of steps with contacts are those of their solved problems, by the implicit function theorem: "implicit" after the rounds of the
    solver, or "solved", without rounds, from the impulses that the step ends with.
    """

    robot: Dynamics | Varying
    method: str = "euler"
    control: UserKernel | None = None
    reset: UserKernel | None = None
    law: StepLaw | None = None
    solver: ContactLaw = DEFAULT
    slopes: str = ""
    choice: ByChoice | None = None  # of dependent velocities for all samples; each has its own where there is none

    @staticmethod
    def of(robot: Dynamics | Varying, method: str, control=None, reset=None, solver: ContactLaw | None = None) -> "FixedStep":
        """The step of a rollout, with its contacts if it has them; controls and resets that are no kernels are no part of it."""
        control, reset = (x if isinstance(x, UserKernel) else None for x in (control, reset))
        if method != "contact":
            return FixedStep(robot, method, control, reset)
        own, solver = own_robot(robot), solver or DEFAULT
        rough = bool(isinstance(robot, Varying) and "friction" in robot.names) or None
        law = law_of(own, limits=solver.limits, restitution=solver.restitution, recovery=solver.recovery, all_rough=rough)
        law = replace(law, friction_first=solver.friction == "first", by_mass=solver.by_mass)
        check_touching(own, law, '"euler" or "rk4", or robot.forward_dynamics in a kernel of your own')
        return FixedStep(robot, method, control, reset, law, solver)

    def differentiable(self, slopes: str = "implicit") -> "FixedStep":
        """The step with the derivatives of its solved problem."""
        if self.law is None:
            return self
        law = replace(self.law, by_mass=False, impact_times=self.solver.impact_times and self.law.bounces)
        return replace(self, law=law, slopes=slopes)

    @property
    def memory(self) -> dict[str, tuple[int, ...]]:
        """Returns the shapes of the parts of its state besides q and v, by name."""
        return {} if self.law is None else {IMPULSE: (self.law.width,), SOLVED: (2,)}

    @property
    def state(self) -> tuple[Input, ...]:
        """Returns the inputs that are also its results."""
        own, memory = own_robot(self.robot), self.memory
        if self.slopes == "solved":
            memory.pop(SOLVED)
        return Input("q", (own.nq,), own.lowered.units), Input("v", (own.nv,)), *(Input(name, shape) for name, shape in memory.items())

    @property
    def key(self) -> tuple:
        """Returns the key of its kernel in memory."""
        robot, law = self.robot, self.law
        made_from = (robot.robot.lowered, robot.names) if isinstance(robot, Varying) else robot.lowered
        contacts = () if law is None else (self.solver, law.rough, law.limits, self.slopes)
        return made_from, self.method, self.control, self.reset, self.choice is not None, *contacts

    @property
    def decided_by(self) -> tuple:
        """Returns the values that decide what it is: see engine/loading/identity.py."""
        return source(self.robot), self.method, self.control, self.reset, self.law, self.solver, self.slopes, self._choice

    def kernel(self, others: Shapes) -> Kernel:
        """The kernel of the state and of `others`, by name, which gives the next state."""
        inputs = *self.state, *(Input(name, shape) for name, shape in others.items())
        function = self.function()
        return Kernel(f"{self.method}_step", lambda *x: function(dict(zip([each.name for each in inputs], x))), inputs, content=self)

    def of_robot(self, others: Shapes) -> QuantityKernel:
        """This kernel as one of its robot, with derivatives along the group."""
        own = own_robot(self.robot)
        return own.made.once(lambda: QuantityKernel(own, self.kernel(others), coordinates=(0,)), *self.key, tuple(others.items()))

    @property
    def _choice(self) -> ByNumbers | ByChoice | None:
        constraints = own_robot(self.robot).constraints
        return None if constraints is None else self.choice or constraints.by_numbers

    def function(self) -> Callable:
        """The function of all inputs by name; it does not keep a Dynamics without constraints alive."""
        own, control, reset = own_robot(self.robot), self.control, self.reset
        mechanism, nq, nv = mechanism_of(self.robot, self._choice, on_the_way=True), (own.nq,), (own.nv,)
        moved = free_step(self.method) if self.law is None else step_with_contacts(self.law, self._solve)

        def step(at):
            tau = at[TAU] if control is None else asked(control, at, nv)[0]
            q, v, *memory = moved(mechanism, at, at["q"], at["v"], tau, at[LENGTH])
            if reset is not None:
                later = {"t": at["t"] + at[LENGTH]} if "t" in at else {}
                q, v = asked(reset, {**at, "q": q, "v": v, **later}, nq, nv)
            if not memory:
                return q, v
            impulse, said, _ = memory
            if SOLVED not in at:
                return q, v, impulse
            return q, v, impulse, np.stack([np.maximum(at[SOLVED][..., 0], said[..., 0]), said[..., 1]], -1)

        return step

    @property
    def _solve(self) -> Callable:
        """Returns the solver of the problem of contacts."""
        solver = self.solver
        if self.slopes == "solved":
            return lambda *problem: (solver.solution(*problem), None)
        return solver.differentiable if self.slopes else solver


def free_step(method: str) -> Callable:
    """A step without contacts: of a mechanism at inputs by name, (q, v, τ, h) -> (q, v)."""
    plain = STEPS[method]

    def moved(mechanism: Mechanism, at: Mapping, q, v, tau, h):
        if mechanism.binding is None:
            return plain(mechanism.at(q, at), q, v, tau, h)
        return CONSTRAINED_STEPS[plain](ConstrainedMotion(mechanism, q, at, at.get(DRIVE)), q, v, tau, h)

    return moved


def step_with_contacts(law: StepLaw, solve: Callable) -> Callable:
    """A step with contacts: of a mechanism at inputs by name, (q, v, τ, h) -> q, v, impulses, what is said of their solution, gaps."""

    def moved(mechanism: Mechanism, at: Mapping, q, v, tau, h, external=None):
        _, dry = smooth(mechanism.tree(q, at))
        dry, friction = picked(dry + like(np.zeros(v.shape[-1]), q), law.rough), at.get(FRICTION)
        tree = mechanism.unbound.at(q, at, friction=False)
        step = partial(contact_step, law, solve, tree, q, v, tau, at[IMPULSE], h, dry, external, friction)
        if mechanism.binding is None:
            return step()
        motion = ConstrainedMotion(mechanism, q, at, at.get(DRIVE), friction=False)
        q, v, *more = step(prepare=motion.prepared, inertia_at=motion.inertia_at)
        return *motion.contact_end(q, v, h), *more

    return moved


def asked(kernel: UserKernel, at: Mapping, *shapes) -> tuple:
    """Returns the results of a user's kernel, checked for the shapes they must have."""
    results = kernel.function(*(at[name] for name in kernel.names))
    results = results if isinstance(results, tuple) else (results,)
    returned = tuple(map(np.shape, results))
    if returned != shapes:
        raise ShapeError(f"{kernel.__name__} returns shapes {returned} for one robot; in a rollout it must return {shapes}.")
    return results
