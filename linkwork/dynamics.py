"""Dynamics: how a mechanism moves. Checks what comes in, picks the kernel, returns."""

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, partial
from html import escape
from inspect import cleandoc
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .actuation import Actuated, Actuators
from .contact import ContactTable
from .contact.solver.accelerations import ContactDynamics, contact_dynamics
from .differentiate import Derivatives
from .engine.loading.compiled import Made
from .engine.loading.gufunc import put_into
from .engine.loading.identity import digest
from .engine.running.checks import array_of, run_into
from .engine.tracing.array import Traced
from .errors import ModelError, OptionError, UnknownNameError, did_you_mean, old_name
from .export import asked
from .foreign import ForeignRun, is_foreign
from .kernels import QuantityKernel, UserKernel
from .model import Model, coordinates
from .motion.linearize import Linearization, linearize
from .quantities import QUANTITIES, Given, Quantity
from .quantities.binding import binding_notes, bonds
from .quantities.bound import Bound
from .quantities.declaration import DEVICE_UP_TO, STEPS_UP_TO, STRAIGHT_UP_TO, declared_as
from .quantities.options import Place, hashable
from .quantities.runs import Ways, made
from .systems import DTYPES, Lowered, Producer
from .systems.rolled_vectors import Whole
from .varying import Varying

if TYPE_CHECKING:
    from .answers import Equilibrium, Modes
    from .velocities import Diagonal, FreeFlying, Geared

Out = np.ndarray | None
Outs = tuple[np.ndarray, ...] | None
PASSIVE = "_with_passive_forces"  # of the derivatives of dynamics that know springs and dampers


class Dynamics:
    """Every quantity of a model's dynamics, for one state or any batch of them: leading axes are batch axes."""

    def __init__(self, model: Model, *, compiled: bool = True, rolled: bool | None = None, system: Producer | Sequence[Producer] = ()):
        """With `compiled` False every method runs its sweep in plain NumPy: slower, for reference.

        `rolled` kernels loop over the joints; the others are straight-line code, faster but longer. None: by size. `system` makes
        other blocks of the rigid tree's: see `linkwork.systems.Producer`.
        """
        if not isinstance(model, Model):
            raise ModelError(f'Dynamics takes a Model, not a {type(model).__name__}; lw.load("arm.urdf") makes one.')
        self.model = model
        self.compiled = compiled
        self.lowered = Lowered(model, (system,) if isinstance(system, Producer) else tuple(system))
        self.rolled = self.nv > STRAIGHT_UP_TO if rolled is None else rolled
        self._by_size = rolled is None
        self._foreign: dict[object, Callable] = {}  # for arrays of other libraries
        self._kernels: dict[tuple, QuantityKernel] = {}
        self.made = Made()  # what simulations have made of it
        self._ready: dict[np.dtype, dict[object, Callable]] = {dtype: {} for dtype in DTYPES}

    @property
    def decided_by(self) -> str | None:
        """What tells it from others: see engine/loading/identity.py. None if somebody has set an attribute of it."""
        own = {*Dynamics.__init__.__code__.co_names, *dir(type(self))}
        return self._identity if own >= set(vars(self)) else None

    @cached_property
    def _identity(self) -> str | None:
        return digest(self.compiled, self.rolled, self._by_size, self.model, self.lowered.foreign_producers)

    # --- what there is

    @property
    def long(self) -> bool:
        """Do steps of a simulation call its kernels one by one? As a whole they, and their Jacobians, would be straight-line code."""
        return self.rolled or (self._by_size and self.nv > STEPS_UP_TO)

    @cached_property
    def nq(self) -> int:
        return self.lowered.nq

    @cached_property
    def nv(self) -> int:
        return self.lowered.nv

    @cached_property
    def bodies(self) -> list[str]:
        return [body.name for body in self.model.bodies]

    @cached_property
    def joints(self) -> list[str]:
        return list(self._rows)

    @cached_property
    def _rows(self) -> dict[str, tuple[slice, slice]]:
        return coordinates.joint_rows(self.model)

    @cached_property
    def _parts(self) -> dict[str, tuple[slice, slice]]:
        return coordinates.part_rows(self.model)

    def q_index(self, joint: str) -> slice:
        """Where the coordinates of a joint are in q."""
        return self._row(joint)[0]

    def v_index(self, joint: str) -> slice:
        """Where the velocities of a joint are in v."""
        return self._row(joint)[1]

    def _row(self, joint):
        if isinstance(joint, str) and joint not in self._rows and joint in self._parts:
            return self._parts[joint]
        if not isinstance(joint, str) or joint not in self._rows:
            raise UnknownNameError(f'{self.model.name} has no joint "{joint}" that moves.{did_you_mean(joint, self._rows)}')
        return self._rows[joint]

    def neutral(self) -> np.ndarray:
        """q with every joint at its identity."""
        return coordinates.neutral(self.model)

    def random_state(self, shape=(), seed=None) -> tuple[np.ndarray, np.ndarray]:
        """(q, v) drawn at random: angles and distances within their limits, attitudes uniform, velocities normal."""
        return coordinates.random_state(self.model, shape, seed)

    # --- what moves

    def mass_matrix(self, q: ArrayLike, *, out: Out = None) -> np.ndarray:
        """𝓜 (..., nv, nv), the armature of joints included."""
        return self._run("mass_matrix", (q,), out)

    def mass_matrix_inverse(self, q: ArrayLike, *, out: Out = None) -> np.ndarray:
        """𝓜⁻¹ (..., nv, nv), the armature of joints included."""
        return self._run("mass_matrix_inverse", (q,), out)

    def inverse_dynamics(
        self, q: ArrayLike, v: ArrayLike, vdot: ArrayLike, external: ArrayLike | None = None, *, out: Out = None
    ) -> np.ndarray:
        """tau = 𝓜 vdot + C v + g − J* external (..., nv); external (..., nb, 6) is a wrench on each body, in its axes."""
        return self._with("inverse_dynamics", (q, v, vdot), external, out)

    def forward_dynamics(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, external: ArrayLike | None = None, *,
        t: float | None = None, method: str = "articulated", out: Out = None,
    ) -> np.ndarray:
        """vdot = 𝓜⁻¹ (tau − C v − g + J* external) (..., nv); tau is all of the joint force.

        Loops, couplings and constraints of the model are kept; if some move in time, t says when. `method` "base_invariant" is for
        mechanisms with a free base and without constraints: it does not depend on which body is the root.
        """
        if method == "base_invariant":
            return self._with("base_invariant_dynamics", (q, v, tau), external, out)
        if method != "articulated":
            raise OptionError(f'method is "{method}"; it may be "articulated" or "base_invariant".')
        if self.constraints is not None:
            return self.constraints.forward_dynamics(q, v, tau, external, t=t, out=out)
        return self._with("forward_dynamics", (q, v, tau), external, out)

    def inverse_dynamics_derivatives(
        self, q: ArrayLike, v: ArrayLike, vdot: ArrayLike, external: ArrayLike | None = None, *,
        passive: bool = False, out: Outs = None,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """∂tau/∂q, ∂tau/∂v and ∂tau/∂vdot = 𝓜 of `inverse_dynamics` (..., nv, nv); by q along the group, as `integrate` moves, so that
        columns match v. With `passive`, of inverse_dynamics − passive_force: what motors add to the model's springs and dampers.
        """
        return self._with("inverse_dynamics_derivatives" + PASSIVE * passive, (q, v, vdot), external, out)

    def forward_dynamics_derivatives(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, external: ArrayLike | None = None, *,
        passive: bool = False, t: float | None = None, out: Outs = None,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """∂vdot/∂q, ∂vdot/∂v and ∂vdot/∂tau = 𝓜⁻¹ of `forward_dynamics` (..., nv, nv); by q along the group, as `integrate` moves. With
        `passive`, at the forces tau + passive_force(q, v), which change with q and v.

        Under constraints they are along these: of forward dynamics at `robot.constraints.project(q, v)`, so that a change that would
        break them is put back first. Derivatives by time and those of forces are in `robot.constraints.derivatives(q, v, tau)`.
        """
        if passive and self.constraints is not None:
            by_q, by_v, by_tau = self.forward_dynamics_derivatives(q, v, np.add(tau, self.passive_force(q, v)), external, t=t)
            of_q, of_v = self.passive_force_derivatives(q, v)
            results = by_q + by_tau @ of_q, by_v + by_tau @ of_v, by_tau
            return results if out is None else put_into(out, *results)
        return self._with("forward_dynamics_derivatives" + PASSIVE * passive, (q, v, tau), external, out, t)

    def _with(self, name: str, arrays, external, out, t=None):
        """A quantity of these arrays, and of wrenches on the bodies if there are any."""
        return self._run(name, arrays, out, t) if external is None else self._run((name, "external"), (*arrays, external), out, t)

    def jacobian_derivative(self, q: ArrayLike, body: str, axes: str = "body", *, out: Out = None) -> np.ndarray:
        """∂J/∂q of `jacobian` (..., 6, nv, nv), the kinematic Hessian: entry (r, a, c) is how column a changes along the velocity c. Times
        v it is the rate of J.
        """
        return self._run(("jacobian_derivative", body, axes), (q,), out)

    def center_of_mass_jacobian(self, q: ArrayLike, *, out: Out = None) -> np.ndarray:
        """The velocity of the centre of mass from v, in the world (..., 3, nv)."""
        return self._run("center_of_mass_jacobian", (q,), out)

    def centroidal_momentum_derivatives(self, q: ArrayLike, v: ArrayLike, *, out: Outs = None) -> tuple[np.ndarray, np.ndarray]:
        """∂h/∂q and ∂h/∂v of `centroidal_momentum` (..., 6, nv); the latter is the centroidal momentum matrix."""
        return self._run("centroidal_momentum_derivatives", (q, v), out)

    def kinetic_energy_gradient(self, q: ArrayLike, v: ArrayLike, *, out: Outs = None) -> tuple[np.ndarray, np.ndarray]:
        """∂T/∂q and ∂T/∂v = 𝓜 v (..., nv)."""
        return self._run("kinetic_energy_gradient", (q, v), out)

    def potential_energy_gradient(self, q: ArrayLike, *, out: Out = None) -> np.ndarray:
        """∂U/∂q (..., nv): the force that holds the mechanism still against gravity and springs."""
        return self._run("potential_energy_gradient", (q,), out)

    def gravity_force_derivative(self, q: ArrayLike, *, out: Out = None) -> np.ndarray:
        """∂g/∂q of `gravity_force` (..., nv, nv)."""
        return self._run("gravity_force_derivative", (q,), out)

    def passive_force_derivatives(self, q: ArrayLike, v: ArrayLike, *, out: Outs = None) -> tuple[np.ndarray, np.ndarray]:
        """∂Q/∂q and ∂Q/∂v of `passive_force` (..., nv, nv): minus the stiffness and the damping of the model."""
        return self._run("passive_force_derivatives", (q, v), out)

    def linearize(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, dt: float | None = None,
        external: ArrayLike | None = None, *, t: float | None = None, method: str = "rk4",
        states: Sequence[str] | None = None,
    ) -> Linearization:
        """A, B of small changes about a motion, in continuous time or over one step of length dt, with the names of states and inputs.

            A, B = robot.linearize(q, v, tau)                                     # δẋ = A δx + B δτ,  x = (δq, δv)
            A, B = robot.linearize(q, v, tau, dt=0.01)                            # δx' = A δx + B δτ, of one step with constant τ
            robot.linearize(q, v, tau).states                                     # ["q.shoulder", "q.elbow", "v.shoulder", "v.elbow"]

        δq is along the group, as `integrate` moves, from the motion itself, so that A is (..., 2 nv, 2 nv) and over many steps these
        matrices are multiplied. `method` is the step whose exact derivative this is, "rk4" or "euler", the steps of `rollout`; "zoh" is
        the exponential of the continuous A, B instead, exact where these do not change: about an equilibrium.

        Under constraints x are the changes of independent positions and velocities alone, which `states` names: as few as the mechanism
        has, chosen at the (first) state; `states=` names them, such as those of an earlier call. If some constraints move in time, t says
        when. dt takes method="zoh" then.

        Takes into account: gravity, loops, couplings, rolling, drives, joint springs, friction, point forces, external.
        """
        return linearize(self, q, v, tau, external, t=t, dt=dt, method=method, states=states)

    # --- where it rests, and small motions

    def equilibrium(
        self, q0: ArrayLike, tau: ArrayLike | None = None, external: ArrayLike | None = None, *,
        t: float | None = None, search: str | None = None, limits: bool = False,
    ) -> "Equilibrium":
        """Where the mechanism rests under the forces tau of its joints (none by default), and whether it stays there: print it.

            rest = robot.equilibrium(q0)                    # q, multipliers, stiffness, stability
            robot.modes(rest)                               # how it swings about it

        `search` "energy" goes down the potential energy from q0 to a rest that is not unstable; "forces" goes to a balance of any kind
        near q0, an unstable one too. None is "energy" where gravity, springs and tau have one, else "forces". With `limits` joints stop at
        their limits, which push back only. q0 need not keep the constraints: it is assembled. If some move in time, t says when.

        Takes into account: gravity, loops, couplings, rolling, drives, joint springs, point forces, external.
        """
        from .answers import equilibrium

        return equilibrium(self, q0, tau, external, t=t, search=search, limits=limits)

    def modes(
        self, q: "ArrayLike | Equilibrium", v: ArrayLike | None = None, tau: ArrayLike | None = None,
        external: ArrayLike | None = None, *, t: float | None = None,
    ) -> "Modes":
        """Frequencies, damping and shapes of small motions about rest, or about a steady motion v: print them.

            modes = robot.modes(robot.equilibrium(q0))      # or a q at which it rests under tau
            modes.frequencies, modes.damping, modes.shapes
            lw.record(modes[3], "third.html")               # it swings, slowly

        Under constraints they are the motions that these allow. About a motion, gyroscopic terms are part of them; it is steady if
        v does not change, and if the mechanism looks the same all along: a rotor that spins. Dry friction of joints at rest is left out,
        with a note.

        Takes into account: gravity, loops, couplings, rolling, drives, joint springs, point forces, external.
        """
        from .answers import modes

        return modes(self, q, v, tau, external, t=t)

    # --- forces

    def bias(self, q: ArrayLike, v: ArrayLike, *, out: Out = None) -> np.ndarray:
        """C v + g (..., nv): the force that keeps v as it is."""
        return self._run("bias", (q, v), out)

    def gravity_force(self, q: ArrayLike, *, out: Out = None) -> np.ndarray:
        """g (..., nv): the force that holds the mechanism still."""
        return self._run("gravity_force", (q,), out)

    def coriolis_matrix(self, q: ArrayLike, v: ArrayLike, *, out: Out = None) -> np.ndarray:
        """C (..., nv, nv) with C + C* the rate of the mass matrix."""
        return self._run("coriolis_matrix", (q, v), out)

    def mass_matrix_rate(self, q: ArrayLike, v: ArrayLike, *, out: Out = None) -> np.ndarray:
        """d𝓜/dt (..., nv, nv) while the mechanism moves with v."""
        return self._run("mass_matrix_rate", (q, v), out)

    def mass_matrix_derivative(self, q: ArrayLike, *, out: Out = None) -> np.ndarray:
        """∂𝓜/∂q (..., nv, nv, nv), the last axis the velocity along which q moves, on the group as `integrate` moves."""
        return self._run("mass_matrix_derivative", (q,), out)

    def log_determinant(self, q: ArrayLike, *, out: Out = None) -> np.ndarray:
        """log det 𝓜 (...)."""
        return self._run("log_determinant", (q,), out)

    def log_determinant_gradient(self, q: ArrayLike, *, out: Out = None) -> np.ndarray:
        """∂ log det 𝓜/∂q (..., nv) along each velocity, on the group as `integrate` moves, in O(N)."""
        return self._run("log_determinant_gradient", (q,), out)

    def passive_force(self, q: ArrayLike, v: ArrayLike, *, out: Out = None) -> np.ndarray:
        """Springs, damping and friction of the joints, and the model's springs and pushes between points (..., nv); no
        part of forward_dynamics.
        """
        return self._run("passive_force", (q, v), out)

    def kinetic_energy(self, q: ArrayLike, v: ArrayLike, *, out: Out = None) -> np.ndarray:
        """½ v* 𝓜 v (...)."""
        return self._run("kinetic_energy", (q, v), out)

    def potential_energy(self, q: ArrayLike, *, out: Out = None) -> np.ndarray:
        """Of gravity and springs (...)."""
        return self._run("potential_energy", (q,), out)

    def lagrangian(self, q: ArrayLike, v: ArrayLike, *, out: Out = None) -> np.ndarray:
        """L = T − U, kinetic less potential energy (...)."""
        return self._run("lagrangian", (q, v), out)

    def generalized_momentum(self, q: ArrayLike, v: ArrayLike, *, out: Out = None) -> np.ndarray:
        """p = ∂L/∂v = 𝓜 v (..., nv)."""
        return self._run("generalized_momentum", (q, v), out)

    def velocity_of_momentum(self, q: ArrayLike, p: ArrayLike, *, out: Out = None) -> np.ndarray:
        """v = 𝓜⁻¹ p (..., nv), in O(N)."""
        return self._run("velocity_of_momentum", (q, p), out)

    def hamiltonian(self, q: ArrayLike, p: ArrayLike, *, out: Out = None) -> np.ndarray:
        """H = ½ p · 𝓜⁻¹ p + U (...), the energy as a function of the generalized momenta."""
        return self._run("hamiltonian", (q, p), out)

    def hamiltonian_dynamics(self, q: ArrayLike, p: ArrayLike, tau: ArrayLike, *, out: Outs = None) -> tuple[np.ndarray, np.ndarray]:
        """Hamilton's equations: (v, ṗ), both (..., nv), with v = ∂H/∂p and ṗ = tau − ∂U/∂q + ∂T/∂q + ad*(v) p. The forces of gravity, of
        springs and of pushes that are constant in the world come from U, as in `hamiltonian`; tau is all other force along the joints,
        dampers and friction included. The rates of q are qdot(q, v).
        """
        return self._run("hamiltonian_dynamics", (q, p, tau), out)

    def center_of_mass(self, q: ArrayLike, *, out: Out = None) -> np.ndarray:
        """In the world (..., 3)."""
        return self._run("center_of_mass", (q,), out)

    def centroidal_momentum(self, q: ArrayLike, v: ArrayLike, *, out: Out = None) -> np.ndarray:
        """About the centre of mass, in world axes, angular first (..., 6)."""
        return self._run("centroidal_momentum", (q, v), out)

    def centroidal_momentum_matrix(self, q: ArrayLike, *, out: Out = None) -> np.ndarray:
        """A (..., 6, nv) with A v the centroidal momentum."""
        return self._run("centroidal_momentum_matrix", (q,), out)

    def centroidal_momentum_rate(self, q: ArrayLike, v: ArrayLike, vdot: ArrayLike, *, out: Out = None) -> np.ndarray:
        """The rate A vdot + Å v of the centroidal momentum (..., 6): the wrench of all that acts from outside, gravity included."""
        return self._run("centroidal_momentum_rate", (q, v, vdot), out)

    def centroidal_inertia(self, q: ArrayLike, *, out: Out = None) -> np.ndarray:
        """The mechanism as one rigid body (..., 6, 6): its inertia about the centre of mass, in world axes."""
        return self._run("centroidal_inertia", (q,), out)

    def average_velocity(self, q: ArrayLike, v: ArrayLike, *, out: Out = None) -> np.ndarray:
        """The velocity of that rigid body with the same momentum (..., 6), at the centre of mass, in world axes."""
        return self._run("average_velocity", (q, v), out)

    def momentum(self, q: ArrayLike, v: ArrayLike, *, out: Out = None) -> np.ndarray:
        """About the world's origin, in world axes, angular first (..., 6): what a free mechanism keeps."""
        return self._run("momentum", (q, v), out)

    def poses(self, q: ArrayLike, *, out: Out = None) -> np.ndarray:
        """World from body, for every body (..., nb, 4, 4)."""
        return self._run("poses", (q,), out)

    def pose(self, q: ArrayLike, body: str, *, relative_to: str | None = None, out: Out = None) -> np.ndarray:
        """World from one body or frame (..., 4, 4), or the body or frame `relative_to` from it."""
        if relative_to is not None:
            return self._run(("relative_pose", body, relative_to), (q,), out)
        return self._run(("pose", body), (q,), out)

    def jacobian(self, q: ArrayLike, body: str, axes: str = "body", *, relative_to: str | None = None, out: Out = None) -> np.ndarray:
        """Spatial velocity of a body or frame from v (..., 6, nv), angular rows first, at its origin, in its own axes or
        in the world's; as seen from the body or frame `relative_to`, which may move itself.
        """
        if relative_to is not None:
            return self._run(("relative_jacobian", body, relative_to, axes), (q,), out)
        return self._run(("jacobian", body, axes), (q,), out)

    def body_velocity(
        self, q: ArrayLike, v: ArrayLike, body: str, axes: str = "body", *, relative_to: str | None = None,
        out: Out = None,
    ) -> np.ndarray:
        """Spatial velocity of a body or frame (..., 6): `jacobian` times v."""
        return self._run(("body_velocity", body, relative_to, axes), (q, v), out)

    def body_velocities(self, q: ArrayLike, v: ArrayLike, *, out: Out = None) -> np.ndarray:
        """Spatial velocities of all bodies in one sweep (..., nb, 6), angular first, each at its origin, in its own axes."""
        return self._run("body_velocities", (q, v), out)

    def body_accelerations(self, q: ArrayLike, v: ArrayLike, vdot: ArrayLike, *, out: Out = None) -> np.ndarray:
        """Their rates, component by component (..., nb, 6); the acceleration of an origin is the linear part plus ω × its velocity."""
        return self._run("body_accelerations", (q, v, vdot), out)

    def integrate(self, q: ArrayLike, dv: ArrayLike, *, out: Out = None) -> np.ndarray:
        """q moved along dv on the group (..., nq)."""
        return self._run("integrate", (q, dv), out)

    def difference(self, q0: ArrayLike, q1: ArrayLike, *, out: Out = None) -> np.ndarray:
        """The dv from q0 to q1 (..., nv)."""
        return self._run("difference", (q0, q1), out)

    def qdot(self, q: ArrayLike, v: ArrayLike, *, out: Out = None) -> np.ndarray:
        """The rate of the coordinates (..., nq)."""
        return self._run("qdot", (q, v), out)

    def hybrid_dynamics(
        self, q: ArrayLike, v: ArrayLike, given: ArrayLike, prescribed: ArrayLike,
        external: ArrayLike | None = None, *, t: float | None = None, out: Out = None,
    ) -> np.ndarray:
        """Forces where `given` is an acceleration (prescribed = 1), accelerations where it is a force (0): (..., nv).

        Which is which may differ from sample to sample. All 0 is forward, all 1 inverse dynamics. Under constraints prescribed
        accelerations must agree with them, or it raises; where more are prescribed than can move by themselves, the forces are the
        least that make the motion, as in `motor_forces`.
        """
        return self._with("hybrid_dynamics", (q, v, given, prescribed), external, out, t)

    def motor_forces(
        self, q: ArrayLike, v: ArrayLike, vdot: ArrayLike, motors: str | Iterable[str] | None = None,
        external: ArrayLike | None = None, *, t: float | None = None, out: Out = None,
    ) -> np.ndarray:
        """The forces tau (..., nv) of the named joints alone that make vdot: inverse dynamics of a robot with loops, couplings, drives.

            tau = robot.motor_forces(q, v, vdot, motors=["crank_joint"])          # zero at all other joints

        `motors` None means that every joint has one. vdot must be possible under the constraints, and within the power of the motors,
        or it raises a ConstraintError that says by how much it is not; `robot.constraints.possible(q, v, vdot)` is the nearest that
        is. Where the robot is redundantly actuated, so that motors can work against each other, the forces are the least: of least
        length, forces as moments at a distance that is the size of the mechanism. `print(robot.constraints.actuation(q, motors))`
        says whether they are unique. Without constraints and with all motors it is `inverse_dynamics`.

        Takes into account: gravity, loops, couplings, rolling, drives, external.
        """
        return self._held.motor_forces(q, v, vdot, motors, external, t=t, out=out)

    # --- tasks: places are "hand", ("hand", pose on it), or ("hand", (x, y, z)) for the velocity of a point only; each in its own
    # axes, or in the world's: axes="world", or for one of them ("hand", pose or point or None, "world")

    def task_jacobian(self, q: ArrayLike, *places: Place, axes: str = "body", out: Out = None) -> np.ndarray:
        """J of several places, one below the other (..., m, nv), each in its own axes or in the world's."""
        return self._task("task_jacobian", q, places, axes, None, out)

    def task_compliance(
        self, q: ArrayLike, *places: Place, axes: str = "body", t: float | None = None, out: Out = None
    ) -> np.ndarray:
        """J 𝓜⁻¹ J* (..., m, m): accelerations of the places under forces on them. Its inverse is Λ where there is one;
        `robot.operators(q).task(*places)` says whether there is.
        """
        return self._task("task_compliance", q, places, axes, t, out)

    def task_inertia(
        self, q: ArrayLike, *places: Place, axes: str = "body", t: float | None = None,
        out: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """(Λ, independence): the inverse (..., m, m) of `task_compliance`, and (...) how far the places are from depending
        on each other, 1 at best; Λ means nothing where this is rounding.
        """
        return self._task("task_inertia", q, places, axes, t, out)

    def operational_inertias(self, q: ArrayLike, *bodies: str, out: Out = None) -> np.ndarray:
        """Υ⁻¹ (..., n, 6, 6) of these bodies of a free mechanism, without names of all: what a force on each feels of its own inertia
        and that of the others, in its axes, at its origin. `task_inertia` has it for places on any mechanism.
        """
        return self._run(("operational_inertias", *bodies), (q,), out)

    def body_compliances(self, q: ArrayLike, *, out: Out = None) -> np.ndarray:
        """Υ = J 𝓜⁻¹ J* (..., nb, 6, 6) of every body: its acceleration under a force on itself, in its axes, at its origin."""
        return self._run("body_compliances", (q,), out)

    def _task(self, name: str, q, places, axes, t, out):
        return self._run((name, *(hashable(place, axes) for place in places)), (q,), out, t)

    def joint_wrenches(
        self, q: ArrayLike, v: ArrayLike, vdot: ArrayLike, *bodies: str, tau: ArrayLike | None = None,
        external: ArrayLike | None = None, t: float | None = None, out: Out = None,
    ) -> np.ndarray:
        """What the joints of these bodies carry (..., n, 6): the wrench on each, in its axes, at its origin; external as in
        `inverse_dynamics`. Without names, of all bodies; one that is fixed to another, or to the world, has its own too: what moves it
        and all that hangs on it.

        Under constraints vdot does not say which part of the forces comes from motors: tau does, and must make vdot. Without it the
        least forces of the joints that make vdot are taken, none where it moves by itself. What constraints exert on bodies is in
        `constraint_forces(q, v, tau).wrenches`.
        """
        if tau is not None:
            return self._held.joint_wrenches(q, v, vdot, *bodies, tau=tau, external=external, t=t, out=out)
        if external is None:
            return self._run(("joint_wrenches", *bodies), (q, v, vdot), out, t)
        return self._run(("joint_wrenches", *bodies, Given("external")), (q, v, vdot, external), out, t)

    def actuated(self, *joints: str):
        """A view of the robot with motors at these joints only: what they feel, what follows by itself, what is conserved."""
        return Actuated(self, *joints)

    @cached_property
    def actuators(self) -> Actuators:
        """The motors and servos of the model, as a controller: they act only where it is used."""
        return Actuators(self)

    def diagonal(self) -> "Diagonal":
        """A view of the robot in velocities η whose mass matrix is the identity; `.unnormalized` in ξ, where it is block diagonal."""
        from .velocities import Diagonal

        return Diagonal(self)

    def inertial_unit(self, q: ArrayLike, v: ArrayLike, vdot: ArrayLike, body: str, *, out: Out = None) -> np.ndarray:
        """What an inertial unit on a body or frame measures (..., 6): angular velocity, then acceleration less gravity, in its own axes."""
        return self._run(("inertial_unit", body), (q, v, vdot), out)

    # --- contact: n points, where the shapes of the model's contacts may touch

    @cached_property
    def contacts(self) -> ContactTable:
        """The contact points of the model: bodies, friction, restitution, compliance of each; print it."""
        return ContactTable.of(self.model)

    def contact_gaps(self, q: ArrayLike, *, out: Out = None) -> np.ndarray:
        """How far surfaces are apart at each contact point (..., n), negative where they overlap."""
        return self._run("contact_gaps", (q,), out)

    def contact_bounds(self, q: ArrayLike, *, out: Out = None) -> np.ndarray:
        """A gap that no point of each pair is below (..., pairs), by spheres around the shapes: what is far need not be looked at."""
        return self._run("contact_bounds", (q,), out)

    def contact_points(self, q: ArrayLike, *, out: Out = None) -> np.ndarray:
        """The points of the first and of the second surface (..., n, 2, 3), in the world."""
        return self._run("contact_points", (q,), out)

    def contact_frames(self, q: ArrayLike, *, out: Out = None) -> np.ndarray:
        """World from contact (..., n, 3, 3): the normal, from the second body to the first, and two tangents are the columns."""
        return self._run("contact_frames", (q,), out)

    def contact_jacobian(self, q: ArrayLike, *, out: Out = None) -> np.ndarray:
        """J (..., 3 n, nv): the velocity of the first surface on the second from v, in the axes of `contact_frames`, the normal first,
        which is the rate of the gap. Forces at the points act on the joints as J* λ.
        """
        return self._run("contact_jacobian", (q,), out)

    def contact_bias(self, q: ArrayLike, v: ArrayLike, *, out: Out = None) -> np.ndarray:
        """J̇ v (..., 3 n) of `contact_jacobian`, curvature of the surfaces included: J vdot + J̇ v is the rate of J v."""
        return self._run("contact_bias", (q, v), out)

    def contact_dynamics(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, external: ArrayLike | None = None, *,
        t: float | None = None, gap: float | None = None, speed: float | None = None,
    ) -> ContactDynamics:
        """Accelerations with contacts: v̇, the forces of all points, and which of these are active, stick, slide.

        Points whose surfaces are nearer than `gap` (m) and do not part touch; one that is faster than `speed` (m/s) along its tangents
        slides. By default these are 1e-6 of `model.size`, and of the speed that the points' accelerations reach along it.
        Signorini's condition and Coulomb's law hold between forces and accelerations, residuals say how well. Forces that are
        not unique have the least norm. Where friction leaves no solution (Painlevé), `converged` is false. In NumPy, for batches.

        Takes into account: gravity, loops, couplings, rolling, drives, external, contacts.
        """
        return contact_dynamics(self, q, v, tau, external, t=t, gap=gap, speed=speed)

    def geared(self) -> "Geared":
        """A view of the robot in the velocities of its links, rotors and gears being part of them: see `Geared`."""
        from .velocities import Geared

        return Geared(self)

    def rebase(self, q: ArrayLike, v: ArrayLike, body: str, *, out: Outs = None) -> tuple[np.ndarray, np.ndarray]:
        """(q, v) of the robot whose root is `body`, in the same state: of lw.Dynamics(robot.model.rebased(body)).

            other = lw.Dynamics(robot.model.rebased("hand"))
            q_other, v_other = robot.rebase(q, v, "hand")
            q, v = other.rebase(q_other, v_other, "torso")            # and back to the old root
        """
        return self._run(("rebase", body), (q, v), out)

    def rebase_force(self, q: ArrayLike, tau: ArrayLike, body: str, *, out: Out = None) -> np.ndarray:
        """The forces (..., nv) of the robot whose root is `body` that do the same as tau at q: their power is the same in every motion."""
        return self._run(("rebase_force", body), (q, tau), out)

    # --- any declared quantity, your own among them

    def ask(self, what: str | tuple, *arrays: ArrayLike, t: float | None = None, out: Any = None) -> Any:
        """A quantity by its name, or by (name, options...): what is declared with `linkwork.quantities.quantity`; t where
        constraints move in time.

            robot.ask("mass_matrix", q)
            robot.ask(("jacobian", "hand", "world"), q)

        It runs as the methods do: any batch, `out=`, arrays on a GPU, inside kernels. docs/quantities.md lists all.
        """
        name, *said = what if isinstance(what, (tuple, list)) else (what,)
        declared = declared_as(self.model, name)
        if len(arrays) != len(declared.inputs) + len(declared.given(self.model, said)):
            raise TypeError(f"{name} takes {', '.join(declared.inputs)}; got {len(arrays)} arrays.")
        options = asked(self, (name, *said))[1:] if said or declared.options else ()
        return self._run((declared, *options), arrays, out, t)

    def operators(self, q, v=None, *, t: float | None = None):
        """The spatial operators at q: H, φ, M, ψ, K, D ..., to be composed with @. They are those of the tree; tasks made of them
        keep the constraints, and if some move in time, t says when."""
        from .operators import operators

        return operators(self, q, v, t)

    def free_flying(self) -> "FreeFlying":
        """This robot in the velocities of its joints alone, its free base moving as momentum says: see `FreeFlying`."""
        from .velocities import FreeFlying

        return FreeFlying(self)

    # --- what binds it besides its joints

    @cached_property
    def constraints(self):
        """The active loops and couplings, and the constraints of the model, which `forward_dynamics` keeps; None where
        there are none."""
        return self._constrained() if bonds(self.model) else None

    @property
    def _held(self):
        """The constraints, or where there are none a set without any."""
        return self._constrained() if self.constraints is None else self.constraints

    def _constrained(self):
        from .constraints import Constrained  # which asks a robot for its sweeps

        return Constrained(self)

    def constraint_report(self, q, *, t=None):
        """Rows, rank, mobility, redundant rows, open loops at q; print it."""
        return self._held.report(q, t)

    def assemble(self, q, hold=(), *, t=None, tolerance=None):
        """The configuration nearest to a guess in which every loop is closed, joints in `hold` as they are.

        Constraints that contradict each other cannot all be closed: with a tolerance, of a radian or of the mechanism's size, they
        are met in the least-squares sense, up to that.
        """
        return self._held.assemble(q, hold, t, tolerance)

    def constraint_forces(self, q, v, tau, external=None, *, t=None):
        """Multipliers, the wrenches that constraints exert on bodies, and those in the joints of the tree: print them."""
        return self._held.constraint_forces(q, v, tau, external, t=t)

    # --- more ways to run

    def kernel(self, function=None, **shapes):
        """A function of (q, v, ...) written with NumPy and this robot's methods, as a kernel; also as a decorator.

            @robot.kernel
            def hand_power(q, v, force):
                return force @ (robot.jacobian(q, "hand") @ v)

        Shapes of arguments the robot does not know may be given: robot.kernel(hand_power, force=6). Arrays and numbers that the
        function takes from around it are constants: they are read at the first call, and a later change of them is not seen.
        What may change is an argument.
        """
        if function is None:
            return lambda function: UserKernel(self, function, shapes)
        return UserKernel(self, function, shapes)

    def as_kernel(self, what: str | tuple) -> QuantityKernel:
        """A quantity as a kernel, with its derivatives: a method's name, or (name, options...).

            robot.as_kernel("forward_dynamics").vjp(q, v, tau, weight)          # weight · ∂vdot by q, v and tau
            robot.as_kernel("mass_matrix").jacobian()(q)                        # ∂𝓜/∂q (..., nv, nv, nv)
            robot.as_kernel(("pose", "hand")).jvp(q, v)                         # the rate of a pose

        Under loops, couplings and drives its derivatives by q and v are right along changes that keep these.
        """
        key = asked(self, what)
        if key not in self._kernels:
            bound = self.quantity(key)
            self._kernels[key] = QuantityKernel(self, bound.kernel(), bound.rolled_whole if self.rolled and self.nv else lambda: None)
        return self._kernels[key]

    def derivative(
        self, what: str | tuple, *arrays: ArrayLike, by: str | Sequence[str] = "q", of: int | None = None,
        order: int = 1, out: Any = None, **constants: ArrayLike
    ) -> Any:
        """The derivative of a quantity, a name or (name, options...), by one of its arguments or by a constant of the model.

            robot.derivative("center_of_mass", q)                               # (..., 3, nv); by q along the group, as `integrate` moves
            robot.derivative(("jacobian", "hand", "world"), q)                  # (..., 6, nv, nv)
            robot.derivative("inverse_dynamics", q, v, vdot, by="mass")         # (..., nv, nb)
            robot.derivative("kinetic_energy", q, v, by=("q", "v"), order=2)    # (..., nv, nv) by q q, q v, v q, v v

        Constants are those of `varying`: mass, center, tensor, at, armature, damping, friction, stiffness, gravity; other values than the
        model's own are given by name, mass=masses. With several results, `of` is the number of one, or there is an array for each. Second
        derivatives on a group are iterated, the last axis the direction of the second, and not symmetric.

        The program of the quantity is differentiated and compiled at the first call. `inverse_dynamics_derivatives` and others that have
        a method of their own are faster by that: docs/derivatives.md.
        """
        return self._differentiated(what, arrays, by, of, order, constants, out)

    @cached_property
    def _differentiated(self) -> Derivatives:
        return Derivatives(self)

    @cached_property
    def jax(self):
        """The methods as functions of JAX arrays, for jit, vmap, grad and jacfwd; robot.jax(kernel) is a kernel as such a function.

            jax.grad(lambda q: robot.jax.potential_energy(q))(q)
        """
        from .foreign.jax_functions import JaxFunctions  # which imports JAX

        return JaxFunctions(self)

    def varying(self, *names: str) -> Varying:
        """This robot with some constants as inputs: mass, center, tensor, at, armature, damping, ..., gravity."""
        return Varying(self, *names)

    def program(self, what="forward_dynamics"):
        """What the kernel of a method does, operation by operation; print it to read it.

        `what` is a method's name, or (name, body[, axes]) for those of a body.
        """
        from . import export

        return export.program(self, what)

    @property
    def export(self):
        """Files for other programs: robot.export.c(what, path), robot.export.casadi(what, path)."""
        from .export import Export

        return Export(self)

    export_c = old_name("robot.export_c", "robot.export.c", "export.c")
    export_casadi = old_name("robot.export_casadi", "robot.export.casadi", "export.casadi")

    def symbolic(self, what, names=None):
        """A method's result as SymPy expressions of q, v, ..."""
        from . import export

        return export.symbolic(self, what, names)

    # --- how

    def _run(self, what, arguments, out, t=None):
        """`what` is the name of a quantity, or (name, options...)."""
        try:
            kernel = self._ready[arguments[0].dtype][what]
            return kernel(*arguments) if out is None else kernel(*arguments, out=out)
        except (KeyError, AttributeError, TypeError, ValueError):
            pass  # and not from within here, so that no error of the slow way is headed by this one
        return self._run_checked(what, arguments, out, t)

    def _run_checked(self, what, arguments, out, t=None):
        """The slow way: checks the arguments, compiles at the first call, or raises."""
        if any(is_foreign(x) for x in arguments):
            return self._foreign_run(what)(*arguments, out=out)
        bound = self._bound(what)
        arguments = [array_of(x.name, given) for x, given in zip(bound.inputs, arguments)]
        if bound.quantity.constrained and self.constraints is not None:
            return self.constraints.ask(bound, arguments, out, t)
        if any(isinstance(x, Whole) for x in arguments):
            return bound.of_whole(arguments)
        if any(isinstance(x, Traced) for x in arguments):
            return bound.function(*arguments)
        arrays, dtype = self.lowered.checked(bound.inputs, arguments)
        if what not in self._ready[dtype]:
            ways = Ways(self.compiled, self.rolled, self._by_size)
            run = made(bound, dtype, ways, lambda: self.random_state(seed=0)[0])
            self._ready[dtype][what] = bound.quantity.demanding(run)
        return run_into(self._ready[dtype][what], arrays, out, bound.name)

    def _foreign_run(self, what):
        if what not in self._foreign:
            bound = self.quantity(what)
            rolls = self.nv > DEVICE_UP_TO if self._by_size else self.rolled
            kernel = bound.rolled_kernel() if rolls else bound.kernel()
            on_cpu, differentiated = partial(self._run, what), partial(self.as_kernel, what)
            self._foreign[what] = ForeignRun(self.model.name, bound.name, bound.inputs, kernel, on_cpu, differentiated)
        return self._foreign[what]

    def quantity(self, what) -> Bound:
        """A declared quantity of this robot, by its name or (name, options...): what exports, variations and kernels on a GPU are
        made from."""
        bound = self._bound(what)
        return self.constraints.formula(bound) if bound.quantity.constrained and self.constraints is not None else bound

    def _bound(self, what) -> Bound:
        name, *said = (what,) if isinstance(what, str) else what
        declared = name if isinstance(name, Quantity) else declared_as(self.model, name)
        if declared.refuses and self.constraints is not None:
            bound = f"{self.model.name} has loops, couplings or constraints"
            raise ModelError(f"{bound}, which {declared.name} leaves out. {declared.refuses}.")
        return Bound.of(declared, self.lowered, tuple(said))

    def __getstate__(self):
        rolled = None if self._by_size else self.rolled
        return {"compiled": self.compiled, "rolled": rolled, "model": self.model, "system": self.lowered.foreign_producers}

    def __setstate__(self, state):
        model = state.pop("model")
        Dynamics.__init__(self, model, **state)

    def __str__(self) -> str:
        return "\n".join([str(self.model), *binding_notes(self.model, vars(Dynamics))])

    def __repr__(self) -> str:
        return f"Dynamics({self.model!r})"

    def _repr_html_(self) -> str:
        return "<br>".join([self.model._repr_html_(), *map(escape, binding_notes(self.model, vars(Dynamics)))])


for _name, _declared in QUANTITIES.items():  # help(robot.mass_matrix) ends with what its declaration says
    if _name in vars(Dynamics):
        getattr(Dynamics, _name).__doc__ = f"{cleandoc(getattr(Dynamics, _name).__doc__ or '')}\n\n{_declared.honours_text}"
