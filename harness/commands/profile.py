"""`lth profile`: print the profile of a run, or what the system did in the slowest seconds of a label."""

from __future__ import annotations

import argparse
import gzip
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, sqrt
from statistics import fmean, median, variance
from typing import NamedTuple

from harness.base.config import did_you_mean
from harness.base.errors import EXIT_OK, UsageError
from harness.base.log import print_text
from harness.base.units import BYTES_PER_KB, MS_PER_S
from harness.cli.options import take, take_argument
from harness.jtl.sample import Dropped, Sample
from harness.judge.summary import RunSummary
from harness.metrics.figures import LOAD
from harness.metrics.files import read_samples
from harness.metrics.interval import IntervalMs
from harness.report.files import stored_summary
from harness.report.machine import own_metrics_text
from harness.report.profiles import database_text, profile_text, request_count
from harness.report.run_tables import slowest_table
from harness.report.tables import cell, table
from harness.report.tail_text import tail_text
from harness.run.directory import RunDirectory
from harness.run.names import find_run
from harness.system.profile import own_frame
from harness.system.profile_events import FILE_NAME as PROFILE
from harness.system.profile_events import EventRow, Events, read_events
from harness.system.threads import WAITING

_EPILOG = """\
examples:
  lth profile thruzero/run-07_1                              methods, locks, exceptions, pauses, threads, statements
  lth profile thruzero/run-07_1 --label home                 what was more frequent while "home" was slow

--label compares the slowest tenth of the seconds, and others of at least twice the median, with the faster half. A
second is as slow as the samples of the label that were in progress in it, on average. It needs samples.jtl and
profile.tsv.gz of the run. lth help profile.md has more.

exit codes: 0 success; 2 wrong use, or a run that was not profiled.
"""
_SECONDS_LEAST = 20
_SLOW_SHARE, _SLOW_LEAST, _SLOW_MOST_SHARE = 0.1, 3, 1 / 3
_SLOW_FACTOR = 2.0
# The slow seconds are no slower than chance makes them, unless their samples take so much longer.
_FACTOR_LEAST = 1.2
_GROWTH_LEAST = 0.10
_ERRORS_LEAST = 3.0
_OF_KIND_LEAST = 0.05
_ROWS_MOST = 5
_NS_PER_S, _NS_PER_MS = 1e9, 1e6
_BYTES_PER_MB = BYTES_PER_KB * BYTES_PER_KB


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Set the options of `profile`."""
    parser.description = "Print the profile of a run that was profiled (lth run --profile), as in its report."
    parser.epilog = _EPILOG
    take_argument(parser, "run")
    take(parser, "label/slow plan/filter reports")


def run(options: argparse.Namespace) -> int:
    """Print the profile and return the exit code."""
    directory = RunDirectory(find_run(options.run, options.plan, options.reports))
    summary = stored_summary(directory)
    if not summary.observed.profiles and not summary.observed.databases:
        raise UsageError(f"{options.run}: has no profile{_why(summary)}", "profile a run with lth run --profile")
    if options.label is None:
        print_text(_text(summary, os.path.relpath(directory.path)))
        return EXIT_OK
    print_text(_comparison(directory, summary, options.label))
    return EXIT_OK


def _why(summary: RunSummary) -> str:
    unknown = summary.run.unknown.get("profile", ()) if summary.run else ()
    return f" ({'; '.join(f'{process}: {why}' for process, why in unknown)})" if unknown else ""


def _text(summary: RunSummary, folder: str) -> str:
    observed = summary.observed
    parts = [tail_text(account) for account in observed.tails]
    parts += [profile_text(profile, folder) for profile in observed.profiles]
    parts += [database_text(used, request_count(summary)) for used in observed.databases]
    if observed.slowest:
        parts.append(f"### Slowest samples\n\n{slowest_table(observed.slowest)}")
    parts += [f"## The system's own metrics\n\n{own_metrics_text(found)}" for found in observed.own_metrics]
    return "\n\n".join(parts)


def _comparison(directory: RunDirectory, summary: RunSummary, label: str) -> str:
    """Return the comparison of a label's slow and normal seconds; UsageError without the files that it needs."""
    for path in (directory.path / PROFILE, *(directory.all_samples or (directory.samples,))):
        if not path.is_file():
            raise UsageError(f"{path}: is missing", "pull the run with all its files")
    load = summary.group(LOAD)
    names = [one.label for one in load.labels] if load else []
    if label not in names:
        raise UsageError(
            f"--label {label}: the load has no such label", f"{did_you_mean(label, names)}there are: {', '.join(names)}"
        )
    assert summary.origin_s is not None  # there is a load
    window = summary.window
    from_s, to_s = summary.origin_s + window.from_s, summary.origin_s + window.to_s
    window_ms = IntervalMs(from_s * MS_PER_S, to_s * MS_PER_S)
    samples = (sample for path in directory.all_samples for sample in read_samples(path, Dropped()))
    seconds = seconds_of(samples, label, window_ms)
    with gzip.open(directory.path / PROFILE, "rt", encoding="utf-8", errors="replace") as lines:
        events = read_events(lines)
    found = differences(events, seconds) if seconds.is_slower else ()
    return f"## {label}\n\n{differences_text(seconds, found)}"


@dataclass(frozen=True)
class Seconds:
    """The slow and the normal seconds of a label (since 1970), and the mean response time in each of them, ms."""

    slow: tuple[int, ...]
    normal: tuple[int, ...]
    slow_ms: float
    normal_ms: float

    @property
    def is_slower(self) -> bool:
        """Whether the slow seconds are slower than seconds differ anyway."""
        return self.slow_ms > _FACTOR_LEAST * self.normal_ms


@dataclass(frozen=True)
class ProfileDifference:
    """Something that the system did more of in slow seconds; `slow` and `normal` are per second, in `unit`."""

    process: str
    kind: str
    name: str
    slow: float
    normal: float
    unit: str


def seconds_of(samples: Iterable[Sample], label: str, window_ms: IntervalMs) -> Seconds:
    """Return the slow and the normal seconds in the window; UsageError when the label has too few of them."""
    sums: dict[int, tuple[int, int]] = {}
    for sample in samples:
        if sample.label == label and window_ms.from_ms <= sample.end_ms <= window_ms.to_ms:
            for second in range(sample.start_ms // MS_PER_S, sample.end_ms // MS_PER_S + 1):
                count, elapsed_ms = sums.get(second, (0, 0))
                sums[second] = count + 1, elapsed_ms + sample.elapsed_ms
    inside = range(window_ms.from_ms // MS_PER_S, ceil(window_ms.to_ms / MS_PER_S))
    means = {second: total / count for second, (count, total) in sums.items() if second in inside}
    if len(means) < _SECONDS_LEAST:
        what = f"--label {label}: samples in {len(means)} seconds of the window"
        raise UsageError(what, f"slow seconds are found among {_SECONDS_LEAST} or more: run longer")
    ordered = sorted(means, key=lambda second: (-means[second], second))
    median_ms = median(means.values())
    slow_count = sum(mean >= _SLOW_FACTOR * median_ms for mean in means.values())
    least = max(_SLOW_LEAST, ceil(len(ordered) * _SLOW_SHARE))
    slow = ordered[: max(least, min(slow_count, int(len(ordered) * _SLOW_MOST_SHARE)))]
    normal = ordered[len(ordered) // 2 :]
    slow_ms, normal_ms = (fmean(means[second] for second in found) for found in (slow, normal))
    return Seconds(tuple(sorted(slow)), tuple(sorted(normal)), slow_ms, normal_ms)


def differences(events: Mapping[str, Events], seconds: Seconds) -> tuple[ProfileDifference, ...]:
    """Return what the system did more of in the slow seconds: per process and kind, the largest growth first."""
    all_differences: list[ProfileDifference] = []
    for process, of_process in events.items():
        for kind in _kinds(of_process):
            all_differences += _grown(process, kind, seconds)
    return tuple(all_differences)


def differences_text(seconds: Seconds, found: Sequence[ProfileDifference]) -> str:
    """Return the comparison as Markdown."""
    text = (
        f"The {len(seconds.slow)} slowest seconds (mean of the samples in progress {seconds.slow_ms:.0f} ms) against "
        f"the {len(seconds.normal)} normal ones ({seconds.normal_ms:.0f} ms)."
    )
    if not seconds.is_slower:
        return f"{text} They do not differ enough to look for causes."
    if not found:
        return f"{text} The profile has nothing that is more frequent in the slow seconds than chance allows."
    rows = [
        [cell(one.process), one.kind, cell(one.name), f"{one.slow:.4g}", f"{one.normal:.4g}", one.unit] for one in found
    ]
    columns = ("process", "kind", "what", "slow seconds", "normal seconds", "unit")
    return f"{text} What the system did more of:\n\n{table(columns, rows, text_columns=3)}"


_PerSecond = dict[str, dict[int, float]]


class _Kind(NamedTuple):
    """A kind of events, its unit, and the values by name and second."""

    name: str
    unit: str
    values: _PerSecond


def _kinds(events: Events) -> Iterator[_Kind]:

    def of(kind: str) -> list[EventRow]:
        return events.rows.get(kind, [])

    yield _Kind("method", "samples", _sums((row.stack[0], row.second, row.count) for row in of("cpu") if row.stack))
    yield _Kind("lock", "ms", _sums((_at(row), row.second, row.total / _NS_PER_MS) for row in of("lock")))
    yield _Kind("exception", "", _sums((_at(row), row.second, row.count) for row in of("throw")))
    yield _Kind("allocation", "MB", _sums((_at(row), row.second, row.total / _BYTES_PER_MB) for row in of("alloc")))
    yield _Kind("garbage collection", "ms", _sums(("pauses", row.second, row.total / _NS_PER_MS) for row in of("gc")))
    safepoints = ((row.detail, row.second, row.total / _NS_PER_MS) for row in of("safepoint"))
    yield _Kind("safepoint", "ms", _sums(safepoints))
    waits = (row for row in of("thread") if row.other == WAITING and len(row.stack) > 1)
    named = ((f"{row.stack[1]} in {row.stack[0]}", row.second, row.total / _NS_PER_S) for row in waits)
    yield _Kind("wait", "threads", _sums(named))


def _at(row: EventRow) -> str:
    return f"{row.detail} at {own_frame(row.stack)}"


def _sums(values: Iterable[tuple[str, int, float]]) -> _PerSecond:
    sums: _PerSecond = {}
    for name, second, value in values:
        of_name = sums.setdefault(name, {})
        of_name[second] = of_name.get(second, 0.0) + value
    return sums


def _grown(process: str, kind: _Kind, seconds: Seconds) -> Iterable[ProfileDifference]:
    grown = []
    whole = 0.0
    for name, values in kind.values.items():
        slow, normal = ([values.get(second, 0.0) for second in chosen] for chosen in (seconds.slow, seconds.normal))
        normal_mean, slow_mean = fmean(normal), fmean(slow)
        whole += slow_mean
        if slow_mean - normal_mean > max(_GROWTH_LEAST * normal_mean, _ERRORS_LEAST * _error(slow, normal)):
            grown.append(ProfileDifference(process, kind.name, name, slow_mean, normal_mean, kind.unit))
    grown.sort(key=lambda one: (one.normal - one.slow, one.name))
    return [one for one in grown[:_ROWS_MOST] if one.slow - one.normal > _OF_KIND_LEAST * whole]


def _error(slow: Collection[float], normal: Collection[float]) -> float:
    """Return the standard error of the difference of two means."""
    return sqrt(variance(slow) / len(slow) + variance(normal) / len(normal))
