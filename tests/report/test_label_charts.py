"""The small charts of a run's labels: which labels have one, and that all have the same axes."""

import pytest

from harness.metrics.batches import Batches
from harness.metrics.figures import LabelCounts, LabelFigures
from harness.metrics.histogram import Histogram
from harness.report.charts.labels import label_charts, panels_of
from tests.support.run_charts import drawn, source
from tests.support.svg_elements import assert_texts_do_not_overlap, description, lines, points_of, texts


def batches_of(p50_ms, p95_ms=None):
    """Return ten batches of 4 s with one p50 and one p95."""
    return Batches(
        length_s=4.0,
        sample_count=(20,) * 10,
        error_count=(0,) * 10,
        average_ms=(float(p50_ms),) * 10,
        percentiles_ms={"50": (p50_ms,) * 10, "95": (p95_ms or 2 * p50_ms,) * 10},
        slower_count={},
    )


def label_figures(label, sample_count=100, batches=None):
    return LabelFigures.of(label, False, LabelCounts(Histogram({10: sample_count})), batches=batches)


def labels_of(*p50s_ms):
    """Return a label for each p50: A, B, C …, each with more samples than the one before."""
    return [
        label_figures(chr(ord("A") + index), sample_count=100 + index, batches=batches_of(p50_ms))
        for index, p50_ms in enumerate(p50s_ms)
    ]


def test_one_label_has_no_chart_of_labels_and_two_have_one():
    assert "labels" not in drawn(source(labels=labels_of(10)))
    assert "labels" not in drawn(source(labels=[*labels_of(10), label_figures("few samples", batches=None)]))
    assert "labels" in drawn(source(labels=labels_of(10, 20)))


def test_each_label_has_p50_and_p95_on_the_same_scale():
    chart = label_charts("Labels", panels_of(labels_of(10, 20)), 30.0)
    assert {"A", "B", "p50", "p95"} <= set(texts(chart))
    heights = [{y for _, y in points_of(path)} for path in lines(chart)]
    (a50,), (a95,), (b50,), (b95,) = heights
    assert a95 == b50  # both are 20 ms
    assert a50 - a95 == pytest.approx(b50 - b95, abs=0.15)  # a factor of 2 each, on a logarithmic scale
    # The first of ten batches between 30 and 70 s is centred on 32 s: 5 % of the plot, which is 242 px wide.
    assert points_of(lines(chart)[0])[0][0] == pytest.approx(84 + 242 * 0.05, abs=0.1)
    assert "A: p50: least 10, most 10, last 10. p95: least 20" in description(chart)


def test_the_twelve_labels_with_most_samples_are_drawn_in_the_order_of_the_table():
    panels = panels_of(labels_of(*range(10, 25)))
    assert [panel.name for panel in panels] == list("DEFGHIJKLMNO")
    assert_texts_do_not_overlap(label_charts("Labels", panels, 0.0))


def test_an_odd_number_of_labels_has_the_time_below_each_column():
    chart = label_charts("Labels", panels_of(labels_of(5, 50_000, 500)), 0.0)
    assert texts(chart).count("20") == 2
    assert_texts_do_not_overlap(chart)


@pytest.mark.parametrize("p50s_ms", [(0, 0), (0, 1), (0, 500)])
def test_times_of_0_ms_are_at_the_bottom(p50s_ms):
    chart = label_charts("Labels", panels_of(labels_of(*p50s_ms)), 0.0)
    assert "0" in texts(chart)
    bottom = max(y for line in lines(chart)[:2] for _, y in points_of(line))
    assert {y for _, y in points_of(lines(chart)[0])} == {bottom}


def test_the_times_of_neighbours_do_not_overlap_in_a_run_of_minutes():
    chart = label_charts("Labels", panels_of(labels_of(5, 10)), 560.0)  # 9:20 to 10:00
    assert texts(chart).count("10:00") == 2
    assert_texts_do_not_overlap(chart)
