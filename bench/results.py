"""Stores the measurements of readers, and computes ratios and aims from them."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from bench.readers.contenders import JMETER, OURS, POLARS, POLARS_FIGURES, REPORT, Contender
from harness.base import units

SMALL_ROWS = 10_000
# The greatest time of ours ÷ that of a reader, by the reader's name and the number of rows.
_RATIOS_MOST = {
    (POLARS_FIGURES, 1_000_000): 0.9,
    (POLARS_FIGURES, 10_000_000): 0.6,
    (POLARS, 10_000_000): 0.95,
}
# The most seconds of a full report, by the number of rows.
_REPORT_S_MOST = {1_000_000: 1.2, 10_000_000: 3.5}
_JMETER_ROWS = 1_000_000
_JMETER_RATIO_LEAST = 20.0
_PEAK_BYTES_END = 150 * units.BYTES_PER_MB
_SMALL_END_S = 0.3


@dataclass(frozen=True)
class Pass:
    """A timed run of a whole process; CPU time includes its children."""

    wall_s: float
    cpu_s: float


@dataclass(frozen=True)
class Result:
    """The measurements of a reader on a file; `problem` is an error in its output or exit, else an empty text."""

    contender: Contender
    row_count: int
    passes: tuple[Pass, ...]
    peak_bytes: int | None
    problem: str = ""
    version: str = ""

    @property
    def wall_s(self) -> float | None:
        """The median seconds of the whole process; None for a reader with wrong results."""
        return None if self.problem or not self.passes else statistics.median(one.wall_s for one in self.passes)

    @property
    def cpu_s(self) -> float | None:
        """The median CPU seconds of the whole process with its children."""
        return None if self.problem or not self.passes else statistics.median(one.cpu_s for one in self.passes)


@dataclass(frozen=True)
class Aim:
    """An aim and its measured value; an unknown value misses the aim."""

    what: str
    measured: str
    wanted: str
    is_met: bool


def wrong(differences: Sequence[str]) -> str:
    """Return the text for wrong results: WRONG with the first difference; an empty text without any."""
    if not differences:
        return ""
    more = f"; {len(differences) - 1} more" if len(differences) > 1 else ""
    return f"WRONG: {differences[0]}{more}"


def ratio(one: Result | None, other: Result | None) -> float | None:
    """Return the time of one ÷ that of the other; None unless both were measured and right."""
    if one is None or other is None or one.wall_s is None or other.wall_s is None:
        return None
    return one.wall_s / other.wall_s


def cpu_ratio(one: Result, other: Result | None) -> float | None:
    """Return the CPU time of one ÷ that of the other; None unless both were measured and right."""
    if other is None or one.cpu_s is None or not other.cpu_s:
        return None
    return one.cpu_s / other.cpu_s


def find(results: Iterable[Result], name: str, row_count: int) -> Result | None:
    """Return the result of a reader on the file of that many rows; None when it was not run."""
    return next((one for one in results if (one.contender.name, one.row_count) == (name, row_count)), None)


def aims(results: Sequence[Result]) -> list[Aim]:
    """Return the aims of the measured readers and sizes."""
    found = []
    for ours in (one for one in results if one.contender.name == OURS):
        rows, size = ours.row_count, f"{ours.row_count:,} rows"
        found.append(Aim(f"{size}: figures", ours.problem or "right", "right", not ours.problem))
        if rows == SMALL_ROWS:
            wall_s = ours.wall_s
            found.append(
                Aim(
                    f"{size} to the table, s",
                    _text(wall_s),
                    f"< {_SMALL_END_S}",
                    wall_s is not None and wall_s < _SMALL_END_S,
                )
            )
        found += _ratio_aims(ours, results)
        if rows == _JMETER_ROWS and (jmeter := find(results, JMETER, rows)):
            value = ratio(jmeter, ours)
            met = value is not None and value >= _JMETER_RATIO_LEAST
            found.append(Aim(f"{size}: time of jmeter -g ÷ ours", _text(value), f"≥ {_JMETER_RATIO_LEAST:g}", met))
        peak = ours.peak_bytes
        met = peak is not None and peak < _PEAK_BYTES_END
        found.append(Aim(f"{size}: peak memory, MB", units.mb_text(peak), f"< {units.mb_text(_PEAK_BYTES_END)}", met))
    return [*found, *_report_aims(results)]


def _report_aims(results: Sequence[Result]) -> Iterator[Aim]:
    for row_count, most_s in _REPORT_S_MOST.items():
        if report := find(results, REPORT, row_count):
            wall_s = report.wall_s
            is_met = wall_s is not None and wall_s <= most_s
            yield Aim(f"{row_count:,} rows: full report, s", report.problem or _text(wall_s), f"≤ {most_s}", is_met)


def _ratio_aims(ours: Result, results: Sequence[Result]) -> Iterator[Aim]:
    for (name, row_count), most in _RATIOS_MOST.items():
        other = find(results, name, ours.row_count)
        if row_count == ours.row_count and other:
            value = ratio(ours, other)
            met = value is not None and value <= most
            yield Aim(f"{row_count:,} rows: time ÷ {other.contender.title}", _text(value), f"≤ {most}", met)


def _text(value: float | None) -> str:
    return "not known" if value is None else f"{value:.2f}"
