"""Check whether tonight is worse than earlier nightly runs; docs/methodology.md has the rules."""

from __future__ import annotations

import shlex
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property
from typing import NamedTuple

from harness.base import units
from harness.compare.conditions import Conditions
from harness.compare.same_work import OtherWork, other_work
from harness.compare.setup_diff import Difference, setup_differences
from harness.history import trend as states
from harness.history.acceptance import Acceptance
from harness.history.change_points import ChangePoint
from harness.history.lasting import lasting_changes
from harness.history.nightly_series import NightlyRuns
from harness.history.trend import VALUES_LEAST, Gauge, Position, TrendSeries, changes_of, positions
from harness.metrics.figures import TOTAL
from harness.metrics.metric import ERRORS, Metric, compared_metrics
from harness.plan.thresholds import Thresholds

OK, WARNED, REGRESSED = states.OK, states.WARNED, states.REGRESSED
IMPROVED, LEARNING = states.IMPROVED, states.LEARNING
NEW_LABEL, GONE_LABEL = "NEW LABEL", "GONE LABEL"
NEW_ENVIRONMENT, NO_VALUE, OTHER_WORK = "NEW ENVIRONMENT", "NO VALUE", "OTHER WORK"
# The fields of Conditions, as setup_diff names them.
_OF_CONDITIONS = ("profile", "target", "CPU", "cores", "memory GB")
_DIFFERENCES_SHOWN = 3
# A request that is no longer sent is missed for so many valid nightly runs, then tonight's work is the usual one.
_MISSED_MOST = 20


@dataclass(frozen=True)
class GateRules:
    """The thresholds, and the metrics to judge."""

    thresholds: Thresholds = field(default_factory=Thresholds)
    metrics: tuple[Metric, ...] = field(default_factory=compared_metrics)


class NightlyValue(NamedTuple):
    """The value of a metric in the nightly run of a date."""

    date: str
    value: float


@dataclass(frozen=True)
class Check:
    """The result of tonight for one metric of one label of a plan, under the same conditions.

    `metric` is None when the check covers a whole label (NEW LABEL, GONE LABEL, REGRESSED when runs of the same plan no
    longer send it). `label` is TOTAL when it covers the whole plan (NEW ENVIRONMENT, NO VALUE, OTHER WORK).

    `value` and `baseline` are ms, 1/s or a ratio; `baseline` is the median of `baseline_dates`. `change_ratio` is
    (value - baseline) / baseline, for errors value - baseline. `limit_ratio` is the largest change for the worse that
    is OK (negative for throughput). Unknown values are None.

    `earlier_count` is the number of earlier nightly runs with that metric. `since` is the first date of a change that
    is WARNED or REGRESSED. `history` contains the values, tonight last; `change_points` are indexes into it. On
    `accepted_dates` an accepted change began. `worse_since` is the first date of a change that is worse, but within the
    usual differences: its state is OK. `note` is for people.
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
    earlier_count: int = 0
    since: str | None = None
    history: tuple[NightlyValue, ...] = ()
    baseline_dates: tuple[str, ...] = ()
    change_points: tuple[ChangePoint, ...] = ()
    accepted_dates: tuple[str, ...] = ()
    note: str = ""
    worse_since: str | None = None


@dataclass(frozen=True)
class _Comparable:
    """Tonight's runs of a plan, and the earlier ones under the same conditions, oldest first."""

    tonight: NightlyRuns
    before: tuple[NightlyRuns, ...]

    @cached_property
    def valid_before(self) -> list[NightlyRuns]:
        return [group for group in self.before if group.valid]

    @cached_property
    def same_work_before(self) -> list[NightlyRuns]:
        """The valid earlier runs with the same work as tonight."""
        return [group for group in self.valid_before if not self.work_against(group).texts]

    def check(self, state: str, label: str = TOTAL, note: str = "", since: str | None = None) -> Check:
        """Return a check without a metric."""
        plan, conditions, earlier_count = self.tonight.plan, self.tonight.conditions, len(self.valid_before)
        return Check(plan, conditions, label, None, state, earlier_count=earlier_count, note=note, since=since)

    def work_against(self, before: NightlyRuns) -> OtherWork:
        """Return how tonight's work differs from that of an earlier nightly run."""
        return other_work(before.valid, self.tonight.valid)

    def comparable(self, label: str, metric: Metric) -> list[NightlyRuns]:
        """Return the earlier runs to compare a metric with: of TOTAL those of the same work, but for errors."""
        if label != TOTAL or metric == ERRORS:
            return self.valid_before
        return self.same_work_before


def judge(
    groups: Sequence[NightlyRuns], tonight: str, acceptances: Sequence[Acceptance], rules: GateRules
) -> tuple[Check, ...]:
    """Return the checks of everything measured on the date `tonight`; later nightly runs are ignored.

    Checks are ordered by plan, TOTAL first. A metric with too few samples has no check.
    """
    earlier = [group for group in groups if group.date < tonight]
    checks: list[Check] = []
    for group in (one for one in groups if one.date == tonight):
        alike = (one for one in earlier if (one.plan, one.conditions) == (group.plan, group.conditions))
        checks += _checks(_Comparable(group, tuple(alike)), groups, acceptances, rules)
    return tuple(checks)


def _checks(
    runs: _Comparable, groups: Sequence[NightlyRuns], acceptances: Sequence[Acceptance], rules: GateRules
) -> Iterator[Check]:
    tonight = runs.tonight
    if not tonight.valid:
        yield runs.check(NO_VALUE, note=_why_invalid(tonight))
        return
    replaced = None if runs.valid_before else _replaced(tonight, groups)
    if replaced:
        yield runs.check(NEW_ENVIRONMENT, note=f"a new history starts; {_changed_conditions(replaced, tonight)}")
        return
    known = {label for group in runs.valid_before for label in group.labels}
    other = runs.work_against(runs.valid_before[-1]).texts if known else ()
    if other:
        yield runs.check(OTHER_WORK, note=f"of TOTAL only errors are judged: {other[0]}")
    for label in tonight.labels:
        if known and label not in known:
            yield runs.check(NEW_LABEL, label, "a new history starts")
            continue
        for metric in rules.metrics:
            if not other or label != TOTAL or metric == ERRORS:
                yield from _of_metric(runs, label, metric, acceptances, rules.thresholds)
    yield from _of_gone_labels(runs, acceptances)


def _of_gone_labels(runs: _Comparable, acceptances: Sequence[Acceptance]) -> Iterator[Check]:
    """Yield a check of each label that tonight lacks: it fails when runs of the same plan files sent it."""
    tonight, recent = runs.tonight, runs.valid_before[-_MISSED_MOST:]
    last_by_label = {label: group for group in recent for label in group.labels if label not in tonight.labels}
    for label, last in last_by_label.items():
        since = next((group.date for group in recent if group.date > last.date), tonight.date)
        had = f"the nightly run of {last.date} had it"
        if _is_lost(runs, label, last) and not any(
            one.since > last.date and one.covers_label(tonight.plan, tonight.conditions, label) for one in acceptances
        ):
            check = runs.check(REGRESSED, label, since=since)
            gone = f"{last.sample_count(label):,} samples → none"
            yield replace(check, note=f"{gone}; {had}; if intended: {accept_command(check)}")
        elif last is recent[-1]:
            yield runs.check(GONE_LABEL, label, had)


def _is_lost(runs: _Comparable, label: str, last: NightlyRuns) -> bool:
    """Return whether runs of the same plan files no longer send a label, not by chance; a renamed one is not lost."""
    files = {one.run.source_hashes.get("plan") for one in (*last.valid, *runs.tonight.valid) if one.run}
    return len(files) == 1 and None not in files and label in runs.work_against(last).gone


def _of_metric(
    runs: _Comparable, label: str, metric: Metric, acceptances: Sequence[Acceptance], thresholds: Thresholds
) -> Iterator[Check]:
    """Yield the check of a metric; none when it is unknown or has too few samples."""
    tonight, least = runs.tonight, runs.tonight.samples_least(label, metric)
    measured = [
        (group, value)
        for group in (*runs.comparable(label, metric), tonight)
        if group.sample_count(label) >= least and (value := group.value(label, metric)) is not None
    ]
    if not measured or measured[-1][0] is not tonight:
        return
    dates = [group.date for group, _ in measured]
    values = [value for _, value in measured]
    gauge = Gauge(metric, thresholds.of(metric), tonight.sample_count(label))
    accepted = {
        at: one
        for one in acceptances
        if one.covers(tonight.plan, tonight.conditions, label, metric) and (at := bisect_left(dates, one.since)) > 0
    }
    changes = changes_of(values, gauge)
    weekdays = [date.fromisoformat(day).weekday() for day in dates]
    all_positions = positions(TrendSeries(values, weekdays, changes, accepted), gauge)
    position = all_positions[-1]
    check = Check(
        plan=tonight.plan,
        conditions=tonight.conditions,
        label=label,
        metric=metric,
        state=position.state,
        value=values[-1],
        baseline=None if position.baseline is None else gauge.value(position.baseline),
        change_ratio=None if position.distance is None else gauge.change_ratio(position.distance),
        limit_ratio=None if position.limit is None else gauge.change_ratio(position.limit),
        earlier_count=len(values) - 1,
        since=None if position.since is None else dates[position.since],
        history=tuple(map(NightlyValue, dates, values)),
        baseline_dates=tuple(dates[at] for at in position.baseline_indexes),
        change_points=lasting_changes(values, changes, gauge),
        accepted_dates=tuple(dates[at] for at in sorted(accepted) if at < len(dates)),
    )
    if check.state == OK and position.is_worse_interval and changes:
        check = replace(check, worse_since=dates[changes[-1].index])
    yield replace(check, note=_note(check, [group for group, _ in measured], accepted, all_positions))


def _note(
    check: Check, groups: Sequence[NightlyRuns], accepted: Mapping[int, Acceptance], all_positions: Sequence[Position]
) -> str:
    """Return an explanation of a check; may be empty. `all_positions` has the position of each value."""
    if check.state == LEARNING:
        return f"{units.plural(check.earlier_count, 'earlier nightly run')}; {VALUES_LEAST} are needed"
    changed = _what_changed(groups, check.since)
    if check.state == WARNED:
        return f"first nightly run beyond the limit; fails if the next one is no better{changed}"
    if check.state == REGRESSED:
        count = sum(one.date >= (check.since or "") for one in check.history)
        return f"{units.plural(count, 'nightly run')}; if intended: {accept_command(check)}{changed}"
    tonight = len(all_positions) - 1
    if check.worse_since:
        return f"worse since {check.worse_since}, but within the usual differences between nightly runs"
    if all_positions[tonight].is_usual:
        weekday = date.fromisoformat(check.history[-1].date).strftime("%A")
        return f"beyond the limit, but usual on a {weekday}"
    begun = max((at for at in accepted if at <= tonight), default=None)
    # As long as the baseline starts at the accepted change.
    if begun is not None and begun in (tonight, *all_positions[tonight].baseline_indexes[:1]):
        return f"accepted since {check.history[begun].date}: {accepted[begun].reason}"
    before = all_positions[tonight - 1] if tonight else None
    if before and before.state == REGRESSED and before.since is not None:
        return f"no longer worse; it was worse since {check.history[before.since].date}"
    return ""


def accept_command(check: Check) -> str:
    """Return the command that accepts a change of this check."""
    command = ["lth", "accept", "--since", check.since or check.history[-1].date, "--plan", check.plan]
    if check.conditions.load.users is not None:
        command += ["--users", str(check.conditions.load.users)]
    if check.label != TOTAL:
        command += ["--label", check.label]
    return f"{shlex.join(command)} --reason …"


def _what_changed(groups: Sequence[NightlyRuns], since: str | None) -> str:
    """Return the set-up changes between the date `since` and the nightly run before it; may be empty."""
    at = next((at for at, group in enumerate(groups) if group.date == since), 0)
    found = setup_differences(groups[at - 1].valid, groups[at].valid) if at else ()
    return f"; changed on that date: {_as_text(found)}" if found else ""


def _as_text(differences: Sequence[Difference]) -> str:
    shown = [f"{one.name} {one.baseline} → {one.contender}" for one in differences[:_DIFFERENCES_SHOWN]]
    more = len(differences) - len(shown)
    return ", ".join(shown) + (f" and {units.plural(more, 'more setting')}" if more > 0 else "")


def _replaced(tonight: NightlyRuns, groups: Sequence[NightlyRuns]) -> NightlyRuns | None:
    """Return the newest earlier runs under the most similar conditions that tonight does not measure."""
    of_plan = [group for group in groups if group.plan == tonight.plan]
    still_there = {group.conditions for group in of_plan if group.date == tonight.date}
    candidates = [
        group for group in of_plan if group.date < tonight.date and group.conditions not in still_there and group.valid
    ]
    fewest = min((group.conditions.unlike_count(tonight.conditions) for group in candidates), default=0)
    alike = [group for group in candidates if group.conditions.unlike_count(tonight.conditions) == fewest]
    return alike[-1] if alike else None


def _changed_conditions(before: NightlyRuns, tonight: NightlyRuns) -> str:
    differences = setup_differences(before.valid, tonight.valid)
    found = [one for one in differences if one.name in _OF_CONDITIONS or one.name.startswith("load: ")]
    return f"changed since the nightly run of {before.date}: {_as_text(found)}"


def _why_invalid(group: NightlyRuns) -> str:
    """Return why there is no valid run, from the first run with a reason."""
    for entry in group.runs:
        if entry.result and entry.result.verdict:
            reasons = "; ".join(entry.result.verdict.reasons)
            return f"{entry.name} is {entry.result.verdict.state}" + (f": {reasons}" if reasons else "")
    return next((f"{entry.name}: {entry.problem}" for entry in group.runs if entry.problem), "no run is valid")
