"""The progress of a run: a line that is updated in a terminal, else plain lines, the first one at once."""

import io
import re
from functools import partial

import pytest
from rich.console import Console

from harness.metrics.live import LiveFigures
from harness.metrics.metric import AVERAGE, P95, metric_of
from harness.run.jmeter.progress import Progress
from harness.run.jmeter.progress_line import plain_line, sparkline, terminal_line
from tests.support.terminals import in_terminal, screen

FIGURES = LiveFigures(1200, 12, 50, 81.25, {AVERAGE: 577.4, metric_of("p90"): 1010, P95: 1200})
LARGE = LiveFigures(9_000_000, 1200, 2000, 1234.6, {P95: 1010})
SECONDS = [0.0, 7.0] * 50


def test_a_plain_line_shows_time_users_errors_rate_and_times():
    assert plain_line(FIGURES, 61, 100) == (
        "1:01 of 1:40 | users 50 | errors 12 (1.00 %) | samples 1200 | 81.2 req/s | average 577 ms | p90 1010 ms "
        "| p95 1200 ms"
    )


def text_of(*arguments):
    return "".join(text for text, _ in terminal_line(*arguments))


@pytest.mark.parametrize(
    ("width", "text"),
    [
        (100, f"1:01 of 1:40  50 users  12 errors (1.00 %)  81.2 req/s  p95 1200 ms  █{'▁█' * 15}"),
        (79, f"1:01 of 1:40  50 users  12 errors (1.00 %)  81.2 req/s  p95 1200 ms  {'▁█' * 5}"),
        (60, f"1:01  50 users  12 errors  81.2 req/s  p95 1200 ms  {'▁█' * 4}"),
        (40, "1:01  50 users  12 errors  81.2 req/s  p95 1200 ms"),
    ],
)
def test_a_line_in_a_terminal_fills_its_width_with_the_last_seconds(width, text):
    assert text_of(FIGURES, SECONDS, 61, 100, width) == text


def test_a_line_in_a_terminal_of_60_columns_has_all_values_of_a_large_load():
    line = text_of(LARGE, SECONDS, 3661, 7200, 60)
    assert line == "1:01:01  2000 users  1200 errors  1235 req/s  p95 1010 ms  █"
    assert len(line) == 60


def test_a_line_that_is_wider_than_the_terminal_is_cut_and_not_wrapped():
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=40, color_system=None, _environ={})
    with Progress(console, console.print) as progress:
        progress.show(LARGE, 3661.0, 7200.0)
        assert [line for line in screen(out.getvalue()) if line] == ["1:01:01  2000 users  1200 errors  1235 …"]


def test_errors_are_counted_in_red_only_when_there_are_some():
    def in_red(figures):
        return [text.strip() for text, style in terminal_line(figures, (), 61, None, 80) if "red" in style]

    assert in_red(FIGURES) == ["12 errors (1.00 %)"]
    assert in_red(LiveFigures(5, 0, 1, 5.0, {P95: 1})) == []


def test_a_sparkline_is_highest_at_the_greatest_value_and_flat_without_one():
    assert sparkline([0, 50, 100, 25]) == "▁▅█▃"
    assert sparkline([0, 0]) == "▁▁"
    assert sparkline([]) == ""


def shown(console, seconds, between=None):
    """Show so many seconds of 10, 20, 10, 20, … samples each."""
    count = 0
    with Progress(console, partial(console.print, soft_wrap=True)) as progress:
        for second in range(seconds):
            count += 10 + 10 * (second % 2)
            progress.show(LiveFigures(count, 0, 3, 15.0, {P95: 20}), float(second), 30.0)
            if between:
                between(second)


def test_without_a_terminal_a_line_is_printed_at_once_and_then_every_ten_seconds():
    out = io.StringIO()
    shown(Console(file=out, width=200), 26)
    times = [text.split(" | ")[0] for text in out.getvalue().splitlines()]
    assert times == ["0:00 of 0:30", "0:10 of 0:30", "0:20 of 0:30"]
    assert "\x1b" not in out.getvalue()


def test_a_dumb_terminal_gets_plain_lines(monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    out = io.StringIO()
    shown(Console(file=out, force_terminal=True, width=200), 12)
    assert [text.split(" | ")[0] for text in out.getvalue().splitlines()] == ["0:00 of 0:30", "0:10 of 0:30"]


def test_in_a_terminal_one_line_is_replaced_each_second_and_removed_at_the_end():
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=80, color_system="standard", _environ={})
    seen = []

    def between(second):
        if second == 2:
            console.print("a line of the log")
        seen.append([line for line in screen(out.getvalue()) if line])

    shown(console, 4, between)
    assert seen == [
        ["0:00 of 0:30  3 users  0 errors  15.0 req/s  p95 20 ms"],
        ["0:01 of 0:30  3 users  0 errors  15.0 req/s  p95 20 ms  █"],
        ["a line of the log", "0:02 of 0:30  3 users  0 errors  15.0 req/s  p95 20 ms  █▅"],
        ["a line of the log", "0:03 of 0:30  3 users  0 errors  15.0 req/s  p95 20 ms  █▅█"],
    ]
    assert [line for line in screen(out.getvalue()) if line] == ["a line of the log"]


@pytest.mark.real
def test_a_run_in_a_terminal_updates_its_line_and_leaves_only_its_result(command, environment):
    done = in_terminal(60, command("run", "--users", "3", "--duration", "4"), **environment, NO_COLOR="1")
    assert done.exit_code == 0, done.text
    assert not re.search(r"\x1b\[[\d;]*3\d[\d;]*m", done.text)
    text = re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", done.text)
    lines = re.findall(r"0:0\d[^\r\n]*? 3 users  0 errors  [1-9][\d.]* req/s  p95 2\d ms[^\r\n]*", text)
    assert len(lines) >= 3, text
    assert lines[0].startswith("0:00 ")
    assert re.search(r"p95 2\d ms  [▁▂▃▄▅▆▇█]{2,}$", lines[-1])
    assert max(map(len, lines)) <= 60
    assert [line for line in screen(done.text) if "req/s  p95" in line and "users" in line] == []
    assert any(line.startswith("report: ") for line in screen(done.text))
