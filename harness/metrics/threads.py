"""Looks at single rows of JTLs, thread by thread, for rows that are missing, there twice, or no requests of their own.

A thread of JMeter does one request at a time. So its rows do not overlap, but for those of transactions and of parts
of samples, which begin together with another row. Only some thousand rows of a file are looked at.
"""

from __future__ import annotations

import io
import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice, pairwise
from operator import attrgetter
from statistics import median
from typing import NamedTuple, TypeAlias

from harness.base.units import BYTES_PER_MB
from harness.jtl.csv import LINE_BYTES_MAX, parse
from harness.jtl.inputs import Input
from harness.jtl.readers import CSV, XML
from harness.jtl.sample import TRANSACTION_MESSAGE, Dropped, Sample, thread_group_of
from harness.metrics.figures import LOAD, group_of
from harness.metrics.first_rows import FirstRows

# The bytes of a block from the middle of a file on.
_BLOCK_BYTES = BYTES_PER_MB
# Fewer rows are by chance, and so is a smaller share of them.
_ROWS_LEAST, _RATIO_LEAST = 10, 0.05
# By so much rows of a thread may overlap: its clock is not that of its time stamps.
_OVERLAP_MS = 10
# What begins so much later begins together.
_TOGETHER_MS = 2
# Of a label whose rows include others, so many begin together with a shorter row of their thread.
_PARENTS_RATIO, _PARENTS_LEAST = 0.8, 3
# How JMeter names the first part of a sample: GET /-0 beside GET /.
FIRST_SUB_SAMPLE = "-0"
# Copies are no chance: fewer rows have such a neighbour. A thread may do two shorter requests within a millisecond.
_CHANCE_RATIO, _REPEATED_LEAST_MS = 0.5, 5
# A thread that is active has a row among so many of each of the others, and in so long a time.
_ROWS_OF_THREAD, _SILENT_LEAST_MS = 10, 5_000
# Rows go back by more for few of them, as batches of load generators do.
_ORDER_MS, _DISORDER_RATIO = 1_000, 0.02
# A time without requests is that of one that is missing: so much of its time, where there is none elsewhere.
_MISSING_RATIO, _USUAL_RATIO = 0.5, 0.25
# A script may give all of its rows the message of a failure, also the good ones.
_ALWAYS_RATIO = 0.95
# Two pauses are so much longer than one, and it is so equally often after each request of the sequence.
_TWICE_RATIO, _ALL_RATIO, _ALL_LEAST = 1.5, 0.5, 5

_BY_START = attrgetter("start_ms", "elapsed_ms")
_Threads: TypeAlias = Mapping[tuple[int, str, str], Sequence[Sample]]


@dataclass(frozen=True)
class ThreadEvidence:
    """What single rows of JTLs show, of `row_count` that were looked at.

    `parents` are the labels whose rows include other rows of their thread. `overlapping_count` rows begin before the
    one before of their thread has ended; with `are_ends` they do not if time stamps are those of ends.
    `repeated_count` rows are there twice, `copied_count` under the names of two threads, such as `copied`. Of the
    thread group `silent_group`, `silent_count` of `user_count` users have no row. After `skipped_count` of `step_count`
    rows a request is missing: the next one is not that of their sequence, and it begins as much later. After
    `left_count` rows only users' pauses tell so: the plan may have left the request out, and not its pause.
    `passed_count` rows are successes that have the message of a failed assertion.
    """

    row_count: int = 0
    parents: tuple[str, ...] = ()
    overlapping_count: int = 0
    are_ends: bool = False
    repeated_count: int = 0
    copied_count: int = 0
    copied: tuple[str, ...] = ()
    silent_group: str = ""
    silent_count: int = 0
    user_count: int = 0
    skipped_count: int = 0
    left_count: int = 0
    step_count: int = 0
    passed_count: int = 0


NO_ROWS = ThreadEvidence()


def thread_evidence(inputs: Sequence[Input], kept: FirstRows) -> ThreadEvidence:
    """Return what rows at the beginning and in the middle of JTLs show: of each as many as `kept` keeps."""
    by_thread: dict[tuple[int, str, str], list[Sample]] = defaultdict(list)
    silent: dict[tuple[int, str, str], list[tuple[int, int]]] = defaultdict(list)
    are_in_order = True
    for number, given in enumerate(inputs):
        for at, block in enumerate(_blocks(given, kept)):
            rows = _with_threads(block)
            for row in rows:
                by_thread[2 * number + at, row.host, row.thread_name].append(row)
            are_in_order &= len(block) < kept.most or _is_in_order(block)
            for (host, group), counts in _silent(rows).items():
                silent[number, host, group].append(counts)
    rows = [row for own in by_thread.values() for row in own]
    if not rows:
        return NO_ROWS
    clock_ms = _step_ms(row.start_ms for row in rows)
    copies = _copies(by_thread, clock_ms)
    for own in by_thread.values():
        own.sort(key=_BY_START)
    parents = _parents(by_thread.values(), clock_ms)
    inner = [_without_parts(own, parents) for own in by_thread.values()]
    step_ms = max(_OVERLAP_MS, clock_ms)
    overlapping = 0 if copies.repeated_count else sum(_overlaps(_spans(own), step_ms) for own in inner)
    of_ends = sum(_overlaps(_spans_of_ends(own), step_ms) for own in by_thread.values()) if overlapping else 0
    is_whole = are_in_order and not overlapping and not copies.repeated_count
    steps = _skipped(inner, step_ms) if is_whole else _Steps()
    # Who has a row in one of the blocks is not silent.
    groups = [(min(counts), group) for (_, _, group), counts in silent.items()] if are_in_order else []
    (silent_count, users), group = max(groups, default=((0, 0), ""))
    return ThreadEvidence(
        row_count=len(rows),
        parents=parents,
        overlapping_count=_if_many(overlapping, len(rows)),
        are_ends=_ROWS_LEAST * of_ends < overlapping,
        repeated_count=_if_many(copies.repeated_count, len(rows)),
        copied_count=_if_many(copies.copied_count, len(rows)),
        copied=copies.names,
        silent_group=group if silent_count else "",
        silent_count=silent_count,
        user_count=users,
        skipped_count=_if_many(steps.skipped_count, steps.row_count),
        left_count=_if_many(steps.left_count, steps.row_count),
        step_count=steps.row_count,
        passed_count=_if_many(_passed(rows), len(rows)),
    )


def _passed(rows: Iterable[Sample]) -> int:
    """Return how many successes have the message of a failure, of labels of which not nearly all have one."""
    counts, failures = Counter[str](), Counter[str]()
    for row in rows:
        if row.success:
            counts[row.label] += 1
            failures[row.label] += bool(row.failure)
    return sum(count for label, count in failures.items() if count <= _ALWAYS_RATIO * counts[label])


def _if_many(count: int, of: int) -> int:
    return count if count >= max(_ROWS_LEAST, _RATIO_LEAST * of) else 0


def _blocks(given: Input, kept: FirstRows) -> Iterator[Sequence[Sample]]:
    """Yield the first samples of a JTL, and, of a large CSV file, some from its middle on; none of other tools."""
    first = kept.of(given) if given.path else None
    if first is None or given.path is None or first.kind not in (CSV.name, XML.name):
        return
    yield first.rows
    if first.end_byte is None or len(first.rows) < kept.most:
        return
    with given.path.open("rb") as stream:
        header = stream.readline(LINE_BYTES_MAX)
        stream.seek(max(given.path.stat().st_size // 2, first.end_byte))
        stream.readline(LINE_BYTES_MAX)
        text = stream.read(_BLOCK_BYTES)
    if b"\n" in text:
        lines = io.BytesIO(header + text[: text.rfind(b"\n") + 1])
        yield list(islice(parse(lines, given.name, Dropped(), kept.columns), kept.most))


def _with_threads(rows: Sequence[Sample]) -> list[Sample]:
    """Return the rows of samples, without transactions, whose threads are of a group."""
    groups = {name: thread_group_of(name) for name in {row.thread_name for row in rows}}
    return [row for row in rows if groups[row.thread_name] and not row.message.startswith(TRANSACTION_MESSAGE)]


def _is_in_order(rows: Sequence[Sample]) -> bool:
    """Return whether rows follow each other by their ends or starts, so that some of them are all of their time."""
    starts = sum(row.start_ms - later.start_ms > _ORDER_MS for row, later in pairwise(rows))
    ends = sum(row.end_ms - later.end_ms > _ORDER_MS for row, later in pairwise(rows))
    return min(starts, ends) <= _DISORDER_RATIO * len(rows)


def _silent(rows: Sequence[Sample]) -> dict[tuple[str, str], tuple[int, int]]:
    """Return of how many active users of each host and thread group a block has no row, and how many there are.

    Those who begin in its second half may have none yet.
    """
    if not rows or max(row.end_ms for row in rows) - min(row.start_ms for row in rows) < _SILENT_LEAST_MS:
        return {}
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    users: Counter[tuple[str, str]] = Counter()
    threads = Counter((row.host, row.thread_name) for row in rows)
    load = (thread for thread in threads if group_of(thread[1], "", frozenset()) == LOAD)
    groups = {(host, name): (host, name.rpartition("-")[0].rpartition(" ")[0]) for host, name in load}
    for thread, key in groups.items():
        counts[key][thread[1]] = threads[thread]
    for row in rows[: (len(rows) + 1) // 2]:
        if key_of_row := groups.get((row.host, row.thread_name)):
            users[key_of_row] = max(users[key_of_row], row.group_threads or 0)
    silent = {}
    for key, by_name in counts.items():
        missing = max(0, users[key] - len(by_name))
        is_many = missing >= max(1, _RATIO_LEAST * users[key]) and median(by_name.values()) >= _ROWS_OF_THREAD
        silent[key] = (missing, users[key]) if is_many else (0, 0)
    return silent


def _step_ms(times_ms: Iterable[int]) -> int:
    """Return the step of a clock: the greatest common divisor of its times."""
    return math.gcd(*set(times_ms))


class _Copies(NamedTuple):
    """How many rows are there twice, how many also in another thread, and the names of two such threads."""

    repeated_count: int
    copied_count: int
    names: tuple[str, ...]


def _copies(threads: _Threads, step_ms: int) -> _Copies:
    """Return how many rows are there twice, how many also in another thread, and the names of two such threads.

    Threads of one number are copies of each other: of a group or a host with another name. Rows of two threads are
    alike by chance as often as they are one step of the clock later, and as those of other numbers.
    """
    seen: dict[tuple[object, ...], list[str]] = defaultdict(list)
    least_ms = max(_REPEATED_LEAST_MS, step_ms)
    # Most rows are alone with their times.
    alike = Counter(map(_BY_START, chain.from_iterable(threads.values())))
    for (_, host, name), own in threads.items():
        thread = f"{host} {name}".strip()
        for row in own:
            if row.elapsed_ms >= least_ms and alike[row.start_ms, row.elapsed_ms] > 1:
                seen[_signature(row, 0)].append(thread)
    several = {key: set(names) for key, names in seen.items() if len(names) > 1}
    repeated = sum(len(seen[key]) - len(names) for key, names in several.items())
    pairs, others, times = Counter[tuple[str, str]](), 0, set[object]()
    for (_, elapsed_ms, *_), names in several.items():
        for first, second in pairwise(sorted(names, key=lambda name: (name.rpartition("-")[2], name))):
            if first.rpartition("-")[2] == second.rpartition("-")[2]:
                pairs[first, second] += 1
                times.add(elapsed_ms)
            else:
                others += 1
    shift_ms, count = max(1, step_ms), pairs.total()
    rows = list(chain.from_iterable(threads.values())) if count else []
    signatures = {_signature(row, 0) for row in rows if row.elapsed_ms >= least_ms}
    by_chance = sum(_signature(row, shift_ms) in signatures for row in rows)
    is_copied = max(others, by_chance) < _CHANCE_RATIO * count and len(times) >= _ROWS_LEAST
    return _Copies(repeated, count if is_copied else 0, pairs.most_common(1)[0][0] if is_copied else ())


def _signature(row: Sample, later_ms: int) -> tuple[object, ...]:
    """Return what two rows of one sample have in common, if one were so much later."""
    return (
        row.start_ms + later_ms, row.elapsed_ms, row.label, row.code, row.received_bytes, row.latency_ms,
        row.connect_ms,
    )  # fmt: skip


def _parents(threads: Collection[Sequence[Sample]], clock_ms: int) -> tuple[str, ...]:
    """Return the labels whose rows begin together with a shorter row of their thread: they include it."""
    counts = Counter(map(attrgetter("label"), chain.from_iterable(threads)))
    together = Counter[str]()
    # By a coarse clock, rows that follow each other begin together.
    for own in threads if clock_ms < _OVERLAP_MS else ():
        starts = [row.start_ms for row in own]
        around = zip((-math.inf, *starts[:-1]), starts, (*starts[1:], math.inf), strict=True)
        for at, (before, start_ms, after) in enumerate(around):
            if before < start_ms and after > start_ms + _TOGETHER_MS:
                continue  # alone, as nearly all are
            row = own[at]
            # Of two that are as long, the one that was written last includes the other.
            later = (other for other in own[at + 1 : at + 4] if other.start_ms > row.start_ms)
            together[row.label] += any(_includes(row, other) for other in (*own[max(0, at - 3) : at], *later))
    by_name = _parents_by_name(threads, counts)
    parents = [
        label
        for label, count in counts.items()
        if together[label] >= max(_PARENTS_LEAST, _PARENTS_RATIO * count) or label in by_name
    ]
    inner = Counter(row.label for own in (threads if parents else ()) for row in _inside(own, parents))
    return tuple(label for label in parents if inner[label] < _PARENTS_RATIO * counts[label])


def _parents_by_name(threads: Iterable[Sequence[Sample]], counts: Mapping[str, int]) -> Collection[str]:
    """Return the labels after which JMeter named the first part of samples: rows within one of the label."""
    parts = {f"{label}{FIRST_SUB_SAMPLE}": label for label in counts if f"{label}{FIRST_SUB_SAMPLE}" in counts}
    inside = Counter[str]()
    for own in threads if parts else ():
        until_ms: dict[str, int] = {}
        for row in sorted(own, key=lambda row: (row.start_ms, -row.elapsed_ms, row.label)):
            until_ms[row.label] = max(row.end_ms, until_ms.get(row.label, 0))
            if row.label in parts:
                inside[row.label] += row.end_ms <= until_ms.get(parts[row.label], 0)
    return {label for part, label in parts.items() if inside[part] >= _PARENTS_RATIO * counts[part]}


def _inside(own: Sequence[Sample], labels: Sequence[str]) -> Iterator[Sample]:
    """Yield the rows of labels that begin and end within another one of these, as those of parallel resources do."""
    until_ms = 0
    for row in sorted((row for row in own if row.label in labels), key=lambda row: (row.start_ms, -row.elapsed_ms)):
        if row.end_ms <= until_ms:
            yield row
        until_ms = max(until_ms, row.end_ms)


def _includes(row: Sample, other: Sample) -> bool:
    is_together = other.elapsed_ms > 0 and 0 <= other.start_ms - row.start_ms <= _TOGETHER_MS
    return is_together and other.end_ms <= row.end_ms and other.label != row.label


def _without_parts(own: Sequence[Sample], parents: Sequence[str]) -> Sequence[Sample]:
    """Return a thread's rows by their starts, without those that include others, and those that these include."""
    if not parents:
        return [row for row in own if row.start_ms + row.elapsed_ms > 0]
    whole: list[Sample] = []
    until_ms = 0
    for row in sorted(own, key=lambda row: (row.start_ms, -row.elapsed_ms)):
        if row.label in parents:
            until_ms = max(until_ms, row.end_ms)
        elif row.end_ms > until_ms:
            whole.append(row)
    return sorted(whole, key=_BY_START)


def _spans(own: Iterable[Sample]) -> list[tuple[int, int]]:
    return [(row.start_ms, row.start_ms + row.elapsed_ms) for row in own]


def _spans_of_ends(own: Iterable[Sample]) -> list[tuple[int, int]]:
    """Return the times of rows whose time stamps are those of their ends."""
    return [(row.start_ms - row.elapsed_ms, row.start_ms) for row in own]


def _overlaps(spans_ms: Iterable[tuple[int, int]], most_ms: int) -> int:
    """Return how many rows of a thread begin before the one before has ended."""
    return sum(end_ms - start_ms > most_ms for (_, end_ms), (start_ms, _) in pairwise(sorted(spans_ms)))


class _Steps(NamedTuple):
    """After how many rows a request of the sequence is missing, or only seems to be, and the number of all."""

    skipped_count: int = 0
    left_count: int = 0
    row_count: int = 0


def _skipped(threads: Iterable[Sequence[Sample]], step_ms: int) -> _Steps:
    """Return after how many rows a request of the sequence is missing, or only seems to be, and the number of all.

    Users send the requests of a plan in its sequence. Where the next one but one follows, and begins later by the time
    of the one between, that one has no row. A plan that leaves it out has no such time. Of users who pause, the pause
    is twice as long after all of the requests, but a plan that leaves any of them out may pause all the same.
    """
    gaps_ms: dict[tuple[str, str], list[int]] = defaultdict(list)
    elapsed_ms: dict[str, list[int]] = defaultdict(list)
    for row, later in (pair for own in threads for pair in pairwise(own)):
        gaps_ms[row.label, later.label].append(later.start_ms - row.end_ms)
        elapsed_ms[later.label].append(later.elapsed_ms)
    next_of = {label: after for _, label, after in sorted((len(each_ms), *pair) for pair, each_ms in gaps_ms.items())}
    skipped, slower = 0, dict.fromkeys(next_of, 0)
    for label, between in next_of.items():
        after = next_of.get(between)
        if after in (None, between) or not (waits_ms := gaps_ms.get((label, str(after)), [])):
            continue
        # A plan that leaves a request out may pause before it or after it, or both.
        before_ms, behind_ms = median(gaps_ms[label, between]), median(gaps_ms[between, str(after)])
        pause_ms, time_ms, wait_ms = before_ms + behind_ms, median(elapsed_ms[between]), median(waits_ms)
        is_missing = wait_ms >= pause_ms + max(step_ms, _MISSING_RATIO * time_ms)
        skipped += len(waits_ms) if is_missing and pause_ms <= _USUAL_RATIO * time_ms else 0
        slower[label] = len(waits_ms) if wait_ms >= max(step_ms, _TWICE_RATIO * max(before_ms, behind_ms)) else 0
    count = sum(map(len, gaps_ms.values()))
    is_of_all = len(slower) > 2 and len(set(next_of.values())) == len(next_of)
    least = min(slower.values(), default=0)
    is_of_all = is_of_all and least >= _ALL_LEAST and least * len(slower) >= _ALL_RATIO * sum(slower.values())
    return _Steps(skipped, sum(slower.values()) if is_of_all and not skipped else 0, count)
