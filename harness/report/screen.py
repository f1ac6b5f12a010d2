"""Draws tables and the last lines of a run on a terminal, in colours that NO_COLOR and dumb terminals switch off."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from harness.base import units
from harness.metrics.figures import LOAD, Group, LabelFigures
from harness.report.closing import BLANK, Closing, Line, closing, key_tables
from harness.report.columns import Column
from harness.report.key_figures import key_rows_of
from harness.report.selection import View
from harness.report.summary import RunSummary
from harness.report.tables import one_line, parts_of
from harness.report.terminal import FAILED, GAP, LEGEND, SLOWEST, ScreenRow, ScreenTable, screen_table
from harness.run.interim import InterimFigures

_STYLES = {FAILED: "bold red", SLOWEST: "bold yellow"}


def show(view: View, columns: Sequence[Column], heading: str = "") -> None:
    """Print a view's tables, the legend of their signs, the dropped columns, and its remarks and warnings."""
    console = Console(highlight=False)
    parts = [part for group in view.groups for part in parts_of(group)]
    tables = [screen_table(part, columns, console.width, cell_len) for part in parts]
    if heading:
        console.print(Text(one_line(heading), style="bold underline"))
    for table in tables:
        if len(tables) > 1:
            console.print(Text(table.title, style="bold"))
        _draw(console, table)
        console.print()
    signs = frozenset().union(*(table.signs for table in tables))
    notes = [_legend(signs)]
    left_out = list(dict.fromkeys(title for table in tables for title in table.left_out))
    if left_out:
        notes.append(f"columns that do not fit: {', '.join(left_out)}")
    for note in filter(None, notes):
        console.print(Text(note, style="dim"))
    for text in (*view.remarks, *(warning.text for warning in view.summary.warnings)):
        console.print(Text(one_line(text)))


def show_closing(console: Console, summary: RunSummary, report_path: str, compare_command: str = "") -> None:
    """Print the last lines of a run; see `closing`. The table is 80 columns wide when there is no terminal."""
    width = shutil.get_terminal_size().columns
    _show_closing(console, closing(summary, report_path, compare_command, width, cell_len))


def show_interim(console: Console, figures: InterimFigures) -> None:
    """Print the interim table of a run; see `interim`. It is 80 columns wide when there is no terminal."""
    _show_closing(console, interim(figures, shutil.get_terminal_size().columns, cell_len))


def _show_closing(console: Console, last: Closing) -> None:
    _print_lines(console, last.above)
    for number, table in enumerate(last.tables):
        if number:
            console.print(Text(table.title, style="bold"), soft_wrap=True)
        _draw(console, table, with_head=not number)
    legend = _legend(frozenset().union(*(table.signs for table in last.tables)))
    if legend:
        console.print(Text(legend, style="dim"), soft_wrap=True)
    _print_lines(console, last.below)


def _print_lines(console: Console, lines: Iterable[Line]) -> None:
    """Print lines; they are wrapped between words in a terminal only: programs search the output line by line."""
    for line in lines:
        text = Text.assemble(*line.parts)
        if not (line.is_wrapped and console.is_terminal):
            console.print(text, soft_wrap=True)
            continue
        for number, part in enumerate(text.wrap(console, console.width - line.hang)):
            console.print(Text(" " * line.hang) + part if number else part, soft_wrap=True)


def _legend(signs: Iterable[str]) -> str:
    return "   ".join(legend for sign, legend in LEGEND.items() if sign in signs)


def _draw(console: Console, table: ScreenTable, with_head: bool = True) -> None:
    """Print a table line by line: a table of rich takes 10 s for 10,000 labels.

    Lines are not truncated: a window that is too narrow for the required columns wraps them.
    """
    rule = "─" if console.encoding.startswith("utf") else "-"
    with console:  # one write for all
        if with_head:
            for line in _head(table):
                console.print(Text(line, style="bold"), soft_wrap=True)
            console.print(rule * table.width, soft_wrap=True)
        for index, row in enumerate(table.rows):
            is_total = table.has_total and index == len(table.rows) - 1
            for text in _row(console, table.widths, row, "bold" if is_total else ""):
                console.print(text, soft_wrap=True)


def _head(table: ScreenTable) -> Iterator[str]:
    """Yield the lines of the column titles, aligned at the bottom."""
    heads = [textwrap.wrap(head, width) for head, width in zip(table.heads, table.widths, strict=True)]
    height = max(map(len, heads))
    label_width, *widths = table.widths
    for label, *titles in zip(*([""] * (height - len(head)) + head for head in heads), strict=True):
        texts = [label.ljust(label_width), *(title.rjust(width) for title, width in zip(titles, widths, strict=True))]
        yield (" " * GAP).join(texts)


def _row(console: Console, widths: Sequence[int], row: ScreenRow, style: str) -> Iterator[Text]:
    """Yield the line of a row, and more lines for the rest of a long label."""
    label, cells = row
    rest: list[str] = []
    if cell_len(label) > widths[0]:
        label, *rest = [part.plain for part in Text(label).wrap(console, widths[0])]
    line = Text(set_cell_size(label, widths[0]), style=style)
    for cell, width in zip(cells, widths[1:], strict=True):
        line.append(" " * GAP + f"{cell.sign}{cell.text}".rjust(width), _STYLES.get(cell.sign))
    yield line
    yield from map(Text, rest)


def interim(figures: InterimFigures, width: int, text_width: Callable[[str], int] = len) -> Closing:
    """Return the interim table for a window `width` characters wide; `text_width` measures a label.

    Counts and rates of a load of which only a part of the rows was read are scaled up.
    """
    load = next(group for group in figures.groups if group.name == LOAD)
    rows = key_rows_of(_scaled(load, 1 / figures.read_ratio))
    return Closing(
        above=(BLANK, *_texts(figures), BLANK),
        tables=key_tables(rows, width, text_width),
        below=(BLANK,),
    )


def _texts(figures: InterimFigures) -> Iterator[Line]:
    when = f"Interim results after {figures.passed_s:.0f} s of load"
    yield Line(((when, "bold"), (", ramp-up and warm-up included; the report at the end excludes them.", "")), 2)
    if figures.read_ratio < 1:
        part = units.percent_text(figures.read_ratio)
        yield Line(((f"Estimated from {part} % of the samples, so that counting does not slow JMeter down.", ""),), 2)


def _scaled(load: Group, factor: float) -> Group:
    """Return a load whose counts are multiplied by `factor`, and whose rates are those of the time of TOTAL."""
    total = load.total
    passed_s = total.sample_count / total.rate_per_s if total.rate_per_s else None
    labels = tuple(_scaled_label(label, factor, passed_s) for label in load.labels)
    return replace(load, labels=labels, total=_scaled_label(total, factor, passed_s))


def _scaled_label(label: LabelFigures, factor: float, passed_s: float | None) -> LabelFigures:
    return replace(
        label,
        sample_count=round(label.sample_count * factor),
        error_count=round(label.error_count * factor),
        rate_per_s=None if passed_s is None else label.sample_count * factor / passed_s,
    )
