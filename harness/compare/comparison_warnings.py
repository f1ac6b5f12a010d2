"""Find the warnings of a comparison: too few runs, their order, different sources, and the warnings of the runs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import fmean

from harness.base import units
from harness.compare.findings import figures_of, label_names, sample_count
from harness.compare.planning import RUNS_LEAST
from harness.compare.preconditions import is_mixed, names_text
from harness.compare.run_scatter import ASSUMED, RunScatter
from harness.judge.account.same_work import DOUBT_RATIO
from harness.judge.warnings import RunWarning, Severity, one_side_profiled, plan
from harness.metrics.figures import TOTAL
from harness.metrics.ranks import least_p_value
from harness.report.run_result import RunResult

# Answers of a label may be so many times as large as those of the other side; errors are of another size anyway.
_SIZE_MOST, _ERRORS_MOST = 1.5, 0.05
# Of more runs with other numbers in a warning only the first is quoted.
_TEXTS_MOST = 2


def comparison_warnings(
    baseline: Sequence[RunResult], contender: Sequence[RunResult], alpha: float, scatter: RunScatter | None
) -> list[str]:
    """Return the warnings of a comparison as sentences, including every warning of both sides."""
    return [
        *_of_labels(baseline, contender),
        *_of_sizes(baseline, contender),
        *numbers_warnings(len(baseline), len(contender), alpha, scatter),
        *_of_order(baseline, contender),
        *_of_sources((*baseline, *contender)),
        *profiling_warnings(baseline, contender),
        *warnings_of([*baseline, *contender]),
    ]


def profiling_warnings(baseline: Sequence[RunResult], contender: Sequence[RunResult]) -> Iterator[str]:
    """Yield the warning that the runs of one side were profiled and those of the other were not."""
    kinds = [{result.run.is_profiled for result in side if result.run} for side in (baseline, contender)]
    if all(kinds) and kinds[0] != kinds[1]:
        profiled, others = (
            names_text(one.name for one in (*baseline, *contender) if one.run and one.run.is_profiled is is_profiled)
            for is_profiled in (True, False)
        )
        yield one_side_profiled.WARNING.full_text.format(profiled=profiled, others=others)


def warnings_of(results: Sequence[RunResult]) -> list[str]:
    """Return the warnings of the runs, one line for all runs that have the same one.

    The plan's own warnings are first, for example that a stand-in replaces a system. Then come those that make a run
    DOUBTFUL. A run may have a warning several times, such as one of each machine. Notes are left out: they apply to
    nearly all runs.
    """
    of_plan = dict.fromkeys(one.text for run in results for one in run.warnings if one.code == plan.WARNING.code)
    lines: dict[tuple[RunWarning, int], dict[str, list[str]]] = {}
    for result in results:
        seen = Counter[RunWarning]()
        for warning in dict.fromkeys(result.warnings):
            if warning.severity is not Severity.NOTE and warning.code != plan.WARNING.code:
                kind = replace(warning, text="")
                lines.setdefault((kind, seen[kind]), {}).setdefault(warning.text, []).append(result.name)
                seen[kind] += 1
    doubtful_first = sorted(lines.items(), key=lambda line: line[0][0].severity is not Severity.DOUBTFUL)
    found = [*of_plan, *(line for _, texts in doubtful_first for line in _lines(texts))]
    return found + [f"{result.name}: {remark}" for result in results for remark in result.remarks]


def _lines(texts: Mapping[str, Sequence[str]]) -> list[str]:
    """Return one warning of several runs: each text if there are two, else that of the first run."""
    if len(texts) <= _TEXTS_MOST:
        return [f"{names_text(names)}: {text}" for text, names in texts.items()]
    (text, names), *others = texts.items()
    more = [name for _, other in others for name in other]
    return [f"{names_text(names)}: {text} {names_text(more)}: the same, with other numbers."]


def _of_labels(baseline: Sequence[RunResult], contender: Sequence[RunResult]) -> Iterator[str]:
    """Yield a warning when more than 1 % of TOTAL are requests that only one side has."""
    names = [label_names(side) for side in (baseline, contender)]
    shares = [
        _share_of_labels(side, [label for label in own if label not in others])
        for side, own, others in zip((baseline, contender), names, reversed(names), strict=True)
    ]
    if max(shares) > DOUBT_RATIO:
        percents = [units.percent_text(share) for share in shares]
        yield (
            f"TOTAL contains different requests: labels of one side only are {percents[0]} % of the baseline's samples "
            f"and {percents[1]} % of the contender's. Part of its change comes from the mix; compare label by label."
        )


def _share_of_labels(side: Sequence[RunResult], labels: Sequence[str]) -> float:
    """Return the share (0-1) of labels in the samples of TOTAL, which has no transactions; 0 when unknown."""
    all_count = sample_count(figures_of(side, TOTAL))
    counted = [one for label in labels for one in figures_of(side, label) if not one.is_transaction]
    return (sample_count(counted) or 0) / all_count if all_count else 0.0


def numbers_warnings(
    baseline_n: int, contender_n: int, alpha: float, scatter: RunScatter | None = ASSUMED
) -> Iterator[str]:
    """Yield the warning that the rank test needs more runs; `scatter` is that of single runs, if it counts."""
    further = RUNS_LEAST - min(baseline_n, contender_n)
    more = f"Make {units.plural(further, 'more run')} a side, alternating between the sides."
    if baseline_n == contender_n == 1:
        why = scatter.text if scatter else "their intervals contain only the variation within the runs"
        yield f"One run against one: {why}. {more}"
        return
    least = least_p_value(baseline_n, contender_n)
    if least >= alpha:
        yield (
            f"{baseline_n} against {units.plural(contender_n, 'run')}: even groups that do not overlap have "
            f"p = {least:.3f}, so no test can find a change. {more}"
        )
    elif further > 0:
        numbers = f"{baseline_n} against {units.plural(contender_n, 'run')}"
        yield f"{numbers}: only changes far above the noise can be found. {more}"


def _of_order(baseline: Sequence[RunResult], contender: Sequence[RunResult]) -> Iterator[str]:
    if len(baseline) < 2 or len(contender) < 2:
        return
    begun = [[result.origin_s for result in side if result.origin_s is not None] for side in (baseline, contender)]
    if all(begun) and (max(begun[0]) < min(begun[1]) or max(begun[1]) < min(begun[0])):
        yield (
            "All runs of one side are older than those of the other: a machine that became slower in between "
            "looks like a change. Alternate the runs."
        )


def _of_sources(results: Sequence[RunResult]) -> Iterator[str]:
    without = [result.name for result in results if result.run is None]
    if without:
        yield f"{', '.join(without)}: no run.json, so users, duration and system cannot be compared."
    if is_mixed(results):
        yield (
            "A report or a summary without samples is compared with samples: its metrics may cover the whole run with "
            "its ramp-up, the others cover their windows only. Nothing is judged."
        )
    targets = [result.name for result in results if result.run and not result.run.is_embedded]
    started = [result.name for result in results if result.run and result.run.is_embedded]
    if targets and started:
        yield (
            f"{', '.join(targets)} measured a --target with unknown settings, {', '.join(started)} a system that "
            "the harness started with known settings. Compare the settings by hand: one of them may cause the "
            "difference."
        )


def _of_sizes(baseline: Sequence[RunResult], contender: Sequence[RunResult]) -> Iterator[str]:
    """Yield the label whose answers differ most in size: they are compressed, or another page."""
    if is_mixed((*baseline, *contender)):
        return
    before, after = _sizes(baseline), _sizes(contender)
    ratios = {label: after[label] / size for label, size in before.items() if after.get(label)}
    far = [label for label, ratio in ratios.items() if max(ratio, 1 / ratio) > _SIZE_MOST]
    if far:
        label = max(far, key=lambda one: abs(math.log(ratios[one])))
        more = f", and {units.plural(len(far) - 1, 'more label')}" if len(far) > 1 else ""
        sizes = " → ".join(f"{side[label]:,.0f}" for side in (before, after))
        yield (
            f"Answers have another size: {label} {sizes} bytes on average{more}. Are they compressed, or another page? "
            "Then the change is in part one of the work."
        )


def _sizes(side: Sequence[RunResult]) -> Mapping[str, float]:
    """Return the mean size of the answers of each label, bytes; without labels of which more than a few failed."""
    sizes = dict[str, list[float]]()
    for one in (label for run in side for label in run.labels if not (label.is_transaction or label.is_job)):
        if one.received_bytes_per_s and one.rate_per_s and (one.error_ratio or 0.0) <= _ERRORS_MOST:
            sizes.setdefault(one.label, []).append(one.received_bytes_per_s / one.rate_per_s)
    return {label: fmean(values) for label, values in sizes.items()}
