"""Adds samples up, one by one, into figures per label, codes, errors and concurrency."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from harness.figures import GROUPS, LOAD, ONCE, SETUP, TEARDOWN, TOTAL, CodeCount, ErrorKind, Group, LabelFigures
from harness.histogram import Histogram
from harness.jtl import Sample
from harness.littles_law import ConcurrencyMeter
from harness.units import MS_PER_S


@dataclass
class _Tally:
    """Running figures of one label."""

    histogram: Histogram = field(default_factory=Histogram)
    error_count: int = 0
    received_bytes: int | None = 0
    sent_bytes: int | None = 0
    first_ms: int | None = None
    last_ms: int = 0

    def add(self, sample: Sample) -> None:
        self.histogram.add(sample.elapsed_ms)
        self.error_count += not sample.success
        self.received_bytes = _plus(self.received_bytes, sample.received_bytes)
        self.sent_bytes = _plus(self.sent_bytes, sample.sent_bytes)
        self.first_ms = sample.start_ms if self.first_ms is None else min(self.first_ms, sample.start_ms)
        self.last_ms = max(self.last_ms, sample.end_ms)

    def merge(self, other: _Tally) -> None:
        self.histogram.merge(other.histogram.counts)
        self.error_count += other.error_count
        self.received_bytes = _plus(self.received_bytes, other.received_bytes)
        self.sent_bytes = _plus(self.sent_bytes, other.sent_bytes)
        if other.first_ms is not None:
            self.first_ms = other.first_ms if self.first_ms is None else min(self.first_ms, other.first_ms)
            self.last_ms = max(self.last_ms, other.last_ms)

    def figures(self, label: str) -> LabelFigures:
        histogram, count = self.histogram, self.histogram.count
        mean, median, p90 = histogram.mean_ms, histogram.quantile_ms(0.5), histogram.quantile_ms(0.9)
        low, high = histogram.min_ms, histogram.max_ms
        assert mean is not None and median is not None and p90 is not None and low is not None and high is not None
        passed_ms = self.last_ms - (self.first_ms or 0)
        return LabelFigures(
            label=label,
            sample_count=count,
            average_ms=mean,
            median_ms=median,
            p90_ms=p90,
            min_ms=low,
            max_ms=high,
            error_count=self.error_count,
            error_ratio=self.error_count / count,
            rate_per_s=_per_s(count, passed_ms),
            received_bytes_per_s=_per_s(self.received_bytes, passed_ms),
            sent_bytes_per_s=_per_s(self.sent_bytes, passed_ms),
        )


def _plus(total: int | None, value: int | None) -> int | None:
    return None if total is None or value is None else total + value


def _per_s(amount: int | None, passed_ms: int) -> float | None:
    return None if amount is None or passed_ms <= 0 else amount * MS_PER_S / passed_ms


class SampleTally:
    """Adds samples up one by one; `summarise` makes the RunSummary of what it has seen."""

    def __init__(self, once_labels: Sequence[str] = ()) -> None:
        self._once = frozenset(once_labels)
        self._tallies: dict[tuple[str, str], _Tally] = {}
        self._codes: dict[tuple[str, str], list[int]] = {}
        self._kinds: dict[tuple[str, str, str], list[int]] = {}
        self.first_ms: int | None = None
        self.concurrency = ConcurrencyMeter()

    def add(self, sample: Sample) -> None:
        """Count one sample."""
        group = self._group(sample)
        self._tallies.setdefault((group, sample.label), _Tally()).add(sample)
        code = self._codes.setdefault((sample.label, sample.code), [0, 0])
        code[0] += 1
        if not sample.success:
            code[1] += 1
            self._add_error(sample)
        self.first_ms = sample.start_ms if self.first_ms is None else min(self.first_ms, sample.start_ms)
        if group in (LOAD, ONCE):
            self.concurrency.add(sample.start_ms, sample.elapsed_ms, sample.all_threads)

    def _group(self, sample: Sample) -> str:
        # JMeter names a thread after its thread group; in a distributed run the generator's name stands before it.
        thread = sample.thread_name
        if "setUp" in thread:
            return SETUP
        if "tearDown" in thread:
            return TEARDOWN
        return ONCE if sample.label in self._once else LOAD

    def _add_error(self, sample: Sample) -> None:
        text = sample.failure or sample.message
        cause = " ".join(text.split())[:200]
        kind = self._kinds.setdefault((sample.label, sample.code, cause), [0, sample.start_ms, sample.start_ms])
        kind[0] += 1
        kind[1] = min(kind[1], sample.start_ms)
        kind[2] = max(kind[2], sample.start_ms)

    def span_ms(self) -> tuple[int, int] | None:
        """The first start and the last end of the load's own samples; None without any."""
        tallies = [tally for (group, _), tally in self._tallies.items() if group in (LOAD, ONCE)]
        starts = [tally.first_ms for tally in tallies if tally.first_ms is not None]
        return (min(starts), max(tally.last_ms for tally in tallies)) if starts else None

    def groups(self) -> tuple[Group, ...]:
        """The groups that have samples; labels in order of first appearance."""
        groups = []
        for name in GROUPS:
            tallies = {label: tally for (group, label), tally in self._tallies.items() if group == name}
            if tallies:
                total = _Tally()
                for tally in tallies.values():
                    total.merge(tally)
                labels = tuple(tally.figures(label) for label, tally in tallies.items())
                groups.append(Group(name, labels, total.figures(TOTAL)))
        return tuple(groups)

    def codes(self) -> tuple[CodeCount, ...]:
        """Response codes by label, in order of first appearance of the label, then by code."""
        order = {label: place for place, label in enumerate(dict.fromkeys(label for label, _ in self._codes))}
        keys = sorted(self._codes, key=lambda key: (order[key[0]], key[1]))
        return tuple(CodeCount(label, code, *self._codes[label, code]) for label, code in keys)

    def errors(self) -> tuple[ErrorKind, ...]:
        """Every kind of error, the most frequent first."""
        first_ms = self.first_ms or 0
        kinds = (
            ErrorKind(*key, count, (first - first_ms) / MS_PER_S, (last - first_ms) / MS_PER_S)
            for key, (count, first, last) in self._kinds.items()
        )
        return tuple(sorted(kinds, key=lambda kind: (-kind.count, kind.first_s, kind.label, kind.cause)))


def tally_of(samples: Iterable[Sample], once_labels: Sequence[str] = ()) -> SampleTally:
    """Return the tally of all samples."""
    tally = SampleTally(once_labels)
    for sample in samples:
        tally.add(sample)
    return tally
