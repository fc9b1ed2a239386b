"""Walls of many bodies, their contact problems written out: stacks and an arch, at rest under their weight."""

import numpy as np
import pytest

import linkwork as lw

G, H = 9.81, 0.001


def contact_rows(bodies, one, other, at, normal, centers):
    """Rows (n, t1, t2) of the velocity of body `one` on `other` (None: the ground) at a point, from v = (ω, u) of each."""
    n = np.asarray(normal, float)
    t1 = np.cross(n, [0, 1, 0]) if abs(n[1]) < 0.9 else np.cross(n, [1, 0, 0])
    t1 /= np.linalg.norm(t1)
    R = np.stack([n, t1, np.cross(n, t1)])
    J = np.zeros((3, 6 * bodies))
    for sign, k in ((1, one), (-1, other)):
        if k is not None:
            x, y, z = np.subtract(at, centers[k])
            cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
            J[:, 6 * k : 6 * k + 6] = sign * np.concatenate([R @ -cross, R], 1)
    return J


def solved(J, masses, tensors, mu):
    """The impulses of a step of H seconds from rest, and velocities after it."""
    inverse = np.diag(np.concatenate([[1 / t, 1 / t, 1 / t, 1 / m, 1 / m, 1 / m] for m, t in zip(masses, tensors)]))
    free = np.zeros(6 * len(masses))
    free[5::6] = -G * H
    found = lw.solve_contacts(J @ inverse @ J.T, J @ free, mu)
    return found, free + inverse @ J.T @ found.force


@pytest.mark.slow
@pytest.mark.parametrize("ratio", [1.0, 1e4])
def test_a_stack_of_ten_boxes_rests(ratio):
    """Boxes of mass 1, the top one of mass `ratio`: the contact below box i carries the weight of all from i on; nothing moves."""
    masses = np.ones(10)
    masses[-1] = ratio
    centers = [(0, 0, i + 0.5) for i in range(10)]
    corners = [(x, y) for x in (-0.5, 0.5) for y in (-0.5, 0.5)]
    J = np.concatenate([contact_rows(10, i, i - 1 if i else None, (x, y, i), (0, 0, 1), centers) for i in range(10) for x, y in corners])
    found, v = solved(J, masses, masses / 6, 0.5)
    carried = found.force.reshape(10, 4, 3)[..., 0].sum(-1) / H
    assert found.residuals.max() < 1e-6 and np.allclose(carried, G * np.cumsum(masses[::-1])[::-1], rtol=1e-6)
    assert np.abs(v).max() < 1e-8


@pytest.mark.parametrize(("mu", "stands"), [(0.5, True), (0.1, False)])
def test_an_arch_of_five_blocks_is_held_by_friction(mu, stands):
    """A half circle of wedges of 36°, radii 1 and 1.4, four points in each of six joints, turned by 18° from the axis of the block
    between them; tan 18° = 0.32: with μ = 0.5 no block can slide out, with μ = 0.1 the arch comes down."""
    middle = [np.pi * (i + 0.5) / 5 for i in range(5)]
    centers = [(1.2 * np.cos(a), 0, 1.2 * np.sin(a)) for a in middle]
    rows = []
    for k in range(6):
        a = np.pi * k / 5
        normal = np.array([-np.sin(a), 0, np.cos(a)])  # from block k − 1 to block k
        for r in (1.0, 1.4):
            for y in (-0.3, 0.3):
                at = (r * np.cos(a), y, r * np.sin(a))
                one, other, n = (k, k - 1 if k else None, normal) if k < 5 else (4, None, -normal)
                rows.append(contact_rows(5, one, other, at, n, centers))
    found, v = solved(np.concatenate(rows), np.ones(5), np.full(5, 0.05), mu)
    assert found.residuals.max() < 1e-6
    assert (np.abs(v).max() < 1e-7) == stands
    sides = found.force.reshape(6, 4, 3)[[0, 5], :, 0].sum() / H
    assert np.isclose(sides, 5 * G, rtol=1e-6) == stands
