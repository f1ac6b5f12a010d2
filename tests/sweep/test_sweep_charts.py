"""The charts of sweeps over their levels."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from harness.judge.verdict import DOUBTFUL, VALID, Verdict
from harness.metrics.batches import Batches
from harness.metrics.histogram import Histogram
from harness.plan.goal import Goal
from harness.report.charts.svg import LEFT, RIGHT
from harness.report.run_result import LabelResult
from harness.sweep.analysis import analyse
from harness.sweep.charts import ERRORS, RATE, level_ranges, sweep_charts
from harness.sweep.levels import Figures, LevelRun, Sweep, levels_of
from harness.sweep.published import parse_csv
from tests.support.sweep_reports import SVG, charts_of, run, texts_of
from tests.support.sweeps import DIRECT, GATEWAY, NGINX, THRUZERO


def test_the_chart_shades_the_plateau_and_names_cliff_and_knee():
    chart = charts_of(THRUZERO)["throughput.svg"]
    [band] = [box for box in chart.iter(f"{SVG}rect") if box.get("class") == "band"]
    # The axis goes from 0 to 100 users.
    assert float(band.get("x")) == pytest.approx(LEFT + (RIGHT - LEFT) * 0.1)
    assert float(band.get("width")) == pytest.approx((RIGHT - LEFT) * 0.4)
    assert {"plateau: 10 to 50 users", "cliff after 50 users: −27.7 %", "knee: N* = 5.7 users"} <= set(texts_of(chart))
    assert "USL fit" not in texts_of(chart)


def test_the_usl_is_drawn_where_it_fits():
    assert "USL fit" in texts_of(charts_of(DIRECT)["throughput.svg"])


def test_lines_of_several_sweeps_differ_without_colour(reports, capsys):
    rows = [
        f"{name},{users},{rate}"
        for name, rates in (("nginx", NGINX), ("jvm", GATEWAY), ("direct", DIRECT))
        for users, rate in rates.items()
    ]
    Path("lb.csv").write_text("sweep,users,rate_per_s\n" + "\n".join(rows) + "\n")
    run(capsys, "lb.csv", "--output", "lb.md", "--reports", str(reports))
    chart = ElementTree.parse("lb/throughput.svg").getroot()
    paths = [path for path in chart.iter(f"{SVG}path") if "line" in path.get("class") and "h" not in path.get("d")]
    assert len({path.get("stroke-dasharray") for path in paths}) == len(paths) == 3
    markers = {
        re.sub(r"^M\S+ \S+?(?=m)", "", path.get("d")) for path in chart.iter(f"{SVG}path") if "bar" in path.get("class")
    }
    assert len(markers) == 3
    assert {"nginx", "jvm", "direct"} <= set(texts_of(chart))


def test_a_goal_far_above_the_values_is_named_but_not_drawn():
    sweep = Sweep("x", parse_csv("users,average_ms\n1,10\n5,20\n", "x")[0].levels)
    [chart] = sweep_charts(sweep, analyse(sweep.levels, Goal(average_ms=10_000)))
    assert "goal: average ≤ 10000 ms, above the chart" in texts_of(ElementTree.fromstring(chart.svg))
    assert "20" in texts_of(ElementTree.fromstring(chart.svg))


def measured(users, state, rate_per_s, total=None):
    figures = Figures(rate_per_s=rate_per_s, percentiles_ms={"50": 10.0 * users, "95": 20.0 * users})
    verdict = Verdict(state, ("busy",) if state == DOUBTFUL else (), (), ())
    return users, LevelRun(f"run-{users}", figures, verdict, total=total)


def markers_of(svg_text, look):
    """The px of the markers of a look in the plot, without those of the legend."""
    paths = ElementTree.fromstring(svg_text).iter(f"{SVG}path")
    found = [path.get("d") for path in paths if path.get("class").split()[0] == look]
    places = [tuple(map(float, re.match(r"M(\S+) (\S+?)m", d).groups())) for d in found]
    return [(x, y) for x, y in places if y > 70]


@pytest.mark.parametrize(("name", "line_count"), [("throughput.svg", 1), ("response-time.svg", 2)])
def test_only_doubtful_levels_are_hollow_and_at_their_values(name, line_count):
    found = Sweep("x", levels_of([measured(1, VALID, 10.0), measured(2, DOUBTFUL, 20.0), measured(4, VALID, 40.0)]))
    drawn = next(one for one in sweep_charts(found, analyse(found.levels, None)) if one.name == name)
    filled, hollow = markers_of(drawn.svg, "bar"), markers_of(drawn.svg, "hollow")
    assert (len(filled), len(hollow)) == (2 * line_count, line_count)
    for (first, last), (x, y) in zip(zip(filled[::2], filled[1::2], strict=True), hollow, strict=True):
        # Each value is a multiple of the users: 2 users are a third of the way from 1 to 4.
        assert x == pytest.approx(first[0] + (last[0] - first[0]) / 3, abs=0.1)
        assert y == pytest.approx(first[1] + (last[1] - first[1]) / 3, abs=0.1)
    assert "hollow: DOUBTFUL" in texts_of(ElementTree.fromstring(drawn.svg))
    assert "DOUBTFUL at 2 users" in drawn.alternative


def test_without_doubtful_levels_none_is_hollow():
    found = Sweep("x", levels_of([measured(1, VALID, 10.0), measured(2, VALID, 20.0)]))
    for one in sweep_charts(found, analyse(found.levels, None)):
        assert markers_of(one.svg, "hollow") == []
        assert "DOUBTFUL" not in one.svg.partition("</style>")[2]


def test_response_times_are_p50_p95_and_those_with_a_goal():
    text = "users,average_ms,p50_ms,p90_ms,p95_ms\n1,10,8,15,20\n5,20,16,30,40\n"
    found = Sweep("x", parse_csv(text, "x")[0].levels)
    for goal, names in ((None, ["p50", "p95"]), (Goal(p90_ms=40), ["p50", "p90", "p95"])):
        [chart] = sweep_charts(found, analyse(found.levels, goal))
        shown = texts_of(ElementTree.fromstring(chart.svg))
        assert [one for one in shown if re.fullmatch(r"p\d+|average", one)] == names


def total_of(counts_per_batch):
    """Return TOTAL of ten batches of 4 s with so many samples, half of them of 10 ms and half of 20 ms."""
    count, half = sum(counts_per_batch), sum(counts_per_batch) // 2
    batches = Batches(
        length_s=4.0,
        sample_count=counts_per_batch,
        error_count=(0,) * 10,
        average_ms=(15.0,) * 10,
        percentiles_ms={"50": (10,) * 10, "95": (20,) * 10},
        slower_count={"50": tuple(one // 2 for one in counts_per_batch), "95": (0,) * 10},
    )
    return LabelResult(
        label="TOTAL", is_transaction=False, sample_count=count, average_ms=15.0, percentiles_ms={"50": 10, "95": 20},
        min_ms=10, max_ms=20,
        received_bytes_per_s=None, error_ratio=0.0, rate_per_s=count / 40,
        histogram=Histogram({10: half, 20: count - half}),
        batches=batches, error_count=0,
    )  # fmt: skip


def test_a_level_with_one_run_has_the_interval_within_it():
    levels = levels_of([measured(2, VALID, 10.0, total_of((38, 42) * 5))])
    # Mean 10 per s; the batches' rates are 9.5 and 10.5: deviation 0.527, 10 batches, Student's t of 9 is 2.262.
    text, (interval,) = level_ranges(levels, RATE)
    assert text == "95 % interval within the run"
    assert (interval.least, interval.greatest) == pytest.approx((10 - 0.377, 10 + 0.377), abs=0.001)
    assert level_ranges(levels, "p50_ms").ranges == [(10, 20)]
    assert level_ranges(levels, "average_ms").ranges == [pytest.approx((15, 15))]
    assert level_ranges(levels, ERRORS).ranges == [None]


def test_levels_with_repeats_have_the_range_of_these():
    both = levels_of([measured(2, VALID, 10.0), measured(2, VALID, 14.0)])
    assert level_ranges(both, RATE) == ("least to greatest of the repeats", [(10.0, 14.0)])


def test_unknown_metrics_have_no_chart():
    assert sweep_charts(Sweep("x", ()), analyse((), None)) == ()
