"""The account of the tail as text: a sentence and the slowest requests for the first screen, and a table."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from harness.base import units
from harness.judge import tail_matching
from harness.judge.tail import (
    CANNOT_TELL_RATIO,
    EXCESS_LEAST_MS,
    REQUESTS_LEAST,
    REQUESTS_MOST,
    TailAccount,
    TailCause,
    TailPart,
    TailSample,
)
from harness.metrics.figures import LabelFigures
from harness.report.tables import cell, code, table
from harness.system import thread_times
from harness.system.profile import ProcessProfile

_BAR_CHARACTERS = 30
# Packages before a class, whose name begins with a capital.
_PACKAGES = re.compile(r"(?<![\w.$])(?:[a-z_]\w*\.)+(?=[A-Z])")
_REST = "\u00b7"
UNEXPLAINED = "unexplained"


class _Kind(NamedTuple):
    """A kind of causes: its letter in bars, its title, and its text with the name of a cause."""

    letter: str
    title: str
    text: str


_KINDS = {
    "lock": _Kind("L", "lock", "lock {}"),
    "latch": _Kind("M", "latch or semaphore", "latch or semaphore {}"),
    "condition": _Kind("C", "condition", "condition {}"),
    "pool": _Kind("P", "connection pool", "connection pool at {}"),
    "statement": _Kind("S", "statement", "statement at {}"),
    "service": _Kind("O", "other service", "other service called at {}"),
    "sleep": _Kind("Z", "sleep", "sleep at {}"),
    "io": _Kind("I", "network read", "network read at {}"),
    "other": _Kind("W", "other wait", "other wait at {}"),
    "run": _Kind("R", "running", "running, in native code or waiting for a CPU at {}"),
    thread_times.CPU: _Kind("X", "CPU", "CPU in {}"),
    thread_times.QUEUE: _Kind("Q", "CPU queue", "CPU queue"),
    thread_times.STOP: _Kind("G", "garbage collection or safepoint", "safepoint {}"),
    tail_matching.GENERATOR: _Kind("T", "load generator stood still", "load generator stood still"),
    tail_matching.NETWORK: _Kind("N", "connecting", "connecting"),
}


# Kinds whose names are a class, if it is known, and a place; and what threads wait for in classes of Java.
_OF_CLASSES = ("lock", "latch", "condition")
_OF_JAVA = {"Semaphore": "semaphore", "CountDownLatch": "latch", "FutureTask": "future", "CompletableFuture": "future"}


def cause_text(cause: TailCause | TailPart) -> str:
    """Return a cause in words."""
    if cause.kind == thread_times.STOP and not cause.name:
        return "garbage collection"
    if cause.kind not in _KINDS:
        return cause.kind
    if cause.kind in _OF_CLASSES:
        waited_for, _, place = cause.name.rpartition(" at ")
        word = _OF_JAVA.get(waited_for.removeprefix("java.util.concurrent.").partition("$")[0], "")
        if word or not waited_for:  # what has the thread is not always known
            return f"{word or _KINDS[cause.kind].title} at {place}"
    return _KINDS[cause.kind].text.format(cause.name)


def without_packages(text: str) -> str:
    """Return a text with the names of Java classes without their packages, for a line that names a few."""
    return _PACKAGES.sub("", text)


def tail_sentence(account: TailAccount) -> str:
    """Return where the time between p50 and p99 went, as plain text without packages; its parts make the whole."""
    above = f"p99 of {account.label} is {account.excess_ms} ms above p50"
    if not account.is_told:
        known = f"the system's thread is known for {account.found_count} of {account.slow_count} slow requests"
        if account.unexplained_ms <= CANNOT_TELL_RATIO * account.excess_ms:
            return f"Why {above} is not known: no cause is beyond chance; {known}."
        share = units.percent_text(min(1.0, account.unexplained_ms / account.excess_ms), 0)
        return f"Why {above} is not known: {share} % is unexplained; {known}."
    parts = [
        f"{without_packages(cause_text(one))} {one.ms:.0f} ({one.low_ms:.0f} to {one.high_ms:.0f})"
        for one in account.causes
    ]
    smaller, rest = _rest(account)
    parts += [f"smaller causes {smaller}"] if smaller else []
    unknown = f"unexplained {rest}{' (cannot tell why)' if account.is_incomplete else ''}"
    return f"{above}: {', '.join([*parts, unknown])}."


def slowest_bars(account: TailAccount) -> str:
    """Return the slowest requests as bars, Markdown: a letter is a thirtieth of the longest one."""
    if not account.slowest or not account.is_told:
        return ""
    longest = account.slowest[0].elapsed_ms
    bars = [f"{one.elapsed_ms} ms {code(_bar(one, longest))}" for one in account.slowest]
    letters = set("".join(_bar(one, longest) for one in account.slowest))
    legend = [f"{kind.letter} {kind.title}" for kind in _KINDS.values() if kind.letter in letters]
    legend += [f"{_REST} unexplained"] if _REST in letters else []
    return f"Slowest: {', '.join(bars)} ({', '.join(legend)})."


def tail_text(account: TailAccount) -> str:
    """Return the account of a label as Markdown."""
    parts = [f"### Why the tail of {cell(account.label)} is slow", cell(tail_sentence(account))]
    if account.is_told:
        smaller, rest = _rest(account)
        rows = [
            _row(cause_text(one), one.ms, f"{one.low_ms:.0f} to {one.high_ms:.0f}", account) for one in account.causes
        ]
        rows += [_row("smaller causes", smaller, "", account)] if smaller else []
        rows.append(_row("unexplained", rest, "", account))
        parts += [table(("cause", "ms", "95 % interval", "%"), rows), slowest_bars(account)]
    near = units.plural(account.slow_count, "request")
    text = f"Compared: {near} near p99 ({account.p99_ms} ms) with those near p50 ({account.p50_ms} ms)"
    parts.append(f"{text}{f', of the first {REQUESTS_MOST} requests of the load' if account.is_part else ''}.")
    return "\n\n".join(filter(None, parts))


def tail_texts(
    tails: Sequence[TailAccount],
    labels: Sequence[LabelFigures],
    profiles: Sequence[ProcessProfile] = (),
    unknown: Sequence[tuple[str, str]] = (),
) -> list[str]:
    """Return the accounts as Markdown, and what is in none of them and why.

    Without an account it is why there is none, from the figures of the load's labels. `unknown` are pairs of a process
    and why it has no profile.
    """
    missing = _missing(tails, profiles, unknown)
    if tails:
        return [*map(tail_text, tails), *([f"Not in the account: {'; '.join(missing)}."] if missing else [])]
    if not profiles:
        return [f"### Why the tail is slow\n\nNot known: {'; '.join(missing)}."] if missing else []
    least = REQUESTS_LEAST
    often = [label for label in labels if label.sample_count >= least]
    excesses = [label.percentiles_ms.get("99", 0) - label.percentiles_ms.get("50", 0) for label in often]
    if not often:
        text = f"Not known: it needs {least} requests of a label, and none has so many; run longer."
    elif max(excesses) < EXCESS_LEAST_MS:
        text = f"There is no tail: no label's p99 is {EXCESS_LEAST_MS} ms or more above its p50."
    else:
        text = "Not known: the samples or the recordings of threads cannot be read."
    return [f"### Why the tail is slow\n\n{text}"]


def _missing(
    tails: Sequence[TailAccount], profiles: Sequence[ProcessProfile], unknown: Sequence[tuple[str, str]]
) -> list[str]:
    """Return what accounts cannot have, each with the reason."""
    return [
        *(f"{cell(process)} ({cell(why)})" for process, why in unknown),
        *(
            f"waits of virtual threads of {cell(profile.process)} ({cell(profile.virtual.problem)})"
            for profile in profiles
            if profile.virtual and profile.virtual.problem
        ),
        *(
            f"exact CPU times of {cell(profile.process)} ({cell(profile.no_agent)})"
            for profile in profiles
            if profile.no_agent
        ),
        *(["waiting for a CPU, which only Linux records"] if not all(one.queue_is_known for one in tails) else []),
    ]


class _Rest(NamedTuple):
    """Smaller causes and what is unexplained, in whole ms."""

    smaller_ms: int
    unexplained_ms: int


def _rest(account: TailAccount) -> _Rest:
    """Return the rest, so that all rounded parts make the whole."""
    smaller = round(account.smaller_ms)
    return _Rest(smaller, account.excess_ms - smaller - sum(round(one.ms) for one in account.causes))


def _row(text: str, ms: float, interval: str, account: TailAccount) -> list[str]:
    share = round(ms / account.excess_ms, 2) + 0.0  # not -0
    return [cell(text), f"{ms:.0f}", interval, units.percent_text(share, 0)]


def _bar(sample: TailSample, longest_ms: int) -> str:
    """Return a letter for each thirtieth of the longest request: causes first, then what is unexplained."""
    whole = max(1, round(_BAR_CHARACTERS * sample.elapsed_ms / longest_ms)) if longest_ms else 0
    text = "".join(letter * count for letter, count in _letters(sample.parts, sample.elapsed_ms, whole).items())
    return text[:whole].ljust(whole, _REST)


def _letters(parts: Iterable[TailPart], elapsed_ms: int, whole: int) -> dict[str, int]:
    """Return how many characters of a bar are a kind's letter, the most frequent first."""
    sums: defaultdict[str, float] = defaultdict(float)
    for part in parts:
        if part.kind in _KINDS:
            sums[_KINDS[part.kind].letter] += part.ms
    ordered = sorted(sums.items(), key=lambda item: (-item[1], item[0]))
    return {letter: round(whole * ms / max(1, elapsed_ms)) for letter, ms in ordered}
