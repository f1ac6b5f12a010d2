"""The chart of a distribution: bars, axis and marks, by the coordinates in the SVG text."""

import pytest

from harness.report.charts import svg
from harness.report.charts.distribution import distribution_chart
from tests.support.svg_elements import assert_texts_do_not_overlap, bars, boxes, description, elements, texts

PERCENTILES = ("p50", "p90", "p95", "p99")


def test_a_distribution_does_not_depend_on_the_order_of_its_counts():
    assert distribution_chart("t", {5: 2, 7: 1}, []) == distribution_chart("t", {7: 1, 5: 2}, [])


def test_a_distribution_shows_the_share_of_samples_per_bar():
    # 100 samples: 12 bars at least, so that 0-1000 ms in steps of 100 ms; half of them at 250 ms, half at 1000 ms.
    chart = distribution_chart("Distribution", {250: 50, 1000: 50}, [])
    assert texts(chart)[0] == "Distribution% of samples per 100 ms"
    (path,) = elements(chart, "path", "bar")
    (low, high) = bars(path.get("d"))
    assert low[2] == high[2] == 186  # 50 % is the top tick
    assert high[0] - low[0] == pytest.approx(8 * low[1], abs=0.3)  # 200-300 and 1000-1100
    assert "100 samples from 250 to 1,000 ms." in description(chart)


def test_a_long_tail_makes_the_axis_logarithmic_and_labels_it():
    near, far = (distribution_chart("t", {100: 99, greatest: 1}, []) for greatest in (1000, 1001))
    assert "response time, ms" in texts(near)
    assert "response time, ms, logarithmic" in texts(far)


def test_areas_of_a_logarithmic_distribution_are_proportional():
    counts = {0: 30, 1: 20, 3: 40, 500: 10}
    chart = distribution_chart("t", counts, [])
    (path,) = elements(chart, "path", "bar")
    areas = [width * height for _, width, height in bars(path.get("d"))]
    assert [area / sum(areas) for area in areas] == pytest.approx([0.3, 0.2, 0.4, 0.1], abs=0.01)


def test_a_mark_is_in_the_middle_of_its_millisecond():
    chart = distribution_chart("t", {7: 10}, [("p50", 7)])
    (mark,) = elements(chart, "polyline", "mark")
    ((left, width, _),) = bars(elements(chart, "path", "bar")[0].get("d"))
    assert float(mark.get("points").split()[1].split(",")[0]) == pytest.approx(left + width / 2, abs=0.1)


def test_marks_of_one_value_share_a_label():
    chart = distribution_chart("t", {7: 10}, [(name, 7) for name in PERCENTILES])
    assert "p50, p90, p95, p99" in texts(chart)
    assert texts(chart).count("7 ms") == 1


@pytest.mark.parametrize("values", [(5, 6, 7, 8), (9995, 9996, 9997, 9998), (100, 5000, 5001, 9999)])
def test_labels_of_close_marks_are_separated_and_in_order(values):
    counts = dict.fromkeys(range(10_000), 1)
    chart = distribution_chart("t", counts, list(zip(PERCENTILES, values, strict=True)))
    assert_texts_do_not_overlap(chart)
    labels = {content: left for content, left, _, _ in boxes(chart)}
    assert [labels[name] for name in PERCENTILES] == sorted(labels[name] for name in PERCENTILES)


def test_when_labels_do_not_fit_the_slowest_marks_remain():
    marks = [(f"{n} %", 1_000_000 + 1000 * n) for n in range(80, 100)]
    chart = distribution_chart("t", {1_000_000: 5, 1_100_000: 5}, marks)
    assert "99 %" in texts(chart)
    assert "80 %" not in texts(chart)
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


def test_a_hundred_thousand_distinct_times_are_drawn_in_few_bars():
    chart = distribution_chart("t", {value: 1 + value % 3 for value in range(100_000)}, [("p99", 99_000)])
    assert len(chart) < 20_000
