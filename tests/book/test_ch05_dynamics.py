"""Jain, chapter 5: accelerations and forces of a whole system, and the frames they may be referred to."""

import numpy as np
import pytest
from dense import close, every_bookish_system, every_system, over
from recursions import composite_inverse_dynamics
from zoo import Sweeps, spread

import linkwork as lw
from linkwork.lie.embedding import tilde as skew
from linkwork.spatial import bar, phi, phi_inverse, tilde
from linkwork.spatial.single_body import angular, gyroscopic_inertial
from linkwork.sweeps import inverse_dynamics, poses, velocities
from linkwork.systems.rigid import placements

STEP = 1e-30


def coriolis(op):
    """𝓒: the bias without gravity."""
    return (op.robot.bias(op.state.q, op.state.v) - op.robot.gravity_force(op.state.q))[..., None]


def acceleration(op):
    """α = φ* (H* θ̈ + a) (5.22)."""
    return op.phi.mT @ (op.H.mT @ op.vdot + op.a)


def blocks(op):
    """What the two inverse dynamics take, without gravity."""
    return op.blocks, op.rates._replace(base=np.zeros((6, 1))), op.tree.split(op.state.vdot)


def stepped(op, vdot=None):
    """T and V a step in the imaginary direction of time ahead, θ̇ changing with θ̈ if given."""
    sweeps, s = Sweeps(op.model, dtype=complex), op.state
    q = sweeps.integrate(s.q, 1j * STEP * s.v)
    v = s.v if vdot is None else s.v + 1j * STEP * vdot
    V = velocities(sweeps.nodes.blocks(q), op.tree.split(v), sweeps.nodes.still)
    return poses(op.tree, placements(sweeps.nodes, q), np.eye(4)), V


# --- Coriolis accelerations

PITCH = 0.3
z = np.array([0.0, 0, 1])
CLOSED_FORMS = {
    "pin": (lw.Revolute(), lambda w, v, r: (np.cross(w, r * z), np.cross(v, r * z))),
    "prismatic": (lw.Prismatic(), lambda w, v, r: (0 * w, np.cross(w, r * z))),
    "helical": (lw.Helical(pitch=PITCH), lambda w, v, r: (-np.cross(r * z, w), -np.cross(r * z, v + PITCH * w))),
}


@pytest.mark.parametrize("name", CLOSED_FORMS)
def test_coriolis_acceleration_of_hinges_with_one_velocity(name, rng):
    """a(k) = V~ H* θ̇ in components (5.16), (5.17) and the solution of exercise 5.1."""
    joint, closed = CLOSED_FORMS[name]
    V, rate = rng.standard_normal(6), rng.standard_normal()
    a = tilde(V) @ joint.group.basis.T @ [rate]
    close(a, np.concatenate(closed(V[:3], V[3:], rate)))


def test_coriolis_acceleration_of_a_cylindrical_hinge(rng):
    """a(k) = −[Δω~ ω; Δω~ v + Δv~ ω] (solution of exercise 5.1)."""
    V, (w, v) = rng.standard_normal(6), rng.standard_normal((2, 1)) * z
    a = tilde(V) @ np.concatenate([w, v])
    close(a, -np.concatenate([np.cross(w, V[:3]), np.cross(w, V[3:]) + np.cross(v, V[:3])]))


@every_system
def test_coriolis_acceleration_seen_from_the_inboard_link(op):
    """a = V~ Δ − Δ̄ Δ + (d_p H*/dt) θ̇ with d_p H* = Δ^ω~ H*, H* constant in its own frame (5.11)."""
    v, V = op.tree.split(op.state.v), op.slots(op.V)
    a = op.nodes.rates(op.blocks, op.state.v).a
    for k in range(op.n):
        delta = op.nodes.H[k].T @ v[k]
        turning = tilde(angular(delta)[..., 0]) @ delta
        close(a[k], tilde(V[k][..., 0]) @ delta - bar(delta[..., 0]) @ delta + turning)


@every_system
def test_spatial_acceleration_is_the_rate_of_the_components_of_the_velocity(op):
    """α = dV/dt, component by component in the body's frame (5.2)."""
    _, V = stepped(op, op.state.vdot)
    close(acceleration(op), op.column(V).imag / STEP)


@every_system
def test_a_hinge_on_the_world_has_no_coriolis_acceleration(op):
    """a = V~ V = 0, V being all its own."""
    for k, p in enumerate(op.tree.parent):
        if p == op.tree.world:
            close(op.slots(op.a)[k], np.zeros((2, 6, 1)))


# --- equations of motion


@every_system
def test_the_stacked_equations_of_motion(op):
    """α = φ* (H* θ̈ + a),  f = φ (M α + b),  T = H f (5.21) to (5.23)."""
    tau, alpha, f = inverse_dynamics(*blocks(op))
    close(op.column(alpha), acceleration(op))
    close(op.column(f), op.phi @ (op.M @ acceleration(op) + op.b))
    close(op.tree.join_rows(tau), op.H @ op.column(f) + op.armature @ op.vdot)


@every_system
def test_coriolis_forces(op):
    """𝓒 = H φ (M φ* a + b) (5.25)."""
    close(coriolis(op), op.H @ op.phi @ (op.M @ op.phi.mT @ op.a + op.b))


@every_system
def test_gyroscopic_forces_do_no_work(op):
    """V*(k) b(k) = 0 (remark 2.1)."""
    V, b = op.slots(op.V), op.slots(op.b)
    for k in range(op.n):
        close(V[k].mT @ b[k], np.zeros((2, 1, 1)))


@every_system
def test_forces_from_outside(op, rng):
    """T = 𝓜 θ̈ + 𝓒 − H φ f_ext (5.36)."""
    s, nodes = op.state, op.nodes
    f = np.zeros((2, 6 * op.n, 1))
    for i, (k, place) in enumerate(zip(nodes.on, nodes.places)):
        if k != op.tree.world:
            f[..., 6 * k : 6 * k + 6, :] += phi(place) @ s.external[..., i, :, None]
    pushed = op.robot.inverse_dynamics(s.q, s.v, s.vdot, s.external)
    close(pushed, op.robot.inverse_dynamics(s.q, s.v, s.vdot) - (op.H @ op.phi @ f)[..., 0])


# --- gravity, g upwards as in the book: minus the physical one


@every_system
def test_gravity_at_the_base_is_gravity_everywhere(op):
    """φ* E* g = Ē* g, g a pure translation (5.41)."""
    g = op.nodes.falling
    close(op.phi.mT @ op.E.mT @ g, op.E_bar.mT @ g)


@every_system
def test_gravity_as_an_acceleration_of_the_base_or_a_force_on_each_body(op):
    """T_g = H φ M φ* E* g = H φ M Ē* g (5.39), (5.40)."""
    g, force = op.nodes.falling, op.robot.gravity_force(op.state.q)[..., None]
    close(force, op.H @ op.phi @ op.M @ op.phi.mT @ op.E.mT @ g)
    close(force, op.H @ op.phi @ op.M @ op.E_bar.mT @ g)


# --- composite bodies


@every_system
def test_composite_body_forces(op):
    """f = R α + y,  y = φ [b + 𝓔 R (H* θ̈ + a)] (5.44)."""
    _, _, f = composite_inverse_dynamics(*blocks(op))
    y = op.phi @ (op.b + op.E_phi @ op.R @ (op.H.mT @ op.vdot + op.a))
    close(op.column(f), op.R @ acceleration(op) + y)
    close(op.R @ acceleration(op) + y, op.phi @ (op.M @ acceleration(op) + op.b))


@every_system
def test_composite_bodies_give_the_forces_of_newton_and_euler(op):
    """τ, α and f of Algorithm 5.3 are those of Algorithm 5.2, gravity and forces from outside included."""
    r = op.nodes.rates(op.blocks, op.state.v, external=op.state.external)
    moved = op.blocks, r, op.tree.split(op.state.vdot)
    for one, other in zip(inverse_dynamics(*moved), composite_inverse_dynamics(*moved)):
        for k in range(op.n):
            close(one[k], other[k])


@every_system
def test_composite_body_residuals(op):
    """y = 𝓔 y⁺ + b,  y⁺ = y + R (H* θ̈ + a) (5.45)."""
    y = op.phi @ (op.b + op.E_phi @ op.R @ (op.H.mT @ op.vdot + op.a))
    y_plus = y + op.R @ (op.H.mT @ op.vdot + op.a)
    close(y, op.E_phi @ y_plus + op.b)


# --- other frames


def shifted(op, shift):
    """E, φ, H, M, V of the frames B with Δ = diag φ(B, O) (5.28) to (5.30)."""
    back = np.linalg.inv(shift)
    return shift @ op.E_phi @ back, shift @ op.phi @ back, op.H @ back, shift @ op.M @ shift.mT, back.mT @ op.V


def gyroscopic(op, M, V):
    """b(k) = V̄(k) M(k) V(k), stacked."""
    return op.diagonal([bar(V_k[..., 0]) for V_k in op.slots(V).values()]) @ M @ V


@every_system
def test_body_frames_may_be_anywhere_on_the_bodies(op, rng):
    """𝓔_B = Δ 𝓔 Δ⁻¹, φ_B = Δ φ Δ⁻¹, H_B = H Δ⁻¹, M_B = Δ M Δ*: 𝓜 and 𝓒 stay (5.27) to (5.31), (5.18)."""
    shift = op.diagonal([phi(spread(rng).inverse().matrix) for _ in range(op.n)])
    E, phi_B, H, M, V = shifted(op, shift)
    close(phi_B, np.linalg.inv(op.I - E))
    close(H @ phi_B @ M @ phi_B.mT @ H.mT + op.armature, op.mass)
    a_B = np.linalg.inv(shift).mT @ op.a
    close(H @ phi_B @ (M @ phi_B.mT @ a_B + gyroscopic(op, M, V)), coriolis(op))


@every_system
def test_everything_may_be_referred_to_the_inertial_frame(op):
    """With Δ = diag φ(𝕀, O) all blocks of 𝓔 are identities; 𝓜 and 𝓒 stay, a_𝕀 = V_𝕀~ H_𝕀* θ̇ (5.47) to (5.66)."""
    shift = op.diagonal([phi(op.T[k]) for k in range(op.n)])
    E, phi_I, H, M, V = shifted(op, shift)
    for k, p in enumerate(op.tree.parent):
        if p != op.tree.world:
            close(E[op.at(p, k)], np.eye(6))
    close(H @ phi_I @ M @ phi_I.mT @ H.mT + op.armature, op.mass)
    a = op.diagonal([tilde(V_k[..., 0]) for V_k in op.slots(V).values()]) @ H.mT @ op.v
    close(H @ phi_I @ (M @ phi_I.mT @ a + gyroscopic(op, M, V)), coriolis(op), 1e-11)


@every_system
def test_the_rate_of_an_inertially_referred_hinge_map(op):
    """dH_𝕀*/dt = V_𝕀~ H_𝕀* (5.52), corrected: the rate of H* is taken in its own frame, where it is zero."""
    T, _ = stepped(op)
    V = op.slots(op.V)
    for k in range(op.n):
        H_I = phi_inverse(op.T[k]).mT @ op.nodes.H[k].T
        V_I = phi_inverse(op.T[k]).mT @ V[k]
        close((phi_inverse(T[k]).mT @ op.nodes.H[k].T).imag / STEP, tilde(V_I[..., 0]) @ H_I)


def extra(V):
    """V̄ V = [0; ω~ v]: what the inertial derivative of the velocity of a point has over the body's."""
    return bar(V[..., 0]) @ V


def inertial(op):
    """a_I(k) = a(k) + V̄ V(k) − φ*(p,k) V̄ V(p) (5.19)."""
    more = op.column({k: extra(V) for k, V in op.slots(op.V).items()})
    return op.a + more - op.E_phi.mT @ more, more


@every_system
def test_inertial_derivatives_give_the_acceleration_of_points(op):
    """α_I = φ* (H* θ̈ + a_I) = α + V̄ V, in world axes the rates of ω and of the origin's velocity (5.19), (2.19)."""
    a_I, more = inertial(op)
    alpha_I = op.phi.mT @ (op.H.mT @ op.vdot + a_I)
    close(alpha_I, acceleration(op) + more)
    T, V = stepped(op, op.state.vdot)
    alpha = op.slots(alpha_I)
    for k in range(op.n):
        R, moving = op.T[k][..., :3, :3], T[k][..., :3, :3]
        for part in slice(0, 3), slice(3, 6):
            close(R @ alpha[k][..., part, :], (moving @ V[k][..., part, :]).imag / STEP)


@every_system
def test_inertial_derivatives_give_the_same_coriolis_forces(op):
    """𝓒 = H φ (M φ* a_I + b_I), b_I = V^ω~ M V^ω (2.26)."""
    a_I, _ = inertial(op)
    V = op.slots(op.V)
    b_I = op.column({k: gyroscopic_inertial(op.nodes.M[k], V[k]) for k in range(op.n)})
    close(coriolis(op), op.H @ op.phi @ (op.M @ op.phi.mT @ a_I + b_I), 1e-11)


@over("floating", "free", "massless", "serial")
def test_newtonian_frames_are_equal(op, rng):
    """A constant velocity added to a free base changes no acceleration of joints, nor of points (remark 5.2)."""
    s, wind = op.state, rng.standard_normal(3)
    v = s.v.copy()
    v[..., 3:6] += op.T[0][..., :3, :3].mT @ wind
    still, moving = (op.robot.forward_dynamics(s.q, x, s.tau) for x in (s.v, v))
    close(moving[..., 6:], still[..., 6:], 1e-11)
    point = lambda x, xdot: xdot[..., 3:6] + (skew(x[..., :3]) @ x[..., 3:6, None])[..., 0]
    close(moving[..., :3], still[..., :3], 1e-11)
    close(point(v, moving), point(s.v, still), 1e-11)


@every_bookish_system
def test_columns_of_the_mass_matrix_are_accelerations_of_one_hinge(op):
    """𝓜 e = H φ M φ* H* e: the forces of a unit acceleration at rest (section 5.3.1)."""
    s = op.state
    still, unit = np.zeros_like(s.v), np.eye(op.robot.nv)
    column = op.robot.inverse_dynamics(s.q, still, unit[0]) - op.robot.gravity_force(s.q)
    close(column, op.mass[..., :, 0])
