"""Whether both sides of a comparison are the same work: their labels and shares, answers, users, and rows left out.

TOTAL of other work is no comparison: a system that no longer gets its slowest request seems faster.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import NamedTuple, Protocol

from harness.base import units
from harness.judge.account import AccountLine, line_of, same_work
from harness.judge.account.same_work import DOUBT_RATIO, Work, lone_labels, moved_ratio, sides_of
from harness.metrics.figures import is_of_http
from harness.plan.load import CLOSED
from harness.report.run_result import LabelResult, RunResult
from harness.report.setup import load_text

# The shares of the labels may differ by so much, beyond chance: half of the sum of their differences.
_MIX_MOST = 0.05
# The other shares alone may change the average of TOTAL by so much, beyond three standard errors of groups of requests.
_AVERAGE_MOST, _ERRORS = 0.03, 4.5
# A greater difference of users, and of throughput in the same direction, is another load.
_LOAD_MOST = 0.1
# Users are constant if their most are at most so far above their mean.
_CONSTANT_USERS = 0.02
# Of the successes of a label so many may have codes of another class, beyond chance.
_ANSWERS_MOST = 0.05
# Accepted, and not done yet; a part of the content.
_UNFINISHED = ("202", "206")
# A side may leave out so much more of its rows than the other.
_LEFT_OUT_MOST = 0.01


@dataclass(frozen=True)
class OtherWork:
    """How the work of the contender differs from that of the baseline, as texts; all empty when it is the same.

    `lost` are requests that runs of one plan no longer send: a regression; `gone` are their labels. `of_total` is why
    TOTAL and the rates of labels cannot be compared, `of_all` why nothing can, `of_labels` why some labels cannot.
    """

    lost: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    of_total: tuple[str, ...] = ()
    of_all: tuple[str, ...] = ()
    of_labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def texts(self) -> tuple[str, ...]:
        """All texts, what weighs most first."""
        return (*self.lost, *self.of_all, *self.of_total, *self.of_answers)

    @property
    def of_answers(self) -> tuple[str, ...]:
        """The first label of which both sides have other answers."""
        return _shortened([*self.of_labels.values()]) if self.of_labels else ()


class HasLabels(Protocol):
    """A run with its labels."""

    @property
    def labels(self) -> Sequence[LabelResult]:
        """The labels of its main load."""


def other_labels(baseline: Sequence[HasLabels], contender: Sequence[HasLabels]) -> tuple[str, ...]:
    """Return how the labels of two sides and their shares differ, as texts; empty when they do not."""
    sides = (Work(_counts(baseline)), Work(_counts(contender)))
    if not all(side.sample_count for side in sides):
        return ()
    return _lone(*sides).texts or tuple(_mix(*sides, _averages_ms(baseline)))


class _Lone(NamedTuple):
    """The labels that only one side has, their shares of each side's samples, and a text where they matter."""

    gone: Sequence[str]
    shares: Sequence[float]
    texts: tuple[str, ...]


def _lone(baseline: Work, contender: Work) -> _Lone:
    gone, new = lone_labels(baseline, contender), lone_labels(contender, baseline)
    shares = [sum(map(baseline.share, gone)), sum(map(contender.share, new))]
    texts = [*(f"{label}: {_samples(baseline.sample_counts[label])} → none" for label in gone),
             *(f"{label}: none → {_samples(contender.sample_counts[label])}" for label in new)]  # fmt: skip
    return _Lone(gone, shares, _shortened(texts) if max(shares) > DOUBT_RATIO else ())


def other_work(baseline: Sequence[RunResult], contender: Sequence[RunResult]) -> OtherWork:
    """Return how the work of two sides differs."""
    sides = (Work(_counts(baseline)), Work(_counts(contender)))
    of_all = (*_load(baseline, contender), *_left_out(baseline, contender))
    if not all(side.sample_count for side in sides):
        return OtherWork(of_all=of_all)
    of_labels = dict(_answers(baseline, contender, sides))
    gone, shares, shortened = _lone(*sides)
    if not shortened:
        return OtherWork((), (), tuple(_mix(*sides, _averages_ms(baseline))), of_all, of_labels)
    # A renamed label is gone on one side and new on the other.
    is_lost = _is_one_plan(baseline, contender) and shares[0] > DOUBT_RATIO and shares[1] < shares[0] / 2
    return OtherWork(shortened if is_lost else (), tuple(gone) if is_lost else (), shortened, of_all, of_labels)


def _counts(side: Sequence[HasLabels]) -> Mapping[str, int]:
    """Return the samples of each request in all runs of a side; empty when a count is unknown."""
    counts: dict[str, int] = {}
    for label in (label for run in side for label in run.labels if not (label.is_transaction or label.is_job)):
        if label.sample_count is None:
            return {}
        counts[label.label] = counts.get(label.label, 0) + label.sample_count
    return {label: count for label, count in counts.items() if count}


def _averages_ms(side: Sequence[HasLabels]) -> Mapping[str, float]:
    """Return the average (ms) of each label in the runs of a side."""
    values: dict[str, list[float]] = {}
    for label in (label for run in side for label in run.labels if label.average_ms is not None):
        values.setdefault(label.label, []).append(label.average_ms or 0.0)
    return {label: fmean(each) for label, each in values.items()}


def _mix(baseline: Work, contender: Work, averages_ms: Mapping[str, float]) -> Iterator[str]:
    """Yield the label whose share changed most, if the shares differ by more than chance and that matters for TOTAL."""
    if moved_ratio(baseline, contender) > _MIX_MOST or _changes_average(baseline, contender, averages_ms):
        labels = sorted({*baseline.sample_counts, *contender.sample_counts})
        most = max(labels, key=lambda label: abs(contender.share(label) - baseline.share(label)))
        parts = (units.percent_text(side.share(most), 0) for side in (baseline, contender))
        yield f"another mix: {most} is {' → '.join(parts)} % of the samples"


def _changes_average(baseline: Work, contender: Work, averages_ms: Mapping[str, float]) -> bool:
    """Return whether the shares alone change the average of TOTAL: slow requests are a larger or smaller part of it."""
    means_ms = [sum(side.share(label) * ms for label, ms in averages_ms.items()) for side in (baseline, contender)]
    if not means_ms[0]:
        return False
    deviation = math.sqrt(sum(baseline.share(label) * (ms - means_ms[0]) ** 2 for label, ms in averages_ms.items()))
    by_chance = _ERRORS * deviation * math.sqrt(1 / baseline.sample_count + 1 / contender.sample_count)
    return abs(means_ms[1] - means_ms[0]) - by_chance > _AVERAGE_MOST * means_ms[0]


def _answers(
    baseline: Sequence[RunResult], contender: Sequence[RunResult], sides: tuple[Work, Work]
) -> Iterator[tuple[str, str]]:
    """Yield the labels whose successes have codes of other classes, as 302 or 202 for 200, and the one with more."""
    before, after = _successes(baseline), _successes(contender)
    for label in before:
        if label not in after or max(side.share(label) for side in sides) <= DOUBT_RATIO:
            continue
        kinds = (Work(_by_class(before[label])), Work(_by_class(after[label])))
        if moved_ratio(*kinds) > _ANSWERS_MOST:
            codes = (Work(before[label]), Work(after[label]))
            most = max(after[label], key=lambda code: codes[1].share(code) - codes[0].share(code))
            parts = " → ".join(units.percent_text(side.share(most), 0) for side in codes)
            yield label, f"other answers: {most} is {parts} % of {label}"


def _successes(side: Sequence[RunResult]) -> Mapping[str, Mapping[str, int]]:
    """Return the successes of each label by their code of HTTP."""
    counts: dict[str, dict[str, int]] = {}
    codes = (code for run in side for code in run.codes if not code.is_transaction and is_of_http(code.code))
    for code in codes:
        if success_count := code.sample_count - code.error_count:
            of_label = counts.setdefault(code.label, {})
            of_label[code.code] = of_label.get(code.code, 0) + success_count
    return counts


def _by_class(counts: Mapping[str, int]) -> Mapping[str, int]:
    """Return counts by the first digit of their codes: 200, 201 and 204 are one answer, 202 and 206 are others."""
    kinds = Counter[str]()
    for code, count in counts.items():
        kinds[code if code in _UNFINISHED else code[0]] += count
    return kinds


def _load(baseline: Sequence[RunResult], contender: Sequence[RunResult]) -> Iterator[str]:
    """Yield that files without a record had other loads; of runs the records are compared, which lack timers."""
    is_of_runs = all(run.run for run in (*baseline, *contender))
    if is_of_runs and not _is_edited(baseline, contender):
        return
    users = [[run.users for run in side if run.users] for side in (baseline, contender)]
    rates = [
        [run.total.rate_per_s for run in side if run.total and run.total.rate_per_s] for side in (baseline, contender)
    ]
    if not all(users) or not all(rates):
        return
    before, after = map(fmean, users)
    rate_ratio = fmean(rates[1]) / fmean(rates[0])
    known = [run for run in (*baseline, *contender) if run.users and run.peak_users]
    is_constant = all((run.peak_users or 0) <= (run.users or 0) * (1 + _CONSTANT_USERS) for run in known)
    is_other = abs(after / before - 1) > _LOAD_MOST
    # In an open load the users follow the response times: then the throughput does not follow the users.
    is_cause = is_constant or (abs(rate_ratio - 1) > _LOAD_MOST and (rate_ratio > 1) == (after > before))
    if is_other and is_cause and not is_of_runs:
        yield f"another load: {' → '.join(f'{count:.1f}'.removesuffix('.0') for count in (before, after))} active users"
    elif is_constant and not is_other and abs(rate_ratio - 1) > _LOAD_MOST:
        yield from _pauses(baseline, contender, is_slower=rate_ratio < 1)


def _is_edited(baseline: Sequence[RunResult], contender: Sequence[RunResult]) -> bool:
    """Return whether closed loads of the sides have other files of the plan or properties: perhaps other timers."""
    records = [[run.run for run in side if run.run] for side in (baseline, contender)]
    sides = [{(run.source_hashes.get("plan"), str(run.properties)) for run in side} for side in records]
    is_closed = all(run.load.model == CLOSED and not run.load.loads for side in records for run in side)
    return is_closed and not sides[0] & sides[1]


def _pauses(baseline: Sequence[RunResult], contender: Sequence[RunResult], *, is_slower: bool) -> Iterator[str]:
    """Yield that constant users of one side paused longer: by Little's law, what is left of their time per request.

    A system that becomes slower changes the response times alone, and shortens the pauses of a timer that paces users.
    """
    rounds_ms, pauses_ms = [], []
    for side in (baseline, contender):
        known = [
            (run.users / run.total.rate_per_s * units.MS_PER_S, run.total.average_ms)
            for run in side
            if run.users and run.total and run.total.rate_per_s and run.total.average_ms is not None
        ]
        if not known:
            return
        rounds_ms.append(fmean(round_ms for round_ms, _ in known))
        pauses_ms.append(fmean(round_ms - average_ms for round_ms, average_ms in known))
    is_cause = (pauses_ms[1] > pauses_ms[0]) == is_slower
    if is_cause and abs(pauses_ms[1] - pauses_ms[0]) > _LOAD_MOST * max(rounds_ms):
        shown = " → ".join(units.average_text(max(0.0, ms)) for ms in pauses_ms)
        yield f"another load: users paused for {shown} ms per request"


def _left_out(baseline: Sequence[RunResult], contender: Sequence[RunResult]) -> Iterator[str]:
    """Yield that one side leaves out more of its rows, which are not random ones."""
    ratios = [max((run.dropped_ratio for run in side), default=0.0) for side in (baseline, contender)]
    if abs(ratios[1] - ratios[0]) > _LEFT_OUT_MOST:
        shown = " → ".join(units.percent_text(ratio, 1) for ratio in ratios)
        yield f"rows that could not be read: {shown} %"


def _is_one_plan(baseline: Sequence[RunResult], contender: Sequence[RunResult]) -> bool:
    plans = {run.run.plan if run.run else None for run in (*baseline, *contender)}
    return len(plans) == 1 and None not in plans


def _samples(count: int) -> str:
    return f"{count:,} sample{'' if count == 1 else 's'}"


def _shortened(texts: Sequence[str]) -> tuple[str, ...]:
    """Return the first text, and how many more labels there are."""
    more = len(texts) - 1
    return (f"{texts[0]}, and {units.plural(more, 'more label')}" if more else texts[0],)


def same_work_line(baseline: Sequence[RunResult], contender: Sequence[RunResult], work: OtherWork) -> AccountLine:
    """Return the line of the account that compares the labels, their shares and the loads of both sides."""
    return line_of(same_work.LINE, sides_of(_work(baseline), _work(contender), (*work.of_all, *work.of_answers)))


def _work(side: Sequence[RunResult]) -> Work:
    loads = dict.fromkeys(load_text(result.run.load) for result in side if result.run)
    return Work(_counts(side), "; ".join(loads))
