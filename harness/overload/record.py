"""The record of an overload test (overload-NN.json): its settings, its variants, and their results so far."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from harness.base.errors import EXIT_INTERRUPTED, EXIT_INVALID, EXIT_OK
from harness.overload.result import VariantResult
from harness.overload.variants import variant_names
from harness.run import kinds

FORMAT_VERSION = 1
RUNNING, FINISHED = "running", "finished"
_RUN_NAME = re.compile(r"run-\d+_\d+")


@dataclass(frozen=True)
class VariantRun:
    """The run of a variant; `result` is None when the run is INVALID, and `problem` is why."""

    variant: str
    run: str
    result: VariantResult | None = None
    problem: str = ""


@dataclass(frozen=True)
class OverloadRecord:
    """The contents of overload-<series>.json; its runs are run-<series>_1 and following, of the same plan.

    `variants` are the values of SET, one for each variant, empty for the plan's own. All have the same load: 100 % are
    `capacity_per_s` new users per second, which are None until they are known, from `capacity_source`. An answer is
    good within `limit_ms`, which `goal` explains. `runs` are the completed runs. `under_way` is the current run, or the
    one that a killed harness left. `broken_off` are interrupted runs; their variants are measured again.
    """

    format_version: int
    name: str
    plan: str
    plan_title: str
    profile: str
    command: str
    variants: tuple[str, ...]
    level_s: int
    limit_ms: float
    goal: str
    capacity_per_s: float | None
    capacity_source: str
    target: str | None
    note: str
    state: str
    runs: tuple[VariantRun, ...]
    under_way: VariantRun | None
    broken_off: tuple[VariantRun, ...]
    git_commit: str | None
    what: ClassVar = "an overload test"
    version: ClassVar = FORMAT_VERSION
    # What the file contains beside the record: the result of the report.
    not_read: ClassVar = ("verdict", "headline")

    def __post_init__(self) -> None:
        """Raise ValueError for a run's name that leads to another folder."""
        for run in (*self.runs, *self.broken_off, *([self.under_way] if self.under_way else [])):
            if not _RUN_NAME.fullmatch(run.run):
                raise ValueError(f"{run.run!r} is no run's name")

    @property
    def id(self) -> str:
        """Plan and test, such as thruzero/overload-07."""
        return f"{self.plan}/{self.name}"

    @property
    def series(self) -> str:
        """The series of its runs, such as 07."""
        return kinds.OVERLOAD.rest_of(self.name)

    @property
    def variant_names(self) -> Mapping[str, str]:
        """The names of the variants for people, by variant."""
        return variant_names(self.variants)

    @property
    def variants_left(self) -> tuple[str, ...]:
        """The variants that are not measured yet."""
        done = {run.variant for run in self.runs}
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
        return EXIT_INVALID if any(run.result is None for run in self.runs) else EXIT_OK
