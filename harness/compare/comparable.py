"""Check whether two sides are comparable: differences in plan and load, invalid runs, and warnings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace

from harness.base import units
from harness.base.errors import UsageError
from harness.compare.planning import RUNS_LEAST
from harness.compare.result import MARKDOWN, RunResult
from harness.metrics.ranks import least_p_value
from harness.plan.goal import Goal
from harness.plan.load import LoadRecord
from harness.report.goals import MOSTLY_ERRORS_RATIO
from harness.report.verdict import DOUBTFUL, INTERRUPTED
from harness.report.warnings import RunWarning, Severity, WarningCode
from harness.run.record import FINISHED, RunRecord

# A message lists at most this many runs; most comparisons have fewer.
_NAMED = 10
# Of more runs with other numbers in a warning only the first is quoted.
_TEXTS_MOST = 2


def check_sides(base: Sequence[RunResult], new: Sequence[RunResult]) -> None:
    """Raise UsageError when a side is empty or a run is given twice."""
    for side, name in ((base, "baseline"), (new, "contender")):
        if not side:
            raise UsageError(f"the {name} has no runs", "name one run or more on each side")
    seen: set[tuple[str, str]] = set()
    for result in (*base, *new):
        if result.run:
            key = result.run.id, result.run.started_at
            if key in seen:
                raise UsageError(f"{result.run.id} is named twice", "name each run once, on one of the sides")
            seen.add(key)


def mismatches(base: Sequence[RunResult], new: Sequence[RunResult]) -> list[str]:
    """Return the differences between the runs that make their metrics incomparable, as text."""
    found = []
    records = [result.run for result in (*base, *new) if result.run]
    sides = [[_must_be_alike(run.plan, run.load) for result in side if (run := result.run)] for side in (base, new)]
    if all(sides):
        found += _unlike(*sides)
    found += [f"{record.id} is still running, or was killed" for record in records if record.state != FINISHED]
    found += [
        f"{result.name} was interrupted"
        for result in (*base, *new)
        if result.verdict and result.verdict.state == INTERRUPTED
    ]
    kinds = {result.window.kind for result in (*base, *new) if result.window}
    if len(kinds) > 1:
        found.append(f"window: {' and '.join(sorted(kinds))}")
    return found


def unlike_request(base: RunRecord, plan: str, load: LoadRecord) -> list[str]:
    """Return the differences between a run and a requested one that make their metrics incomparable, as text."""
    return _unlike([_must_be_alike(base.plan, base.load)], [_must_be_alike(plan, load)])


def _unlike(base: Sequence[Mapping[str, str]], new: Sequence[Mapping[str, str]]) -> list[str]:
    found = []
    for name in dict.fromkeys(name for load in (*base, *new) for name in load):
        before, after = ([*dict.fromkeys(load.get(name, "none") for load in side)] for side in (base, new))
        if before != after or len(before) > 1:
            found.append(f"{name} is {' and '.join(before)} in the baseline, {' and '.join(after)} in the contender")
    return found


def _must_be_alike(plan: str, load: LoadRecord) -> dict[str, str]:
    """Return plan and load settings by name, as text."""
    plain = {name: value for name, value in asdict(replace(load, loads=None)).items() if value is not None}
    texts = {name: value if isinstance(value, str) else units.number_text(value) for name, value in plain.items()}
    return {"plan": plan, **texts, **{f"load {one.group}": one.text() for one in load.loads or ()}}


def invalid_reasons(base: Iterable[RunResult], new: Iterable[RunResult]) -> list[str]:
    """Return why response times must not be judged: runs that are invalid or have too many errors."""
    return [reason for result in (*base, *new) for reason in _invalid(result)]


def _invalid(result: RunResult) -> Iterator[str]:
    if result.is_invalid and result.verdict:
        yield f"{result.name} is {result.verdict.state}: {'; '.join(result.verdict.reasons)}"
        return
    whole = result.whole or result.total  # the plan's goal is checked over the whole run
    ratio = whole.error_ratio if whole else None
    goal = result.run.goal if result.run and not result.run.goal.has_default_errors else Goal()
    limit = MOSTLY_ERRORS_RATIO if goal.error_ratio is None else goal.error_ratio
    if ratio is not None and ratio > limit:
        percent, most = units.percent_text(ratio), units.percent_text(limit)
        yield f"{result.name} has {percent} % errors, more than {most} %: errors make response times meaningless"


def doubtful_reasons(base: Sequence[RunResult], new: Sequence[RunResult]) -> list[str]:
    """Return which runs are DOUBTFUL and why; runs with the same reasons share a line."""
    found: dict[str, list[str]] = {}
    for result in (*base, *new):
        if result.is_doubtful and result.verdict:
            found.setdefault("; ".join(result.verdict.reasons), []).append(result.name)
    return [
        f"{_listed(names)} {'is' if len(names) == 1 else 'are'} {DOUBTFUL}: {reasons}"
        for reasons, names in found.items()
    ]


def comparison_warnings(base: Sequence[RunResult], new: Sequence[RunResult], alpha: float) -> list[str]:
    """Return the warnings of a comparison as sentences, including every warning of both sides."""
    found = [*_of_numbers(len(base), len(new), alpha), *_of_order(base, new), *_of_kinds((*base, *new))]
    found += [*_of_targets((*base, *new)), *profiling_warnings(base, new)]
    return [*found, *warnings_of([*base, *new])]


def profiling_warnings(base: Sequence[RunResult], new: Sequence[RunResult]) -> Iterator[str]:
    """Yield the warning that the runs of one side were profiled and those of the other were not."""
    kinds = [{result.run.is_profiled for result in side if result.run} for side in (base, new)]
    if all(kinds) and kinds[0] != kinds[1]:
        names: dict[bool, list[str]] = {True: [], False: []}
        for result in (*base, *new):
            if result.run:
                names[result.run.is_profiled].append(result.name)
        text = WarningCode.ONE_SIDE_PROFILED.text
        yield text.format(profiled=_listed(names[True]), others=_listed(names[False]))


def warnings_of(results: Sequence[RunResult]) -> list[str]:
    """Return the warnings of the runs, one line for all runs that have the same one.

    The plan's own warnings are first, for example that a stand-in replaces a system. Then come those that make a run
    DOUBTFUL. A run may have a warning several times, such as one of each machine. Notes are left out: they apply to
    nearly all runs.
    """
    of_plan = dict.fromkeys(one.text for run in results for one in run.warnings if one.code == WarningCode.PLAN)
    lines: dict[tuple[RunWarning, int], dict[str, list[str]]] = {}
    for result in results:
        seen = Counter[RunWarning]()
        for warning in dict.fromkeys(result.warnings):
            if warning.severity is not Severity.NOTE and warning.code != WarningCode.PLAN:
                kind = replace(warning, text="")
                lines.setdefault((kind, seen[kind]), {}).setdefault(warning.text, []).append(result.name)
                seen[kind] += 1
    doubtful_first = sorted(lines.items(), key=lambda line: line[0][0].severity is not Severity.DOUBTFUL)
    found = [*of_plan, *(line for _, texts in doubtful_first for line in _lines(texts))]
    return found + [f"{result.name}: {remark}" for result in results for remark in result.remarks]


def _lines(texts: Mapping[str, Sequence[str]]) -> list[str]:
    """Return one warning of several runs: each text if there are two, else that of the first run."""
    if len(texts) <= _TEXTS_MOST:
        return [f"{_listed(names)}: {text}" for text, names in texts.items()]
    (text, names), *others = texts.items()
    more = [name for _, other in others for name in other]
    return [f"{_listed(names)}: {text} {_listed(more)}: the same, with other numbers."]


def _listed(names: Iterable[str]) -> str:
    each = list(dict.fromkeys(names))
    more = len(each) - _NAMED
    return ", ".join(each[:_NAMED]) + (f" and {units.plural(more, 'more run')}" if more > 0 else "")


def _of_numbers(base_n: int, new_n: int, alpha: float) -> Iterator[str]:
    further = RUNS_LEAST - min(base_n, new_n)
    more = f"Make {units.plural(further, 'more run')} a side, alternating between the sides."
    if base_n == new_n == 1:
        yield (
            "One run against one: run-to-run noise is not measured. The intervals contain only the variation within "
            f"the runs; two runs of the same system differ by more. {more}"
        )
        return
    least = least_p_value(base_n, new_n)
    if least >= alpha:
        yield (
            f"{base_n} against {units.plural(new_n, 'run')}: even groups that do not overlap have p = {least:.3f}, so "
            f"no test can find a change. {more}"
        )
    elif further > 0:
        yield f"{base_n} against {units.plural(new_n, 'run')}: only changes far above the noise can be found. {more}"


def _of_order(base: Sequence[RunResult], new: Sequence[RunResult]) -> Iterator[str]:
    if len(base) < 2 or len(new) < 2:
        return
    before, after = ([result.origin_s for result in side if result.origin_s is not None] for side in (base, new))
    if before and after and (max(before) < min(after) or max(after) < min(before)):
        yield (
            "All runs of one side are older than those of the other: a machine that became slower in between "
            "looks like a change. Alternate the runs."
        )


def _of_kinds(results: Sequence[RunResult]) -> Iterator[str]:
    without = [result.name for result in results if result.run is None]
    if without:
        yield f"{', '.join(without)}: no run.json, so users, duration and system cannot be compared."
    if is_mixed(results):
        yield (
            "A Markdown report is compared with samples: its metrics may cover the whole run with its ramp-up, the "
            "others cover their windows only. Nothing is judged."
        )


def _of_targets(results: Sequence[RunResult]) -> Iterator[str]:
    targets = [result.name for result in results if result.run and not result.run.is_embedded]
    started = [result.name for result in results if result.run and result.run.is_embedded]
    if targets and started:
        yield (
            f"{', '.join(targets)} measured a TARGET with unknown settings, {', '.join(started)} a system that "
            "the harness started with known settings. Compare the settings by hand: one of them may cause the "
            "difference."
        )


def is_mixed(results: Iterable[RunResult]) -> bool:
    """Return whether Markdown reports are mixed with runs or JTLs, whose metrics cover another window."""
    kinds = {result.kind for result in results}
    return MARKDOWN in kinds and len(kinds) > 1
