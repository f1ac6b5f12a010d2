"""Reads what was recorded beside the samples of a run: a table of observations, one entry each."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from io import TextIOWrapper
from pathlib import Path
from typing import NamedTuple

from harness.base import units
from harness.cloudwatch.points import CloudMetrics, read_cloudwatch
from harness.jtl.sample import Dropped
from harness.metrics.files import read_samples
from harness.metrics.interval import IntervalMs
from harness.metrics.resource_growth import ResourceSeries, growths
from harness.metrics.tally import SampleTally
from harness.metrics.window import Window
from harness.report.growth import is_constant, with_cloud
from harness.report.slowest import explained, slowest_samples
from harness.report.summarise import origin_of, window_span_ms
from harness.report.summary import Observed
from harness.run.counted import jtls_of
from harness.run.directory import RunDirectory
from harness.run.record import RunRecord
from harness.run.telemetry import read_telemetry
from harness.system.database_files import databases
from harness.system.exceptions import ExceptionCount, count_exceptions, most_frequent
from harness.system.flight_recording import read_recordings, recorded_uses
from harness.system.heap import heap_after_gc, heap_series, heap_uses, read_heaps
from harness.system.histograms import Histogram, forced_ms, live_heaps, read_histograms
from harness.system.own_metrics_files import own_metrics
from harness.system.profile import profiles
from harness.system.profile_events import read_events
from harness.system.profile_files import flame_graphs
from harness.system.statements import StatementInterval


@dataclass(frozen=True)
class Reading:
    """A run whose observations are read; `resources` are the series of memory that were found so far."""

    directory: RunDirectory
    run: RunRecord
    tally: SampleTally
    window: Window
    resources: list[ResourceSeries] = field(default_factory=list)

    @property
    def origin_s(self) -> int | None:
        """The whole second in which the load started; None without samples of the load."""
        return origin_of(self.tally)

    @cached_property
    def histograms(self) -> tuple[Histogram, ...]:
        """The heap histograms of a soak; empty for any other run."""
        return read_histograms(_lines(self.directory.histograms))

    @property
    def load(self) -> _Load | None:
        """The times of the load; None without samples of the load."""
        origin_s, span_ms = self.origin_s, self.tally.span_ms()
        window_ms = window_span_ms(self.tally, self.window)
        if origin_s is None or span_ms is None or window_ms is None:
            return None
        return _Load(origin_s, IntervalMs(origin_s * units.MS_PER_S, span_ms.to_ms), window_ms)


def _lines(path: Path) -> Iterator[str]:
    """Yield the lines of a recorded file, which may be packed; none without the file."""
    if path.is_file():
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            yield from TextIOWrapper(file, encoding="utf-8", errors="replace")


class _Load(NamedTuple):
    """The first second of a load, its time from there to its last end, and the measured window."""

    origin_s: int
    run_ms: IntervalMs
    window_ms: IntervalMs


def observed_of(reading: Reading) -> Observed:
    """Return the observations other than samples; without a load, nothing about machine and heap."""
    found, load = Observed(), reading.load
    for read in OBSERVATIONS:
        found = read(reading, found)
    if load:
        for read_of_load in OBSERVATIONS_OF_LOAD:
            found = read_of_load(reading, found, load)
    return found


def _exceptions(reading: Reading, found: Observed) -> Observed:
    counts: list[ExceptionCount] = []
    missing = []
    for name in reading.run.exception_logs:
        try:
            with (reading.directory.system_logs / name).open(encoding="utf-8", errors="replace") as lines:
                counts += count_exceptions(lines, name)
        except OSError:
            missing.append(name)
    frequent = most_frequent(counts)
    left_out = frequent.left_out_count
    return replace(found, exceptions=frequent.kinds, exception_kinds_left_out=left_out, missing_logs=tuple(missing))


def _cloudwatch(reading: Reading, found: Observed) -> Observed:
    return replace(found, cloudwatch=observed_cloudwatch(reading.directory, reading.origin_s, reading.window))


def observed_cloudwatch(directory: RunDirectory, origin_s: int | None, window: Window) -> CloudMetrics | None:
    """Return the CloudWatch metrics of a run; None if nothing was fetched, or there was no load."""
    if origin_s is None or not directory.cloudwatch.is_file():
        return None
    with directory.cloudwatch.open(encoding="utf-8", errors="replace", newline="") as lines:
        return read_cloudwatch(lines, origin_s, window)


def _live_heaps(reading: Reading, found: Observed, load: _Load) -> Observed:
    return replace(found, live_heaps=live_heaps(reading.histograms, load.origin_s))


def _telemetry(reading: Reading, found: Observed, load: _Load) -> Observed:
    read = read_telemetry(_lines(reading.directory.telemetry), load.run_ms, load.window_ms)
    reading.resources.extend(read.resources)
    found = replace(found, usages=read.usages, usage_series=read.series, machine_figures=read.machines)
    return replace(found, stops=read.stops)


def _heap(reading: Reading, found: Observed, load: _Load) -> Observed:
    heaps = read_heaps(_lines(reading.directory.heap))
    reading.resources.extend(heap_after_gc(heaps, *load.window_ms, forced_ms(reading.histograms)))
    return replace(found, heap_uses=heap_uses(heaps, *load.window_ms), heap_series=heap_series(heaps, *load.run_ms))


def _growths(reading: Reading, found: Observed, load: _Load) -> Observed:
    if is_constant(reading.run):
        found = replace(found, growths=growths(reading.resources, load.window_ms.length_ms / units.MS_PER_S))
    return replace(found, growths=with_cloud(found.growths, found.cloudwatch, reading.window, reading.run))


def _recording(reading: Reading, found: Observed, load: _Load) -> Observed:
    recordings = read_recordings(_lines(reading.directory.recording))
    return replace(found, recorded=recorded_uses(recordings, *load.window_ms))


def _profile(reading: Reading, found: Observed, load: _Load) -> Observed:
    """Return profiles of the window, and the slowest samples; of a run that was only traced, those alone."""
    directory, run = reading.directory, reading.run
    events = read_events(_lines(directory.profile)) if directory.profile.is_file() else None
    if events is None and not run.is_traced:
        return found
    samples = (sample for _, path in jtls_of(directory, run) for sample in read_samples(path, Dropped()))
    slowest = slowest_samples(samples, run.once_labels, load.window_ms)
    profiled = profiles(events or {}, *load.window_ms)
    with_graphs = tuple(replace(one, flame_graphs=flame_graphs(directory.path, one)) for one in profiled)
    explanations = explained(slowest, events, found.usage_series, load.origin_s)
    return replace(found, profiles=with_graphs, slowest=explanations)


def _own_metrics(reading: Reading, found: Observed, load: _Load) -> Observed:
    return replace(found, own_metrics=own_metrics(reading.directory.system_logs, *load.window_ms))


def _databases(reading: Reading, found: Observed, load: _Load) -> Observed:
    """Return the statements of databases, of the window as far as snapshots know them."""
    origin_ms = load.origin_s * units.MS_PER_S

    def interval_of(from_ms: int, to_ms: int) -> StatementInterval:
        from_s, to_s = (round((at_ms - origin_ms) / units.MS_PER_S, 1) for at_ms in (from_ms, to_ms))
        return StatementInterval(from_s, to_s, reading.tally.second_series.ended_between(from_ms, to_ms))

    return replace(found, databases=databases(reading.directory.system_logs, *load.window_ms, interval_of))


# Each entry adds what it finds to what those before it found.
OBSERVATIONS: tuple[Callable[[Reading, Observed], Observed], ...] = (_exceptions, _cloudwatch)
OBSERVATIONS_OF_LOAD: tuple[Callable[[Reading, Observed, _Load], Observed], ...] = (
    _live_heaps, _telemetry, _heap, _growths, _recording, _profile, _own_metrics, _databases,
)  # fmt: skip
