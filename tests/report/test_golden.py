"""Runs against the figures that jmeter-plugins prints: a made one of a few rows, and six real ones of 2014-2015.

There TOTAL is of all samples, and a label has one row whichever thread group it ran in. Here setUp and tearDown are
separate, so the counts of a label are merged over its groups first, and those of all labels into TOTAL.

The figures of the made run follow the rules of its time: the average is truncated, a percentile is the sample at rank
floor(n · p + 0.5), the deviation is the population's, and a rate is over the time from the first start to the last end.
"""

import csv
from pathlib import Path

import pytest

from harness.jtl.inputs import resolve
from harness.metrics.figures import TOTAL, LabelCounts, LabelFigures
from harness.report.jtls import summary_of_jtls
from tests.support.golden import golden_run
from tests.support.paths import ROOT
from tests.support.weekly import often

MADE = ROOT / "tests" / "data" / "golden" / "made"
RUNS = ("run-02_3", "run-06_5", "run-09_4", "run-10_3", "run-10_5", "run-13_1")


def rows_of_its_time(folder: Path):
    with (folder / "aggregate.csv").open(encoding="utf-8", newline="") as lines:
        return {row["sampler_label"]: row for row in csv.DictReader(lines)}


def figures_of_its_time(summary):
    merged = {}
    for label in (label for group in summary.groups for label in group.labels):
        for name in (label.label, TOTAL):
            merged.setdefault(name, LabelCounts()).merge(label.counts)
    return {name: LabelFigures.of(name, False, counts) for name, counts in merged.items()}


def test_every_cell_of_the_aggregate_csv_of_a_synthetic_run_is_equal():
    check_cells(MADE)


@pytest.mark.real
@pytest.mark.parametrize("run", often(3, RUNS))
def test_every_cell_of_the_aggregate_csv_of_a_real_run_is_equal(run):
    check_cells(golden_run(run))


def check_cells(folder: Path):
    summary = summary_of_jtls(resolve([str(folder / "samples.jtl")]))
    found, rows = figures_of_its_time(summary), rows_of_its_time(folder)
    assert set(found) == set(rows)
    for group in summary.groups:  # in order of first appearance
        names = [label.label for label in group.labels]
        assert names == [name for name in rows if name in names]
    for label, row in rows.items():
        figures = found[label]
        cells = {
            "sampler_label": figures.label,
            "aggregate_report_count": figures.sample_count,
            "average": int(figures.average_ms),  # truncated in its time
            "aggregate_report_median": figures.median_ms,
            "aggregate_report_90%_line": figures.p90_ms,
            "aggregate_report_min": figures.min_ms,
            "aggregate_report_max": figures.max_ms,
        }
        assert {name: row[name] for name in cells} == {name: str(value) for name, value in cells.items()}
        shares = {
            "aggregate_report_error%": figures.error_ratio,
            "aggregate_report_rate": figures.rate_per_s,
            "aggregate_report_bandwidth": figures.received_bytes_per_s / 1024,
            "aggregate_report_stddev": figures.stddev_ms,
        }
        # The order in which doubles are added makes the last digits.
        assert {name: float(row[name]) for name in shares} == pytest.approx(shares, rel=1e-12)
        assert set(cells) | set(shares) == set(row)
