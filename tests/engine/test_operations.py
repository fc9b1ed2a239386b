"""Operations of each kernel, kept in a table beside this file, so that a change that adds some is seen.

    python tests/engine/test_operations.py          what the kernels take now, beside the table
    python tests/engine/test_operations.py --keep   the same, and it becomes the table
"""

import json
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

import pytest
from real_robots import TIMED, model

import linkwork as lw

FILE = Path(__file__).with_name("operations.json")
TABLE = json.loads(FILE.read_text()) if FILE.exists() else {}
METHODS = "forward_dynamics", "inverse_dynamics", "mass_matrix"
CEILING = {"panda": 2105, "simple_humanoid": 7416, "talos_reduced": 12246}  # forward dynamics of the first prototype


def count(robot, method):
    return sum(lw.Dynamics(model(robot)).program(method).operations.values())


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("robot", TIMED)
def test_a_kernel_takes_no_more_operations_than_it_did(robot, method):
    """Fewer are welcome: keep them with the same command."""
    now, before = count(robot, method), TABLE[robot][method]
    assert now <= before, (
        f"{method} of {robot} takes {now} operations; it took {before}. If that is meant, "
        "run `python tests/engine/test_operations.py --keep` and say why in the commit."
    )
    assert method != "forward_dynamics" or now <= CEILING.get(robot, now)


def test_the_table_is_complete_and_below_the_prototype():
    assert {robot: set(row) for robot, row in TABLE.items()} == {robot: set(METHODS) for robot in TIMED}
    assert all(TABLE[robot]["forward_dynamics"] <= most for robot, most in CEILING.items())


def main():
    counts = {robot: {method: count(robot, method) for method in METHODS} for robot in TIMED}
    for robot, row in counts.items():
        said = (f"{method} {n} ({n - TABLE.get(robot, {}).get(method, 0):+d})" for method, n in row.items())
        print(f"{robot:16}", ", ".join(said))
    if "--keep" in sys.argv:
        FILE.write_text(json.dumps(counts, indent=2) + "\n")


if __name__ == "__main__":
    main()
