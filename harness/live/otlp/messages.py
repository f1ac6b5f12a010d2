"""Makes the protobuf messages of OpenTelemetry from the counts of a run and from its slow and failed requests."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, InstrumentationScope, KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import (
    AGGREGATION_TEMPORALITY_CUMULATIVE,
    ExponentialHistogramDataPoint,
    Metric,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
)
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span, Status

from harness.base.secrecy import masked
from harness.base.units import MS_PER_S
from harness.jtl.sample import Sample
from harness.live.run_counts import RunSnapshot
from harness.live.telemetry_tail import TailUse
from harness.metrics import instruments
from harness.metrics.figures import LabelCounts, cause_of
from harness.metrics.histogram import Histogram
from harness.metrics.instruments import Instrument
from harness.run.telemetry.processes import STOLEN

_NS_PER_MS = 1_000_000
NAME = "load-test-harness"
RUN_ATTRIBUTE = "loadtest.run"
# The unit is a field of its own. Prometheus puts it back: both ways lead to the same names there.
_UNITS = {"_seconds": "s", "_bytes": "By"}
# The info metric of the run, which Prometheus' text format gives the suffix, and its attributes of the resource.
_INFO = replace(instruments.INFO, name=f"{instruments.INFO.name}_info")
_OF_INFO = (("loadtest.plan", None), ("deployment.environment.name", None), ("vcs.ref.head.revision", 12))
# Units of counts are annotations, which Prometheus leaves out.
_UNITS_OF_COUNTS = {
    instruments.REQUESTS: "{request}",
    instruments.ERRORS: "{request}",
    instruments.ERROR_CAUSES: "{request}",
    instruments.USERS: "{user}",
    _INFO: "{run}",
}
_HTTP_STATUS = re.compile("[1-5][0-9]{2}")
# The values of an instrument's labels without the run; then the value.
Row = tuple[Sequence[str], float]
# There are 2 ** SCALE buckets per doubling. A bucket is 2.2 % wide, so below 46 ms each millisecond has its own. From
# 1 ms to 60 s there are 508; Prometheus takes scales up to 8.
SCALE = 5
_PER_DOUBLING = 1 << SCALE


@dataclass(frozen=True)
class Export:
    """What is sent at one moment: the counts so far, CPU and memory, and the requests that get a span."""

    time_ns: int
    snapshot: RunSnapshot
    uses: tuple[TailUse, ...] = ()
    samples: tuple[Sample, ...] = ()


@dataclass(frozen=True)
class Messages:
    """Makes the messages of one run: `attributes` are those of its resource, `hidden` its secrets.

    `version` is that of the harness. With `is_explicit` histograms have the bounds of buckets.
    """

    attributes: Mapping[str, str]
    start_ns: int
    version: str
    hidden: tuple[str, ...] = ()
    is_explicit: bool = False

    @property
    def run(self) -> str:
        """Return the run, an attribute of every point: Prometheus makes no labels of the resource."""
        return self.attributes[RUN_ATTRIBUTE]

    def metrics(self, export: Export) -> bytes:
        """Return an ExportMetricsServiceRequest with all counts since the start."""
        snapshot = export.snapshot
        rows = [
            ((label, group, instruments.kind_of(is_transaction=is_transaction)), counts)
            for (group, label, is_transaction), counts in snapshot.labels.items()
        ]
        memory = [((use.process,), use.rss_bytes) for use in export.uses if use.process.partition(" ")[0] != STOLEN]
        info = tuple(self.attributes.get(name, "")[:most] for name, most in _OF_INFO)
        metrics = [
            (self._explicit_times if self.is_explicit else self._times)(rows, export.time_ns),
            self._sum(instruments.REQUESTS, [(row, counts.histogram.count) for row, counts in rows], export.time_ns),
            self._sum(instruments.ERRORS, [(row, counts.error_count) for row, counts in rows], export.time_ns),
            self._sum(instruments.RECEIVED, _known((row, one.received_bytes) for row, one in rows), export.time_ns),
            self._sum(instruments.SENT, _known((row, one.sent_bytes) for row, one in rows), export.time_ns),
            self._sum(instruments.ERROR_CAUSES, snapshot.causes.items(), export.time_ns),
            self._gauge(instruments.USERS, [((), snapshot.active_users)], export.time_ns),
            self._sum(instruments.CPU, [((use.process,), use.cpu_s) for use in export.uses], export.time_ns),
            self._gauge(instruments.MEMORY, memory, export.time_ns),
            self._gauge(_INFO, [(info, 1)], export.time_ns),
        ]
        known = [
            one
            for one in metrics
            if any(kind.data_points for kind in (one.histogram, one.exponential_histogram, one.sum, one.gauge))
        ]
        scoped = ScopeMetrics(scope=self._scope(), metrics=known)
        resource = ResourceMetrics(resource=self._resource(), scope_metrics=[scoped])
        return bytes(ExportMetricsServiceRequest(resource_metrics=[resource]).SerializeToString())

    def spans(self, samples: Iterable[Sample]) -> bytes:
        """Return an ExportTraceServiceRequest with a span per sample, each of which has a trace id."""
        scoped = ScopeSpans(scope=self._scope(), spans=[self._span(sample) for sample in samples])
        resource = ResourceSpans(resource=self._resource(), scope_spans=[scoped])
        return bytes(ExportTraceServiceRequest(resource_spans=[resource]).SerializeToString())

    def _scope(self) -> InstrumentationScope:
        return InstrumentationScope(name=NAME, version=self.version)

    def _resource(self) -> Resource:
        return Resource(attributes=_attributes(self.attributes))

    def _times(self, rows: Iterable[tuple[Sequence[str], LabelCounts]], time_ns: int) -> Metric:
        metric = _metric(instruments.RESPONSE_TIME)
        metric.exponential_histogram.aggregation_temporality = AGGREGATION_TEMPORALITY_CUMULATIVE
        for values, counts in rows:
            histogram, buckets = counts.histogram, exponential_buckets(counts.histogram)
            metric.exponential_histogram.data_points.add(
                attributes=_labels(instruments.RESPONSE_TIME, (self.run, *values)),
                start_time_unix_nano=self.start_ns,
                time_unix_nano=time_ns,
                count=histogram.count,
                sum=counts.elapsed_sum_ms / MS_PER_S,
                scale=SCALE,
                zero_count=buckets.zero_count,
                positive=ExponentialHistogramDataPoint.Buckets(offset=buckets.offset, bucket_counts=buckets.counts),
                min=(histogram.min_ms or 0) / MS_PER_S,
                max=(histogram.max_ms or 0) / MS_PER_S,
            )
        return metric

    def _explicit_times(self, rows: Iterable[tuple[Sequence[str], LabelCounts]], time_ns: int) -> Metric:
        metric = _metric(instruments.RESPONSE_TIME)
        metric.histogram.aggregation_temporality = AGGREGATION_TEMPORALITY_CUMULATIVE
        for values, counts in rows:
            up_to = instruments.cumulative_counts(counts.histogram)
            metric.histogram.data_points.add(
                attributes=_labels(instruments.RESPONSE_TIME, (self.run, *values)),
                start_time_unix_nano=self.start_ns,
                time_unix_nano=time_ns,
                count=counts.histogram.count,
                sum=counts.elapsed_sum_ms / MS_PER_S,
                explicit_bounds=[bound_ms / MS_PER_S for bound_ms in instruments.BOUNDS_MS],
                bucket_counts=[after - before for before, after in pairwise((0, *up_to))],
                min=(counts.histogram.min_ms or 0) / MS_PER_S,
                max=(counts.histogram.max_ms or 0) / MS_PER_S,
            )
        return metric

    def _sum(self, instrument: Instrument, rows: Iterable[Row], time_ns: int) -> Metric:
        metric = _metric(instrument)
        metric.sum.aggregation_temporality = AGGREGATION_TEMPORALITY_CUMULATIVE
        metric.sum.is_monotonic = True
        metric.sum.data_points.extend(self._points(instrument, rows, time_ns, self.start_ns))
        return metric

    def _gauge(self, instrument: Instrument, rows: Iterable[Row], time_ns: int) -> Metric:
        metric = _metric(instrument)
        metric.gauge.data_points.extend(self._points(instrument, rows, time_ns))
        return metric

    def _points(
        self, instrument: Instrument, rows: Iterable[Row], time_ns: int, start_ns: int = 0
    ) -> list[NumberDataPoint]:
        points = []
        for values, value in rows:
            attributes = _labels(instrument, (self.run, *values))
            point = NumberDataPoint(attributes=attributes, start_time_unix_nano=start_ns, time_unix_nano=time_ns)
            if isinstance(value, int):
                point.as_int = value
            else:
                point.as_double = value
            points.append(point)
        return points

    def _span(self, sample: Sample) -> Span:
        """Return the span of a request. Its id is that in the request's header, so the system's own span is below it.

        The harness makes the headers so: the parent id is the first half of the trace id.
        """
        trace_id = bytes.fromhex(sample.trace_id)
        about: dict[str, str | int] = {"thread.name": masked(sample.thread_name, self.hidden)}
        if _HTTP_STATUS.fullmatch(sample.code):
            about["http.response.status_code"] = int(sample.code)
        status = Status()
        if not sample.success:
            about["error.type"] = masked(sample.code, self.hidden)
            cause = cause_of(sample.failure, sample.message, sample.code).example
            status = Status(code=Status.STATUS_CODE_ERROR, message=masked(cause, self.hidden))
        return Span(
            trace_id=trace_id,
            span_id=trace_id[:8],
            name=masked(sample.label, self.hidden),
            kind=Span.SPAN_KIND_CLIENT,
            start_time_unix_nano=sample.start_ms * _NS_PER_MS,
            end_time_unix_nano=sample.end_ms * _NS_PER_MS,
            attributes=_attributes(about),
            status=status,
        )


def rejected_points(answer: bytes) -> int:
    """Return how many points the receiver rejected of a request that it took. DecodeError for another answer."""
    return int(ExportMetricsServiceResponse.FromString(answer).partial_success.rejected_data_points)


def rejected_spans(answer: bytes) -> int:
    """Return how many spans the receiver rejected of a request that it took. DecodeError for another answer."""
    return int(ExportTraceServiceResponse.FromString(answer).partial_success.rejected_spans)


def _metric(instrument: Instrument) -> Metric:
    """Return a metric without values: loadtest_response_time_seconds is loadtest.response_time in s."""
    name, unit = instrument.name, _UNITS_OF_COUNTS.get(instrument, "")
    for suffix, of_suffix in _UNITS.items():
        if name.endswith(suffix):
            name, unit = name.removesuffix(suffix), of_suffix
    return Metric(name=name.replace("_", ".", 1), description=instrument.help, unit=unit)


def _known(rows: Iterable[tuple[Sequence[str], int | None]]) -> list[Row]:
    """Return the rows without those of a column that the JTL lacks."""
    return [(values, value) for values, value in rows if value is not None]


def _labels(instrument: Instrument, values: Sequence[str]) -> list[KeyValue]:
    return _attributes(dict(zip(instrument.labels, values, strict=True)))


def _attributes(attributes: Mapping[str, str | int]) -> list[KeyValue]:
    return [
        KeyValue(key=name, value=AnyValue(int_value=value) if isinstance(value, int) else AnyValue(string_value=value))
        for name, value in attributes.items()
    ]


@dataclass(frozen=True)
class ExponentialBuckets:
    """Counts of times in seconds: `zero_count` of 0 ms, then one count per bucket from the index `offset` on.

    The bucket of index i has the times above 2 ** (i / 2 ** SCALE) s, up to 2 ** ((i + 1) / 2 ** SCALE) s, that bound
    included (https://opentelemetry.io/docs/specs/otel/metrics/data-model/#exponentialhistogram).
    """

    zero_count: int
    offset: int
    counts: tuple[int, ...]


def bucket_index(value_ms: int) -> int:
    """Return the index of the bucket of a time above 0 ms.

    The bounds between powers of two are irrational, so that no time is on one; the logarithm of a power is exact.
    """
    return math.ceil(math.log2(value_ms / MS_PER_S) * _PER_DOUBLING) - 1


def exponential_buckets(histogram: Histogram) -> ExponentialBuckets:
    """Return the counts of all values; the buckets reach from the least value above 0 ms to the greatest."""
    by_index: dict[int, int] = {}
    for value_ms, count in histogram.counts.items():
        if value_ms > 0:
            index = bucket_index(value_ms)
            by_index[index] = by_index.get(index, 0) + count
    offset = min(by_index, default=0)
    counts = tuple(by_index.get(index, 0) for index in range(offset, max(by_index, default=offset - 1) + 1))
    return ExponentialBuckets(histogram.count - sum(counts), offset, counts)
