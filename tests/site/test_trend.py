"""The trend of each plan in the index: which runs it has, and what it does not claim."""

import re

from harness.history.files import read_catalogue
from harness.site.trend import Point, chart, trends
from tests.support.report_folder import add_run


def test_the_line_connects_valid_runs_and_others_are_marked():
    points = [
        Point("run-01_1", "VALID", 100.0, True),
        Point("run-01_2", "DOUBTFUL", 200.0, False),
        Point("run-01_3", "INVALID", None, False),
        Point("run-01_4", "VALID", 50.0, True),
    ]
    drawn = str(chart(points))
    # 220 px wide with 5 at each edge: 70 between points; 200 ms is at y = 5 and 0 at y = 39
    assert re.search(r'<polyline points="([^"]*)"', drawn)[1] == "5.0,22.0 215.0,30.5"
    assert re.findall(r'<circle class="(\w+)" cx="([\d.]+)" cy="([\d.]+)"', drawn) == [
        ("valid", "5.0", "22.0"),
        ("doubtful", "75.0", "5.0"),
        ("valid", "215.0", "30.5"),
    ]
    assert "<title>run-01_3: no value, INVALID</title></path>" in drawn
    assert 'aria-label="p90: 100 ms, 200 ms, no value, 50 ms"' in drawn


def test_a_single_run_is_a_point_and_zero_is_no_division():
    assert 'cx="5.0" cy="39.0"' in str(chart([Point("run-01_1", "VALID", 0.0, True)]))


def test_only_runs_under_the_conditions_of_the_newest_are_in_a_trend(tmp_path):
    long = {"samples": 1200, "seconds": 600}
    add_run(tmp_path, "tiny/run-01_1", elapsed_ms=100, started_at="2026-01-01T00:00:00Z", **long)
    add_run(tmp_path, "tiny/run-01_2", elapsed_ms=900, users=9, started_at="2026-01-02T00:00:00Z", **long)
    add_run(tmp_path, "tiny/run-01_3", elapsed_ms=110, started_at="2026-01-03T00:00:00Z", **long)
    add_run(tmp_path, "tiny/run-01_4", elapsed_ms=105, started_at="2026-01-04T00:00:00Z", **long)
    add_run(tmp_path, "big/run-01_1", samples=99)
    big, tiny = trends(read_catalogue(tmp_path).entries)
    assert (big.plan, big.newest, big.before) == ("big", "102 ms, DOUBTFUL", "")
    # of three times 100, 101, 102 ms, p90 is 102; of 110, 111, 112 it is 112; the median of both is 107
    assert (tiny.newest, tiny.before) == ("107 ms", "107 ms (2 VALID)")
    assert tiny.chart.count("<circle") == 3


def test_a_name_is_text_in_the_chart():
    assert "<b>" not in chart([Point("<b>", "<b>", 1.0, True)])
