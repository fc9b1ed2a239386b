"""float32 in, float32 out, of every method of a constrained robot; computed in double precision all the same."""

from dataclasses import fields, is_dataclass
from functools import cache

import numpy as np
import pytest

import linkwork as lw
from linkwork.constraints import Constrained

NO_ARRAYS = {"report", "function", "tolerating", "check", "reduced", "embedded", "integrable", "contradiction", "random_state", "ask",
             "lifted", "may_be_open", "rows", "enough", "check_acceleration", "compliance_root", "actuation",
             "driven", "formula", "time", "put_back", "batch", "returns"}  # fmt: skip


def all_of(found):
    return found.vdot, found.lam, found.vdot_by, found.force_by, found.multipliers_by


METHODS = {
    "residual": lambda held, q, v, tau: held.residual(q),
    "jacobian": lambda held, q, v, tau: held.jacobian(q),
    "bias": lambda held, q, v, tau: held.bias(q, v),
    "assemble": lambda held, q, v, tau: held.assemble(q),
    "project": lambda held, q, v, tau: (*held.project(q, v), *held.project(q, v, hold=["crank_joint"])),
    "lift": lambda held, q, v, tau: held.lift(q, v),
    "tangent": lambda held, q, v, tau: held.tangent(q, v[None]),
    "forward_dynamics": lambda held, q, v, tau: tuple(held.forward_dynamics(q, v, tau, method=x) for x in (None, "augmented", "embedded")),
    "in_numpy": lambda held, q, v, tau: held.in_numpy(q, v, tau),
    "solution": lambda held, q, v, tau: held.solution(q, v, tau),
    "constraint_forces": lambda held, q, v, tau: held.constraint_forces(q, v, tau),
    "derivatives": lambda held, q, v, tau: all_of(held.derivatives(q, v, tau)),
    "linearization": lambda held, q, v, tau: held.linearization(q, v, tau, np.zeros((3, 3)), (np.zeros((3, 3)),) * 2),
    "compliance": lambda held, q, v, tau: held.compliance(q),
    "move_squeeze": lambda held, q, v, tau: held.move_squeeze(q, tau),
    "motor_forces": lambda held, q, v, tau: held.motor_forces(q, v, held.forward_dynamics(q, v, tau), ["crank_joint"]),
    "possible": lambda held, q, v, tau: held.possible(q, v, tau),
    "joint_wrenches": lambda held, q, v, tau: held.joint_wrenches(q, v, held.forward_dynamics(q, v, tau), tau=tau),
    "hybrid_dynamics": lambda held, q, v, tau: held.hybrid_dynamics(q, v, tau, np.zeros_like(v)),
}


@cache
def state(compiled):
    held = lw.Dynamics(lw.load("four_bar"), compiled=compiled).constraints
    q, v = held.project(held.assemble(np.full(3, 0.5)), np.ones(3))
    return held, q, v, np.ones(3)


def arrays(x):
    """All float arrays in a result."""
    if is_dataclass(x):
        x = [getattr(x, f.name) for f in fields(x)]
    if isinstance(x, dict):
        x = list(x.values())
    if isinstance(x, (list, tuple)):
        return [a for e in x for a in arrays(e)]
    return [x] if isinstance(x, np.ndarray) and x.dtype.kind == "f" else []


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", METHODS)
def test_answers_have_the_precision_of_what_came(name, compiled):
    held, *given = state(compiled)
    single = [x.astype(np.float32) for x in given]
    for kind, found in ((np.float32, METHODS[name](held, *single)), (np.float64, METHODS[name](held, *given))):
        assert arrays(found) and {x.dtype for x in arrays(found)} == {np.dtype(kind)}


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", METHODS)
def test_single_precision_is_computed_in_double(name, compiled):
    """The answer to rounded numbers is the rounded answer to those numbers."""
    held, *given = state(compiled)
    single = [x.astype(np.float32) for x in given]
    for a, b in zip(arrays(METHODS[name](held, *single)), arrays(METHODS[name](held, *(x.astype(float) for x in single)))):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5 * max(1.0, np.abs(b).max(initial=0.0)))


def test_every_method_is_in_the_list():
    public = {name for name, x in vars(Constrained).items() if callable(x) and not name.startswith("_")}
    assert public == set(METHODS) | NO_ARRAYS


def test_views_answer_in_the_precision_of_what_came():
    held, q, v, tau = state(False)
    q, v, tau = (x.astype(np.float32) for x in (q, v, tau))
    view, embedded = held.reduced(q), held.embedded(q, v)
    u = v[view.independent]
    found = [view.X(q), view.velocity(q, u), view.acceleration(q, u, u), view.mass_matrix(q), view.force(q, tau), view.bias(q, u)]
    found += [view.inverse_dynamics(q, u, u), view.forward_dynamics(q, u, tau)]
    found += [embedded.whole(v[embedded.independent]), embedded.forces(tau)]
    assert {x.dtype for x in found} == {np.dtype(np.float32)}


def test_methods_of_constraints_and_of_robots_have_one_rule():
    """float32 beside int64, or beside numbers in lists however deep, is float64 everywhere; what is no array of the state says nothing."""
    held, q, v, _ = state(False)
    q32, v32 = q.astype(np.float32), v.astype(np.float32)
    for beside in (np.zeros(3, int), [0.0, 0.0, 0.0], [[0.0, 0.0, 0.0]], [0, 0, 0]):
        wanted = held.robot.joint_wrenches(q32, beside, np.zeros(3, np.float32)).dtype
        assert wanted == np.float64
        assert held.bias(q32, beside).dtype == held.solution(q32, v32, beside).vdot.dtype == wanted
        assert held.forward_dynamics(q32, v32, beside).dtype == held.constraint_forces(q32, v32, beside).lam.dtype == wanted
    assert held.project(q32, v32, hold=[0])[0].dtype == np.float32
    assert held.solution(q32, v32, v32, stabilization=(1.0, 1.0)).vdot.dtype == np.float32
