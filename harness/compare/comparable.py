"""Whether two sides may be compared at all: what differs that must not, what makes a side invalid, and its warnings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace

from harness.base import units
from harness.base.errors import UsageError
from harness.compare.planning import RUNS_LEAST
from harness.compare.result import MARKDOWN, RunResult
from harness.metrics.ranks import least_p_value
from harness.report.verdict import DOUBTFUL, INTERRUPTED, MOSTLY_ERRORS_RATIO
from harness.report.warnings import RunWarning, Severity, WarningCode
from harness.run.record import FINISHED, RunRecord

# More runs than a comparison of two groups usually has on both sides together.
_NAMED = 10


def check_sides(base: Sequence[RunResult], new: Sequence[RunResult]) -> None:
    """Raise UsageError where a side is empty, or a run stands on both sides or twice on one: that is no second run."""
    for side, name in ((base, "baseline"), (new, "contender")):
        if not side:
            raise UsageError(f"no run as the {name}", "name one run or more on each side")
    seen: set[tuple[str, str]] = set()
    for result in (*base, *new):
        if result.run:
            key = result.run.id, result.run.started_at
            if key in seen:
                raise UsageError(f"{result.run.id} is named twice", "name each run once, on one of the sides")
            seen.add(key)


def mismatches(base: Sequence[RunResult], new: Sequence[RunResult]) -> list[str]:
    """Return in words what must be alike for figures to be comparable, and is not."""
    found = []
    records = [result.run for result in (*base, *new) if result.run]
    sides = [[_must_be_alike(result.run) for result in side if result.run] for side in (base, new)]
    if all(sides):
        for name in dict.fromkeys(name for side in sides for load in side for name in load):
            before, after = ([*dict.fromkeys(load.get(name, "none") for load in side)] for side in sides)
            if before != after or len(before) > 1:
                found.append(f"{name} {' and '.join(before)} against {' and '.join(after)}")
    found += [f"{record.id} is still going on, or was killed" for record in records if record.state != FINISHED]
    found += [
        f"{result.name} was interrupted"
        for result in (*base, *new)
        if result.verdict and result.verdict.state == INTERRUPTED
    ]
    kinds = {result.window.kind for result in (*base, *new) if result.window}
    if len(kinds) > 1:
        found.append(f"window: {' and '.join(sorted(kinds))}")
    return found


def _must_be_alike(run: RunRecord) -> dict[str, str]:
    """Return plan and load by name, as texts."""
    load = {name: value for name, value in asdict(run.load).items() if value is not None}
    texts = {name: value if isinstance(value, str) else units.number_text(value) for name, value in load.items()}
    return {"plan": run.plan, **texts}


def invalid_reasons(base: Iterable[RunResult], new: Iterable[RunResult]) -> list[str]:
    """Return why speed must not be judged: runs that are invalid, or have more errors than they may."""
    return [reason for result in (*base, *new) for reason in _invalid(result)]


def _invalid(result: RunResult) -> Iterator[str]:
    if result.is_invalid and result.verdict:
        yield f"{result.name} is {result.verdict.state}: {'; '.join(result.verdict.reasons)}"
        return
    whole = result.whole or result.total  # as the plan's goal has it
    ratio = whole.error_ratio if whole else None
    goal = result.run.goal.error_ratio if result.run else None
    limit = MOSTLY_ERRORS_RATIO if goal is None else goal
    if ratio is not None and ratio > limit:
        percent, most = units.percent_text(ratio), units.percent_text(limit)
        yield f"{result.name} has {percent} % errors, more than {most} %: a fast error is no speed"


def doubtful_reasons(base: Sequence[RunResult], new: Sequence[RunResult]) -> list[str]:
    """Return which runs are DOUBTFUL and why; runs with the same reasons share a sentence."""
    found: dict[str, list[str]] = {}
    for result in (*base, *new):
        if result.is_doubtful and result.verdict:
            found.setdefault("; ".join(result.verdict.reasons), []).append(result.name)
    return [
        f"{_listed(names)} {'is' if len(names) == 1 else 'are'} {DOUBTFUL}: {reasons}"
        for reasons, names in found.items()
    ]


def comparison_warnings(base: Sequence[RunResult], new: Sequence[RunResult], alpha: float) -> list[str]:
    """Return what must be known of a comparison, in sentences: every warning of both sides is among them."""
    found = [*_of_numbers(len(base), len(new), alpha), *_of_order(base, new), *_of_kinds((*base, *new))]
    return [*found, *_of_targets((*base, *new)), *warnings_of([*base, *new])]


def warnings_of(results: Sequence[RunResult]) -> list[str]:
    """Return the warnings of the runs, one line for all runs that have the same one.

    First what the plan says of its own figures, such as that a stand-in replaces a system; then those that make a run
    DOUBTFUL. Notes are left out: they are true of nearly all runs.
    """
    of_plan = dict.fromkeys(one.text for run in results for one in run.warnings if one.code == WarningCode.PLAN)
    lines: dict[RunWarning, dict[str, list[str]]] = {}
    for result in results:
        for warning in result.warnings:
            if warning.severity is not Severity.NOTE and warning.code != WarningCode.PLAN:
                lines.setdefault(replace(warning, text=""), {}).setdefault(warning.text, []).append(result.name)
    doubtful_first = sorted(lines.items(), key=lambda line: line[0].severity is not Severity.DOUBTFUL)
    found = [*of_plan, *(_line(texts) for _, texts in doubtful_first)]
    return found + [f"{result.name}: {remark}" for result in results for remark in result.remarks]


def _line(texts: Mapping[str, Sequence[str]]) -> str:
    """Return one warning of several runs, in the text of the first run where their figures differ."""
    (text, names), *others = texts.items()
    more = list(dict.fromkeys(name for _, other in others for name in other if name not in names))
    same = f" {_listed(more)}: the same, with other figures." if more else ""
    return f"{_listed(names)}: {text}{same}"


def _listed(names: Iterable[str]) -> str:
    each = list(dict.fromkeys(names))
    more = len(each) - _NAMED
    return ", ".join(each[:_NAMED]) + (f" and {units.plural(more, 'more run')}" if more > 0 else "")


def _of_numbers(base_n: int, new_n: int, alpha: float) -> Iterator[str]:
    further = RUNS_LEAST - min(base_n, new_n)
    more = f"Make {units.plural(further, 'more run')} a side, one of each in turn."
    if base_n == new_n == 1:
        yield (
            "One run against one: run-to-run noise is unseen. The intervals hold what varies within the runs; two runs "
            f"of one and the same system differ by more. {more}"
        )
        return
    least = least_p_value(base_n, new_n)
    if least >= alpha:
        yield (
            f"{base_n} against {units.plural(new_n, 'run')}: even groups that do not overlap have p = {least:.3f}, so "
            f"that no test can show anything. {more}"
        )
    elif further > 0:
        yield f"{base_n} against {units.plural(new_n, 'run')}: only changes far above the noise can be seen. {more}"


def _of_order(base: Sequence[RunResult], new: Sequence[RunResult]) -> Iterator[str]:
    if len(base) < 2 or len(new) < 2:
        return
    before, after = ([result.origin_s for result in side if result.origin_s is not None] for side in (base, new))
    if before and after and (max(before) < min(after) or max(after) < min(before)):
        yield (
            "All runs of one side were made before those of the other: a machine that became slower meanwhile "
            "looks like a change. Make them in turn."
        )


def _of_kinds(results: Sequence[RunResult]) -> Iterator[str]:
    without = [result.name for result in results if result.run is None]
    if without:
        yield (
            f"Of {', '.join(without)} no run.json is known: whether users, duration and system were the same cannot be "
            "checked."
        )
    if is_mixed(results):
        yield (
            "A Markdown report stands against samples: its figures may be of a whole run with its ramp, those of the "
            "others are of their windows. Nothing is judged."
        )


def _of_targets(results: Sequence[RunResult]) -> Iterator[str]:
    targets = [result.name for result in results if result.run and not result.run.is_embedded]
    started = [result.name for result in results if result.run and result.run.is_embedded]
    if targets and started:
        yield (
            f"{', '.join(targets)} drove a TARGET, whose settings are not known here, and {', '.join(started)} a "
            "system that was started here with the settings of its set-up. Compare these by hand: a setting may make "
            "the difference."
        )


def is_mixed(results: Iterable[RunResult]) -> bool:
    """Return whether Markdown reports stand beside runs or JTLs, whose figures count other seconds."""
    kinds = {result.kind for result in results}
    return MARKDOWN in kinds and len(kinds) > 1
