"""The heat map of a run: its cells against a count of each sample, and its size."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.base.records import build, to_plain
from harness.metrics.heat_map import COLUMNS_MOST, ROWS_MOST, HeatMap
from harness.metrics.histogram import Histogram
from harness.metrics.timeline import SecondSeries, Source, Timeline

START_S = 1_700_000_000
SAMPLES = st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 90_000)), min_size=1, max_size=300)


def timeline_of(samples):
    """Return the timeline of samples, each the second of its end and its time in ms."""
    counted = SecondSeries()
    for second, elapsed_ms in samples:
        counted.add((START_S + second) * 1000, elapsed_ms, 1, 0, None, Source(0, ""))
    return counted.timeline()


def brute_force(samples, timeline):
    """Return the number of samples in each cell, by (column, row): each sample is compared with every edge."""
    heat, cells = timeline.heat_map, {}
    for second, elapsed_ms in samples:
        column = (START_S + second - timeline.start_s) // heat.bucket_s
        (row,) = [
            row for row in range(len(heat.edges_ms) - 1) if heat.edges_ms[row] <= elapsed_ms < heat.edges_ms[row + 1]
        ]
        cells[column, row] = cells.get((column, row), 0) + 1
    return cells


@pytest.mark.real
@given(SAMPLES)
def test_each_cell_has_the_samples_of_its_interval_and_times(samples):
    timeline = timeline_of(samples)
    heat = timeline.heat_map
    found = {
        (index, row): count for index, column in enumerate(heat.counts) for row, count in enumerate(column) if count
    }
    assert found == brute_force(samples, timeline)
    assert len(heat.columns) <= COLUMNS_MOST
    assert len(heat.edges_ms) - 1 <= ROWS_MOST


@pytest.mark.real
@given(SAMPLES)
def test_the_percentiles_of_a_column_are_those_of_its_samples(samples):
    timeline = timeline_of(samples)
    heat = timeline.heat_map
    for index in range(len(heat.columns)):
        times = [
            elapsed_ms
            for second, elapsed_ms in samples
            if (START_S + second - timeline.start_s) // heat.bucket_s == index
        ]
        exact = Histogram.of(times)
        assert (heat.p50_ms[index], heat.p95_ms[index]) == (exact.quantile_ms(0.5), exact.quantile_ms(0.95))


@pytest.mark.real
@given(SAMPLES)
def test_a_timeline_is_the_same_after_it_was_stored(samples):
    timeline = timeline_of(samples)
    assert build(Timeline, json.loads(json.dumps(to_plain(timeline)))) == timeline


def test_rows_are_whole_milliseconds_where_the_range_is_small_and_factors_where_it_is_wide():
    near, wide = (HeatMap.of([Histogram(dict.fromkeys(times, 1))], 1).edges_ms for times in ((5, 9), (0, 10, 100_000)))
    assert near == (5, 6, 7, 8, 9, 10)
    assert wide[:2] == (0, 1)  # 0 ms has its own row
    assert wide[-1] == 100_001
    ratios = [high / low for low, high in pairwise(wide[12:])]
    assert max(ratios) < 1.08 * min(ratios)


@pytest.mark.real
def test_the_heat_map_of_a_long_run_is_small():
    series = SecondSeries()
    for second in range(4 * 3600):
        for elapsed_ms in range(50, 400, 7):
            series.add_time(START_S + second, elapsed_ms, 20)
            series.seconds.add(START_S + second, 20, 0, 20 * elapsed_ms)
    assert len(json.dumps(to_plain(series.timeline().heat_map))) < 25_000  # every row is full; 12 KB are usual


def test_a_timeline_of_an_earlier_version_has_no_heat_map():
    data = to_plain(timeline_of([(0, 5)]))
    del data["heat_map"]
    assert build(Timeline, data).heat_map is None


@pytest.mark.parametrize(
    "changes",
    [
        {"columns": ["0: 1 x"]},
        {"columns": ["-1: 1"]},
        {"columns": ["0: 1 2 3"]},
        {"columns": ["0: 1", "0: 1"]},
        {"edges_ms": [5, 5]},
        {"bucket_s": 0},
    ],
)
def test_impossible_cells_in_a_file_are_refused(changes):
    data = {"bucket_s": 1, "edges_ms": [5, 6, 7], "columns": ["0: 1 2"], "p50_ms": [6], "p95_ms": [6]}
    assert build(HeatMap, data).counts == [[1, 2]]
    with pytest.raises(ValueError, match="heat map has"):
        build(HeatMap, {**data, **changes})
