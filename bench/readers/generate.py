"""Generates a JTL file like JMeter's, with the same bytes for the same seed and rows, and counts its true contents.

The rows are difficult for a reader: labels with commas, failure messages with commas, doubled quotes and newlines,
response codes that are not numbers, rows in order of their end instead of their time stamp.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bench.readers.truth import LabelTruth, Truth

# JMeter's default columns. Not imported from our reader, which is checked against this file.
HEADER = (
    "timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success,failureMessage,bytes,"
    "sentBytes,grpThreads,allThreads,URL,Latency,IdleTime,Connect\n"
)


class _Label(NamedTuple):
    """A label: its share of the samples, its log-normal response time, its size."""

    name: str
    share: float
    median_ms: float
    sigma: float
    path: str
    received_bytes: int


class _Outcome(NamedTuple):
    """The outcome of a sample as in JMeter's rows, with the necessary quotes."""

    code: str
    message: str
    failure: str


_LABELS = (
    _Label("Home page", 0.30, 38, 0.5, "/", 14_200),
    _Label("Search", 0.22, 95, 0.7, "/search?q=", 9_700),
    _Label("Product page", 0.18, 52, 0.5, "/products/", 11_300),
    _Label("Add to cart, with options", 0.11, 74, 0.6, "/cart/add/", 2_100),
    _Label("Log in", 0.08, 140, 0.4, "/login?user=", 3_400),
    _Label("Cart", 0.06, 45, 0.5, "/cart/", 5_600),
    _Label("Check out", 0.04, 420, 0.8, "/checkout/", 4_800),
    _Label("Log out", 0.01, 18, 0.3, "/logout?user=", 800),
)
_FINE = _Outcome("200", "OK", "")
_TIMED_OUT = _Outcome(
    "Non HTTP response code: java.net.SocketTimeoutException", "Non HTTP response message: Read timed out", ""
)
_OUTCOMES = (
    _FINE,
    _Outcome("500", "Internal Server Error", '"expected code 2xx, got ""500"""'),
    _Outcome("503", '"Service Unavailable, retry later"', '"The queue is full, please retry"'),
    _Outcome(
        "200",
        "OK",
        '"Test failed: text expected to contain /""status"": ""OK""/, but was:\n'
        '{""status"": ""DECLINED"",\n ""reason"": ""limit, daily""}"',
    ),
    _TIMED_OUT,
)
_ERROR_RATIO = 0.01
_TIMEOUT_MS = 30_000
_ELAPSED_END_MS = 32_768
_RATE_PER_S = 2_000
# All users run after this share of the time; their number follows from Little's law at that rate.
_RAMP_RATIO = 0.1
USERS = 345
_CONNECT_RATIO = 0.05
_STARTED_MS = 1_700_000_000_000
_ROWS_PER_BLOCK = 100_000

_Numbers = NDArray[np.int64]


class _Ends(NamedTuple):
    """When samples end (ms since 1970), and the number of users then."""

    end_ms: _Numbers
    users: _Numbers


class GeneratedJtl:
    """A generated JTL file of `row_count` rows: `blocks` yields its bytes, then `truth` returns its true contents."""

    def __init__(self, seed: int, row_count: int) -> None:
        self._seed = seed
        self._row_count = row_count
        self._counts = np.zeros(len(_LABELS) * _ELAPSED_END_MS, dtype=np.int64)
        self._errors, self._received, self._sent, self._last_ms = np.zeros((4, len(_LABELS)), dtype=np.int64)
        self._first_ms = np.full(len(_LABELS), np.iinfo(np.int64).max)
        # The text of each outcome is built once; a row is then one look-up and its numbers.
        self._heads = [
            f"{_quoted(label.name)},{outcome.code},{outcome.message},Shop visitors 1-"
            for label in _LABELS
            for outcome in _OUTCOMES
        ]
        self._middles = [f",text,{str(outcome is _FINE).lower()},{outcome.failure}," for outcome in _OUTCOMES]
        self._addresses = [f"http://shop.example.com:8080{label.path}" for label in _LABELS]

    def blocks(self) -> Iterator[bytes]:
        """Yield the bytes of the file, the header first, about 13 MB at a time."""
        yield HEADER.encode()
        for first in range(0, self._row_count, _ROWS_PER_BLOCK):
            yield self._block(first, min(first + _ROWS_PER_BLOCK, self._row_count))

    def truth(self) -> Truth:
        """Return the true contents of the bytes that `blocks` has yielded."""
        truths = []
        for index, (label, counts) in enumerate(zip(_LABELS, self._counts.reshape(len(_LABELS), -1), strict=True)):
            values_ms = np.flatnonzero(counts)
            if len(values_ms):
                truths.append(
                    LabelTruth(
                        label=label.name,
                        counts=dict(zip(values_ms.tolist(), counts[values_ms].tolist(), strict=True)),
                        error_count=int(self._errors[index]),
                        received_bytes=int(self._received[index]),
                        sent_bytes=int(self._sent[index]),
                        first_ms=int(self._first_ms[index]),
                        last_ms=int(self._last_ms[index]),
                    )
                )
        return Truth(tuple(truths))

    def _block(self, first: int, end: int) -> bytes:
        count = end - first
        random = np.random.default_rng([self._seed, first])
        label = np.searchsorted(np.cumsum([label.share for label in _LABELS])[:-1], random.random(count), "right")
        outcome = np.where(random.random(count) < _ERROR_RATIO, random.integers(1, len(_OUTCOMES), count), 0)
        end_ms, users = self._ends(np.arange(first, end) + random.random(count))
        median_ms = np.array([label.median_ms for label in _LABELS])[label]
        sigma = np.array([label.sigma for label in _LABELS])[label]
        elapsed_ms = _whole(median_ms * np.exp(sigma * random.standard_normal(count))).clip(1, _TIMEOUT_MS - 1)
        timed_out = outcome == _OUTCOMES.index(_TIMED_OUT)
        elapsed_ms = np.where(timed_out, _TIMEOUT_MS + random.integers(0, 20, count), elapsed_ms)
        elapsed_ms = np.minimum(elapsed_ms, end_ms - _STARTED_MS)  # no sample starts before the run
        connect_ms = np.where(random.random(count) < _CONNECT_RATIO, random.integers(1, 9, count), 0)
        latency_ms = _whole(elapsed_ms * (0.8 + 0.2 * random.random(count)))
        size = np.array([label.received_bytes for label in _LABELS])[label]
        received_bytes = np.where(outcome == 0, _whole(size * (0.9 + 0.2 * random.random(count))), 431)
        sent_bytes = random.integers(180, 420, count)
        self._count(label, outcome, elapsed_ms, received_bytes, sent_bytes, end_ms)
        heads, middles, addresses = self._heads, self._middles, self._addresses
        return "".join(
            f"{start},{elapsed},{heads[head]}{thread}{middles[middle]}{received},{sent},{threads},{threads},"
            f"{addresses[address]}{item},{latency},0,{connect}\n"
            for start, elapsed, head, thread, middle, received, sent, threads, address, item, latency, connect in zip(
                (end_ms - elapsed_ms).tolist(),
                elapsed_ms.tolist(),
                (label * len(_OUTCOMES) + outcome).tolist(),
                (1 + _whole(random.random(count) * (users - 1))).tolist(),
                outcome.tolist(),
                received_bytes.tolist(),
                sent_bytes.tolist(),
                users.tolist(),
                label.tolist(),
                random.integers(1, 100_000, count).tolist(),
                latency_ms.tolist(),
                connect_ms.tolist(),
                strict=True,
            )
        ).encode()

    def _ends(self, row: NDArray[np.float64]) -> _Ends:
        """Return the ends of the samples in these rows.

        Users and rate grow linearly during the ramp of R seconds: after t seconds, rate * t² / 2R rows are written,
        at its end rate * R / 2.
        """
        ramp_s = _RAMP_RATIO * self._row_count / _RATE_PER_S
        at_s = np.where(
            row < _RATE_PER_S * ramp_s / 2,
            np.sqrt(2 * ramp_s * row / _RATE_PER_S),
            ramp_s / 2 + row / _RATE_PER_S,
        )
        users = np.ceil(USERS * np.minimum(1, at_s / ramp_s)).astype(np.int64).clip(1)
        return _Ends(_STARTED_MS + 1 + (at_s * 1000).astype(np.int64), users)

    def _count(
        self,
        label: _Numbers,
        outcome: _Numbers,
        elapsed_ms: _Numbers,
        received_bytes: _Numbers,
        sent_bytes: _Numbers,
        end_ms: _Numbers,
    ) -> None:
        self._counts += np.bincount(label * _ELAPSED_END_MS + elapsed_ms, minlength=len(self._counts))
        np.add.at(self._errors, label, outcome != 0)
        np.add.at(self._received, label, received_bytes)
        np.add.at(self._sent, label, sent_bytes)
        np.minimum.at(self._first_ms, label, end_ms - elapsed_ms)
        np.maximum.at(self._last_ms, label, end_ms)


def _quoted(text: str) -> str:
    return f'"{text}"' if "," in text else text


def _whole(values: NDArray[np.float64]) -> _Numbers:
    return np.rint(values).astype(np.int64)
