"""aggregate.py export: the files of a finished run, whose numbers are those of its report."""

import csv
import json

import pyarrow.parquet
import pytest

from tests.support.commands import command
from tests.support.report_folder import START_MS, add_run, run_folder

START_S = START_MS // 1000


@pytest.fixture
def reports(tmp_path):
    add_run(tmp_path, "shop/run-01_1", samples=120, failures=12, label='Pay "now"', all_threads=2)
    return tmp_path


def exported(reports, *arguments):
    return command("aggregate.py", "export", *arguments, "--reports", reports)


def table(path):
    with path.open(newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def test_csv_has_a_row_per_second_and_label_and_its_sums_are_those_of_the_report(reports):
    done = exported(reports, "shop/run-01_1")
    assert done.returncode == 0, done.stderr
    folder = reports / "shop" / "run-01_1" / "export"
    assert "seconds.csv" in done.stdout
    assert done.stdout.endswith("histograms.csv: 120 samples of shop/run-01_1\n")
    rows = [row for row in table(folder / "seconds.csv") if row["label"] == 'Pay "now"']
    report = json.loads((reports / "shop" / "run-01_1.json").read_text())
    whole = (report["whole"] or report["groups"][0])["labels"][0]
    assert sum(int(row["sample_count"]) for row in rows) == whole["sample_count"] == 120
    assert sum(int(row["error_count"]) for row in rows) == whole["error_count"] == 12
    assert [int(row["time_s"]) for row in rows] == [START_S + second for second in range(120)]
    assert rows[4]["p90_ms"] == "101"  # 100 ms, and one more of each second of three
    histogram = {}
    for row in table(folder / "histograms.csv"):
        histogram[row["elapsed_ms"]] = histogram.get(row["elapsed_ms"], 0) + int(row["sample_count"])
    assert " ".join(f"{ms}:{count}" for ms, count in histogram.items()) == whole["counts"]["histogram"]
    assert sorted(path.name for path in folder.iterdir()) == ["histograms.csv", "seconds.csv"]


@pytest.mark.real
def test_parquet_has_the_same_tables_with_types(reports):
    assert exported(reports, "shop/run-01_1", "--format", "csv").returncode == 0
    assert exported(reports, "run-01_1", "--plan", "shop", "--format", "parquet").returncode == 0
    folder = reports / "shop" / "run-01_1" / "export"
    for name in ("seconds", "histograms"):
        read = pyarrow.parquet.read_table(folder / f"{name}.parquet")
        expected = table(folder / f"{name}.csv")
        assert [{key: str(value) for key, value in row.items()} for row in read.to_pylist()] == expected
        assert read.schema.field("time_s").type == pyarrow.int64()
    assert pyarrow.parquet.read_schema(folder / "seconds.parquet").field("average_ms").type == pyarrow.float64()


def test_openmetrics_goes_into_the_folder_that_was_named(reports, tmp_path):
    folder = tmp_path / "for prometheus"
    done = exported(reports, "shop/run-01_1", "--format", "openmetrics", "--into", folder)
    assert done.returncode == 0, done.stderr
    text = (folder / "openmetrics.txt").read_text()
    assert text.endswith("# EOF\n")
    assert 'loadtest_run_info{run="shop/run-01_1",plan="shop",env="local",commit="0123456789ab"} 1 ' in text
    assert not (reports / "shop" / "run-01_1" / "export").exists()


def test_a_run_without_samples_is_refused(reports):
    (reports / "shop" / "run-01_1" / "samples.jtl").unlink()
    done = exported(reports, "shop/run-01_1")
    assert (done.returncode, done.stdout) == (2, "")
    assert "samples.jtl: is missing; pull the run with all its files" in done.stderr


def test_samples_of_a_clock_that_was_set_are_refused(reports):
    path = reports / "shop" / "run-01_1" / "samples.jtl"
    path.write_text(path.read_text().replace(f"\n{START_MS},", f"\n{START_MS - 40 * 24 * 3_600_000},"))
    done = exported(reports, "shop/run-01_1")
    assert done.returncode == 2
    assert "samples.jtl: its samples span" in done.stderr
    assert "a clock was set" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("shop/run-09_1",), "run-09_1"),
        (("shop/run-*",), "2 runs; name one: an export covers one run"),
        (("shop/run-01_1", "--format", "xlsx"), "--format=xlsx: no such value; there are: csv, parquet"),
    ],
)
def test_anything_else_is_one_line(reports, arguments, message):
    run_folder(reports, "shop/run-01_2")
    done = exported(reports, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
