"""Slow tests in ten parts: every run takes one of them, another each day, so that ten days see all.

`--slow-part=3` takes that part, `all` every slow test and those marked very_slow too, `none` no slow test. A part is chosen by
a test's id alone, so that a failure is found again by the same number.
"""

from datetime import date
from zlib import crc32

PARTS = 10
CHOICES = [*map(str, range(PARTS)), "all", "none"]


def pytest_addoption(parser):
    said = f"which of the {PARTS} parts of the slow tests to run besides the others: 0 to {PARTS - 1}, all or none; by default the day's"
    parser.addoption("--slow-part", choices=CHOICES, default=None, help=said)


def pytest_configure(config):
    if config.option.slow_part is None:  # workers are told what the first process found, also at midnight
        config.option.slow_part = "all" if "slow" in (config.option.markexpr or "") else part_of_the_day(date.today())


def part_of_the_day(day: date) -> str:
    return str(day.timetuple().tm_yday % PARTS)


def part_of(nodeid: str) -> str:
    return str(crc32(nodeid.encode()) % PARTS)


def pytest_report_header(config):
    part = config.option.slow_part
    return f"slow tests: {part if part in ('all', 'none') else f'part {part} of 0 to {PARTS - 1}'} (--slow-part={part} runs the same ones)"


def pytest_collection_modifyitems(config, items):
    part = config.option.slow_part
    if part == "all":
        return
    out = [item for item in items if item.get_closest_marker("very_slow") or is_slow_and_not_in(part, item)]
    config.hook.pytest_deselected(items=out)
    dropped = set(out)
    items[:] = [item for item in items if item not in dropped]


def is_slow_and_not_in(part: str, item) -> bool:
    return item.get_closest_marker("slow") is not None and part_of(item.nodeid) != part
