"""Rates and sensitivities of operators are what an imaginary step makes of their matrices, whatever the joints and the expression."""

import numpy as np
import pytest
from systems.models import gear_train
from zoo import MECHANISMS, close, plain, planar_2r, slope, state

import linkwork as lw
from linkwork.engine.loading.interpreter import run
from linkwork.errors import ModelError, OptionError, ShapeError, UnknownNameError
from linkwork.operators import SKO, NoRuleError, geared, operators, rigid, velocities_of_all, with_elastic_gears
from linkwork.systems import Producer, lower
from linkwork.systems.gears import gears

LETTERS = "H", "φ", "φ~", "𝓔φ", "M", "armature", "R", "P", "P⁺", "D", "G", "K", "ψ", "ψ~", "𝓔ψ", "Υ", "Ω", "B"
EXPRESSIONS = (
    "D⁻¹", "H φ M φ* H* + armature", "(I − H ψ K)* D⁻¹ (I − H ψ K)", "I + H φ K", "ψ* H* D⁻¹ H ψ", "−φ~ R + R φ~* − M",
    "K* ψ* G − H ψ~ K", "(φ − ψ)* M⁻¹ (φ − ψ)", "φ* H* D⁻¹ H φ",
)  # fmt: skip
KINDS = "tree", "floating", "free", "spherical", "planar", "compound", "schoenflies", "geared", "forest", "welded"
STEP = 1e-30


def expected_rate(model, q, v, text, made=lambda sko: sko):
    """The rate of the matrix of an expression, from a step along v in the imaginary direction: exact to rounding."""
    nodes = lower(model, dtype=complex)
    moved = lw.quantities.integrate(nodes, q, 1j * STEP * v)
    return np.imag(made(rigid(nodes, moved)).operators(text).dense()) / STEP


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(), (3,)], ids=str)
def test_a_rate_is_that_of_the_matrix(kind, shape):
    """Ȧ = d/dt A(q ∘ exp(t v)) of every letter and of expressions."""
    model = MECHANISMS[kind]
    s = state(plain(model), shape)
    op = rigid(lower(model), s.q, s.v).operators
    for text in LETTERS + EXPRESSIONS:
        if "M⁻¹" in text and kind in ("compound", "geared", "tree", "forest", "welded"):
            continue  # some nodes have no mass of their own
        close(op.rate(op(text), s.v).dense(), expected_rate(model, s.q, s.v, text), 1e-10)


@pytest.mark.parametrize("kind", ["tree", "floating", "compound"])
def test_a_rate_is_the_sum_of_sensitivities(kind):
    """Ȧ = Σ ∂A/∂q_i v_i (18.26)."""
    robot = plain(MECHANISMS[kind])
    s = state(robot)
    op = robot.operators(s.q, s.v)
    for text in ("φ", "P", "ψ", "Υ", "(I − H ψ K)* D⁻¹ (I − H ψ K)"):
        A = op(text)
        parts = [op.sensitivity(A, i).dense() * s.v[i] for i in range(robot.nv)]
        close(sum(parts), op.rate(A).dense(), 1e-10)


def test_a_velocity_is_named_by_its_joint_and_axis():
    robot = plain(MECHANISMS["floating"])
    s = state(robot)
    op = robot.operators(s.q)
    for joint in robot.joints:
        own = range(robot.nv)[robot.v_index(joint)]
        for axis, i in enumerate(own):
            more = () if len(own) == 1 else (axis,)
            close(op.sensitivity(op.mass_matrix, joint, *more).dense(), robot.mass_matrix_derivative(s.q)[..., i])
    assert str(op.sensitivity(op.phi, "joint0", 5)) == "φ~ H̄_joint0[5] φ"
    assert str(op.sensitivity(op.P, "joint1")) == "P_joint1"


@pytest.mark.parametrize("text, printed", [
    ("φ", "φ~ Δ̄ φ"),
    ("H", "0"),
    ("φ*", "φ* Δ̄* φ~*"),
    ("P", "Ṗ"),
    ("D⁻¹", "−D⁻¹ H Ṗ H* D⁻¹"),
    ("G", "(I − G H) Ṗ H* D⁻¹"),
    ("M − R", "−Ṙ"),
    ("H φ M φ* H* + armature", "H φ~ Δ̄ φ M φ* H* + H φ M φ* Δ̄* φ~* H*"),
])  # fmt: skip
def test_rates_print_as_the_book_writes_them(text, printed):
    op = operators(planar_2r(), np.zeros(2), np.ones(2))
    assert str(op.rate(op(text))) == printed


def test_numbers_stay_in_front():
    op = operators(planar_2r(), np.zeros(2), np.ones(2))
    assert str(op.rate(2 * op.phi)) == "2 φ~ Δ̄ φ"
    assert str(op.rate(op.H @ op.psi @ op.G @ op.D.inv())).endswith("− H ψ G D⁻¹ H Ṗ H* D⁻¹")


def test_what_does_not_change_is_an_operator_too(rng):
    """0 x = 0, 0* = 0 of the other shape, A + 0 = A."""
    robot = plain(MECHANISMS["tree"])
    s = state(robot)
    op = robot.operators(s.q, s.v)
    zero, x = op.rate(op.H), rng.standard_normal(op.H.shape[1])
    close(zero @ x, np.zeros(robot.nv))
    assert zero.T.shape == op.H.T.shape and zero.T.dense().shape == op.H.T.shape
    close((zero + op.H) @ x, op.H @ x)
    close((zero @ op.phi).dense(), 0 * op.H.dense())
    assert str(op.rate(zero)) == "0"


def test_rates_act_in_sweeps_on_vectors(rng):
    robot = plain(MECHANISMS["floating"])
    s = state(robot, (2,))
    op = robot.operators(s.q, s.v)
    rate = op.rate(op.mass_matrix)
    close(rate.matvec(s.tau), np.matvec(robot.mass_matrix_rate(s.q, s.v), s.tau), 1e-11)
    close(rate.T.dense(), rate.dense(), 1e-11)


def test_the_inverse_of_inertias_of_your_own():
    """(H φ W φ* H*)⁻¹ with constant W, which is the mass matrix of another model: its rate is −X⁻¹ Ẋ X⁻¹."""
    robot = plain(MECHANISMS["floating"])
    s = state(robot)
    op = robot.operators(s.q, s.v)
    W = op.diagonal([3 * np.eye(6)] * len(op.tree))
    mass = op.H @ op.phi @ W @ op.phi.T @ op.H.T
    inverse = mass.inv().dense()
    close(op.rate(mass.inv()).dense(), -inverse @ op.rate(mass).dense() @ inverse, 1e-10)
    named = op.diagonal(op.P.blocks(), "P")  # blocks of your own stay, whatever they are called
    assert str(op.rate(named)) == "0" and str(op.rate(named.inv())) == "0"


@pytest.mark.parametrize("kind", ["floating", "compound"])
def test_second_sensitivities_of_the_mass_matrix(kind):
    """∂_j ∂_i 𝓜, first along i and then along j: on a group the order matters."""
    robot = plain(MECHANISMS[kind])
    s = state(robot)
    op = robot.operators(s.q)
    for i, j in ((0, robot.nv - 1), (robot.nv - 1, 0), (1, 2), (2, 1)):
        found = op.sensitivity(op.sensitivity(op.mass_matrix, i), j).dense()
        along = lambda h, i=i, j=j: robot.mass_matrix_derivative(robot.integrate(s.q, h * np.eye(robot.nv)[j]))[..., i]
        close(found, slope(along), 1e-10)


# --- other systems


@pytest.mark.parametrize("made", [geared, with_elastic_gears])
def test_geared_nodes_have_rates(made):
    """of [motor; link] nodes, and the motors' velocities follow from those of the links, or stand beside them"""
    model = gear_train()
    nodes, robot = lower(model), plain(model)
    train = gears(model, nodes)
    q, _ = robot.random_state(seed=3)
    v = np.random.default_rng(3).standard_normal(made(rigid(nodes, q), train).nv)
    X = velocities_of_all(rigid(nodes, q), train) if made is geared else order_of(rigid(nodes, q), train)
    op = made(rigid(nodes, q), train).operators
    for text in (*LETTERS, "H φ M φ* H* + armature", "(I − H ψ K)* D⁻¹ (I − H ψ K)"):
        close(op.rate(op(text), v).dense(), expected_rate(model, q, X @ v, text, lambda sko: made(sko, train)), 1e-9)
    assert str(op.rate(op.phi, v)) == "φ 𝓔̇φ φ" and str(op.sensitivity(op.D, 1)) == "D_1"


def order_of(sko, train):
    """v of the tree from [rotor, link] at each geared joint."""
    rows, rotors = sko.tree.rows, {m for m, _ in train.values()}
    order = [i for k in sko.tree.base_to_tips() if k not in rotors
             for part in ([train[k][0], k] if k in train else [k]) for i in range(rows[part].start, rows[part].stop)]  # fmt: skip
    return np.eye(sko.nv)[:, order]


class Swelling(Producer):
    """The inertia of every node grows with the first coordinate, M(k) = (1 + θ²) M_k: no rigid body's."""

    def blocks(self, nodes, s, q):
        return s._replace(M={k: (1 + q[..., 0, None, None] ** 2) * s.M[k] for k in s.tree.base_to_tips()})

    def block_rates(self, nodes, s, d, q, v):
        growth = (2 * q[..., 0] * v[..., 0] / (1 + q[..., 0] ** 2))[..., None, None]
        return d._replace(N={k: d.N[k] + 0.5 * growth * s.M[k] for k in s.tree.base_to_tips()})


def test_a_producer_says_how_its_blocks_change():
    """and rates of operators, 𝓜˙, ∂𝓜 and ∂ log det 𝓜 follow"""
    robot = lw.Dynamics(MECHANISMS["chain"], compiled=False, system=Swelling())
    s = state(robot)
    op = robot.operators(s.q, s.v)
    moved = lambda h: robot.integrate(s.q, h * s.v)
    for text in (*LETTERS, "H φ M φ* H* + armature", "(I − H ψ K)* D⁻¹ (I − H ψ K)"):
        expected = slope(lambda h, text=text: robot.operators(moved(h))(text).dense())
        close(op.rate(op(text)).dense(), expected, 1e-8)
    assert str(op.rate(op.M)) == "Ṁ"
    close(robot.mass_matrix_rate(s.q, s.v), slope(lambda h: robot.mass_matrix(moved(h))), 1e-9)
    close(robot.mass_matrix_derivative(s.q) @ s.v, robot.mass_matrix_rate(s.q, s.v), 1e-11)
    close(robot.log_determinant_gradient(s.q) @ s.v, slope(lambda h: robot.log_determinant(moved(h))), 1e-9)


def test_a_producer_with_constant_blocks_has_those_of_a_rigid_tree():
    class Heavier(Producer):
        def blocks(self, nodes, s, q):
            return s._replace(M={k: 2 * s.M[k] for k in s.tree.base_to_tips()})

    heavy, light = (lw.Dynamics(MECHANISMS["floating"], compiled=False, **more) for more in ({"system": Heavier()}, {}))
    s = state(light)
    close(heavy.mass_matrix_derivative(s.q), 2 * light.mass_matrix_derivative(s.q), 1e-11)
    close(heavy.log_determinant_gradient(s.q), light.log_determinant_gradient(s.q), 1e-10)
    op = heavy.operators(s.q, s.v)
    close(op.rate(op.mass_matrix).dense(), 2 * light.mass_matrix_rate(s.q, s.v), 1e-11)


def test_operators_of_a_robot_with_a_loop_are_those_of_its_tree():
    robot = lw.Dynamics(lw.load("four_bar"), compiled=False)
    q, v = robot.neutral(), np.linspace(1, 2, robot.nv)
    op = robot.operators(q, v)
    close(op.rate(op.mass_matrix).dense(), slope(lambda h: robot.mass_matrix(robot.integrate(q, h * v))), 1e-9)


# --- kernels and errors


def test_a_rate_is_part_of_a_kernel():
    robot = lw.Dynamics(MECHANISMS["free"])
    s = state(robot)

    @robot.kernel
    def bent(q, v):
        op = robot.operators(q, v)
        return op.rate(op.phi @ op.M @ op.phi.T).dense() + op.sensitivity(op.P, 0).dense(), op.rate(op.mass_matrix.inv()) @ v

    op = robot.operators(s.q, s.v)
    found = run(bent.program, {"q": s.q, "v": s.v})
    close(found[0], op.rate(op("φ M φ*")).dense() + op.sensitivity(op.P, 0).dense(), 1e-11)
    close(found[1], op.rate(op.mass_matrix.inv()) @ s.v, 1e-11)


def test_at_rest_nothing_changes_and_at_half_a_turn_it_does():
    """v = 0; attitudes near π"""
    robot = plain(MECHANISMS["floating"])
    s = state(robot)
    op = robot.operators(s.q, 0 * s.v)
    close(op.rate(op.psi).dense(), 0 * op.psi.dense())
    q = robot.neutral()
    q[:4] = np.sin((np.pi - 1e-9) / 2), 0, 0, np.cos((np.pi - 1e-9) / 2)
    for at in (q, robot.neutral()):
        op = robot.operators(at, s.v)
        close(op.rate(op.mass_matrix).dense(), slope(lambda h, at=at: robot.mass_matrix(robot.integrate(at, h * s.v))), 1e-9)


def test_single_precision_stays():
    robot = plain(MECHANISMS["floating"])
    s = state(robot)
    op = robot.operators(s.q.astype(np.float32), s.v.astype(np.float32))
    found = op.rate(op.mass_matrix).dense()
    assert found.dtype == np.float32
    close(found, robot.mass_matrix_rate(s.q, s.v), 1e-5)


def test_errors_say_what_to_do():
    robot = plain(MECHANISMS["floating"])
    s = state(robot)
    op = robot.operators(s.q)
    with pytest.raises(OptionError, match=r"operators\(q, v\)"):
        op.rate(op.phi)
    with pytest.raises(ShapeError, match=f"nv = {robot.nv}"):
        op.rate(op.phi, np.ones(3))
    with pytest.raises(UnknownNameError, match='no joint "join1" that moves'):
        op.sensitivity(op.phi, "join1")
    with pytest.raises(OptionError, match="has 6 velocities, and none is named"):
        op.sensitivity(op.phi, "joint0")
    with pytest.raises(OptionError, match="axis is 7"):
        op.sensitivity(op.phi, "joint0", 7)
    with pytest.raises(OptionError, match="no velocity 99"):
        op.sensitivity(op.phi, 99)
    with pytest.raises(NoRuleError, match=r"robot\.kernel"):
        op.sensitivity(op.sensitivity(op.P, 0), 1)
    blocks = op.sko.blocks
    bare = SKO(blocks.tree, blocks.A, blocks.H, blocks.M).operators
    with pytest.raises(ModelError, match="changes="):
        bare.rate(bare.phi, s.v)
    with pytest.raises(UnknownNameError, match="number of a velocity"):
        bare.sensitivity(bare.phi, "joint0")
