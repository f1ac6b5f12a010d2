"""Consumer groups that fell behind: the mean lag of a run, against the last release."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from harness.base import units
from harness.cloudwatch.points import CloudMetric
from harness.cloudwatch.queries import LAG, resource_title
from harness.compare.comparison import REGRESSED
from harness.release.release import Release
from harness.release.repeats import Block, Judgement, RepeatedChange, change_over
from harness.report.run_result import RunResult

# A group has fallen behind when its lag, plus one message, has more than doubled, and is more than this (messages).
_DOUBLED, _LEAST_COUNT = 1.0, 100.0


class Lag(NamedTuple):
    """The lag of a consumer group in the last release and in the new one: medians of the runs' means."""

    title: str
    baseline: float
    contender: float
    change: RepeatedChange

    @property
    def sentence(self) -> str:
        """Both values, and by how many times the lag grew."""
        low, high = (units.number_text(round(1 + end)) for end in (self.change.low or 0.0, self.change.high or 0.0))
        values = " → ".join(f"{value:,.0f}" for value in (self.baseline, self.contender))
        return f"{self.title}: lag {values} messages ({low} to {high} times)"


def consumers(release: Release) -> list[str]:
    """Return the titles of the watched consumer groups, each with its topic."""
    runs = (run for runs in release.results[0].values() for run in runs)
    return list(dict.fromkeys(resource_title(one.of) for one in _metrics(runs)))


def lagging(release: Release) -> list[Lag]:
    """Return the consumer groups whose lag grew, over all cells; they share one alpha."""
    new, base = release.results[:2]
    titles = consumers(release)
    judgement = Judgement(_DOUBLED, release.thresholds.alpha, max(1, len(titles)))
    lags = []
    for title in titles:
        sides = [[_lags(side.get(one, ()), title) for one in new] for side in (base, new)]
        blocks = [Block(*pair) for pair in zip(*sides, strict=True) if all(pair)]
        change = change_over(blocks, judgement)
        if change.verdict == REGRESSED and (change.contender or 0.0) - 1 > _LEAST_COUNT:
            lags.append(Lag(title, (change.baseline or 1.0) - 1, (change.contender or 1.0) - 1, change))
    return lags


def _lags(runs: Iterable[RunResult], title: str) -> list[float]:
    """Return the mean lag of each run, plus one: a lag of 0 has no logarithm."""
    return [one.mean + 1 for one in _metrics(runs) if one.mean is not None and resource_title(one.of) == title]


def _metrics(runs: Iterable[RunResult]) -> Iterator[CloudMetric]:
    return (one for run in runs if run.cloudwatch for one in run.cloudwatch.metrics if one.metric == LAG)
