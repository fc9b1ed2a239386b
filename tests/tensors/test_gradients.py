"""Tensors that require grad: torch differentiates kernels by their own derivatives. Needs torch; `make test-torch` runs these."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck

import linkwork as lw
from linkwork.contact.quantities import contact_options
from linkwork.errors import OptionError
from linkwork.quantities import QUANTITIES
from linkwork.quantities.options import task as places_of

pytestmark = pytest.mark.torch


@cache
def robot_of(name):
    return lw.Dynamics(lw.load(name))


@cache
def robot_above_the_ground(name):
    """The robot with a ball on its last body, which may touch the ground."""
    model = lw.load(name)
    *bodies, last = model.bodies
    ball = replace(last, collisions=(lw.Shape("sphere", (0.1,), lw.Pose.of((0.1, 0.2, 0.3)), name="ball"),))
    return lw.Dynamics(replace(model, bodies=(*bodies, ball)).with_ground().with_contacts(["ball"]))


@pytest.fixture
def robot():
    return robot_of("satellite")


def tensors(robot, names, count=2):
    """Arrays by name, each a tensor that requires grad."""
    rng = np.random.default_rng(0)
    q, v = robot.random_state((count,), seed=0)
    given = {"q": q, "q0": q, "q1": robot.integrate(q, 0.3 * v), "prescribed": np.zeros_like(v)}
    given["external"], given["momentum"] = rng.standard_normal((count, len(robot.bodies), 6)), rng.standard_normal((count, 6))
    return [torch.from_numpy(given.get(name, rng.standard_normal(v.shape))).requires_grad_() for name in names]


def asked(robot, name):
    declared, body = QUANTITIES[name], robot.bodies[-1]
    if not declared.needs_options and declared.options is not places_of:
        return name
    return name, (body, (0.1, 0.2, 0.3)) if declared.options is places_of else body


def is_of_a_free_base(name):
    """Its options raise for a mechanism that stands on the ground."""
    options = QUANTITIES[name].options
    return options is not None and options.__name__ in ("of_free_base", "of_free_bodies", "of_one_free_root", "to_root")


def along(robot, name, what, given):
    """The quantity as a function of directions: coordinates move as `integrate` moves, so that differences stay on the group."""
    names = QUANTITIES[name].inputs

    def moved(*steps):
        x = [robot.integrate(a, d) if n in ("q", "q0", "q1") else a + d for n, a, d in zip(names, given, steps)]
        return robot.ask(what, *x)

    return moved


@pytest.mark.parametrize("name", [name for name, x in QUANTITIES.items() if x.decided_by])
@pytest.mark.parametrize("mechanism", ["double_pendulum", "cartpole"])
def test_every_quantity_has_the_gradient_of_its_differences(mechanism, name):
    touches = QUANTITIES[name].options is contact_options
    robot = robot_above_the_ground(mechanism) if touches else robot_of("satellite:1" if is_of_a_free_base(name) else mechanism)
    names = QUANTITIES[name].inputs
    given = [x.detach() for x in tensors(robot, names, 1)]
    steps = [torch.zeros(1, *([robot.nv] if n in ("q", "q0", "q1") else x.shape[1:]), dtype=torch.float64) for n, x in zip(names, given)]
    free = [x.requires_grad_(n != "prescribed") for n, x in zip(names, steps)]
    if name == "task_inertia":
        given[0] = given[0] + 0.3
    assert gradcheck(along(robot, name, asked(robot, name), given), free, atol=1e-5, rtol=1e-3)


@pytest.mark.parametrize("what", ["forward_dynamics", "inverse_dynamics", "mass_matrix", "potential_energy", "center_of_mass"])
def test_a_gradient_by_a_quaternion_is_that_of_its_direction(robot, what):
    """The function of q / |q|, by differences of all four components; q · grad = 0."""
    given = tensors(robot, QUANTITIES[what].inputs)
    assert gradcheck(getattr(robot, what), given)
    (by_q,) = torch.autograd.grad(getattr(robot, what)(*given).sum(), given[:1])
    np.testing.assert_allclose((by_q * given[0])[:, :4].sum(-1).numpy(force=True), 0, atol=1e-10)


def test_batches_broadcast_backwards(robot):
    q, v, tau = tensors(robot, ("q", "v", "tau"), 3)
    one = tau[0].detach().requires_grad_()
    vdot = robot.forward_dynamics(q, v, one)
    vdot.square().sum().backward()
    expected = robot.as_kernel("forward_dynamics").vjp(*(x.numpy(force=True) for x in (q, v, one, 2 * vdot)))
    np.testing.assert_allclose(one.grad, expected[2].sum(0), rtol=1e-12)
    assert q.grad.shape == q.shape and one.grad.shape == one.shape


def test_float32_has_gradients_of_float32(robot):
    given = [x.detach().float().requires_grad_() for x in tensors(robot, ("q", "v", "tau"))]
    robot.forward_dynamics(*given).sum().backward()
    assert all(x.grad.dtype == torch.float32 for x in given)


def test_second_derivatives_are_derivatives_of_derivatives(robot):
    q, v, tau = tensors(robot, ("q", "v", "tau"), 1)
    assert gradgradcheck(lambda v, tau: robot.forward_dynamics(q.detach(), v, tau), (v, tau))


def test_the_hessian_of_kinetic_energy_is_the_mass_matrix(robot):
    """𝓜 = ∂²T/∂v², backwards over backwards and forwards over backwards"""
    q, v = (x.detach()[0] for x in tensors(robot, ("q", "v")))
    energy = lambda v: robot.kinetic_energy(q, v)
    for hessian in (torch.autograd.functional.hessian(energy, v), torch.func.hessian(energy)(v)):
        np.testing.assert_allclose(hessian, robot.mass_matrix(q), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("way", [torch.func.jacrev, torch.func.jacfwd])
def test_jacobians_under_vmap_are_the_compiled_ones(robot, way):
    """∂v̇/∂τ = 𝓜⁻¹"""
    q, v, tau = (x.detach() for x in tensors(robot, ("q", "v", "tau"), 3))
    found = torch.func.vmap(way(robot.forward_dynamics, 2), (0, 0, None))(q, v, tau[0])
    np.testing.assert_allclose(found, robot.mass_matrix_inverse(q), rtol=1e-10, atol=1e-12)


def test_a_users_kernel_has_gradients(robot):
    power = robot.kernel(lambda q, v, force: force @ robot.bias(q, v), force=robot.nv)
    assert gradcheck(power, tensors(robot, ("q", "v", "force")))


def test_a_varied_constant_has_a_gradient(robot):
    varying = robot.varying("mass")
    q, v, tau = (x.detach() for x in tensors(robot, ("q", "v", "tau")))
    mass = torch.from_numpy(varying.value("mass")).requires_grad_()
    assert gradcheck(lambda mass: varying.forward_dynamics(q, v, tau, mass=mass), (mass,))
    assert isinstance(varying.forward_dynamics(q, v, tau), torch.Tensor)


def test_out_has_no_gradient_and_says_so(robot):
    q, v, tau = tensors(robot, ("q", "v", "tau"))
    with pytest.raises(OptionError, match=r"leave out= away, or pass x.detach\(\)"):
        robot.forward_dynamics(q, v, tau, out=torch.empty_like(v))


def test_a_robot_with_a_loop_says_that_it_has_no_gradient():
    robot = robot_of("four_bar")
    q, v = (torch.from_numpy(x) for x in (robot.neutral(), np.zeros(robot.nv)))
    with pytest.raises(lw.ModelError, match=r"no gradient for torch.*x\.detach\(\)"):
        robot.forward_dynamics(q.requires_grad_(), v, v)


# --- rollouts


def unit(q):
    return torch.cat([q[..., :4] / q[..., :4].norm(dim=-1, keepdim=True), q[..., 4:]], -1)


@pytest.mark.parametrize("method, every", [("euler", 1), ("rk4", 2)])
def test_a_rollout_has_gradients_by_start_and_controls(robot, method, every):
    q, v = tensors(robot, ("q", "v"))
    tau = torch.full((2, 4, robot.nv), 0.1, dtype=torch.float64, requires_grad=True)
    run = lambda q, v, tau: lw.rollout(robot, unit(q), v, tau, dt=0.01, steps=4, every=every, method=method)[1:]
    assert gradcheck(run, (q, v, tau))


@pytest.mark.parametrize("out", [False, True])
def test_without_grad_a_rollout_of_parameters_just_runs(robot, out):
    """Under torch.no_grad() and in inference mode: the numbers of arrays, in tensors that require no grad."""
    q, v, tau = (x.detach().requires_grad_() for x in tensors(robot, ("q", "v", "tau")))
    each = tau.detach()[:, None].requires_grad_()
    arrays = lw.rollout(robot, *(x.detach().numpy() for x in (q, v, each)), dt=0.01, steps=3)
    for mode in (torch.no_grad(), torch.inference_mode()):
        with mode:
            room = {"out": tuple(torch.from_numpy(np.empty_like(x)) for x in arrays[1:])} if out else {}
            run = lw.rollout(robot, q, v, each, dt=0.01, steps=3, **room)
            policy = lw.rollout(robot, q, v, lambda t, Q, V: tau, dt=0.01, steps=3)
        assert not run.q.requires_grad and np.array_equal(run.q.numpy(), arrays.q) and np.array_equal(policy.v.numpy(), arrays.v)


def test_a_rollout_of_varied_constants_has_gradients_by_them(robot):
    varying = robot.varying("mass")
    q, v = (x.detach() for x in tensors(robot, ("q", "v")))
    mass = torch.from_numpy(varying.value("mass")).requires_grad_()
    assert gradcheck(lambda mass: lw.rollout(varying, q, v, dt=0.01, steps=3, given={"mass": mass}).v, (mass,))


def test_a_policy_of_torch_is_differentiated_step_by_step(robot):
    class Policy(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.gain = torch.nn.Parameter(torch.tensor(0.5, dtype=torch.float64))

        def forward(self, t, q, v):
            return -self.gain * v

    q, v = (x.detach() for x in tensors(robot, ("q", "v")))
    policy = Policy()
    run = lw.rollout(robot, q, v, policy, dt=0.01, steps=5)
    run.v[:, -1].square().sum().backward()
    cost = lambda gain: float((lw.rollout(robot, q, v, lambda t, Q, V: -gain * V, dt=0.01, steps=5).v[:, -1] ** 2).sum())
    assert float(policy.gain.grad) == pytest.approx((cost(0.5 + 1e-5) - cost(0.5 - 1e-5)) / 2e-5, rel=1e-6)


def test_a_policy_whose_gradient_would_be_lost_is_refused(robot):
    q, v = (x.detach() for x in tensors(robot, ("q", "v")))
    gain = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    with pytest.raises(lw.LinkworkError, match=r"torch\.nn\.Module"):
        lw.rollout(robot, q, v, lambda t, Q, V: -gain * V, dt=0.01, steps=2)
