"""What may touch what, as files say it: pairs, groups, exclusions, friction."""

import warnings
from pathlib import Path

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import ModelError
from linkwork.model.contacts import material_of, shape_of, sides

MODELS = Path(__file__).parents[1] / "models"


def touching(model):
    """Unordered pairs of shapes of the active contacts."""
    return {frozenset(sides(x)) for x in model.contacts if x.active}


MJCF = """<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1" friction="0.7"/>
  <body name="a" pos="0 0 1"><freejoint/><geom name="a1" type="sphere" size="0.1" friction="0.5"/>
    <geom name="a2" type="box" size="0.1 0.1 0.1" contype="2" conaffinity="2"/>
    <body name="b" pos="0.3 0 0"><joint axis="0 1 0"/><geom name="b1" type="capsule" size="0.05 0.2" priority="1" friction="0.3"/>
      <body name="c" pos="0.3 0 0"><joint axis="0 1 0"/><geom name="c1" type="sphere" size="0.1"/>
         <body name="d" pos="0.3 0 0"><geom name="d1" type="sphere" size="0.1" contype="2" conaffinity="4"/></body></body></body></body>
  <body name="e" pos="0 1 1"><freejoint/><geom name="e1" type="ellipsoid" size="0.1 0.2 0.3" contype="0" conaffinity="0"/></body>
  </worldbody><contact><exclude body1="a" body2="c"/><pair geom1="e1" geom2="floor" friction="0.25 0.25 0.1 0.1 0.1"/></contact></mujoco>"""


def mujoco_pairs(text):
    """Pairs of geoms that MuJoCo tests: bits, bodies fixed together, parents, exclusions, explicit pairs."""
    mujoco = pytest.importorskip("mujoco")
    m = mujoco.MjModel.from_xml_path(str(text)) if isinstance(text, Path) else mujoco.MjModel.from_xml_string(text)
    weld, out = m.body_weldid, set()
    parent = {i: weld[m.body_parentid[weld[i]]] for i in range(m.nbody)}
    for g in range(m.ngeom):
        for h in range(g + 1, m.ngeom):
            a, b = m.geom_bodyid[g], m.geom_bodyid[h]
            bits = (m.geom_contype[g] & m.geom_conaffinity[h]) | (m.geom_contype[h] & m.geom_conaffinity[g])
            related = weld[a] and weld[b] and (parent[a] == weld[b] or parent[b] == weld[a])
            if bits and weld[a] != weld[b] and not related and (min(a, b) << 16) + max(a, b) not in m.exclude_signature:
                out.add(frozenset((g, h)))
    return m, out | {frozenset((int(a), int(b))) for a, b in zip(m.pair_geom1, m.pair_geom2)}


@pytest.mark.parametrize("source", [MJCF, "humanoid_mjcf/humanoid.xml"], ids=["small", "humanoid"])
def test_pairs_are_those_of_mujoco(source):
    """All pairs of geoms that pass MuJoCo's filters, meshes and pairs of planes apart"""
    path = source if source is MJCF else MODELS / source
    if path is not MJCF and not path.exists():
        pytest.skip("the model is not here")
    m, expected = mujoco_pairs(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = lw.load(path, contacts="all")
    has_shape = [int(m.geom_type[g]) in (0, 2, 3, 4, 5, 6) for g in range(m.ngeom)]
    expected = {x for x in expected if all(has_shape[g] for g in x)}
    assert len(touching(model)) == len(expected)


def test_friction_is_that_of_mujoco():
    """the larger of two, that of the higher priority, or that of the pair"""
    pytest.importorskip("mujoco")
    model = lw.load(MJCF, contacts="all")
    found = {}
    for x in model.contacts:
        names = tuple(sorted(shape_of(model, x.name, *side).name for side in sides(x)))
        found[names] = material_of(model, x).friction
    assert found == {("a1", "floor"): 0.7, ("b1", "floor"): 0.3, ("c1", "floor"): 1.0, ("e1", "floor"): 0.25, ("a2", "d1"): 1.0}


def test_pairs_are_made_only_where_asked_for():
    pytest.importorskip("mujoco")
    assert not any(x.active for x in lw.load(MJCF).contacts)
    assert len(touching(lw.load(MJCF, contacts="ground"))) == 4  # bits allow three, a pair names the fourth


URDF = """<robot name="cart"><link name="base">
  <inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision name="hull"><geometry><box size="1 1 1"/></geometry></collision></link>
  <link name="wheel"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision><geometry><cylinder radius="0.3" length="0.1"/></geometry></collision></link>
  <joint name="axle" type="continuous"><parent link="base"/><child link="wheel"/><origin xyz="0 0.6 -0.3"/><axis xyz="0 1 0"/></joint>
  <gazebo reference="wheel"><mu1>0.4</mu1><mu2>0.9</mu2><kp>1e5</kp><kd>10</kd></gazebo></robot>"""


def test_urdf_has_the_friction_of_gazebo():
    model = lw.load(URDF, floating=True, contacts=["wheel", "hull"])
    assert [material_of(model, x).friction for x in model.contacts] == [0.4, 1.0]
    assert material_of(model, model.contacts[0]).compliance == 1e-5
    assert [x.kind for x in model.ground] == ["plane"]


def test_sdf_has_surfaces():
    sdf = """<sdf version="1.9"><model name="ball"><link name="ball"><collision name="skin">
      <geometry><sphere><radius>0.1</radius></sphere></geometry>
      <surface><friction><ode><mu>0.6</mu></ode></friction><bounce><restitution_coefficient>0.8</restitution_coefficient></bounce>
      <contact><collide_bitmask>0x02</collide_bitmask><ode><kp>1e4</kp><kd>5</kd></ode></contact></surface></collision>
      <collision name="core"><geometry><ellipsoid><radii>0.1 0.2 0.3</radii></ellipsoid></geometry></collision></link>
      <link name="slope"><collision name="plane"><geometry><plane><normal>0 1 1</normal></plane></geometry></collision></link>
      </model></sdf>"""
    model = lw.load(sdf)
    skin, core = model.body("ball").collisions
    assert (skin.material.friction, skin.material.restitution, skin.material.compliance, skin.group) == (0.6, 0.8, 1e-4, 2)
    assert core.kind == "ellipsoid"
    np.testing.assert_allclose(model.body("slope").collisions[0].pose.rotation[:, 2], [0, 0.5**0.5, 0.5**0.5])
    with pytest.raises(ModelError, match=r"line \d+.*whole number"):
        lw.load(sdf.replace("0x02", "two"))


def test_errors_of_contacts_name_what_is_wrong():
    model = lw.load(URDF, floating=True)
    for contacts, said in (
        (["weel"], 'no body and no collision shape "weel" for a contact. Did you mean "wheel"'),
        ("everything", 'contacts is .everything.; it may be "ground"'),
        ([("wheel", "hull", "x")], "takes pairs of names"),
        ([("hull", "base")], "with itself"),
    ):
        with pytest.raises(ModelError, match=said):
            model.with_contacts(contacts)
    with pytest.raises(ModelError, match="from 0 to 1"):
        lw.Material(restitution=1.5)
    with pytest.raises(ModelError, match="friction nan"):
        lw.Material(friction=float("nan"))


def test_a_file_in_the_world_frame_keeps_shapes_ground_contacts_and_actuators(tmp_path):
    """saved and loaded, gaps and forces are the same at every configuration"""
    pytest.importorskip("mujoco")
    actuators = '<actuator><position name="p" joint="knee" kp="9" ctrlrange="-1 1"/></actuator></mujoco>'
    text = MJCF.replace('"b" pos="0.3 0 0"><joint', '"b" pos="0.3 0 0"><joint name="knee"').replace("</mujoco>", actuators)
    model = lw.load(text, contacts="all")
    lw.save(model, tmp_path / "model.json")
    again = lw.load(tmp_path / "model.json")
    one, other = lw.Dynamics(model, compiled=False), lw.Dynamics(again, compiled=False)
    q, v = one.random_state((20,), seed=0)
    np.testing.assert_allclose(other.contact_gaps(q), one.contact_gaps(q), atol=1e-12)
    np.testing.assert_array_equal(other.contacts.friction, one.contacts.friction)
    np.testing.assert_allclose(other.actuators.force(q, v, v[:, :1]), one.actuators.force(q, v, v[:, :1]))
    assert (again.contacts, again.excluded, again.actuators) == (model.contacts, model.excluded, model.actuators)
    with pytest.raises(ModelError, match=r"contacts, which load.*the ground; actuators p"):
        lw.save(model, tmp_path / "model.urdf")


def test_info_prints_contacts_and_actuators(tmp_path, capsys):
    pytest.importorskip("typer")
    from linkwork.cli.info_and_view import facts

    lines = facts(lw.load(URDF, floating=True, contacts="ground").with_actuators())
    assert "collision shapes: 1 box, 1 cylinder" in lines and "ground: plane ground" in lines
    assert "contacts: base.hull/ground.ground, wheel.0/ground.ground" in lines and "actuators: axle_motor (motor)" in lines
