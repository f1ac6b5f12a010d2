"""Simulates the samples of a load test, request by request: users or arrivals, and a system that answers them.

A system is a station: any number of servers with one queue, or one processor that all requests share. It answers a
request after an amount of work, s, which a `factor` of the time multiplies; it does nothing during its `pauses`.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple, Protocol

# The work of one request, s.
Work = Callable[[Random], float]
# By how much the work of a request that begins at this time, s, is multiplied.
Factor = Callable[[float], float]


class Answer(NamedTuple):
    """An answered request: its times, s after the load began, its user, and the active users when it ended."""

    end_s: float
    start_s: float
    user: int
    active_users: int


class Station(Protocol):
    """A system: requests arrive in the order of time, and leave when they are answered."""

    def arrive(self, at_s: float, request: Request) -> None:
        """Take a request."""

    def next_end_s(self) -> float:
        """Return when the next request is answered; infinity without one."""

    def leave(self) -> Request:
        """Return the request that is answered next."""


class Request(NamedTuple):
    """A request of a user that began at this time, s."""

    start_s: float
    user: int


@dataclass(frozen=True)
class System:
    """How a system works: `server_count` is None where every request has a server; `pauses` are in order, s."""

    work: Work
    server_count: int | None = None
    factor: Factor = field(default=lambda _at_s: 1.0)
    pauses: Sequence[tuple[float, float]] = ()

    def ended_s(self, begin_s: float, work_s: float) -> float:
        """Return when work that begins at a time is done: none is done in a pause."""
        end_s = begin_s + work_s
        for from_s, to_s in self.pauses:
            if from_s < end_s and begin_s < to_s:
                end_s += to_s - max(begin_s, from_s)
        return end_s


class Servers:
    """Requests are served one after the other by several servers, in the order of their arrival."""

    def __init__(self, random: Random, system: System) -> None:
        self._random, self._system = random, system
        self._free_s = [0.0] * (system.server_count or 0)
        self._served: list[tuple[float, Request]] = []

    def arrive(self, at_s: float, request: Request) -> None:
        """Take a request."""
        begin_s = max(at_s, heapq.heappop(self._free_s)) if self._free_s else at_s
        end_s = self._system.ended_s(begin_s, self._system.work(self._random) * self._system.factor(begin_s))
        if self._system.server_count:
            heapq.heappush(self._free_s, end_s)
        heapq.heappush(self._served, (end_s, request))

    def next_end_s(self) -> float:
        """Return when the next request is answered; infinity without one."""
        return self._served[0][0] if self._served else math.inf

    def leave(self) -> Request:
        """Return the request that is answered next."""
        return heapq.heappop(self._served)[1]


class SharedProcessor:
    """All requests share one processor equally; without pauses."""

    def __init__(self, random: Random, system: System) -> None:
        self._random, self._system = random, system
        # Work that each request has got since the beginning; a request ends when this reaches its own mark.
        self._got_s = self._at_s = 0.0
        self._marks: list[tuple[float, Request]] = []

    def arrive(self, at_s: float, request: Request) -> None:
        """Take a request."""
        self._go_on(at_s)
        work_s = self._system.work(self._random) * self._system.factor(at_s)
        heapq.heappush(self._marks, (self._got_s + work_s, request))

    def next_end_s(self) -> float:
        """Return when the next request is answered; infinity without one."""
        if not self._marks:
            return math.inf
        return self._at_s + (self._marks[0][0] - self._got_s) * len(self._marks)

    def leave(self) -> Request:
        """Return the request that is answered next."""
        self._go_on(self.next_end_s())
        return heapq.heappop(self._marks)[1]

    def _go_on(self, at_s: float) -> None:
        if self._marks:
            self._got_s += (at_s - self._at_s) / len(self._marks)
        self._at_s = at_s


def closed(
    random: Random, station: Station, users: int, think_s: float, ramp_s: float, length_s: float
) -> list[Answer]:
    """Return the answers to users who wait for each answer and then think for 0.5 to 1.5 times `think_s`."""
    due = [Request(ramp_s * number / users, number) for number in range(users)]

    def again(at_s: float, _user: int) -> float:
        next_s = at_s + think_s * random.uniform(0.5, 1.5)
        return next_s if next_s < length_s else math.inf

    ended = _answered(due, station, again)
    last_s = [0.0] * users
    for end_s, request in ended:
        last_s[request.user] = end_s
    leaving = sorted(last_s)
    answers, left = [], 0
    for end_s, request in ended:
        begun = users if end_s >= ramp_s else min(users, 1 + int(end_s * users / ramp_s))
        while left < users and leaving[left] < end_s:
            left += 1
        # After the end of the load a user leaves with the last answer.
        answers.append(Answer(end_s, *request, begun if end_s < length_s else users - left))
    return answers


def arriving(random: Random, station: Station, rate_per_s: float, length_s: float) -> list[Answer]:
    """Return the answers to requests that arrive by chance (Poisson), whatever the answers before."""
    due: list[Request] = []
    at_s = random.expovariate(rate_per_s)
    while at_s < length_s:
        due.append(Request(at_s, len(due)))
        at_s += random.expovariate(rate_per_s)
    ended = _answered(list(due), station, lambda _at_s, _user: math.inf)
    begun = [request.start_s for request in due]
    answers, arrived = [], 0
    for number, (end_s, request) in enumerate(ended):
        while arrived < len(begun) and begun[arrived] <= end_s:
            arrived += 1
        answers.append(Answer(end_s, *request, max(1, arrived - number)))
    return answers


def _answered(
    due: list[Request], station: Station, again: Callable[[float, int], float]
) -> list[tuple[float, Request]]:
    """Return the requests with their ends, in the order of these; `again` says when a user begins the next one."""
    heapq.heapify(due)
    ended = []
    while True:
        end_s = station.next_end_s()
        if due and due[0].start_s <= end_s:
            request = heapq.heappop(due)
            station.arrive(request.start_s, request)
        elif math.isfinite(end_s):
            request = station.leave()
            ended.append((end_s, request))
            next_s = again(end_s, request.user)
            if math.isfinite(next_s):
                heapq.heappush(due, Request(next_s, request.user))
        else:
            return ended
