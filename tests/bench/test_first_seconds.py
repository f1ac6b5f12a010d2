"""The table and the charts of `scripts/bench first-seconds`."""

import pandas

from bench.runs.first_seconds import _CHART_NAMES, Side, charts_of, first_seconds_table
from bench.runs.load_tools import TOOLS
from harness.base.project import SHIPPED
from harness.report.charts.chart import write_charts


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
    columns = {"second": [0, 1, 20], "length_s": [1, 1, 1], "sample_count": [1, 3, 9], "p99_ms": [10, 900, 5_000]}
    write_charts(tmp_path, charts_of({"now": pandas.DataFrame(columns)}), _CHART_NAMES)
    rate, p99 = ((tmp_path / f"first-seconds-{name}.svg").read_text() for name in ("throughput", "p99"))
    assert "now: least 1, most 3, last 3" in rate
    assert "now: least 10, most 900, last 900" in p99
    assert {tool.name for tool in TOOLS if Side(tool.name, tool).is_charted} == {"lth run", "JMeter"}
