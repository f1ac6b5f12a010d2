"""Six real runs of 2014-2015 against the figures that jmeter-plugins printed for them; skipped where they are absent.

There TOTAL is of all samples, and a label has one row whichever thread group it ran in. Here setUp and tearDown stand
apart, so the counts of a label are merged over its groups first, and those of all labels into TOTAL.
"""

import csv
import os
from pathlib import Path

import pytest

from harness.jtl.inputs import resolve
from harness.metrics.figures import TOTAL, LabelCounts, LabelFigures
from harness.report.jtls import summary_of_jtls

GOLDEN = Path(os.environ.get("HARNESS_GOLDEN", Path(__file__).resolve().parents[3] / "shared" / "golden"))
RUNS = ("run-02_3", "run-06_5", "run-09_4", "run-10_3", "run-10_5", "run-13_1")


def rows_of_its_time(run):
    with (GOLDEN / run / "aggregate.csv").open(encoding="utf-8", newline="") as lines:
        return {row["sampler_label"]: row for row in csv.DictReader(lines)}


def figures_of_its_time(summary):
    merged = {}
    for label in (label for group in summary.groups for label in group.labels):
        for name in (label.label, TOTAL):
            merged.setdefault(name, LabelCounts()).merge(label.counts)
    return {name: LabelFigures.of(name, False, counts) for name, counts in merged.items()}


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.real
def test_every_cell_of_a_real_runs_aggregate_csv_comes_out_equal(run):
    if not (GOLDEN / run).is_dir():
        pytest.skip(f"{run}: the golden runs are not on this machine (HARNESS_GOLDEN names their folder)")
    summary = summary_of_jtls(resolve([str(GOLDEN / run / "samples.jtl")]))
    found, rows = figures_of_its_time(summary), rows_of_its_time(run)
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
