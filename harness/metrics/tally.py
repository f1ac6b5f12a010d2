"""Adds samples up, one by one or part by part, into counts per label, codes, kinds of error and per second."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from harness.base.units import MS_PER_S
from harness.jtl.file_progress import ROWS_PER_LOOK, ReadingProgress
from harness.jtl.sample import TRANSACTION_MESSAGE, Dropped, Sample, generator_of, thread_group_of
from harness.metrics.batches import BatchCounts, Batches, plus
from harness.metrics.figures import (
    GROUPS,
    LOAD,
    ONCE,
    PERCENTILES,
    CodeCount,
    ErrorKind,
    Group,
    LabelCounts,
    LabelFigures,
    cause_of,
    group_of,
)
from harness.metrics.histogram import Histogram
from harness.metrics.interval import IntervalMs
from harness.metrics.timeline import Order, SecondSeries, Source

if TYPE_CHECKING:
    from harness.jtl.inputs import Opened
    from harness.metrics.silences import Silences

# Label, response code, and whether it is a transaction: a plain tuple, because one is made of every sample.
CodeKey = tuple[str, str, bool]
# Beyond this many kinds of error, new ones are combined per label and code: causes that never repeat are not useful.
KINDS_MAX = 5000
OTHER_CAUSES = "(other causes)"
# So many labels of threads are remembered with their counts; a load has many more rows than users times labels.
_ENTRIES_MAX = 100_000


# What a request says that JMeter interrupted: by the connection it waited for, or by the client library.
_CLOSED = re.compile(r"Socket closed|[Ii]nterrupted|[Aa]borted|Connection pool shut down|closed by interrupt")


class LabelKey(NamedTuple):
    """What a row of a table counts; a label of several groups, or of requests and transactions, has several rows."""

    group: str
    label: str
    is_transaction: bool


class ErrorKey(NamedTuple):
    """What distinguishes the kinds of error."""

    label: str
    code: str
    cause: str


def together(parts: Collection[LabelCounts]) -> LabelCounts:
    """Return the merged counts of all parts; a single part is returned itself."""
    if len(parts) == 1:
        return next(iter(parts))
    whole = LabelCounts()
    for part in parts:
        whole.merge(part)
    return whole


@dataclass
class _CodeCounts:
    """Responses with one response code."""

    sample_count: int = 0
    error_count: int = 0


@dataclass
class _Kind:
    """Errors of one label, code and cause."""

    count: int
    first_ms: int
    last_ms: int
    example: str


@dataclass(frozen=True)
class Scope:
    """Which samples of a file are counted, and how.

    `file` is its number. With `window_ms`, only samples that end within it (first millisecond included, last excluded)
    are counted. With `batch_count`, samples are also counted per batch, that is, in this many equal parts of the
    window. `with_timeline` is False when nobody needs the timeline: then times per interval are not counted. The
    samples of each of the `thread_groups` are also counted apart. With `then_window`, a window of the same files is
    counted next. JMeter closes what an open load waits for when it ends: such failures from `closes_ms` on (ms since
    1970) are not the system's; None for no such load. `cut_labels` are those of transactions that are known to have
    been cut by the end of their user; others are recognised by a whole one of the same label.
    """

    once_labels: tuple[str, ...] = ()
    file: int = 0
    window_ms: IntervalMs | None = None
    batch_count: int = 0
    with_timeline: bool = True
    thread_groups: tuple[str, ...] = ()
    then_window: bool = False
    closes_ms: int | None = None
    cut_labels: tuple[str, ...] = ()

    def tally(self) -> SampleTally:
        """Return an empty tally."""
        return SampleTally(self)


class SampleTally:
    """Adds up samples; the merged tallies of all parts equal the tally of the whole.

    `labels` are counted per source: the users of several load generators add up. A window is counted only in `labels`
    and `batches`: other codes, kinds of error or seconds it has none. `by_thread_group` has the tallies of single
    thread groups, whose active users are their own. `dropped` are the records that the reader of the samples could not
    use.
    """

    def __init__(self, scope: Scope | None = None) -> None:
        scope = scope or Scope()
        own = replace(scope, batch_count=0, with_timeline=False, thread_groups=())
        self.by_thread_group = {group: SampleTally(own) for group in scope.thread_groups}
        self.dropped = Dropped()
        self.transaction_labels = set(scope.cut_labels)
        # Rows that are in no table, by label: transactions that the end of their user cut, and those without a time.
        self.cut, self.untimed = Counter[str](), Counter[str]()
        # Requests that JMeter closed at the end of the load, by label, and how long they had waited; also in no table.
        self.closed, self.closed_waits = Counter[str](), Histogram()
        self.closes_ms = scope.closes_ms
        self.once = frozenset(scope.once_labels)
        self.file, self.window_ms, self.batch_count = scope.file, scope.window_ms, scope.batch_count
        self.batches: dict[LabelKey, dict[int, BatchCounts]] = defaultdict(lambda: defaultdict(BatchCounts))
        self.labels: dict[LabelKey, dict[Source, LabelCounts]] = {}
        self.codes: dict[CodeKey, _CodeCounts] = defaultdict(_CodeCounts)
        self.kinds: dict[ErrorKey, _Kind] = {}
        self.requests, self.transactions = (SecondSeries(with_times=scope.with_timeline) for _ in range(2))
        self.first_ms: int | None = None
        # By the number of the file: what messages call it.
        self.names: dict[int, str] = {}
        # The silences of the users in tally files, None where one has none, by the number of its first file.
        self.stored: dict[int, Silences | None] = {}
        # Of requests of the load, by file. Rows that several load generators sent to a controller are in no order.
        self.orders: dict[int, Order] = defaultdict(Order)
        # By thread, label, and whether it is a transaction: each row of a thread would find them again. Plain tuples,
        # because every sample makes one and takes another apart.
        self._entries: dict[tuple[str, str, bool], tuple[LabelKey, Source, LabelCounts]] = {}

    def add(self, sample: Sample) -> LabelKey | None:
        """Count one sample; return its key in `labels`, None when its group or its end is out of scope."""
        (
            start_ms, elapsed_ms, label, code, message, thread_name, _, failure, received_bytes, sent_bytes, users,
            latency_ms, connect_ms, sample_count, error_count, group_users, _, host,
        ) = sample  # fmt: skip
        end_ms = start_ms + elapsed_ms
        window_ms = self.window_ms
        if window_ms and not window_ms.from_ms <= end_ms < window_ms.to_ms:
            return None
        if error_count and self.closes_ms and end_ms >= self.closes_ms and _CLOSED.search(f"{code} {message}"):
            self.closed[label] += sample_count
            self.closed_waits.add(elapsed_ms // sample_count, sample_count)
            return None
        is_transaction = message.startswith(TRANSACTION_MESSAGE)
        if not message and label in self.transaction_labels:
            self.cut[label] += sample_count
            return None
        if is_transaction and not elapsed_ms and (not thread_name or (error_count and label in self.untimed)):
            # Where the end of a user cuts one, it has a name, and fails.
            (self.cut if thread_name else self.untimed)[label] += sample_count
            return None
        if self.by_thread_group and (own := self.by_thread_group.get(thread_group_of(thread_name))):
            own.add(sample._replace(all_threads=group_users))
        thread = f"{host} {thread_name}" if host else thread_name
        known = self._entries.get((thread, label, is_transaction))
        key, source, counts = known or self._entry(thread_name, label, is_transaction, host)
        each_ms = elapsed_ms // sample_count
        counts.histogram.add(each_ms, sample_count)
        if window_ms and self.batch_count:
            self._add_to_batch(key, sample, (end_ms - window_ms.from_ms) * self.batch_count // window_ms.length_ms)
        counts.elapsed_sum_ms += elapsed_ms
        counts.error_count += error_count
        counts.received_bytes = plus(counts.received_bytes, received_bytes)
        counts.sent_bytes = plus(counts.sent_bytes, sent_bytes)
        counts.latency_sum_ms = plus(counts.latency_sum_ms, latency_ms)
        counts.connect_sum_ms = plus(counts.connect_sum_ms, connect_ms)
        if latency_ms is not None:
            first_ms, first_bytes = latency_ms // sample_count, counts.first_bytes.counts
            first_bytes[first_ms] = first_bytes.get(first_ms, 0) + sample_count  # a call takes twice as long
        if connect_ms:
            counts.connects.add(connect_ms // sample_count, sample_count)
        if counts.first_ms is None or start_ms < counts.first_ms:
            counts.first_ms = start_ms
        if end_ms > counts.last_ms:
            counts.last_ms = end_ms
        if self.first_ms is None or start_ms < self.first_ms:
            self.first_ms = start_ms
        if window_ms:
            return key
        self.add_code((label, code, is_transaction), sample_count, error_count)
        if error_count:
            cause = cause_of(failure, message, code)
            self.add_kind(ErrorKey(label, code, cause.text), error_count, start_ms, start_ms, cause.example)
        if key.group in (LOAD, ONCE):
            second_series = self.transactions if is_transaction else self.requests
            second_series.add(end_ms, elapsed_ms, sample_count, error_count, users, source)
            if not is_transaction and not source.generator:
                self.orders[self.file].add(end_ms)
        return key

    def _add_to_batch(self, key: LabelKey, sample: Sample, at: int) -> None:
        batch, count = self.batches[key][at], sample.sample_count
        batch.histogram.add(sample.elapsed_ms // count, count)
        batch.elapsed_sum_ms += sample.elapsed_ms
        batch.error_count += sample.error_count
        batch.received_bytes = plus(batch.received_bytes, sample.received_bytes)
        batch.add_code(sample.code, count)
        if sample.latency_ms is not None:
            batch.first_bytes.add(sample.latency_ms // count, count)

    @property
    def row_count(self) -> int:
        """How many rows were read, also those that could not be used; a row of several samples counts as these."""
        beside = self.cut.total() + self.untimed.total() + self.closed.total()
        return sum(code.sample_count for code in self.codes.values()) + beside + self.dropped.count

    def _entry(
        self, thread_name: str, label: str, is_transaction: bool, host: str
    ) -> tuple[LabelKey, Source, LabelCounts]:
        """Return where the samples of a thread with this label are counted, and remember it."""
        key = LabelKey(group_of(thread_name, label, self.once), label, is_transaction)
        source = Source(self.file, generator_of(thread_name) or host)
        if len(self._entries) >= _ENTRIES_MAX:
            self._entries.clear()
        if is_transaction:
            self.transaction_labels.add(label)
        thread = f"{host} {thread_name}" if host else thread_name
        entry = self._entries[thread, label, is_transaction] = key, source, self.counts(key, source)
        return entry

    def counts(self, key: LabelKey, source: Source) -> LabelCounts:
        """Return the counts of a label from one source; create empty ones if necessary."""
        return self.labels.setdefault(key, {}).setdefault(source, LabelCounts())

    @property
    def back_ms(self) -> int:
        """Return how far row ends go back at most, in any of the files."""
        return max((order.back_ms for order in self.orders.values()), default=0)

    @property
    def sorted_by(self) -> str:
        """The column by which somebody sorted the rows of one of the files; empty without such a file."""
        return next((order.sorted_by for order in self.orders.values() if order.sorted_by), "")

    def add_code(self, key: CodeKey, sample_count: int, error_count: int) -> None:
        """Count responses with a response code."""
        counts = self.codes[key]
        counts.sample_count += sample_count
        counts.error_count += error_count

    def add_kind(self, key: ErrorKey, count: int, first_ms: int, last_ms: int, example: str) -> None:
        """Count errors of one kind, with the starts of the first and last."""
        if key not in self.kinds and len(self.kinds) >= KINDS_MAX:
            key = key._replace(cause=OTHER_CAUSES)
        if (kind := self.kinds.get(key)) is None:
            self.kinds[key] = _Kind(count, first_ms, last_ms, example)
            return
        kind.count += count
        kind.first_ms = min(kind.first_ms, first_ms)
        kind.last_ms = max(kind.last_ms, last_ms)
        kind.example = min(kind.example, example)  # independent of the order of the parts

    def note_start(self, start_ms: int) -> None:
        """Record the start of a sample."""
        self.first_ms = start_ms if self.first_ms is None else min(self.first_ms, start_ms)

    def merge(self, other: SampleTally) -> None:
        """Add the tally of a later part of the samples."""
        for key, by_source in other.labels.items():
            for source, counts in by_source.items():
                self.counts(key, source).merge(counts)
        for key, batches in other.batches.items():
            for number, batch in batches.items():
                self.batches[key][number].merge(batch)
        for code_key, code_counts in other.codes.items():
            self.add_code(code_key, code_counts.sample_count, code_counts.error_count)
        for kind_key, kind in other.kinds.items():
            self.add_kind(kind_key, kind.count, kind.first_ms, kind.last_ms, kind.example)
        if other.first_ms is not None:
            self.note_start(other.first_ms)
        for file, order in other.orders.items():
            self.orders[file].merge(order)
        self.requests.merge(other.requests)
        self.transactions.merge(other.transactions)
        for group, own in other.by_thread_group.items():
            self.by_thread_group[group].merge(own)
        self.dropped.merge(other.dropped, 0)
        self.transaction_labels |= other.transaction_labels
        self.cut += other.cut
        self.untimed += other.untimed
        self.closed += other.closed
        self.closed_waits.merge(other.closed_waits.counts)
        self.names.update(other.names)
        self.stored.update(other.stored)

    @property
    def second_series(self) -> SecondSeries:
        """Return the load second by second: its requests, or its transactions when there are no requests."""
        return self.requests if self.requests.seconds else self.transactions

    def span_ms(self, groups: Collection[str] = (LOAD, ONCE)) -> IntervalMs | None:
        """Return the first start and the last end of the samples of groups, usually of the load; None without any."""
        counts = [one for key, by_source in self.labels.items() if key.group in groups for one in by_source.values()]
        starts = [one.first_ms for one in counts if one.first_ms is not None]
        return IntervalMs(min(starts), max(one.last_ms for one in counts)) if starts else None

    def groups(self, percentiles: Sequence[str] = PERCENTILES, with_transactions: bool = False) -> tuple[Group, ...]:
        """Return the groups that have samples, labels in order of first appearance."""
        groups = []
        for name in GROUPS:
            labels = [
                LabelFigures.of(
                    key.label, key.is_transaction, together(by_source.values()), percentiles, self._batches([key])
                )
                for key, by_source in self.labels.items()
                if key.group == name
            ]
            if labels:
                group = Group.of(name, labels, with_transactions)
                keys = [LabelKey(name, label.label, label.is_transaction) for label in group.counted]
                groups.append(replace(group, total=replace(group.total, batches=self._batches(keys))))
        return tuple(groups)

    def by_source(self, with_transactions: bool = False) -> dict[Source, LabelCounts]:
        """Return the merged counts of each source's samples of the load: its share of TOTAL."""
        load = {key: by_source for key, by_source in self.labels.items() if key.group == LOAD}
        counts_transactions = with_transactions or all(key.is_transaction for key in load)
        totals: dict[Source, LabelCounts] = {}
        for key, by_source in load.items():
            if counts_transactions or not key.is_transaction:
                for source, counts in by_source.items():
                    totals.setdefault(source, LabelCounts()).merge(counts)
        return totals

    def _batches(self, keys: Sequence[LabelKey]) -> Batches | None:
        """Return the metrics of the labels combined, per batch; None without batches or with too few samples."""
        if self.window_ms is None or not self.batch_count:
            return None
        together: dict[int, BatchCounts] = defaultdict(BatchCounts)
        for key in keys:
            for number, batch in self.batches.get(key, {}).items():
                together[number].merge(batch)
        return Batches.of(together, self.batch_count, self.window_ms.length_ms / MS_PER_S / self.batch_count)

    def code_counts(self) -> tuple[CodeCount, ...]:
        """Return response codes by label, labels in order of first appearance, then by code."""
        order = {label: index for index, label in enumerate(dict.fromkeys(key.label for key in self.labels))}
        counts_of_codes = (
            CodeCount(label, code, counts.sample_count, counts.error_count, is_transaction)
            for (label, code, is_transaction), counts in self.codes.items()
        )
        return tuple(sorted(counts_of_codes, key=lambda one: (order[one.label], one.code, one.is_transaction)))

    def error_kinds(self) -> tuple[ErrorKind, ...]:
        """Return every kind of error, the most frequent first."""
        first_ms = self.first_ms or 0
        kinds = []
        for key, kind in self.kinds.items():
            first_s, last_s = ((start_ms - first_ms) / MS_PER_S for start_ms in (kind.first_ms, kind.last_ms))
            kinds.append(ErrorKind(*key, kind.count, first_s, last_s, kind.example))
        return tuple(sorted(kinds, key=lambda kind: (-kind.count, kind.first_s, kind.label, kind.cause)))


def add_samples(tally: SampleTally, samples: Iterable[Sample], file: Opened, progress: ReadingProgress) -> None:
    """Add the samples of a file to a tally, one by one."""
    for number, sample in enumerate(samples, 1):
        tally.add(sample)
        if number % ROWS_PER_LOOK == 0:
            progress.update(file.position(), number)
