"""Samples and the facts of a run become one RunSummary: every figure of the report, and nothing that is not in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from harness.caveats import Caveat, find_caveats
from harness.histogram import Histogram
from harness.jtl import Dropped, Sample
from harness.littles_law import ConcurrencyMeter, LittlesLaw
from harness.record import RunRecord
from harness.telemetry import Usage
from harness.units import MS_PER_S
from harness.verdict import Verdict, judge

FORMAT_VERSION = 1
TOTAL = "TOTAL"
LOAD, ONCE, SETUP, TEARDOWN = "load", "once", "setUp", "tearDown"
GROUPS = (LOAD, ONCE, SETUP, TEARDOWN)
ERROR_KINDS_KEPT = 20


@dataclass(frozen=True)
class LabelFigures:
    """The figures of one label, or of a group's TOTAL.

    The rate counts samples from the first start to the last end; the 90 % line follows JMeter's rule (see Histogram).
    """

    label: str
    sample_count: int
    average_ms: float
    median_ms: int
    p90_ms: int
    min_ms: int
    max_ms: int
    error_count: int
    error_ratio: float
    rate_per_s: float | None
    received_bytes_per_s: float | None
    sent_bytes_per_s: float | None


@dataclass(frozen=True)
class Group:
    """Labels that are added up together: the load itself, the steps once per user, setUp or tearDown."""

    name: str
    labels: tuple[LabelFigures, ...]
    total: LabelFigures


@dataclass(frozen=True)
class CodeCount:
    """How often a label was answered with a response code, and how many of those count as errors."""

    label: str
    code: str
    sample_count: int
    error_count: int


@dataclass(frozen=True)
class ErrorKind:
    """Errors of one label, code and cause: how many, and when the first and last began (s after the first sample)."""

    label: str
    code: str
    cause: str
    count: int
    first_s: float
    last_s: float


@dataclass(frozen=True)
class RunSummary:
    """The canonical result of one run or one JTL; written as run-<series>_<n>.json."""

    format_version: int
    source: str
    run: RunRecord | None
    verdict: Verdict
    groups: tuple[Group, ...]
    codes: tuple[CodeCount, ...]
    errors: tuple[ErrorKind, ...]
    error_kinds_left_out: int
    usages: tuple[Usage, ...]
    littles_law: LittlesLaw | None
    caveats: tuple[Caveat, ...]
    dropped_count: int
    dropped_first: tuple[tuple[int, str], ...]

    def group(self, name: str) -> Group | None:
        """The group of that name; None when it has no samples."""
        return next((group for group in self.groups if group.name == name), None)

    def to_json(self) -> dict[str, Any]:
        """Return the summary as plain data, keys in the order of the fields."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> RunSummary:
        """Return the summary that `to_json` wrote."""
        values = dict(data)
        values["run"] = RunRecord.from_json(data["run"], data["source"]) if data["run"] else None
        values["verdict"] = Verdict.from_json(data["verdict"])
        values["groups"] = tuple(
            Group(
                group["name"],
                tuple(LabelFigures(**label) for label in group["labels"]),
                LabelFigures(**group["total"]),
            )
            for group in data["groups"]
        )
        values["codes"] = tuple(CodeCount(**code) for code in data["codes"])
        values["errors"] = tuple(ErrorKind(**kind) for kind in data["errors"])
        values["usages"] = tuple(Usage(**usage) for usage in data["usages"])
        values["littles_law"] = LittlesLaw(**data["littles_law"]) if data["littles_law"] else None
        values["caveats"] = tuple(Caveat(**caveat) for caveat in data["caveats"])
        values["dropped_first"] = tuple((line, reason) for line, reason in data["dropped_first"])
        return cls(**values)


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


def summarise(
    tally: SampleTally, dropped: Dropped, source: str, run: RunRecord | None = None, usage: Sequence[Usage] = ()
) -> RunSummary:
    """Return the summary of a tally; `run` is its run.json, None for a bare JTL named `source`."""
    groups = tally.groups()
    load = next((group for group in groups if group.name == LOAD), None)
    codes, errors = tally.codes(), tally.errors()
    driven = {figures.label for group in groups if group.name in (LOAD, ONCE) for figures in group.labels}
    law = tally.concurrency.littles_law(run.load.think_time_s if run else 0.0)
    return RunSummary(
        format_version=FORMAT_VERSION,
        source=source,
        run=run,
        verdict=judge(load.total if load else None, run, errors),
        groups=groups,
        codes=codes,
        errors=errors[:ERROR_KINDS_KEPT],
        error_kinds_left_out=max(0, len(errors) - ERROR_KINDS_KEPT),
        usages=tuple(usage),
        littles_law=law,
        caveats=find_caveats(
            run, load.total if load else None, [code for code in codes if code.label in driven], law, usage, dropped
        ),
        dropped_count=dropped.count,
        dropped_first=tuple(dropped.first),
    )
