"""What the agent in JMeter counted of the users of a load: how many there were, and for how long they paused."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from harness.base.units import MS_PER_S
from harness.metrics.figures import LOAD, LabelFigures, group_of
from harness.metrics.interval import Interval, IntervalMs
from harness.metrics.littles_law import LittlesLaw, littles_law, waiting_ms
from harness.metrics.timeline import SecondSeries

if TYPE_CHECKING:
    from harness.run.group_counts import GroupCounts, LabelCount
    from harness.run.record import RunRecord


def groups_of(run: RunRecord | None, load: str = "") -> tuple[GroupCounts, ...]:
    """Return the thread groups of a load, of all of them without a name; empty where they are not known."""
    groups = run.groups if run else ()
    return tuple(one for one in groups if group_of(one.name, "", frozenset()) == LOAD and load in ("", one.name))


def counts_by_label(
    run: RunRecord | None, of: Callable[[GroupCounts], Iterable[LabelCount]], load: str = ""
) -> dict[str, int]:
    """Return a count of the agent in the thread groups of a load by label; `of` returns that of a group."""
    if not (groups := groups_of(run, load)):
        return {}
    from harness.run.group_counts import label_counts  # here: no bare JTL has any

    return {one.label: one.count for one in label_counts(one for group in groups for one in of(group))}


def pauses_ms(groups: Iterable[GroupCounts], span_ms: IntervalMs) -> float:
    """Return for how long all users of groups paused between two instants, ms."""
    return sum(group.pauses_s(span_ms.from_ms, span_ms.to_ms) for group in groups) * MS_PER_S


def law_of(
    series: SecondSeries,
    span_ms: IntervalMs,
    labels: Sequence[LabelFigures],
    groups: Sequence[GroupCounts],
    think_s: float,
) -> LittlesLaw | None:
    """Return Little's law of a load in a window; `labels` are those of the window.

    Users paused as the agent counted in their `groups`; where it did not, `think_s` before each request.
    """
    own_s = series.span_s
    if own_s is None or span_ms.length_ms <= 0:
        return None
    # A window ends before its second instant; the whole load ends at it, perhaps in a second of its own.
    is_to_the_end = span_ms.to_ms // MS_PER_S >= own_s.last_s
    window = Interval(span_ms.from_ms // MS_PER_S, span_ms.to_ms // MS_PER_S + is_to_the_end)
    first_s = min(own_s.first_s, window.from_s)
    seconds = series.by_second(first_s, max(own_s.last_s, window.to_s - 1))
    inside = Interval(window.from_s - first_s, window.to_s - first_s)
    counted = seconds[inside.from_s : inside.to_s]
    times, counts = _without_parts(labels)
    sample_count = counts * sum(second.sample_count for second in counted)
    paused_ms = pauses_ms(groups, span_ms) if groups else sample_count * think_s * MS_PER_S
    active_ms = sum(group.users_s(*span_ms) for group in groups) * MS_PER_S if groups else None
    # What samples have beside the time that their user waited for answers: others at once, and what comes after.
    beside_ms = sum(one.count for group in groups for one in (*group.together_ms, *group.late_ms))
    whole_ms = times * waiting_ms(seconds, Interval(0, len(seconds))) if beside_ms else 1.0
    waited_ms = times * waiting_ms(seconds, inside) * max(0.0, 1 - beside_ms / whole_ms)
    return littles_law(counted, span_ms.length_ms, waited_ms, paused_ms, active_ms)


def users_by_second(groups: Sequence[GroupCounts]) -> list[int]:
    """Return the users of each second from the first one on: those that were there for most of it."""
    from_s = begin_s(groups)
    to_s = max((group.from_s + group.step_s * len(group.alive_ms) for group in groups), default=from_s)
    users = [0.0] * (to_s - from_s)
    for group in groups:
        for at, alive_ms in enumerate(group.alive_ms):
            for second in range(group.step_s):
                users[group.from_s - from_s + at * group.step_s + second] += alive_ms / group.step_s / MS_PER_S
    return [int(count + 0.5) for count in users]


def begin_s(groups: Iterable[GroupCounts]) -> int:
    """Return the second (since 1970) in which the first user of groups began; 0 without any."""
    firsts = (
        group.from_s + group.step_s * next((at for at, ms in enumerate(group.alive_ms) if ms), 0) for group in groups
    )
    return min(firsts, default=0)


class _Share(NamedTuple):
    """The share of the times and that of the samples, 0-1, of rows that are no parts of others."""

    times: float
    counts: float


def _without_parts(labels: Sequence[LabelFigures]) -> _Share:
    names = {label.label for label in labels}
    requests = [label for label in labels if not label.is_transaction]
    own = [label for label in requests if not is_sub_result(label.label, names)]
    times = [sum(label.average_ms * label.sample_count for label in some) for some in (own, requests)]
    counts = [sum(label.sample_count for label in some) for some in (own, requests)]
    return _Share(times[0] / times[1] if times[1] else 1.0, counts[0] / counts[1] if counts[1] else 1.0)


def is_sub_result(label: str, names: Iterable[str]) -> bool:
    """Return whether rows of a label are parts of others: redirects and embedded resources, such as GET /-0.

    The time of a request includes that of its parts.
    """
    whole, dash, number = label.rpartition("-")
    return bool(dash) and number.isdigit() and whole in names
