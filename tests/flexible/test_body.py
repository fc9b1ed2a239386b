"""Flexible bodies by themselves: modes, inertia, frames."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse

import linkwork as lw
from linkwork import spatial
from linkwork.errors import ModelError, ModelWarning, UnknownNameError
from linkwork.flexible import BeamElements
from linkwork.flexible.data import as_data, from_data
from linkwork.flexible.finite_elements import rigid_motions

from .dense import frame, twist

PLAIN = {"EA": 1e6, "GJ": 1.0, "EIy": 1.0, "EIz": 1.0, "rhoA": 1.0}
THICK = {"EA": 1e3, "GJ": 7.0, "EIy": 10.0, "EIz": 20.0, "rhoA": 1.0, "rhoIy": 1e-2, "rhoIz": 2e-2, "GAy": 300.0, "GAz": 400.0}
CANTILEVER = np.array([1.875104068711961, 4.694091132974175, 7.854757438237613, 10.995540734875467, 14.137168391046471]) ** 2


def elastic(p, d, rng):
    """A stiffness of nodes that rigid motions do not strain."""
    B, A = np.linalg.qr(rigid_motions(p, d))[0], rng.standard_normal((d * len(p), d * len(p)))
    A -= B @ (B.T @ A)
    return A @ A.T


def displaced(K):
    """Masses and a stiffness with displacements before rotations, as many programs have them."""
    order = np.arange(len(K)).reshape(-1, 2, 3)[:, ::-1].ravel()
    return np.eye(len(K)), K[np.ix_(order, order)]


@pytest.mark.parametrize(
    ("options", "tolerance"), [({"count": 5}, 1e-6), ({"count": 10, "modes": "craig-bampton", "interfaces": ["tip"]}, 2e-4)]
)
def test_a_cantilever_has_its_frequencies(options, tolerance):
    """ω = (βL)² √(EI/ρAL⁴), cos βL cosh βL = −1."""
    body = lw.FlexibleBody.beam(1.0, PLAIN, elements=80, directions="y", **options)
    assert np.allclose(2 * np.pi * body.frequencies[:5] / CANTILEVER, 1, atol=tolerance, rtol=0)


def test_a_free_beam_has_its_frequencies():
    """cos βL cosh βL = 1."""
    body = lw.FlexibleBody.beam(1.0, PLAIN, elements=60, directions="z", modes="free", count=3, root=False)
    assert np.allclose(2 * np.pi * body.frequencies, np.array([4.730040744862704, 7.853204624095838, 10.995607838001671]) ** 2, rtol=1e-6)


def test_a_short_beam_is_softened_by_shear_and_rotary_inertia():
    """Timoshenko's cantilever: frequencies of the exact equation, ψ' = −..., by shooting."""
    EI, GA, rhoA, rhoI = 1.0, 30.0, 1.0, 0.01
    section = {"EA": 1e4, "GJ": 1.0, "EIy": EI, "EIz": EI, "rhoA": rhoA, "rhoIy": rhoI, "rhoIz": rhoI, "GAy": GA, "GAz": GA}
    body = lw.FlexibleBody.beam(1.0, section, elements=60, directions="y", count=2)

    def left(w):
        """[w, ψ, M, Q]: w' = ψ + Q/GA, ψ' = M/EI, M' = −Q − ρI ω² ψ, Q' = −ρA ω² w; clamped at 0, free at 1."""
        A = np.array([[0, 1, 0, 1 / GA], [0, 0, 1 / EI, 0], [0, -rhoI * w**2, 0, -1], [-rhoA * w**2, 0, 0, 0]])
        return np.linalg.det(scipy.linalg.expm(A)[2:, 2:])

    for w in 2 * np.pi * body.frequencies:
        assert left(w * (1 - 1e-4)) * left(w * (1 + 1e-4)) < 0
    assert body.frequencies[0] < lw.FlexibleBody.beam(1.0, section, directions="y", count=1, shear=False, rotary=False).frequencies[0]


def test_rigid_motions_strain_nothing():
    """K_st B* = 0                                                                       Jain (13.40)."""
    mesh = BeamElements(np.linspace(0, 1.3, 7), THICK)
    assert np.abs(mesh.K @ rigid_motions(mesh.positions, 6)).max() < 1e-12 * np.abs(mesh.K).max()


@pytest.mark.parametrize("keep", ["second", "all", "cut"])
def test_inertia_without_deformation_is_that_of_the_finite_elements(keep):
    """M_fl(0) = [Π, B*]* M [Π, B*]                                                      Jain (13.26), (13.27)."""
    mesh = BeamElements(np.linspace(0, 1.3, 5), THICK)
    Phi = scipy.linalg.eigh(mesh.K, mesh.M)[1][:, 6:10]
    body = mesh.body(Phi, {"root": 0, "tip": 4}, (), 0.0, keep, True)
    whole = np.concatenate([Phi, rigid_motions(mesh.positions, 6)], 1)
    assert np.allclose(body.undeformed, whole.T @ mesh.M @ whole, atol=1e-12)


@pytest.mark.parametrize("keep", ["second", "all", "cut"])
def test_forces_of_velocities_follow_from_the_energy(keep, rng):
    """b = Ṁ X + [−½ ∂(X* M X)/∂η; V̄ (M X)_V], N X = b, N + N* = Ṁ."""
    body = lw.FlexibleBody.beam(1.3, THICK, elements=4, count=4, keep=keep)
    n, eta, X = body.n, 0.1 * rng.standard_normal(body.n), rng.standard_normal((body.n + 6, 1))
    b, N = body.bias(eta, X) - np.concatenate([body.elastic(eta), np.zeros((6, 1))]), body.gyroscopic(eta, X)
    slope = np.stack([body.inertia(eta + 1e-30j * e).imag / 1e-30 for e in np.eye(n)])
    rate, h = np.tensordot(X[:n, 0], slope, 1), (body.inertia(eta) @ X)[n:]
    energy = np.array([-0.5 * (X.T @ s @ X).item() for s in slope])
    lagrange = rate @ X + np.concatenate([energy[:, None], spatial.bar(X[n:, 0]) @ h])
    assert np.allclose(b, lagrange, atol=1e-11)
    assert np.allclose(N @ X, b, atol=1e-11)
    assert np.allclose(N + N.T, rate, atol=1e-11)


def test_kinetic_energy_is_the_sum_over_nodes(rng):
    """½ X* M X = Σ ½ m |v + ω × r + ṙ|² + ½ ω_j* J_j ω_j of rigid nodes with offset masses, to the second degree: small η."""
    count, n = 6, 4
    p = rng.standard_normal((count, 3))
    inertias = np.stack(
        [spatial.inertia(np.array(m), rng.standard_normal(3) / 5, np.diag([0.2, 0.3, 0.4])) for m in rng.uniform(1, 2, count)]
    )
    K = elastic(p, 6, rng)
    body = lw.FlexibleBody.of_nodes(p, inertias, K, modes="cantilever", count=n, frames={f"n{i}": i for i in range(count)}, keep="all")
    X = rng.standard_normal((n + 6, 1))
    eta = 1e-5 * rng.standard_normal(n)
    total = 0.0
    for i in range(count):
        name = f"n{i}" if i else "n0"
        at, T = body.frames[name], frame(body.frames[name], eta)
        V = spatial.phi(T).T @ X[n:] + at.map(eta) @ X[:n]
        total += 0.5 * (V.T @ inertias[i] @ V).item()
    assert np.isclose(0.5 * (X.T @ body.inertia(eta) @ X).item(), total, rtol=1e-8)


def test_a_consistent_mass_matrix_of_solid_elements_is_taken_as_it_is(rng):
    """T = ½ Σ m_ij v_i · v_j with v_i = v + ω × r_i + Π_i η̇ at any deformation, of m ⊗ I₃."""
    count = 9
    p, L = rng.standard_normal((count, 3)), rng.standard_normal((count, count))
    m, K = L @ L.T + count * np.eye(count), elastic(p, 3, rng)
    M = scipy.sparse.csr_array(np.kron(m, np.eye(3)))
    body = lw.FlexibleBody.of_matrices(M, K, p, root=[0, 1, 2], frames={"end": [6, 7, 8]}, count=3)
    Phi = scipy.linalg.eigh(K[9:, 9:], M.toarray()[9:, 9:])[1][:, :3]
    eta, X = rng.standard_normal(3), rng.standard_normal((9, 1))
    move = np.concatenate([np.zeros((9, 3)), Phi * np.sign(Phi[np.abs(Phi).argmax(0), range(3)])]).reshape(count, 3, 3)
    v = X[6:, 0] + np.cross(X[3:6, 0], p + move @ eta) + move @ X[:3, 0]
    assert np.isclose((X.T @ body.inertia(eta) @ X).item(), np.einsum("ix,ij,jx", v, m, v), rtol=1e-10)


def test_six_freedoms_a_node_are_exact_without_deformation():
    """The consistent matrices of a beam: M_fl(0) and frequencies as from its own samples."""
    mesh = BeamElements(np.linspace(0, 1.3, 9), THICK)
    own = lw.FlexibleBody.beam(1.3, THICK, elements=8, count=4)
    for rotations, order in (("first", slice(None)), ("last", np.arange(54).reshape(9, 2, 3)[:, ::-1].ravel())):
        M, K = (scipy.sparse.csr_array(x[order][:, order]) for x in (mesh.M, mesh.K))
        body = lw.FlexibleBody.of_matrices(M, K, mesh.positions, count=4, frames={"tip": 8}, rotations=rotations)
        assert np.allclose(body.undeformed, own.undeformed, atol=1e-10)
        assert np.allclose(np.abs(body.frames["tip"].linear), np.abs(own.frames["tip"].linear), atol=1e-9)
        assert not body.stiffens and "no stiffening" in repr(body)


def test_places_of_sections_are_those_of_the_rod_to_the_second_order(rng):
    """R' = R κ~, r' = R (e + γ) integrated: the error of a tip falls with the cube of η."""
    mesh = BeamElements(np.linspace(0, 1.3, 4), THICK)
    Phi = scipy.linalg.eigh(mesh.K, mesh.M)[1][:, 6:13]
    body, eta, errors = mesh.body(Phi, {"root": 0, "tip": 3}, (), 0.0, "second", True), rng.standard_normal(7), []
    cells = np.linspace(0, 1, 41)
    gauss = 0.5 + np.array([-1, 1]) * 3**0.5 / 6
    for size in (0.02, 0.01):
        exact = frame(body.frames["root"], size * eta)
        for e in range(3):
            mesh.s = np.concatenate([a + gauss * (b - a) for a, b in pairwise(cells)])
            strain = mesh.shapes(e) @ Phi[6 * e : 6 * e + 12] @ (size * eta)
            for k in range(40):
                mean = strain[2 * k : 2 * k + 2, 6:].mean(0) + np.array([0, 0, 0, 1, 0, 0])
                exact = exact @ scipy.linalg.expm(twist(mean * mesh.h[e] / 40))
        errors.append(np.abs(exact - frame(body.frames["tip"], size * eta)).max())
    assert errors[0] < 5e-3
    assert 6.5 < errors[0] / errors[1] < 9.5


def test_a_frame_moves_as_its_map_says(rng):
    """Λ η̇ is the velocity of the frame, Λ̇ its rate; R stays a rotation."""
    body = lw.FlexibleBody.beam(1.3, THICK, elements=4, count=5, frames={"mid": 0.5})
    at, eta, rate, h = body.frames["mid"], 0.1 * rng.standard_normal(5), rng.standard_normal(5), 1e-6
    T = at.place(eta)
    W = np.linalg.inv(T) @ (at.place(eta + h * rate) - at.place(eta - h * rate)) / (2 * h)
    assert np.allclose([W[2, 1], W[0, 2], W[1, 0], *W[:3, 3]], at.map(eta) @ rate, atol=1e-8)
    slope = (at.map(eta + h * rate) - at.map(eta - h * rate)) / (2 * h)
    assert np.allclose(slope, at.map_rate(eta, rate[:, None], np.eye(5)), atol=1e-7)
    assert np.allclose(T[:3, :3] @ T[:3, :3].T, np.eye(3), atol=1e-14)


def test_modes_that_lose_their_inertia_where_they_bend_far_move_where_they_do_not():
    """keep="cut" with four modes is indefinite at large deflections; at rest v̇ = 𝓜⁻¹ τ all the same."""
    body = lw.FlexibleBody.beam(1.0, {"EIy": 1.0, "EIz": 1.0, "rhoA": 1.0}, elements=40, directions="y", count=4, keep="cut")
    robot = lw.Dynamics(lw.Builder("r", gravity=(0, 0, 0)).flexible("blade", body, joint=lw.Revolute()).model(), compiled=False)
    q, tau = robot.neutral(), np.arange(5.0)
    np.testing.assert_allclose(robot.forward_dynamics(q, np.zeros(5), tau), np.linalg.solve(robot.mass_matrix(q), tau), rtol=1e-9)


def test_the_inertia_stays_positive_where_the_polynomial_does_not():
    """ "second" is a sum of squares; "cut" with 6 modes becomes indefinite below a deflection of 10 % of the length."""
    least = {}
    for keep in ("second", "cut"):
        body = lw.FlexibleBody.beam(1.0, PLAIN, elements=20, directions="y", count=6, keep=keep)
        eta = np.zeros(6)
        eta[0] = 0.15 / np.abs(body.frames["tip"].linear[4, 0])
        M = body.inertia(eta)
        keep_rows = [0, 1, 2, 3, 4, 5, 8]  # of the modes, and of rotation about z
        least[keep] = np.linalg.eigvalsh(M[np.ix_(keep_rows, keep_rows)])[0]
    assert least["second"] > 0 > least["cut"]


def test_modes_are_chosen_by_frequency():
    body = lw.FlexibleBody.beam(1.0, PLAIN, directions="yz", up_to=10.0)
    assert body.n == 6
    assert body.frequencies[-1] <= 10.0


def test_a_body_can_be_written_and_read():
    body = lw.FlexibleBody.beam(1.3, THICK, elements=4, count=3, damping=[0.01, 0.02, 0.03])
    again = from_data(as_data(body))
    assert again == body
    assert hash(again) == hash(body)
    assert np.array_equal(again.undeformed, body.undeformed)


def test_a_tapered_beam_is_stiffer_at_its_root():
    taper = lambda x: lw.sections.rectangle(0.02 - 0.01 * x, 0.02, lw.sections.STEEL)
    straight, tapered = (lw.FlexibleBody.beam(1.0, s, elements=30, directions="y", count=1) for s in (taper(0), taper))
    assert tapered.frequencies[0] > straight.frequencies[0]
    assert np.isclose(tapered.mass, 7850 * 0.02 * 0.015, rtol=1e-3)


BAD = [
    ({"count": 4, "modes": "cantilevr"}, 'Did you mean "cantilever"'),
    ({}, "count="),
    ({"count": 500}, "more finite elements or fewer modes"),
    ({"up_to": 1e-3}, "the first has"),
    ({"count": 2, "keep": "some"}, "second, all, cut"),
    ({"count": 2, "damping": -1.0}, "not negative"),
    ({"count": 2, "directions": "q"}, 'letters of "xyzt"'),
    ({"count": 2, "modes": "craig-bampton"}, "interfaces="),
    ({"count": 2, "interfaces": ["tip"]}, "too few for its interfaces"),
    ({"count": 2, "frames": {"far": 7.0}}, "7.0 m of a beam"),
    ({"count": 2, "interfaces": ["tipp"]}, "no interface"),
    ({"count": 2, "frames": {"root": 0.3}}, '"root" is an end of the beam'),
    ({"count": 1, "modes": np.ones((126, 2))}, "not orthogonal"),
    ({"modes": np.ones((126, 2)), "orthogonalize": True}, "linearly dependent"),
]


@pytest.mark.parametrize(("options", "said"), BAD)
def test_what_is_wrong_with_a_beam_is_said(options, said):
    with pytest.raises(ModelError, match=said):
        lw.FlexibleBody.beam(1.0, THICK, **options)


@pytest.mark.parametrize(("direction", "needed"), [("x", "EA"), ("t", "GJ")])
def test_numbers_of_a_section_that_a_direction_needs_are_asked_for(direction, needed):
    numbers = {x: y for x, y in THICK.items() if x != needed}
    with pytest.raises(ModelError, match=f'needs {needed}.*leave "{direction}" out'):
        lw.FlexibleBody.beam(1.0, numbers, directions=direction, count=1)


def test_interfaces_are_named_in_the_same_way_of_beams_and_of_matrices():
    mesh = BeamElements(np.linspace(0, 1, 6), THICK)
    options = {"modes": "craig-bampton", "count": 2}
    own = lw.FlexibleBody.beam(1.0, THICK, elements=5, interfaces="tip", **options)
    for given in ({"interfaces": {"tip": 5}}, {"interfaces": ["tip"], "frames": {"tip": 5}}, {"interfaces": "tip", "frames": {"tip": 5}}):
        body = lw.FlexibleBody.of_matrices(mesh.M, mesh.K, mesh.positions, **given, **options)
        assert np.allclose(body.frequencies, own.frequencies)


def test_makers_are_functions_however_often_they_are_asked_for():
    import linkwork.flexible

    for _ in range(2):
        assert callable(linkwork.flexible.beam) and callable(linkwork.flexible.of_matrices)


def test_wrong_matrices_are_named_with_the_remedy(rng):
    p, M = rng.standard_normal((3, 3)), np.ones(3)
    K = elastic(p, 6, rng)
    upper = np.triu(K)
    for wrong, said in (
        (lambda: lw.FlexibleBody.of_nodes(p, M, upper, count=1), "not symmetric.*one triangle"),
        (lambda: lw.FlexibleBody.of_nodes(p, M, -K, count=1), "indefinite"),
        (lambda: lw.FlexibleBody.of_nodes(p, M, K, count=1), "singular.*rotary inertia"),
        (lambda: lw.FlexibleBody.of_nodes(p, [np.eye(6)] * 3, 1e18 * K, count=1), "check the units"),
        (lambda: lw.FlexibleBody.of_nodes(p, [np.eye(6)] * 3, K[:5, :5], count=1), "18 freedoms"),
        (lambda: lw.FlexibleBody.of_nodes(p, [np.nan] * 3, K, count=1), "inertias"),
        (lambda: lw.FlexibleBody.of_matrices(np.eye(9), K[:9, :9], p, count=1), "three nodes or more"),
        (lambda: lw.FlexibleBody.of_nodes(p, [np.eye(6)] * 3, K, count=1, root=None), 'modes="free"'),
        (lambda: lw.FlexibleBody.of_nodes(p, [np.eye(6)] * 3, K, count=1, frames={"a": 9}), "nodes 0 to 2"),
        (lambda: lw.FlexibleBody.of_nodes(p, [np.eye(6)] * 3, K, count=1, root="a"), "nodes 0 to 2"),
        (lambda: lw.FlexibleBody.of_nodes(p, [np.eye(6)] * 3, K, count=1, interfaces=["tip"], frames={"top": 2}), 'interface "tip".*top'),
        (lambda: lw.FlexibleBody.of_nodes(p, [np.eye(6)] * 3, scipy.sparse.csr_array(-K), count=1), "indefinite"),
        (lambda: lw.FlexibleBody.of_nodes(p, [np.eye(6)] * 3, K, modes=rigid_motions(p, 6)[:, 3:]), "0, 1, 2.*rigid body, which its joint"),
        (lambda: lw.FlexibleBody.of_nodes(1e3 * p, [np.eye(6)] * 3, K, count=1), "resists a rigid motion.*unit of the positions"),
        (lambda: lw.FlexibleBody.of_matrices(*displaced(K), p, count=1), 'resists a rigid motion.*rotations="last"'),
        (lambda: lw.FlexibleBody.of_nodes(p, [np.eye(6)] * 3, K + np.eye(18), count=1), "resists a rigid motion.*supports"),
    ):
        with pytest.raises(ModelError, match=said):
            wrong()
    with pytest.raises(UnknownNameError, match='Did you mean "tip"'):
        lw.FlexibleBody.beam(1.0, THICK, count=1).attachment("tipp")


def test_stiffness_in_other_units_is_told_of():
    """A first frequency below 1e-3 Hz, in the line that made the body."""
    wrong = {name: value * (1e-9 if name[0] in "EG" else 1) for name, value in THICK.items()}
    with pytest.warns(ModelWarning, match="moduli in Pa") as said:
        body = lw.FlexibleBody.beam(1.3, wrong, elements=4, count=2)
    assert body.frequencies[0] < 1e-3
    assert said[0].filename == __file__
    mesh = BeamElements(np.linspace(0, 1.3, 5), wrong)
    with pytest.warns(ModelWarning, match="first frequency") as said:
        lw.FlexibleBody.of_matrices(mesh.M, mesh.K, mesh.positions, count=2)
    assert said[0].filename == __file__


def test_moduli_in_gigapascal_are_told_of():
    """Of every beam, lumped ones too, and where the first frequency is not low."""
    with pytest.warns(ModelWarning, match="E = 210 Pa.*1 GPa is 1e9") as said:
        lw.sections.Material(E=210.0, nu=0.3, rho=7850.0)
    assert said[0].filename == __file__
