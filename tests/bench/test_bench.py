"""The bench of the aggregator: its file, how figures are checked, the ratios, and a run of the whole."""

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bench.measure import OUT_NAME, measure
from bench.readers import file as bench_file
from bench.readers.aggregate import side_by_side
from bench.readers.check import counts_differ, dashboard_differs, figures_differ, report_differs, table_differs
from bench.readers.contenders import CONTENDERS, Tools
from bench.readers.generate import GeneratedJtl
from bench.readers.truth import LabelTruth, Truth
from bench.results import Pass, Result, aims, find, ratio, wrong
from bench.tables import aims_table, results_table
from tests.support.paths import ROOT
from tests.support.processes import is_running, wait_for
from tests.support.weekly import often

MB = 1024 * 1024


def generated(seed: int, row_count: int) -> tuple[bytes, Truth]:
    jtl = GeneratedJtl(seed, row_count)
    return b"".join(jtl.blocks()), jtl.truth()


@pytest.fixture(scope="module")
def made() -> tuple[bytes, Truth]:
    return generated(seed=1, row_count=5000)


def rows_of(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content.decode(), newline="")))


class TestTheGeneratedFile:
    def test_it_depends_only_on_the_seed(self, made):
        assert generated(1, 5000)[0] == made[0]
        assert generated(2, 5000)[0] != made[0]

    @pytest.mark.real
    def test_it_has_the_requested_rows_also_across_blocks(self):
        content, truth = generated(seed=1, row_count=100_001)
        assert len(rows_of(content)) == truth.total("TOTAL").sample_count == 100_001

    def test_it_contains_what_the_csv_module_reads(self, made):
        content, truth = made
        rows = rows_of(content)
        assert sorted({row["label"] for row in rows}) == sorted(label.label for label in truth.labels)
        for label in truth.labels:
            own = [row for row in rows if row["label"] == label.label]
            elapsed = [int(row["elapsed"]) for row in own]
            assert {value: elapsed.count(value) for value in set(elapsed)} == label.counts
            assert sum(row["success"] == "false" for row in own) == label.error_count
            assert sum(int(row["bytes"]) for row in own) == label.received_bytes
            assert sum(int(row["sentBytes"]) for row in own) == label.sent_bytes
            assert min(int(row["timeStamp"]) for row in own) == label.first_ms
            assert max(int(row["timeStamp"]) + int(row["elapsed"]) for row in own) == label.last_ms

    def test_it_is_as_hard_to_read_as_a_real_one(self, made):
        rows = rows_of(made[0])
        failed = [row for row in rows if row["success"] == "false"]
        assert 0.005 < len(failed) / len(rows) < 0.02
        assert any("," in row["label"] for row in rows)
        for mark in ("\n", '"', ","):
            assert any(mark in row["failureMessage"] for row in failed)
        assert any(row["responseCode"].startswith("Non HTTP") for row in failed)
        ends = [int(row["timeStamp"]) + int(row["elapsed"]) for row in rows]
        assert ends == sorted(ends)
        assert [row["timeStamp"] for row in rows] != sorted(row["timeStamp"] for row in rows)
        users = [int(row["allThreads"]) for row in rows]
        assert users == sorted(users)
        assert 1 <= users[0] < users[-1]
        assert 125 < len(made[0]) / len(rows) < 145

    def test_it_is_reused_unless_incomplete(self, tmp_path):
        first = bench_file.ensure(tmp_path, 1, 300, print)
        written = first.path.stat().st_mtime_ns
        again = bench_file.ensure(tmp_path, 1, 300, print)
        assert again == first
        assert first.path.stat().st_mtime_ns == written
        whole = first.path.read_bytes()
        first.path.write_bytes(whole[:-1] + b" ")
        assert bench_file.ensure(tmp_path, 1, 300, print) == first
        assert first.path.read_bytes() == whole


# Two labels: "a" took 10, 10 and 40 ms with one error, "b" 100 ms; over 2 s from 1000 to 3000.
TRUTH = Truth(
    (
        LabelTruth("a", {10: 2, 40: 1}, 1, received_bytes=4096, sent_bytes=2048, first_ms=1000, last_ms=3000),
        LabelTruth("b", {100: 1}, 0, received_bytes=2048, sent_bytes=2048, first_ms=2000, last_ms=3000),
    )
)
RIGHT_TABLE = """\
| label | count | average ms | p50 ms | p90 ms | min ms | max ms | errors % | errors | req/s | KB/s received | new |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
| a | 3 | 20 | 10 | 40 | 10 | 40 | 33.33 | 1 | 1.50 | 2.00 | ? |
| b | 1 | 100 | 100 | 100 | 100 | 100 | 0.00 | 0 | 1.00 | 2.00 | ? |
| TOTAL | 4 | 40 | 10 | 100 | 10 | 100 | 25.00 | 1 | 2.00 | 3.00 | ? |

A warning below the table.
"""
RIGHT_DASHBOARD = {
    "a": {"sampleCount": 3, "errorCount": 1, "meanResTime": 20.0, "minResTime": 10.0, "maxResTime": 40.0},
    "b": {"sampleCount": 1, "errorCount": 0, "meanResTime": 100.0, "minResTime": 100.0, "maxResTime": 100.0},
    "Total": {"sampleCount": 4, "errorCount": 1, "meanResTime": 40.0, "minResTime": 10.0, "maxResTime": 100.0},
}


def counts(*rows: tuple[str, object, int]) -> str:
    return json.dumps({"version": "1", "counts": rows})


class TestFiguresAreChecked:
    def test_correct_output_passes(self):
        assert counts_differ(counts(("a", 10, 2), ("b", "100", 1), ("a", 40, 1)), TRUTH) == []
        assert table_differs(RIGHT_TABLE, TRUTH) == []
        assert dashboard_differs(json.dumps(RIGHT_DASHBOARD), TRUTH) == []

    def test_a_lost_row_is_named_with_the_difference(self):
        assert counts_differ(counts(("a", 10, 1), ("a", 40, 1), ("b", 100, 1)), TRUTH) == ["a: count 2, not 3 (-1)"]
        table = RIGHT_TABLE.replace("| a | 3 |", "| a | 2 |")
        assert table_differs(table, TRUTH) == ["a: count 2, not 3 (-1)"]
        dashboard = {**RIGHT_DASHBOARD, "a": {**RIGHT_DASHBOARD["a"], "errorCount": 2}}
        assert dashboard_differs(json.dumps(dashboard), TRUTH) == ["a: errorCount 2, not 1 (+1)"]

    def test_a_wrong_time_is_detected_although_the_count_is_right(self):
        output = counts(("a", 10, 2), ("a", 41, 1), ("b", 100, 1))
        assert counts_differ(output, TRUTH) == ["a: right count, wrong elapsed times"]
        assert table_differs(RIGHT_TABLE.replace("| 10 | 40 | 10", "| 10 | 41 | 10"), TRUTH) == ["a: p90 ms 41, not 40"]

    def test_the_counts_in_a_report_are_compared(self):
        labels = [
            {"label": "a", "counts": {"histogram": "10:2 40:1", "error_count": 1}},
            {"label": "b", "counts": {"histogram": "100:1", "error_count": 0}},
        ]
        assert report_differs(json.dumps({"whole": {"labels": labels}, "groups": []}), TRUTH) == []
        assert report_differs(json.dumps({"whole": None, "groups": [{"labels": labels}]}), TRUTH) == []
        labels[1]["counts"]["histogram"] = "101:1"
        assert report_differs(json.dumps({"whole": {"labels": labels}}), TRUTH) == ["b: wrong elapsed times or errors"]
        assert report_differs(json.dumps({"whole": {"labels": labels[:1]}}), TRUTH) == ["b: missing"]

    def test_missing_and_extra_labels_are_detected(self):
        output = counts(("a", 10, 2), ("a", 40, 1), ("c", 100, 1))
        assert counts_differ(output, TRUTH) == ["b: missing", "c: no such label"]

    def test_sums_and_times_of_labels_are_compared(self):
        rows = [["a", 10, 2], ["a", 40, 1], ["b", 100, 1]]
        labels = [["a", 1, 4096, 2048, 1000, 3000], ["b", 0, 2048, 2048, 2000, 3000]]
        assert figures_differ(json.dumps({"counts": rows, "labels": labels}), TRUTH) == []
        labels[1][1] = 1
        assert figures_differ(json.dumps({"counts": rows, "labels": labels}), TRUTH) == [
            "b: [1, 2048, 2048, 2000, 3000], not [0, 2048, 2048, 2000, 3000]"
        ]
        assert figures_differ(json.dumps({"counts": rows[1:], "labels": labels[:1]}), TRUTH)[0].startswith("a: count 1")

    def test_output_without_a_table_is_wrong(self):
        assert table_differs("no samples\n", TRUTH)[0].startswith("no table with the columns label, count")

    def test_only_the_first_difference_is_reported(self):
        assert wrong([]) == ""
        assert wrong(["a: missing", "b: missing", "c: missing"]) == "WRONG: a: missing; 2 more"


def result(name: str, rows: int, *walls_s: float, peak_mb: int = 100, problem: str = "") -> Result:
    contender = next(one for one in CONTENDERS if one.name == name)
    return Result(contender, rows, tuple(Pass(wall_s, wall_s) for wall_s in walls_s), peak_mb * MB, problem)


class TestRatios:
    def test_ratios_use_medians(self):
        assert ratio(result("ours", 9, 3.0, 9.0, 2.0), result("polars", 9, 2.0, 2.0, 50.0)) == 1.5

    def test_there_is_no_ratio_to_a_reader_that_is_wrong_or_was_not_run(self):
        ours = result("ours", 9, 1.0)
        assert ratio(ours, result("polars", 9, 1.0, problem="WRONG: a: missing")) is None
        assert ratio(ours, find([ours], "polars", 9)) is None

    def test_ratios_are_in_the_table(self):
        text = results_table([result("ours", 1000, 1.0), result("polars", 1000, 2.0)])
        assert "| aggregate.py table | 1.00 | 1.00 | 1,000 | 1.00 | 1.00 | 100 | right |" in text
        assert "| streaming polars, two columns | 2.00 | 2.00 | 500 | 2.00 | 2.00 | 100 | right |" in text


class TestAims:
    def met(self, *results: Result) -> dict[str, bool]:
        return {aim.what: aim.is_met for aim in aims(results)}

    def test_aims_are_met_up_to_their_limits(self):
        found = self.met(
            result("ours", 10_000, 0.29),
            result("ours", 1_000_000, 0.9),
            result("polars-figures", 1_000_000, 1.0),
            result("jmeter-g", 1_000_000, 18.0),
            result("ours", 10_000_000, 1.9, peak_mb=149),
            result("polars", 10_000_000, 2.0),
            result("polars-figures", 10_000_000, 3.2),
            result("report", 1_000_000, 1.2),
            result("report", 10_000_000, 3.5),
        )
        assert len(found) == 13
        assert all(found.values())

    def test_aims_are_missed_beyond_their_limits(self):
        found = self.met(
            result("ours", 10_000, 0.30),
            result("ours", 1_000_000, 1.0),
            result("polars-figures", 1_000_000, 1.1),
            result("jmeter-g", 1_000_000, 19.9),
            result("ours", 10_000_000, 2.0, peak_mb=150),
            result("polars", 10_000_000, 2.0),
            result("polars-figures", 10_000_000, 3.0),
            result("report", 1_000_000, 1.3),
            result("report", 10_000_000, 3.6),
        )
        assert [what for what, is_met in found.items() if not is_met] == [
            "10,000 rows to the table, s",
            "1,000,000 rows: time ÷ streaming polars, same figures",
            "1,000,000 rows: time of jmeter -g ÷ ours",
            "10,000,000 rows: time ÷ streaming polars, same figures",
            "10,000,000 rows: time ÷ streaming polars, two columns",
            "10,000,000 rows: peak memory, MB",
            "1,000,000 rows: full report, s",
            "10,000,000 rows: full report, s",
        ]

    def test_wrong_results_of_our_reader_miss_the_aim(self):
        found = self.met(result("ours", 20_000, 0.1, problem="WRONG: a: count 2, not 3 (-1)"))
        assert found["20,000 rows: figures"] is False

    def test_a_ratio_to_a_wrong_answer_is_not_met(self):
        ours, polars = result("ours", 10_000_000, 1.0), result("polars", 10_000_000, 9.0, problem="WRONG: a: missing")
        assert self.met(ours, polars)["10,000,000 rows: time ÷ streaming polars, two columns"] is False
        assert "not known | ≤ 0.95 | NOT met" in aims_table(aims([ours, polars]))

    def test_a_reader_that_was_left_out_has_no_aim(self):
        assert list(self.met(result("ours", 20_000, 1.0))) == ["20,000 rows: figures", "20,000 rows: peak memory, MB"]


class TestMeasuring:
    @pytest.mark.real
    def test_memory_and_cpu_are_of_a_process_with_its_children(self, tmp_path):
        # Each of the two holds 60 MB while the child adds up numbers, which takes it many looks.
        child = "x = b'1' * 60_000_000; print(len(x), flush=True); sum(range(20_000_000)); input()"
        parent = f"""
import subprocess, sys
x = b"2" * 60_000_000
child = subprocess.Popen([sys.executable, "-c", {child!r}], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
child.stdout.readline()
child.communicate(b"\\n")
"""
        measured = measure([sys.executable, "-c", parent], tmp_path, {}, watch_memory=True)
        assert measured.exit_code == 0
        assert measured.peak_bytes is not None
        assert 120_000_000 < measured.peak_bytes < 180_000_000
        assert measured.cpu_s > 0.05

    def test_output_and_exit_code_are_those_of_the_command(self, tmp_path):
        measured = measure(["sh", "-c", "echo $WORD; exit 3"], tmp_path, {"WORD": "said"})
        assert (measured.exit_code, measured.peak_bytes) == (3, None)
        assert (tmp_path / OUT_NAME).read_text() == "said\n"


def fake_jmeter(folder: Path, script: str) -> Path:
    """Return a JMeter home whose bin/jmeter is that shell script; it is called with -g FILE -o FOLDER -j LOG."""
    (folder / "bin").mkdir(parents=True)
    program = folder / "bin" / "jmeter"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return folder


class TestSideBySide:
    @pytest.fixture
    def outcome(self, tmp_path):
        """Measure a fake jmeter -g once on a file of 300 rows; return its result."""

        def of(script: str) -> Result:
            file = bench_file.ensure(tmp_path / "files", 1, 300, print)
            tools = Tools(ROOT, Path(sys.executable), Path(sys.executable), fake_jmeter(tmp_path / "home", script), "5")
            jmeter = [one for one in CONTENDERS if one.name == "jmeter-g"]
            return side_by_side(jmeter, tools, file, 1)[0]

        return of

    def test_a_reader_that_loses_a_row_is_reported_as_wrong(self, outcome, tmp_path):
        truth = bench_file.ensure(tmp_path / "files", 1, 300, print).truth
        statistics = {
            label.label: {
                "sampleCount": label.sample_count - (label.label == "Search"),
                "errorCount": label.error_count,
                "meanResTime": label.elapsed_sum_ms / label.sample_count,
                "minResTime": min(label.counts),
                "maxResTime": max(label.counts),
            }
            for label in (*truth.labels, truth.total("Total"))
        }
        (tmp_path / "statistics.json").write_text(json.dumps(statistics))
        found = outcome(f'mkdir "$4" && cp "{tmp_path}/statistics.json" "$4"')
        search = next(label.sample_count for label in truth.labels if label.label == "Search")
        assert found.problem == f"WRONG: Search: sampleCount {search - 1}, not {search} (-1)"
        assert found.wall_s is None
        assert "| WRONG: Search: sampleCount" in results_table([found])

    def test_a_reader_that_fails_is_reported_with_its_last_output(self, outcome):
        assert outcome("echo first >&2; echo no heap >&2; exit 3").problem == "FAILED with code 3: no heap"

    def test_a_reader_without_output_is_reported(self, outcome):
        assert outcome("exit 0").problem.startswith("FAILED: its output cannot be read")


BENCH = [ROOT / "scripts" / "bench", "aggregate", "--repeat", "1", "--rows"]


@pytest.mark.counterpart
def test_the_bench_measures_our_reader_beside_pandas_and_the_csv_module():
    done = subprocess.run(
        [*BENCH, "20000", "--without", "polars,polars-figures,duckdb,jmeter-g"],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    for reader in ("aggregate.py table", "aggregate.py report", "pandas", "csv module"):
        assert re.search(rf"^\| {reader}.* \| right \|$", done.stdout, re.MULTILINE), done.stdout + done.stderr
    assert "| 20,000 rows: figures | right | right | met |" in done.stdout
    assert done.returncode == (1 if "NOT met" in done.stdout else 0)


@pytest.mark.real
@pytest.mark.parametrize("number", often(1, [signal.SIGINT, signal.SIGTERM, signal.SIGKILL]))
def test_a_bench_that_is_stopped_leaves_no_process(tmp_path, number):
    pids = tmp_path / "pids"
    home = fake_jmeter(tmp_path / "home", f"sleep 987 & echo $! $$ > {pids}.new; mv {pids}.new {pids}; wait")
    environment = {**os.environ, "JMETER_HOME": str(home)}
    command = [*BENCH, "10000", "--without", "report,polars,polars-figures,duckdb,pandas,csv"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment) as process:
        wait_for(pids.exists, seconds=60)
        readers = [int(pid) for pid in pids.read_text().split()]
        process.send_signal(number)
        assert process.wait(timeout=60) == (130 if number != signal.SIGKILL else -signal.SIGKILL)
    wait_for(lambda: not any(map(is_running, readers)))
