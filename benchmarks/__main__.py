"""python -m benchmarks [name ...]: all benchmarks, or those named, with the machine and the versions they ran on."""

import os
import platform
import sys
from importlib import import_module
from pathlib import Path

import numpy as np

import linkwork as lw

NAMES = sorted(file.stem for file in Path(__file__).parent.glob("[!_]*.py"))


def processor() -> str:
    """What the CPU calls itself, where Linux tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def main(names: list[str]) -> int:
    if strangers := [name for name in names if name not in NAMES]:
        print(f"no benchmark is called {', '.join(strangers)}; there are: {', '.join(NAMES)}", file=sys.stderr)
        return 2
    versions = f"Python {platform.python_version()}, NumPy {np.__version__}, linkwork {lw.__version__}"
    print(f"{processor()}, {os.cpu_count()} cores; {versions}")
    for name in names or NAMES:
        print(f"\n# {name}")
        import_module(f"benchmarks.{name}").main()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
