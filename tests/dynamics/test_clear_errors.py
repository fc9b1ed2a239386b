"""What a call cannot take is one error of the library that says what it takes."""

import subprocess
import sys
import warnings
from dataclasses import replace

import numpy as np
import pytest
from zoo import close

import linkwork as lw
from linkwork.model import solids

ARM = lw.Dynamics(lw.load("planar_2r"), compiled=False)
LOOP = lw.Dynamics(lw.load("four_bar"), compiled=False)
Q, Z = np.array([0.3, 0.4]), np.zeros(2)
RAGGED = [[1.0], [1.0, 2.0]]


def driven():
    builder = lw.Builder("driven")
    builder.body("wheel", joint=lw.Revolute(), mass=1.0, tensor=(1, 1, 1))
    return lw.Dynamics(builder.drive("wheel_joint", lambda t: 0.5 * t * t).model(), compiled=False)


@ARM.kernel
def added(q, v):
    return q + v


WRONG = {
    "ragged q": lambda: ARM.mass_matrix(RAGGED),
    "no q": lambda: ARM.mass_matrix(None),
    "text for q": lambda: ARM.mass_matrix("ab"),
    "ragged q of a loop": lambda: LOOP.forward_dynamics(RAGGED, np.zeros(3), np.zeros(3)),
    "no q of a loop": lambda: LOOP.forward_dynamics(None, np.zeros(3), np.zeros(3)),
    "no v of a loop": lambda: LOOP.forward_dynamics(np.zeros(3), None, np.zeros(3)),
    "nothing to assemble": lambda: LOOP.assemble(None),
    "ragged to assemble": lambda: LOOP.assemble(RAGGED),
    "no q to report": lambda: LOOP.constraint_report(None),
    "forces at several times": lambda: driven().constraint_forces(np.zeros((3, 1)), np.zeros((3, 1)), np.zeros((3, 1)), t=np.arange(3.0)),
    "motion at several times": lambda: driven().forward_dynamics(np.zeros((3, 1)), np.zeros((3, 1)), np.zeros((3, 1)), t=np.arange(3.0)),
    "a time that is none": lambda: driven().forward_dynamics(np.zeros(1), np.zeros(1), np.zeros(1), t="noon"),
    "ragged q of a kernel": lambda: added(RAGGED, Z),
    "ragged masses": lambda: ARM.varying("mass").mass_matrix(Q, mass=RAGGED),
    "no masses": lambda: ARM.varying("mass").mass_matrix(Q, mass=None),
    "no q of operators": lambda: ARM.operators(None),
    "ragged q of operators": lambda: ARM.operators(RAGGED),
    "a list for a body": lambda: ARM.pose(Q, ["link1"]),
    "a list for axes": lambda: ARM.jacobian(Q, "link1", ["world"]),
    "a list for a joint": lambda: ARM.q_index(["joint1"]),
    "a list for a body of a model": lambda: ARM.model.body(["link1"]),
    "a list for a parent": lambda: lw.Builder("x").body("a", ["b"]).model(),
    "a list for a name": lambda: lw.Builder("x").body(["a"]).model(),
    "an out that is a list": lambda: ARM.mass_matrix(Q, out=[1, 2]),
    "an out of another shape": lambda: ARM.mass_matrix(Q, out=np.zeros(3)),
    "an out that cannot be written": lambda: ARM.mass_matrix(Q, out=np.broadcast_to(0.0, (2, 2))),
    "an out of whole numbers": lambda: ARM.mass_matrix(Q, out=np.zeros((2, 2), int)),
    "no model": lambda: lw.Dynamics(None),
    "a name for a model": lambda: lw.Dynamics("pendulum"),
    "an unknown quantity": lambda: ARM.ask("mass", Q),
    "a quantity that is a function": lambda: ARM.program(lambda q: q),
    "no quantity": lambda: ARM.program(None),
    "another robot's kernel": lambda: LOOP.program(added),
    "a ragged state": lambda: lw.simulate(ARM, (RAGGED, Z), until=0.1),
    "a controller that returns nothing": lambda: lw.simulate(ARM, (Q, Z), until=0.1, control=lambda t, q, v: None),
    "a held one that returns nothing": lambda: lw.simulate(ARM, (Q, Z), until=0.1, control=lw.hold(lambda t, q, v: None, rate=10)),
    "a controller that returns a text": lambda: lw.simulate(ARM, (Q, Z), until=0.1, control=lambda t, q, v: "full"),
    "an angle that is no number": lambda: lw.Pose.rpy((0, 0, 0), (np.nan, 0, 0)),
    "an angle without end": lambda: lw.Pose.rpy((0, 0, 0), (np.inf, 0, 0)),
    "two angles": lambda: lw.Pose.rpy((0, 0, 0), (0, 0)),
    "a ragged pose": lambda: lw.Pose.of(RAGGED),
    "no mass": lambda: lw.Body("a", None),
    "a ragged centre": lambda: lw.Body("a", 1.0, RAGGED),
    "no axis": lambda: lw.Revolute(axis=None),
    "a limit that is a text": lambda: lw.Revolute(lower="low"),
    "no gravity": lambda: ARM.model.with_gravity(None),
    "a ragged table": lambda: lw.from_dh(RAGGED),
    "no length": lambda: lw.Builder("x").body("a", joint=lw.Free(), mass=1).distance("d", None, "a", None),
    "no coefficients": lambda: lw.Builder("x").couple("a", None, None),
    "a solid with a wrong name": lambda: solids.together(solids.box(1, (1, 1, 1)), {"maas": 1.0}),
    "a list of solids": lambda: solids.together([solids.box(1, (1, 1, 1))]),
    "a text for a payload": lambda: ARM.model.with_payload("link2", "heavy"),
    "brackets that do not match": lambda: ARM.operators(Q)("φ φ )"),
    "a batch that is a text": lambda: ARM.random_state("many"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_a_call_cannot_take_is_an_error_of_the_library(what):
    with pytest.raises(lw.LinkworkError):
        WRONG[what]()


def test_an_unknown_quantity_is_answered_with_quantities():
    with pytest.raises(lw.UnknownNameError) as caught:
        ARM.varying("mass").ask("__dict__", Q)
    assert "__" not in str(caught.value).replace('"__dict__"', "")


# --- what is supported


def test_operators_go_by_every_documented_name():
    op = ARM.operators(Q, Z)
    for name, other in (
        ("Ω", op.Omega),
        ("Omega", op.Omega),
        ("Upsilon", op.Upsilon),
        ("phi_tilde", op.phi_tilde),
        ("psi_tilde", op.psi_tilde),
    ):
        close(op(name).dense(), other.dense())


def test_b_alone_picks_off_every_body():
    op = ARM.operators(Q, Z)
    close(op("B").dense(), op.B(*ARM.bodies).dense())
    close(op("B* φ* H*").dense(), ARM.task_jacobian(Q, *ARM.bodies))
    assert op.sko.operators("B").dense().shape == (12, 12)


def test_the_constraints_are_there_in_a_new_process():
    subprocess.run([sys.executable, "-c", "import linkwork as lw; lw.constraints.Distance"], check=True, capture_output=True)


def test_a_payload_may_be_a_mass_or_a_solid():
    point = ARM.model.with_payload("tool", 1.5)
    assert point.body("payload").mass == 1.5 and point.joint("payload_weld").parent == "link2"
    assert point.with_payload("tool", 0.5).body("payload_").mass == 0.5
    box = solids.box(2.0, (0.1, 0.1, 0.1))
    close(ARM.model.with_payload("tool", box).body("payload").tensor, box["tensor"])


def test_solids_may_be_dicts():
    one, other = solids.box(1.0, (1, 1, 1)), {"mass": 1.0, "center": (1, 0, 0), "tensor": (0.1, 0.1, 0.1)}
    close(solids.together(one, other)["center"], (0.5, 0, 0))


def test_a_kernel_has_a_program_and_is_exported(tmp_path):
    assert ARM.program(added) is added.program
    assert all(path.exists() for path in ARM.export.c(added, tmp_path))


def test_joints_to_hold_go_by_name():
    q, v = LOOP.neutral() + 0.1, np.ones(3)
    held, _ = LOOP.constraints.project(LOOP.assemble(q) + np.array([0, 1e-3, 0]), v, hold=["crank_joint"])
    assert held[0] == LOOP.assemble(q)[0]


def test_a_body_may_be_called_as_an_array_is():
    """A body called "external" is a body, in joint_wrenches too; the wrenches go by their keyword."""
    builder = lw.Builder("named")
    builder.body("external", None, None, lw.Revolute(axis=(0, 1, 0)), mass=1.0, center=(0.3, 0, 0), tensor=(0.1, 0.1, 0.1))
    builder.body("b", "external", (1, 0, 0), lw.Revolute(), mass=1.0, tensor=(0.1, 0.1, 0.1))
    named, other = lw.Dynamics(builder.model()), None
    model = named.model
    other = lw.Dynamics(replace(model, bodies=(replace(model.bodies[0], name="a"), model.bodies[1]), joints=(
        replace(model.joints[0], child="a"), replace(model.joints[1], parent="a"))), compiled=False)  # fmt: skip
    push = np.arange(12.0).reshape(2, 6)
    close(named.joint_wrenches(Q, Z, Z, "external"), other.joint_wrenches(Q, Z, Z, "a"))
    close(named.joint_wrenches(Q, Z, Z, "external", external=push), other.joint_wrenches(Q, Z, Z, "a", external=push))
    close(named.inverse_dynamics(Q, Z, Z, push), other.inverse_dynamics(Q, Z, Z, push))
    close(named.varying("mass").joint_wrenches(Q, Z, Z, "external"), other.joint_wrenches(Q, Z, Z, "a"))
    inside = named.kernel(lambda q, v: named.joint_wrenches(q, v, v, "external"))
    close(inside(Q, Z), other.joint_wrenches(Q, Z, Z, "a"))


# --- old names


def test_an_old_name_is_imported_with_one_warning():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        from linkwork import Hinge
        from linkwork.model import Hinge as Same
    assert Hinge is Same is lw.PlacedJoint
    assert [warning.category for warning in caught] == [DeprecationWarning] * 2  # one for each line


@pytest.mark.parametrize(
    "call",
    [
        lambda: lw.Builder("x").body("a", parent="b", on="c"),
        lambda: lw.Builder("x").frame("a", body="b", on="c"),
        lambda: lw.Model("x", hinges=(), joints=()),
        lambda: LOOP.constraints.project(np.zeros(3), np.zeros(3), hold=["crank_joint"], fixed=[1]),
    ],
)
def test_the_old_and_the_new_name_together_are_refused(call):
    with pytest.raises(lw.OptionError, match="the old and the new name of one thing"):
        call()


def test_an_old_name_still_replaces():
    with pytest.warns(DeprecationWarning):
        assert replace(ARM.model, hinges=ARM.model.joints) == ARM.model
