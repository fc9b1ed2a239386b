"""Equations with the mass matrix for many columns, by factors that are as sparse as the tree."""

from ..model.tree import Tree
from ..spatial import solve


def factored(tree, mass):
    """𝓜 = L* D L with L(k,i) = 0 unless i is on the path of k: tips to base.

        D(k)   = 𝓜(k,k),   L(k,i) = D⁻¹(k) 𝓜(k,i)                           i inboard of k
        𝓜(i,j) ← 𝓜(i,j) − 𝓜*(k,i) L(k,j)                                     j at i or inboard of it; Featherstone 2008
    """
    rows, D = tree.rows, tree.slots()
    left: dict = {}
    L: dict = {}
    inboard = {k: [i for i, _ in tree.path(tree.parent[k], None, via=lambda i, X: X)] for k in tree.base_to_tips()}
    for k in tree.base_to_tips():
        left |= {(k, i): mass[..., rows[k], rows[i]] for i in (k, *inboard[k])}
    for k in tree.tips_to_base():
        D[k] = left[k, k]
        L |= {(k, i): solve(D[k], left[k, i]) for i in inboard[k]}
        for n, i in enumerate(inboard[k]):
            for j in inboard[k][n:]:
                left[i, j] = left[i, j] - left[k, i].mT @ L[k, j]
    return D, L, inboard


def mass_matrix_solve(tree, factors, x):
    """𝓜⁻¹ x of a block of columns (..., nv, m): inwards, then outwards."""
    return outwards(tree, factors, inwards(tree, factors, x))


def inwards(tree, factors, x):
    """L⁻* x of a block of columns, tips to base: as sparse as the paths of what x has."""
    (_, L, inboard), x = factors, tree.split_rows(x)
    for k in tree.tips_to_base():
        for i in inboard[k]:
            x[i] = x[i] - L[k, i].mT @ x[k]
    return tree.join_rows(x)


def outwards(tree, factors, y):
    """L⁻¹ D⁻¹ y of a block of columns, base to tips."""
    (D, L, inboard), x = factors, tree.split_rows(y)
    for k in tree.base_to_tips():
        x[k] = solve(D[k], x[k])
        for i in inboard[k]:
            x[k] = x[k] - L[k, i] @ x[i]
    return tree.join_rows(x)


def rows_compliance(tree, factors, y):
    """J 𝓜⁻¹ J* = y* D⁻¹ y of y = L⁻* J*: rows of J that share no joints meet nowhere."""
    D, x = factors[0], tree.split_rows(y)
    return y.mT @ tree.join_rows({k: solve(D[k], x[k]) for k in tree.base_to_tips()})


def velocity_tree(tree) -> Tree:
    """The tree whose nodes are single velocities, each on the one before it: its factors are those of numbers, not of blocks."""
    last: dict = {tree.world: tree.world}
    parent: list[int] = []
    for k in tree.base_to_tips():
        last[k] = last[tree.parent[k]]
        for _ in range(tree.widths[k]):
            parent.append(last[k])
            last[k] = len(parent) - 1
    return Tree(parent, [1] * len(parent))
