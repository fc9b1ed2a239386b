"""A first run compiles what it uses and nothing else, and says so if it takes long."""

import time

import numpy as np
import pytest

import linkwork as lw
from linkwork.engine.loading import kernel, notice
from linkwork.simulate.methods.pairs import DormandPrince
from linkwork.simulate.rates.compliance import tree_compliance


def with_friction():
    """Three links with dry friction and limits, a spring, a rotor; masses from grams to tonnes."""
    b = lw.Builder("rough")
    for k, (parent, mass) in enumerate(((None, 1e3), ("l0", 1.0), ("l1", 1e-3))):
        joint = lw.Revolute(axis=(0, 1, 0), lower=-1.0, upper=2.0, friction=0.1 * mass, stiffness=0.2, armature=1e-6)
        b.body(f"l{k}", parent, (1, 0, 0) if k else None, joint, mass=mass, center=(0.5, 0, 0), tensor=(0.1 * mass,) * 3)
    return b.model()


def test_a_run_with_dry_friction_and_limits_compiles_the_rates_and_a_first_step_alone(monkeypatch):
    """No inverse of the mass matrix, which takes longer to compile than all the rest."""
    compiled, loaded = [], kernel.Kernel._loaded
    monkeypatch.setattr(kernel.Kernel, "_loaded", lambda self, kind: (compiled.append(self.name), loaded(self, kind))[1])
    robot = lw.Dynamics(with_friction())
    run = lw.simulate(robot, (np.zeros(3), np.zeros(3)), until=0.05, limits=True)
    assert run.status == "finished" and sorted(compiled) == ["first_step_DormandPrince", "local_rates"]


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("name", ["rough", "free_body", "humanoid", "joint_zoo"])
def test_the_compliance_of_a_tree_is_the_inverse_of_its_mass_matrix(name, compiled):
    """𝓜⁻¹ from differences of accelerations, relative to √(𝓜⁻¹ᵢᵢ 𝓜⁻¹ⱼⱼ), also without gravity."""
    one = with_friction() if name == "rough" else lw.load(name)
    for model in (one, one.with_gravity((0, 0, 0))):
        robot = lw.Dynamics(model, compiled=compiled and name in ("rough", "free_body"))
        q, _ = robot.random_state(seed=1)
        inverse = robot.mass_matrix_inverse(q)
        size = np.sqrt(np.diagonal(inverse))
        np.testing.assert_allclose(tree_compliance(robot, q) / size / size[:, None], inverse / size / size[:, None], atol=1e-10)


def test_the_tableau_is_that_of_scipy():
    from scipy.integrate import RK45

    for name in "ABCEP":
        np.testing.assert_array_equal(getattr(DormandPrince, name), getattr(RK45, name))


def test_a_long_compilation_is_announced(monkeypatch, capsys):
    monkeypatch.setattr(notice, "DELAY", 0.01)
    for quiet, said in (("", "linkwork: compiling slow_kernel (LINKWORK_QUIET=1 hides this) ...\n"), ("1", "")):
        monkeypatch.setenv(notice.QUIET, quiet)
        with notice.announced("slow_kernel"):
            time.sleep(0.2)
        assert capsys.readouterr().err == said
    monkeypatch.delenv(notice.QUIET)
    monkeypatch.setattr(notice, "DELAY", 30.0)
    with notice.announced("quick_kernel"):
        pass
    assert capsys.readouterr().err == ""


def test_kernels_are_announced_by_name(monkeypatch, capsys):
    monkeypatch.setattr(notice, "DELAY", 0.0)
    monkeypatch.delenv(notice.QUIET, raising=False)
    robot = lw.Dynamics(lw.load("pendulum"))
    robot.kernel(lambda q, v: (time.sleep(0.1), q * 0.123)[1])(np.ones(1), np.ones(1))
    assert capsys.readouterr().err.startswith("linkwork: compiling ")


@pytest.mark.parametrize("state", [np.zeros(4), np.zeros(2), np.zeros((3, 2)), None, 1.0, "state"])
def test_a_state_that_is_no_pair_is_refused_in_words(state):
    """Also one array of q and v, and q alone; for one robot as for many."""
    robot = lw.Dynamics(lw.load("double_pendulum"))
    for how in ({}, {"save": "last"}):
        with pytest.raises(lw.ShapeError, match=r"not a pair \(q, v\) but .*: double_pendulum has q of shape \(2,\)"):
            lw.simulate(robot, state, until=0.1, **how)
