"""python -m benchmarks [name ...]: all benchmarks, or those named, with the machine and the versions they ran on."""

import os
import sys
from importlib import import_module
from pathlib import Path

from benchmarks import _machine

NAMES = sorted(file.stem for file in Path(__file__).parent.glob("[!_]*.py"))


def main(names: list[str]) -> int:
    if strangers := [name for name in names if name not in NAMES]:
        print(f"no benchmark is called {', '.join(strangers)}; there are: {', '.join(NAMES)}", file=sys.stderr)
        return 2
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(variable, "1")  # peers and NumPy on one thread; they are imported below
    print(_machine.described())
    for name in names or NAMES:
        print(f"\n# {name}")
        import_module(f"benchmarks.{name}").main()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
