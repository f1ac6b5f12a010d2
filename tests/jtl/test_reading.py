import io
import os
import pty
import select
import subprocess
import sys

import pytest

from harness.jtl.file_progress import ReadingProgress, reading_text
from tests.support.paths import ROOT

MB = 1024 * 1024


class Clock:
    def __init__(self):
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def lines(total_bytes, *steps):
    """What is printed for steps of (seconds since the beginning, bytes, rows), to a stream that is no terminal."""
    clock, out = Clock(), io.StringIO()
    with ReadingProgress(total_bytes, "samples.jtl", out, clock) as progress:
        for passed_s, position_bytes, row_count in steps:
            clock.now_s = 100.0 + passed_s
            progress.update(position_bytes, row_count)
    return out.getvalue().splitlines()


def test_progress_is_printed_every_two_seconds_after_two_silent_ones():
    steps = [(second / 2, second * 10 * MB, second * 70_000) for second in range(13)]
    assert lines(240 * MB, *steps) == [
        "reading samples.jtl: 40 of 240 MB, 280,000 rows, about 10 s left",
        "reading samples.jtl: 80 of 240 MB, 560,000 rows, about 8 s left",
        "reading samples.jtl: 120 of 240 MB, 840,000 rows, about 6 s left",
    ]


def test_a_short_file_prints_nothing():
    assert lines(10 * MB, (0.5, 5 * MB, 100), (1.9, 10 * MB, 200)) == []


def test_a_pipe_has_no_total_and_no_time_left():
    assert lines(None, (2.5, 312 * MB, 2_310_000)) == ["reading samples.jtl: 312 MB, 2,310,000 rows"]


@pytest.mark.parametrize(
    ("position_bytes", "text"),
    [
        (0, "0 of 100 MB, 7 rows"),
        (25 * MB, "25 of 100 MB, 7 rows, about 6 s left"),
        (100 * MB, "100 of 100 MB, 7 rows"),  # of what is packed, the counting is still to come
        (101 * MB, "101 of 100 MB, 7 rows"),  # the file has grown
    ],
)
def test_the_time_left_assumes_a_constant_speed(position_bytes, text):
    assert reading_text(100 * MB, position_bytes, 7, passed_s=2.0) == text


PROGRAM = """
import itertools, sys
from harness.jtl.file_progress import ReadingProgress
clock = itertools.count(0.0, 1.5)
with ReadingProgress(400 << 20, "samples.jtl", clock_s=lambda: next(clock)) as progress:
    for step in range(4):
        progress.update(step * 100 << 20, step * 1000)
    if sys.argv[1:]:
        raise KeyboardInterrupt
print("done")
"""


def in_terminal(*arguments: str) -> str:
    """Return all that the program writes to a terminal of 100 columns."""
    leader, follower = pty.openpty()
    environment = os.environ | {"COLUMNS": "100", "TERM": "xterm"}
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *arguments],
        stdin=follower, stdout=follower, stderr=follower, cwd=ROOT, env=environment,
    )  # fmt: skip
    os.close(follower)
    shown = b""
    try:
        while select.select([leader], [], [], 30)[0]:
            try:
                piece = os.read(leader, 65536)
            except OSError:  # Linux: nobody has the terminal open any more
                break
            if not piece:
                break
            shown += piece
    finally:
        os.close(leader)
        process.wait(timeout=60)
    return shown.decode()


SHOW_CURSOR, HIDE_CURSOR, ERASE_LINE = "\x1b[?25h", "\x1b[?25l", "\x1b[2K"


@pytest.mark.real
def test_a_terminal_shows_a_bar_and_removes_it_at_the_end():
    shown = in_terminal()
    assert "reading samples.jtl" in shown
    assert "300 of 400 MB, 3,000 rows, about 2 s left" in shown
    assert shown.rstrip().endswith("done")
    assert shown.rindex(SHOW_CURSOR) > shown.rindex(HIDE_CURSOR)
    assert shown.rindex(ERASE_LINE) > shown.rindex("rows")


@pytest.mark.real
def test_an_interruption_leaves_the_terminal_clean():
    shown = in_terminal("interrupt")
    assert shown.rindex(SHOW_CURSOR) > shown.rindex(HIDE_CURSOR)
    assert shown.index("KeyboardInterrupt") > shown.rindex(ERASE_LINE) > shown.rindex("rows")


def test_rich_is_imported_only_for_a_bar():
    code = (
        "import sys; from harness.jtl.file_progress import ReadingProgress\n"
        "with ReadingProgress(None, 'a', clock_s=iter(range(0, 90, 3)).__next__) as progress: progress.update(1, 1)\n"
        "print('rich' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("False\n", "reading a: 0 MB, 1 rows\n")
