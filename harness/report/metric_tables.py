"""Reads a Markdown table of metrics: the tables of this harness, those of the reports of 2015, and similar ones.

The reports of 2015 have three known errors:

- The 90 % column is 0 in all rows: p90 is unknown.
- Errors are a fraction followed by a % sign. The number of errors must be whole, which identifies the unit: 0.00013% of
  106724 samples are 14 errors as a fraction (13.9), but no whole number as a percentage (0.14).
- Bandwidth `6.33/s` is in KB/s.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.base.errors import UsageError
from harness.base.units import BYTES_PER_KB, MS_PER_S
from harness.metrics.figures import TOTAL
from harness.report.markdown_tables import MarkdownTable, cells_of, plain
from harness.report.run_result import MARKDOWN, LabelResult, RunResult

_COUNT, _AVERAGE, _MIN, _MAX = "count", "average", "min", "max"
_ERRORS, _ERROR_PERCENT, _RATE, _RECEIVED = "errors", "errors %", "req/s", "KB/s"
_HEADS: Mapping[str, str] = {
    **dict.fromkeys(("count", "#count", "samples", "#samples", "# samples", "sample count", "requests"), _COUNT),
    **dict.fromkeys(("average", "avg", "avg.", "mean"), _AVERAGE),
    **dict.fromkeys(("median", "med"), "50"),
    **dict.fromkeys(("min", "min.", "minimum"), _MIN),
    **dict.fromkeys(("max", "max.", "maximum"), _MAX),
    **dict.fromkeys(("errors", "#errors", "error", "error count", "failed", "ko"), _ERRORS),
    **dict.fromkeys(("errors %", "error %", "errors%", "error%", "% errors", "% error"), _ERROR_PERCENT),
    **dict.fromkeys(("req/s", "req/sec", "requests/s", "throughput", "rate"), _RATE),
    **dict.fromkeys(("kb/s received", "received kb/s", "received kb/sec", "bandwidth", "kb/s", "kb/sec"), _RECEIVED),
}
_TIMES = (_AVERAGE, "50", _MIN, _MAX)
_LABEL_HEADS = frozenset({"", "label", "labels", "request", "sampler", "sample", "transaction", "name"})
_CLASSIC_HEADS = ("#count", "average", "median", "90%", "min", "max", "errors", "bandwidth")
_PERCENTILE = re.compile(r"p?(\d{1,2}(?:\.\d+)?)(?:th)?(?: ?%)?(?: ?(?:line|pct\.?|percentile|%?tile))?")
_UNIT = re.compile(r"\s*(?:\(([^)]*)\)|\b(ms|s|sec|seconds|milliseconds))$")
_MS_PER = {"ms": 1, "milliseconds": 1, "s": MS_PER_S, "sec": MS_PER_S, "seconds": MS_PER_S}
_SECONDS_PER = {"": 1, "/s": 1, "/sec": 1, "/min": 60, "/h": 3600, "/hour": 3600}
_NUMBER = re.compile(r"([+-]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.(\d+))?)\s*((?:[%/A-Za-z].*)?)")
_NO_FIGURE = frozenset({"", "-", "–", "—", "n/a", "~"})


@dataclass(frozen=True)
class _Errors:
    count: int | None = None
    ratio: float | None = None


@dataclass(frozen=True)
class _Column:
    """The content of a column, and for times the number of ms per unit."""

    name: str
    ms: float = 1


def columns_of(table: MarkdownTable) -> dict[int, _Column]:
    """Return the content of the columns after the label; empty unless the table has metrics per label."""
    columns: dict[int, _Column] = {}
    if table.heads[0].casefold() in _LABEL_HEADS:
        for index, head in enumerate(table.heads[1:], start=1):
            column = _column(" ".join(head.casefold().split()))
            if column and column.name not in {other.name for other in columns.values()}:
                columns[index] = column
    names = {column.name for column in columns.values()}
    return columns if _AVERAGE in names or {_COUNT, "50"} <= names else {}


def _column(head: str) -> _Column | None:
    if head in _HEADS:
        return _Column(_HEADS[head])
    unit = _UNIT.search(head)
    bare = head[: unit.start()].strip() if unit else head
    ms = _MS_PER.get((unit[1] or unit[2]).strip()) if unit else 1
    if ms is None:
        return None
    if _HEADS.get(bare) in _TIMES:
        return _Column(_HEADS[bare], ms)
    percentile = _PERCENTILE.fullmatch(bare)
    # A bare number is not a percentile: it may be a number of users or of a test.
    return _Column(percentile[1], ms) if percentile and not bare.isdigit() else None


def headless_table(lines: Sequence[str], name: str) -> MarkdownTable:
    """Return rows without heads as a table: full rows of 2015, or one TOTAL with its first three values.

    Anything else is ambiguous: a fourth value was sometimes p90, sometimes the maximum.
    """
    rows = [(number, cells) for number, line in enumerate(lines, start=1) if (cells := cells_of(line))]
    whole = [(number, cells) for number, cells in rows if _is_whole_row(cells)]
    chosen = whole or [(number, short) for number, cells in rows if (short := _short_row(cells))]
    totals = [str(number) for number, cells in chosen if _is_total(cells[0])]
    if len(totals) > 1:
        raise UsageError(
            f"{name}: several TOTAL rows without heads (lines {', '.join(totals)}): it is unclear which run is meant",
            "put the rows of one run into a file of their own",
        )
    if chosen:
        heads = ("", *_CLASSIC_HEADS[: len(chosen[0][1]) - 1])
        return MarkdownTable(chosen[0][0], "", heads, tuple(tuple(cells) for _, cells in chosen))
    raise UsageError(
        f"{name}: a Markdown file without a table{' of metrics' if rows else ''}",
        "pass a report that has one: | label | count | average ms | p50 ms | p90 ms | …",
    )


def _is_total(text: str) -> bool:
    return plain(re.sub(r"^[*+-]\s+", "", text)).casefold() == TOTAL.casefold()


def _is_whole_row(cells: Sequence[str]) -> bool:
    return (
        len(cells) == 1 + len(_CLASSIC_HEADS)
        and all(_NUMBER.fullmatch(cell) for cell in cells[1:])
        and cells[-2].endswith("%")
        and cells[-1].endswith("/s")
    )


def _short_row(cells: Sequence[str]) -> list[str]:
    """Return label, count, average and median of a short TOTAL row; a final remark in brackets is ignored."""
    values = [*cells[1:-1], re.sub(r"\s*\(.*\)$", "", cells[-1])]
    is_short = _is_total(cells[0]) and len(values) == 3 and all(value.isdecimal() for value in values)
    return [TOTAL, *values] if is_short else []


@dataclass(frozen=True)
class _Row:
    label: str
    cells: Mapping[str, str]

    def number(self, name: str) -> float | None:
        """Return the number in a cell; None when there is none."""
        match = _NUMBER.fullmatch(self.cells.get(name, ""))
        return float(match[1].replace(",", "")) if match else None

    def unit(self, name: str) -> str:
        """Return the unit after the number."""
        match = _NUMBER.fullmatch(self.cells.get(name, ""))
        return match[3] if match else ""

    def error_counts(self, parts: float) -> range:
        """Return all error counts that would be printed like this row; `parts` is 1, or 100 for percent."""
        value, count = self.number(_ERRORS), self.number(_COUNT)
        if value is None or not count:
            return range(0)
        match = _NUMBER.fullmatch(self.cells[_ERRORS])
        decimals = len(match[2] or "") if match else 0
        half = 0.5 * 10**-decimals * (1 + 1e-9)  # half may have been rounded up or down
        least, most = math.ceil((value - half) * count / parts), math.floor((value + half) * count / parts)
        return range(max(least, 0), min(most, int(count)) + 1)


class TableReader:
    """Convert a table to a result, and collect remarks about its errors."""

    def __init__(self, table: MarkdownTable, has_heads: bool = True) -> None:
        columns = columns_of(table)
        self._ms = {column.name: column.ms for column in columns.values()}
        self._remarks: list[str] = []
        self._rows: list[_Row] = []
        for cells in table.rows:
            label = TOTAL if _is_total(cells[0]) else plain(cells[0])
            if any(label == row.label for row in self._rows):
                self._remarks.append(f"{label} appears twice: the first row is used.")
                continue
            texts = {column.name: plain(cells[index]) for index, column in columns.items() if index < len(cells)}
            self._rows.append(_Row(label, texts))
        # The classic layout of this harness has KB/s, and its percentages are correct.
        self._is_ours = any("KB" in row.unit(_RECEIVED) for row in self._rows)
        self._is_of_2015 = table.heads[1] == _CLASSIC_HEADS[0] and not self._is_ours
        if not has_heads:
            order = "order" if len(table.heads) > 4 else "order of the first values: count, average, median"
            self._remarks.append(f"The table has no heads: its values are read as those of 2015, in their {order}.")

    def result(self, name: str) -> RunResult:
        """Return the result with all remarks."""
        cells = [text for row in self._rows for text in row.cells.values()]
        odd = [text for text in cells if text.casefold() not in _NO_FIGURE and not _NUMBER.fullmatch(text)]
        if odd:
            self._remarks.append(f"Cells that are not numbers are left blank: {', '.join(dict.fromkeys(odd))}.")
        has_p90 = self._has_p90()
        errors = self._errors()
        if self._is_of_2015 and _RECEIVED in self._ms:
            self._remarks.append("Bandwidth is read as KB/s, its unit in 2015; requests per second are unknown.")
        if self._is_of_2015:
            self._remarks.append("TOTAL includes setUp, tearDown, ramp-up and warm-up, as in all reports of 2015.")
        labels = [self._label(row, found, has_p90) for row, found in zip(self._rows, errors, strict=True)]
        total = next((label for label in labels if label.label == TOTAL), None)
        if total is None:
            self._remarks.append("There is no row TOTAL.")
        return RunResult(
            name=name,
            kind=MARKDOWN,
            total=total,
            labels=tuple(label for label in labels if label is not total),
            remarks=tuple(self._remarks),
        )

    def _has_p90(self) -> bool:
        pairs = [(row.number("90"), row.number("50") or row.number(_AVERAGE)) for row in self._rows]
        is_zero = any(other for _, other in pairs) and all(p90 == 0 for p90, _ in pairs)
        if is_zero:
            self._remarks.append("The 90 % column is 0 in all rows: p90 is unknown.")
        return not is_zero

    def _label(self, row: _Row, errors: _Errors, has_p90: bool) -> LabelResult:
        count, received = row.number(_COUNT), row.number(_RECEIVED)
        names = [name for name in row.cells if name[0].isdigit() and (name != "90" or has_p90)]
        return LabelResult(
            label=row.label,
            sample_count=None if count is None else int(count),
            error_count=errors.count,
            error_ratio=errors.ratio,
            average_ms=self._time_ms(row, _AVERAGE),
            percentiles_ms={name: value for name in names if (value := self._time_ms(row, name)) is not None},
            min_ms=self._time_ms(row, _MIN),
            max_ms=self._time_ms(row, _MAX),
            rate_per_s=_rate_per_s(row),
            received_bytes_per_s=None if received is None else received * BYTES_PER_KB,
        )

    def _time_ms(self, row: _Row, name: str) -> float | None:
        value = row.number(name)
        return None if value is None else value * _MS_PER.get(row.unit(name), self._ms[name])

    def _errors(self) -> list[_Errors]:
        """Return the errors of each row; in a column with % signs they are percentages, or the fractions of 2015."""
        if not any("%" in row.unit(_ERRORS) for row in self._rows):
            return [_counted_errors(row) for row in self._rows]
        if self._is_ours:
            return [_printed_errors(row, 100) for row in self._rows]
        nonzero = [row for row in self._rows if row.number(_ERRORS)]
        is_fraction, is_percent = (all(row.error_counts(parts) for row in nonzero) for parts in (1, 100))
        if nonzero and is_fraction == is_percent:
            why = "both" if is_fraction else "neither"
            self._remarks.append(
                f"Errors are left blank: read as fractions or as percentages, {why} give whole numbers of errors."
            )
            return [_Errors()] * len(self._rows)
        if nonzero and is_fraction:
            self._remarks.append(
                "Errors are read as fractions despite their % sign: only fractions give whole numbers of errors."
            )
        return [_printed_errors(row, 1 if is_fraction else 100) for row in self._rows]


def _printed_errors(row: _Row, parts: float) -> _Errors:
    """Return the errors of a row with a fraction, or with a percentage (`parts` 100); exact when only one fits."""
    value, count, counts = row.number(_ERRORS), row.number(_COUNT), row.error_counts(parts)
    if value is None:
        return _Errors()
    if count and len(counts) == 1:
        return _Errors(counts[0], counts[0] / count)
    return _Errors(ratio=value / parts)


def _counted_errors(row: _Row) -> _Errors:
    count, errors, percent = row.number(_COUNT), row.number(_ERRORS), row.number(_ERROR_PERCENT)
    if errors is not None:
        return _Errors(int(errors), errors / count if count else None)
    return _Errors(ratio=percent / 100 if percent is not None and 0 <= percent <= 100 else None)


def _rate_per_s(row: _Row) -> float | None:
    value, seconds = row.number(_RATE), _SECONDS_PER.get(row.unit(_RATE))
    return None if value is None or seconds is None else value / seconds
