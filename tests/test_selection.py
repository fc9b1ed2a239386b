"""Which tests run is the same on every day, and each has a time limit."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
ROOT = TESTS.parent
DATES = {"today", "now", "utcnow", "localtime", "gmtime", "ctime", "asctime", "strftime", "tm_yday", "toordinal"}
CLOCKS = {"time", "time_ns", "monotonic", "perf_counter"}  # the body of a test may measure how long something takes
COLLECT = ["--collect-only", "-q", "-p", "no:cacheprovider", str(TESTS)]
ON_ANOTHER_DAY = """
import datetime, sys, time
class Date(datetime.date):
    @classmethod
    def today(cls): return cls(2031, 7, 19)
class Moment(datetime.datetime):
    @classmethod
    def now(cls, tz=None): return cls(2031, 7, 19, 23, 59, tzinfo=tz)
datetime.date, datetime.datetime, clock = Date, Moment, time.time
time.time = lambda: clock() + 1.5e8
import pytest
sys.exit(pytest.main(sys.argv[1:]))
"""


def attributes(tree) -> set[str]:
    """Returns names after a dot, and names that are imported from a module."""
    nodes = list(ast.walk(tree))
    imported = {alias.name for x in nodes if isinstance(x, ast.ImportFrom) for alias in x.names}
    return imported | {x.attr for x in nodes if isinstance(x, ast.Attribute)}


def variables(tree) -> set[str]:
    return {x.id for x in ast.walk(tree) if isinstance(x, ast.Name)}


def run_at_collection(tree) -> list:
    """Returns what chooses tests: decorators, and statements outside of functions and classes."""
    functions = [x for x in ast.walk(tree) if isinstance(x, ast.FunctionDef)]
    statements = [x for x in tree.body if not isinstance(x, ast.FunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom)]
    return [*statements, *(decorator for x in functions for decorator in x.decorator_list)]


def clocks_read(text: str) -> set[str]:
    tree = ast.parse(text)
    return (attributes(tree) & DATES).union(*((attributes(x) | variables(x)) & CLOCKS for x in run_at_collection(tree)))


def test_no_test_reads_the_date_and_none_is_chosen_by_a_clock():
    files = [*TESTS.rglob("*.py")]
    read = {str(file): names for file in files if file != Path(__file__) and (names := clocks_read(file.read_text(encoding="utf-8")))}
    assert len(files) > 100 and not read


def test_a_date_that_chooses_is_seen():
    assert clocks_read("from datetime import date\nPART = date.today().toordinal() % 10") == {"today", "toordinal"}
    assert clocks_read("import time\n@skipif(time.time() % 2)\ndef test_x(): pass") == {"time"}
    assert not clocks_read("import time\ndef test_x():\n    assert time.monotonic() > 0")


@pytest.mark.parametrize("file", ["Makefile", ".ci/run"])
def test_no_target_chooses_tests_by_the_date(file):
    if not (ROOT / file).exists():
        pytest.skip("a source distribution has no such file")
    assert "date" not in (ROOT / file).read_text(encoding="utf-8")


@pytest.mark.slow
def test_on_another_day_the_same_tests_are_collected():
    ways = [sys.executable, "-m", "pytest"], [sys.executable, "-c", ON_ANOTHER_DAY]
    printed = [subprocess.run([*way, *COLLECT], cwd=ROOT, capture_output=True, text=True, check=True).stdout for way in ways]
    today, another = ([line for line in text.splitlines() if "::" in line] for text in printed)
    assert len(today) > 1000 and today == another


def test_a_test_that_hangs_fails_with_a_traceback_and_the_next_one_runs(tmp_path, pytestconfig):
    (tmp_path / "test_it.py").write_text("def test_hangs():\n    while True: pass\ndef test_next(): pass\n", encoding="utf-8")
    limits = [f"{name}={pytestconfig.getini(name)}" for name in ("timeout_method", "faulthandler_exit_on_timeout")]
    command = [sys.executable, "-m", "pytest", "--timeout=1", *(word for x in limits for word in ("-o", x))]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 1 and "1 failed, 1 passed" in run.stdout and "while True: pass" in run.stdout
    assert float(pytestconfig.getini("timeout")) == 120
