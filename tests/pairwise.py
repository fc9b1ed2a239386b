"""Few cells of a large grid that hold every pair of its values: most faults need one value of a factor, or two of different factors."""

from itertools import combinations


def pairwise(cells) -> list[tuple]:
    """Returns cells, in their order, that have between them each pair of values that any cell has: of n x m x k about the two largest
    factors' product. The cells of `itertools.product` are given, or those of them that exist; the choice is the same every time.
    """
    cells = list(cells)
    pairs = [set(combinations(enumerate(cell), 2)) for cell in cells]
    missing, chosen = set().union(*pairs), set()
    for gain in range(max(map(len, pairs), default=0), 0, -1):  # greedily: what a cell adds only falls, so one pass for each gain
        for i, own in enumerate(pairs):
            if len(own & missing) == gain:
                chosen.add(i)
                missing -= own
    return [cells[i] for i in sorted(chosen)]
