"""open_run and read_jtl: the figures of the reports as DataFrames."""

import csv
import gzip
import io
import json
import shutil
from datetime import UTC, datetime

import pandas
import pytest
import zstandard

from harness.api import HarnessError, UsageError, open_run, read_jtl
from harness.cli.verbs import main
from tests.support.paths import ROOT

MADE = ROOT / "tests" / "data" / "golden" / "made" / "samples.jtl"
TRANSACTIONS = ROOT / "tests" / "data" / "transactions_with_requests.csv"
# Five samples of two users: in second 0 one of 100 ms, in second 1 two of 900 and 300 ms, in second 2 none, in second 3
# one that failed after 50 ms. The set-up before does not count.
SMALL = """timeStamp,elapsed,label,responseCode,responseMessage,threadName,success,failureMessage,bytes,sentBytes,\
allThreads
1699999990000,10,Tenant,201,Created,setUp 1-1,true,,20,10,1
1700000000500,100,Home,200,OK,Users 1-1,true,,1000,200,1
1700000000700,900,Pay,201,Created,Users 1-1,true,,300,100,2
1700000001100,300,Home,200,OK,Users 1-2,true,,1000,200,2
1700000003100,50,Pay,402,Payment Required,Users 1-1,false,"no card, no pay",0,100,1
"""


@pytest.fixture
def small(tmp_path):
    path = tmp_path / "small.jtl"
    path.write_text(SMALL)
    return path


def plain(frame):
    """Return the rows with None for unknown values."""
    return [
        {key: None if pandas.isna(value) else value for key, value in row.items()} for row in frame.to_dict("records")
    ]


def rows_of_json(summary):
    """Return the rows of all tables in the JSON of a run, with the names of the table's columns."""
    return [
        {
            "group": group["name"],
            "is_total": row is group["total"],
            **{
                key: value
                for key, value in row.items()
                if key not in ("counts", "batches", "beside") and "percentiles" not in key
            },
            **{key: row["beside"].get(key) for key in ("waiting_ms", "receiving_ms")},
            **{f"p{text}_ms": value for text, value in row["percentiles_ms"].items()},
            **{
                f"first_byte_p{text}_ms": row["first_byte_percentiles_ms"].get(text)
                for text in ("50", "90", "95", "99")
            },
            **{f"connect_p{text}_ms": row["connect_percentiles_ms"].get(text) for text in ("95", "99")},
        }
        for group in summary["groups"]
        for row in (*group["labels"], group["total"])
    ]


@pytest.mark.real
def test_every_cell_of_the_table_of_a_run_is_that_of_its_report(reports):
    expected = rows_of_json(json.loads((reports / "tiny" / "run-01_1.json").read_text()))
    assert [row["group"] for row in expected] == ["load", "load", "once", "once", "setUp", "setUp"]
    assert plain(open_run("tiny/run-01_1", reports).table()) == expected


@pytest.mark.parametrize("path", [MADE, TRANSACTIONS], ids=lambda path: path.stem)
def test_every_cell_of_the_table_of_a_jtl_is_that_of_the_csv(path, capsys):
    assert main(["table", str(path), "--format", "csv"]) == 0
    check_csv(capsys.readouterr().out, read_jtl(path).table())


def test_a_window_and_percentiles_are_those_of_the_command_line(reports, capsys):
    options = ["--window", "20..60", "--percentiles", "97", "--format", "csv"]
    assert main(["table", str(reports / "tiny" / "run-01_1"), *options]) == 0
    check_csv(capsys.readouterr().out, open_run("run-01_1", reports).table(window="20..60", percentiles=[97]))


def check_csv(text, frame):
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == len(frame) > 2
    for row, found in zip(rows, plain(frame), strict=True):
        del row["source"]
        for key, cell in row.items():
            value = found[key]
            if isinstance(value, str):
                assert cell == value
            elif isinstance(value, bool):
                assert cell == str(value).lower()
            else:
                assert (None if cell == "" else float(cell)) == value, key


def test_the_columns_of_a_table_have_types(small):
    kinds = read_jtl(small).table().dtypes.astype(str)
    assert {key: kinds[key] for key in ("label", "is_total", "sample_count", "p90_ms", "error_ratio")} == {
        "label": "category", "is_total": "bool", "sample_count": "int64", "p90_ms": "int64", "error_ratio": "float64",
    }  # fmt: skip


def test_each_second_has_its_samples_and_users(small):
    seconds = read_jtl(small).per_second()
    assert plain(seconds.drop(columns="time")) == [
        {"second": 0, "sample_count": 1, "error_count": 0, "average_ms": 100.0, "active_users": 1},
        {"second": 1, "sample_count": 2, "error_count": 0, "average_ms": 600.0, "active_users": 2},
        {"second": 2, "sample_count": 0, "error_count": 0, "average_ms": None, "active_users": 2},
        {"second": 3, "sample_count": 1, "error_count": 1, "average_ms": 50.0, "active_users": 1},
    ]
    assert seconds.time[1] == datetime.fromtimestamp(1_700_000_001, UTC)


def test_the_seconds_of_each_label_are_those_of_the_export(reports, tmp_path):
    run, output = open_run("tiny/run-01_1", reports), tmp_path / "out"
    assert main(["export", str(run.directory.path), "--format", "csv", "--into", str(output)]) == 0
    with next(output.rglob("seconds.csv")).open(newline="") as lines:
        expected = list(csv.DictReader(lines))
    found = plain(run.per_second(by_label=True))
    assert len(found) == len(expected) > 200
    for row, cells in zip(found, expected, strict=True):
        assert row.pop("time").timestamp() == row.pop("second") + run.summary.origin_s == float(cells.pop("time_s"))
        assert row.pop("is_transaction") == (cells.pop("kind") == "transaction")
        assert row.pop("is_total") == (row["label"] == "TOTAL")
        assert row.pop("group") == cells.pop("group") and row.pop("label") == cells.pop("label")
        assert row == {key: float(cell) if cell else None for key, cell in cells.items()}


def test_the_total_of_each_second_is_that_of_the_seconds(small):
    run = read_jtl(small)
    total = run.per_second(by_label=True).query("is_total")
    assert [*zip(total.second, total.sample_count, total.average_ms, strict=True)] == [
        (0, 1, 100.0), (1, 2, 600.0), (3, 1, 50.0),
    ]  # fmt: skip


def test_a_label_that_is_called_total_is_no_total(tmp_path):
    path = tmp_path / "total.jtl"
    path.write_text(SMALL.replace("Home", "TOTAL"))
    found = read_jtl(path).per_second(by_label=True)
    named = found[found.label == "TOTAL"]
    assert [*zip(named.second, named.is_total, named.sample_count, strict=True)] == [
        (0, False, 1), (0, True, 1), (1, False, 1), (1, True, 2), (3, True, 1),
    ]  # fmt: skip


def test_the_timeline_is_that_of_the_report_and_has_all_percentiles(reports, small):
    run = open_run("tiny/run-01_1", reports)
    stored = json.loads((reports / "tiny" / "run-01_1.json").read_text())["timeline"]
    found = run.timeline()
    assert [*(found.second + run.summary.origin_s)] == [
        stored["start_s"] + stored["bucket_s"] * at for at in range(len(found))
    ]
    for key in ("sample_count", "error_count", "average_ms", "p90_ms", "active_users"):
        assert [row[key] for row in plain(found)] == stored[key]
    assert [(row["length_s"], row["p50_ms"], row["p99.9_ms"]) for row in plain(read_jtl(small).timeline())] == [
        (1, 100, 100), (1, 300, 900), (1, None, None), (1, 50, 50),
    ]  # fmt: skip


@pytest.mark.real
def test_long_runs_have_longer_intervals(tmp_path):
    lines = [f"{1_700_000_000_000 + 100 * at},7,Pay,true" for at in range(10_000)]
    (tmp_path / "long.jtl").write_text("\n".join(["timeStamp,elapsed,label,success", *lines]))
    run = read_jtl(tmp_path / "long.jtl")
    assert len(run.per_second()) == 1000
    assert {*run.timeline().length_s} == {2}
    assert run.timeline().sample_count.sum() == 10_000


def test_samples_are_the_rows_of_the_file(small):
    samples = read_jtl(small).samples()
    assert [*samples.group] == ["setUp", "load", "load", "load", "load"]
    assert [*samples.second] == [-10, 0, 1, 1, 3]
    last = plain(samples)[-1]
    assert last.pop("start_time") == datetime.fromtimestamp(1_700_000_003.1, UTC)
    assert last == {
        "file": "small.jtl", "second": 3, "elapsed_ms": 50, "group": "load", "label": "Pay", "is_transaction": False,
        "success": False, "code": "402", "message": "Payment Required", "failure": "no card, no pay",
        "thread_name": "Users 1-1", "latency_ms": None, "connect_ms": None, "received_bytes": 0, "sent_bytes": 100,
        "active_users": 1, "sample_count": 1, "error_count": 1, "trace_id": "",
    }  # fmt: skip


def test_the_seconds_of_samples_are_those_of_the_seconds(reports):
    run = open_run("tiny/run-01_1", reports)
    samples = run.samples()
    load = samples[samples.group.isin(["load", "once"])]
    counted = load.groupby("second").size().reindex(run.per_second().second, fill_value=0)
    assert [*counted] == [*run.per_second().sample_count]


@pytest.mark.parametrize("chunk_rows", [1, 2, 100])
def test_chunks_together_are_all_samples(small, chunk_rows):
    run = read_jtl(small)
    chunks = [*run.samples(chunk_rows=chunk_rows)]
    assert [len(chunk) for chunk in chunks] == {1: [1] * 5, 2: [2, 2, 1], 100: [5]}[chunk_rows]
    assert [row for chunk in chunks for row in plain(chunk)] == plain(run.samples())
    assert all((chunk.dtypes.astype(str) == run.samples().dtypes.astype(str)).all() for chunk in chunks)


def test_packed_files_of_several_generators_are_one_run(small, tmp_path):
    packed = [tmp_path / "one.jtl.gz", tmp_path / "two.jtl.zst"]
    packed[0].write_bytes(gzip.compress(SMALL.encode()))
    packed[1].write_bytes(zstandard.compress(SMALL.replace(",1000,", ",1001,").encode()))
    run = read_jtl(*packed)
    assert run.name == "one.jtl.gz + two.jtl.zst"
    assert [*run.samples().file.value_counts(sort=False).items()] == [("one.jtl.gz", 5), ("two.jtl.zst", 5)]
    assert run.per_second().active_users.max() == 4
    assert run.table().sample_count.sum() == 2 * read_jtl(small).table().sample_count.sum()


def test_verdict_goals_and_warnings_are_those_of_the_report(reports):
    stored = json.loads((reports / "tiny" / "run-01_1.json").read_text())
    run = open_run(reports / "tiny" / "run-01_1.md", reports)
    assert run.verdict.state == stored["verdict"]["state"]
    assert [goal.measured for goal in run.goals] == [goal["measured"] for goal in stored["verdict"]["goals"]]
    assert [warning.code for warning in run.warnings] == [warning["code"] for warning in stored["caveats"]]
    assert (run.window.from_s, run.record.plan) == (stored["window"]["from_s"], "tiny")


def test_a_run_without_its_samples_has_a_table_and_says_where_samples_are(reports, tmp_path):
    shutil.copy(reports / "tiny" / "run-01_1.json", tmp_path / "run-01_1.json")
    run = open_run(tmp_path / "run-01_1.json")
    assert len(run.table()) == 6
    for read in (run.per_second, run.samples, lambda: run.table(window="all")):
        with pytest.raises(UsageError, match=r"its samples are not on this machine; .*lth pull"):
            read()


def test_a_set_up_alone_has_no_seconds(tmp_path):
    (tmp_path / "setup.jtl").write_text("".join(SMALL.splitlines(keepends=True)[:2]))
    run = read_jtl(tmp_path / "setup.jtl")
    assert run.per_second().empty and run.timeline().empty
    assert [*run.samples().second] == [0]


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda folder: open_run("tiny/run-07_9", folder), "neither a file nor a run in reports/"),
        (lambda folder: open_run("tiny/run-*", folder), "3 results match; name one of them"),
        (lambda folder: open_run(ROOT / "README.md", folder), "only a Markdown report"),
        (lambda _: read_jtl(), "read_jtl: no path"),
        (lambda _: read_jtl("-"), "standard input can be read only once"),
        (lambda folder: read_jtl(folder / "tiny" / "run-01_1.json"), "not a JTL"),
        (lambda _: read_jtl(MADE, MADE), "given twice"),
        (lambda _: read_jtl(MADE).samples(chunk_rows=0), "a chunk has at least one row"),
        (lambda _: read_jtl(MADE).table(window="soon"), "not a window"),
        (lambda _: read_jtl(MADE).table(percentiles=[200]), "--percentiles"),
    ],
)
def test_wrong_input_is_one_line(reports, call, text):
    with pytest.raises(HarnessError) as raised:
        call(reports)
    assert text in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_tally_has_a_table_and_no_samples(small, tmp_path):
    assert main(["tally", str(small), "-o", str(tmp_path / "small.tally")]) == 0
    run = read_jtl(tmp_path / "small.tally")
    assert plain(run.table()) == plain(read_jtl(small).table())
    with pytest.raises(UsageError, match="a tally"):
        run.samples()
