"""Forward dynamics with contacts: accelerations, forces, and what each contact does (Jain, 11.5).

    v̇ = v̇_f + 𝓜⁻¹ J* λ,    d̈ = J v̇ + J̇ v,    0 ≤ d̈_n ⟂ λ_n ≥ 0          Jain (11.47) to (11.51)

for the contacts that touch, d = ḋ_n = 0. One that slides has λ_t = −μ λ_n u_t/|u_t|; one that does not slide has Coulomb's law between
λ_t and the acceleration d̈_t. Loops and couplings are eliminated first: v̇_f and 𝓜⁻¹ are those of the mechanism with its loops.
"""

from typing import NamedTuple

import numpy as np

from ...errors import ModelError
from ...lie.scalars import numbers
from ..cone import blocks, flat, norm, times
from .accurate import solve_rows

GAP = 1e-6  # of the mechanism's size: surfaces nearer than that touch
SPEED = 1e-6  # of the speed that accelerations of the points reach along that size: contacts slower than that are at rest
ROUNDED = 1e-12  # of the velocities that a point's velocity is the sum of: what rounding may leave of it


class ContactDynamics(NamedTuple):
    """Accelerations under contact, and how each of the n points takes part."""

    vdot: np.ndarray  # (..., nv)
    force: np.ndarray  # (..., n, 3) N, normal and two tangents, in the axes of `contact_frames`
    active: np.ndarray  # (..., n) touching, and pressed together or staying so
    stick: np.ndarray  # (..., n) active, without slip
    slide: np.ndarray  # (..., n) active, slipping or beginning to
    striking: np.ndarray  # (..., n) touching and approaching: an impact is due, of which accelerations know nothing
    residuals: np.ndarray  # (..., 3) Signorini, cone, dissipation, relative to the accelerations of the problem
    rounds: np.ndarray  # (...)
    converged: np.ndarray  # (...) where it is false, there is no solution or none was found: v̇ and forces are not numbers


def contact_dynamics(robot, q, v, tau, external=None, *, t=None, gap: float | None = None, speed: float | None = None) -> ContactDynamics:
    """Accelerations and contact forces that joint forces τ lead to; see `Dynamics.contact_dynamics`."""
    if (robot.contacts.compliance > 0).any():
        soft = robot.contacts.labels[int(np.argmax(robot.contacts.compliance > 0))]
        raise ModelError(
            f"{robot.model.name}: contact {soft} is compliant, and contact_dynamics is of rigid ones. The force of a compliant one is "
            'that of its spring and damper, in lw.simulate(..., method="contact") and lw.rollout(..., method="contact").'
        )
    more = {} if robot.constraints is None else {"t": t}
    free = robot.forward_dynamics(q, v, tau, external, **more)
    if not isinstance(free, np.ndarray):
        raise ModelError(f"contact_dynamics is in NumPy, and got arrays of {type(free).__module__}: give x.detach().cpu().numpy().")
    batch = free.shape[:-1]
    q, v = (np.broadcast_to(numbers(x), (*batch, n)) for x, n in ((q, robot.nq), (v, robot.nv)))
    J = robot.contact_jacobian(q)
    C = robot.mass_matrix_inverse(q) if robot.constraints is None else robot.constraints.compliance(q, t)
    response = C @ J.mT
    u = blocks(times(J, v))
    gaps = robot.contact_gaps(q)
    b = times(J, free) + robot.contact_bias(q, v)
    gap = GAP * robot.model.size if gap is None else gap
    speed = _at_rest(robot, J, v, b) if speed is None else speed
    touching = gaps <= gap
    striking = touching & (u[..., 0] < -speed)
    closed = touching & (u[..., 0] <= speed)
    slipping = closed & (norm(u[..., 1:]) > speed)
    force, left, rounds, solved = accelerations(J @ response, b, robot.contacts.friction, u[..., 1:], closed, slipping)
    converged = solved & np.isfinite(b).all(-1) & np.isfinite(gaps).all(-1)
    force = np.where(converged[..., None, None], force, np.nan)
    rate = blocks(times(J @ response, flat(force)) + b)
    pressed = closed & ((force[..., 0] > 0) | (rate[..., 0] <= 1e-9 * np.abs(b).max(-1, initial=0.0)[..., None]))
    turning = norm(rate[..., 1:]) > 1e-7 * np.maximum(np.abs(b).max(-1, initial=0.0), 1e-300)[..., None]
    slide = pressed & (slipping | turning)
    vdot = free + times(response, flat(force))
    return ContactDynamics(vdot, force, pressed, pressed & ~slide, slide, striking, left, rounds, converged)


def _at_rest(robot, J, v, b):
    """Speeds (..., 1) below which points are at rest: small beside those of the problem, in any units."""
    reached = np.sqrt(robot.model.size * np.abs(b).max(-1, initial=0.0))
    summed = times(np.abs(J), np.abs(v)).max(-1, initial=0.0)
    return (SPEED * reached + ROUNDED * summed)[..., None]


def accelerations(G, b, mu, slip, closed, slipping):
    """Forces (..., n, 3) of contacts, of which some are open and some slide with velocity `slip`; their residuals (..., 3), rounds (...),
    and where they are solved. Samples in which the same contacts are closed and slide are solved together."""
    batch, n = closed.shape[:-1], closed.shape[-1]
    G, b, slip = (x.reshape(-1, *x.shape[len(batch) :]) for x in (G, b, slip))
    states = np.concatenate([closed, slipping], -1).reshape(-1, 2 * n)
    force, left, rounds, solved = np.zeros((len(b), n, 3)), np.zeros((len(b), 3)), np.zeros(len(b), int), np.ones(len(b), bool)
    for state in np.unique(states, axis=0):
        on, alike = np.flatnonzero(state[:n]), np.flatnonzero((states == state).all(-1))
        if len(on):
            rows = (3 * on[:, None] + np.arange(3)).ravel()
            directions = np.where(state[n:][on][:, None], slip[alike][:, on], 0.0)
            solution = solve_rows(G[alike][:, rows[:, None], rows], b[alike][:, rows], mu[on], slip=directions)
            force[alike[:, None], on], left[alike] = solution.contact, solution.residuals
            rounds[alike], solved[alike] = solution.rounds, solution.solved
    return force.reshape(*batch, n, 3), left.reshape(*batch, 3), rounds.reshape(batch), solved.reshape(batch)
