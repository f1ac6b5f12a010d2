"""The samples of a load's first seconds are counted once, for one interim table."""

import io

import pytest
from rich.console import Console

from harness.metrics.live import LiveFigures
from harness.run.jmeter.drive import _View
from harness.run.jmeter.interim import AFTER_S, LOAD_LEAST_S, interim_of
from harness.run.jmeter.progress import JtlTail, NewRows, Progress
from tests.support.factories import sample


def second(number, count=10, label="Pay", **changes):
    """Return the samples of one second of load; each takes 100 ms."""
    return [sample(label, start_ms=number * 1000 + 5 * index, **changes) for index in range(count)]


def shown_after(seconds, row_count=10, **changes):
    """Return the figures that are shown within so many seconds, and after which second."""
    found = []
    interim = interim_of(lambda figures: found.append((number, figures)), 100.0, ())
    for number in range(1, seconds + 1):
        interim.add(second(number, **changes), row_count, float(number))
    return found


def test_the_figures_of_the_first_20_s_are_shown_once():
    assert shown_after(19) == []
    ((number, figures),) = shown_after(60)
    assert number == figures.passed_s == AFTER_S
    (group,) = figures.groups
    assert (group.total.sample_count, group.total.average_ms, figures.read_ratio) == (200, 100, 1.0)


def test_the_share_of_the_rows_that_were_read_is_part_of_the_figures():
    ((_, figures),) = shown_after(20, row_count=40)
    assert figures.read_ratio == 0.25


def test_without_a_sample_of_the_load_nothing_is_shown():
    assert shown_after(30, thread_name="setUp Thread Group 1-1") == []


def test_a_load_whose_first_answer_comes_later_has_its_table_then():
    found = []
    interim = interim_of(found.append, 100.0, ())
    interim.add(second(20, thread_name="setUp Thread Group 1-1"), 10, 20.0)
    interim.add([], 0, 21.0)
    interim.add(second(22), 10, 22.0)
    interim.add(second(23), 10, 23.0)
    (figures,) = found
    assert figures.passed_s == 22.0


@pytest.mark.parametrize(("duration_s", "is_printed"), [(39.0, False), (LOAD_LEAST_S, True), (None, True)])
def test_a_short_load_has_no_interim_table(duration_s, is_printed):
    assert (interim_of(print, duration_s, ()) is not None) == is_printed


def test_without_a_reader_there_is_no_interim_table():
    assert interim_of(None, 100.0, ()) is None


def test_progress_prints_the_interim_table_between_its_lines():
    out = io.StringIO()
    console = Console(file=out, width=200)
    interim = interim_of(lambda _: console.print("the table"), 100.0, ())
    with Progress(console, console.print, interim) as progress:
        for number in range(1, 41):
            progress.show(LiveFigures(number, 0, 1, 1.0, {}), float(number), 100.0)
            progress.add(NewRows(second(number), 10), float(number), None)
    assert [text.split(" | ")[0] for text in out.getvalue().splitlines()] == [
        "0:01 of 1:40", "0:10 of 1:40", "0:20 of 1:40", "the table", "0:30 of 1:40", "0:40 of 1:40",
    ]  # fmt: skip


def test_progress_names_the_users_who_wait_before_the_first_sample(tmp_path):
    out = io.StringIO()
    console = Console(file=out, width=200)
    samples = tmp_path / "samples.jtl"
    with Progress(console, console.print) as progress:
        users = iter([None, *[0] * 3, *[150] * 14, *[151] * 30])
        view = _View(JtlTail(samples), progress, 60.0, lambda: next(users))
        for second_s in range(18):
            view.look(1000.0 + second_s)
        samples.write_text(f"timeStamp,elapsed,label,success,allThreads\n{int(1e12)},900,Pay,true,3\n")
        for second_s in range(18, 29):
            view.look(1000.0 + second_s)
    assert [line.split(" | ")[:3] for line in out.getvalue().splitlines()] == [
        ["0:10", "users 150", "no sample of the load has ended yet"],
        ["0:00 of 1:00", "users 151", "errors 0 (0.00 %)"],
        ["0:10 of 1:00", "users 151", "errors 0 (0.00 %)"],
    ]


def test_the_users_of_a_warm_up_are_not_taken_for_those_of_the_load(tmp_path):
    out = io.StringIO()
    console = Console(file=out, width=200)
    samples = tmp_path / "samples.jtl"
    row = f"{int(1e12)},900,Warm,true,setUp Thread Group-ThreadStarter 1-1\n"
    samples.write_text("timeStamp,elapsed,label,success,threadName\n" + 2 * row)
    with Progress(console, console.print) as progress:
        view = _View(JtlTail(samples), progress, 60.0, lambda: 200)
        for second_s in range(11):
            view.look(1000.0 + second_s)
    assert out.getvalue().splitlines() == ["0:10 | users 200 | only samples of setUp yet"]
