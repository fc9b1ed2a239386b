"""A first simulation in a new process: with an empty cache, where everything is traced and compiled, and with a full one.

Seconds after imports and after the file is read, to the end of a run of 0.1 s; the best of three processes. The processor's time is
what the first run would take on a machine that does nothing else.
"""

from collections.abc import Iterator
from datetime import date
from tempfile import TemporaryDirectory

from benchmarks import _machine
from benchmarks._new_process import measured
from benchmarks.engine import RESULTS, table

LIMITS = {"panda": 1.0, "talos_reduced": 4.0, "talos_reduced+base": 4.0}  # seconds asked for with an empty cache


def rows() -> Iterator[list]:
    for name, limit in LIMITS.items():
        empty = measured("first_run", name, LINKWORK_CACHE_DIR="", LINKWORK_QUIET="1")
        with TemporaryDirectory() as folder:
            full = [measured("first_run", name, repeats=1, LINKWORK_CACHE_DIR=folder, LINKWORK_QUIET="1") for _ in range(2)][-1]
        yield [name, limit, empty["first run"], empty["processor"], full["first run"], empty["second run"]]


def main() -> None:
    columns = "seconds", "at most", "empty cache", "its processor time", "full cache", "second run"
    figures = table(columns, list(rows()))
    text = [f"# A first simulation, {date.today()}", _machine.described(), (__doc__ or "").strip(), figures]
    print("\n\n".join(text[2:]))
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"first_run-{date.today()}.md").write_text("\n\n".join(text) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
