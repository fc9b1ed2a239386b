"""Dynamics: how a mechanism moves. Checks what comes in, picks the kernel, returns."""

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, partial
from html import escape
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .engine.array import Traced
from .engine.checks import array_of, run_into
from .errors import ModelError, UnknownNameError, did_you_mean
from .export import asked
from .foreign import ForeignRun, is_foreign
from .kernels import QuantityKernel, UserKernel
from .model import Model, coordinates
from .quantities import Given, Quantity
from .quantities.binding import binding_notes, bonds
from .quantities.bound import Bound
from .quantities.declaration import STRAIGHT_UP_TO, declared_as
from .quantities.options import Place, hashable
from .quantities.runs import Ways, made
from .systems import DTYPES, Lowered, Producer
from .varying import Varying

Out = np.ndarray | None
Outs = tuple[np.ndarray, ...] | None


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
        self.made: dict = {}  # what simulations have made of it
        self._ready: dict[np.dtype, dict[object, Callable]] = {dtype: {} for dtype in DTYPES}

    # --- what there is

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

    def q_index(self, joint: str) -> slice:
        """Where the coordinates of a joint are in q."""
        return self._row(joint)[0]

    def v_index(self, joint: str) -> slice:
        """Where the velocities of a joint are in v."""
        return self._row(joint)[1]

    def _row(self, joint):
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
        """𝓜 (..., nv, nv).

        Takes into account: nothing; of the tree: loops, couplings and drives are not part of it.
        """
        return self._run("mass_matrix", (q,), out)

    def mass_matrix_inverse(self, q: ArrayLike, *, out: Out = None) -> np.ndarray:
        """𝓜⁻¹ (..., nv, nv).

        Takes into account: nothing; of the tree: loops, couplings and drives are not part of it.
        """
        return self._run("mass_matrix_inverse", (q,), out)

    def inverse_dynamics(
        self, q: ArrayLike, v: ArrayLike, vdot: ArrayLike, external: ArrayLike | None = None, *, out: Out = None
    ) -> np.ndarray:
        """tau = 𝓜 vdot + C v + g − J* external (..., nv); external (..., nb, 6) is a wrench on each body, in its axes.

        Takes into account: gravity, external; of the tree: loops, couplings and drives are not part of it.
        """
        if external is None:
            return self._run("inverse_dynamics", (q, v, vdot), out)
        return self._run(("inverse_dynamics", "external"), (q, v, vdot, external), out)

    def forward_dynamics(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, external: ArrayLike | None = None, *, t: float | None = None, out: Out = None
    ) -> np.ndarray:
        """vdot = 𝓜⁻¹ (tau − C v − g + J* external) (..., nv); tau is all of the joint force.

        Loops, couplings and constraints of the model are kept; if some move in time, t says when.

        Takes into account: gravity, loops, couplings, rolling, drives, external.
        """
        if self.constraints is not None:
            return self.constraints.forward_dynamics(q, v, tau, external, t=t, out=out)
        if external is None:
            return self._run("forward_dynamics", (q, v, tau), out)
        return self._run(("forward_dynamics", "external"), (q, v, tau, external), out)

    def inverse_dynamics_derivatives(
        self, q: ArrayLike, v: ArrayLike, vdot: ArrayLike, external: ArrayLike | None = None, *, out: Outs = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """∂tau/∂q, ∂tau/∂v and ∂tau/∂vdot = 𝓜 of `inverse_dynamics` (..., nv, nv); by q along the group, as `integrate` moves, so that
        columns match v.

        Takes into account: gravity, external; of the tree: loops, couplings and drives are not part of it.
        """
        if external is None:
            return self._run("inverse_dynamics_derivatives", (q, v, vdot), out)
        return self._run(("inverse_dynamics_derivatives", "external"), (q, v, vdot, external), out)

    def forward_dynamics_derivatives(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, external: ArrayLike | None = None, *, out: Outs = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """∂vdot/∂q, ∂vdot/∂v and ∂vdot/∂tau = 𝓜⁻¹ of `forward_dynamics` (..., nv, nv); by q along the group, as `integrate` moves. Robots
        with loops, couplings or constraints are refused.

        Takes into account: gravity, external.
        """
        if external is None:
            return self._run("forward_dynamics_derivatives", (q, v, tau), out)
        return self._run(("forward_dynamics_derivatives", "external"), (q, v, tau, external), out)

    def bias(self, q: ArrayLike, v: ArrayLike, *, out: Out = None) -> np.ndarray:
        """C v + g (..., nv): the force that keeps v as it is.

        Takes into account: gravity; of the tree: loops, couplings and drives are not part of it.
        """
        return self._run("bias", (q, v), out)

    def gravity_force(self, q: ArrayLike, *, out: Out = None) -> np.ndarray:
        """g (..., nv): the force that holds the mechanism still.

        Takes into account: gravity; of the tree: loops, couplings and drives are not part of it.
        """
        return self._run("gravity_force", (q,), out)

    def coriolis_matrix(self, q: ArrayLike, v: ArrayLike, *, out: Out = None) -> np.ndarray:
        """C (..., nv, nv) with C + C* the rate of the mass matrix.

        Takes into account: nothing; of the tree: loops, couplings and drives are not part of it.
        """
        return self._run("coriolis_matrix", (q, v), out)

    def passive_force(self, q: ArrayLike, v: ArrayLike, *, out: Out = None) -> np.ndarray:
        """Springs, damping and friction of the joints, and the model's springs and pushes between points (..., nv); no
        part of forward_dynamics.

        Takes into account: joint springs, friction, point forces.
        """
        return self._run("passive_force", (q, v), out)

    def kinetic_energy(self, q: ArrayLike, v: ArrayLike, *, out: Out = None) -> np.ndarray:
        """½ v* 𝓜 v (...).

        Takes into account: nothing.
        """
        return self._run("kinetic_energy", (q, v), out)

    def potential_energy(self, q: ArrayLike, *, out: Out = None) -> np.ndarray:
        """Of gravity and springs (...).

        Takes into account: gravity, joint springs, point forces.
        """
        return self._run("potential_energy", (q,), out)

    def center_of_mass(self, q: ArrayLike, *, out: Out = None) -> np.ndarray:
        """In the world (..., 3).

        Takes into account: nothing.
        """
        return self._run("center_of_mass", (q,), out)

    def centroidal_momentum(self, q: ArrayLike, v: ArrayLike, *, out: Out = None) -> np.ndarray:
        """About the centre of mass, in world axes, angular first (..., 6).

        Takes into account: nothing.
        """
        return self._run("centroidal_momentum", (q, v), out)

    def poses(self, q: ArrayLike, *, out: Out = None) -> np.ndarray:
        """World from body, for every body (..., nb, 4, 4).

        Takes into account: nothing.
        """
        return self._run("poses", (q,), out)

    def pose(self, q: ArrayLike, body: str, *, out: Out = None) -> np.ndarray:
        """World from one body or frame (..., 4, 4).

        Takes into account: nothing.
        """
        return self._run(("pose", body), (q,), out)

    def jacobian(self, q: ArrayLike, body: str, axes: str = "body", *, out: Out = None) -> np.ndarray:
        """Spatial velocity of a body or frame from v (..., 6, nv), angular rows first, at its origin, in its own axes or
        in the world's.

        Takes into account: nothing.
        """
        return self._run(("jacobian", body, axes), (q,), out)

    def integrate(self, q: ArrayLike, dv: ArrayLike, *, out: Out = None) -> np.ndarray:
        """q moved along dv on the group (..., nq).

        Takes into account: nothing.
        """
        return self._run("integrate", (q, dv), out)

    def difference(self, q0: ArrayLike, q1: ArrayLike, *, out: Out = None) -> np.ndarray:
        """The dv from q0 to q1 (..., nv).

        Takes into account: nothing.
        """
        return self._run("difference", (q0, q1), out)

    def qdot(self, q: ArrayLike, v: ArrayLike, *, out: Out = None) -> np.ndarray:
        """The rate of the coordinates (..., nq).

        Takes into account: nothing.
        """
        return self._run("qdot", (q, v), out)

    def hybrid_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        given: ArrayLike,
        prescribed: ArrayLike,
        external: ArrayLike | None = None,
        *,
        t: float | None = None,
        out: Out = None,
    ) -> np.ndarray:
        """Forces where `given` is an acceleration (prescribed = 1), accelerations where it is a force (0): (..., nv).

        Which is which may differ from sample to sample. All 0 is forward, all 1 inverse dynamics. Under constraints prescribed
        accelerations must agree with them, or it raises; where more are prescribed than can move by themselves, the forces are the
        least that make the motion, as in `motor_forces`.

        Takes into account: gravity, loops, couplings, rolling, drives, external.
        """
        if external is None:
            return self._run("hybrid_dynamics", (q, v, given, prescribed), out, t)
        return self._run(("hybrid_dynamics", "external"), (q, v, given, prescribed, external), out, t)

    def motor_forces(
        self,
        q: ArrayLike,
        v: ArrayLike,
        vdot: ArrayLike,
        motors: str | Iterable[str] | None = None,
        external: ArrayLike | None = None,
        *,
        t: float | None = None,
        out: Out = None,
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
        """J of several places, one below the other (..., m, nv), each in its own axes or in the world's.

        Takes into account: nothing.
        """
        return self._task("task_jacobian", q, places, axes, None, out)

    def task_compliance(
        self, q: ArrayLike, *places: Place, axes: str = "body", t: float | None = None, out: Out = None
    ) -> np.ndarray:
        """J 𝓜⁻¹ J* (..., m, m): accelerations of the places under forces on them. Its inverse is Λ where there is one;
        `robot.operators(q).task(*places)` says whether there is.

        Takes into account: loops, couplings, rolling, drives.
        """
        return self._task("task_compliance", q, places, axes, t, out)

    def task_inertia(
        self, q: ArrayLike, *places: Place, axes: str = "body", t: float | None = None, out: tuple[np.ndarray, np.ndarray] | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """(Λ, independence): the inverse (..., m, m) of `task_compliance`, and (...) how far the places are from depending
        on each other, 1 at best; Λ means nothing where this is rounding.

        Takes into account: loops, couplings, rolling, drives.
        """
        return self._task("task_inertia", q, places, axes, t, out)

    def _task(self, name: str, q, places, axes, t, out):
        return self._run((name, *(hashable(place, axes) for place in places)), (q,), out, t)

    def joint_wrenches(
        self,
        q: ArrayLike,
        v: ArrayLike,
        vdot: ArrayLike,
        *bodies: str,
        tau: ArrayLike | None = None,
        external: ArrayLike | None = None,
        t: float | None = None,
        out: Out = None,
    ) -> np.ndarray:
        """What the joints of these bodies carry (..., n, 6): the wrench on each, in its axes, at its origin; external as in
        `inverse_dynamics`. Without names, of all bodies; one that is fixed to another, or to the world, has its own too: what moves it
        and all that hangs on it.

        Under constraints vdot does not say which part of the forces comes from motors: tau does, and must make vdot. Without it the
        least forces of the joints that make vdot are taken, none where it moves by itself. What constraints exert on bodies is in
        `constraint_forces(q, v, tau).wrenches`.

        Takes into account: gravity, loops, couplings, rolling, external.
        """
        if tau is not None:
            return self._held.joint_wrenches(q, v, vdot, *bodies, tau=tau, external=external, t=t, out=out)
        if external is None:
            return self._run(("joint_wrenches", *bodies), (q, v, vdot), out, t)
        return self._run(("joint_wrenches", *bodies, Given("external")), (q, v, vdot, external), out, t)

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
        """
        key = asked(self, what)
        if key not in self._kernels:
            self._kernels[key] = QuantityKernel(self, self.quantity(key).kernel())
        return self._kernels[key]

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

    def export_c(self, what, path, dtype="float64"):
        """A method as self-contained C99 for a controller: writes the .c and .h file and returns their paths."""
        from . import export

        return export.export_c(self, what, path, dtype)

    def export_casadi(self, what, path, order: int = 1):
        """A method or kernel as C for `casadi.external`, with its Jacobians (order=1), those of these (order=2) and their sparsity;
        returns the path of the .c file."""
        from . import export

        return export.export_casadi(self, what, path, order)

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
            return self._run_checked(what, arguments, out, t)

    def _run_checked(self, what, arguments, out, t=None):
        """The slow way: checks the arguments, compiles at the first call, or raises."""
        if any(is_foreign(x) for x in arguments):
            return self._foreign_run(what)(*arguments, out=out)
        bound = self._bound(what)
        arguments = [array_of(x.name, given) for x, given in zip(bound.inputs, arguments)]
        if bound.quantity.constrained and self.constraints is not None:
            return self.constraints.ask(bound, arguments, out, t)
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
            kernel = bound.rolled_kernel() if self.rolled else bound.kernel()
            on_cpu, differentiated = partial(self._run, what), partial(self.as_kernel, what)
            self._foreign[what] = ForeignRun(self.model.name, bound.name, bound.inputs, kernel, on_cpu, differentiated)
        return self._foreign[what]

    def quantity(self, what) -> Bound:
        """A declared quantity of this robot, by its name or (name, options...): what exports, variations and kernels on a GPU are
        made from."""
        bound = self._bound(what)
        if bound.quantity.constrained and self.constraints is not None:
            raise ModelError(
                f"{self.model.name} has loops, couplings or constraints: its {bound.name} is no one formula, because which velocities "
                f"depend on which is decided from numbers. robot.{bound.name}(...) keeps them."
            )
        return bound

    def _bound(self, what) -> Bound:
        name, *said = (what,) if isinstance(what, str) else what
        declared = name if isinstance(name, Quantity) else declared_as(self.model, name)
        if declared.refuses and self.constraints is not None:
            bound = f"{self.model.name} has loops, couplings or constraints"
            raise ModelError(f"{bound}, which {declared.name} leaves out. {declared.refuses}.")
        return Bound.of(declared, self.lowered, tuple(said))

    def __getstate__(self):
        rolled = None if self._by_size else self.rolled
        return {"compiled": self.compiled, "rolled": rolled, "model": self.model, "system": self.lowered.producers}

    def __setstate__(self, state):
        model = state.pop("model")
        Dynamics.__init__(self, model, **state)

    def __str__(self) -> str:
        return "\n".join([str(self.model), *binding_notes(self.model, vars(Dynamics))])

    def __repr__(self) -> str:
        return f"Dynamics({self.model!r})"

    def _repr_html_(self) -> str:
        return "<br>".join([self.model._repr_html_(), *map(escape, binding_notes(self.model, vars(Dynamics)))])
