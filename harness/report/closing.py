"""The last lines that a run prints: verdict, goals, one table, the most important warnings, and what to do next."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from harness.base import units
from harness.metrics.generators import GeneratorFigures
from harness.metrics.window import describe
from harness.report.key_figures import KEY_COLUMNS, by_importance, first_error, key_rows, left_out_text
from harness.report.stored_comparisons import CANNOT_TELL, OK, REGRESSED
from harness.report.summary import RunSummary
from harness.report.tables import Rows, one_line
from harness.report.terminal import GAP, LABEL_LEAST, ScreenTable, screen_table
from harness.report.verdict import DOUBTFUL, INTERRUPTED, INVALID, VALID, Verdict, state_line

_WARNINGS_MOST, _GOALS_MOST = 2, 10
_STATE_STYLES = {VALID: "bold green", DOUBTFUL: "bold yellow", INVALID: "bold red", INTERRUPTED: "bold red"}
_MET, _MISSED, _WARNING, _QUIET = "green", "bold red", "yellow", "dim"
_COMPARED_STYLES = {OK: "bold green", CANNOT_TELL: "bold yellow", REGRESSED: "bold red"}


@dataclass(frozen=True)
class Line:
    """A line: its parts with their styles. In a terminal it is wrapped, and further lines are indented by `hang`.

    Paths and commands are not wrapped, so that they can be copied.
    """

    parts: tuple[tuple[str, str], ...]
    hang: int = 0
    is_wrapped: bool = True


@dataclass(frozen=True)
class Closing:
    """The last lines of a run: those above its table, the table, and those below.

    The rows of transactions and of several loads are further tables with the same columns and widths; without a load
    there is no table.
    """

    above: tuple[Line, ...]
    tables: tuple[ScreenTable, ...]
    below: tuple[Line, ...]


BLANK = Line((("", ""),))


def closing(
    summary: RunSummary, report_path: str, compare_command: str, width: int, text_width: Callable[[str], int] = len
) -> Closing:
    """Return the last lines of a run for a window `width` characters wide.

    `compare_command` compares the run with an earlier one, "" without such a run. `text_width` measures a label.
    """
    tables = key_tables(key_rows(summary), width, text_width)
    next_steps = [("report:", report_path)]
    if summary.verdict.state == INVALID:
        next_steps.append(("logs:", f"{report_path.removesuffix('.md')}/"))
    if compare_command:
        next_steps.append(("compare:", compare_command))
    last = [Line(((f"{name:<9}", "bold"), (text, "")), is_wrapped=False) for name, text in next_steps]
    return Closing(
        above=(BLANK, *_verdict(summary.source, summary.verdict), *([BLANK] if tables else [])),
        tables=tables,
        below=(*_remarks(summary), *_warnings(summary), BLANK, *_comparisons(summary), *last),
    )


def _verdict(source: str, verdict: Verdict) -> Iterator[Line]:
    style = _STATE_STYLES.get(verdict.state, "bold")
    rest = one_line(state_line(verdict)).removeprefix(verdict.state)
    yield Line(((f"{source}: ", "bold"), (verdict.state, style), (rest, "")), 2)
    goals = [
        *(("missed", _MISSED, goal) for goal in verdict.goals_missed),
        *(("met", _MET, goal) for goal in verdict.goals_met),
    ]
    for word, word_style, goal in goals[:_GOALS_MOST]:
        yield Line(((f"  {word:<8}", word_style), (one_line(goal), "")), 10)
    if len(goals) > _GOALS_MOST:
        yield Line(((f"  {units.plural(len(goals) - _GOALS_MOST, 'more goal')}: see the report.", _QUIET),))


def _remarks(summary: RunSummary) -> Iterator[Line]:
    """Yield what the table does not show: further labels, the measured window, errors, load generators."""
    if left_out := left_out_text(summary):
        yield Line(((f"{left_out}: see the report.", _QUIET),))
    if summary.window.run_s:
        yield Line(((describe(summary.window), ""),), 2)
    if error := first_error(summary):
        yield Line(((one_line(error), ""),), 2)
    if summary.generators:
        yield Line(((f"Generators: {', '.join(map(_generator_text, summary.generators))}.", ""),), 2)


def _generator_text(generator: GeneratorFigures) -> str:
    rate = f" {units.rate_text(generator.rate_per_s)} req/s" if generator.rate_per_s is not None else ""
    return one_line(f"{generator.name} {units.plural(generator.sample_count, 'sample')}{rate}")


def _warnings(summary: RunSummary) -> Iterator[Line]:
    warnings = by_importance(summary.warnings)
    if warnings:
        yield BLANK
    for warning in warnings[:_WARNINGS_MOST]:
        yield Line((("warning: ", _WARNING), (one_line(warning.text), "")), 2)
    if len(warnings) > _WARNINGS_MOST:
        more = units.plural(len(warnings) - _WARNINGS_MOST, "more warning")
        yield Line(((f"{more}: see the report.", _QUIET),))


def _comparisons(summary: RunSummary) -> Iterator[Line]:
    """Yield a line for each run with which the run was compared: the verdict and its reasons."""
    for one in summary.compared:
        what = f"compared with {one.name} ({one.role}): "
        if one.problem:
            yield Line((("not ", _WARNING), (one_line(f"{what}{one.problem}"), "")), 2)
        else:
            rest = one_line(one.headline).removeprefix(one.verdict)
            yield Line(((what, ""), (one.verdict, _COMPARED_STYLES.get(one.verdict, "bold")), (rest, "")), 2)


def key_tables(parts: Sequence[Rows], width: int, text_width: Callable[[str], int]) -> tuple[ScreenTable, ...]:
    """Return a table of each part, with the same columns and widths, and with labels that fit."""
    if not parts:
        return ()
    narrowest = min((screen_table(part, KEY_COLUMNS, width, text_width).heads for part in parts), key=len)
    columns = [column for column in KEY_COLUMNS if column.title in narrowest]
    tables = [screen_table(part, columns, width, text_width) for part in parts]
    label_width, *widths = (max(each) for each in zip(*(table.widths for table in tables), strict=True))
    label_width = min(label_width, max(LABEL_LEAST, width - sum(widths) - GAP * len(widths)))
    return tuple(
        replace(
            table,
            widths=(label_width, *widths),
            rows=tuple((shortened(label, label_width, text_width), cells) for label, cells in table.rows),
        )
        for table in tables
    )


def shortened(text: str, width: int, text_width: Callable[[str], int] = len) -> str:
    """Return text that is at most `width` wide: an ellipsis replaces its middle, as both ends distinguish labels."""
    if text_width(text) <= width:
        return text
    room = width - 1
    head = _part(text, room - room // 2, text_width)
    tail = _part(text[::-1], room - text_width(head), text_width)[::-1]
    return f"{head}…{tail}"


def _part(text: str, width: int, text_width: Callable[[str], int]) -> str:
    """Return as much of the start of text as fits into `width`."""
    part = text[:width]
    while part and text_width(part) > width:
        part = part[:-1]
    return part
