"""The record of an A/B test, its JSON file: the two sides, the load, and each run in the order of measuring."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from harness.experiment.record import ENDED, WARM_UP, EqualRuns, ExperimentRun
from harness.experiment.sides import Side
from harness.run import kinds

A, B = "A", "B"


@dataclass(frozen=True)
class AbRun(ExperimentRun):
    """One run: its side, its pair (from 1; 0 is the warm-up run), and its result."""

    side: str
    pair: int


@dataclass(frozen=True, kw_only=True)
class AbRecord(EqualRuns):
    """ab-<n>.json without its results; its runs are run-<n>_1 and following.

    `seed` decides the order of the sides in each pair; None in a test of an older version, whose order was A B, B A.
    `proposal` is the cheapest test that sees a change, from the newest trust test of the plan; empty without one,
    and when the runs have its length.
    """

    runs: tuple[AbRun, ...]
    a: Side
    b: Side
    seed: int | None = None
    proposal: str = ""
    optional: ClassVar = ("proposal",)
    report_kind: ClassVar = kinds.AB_TEST
    what: ClassVar = "an A/B test"
    # What the file contains beside the record: a function of it and of the runs.
    not_read: ClassVar = ("verdict", "headline", "result", "pairs", "metrics", "causes")

    @property
    def resolved(self) -> tuple[object, ...]:
        """What the sides and the plan of its command are."""
        return self.plan, self.a, self.b, self.load, self.thresholds

    @property
    def has_warmed_up(self) -> bool:
        """Whether the warm-up run ended."""
        return any(run.pair == WARM_UP and run.state == ENDED for run in self.runs)

    @property
    def next_run(self) -> AbRun:
        """The next run: the warm-up run, the second one of a pair, or the first of a new one.

        A pair that an interruption left incomplete is not completed later.
        """
        if not self.has_warmed_up:
            return AbRun(A, WARM_UP)
        last = self.runs[-1]
        done = [run for run in self.runs[self.resumed_at :] if run.pair == last.pair and run.state == ENDED]
        if last.pair == WARM_UP or len(done) != 1:
            number = 1 + max(run.pair for run in self.runs)
            return AbRun(order_of(number, self.seed)[0], number)
        return AbRun(B if last.side == A else A, last.pair)

    def side(self, name: str) -> Side:
        """Return the side A or B."""
        return self.a if name == A else self.b


def order_of(pair: int, seed: int | None) -> Sequence[str]:
    """Return the two sides of a pair in the order of measuring: by chance, so no disturbance is in step with it.

    The same seed has the same orders, so a resumed test continues them. Without a seed it is A B, B A, A B, B A.
    """
    a_is_first = pair % 2 == 1 if seed is None else random.Random(f"{seed} {pair}").random() < 0.5
    return (A, B) if a_is_first else (B, A)
