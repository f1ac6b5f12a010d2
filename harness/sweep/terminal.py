"""Renders terminal output of a sweep: one line per run, and the steps and result of a capacity search."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from harness.base import units
from harness.compare.comparison import CANNOT_TELL
from harness.compare.result import RunResult
from harness.metrics.metric import Table, columns_of_runs
from harness.plan.goal import Goal
from harness.report.tables import table
from harness.sweep.search import Capacity, Probe

_METRICS = columns_of_runs(Table.BRIEF)
_STEP_COLUMNS = ("run", "users", "samples", *(metric.title for metric in _METRICS), "within the goal")


def steps_table(probes: Sequence[Probe], results: Sequence[RunResult], unsure: Collection[int] = ()) -> str:
    """Return the Markdown table of a search's runs in order; `unsure` are undecided levels."""
    rows = []
    for probe, result in zip(probes, results, strict=True):
        figures = [""] * (1 + len(_METRICS))
        if total := result.total:
            figures = [str(total.sample_count), *(metric.text(metric.of(total)) for metric in _METRICS)]
        within = "cannot tell" if probe.users in unsure else "yes" if probe.within else "no"
        rows.append([result.name.rpartition("/")[2], str(probe.users), *figures, within])
    return table(_STEP_COLUMNS, rows)


def goal_text(goal: Goal) -> str:
    """Return a goal as text, such as: average up to 500 ms, errors up to 1.00 %."""
    times = ((metric.phrase, limit) for metric, limit in goal.of_metrics.items() if metric.is_time)
    parts = [f"{phrase} up to {units.ms_text(limit)} ms" for phrase, limit in times]
    if goal.each_average_ms is not None:
        parts.append(f"each label's average up to {units.ms_text(goal.each_average_ms)} ms")
    if goal.error_ratio is not None:
        default = " (the default)" if goal.has_default_errors else ""
        parts.append(f"errors up to {units.percent_text(goal.error_ratio)} %{default}")
    parts += [rule.text for rule in goal.rules]
    return ", ".join(parts)


def capacity_text(found: Capacity, goal: Goal, why: str = "") -> str:
    """Return the result of a search in one line; `why` is the reason for an undecided upper end."""
    within = goal_text(goal)
    at = units.plural(found.missed_users or 1, "user")
    if found.users is None and found.is_unsure:
        text = f"{CANNOT_TELL} whether {at} {'is' if found.missed_users == 1 else 'are'} within {within}"
    elif found.users is None:
        text = f"not even {at} within {within}"
    else:
        least = "" if found.missed_users and not found.is_unsure else "at least "
        text = f"{least}{units.plural(found.users, 'user')} within {within}"
    runs = f"{found.runs_within} of {units.plural(found.run_count, 'run')} within" if found.users else ""
    run_count = units.plural(found.missed_run_count, "run")
    if found.is_unsure:
        missed = f"{CANNOT_TELL} at {at} after {run_count}: {why}"
        missed += "" if "DOUBTFUL" in why else "; measure longer (DURATION=…)"
    elif found.missed_users:
        missed_count = found.missed_run_count - found.missed_runs_within
        missed = f"{found.missed_users} missed in {missed_count} of {run_count}"
    else:
        missed = "no level missed up to the maximum"
    text += f" ({'; '.join(part for part in (runs, missed) if part)})"
    return text if found.is_settled else f"{text}; the search is not finished"
