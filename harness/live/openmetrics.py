"""Turns the counts of runs into the metric families of prometheus_client, which writes them as OpenMetrics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TypeVar

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)

from harness.base.units import MS_PER_S
from harness.live.run_counts import RunSnapshot
from harness.live.telemetry_tail import TailUse
from harness.metrics import instruments
from harness.metrics.instruments import BOUND_TEXTS, Instrument, cumulative_counts
from harness.run.telemetry.processes import STOLEN

_Family = TypeVar("_Family", CounterMetricFamily, GaugeMetricFamily)


@dataclass(frozen=True)
class RunLabels:
    """What identifies a run: its id, such as tiny/run-01_1, its plan, its profile and the harness's commit.

    `commit` is empty outside git.
    """

    run: str
    plan: str
    env: str
    commit: str


@dataclass(frozen=True)
class RunMetrics:
    """What is published of a run at one moment: its counts, and CPU and memory of its processes."""

    labels: RunLabels
    snapshot: RunSnapshot
    uses: tuple[TailUse, ...] = ()


def families(runs: Sequence[RunMetrics]) -> Iterator[Metric]:
    """Return the metric families of runs, the newest last; all but the run's own have the run's id as a label.

    Only the newest run has memory: those before it have ended, and a sum would count the machine twice.
    """
    info = InfoMetricFamily(instruments.INFO.name, instruments.INFO.help)
    for run in runs:
        info.add_metric([], asdict(run.labels))
    yield info
    ended = [([run.labels.run], int(run.snapshot.is_ended)) for run in runs]
    yield _filled(GaugeMetricFamily, instruments.ENDED, ended)
    users = [([run.labels.run], run.snapshot.active_users) for run in runs]
    yield _filled(GaugeMetricFamily, instruments.USERS, users)
    yield from _of_labels(runs)
    causes = [([run.labels.run, *key], count) for run in runs for key, count in run.snapshot.causes.items()]
    yield _filled(CounterMetricFamily, instruments.ERROR_CAUSES, causes)
    cpu = [([run.labels.run, use.process], round(use.cpu_s, 3)) for run in runs for use in run.uses]
    yield _filled(CounterMetricFamily, instruments.CPU, cpu)
    memory = [
        ([run.labels.run, use.process], use.rss_bytes)
        for run in runs[-1:]
        for use in run.uses
        if use.process.partition(" ")[0] != STOLEN
    ]
    yield _filled(GaugeMetricFamily, instruments.MEMORY, memory)


def _of_labels(runs: Iterable[RunMetrics]) -> Iterator[Metric]:
    times = HistogramMetricFamily(
        instruments.RESPONSE_TIME.name, instruments.RESPONSE_TIME.help, labels=instruments.RESPONSE_TIME.labels
    )
    requests, errors, received, sent = (
        _filled(CounterMetricFamily, instrument)
        for instrument in (instruments.REQUESTS, instruments.ERRORS, instruments.RECEIVED, instruments.SENT)
    )
    rows = [(run.labels.run, *row) for run in runs for row in run.snapshot.labels.items()]
    for run_id, (group, label, is_transaction), counts in rows:
        values = [run_id, label, group, instruments.kind_of(is_transaction=is_transaction)]
        buckets = cumulative_counts(counts.histogram)
        times.add_metric(values, list(zip(BOUND_TEXTS, buckets, strict=True)), counts.elapsed_sum_ms / MS_PER_S)
        requests.add_metric(values, buckets[-1])
        errors.add_metric(values, counts.error_count)
        for family, total_bytes in ((received, counts.received_bytes), (sent, counts.sent_bytes)):
            if total_bytes is not None:  # the JTL has such a column
                family.add_metric(values, total_bytes)
    yield from (times, requests, errors, received, sent)


def _filled(kind: type[_Family], instrument: Instrument, values: Iterable[tuple[list[str], float]] = ()) -> _Family:
    family = kind(instrument.name, instrument.help, labels=instrument.labels)
    for labels, value in values:
        family.add_metric(labels, value)
    return family
