"""The table of `scripts/bench first-seconds`."""

from bench.runs.first_seconds import BuildSide, first_seconds_table
from harness.base.project import SHIPPED


def test_the_table_has_the_median_and_the_range_of_each_build():
    earlier, now = BuildSide("earlier build", SHIPPED, "python"), BuildSide("--warm 3s", SHIPPED, "python", "--warm 3s")
    earlier.values["rate_per_s"] += [21_000.0, 23_000.0, 20_000.0]
    now.values["error_ms"] += [0.5]
    *_, first, last = first_seconds_table([earlier, now]).splitlines()
    assert "earlier build" in first
    assert "21,000 (20,000 to 23,000)" in first
    assert "--warm 3s" in last
    assert "+0.5" in last


def test_a_build_is_called_with_its_own_options():
    assert BuildSide("--warm 0", SHIPPED, "python", "--warm 0").tool.command.endswith(" --reports reports --warm 0")
