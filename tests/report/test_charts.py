"""Charts: what is drawn, by the coordinates in the SVG text."""

import re
from dataclasses import replace

import pytest

from harness.judge.goals import GoalResult
from harness.metrics.heat_map import HeatMap
from harness.metrics.histogram import Histogram
from harness.metrics.timeline import Timeline
from harness.report.charts import svg
from harness.report.charts.axes import log_axis, number_tick, time_axis, value_axis
from harness.report.charts.distribution import NamedCounts, compared_chart, distribution_chart
from harness.report.charts.heat import Cells, heat_chart
from harness.report.charts.over_time import (
    Band,
    Frame,
    Series,
    error_chart,
    line_chart,
    series,
)
from harness.run.telemetry.table import UsageSeries
from harness.system.heap import HeapSeries
from tests.support.run_charts import drawn, source
from tests.support.svg_elements import (
    SVG,
    assert_texts_do_not_overlap,
    bars,
    description,
    elements,
    lines,
    parsed,
    points_of,
    texts,
)

ERRORS = Frame("Errors", "per second")


def minute(values):
    return Series("a", tuple(enumerate(values)))


def line_graph(title, unit, drawn_lines, **options):
    return line_chart(Frame(title, unit, **options), drawn_lines)


def rates(xs, values, **options):
    return line_graph("Throughput", "samples/s", [series("samples/s", xs, values)], **options)


def cells_of(seconds):
    """Return the cells of counts by elapsed_ms, one for each second."""
    return Cells(0.0, HeatMap.of([Histogram(counts) for counts in seconds], 1))


def heat_lines(seconds):
    cells = cells_of(seconds)
    return [
        series(name, cells.middles_s, times)
        for name, times in (("p50", cells.heat_map.p50_ms), ("p95", cells.heat_map.p95_ms))
    ]


def luminance(colour):
    """Relative luminance by WCAG 2."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


# Drawn by the tests: some take long, and every worker imports this module.
ODD_CHARTS = {
    "single point": lambda: line_graph("t", "ms", [Series("one", ((5, 42.0),))]),
    "no series": lambda: line_graph("t", "ms", []),
    "empty series": lambda: line_graph("t", "ms", [Series("one", ()), Series("two", ())]),
    "nothing known": lambda: line_graph("t", "ms", [minute([None] * 60)], band=Band(10, 50)),
    "all zero": lambda: line_graph("t", "ms", [minute([0] * 60)]),
    "tiny": lambda: line_graph("t", "ms", [minute([0.001, 0.0014])]),
    "huge": lambda: line_graph(
        "t", "ms", [Series("a", tuple((60 * x, 1e9 - x) for x in range(600)))], band=Band(6000, 30000)
    ),
    "long names": lambda: line_graph(
        "t" * 200, "ms", [Series(f"{n} " + "name " * 40, ((0, n), (9, n))) for n in range(9)]
    ),
    "negative seconds": lambda: line_graph("t", "ms", [Series("a", tuple((x, x + 9) for x in range(-9, 600)))]),
    "many points": lambda: line_graph("t", "ms", [minute([x % 7 for x in range(40_000)])], band=Band(30, 39_000)),
    "few errors": lambda: error_chart(
        replace(ERRORS, band=Band(30, 290)), range(300), [1] + [0] * 299, [60] * 300, 1.0
    ),
    "no samples": lambda: distribution_chart("t", {}),
    "one sample of 0 ms": lambda: distribution_chart("t", {0: 1}),
    "all the same": lambda: distribution_chart("t", {300: 9}),
    "far tail": lambda: distribution_chart("t", {0: 5, 40: 900, 90_000: 1}),
    "hours": lambda: distribution_chart("t", {3_600_000: 9, 3_700_000: 3}),
    "two sides that are apart": lambda: compared_chart("t", NamedCounts("a", {1: 9}), NamedCounts("b", {90_000: 9})),
    "one cell": lambda: heat_chart(Frame("t", "ms"), cells_of([{0: 1}]), heat_lines([{0: 1}])),
    "long heat map": lambda: heat_chart(
        Frame("t", "ms", Band(10, 500)), cells_of([{1: 1, 90_000: 5}] * 600), heat_lines([{1: 1, 90_000: 5}] * 600)
    ),
}


@pytest.mark.parametrize("draw", ODD_CHARTS.values(), ids=ODD_CHARTS)
def test_odd_data_give_a_chart_with_readable_text_inside_the_card(draw):
    chart = draw()
    assert_texts_do_not_overlap(chart)
    assert "nan" not in chart and "inf" not in chart
    assert parsed(chart).find(f"{SVG}title").text


def test_titles_and_names_are_escaped_and_lose_what_xml_forbids():
    chart = line_graph('<b> & "c"\x00\n', "ms", [Series("a<b", ((0, 1),)), Series("\ud800&", ((0, 1),))])
    assert parsed(chart).find(f"{SVG}title").text == '<b> & "c"\ufffd'
    assert texts(chart)[1:3] == ["a<b", "\ufffd&"]
    chart.encode("utf-8")


def test_a_chart_is_self_contained():
    chart = line_graph("CPU", "%", [minute([50, 100])])
    assert re.findall(r"https?://[^\"]+", chart) == ["http://www.w3.org/2000/svg"]
    assert not re.search(r"<script|<image|<use|@import|url\(|\bon\w+=", chart)


@pytest.mark.parametrize("colour", svg.COLOURS)
@pytest.mark.parametrize("background", [svg.CARD, svg.CARD_DARK, svg.BAND])
def test_every_colour_differs_clearly_from_both_cards(colour, background):
    assert contrast(colour, background) >= 3


@pytest.mark.parametrize("colour", svg.COLOURS_ON_DARK)
@pytest.mark.parametrize("background", [svg.CARD_DARK, svg.BAND_DARK])
def test_every_colour_of_the_dark_card_differs_clearly_from_it(colour, background):
    assert contrast(colour, background) >= 4.5


def test_a_chart_follows_the_readers_colour_scheme_and_is_opaque():
    chart = rates([0, 1], [1, 2])
    light, dark = chart.split("@media (prefers-color-scheme:dark)")
    assert ".card{fill:#ffffff" in light
    assert ".card{fill:#0d1117" in dark
    first = next(element for element in parsed(chart) if element.tag == f"{SVG}rect")
    assert (first.get("class"), first.get("width"), first.get("height")) == ("card", "639", "299")


@pytest.mark.parametrize(
    ("greatest", "ticks"),
    [
        (2381, ["0", "500", "1,000", "1,500", "2,000", "2,500"]),
        (1000, ["0", "200", "400", "600", "800", "1,000"]),
        (0.3, ["0", "0.1", "0.2", "0.3"]),
        (0.0012, ["0", "0.0005", "0.0010", "0.0015"]),
        (1, ["0", "1"]),
        (0, ["0", "1"]),
        (1e9, ["0", "200 M", "400 M", "600 M", "800 M", "1,000 M"]),
        (2.5e6, ["0", "0.5 M", "1.0 M", "1.5 M", "2.0 M", "2.5 M"]),
        (3e10, ["0", "10 G", "20 G", "30 G"]),
    ],
)
def test_a_value_axis_begins_at_0_and_has_round_ticks(greatest, ticks):
    assert [label for _, label in value_axis([greatest]).ticks] == ticks


@pytest.mark.parametrize(
    ("last_s", "unit", "first_ticks"),
    [
        (0.5, "s", ["0", "0.1", "0.2"]),
        (60, "s", ["0", "10", "20"]),
        (119, "s", ["0", "20", "40"]),
        (600, "m:ss", ["0:00", "2:00", "4:00"]),
        (3599, "m:ss", ["0:00", "10:00", "20:00"]),
        (14400, "h:mm", ["0:00", "0:30", "1:00"]),
        (30 * 86400, "h:mm", ["0:00", "120:00", "240:00"]),
    ],
)
def test_a_time_axis_has_seconds_minutes_or_hours(last_s, unit, first_ticks):
    axis = time_axis([0, last_s])
    assert axis.unit == unit
    assert [label for _, label in axis.ticks][:3] == first_ticks


def test_a_time_before_the_first_sample_is_negative():
    assert [label for _, label in time_axis([-130, 600]).ticks][:4] == ["−2:00", "0:00", "2:00", "4:00"]


def test_a_logarithmic_axis_has_a_position_for_0():
    axis = log_axis(-0.5, 499.5)
    assert [label for _, label in axis.ticks] == ["0", "1", "2", "5", "10", "20", "50", "100", "200"]
    assert 0 < axis.share(0) < axis.share(1) < axis.share(10) < 1


def test_a_short_logarithmic_axis_has_ticks_at_equal_distances():
    assert [label for _, label in log_axis(199.5, 240.5).ticks] == ["200", "210", "220", "230", "240"]
    assert [label for _, label in log_axis(6.5, 7.5).ticks] == ["7"]


def test_ticks_of_an_extreme_range_stay_short():
    assert number_tick(2e13, 1e13, 3e13) == "2e+13"
    assert number_tick(3e-6, 1e-6, 4e-6) == "3e-06"


def test_a_line_runs_from_the_left_axis_to_the_right_end_and_from_0_to_the_top_tick():
    # The plot is 84 to 616 px wide; it begins 12 px below the head's 44 and ends 58 px above the card's 300.
    (line,) = lines(line_graph("t", "ms", [Series("a", ((0, 0), (5, 100), (10, 50)))]))
    assert points_of(line) == [(84, 242), (350, 56), (616, 149)]


def test_an_unknown_value_is_a_gap_and_not_0():
    chart = line_graph(
        "t", "ms", [Series("a", ((0, 10), (1, 10), (2, None), (3, 10), (4, float("nan")), (5, 10), (6, 10)))]
    )
    assert [len(points_of(line)) for line in lines(chart)] == [2, 2]
    assert {y for line in lines(chart) for _, y in points_of(line)} == {56}
    (dot,) = elements(chart, "circle", "bar")  # second 3 alone, between two gaps
    assert (dot.get("cx"), dot.get("cy")) == ("350", "56")
    assert "a: least 10, most 10, last 10; 2 of 7 points without a value." in description(chart)


def test_lines_differ_not_only_in_colour():
    chart = line_graph("CPU", "%", [Series(f"p{number}", ((0, number), (1, number))) for number in range(12)])
    looks = {(path.get("class"), path.get("stroke-dasharray")) for path in elements(chart, "path", "line")}
    assert len({dash for _, dash in looks}) == 6
    assert len(looks) == 12


def test_one_line_needs_no_legend_and_two_have_one():
    assert texts(rates([0, 1], [5, 6]))[:2] == ["Throughputsamples/s", "0"]
    assert texts(line_graph("t", "ms", [minute([5, 6]), Series("p90", ((0, 7), (1, None)))]))[1:3] == ["a", "p90"]


def test_the_measurement_window_is_shaded_and_named():
    chart = rates(range(601), [5] * 601, band=Band(60, 540))
    assert "window: 1:00 to 9:00" in texts(chart)
    shaded = elements(chart, "rect", "band")[-1]
    # 84 + 532 * 60/600, and 532 * 480/600 wide
    assert (shaded.get("x"), shaded.get("width")) == ("137.2", "425.6")


def test_a_window_outside_the_chart_is_not_shaded_and_one_beyond_its_ends_is_cut():
    assert elements(rates([0, 9], [1, 1], band=Band(20, 30)), "rect", "band") == []
    assert "window: 3 to 9 s" in texts(rates([0, 9], [1, 1], band=Band(3, 30)))


def test_counts_are_divided_by_the_length_of_their_interval_and_a_part_of_one_is_left_out():
    counts, users = (10, 30, 10, 20), (1, None, 2, 2)
    times = {"average_ms": (5.0, 6.0, None, 6.0), "p90_ms": (7.0,) * 4}
    timeline = Timeline(-5, 25, counts, (0, 5, 0, 0), times, users)  # from 5 s before the load to 5 s after its end
    charts = drawn(source(timeline=timeline))
    assert list(charts) == ["response-time", "throughput", "errors", "users"]
    assert "samples/s: least 0.4, most 1.2, last 0.4." in description(charts["throughput"])
    assert texts(charts["response-time"])[1:3] == ["average", "p90"]  # of a file without a heat map
    assert "errors: 5 of 70 samples" in description(charts["errors"])
    assert "users: least 1, most 2, last 2; 1 of 4 points without a value." in description(charts["users"])


def test_cores_become_percent_and_bytes_megabytes():
    usage = UsageSeries("shop", (0, 1), (0.5, 1.5), (1024**2, 512 * 1024**2))
    heap = HeapSeries("shop", (0, 1), (1024**2, 2 * 1024**2), (3 * 1024**2,) * 2, (4 * 1024**2,) * 2)
    charts = drawn(source(usage_series=[usage], heap_series=[heap]))
    assert "least 50, most 150" in description(charts["cpu"])
    assert "least 1, most 512" in description(charts["memory"])
    assert "used: least 1, most 2, last 2. committed: least 3" in description(charts["heap"])


def timeline_of(**columns):
    """Return a timeline of four intervals of 25 s, for a run of 90 s: steady users and no errors."""
    columns = {"sample_count": (9,) * 4, "error_count": (0,) * 4, "active_users": (5,) * 4, **columns}
    return Timeline(0, 25, times_ms={"average_ms": (5.0,) * 4}, **columns)


def test_the_errors_have_a_chart_only_when_there_are_some():
    assert "errors" not in drawn(source(timeline=timeline_of()))
    assert "errors" in drawn(source(timeline=timeline_of(error_count=(0, 0, 1, 0))))


@pytest.mark.parametrize(
    ("users", "has_chart"),
    [
        ((5, 5, 5, 5), False),
        ((None,) * 4, False),
        ((1, 5, 5, 2), False),  # ramp-up and tail are outside the window
        ((5, 5, 6, 5), True),
    ],
)
def test_the_users_have_a_chart_only_when_they_change_within_the_window(users, has_chart):
    charts = drawn(source(25, 75, timeline=timeline_of(active_users=users)))
    assert ("users" in charts) is has_chart


def goal_of_rate(**limits):
    values = {"label": None, "max": None, "min": None, "load": "", **limits}
    rest = {"measured": 1.0, "measured_label": None, "label_count": 0, "missed_count": 0, "is_met": True}
    return GoalResult(metric="rate_per_s", text="", **values, **rest)


def test_a_goal_for_throughput_is_a_line_across_its_chart():
    # 9 samples in 25 s are 0.36 per s; the axis ends at 0.6, and the plot from 242 px up to 78 px.
    chart = drawn(source(timeline=timeline_of(), goals=[goal_of_rate(min=0.6)]))["throughput"]
    assert "goal: throughput ≥ 0.6 req/s" in texts(chart)
    assert [path.get("d") for path in elements(chart, "path", "mark")][-1] == "M84 78H616"
    others = [goal_of_rate(min=0.6, label="Pay"), goal_of_rate(min=0.6, load="buyers")]
    assert elements(drawn(source(timeline=timeline_of(), goals=others))["throughput"], "path", "mark") == []


def test_the_heat_map_has_a_cell_where_samples_ended_and_its_shade_grows_with_their_number():
    seconds = [{10: 1}, {}, {10: 100, 1000: 10}]
    chart = heat_chart(Frame("t", "ms", end_s=3), cells_of(seconds), heat_lines(seconds))
    found = {}
    for path in elements(chart, "path", "cell"):
        shade = int(path.get("class").split()[-1].removeprefix("s"))
        for left, top in re.findall(r"M([\d.]+) ([\d.]+)h", path.get("d")):
            found[float(left), float(top) < 150] = shade  # in the upper half of the plot or not
    # Seconds 0 and 2 of 3 between 84 and 616 px; 1, 10 and 100 samples are equal steps of a logarithmic scale.
    assert found == {(84.0, False): 0, (438.7, True): 2, (438.7, False): 5}
    assert "1 to 100 samples" in texts(chart)
    assert description(chart).endswith(
        "111 samples. p50: least 10, most 10, last 10; 1 of 3 points without a value. "
        "p95: least 10, most 1,000, last 1,000; 1 of 3 points without a value."
    )


def test_one_error_among_a_million_samples_is_visible():
    chart = error_chart(ERRORS, range(600), [int(x == 300) for x in range(600)], [2000] * 600, 1.0)
    assert "errors: 1 of 1,200,000 samples (below 0.01 %)" in texts(chart)
    (path,) = elements(chart, "path", "bar")
    ((_, width, height),) = bars(path.get("d"))
    assert (width, height) == (4, 8)


def test_many_errors_are_drawn_as_high_as_they_are():
    # The plot is 164 px high (300 - 58 - 44 - 22 - 12) and ends at 10 per second.
    chart = error_chart(ERRORS, range(21), [1] + [10] * 20, [10] * 21, 1.0)
    (path,) = elements(chart, "path", "bar")
    assert [height for _, _, height in bars(path.get("d"))] == [16.4] + [164] * 20


def test_errors_of_a_long_run_are_summed_and_none_is_lost():
    chart = error_chart(ERRORS, range(4000), [2] * 4000, [4] * 4000, 1.0)
    assert "errors: 8,000 of 16,000 samples (50.00 %)" in texts(chart)
    assert "Errorsper second, mean of 10 s" in texts(chart)
    assert len(bars(elements(chart, "path", "bar")[0].get("d"))) == 400


def test_a_long_line_keeps_its_peaks_as_shade_around_the_means():
    values = [10] * 4000
    values[2005] = 100
    chart = line_graph("t", "ms", [minute(values)])
    (line,) = lines(chart)
    assert len(points_of(line)) == 400
    (shade,) = elements(chart, "path", "shade")
    tops = [y for _, y in points_of(shade.get("d"))]
    assert min(tops) == 78  # 100 of 100 is the top of the plot: title 44, legend 22, 12
    assert "line: mean of 10 points; shaded: their range" in texts(chart)


def test_600_points_of_six_lines_stay_below_60_kb():
    six = [Series(f"p{n}", tuple((x, (x * 7919 * (n + 1)) % 1009) for x in range(600))) for n in range(6)]
    assert len(line_graph("t", "ms", six).encode()) < 60_000
    assert len(error_chart(ERRORS, range(600), [1] * 600, [9] * 600, 1.0).encode()) < 60_000
