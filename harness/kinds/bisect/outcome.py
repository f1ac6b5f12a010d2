"""The outcome of a bisection: which runs count, what cannot be tested, the suspects and the verdict."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from harness.base.errors import EXIT_INTERRUPTED, EXIT_INVALID, EXIT_OK
from harness.compare.causes import GrownCost, causes
from harness.compare.comparison import CANNOT_TELL, INVALID
from harness.compare.same_work import other_work
from harness.experiment.counting import problem_of
from harness.experiment.record import ENDED, FINISHED
from harness.judge.result import FOUND, NO_EFFECT
from harness.kinds.bisect.decision import OPENING, RUNS_MOST, Decision, decide
from harness.kinds.bisect.posterior import Observation, Posterior, posterior
from harness.kinds.bisect.record import BisectRecord, BisectRun
from harness.metrics.metric import is_better
from harness.report.run_result import RunResult

# A candidate that leaves so many runs without numbers is skipped; so many runs in a row that do not count end it all.
_FAILED_MOST, _FAILED_IN_A_ROW = 2, 3


@dataclass(frozen=True)
class Counted:
    """A run that ended: its result, the value of the metric, and why it does not count; empty when it does.

    It is recent when it came after the last resumption: earlier failures do not keep a resumed bisection from going on.
    """

    run: BisectRun
    result: RunResult | None
    value: float | None
    problem: str = ""
    is_recent: bool = True


@dataclass(frozen=True)
class BisectOutcome:
    """The record with its runs and what they show.

    `skipped` are the candidates that cannot be tested, with the reason. `found` is None before both ends were run.
    """

    record: BisectRecord
    runs: tuple[Counted, ...]
    skipped: Mapping[int, str]
    found: Posterior | None

    @property
    def counted(self) -> tuple[Counted, ...]:
        """The runs that count, without the warm-up run."""
        return tuple(one for one in self.runs if not one.problem and not one.run.is_warm_up)

    @property
    def testable(self) -> list[int]:
        """The positions that can be run."""
        return [index for index in range(len(self.record.candidates)) if index not in self.skipped]

    @cached_property
    def decision(self) -> Decision:
        """What the probabilities decide; without any suspect before the opening is complete."""
        if self.found is None or len(self.counted) < OPENING:
            return Decision(CANNOT_TELL)
        return decide(self.found, self.testable, self.record.thresholds.of(self.record.metric))

    @property
    def failure(self) -> str:
        """Why it cannot go on; empty when it can."""
        for position, end in ((0, "good"), (len(self.record.candidates) - 1, "bad")):
            if position in self.skipped:
                return f"the {end} end cannot be tested: {self.skipped[position]}"
        recent = [one for one in self.runs if one.is_recent and one.run.is_built][-_FAILED_IN_A_ROW:]
        is_failed = len(recent) == _FAILED_IN_A_ROW and all(one.problem for one in recent)
        return f"{_FAILED_IN_A_ROW} runs in a row do not count: {recent[-1].problem}" if is_failed else ""

    @property
    def verdict(self) -> str:
        """FOUND, NO EFFECT, CANNOT TELL or INVALID: TOTAL of other work says nothing when it is alike."""
        if self.failure:
            return INVALID
        is_alike = self.decision.verdict == NO_EFFECT
        return CANNOT_TELL if is_alike and self.work else self.decision.verdict

    @cached_property
    def work(self) -> str:
        """How the work of the bad end differs from that of the good one; empty when it does not."""
        ends = (0, len(self.record.candidates) - 1)
        sides = [[one.result for one in self.counted if one.run.candidate == end and one.result] for end in ends]
        return next(iter(other_work(*sides).texts), "") if all(sides) else ""

    @property
    def is_decided(self) -> bool:
        """Whether no further run is needed."""
        is_open = self.decision.verdict == CANNOT_TELL and not self.failure
        return not is_open or len(self.counted) >= RUNS_MOST

    @property
    def causes(self) -> tuple[GrownCost, ...]:
        """What grew inside the system with the named candidate, when it made the metric worse and was profiled."""
        named, metric = self.decision.named, self.record.metric
        if self.verdict != FOUND or not named or is_better(metric, named.change.ratio):
            return ()
        sides = (named.positions[0] - 1, named.positions[-1])
        return causes(
            *([one.result for one in self.counted if one.run.candidate == side and one.result] for side in sides)
        )

    @property
    def exit_code(self) -> int:
        """The exit code of lth bisect."""
        if self.record.state != FINISHED:
            return EXIT_INTERRUPTED
        return EXIT_INVALID if self.verdict == INVALID else EXIT_OK

    def mean_of(self, position: int) -> float | None:
        """Return the geometric mean of the metric over the runs of a candidate; None without any."""
        values = [one.value for one in self.counted if one.run.candidate == position and one.value]
        return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def outcome_of(record: BisectRecord, results: Mapping[str, RunResult]) -> BisectOutcome:
    """Return the outcome of the runs so far; `results` are theirs by name."""
    runs = tuple(_counted(record, results))
    skipped = {one.run.candidate: one.problem for one in runs if not one.run.is_built}
    for index in {one.run.candidate for one in runs}:
        failed = [one for one in runs if one.is_recent and one.run.candidate == index and one.problem and not one.value]
        if len(failed) >= _FAILED_MOST:
            skipped.setdefault(index, failed[-1].problem)
    counted = [one for one in runs if not one.problem and not one.run.is_warm_up and one.run.candidate not in skipped]
    observations = [Observation(one.run.candidate, math.log(one.value)) for one in counted if one.value]
    ends = {0, len(record.candidates) - 1}
    is_known = ends <= {one.position for one in observations}
    return BisectOutcome(record, runs, skipped, posterior(observations, record.noise) if is_known else None)


def _counted(record: BisectRecord, results: Mapping[str, RunResult]) -> Iterator[Counted]:
    for index, run in enumerate(record.runs):
        if run.state != ENDED:
            continue
        result = results.get(run.run or "")
        value = record.metric.of(result.total) if result and result.total else None
        problem = problem_of(result, run.problem)
        text = problem.text
        if not text and not value:
            text = f"its {record.metric.phrase} is 0 or unknown, so it has no relative change"
        yield Counted(run, result, None if problem.is_invalid else value, text, is_recent=index >= record.resumed_at)
