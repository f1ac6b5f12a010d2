"""Streamed answers of a run: the agent's lines, counted by label within the window, and the report's table."""

import json

from harness.metrics.event_streams import COLUMNS, FILE_NAME, StreamUse, read_streams
from harness.metrics.interval import IntervalMs
from harness.report.files import write_report
from harness.report.run_tables import stream_table
from harness.run.parts.part import MachinePart
from harness.run.parts.places import Place
from harness.run.parts.stored_files import store_files
from tests.support.full_run import START_MS, run_directory

HEAD = ",".join(COLUMNS)
ALL = IntervalMs(0, 10_000)


def uses(*lines, window_ms=ALL):
    return read_streams([f"{line}\n" for line in (HEAD, *lines)], window_ms)


def test_events_per_second_count_from_the_first_event_to_the_last_one():
    # 20 intervals in 2 s, 40 in 1 s, 10 in 4 s: 10, 40 and 2.5 a second.
    (use,) = uses("1000,chat,21,2000000,150400", "1001,chat,41,1000000,30000", "1002,chat,11,4000000,900600")
    assert use == StreamUse("chat", 3, 73, 10.0, 2.5, 150, 901, 901)


def test_an_answer_of_one_event_has_no_rate_and_no_gap():
    assert uses("1000,chat,1,0,0") == (StreamUse("chat", 1, 1, None, None, 0, 0, 0),)
    (use,) = uses("1000,chat,1,0,0", "1001,chat,3,1000000,500000")
    assert (use.stream_count, use.rate_per_s, use.gap_p50_ms, use.gap_max_ms) == (2, 2.0, 0, 500)


def test_only_answers_that_ended_in_the_window_count():
    found = uses("999,a,1,0,0", "1000,b,1,0,0", "1999,b,1,0,0", "2000,a,1,0,0", window_ms=IntervalMs(1000, 2000))
    assert [(use.label, use.stream_count) for use in found] == [("b", 2)]


def test_labels_are_read_as_they_are_and_torn_lines_left_out():
    found = uses('5,"a ""b"", c",2,1000000,7', "6,x,2,10", HEAD, "7,y,2,1000000,7", "8,y,3,2")
    assert [(use.label, use.event_count) for use in found] == [('a "b", c', 2), ("y", 2)]


def test_the_table_has_a_row_per_label_and_is_not_there_without_streams():
    assert stream_table(()) == ""
    text = stream_table([StreamUse("a|b", 2, 5, 12.345, None, 1, 2, 3)])
    assert text.splitlines()[2] == r"| a\|b | 2 | 5 | 12.35 |  | 1 | 2 | 3 |"


def test_the_report_of_a_run_has_its_streams_below_the_load(tmp_path):
    run = run_directory(tmp_path)
    (run.path / FILE_NAME).write_text(f"{HEAD}\n{START_MS + 50_000},Chat,3,1000000,600000\n")
    write_report(run)
    page = run.report.read_text(encoding="utf-8")
    assert "### Streams of events" in page
    assert "| Chat | 1 | 3 | 2.00 | 2.00 | 600 | 600 | 600 |" in page
    stored = json.loads(run.summary_json.read_text(encoding="utf-8"))["observed"]["streams"]
    assert [one["event_count"] for one in stored] == [3]


def test_the_streams_of_all_parts_of_a_run_are_stored_together(tmp_path):
    run = run_directory(tmp_path)
    texts = (f"{HEAD}\n5,p{number},1,0,0\n".encode() for number in range(2))
    store_files([MachinePart(Place("p", ("x",)), None, "m", files={FILE_NAME: text}) for text in texts], run)  # type: ignore[arg-type]
    with (run.path / FILE_NAME).open() as lines:
        assert [use.label for use in read_streams(lines, ALL)] == ["p0", "p1"]
