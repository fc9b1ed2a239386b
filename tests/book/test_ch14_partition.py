"""Jain, section 14.1: a model cut in three by a set of nodes, and the sub-graphs that nodes span."""

import numpy as np
import pytest
from systems import models
from zoo import close

from linkwork.errors import ModelError
from linkwork.model.tree import Tree
from linkwork.operators import aggregable, induced_edges, partition, path_induced
from linkwork.operators.aggregation import grid
from linkwork.systems.grouping import group_parents

FORK = Tree([-1, 0, 0, 1, 2, 1, 3, 6], [1] * 8)  # 0 carries 1, 2; 1 carries 3, 5; 2 carries 4; 3 carries 6, 6 carries 7


def middle(tree):
    """Some nodes that carry others and stand on others."""
    return [k for k in tree.base_to_tips() if tree.parent[k] != tree.world and tree.children[k]][:1]


@models("tree", "forest", "random forest", "gear train")
def test_the_operator_of_the_whole_from_those_of_the_parts(m):
    """𝒜 = [A_C, 0, 0; A_S B_S A_C, A_S, 0; A_P E_S A_S B_S A_C, A_P E_S A_S, A_P] (14.5)."""
    sko = m.sko
    cut = partition(sko, middle(sko.tree))
    AC, AS, AP = cut.C.A, cut.S.A, cut.P.A
    B, E = cut.dense(cut.B, cut.S, cut.C), cut.dense(cut.E, cut.P, cut.S)
    made = {(0, 0): AC, (1, 0): AS @ B @ AC, (1, 1): AS, (2, 0): AP @ E @ AS @ B @ AC, (2, 1): AP @ E @ AS, (2, 2): AP}
    sizes = [x.shape[-1] for x in (AC, AS, AP)]
    order = [*cut.C.nodes, *cut.S.nodes, *cut.P.nodes]
    whole = {}
    for j, k in enumerate(order):
        I = np.zeros_like(sko.M[k]) + np.eye(sko.heights[k])
        whole |= {(order.index(i), j): x for i, x in sko.tree.path(k, I, via=lambda i, X: sko.A[i] @ X)}
    heights = [sko.heights[k] for k in order]
    close(grid(made, sizes, sizes, sko.M[0]), grid(whole, heights, heights, sko.M[0]), 1e-11)


@models("tree", "random forest", "random forest with joint inertia")
def test_the_mass_matrix_by_parts(m):
    """𝓜_SS = H_S A_S (M_S + B_S A_C M_C A_C* B_S*) A_S* H_S* + armature, 𝓜_SC = H_S A_S B_S A_C M_C A_C* H_C* (14.6), (14.7)."""
    sko = m.sko
    cut = partition(sko, middle(sko.tree))
    C, S = cut.C, cut.S
    B, AC, AS = cut.dense(cut.B, S, C), C.A, S.A
    diagonal = lambda part, x, rows: grid({(i, i): x[i] for i in range(len(part.nodes))}, rows, part.sko.heights, part.sko.M[0])
    HS, HC = (diagonal(part, part.sko.H, part.sko.tree.widths) for part in (S, C))
    MS, MC = (diagonal(part, part.sko.M, part.sko.heights) for part in (S, C))
    armature = grid({(i, i): x for i, x in enumerate(S.sko.armature)}, S.sko.tree.widths, S.sko.tree.widths, MS)
    carried = B @ AC @ MC @ AC.mT
    whole = sko.mass_matrix
    close(HS @ AS @ (MS + carried @ B.mT) @ AS.mT @ HS.mT + armature, whole[..., S.rows[:, None], S.rows], 1e-10)
    close(HS @ AS @ carried @ HC.mT, whole[..., S.rows[:, None], C.rows], 1e-10)
    close(C.sko.mass_matrix, whole[..., C.rows[:, None], C.rows], 1e-10)


def test_sub_graphs_of_nodes():
    """S ⊂ S_P ⊂ S_A; the edges within S (14.1), what lies between, what one node carries (14.11)."""
    assert induced_edges(FORK, [1, 3, 4, 7]) == [(1, 3)]
    assert path_induced(FORK, [1, 4, 7]) == (1, 3, 4, 6, 7)
    assert path_induced(FORK, [4, 5]) == (4, 5)
    assert aggregable(FORK, [5, 6]) == (3, 5, 6)
    assert aggregable(FORK, [4, 7]) == (1, 2, 3, 4, 6, 7)
    assert aggregable(FORK, [0, 3]) == (0, 1, 3)
    assert aggregable(FORK, []) == ()


@pytest.mark.parametrize("seed", range(20))
def test_what_is_aggregable_has_one_parent(seed):
    """S_A is carried by one node outside it, and is the least such set with S."""
    rng = np.random.default_rng(seed)
    tree = Tree([-1, *(int(rng.integers(-1 if i > 8 else 0, i)) for i in range(1, 14))], [1] * 14)
    S = [int(k) for k in rng.choice(14, 3, replace=False)]
    found = aggregable(tree, S)
    assert set(S) <= set(path_induced(tree, S)) <= set(found)
    rest = [k for k in range(14) if k not in found]
    assert len({tree.parent[k] for k in found if tree.parent[k] not in found}) == 1
    assert group_parents(tree, sorted([found, *((k,) for k in rest)]))


def test_a_cut_with_nothing_beside_it_is_refused():
    from systems import MODELS

    sko = MODELS["tree"].sko
    with pytest.raises(ModelError, match="without nodes"):
        partition(sko, [0])
