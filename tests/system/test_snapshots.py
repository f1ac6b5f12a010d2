"""Snapshots of a database's statistics: their file, and what the database did between two of them."""

import json
import sys
import time

import pytest

from harness.metrics.timeline import SecondSeries
from harness.report.profiles import database_text
from harness.system import database_files
from harness.system.database_files import DatabaseReader, databases
from harness.system.manifest import load_manifest
from harness.system.snapshots import STATEMENTS, WAITS, SnapshotLines, ends_within, problem_line, read_snapshots
from harness.system.statements import DatabaseWait, StatementInterval, StatementUse
from harness.system.system import StatementCommands
from tests.support.processes import wait_for

HEAD = "statement\tcount\ttotal_ms\tlongest_ms\trows_examined\tlock_ms"
WAITED = "statement\tcount\ttotal_ms"
# Asked for at 1, 11, 21 and 31 s; each answer takes 100 ms.
PRINTED = (
    ([HEAD, "SELECT a\t10\t100\t40\t1000\t0.5", "COMMIT\t5\t5\t1\t0\tNULL"], [WAITED, "row locks\t2\t50"]),
    ([HEAD, "SELECT a\t30\t300\t40\t3000\t1.5", "COMMIT\t5\t5\t1\t0\tNULL"], [WAITED, "row locks\t2\t50"]),
    (
        [HEAD, "SELECT a\t50\t500.25\t40\t9000\t1.5", "COMMIT\t25\t45\t9\t0\tNULL", "SELECT b\t10\t20\t6\t10\t0"],
        [WAITED, "row locks\t6\t90", "log file\t3\t7"],
    ),
    ([HEAD, "SELECT a\t99\t990\t400\t9999\t1.5", "COMMIT\t25\t45\t9\t0\tNULL"], [WAITED, "row locks\t9\t99"]),
)


def lines_of(printed=PRINTED):
    lines = SnapshotLines()
    return [
        lines.line(1000 + 10_000 * number, 100, {STATEMENTS: statements, WAITS: waits})
        for number, (statements, waits) in enumerate(printed)
    ]


def interval_of(from_ms, to_ms):
    return StatementInterval(from_ms / 1000, to_ms / 1000, 10)


def test_a_line_has_only_what_changed_since_the_line_before_and_each_text_once():
    second, third = (json.loads(line) for line in lines_of()[1:3])
    assert second[STATEMENTS] == {"rows": [[0, 30, 300, 40, 3000, 1.5]]}
    assert second[WAITS] == {"rows": []}
    assert [row[0] for row in third[STATEMENTS]["rows"]] == [0, 1, "SELECT b"]


def test_snapshots_are_read_back_whole_and_a_torn_last_line_is_left_out():
    lines = lines_of()
    found = [*read_snapshots([*lines[:3], lines[3][:-20]])]
    assert [(one.requested_ms, one.answered_ms) for one in found] == [(1000, 1100), (11_000, 11_100), (21_000, 21_100)]
    rows = [one.tables[STATEMENTS]["SELECT a"]["total_ms"] for one in found]
    assert (rows, [len(one.tables[STATEMENTS]) for one in found]) == (["100", "300", "500.25"], [2, 2, 3])
    assert found[2].tables[STATEMENTS]["COMMIT"]["lock_ms"] == "NULL"


def test_an_answer_that_is_no_table_leaves_out_its_snapshot_and_nothing_of_the_next_one():
    lines, ((first, waits), (second, _), *_) = SnapshotLines(), PRINTED
    texts = [lines.line(1000, 1, {STATEMENTS: first, WAITS: waits})]
    for wrong in (["no access"], [f"{WAITED}\tx", "row locks\tmany\t1\t1"]):
        with pytest.raises(ValueError, match=r"."):
            lines.line(2000, 1, {STATEMENTS: second, WAITS: wrong})
    texts.append(lines.line(3000, 1, {STATEMENTS: second, WAITS: []}))
    *_, last = read_snapshots(texts)
    assert last.tables[STATEMENTS]["SELECT a"]["count"] == "30"
    assert last.tables[WAITS]["row locks"]["count"] == "2"


def test_rows_with_the_same_shortened_text_are_one():
    line = SnapshotLines().line(0, 1, {STATEMENTS: [HEAD, "SELECT …\t1\t2\t2\t3\tNULL", "SELECT …\t4\t9\t7\t1\t1"]})
    assert json.loads(line)[STATEMENTS]["rows"] == [["SELECT …", 5, 11, 7, 4, 1]]


def test_the_interval_is_between_the_first_and_the_last_snapshot_that_are_wholly_in_the_window():
    snapshots = [*read_snapshots(lines_of())]
    for window_ms, ends_ms in (
        ((1001, 31_099), (11_100, 21_100)),  # the first is requested too early, the last answered too late
        ((1000, 31_100), (1100, 31_100)),
    ):
        found = ends_within(snapshots, *window_ms)
        assert found
        assert (found.first.answered_ms, found.last.answered_ms) == ends_ms
    assert ends_within(snapshots, 2000, 21_000) is None


def test_a_database_is_what_it_did_in_the_interval_with_its_waits(tmp_path):
    (tmp_path / "snapshots-till.jsonl").write_text("".join(lines_of()))
    (tmp_path / "statements-till.tsv").write_text(f"{HEAD}\nSELECT a\t99\t990\t400\t9999\t1.5\n")
    (found,) = databases(tmp_path, 5000, 25_000, interval_of)
    assert (found.process, found.count, found.total_ms) == ("till", 50, 260.2)
    assert found.interval == interval_of(11_100, 21_100)
    assert found.statements == (
        # Its longest was there before: in the interval none took longer.
        StatementUse("SELECT a", 20, 200.25, 40.0, 6000, None, 0.0, longest_is_bound=True),
        StatementUse("COMMIT", 20, 40.0, 9.0, 0, None, None),
        StatementUse("SELECT b", 10, 20.0, 6.0, 10, None, 0.0),
    )
    assert found.waits == (DatabaseWait("row locks", 4, 40.0), DatabaseWait("log file", 3, 7.0))
    text = database_text(found, 999)
    assert (
        "Statements: 50 in 10 s of the window, from 11.1 s to 21.1 s after the start of the load, in which 10 requests "
        "ended, 5.0 per request; together 260 ms. Those that took most time:" in text
    )
    assert "| SELECT a | 20 | 2.00 | 200 | 20.02 | 10 | ≤ 40 | 300.0 | 0.00 |" in text
    assert "| COMMIT | 20 | 2.00 | 40 | 4.00 | 2.00 | 9.00 | 0.0 |" in text
    assert "Longest with ≤: the longest so far, from before the interval" in text
    assert "waited for in the same interval" in text
    assert "| row locks | 4 | 40 | 10 | 4.00 |" in text


def test_the_whole_load_is_shown_with_the_reason_when_the_window_has_no_two_snapshots(tmp_path):
    path = tmp_path / "snapshots-till.jsonl"
    (tmp_path / "statements-till.tsv").write_text("statement\tcount\ttotal_ms\nSELECT a\t99\t990\n")
    assert databases(tmp_path, 0, 99_000, interval_of)[0].no_interval == ""  # a run of before snapshots
    path.write_text("".join(lines_of()))
    (found,) = databases(tmp_path, 2000, 12_000, interval_of)
    assert (found.interval, found.count, found.no_interval) == (None, 99, "fewer than two snapshots are in the window")
    text = database_text(found, 33)
    assert "Statements: 99 in the whole load, 3.0 per sample of the load; together 990 ms." in text
    assert "They are not those of the window: fewer than two snapshots are in the window." in text
    path.write_text(problem_line(5000, "code 1: no access"))
    assert databases(tmp_path, 0, 99_000, interval_of)[0].no_interval == "code 1: no access"


def test_a_column_that_snapshots_lack_is_the_share_of_the_executions_in_the_whole_load(tmp_path):
    lines, head = SnapshotLines(), "statement\tcount\ttotal_ms"
    printed = [[head, f"SELECT a\t{count}\t{count}", f"SELECT b\t{count}\t1"] for count in (4, 9)]
    texts = [lines.line(1000 * number, 10, {STATEMENTS: rows}) for number, rows in enumerate(printed)]
    (tmp_path / "snapshots-h2.jsonl").write_text("".join(texts))
    whole = "statement\tcount\ttotal_ms\tcount_without_index\nSELECT a\t20\t20\t20\nSELECT b\t20\t1\t0\n"
    (tmp_path / "statements-h2.tsv").write_text(whole)
    (found,) = databases(tmp_path, 0, 2000, interval_of)
    assert {use.statement: use.count_without_index for use in found.statements} == {"SELECT a": 5, "SELECT b": 0}
    text = database_text(found, 0)
    assert "*without index each* is the share in the whole load" in text
    assert "Read without an index: SELECT a (5 of 5 executions)." in text


def test_a_killed_harness_leaves_the_statements_until_its_last_snapshot(tmp_path):
    (tmp_path / "snapshots-till.jsonl").write_text("".join(lines_of())[:-9])
    (found,) = databases(tmp_path, 0, 99_000, interval_of)
    assert (found.count, found.interval) == (70, interval_of(1100, 21_100))
    assert databases(tmp_path, 30_000, 99_000, interval_of) == ()


def test_requests_are_those_that_ended_in_the_interval_and_a_part_of_those_of_a_part_of_a_second():
    series = SecondSeries()
    for second, count in ((10, 8), (11, 20), (12, 4)):
        series.seconds.add(second, count, 0, 0)
    assert series.ended_between(10_000, 13_000) == 32
    assert series.ended_between(10_750, 12_500) == 2 + 20 + 2
    assert series.ended_between(11_250, 11_500) == 5
    assert series.ended_between(20_000, 30_000) == 0


@pytest.mark.real
def test_snapshots_are_taken_during_the_load_by_their_own_command(tmp_path, monkeypatch):
    table = "print('statement\\tcount\\ttotal_ms\\nA\\t1\\t2')"
    read, look = ((sys.executable, "-S", "-c", code) for code in (table, table.replace("A", "B")))
    commands = {"none": StatementCommands(read, read), "till": StatementCommands(read, read, snapshot=look)}
    path = tmp_path / "snapshots-till.jsonl"
    monkeypatch.setattr(database_files, "SNAPSHOT_PERIOD_S", 0.01)
    with DatabaseReader(commands, tmp_path, {}) as reader:
        wait_for(path.is_file, 40)
    assert reader.unknown == []
    first = next(read_snapshots(path.read_text().splitlines()))
    assert [*first.tables[STATEMENTS]] == ["B"]
    assert time.time() * 1000 - 20_000 < first.requested_ms <= first.answered_ms
    assert sorted(one.name for one in tmp_path.iterdir()) == [path.name, "statements-none.tsv", "statements-till.tsv"]


@pytest.mark.parametrize(
    ("keys", "snapshot"),
    [
        ({"read": ["print"]}, ("print",)),  # read before and after the load anyway
        ({"read": ["print"], "reset": ["forget"]}, ()),  # to read it may end what the database sums up
        ({"read": ["print"], "reset": ["forget"], "snapshot": True}, ("print",)),
        ({"read": ["print"], "snapshot": False}, ()),
        ({"read": ["print"], "snapshot": ["look"]}, ("look",)),
    ],
)
def test_a_manifest_says_how_snapshots_are_taken(tmp_path, keys, snapshot):
    values = "\n".join(f"{key} = {json.dumps(value)}" for key, value in keys.items())
    (tmp_path / "system.toml").write_text(f"""format_version = 1
title = "Till"
target = "http://127.0.0.1:1"
[[process]]
name = "till"
command = ["run"]
[process.statements]
{values}
""")
    (process,) = load_manifest(tmp_path).processes
    assert process.statements
    assert process.statements.snapshot == snapshot
