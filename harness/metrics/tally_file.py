"""Writes a tally to a small file and reads it back, so that machines exchange counts instead of JTLs.

The file is JSON, packed with gzip. It contains all counts of whole JTLs that a table needs, none of them rounded:
tallies merge exactly. It contains no samples and no times per interval, so a tally has no measurement window.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import Any

from harness.base.errors import UsageError
from harness.base.records import build
from harness.base.strict_json import parse_object
from harness.jtl.readers import TALLY_SIGN
from harness.jtl.sample import ELAPSED_MAX_MS, START_MAX_MS, Dropped
from harness.metrics.figures import GROUPS, LOAD, ONCE, LabelCounts
from harness.metrics.histogram import Histogram
from harness.metrics.silences import Silences
from harness.metrics.tally import ErrorKey, LabelKey, SampleTally, Scope
from harness.metrics.timeline import Order, SecondSeries, Source

FORMAT_VERSION = 2
_KIND = "tally"
_PACK_LEVEL = 6
_END_MAX_MS = START_MAX_MS + ELAPSED_MAX_MS


@dataclass(frozen=True)
class _Labels:
    """A row per label, group, file and load generator, in order of first appearance.

    `first_byte_ms` and `connect_ms` are empty texts where latency and connect time are unknown; earlier versions have
    neither.
    """

    group: tuple[str, ...]
    label: tuple[str, ...]
    is_transaction: tuple[bool, ...]
    file: tuple[int, ...]
    generator: tuple[str, ...]
    elapsed_ms: tuple[str, ...]
    elapsed_sum_ms: tuple[int, ...]
    error_count: tuple[int, ...]
    received_bytes: tuple[int | None, ...]
    sent_bytes: tuple[int | None, ...]
    latency_sum_ms: tuple[int | None, ...]
    connect_sum_ms: tuple[int | None, ...]
    first_ms: tuple[int, ...]
    last_ms: tuple[int, ...]
    first_byte_ms: tuple[str, ...] | None = None
    connect_ms: tuple[str, ...] | None = None


@dataclass(frozen=True)
class _Codes:
    """A row per label and response code."""

    label: tuple[str, ...]
    code: tuple[str, ...]
    is_transaction: tuple[bool, ...]
    sample_count: tuple[int, ...]
    error_count: tuple[int, ...]


@dataclass(frozen=True)
class _Errors:
    """A row per kind of error."""

    label: tuple[str, ...]
    code: tuple[str, ...]
    cause: tuple[str, ...]
    count: tuple[int, ...]
    first_ms: tuple[int, ...]
    last_ms: tuple[int, ...]
    example: tuple[str, ...]


@dataclass(frozen=True)
class _Seconds:
    """A row per second in which samples ended."""

    second: tuple[int, ...]
    sample_count: tuple[int, ...]
    error_count: tuple[int, ...]
    elapsed_sum_ms: tuple[int, ...]


@dataclass(frozen=True)
class _Users:
    """A row per second and source: the most active users."""

    file: tuple[int, ...]
    generator: tuple[str, ...]
    second: tuple[int, ...]
    users: tuple[int, ...]


@dataclass(frozen=True)
class _Waits:
    """A row per second throughout which more or fewer samples last than throughout the second before it."""

    second: tuple[int, ...]
    change: tuple[int, ...]


@dataclass(frozen=True)
class _Series:
    """The seconds, the users and the waits of the requests or of the transactions."""

    seconds: _Seconds
    users: _Users
    waits: _Waits


@dataclass(frozen=True)
class _Dropped:
    """The dropped records, as in Dropped."""

    count: int
    first: tuple[tuple[int, str], ...]
    header_lines: tuple[int, ...]
    unknown: tuple[str, ...] = ()
    torn_end_count: int = 0
    cut_count: int = 0
    surplus: tuple[tuple[int, int], ...] = ()
    bad_time_count: int = 0
    made_arrival_count: int = 0
    left_arrival_count: int = 0


@dataclass(frozen=True)
class _Content:
    """The content of a tally file. `back_ms` is how far row ends go back at most, by file."""

    kind: str
    format_version: int
    files: tuple[str, ...]
    first_ms: int
    back_ms: tuple[int, ...]
    labels: _Labels
    codes: _Codes
    errors: _Errors
    requests: _Series
    transactions: _Series
    dropped: _Dropped
    silences: Silences | None
    cut: tuple[tuple[str, int], ...] = ()
    untimed: tuple[tuple[str, int], ...] = ()


def to_bytes(tally: SampleTally, silences: Silences | None) -> bytes:
    """Return the tally file of JTLs with samples; `silences` are those of the users, where a gap may be a pause."""
    labels = (
        (*key, *source, _runs(counts.histogram), *counts.sums, _runs(counts.first_bytes), _runs(counts.connects))
        for key, by_source in tally.labels.items()
        for source, counts in by_source.items()
    )
    data = {
        "kind": _KIND,
        "format_version": FORMAT_VERSION,
        "files": list(tally.names.values()),
        "first_ms": tally.first_ms,
        "back_ms": [tally.orders[number].back_ms for number in tally.names],
        "labels": _columns(_Labels, labels),
        "codes": _columns(_Codes, ((*key, *vars(counts).values()) for key, counts in tally.codes.items())),
        "errors": _columns(_Errors, ((*key, *vars(kind).values()) for key, kind in tally.kinds.items())),
        "requests": _series(tally.requests),
        "transactions": _series(tally.transactions),
        "dropped": _dropped(tally.dropped),
        "silences": silences and silences.to_plain(),
        **{name: sorted(counts.items()) for name, counts in (("cut", tally.cut), ("untimed", tally.untimed)) if counts},
    }
    text = json.dumps(data, separators=(",", ":")).encode()
    assert text.startswith(TALLY_SIGN)
    return gzip.compress(text, _PACK_LEVEL, mtime=0)


def _dropped(dropped: Dropped) -> dict[str, object]:
    """Return the dropped records; a tally without something unknown and torn is one of earlier versions."""
    data = {**vars(dropped), "surplus": sorted(dropped.surplus.items())}
    return {key: value for key, value in data.items() if value or key in ("count", "first", "header_lines")}


def _columns(kind: type, rows: Iterable[tuple[object, ...]]) -> dict[str, list[object]]:
    names = [field.name for field in fields(kind)]
    columns = list(zip(*rows, strict=True)) or [()] * len(names)
    return {name: list(column) for name, column in zip(names, columns, strict=True)}


def _series(series: SecondSeries) -> dict[str, Any]:
    seconds = ((second, *series.seconds[second]) for second in sorted(series.seconds))
    users = (
        (*source, second, by_second[second])
        for source, by_second in sorted(series.users.items())
        for second in sorted(by_second)
    )
    waits = ((second, change) for second, change in sorted(series.waits.items()) if change)
    return {
        "seconds": _columns(_Seconds, seconds),
        "users": _columns(_Users, users),
        "waits": _columns(_Waits, waits),
    }


def _runs(histogram: Histogram) -> str:
    """Return the counts of a histogram as text: `12:5 3 40:1` are 5 samples of 12 ms, 3 of 13 ms and 1 of 40 ms."""
    counts = histogram.counts
    return " ".join(
        f"{counts[value_ms]}" if value_ms == before_ms + 1 else f"{value_ms}:{counts[value_ms]}"
        for before_ms, value_ms in pairwise((-2, *sorted(counts)))
    )


def from_bytes(text: bytes, name: str, first_file: int) -> SampleTally:
    """Return the tally in the unpacked text of a tally file, its files from `first_file` on.

    UsageError when it is damaged, or of another version; `name` is what messages call the file.
    """
    try:
        data = parse_object(text, with_unique_keys=True)
        version = data.get("format_version")
        if version != FORMAT_VERSION:
            raise UsageError(
                f"{name}: a tally of format_version {version!r:.20}; this version reads {FORMAT_VERSION}",
                "write it again with this version: lth tally",
            )
        content = build(_Content, data)
        return _Reader(content, first_file).tally()
    except ValueError as error:
        raise UsageError(
            f"{name}: a damaged tally ({str(error)[:200]})", "copy it again, or write it again: lth tally"
        ) from None


class _Reader:
    """Makes the tally of the content of a file. ValueError for counts that no JTL has."""

    def __init__(self, content: _Content, first_file: int) -> None:
        if not content.files or len(content.back_ms) != len(content.files):
            raise ValueError("files and back_ms do not fit together")
        self._content = content
        self._first_file = first_file
        self._tally = Scope(file=first_file, with_timeline=False).tally()

    def tally(self) -> SampleTally:
        """Return the tally."""
        content, tally, dropped = self._content, self._tally, self._content.dropped
        lists = (list(dropped.first), list(dropped.header_lines), list(dropped.unknown))
        ends = (_whole(dropped.torn_end_count, "torn_end_count"), _whole(dropped.cut_count, "cut_count"))
        names = ("bad_time_count", "made_arrival_count", "left_arrival_count")
        rest = (_whole(getattr(dropped, name), name) for name in names)
        tally.dropped = Dropped(_whole(dropped.count, "dropped"), *lists, *ends, dict(dropped.surplus), *rest)
        tally.cut.update(dict(content.cut))
        tally.untimed.update(dict(content.untimed))
        tally.note_start(_whole(content.first_ms, "first_ms", START_MAX_MS))
        for number, (name, back_ms) in enumerate(zip(content.files, content.back_ms, strict=True), self._first_file):
            tally.names[number] = name
            tally.orders[number] = Order(back_ms=_whole(back_ms, "back_ms"))
        self._add_labels()
        self._add_codes_and_errors()
        self._add_series(tally.requests, content.requests, is_transactions=False)
        self._add_series(tally.transactions, content.transactions, is_transactions=True)
        tally.stored[self._first_file] = content.silences
        return tally

    def _source(self, file: int, generator: str) -> Source:
        if not 0 <= file < len(self._content.files):
            raise ValueError(f"file {file} is not in files")
        return Source(self._first_file + file, generator)

    def _add_labels(self) -> None:
        labels = self._content.labels
        unknown = ("",) * len(labels.label)
        labels = replace(labels, first_byte_ms=labels.first_byte_ms or unknown, connect_ms=labels.connect_ms or unknown)
        for group, label, is_transaction, file, generator, elapsed_ms, *more in _rows(labels, "labels"):
            *sums, first_ms, last_ms, first_byte_ms, connect_ms = more
            if group not in GROUPS:
                raise ValueError(f"labels.group {group!r:.20} is not one of {', '.join(GROUPS)}")
            key, source = LabelKey(group, label, is_transaction), self._source(file, generator)
            if source in self._tally.labels.get(key, {}):
                raise ValueError(f"labels has {label!r:.60} twice")
            for value in sums:
                _whole(value or 0, "a sum of labels")
            _whole(last_ms, "labels.last_ms", _END_MAX_MS)
            counts = LabelCounts(_histogram(elapsed_ms), *sums)
            counts.first_ms, counts.last_ms = _whole(first_ms, "labels.first_ms", last_ms), last_ms
            counts.first_bytes, counts.connects = (
                _histogram(text) if text else Histogram() for text in (first_byte_ms, connect_ms)
            )
            _check_possible(counts, label)
            self._tally.counts(key, source).merge(counts)
        if (span_ms := self._tally.span_ms(GROUPS)) is None:
            raise ValueError("labels is empty")
        if self._tally.first_ms != span_ms.from_ms:
            raise ValueError("first_ms is not the first start of labels")

    def _add_codes_and_errors(self) -> None:
        labels = {key.label for key in self._tally.labels}
        for label, code, is_transaction, *counts in _rows(self._content.codes, "codes"):
            self._tally.add_code(
                (_known(label, labels), code, is_transaction), *(_whole(one, "codes") for one in counts)
            )
        for label, code, cause, *numbers, example in _rows(self._content.errors, "errors"):
            count, first_ms, last_ms = (_whole(one, "errors") for one in numbers)
            self._tally.add_kind(ErrorKey(_known(label, labels), code, cause), count, first_ms, last_ms, example)
        self._check_sums()

    def _check_sums(self) -> None:
        """Raise ValueError unless labels, codes and errors count the same samples and errors of each label."""
        samples, errors, of_codes, errors_of_codes, kinds = (Counter[str]() for _ in range(5))
        for key, by_source in self._tally.labels.items():
            for one in by_source.values():
                samples[key.label] += one.histogram.count
                errors[key.label] += one.error_count
        for (label, _, _), code in self._tally.codes.items():
            of_codes[label] += code.sample_count
            errors_of_codes[label] += code.error_count
        for kind_key, kind in self._tally.kinds.items():
            kinds[kind_key.label] += kind.count
        if samples != of_codes or not errors == errors_of_codes == kinds:
            raise ValueError("labels, codes and errors count different numbers of samples")

    def _add_series(self, series: SecondSeries, content: _Series, *, is_transactions: bool) -> None:
        for second, *counts in _rows(content.seconds, "seconds"):
            series.seconds.add(_whole(second, "second", _END_MAX_MS), *(_whole(one, "seconds") for one in counts))
        for file, generator, second, users in _rows(content.users, "users"):
            series.add_users(
                self._source(file, generator), _whole(second, "second", _END_MAX_MS), _whole(users, "users")
            )
        waiting_count = 0
        for second, change in _rows(content.waits, "waits"):
            series.waits[_whole(second, "second", _END_MAX_MS)] += change
            waiting_count = _whole(waiting_count + change, "waits")
        if waiting_count:
            raise ValueError("waits has samples without an end")
        differences = [0, 0, 0]  # samples, errors, elapsed ms
        for second_counts in series.seconds.values():
            differences = [total + one for total, one in zip(differences, second_counts, strict=True)]
            if second_counts.error_count > second_counts.sample_count:
                raise ValueError("seconds has more errors than samples")
        for key, by_source in self._tally.labels.items():
            for counted in by_source.values() if key.group in (LOAD, ONCE) else ():
                if key.is_transaction is is_transactions:
                    label_counts = (counted.histogram.count, counted.error_count, counted.elapsed_sum_ms)
                    differences = [total - one for total, one in zip(differences, label_counts, strict=True)]
        if any(differences):
            raise ValueError("labels and seconds count different numbers of samples, errors or milliseconds")


def _check_possible(counts: LabelCounts, label: str) -> None:
    """Raise ValueError for counts that no samples have."""
    histogram = counts.histogram
    if counts.error_count > histogram.count:
        raise ValueError(f"labels has {counts.error_count} errors in {histogram.count} samples of {label!r:.60}")
    # Of a row of several samples, each one's time is rounded down.
    if not 0 <= counts.elapsed_sum_ms - histogram.sum_ms < histogram.count:
        raise ValueError(f"elapsed_sum_ms of {label!r:.60} is not the sum of its elapsed_ms")
    if (histogram.max_ms or 0) > counts.last_ms - (counts.first_ms or 0):
        raise ValueError(f"{label!r:.60} has a time that is longer than from its first_ms to its last_ms")


def _rows(columns: object, name: str) -> Iterator[tuple[Any, ...]]:
    values = list(vars(columns).values())
    if len(set(map(len, values))) != 1:
        raise ValueError(f"{name} has columns of different lengths")
    return zip(*values, strict=True)


def _whole(value: int, name: str, most: int = 2**63 - 1) -> int:
    if not 0 <= value <= most:
        raise ValueError(f"{name} contains {value}")
    return value


def _known(label: str, labels: set[str]) -> str:
    if label not in labels:
        raise ValueError(f"{label!r:.60} is not in labels")
    return label


def _histogram(text: str) -> Histogram:
    """Return the histogram that `_runs` wrote."""
    counts: dict[int, int] = {}
    next_ms = -1
    for part in text.split(" "):
        value, colon, count = part.rpartition(":")
        value_ms = int(value) if colon else next_ms
        if not next_ms <= value_ms <= ELAPSED_MAX_MS or value_ms < 0 or int(count) < 1:
            raise ValueError(f"labels.elapsed_ms contains {part!r:.40}")
        counts[value_ms] = int(count)
        next_ms = value_ms + 1
    return Histogram(counts)
