"""Turns the counts of a run into the metric families of prometheus_client, which writes them as OpenMetrics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)

from harness.base.units import MS_PER_S
from harness.live.run_counts import RunSnapshot
from harness.live.telemetry_tail import Use
from harness.metrics import instruments
from harness.metrics.buckets import BOUND_TEXTS, cumulative_counts
from harness.metrics.instruments import Instrument
from harness.run.telemetry import STOLEN


@dataclass(frozen=True)
class RunLabels:
    """What tells a run from others: its id, such as tiny/run-01_1, its plan, its profile and the harness's commit.

    `commit` is empty outside git.
    """

    run: str
    plan: str
    env: str
    commit: str


def families(labels: RunLabels, snapshot: RunSnapshot, uses: Iterable[Use]) -> Iterator[Metric]:
    """Return the metric families of a run; all but the run's own have the run's id as a label."""
    about = {"run": labels.run, "plan": labels.plan, "env": labels.env, "commit": labels.commit}
    yield InfoMetricFamily(instruments.INFO.name, instruments.INFO.help, about)
    yield _gauge(instruments.ENDED, [([labels.run], int(snapshot.is_ended))])
    yield _gauge(instruments.USERS, [([labels.run], snapshot.active_users)])
    yield from _of_labels(labels.run, snapshot)
    causes = [([labels.run, *key], count) for key, count in snapshot.causes.items()]
    yield _counter(instruments.ERROR_CAUSES, causes)
    uses = tuple(uses)
    yield _counter(instruments.CPU, [([labels.run, use.process], round(use.cpu_s, 3)) for use in uses])
    memory = [([labels.run, use.process], use.rss_bytes) for use in uses if use.process.partition(" ")[0] != STOLEN]
    yield _gauge(instruments.MEMORY, memory)


def _of_labels(run: str, snapshot: RunSnapshot) -> Iterator[Metric]:
    times = HistogramMetricFamily(
        instruments.RESPONSE_TIME.name, instruments.RESPONSE_TIME.help, labels=instruments.RESPONSE_TIME.labels
    )
    requests, errors = _counter(instruments.REQUESTS), _counter(instruments.ERRORS)
    received, sent = _counter(instruments.RECEIVED), _counter(instruments.SENT)
    for (group, label, is_transaction), counts in snapshot.labels.items():
        values = [run, label, group, instruments.kind_of(is_transaction=is_transaction)]
        buckets = cumulative_counts(counts.histogram)
        times.add_metric(values, list(zip(BOUND_TEXTS, buckets, strict=True)), counts.elapsed_sum_ms / MS_PER_S)
        requests.add_metric(values, buckets[-1])
        errors.add_metric(values, counts.error_count)
        for family, total_bytes in ((received, counts.received_bytes), (sent, counts.sent_bytes)):
            if total_bytes is not None:  # the JTL has such a column
                family.add_metric(values, total_bytes)
    yield from (times, requests, errors, received, sent)


def _counter(instrument: Instrument, values: Iterable[tuple[list[str], float]] = ()) -> CounterMetricFamily:
    family = CounterMetricFamily(instrument.name, instrument.help, labels=instrument.labels)
    for labels, value in values:
        family.add_metric(labels, value)
    return family


def _gauge(instrument: Instrument, values: Iterable[tuple[list[str], float]]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(instrument.name, instrument.help, labels=instrument.labels)
    for labels, value in values:
        family.add_metric(labels, value)
    return family
