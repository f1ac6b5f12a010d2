"""Draws tables and the last lines of a run on a terminal, in colours that NO_COLOR and dumb terminals switch off."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from harness.base import units
from harness.base.log import spelled
from harness.base.plain_text import one_line
from harness.judge.result import TONES, Result, Tone
from harness.judge.summary import RunSummary
from harness.judge.verdict import DOUBTFUL, INVALID, further_reasons
from harness.judge.warnings import explained
from harness.metrics.figures import LOAD, Group, LabelFigures
from harness.metrics.generators import GeneratorFigures
from harness.metrics.window import describe
from harness.report.account_table import account_line
from harness.report.columns import Column
from harness.report.first_screen import SHAPES
from harness.report.key_figures import (
    KEY_COLUMNS,
    by_importance,
    first_error,
    key_rows,
    key_rows_of,
    left_out_text,
    result_of,
)
from harness.report.selection import View
from harness.report.tables import Rows, parts_of
from harness.report.terminal import FAILED, GAP, LABEL_LEAST, LEGEND, SLOWEST, ScreenRow, ScreenTable, screen_table
from harness.run.jmeter.interim import InterimFigures

_STYLES = {FAILED: "bold red", SLOWEST: "bold yellow"}
_WARNINGS_MOST, _GOALS_MOST = 2, 10
TONE_STYLES = {Tone.GOOD: "bold green", Tone.DOUBT: "bold yellow", Tone.BAD: "bold red", Tone.NONE: "bold"}
_SHAPES = {tone: f"{shape} ".lstrip() for tone, shape in SHAPES.items()}
_MET, _MISSED, _WARNING, _QUIET = "green", "bold red", "yellow", "dim"


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
    left_out = ", ".join(dict.fromkeys(title for table in tables for title in table.left_out))
    for note in filter(None, (_legend(tables), f"columns that do not fit: {left_out}" if left_out else "")):
        console.print(Text(note, style="dim"))
    account = account_line(view.summary.account)
    for text in (*view.remarks, *(warning.text for warning in view.summary.warnings), *filter(None, (account,))):
        console.print(Text(spelled(one_line(text))))


def show_closing(console: Console, summary: RunSummary, report_path: str, compare_command: str = "") -> None:
    """Print the last lines of a run; see `closing`. The table is 80 columns wide when there is no terminal."""
    _show_closing(console, closing(summary, report_path, compare_command, shutil.get_terminal_size().columns))


def show_interim(console: Console, figures: InterimFigures) -> None:
    """Print the interim table of a run; see `interim`. It is 80 columns wide when there is no terminal."""
    _show_closing(console, interim(figures, shutil.get_terminal_size().columns))


def _show_closing(console: Console, last: Closing) -> None:
    _print_lines(console, last.above)
    for number, table in enumerate(last.tables):
        if number:
            console.print(Text(table.title, style="bold"), soft_wrap=True)
        _draw(console, table, with_head=not number)
    if legend := _legend(last.tables):
        console.print(Text(legend, style="dim"), soft_wrap=True)
    _print_lines(console, last.below)


def _print_lines(console: Console, lines: Iterable[ScreenLine]) -> None:
    """Print lines; they are wrapped between words in a terminal only: programs search the output line by line."""
    has_shapes = console.encoding.startswith("utf")
    for line in lines:
        parts = (part for part in line.parts if has_shapes or part[0] not in _SHAPES.values())
        text = Text.assemble(*((spelled(part), style) for part, style in parts))
        if not (line.is_wrapped and console.is_terminal):
            console.print(text, soft_wrap=True)
            continue
        for number, part in enumerate(text.wrap(console, console.width - line.hang)):
            console.print(Text(" " * line.hang) + part if number else part, soft_wrap=True)


def _legend(tables: Iterable[ScreenTable]) -> str:
    signs = {sign for table in tables for sign in table.signs}
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


def interim(figures: InterimFigures, width: int) -> Closing:
    """Return the interim table for a window `width` characters wide.

    Counts and rates of a load of which only a part of the rows was read are scaled up.
    """
    load = next(group for group in figures.groups if group.name == LOAD)
    rows = key_rows_of(_scaled(load, 1 / figures.read_ratio))
    return Closing(above=(BLANK, *_texts(figures), BLANK), tables=key_tables(rows, width), below=(BLANK,))


def _texts(figures: InterimFigures) -> Iterator[ScreenLine]:
    when = f"Interim results after {figures.passed_s:.0f} s of load"
    yield ScreenLine(((when, "bold"), (", ramp-up and warm-up included; the report at the end excludes them.", "")), 2)
    if figures.read_ratio < 1:
        part = units.percent_text(figures.read_ratio)
        yield ScreenLine(
            ((f"Estimated from {part} % of the samples, so that counting does not slow JMeter down.", ""),), 2
        )


def _scaled(load: Group, factor: float) -> Group:
    total = load.total
    passed_s = total.sample_count / total.rate_per_s if total.rate_per_s else None

    def scaled(label: LabelFigures) -> LabelFigures:
        rate_per_s = None if passed_s is None else label.sample_count * factor / passed_s
        sample_count, error_count = (round(count * factor) for count in (label.sample_count, label.error_count))
        return replace(label, sample_count=sample_count, error_count=error_count, rate_per_s=rate_per_s)

    return replace(load, labels=tuple(map(scaled, load.labels)), total=scaled(total))


class ScreenLine(NamedTuple):
    """A line: its parts with their styles. In a terminal it is wrapped, and further lines are indented by `hang`.

    Paths and commands are not wrapped, so that they can be copied.
    """

    parts: tuple[tuple[str, str], ...]
    hang: int = 0
    is_wrapped: bool = True


class Closing(NamedTuple):
    """The last lines of a run: those above its table, the table, and those below.

    The rows of transactions and of several loads are further tables with the same columns and widths; without a load
    there is no table.
    """

    above: tuple[ScreenLine, ...]
    tables: tuple[ScreenTable, ...]
    below: tuple[ScreenLine, ...]


BLANK = ScreenLine((("", ""),))


def closing(summary: RunSummary, report_path: str, compare_command: str, width: int) -> Closing:
    """Return the last lines of a run for a window `width` characters wide.

    `compare_command` compares the run with an earlier one, "" without such a run.
    """
    tables = key_tables(key_rows(summary), width)
    logs = f"{report_path.removesuffix('.md')}/" if summary.verdict.state == INVALID else ""
    result = summary.result or result_of(summary)
    steps = [("next:", ": ".join(filter(None, (step.text, step.command)))) for step in result.next_steps]
    further = (("report:", report_path), ("logs:", logs), ("compare:", compare_command), *steps)
    last = [
        ScreenLine(((f"{name:<9}", "bold"), (one_line(text), "")), is_wrapped=False) for name, text in further if text
    ]
    above = (BLANK, *_verdict(summary, result), *([BLANK] if tables else []))
    return Closing(above, tables, (*_remarks(summary), *_warnings(summary), BLANK, *_comparisons(summary), *last))


def _verdict(summary: RunSummary, result: Result) -> Iterator[ScreenLine]:
    """Yield the shape of the verdict with the answer, and the goals, those missed first."""
    verdict = summary.verdict
    tone = Tone.BAD if verdict.goals_missed else result.tone
    rest = one_line(result.headline).removeprefix(result.verdict)
    shape, name = (_SHAPES[tone], TONE_STYLES[tone]), (f"{summary.source}: ", "bold")
    yield ScreenLine((shape, name, (result.verdict, _verdict_style(result.verdict)), (rest, "")), 2)
    for reason in further_reasons(verdict, summary.warnings):
        yield ScreenLine(((f"  {one_line(reason)}", ""),), 2)
    goals = [("missed", _MISSED, goal) for goal in verdict.goals_missed]
    goals += [("met", _MET, goal) for goal in verdict.goals_met]
    for word, word_style, goal in goals[:_GOALS_MOST]:
        yield ScreenLine(((f"  {word:<8}", word_style), (one_line(goal), "")), 10)
    if len(goals) > _GOALS_MOST:
        yield ScreenLine(((f"  {units.plural(len(goals) - _GOALS_MOST, 'more goal')}: see the report.", _QUIET),))


def _verdict_style(verdict: str) -> str:
    return TONE_STYLES[TONES.get(verdict, Tone.NONE)]


def _remarks(summary: RunSummary) -> Iterator[ScreenLine]:
    """Yield what the table does not show: further labels, the measured window, errors, load generators."""
    if left_out := left_out_text(summary):
        yield ScreenLine(((f"{left_out}: see the report.", _QUIET),))
    if summary.window.run_s:
        yield ScreenLine(((describe(summary.window), ""),), 2)
        if text := account_line(summary.account):
            yield ScreenLine(((text, ""),), 2)
    if error := first_error(summary):
        yield ScreenLine(((one_line(error), ""),), 2)
    if summary.generators:
        yield ScreenLine(((f"Generators: {', '.join(map(_generator_text, summary.generators))}.", ""),), 2)


def _generator_text(generator: GeneratorFigures) -> str:
    rate = f" {units.rate_text(generator.rate_per_s)} req/s" if generator.rate_per_s is not None else ""
    return one_line(f"{generator.name} {units.plural(generator.sample_count, 'sample')}{rate}")


def _warnings(summary: RunSummary) -> Iterator[ScreenLine]:
    if warnings := by_importance(summary.warnings):
        yield BLANK
    for warning in warnings[:_WARNINGS_MOST]:
        yield ScreenLine((("warning: ", _WARNING), (one_line(warning.text), "")), 2)
    if len(warnings) > _WARNINGS_MOST:
        more = units.plural(len(warnings) - _WARNINGS_MOST, "more warning")
        yield ScreenLine(((f"{more}: see the report.", _QUIET),))
    if summary.verdict.state == DOUBTFUL and (where := explained(summary.warnings)):
        yield ScreenLine(((where, _QUIET),))


def _comparisons(summary: RunSummary) -> Iterator[ScreenLine]:
    """Yield a line for each run with which the run was compared: the verdict and its reasons."""
    for compared_run in summary.compared:
        what = f"compared with {compared_run.name} ({compared_run.role}): "
        if compared_run.problem:
            yield ScreenLine((("not ", _WARNING), (one_line(f"{what}{compared_run.problem}"), "")), 2)
        else:
            rest = one_line(compared_run.headline).removeprefix(compared_run.verdict)
            word = compared_run.verdict
            yield ScreenLine(((what, ""), (word, _verdict_style(word)), (rest, "")), 2)


def key_tables(parts: Sequence[Rows], width: int) -> tuple[ScreenTable, ...]:
    """Return a table of each part, with the same columns and widths, and with labels that fit."""
    if not parts:
        return ()
    narrowest = min((screen_table(part, KEY_COLUMNS, width, cell_len).heads for part in parts), key=len)
    columns = [column for column in KEY_COLUMNS if column.title in narrowest]
    tables = [screen_table(part, columns, width, cell_len) for part in parts]
    label_width, *widths = (max(each) for each in zip(*(table.widths for table in tables), strict=True))
    label_width = min(label_width, max(LABEL_LEAST, width - sum(widths) - GAP * len(widths)))

    def fitted(table: ScreenTable) -> ScreenTable:
        rows = tuple((shortened(label, label_width), cells) for label, cells in table.rows)
        return replace(table, widths=(label_width, *widths), rows=rows)

    return tuple(map(fitted, tables))


def shortened(text: str, width: int) -> str:
    """Return text that is at most `width` wide: an ellipsis replaces its middle, as both ends distinguish labels."""
    if cell_len(text) <= width:
        return text
    room = width - 1
    head = _part(text, room - room // 2)
    tail = _part(text[::-1], room - cell_len(head))[::-1]
    return f"{head}…{tail}"


def _part(text: str, width: int) -> str:
    """Return as much of the start of text as fits into `width`."""
    part = text[:width]
    while part and cell_len(part) > width:
        part = part[:-1]
    return part
