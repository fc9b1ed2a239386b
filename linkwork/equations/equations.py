"""Equations: the dynamics of a mechanism in closed form, each part compiled to a kernel."""

import numpy as np

from ..engine.loading.kernel import Kernel
from ..engine.tracing.array import Traced
from ..errors import ModelError, did_you_mean
from ..quantities import SIZES
from ..spatial import Pose
from . import boltzmann_hamel, coriolis, riemann
from . import kinematic_derivatives as kinematics
from .given import as_robot

CUBES_UP_TO = 12  # largest nv for which arrays of nv³ entries are compiled; larger ones run in NumPy
FOURTH_POWERS_UP_TO = 4  # and arrays of nv⁴ entries
FORMS = {
    "christoffel": coriolis.christoffel,
    "binet": coriolis.binet,
    "momentum": coriolis.momentum,
    "centers": coriolis.centers,
    "body": coriolis.body,
    "boltzmann_hamel": boltzmann_hamel.coriolis,
}


class Equations:
    """M(Q) v̇ + C(Q, v) v + N(Q) = τ, explicitly: every part as an array, for one state or any batch of them. The parts are those of
    the tree; under loops, couplings and drives τ includes Jc* λ, what they exert: `robot.constraint_forces`.

        equations = lw.Equations(robot)
        equations.coriolis_matrix(q, v, form="boltzmann_hamel")
    """

    def __init__(self, robot):
        self.robot = as_robot("Equations", robot)
        robot.lowered.only_rigid("Equations")
        self._ready: dict = {}

    def mass_matrix(self, q):
        """Σ K* M K plus the rotors (..., nv, nv), M the inertia of each node: From, part two (34)."""
        return self._run(coriolis.mass_matrix, {"q": q})

    def mass_matrix_derivatives(self, q):
        """∂M_ab along each velocity c (..., nv, nv, nv)."""
        return self._run(coriolis.mass_matrix_derivatives, {"q": q})

    def christoffel_symbols(self, q):
        """Γ_abc of the first kind (..., nv, nv, nv): (C v)_a = Σ Γ_abc v_b v_c. Müller and Terze (47)."""
        return self._run(coriolis.christoffel_symbols, {"q": q})

    def riemann(self, q):
        """R_hijk of the mass matrix as a metric (..., nv, nv, nv, nv). Where all are zero at every q, and only there, coordinates exist in
        which the mass matrix is the identity, and no velocity-dependent forces are left: Jain (19.1) to (19.11).

        For two velocities R_1212 is the Gaussian curvature times det 𝓜.
        """
        if self.robot.constraints is not None:
            raise ModelError(
                f"{self.robot.model.name} has loops, couplings or constraints: the motions that they allow have another metric than the "
                "tree, which riemann is of. Use a model without: dataclasses.replace(model, loops=(), couplings=(), constraints=())."
            )
        c, J = self.structure_constants(), coriolis.rotors(self.robot.lowered.plain(), np.zeros(1))
        if np.any(np.tensordot(J, c, 1)):
            raise ModelError(
                f"{self.robot.model.name} has armature at a joint whose velocities do not commute: rotors have no gyroscopic forces there, "
                "so its motion is none of a metric, which riemann needs. Take the armature away, or give the rotors bodies of their own."
            )
        return self._run(riemann.riemann_symbols, {"q": q})

    def coriolis_matrix(self, q, v, form: str = "christoffel"):
        """C (..., nv, nv) in one of its forms: christoffel, binet, momentum, centers, body, boltzmann_hamel.

        All have the same C v; the first four also have C + C* = Ṁ.
        """
        if not isinstance(form, str) or form not in FORMS:
            raise ModelError(f'there is no Coriolis matrix of the form "{form}".{did_you_mean(form, FORMS)}')
        return self._run(FORMS[form], {"q": q, "v": v})

    def gravity_force(self, q):
        """N(Q) = ∂U/∂ξ for the potential of gravity (..., nv): From, part two (52)."""
        return self._run(boltzmann_hamel.gravity_force, {"q": q})

    def inverse_dynamics(self, q, v, vdot):
        """τ = M v̇ + C v + N, from the parts (..., nv)."""
        return self._run(boltzmann_hamel.inverse_dynamics, {"q": q, "v": v, "vdot": vdot})

    def lagrangian(self, q, v):
        """½ v* M v - U (...)."""
        return self._run(boltzmann_hamel.lagrangian, {"q": q, "v": v})

    def S(self, xi):
        """S of v = S ξ̇ in exponential coordinates about any Q, one block for each joint (..., nv, nv): From, part two (24)."""
        return boltzmann_hamel.S(self.robot.lowered.plain(), np.asarray(xi, float))

    def structure_constants(self) -> np.ndarray:
        """[eᵢ, eⱼ] = Σ c[s, i, j] eₛ of the velocities (nv, nv, nv)."""
        return boltzmann_hamel.structure(self.robot.lowered.plain())

    def jacobian_derivatives(self, q, body: str):
        """∂K_a along each velocity c, for a body or frame, in its own axes (..., 6, nv, nv): Müller and Terze (27)."""
        return self.robot.jacobian_derivative(q, body)

    def jacobian_rate(self, q, v, body: str):
        """K̇ of a body or frame, in its own axes (..., 6, nv)."""
        return self._run(kinematics.body_jacobian_rate, {"q": q, "v": v}, at=[body])

    def acceleration(self, q, v, vdot, body: str):
        """V̇ of a body or frame: the rate of the components of its twist in its own axes (..., 6)."""
        return self._run(kinematics.body_acceleration, {"q": q, "v": v, "vdot": vdot}, at=[body])

    def point_motion(self, q, v, vdot, body: str, point=(0.0, 0.0, 0.0)):
        """Position, velocity and (classical) acceleration in the world of a point of a body or frame, as rows (..., 3, 3)."""
        return self._run(kinematics.point_motion, {"q": q, "v": v, "vdot": vdot}, at=[body], point=point)

    def _run(self, function, arguments, at=None, point=None):
        place: tuple = ()
        if at is not None:
            body, pose = self.robot.model.place(*at)
            place = (body, pose if point is None else pose @ Pose.of(point))
        names, arrays = list(arguments), list(arguments.values())
        if any(isinstance(x, Traced) for x in arrays):
            return self._on_scalars(function, place)(*arrays)
        inputs = tuple(self.robot.lowered.input(name, SIZES[name]) for name in names)
        arrays, dtype = self.robot.lowered.checked(inputs, arrays)
        key = function, place, dtype
        if key not in self._ready:
            self._ready[key] = self._made(function, place, inputs, dtype)
        return self._ready[key](*(x.astype(dtype, copy=False) for x in arrays))

    def _made(self, function, place, inputs, dtype):
        limit = np.inf if place else FOURTH_POWERS_UP_TO if function is riemann.riemann_symbols else CUBES_UP_TO
        if self.robot.compiled and not self.robot.rolled and 0 < self.robot.nv <= limit:
            lowered = self.robot.lowered
            content = lowered, function, place
            return Kernel(function.__name__, self._on_scalars(function, place), inputs, content).runner(dtype.char)
        nodes = self.robot.lowered.plain(dtype)
        return lambda *arrays: function(nodes, *arrays, *place)

    def _on_scalars(self, function, place):
        """The function with the constants of the robot as scalars of the type of the arguments."""

        def run(*arguments):
            some = next((x for x in arguments if isinstance(x, Traced)), arguments[0])
            nodes = self.robot.lowered.nodes.over(some)
            return function(nodes, *arguments, *place)

        return run
