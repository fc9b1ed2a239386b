"""From, part one: one rigid body on a group of motions. Angular parts come first here, last in the paper."""

import numpy as np
import pytest
from scipy.linalg import expm
from zoo import close, slope

import linkwork as lw
from linkwork import lie, spatial
from linkwork.equations import TABLE, Algebra, SingleBody
from linkwork.spatial.single_body import gyroscopic_body

every_group = pytest.mark.parametrize("group", TABLE.values(), ids=TABLE)
STEP = 1e-30


def solid(rng):
    """Mass, centre and tensor of eight particles."""
    parameters = spatial.inertia_parameters(spatial.point_masses(rng.uniform(0.5, 1, 8), rng.standard_normal((8, 3))))
    return dict(zip(("mass", "center", "tensor"), parameters))


@pytest.fixture
def body(group, rng):
    return SingleBody(group, **solid(rng), gravity=(1.0, -2.0, -9.0))


def moving(body, rng, shape=(4,)):
    """q, v, v̇ at random."""
    xi, v, vdot = rng.standard_normal((3, *shape, body.group.nv))
    return body.group.exp(xi), v, vdot


SELECTION = {  # rows of V = [ω; v] that move, from the paper's (62), (77), (88) and Table 1
    "SE(3)": (0, 1, 2, 3, 4, 5),
    "X(z)": (2, 3, 4, 5),
    "R^3": (3, 4, 5),
    "SE(2)": (2, 3, 4),
    "SO(3)": (0, 1, 2),
    "R^2": (3, 4),
    "R": (5,),
    "SO(2)": (2,),
}


@pytest.mark.parametrize("name", SELECTION)
def test_the_selection_matrix_picks_the_velocities_of_the_group(name):
    """H is made of columns of the identity; a screw has its pitch in one of them."""
    assert np.array_equal(SingleBody(name).H, np.eye(6)[:, SELECTION[name]])
    assert np.array_equal(SingleBody("H").H[:, 0], [0, 0, 1, 0, 0, TABLE["H"].pitch])


@every_group
def test_the_twist_is_h_v_and_the_inertia_h_i_h(group, body, rng):
    """Q⁻¹ Q̇ = (H v)^, and ½ v* M v is the energy of the twist."""
    q, v, _ = moving(body, rng)
    later = group.matrix(q + 1j * STEP * group.rate(q, v))
    V = (body.H @ v[..., None])[..., 0]
    close(np.linalg.inv(group.matrix(q)) @ np.imag(later) / STEP, lie.embedding.hat(V))
    close((v[..., None, :] @ body.M @ v[..., None])[..., 0, 0] / 2, spatial.kinetic_energy(body.inertia, V[..., None]))


@every_group
def test_the_swapped_matrix_is_the_dual_bracket(group, rng):
    """ãd_p v + ad*_v p = 0, ãd skew, for any p: not only for p = M v."""
    algebra = Algebra.of(group)
    v, p = rng.standard_normal((2, 5, group.nv))
    close(algebra.swapped(p) @ v[..., None] + group.ad(v).mT @ p[..., None], np.zeros((5, group.nv, 1)))
    close(algebra.swapped(p), -algebra.swapped(p).mT)
    close(algebra.ad(v), group.ad(v))


def test_the_swapped_matrices_are_the_published_ones():
    """As printed, with the angular part moved to the front."""
    p = np.arange(1.0, 7.0)
    n, f = map(lie.embedding.tilde, (p[:3], p[3:]))
    close(Algebra.of(lie.SE3).swapped(p), -np.block([[n, f], [f, np.zeros((3, 3))]]))
    close(Algebra.of(lie.SO3).swapped(p[:3]), -n)
    close(Algebra.of(lie.SE2).swapped(p[:3]), [[0, 3, -2], [-3, 0, 0], [2, 0, 0]])
    close(Algebra.of(lie.X).swapped(p[:4]), [[0, 3, -2, 0], [-3, 0, 0, 0], [2, 0, 0, 0], [0, 0, 0, 0]])
    for group in (lie.R(3), lie.R(2), lie.R(1), lie.SO2, lie.Helical(0.3)):
        assert not Algebra.of(group).constants.any()


@every_group
@pytest.mark.parametrize("size", [0.0, 1e-9, 1e-4, 1.0, 2.0])
def test_the_matrix_s_is_its_series_and_the_rate_of_the_logarithm(group, size, rng):
    """S = I - ad/2 + ad²/6 - ..., and v = S(φ) φ̇ where Q⁻¹ Q(t) = exp φ(t)."""
    phi = rng.standard_normal((3, group.nv))
    phi = size * phi / np.linalg.norm(phi, axis=-1, keepdims=True)
    close(group.S(phi), Algebra.of(group).S(phi))
    v = rng.standard_normal((3, group.nv))
    q = group.exp(phi)
    rate = slope(lambda t: group.log(group.compose(q, group.exp(t * v))))
    close((group.S(phi) @ rate[..., None])[..., 0], v, 1e-8)


@every_group
def test_the_closed_form_of_the_coriolis_matrix_is_its_definition(group, body, rng):
    """ãd_{Mv} = Σₖ (∂S_ki/∂φ_j - ∂S_kj/∂φ_i)(Mv)_k at φ = 0."""
    _, v, _ = moving(body, rng)
    close(body.C(v), body.C_from_definition(v))
    derivatives = np.imag(group.S(1j * STEP * np.eye(group.nv))) / STEP  # of the group's own S
    close(np.moveaxis(derivatives, 0, -1), body.algebra.S_derivatives())


@every_group
def test_the_equation_is_newtons_and_eulers(group, body, rng):
    """M v̇ + C v = H* (I V̇ + V̄ I V), V = H v."""
    _, v, vdot = moving(body, rng)
    V, Vdot = body.H @ v[..., None], body.H @ vdot[..., None]
    wrench = body.inertia @ Vdot + gyroscopic_body(body.inertia, V)
    close(body.M @ vdot[..., None] + body.C(v) @ v[..., None], body.H.T @ wrench)


@every_group
def test_the_equation_of_a_body_is_that_of_dynamics(group, rng):
    """M v̇ + C v + N = τ, both ways, against a Model of one body on that joint."""
    joints = {
        "SE(3)": lw.Free(), "X(z)": lw.Schoenflies(), "R^3": lw.Translation(), "SE(2)": lw.Planar(), "SO(3)": lw.Spherical(),
        "R^2": lw.PlanarTranslation(), "R": lw.Prismatic(), "H": lw.Helical(pitch=0.1), "SO(2)": lw.Revolute(),
    }  # fmt: skip
    name = next(name for name in TABLE if TABLE[name] is group)
    substance, gravity = solid(rng), (1.0, -2.0, -9.0)
    model = lw.Builder("one", gravity).body("body", joint=joints[name], **substance).model()
    robot, one = lw.Dynamics(model, compiled=False), SingleBody(group, **substance, gravity=gravity)
    q, v = robot.random_state((5,), seed=2)
    vdot = rng.standard_normal(v.shape)
    tau = one.inverse_dynamics(q, v, vdot)
    close(tau, robot.inverse_dynamics(q, v, vdot))
    close(one.forward_dynamics(q, v, tau), vdot, 1e-11)
    close(one.N(q), robot.gravity_force(q))


def test_eulers_equations_hold_for_principal_axes():
    """I_x ω̇_x - (I_y - I_z) ω_y ω_z = τ_x and so on (2)-(4)."""
    Ix, Iy, Iz = moments = 2.0, 3.0, 4.5
    top = SingleBody("SO(3)", tensor=moments)
    (x, y, z), wdot = w, _ = np.array([0.3, -1.2, 0.7]), np.array([0.5, 0.1, -0.4])
    euler = [Ix * wdot[0] - (Iy - Iz) * y * z, Iy * wdot[1] - (Iz - Ix) * z * x, Iz * wdot[2] - (Ix - Iy) * x * y]
    close(top.inverse_dynamics(np.array([0, 0, 0, 1.0]), w, wdot), euler)


def test_kirchhoffs_equations_hold(rng):
    """d/dt ∂K/∂ω = ∂K/∂ω × ω + ∂K/∂u × u + τ_ω,  d/dt ∂K/∂u = ∂K/∂u × ω + τ_u  (9)-(10), for any quadratic K."""
    A = rng.standard_normal((6, 6))
    M = A @ A.T  # with added mass, as in water: of no rigid body
    v, vdot = rng.standard_normal((2, 6))
    p, w, u = M @ v, v[:3], v[3:]
    kirchhoff = M @ vdot - np.concatenate([np.cross(p[:3], w) + np.cross(p[3:], u), np.cross(p[3:], w)])
    close(M @ vdot + Algebra.of(lie.SE3).coriolis(M, v) @ v, kirchhoff)


@every_group
def test_both_forms_of_the_theorem_agree_on_every_group(group, rng):
    """M v̇ - ad*_v M v = M v̇ + ãd_{Mv} v (107), (108)."""
    A = rng.standard_normal((group.nv, group.nv))
    M, (v, vdot) = A @ A.T, rng.standard_normal((2, 5, group.nv))
    algebra = Algebra.of(group)
    close(algebra.force(M, v, vdot), (M @ vdot[..., None] + algebra.coriolis(M, v) @ v[..., None])[..., 0])


def test_both_forms_of_the_theorem_agree_on_random_matrix_groups(rng):
    """sl(3) in a random basis, nothing to do with motions: (107) = (108) = (109), and energy is kept."""
    E = rng.standard_normal((8, 3, 3))
    E -= np.trace(E, axis1=1, axis2=2)[:, None, None] * np.eye(3) / 3
    algebra = Algebra.of_matrices(E, "sl(3)")
    A = rng.standard_normal((8, 8))
    M, (v, w) = A @ A.T, rng.standard_normal((2, 8))
    close(algebra.ad(v) @ w @ E.reshape(8, 9), (lambda x, y: x @ y - y @ x)(*np.tensordot([v, w], E, 1)).reshape(9), 1e-11)
    close(algebra.coriolis(M, v) @ v, -algebra.ad(v).T @ M @ v)
    close(algebra.coriolis(M, v), algebra.coriolis_from_definition(M, v))
    close(v @ algebra.coriolis(M, v) @ v, 0.0, 1e-10)


def test_the_matrix_s_of_random_matrix_groups_is_its_series(rng):
    """exp(-φ) d/dt exp(φ) = (S(φ) φ̇)^ for a group given by its structure constants alone."""
    E = rng.standard_normal((3, 2, 2))
    E -= np.trace(E, axis1=1, axis2=2)[:, None, None] * np.eye(2) / 2
    algebra = Algebra.of_matrices(E, "sl(2)")
    phi, rate = rng.standard_normal((2, 3)) / 5
    Q = [expm(np.tensordot(phi + h * rate, E, 1)) for h in (-1e-4, 1e-4)]
    velocity = expm(-np.tensordot(phi, E, 1)) @ (Q[1] - Q[0]) / 2e-4
    close(np.tensordot(algebra.S(phi) @ rate, E, 1), velocity, 1e-7)


def test_the_formula_of_the_earlier_literature_is_not_newtons_and_eulers(rng):
    """-ad*_{Mv} v ≠ ãd_{Mv} v, wherever order matters; on SO(3) only the sign is wrong, on SE(3) no sign puts it right."""
    for name, group in TABLE.items():
        body = SingleBody(name, **solid(rng))
        v = rng.standard_normal(group.nv)
        right, earlier = body.C(v) @ v, body.algebra.coriolis_of_earlier_literature(body.M, v) @ v
        assert (np.abs(earlier - right).max() > 1e-2) == (name in ("SE(3)", "SE(2)", "X(z)", "SO(3)")), name
        assert (np.abs(earlier + right).max() > 1e-2) == (name in ("SE(3)", "SE(2)", "X(z)")), name


def test_an_algebra_is_checked():
    with pytest.raises(lw.ModelError, match=r"c\[k, i, j\] ≠ -c\[k, j, i\]"):
        Algebra(np.ones((2, 2, 2)), "odd")
    c = np.zeros((3, 3, 3))
    c[0, 0, 1] = c[1, 1, 2] = c[2, 2, 0] = 1
    with pytest.raises(lw.ModelError, match="Jacobi"):
        Algebra(c - c.mT, "odd")
    with pytest.raises(lw.ModelError, match="do not lie in their span"):
        Algebra.of_matrices(np.array([[[0, 1], [0, 0]], [[0, 0], [1, 0]]]), "half of sl(2)")
    with pytest.raises(lw.ModelError, match=r"there are SE\(3\), X"):
        SingleBody("SE(4)")
