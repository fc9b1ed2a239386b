"""Kernels that loop over small loops and gears: what they give is what sweeps over all nodes and dense methods give."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import PlainWarning

from .gallery import assembled


def bar(rng, scale=1.0):
    A = rng.standard_normal((3, 3))
    S = 0.03 * A @ A.T + 0.1 * np.eye(3)  # second moments of the mass
    return {"mass": scale * rng.uniform(0.5, 2), "center": tuple(0.3 * rng.standard_normal(3)), "tensor": np.trace(S) * np.eye(3) - S}


def four_bar(m, rng, name, carrier, lengths, axis=(0, 0, 1)):
    crank, coupler, rocker, ground = lengths
    turning = lambda: lw.Revolute(axis=axis)
    m.body(f"a{name}", carrier, (0.1, 0, 0), turning(), **bar(rng)).body(f"b{name}", f"a{name}", (crank, 0, 0), turning(), **bar(rng))
    m.body(f"c{name}", carrier, (0.1 + ground, 0, 0), turning(), **bar(rng))
    m.loop(f"pin{name}", f"b{name}", f"c{name}", turning(), at=(coupler, 0, 0), on=(rocker, 0, 0))


def hung(n, seed=0):
    """Four-bars of other lengths, each on the coupler of the one before."""
    rng, m, carrier = np.random.default_rng(seed), lw.Builder(f"hung:{n}", (0, -9.81, 0)), None
    for i in range(n):
        four_bar(m, rng, i, carrier, (rng.uniform(0.8, 1.2), rng.uniform(1.8, 2.2), rng.uniform(0.8, 1.2), 2.0))
        carrier = f"b{i}"
    return m.model()


def depth_first(n):
    """The same with all couplers before the first rocker: the parts of a loop are far from each other in q."""
    rng, m = np.random.default_rng(1), lw.Builder(f"depth_first:{n}", (0, -9.81, 0))
    for i in range(n):
        m.body(f"a{i}", f"b{i - 1}" if i else None, (0.1, 0, 0), lw.Revolute(), **bar(rng))
        m.body(f"b{i}", f"a{i}", (1, 0, 0), lw.Revolute(), **bar(rng))
    for i in reversed(range(n)):
        m.body(f"c{i}", f"b{i - 1}" if i else None, (2.1, 0, 0), lw.Revolute(), **bar(rng))
        m.loop(f"pin{i}", f"b{i}", f"c{i}", lw.Revolute(), at=(2 + 0.02 * i, 0, 0), on=(1, 0, 0))
    return m.model()


def branching(n):
    """Joints between four-bars, and beside them on every link: on cranks, which hold velocities of others, on couplers and on rockers."""
    rng, m, carrier = np.random.default_rng(2), lw.Builder(f"branching:{n}", (0.3, -9.81, 0.2)), None
    for i in range(n):
        four_bar(m, rng, i, carrier, (rng.uniform(0.8, 1.2), 2.1, rng.uniform(0.8, 1.2), 2.0))
        m.body(f"d{i}", f"b{i}", (0.5, 0.1, 0), lw.Spherical() if i % 2 else lw.Revolute(axis=(0, 1, 1)), **bar(rng))
        m.body(f"e{i}", f"{'ac'[i % 2]}{i}", (0.2, 0.1, 0.3), lw.Prismatic(axis=(0, 1, 0)), **bar(rng))
        carrier = f"d{i}" if i % 2 else f"e{i}"
    return m.model()


def various(n):
    """Rods, polynomials between joints in a row, spatial loops, relations of three, joints that are held: on a free base."""
    rng, m, carrier = np.random.default_rng(3), lw.Builder(f"various:{n}", (0.1, -9.81, 0.5)), "base"
    m.body("base", None, (0, 0, 0), lw.Free(), **bar(rng, 5.0))
    about = lambda *axis: lw.Revolute(axis=axis)
    for i in range(n):
        x, y, z = (f"{letter}{i}" for letter in "xyz")
        m.body(x, carrier, (0.3, 0, 0.1), about(0, 1, 0), **bar(rng))
        if i % 4 == 0:
            m.body(y, carrier, (1.0, 0, 0.1), about(1, 1, 0), **bar(rng))
            m.distance(f"rod{i}", x, y, 1.2, at=(0.5, 0.3, 0), on=(0.2, 0.6, 0.1))
        elif i % 4 == 1:
            m.body(y, x, (1.0, 0, 0.1), about(1, 0, 0), **bar(rng)).couple(f"{y}_joint", f"{x}_joint", (0.1, 0.7, 0.2))
        elif i % 4 == 2:
            m.body(y, x, (1.0, 0, 0.1), lw.Spherical(), **bar(rng)).body(z, carrier, (1.0, 0.2, 0.1), about(0, 1, 0), **bar(rng))
            m.loop(f"ball{i}", y, z, lw.Spherical(), at=(0.3, 0, 0.8), on=(0.2, 0.1, 0.7))
        else:
            m.body(y, carrier, (0.1, 0.3, 0), about(0, 1, 0), **bar(rng)).body(z, carrier, (0, 0, 0), lw.Prismatic(), **bar(rng))
            m.relate(f"sum{i}", {f"{x}_joint": 1.0, f"{y}_joint": 2.0, f"{z}_joint": 3.0}, 0.2)
            m.body(f"h{i}", y, (0.1, 0.3, 0.1), about(1, 1, 0), **bar(rng)).couple(f"h{i}_joint", None, (0.3,))
        carrier = x if i % 2 else y
    return m.model()


def geared(n):
    """A rotor beside every joint, of another ratio."""
    rng, m, carrier = np.random.default_rng(4), lw.Builder(f"geared:{n}", (0, 0, -9.81)), None
    for i in range(n):
        axis = (0, 1, 0) if i % 2 else (0, 0, 1)
        m.body(f"l{i}", carrier, (0.5, 0, 0), lw.Revolute(axis=axis), **bar(rng))
        m.body(f"r{i}", carrier, (0.3, 0.1, 0), lw.Revolute(axis=axis), **bar(rng, 0.1))
        m.couple(f"r{i}_joint", f"l{i}_joint", (0.0, 50.0 + i))
        carrier = f"l{i}"
    return m.model()


def states(plain, count, seed=0):
    """States that keep the constraints, and forces."""
    rng, guess = np.random.default_rng(seed), plain.neutral()
    for name in plain.joints:
        if name[0] in "abc" and name[1].isdigit():
            guess[plain.q_index(name)] = 1.2 if name[0] == "b" else -1.2
    q = [plain.assemble(plain.integrate(guess, 0.2 * rng.standard_normal(plain.nv))) for _ in range(count)]
    q, v = plain.constraints.project(np.array(q), rng.standard_normal((count, plain.nv)))
    return q, v, rng.standard_normal((count, plain.nv))


def near(x, y, tolerance):
    assert np.abs(x - y).max() <= tolerance * np.abs(y).max()


MODELS = [hung(6), depth_first(5), branching(1), geared(7), *(pytest.param(x, marks=pytest.mark.slow) for x in (branching(4), various(8)))]


@pytest.fixture(scope="module", params=MODELS, ids=lambda model: model.name)
def robots(request):
    """The robot by kernels that loop over its loops, and in plain NumPy."""
    return lw.Dynamics(request.param, rolled=True), lw.Dynamics(request.param, compiled=False, rolled=False)


@pytest.mark.filterwarnings("error::linkwork.errors.PlainWarning")
def test_accelerations_are_those_of_embedding_in_numpy_and_of_multipliers(robots):
    rolled, plain = robots
    q, v, tau = states(plain, 3)
    found = rolled.forward_dynamics(q, v, tau)
    assert rolled.constraints.picked == "embedded rolled kernel"
    assert rolled.constraints.acceleration_kernels[0](q, v, tau)[1] is None  # served by the kernel itself
    near(found, plain.constraints.forward_dynamics(q, v, tau, method="embedded"), 1e-12)
    near(found, plain.constraints.forward_dynamics(q, v, tau, method="augmented"), 1e-10)


def test_loops_that_are_alike_are_one_class():
    """whatever their lengths, their order in q, and what stands on them; the last has no children"""
    for model in (hung(6), depth_first(5)):
        assert len(lw.Dynamics(model, rolled=True).constraints.rolled.cells.groups.shapes) == 1
    assert len(lw.Dynamics(geared(7), rolled=True).constraints.rolled.cells.groups.shapes) <= 2


@pytest.fixture(scope="module")
def chain():
    model = hung(5)
    return lw.Dynamics(model, rolled=True), lw.Dynamics(model, compiled=False, rolled=False)


def test_wrenches_from_outside_act_on_links_of_loops(chain):
    rolled, plain = chain
    (q, v, tau), push = states(plain, 2), np.random.default_rng(5).standard_normal((2, len(plain.model.bodies), 6))
    near(rolled.forward_dynamics(q, v, tau, push), plain.forward_dynamics(q, v, tau, push), 1e-11)


def test_each_sample_chooses_its_dependent_velocities(chain):
    """near a dead point of one loop another velocity depends on the others; the bits are those of the sample alone"""
    rolled, plain = chain
    q, v, tau = states(plain, 12, seed=6)
    found = rolled.forward_dynamics(q, v, tau)
    np.testing.assert_array_equal(found[::-1], [rolled.forward_dynamics(*x) for x in zip(q[::-1], v[::-1], tau[::-1])])


def test_a_crank_that_turns_all_the_way_is_served_by_one_kernel():
    """Of crank, coupler and rocker no two velocities depend on the third at all angles."""
    rng, m = np.random.default_rng(7), lw.Builder("crank_rockers", (0, -9.81, 0))
    four_bar(m, rng, 0, None, (0.5, 2.0, 1.5, 2.0))
    four_bar(m, rng, 1, "b0", (0.5, 2.0, 1.5, 2.0))
    robot, plain = lw.Dynamics(m.model(), rolled=True), lw.Dynamics(m.model(), compiled=False)
    q, turned = plain.assemble(np.tile([0.5, 0.5, -1.0], 2)), []
    for _ in range(24):
        q = plain.assemble(q + np.tile([np.pi / 12, 0, 0], 2), hold=["a0_joint", "a1_joint"])
        turned.append(q)
    q, v = plain.constraints.project(np.array(turned), rng.standard_normal((24, 6)))
    (found,), bad = robot.constraints.acceleration_kernels[0](q, v, np.ones((24, 6)))
    assert bad is None
    near(found, plain.constraints.forward_dynamics(q, v, np.ones((24, 6)), method="augmented"), 1e-9)


@pytest.mark.filterwarnings("error::linkwork.errors.PlainWarning")
def test_the_way_back_to_the_constraints_is_that_of_dense_projection(robots):
    """−𝓜⁻¹ Jc* (Jc 𝓜⁻¹ Jc*)⁻¹ c, and of velocities the part that Jc allows"""
    rolled, plain = robots
    (q, _, _), rng = states(plain, 2), np.random.default_rng(8)
    q, v = plain.integrate(q, 1e-4 * rng.standard_normal((2, plain.nv))), rng.standard_normal((2, plain.nv))
    here, right = rolled.constraints.project(q, v), plain.constraints.project(q, v)
    np.testing.assert_allclose(here[0], right[0], atol=1e-11)
    np.testing.assert_allclose(here[1], right[1], atol=1e-9 * np.abs(right[1]).max())
    np.testing.assert_allclose(rolled.constraints.residual(here[0][0]), 0, atol=1e-13)
    w = rng.standard_normal((3, plain.nv))
    near(rolled.constraints.tangent(right[0][0], w), plain.constraints.tangent(right[0][0], w), 1e-10)


LARGER = "bricard", "squeezer", "cassie, MJCF"


@pytest.mark.parametrize("name", ["scott_russell", *(pytest.param(x, marks=pytest.mark.slow) for x in LARGER)])
def test_mechanisms_of_one_loop_or_a_few_are_cells_too(name):
    """with redundant rows, with loops inside of loops, with a free base"""
    _, plain, q = assembled(name)
    rolled, rng = lw.Dynamics(plain.robot.model, rolled=True), np.random.default_rng(0)
    q, v = plain.project(np.broadcast_to(q, (3, q.shape[-1])), rng.standard_normal((3, plain.nv)))
    (found,), bad = rolled.constraints.acceleration_kernels[0](q, v, np.ones_like(v))
    assert bad is None
    near(found, plain.forward_dynamics(q, v, np.ones_like(v), method="augmented"), 1e-9)


@pytest.mark.filterwarnings("error::linkwork.errors.PlainWarning")
def test_dependent_velocities_alone_close_the_loops(chain):
    rolled, plain = chain
    (q, _, _), rng = states(plain, 1), np.random.default_rng(9)
    q, v = q[0] + 0.01 * rng.standard_normal(plain.nv), rng.standard_normal(plain.nv)
    there, slow = rolled.constraints.lift(q, v)
    assert (slow == v).sum() == 5  # one of the three velocities of each loop stays as it is
    np.testing.assert_allclose(plain.constraints.residual(there), 0, atol=1e-12)
    np.testing.assert_allclose(plain.constraints.jacobian(there) @ slow, 0, atol=1e-11)
    rolled.constraints.check(there, slow)
    with pytest.raises(lw.constraints.ConstraintError, match="open are"):
        rolled.constraints.check(q, v)
    with pytest.raises(lw.constraints.ConstraintError, match="velocities break"):
        rolled.constraints.check(there, slow + 0.1)


@pytest.mark.filterwarnings("error::linkwork.errors.PlainWarning")
def test_assembly_loop_by_loop_is_assembly_of_all(chain):
    rolled, plain = chain
    guess = np.array([1.2 if name[0] == "b" else -1.2 for name in plain.joints])
    np.testing.assert_allclose(rolled.assemble(guess), plain.assemble(guess), atol=1e-10)
    m = lw.Builder("torn", (0, -9.81, 0))
    four_bar(m, np.random.default_rng(0), 0, None, (0.5, 0.5, 0.5, 3.0))
    with pytest.raises(lw.constraints.ConstraintError, match='torn cannot be assembled from this guess: open are "pin0"'):
        lw.Dynamics(m.model(), rolled=True).assemble(np.ones(3))


@pytest.mark.filterwarnings("error::linkwork.errors.PlainWarning")
@pytest.mark.parametrize("how", ["project", pytest.param("embed", marks=pytest.mark.slow)])
def test_a_simulation_is_that_of_plain_runs_and_keeps_its_energy(chain, how):
    plain = chain[1]
    q, v, _ = states(plain, 1)
    run, slow = (lw.simulate(x, (q[0], v[0]), until=0.03, loops=how, rtol=1e-8, atol=1e-8) for x in chain)
    near(run.q[-1], slow.q[-1], 1e-6)
    energy = plain.kinetic_energy(run.q, run.v) + plain.potential_energy(run.q)
    assert run.status == "finished" and np.ptp(energy) < 1e-6 * np.abs(energy).max()


def test_single_precision_and_out(chain):
    rolled, plain = chain
    q, v, tau = states(plain, 2)
    right, out = plain.forward_dynamics(q, v, tau), np.zeros_like(v)
    single = rolled.forward_dynamics(*(x.astype(np.float32) for x in (q, v, tau)))
    assert single.dtype == np.float32 and rolled.forward_dynamics(q, v, tau, out=out) is out
    near(single, right, 1e-4)
    near(out, right, 1e-11)


def test_a_sample_whose_loop_has_no_answer_leaves_the_others_alone():
    """singular: evaluated in NumPy; not a number: NaN; open: an error that names the loop"""
    bars = {"mass": 1.0, "center": (0.5, 0, 0), "tensor": (0.01, 0.1, 0.1)}
    m, carrier = lw.Builder("parallelograms", (0, -9.81, 0)), None
    for i in range(3):
        m.body(f"a{i}", carrier, (0.1, 0, 0), lw.Revolute(), **bars).body(f"b{i}", f"a{i}", (1, 0, 0), lw.Revolute(), **bars)
        m.body(f"c{i}", carrier, (2.1, 0, 0), lw.Revolute(), **bars)
        m.loop(f"pin{i}", f"b{i}", f"c{i}", lw.Revolute(), at=(2, 0, 0), on=(1, 0, 0))
        carrier = f"b{i}"
    robot, plain = lw.Dynamics(m.model(), rolled=True), lw.Dynamics(m.model(), compiled=False)
    q = np.tile([-1.2, 1.2, -1.2], 3)
    Q = np.array([q, 0 * q, np.where(np.arange(9) == 4, np.nan, q)])
    tau = np.ones(9)
    found = robot.forward_dynamics(Q, np.zeros(9), tau)
    near(found[0], plain.constraints.forward_dynamics(q, np.zeros(9), tau), 1e-9)
    assert np.isfinite(found[1]).all() and np.isnan(found[2]).all()
    with pytest.raises(lw.constraints.ConstraintError, match="pin1"):
        robot.forward_dynamics(np.array([q, q + 0.1 * (np.arange(9) == 3)]), np.zeros(9), tau)


def test_a_kernel_by_itself_gives_nan_where_it_has_no_answer(chain):
    """what runs on a GPU"""
    rolled, plain = chain
    q, v, tau = states(plain, 3)
    q[1, 4] += 0.2
    found = rolled.quantity("forward_dynamics").rolled_kernel().gufunc("d")(q, v, tau)
    assert np.isnan(found[1]).all()
    np.testing.assert_array_equal(found[[0, 2]], rolled.forward_dynamics(q[[0, 2]], v[[0, 2]], tau[[0, 2]]))


def test_what_cannot_be_looped_over_runs_in_numpy_and_says_so():
    """a loop of many velocities; a drive; a joint of several parts that closes a loop"""
    m, carrier = lw.Builder("long_loop", (0, -9.81, 0)), None
    for i in range(30):
        m.body(f"k{i}", carrier, (0.2, 0, 0), lw.Revolute(), mass=1.0, tensor=(0.1, 0.1, 0.1))
        carrier = f"k{i}"
    model = m.loop("pin", None, carrier, lw.Revolute(), at=(2, 0, 0)).model()
    robot = lw.Dynamics(model, rolled=True)
    with pytest.warns(PlainWarning, match="long_loop has 30 velocities and constraints"):
        assert robot.constraints.picked == "embedded"
    m = lw.Builder("driven", (0, -9.81, 0)).body("k", None, (0, 0, 0), lw.Revolute(), mass=1.0, tensor=(0.1, 0.1, 0.1))
    driven = lw.Dynamics(m.drive("k_joint", np.sin).model(), rolled=True)
    with pytest.warns(PlainWarning, match="driven has 1 velocities"):
        assert driven.constraints.rolled is None and driven.constraints.picked == "embedded"


@pytest.mark.slow
def test_a_thousand_hung_four_bars_take_milliseconds():
    """The last links of a long chain feel what those of its short end do: compared with embedding in NumPy."""
    model = hung(1000)
    robot, plain = lw.Dynamics(model), lw.Dynamics(model, compiled=False)
    held = plain.constraints
    q = robot.assemble([1.2 if name[0] == "b" else -1.2 for name in robot.joints])
    tau = np.random.default_rng(0).standard_normal(robot.nv)
    near(robot.forward_dynamics(q, 0 * tau, tau), held.forward_dynamics(q, 0 * tau, tau, method="embedded"), 1e-9)
