"""What GPU kernels need of a thread, kept in a table beside this file, so that a change that needs more is seen.

    python tests/engine/test_registers.py --keep    what they need now becomes the table; needs NVIDIA's ptxas

`moves` counts the values that the order of operations makes a thread spill and reload (`spills` of engine/writers/order.py);
`registers` and `spilled`, in bytes, are what the assembler makes of it for sm_90, natural layout.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

import pytest
from real_robots import model

import linkwork as lw
from linkwork.engine.running import ptx
from linkwork.engine.writers.order import fewest_spills, read_by, spills

FILE = Path(__file__).with_name("registers.json")
TABLE = json.loads(FILE.read_text()) if FILE.exists() else {}
ROBOTS, METHODS = ("panda", "simple_humanoid"), ("forward_dynamics", "inverse_dynamics", "mass_matrix")


def moved(program, dtype):
    registers = ptx.REGISTERS[dtype]
    return spills(fewest_spills(program, registers), read_by(program), registers)


@pytest.mark.parametrize("dtype", ["double", "float"])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("robot", ROBOTS)
def test_a_kernel_needs_no_more_registers_than_it_did(robot, method, dtype):
    now, before = moved(lw.Dynamics(model(robot)).program(method), dtype), TABLE[robot][method][dtype]["moves"]
    assert now <= before, (
        f"{method} of {robot} in {dtype} moves {now} values; it moved {before}. If that is meant, "
        "run `python tests/engine/test_registers.py --keep` and say why in the commit."
    )


@pytest.mark.parametrize("method", METHODS)
def test_the_order_chosen_is_no_worse_than_the_plain_one(method):
    program = lw.Dynamics(model("panda")).program(method)
    for registers in (40, 110):
        reads = read_by(program)
        assert spills(fewest_spills(program, registers), reads, registers) <= spills(program.live, reads, registers)


def test_an_order_has_every_operation_once_and_after_its_operands():
    program = lw.Dynamics(model("panda")).program("forward_dynamics")
    order = fewest_spills(program, 110)
    assert sorted(order) == sorted(program.live)
    at = {i: when for when, i in enumerate(order)}
    assert all(at[j] < at[i] for i, read in read_by(program).items() if i in at for j in read)


def test_values_are_moved_only_when_there_are_too_many():
    """Four values wait for the end; with room for three besides the one at work, one goes and comes back."""
    reads = {1: [], 2: [], 3: [], 4: [], 5: [1, 2], 6: [3, 4], 7: [5, 6]}
    assert [spills([1, 2, 3, 4, 5, 6, 7], reads, n) for n in (4, 3)] == [0, 2]
    assert spills([1, 2, 5, 3, 4, 6, 7], reads, 3) == 0


def measured(program, dtype):
    text = ptx.text(program, dtype, ("rows",) * (len(program.inputs) + len(program.outputs)))
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "kernel.ptx").write_text(ptx.ptx(text, "sm_90"))
        command = ["ptxas", "-arch=sm_90", "-v", "kernel.ptx", "-o", "kernel.bin"]
        said = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stderr
    own = next(part for part in said.split("Compiling entry function '") if part.startswith("kernel'"))
    registers, stored, fetched = (int(re.search(what, own)[1]) for what in (r"Used (\d+)", r"(\d+) bytes spill st", r"(\d+) bytes spill l"))
    return {"moves": moved(program, dtype), "registers": registers, "spilled": stored + fetched}


def main():
    robots = {robot: lw.Dynamics(model(robot)) for robot in ROBOTS}
    table = {
        name: {method: {dtype: measured(robot.program(method), dtype) for dtype in ("double", "float")} for method in METHODS}
        for name, robot in robots.items()
    }
    print(text := json.dumps(table, indent=2))
    if "--keep" in sys.argv:
        FILE.write_text(text + "\n")


if __name__ == "__main__":
    main()
