"""Slow tests in parts: every run takes a tenth of them, another each day, so that ten days see all. Of those that are very many,
`slow(parts=30)`, it takes a thirtieth.

`--slow-part=3` takes what that day of thirty takes, `all` every slow test and those marked very_slow too, `none` no slow test. A part
is chosen by a test's id alone, so that a failure is found again by the same number.
"""

from datetime import date
from zlib import crc32

PARTS = 10
DAYS = 30
CHOICES = [*map(str, range(DAYS)), "all", "none"]


def pytest_addoption(parser):
    said = f"which part of the slow tests to run besides the others: that of day 0 to {DAYS - 1}, all or none; by default the day's"
    parser.addoption("--slow-part", choices=CHOICES, default=None, help=said)


def pytest_configure(config):
    if config.option.slow_part is None:  # workers are told what the first process found, also at midnight
        config.option.slow_part = "all" if "slow" in (config.option.markexpr or "") else part_of_the_day(date.today())


def part_of_the_day(day: date) -> str:
    return str(day.timetuple().tm_yday % DAYS)


def part_of(nodeid: str, parts: int = PARTS) -> int:
    return crc32(nodeid.encode()) % parts


def pytest_report_header(config):
    part = config.option.slow_part
    return f"slow tests: {part if part in ('all', 'none') else f'those of day {part} of {DAYS}'} (--slow-part={part} runs the same ones)"


def pytest_collection_modifyitems(config, items):
    part = config.option.slow_part
    if part == "all":
        return
    out = [item for item in items if item.get_closest_marker("very_slow") or is_slow_and_not_in(part, item)]
    config.hook.pytest_deselected(items=out)
    dropped = set(out)
    items[:] = [item for item in items if item not in dropped]


def is_slow_and_not_in(part: str, item) -> bool:
    slow = item.get_closest_marker("slow")
    if slow is None or part == "none":
        return slow is not None
    parts = slow.kwargs.get("parts", PARTS)
    return part_of(item.nodeid, parts) != int(part) % parts
