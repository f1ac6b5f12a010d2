"""Writes the seconds of a run as OpenMetrics with time stamps, which `promtool tsdb create-blocks-from` imports."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import NamedTuple

from harness.base.units import MS_PER_S
from harness.metrics import instruments
from harness.metrics.buckets import BOUND_TEXTS, cumulative_counts
from harness.metrics.instruments import Instrument
from harness.metrics.interval import SecondSpan
from harness.metrics.label_seconds import LabelSecond, SortedSeconds
from harness.metrics.tally import LabelKey

# Prometheus forgets a value after five minutes: a count that does not change is repeated.
_REPEAT_S = 60
_TO_ESCAPE = re.compile(r'["\\\n]')
_SECTIONS: tuple[tuple[Instrument, Callable[[LabelSecond], int | None]], ...] = (
    (instruments.REQUESTS, lambda one: one.sample_count),
    (instruments.ERRORS, lambda one: one.error_count),
    (instruments.RECEIVED, lambda one: one.received_bytes),
    (instruments.SENT, lambda one: one.sent_bytes),
)


def lines(about: Mapping[str, str], seconds: SortedSeconds) -> Iterator[str]:
    """Yield the lines of a run, each with its line end; `about` are the labels of the run: run, plan, env, commit.

    A point is at the end of its second and has the counts up to then. The first one of each series is 0.
    """
    span_s = seconds.span_s
    if span_s:
        yield from _head(instruments.INFO, "info")
        text = labels_text(about)
        yield from (f"{instruments.INFO.name}_info{{{text}}} 1 {at_s}\n" for at_s in _moments(span_s))
        yield from _users(about["run"], seconds, span_s)
        yield from _histograms(about["run"], seconds, span_s)
        for instrument, value in _SECTIONS:
            yield from _counters(instrument, about["run"], seconds, span_s, value)
    yield "# EOF\n"


def labels_text(labels: Mapping[str, str]) -> str:
    """Return labels as OpenMetrics writes them, without the braces."""
    return ",".join(f'{name}="{_TO_ESCAPE.sub(_escaped, value)}"' for name, value in labels.items())


def _escaped(match: re.Match[str]) -> str:
    return {"\n": r"\n"}.get(match[0], "\\" + match[0])


def _head(instrument: Instrument, kind: str) -> Iterator[str]:
    yield f"# TYPE {instrument.name} {kind}\n"
    yield f"# HELP {instrument.name} {instrument.help}\n"


def _moments(span_s: SecondSpan) -> Iterator[int]:
    """Yield the beginning of the first second, then each _REPEAT_S, and the end of the last second."""
    return chain(range(span_s.first_s, span_s.last_s + 1, _REPEAT_S), (span_s.last_s + 1,))


def _users(run: str, seconds: SortedSeconds, span_s: SecondSpan) -> Iterator[str]:
    text = labels_text({"run": run})
    yield from _head(instruments.USERS, "gauge")
    for second, users in enumerate(seconds.active_users(), span_s.first_s):
        if users is not None:
            yield f"{instruments.USERS.name}{{{text}}} {users} {second + 1}\n"


def _of_label(run: str, key: LabelKey) -> str:
    kind = instruments.kind_of(is_transaction=key.is_transaction)
    return labels_text({"run": run, "label": key.label, "group": key.group, "kind": kind})


class _Moment(NamedTuple):
    """The time of a point (s since 1970), and the samples of the second that ends then; None without samples."""

    at_s: int
    samples: LabelSecond | None = None


def _with_moments(points: Iterator[LabelSecond], last_s: int) -> Iterator[_Moment]:
    """Yield the end of each second with its samples; before the first, and in long gaps, moments without samples."""
    at_s: int | None = None
    for one in points:
        if at_s is None:
            at_s = one.second
            yield _Moment(at_s)
        yield from (_Moment(moment_s) for moment_s in range(at_s + _REPEAT_S, one.second + 1, _REPEAT_S))
        at_s = one.second + 1
        yield _Moment(at_s, one)
    if at_s is not None:
        yield from (_Moment(moment_s) for moment_s in range(at_s + _REPEAT_S, last_s + 1, _REPEAT_S))
        if at_s < last_s + 1:
            yield _Moment(last_s + 1)


def _histograms(run: str, seconds: SortedSeconds, span_s: SecondSpan) -> Iterator[str]:
    name = instruments.RESPONSE_TIME.name
    yield from _head(instruments.RESPONSE_TIME, "histogram")
    for key in seconds.keys:
        text = _of_label(run, key)
        buckets = [f'{name}_bucket{{{text},le="{bound}"}} ' for bound in BOUND_TEXTS]
        so_far, sum_ms = [0] * len(buckets), 0
        for moment in _with_moments(seconds.by_label(key), span_s.last_s):
            at_s, samples = moment.at_s, moment.samples
            if samples:
                so_far = [sum(pair) for pair in zip(so_far, cumulative_counts(samples.histogram()), strict=True)]
                sum_ms += samples.elapsed_sum_ms
            yield "".join(f"{bucket}{count} {at_s}\n" for bucket, count in zip(buckets, so_far, strict=True))
            yield f"{name}_count{{{text}}} {so_far[-1]} {at_s}\n{name}_sum{{{text}}} {sum_ms / MS_PER_S} {at_s}\n"


def _counters(
    instrument: Instrument,
    run: str,
    seconds: SortedSeconds,
    span_s: SecondSpan,
    value: Callable[[LabelSecond], int | None],
) -> Iterator[str]:
    yield from _head(instrument, "counter")
    for key in seconds.keys:
        text, total = _of_label(run, key), 0
        if value(next(seconds.by_label(key))) is None:
            continue  # the JTL has no such column
        for moment in _with_moments(seconds.by_label(key), span_s.last_s):
            total += (value(moment.samples) or 0) if moment.samples else 0
            yield f"{instrument.name}_total{{{text}}} {total} {moment.at_s}\n"
