"""The metrics of each load of a run with several: its labels, its users, and Little's law for it alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from harness.base import units
from harness.judge.users_counted import groups_of, law_of
from harness.metrics.figures import LOAD, Group, LabelFigures
from harness.metrics.interval import IntervalMs
from harness.metrics.littles_law import LittlesLaw
from harness.metrics.tally import SampleTally, together
from harness.metrics.timeline import SecondSeries

if TYPE_CHECKING:
    from harness.judge.curve import RequestCurve, UserCurve
    from harness.plan.load.groups import GroupLoad
    from harness.plan.load.model import LoadRecord
    from harness.run.record import RunRecord

# The types of fields that only reading JSON needs.
LATE_TYPES = {"RequestCurve": "harness.judge.curve", "UserCurve": "harness.judge.curve"}
# A stage of the most users that is shorter may end before a sample of each user has.
_PEAK_LEAST_S = 10.0


@dataclass(frozen=True)
class LoadTally:
    """The samples of one load: of the whole run, and of the window, None if that is the whole run."""

    load: GroupLoad
    whole: SampleTally
    counted: SampleTally | None

    @classmethod
    def of(cls, load: GroupLoad, whole: SampleTally, counted: SampleTally | None) -> LoadTally:
        """Return the samples of a load among those of all loads."""
        own = counted.by_thread_group[load.thread_names] if counted else None
        return cls(load, whole.by_thread_group[load.thread_names], own)


@dataclass(frozen=True)
class LoadFigures:
    """The metrics of one load of a run with several; `name` is its thread group.

    `group` has its labels and its TOTAL in the window, None without a sample in it; `whole` those of the whole run,
    None without a sample or if the window excludes nothing. `users_most` are the most users that were active at once,
    None if not known. `error_ratio` covers the whole run, None without a sample. `curve` is that of a closed load with
    stages of users, `request_curve` that of one with stages of requests per second.
    """

    name: str
    group: Group | None
    whole: Group | None
    users_most: int | None
    error_ratio: float | None
    littles_law: LittlesLaw | None
    curve: UserCurve | None = None
    request_curve: RequestCurve | None = None

    @property
    def curve_text(self) -> str:
        """How far the load was from the requested curve of its stages; empty without one."""
        curve = self.curve or self.request_curve
        return curve.text() if curve else ""


def load_figures(
    tallies: Sequence[LoadTally],
    span_ms: IntervalMs | None,
    percentiles: Sequence[str],
    with_transactions: bool,
    run: RunRecord | None = None,
) -> tuple[LoadFigures, ...]:
    """Return the metrics of each load; the measurement window is `span_ms`, ms since 1970."""

    if not tallies:
        return ()
    from harness.judge.curve import request_curve, user_curve  # here: few runs have several loads

    def figures(tally: LoadTally) -> LoadFigures:
        whole = load_of(tally.whole.groups(percentiles, with_transactions))
        group = load_of(tally.counted.groups(percentiles, with_transactions)) if tally.counted is not None else whole
        return LoadFigures(
            name=tally.load.group,
            group=group,
            whole=None if tally.counted is None else whole,
            users_most=peak_users(tally.whole.second_series),
            error_ratio=whole.total.error_ratio if whole else None,
            littles_law=_law(tally, span_ms, group, run),
            curve=user_curve(tally.load, tally.whole),
            request_curve=request_curve(tally.load, tally.whole),
        )

    return tuple(map(figures, tallies))


def load_of(groups: Iterable[Group]) -> Group | None:
    """Return the load among groups; None without a sample of it."""
    return next((group for group in groups if group.name == LOAD), None)


def peak_users(series: SecondSeries) -> int | None:
    """Return the most users that were active in a second, of several load generators the sum.

    None without users, or when the span is beyond any run.
    """
    active = series.active_users(*series.span_s) if series.span_s else []
    return max((users for users in active if users is not None), default=None)


def _law(tally: LoadTally, span_ms: IntervalMs | None, group: Group | None, run: RunRecord | None) -> LittlesLaw | None:
    """Return the check for the part of the window in which the load ran; None where its pauses are not known."""
    own_ms, counted = tally.whole.span_ms(), groups_of(run, tally.load.group)
    if own_ms is None or span_ms is None or group is None or tally.load.is_open:
        return None
    if tally.load.is_paced and not counted:
        return None
    both_ms = IntervalMs(max(own_ms.from_ms, span_ms.from_ms), min(own_ms.to_ms, span_ms.to_ms))
    return law_of(tally.whole.second_series, both_ms, group.labels, counted, pause_s(tally.load, group))


def pause_s(load: GroupLoad | LoadRecord, group: Group | None) -> float:
    """Return the mean pause of a load before a request, s; `group` are its labels.

    Of users who think once per transaction it is the share of each request.
    """
    if not load.think_time_per:
        return load.think_time_s
    transaction_count = sum(label.sample_count for label in group.labels if label.is_transaction) if group else 0
    return load.think_time_s * transaction_count / group.total.sample_count if group else 0.0


def mean_pause_s(run: RunRecord | None, load: Group | None, figures: Sequence[LoadFigures]) -> float:
    """Return the mean pause of a run before a sample of the window, s: of several loads each has that of its load."""
    if run is None or not run.load.loads:
        return pause_s(run.load, load) if run else 0.0
    by_group = {one.group: one for one in run.load.loads}
    pauses = [(one.group.total.sample_count, pause_s(by_group[one.name], one.group)) for one in figures if one.group]
    sample_count = sum(count for count, _ in pauses)
    return sum(count * think_s for count, think_s in pauses) / sample_count if sample_count else 0.0


def unlike_the_request(
    figures: Sequence[LoadFigures], loads: Sequence[GroupLoad], done: Mapping[str, int]
) -> list[str]:
    """Return why loads were not the requested ones: no samples, or another peak number of users.

    `done` has how many users of each load with loops came and ended: they need not have been there at once.
    """
    reasons = []
    by_name = {one.name: one for one in figures}
    for load in loads:
        measured = by_name.get(load.group)
        if measured is None or measured.error_ratio is None:
            reasons.append(f"no sample of the load {load.group} was taken")
            continue
        requested, peak = load.users, measured.users_most
        if requested is None or peak is None or peak == requested:
            continue
        if peak < requested and load.is_staged and load.longest_peak_s < _PEAK_LEAST_S:
            continue
        if peak < requested == done.get(load.group):
            continue
        what = f"{units.plural(peak, 'user')} of {load.group} at the peak, not the requested {requested}"
        reasons.append(what)
    return reasons


def rows_by_tenant(figures: Sequence[LoadFigures], loads: Sequence[GroupLoad], total: Group) -> Group | None:
    """Return a group whose labels are the tenants, each with all its loads; None unless a tenant has several loads."""
    tenants = {load.group: load.tenant for load in loads if load.tenant is not None}
    totals: dict[str, list[LabelFigures]] = {}
    for one in figures:
        if one.group and (tenant := tenants.get(one.name)):
            totals.setdefault(tenant, []).append(one.group.total)
    if all(len(own) < 2 for own in totals.values()):
        return None
    percentiles = tuple(total.total.percentiles_ms)
    labels = tuple(
        LabelFigures.of(tenant, False, together([one.counts for one in own]), percentiles)
        for tenant, own in totals.items()
    )
    return replace(total, labels=labels)


def rows_by_load(figures: Sequence[LoadFigures], total: Group) -> Group:
    """Return a group whose labels are the loads, each with its TOTAL; TOTAL is that of all loads."""
    labels = [replace(one.group.total, label=one.name) for one in figures if one.group]
    return replace(total, labels=tuple(labels))
