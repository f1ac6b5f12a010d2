"""The record of a bisection, its JSON file: candidates, load, and each run in the order of measuring."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from harness.experiment.record import EqualRuns, ExperimentRun
from harness.kinds.bisect.posterior import Noise
from harness.metrics.metric import Metric, check_metrics, metric_of
from harness.run import kinds


@dataclass(frozen=True)
class Candidate:
    """A commit or a value to test: its short name, the commit with its subject, and the settings of its runs."""

    text: str
    subject: str = ""
    commit: str | None = None
    settings: str = ""

    @property
    def title(self) -> str:
        """Name and subject."""
        return f"{self.text} {self.subject}".rstrip()


@dataclass(frozen=True)
class BisectRun(ExperimentRun):
    """One run: the index of its candidate, how long this was built before it, and whether that failed."""

    candidate: int
    is_warm_up: bool = False
    is_built: bool = True
    build_s: float | None = None


@dataclass(frozen=True, kw_only=True)
class BisectRecord(EqualRuns):
    """bisect-<n>.json without its results; its runs are run-<n>_1 and following.

    `candidates` are from the good one to the bad one. `noise_ratio` is the scatter of runs that was expected before the
    first one, and `noise_log_width` the standard deviation of its logarithm.
    """

    runs: tuple[BisectRun, ...]
    candidates: tuple[Candidate, ...]
    metric_name: str
    noise_ratio: float
    noise_log_width: float
    report_kind: ClassVar = kinds.BISECTION
    what: ClassVar = "a bisection"
    # What the file contains beside the record: a function of it and of the runs.
    not_read: ClassVar = ("verdict", "headline", "result", "probabilities", "several", "none")

    def __post_init__(self) -> None:
        """Raise ValueError for names that are none."""
        super().__post_init__()
        check_metrics(self.metric_name)

    @property
    def metric(self) -> Metric:
        """The metric whose change is looked for."""
        return metric_of(self.metric_name)

    @property
    def noise(self) -> Noise:
        """The expected scatter of runs."""
        return Noise(self.noise_ratio, self.noise_log_width)

    @property
    def resolved(self) -> tuple[object, ...]:
        """What the candidates and the plan of its command are."""
        return self.plan, self.candidates, self.metric_name, self.load
