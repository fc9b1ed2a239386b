"""Jain, chapter 8: trees as matrices, with weights of any sizes."""

import numpy as np
import pytest
from systems import every_model, models
from zoo import close

from linkwork.errors import ModelError, ShapeError
from linkwork.operators import SKO, shifted


def unit(m, k):
    """e_k, the block column that picks node k."""
    return m.I[:, m.rows[k]]


def adjacency(m):
    """S(p,k) = 1 where p is the parent of k."""
    S = np.zeros((m.n, m.n))
    for k, p in enumerate(m.tree.parent):
        if p >= 0:
            S[p, k] = 1
    return S


def roots_and_tips(m):
    return m.tree.children[-1], [k for k in range(m.n) if not m.tree.children[k]]


@every_model
def test_adjacency_is_nilpotent(m):
    """Sⁿ = 0: no path is longer than the number of nodes (8.6)."""
    assert not np.linalg.matrix_power(adjacency(m), m.n).any()


@every_model
def test_powers_of_the_adjacency_count_paths(m):
    """Sⁱ(k,j) = 1 where k is the i-th ancestor of j (8.4)."""
    S = adjacency(m)
    for j in range(m.n):
        for i, k in enumerate(m.path(j)):
            assert np.linalg.matrix_power(S, i)[k, j] == 1


@every_model
def test_roots_have_zero_columns_and_tips_zero_rows(m):
    """S e_r = 0,  e_t* S = 0 (8.2)."""
    roots, tips = roots_and_tips(m)
    assert not adjacency(m)[:, roots].any()
    assert not adjacency(m)[tips].any()


@every_model
def test_powers_of_the_weighted_adjacency(m):
    """(𝓔ⁱ)(k,j) = A(k,·) ... A(·,j), k the i-th ancestor of j (lemma 8.1)."""
    power = m.I
    for i in range(4):
        for j in range(m.n):
            path = m.path(j)
            product = np.eye(m.sko.heights[j])
            for k in path[:i]:
                product = m.sko.A[k] @ product if m.tree.parent[k] >= 0 else 0 * product
            if i < len(path):
                close(m.block(power, path[i], j), product)
        power = m.E @ power


@every_model
def test_the_kernel_is_nilpotent(m):
    """𝓔ⁿ = 0 (lemma 8.2)."""
    close(np.linalg.matrix_power(m.E, m.n), 0 * m.E)


@every_model
def test_the_resolvent_is_a_finite_sum(m):
    """(I − 𝓔)⁻¹ = I + 𝓔 + 𝓔² + ... + 𝓔ⁿ⁻¹ (lemma 8.3)."""
    close(m.A, sum(np.linalg.matrix_power(m.E, i) for i in range(m.n)))


@every_model
def test_elements_of_the_resolvent(m):
    """A(i,j) is the product along the path, I on the diagonal, 0 off the path (lemma 8.4)."""
    for j in range(m.n):
        products = dict(m.tree.path(j, np.eye(m.sko.heights[j]), via=lambda k, X: m.sko.A[k] @ X))
        for i in range(m.n):
            close(m.block(m.A, i, j), products[i] if i in products else 0 * m.block(m.A, i, j))


@every_model
def test_the_semigroup_property(m):
    """A(i,j) = A(i,k) A(k,j) for k on the path between them (lemma 8.5)."""
    for j in range(m.n):
        path = m.path(j)
        for k in path:
            i = path[-1]
            close(m.block(m.A, i, j), m.block(m.A, i, k) @ m.block(m.A, k, j))


@every_model
def test_the_strict_resolvent(m):
    """A~ = A − I = 𝓔 A = A 𝓔 (lemma 8.6)."""
    close(m.At, m.E @ m.A)
    close(m.At, m.A @ m.E)


@every_model
def test_what_roots_and_tips_do(m):
    """𝓔 e_r = 0, A e_r = e_r;  𝓔* e_t = 0, A* e_t = e_t (exercise 8.1)."""
    roots, tips = roots_and_tips(m)
    for r in roots:
        close(m.E @ unit(m, r), 0)
        close(m.A @ unit(m, r), unit(m, r))
    for t in tips:
        close(m.E.mT @ unit(m, t), 0)
        close(m.A.mT @ unit(m, t), unit(m, t))


@every_model
def test_diagonals_pass_through_the_kernel(m, rng):
    """𝓔 X is a kernel with weights A(p,k) X(k), and so is X 𝓔 with X(p) A(p,k) (remark 8.3)."""
    X = [rng.standard_normal((h, h)) for h in m.sko.heights]
    close(m.E @ m.diagonal(X), m.kernel([m.sko.A[k] @ X[k] for k in range(m.n)]))
    right = [X[p] @ m.sko.A[k] if p >= 0 else None for k, p in enumerate(m.tree.parent)]
    close(m.diagonal(X) @ m.E, m.kernel(right))


@every_model
def test_a_similarity_transformation(m, rng):
    """(I − T 𝓔 T⁻¹)⁻¹ = T A T⁻¹ (lemma 8.7)."""
    T = m.I + 0.1 * rng.standard_normal((m.size, m.size)) / m.size
    inverse = np.linalg.inv(T)
    close(np.linalg.inv(m.I - T @ m.E @ inverse), T @ m.A @ inverse, 1e-11)


@every_model
def test_another_numbering(m, rng):
    """P A P* is the resolvent of the renumbered tree, P a permutation of blocks (8.24)."""
    order = rng.permutation(m.n)
    P = np.concatenate([unit(m, k).T for k in order])
    E = P @ m.E @ P.T
    close(np.linalg.inv(m.I - E), P @ m.A @ P.T)


def moved(m, rng):
    """The model with every node referred elsewhere, and Δ."""
    shift = [np.eye(h) + 0.3 * rng.standard_normal((h, h)) / h for h in m.sko.heights]
    return shifted(m.sko, shift, [np.linalg.inv(x) for x in shift]), m.diagonal(shift)


@every_model
def test_a_shift_of_every_node(m, rng):
    """𝓔_B = Δ 𝓔 Δ⁻¹ and B = Δ A Δ⁻¹ have the weights Δ(p) A(p,k) Δ⁻¹(k) (lemma 8.8)."""
    other, Delta = moved(m, rng)
    close(m.kernel(other.A), Delta @ m.E @ np.linalg.inv(Delta))
    close(np.linalg.inv(m.I - m.kernel(other.A)), Delta @ m.A @ np.linalg.inv(Delta), 1e-11)


@every_model
def test_a_shift_changes_neither_mass_matrix_nor_bias(m, rng):
    """𝓜 and 𝓒 are the same wherever velocities are referred to (5.31), (8.28)."""
    other, _ = moved(m, rng)
    close(other.mass_matrix, m.sko.mass_matrix, 1e-11)
    close(other.bias, m.sko.bias, 1e-11)


@models("tree", "forest", "random forest", "gear train")
def test_unrelated_nodes_have_zero_blocks(m):
    """A(i,j) = A(j,i) = 0 and 𝓜(i,j) = 0 where neither carries the other (8.16), (9.17)."""
    for i in range(m.n):
        for j in range(m.n):
            if i not in m.path(j) and j not in m.path(i):
                assert not m.block(m.A, i, j).any()
                assert not m.sko.mass_matrix[..., m.tree.rows[i], m.tree.rows[j]].any()


@models("random chain", "pins")
def test_a_chain_fills_its_triangle(m):
    """A(i,j) ≠ 0 for every i above j in a chain (8.31)."""
    for j in range(m.n):
        assert m.path(j) == list(range(j, -1, -1))
        assert all(m.block(m.A, i, j).any() for i in range(j + 1))


def test_a_cycle_is_refused():
    """I − 𝓔 of a directed cycle is singular: a node may not stand on one numbered after it."""
    I = np.eye(2)
    with pytest.raises(ModelError, match="node 0 has parent 1"):
        SKO([1, 0], [I, I], [I, I], [I, I])


def test_a_block_that_does_not_fit_is_named():
    """A(p,k) is m(p) x m(k)."""
    I, thin = np.eye(2), np.ones((1, 2))
    with pytest.raises(ShapeError, match=r"A\(1\) has shape \(3, 2\).*takes \(2, 2\)"):
        SKO([-1, 0], [I, np.ones((3, 2))], [thin, thin], [I, I])
