"""The record of an overload test (overload-NN.json): its settings, its variants, and their results so far."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import ClassVar

from harness.base.errors import EXIT_INTERRUPTED, EXIT_INVALID, EXIT_OK, UsageError
from harness.experiment.record import FINISHED, ExperimentRun, PlanExperiment, RunTime, measured, run_times
from harness.kinds.overload.levels import load_s
from harness.kinds.overload.result import VariantResult
from harness.run import kinds
from harness.run.set_values import split_text

VARIANTS_MOST = 12
# The source of a rate that the command gives.
GIVEN_RATE = "--rate"


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
    report_kind: ClassVar = kinds.OVERLOAD
    what: ClassVar = "an overload test"
    # What the file contains beside the record: the result of the report.
    not_read: ClassVar = ("verdict", "headline", "result")

    def __post_init__(self) -> None:
        """Raise ValueError for a run of a variant that is none of the record's."""
        super().__post_init__()
        if not {run.variant for run in self.runs} <= set(self.variants):
            raise ValueError("a run has a variant that is not in variants")

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
    def resolved(self) -> tuple[object, ...]:
        """What the plan and the goal of its command are.

        The capacity that another command found is one of its results, and no setting.
        """
        return self.plan, self.profile, self.target, self.variants, self.level_s, self.limit_ms

    @property
    def exit_code(self) -> int:
        """The exit code of the test so far."""
        if self.state != FINISHED:
            return EXIT_INTERRUPTED
        return EXIT_INVALID if any(run.result is None for run in self.measured) else EXIT_OK


def parse_variants(text: str, list_settings: Collection[str]) -> tuple[str, ...]:
    """Return the values of SET of each variant: every combination of the values with commas between them.

    Settings that are lists themselves (`list_settings`) have one value. Without a text there is one variant, whose text
    is empty. UsageError for an empty or repeated value, and for too many variants.
    """
    choices = [_choices(assignment, list_settings) for assignment in split_text(text)]
    variants = tuple(shlex.join(assignments) for assignments in product(*choices))
    if len(variants) > VARIANTS_MOST:
        raise UsageError(f"--set has {len(variants)} variants", f"give values for at most {VARIANTS_MOST}")
    return variants


def common_assignments(variants: Collection[str]) -> tuple[str, ...]:
    """Return the assignments that all variants have, sorted."""
    sets = [set(split_text(variant)) for variant in variants]
    return tuple(sorted(set.intersection(*sets))) if sets else ()


def variant_names(variants: Sequence[str]) -> Mapping[str, str]:
    """Return the names of variants for people: the assignments in which they differ."""
    common = common_assignments(variants) if len(variants) > 1 else ()
    own = (shlex.join(one for one in split_text(variant) if one not in common) for variant in variants)
    return {variant: name or "the plan's settings" for variant, name in zip(variants, own, strict=True)}


def _choices(assignment: str, list_settings: Collection[str]) -> list[str]:
    name, equals, values = assignment.partition("=")
    if not equals or name.rpartition(".")[2] in list_settings or "," not in values:
        return [assignment]
    choices = [value.strip() for value in values.split(",")]
    if not all(choices) or len(set(choices)) < len(choices):
        todo = f"give each value once, as in {name}=10,1000"
        raise UsageError(f"--set: {assignment} has an empty or a repeated value", todo)
    return [f"{name}={value}" for value in choices]
