"""The statistics of samples: exact counts per label, the metrics computed from them, codes, kinds of error."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from harness.base.records import build, fields_to_plain
from harness.base.units import MS_PER_S
from harness.jtl.sample import JOB_MARK, TRANSACTION_MESSAGE
from harness.metrics import metric
from harness.metrics.batches import Batches, plus
from harness.metrics.histogram import Histogram
from harness.metrics.metric import Metric

TOTAL = "TOTAL"
LOAD, ONCE, SETUP, TEARDOWN, JOBS = "load", "once", "setUp", "tearDown", "jobs"
GROUPS = (LOAD, ONCE, SETUP, TEARDOWN, JOBS)
# The samples of the load that did not fail, a group beside it where it is asked for.
SUCCESSFUL = f"{LOAD} successful"
PERCENTILES = metric.percentiles()
_CAUSE_LENGTH_MAX = 200
# So much of the time of receiving may at most be that of answers without a body.
_UNKNOWN_RATIO = 0.02
_HTTP_STATUS = re.compile(r"[0-9]{3}")
# JMeter's message of a request that got no answer: an assertion about the answer says nothing then.
NO_ANSWER_MESSAGE = "Non HTTP response message:"
_NO_ANSWER_CODE = "Non HTTP response code:"
# What is before a number of a kind of error, as of WebSocket, SQL and Oracle.
_BEFORE_CODE = ("status code ", "close code ", "error code ", "error code: ", "sqlstate ", "sqlstate: ", "ora-")
_IS_CODE = "|".join(f"(?<={text})" for text in _BEFORE_CODE)
# Ids, memory addresses, ports, times.
_ID = re.compile(
    r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b|\b(?=[a-f]*[0-9])[0-9a-f]{8,}\b"
    rf"|(?=\d{{4}})(?<!\d)(?!(?:{_IS_CODE})\d{{4,5}}\b)\d+",
    re.I,
)
_STACK_TRACE = re.compile(r" at [\w$.<>/]+\((?:[\w$]+\.\w+:\d+|Native Method|Unknown Source)\).*")


def group_of(thread_name: str, label: str, once: frozenset[str]) -> str:
    """Return the group of a sample; `once` are the labels of the once-per-user steps."""
    # JMeter names a thread after its thread group; in a distributed run the load generator's name comes first.
    if "setUp" in thread_name:
        return SETUP
    if "tearDown" in thread_name:
        return TEARDOWN
    if JOB_MARK in thread_name:
        return JOBS
    return ONCE if label in once else LOAD


@dataclass
class LabelCounts:
    """The stored counts of a label's samples; the counts of two parts merge exactly, without the samples.

    A sum is None where a JTL has no such column. `elapsed_sum_ms` is the histogram's sum, except for rows of several
    samples: the histogram contains whole milliseconds per sample, as in JMeter. `first_bytes` and `connects` are the
    samples by latency, and by a connect time above 0; parts of earlier versions lack both.
    """

    histogram: Histogram = field(default_factory=Histogram)
    elapsed_sum_ms: int = 0
    error_count: int = 0
    received_bytes: int | None = 0
    sent_bytes: int | None = 0
    latency_sum_ms: int | None = 0
    connect_sum_ms: int | None = 0
    first_ms: int | None = None
    last_ms: int = 0
    first_bytes: Histogram = field(default_factory=Histogram)
    connects: Histogram = field(default_factory=Histogram)

    def merge(self, other: LabelCounts) -> None:
        """Add another label's counts, or the same label's of another part."""
        self.histogram.merge(other.histogram.counts)
        self.elapsed_sum_ms += other.elapsed_sum_ms
        self.error_count += other.error_count
        self.received_bytes = plus(self.received_bytes, other.received_bytes)
        self.sent_bytes = plus(self.sent_bytes, other.sent_bytes)
        self.latency_sum_ms = plus(self.latency_sum_ms, other.latency_sum_ms)
        self.connect_sum_ms = plus(self.connect_sum_ms, other.connect_sum_ms)
        if other.first_ms is not None:
            self.first_ms = other.first_ms if self.first_ms is None else min(self.first_ms, other.first_ms)
            self.last_ms = max(self.last_ms, other.last_ms)
        self.first_bytes.merge(other.first_bytes.counts)
        self.connects.merge(other.connects.counts)

    @property
    def sums(self) -> tuple[int | None, ...]:
        """All but the histograms: `elapsed_sum_ms` to `last_ms`."""
        return tuple(value for value in vars(self).values() if not isinstance(value, Histogram))

    def known_first_bytes(self) -> Histogram | None:
        """Return the samples by latency; None unless that of every sample is known, and one took a millisecond."""
        return self.first_bytes if self.first_bytes.count == self.histogram.count and self.latency_sum_ms else None

    def known_parts(self) -> dict[str, float]:
        """Return averages of parts of the times by key; empty where too many answers without a body have latency 0."""
        first_bytes = self.known_first_bytes()
        if not first_bytes or self.latency_sum_ms is None or self.connect_sum_ms is None:
            return {}
        without_body = first_bytes.counts.get(0, 0) - self.histogram.counts.get(0, 0)
        most_ms = 0 if first_bytes.counts.get(1) else self.histogram.greatest_sum_ms(without_body)
        if most_ms > _UNKNOWN_RATIO * (self.elapsed_sum_ms - self.latency_sum_ms):
            return {}
        count = self.histogram.count
        waiting_ms, receiving_ms = self.latency_sum_ms - self.connect_sum_ms, self.elapsed_sum_ms - self.latency_sum_ms
        return {metric.WAITING.key: waiting_ms / count, metric.RECEIVING.key: receiving_ms / count}

    def known_connects(self) -> Histogram | None:
        """Return the samples by connect time, those of 0 ms included; None as above."""
        if not self.connect_sum_ms or self.connects.sum_ms != self.connect_sum_ms:
            return None
        return Histogram({0: self.histogram.count - self.connects.count, **self.connects.counts})


@dataclass(frozen=True)
class LabelFigures:
    """The metrics of one label, or of a group's TOTAL, computed from its `counts`.

    Rates count from the first start to the last end; percentiles follow JMeter's rule (see Histogram), by the text
    of the percentile. A transaction is the row of a Transaction Controller. `beside` has the metrics that only some
    labels have, by key. `batches` exist for a window that is long enough and for labels with enough samples.
    """

    label: str
    is_transaction: bool
    sample_count: int
    average_ms: float
    stddev_ms: float
    percentiles_ms: Mapping[str, int]
    min_ms: int
    max_ms: int
    error_count: int
    error_ratio: float
    rate_per_s: float | None
    success_rate_per_s: float | None
    received_bytes_per_s: float | None
    sent_bytes_per_s: float | None
    received_bytes_mean: float | None
    latency_ms: float | None
    connect_ms: float | None
    first_byte_percentiles_ms: Mapping[str, int]
    connect_percentiles_ms: Mapping[str, int]
    counts: LabelCounts
    batches: Batches | None = None
    beside: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        label: str,
        is_transaction: bool,
        counts: LabelCounts,
        percentiles: Sequence[str] = PERCENTILES,
        batches: Batches | None = None,
    ) -> LabelFigures:
        """Return the metrics of counts that have at least one sample."""
        histogram, count = counts.histogram, counts.histogram.count
        low, high, stddev = histogram.min_ms, histogram.max_ms, histogram.stddev_ms
        assert low is not None and high is not None and stddev is not None
        passed_ms = counts.last_ms - (counts.first_ms or 0)
        values = histogram.quantiles_ms([float(text) / 100 for text in percentiles])
        return cls(
            label=label,
            is_transaction=is_transaction,
            sample_count=count,
            average_ms=counts.elapsed_sum_ms / count,
            stddev_ms=stddev,
            percentiles_ms=dict(zip(percentiles, values, strict=True)),
            min_ms=low,
            max_ms=high,
            error_count=counts.error_count,
            error_ratio=counts.error_count / count,
            rate_per_s=_per_s(count, passed_ms),
            success_rate_per_s=_per_s(count - counts.error_count, passed_ms),
            received_bytes_per_s=_per_s(counts.received_bytes, passed_ms),
            sent_bytes_per_s=_per_s(counts.sent_bytes, passed_ms),
            received_bytes_mean=_mean(counts.received_bytes, count),
            latency_ms=_mean(counts.latency_sum_ms, count),
            connect_ms=_mean(counts.connect_sum_ms, count),
            first_byte_percentiles_ms=_percentiles_of(counts.known_first_bytes(), metric.FIRST_BYTE),
            connect_percentiles_ms=_percentiles_of(counts.known_connects(), metric.CONNECT),
            counts=counts,
            batches=batches,
            beside=counts.known_parts(),
        )

    @property
    def is_streamed(self) -> bool:
        """Whether its first bytes came measurably before the last ones."""
        return is_streamed(self.percentiles_ms, self.first_byte_percentiles_ms)

    @property
    def median_ms(self) -> int:
        """The median, which every summary has."""
        return self.percentiles_ms["50"]

    @property
    def p90_ms(self) -> int:
        """The p90, which every summary has."""
        return self.percentiles_ms["90"]


def is_streamed(elapsed: Mapping[str, float], first_byte: Mapping[str, float]) -> bool:
    """Return whether first bytes came before the last ones by more than a step of the clock: by their p50, or p95."""
    both = elapsed.keys() & first_byte.keys() & {"50", "95"}
    return any(elapsed[text] - first_byte[text] > metric.CLOCK_STEP_MS for text in both)


def _percentiles_of(times: Histogram | None, metrics: Sequence[Metric]) -> dict[str, int]:
    values = times.quantiles_ms([one.ratio for one in metrics]) if times else ()
    return {one.part.text: value for one, value in zip(metrics, values, strict=False) if one.part}


def _per_s(amount: int | None, passed_ms: int) -> float | None:
    return None if amount is None or passed_ms <= 0 else amount * MS_PER_S / passed_ms


def _mean(amount: int | None, count: int) -> float | None:
    return None if amount is None else amount / count


@dataclass(frozen=True)
class Group:
    """Labels with a common TOTAL: the load itself, the steps once per user, setUp or tearDown.

    TOTAL leaves Transaction Controllers' rows out, for they sum up samples that have rows of their own; a group of
    nothing else has the TOTAL of all.
    """

    name: str
    labels: tuple[LabelFigures, ...]
    total: LabelFigures
    counts_transactions: bool

    @classmethod
    def of(
        cls, name: str, labels: Iterable[LabelFigures], with_transactions: bool = False, batches: Batches | None = None
    ) -> Group:
        """Return the group of one label or more with its TOTAL; `batches` are those of TOTAL."""
        labels = tuple(labels)
        counts_transactions = with_transactions or all(label.is_transaction for label in labels)
        counts = LabelCounts()
        for label in _counted(labels, counts_transactions):
            counts.merge(label.counts)
        percentiles = tuple(labels[0].percentiles_ms)
        total = LabelFigures.of(TOTAL, False, counts, percentiles, batches)
        return cls(name, labels, total, counts_transactions)

    @property
    def counted(self) -> tuple[LabelFigures, ...]:
        """The labels that TOTAL includes."""
        return _counted(self.labels, self.counts_transactions)

    def to_plain(self) -> dict[str, Any]:
        """Return plain data: the metrics for readers, and the counts, of which they can be recomputed.

        The counts of TOTAL are those of the labels.
        """
        data = fields_to_plain(self)
        del data["total"]["counts"]
        return data

    @classmethod
    def from_plain(cls, data: object, where: str) -> Group:
        """Return the group that `to_plain` wrote; its metrics are recomputed from the counts."""
        stored = build(_StoredGroup, data, where)
        if not all(label.counts.histogram.counts for label in stored.labels):
            raise ValueError(f"{where} has a label without samples")
        percentiles = tuple(stored.total.percentiles_ms)
        labels = [
            _with_beside(
                LabelFigures.of(label.label, label.is_transaction, label.counts, percentiles, label.batches), label
            )
            for label in stored.labels
        ]
        group = cls.of(stored.name, labels, stored.counts_transactions, stored.total.batches)
        return replace(group, total=_with_beside(group.total, stored.total))


def _counted(labels: Sequence[LabelFigures], counts_transactions: bool) -> tuple[LabelFigures, ...]:
    return tuple(label for label in labels if counts_transactions or not label.is_transaction)


class _Stored:
    """The part of a group's JSON that is read; everything else is recomputed from it.

    Its subclasses have docstrings: without one, dataclass makes it of the signature, which takes a millisecond.
    """

    reads_part = True


@dataclass(frozen=True)
class _StoredLabel(_Stored):
    """A label."""

    label: str
    is_transaction: bool
    counts: LabelCounts
    batches: Batches | None = None
    beside: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class _StoredTotal(_Stored):
    """A TOTAL."""

    percentiles_ms: Mapping[str, int]
    batches: Batches | None = None
    beside: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class _StoredGroup(_Stored):
    """A group."""

    name: str
    labels: tuple[_StoredLabel, ...]
    total: _StoredTotal
    counts_transactions: bool


def _with_beside(figures: LabelFigures, stored: _StoredLabel | _StoredTotal) -> LabelFigures:
    return replace(figures, beside={**figures.beside, **stored.beside})


def driven_labels(groups: Iterable[Group]) -> frozenset[str]:
    """Return the labels of the load and of the steps once per user, without setUp and tearDown."""
    return frozenset(figures.label for group in groups if group.name in (LOAD, ONCE) for figures in group.labels)


@dataclass(frozen=True)
class CodeCount:
    """How many samples of a label have a response code, and how many of them count as errors.

    With `is_transaction` these are the rows of a Transaction Controller; false in files of before it was recorded.
    """

    label: str
    code: str
    sample_count: int
    error_count: int
    is_transaction: bool = False


@dataclass(frozen=True)
class ErrorKind:
    """The errors of one label, code and cause: their number, and the start of the first and the last.

    `first_s` and `last_s` are s after the first sample, and in a summary after the load began, as all seconds there.
    In a cause, numbers of four digits and more and ids are put into one; `example` is one of its messages.
    """

    label: str
    code: str
    cause: str
    count: int
    first_s: float
    last_s: float
    example: str


class Cause(NamedTuple):
    """The cause of an error, and as an example the whole message that contains it; each is one line."""

    text: str
    example: str


def cause_of(failure: str, message: str, code: str = "") -> Cause:
    """Return the cause in the assertion's message; where the sampler failed itself, and without any, in the response's.

    A sampler failed itself without an answer, or with a `code` that is none of HTTP, such as 42P01 of a database. An
    assertion of a page with 500 may say more than its message. A stack trace, as of a database, is none.
    """
    is_sample = bool(message) and not message.startswith(TRANSACTION_MESSAGE)
    is_own = message.startswith(NO_ANSWER_MESSAGE) or (is_sample and bool(code) and not _HTTP_STATUS.fullmatch(code))
    whole = " ".join((message if is_own else failure or message).split())
    text = _STACK_TRACE.sub("", whole)[:_CAUSE_LENGTH_MAX]
    return Cause(_ID.sub("…", text), text)


def is_of_http(code: str) -> bool:
    """Return whether a response code is a status of HTTP, or that of a request that got no answer."""
    return bool(_HTTP_STATUS.fullmatch(code)) or is_unanswered(code)


def is_unanswered(code: str) -> bool:
    """Return whether a response code is JMeter's of a request that got no answer."""
    return code.startswith(_NO_ANSWER_CODE)


def with_their_causes(secrets: Iterable[str]) -> tuple[str, ...]:
    """Return the secrets, and what is left of them in causes: pass-12345678 is pass-… there."""
    return tuple(dict.fromkeys(form for secret in secrets for form in (secret, cause_of(secret, "").text)))
