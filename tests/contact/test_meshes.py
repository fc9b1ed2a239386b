"""Convex hulls of meshes by coal, and bounding spheres."""

import numpy as np
import pytest
from test_contact_points import KINDS, near, two_bodies

import linkwork as lw
from linkwork.contact.geometry.meshes import MeshDistances
from linkwork.errors import ModelError, TraceError

OCTAHEDRON = """o octahedron
v 1 0 0
v -1 0 0
v 0 1 0
v 0 -1 0
v 0 0 1
v 0 0 -1
f 1 3 5
f 3 2 5
f 2 4 5
f 4 1 5
f 3 1 6
f 2 3 6
f 4 2 6
f 1 4 6
"""


def robot(tmp_path):
    pytest.importorskip("coal")
    pytest.importorskip("trimesh")
    path = tmp_path / "octahedron.obj"
    path.write_text(OCTAHEDRON)
    mesh = lw.Shape("mesh", (0.5, 0.5, 0.5), mesh="octahedron.obj", path=str(path))
    made = lw.Builder("gem").body("gem", joint=lw.Free(), mass=1.0, tensor=(1, 1, 1), collisions=(mesh,))
    made.body("ball", joint=lw.Free(), mass=1.0, tensor=(1, 1, 1), collisions=(lw.Shape("sphere", (0.2,)),))
    return lw.Dynamics(made.ground().contact("gem").contact("gem", "ball").model())


def test_a_hull_has_the_distance_of_its_corners_and_faces(tmp_path):
    """an octahedron on its tip, and a ball over a face: (x + y + z − s)/√3 − r"""
    gem = robot(tmp_path)
    q = gem.neutral()
    q[4:7], q[11:14] = (0, 0, 0.7), (1.0, 1.0, 1.7)
    found = MeshDistances(gem)(q)
    np.testing.assert_allclose(found.gap, [0.2, 2.5 / np.sqrt(3) - 0.2], atol=1e-6)
    np.testing.assert_allclose(found.normal[0], [0, 0, 1], atol=1e-6)
    np.testing.assert_allclose(found.normal[1], -np.ones(3) / np.sqrt(3), atol=1e-6)
    assert MeshDistances(gem)(np.stack([q, q])).points.shape == (2, 2, 2, 3)
    assert not MeshDistances(gem, margin=0.1)(q).exact[1]


def test_kernels_refuse_meshes_and_say_what_has_them(tmp_path):
    gem = robot(tmp_path)
    q = gem.neutral()
    with pytest.raises(ModelError, match=r'contact "gem.0/ground.ground" is of a mesh of "gem".*linkwork\.contact\.geometry\.meshes'):
        gem.contact_gaps(q)
    with pytest.raises(TraceError, match="not in a kernel"):
        gem.kernel(lambda q: MeshDistances(gem)(q).gap)(q)
    lost = lw.Builder("lost").body("b", joint=lw.Free(), mass=1.0, collisions=(lw.Shape("mesh", (1, 1, 1), mesh="no.stl"),)).contact("b")
    with pytest.raises(ModelError, match=r'"no\.stl" is not there'):
        MeshDistances(lw.Dynamics(lost.model()))(np.array([0, 0, 0, 1.0, 0, 0, 0]))


def test_meshes_are_left_out_of_all_pairs_with_a_note(tmp_path):
    model = robot(tmp_path).model
    from dataclasses import replace

    again = replace(model, contacts=()).with_contacts("all")
    assert [x.bodies for x in again.contacts] == [("ball",)]
    assert "mesh shapes are left out of contacts: gem" in again.notes[-1]


@pytest.mark.parametrize("kinds", KINDS, ids="-".join)
def test_no_gap_is_below_the_bound_of_its_spheres(kinds):
    pair = lw.Dynamics(two_bodies(kinds), compiled=False)
    q, _ = near(pair, 300, spread=0.5)
    assert (pair.contact_gaps(q).min(-1) >= pair.contact_bounds(q)[:, 0] - 1e-12).all()
