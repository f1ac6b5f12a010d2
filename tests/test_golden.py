"""Six real runs of 2014-2015 against the figures that jmeter-plugins printed for them; skipped where they are absent.

Threads and Metrics are left out: they occur in setUp and in tearDown, which stand apart here and were one row there.
"""

import csv
import os
from pathlib import Path

import pytest

from harness.figures import LOAD
from harness.io.results import summary_of_jtls

GOLDEN = Path(os.environ.get("HARNESS_GOLDEN", Path(__file__).resolve().parents[2] / "shared" / "golden"))
RUNS = ("run-02_3", "run-06_5", "run-09_4", "run-10_3", "run-10_5", "run-13_1")
APART = ("Threads", "Metrics", "TOTAL")


@pytest.mark.parametrize("run", RUNS)
def test_every_label_of_a_real_run_has_the_figures_of_its_time(run):
    if not (GOLDEN / run).is_dir():
        pytest.skip(f"{run}: the golden runs are not on this machine (HARNESS_GOLDEN names their folder)")
    summary = summary_of_jtls([GOLDEN / run / "samples.jtl"])
    found = {figures.label: figures for figures in summary.group(LOAD).labels}
    with (GOLDEN / run / "aggregate.csv").open(encoding="utf-8", newline="") as lines:
        rows = {row["sampler_label"]: row for row in csv.DictReader(lines) if row["sampler_label"] not in APART}
    assert list(found) == list(rows)
    for label, row in rows.items():
        figures = found[label]
        assert figures.sample_count == int(row["aggregate_report_count"])
        assert int(figures.average_ms) == int(row["average"])
        assert figures.median_ms == int(row["aggregate_report_median"])
        assert figures.p90_ms == int(row["aggregate_report_90%_line"])
        assert figures.min_ms == int(row["aggregate_report_min"])
        assert figures.max_ms == int(row["aggregate_report_max"])
        assert figures.error_ratio == pytest.approx(float(row["aggregate_report_error%"]), rel=1e-12)
        assert figures.rate_per_s == pytest.approx(float(row["aggregate_report_rate"]), rel=1e-12)
        assert figures.received_bytes_per_s / 1024 == pytest.approx(float(row["aggregate_report_bandwidth"]), rel=1e-12)
