"""Shows the progress of a run: one line that is updated in a terminal, else a line every ten seconds."""

from __future__ import annotations

import gzip
import os
from collections import deque
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.live import Live
from rich.text import Text

from harness.base import units
from harness.base.log import Log
from harness.base.packed import PACKED
from harness.jtl.csv import GrowingCsv
from harness.jtl.sample import JOB_MARK, Sample
from harness.metrics.figures import SETUP
from harness.metrics.live import LiveFigures
from harness.run.jmeter.interim import Interim
from harness.run.jmeter.progress_line import SPARK_MOST, Part, plain_line, terminal_line

PLAIN_PERIOD_S = 10.0
# A rate of a shorter time is too uncertain for a bar of the sparkline.
_RATE_LEAST_S = 0.5
# Gets all new samples about once a second, the seconds since the first of the run, and JMeter's active users; these
# are None when only the rows say it.
Watch = Callable[[Sequence[Sample], float, int | None], None]


# Parsing all rows of a fast run would use the core that JMeter needs.
_READ_BYTES = 256 * 1024


class NewRows(NamedTuple):
    """The new rows of a JTL: their samples, all or the last ones, and the number of all rows."""

    samples: list[Sample]
    row_count: int


class JtlTail:
    """Reads the new rows of a growing JTL, without those of setUp, which may be many; with `is_whole` all of them."""

    def __init__(self, path: Path, *, is_whole: bool = False) -> None:
        self._path = path
        self._most_bytes = None if is_whole else _READ_BYTES
        self._offset = self._line_count = 0
        self._inode: int | None = None
        self._reader = GrowingCsv(path.name)

    @property
    def offset(self) -> int:
        """How many bytes of the file it has read, up to a line end."""
        return self._offset

    @property
    def has_rows(self) -> bool:
        """Whether the file has rows below its header, of setUp or others."""
        return self._line_count > 1

    def new_rows(self) -> NewRows:
        """Return the rows since the last call; of more than 256 KB only the last samples, unless `is_whole`."""
        try:
            with self._path.open("rb") as stream:
                inode = os.fstat(stream.fileno()).st_ino
                if self._inode not in (None, inode):
                    return NewRows([], 0)  # another file has its name: its secrets were masked after the load
                self._inode = inode
                stream.seek(self._offset)
                data = stream.read()
        except OSError:  # it does not exist yet, or was removed
            return NewRows([], 0)
        return self._taken(data)

    def rest(self, path: Path) -> list[Sample]:
        """Return the samples that are left of a file that grows no more; OSError or EOFError for a damaged one.

        When another file replaced it, that is `path`. It has the same rows: without secrets, or packed.
        """
        samples = self.new_rows().samples
        if self._path.is_file() and self._path.stat().st_ino == self._inode:
            return [*samples, *_of_load(self._reader.rest())]
        with gzip.open(path, "rb") if path.suffix == PACKED else path.open("rb") as stream:
            deque(islice(stream, self._line_count), maxlen=0)
            return [*self._taken(stream.read()).samples, *_of_load(self._reader.rest())]

    def _taken(self, data: bytes) -> NewRows:
        """Return the rows in the whole lines of what follows in the file."""
        data = data[: data.rfind(b"\n") + 1]
        if not data:
            return NewRows([], 0)
        samples = []
        if self._offset == 0:
            header_bytes = data.find(b"\n") + 1
            samples, data = self._reader.samples(data[:header_bytes]), data[header_bytes:]
            self._offset += header_bytes
            self._line_count += 1
        self._offset += len(data)
        self._line_count += data.count(b"\n")
        if self._most_bytes is None or len(data) <= self._most_bytes:
            samples = _of_load([*samples, *(self._reader.samples(data) if data else ())])
            return NewRows(samples, len(samples))
        row_count = data.count(b"\n") - data.count(SETUP.encode()) - data.count(JOB_MARK.encode())
        self._reader.skip()
        last = data[data.find(b"\n", len(data) - self._most_bytes) + 1 :]
        return NewRows(_of_load(self._reader.samples(last)), row_count)


def _of_load(samples: Sequence[Sample]) -> list[Sample]:
    return [one for one in samples if SETUP not in one.thread_name and JOB_MARK not in one.thread_name]


class Progress:
    """Prints progress and, with `interim`, one interim table; `log` prints a line, `watch` gets all samples."""

    def __init__(self, console: Console, log: Log, interim: Interim | None = None, watch: Watch | None = None) -> None:
        self.log = log
        self._interim = interim
        self._watch = watch
        self._console = console
        # A dumb terminal cannot replace a line.
        in_place = console.is_terminal and not console.is_dumb_terminal
        self._live = Live(console=console, auto_refresh=False, transient=True) if in_place else None
        self._has_bars = console.encoding.startswith("utf")
        self._rates_per_s: deque[float] = deque(maxlen=SPARK_MOST)
        self._last: tuple[float, int] | None = None
        self._next_plain_s = 0.0
        self._is_waiting = False

    def __enter__(self) -> Progress:
        if self._live:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._live.stop()

    def show(self, figures: LiveFigures, passed_s: float, total_s: float | None) -> None:
        """Show the current values: without a terminal at once, and then every ten seconds."""
        if self._is_waiting:
            self._is_waiting, self._next_plain_s = False, 0.0
        if self._live is None:
            self._log_at(self._next_plain_s, plain_line(figures, passed_s, total_s), passed_s)
            return
        self._add_rate(passed_s, figures.sample_count)
        rates_per_s = tuple(self._rates_per_s) if self._has_bars else ()
        self._replace(self._live, *terminal_line(figures, rates_per_s, passed_s, total_s, self._console.width))

    def wait(self, active_users: int, passed_s: float, has_setup: bool) -> None:
        """Show that users are active, since so many seconds, and no sample of the load has ended yet.

        Where setUp has samples its users may be among them: those of a warm-up are others than those of the load.
        """
        self._is_waiting = True
        what = "only samples of setUp yet" if has_setup else "no sample of the load has ended yet"
        text = f"{units.clock_text(passed_s)} | users {active_users} | {what}"
        if self._live is None:
            self._log_at(max(self._next_plain_s, PLAIN_PERIOD_S), text, passed_s)
        else:
            self._replace(self._live, (text, ""))

    @staticmethod
    def _replace(live: Live, *parts: Part) -> None:
        live.update(Text.assemble(*parts, overflow="ellipsis", no_wrap=True), refresh=True)

    def _log_at(self, at_s: float, text: str, passed_s: float) -> None:
        """Print a line if it is time, and set the time of the next one."""
        if passed_s >= at_s:
            self._next_plain_s = (passed_s // PLAIN_PERIOD_S + 1) * PLAIN_PERIOD_S
            self.log(text)

    def _add_rate(self, passed_s: float, sample_count: int) -> None:
        """Add the rate since the last call to the sparkline; JMeter's end is watched more often than once a second."""
        if self._last is None:
            self._last = (passed_s, sample_count)
        elif (took_s := passed_s - self._last[0]) >= _RATE_LEAST_S:
            self._rates_per_s.append((sample_count - self._last[1]) / took_s)
            self._last = (passed_s, sample_count)

    def add(self, rows: NewRows, passed_s: float, active_users: int | None) -> None:
        """Count new rows for the interim table, and print it when it is due."""
        if self._interim:
            self._interim.add(rows.samples, rows.row_count, passed_s)
        if self._watch:
            self._watch(rows.samples, passed_s, active_users)


class Tails:
    """Reads the new rows of several growing JTLs as those of one."""

    def __init__(self, tails: Sequence[JtlTail]) -> None:
        self._tails = tails

    @property
    def has_rows(self) -> bool:
        """Whether a file has rows below its header."""
        return any(tail.has_rows for tail in self._tails)

    def new_rows(self) -> NewRows:
        """Return the rows since the last call, in the order of the files."""
        found = [tail.new_rows() for tail in self._tails]
        return NewRows([sample for rows in found for sample in rows.samples], sum(rows.row_count for rows in found))
