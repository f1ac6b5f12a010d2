"""Counts the samples of a running load for its live page, all samples of a second at once, because each costs CPU."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from harness.base.units import MS_PER_S
from harness.jtl.sample import TRANSACTION_MESSAGE, Sample, generator_of
from harness.metrics.figures import LOAD, ONCE, LabelCounts, cause_of, group_of
from harness.metrics.tally import ErrorKey, LabelKey, Scope
from harness.metrics.timeline import Source

# So many threads are remembered; in the open model each user is another one.
_THREADS_MAX = 100_000
_SOURCE = Source(0, "")


@dataclass
class EndedSamples:
    """Samples by the second in which they ended (s since 1970): their times in ms, and how many of them failed.

    `first_start_ms` is the start of the first one in the file; without samples it is 0.
    """

    seconds: dict[int, list[int]] = field(default_factory=dict)
    error_counts: Counter[int] = field(default_factory=Counter)
    first_start_ms: int = 0


class NewSamples(NamedTuple):
    """New samples: the requests and the transactions among them."""

    requests: EndedSamples
    transactions: EndedSamples


@dataclass(frozen=True, slots=True)
class _Thread:
    """A thread: its group without regard to labels, and its load generator."""

    group: str
    generator: str


class _Cell:
    """A label of a group: its counts, and the times of its new samples, which are added all at once."""

    def __init__(self) -> None:
        # Sizes and latency are not counted: the page shows neither.
        self.counts = LabelCounts(received_bytes=None, sent_bytes=None, latency_sum_ms=None, connect_sum_ms=None)
        self.times_ms: list[int] = []


class LiveCounts:
    """The counts of all samples so far; those of `tally` are equal to those of a report of the same samples."""

    def __init__(self, once_labels: Iterable[str] = ()) -> None:
        self.tally = Scope(tuple(once_labels), with_timeline=False).tally()
        # By group of threads, label, and whether it is a transaction: a plain tuple, because every sample makes one.
        self._cells: dict[tuple[str, str, bool], _Cell] = {}
        self._threads: dict[str, _Thread] = {}  # by name
        self._users: dict[str, int] = {}

    @property
    def users(self) -> int:
        """The active users of all load generators."""
        return sum(self._users.values())

    def add(self, samples: Sequence[Sample]) -> NewSamples:
        """Count samples and return them by second."""
        requests, transactions = EndedSamples(), EndedSamples()
        cells, threads, users = self._cells, self._threads, self._users
        changed: dict[int, _Cell] = {}
        for (
            start_ms, elapsed_ms, label, code, message, thread_name, _, failure, _, _, active, _, _,
            sample_count, error_count, _, _, _,
        ) in samples:  # fmt: skip
            thread = threads.get(thread_name) or self._thread(thread_name)
            if active is not None:
                users[thread.generator] = active
            is_transaction = message.startswith(TRANSACTION_MESSAGE)
            cell = cells.get((thread.group, label, is_transaction)) or self._cell(thread.group, label, is_transaction)
            times_ms, counts = cell.times_ms, cell.counts
            if not times_ms:
                changed[id(cell)] = cell
            end_ms = start_ms + elapsed_ms
            part = transactions if is_transaction else requests
            second = part.seconds.get(end_ms // MS_PER_S)
            if second is None:
                second = part.seconds[end_ms // MS_PER_S] = []
                part.first_start_ms = part.first_start_ms or start_ms
            if sample_count == 1:
                times_ms.append(elapsed_ms)
                second.append(elapsed_ms)
            else:
                each_ms = [elapsed_ms // sample_count] * sample_count
                times_ms += each_ms
                second += each_ms
            counts.elapsed_sum_ms += elapsed_ms
            if counts.first_ms is None or start_ms < counts.first_ms:
                counts.first_ms = start_ms
            if end_ms > counts.last_ms:
                counts.last_ms = end_ms
            if error_count:
                counts.error_count += error_count
                part.error_counts[end_ms // MS_PER_S] += error_count
                cause = cause_of(failure, message, code)
                error = ErrorKey(label, code, cause.text)
                self.tally.add_kind(error, error_count, start_ms, start_ms, cause.example)
        for cell in changed.values():
            cell.counts.histogram.add_all(cell.times_ms)
            cell.times_ms.clear()
        return NewSamples(requests, transactions)

    def _thread(self, name: str) -> _Thread:
        if len(self._threads) >= _THREADS_MAX:
            self._threads.clear()
        thread = self._threads[name] = _Thread(group_of(name, "", frozenset()), generator_of(name))
        return thread

    def _cell(self, group: str, label: str, is_transaction: bool) -> _Cell:
        """Return where the samples of a label are counted, for the first of them in a group of threads."""
        cell = self._cells[group, label, is_transaction] = _Cell()
        key = LabelKey(ONCE if group == LOAD and label in self.tally.once else group, label, is_transaction)
        self.tally.labels[key] = {_SOURCE: cell.counts}
        return cell
