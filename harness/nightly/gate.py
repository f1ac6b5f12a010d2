"""The nightly's gate: has tonight become worse than the nights before? docs/methodology.md has the rules."""

from __future__ import annotations

import shlex
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from harness.base import units
from harness.compare.conditions import Conditions
from harness.compare.setup_diff import Difference, setup_differences
from harness.history import trend as states
from harness.history.acceptance import Acceptance
from harness.history.change_points import ChangePoint
from harness.history.nightly_series import Night
from harness.history.trend import NIGHTS_LEAST, Gauge, Standing, changes_of, standings
from harness.metrics.figures import TOTAL
from harness.metrics.metric import Metric, compared_metrics
from harness.plan.thresholds import Thresholds

OK, WARNED, REGRESSED = states.OK, states.WARNED, states.REGRESSED
IMPROVED, LEARNING = states.IMPROVED, states.LEARNING
NEW_LABEL, GONE_LABEL = "NEW LABEL", "GONE LABEL"
NEW_ENVIRONMENT, NO_VALUE = "NEW ENVIRONMENT", "NO VALUE"
# As setup_diff names what Conditions hold.
_OF_CONDITIONS = ("profile", "target", "CPU", "cores", "memory GB")
_DIFFERENCES_TOLD = 3


@dataclass(frozen=True)
class GateRules:
    """Which changes matter, and which metrics are judged."""

    thresholds: Thresholds = field(default_factory=Thresholds)
    metrics: tuple[Metric, ...] = field(default_factory=compared_metrics)


@dataclass(frozen=True)
class Check:
    """What tonight says of one metric of one label of a plan, under the same conditions.

    `metric` is None where the check is of a whole label (NEW LABEL, GONE LABEL), and `label` TOTAL where it is of the
    whole plan (NEW ENVIRONMENT, NO VALUE). `value` and `baseline` are ms, 1/s or a ratio, `baseline` the median of
    `baseline_nights`; `change_ratio` is (value - baseline) / baseline, of errors value - baseline, and `limit_ratio`
    the change for the worse beyond which a night is (of throughput it is negative); None where it is not known.
    `night_count` is how many nights before tonight have that figure. `since` is the first night of a change that is
    WARNED or REGRESSED. `course` holds the nights with their values, tonight last; `change_points` have the places of
    nights in it. In `accepted_nights` an accepted change began. `worse_since` is the first night since which the figure
    is worse, though by less than nights differ: its state is OK. `note` is for people.
    """

    plan: str
    conditions: Conditions
    label: str
    metric: Metric | None
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
    accepted_nights: tuple[str, ...] = ()
    note: str = ""
    worse_since: str | None = None


@dataclass(frozen=True)
class _Place:
    """Tonight under some conditions, and the nights before it under the same ones, oldest first."""

    tonight: Night
    before: tuple[Night, ...]

    @property
    def valid_before(self) -> list[Night]:
        return [night for night in self.before if night.valid]

    def check(self, state: str, label: str = TOTAL, note: str = "") -> Check:
        """Return a check that is of no single metric."""
        tonight = self.tonight
        return Check(
            tonight.plan, tonight.conditions, label, None, state, night_count=len(self.valid_before), note=note
        )


def judge(
    nights: Sequence[Night], tonight: str, acceptances: Sequence[Acceptance], rules: GateRules
) -> tuple[Check, ...]:
    """Return the checks of all that was measured in the night `tonight`, a date; later nights are not looked at.

    Plan by plan in the order of the nights, and there TOTAL first. A figure with too few samples to be judged has none.
    """
    earlier = [night for night in nights if night.night < tonight]
    checks: list[Check] = []
    for night in nights:
        if night.night == tonight:
            alike = [one for one in earlier if (one.plan, one.conditions) == (night.plan, night.conditions)]
            checks += _checks(_Place(night, tuple(alike)), nights, acceptances, rules)
    return tuple(checks)


def _checks(
    place: _Place, nights: Sequence[Night], acceptances: Sequence[Acceptance], rules: GateRules
) -> Iterator[Check]:
    tonight = place.tonight
    if not tonight.valid:
        yield place.check(NO_VALUE, note=_why_invalid(tonight))
        return
    replaced = None if place.valid_before else _replaced(tonight, nights)
    if replaced:
        yield place.check(NEW_ENVIRONMENT, note=f"a history begins; {_what_parts(replaced, tonight)}")
        return
    known = {label for night in place.valid_before for label in night.labels}
    for label in tonight.labels:
        if known and label not in known:
            yield place.check(NEW_LABEL, label, "a history begins")
        else:
            for metric in rules.metrics:
                yield from _of_metric(place, label, metric, acceptances, rules.thresholds)
    if known:
        last = place.valid_before[-1]
        for label in last.labels:
            if label not in tonight.labels:
                yield place.check(GONE_LABEL, label, f"the night of {last.night} had it")


def _of_metric(
    place: _Place, label: str, metric: Metric, acceptances: Sequence[Acceptance], thresholds: Thresholds
) -> Iterator[Check]:
    """Yield the check of a metric; none where it is not known, or has too few samples to be judged."""
    tonight, least = place.tonight, metric.samples_least
    measured = [
        (night, value)
        for night in (*place.valid_before, tonight)
        if night.sample_count(label) >= least and (value := night.value(label, metric)) is not None
    ]
    if not measured or measured[-1][0] is not tonight:
        return
    dates = [night.night for night, _ in measured]
    values = [value for _, value in measured]
    gauge = Gauge(metric, thresholds.of(metric), tonight.sample_count(label))
    accepted = {
        at: one
        for one in acceptances
        if one.covers(tonight.plan, tonight.conditions, label, metric) and (at := bisect_left(dates, one.since)) > 0
    }
    changes = changes_of(values, gauge)
    found = standings(values, gauge, changes, accepted)
    standing = found[-1]
    check = Check(
        plan=tonight.plan,
        conditions=tonight.conditions,
        label=label,
        metric=metric,
        state=standing.state,
        value=values[-1],
        baseline=None if standing.baseline is None else gauge.value(standing.baseline),
        change_ratio=None if standing.distance is None else gauge.change_ratio(standing.distance),
        limit_ratio=None if standing.limit is None else gauge.change_ratio(standing.limit),
        night_count=len(values) - 1,
        since=None if standing.since is None else dates[standing.since],
        course=tuple(zip(dates, values, strict=True)),
        baseline_nights=tuple(dates[at] for at in standing.baseline_places),
        change_points=changes,
        accepted_nights=tuple(dates[at] for at in sorted(accepted) if at < len(dates)),
    )
    if check.state == OK and standing.is_worse_stretch and changes:
        check = replace(check, worse_since=dates[changes[-1].index])
    yield replace(check, note=_note(check, [night for night, _ in measured], accepted, found))


def _note(check: Check, nights: Sequence[Night], accepted: Mapping[int, Acceptance], found: Sequence[Standing]) -> str:
    """Return what people must know beside the figures; may be empty. `found` is how each night stands."""
    if check.state == LEARNING:
        return f"{units.plural(check.night_count, 'night')} before it; {NIGHTS_LEAST} are needed"
    if check.state == WARNED:
        return f"the first night; it fails when the next one is no better{_what_changed(nights, check.since)}"
    if check.state == REGRESSED:
        count = sum(date >= (check.since or "") for date, _ in check.course)
        return f"{count} nights; {accept_command(check)} if it is meant to be so{_what_changed(nights, check.since)}"
    tonight = len(found) - 1
    if check.worse_since:
        return f"worse since {check.worse_since}, but within what nights are apart"
    begun = max((at for at in accepted if at <= tonight), default=None)
    # As long as tonight is held against the nights since then.
    if begun is not None and begun in (tonight, *found[tonight].baseline_places[:1]):
        return f"accepted since {check.course[begun][0]}: {accepted[begun].reason}"
    before = found[tonight - 1] if tonight else None
    if before and before.state == REGRESSED and before.since is not None:
        return f"no longer worse, as it was since {check.course[before.since][0]}"
    return ""


def accept_command(check: Check) -> str:
    """Return the command that accepts a change of this check."""
    words = ["./aggregate.py", "accept", "--since", check.since or check.course[-1][0], "--plan", check.plan]
    if check.conditions.load.users is not None:
        words += ["--users", str(check.conditions.load.users)]
    if check.label != TOTAL:
        words += ["--label", check.label]
    return f"{shlex.join(words)} --reason …"


def _what_changed(nights: Sequence[Night], since: str | None) -> str:
    """Return what was set up in another way in the night `since` than in the one before it; empty when nothing was."""
    at = next((at for at, night in enumerate(nights) if night.night == since), 0)
    found = setup_differences(nights[at - 1].valid, nights[at].valid) if at else ()
    return f"; changed that night: {_in_words(found)}" if found else ""


def _in_words(differences: Sequence[Difference]) -> str:
    told = [f"{one.name} {one.base} → {one.new}" for one in differences[:_DIFFERENCES_TOLD]]
    more = len(differences) - len(told)
    return ", ".join(told) + (f" and {units.plural(more, 'more thing')}" if more > 0 else "")


def _replaced(tonight: Night, nights: Sequence[Night]) -> Night | None:
    """Return the newest night before under the most similar conditions that are not measured tonight any more."""
    of_plan = [night for night in nights if night.plan == tonight.plan]
    still_there = {night.conditions for night in of_plan if night.night == tonight.night}
    candidates = [
        night
        for night in of_plan
        if night.night < tonight.night and night.conditions not in still_there and night.valid
    ]
    fewest = min((night.conditions.unlike_count(tonight.conditions) for night in candidates), default=0)
    alike = [night for night in candidates if night.conditions.unlike_count(tonight.conditions) == fewest]
    return alike[-1] if alike else None


def _what_parts(before: Night, tonight: Night) -> str:
    """Return what of the conditions is not as it was."""
    differences = setup_differences(before.valid, tonight.valid)
    found = [one for one in differences if one.name in _OF_CONDITIONS or one.name.startswith("load: ")]
    return f"since the night of {before.night} changed: {_in_words(found)}"


def _why_invalid(night: Night) -> str:
    """Return why a night has no value, by its first run that says so."""
    for entry in night.runs:
        if entry.result and entry.result.verdict:
            reasons = "; ".join(entry.result.verdict.reasons)
            return f"{entry.name} is {entry.result.verdict.state}" + (f": {reasons}" if reasons else "")
    return next((f"{entry.name}: {entry.problem}" for entry in night.runs if entry.problem), "no run is valid")
