"""The table and the charts of `scripts/bench first-seconds`."""

import pandas

from bench.runs.first_seconds import Side, first_seconds_table, write_charts_of
from harness.base.project import SHIPPED


def test_the_table_has_the_median_and_the_range_of_each_build():
    earlier = Side.of_build("earlier build", SHIPPED, "python")
    now = Side.of_build("--warm 3s", SHIPPED, "python", "--warm 3s")
    earlier.values["rate_per_s"] += [21_000.0, 23_000.0, 20_000.0]
    now.values["error_ms"] += [0.5]
    *_, first, last = first_seconds_table([earlier, now]).splitlines()
    assert "earlier build" in first
    assert "21,000 (20,000 to 23,000)" in first
    assert "--warm 3s" in last
    assert "+0.5" in last


def test_a_build_is_called_with_its_own_options():
    side = Side.of_build("--warm 0", SHIPPED, "python", "--warm 0")
    assert side.tool.command.endswith(" --reports reports --warm 0")
    assert side.values_of("http://127.0.0.1:80", 50, 10, SHIPPED, "")["python"] == "python"


def test_the_charts_have_the_rate_and_the_p99_of_each_second(tmp_path):
    start = pandas.to_datetime([1_000 + at_ms for at_ms in (0, 500, 1_200, 1_300)], unit="ms", utc=True)
    rows = pandas.DataFrame({"start_time": start, "elapsed_ms": [10, 900, 30, 40]})
    write_charts_of([("now", rows), ("wrk", pandas.DataFrame())], tmp_path)
    rate, p99 = ((tmp_path / f"first-seconds-{name}.svg").read_text() for name in ("throughput", "p99"))
    assert "now: least 1, most 3, last 3" in rate
    assert "now: least 10, most 900, last 900" in p99
    assert "wrk" not in rate + p99
