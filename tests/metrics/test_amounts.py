"""What samples of other protocols stand for: the agent's lines, counted by label in the window, and their table."""

import json

from harness.metrics.amounts import COLUMNS, FILE_NAME, AmountUse, read_amounts
from harness.metrics.interval import IntervalMs
from harness.report.files import write_report
from harness.report.run_tables import amount_table
from harness.run.parts.part import MachinePart
from harness.run.parts.places import Place
from harness.run.parts.stored_files import store_files
from tests.support.full_run import START_MS, run_directory

HEAD = ",".join(COLUMNS)
ALL = IntervalMs(0, 10_000)


def uses(*lines, window_ms=ALL):
    return read_amounts([f"{line}\n" for line in (HEAD, *lines)], window_ms)


def test_counts_of_a_label_are_added_and_divided_by_the_window():
    found = uses("1000,List,rows,20,0", "2000,List,rows,10,0", "2000,Read,messages,5,0", "3000,Read,messages,0,0")
    assert found == (
        AmountUse("List", "rows", 30, 3.0, None, None, None),
        AmountUse("Read", "messages", 5, 0.5, None, None, None),
    )


def test_a_session_has_its_duration():
    (use,) = uses("1000,Open,sessions,1,1000400", "1001,Open,sessions,1,3000600", "1002,Open,sessions,1,2000000")
    assert use == AmountUse("Open", "sessions", 3, 0.3, 2000, 3001, 3001)


def test_a_step_whose_statement_finds_nothing_has_no_rows():
    assert [(use.label, use.count) for use in uses("1000,List,rows,0,0")] == [("List", 0)]


def test_only_what_is_in_the_window_counts_and_torn_lines_are_left_out():
    lines = ("999,a,rows,1,0", '1000,"b ""c"", d",rows,2,0', HEAD, "1999,e,rows", "1999,e,rows,2,0", "2000,a,rows,1,0")
    found = uses(*lines, window_ms=IntervalMs(1000, 2000))
    assert [(use.label, use.count, use.rate_per_s) for use in found] == [('b "c", d', 2, 2.0), ("e", 2, 2.0)]


def test_the_table_has_a_row_per_label_and_is_not_there_without_any():
    assert amount_table(()) == ""
    rows = AmountUse("a|b", "rows", 2, 0.25, None, None, None)
    text = amount_table([rows, AmountUse("c", "sessions", 1, 1, 7, 8, 9)])
    assert text.splitlines()[2:] == [r"| a\|b | rows | 2 | 0.25 |  |  |  |", "| c | sessions | 1 | 1.00 | 7 | 8 | 9 |"]


def test_the_report_of_a_run_has_its_amounts_below_the_load(tmp_path):
    run = run_directory(tmp_path)
    (run.path / FILE_NAME).write_text(f'{HEAD}\n{START_MS + 50_000},"List",rows,300,0\n')
    write_report(run)
    page = run.report.read_text(encoding="utf-8")
    assert "### Messages, rows, sessions and connections" in page
    assert "| List | rows | 300 |" in page
    stored = json.loads(run.summary_json.read_text(encoding="utf-8"))["observed"]["amounts"]
    assert [one["count"] for one in stored] == [300]


def test_the_amounts_of_all_parts_of_a_run_are_stored_together(tmp_path):
    run = run_directory(tmp_path)
    texts = (f"{HEAD}\n5,p,rows,{number},0\n".encode() for number in (1, 2))
    store_files([MachinePart(Place("p", ("x",)), None, "m", files={FILE_NAME: text}) for text in texts], run)  # type: ignore[arg-type]
    with (run.path / FILE_NAME).open() as lines:
        assert [use.count for use in read_amounts(lines, ALL)] == [3]
