"""What declarations say is what the methods of Dynamics and the documentation say."""

import inspect
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import ArrayLike
from roads import FREE, touching

import linkwork as lw
from linkwork.quantities import QUANTITIES
from linkwork.quantities.options import Place

ROOT = Path(__file__).parents[2]
METHODS = [name for name in QUANTITIES if name in vars(lw.Dynamics)]
each = pytest.mark.parametrize("name", METHODS)


@each
def test_a_method_ends_by_saying_what_it_takes_into_account(name):
    assert inspect.getdoc(getattr(lw.Dynamics, name)).endswith(QUANTITIES[name].honours_text)


@each
def test_a_method_takes_what_its_declaration_says_and_is_annotated(name):
    _, *parameters = inspect.signature(getattr(lw.Dynamics, name)).parameters.values()
    given, declared = {x.name: x for x in parameters}, QUANTITIES[name]
    assert tuple(given)[: len(declared.inputs)] == declared.inputs
    assert all(given[x].annotation is ArrayLike for x in declared.inputs)
    assert all(x.annotation is not inspect.Parameter.empty for x in parameters)
    several = declared.several and tuple[(np.ndarray,) * len(declared.result)]
    assert inspect.signature(getattr(lw.Dynamics, name)).return_annotation == (several or np.ndarray)
    assert not declared.takes_options or {"body", "places", "bodies"} & set(given)
    assert "places" not in given or given["places"].annotation is Place


@each
def test_a_result_has_the_shape_that_is_declared(name):
    robot = lw.Dynamics(touching(lw.load("satellite:1" if QUANTITIES[name].options in FREE else "arm_6r")))
    q, v = robot.random_state((3,), seed=0)
    declared, place = QUANTITIES[name], (robot.bodies[-1],) if QUANTITIES[name].takes_options else ()
    sizes = {"task": 6, "bodies": 1, "nv": robot.nv, "nq": robot.nq, "nb": len(robot.bodies)}
    sizes |= {"points": len(robot.contacts), "pairs": len(robot.contacts.names), "rows": 3 * len(robot.contacts)}
    given = {"prescribed": (v > 0).astype(float)}
    found = getattr(robot, name)(*(q if x[0] == "q" else given.get(x, v) for x in declared.inputs), *place)
    shapes = declared.result if declared.several else (declared.result,)
    for x, shape in zip(found if declared.several else (found,), shapes):
        assert x.shape == (3, *(sizes.get(n, n) for n in shape))


def test_joints_carry_wrenches_from_outside_too(rng):
    """τ = H f, f the wrench that a joint carries."""
    robot = lw.Dynamics(lw.load("double_pendulum"))
    q, v = robot.random_state((3,), seed=0)
    push = rng.standard_normal((3, len(robot.bodies), 6))
    f = robot.joint_wrenches(q, v, v, *robot.bodies, external=push)
    moving = [robot.model.body_index(placed.child) for placed in robot.model.joints if placed.joint.nv]
    tau = np.stack([robot.jacobian(q[0], robot.bodies[i])[:, j] @ f[..., i, :].T for j, i in enumerate(moving)], -1)
    np.testing.assert_allclose(tau, robot.inverse_dynamics(q, v, v, external=push), atol=1e-11)


def test_the_page_of_quantities_is_what_the_declarations_say(monkeypatch):
    """Otherwise: python tools/make_quantities.py > docs/quantities.md"""
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    sys.modules.pop("make_quantities", None)
    import make_quantities

    assert (ROOT / "docs" / "quantities.md").read_text(encoding="utf-8") == make_quantities.page()
