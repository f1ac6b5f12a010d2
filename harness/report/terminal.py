"""Formats a table for a terminal: it fits the window, and the worst cells are marked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from harness.base.plain_text import one_line
from harness.metrics.figures import LabelFigures
from harness.report.columns import ERROR_COUNT, ERROR_RATIO, LEAST_USE, Column
from harness.report.tables import Rows, rows_of, title_of

# Signs: colour alone is invisible to colour-blind readers and with NO_COLOR.
FAILED, SLOWEST = "!", "*"
LEGEND = {FAILED: "! errors", SLOWEST: "* the slowest label of its group"}
# Labels are wrapped before columns are dropped; below this width they are hard to read.
LABEL_LEAST = 16
GAP = 2


class ScreenCell(NamedTuple):
    """A formatted value and the sign of what is bad about it, "" for nothing."""

    text: str
    sign: str = ""


ScreenRow = tuple[str, tuple[ScreenCell, ...]]


@dataclass(frozen=True)
class ScreenTable:
    """A table as wide as its window: titles, widths of the columns, a label and cells per row, dropped columns.

    The last row is TOTAL's when `has_total`.
    """

    title: str
    heads: tuple[str, ...]
    widths: tuple[int, ...]
    rows: tuple[ScreenRow, ...]
    has_total: bool
    left_out: tuple[str, ...]

    @property
    def width(self) -> int:
        """How many characters wide the table is."""
        return sum(self.widths) + GAP * (len(self.widths) - 1)

    @property
    def signs(self) -> frozenset[str]:
        """The signs of its cells."""
        return frozenset(cell.sign for _, cells in self.rows for cell in cells if cell.sign)


def screen_table(
    group: Rows, columns: Sequence[Column], width: int, text_width: Callable[[str], int] = len
) -> ScreenTable:
    """Return the table of a group for a window `width` characters wide; `text_width` measures a label.

    In a narrow window the least useful columns are dropped, then labels are wrapped; no cell is truncated.
    """
    rows = rows_of(group)
    labels = [one_line(row.label) for row in rows]
    cells = {}
    for column in columns:
        slowest = _slowest(group.labels, column)  # TOTAL is never marked as slowest
        cells[column.key] = [_cell(column, row, None if row is group.total else slowest) for row in rows]
    widths = {column.key: _width(column, cells[column.key]) for column in columns}
    wanted = max(map(text_width, ["label", *labels]))
    least = min(wanted, LABEL_LEAST)
    shown = list(columns)
    for key in LEAST_USE:
        if least + sum(GAP + widths[column.key] for column in shown) <= width:
            break
        shown = [column for column in shown if column.key != key]
    room = width - sum(GAP + widths[column.key] for column in shown)
    return ScreenTable(
        title=title_of(group),
        heads=("label", *(column.title for column in shown)),
        widths=(max(least, min(wanted, room)), *(widths[column.key] for column in shown)),
        rows=tuple((label, tuple(cells[column.key][index] for column in shown)) for index, label in enumerate(labels)),
        has_total=group.total is not None,
        left_out=tuple(column.title for column in columns if column not in shown),
    )


def _slowest(labels: Sequence[LabelFigures], column: Column) -> float | None:
    """Return the greatest value of a column of times; None when no label is slower than the others.

    A label with one sample is ignored: its next sample may be much faster.
    """
    many = [label for label in labels if label.sample_count > 1]
    figures = [figure for label in many if (figure := column.figure(label)) is not None]
    return max(figures) if column.is_time and figures and min(figures) < max(figures) else None


def _cell(column: Column, row: LabelFigures, slowest: float | None) -> ScreenCell:
    text = column.cell(row)
    if column.key in (ERROR_RATIO.key, ERROR_COUNT.key) and row.error_count:
        return ScreenCell(text, FAILED)
    is_slowest = slowest is not None and row.sample_count > 1 and column.figure(row) == slowest
    return ScreenCell(text, SLOWEST if is_slowest else "")


def _width(column: Column, cells: Sequence[ScreenCell]) -> int:
    """Return the width of the longest cell or the longest word of the title."""
    return max(*(len(cell.text) + len(cell.sign) for cell in cells), *map(len, column.title.split()))
