"""Counts samples, errors, times and users per second, in little memory even for a long run."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import ClassVar, NamedTuple

from harness.base.units import MS_PER_S
from harness.metrics.heat_map import HeatMap
from harness.metrics.histogram import Histogram
from harness.metrics.interval import SecondSpan
from harness.metrics.load_seconds import LoadSeconds, spells_of
from harness.metrics.metric import AVERAGE, TIME_KEYS, elapsed_metrics
from harness.metrics.per_second import Counts, SecondCounts, SecondUsers

# A chart has at most this many points. Longer runs, and runs with too many distinct times, have wider buckets.
_BUCKETS_MAX = 600
_PAIRS_MAX = 500_000
# A series is stored as spells where it is so many times as long as its seconds with samples.
_SPARSE_ONE_IN = 8
# Series are averaged over so many seconds before a window is chosen.
BATCH_S = 5
# A longer span comes from a clock that was set: a chart of it would show nothing.
SPAN_MAX_S = 31 * 24 * 3600


@dataclass(frozen=True)
class Timeline:
    """Metrics per `bucket_s` seconds from `start_s` (s since 1970) on; a sample counts when it ends.

    `times_ms` are average and percentiles by the metric's key. A bucket in which no sample ended has None for times,
    and for users until the first are seen. `heat_map` begins at `start_s`; files of earlier versions have none.
    """

    start_s: int
    bucket_s: int
    sample_count: tuple[int, ...]
    error_count: tuple[int, ...]
    times_ms: Mapping[str, tuple[float | None, ...]]
    active_users: tuple[int | None, ...]
    heat_map: HeatMap | None = None
    spread: ClassVar = "times_ms"
    spread_keys: ClassVar = TIME_KEYS


class SecondFigures(NamedTuple):
    """The samples that ended within one second, and how many lasted throughout it.

    `active_users` is the maximum in it, None without samples.
    """

    sample_count: int
    elapsed_sum_ms: int
    active_users: int | None
    error_count: int = 0
    waiting_count: int = 0


def seconds_by_users(seconds: Sequence[SecondFigures]) -> Counter[int]:
    """Return for how many seconds each number of users was active, where that is known."""
    lasted = Counter[int]()
    for spell in spells_of(seconds):
        if (users := spell.value.active_users) is not None:
            lasted[users] += spell.length_s
    return lasted


def total(seconds: Sequence[SecondFigures]) -> Counts:
    """Return the sums of some seconds."""
    filled = [spell.value for spell in spells_of(seconds) if spell.value.sample_count]
    return Counts(
        sum(one.sample_count for one in filled),
        sum(one.error_count for one in filled),
        sum(one.elapsed_sum_ms for one in filled),
    )


@dataclass
class Order:
    """How far row ends go back in file order, at most `back_ms`: this shows a clock that was set.

    With `sorted_by` somebody sorted the rows by that column: then their order says nothing, and `back_ms` is 0.
    """

    least_ms: int | None = None
    most_ms: int | None = None
    back_ms: int = 0
    sorted_by: str = ""

    def add(self, end_ms: int) -> None:
        """Add the end of the next row."""
        if self.most_ms is None or self.least_ms is None:
            self.least_ms = self.most_ms = end_ms
        elif end_ms >= self.most_ms:
            self.most_ms = end_ms
        else:
            self.back_ms = max(self.back_ms, self.most_ms - end_ms)
            self.least_ms = min(self.least_ms, end_ms)

    def merge(self, other: Order) -> None:
        """Add the rows of the next part."""
        self.back_ms = max(self.back_ms, other.back_ms)
        self.sorted_by = self.sorted_by or other.sorted_by
        if other.least_ms is not None and other.most_ms is not None:
            before_ms = other.least_ms if self.most_ms is None else self.most_ms
            self.back_ms = max(self.back_ms, before_ms - other.least_ms)
            self.least_ms = other.least_ms if self.least_ms is None else min(self.least_ms, other.least_ms)
            self.most_ms = max(before_ms, other.most_ms)


class Source(NamedTuple):
    """The source of a sample: the number of its file, and the load generator in its thread's name ("": none).

    Each source is a separate load generator with its own users.
    """

    file: int
    generator: str


@dataclass
class SecondSeries:
    """Counts per second of the samples' ends: exact, and mergeable across parts and files.

    `seconds` contains samples, errors and the sum of elapsed ms; `users` the most active users by source and second;
    `buckets` the counts per elapsed ms in intervals of `bucket_s` seconds, a power of two; none without `with_times`.
    `waits` contains by how many the samples that last throughout a second are more than in the second before it.
    """

    seconds: SecondCounts = field(default_factory=SecondCounts)
    users: dict[Source, SecondUsers] = field(default_factory=lambda: defaultdict(SecondUsers))
    bucket_s: int = 1
    buckets: dict[int, Histogram] = field(default_factory=dict)
    waits: Counter[int] = field(default_factory=Counter)
    with_times: bool = True

    def add(
        self, end_ms: int, elapsed_ms: int, sample_count: int, error_count: int, all_threads: int | None, source: Source
    ) -> None:
        """Count a row; `all_threads` is the number of active users of its load generator when it ended."""
        second = end_ms // MS_PER_S
        self.seconds.add(second, sample_count, error_count, elapsed_ms)
        each_ms = elapsed_ms // sample_count
        if self.with_times:
            self.add_time(second, each_ms, sample_count)
        if each_ms >= MS_PER_S:
            first_s = -((each_ms - end_ms) // MS_PER_S)
            if first_s < second:
                self.waits[first_s] += sample_count
                self.waits[second] -= sample_count
        if all_threads is not None:
            self.add_users(source, second, all_threads)

    def add_users(self, source: Source, second: int, users: int) -> None:
        """Record the users active in a second."""
        self.users[source].raise_to(second, users)

    def add_time(self, second: int, elapsed_ms: int, count: int) -> None:
        """Count samples with one elapsed time that ended in a second."""
        bucket = second // self.bucket_s
        if (histogram := self.buckets.get(bucket)) is None:
            self._settle()
            histogram = self.buckets.setdefault(second // self.bucket_s, Histogram())
        histogram.add(elapsed_ms, count)

    def _settle(self) -> None:
        """Double the width of the buckets until there are few enough; existing buckets fit into wider ones."""
        while len(self.buckets) > _BUCKETS_MAX or sum(len(part.counts) for part in self.buckets.values()) > _PAIRS_MAX:
            self._widen(2 * self.bucket_s)

    def _widen(self, bucket_s: int) -> None:
        buckets: dict[int, Histogram] = {}
        factor = bucket_s // self.bucket_s
        for bucket, histogram in self.buckets.items():
            buckets.setdefault(bucket // factor, Histogram()).merge(histogram.counts)
        self.bucket_s, self.buckets = bucket_s, buckets

    def merge(self, other: SecondSeries) -> None:
        """Add the counts of another part of the samples."""
        for second, counts in other.seconds.items():
            self.seconds.add(second, *counts)
        for source, by_second in other.users.items():
            for second, users in by_second.items():
                self.add_users(source, second, users)
        self.waits.update(other.waits)
        if other.bucket_s > self.bucket_s:
            self._widen(other.bucket_s)
        factor = self.bucket_s // other.bucket_s
        for bucket, histogram in other.buckets.items():
            self.buckets.setdefault(bucket // factor, Histogram()).merge(histogram.counts)
        self._settle()

    @property
    def span_s(self) -> SecondSpan | None:
        """Return the first and last second in which a sample ended; None without samples or for an impossible span."""
        span_s = self.seconds.span_s
        return span_s if span_s and span_s.last_s - span_s.first_s <= SPAN_MAX_S else None

    def ended_between(self, from_ms: int, to_ms: int) -> int:
        """Return how many samples ended between two instants; of a second that is only partly between them, a part."""
        first_s, ended = from_ms // MS_PER_S, 0.0
        counts = self.seconds.between(first_s, to_ms // MS_PER_S).sample_counts
        for second, count in enumerate(counts, first_s):
            inside_ms = min(to_ms, (second + 1) * MS_PER_S) - max(from_ms, second * MS_PER_S)
            ended += count * inside_ms / MS_PER_S
        return round(ended)

    def _is_sparse(self, length_s: int) -> bool:
        """Return whether so few of an interval's seconds have samples that spells of them are shorter."""
        filled = max(len(self.seconds), *map(len, self.users.values()), 0)
        return length_s > _SPARSE_ONE_IN * filled

    def active_users(self, first_s: int, last_s: int) -> Sequence[int | None]:
        """Return the active users of each second: the last known number of each load generator, added up.

        A load generator counts from its first to its last sample; a second before any user is seen has None.
        """
        if self._is_sparse(last_s - first_s + 1):
            return self._user_spells(first_s, last_s)
        total: list[int | None] = [None] * (last_s - first_s + 1)
        for by_second in self.users.values():
            if (span_s := by_second.span_s) is None:
                continue
            users, begin_s = 0, max(first_s, span_s.first_s)
            for index, known in enumerate(by_second.between(begin_s, min(last_s, span_s.last_s)), begin_s - first_s):
                users = users if known is None else known
                total[index] = (total[index] or 0) + users
        return total

    def _user_spells(self, first_s: int, last_s: int) -> LoadSeconds[int | None]:
        # By how many users, and load generators that are there, a second has more than the one before it.
        users_more, sources_more = Counter[int](), Counter[int]()
        for by_second in self.users.values():
            if (span_s := by_second.span_s) is None or span_s.last_s < first_s or span_s.first_s > last_s:
                continue
            users = 0
            for second in by_second.within(first_s, last_s):
                users_more[second] += by_second[second] - users
                users = by_second[second]
            users_more[span_s.last_s + 1] -= users
            sources_more[max(first_s, span_s.first_s)] += 1
            sources_more[span_s.last_s + 1] -= 1
        begins = sorted({first_s, *(one for one in (*users_more, *sources_more) if one <= last_s)})
        all_users, sources = (list(accumulate(map(more.__getitem__, begins))) for more in (users_more, sources_more))
        values = [users if count else None for users, count in zip(all_users, sources, strict=True)]
        return LoadSeconds([second - first_s for second in begins], values, last_s - first_s + 1)

    def by_second(self, first_s: int, last_s: int) -> Sequence[SecondFigures]:
        """Return the metrics of each second from the first to the last, both included."""
        users = self.active_users(first_s, last_s)
        before = sum(change for second, change in self.waits.items() if second < first_s)
        if isinstance(users, LoadSeconds):
            return self._spells(users, first_s, last_s, before)
        counts = self.seconds.between(first_s, last_s)
        changes = (self.waits[second] for second in range(first_s, last_s + 1))
        waiting = list(accumulate(changes, initial=before))[1:]
        columns = (counts.sample_counts, counts.elapsed_sums_ms, users, counts.error_counts, waiting)
        return [SecondFigures(*second) for second in zip(*columns, strict=True)]

    def _spells(
        self, users: LoadSeconds[int | None], first_s: int, last_s: int, waiting: int
    ) -> LoadSeconds[SecondFigures]:
        """Return the metrics of each second where few have samples; `waiting` samples last into the first one."""
        filled = {second: self.seconds[second] for second in self.seconds.within(first_s, last_s)}
        begins = {first_s, *filled, *(second + 1 for second in filled), *self.waits}
        begins |= {first_s + spell.from_s for spell in users.spells()}
        values, nothing = [], Counts(0, 0, 0)
        rising = sorted(second for second in begins if first_s <= second <= last_s)
        for second in rising:
            waiting += self.waits.get(second, 0)
            count, error_count, elapsed_sum_ms = filled.get(second, nothing)
            values.append(SecondFigures(count, elapsed_sum_ms, users[second - first_s], error_count, waiting))
        return LoadSeconds([second - first_s for second in rising], values, last_s - first_s + 1)

    def timeline(self) -> Timeline | None:
        """Return the timeline; None when `span_s` is None."""
        if (span := self.span_s) is None:
            return None
        self._settle()
        first, last = span.first_s // self.bucket_s, span.last_s // self.bucket_s
        users = self._most_users(first, last)
        buckets = [self.buckets.get(bucket, Histogram()) for bucket in range(first, last + 1)]
        bucket_counts = SecondCounts()  # their numbers instead of seconds
        for second, one in self.seconds.items():
            bucket_counts.add(second // self.bucket_s, *one)
        counts = bucket_counts.between(first, last)
        averages = (
            round(elapsed_sum_ms / sample_count, 1) if sample_count else None
            for elapsed_sum_ms, sample_count in zip(counts.elapsed_sums_ms, counts.sample_counts, strict=True)
        )
        times_ms = {
            metric.key: tuple(averages if metric == AVERAGE else map(metric.of_elapsed, buckets))
            for metric in elapsed_metrics()
        }
        return Timeline(
            start_s=first * self.bucket_s,
            bucket_s=self.bucket_s,
            sample_count=tuple(counts.sample_counts),
            error_count=tuple(counts.error_counts),
            times_ms=times_ms,
            active_users=tuple(users),
            heat_map=HeatMap.of(buckets, self.bucket_s),
        )

    def _most_users(self, first: int, last: int) -> list[int | None]:
        """Return the most active users in each bucket; None before any are seen."""
        most: list[int | None] = [None] * (last - first + 1)
        begin_s = first * self.bucket_s
        for from_s, to_s, users in spells_of(self.active_users(begin_s, (last + 1) * self.bucket_s - 1)):
            if users is not None:
                for bucket in range(from_s // self.bucket_s, (to_s - 1) // self.bucket_s + 1):
                    most[bucket] = max(users, most[bucket] or 0)
        return most
