"""The slowest samples of a profiled or traced run, and what the system did while they waited."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from statistics import fmean

from harness.base.units import MS_PER_S
from harness.jtl.sample import Sample
from harness.metrics.figures import LOAD, group_of
from harness.metrics.interval import IntervalMs
from harness.run.telemetry.processes import HOST
from harness.run.telemetry.table import UsageSeries
from harness.system.profile import lock_wait_ms, longest_lock, pause_ms, unusual_wait, usual_waits, within
from harness.system.profile_events import Events

SLOWEST_MOST = 20


@dataclass(frozen=True)
class SlowSample:
    """One sample, and what happened in the seconds from its start to its end.

    `at_s` is its start since the start of the load. `pause_ms` are the pauses of all garbage collections, `wait_ms` the
    lock waits of all threads; both are None without a profile. `host_cores` is the CPU that all processes used on
    average, None if not known. `trace_id` is empty unless the run was traced. `lock` is the one that threads waited for
    longest, `wait` the method in which more threads with work waited than usual; both are empty without such a wait.
    """

    at_s: float
    elapsed_ms: int
    label: str
    thread_name: str
    code: str
    pause_ms: float | None
    wait_ms: float | None
    host_cores: float | None
    trace_id: str = ""
    lock: str = ""
    wait: str = ""


def slowest_samples(samples: Iterable[Sample], once_labels: Sequence[str], window_ms: IntervalMs) -> tuple[Sample, ...]:
    """Return the slowest samples of the load that ended in the window, the slowest first; no transactions."""
    once = frozenset(once_labels)
    candidates = (
        sample
        for sample in samples
        if window_ms.from_ms <= sample.end_ms <= window_ms.to_ms
        and not sample.is_transaction
        and group_of(sample.thread_name, sample.label, once) == LOAD
    )
    return tuple(nlargest(SLOWEST_MOST, candidates, key=lambda sample: (sample.elapsed_ms, -sample.start_ms)))


def explained(
    samples: Sequence[Sample], events: Mapping[str, Events] | None, series: Iterable[UsageSeries], origin_s: int
) -> tuple[SlowSample, ...]:
    """Return the samples with what the system did from the second of their start to the second of their end.

    `events` are those of the profiled processes; None without a profile.
    """
    host = next((one for one in series if one.process == HOST), None)
    usual: Mapping[str, float] = {}
    if events is not None:
        usual = usual_waits(events)
        events = within(events, {second for sample in samples for second in _seconds(sample)})

    def found(sample: Sample) -> SlowSample:
        seconds = _seconds(sample)
        return SlowSample(
            at_s=round(sample.start_ms / MS_PER_S - origin_s, 1),
            elapsed_ms=sample.elapsed_ms,
            label=sample.label,
            thread_name=sample.thread_name,
            code=sample.code,
            pause_ms=None if events is None else pause_ms(events.values(), seconds),
            wait_ms=None if events is None else lock_wait_ms(events.values(), seconds),
            host_cores=_cores(host, seconds, origin_s) if host else None,
            trace_id=sample.trace_id,
            lock="" if events is None else longest_lock(events, seconds),
            wait="" if events is None else unusual_wait(events, seconds, usual),
        )

    return tuple(map(found, samples))


def _seconds(sample: Sample) -> range:
    """Return the seconds (since 1970) from a sample's start to its end, both included."""
    return range(sample.start_ms // MS_PER_S, sample.end_ms // MS_PER_S + 1)


def _cores(host: UsageSeries, seconds: range, origin_s: int) -> float | None:
    """Return the mean of the points in these seconds; a row of telemetry covers the second before it."""
    first, last = seconds[0] - origin_s, seconds[-1] - origin_s + 1
    points = [cores for at_s, cores in zip(host.seconds, host.cpu_cores, strict=True) if first <= at_s <= last]
    return round(fmean(points), 2) if points else None
