"""The charts of distributions: curves, marks and shifts, by the coordinates in the SVG text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.metrics.histogram import Histogram
from harness.report.charts import svg
from harness.report.charts.distribution import (
    NamedCounts,
    compared_chart,
    cumulative_line,
    distribution_chart,
    marks_of,
)
from tests.support.svg_elements import (
    assert_texts_do_not_overlap,
    boxes,
    description,
    elements,
    lines,
    points_of,
    texts,
)

PERCENTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99.9": 0.999}
COUNTS = st.dictionaries(st.integers(0, 100_000), st.integers(1, 1000), min_size=1, max_size=400)


def y_px(percent, top=96):
    """The px of a share of samples; the plot ends at 242 px."""
    return 242 - (242 - top) * percent / 100


def test_a_distribution_does_not_depend_on_the_order_of_its_counts():
    assert distribution_chart("t", {5: 2, 7: 1}) == distribution_chart("t", {7: 1, 5: 2})


def test_the_curve_steps_up_by_the_share_of_samples_at_each_time():
    assert cumulative_line({250: 50, 1000: 30, 10: 20}).points == ((10, 0), (10, 20), (250, 70), (1000, 100))
    (curve,) = lines(distribution_chart("t", {10: 20, 250: 50, 1000: 30}))
    points = points_of(curve)
    assert [y for _, y in points] == pytest.approx([y_px(one) for one in (0, 0, 20, 20, 70, 70, 100)], abs=0.15)
    # The axis is logarithmic, from 9.5 to 1,000.5 ms: log(250 / 9.5) is 0.7022 of log(1000.5 / 9.5).
    assert points[3][0] == pytest.approx(svg.LEFT + (svg.RIGHT - svg.LEFT) * 0.7022, abs=0.2)


@pytest.mark.real
@given(COUNTS)
def test_each_point_of_the_curve_is_the_exact_share_of_samples_up_to_its_time(counts):
    points, total = cumulative_line(counts).points, sum(counts.values())
    for value_ms, percent in points[1:]:
        up_to = sum(count for other_ms, count in counts.items() if other_ms <= value_ms)
        assert percent == pytest.approx(100 * up_to / total)
    assert (points[0], points[-1]) == ((min(counts), 0), (max(counts), 100))


@given(COUNTS)
def test_marks_are_the_exact_percentiles_and_are_on_the_curve(counts):
    marks = marks_of(counts)
    exact = Histogram(counts)
    assert {mark.name: mark.value_ms for mark in marks} == {
        name: exact.quantile_ms(ratio) for name, ratio in PERCENTILES.items()
    }
    shares = dict(cumulative_line(counts).points[1:])
    assert all(mark.value_ms in shares for mark in marks)


def test_marks_are_drawn_at_their_time_and_share():
    chart = distribution_chart("t", dict.fromkeys(range(1, 1001), 1))
    dots = [(float(dot.get("cx")), float(dot.get("cy"))) for dot in elements(chart, "circle", "bar")]
    assert [y for _, y in dots] == pytest.approx([y_px(100 * ratio) for ratio in PERCENTILES.values()], abs=0.1)
    (curve,) = lines(chart)
    corners = points_of(curve)
    for x, y in dots:  # on the vertical step of the curve, whose relative coordinates are rounded
        heights = [corner_y for corner_x, corner_y in corners if abs(corner_x - x) < 0.3]
        assert min(heights) - 0.3 <= y <= max(heights) + 0.3
    assert texts(chart)[-10:] == ["p50", "500 ms", "p90", "900 ms", "p95", "950 ms", "p99", "990 ms", "p99.9", "999 ms"]
    assert description(chart) == (
        "1,000 samples from 1 to 1,000 ms, p50 500 ms, p90 900 ms, p95 950 ms, p99 990 ms, p99.9 999 ms."
    )


def test_marks_of_one_value_share_a_label():
    chart = distribution_chart("t", {7: 10})
    assert ", ".join(PERCENTILES) in texts(chart)
    assert texts(chart).count("7 ms") == 1


@pytest.mark.parametrize("tail_ms", [(5, 6, 7, 8), (9995, 9996, 9997, 9998), (100, 5000, 5001, 9999)])
def test_labels_of_close_marks_are_separated_and_in_order(tail_ms):
    counts = dict(zip((1, *tail_ms), (500, 410, 45, 40, 5), strict=True))
    chart = distribution_chart("t", counts)
    assert_texts_do_not_overlap(chart)
    left = [start for content, start, _, _ in boxes(chart) if content.endswith(" ms")]
    assert left == sorted(left)
    assert len(left) == 5


def test_when_labels_do_not_fit_the_slowest_marks_remain():
    values = [10_000_000 + 1_000_000 * number for number in range(5)]
    chart = distribution_chart("t", dict(zip(values, (600, 310, 45, 40, 5), strict=True)))
    assert "p99.9" in texts(chart)
    assert "p50" not in texts(chart)
    assert_texts_do_not_overlap(chart)


@pytest.mark.parametrize(
    ("centres", "placed"),
    [
        ([50, 200], [50, 200]),
        ([100, 100], [80, 120]),
        ([0, 10], [20, 60]),
        ([295, 300], [240, 280]),
        ([100, 100, 100], [60, 100, 140]),
    ],
)
def test_labels_move_only_as_far_as_needed(centres, placed):
    assert svg.spread(centres, [40] * len(centres), 0, 300) == pytest.approx(placed)


@pytest.mark.real
def test_a_hundred_thousand_distinct_times_are_drawn_in_few_points():
    chart = distribution_chart("t", {value: 1 + value % 3 for value in range(100_000)})
    assert len(chart) < 20_000


def test_two_curves_have_the_shifts_of_p50_and_p95_between_them():
    base, new = {100: 80, 400: 20}, {110: 80, 300: 20}
    chart = compared_chart("Times", NamedCounts("baseline: a", base), NamedCounts("contender: b", new))
    assert {"baseline: a", "contender: b", "p50 +10.0 %", "p95 −25.0 %"} <= set(texts(chart))
    assert description(chart) == (
        "baseline: a: 100 samples from 100 to 400 ms; contender: b: 100 samples from 110 to 300 ms; "
        "p50 +10.0 % (100 → 110 ms), p95 −25.0 % (400 → 300 ms)."
    )
    shifts = [
        [float(line.get(name)) for name in ("x1", "x2", "y1")]
        for line in elements(chart, "line", "shift")
        if line.get("y1") == line.get("y2")
    ]
    base_curve, new_curve = (points_of(path) for path in lines(chart))
    for (left, right, y), percent, (start, end) in zip(
        shifts, (50, 95), ((base_curve[1], new_curve[1]), (new_curve[-1], base_curve[-1])), strict=True
    ):
        assert y == pytest.approx(y_px(percent, top=78), abs=0.1)
        assert (left, right) == pytest.approx((start[0], end[0]), abs=0.3)


def test_a_shift_from_0_ms_is_in_milliseconds():
    chart = compared_chart("t", NamedCounts("a", {0: 9, 5: 9}), NamedCounts("b", {3: 9, 5: 9}))
    assert "p50 +3 ms" in texts(chart)
