"""The charts of sweeps over their levels."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from harness.plan.goal import Goal
from harness.report.charts.svg import LEFT, RIGHT
from harness.sweep.analysis import analyse
from harness.sweep.charts import sweep_charts
from harness.sweep.levels import Sweep
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


def test_unknown_metrics_have_no_chart():
    assert sweep_charts(Sweep("x", ()), analyse((), None)) == ()
