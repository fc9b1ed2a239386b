"""Fixed placements: exact for quarter turns, sound for all others."""

import itertools

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from linkwork.errors import ModelError
from linkwork.spatial import Pose
from linkwork.spatial.pose import quaternion_of, scaled

QUARTERS = [k * np.pi / 2 for k in range(-4, 5)]
LATTICE = list(itertools.product(QUARTERS, repeat=3))
SLOW = [1e-12, 1e-9, 1e-7, 1e-4, 0.1, 1.0, 3.0]


def near(a, b, atol=1e-15):
    return np.allclose(a, b, rtol=0, atol=atol)


def random(rng):
    return Pose(tuple(rng.standard_normal(4)), tuple(rng.standard_normal(3)))


def test_quarter_turns_are_exact():
    """Rz(y) Ry(p) Rx(r) of multiples of π/2 has entries 0 and ±1, not nearly so."""
    for rpy in LATTICE:
        R = Pose.rpy((0, 0, 0), rpy).rotation
        assert set(np.abs(R).ravel()) <= {0.0, 1.0}
        assert near(R, Rotation.from_euler("xyz", rpy).as_matrix())


def test_products_and_inverses_of_quarter_turns_stay_exact(rng):
    turns = [Pose.rpy((1, 2, 3), rpy) for rpy in rng.choice(LATTICE, 40)]
    product = Pose()
    for turn in turns:
        product = product @ turn @ turn.inverse() @ turn
        assert set(np.abs(product.rotation).ravel()) <= {0.0, 1.0}
        assert all(x == round(x) for x in product.translation)
        assert set(map(abs, product.quaternion)) <= {0.0, 1.0}


def test_rpy_is_as_urdf_says(rng):
    """R = Rz(y) Ry(p) Rx(r)."""
    for rpy in rng.uniform(-4, 4, (20, 3)):
        assert near(Pose.rpy((0, 0, 0), rpy).rotation, Rotation.from_euler("xyz", rpy).as_matrix())


def test_poses_compose_as_matrices_do(rng):
    a, b = random(rng), random(rng)
    assert near((a @ b).matrix, a.matrix @ b.matrix)


def test_the_inverse_undoes(rng):
    a = random(rng)
    assert near((a @ a.inverse()).matrix, np.eye(4))
    assert near(a.inverse().matrix, np.linalg.inv(a.matrix))


def test_composition_is_associative_and_has_a_unit(rng):
    a, b, c = (random(rng) for _ in range(3))
    assert near(((a @ b) @ c).matrix, (a @ (b @ c)).matrix)
    assert near((a @ Pose()).matrix, a.matrix)


def test_the_length_of_the_quaternion_does_not_matter():
    assert near(Pose((0.3, 0.1, -0.2, 0.5)).rotation, Pose((3, 1, -2, 5)).rotation)


def test_a_pose_is_made_from_what_people_have(rng):
    a = random(rng)
    assert Pose.of(None) == Pose()
    for wrong in ((0, 0, -1.0), (0, 0, 0, 0), (1, 0, 0, np.nan), np.eye(4), "xyzw", None):
        with pytest.raises(ModelError, match=r"it takes four numbers x y z w.*Pose\.of\(\(x, y, z\)\) is the pose at a position"):
            Pose(wrong)
    assert Pose.of(a) is a
    assert Pose.of((1, 2, 3)) == Pose(translation=(1.0, 2.0, 3.0))
    assert near(Pose.of(a.rotation).rotation, a.rotation)
    assert near(Pose.of(a.matrix).matrix, a.matrix)


def test_an_exact_rotation_matrix_gives_an_exact_pose():
    for rpy in LATTICE[::7]:
        R = Pose.rpy((0, 0, 0), rpy).rotation
        assert np.array_equal(Pose.of(R).rotation, R)


@pytest.mark.parametrize("axis", [a for a in itertools.product((-1, 0, 1), repeat=3) if any(a)], ids=str)
@pytest.mark.parametrize("length", [1.0, 0.1, 7.0])
def test_z_is_turned_to_any_axis(axis, length):
    axis = length * np.array(axis, float)
    R = Pose.turning_z_to(axis).rotation
    assert near(R[:, 2], axis / np.linalg.norm(axis))
    assert near(R @ R.T, np.eye(3))


@pytest.mark.parametrize("axis", [*np.eye(3), *-np.eye(3)], ids=str)
def test_z_is_turned_to_coordinate_axes_exactly(axis):
    R = Pose.turning_z_to(axis).rotation
    assert np.array_equal(R[:, 2], axis)
    assert set(np.abs(R).ravel()) <= {0.0, 1.0}


@pytest.mark.parametrize("miss", SLOW)
@pytest.mark.parametrize("axis", [*np.eye(3), *-np.eye(3)], ids=str)
def test_z_is_turned_to_axes_near_coordinate_axes_without_loss(rng, axis, miss):
    """An axis that misses a coordinate axis, -z too, is meant to."""
    axis = axis + miss * rng.standard_normal(3)
    assert near(Pose.turning_z_to(axis).rotation[:, 2], axis / np.linalg.norm(axis), 3e-16)


def test_random_directions(rng):
    for axis in rng.standard_normal((50, 3)):
        R = Pose.turning_z_to(axis).rotation
        assert near(R[:, 2], axis / np.linalg.norm(axis))
        assert np.isclose(np.linalg.det(R), 1)


@pytest.mark.parametrize("miss", [0.0, *SLOW])
@pytest.mark.parametrize("side", [1, -1])
def test_a_quaternion_is_found_at_every_angle_about_half_turns(rng, miss, side):
    """Rotation → quaternion → rotation loses nothing, near 180 degrees and near 0."""
    for axis in [*np.eye(3), *rng.standard_normal((10, 3))]:
        for angle in (np.pi - side * miss, side * miss):
            R = Rotation.from_rotvec(angle * axis / np.linalg.norm(axis)).as_matrix()
            assert near(Pose(quaternion_of(R)).rotation, R, 2e-15)


def test_a_scaled_quaternion_is_the_same_rotation_with_a_largest_entry_of_one(rng):
    for q in rng.standard_normal((20, 4)):
        s = scaled(q)
        assert max(map(abs, s)) == 1.0
        assert s[3] >= 0
        assert near(Pose(s).rotation, Pose(tuple(q)).rotation)


def test_a_print_of_a_quarter_turn_snaps_and_a_small_angle_does_not():
    """1.5707963268 misses π/2 by 5e-12; 1e-6 misses nothing."""
    printed = Pose.rpy((0, 0, 0), (1.5707963268, 0, 3.14159265359))
    assert set(np.abs(printed.rotation).ravel()) <= {0.0, 1.0}
    assert Pose.rpy((0, 0, 0), (1e-6, 0, 0)).rotation[2, 1] == pytest.approx(1e-6, rel=1e-12)
    assert Pose.rpy((0, 0, 0), (1.5707963268, 0, 0), snap=False).rotation[1, 1] != 0


def test_snapping_puts_a_nearly_lattice_rotation_right():
    nearly = Pose((0.7071067812, 0.0, 0.0, 0.7071067811), (1, 2, 3))
    assert set(np.abs(nearly.snapped().rotation).ravel()) <= {0.0, 1.0}
    turned = Pose.rpy((0, 0, 0), (0.3, 0.2, 0.1))
    assert turned.snapped() == turned


def test_poses_are_equal_by_value_and_can_be_keys():
    assert len({Pose.of((1, 2, 3)), Pose.of(np.array([1.0, 2.0, 3.0])), Pose()}) == 2
