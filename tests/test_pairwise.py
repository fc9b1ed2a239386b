from itertools import combinations, product

import pytest
from pairwise import pairwise


def pairs(cells):
    return {pair for cell in cells for pair in combinations(enumerate(cell), 2)}


@pytest.mark.parametrize("sizes, most", [((5, 4, 3), 20), ((40, 8, 9), 360), ((3, 3, 3, 3), 9), ((2,) * 10, 10), ((4, 3), 12), ((5,), 0)])
def test_every_pair_is_held_by_few_cells(sizes, most):
    whole = list(product(*map(range, sizes)))
    chosen = pairwise(whole)
    assert pairs(chosen) == pairs(whole) and len(chosen) <= most
    assert chosen == pairwise(whole) == sorted(chosen)


def test_of_cells_that_do_not_exist_none_is_chosen():
    cells = [cell for cell in product("abc", "xyz", range(4)) if cell[:2] != ("a", "z") and cell[2] != 3]
    assert pairs(pairwise(cells)) == pairs(cells) and set(pairwise(cells)) <= set(cells) and pairwise([]) == []
