"""Loads with a known answer: good ones, which nothing is wrong with, and bad ones, whose numbers are not a state's."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy

from bench.statistics.load_factors import (
    bimodal,
    collections,
    constant,
    cooling,
    each,
    exponential,
    lognormal,
    noisy,
    of_time,
    pareto,
    wave,
)
from bench.statistics.row_changes import (
    ChangeRows,
    as_is,
    bursts_of_errors,
    errors_between,
    errors_from,
    errors_growing,
    errors_of_label_from,
    failed_at_random,
    fast_errors_from,
    labels_drawn,
    labels_in_turn,
    logins,
    mix_from,
    redirected,
    sizes_drawn,
    sizes_from,
    sizes_waving,
    slower_label_from,
    slower_share_from,
    transactions,
    unread,
)
from bench.statistics.simulated_load import Array, Load, MakeFactor, MakePauses, MakeStops, Random


@dataclass(frozen=True)
class Case:
    """A load, and what becomes of its rows. With `is_counted`, rows or users are missing: no chance is in it.

    `spread` is by how much the parts of the window differ without noise, None where the whole run's numbers say it.
    With `is_of_parts` the rows say it of each run, and one whose parts do not differ is none. `became` is the load of
    the state that differs most, if it is one, all the time: its noise is a part of what may be chance.
    """

    load: Load
    change: ChangeRows = as_is
    is_counted: bool = False
    spread: float | None = None
    is_of_parts: bool = False
    became: Load | None = None


_USERS = Load(lognormal(0.05), 20, 1.0)
_LOADED = Load(lognormal(0.5, 0.3), 20, factors=(noisy(0.3),))

_GOOD: Mapping[str, Case | Load] = {
    "20 users, think time 1 s, 50 ms": _USERS,
    "10 users, no think time, 500 ms": Load(lognormal(0.5), 10),
    "one user, 80 ms": Load(lognormal(0.08), 1, ramp_s=1.0),
    "one user, think time 0.5 s, 300 ms": Load(lognormal(0.3), 1, 0.5, ramp_s=1.0),
    "closed queue, 30 % busy": Load(exponential(0.02), 15, 1.0, server_count=1),
    "closed queue, 80 % busy": Load(exponential(0.02), 40, 1.0, server_count=1),
    "closed queue, saturated, 0.5 s": Load(exponential(0.025), 20, server_count=1),
    "closed queue, saturated, 2 s": Load(exponential(0.05), 40, server_count=1),
    "closed queue, saturated, 5 s": Load(exponential(0.25), 20, server_count=1),
    "closed queue, saturated, 10 s": Load(exponential(0.1), 110, 1.0, server_count=1),
    "closed queue, saturated, 20 s": Load(exponential(0.1), 200, server_count=1),
    "shared processor, 70 % busy": Load(exponential(0.02), 35, 1.0, is_shared=True),
    "shared processor, saturated, 1 s": Load(exponential(0.03), 33, is_shared=True),
    "shared processor, saturated, 10 s": Load(exponential(0.05), 200, is_shared=True),
    "open queue (M/M/1), 30 % busy": Load(exponential(0.025), rate_per_s=12, server_count=1),
    "open queue (M/M/1), 50 % busy": Load(exponential(0.025), rate_per_s=20, server_count=1),
    "open queue (M/M/1), 70 % busy": Load(exponential(0.025), rate_per_s=28, server_count=1),
    "open queue (M/M/1), 90 % busy": Load(exponential(0.025), rate_per_s=36, server_count=1),
    "open queue (M/M/1) of 100 ms, 70 % busy": Load(exponential(0.1), rate_per_s=7, server_count=1),
    "open queue, two servers (M/M/2), 80 % busy": Load(exponential(0.05), rate_per_s=32, server_count=2),
    "heavy tail (Pareto, exponent 2.1)": Load(pareto(0.1, 2.1), 10, 0.5),
    "heavy tail (Pareto, exponent 1.5)": Load(pareto(0.1, 1.5), 10, 0.5),
    "a tenth takes 500 ms, the others 20 ms": Load(bimodal(0.02, 0.5, 0.1), 20, 0.5),
    "pauses of 0.2 s each 10 s": replace(_USERS, pauses=collections(10, 0.2)),
    "pauses of 1 s each 40 s": Load(lognormal(0.1), 20, 0.5, pauses=collections(40, 1.0)),
    "cache that fills: 3 × slower, tau 6 s": Load(lognormal(0.1), 10, 0.3, factors=(cooling(3, 6),)),
    "code that gets compiled: 6 × slower, tau 4 s": Load(lognormal(0.02), 10, 0.1, factors=(cooling(6, 4),)),
    "5 users, 7 × slower from 3 s on, tau 4 s": Load(lognormal(0.18, 0.3), 5, 2.0, factors=(cooling(7, 4, 3),)),
    "noise of 12 %, AR 0.3": _LOADED,
    "noise of 12 %, AR 0.8": replace(_LOADED, factors=(noisy(0.8),)),
    "open, no queue, 30/s": Load(lognormal(0.05), rate_per_s=30),
    "open, no queue, 2/s": Load(lognormal(0.2), rate_per_s=2),
    "open queue (M/D/1), 80 % busy": Load(constant(0.025), rate_per_s=32, server_count=1),
    "times that are all the same": Load(constant(0.05), 20, 1.0),
    "wave of 10 %, a period of 5 s": replace(_USERS, factors=(wave(0.1, lambda _: 5),)),
    "wave of 50 %, a period of 5 s": replace(_USERS, factors=(wave(0.5, lambda _: 5),)),
    "wave of 50 %, a period of 10 s": replace(_USERS, factors=(wave(0.5, lambda _: 10),)),
    "errors at random, 1 %": Case(_USERS, failed_at_random(0.01)),
    "errors at random, 4 %": Case(_USERS, failed_at_random(0.04)),
    "errors in bursts of 2 s each 12 s": Case(_USERS, bursts_of_errors(12, 2, 0.3)),
    "five labels at random": Case(_USERS, labels_drawn((0.4, 0.3, 0.15, 0.1, 0.05), (1, 1, 2, 4, 1))),
    "five labels in turn": Case(_USERS, labels_in_turn(5)),
    "50 labels at random": Case(_LOADED, labels_drawn((0.02,) * 50, (1,) * 50)),
    "sizes from 1 to 100 kB": Case(_USERS, sizes_drawn(10_000, 1.5)),
    "one request in a hundred is redirected": Case(_USERS, redirected(0.01)),
    "a login first, of 2 s": Case(_USERS, logins(2.0)),
    "parent transactions with pauses": Case(_USERS, transactions),
    "one pause of 2 s": replace(_USERS, pauses=lambda _random, length: [(0.6 * length, 0.6 * length + 2)]),
    "200 users, think time 5 s": Load(lognormal(0.08), 200, 5.0, ramp_s=20.0),
    "noise of 5 %, AR 0.8": replace(_LOADED, factors=(noisy(0.8, 0.05),)),
    "noise of 15 %, AR 0.5": replace(_LOADED, factors=(noisy(0.5, 0.15),)),
    "one second in 15 is four times slower": replace(
        _USERS, factors=(each(15, lambda part: numpy.where(part < 1 / 15, 4.0, 1.0)),)
    ),
    "a sawtooth of 20 %, a period of 8 s": replace(_USERS, factors=(each(8, lambda part: 0.9 + 0.2 * part),)),
    "one in a hundred takes 2 s, the others 10 ms": Load(bimodal(0.01, 2.0, 0.01), 20, 0.5),
    "20 users, 5 s": Load(lognormal(5.0), 20),
    "times below 1 ms": Load(constant(0.0004), 5, 0.2),
    "a rare label, 20 times slower": Case(_USERS, labels_drawn((0.99, 0.01), (1, 20))),
    "open queue (M/G/1), work varies by 200 %": Load(lognormal(0.025, 2.0), rate_per_s=20, server_count=1),
    "2 % slower in the second half": replace(
        _USERS, factors=(of_time(lambda at, length_s, _: numpy.where(at < length_s / 2, 1.0, 1.02)),)
    ),
    "500 users, think time 10 s": Load(lognormal(0.1), 500, 10.0, ramp_s=20.0),
    "a login first, of 2 s, and a ramp of 20 s": Case(replace(_USERS, ramp_s=20.0), logins(2.0)),
}
GOOD: Mapping[str, Case] = {name: one if isinstance(one, Case) else Case(one) for name, one in _GOOD.items()}

# The systems of bad loads: many servers; one server, half busy; one with noise from second to second; an open queue.
BASES: Mapping[str, Load] = {
    "20 users, 50 ms": Load(lognormal(0.05), 20, 1.0, ramp_s=1.0),
    "queue, half busy": Load(exponential(0.02), 25, 1.0, server_count=1, ramp_s=1.0),
    "20 users, 500 ms, noise": replace(_LOADED, ramp_s=1.0),
    "open queue, half busy": Load(exponential(0.025), rate_per_s=20, server_count=1),
}
_SATURATED = 2.0  # a queue that is half busy has no state with so many times the work


def _bump(times: float, ratio: float) -> MakeFactor:
    """Return work that is `times` as much for this share of the run, somewhere in it."""

    def factor(at: Array, length_s: float, random: Random) -> Array:
        from_s = random.uniform(0.05, 0.97 - ratio) * length_s
        return numpy.where((from_s <= at) & (at < from_s + ratio * length_s), times, 1.0)

    return of_time(factor)


def _bursts(times: float, count: int, burst_s: float) -> MakeFactor:
    def factor(at: Array, length_s: float, random: Random) -> Array:
        values = numpy.ones(len(at))
        for from_s in random.uniform(0.1, 0.9, count) * length_s:
            values[(from_s <= at) & (at < from_s + burst_s * length_s / 120)] = times
        return values

    return of_time(factor)


def _step(times: float, at_ratio: float) -> MakeFactor:
    return of_time(lambda at, length_s, _random: numpy.where(at >= at_ratio * length_s, times, 1.0))


def _ramp(times: float, from_ratio: float = 0.0) -> MakeFactor:
    """Return work that grows to `times` as much, from a share of the run on: a leak."""
    share = (times - 1) / (1 - from_ratio)
    return of_time(lambda at, length_s, _: 1 + share * numpy.clip(at / length_s - from_ratio, 0, 1 - from_ratio))


def _plateau(times: float, until_ratio: float) -> MakeFactor:
    """Return work that grows to `times` as much until a share of the run, and stays."""
    return of_time(lambda at, length_s, _random: 1 + (times - 1) * numpy.clip(at / length_s / until_ratio, 0, 1))


def _accelerating(times: float) -> MakeFactor:
    return of_time(lambda at, length_s, _random: numpy.power(times, numpy.clip(at / length_s, 0, 1)))


def _twice(times: float, ratio: float) -> MakeFactor:
    """Return work that is `times` as much twice, for this share of the run each."""

    def factor(at: Array, length_s: float, _random: Random) -> Array:
        part = at / length_s
        is_slow = ((part >= 0.2) & (part < 0.2 + ratio)) | ((part >= 0.65) & (part < 0.65 + ratio))
        return numpy.where(is_slow, times, 1.0)

    return of_time(factor)


def _saw(times: float, ratio: float) -> MakeFactor:
    """Return work that grows to `times` as much in each share of the run: a leak, and restarts."""
    return of_time(lambda at, length_s, _random: 1 + (times - 1) * (at / length_s / ratio % 1))


def _late_warm_up(times: float, until_ratio: float) -> MakeFactor:
    return of_time(lambda at, length_s, _random: numpy.where(at < until_ratio * length_s, times, 1.0))


def _stalls(count: int, ratio: float) -> MakePauses:
    """Return pauses that together are this share of the run: all users wait."""

    def pauses(random: Random, length_s: float) -> Sequence[tuple[float, float]]:
        period_s = length_s / count
        begins = [(number + random.uniform(0.2, 0.9 - ratio)) * period_s for number in range(count)]
        return [(from_s, from_s + ratio * period_s) for from_s in begins]

    return pauses


def _with(factor: MakeFactor, most: float = _SATURATED) -> Callable[[Load], Case]:
    """Return what multiplies the work of a load by another factor, which is `most` in the state that differs most.

    Work that is other only for a while is not another state.
    """

    def changed(base: Load) -> Case:
        loads = [replace(base, factors=(*base.factors, one)) for one in (factor, _step(most, 0.0))]
        return Case(loads[0], became=loads[1] if most < _SATURATED else None)

    return changed


def _between_parts(factor: MakeFactor, most: float = _SATURATED) -> Callable[[Load], Case]:
    """Return what multiplies the work; only runs whose parts differ are bad."""
    changed = _with(factor, most)
    return lambda base: replace(changed(base), is_of_parts=True)


def _waving(size: float, ratio: float) -> Callable[[Load], Case]:
    """Return work in waves of a period that is this share of the run."""
    return _between_parts(wave(size, lambda length_s: ratio * length_s), 1 + size)


def _changed(change: ChangeRows, is_counted: bool = False, spread: float | None = None) -> Callable[[Load], Case]:
    return lambda base: Case(base, change, is_counted, spread)


def _stop(share: float, at_ratio: float) -> Callable[[Load], Case]:
    """Return a load of which this share of the users leaves at a time."""

    def stops(_random: Random, count: int, users: int, length_s: float) -> Array:
        found = numpy.full((count, users), math.inf)
        found[:, users - max(1, round(share * users)) :] = at_ratio * length_s
        return found

    return _stopping(stops)


def _stop_one_by_one(until_ratio: float) -> Callable[[Load], Case]:
    return _stopping(lambda random, count, users, length_s: random.uniform(0, until_ratio, (count, users)) * length_s)


def _stopping(stops: MakeStops) -> Callable[[Load], Case]:
    def changed(base: Load) -> Case:
        if base.rate_per_s:
            return Case(
                replace(base, made=lambda at, length_s: numpy.where(at < 0.5 * length_s, 1.0, 0.0)), is_counted=True
            )
        return Case(replace(base, stops=stops), is_counted=True)

    return changed


def _hang(share: float, at_ratio: float) -> Callable[[Load], Case]:
    def hangs(_random: Random, count: int, users: int, length_s: float) -> Array:
        found = numpy.full((count, users), math.inf)
        found[:, users - max(1, round(share * users)) :] = at_ratio * length_s
        return found

    return lambda base: Case(replace(base, hangs=hangs), is_counted=True)


def _hill(times: float) -> MakeFactor:
    """Return work that grows to `times` as much until half of the run, and shrinks again."""
    return of_time(lambda at, length_s, _: 1 + (times - 1) * numpy.sin(math.pi * numpy.clip(at / length_s, 0, 1)))


def _stalling(count: int, ratio: float) -> Callable[[Load], Case]:
    return lambda base: Case(replace(base, pauses=_stalls(count, ratio)))


def _fewer(share: float) -> Callable[[Load], Case]:
    """Return a load of which this share of the arrivals is made."""
    return lambda base: Case(replace(base, made=lambda at, _length_s: numpy.full(at.shape, share)), is_counted=True)


def _percent(ratio: float) -> str:
    return f"{round(100 * ratio)} % of the run"


Sizes = Mapping[str, Callable[[Load], Case]]
# Kinds of change, each with its sizes in ascending order, which make a bad load of a good one: none may be found less
# often than a smaller one.
BAD: Mapping[str, Sizes] = {
    **{
        f"slower for {_percent(ratio)}": {f"× {times:g}": _with(_bump(times, ratio)) for times in (1.5, 2, 4, 10)}
        for ratio in (0.05, 0.1, 0.2, 0.3, 0.4)
    },
    **{
        f"slower after {_percent(ratio)}": {
            f"× {times:g}": _with(_step(times, ratio), times) for times in (1.2, 1.5, 2, 4)
        }
        for ratio in (0.2, 0.4, 0.6, 0.8, 0.9)
    },
    "slower and slower": {f"to × {times:g}": _with(_ramp(times), times) for times in (1.2, 1.5, 2, 3)},
    "slower and slower after 50 % of the run": {
        f"to × {times:g}": _with(_ramp(times, 0.5), times) for times in (1.2, 1.5, 2, 3)
    },
    "warm-up until 65 % of the run": {f"× {size:g}": _with(_late_warm_up(size, 0.65), size) for size in (1.5, 2, 4)},
    "one stall": {_percent(ratio): _stalling(1, ratio) for ratio in (0.05, 0.1, 0.2)},
    "five stalls": {_percent(ratio): _stalling(5, ratio) for ratio in (0.1, 0.2, 0.4)},
    **{
        f"waves, a period of {period:g} × the run": {
            f"± {100 * size:g} %": _waving(size, period) for size in (0.3, 0.5, 0.8)
        }
        for period in (0.1, 0.3, 0.5, 0.9, 1.5, 2)
    },
    "three bursts of a fifteenth": {f"× {times:g}": _between_parts(_bursts(times, 3, 8)) for times in (2, 4, 10)},
    "faster after 60 % of the run": {
        f"÷ {times:g}": _with(_step(1 / times, 0.6), 1 / times) for times in (1.2, 1.5, 2)
    },
    "slower and then faster again, slowly": {f"× {times:g}": _with(_hill(times), times) for times in (1.5, 2, 4)},
    "errors from 60 % of the run on": {
        f"{100 * share:g} %": _changed(errors_from(0.6, share), spread=share) for share in (0.02, 0.05, 0.2, 0.4)
    },
    "one of five labels always fails from 75 % on": {"": _changed(errors_of_label_from(0.75, 5), spread=0.2)},
    "20 kB become 300 bytes from 60 % on": {"": _changed(sizes_from(0.6, 20_000, 300), spread=1.0)},
    "sizes become larger from 50 % on": {
        f"× {times:g}": _changed(sizes_from(0.5, 10_000, round(10_000 * times)), spread=times - 1) for times in (1.2, 2)
    },
    "sizes in waves, a period of half of the run": {
        f"± {100 * size:g} %": _changed(sizes_waving(10_000, size, 0.5), spread=0.8 * size) for size in (0.3, 0.6)
    },
    "a label becomes rarer from 50 % on": {
        f"40 to {100 * share:g} %": _changed(mix_from(0.5, 0.4, share), spread=0.4 - share) for share in (0.3, 0.1)
    },
    "a tenth becomes four times slower from 60 % on": {"": _changed(slower_share_from(0.6, 0.1, 4), spread=1.0)},
    "slower until it stays so, at 40 % of the run": {f"× {to:g}": _with(_plateau(to, 0.4), to) for to in (1.5, 2, 4)},
    "slower ever faster": {f"to × {times:g}": _with(_accelerating(times), times) for times in (1.5, 2, 4)},
    "slower twice, for 15 % of the run": {f"× {times:g}": _between_parts(_twice(times, 0.15)) for times in (1.5, 2, 4)},
    "a sawtooth, a third of the run": {
        f"to × {times:g}": _between_parts(_saw(times, 0.35), times) for times in (1.5, 2, 4)
    },
    "one of five labels becomes slower from 50 % on": {
        f"× {times:g}": _changed(slower_label_from(0.5, 5, times), spread=(times - 1) / 5) for times in (2, 4)
    },
    "a fiftieth becomes slower from 60 % on": {
        f"× {times:g}": _changed(slower_share_from(0.6, 0.02, times), spread=0.02 * (times - 1)) for times in (10, 30)
    },
    "a quarter becomes slower from 50 % on": {
        f"× {times:g}": _changed(slower_share_from(0.5, 0.25, times), spread=0.25 * (times - 1)) for times in (2, 4)
    },
    "more and more errors": {
        f"to {100 * share:g} %": _changed(errors_growing(share), spread=2 * share / 3) for share in (0.05, 0.2, 0.5)
    },
    "all fail for": {
        _percent(ratio): _changed(errors_between(0.4, 0.4 + ratio), spread=3 * ratio) for ratio in (0.05, 0.15)
    },
    "errors that answer fast from 60 % on": {
        f"{100 * share:g} %": _changed(fast_errors_from(0.6, share), spread=share) for share in (0.1, 0.3)
    },
    "a label disappears at 50 %": {"": _changed(mix_from(0.5, 0.4, 0.0), spread=0.4)},
    "rows of the last third cannot be read": {
        f"{100 * share:g} %": _changed(unread(share, 0.67), is_counted=True) for share in (0.1, 0.5, 0.9)
    },
    "rows that cannot be read": {
        f"{100 * share:g} %": _changed(unread(share), is_counted=True) for share in (0.01, 0.1, 0.5, 0.9)
    },
    "redirects beside their requests": {
        f"{100 * share:g} %": _changed(redirected(share), is_counted=True) for share in (0.1, 0.5, 1)
    },
    "all end at": {_percent(ratio): _stop(1.0, ratio) for ratio in (0.9, 0.5, 0.25)},
}
PAUSES_OF_STATE = "five stalls"
# Bad loads of closed bases, of open ones, and of their own.
BAD_CLOSED: Mapping[str, Sizes] = {
    "users leave at 25 % of the run": {f"{100 * share:g} %": _stop(share, 0.25) for share in (0.1, 0.5)},
    "users leave at 80 % of the run": {f"{100 * share:g} %": _stop(share, 0.8) for share in (0.3, 0.5)},
    "users leave one by one": {"": _stop_one_by_one(1.0)},
}
BAD_HANGING: Mapping[str, Sizes] = {
    f"users hang from {percent} % on": {f"{100 * share:g} %": _hang(share, percent / 100) for share in (0.1, 0.25, 0.5)}
    for percent in (2, 50)
}
BAD_OPEN: Mapping[str, Sizes] = {
    "fewer arrivals than RATE": {f"{100 * share:g} %": _fewer(share) for share in (0.9, 0.7, 0.5)},
}
OVERLOADED: Mapping[str, Case] = {
    f"{100 * ratio:g} % of capacity": Case(Load(exponential(0.025), rate_per_s=40 * ratio, server_count=1), spread=1.0)
    for ratio in (1.02, 1.05, 1.1, 1.2, 1.5)
}
