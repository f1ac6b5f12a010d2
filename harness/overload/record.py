"""The record of an overload test (overload-NN.json): its settings, its variants, and their results so far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from harness.base.errors import EXIT_INTERRUPTED, EXIT_INVALID, EXIT_OK
from harness.experiment.record import FINISHED, ExperimentRun, PlanExperiment, measured
from harness.experiment.time_left import RunTime, run_times
from harness.overload.levels import load_s
from harness.overload.result import VariantResult
from harness.overload.variants import variant_names
from harness.run import kinds


@dataclass(frozen=True)
class VariantRun(ExperimentRun):
    """The run of a variant; `result` is None when the run is INVALID, and `problem` is why."""

    variant: str
    result: VariantResult | None = None


@dataclass(frozen=True, kw_only=True)
class OverloadRecord(PlanExperiment):
    """The contents of overload-<series>.json; its runs are run-<series>_1 and following, of the same plan.

    `variants` are the values of SET, one for each variant, empty for the plan's own. All have the same load: 100 % are
    `capacity_per_s` new users per second, which are None until they are known, from `capacity_source`. An answer is
    good within `limit_ms`, which `goal` explains.
    """

    runs: tuple[VariantRun, ...]
    plan_title: str
    profile: str
    variants: tuple[str, ...]
    level_s: int
    limit_ms: float
    goal: str
    capacity_per_s: float | None
    capacity_source: str
    target: str | None
    note: str
    runs_have_names: ClassVar = True
    report_kind: ClassVar = kinds.OVERLOAD
    what: ClassVar = "an overload test"
    # What the file contains beside the record: the result of the report.
    not_read: ClassVar = ("verdict", "headline")

    @property
    def measured(self) -> tuple[VariantRun, ...]:
        """The completed runs."""
        return measured(self.runs)

    @property
    def lengths_s(self) -> tuple[RunTime, ...]:
        """Planned and actual seconds of the valid runs."""
        return run_times((run, load_s(self.level_s)) for run in self.measured)

    @property
    def variant_names(self) -> Mapping[str, str]:
        """The names of the variants for people, by variant."""
        return variant_names(self.variants)

    @property
    def variants_left(self) -> tuple[str, ...]:
        """The variants that are not measured yet."""
        done = {run.variant for run in self.measured}
        return tuple(variant for variant in self.variants if variant not in done)

    @property
    def settings(self) -> tuple[object, ...]:
        """All settings; a command with the same settings resumes an unfinished test.

        The capacity that another command found is one of its results, and no setting.
        """
        names = (self.plan, self.profile, self.target, self.command, self.note)
        return (*names, self.variants, self.level_s, self.limit_ms)

    @property
    def exit_code(self) -> int:
        """The exit code of the test so far."""
        if self.state != FINISHED:
            return EXIT_INTERRUPTED
        return EXIT_INVALID if any(run.result is None for run in self.measured) else EXIT_OK
