"""Shows progress on standard error when reading or sending a file takes longer than two seconds."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, TextIO

from harness.base.log import print_text, spelled
from harness.base.plain_text import without_control
from harness.base.units import duration_text, mb_text

if TYPE_CHECKING:
    from rich.progress import Progress

SILENT_S = 2.0
# Readers look at the clock after this many rows.
ROWS_PER_LOOK = 10_000
_PLAIN_PERIOD_S = 2.0
_BAR_PERIOD_S = 0.1


class ReadingProgress:
    """Prints nothing for two seconds, then a temporary bar in a terminal, or a line every two seconds elsewhere.

    `total_bytes` is the total size of the input, None if unknown (a pipe).
    """

    def __init__(
        self,
        total_bytes: int | None,
        name: str,
        stream: TextIO | None = None,
        clock_s: Callable[[], float] = time.monotonic,
        verb: str = "reading",
    ) -> None:
        self._total_bytes = total_bytes
        self._title = f"{verb} {name}"
        self._stream = stream or sys.stderr
        self._clock_s = clock_s
        self._begin_s = clock_s()
        self._next_s = self._begin_s + SILENT_S
        self._bar: Progress | None = None

    def __enter__(self) -> ReadingProgress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._bar:
            self._bar.stop()

    def update(self, position_bytes: int, row_count: int | None = None) -> None:
        """Show, when it is due, the number of bytes and rows read so far.

        Without `row_count`, rows are not mentioned.
        """
        now_s = self._clock_s()
        if now_s < self._next_s:
            return
        text = reading_text(self._total_bytes, position_bytes, row_count, now_s - self._begin_s)
        if self._stream.isatty():
            self._next_s = now_s + _BAR_PERIOD_S
            self._bar = self._bar or self._new_bar()
            self._bar.update(self._task, completed=position_bytes, text=text)
            self._bar.refresh()
        else:
            self._next_s = now_s + _PLAIN_PERIOD_S
            print_text(f"{self._title}: {text}", file=self._stream, flush=True)

    def print_line(self, text: str) -> None:
        """Print a line that stays visible."""
        if self._bar:
            self._bar.console.print(without_control(spelled(text)), markup=False, highlight=False, soft_wrap=True)
        else:
            print_text(text, file=self._stream, flush=True)

    def _new_bar(self) -> Progress:
        """Return a bar in the last line of a terminal, with a text behind it; its `stop` removes it."""
        # Imported late: the import takes longer than reading a small file.
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.fields[text]}", markup=False),
            console=Console(file=self._stream),
            auto_refresh=False,  # no extra thread next to the reading processes
            transient=True,
        )
        self._task = bar.add_task(self._title, total=self._total_bytes, text="")
        bar.start()
        return bar


def reading_text(total_bytes: int | None, position_bytes: int, row_count: int | None, passed_s: float) -> str:
    """Return the progress as text: `312 of 1350 MB, 2,310,000 rows, about 6 s left`."""
    rows = "" if row_count is None else f", {row_count:,} rows"
    if not total_bytes:
        return f"{mb_text(position_bytes)} MB{rows}"
    text = f"{mb_text(position_bytes)} of {mb_text(total_bytes)} MB{rows}"
    if not 0 < position_bytes < total_bytes:
        return text
    left_s = passed_s * (total_bytes - position_bytes) / position_bytes
    return f"{text}, about {duration_text(round(left_s))} left"
