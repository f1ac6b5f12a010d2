"""Reads what a run recorded beside its samples, and what follows from it: growth, and the slowest samples."""

from __future__ import annotations

from dataclasses import replace

from harness.base.units import MS_PER_S
from harness.jtl.sample import Dropped
from harness.metrics.files import read_samples
from harness.metrics.growth import growths
from harness.metrics.interval import IntervalMs
from harness.metrics.tally import SampleTally
from harness.metrics.window import Window
from harness.report.growth import is_constant, with_cloud
from harness.report.slowest import explained, slowest_samples
from harness.report.summarise import origin_of, window_span_ms
from harness.report.summary import Observed
from harness.run.counted import jtls_of
from harness.run.directory import RunDirectory
from harness.run.record import RunRecord
from harness.run.recorders import read_all
from harness.system.recorder import Reading


def observed_of(
    directory: RunDirectory, run: RunRecord, tally: SampleTally, window: Window, *, may_write: bool = False
) -> Observed:
    """Return the observations other than samples; without a load, nothing about machine and heap.

    If it `may_write`, files that belong to an observation are written again, such as flame graphs.
    """
    of = Reading(directory.path, directory.system_logs, run.exception_logs, tally, window, may_write)
    origin_s, span_ms, window_ms = origin_of(tally), tally.span_ms(), window_span_ms(tally, window)
    if origin_s is None or span_ms is None or window_ms is None:
        return Observed(**read_all(of))
    run_ms = IntervalMs(origin_s * MS_PER_S, span_ms.to_ms)
    of = replace(of, has_load=True, origin_s=origin_s, run_ms=run_ms, window_ms=window_ms)
    found = Observed(**read_all(of))
    length_s = window_ms.length_ms / MS_PER_S
    grown = growths(of.resources, length_s) if is_constant(run) else ()
    found = replace(found, growths=with_cloud(grown, found.cloudwatch, window, run))
    if of.events is None and not run.is_traced:
        return found
    samples = (sample for _, path in jtls_of(directory, run) for sample in read_samples(path, Dropped()))
    slowest = slowest_samples(samples, run.once_labels, window_ms)
    return replace(found, slowest=explained(slowest, of.events, found.usage_series, origin_s))
