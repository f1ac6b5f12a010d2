"""Check whether two sides may be compared and judged: the same plan and load, no invalid or DOUBTFUL run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace

from harness.base import units
from harness.base.errors import UsageError
from harness.judge.goals import MOSTLY_ERRORS_RATIO
from harness.judge.verdict import DOUBTFUL, INTERRUPTED
from harness.plan.goal import Goal
from harness.plan.job import JobRecord
from harness.plan.load.model import LOAD_TITLES, LoadRecord
from harness.report.run_result import MARKDOWN, SUMMARY, RunResult
from harness.run.record import FINISHED, RunRecord

# A message lists at most this many runs; most comparisons have fewer.
_NAMED = 10


def check_sides(baseline: Sequence[RunResult], contender: Sequence[RunResult]) -> None:
    """Raise UsageError when a side is empty or a run is given twice, or a copy of the file of one."""
    for side, name in ((baseline, "baseline"), (contender, "contender")):
        if not side:
            raise UsageError(f"the {name} has no runs", "name one run or more on each side")
    seen: set[tuple[str, str]] = set()
    for result in (*baseline, *contender):
        if result.run:
            key = result.run.id, result.run.started_at
            if key in seen:
                raise UsageError(f"{result.run.id} is named twice", "name each run once, on one of the sides")
            seen.add(key)
    _refuse_copies([*baseline, *contender])


def _refuse_copies(results: Iterable[RunResult]) -> None:
    """Raise UsageError when two files have the same samples: copies do not scatter, and would be repeats of one run."""
    seen: dict[tuple[int, frozenset[tuple[int, int]]], str] = {}
    for result in results:
        counted = result.total.histogram if result.total else None
        if result.run or result.origin_s is None or not counted:
            continue
        key = result.origin_s, frozenset(counted.counts.items())
        if key in seen:
            raise UsageError(f"{result.name}: has the samples of {seen[key]}", "a copy is no other run: leave one out")
        seen[key] = result.name


def mismatches(baseline: Sequence[RunResult], contender: Sequence[RunResult]) -> list[str]:
    """Return the differences between the runs that make their metrics incomparable, as text."""
    problems = []
    records = [result.run for result in (*baseline, *contender) if result.run]
    sides = [
        [_must_be_alike(run.plan, run.load, run.jobs) for one in side if (run := one.run)]
        for side in (baseline, contender)
    ]
    if all(sides):
        problems += _unlike(*sides)
    problems += [f"{record.id} is still running, or was killed" for record in records if record.state != FINISHED]
    problems += [
        f"{result.name} was interrupted"
        for result in (*baseline, *contender)
        if result.verdict and result.verdict.state == INTERRUPTED
    ]
    kinds = {result.window.kind for result in (*baseline, *contender) if result.window}
    if len(kinds) > 1:
        problems.append(f"window: {' and '.join(sorted(kinds))}")
    return problems


def unlike_request(baseline: RunRecord, plan: str, load: LoadRecord) -> list[str]:
    """Return the differences between a run and a requested one that make their metrics incomparable, as text."""
    return _unlike([_must_be_alike(baseline.plan, baseline.load)], [_must_be_alike(plan, load)])


def _unlike(*sides: Sequence[Mapping[str, str]]) -> list[str]:
    unlike = []
    for name in dict.fromkeys(name for side in sides for load in side for name in load):
        baseline, contender = ([*dict.fromkeys(load.get(name, "none") for load in side)] for side in sides)
        if baseline != contender or len(baseline) > 1:
            values = f"{' and '.join(baseline)} in the baseline, {' and '.join(contender)} in the contender"
            unlike.append(f"{LOAD_TITLES.get(name, name)}: {values}")
    return unlike


def _must_be_alike(plan: str, load: LoadRecord, jobs: Sequence[JobRecord] = ()) -> dict[str, str]:
    plain = {name: value for name, value in asdict(replace(load, loads=None)).items() if value is not None}
    texts = {name: value if isinstance(value, str) else units.number_text(value) for name, value in plain.items()}
    own = {f"load {one.group}": one.text() for one in load.loads or ()}
    return {"plan": plan, **texts, **own, **{f"job {one.name}": one.text for one in jobs}}


def invalid_reasons(baseline: Iterable[RunResult], contender: Iterable[RunResult]) -> list[str]:
    """Return why response times must not be judged: runs that are invalid or have too many errors."""
    return [reason for result in (*baseline, *contender) for reason in _invalid(result)]


def _invalid(result: RunResult) -> Iterator[str]:
    if result.is_invalid and result.verdict:
        yield f"{result.name} is {result.verdict.state}: {'; '.join(result.verdict.reasons)}"
        return
    whole = result.whole or result.total  # the plan's goal is checked over the whole run
    if whole and whole.sample_count == 0:
        yield f"{result.name} has no request: nothing was measured"
        return
    ratio = whole.error_ratio if whole else None
    goal = result.run.goal if result.run and not result.run.goal.has_default_errors else Goal()
    limit = MOSTLY_ERRORS_RATIO if goal.error_ratio is None else goal.error_ratio
    if ratio is not None and ratio > limit:
        percent, most = units.percent_text(ratio), units.percent_text(limit)
        yield f"{result.name} has {percent} % errors, more than {most} %: errors make response times meaningless"


def doubtful_reasons(baseline: Sequence[RunResult], contender: Sequence[RunResult]) -> list[str]:
    """Return which runs are DOUBTFUL and why; runs with the same reasons share a line."""
    by_reason: dict[str, list[str]] = {}
    for result in (*baseline, *contender):
        if result.is_doubtful and result.verdict:
            by_reason.setdefault("; ".join(result.verdict.reasons), []).append(result.name)
    return [
        f"{names_text(names)} {'is' if len(names) == 1 else 'are'} {DOUBTFUL}: {reasons}"
        for reasons, names in by_reason.items()
    ]


def names_text(names: Iterable[str]) -> str:
    """Return the names of runs as a list, and the number of those beyond the first ten."""
    each = list(dict.fromkeys(names))
    more = len(each) - _NAMED
    return ", ".join(each[:_NAMED]) + (f" and {units.plural(more, 'more run')}" if more > 0 else "")


def is_mixed(results: Iterable[RunResult]) -> bool:
    """Return whether Markdown reports or summaries are mixed with runs or JTLs, whose metrics cover another window."""
    kinds = {result.kind for result in results}
    return bool({MARKDOWN, SUMMARY} & kinds) and len(kinds) > 1
