"""What changed in each plan, in the index: which runs are compared, which are drawn, and what is not claimed."""

import re

import pytest

from harness.compare.sources import read_result
from harness.history.files import read_catalogue
from harness.plan.thresholds import Thresholds
from harness.site.trend import TrendPoint, chart, trends
from tests.support.report_folder import add_run


def test_the_line_connects_valid_runs_and_others_are_marked():
    points = [
        TrendPoint("run-01_1", "VALID", 100.0, True),
        TrendPoint("run-01_2", "DOUBTFUL", 200.0, False),
        TrendPoint("run-01_3", "INVALID", None, False),
        TrendPoint("run-01_4", "VALID", 50.0, True),
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
    assert 'aria-label="p95: 100 ms, 200 ms, no value, 50 ms"' in drawn


def test_a_single_run_is_a_point_and_zero_is_no_division():
    assert 'cx="5.0" cy="39.0"' in str(chart([TrendPoint("run-01_1", "VALID", 0.0, True)]))


LONG = {"samples": 1200, "seconds": 600}


def trends_of(reports):
    return trends(
        read_catalogue(reports).entries,
        lambda _plan: Thresholds(),
        lambda entry: read_result(reports / entry.plan / entry.name),
    )


@pytest.mark.real
def test_only_runs_under_the_conditions_of_the_newest_are_in_a_trend(tmp_path):
    add_run(tmp_path, "tiny/run-01_1", elapsed_ms=100, started_at="2026-01-01T00:00:00Z", **LONG)
    add_run(tmp_path, "tiny/run-01_2", elapsed_ms=900, users=9, started_at="2026-01-02T00:00:00Z", **LONG)
    add_run(tmp_path, "tiny/run-01_3", elapsed_ms=110, started_at="2026-01-03T00:00:00Z", **LONG)
    add_run(tmp_path, "tiny/run-01_4", elapsed_ms=105, started_at="2026-01-04T00:00:00Z", **LONG)
    add_run(tmp_path, "big/run-01_1", samples=99)
    big, tiny = sorted(trends_of(tmp_path), key=lambda trend: trend.plan)
    assert (big.plan, big.value, big.state, big.against, big.verdict) == ("big", "102 ms", "DOUBTFUL", "", "")
    # Of three times 105, 106, 107 ms p95 is 107. No run is a week old: the oldest is the baseline.
    assert (tiny.value, tiny.state, tiny.against, tiny.ago) == ("107 ms", "VALID", "tiny/run-01_1", "3 days")
    assert tiny.chart.count("<circle") == 3


@pytest.mark.real
def test_the_newest_run_is_compared_with_the_newest_valid_one_that_is_a_week_older(tmp_path):
    for plan, times_ms in (("same", (100, 100, 100)), ("slow", (100, 100, 150)), ("fast", (100, 100, 60))):
        for day, elapsed_ms in zip((1, 3, 11), times_ms, strict=True):
            started = f"2026-01-{day:02}T00:00:00Z"
            add_run(tmp_path, f"{plan}/run-01_{day}", elapsed_ms=elapsed_ms, started_at=started, **LONG)
        # INVALID, and nearer to a week before.
        started = "2026-01-04T00:00:00Z"
        add_run(tmp_path, f"{plan}/run-01_4", failures=1200, started_at=started, **LONG)
    found = trends_of(tmp_path)
    assert [trend.plan for trend in found] == ["slow", "fast", "same"]  # what is worse comes first
    assert {(trend.against, trend.ago) for trend in found} == {
        (f"{plan}/run-01_3", "8 days") for plan in ("slow", "fast", "same")
    }
    slow, fast, same = found
    assert slow.verdict == "REGRESSED"
    # Its average regressed; of single runs neither the p95 nor the equal throughput can be told.
    assert slow.changes == ("", "", "")
    assert "REGRESSED" not in (fast.verdict, same.verdict)
    assert {fast.verdict, same.verdict, *fast.changes, *same.changes} == {"CANNOT TELL", ""}


def test_a_name_is_text_in_the_chart():
    assert "<b>" not in chart([TrendPoint("<b>", "<b>", 1.0, True)])
