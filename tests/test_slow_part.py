"""Which slow tests a run takes."""

from datetime import date, timedelta

from slow_part import DAYS, PARTS, part_of, part_of_the_day


def test_thirty_days_see_all_parts_and_ten_those_of_ten():
    days = [part_of_the_day(date(2026, 3, 1) + timedelta(days=i)) for i in range(DAYS)]
    assert set(days) == set(map(str, range(DAYS)))
    assert {int(day) % PARTS for day in days[:PARTS]} == set(range(PARTS))


def test_parts_are_about_equal_and_the_same_every_time():
    ids = [f"tests/engine/test_rolled.py::test_every_rolled_kernel_is_its_sweep[{i}-{j}]" for i in range(20) for j in range(50)]
    sizes = [sum(part_of(x) == part for x in ids) for part in range(PARTS)]
    assert sum(sizes) == 1000 and 60 < min(sizes) <= max(sizes) < 140
    assert part_of("tests/test_cli.py::test_it[a]") == 3
