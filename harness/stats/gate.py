"""The nightly's gate: has tonight become worse than the nights before? docs/methodology.md has the rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from harness.stats.acceptance import Acceptance
from harness.stats.change_points import ChangePoint
from harness.stats.comparison import METRICS
from harness.stats.conditions import Conditions
from harness.stats.nights import Night
from harness.thresholds import Thresholds

OK, WARNED, REGRESSED, IMPROVED, LEARNING = "OK", "WARNED", "REGRESSED", "IMPROVED", "LEARNING"
NEW_LABEL, GONE_LABEL = "NEW LABEL", "GONE LABEL"
NEW_ENVIRONMENT, NO_VALUE = "NEW ENVIRONMENT", "NO VALUE"


@dataclass(frozen=True)
class GateRules:
    """Which changes matter: the thresholds of each plan, `thresholds` for plans that are not in `by_plan`."""

    thresholds: Thresholds = field(default_factory=Thresholds)
    by_plan: Mapping[str, Thresholds] = field(default_factory=dict)
    metrics: tuple[str, ...] = METRICS

    def of(self, plan: str) -> Thresholds:
        """Return the thresholds of a plan."""
        return self.by_plan.get(plan, self.thresholds)


@dataclass(frozen=True)
class Check:
    """What tonight says of one metric of one label of a plan, under the same conditions.

    `metric` is "" where the check is of a whole label (NEW LABEL, GONE LABEL), and `label` TOTAL where it is of the
    whole plan (NEW ENVIRONMENT, NO VALUE). `value` and `baseline` are ms, 1/s or a ratio, `baseline` the median of
    `baseline_nights`; `change_ratio` is (value - baseline) / baseline, of errors value - baseline, and `limit_ratio`
    the change that is beyond threshold and noise, on the same scale; None where it is not known. `night_count` is how
    many valid nights there are before tonight. `since` is the first night of a change that is WARNED, REGRESSED or
    IMPROVED. `course` holds the valid nights with their values, tonight last. `note` is a sentence for people.
    """

    plan: str
    conditions: Conditions
    label: str
    metric: str
    state: str
    value: float | None = None
    baseline: float | None = None
    change_ratio: float | None = None
    limit_ratio: float | None = None
    night_count: int = 0
    since: str | None = None
    course: tuple[tuple[str, float], ...] = ()
    baseline_nights: tuple[str, ...] = ()
    change_points: tuple[ChangePoint, ...] = ()
    note: str = ""


def judge(
    nights: Sequence[Night], tonight: str, acceptances: Sequence[Acceptance], rules: GateRules
) -> tuple[Check, ...]:
    """Return the checks of all that was measured in the night `tonight` (a date), or in the last night but not then."""
    raise NotImplementedError
