"""Simulates many runs of a load test at once, request by request: users or arrivals, and a system that answers them.

All runs of a call advance together, one request of each at a time, so the time per request is that of NumPy. A system
has a server for every request, some servers with one queue, or one processor that all requests share. A request takes
an amount of work, s, times the factor of the second in which it begins; nothing is done during pauses.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy

from harness.plan.load import CLOSED, OPEN
from harness.plan.load.model import LoadRecord

Array = numpy.ndarray[Any, numpy.dtype[Any]]
Random = numpy.random.Generator
# Amounts of work, s, of so many requests.
Work = Callable[[Random, tuple[int, ...]], Array]
# The factor of the work by run and second, for so many runs of a length, s; it has more seconds than the run.
MakeFactor = Callable[[Random, int, float], Array]
# Pauses of a run of a length: their begins and ends in order, s.
MakePauses = Callable[[Random, float], Sequence[tuple[float, float]]]
# When users stop, s, by run and user: infinity for those who stay.
MakeStops = Callable[[Random, int, int, float], Array]
# The share of the arrivals that are made, at these times of a run of a length.
Made = Callable[[Array, float], Array]
_COLUMNS = ("start_s", "end_s", "user", "active", "failed", "size", "label")
_RAMPS_S = (1.0, 5.0, 20.0)
# A queue that grows throughout a run is answered long after it.
_FACTOR_EXTRA_S = 60
# Runs are on one axis of time for a look-up, so far apart.
_APART_S = 1e6


@dataclass(frozen=True)
class Rows:
    """The samples of a run in the order of their ends; times are s after the load began, `active` are active users.

    `label` is an index into `labels`. `unread_count` rows more were written than read. `factor` has
    the last factor of the load by second. `made` are the requests of the users, where the rows are others.
    """

    start_s: Array
    end_s: Array
    user: Array
    active: Array
    failed: Array
    size: Array
    label: Array
    labels: tuple[str, ...] = ("GET /",)
    once_labels: tuple[str, ...] = ()
    is_transaction: bool = False
    unread_count: int = 0
    factor: Array | None = None
    made: Rows | None = None

    @classmethod
    def of(cls, start_s: Array, end_s: Array, user: Array, active: Array) -> Rows:
        """Return successful samples of one label."""
        count = len(start_s)
        sizes = numpy.full(count, 300)
        return cls(
            start_s, end_s, user, active, numpy.zeros(count, dtype=bool), sizes, numpy.zeros(count, dtype=numpy.int64)
        )

    def only(self, chosen: Array) -> Rows:
        """Return the rows that a mask or indexes choose."""
        columns: Mapping[str, Any] = {name: getattr(self, name)[chosen] for name in _COLUMNS}
        return replace(self, **columns)

    def plus(self, other: Rows) -> Rows:
        """Return both in the order of their ends, with the labels of this one."""
        both = {name: numpy.concatenate([getattr(self, name), getattr(other, name)]) for name in _COLUMNS}
        order = numpy.argsort(both["end_s"], kind="stable")
        columns: Mapping[str, Any] = {name: column[order] for name, column in both.items()}
        return replace(self, **columns)


def unchanged(_random: Random, count: int, length_s: float) -> Array:
    """Return a factor of 1."""
    return numpy.ones((count, math.ceil(length_s) + _FACTOR_EXTRA_S))


def all_stay(_random: Random, count: int, users: int, _length_s: float) -> Array:
    """Return that no user stops before the end."""
    return numpy.full((count, users), math.inf)


@dataclass(frozen=True)
class Load:
    """Users who think, or with `rate_per_s` arrivals, and the system that answers them.

    `ramp_s` is chosen by chance where it is None. `server_count` is None where every request has a server. From
    `hangs` on, s by run and user, a user waits for an answer until the end. `stops` and `made` are loads that are not
    delivered. `think_record_s` is the pause that the record has, where it differs.
    """

    work: Work
    users: int = 0
    think_s: float = 0.0
    rate_per_s: float | None = None
    server_count: int | None = None
    is_shared: bool = False
    ramp_s: float | None = None
    factors: tuple[MakeFactor, ...] = ()
    pauses: MakePauses | None = None
    stops: MakeStops = field(default=all_stay)
    hangs: MakeStops | None = None
    made: Made | None = None

    def runs(self, random: Random, count: int, length_s: float) -> list[tuple[Rows, LoadRecord]]:
        """Simulate so many runs of a length, s."""
        system = _System(self, random, count, length_s)
        if self.rate_per_s is not None:
            found = _open(system, self.rate_per_s)
            records = [LoadRecord(OPEN, None, self.rate_per_s, 0.0, length_s, None, 0.0)] * count
        else:
            ramps_s = random.choice(_RAMPS_S, count) if self.ramp_s is None else numpy.full(count, self.ramp_s)
            found = _closed(system, ramps_s)
            records = [
                LoadRecord(CLOSED, self.users, None, float(ramp_s), length_s, None, self.think_s) for ramp_s in ramps_s
            ]
        with_factor = (replace(rows, factor=factor) for rows, factor in zip(found, system.changing, strict=True))
        return list(zip(with_factor, records, strict=True))


class _System:
    """A load's system in so many runs."""

    def __init__(self, load: Load, random: Random, count: int, length_s: float) -> None:
        self.load, self.random, self.count, self.length_s = load, random, count, length_s
        self._factor = unchanged(random, count, length_s)
        last = self._factor
        for factor in load.factors:
            last = factor(random, count, length_s)
            self._factor = self._factor * last
        self.changing = last[:, : int(length_s)]
        self._last = self._factor.shape[1] - 1
        self._pauses = self._clock(load.pauses) if load.pauses else None

    def _clock(self, pauses: MakePauses) -> Array:
        """Return two rows: times of all runs, and the work that one server has done until then."""
        times, worked = [], []
        for run in range(self.count):
            at_s, done_s = 0.0, 0.0
            times.append(run * _APART_S)
            worked.append(run * _APART_S)
            for from_s, to_s in pauses(self.random, self.length_s):
                done_s += max(0.0, from_s - at_s)
                times += [run * _APART_S + from_s, run * _APART_S + to_s]
                worked += [run * _APART_S + done_s, run * _APART_S + done_s + 1e-9]
                at_s = to_s
            times.append((run + 0.5) * _APART_S)
            worked.append(run * _APART_S + done_s + 0.5 * _APART_S - at_s)
        clock: Array = numpy.array([times, worked])
        return clock

    def ends(self, runs: Array, begin_s: Array, work_s: Array) -> Array:
        """Return when work that begins at these times of these runs is done."""
        seconds = numpy.minimum(begin_s, self._last).astype(numpy.int64)
        work_s = work_s * self._factor[runs, seconds]
        if self._pauses is None:
            return begin_s + work_s
        times, worked = self._pauses
        done = numpy.interp(runs * _APART_S + begin_s, times, worked) + work_s
        ends_s: Array = numpy.interp(done, worked, times) - runs * _APART_S
        return ends_s

    def think(self, shape: tuple[int, ...]) -> Array:
        """Return how long users think: 0.5 to 1.5 times the usual pause."""
        return self.load.think_s * self.random.uniform(0.5, 1.5, shape)


def _closed(system: _System, ramps_s: Array) -> list[Rows]:
    load, random, count, length_s = system.load, system.random, system.count, system.length_s
    ready_s = ramps_s[:, None] * numpy.arange(load.users) / load.users
    stops_s = numpy.minimum(load.stops(random, count, load.users, length_s), length_s)
    if load.is_shared:
        requests = _shared(system, ready_s, stops_s)
    elif load.server_count is None:
        requests = _served_at_once(system, ready_s, stops_s)
    else:
        requests = _queued(system, ready_s, stops_s)
    return [_rows_of_users(requests, run, load.users) for run in range(count)]


# Of each request: the run, the user, the start and the end.
_Requests = tuple[Array, Array, Array, Array]


def _served_at_once(system: _System, ready_s: Array, stops_s: Array) -> _Requests:
    load, random = system.load, system.random
    hangs_s = load.hangs(random, system.count, load.users, system.length_s) if load.hangs else None
    found: list[_Requests] = []
    ready_s = numpy.where(ready_s < stops_s, ready_s, math.inf)
    while True:
        runs, users = numpy.nonzero(ready_s < math.inf)
        if not len(runs):
            break
        begin_s = ready_s[runs, users]
        end_s = system.ends(runs, begin_s, load.work(random, begin_s.shape))
        if hangs_s is not None:
            end_s = numpy.where(begin_s >= hangs_s[runs, users], numpy.maximum(end_s, system.length_s + 0.2), end_s)
        found.append((runs, users, begin_s, end_s))
        next_s = end_s + system.think(end_s.shape)
        ready_s[runs, users] = numpy.where(next_s < stops_s[runs, users], next_s, math.inf)
    return _together(found)


def _queued(system: _System, ready_s: Array, stops_s: Array) -> _Requests:
    load, random = system.load, system.random
    ready_s = numpy.where(ready_s < stops_s, ready_s, math.inf)
    free_s, found, every = numpy.zeros((len(ready_s), load.server_count or 1)), [], numpy.arange(len(ready_s))
    while True:
        users = ready_s.argmin(axis=1)
        arrive_s = ready_s[every, users]
        if len(runs := numpy.nonzero(arrive_s < math.inf)[0]) == 0:
            break
        users, arrive_s = users[runs], arrive_s[runs]
        servers = free_s[runs].argmin(axis=1)
        begin_s = numpy.maximum(arrive_s, free_s[runs, servers])
        end_s = system.ends(runs, begin_s, load.work(random, begin_s.shape))
        free_s[runs, servers] = end_s
        found.append((runs, users, arrive_s, end_s))
        next_s = end_s + system.think(end_s.shape)
        ready_s[runs, users] = numpy.where(next_s < stops_s[runs, users], next_s, math.inf)
    return _together(found)


def _shared(system: _System, ready_s: Array, stops_s: Array) -> _Requests:
    load, random = system.load, system.random
    ready_s = numpy.where(ready_s < stops_s, ready_s, math.inf)
    # By the work that each request of a processor has got since the beginning: a request ends at its mark.
    marks, begun_s = numpy.full(ready_s.shape, math.inf), numpy.zeros(ready_s.shape)
    got, now_s, every = numpy.zeros(len(ready_s)), numpy.zeros(len(ready_s)), numpy.arange(len(ready_s))
    found: list[_Requests] = []
    while True:
        busy = numpy.isfinite(marks).sum(axis=1)
        leaving, coming = marks.argmin(axis=1), ready_s.argmin(axis=1)
        with numpy.errstate(invalid="ignore"):
            leave_s = numpy.where(busy > 0, now_s + (marks[every, leaving] - got) * busy, math.inf)
        come_s = ready_s[every, coming]
        next_s = numpy.minimum(leave_s, come_s)
        is_on = next_s < math.inf
        if not is_on.any():
            break
        passed_s = numpy.where(is_on, next_s - numpy.where(is_on, now_s, 0.0), 0.0)
        got += numpy.where(busy > 0, passed_s / numpy.maximum(busy, 1), 0.0)
        now_s = numpy.where(is_on, next_s, now_s)
        runs = numpy.nonzero(is_on & (come_s <= leave_s))[0]
        if len(runs):
            users, at_s = coming[runs], now_s[runs]
            work_s = system.ends(runs, at_s, load.work(random, at_s.shape)) - at_s
            marks[runs, users], begun_s[runs, users], ready_s[runs, users] = got[runs] + work_s, at_s, math.inf
        runs = numpy.nonzero(is_on & (leave_s < come_s))[0]
        if len(runs):
            users, at_s = leaving[runs], now_s[runs]
            found.append((runs, users, begun_s[runs, users], at_s))
            marks[runs, users] = math.inf
            again_s = at_s + system.think(at_s.shape)
            ready_s[runs, users] = numpy.where(again_s < stops_s[runs, users], again_s, math.inf)
    return _together(found)


def _open(system: _System, rate_per_s: float) -> list[Rows]:
    load, random, count, length_s = system.load, system.random, system.count, system.length_s
    most = round(rate_per_s * length_s)  # JMeter makes as many as are asked for, at random times
    arrive_s = numpy.sort(random.uniform(0, length_s, (count, most)), axis=1)
    if load.made:
        made = load.made(arrive_s, length_s)
        arrive_s[random.random(arrive_s.shape) >= made] = math.inf
        arrive_s.sort(axis=1)
    ends_s = numpy.full(arrive_s.shape, math.inf)
    free_s, every = numpy.zeros((count, load.server_count or 1)), numpy.arange(count)
    if load.server_count is None:
        runs, numbers = numpy.nonzero(arrive_s < math.inf)
        begin_s = arrive_s[runs, numbers]
        ends_s[runs, numbers] = system.ends(runs, begin_s, load.work(random, begin_s.shape))
    else:
        work_s = load.work(random, arrive_s.shape)
        for number in range(most):
            if not (arrive_s[:, number] < math.inf).any():
                break
            servers = free_s.argmin(axis=1) if load.server_count > 1 else numpy.zeros(count, dtype=numpy.int64)
            begin_s = numpy.maximum(arrive_s[:, number], free_s[every, servers])
            is_there = begin_s < math.inf
            end_s = system.ends(every, numpy.where(is_there, begin_s, 0.0), work_s[:, number])
            ends_s[:, number] = numpy.where(is_there, end_s, math.inf)
            free_s[every, servers] = numpy.where(is_there, end_s, free_s[every, servers])
    return [_rows_of_arrivals(arrive_s[run], ends_s[run]) for run in range(count)]


def _together(found: Sequence[_Requests]) -> _Requests:
    runs, users, starts_s, ends_s = (numpy.concatenate(column) for column in zip(*found, strict=True))
    return runs, users, starts_s, ends_s


def _rows_of_users(requests: _Requests, run: int, users: int) -> Rows:
    own = requests[0] == run
    user, start_s, end_s = (column[own] for column in requests[1:])
    order = numpy.argsort(end_s, kind="stable")
    user, start_s, end_s = user[order], start_s[order], end_s[order]
    first_s, last_s = numpy.full(users, math.inf), numpy.full(users, -math.inf)
    numpy.minimum.at(first_s, user, start_s)
    numpy.maximum.at(last_s, user, end_s)
    begun = numpy.searchsorted(numpy.sort(first_s), end_s, side="right")
    left = numpy.searchsorted(numpy.sort(last_s[last_s >= 0]), end_s, side="left")
    return Rows.of(start_s, end_s, user, begun - left)


def _rows_of_arrivals(arrive_s: Array, ends_s: Array) -> Rows:
    made = arrive_s < math.inf
    start_s, end_s = arrive_s[made], ends_s[made]
    order = numpy.argsort(end_s, kind="stable")
    begun = numpy.searchsorted(start_s, end_s[order], side="right")
    active = numpy.maximum(1, begun - numpy.arange(len(order)))
    return Rows.of(start_s[order], end_s[order], order, active)
