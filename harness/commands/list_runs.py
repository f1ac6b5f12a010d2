"""`lth list`: list the newest runs with verdict, load and key metrics; of one plan also how p95 went."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from harness.base.config import did_you_mean
from harness.base.errors import EXIT_OK, UsageError
from harness.base.log import emit
from harness.base.plain_text import one_line
from harness.base.units import parse_whole_number
from harness.cli.options import take, take_argument
from harness.history.catalogue import Entry
from harness.history.files import entries_at
from harness.judge.result import Tone
from harness.judge.verdict import DOUBTFUL, VALID
from harness.metrics.metric import ERRORS, P95, THROUGHPUT
from harness.report.export import json_text
from harness.report.first_screen import SHAPES
from harness.report.screen import TONE_STYLES
from harness.report.setup import users_text
from harness.run.jmeter.progress_line import sparkline
from harness.run.kinds import short_name
from harness.run.newest_files import newest_runs

_MOST = 1_000_000
_SHOWN = (THROUGHPUT, P95, ERRORS)
_HEADS = ("run", "age", "verdict", "users", *(metric.title for metric in _SHOWN), "goal")
_LEFT = (0, 2, 7)
_GAP = "  "
_EPILOG = """\
examples:
  lth list                           the ten newest runs of all plans
  lth list shop -n 30                the newest 30 of a plan, and a sparkline of p95
  lth list --json | jq -r '.runs[] | select(.verdict != "VALID") | .run'

-1 is the newest run in every command that takes a run, -2 the one before: lth compare -2 -1.

exit codes: 0 success; 2 wrong use.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Set the options of `list`."""
    parser.description = "List the newest runs: age, verdict, users, throughput, p95, errors and goals."
    parser.epilog = _EPILOG
    take(parser, "plan/only last/list json reports")
    take_argument(parser, "plan/only", "?")


def run(options: argparse.Namespace) -> int:
    """Print the list and return the exit code."""
    most = parse_whole_number(options.last, "--last", 1, _MOST)
    paths = newest_runs(options.reports, options.plan)
    if options.plan and not paths:
        plans = sorted({path.parent.name for path in newest_runs(options.reports)})
        raise UsageError(
            f"{options.plan}: no run of this plan",
            f"{did_you_mean(options.plan, plans)}there are runs of: {', '.join(plans) or 'no plan'}",
        )
    entries = entries_at(options.reports, paths[:most])
    if options.json:
        left_out = len(paths) - len(entries)
        emit(json_text({"format_version": 1, "runs": [_plain(one) for one in entries], "left_out_count": left_out}))
        return EXIT_OK
    console = Console(highlight=False)
    for line in _lines(entries, len(paths), datetime.now(UTC), is_of_one=bool(options.plan)):
        console.print(line, soft_wrap=True)
    return EXIT_OK


def _lines(entries: Sequence[Entry], count: int, now: datetime, *, is_of_one: bool) -> Iterator[Text]:
    if not entries:
        yield Text("No runs yet: lth run makes one.")
        return
    rows = [_HEADS, *(_cells(one, now) for one in entries)]
    widths = [max(cell_len(row[column]) for row in rows) for column in range(len(_HEADS))]
    for row, entry in zip(rows, (None, *entries), strict=True):
        line = Text(style="" if entry else "bold")
        for column, (text, width) in enumerate(zip(row, widths, strict=True)):
            blanks = " " * (width - cell_len(text))
            line.append(text + blanks if column in _LEFT else blanks + text, _style(entry, column))
            line.append(_GAP)
        line.rstrip()
        yield line
    if is_of_one and (trend := _trend(entries)):
        yield Text(trend)
    if count > len(entries):
        yield Text(f"{count - len(entries):,} more: lth list -n {count}", style="dim")


def _cells(entry: Entry, now: datetime) -> tuple[str, ...]:
    total = entry.result.total if entry.result else None
    values = (metric.of(total) if total else None for metric in _SHOWN)
    texts = (
        f"{entry.plan}/{short_name(entry.name)}",
        _age(entry.started_at, now),
        f"{SHAPES[_tone(entry)]} {_state(entry)}".lstrip(),
        users_text(entry.run.load) if entry.run else "",
        *("" if value is None else metric.text(value) for metric, value in zip(_SHOWN, values, strict=True)),
        _goal(entry),
    )
    return tuple(map(one_line, texts))


def _state(entry: Entry) -> str:
    verdict = entry.result.verdict if entry.result else None
    return verdict.state if verdict else "no metrics" if entry.result is None else "not judged"


def _goal(entry: Entry) -> str:
    verdict = entry.result.verdict if entry.result else None
    if verdict and verdict.goals_missed:
        return "missed"
    return "met" if verdict and verdict.goals_met else ""


def _tone(entry: Entry) -> Tone:
    return entry.result.stated.tone if entry.result else Tone.NONE


def _style(entry: Entry | None, column: int) -> str:
    if entry is None:
        return ""
    if _HEADS[column] == "verdict":
        return TONE_STYLES[_tone(entry)]
    return TONE_STYLES[Tone.BAD] if _HEADS[column] == "goal" and _goal(entry) == "missed" else ""


def _age(started_at: str, now: datetime) -> str:
    """Return how long ago a run started, in its largest whole unit: 3 h."""
    try:
        seconds = (now - datetime.fromisoformat(started_at)).total_seconds()
    except ValueError:
        return ""
    for unit, length_s in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= length_s:
            return f"{seconds // length_s:,.0f} {unit}"
    return f"{max(0.0, seconds):.0f} s"


def _trend(entries: Sequence[Entry]) -> str:
    """Return p95 of the listed runs with the load of the newest one, oldest first; empty for fewer than two."""
    load = next((one.run.load for one in entries if one.run), None)
    alike = [one.result for one in reversed(entries) if one.run and one.run.load == load]
    judged = [one for one in alike if one and one.total and one.verdict and one.verdict.state in (VALID, DOUBTFUL)]
    values = [value for one in judged if one.total and (value := P95.of(one.total)) is not None]
    if len(values) < 2:
        return ""
    ends = f"{P95.text(min(values))} to {P95.text(max(values))} ms"
    return f"{P95.name}, oldest first: {sparkline(values)}  {ends} in {len(values)} runs with the newest run's load"


def _plain(entry: Entry) -> dict[str, object]:
    total, verdict = (entry.result.total, entry.result.verdict) if entry.result else (None, None)
    load = entry.run.load if entry.run else None
    return {
        "run": entry.id,
        "started_at": entry.started_at or None,
        "verdict": verdict.state if verdict else None,
        "reasons": list(verdict.reasons) if verdict else [],
        "users": load.users if load else None,
        "arrivals_per_s": load.rate_per_s if load else None,
        **{metric.key: metric.of(total) if total else None for metric in _SHOWN},
        "goals_met": list(verdict.goals_met) if verdict else [],
        "goals_missed": list(verdict.goals_missed) if verdict else [],
        "problem": entry.problem or None,
    }
