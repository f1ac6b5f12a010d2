"""Other programs read our files, and report the numbers that we report: Taurus, DuckDB and JMeter's own dashboard."""

from __future__ import annotations

import csv
import gzip
import json
import subprocess

import pytest

from harness.base.install import toolchain
from harness.base.install.python_packages import ensure_bench_venv
from harness.report.files import write_report
from harness.run.directory import RunDirectory
from tests.support.commands import command
from tests.support.example_runs import FOLDER
from tests.support.programs import packages
from tests.support.report_folder import run_folder

pytestmark = pytest.mark.counterpart

NAMES = ("50", "90", "95", "99")
QUERY = """
SELECT label, sum(sample_count)::BIGINT, sum(error_count)::BIGINT, max(max_ms),
    sum(average_ms * sample_count) / sum(sample_count)
FROM '{folder}/seconds.{form}' GROUP BY label
"""
# The value of rank n * p, rounded, with p in single precision: JMeter's Aggregate Report (docs/methodology.md).
RANKS = """
WITH counts AS (
    SELECT label, elapsed_ms, sum(sample_count) AS n FROM '{folder}/histograms.{form}' GROUP BY label, elapsed_ms
), ranks AS (
    SELECT label, elapsed_ms, sum(n) OVER (PARTITION BY label ORDER BY elapsed_ms) AS rank,
        sum(n) OVER (PARTITION BY label) AS total FROM counts
) SELECT label, min(elapsed_ms) FROM ranks WHERE rank >= greatest(1, floor(total * {ratio}::FLOAT::DOUBLE + 0.5))
GROUP BY label
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> RunDirectory:
    """A run with the 3,087 samples of docs/example-runs, and its report."""
    directory = run_folder(tmp_path_factory.mktemp("reports"), "shop/run-01_1", users=20, duration_s=180.0)
    directory.samples.write_bytes(gzip.decompress((FOLDER / "after.jtl.gz").read_bytes()))
    write_report(directory)
    return directory


@pytest.fixture(scope="module")
def ours(run) -> dict[str, dict[str, float]]:
    """The figures of all samples in our report by label, and those of TOTAL."""
    report = json.loads((run.path.parent / "run-01_1.json").read_text())
    group = report["whole"] or report["groups"][0]
    return {label["label"]: label for label in [*group["labels"], group["total"]]}


def counts(figures) -> list[int]:
    return [figures[key] for key in ("sample_count", "error_count", "max_ms")]


def samples_between(run, own, percentiles_ms) -> int:
    """Return how many samples of a label at most are between our percentile and the other program's."""
    with run.samples.open() as lines:
        elapsed = [int(row["elapsed"]) for row in csv.DictReader(lines) if own["label"] in (row["label"], "TOTAL")]
    ranges = (sorted((own["percentiles_ms"][name], other_ms)) for name, other_ms in percentiles_ms.items())
    return max(sum(low < ms < high for ms in elapsed) for low, high in ranges)


def test_taurus_reads_our_samples_and_has_our_figures(run, ours, tmp_path):
    python = packages("bzt==1.17.2")
    loader = {"executor": "external-results-loader", "data-file": str(run.samples), "results-timeout": "2s"}
    config = {
        "execution": [loader],
        "reporting": [{"module": "final-stats", "dump-csv": str(tmp_path / "stats.csv")}],
        "modules": {"console": {"disable": True}},
        "settings": {"check-updates": False, "artifacts-dir": str(tmp_path / "artifacts")},
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    subprocess.run(
        [python, "-m", "bzt.cli", tmp_path / "config.json"], capture_output=True, timeout=300, check=True, cwd=tmp_path
    )
    with (tmp_path / "stats.csv").open() as lines:
        rows = {row["label"] or "TOTAL": row for row in csv.DictReader(lines)}
    assert rows.keys() == ours.keys()
    for label, row in rows.items():
        own = ours[label]
        assert [int(row["throughput"]), int(row["fail"]), float(row["perc_100.0"]) * 1000] == counts(own)
        assert int(row["bytes"]) == round(own["received_bytes_mean"] * own["sample_count"])
        assert float(row["avg_rt"]) * 1000 == pytest.approx(own["average_ms"], abs=0.01)  # it rounds to 0.01 ms
        found = {name: round(float(row[f"perc_{name}.0"]) * 1000) for name in NAMES}
        assert samples_between(run, own, found) == 0, found  # 589 and 593 ms: p99 of TOTAL is one rank further


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_duckdb_has_our_figures_from_our_exports(run, ours, tmp_path, form):
    done = command("aggregate.py", "export", run.path, "--format", form, "--into", tmp_path)
    assert done.returncode == 0, done.stderr

    def query(text: str) -> list[list]:
        program = "import duckdb, json, sys; print(json.dumps(duckdb.sql(sys.argv[1]).fetchall()))"
        return json.loads(
            subprocess.run(
                [ensure_bench_venv(), "-c", program, text], capture_output=True, text=True, check=True
            ).stdout
        )

    rows = {label: values for label, *values in query(QUERY.format(folder=tmp_path, form=form))}
    assert {label: values[:3] for label, values in rows.items()} == {label: counts(own) for label, own in ours.items()}
    for label, values in rows.items():
        assert values[3] == pytest.approx(ours[label]["average_ms"], abs=0.001)
    for name in ("50", "90", "95", "99", "99.9"):
        found = dict(query(RANKS.format(folder=tmp_path, form=form, ratio=float(name) / 100)))
        assert found == {label: own["percentiles_ms"][name] for label, own in ours.items() if label != "TOTAL"}, name


def test_the_dashboard_of_jmeter_has_our_figures(run, ours, tmp_path):
    jmeter = toolchain.ensure_jmeter() / "bin" / "jmeter"
    subprocess.run(
        [jmeter, "-g", run.samples, "-o", tmp_path / "dashboard", "-j", tmp_path / "jmeter.log"],
        cwd=tmp_path, capture_output=True, timeout=300, check=True,
    )  # fmt: skip
    found = json.loads((tmp_path / "dashboard" / "statistics.json").read_text())
    found["TOTAL"] = found.pop("Total")
    assert found.keys() == ours.keys()
    for label, one in found.items():
        own = ours[label]
        assert [one["sampleCount"], one["errorCount"], one["maxResTime"]] == counts(own)
        assert one["meanResTime"] == pytest.approx(own["average_ms"], abs=0.001)
        percentiles_ms = dict(
            zip(NAMES, (one[f"{key}ResTime"] for key in ("median", "pct1", "pct2", "pct3")), strict=True)
        )
        # It interpolates between the two ranks around (n + 1) * p.
        assert samples_between(run, own, percentiles_ms) <= 1, percentiles_ms
