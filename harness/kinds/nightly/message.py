"""The message about a nightly run, and whether it is due."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from harness.base import units
from harness.compare.render import cost_texts
from harness.kinds.nightly.answer import result_of
from harness.kinds.nightly.gate import NEW_ENVIRONMENT, NO_VALUE, OK, OTHER_WORK, REGRESSED, WARNED
from harness.kinds.nightly.outcome import LoadResult, NightlyResult
from harness.kinds.nightly.render import check_text, time_line
from harness.metrics.metric import Table, columns_of_runs
from harness.notify.message import Message
from harness.notify.settings import ALWAYS, CHANGED

# The states of a metric that a message names, worst first; those of runs come after the first.
_STATES = (WARNED, NO_VALUE, NEW_ENVIRONMENT, OTHER_WORK)
_METRICS = columns_of_runs(Table.BRIEF)


def is_due(when: str, verdict: str, before: str | None) -> bool:
    """Return whether a nightly run with this verdict is worth a message; `before` is the verdict of the last one.

    always; worse: it is not OK, or it is OK again; changed: its verdict is another one than before. The first nightly
    run, whose `before` is None, is compared with OK.
    """
    if when == ALWAYS:
        return True
    earlier = before or OK
    return verdict != earlier if when == CHANGED else (verdict, earlier) != (OK, OK)


def nightly_message(result: NightlyResult, link: str) -> Message:
    """Return the message about a nightly run: its headline, its worst finding, key metrics, time and commit.

    Of a load with profiles, it also reports what grew most inside the system, or which runs have profiles.
    """
    report_result, findings = result_of(result), list(_findings(result))
    worst, worst_load = findings[0] if findings else ("", None)
    more = f" (and {units.plural(len(findings) - 1, 'more finding')})" if len(findings) > 1 else ""
    load = worst_load or result.loads[0]
    inside = filter(None, [_inside(result, load)])
    lines = (f"{worst}{more}", _figures(result, load), *inside, time_line(result))
    return Message(f"{report_result.title}: {report_result.headline}", lines, link)


def _inside(result: NightlyResult, load: LoadResult) -> str:
    """Return what grew most inside the system, else which runs of a load have profiles; empty without any."""
    if load.growth:
        grown, date = load.growth.causes[0], load.growth.date
        costs = cost_texts(grown)
        return f"grew most since {date}: {grown.what}, {costs.baseline} → {costs.contender} per request"
    profiled = [one for one in result.outcomes if one.load == load.load and one.result and one.result.is_profiled]
    runs = ", ".join(one.run.run for one in profiled if one.run.run)
    return f"where the time went: see {runs} in the report" if runs else ""


def _findings(result: NightlyResult) -> Iterator[tuple[str, LoadResult | None]]:
    """Yield what is wrong or not judged, worst first, with the load that it concerns, if it is one."""
    yield from _of_checks(result, REGRESSED)
    for outcome in result.outcomes:
        if outcome.state != OK:
            of_it = next((load for load in result.loads if load.load == outcome.load), None)
            run = ", ".join(filter(None, (outcome.load.title, outcome.run.run)))
            yield f"{outcome.state}: {run}: {'; '.join(outcome.reasons) or 'unknown reason'}", of_it
    for label in result.missing_labels:
        yield f"NO LABEL: {label}: the suite judges it, but no run has it", None
    for problem in result.record.storage_problems:
        yield f"STORAGE: {problem}", None
    for state in _STATES:
        yield from _of_checks(result, state)


def _of_checks(result: NightlyResult, state: str) -> Iterator[tuple[str, LoadResult]]:
    for load in result.loads:
        for check in load.checks:
            if check.state == state:
                yield f"{state}: {load.load.title}: {check_text(check)}", load


def _figures(result: NightlyResult, load: LoadResult) -> str:
    """Return the key metrics of a load, the medians of its runs that are no failures; its other loads are counted."""
    outcomes = [one for one in result.outcomes if one.load == load.load and one.result and one.result.is_valid]
    totals = [one.result.total for one in outcomes if one.result and one.result.total]
    figures = []
    for metric in _METRICS:
        values = [value for value in map(metric.of, totals) if value is not None]
        if values:
            figures.append(f"{metric.name} {metric.mean_text(median(values))} {metric.unit}")
    others = len(result.loads) - 1
    more = f" (and {units.plural(others, 'other load')})" if others else ""
    return f"{load.load.title}: {', '.join(figures) or 'no run is valid'}{more}"
