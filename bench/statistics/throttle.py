"""`scripts/bench throttle`: measures what the throttle detector finds in simulated and in recorded runs."""

from __future__ import annotations

import argparse
import csv
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy

from bench.results import Aim
from bench.statistics import simulated_windows as simulation
from bench.tables import print_aims
from harness.base.units import clock_text, parse_whole_number, percent_text
from harness.jtl.inputs import resolve
from harness.metrics.full_load import Drive, full_load_s
from harness.metrics.throttle import Throttle, find_throttle
from harness.metrics.timeline import SecondFigures
from harness.report.jtls import Counting, summary_of_jtls
from harness.report.tables import table

# Recorded runs, with the time of their fall as it was read from counts per minute; no time: there is none.
KNOWN = Path(__file__).with_name("throttled_runs.csv")
_SEED = 1
_LENGTHS_S = (100, 300, 1200)
_MEMORIES = (0.3, 0.8)
_FALSE_MOST, _FOUND_LEAST = 0.01, 0.95
# Shares of the earlier rate that simulated falls go to, and from when on, as a share of the run.
_FACTORS, _FALLS_AT = (0.6, 0.5, 0.33, 0.2, 0.1), (0.3, 0.5, 0.7)
# The detector names falls to 0.7 × and less; one close to that is not always clear.
_CLEAR = 0.5
_NEAR_S = 60
# Falls in steps: pairs of a second after the first step, and the share of the rate that a step goes to.
Steps = Sequence[tuple[int, float]]
_SLOW_FALLS: Mapping[str, Steps] = {
    "to 40 %, after 5 min to 20 %": ((0, 0.4), (300, 0.2)),
    "to 80 %, after 5 min to 20 %": ((0, 0.8), (300, 0.2)),
    "to 60 %, after 5 min to 25 %": ((0, 0.6), (300, 0.25)),
    "to 60 %, after 5 min to 40 %, after 10 min to 20 %": ((0, 0.6), (300, 0.4), (600, 0.2)),
}
_LONG_S = (1200, 2400, 3600, 7200, 14_400)
_USERS = simulation.USERS


@dataclass(frozen=True)
class Case:
    """A simulated run: its response time and users over time.

    `users` are pairs of a share of the run and the users from then on. From the share `failing_from` on all fail.
    """

    shape: simulation.Shape
    users: Sequence[tuple[float, int]] = ((0.0, _USERS),)
    failing_from: float = 1.0


def _from(share: float, times: float) -> simulation.Shape:
    return lambda second, length_s: times if second >= share * length_s else 1.0


def _between(begin: float, end: float, times: float) -> simulation.Shape:
    """Return a response time that grows from 1 to `times` between two shares of the run."""
    return lambda second, length_s: 1 + (times - 1) * min(1.0, max(0.0, (second / length_s - begin) / (end - begin)))


def _straight(begin: float, end: float, ratio: float) -> simulation.Shape:
    """Return the response time of a rate that falls in a straight line to a `ratio` between two shares of the run."""
    share = _between(begin, end, 2.0)
    return lambda second, length_s: 1 / (1 - (1 - ratio) * ((share(second, length_s) or 1.0) - 1))


def _stairs(*steps: tuple[float, float]) -> simulation.Shape:
    """Return the response time of a rate that goes to each ratio at its share of the run."""
    return lambda second, length_s: (
        1 / next((ratio for share, ratio in reversed(steps) if second >= share * length_s), 1.0)
    )


# Runs that are not throttled.
CASES: Mapping[str, Case] = {
    "steady": Case(simulation.SHAPES["steady"]),
    "ramp-up of users over a fifth": Case(
        simulation.SHAPES["steady"], users=[(part / 100, part) for part in range(1, _USERS + 1)]
    ),
    "warm-up, tau 20 s, × 3": Case(simulation.SHAPES["warm-up, tau 20 s, × 3"]),
    "fast at first: 3 × slower, tau a tenth": Case(lambda second, length_s: 3 - 2 * math.exp(-10 * second / length_s)),
    "drift to 3 × slower": Case(_between(0.0, 1.0, 3.0)),
    "drift to 3 × slower over half, then constant": Case(_between(0.25, 0.75, 3.0)),
    "drift to 3 × slower over a third, then constant": Case(_between(0.3, 0.63, 3.0)),
    "drift to 5 × slower over a third, then constant": Case(_between(0.3, 0.63, 5.0)),
    "drift of the rate to a third": Case(_straight(0.0, 1.0, 1 / 3)),
    "drift of the rate to a third over a third, then constant": Case(_straight(0.3, 0.63, 1 / 3)),
    "stairs of a fifth of the rate at each fifth": Case(
        lambda second, length_s: 1 / (1 - min(4, 5 * second // length_s) / 5)
    ),
    "three stairs, to 2/3 and 1/3": Case(_stairs((1 / 3, 2 / 3), (2 / 3, 1 / 3))),
    "three stairs, to 3/4 and 1/4": Case(_stairs((1 / 3, 3 / 4), (2 / 3, 1 / 4))),
    "three stairs, to 1/2 and 1/4": Case(_stairs((1 / 3, 1 / 2), (2 / 3, 1 / 4))),
    "four stairs, each to 60 %": Case(_stairs((1 / 4, 0.6), (1 / 2, 0.36), (3 / 4, 0.22))),
    "a cache fills: rate falls to 40 %, tau a fifth": Case(
        lambda second, length_s: 1 / (0.4 + 0.6 * math.exp(-5 * second / length_s))
    ),
    "pauses of 2 to 20 s each minute, longer and longer": Case(
        lambda second, length_s: 7.0 if second % 60 < 2 + 18 * second / length_s else 1.0
    ),
    "dies slowly over the second half": Case(
        lambda second, length_s: 1 / max(0.02, 1 - max(0.0, 2 * second / length_s - 1))
    ),
    "4 × slower for 40 %, then as before": Case(
        lambda second, length_s: 4.0 if 0.5 <= second / length_s < 0.9 else 1.0
    ),
    "pause of 1 s each 20 s": Case(simulation.SHAPES["pause of 1 s each 20 s"]),
    "4 × slower in the last 11 s": Case(simulation.SHAPES["4 × slower in the last 11 s"]),
    "stall of a fifth of the run": Case(simulation.SHAPES["stall of a fifth of the run"]),
    "5 × slower for a fifth, then as before": Case(
        lambda second, length_s: 5.0 if 0.5 <= second / length_s < 0.7 else 1.0
    ),
    "5 × slower from the middle on, and all fail": Case(_from(0.5, 5.0), failing_from=0.5),
    "half of the users from the middle on": Case(
        simulation.SHAPES["steady"], users=[(0.0, _USERS), (0.5, _USERS // 2)]
    ),
    "users leave over the last fifth": Case(
        simulation.SHAPES["steady"], users=[(0.0, _USERS), *((0.8 + part / 100, 20 - part) for part in range(1, 20))]
    ),
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this part of the benchmark."""
    parser.add_argument("--runs", default="200", metavar="N", help="simulated runs per figure (200)")
    parser.add_argument("jtl", nargs="*", metavar="JTL", help="recorded runs: prints their falls instead of simulating")


def bench(options: argparse.Namespace) -> int:
    """Print the table; return 0, or 1 when an aim is missed."""
    if options.jtl:
        aims = list(_recorded(options.jtl))
    else:
        aims = list(_simulated(parse_whole_number(options.runs, "--runs", 20, 100_000)))
    return print_aims(aims, "the throttle detector")


_CELLS = [(length_s, memory) for length_s in _LENGTHS_S for memory in _MEMORIES]


def _simulated(count: int) -> Iterator[Aim]:
    yield from _false_alarms(count)
    yield from _falls_found(count)
    yield from _slow_falls_found(count)


def _false_alarms(count: int) -> Iterator[Aim]:
    found: dict[str, list[float]] = {}
    for name, case in CASES.items():
        print(f"bench: {name}", file=sys.stderr, flush=True)
        found[name] = [false_alarm_ratio(case, count, *cell) for cell in _CELLS]
    _print_table(f"Not throttled: % of {count:,} simulated runs that are called so", "what happens", found)
    worst = max(ratio for ratios in found.values() for ratio in ratios)
    yield Aim("not throttled: greatest of all rates, %", percent_text(worst, 1), "≤ 1", worst <= _FALSE_MOST)


def _falls_found(count: int) -> Iterator[Aim]:
    found: dict[str, list[float]] = {}
    for factor in _FACTORS:
        name = f"to {percent_text(factor, 0)} %"
        print(f"bench: falls {name}", file=sys.stderr, flush=True)
        found[name] = [found_ratio(factor, count, *cell) for cell in _CELLS]
    _print_table(f"Throttled: % of {count:,} simulated falls that are found at their time", "the rate falls", found)
    long = range(len(_CELLS) - len(_MEMORIES), len(_CELLS))
    named = [name for name, factor in zip(found, _FACTORS, strict=True) if factor <= _CLEAR]
    least = min(found[name][column] for name in named for column in long)
    what = f"throttled to {percent_text(_CLEAR, 0)} % and less, {_LENGTHS_S[-1]} s: least of all rates, %"
    yield Aim(what, percent_text(least, 1), "≥ 95", least >= _FOUND_LEAST)


def _slow_falls_found(count: int) -> Iterator[Aim]:
    found: dict[str, list[float | None]] = {}
    for name, steps in _SLOW_FALLS.items():
        print(f"bench: falls {name}", file=sys.stderr, flush=True)
        found[name] = [slow_fall_found_ratio(steps, count, length_s) for length_s in _LONG_S]
    rows = [[name, *("" if r is None else percent_text(r, 1) for r in ratios)] for name, ratios in found.items()]
    heads = ("the rate falls", *(f"{length_s // 60} min" for length_s in _LONG_S))
    print(
        f"**Throttled in steps: % of {count:,} simulated falls that are found**\n\n{table(heads, rows)}\n", flush=True
    )
    least = min(ratio for ratios in found.values() for ratio in ratios if ratio is not None)
    yield Aim("throttled in steps: least of all rates, %", percent_text(least, 1), "≥ 95", least >= _FOUND_LEAST)


def slow_fall_found_ratio(steps: Steps, count: int, length_s: int) -> float | None:
    """Return the share of falls in the middle of a run that are found; None where the fall lasts over 28 % of it."""
    lasts_s = steps[-1][0]
    if lasts_s > 0.28 * length_s:
        return None
    rng, found, begin_s = numpy.random.default_rng(_SEED), 0, (length_s - lasts_s) / 2
    shape = _stairs(*(((begin_s + after_s) / length_s, ratio) for after_s, ratio in steps))
    for _ in range(count):
        fall = _find(simulate(rng, Case(shape), length_s, _MEMORIES[-1]))
        found += fall is not None and begin_s - _NEAR_S <= fall.at_s <= begin_s + lasts_s + _NEAR_S
    return found / count


def _print_table(title: str, first: str, found: Mapping[str, Sequence[float]]) -> None:
    rows = [[name, *(percent_text(ratio, 1) for ratio in ratios)] for name, ratios in found.items()]
    heads = (first, *(f"{length_s} s, AR {memory}" for length_s, memory in _CELLS))
    print(f"**{title}**\n\n{table(heads, rows)}\n", flush=True)


def false_alarm_ratio(case: Case, count: int, length_s: int, memory: float) -> float:
    """Return the share of simulated runs that are called throttled."""
    rng = numpy.random.default_rng(_SEED)  # all cases use the same random numbers
    return sum(_find(simulate(rng, case, length_s, memory)) is not None for _ in range(count)) / count


def found_ratio(factor: float, count: int, length_s: int, memory: float) -> float:
    """Return the share of falls to `factor` of the rate that are found within 5 % of the run; they begin early to late.

    A fall counts as found where its factor is right within a fifth, too.
    """
    rng, found = numpy.random.default_rng(_SEED), 0
    for number in range(count):
        share = _FALLS_AT[number % len(_FALLS_AT)]
        fall = _find(simulate(rng, Case(_from(share, 1 / factor)), length_s, memory))
        found += (
            fall is not None
            and abs(fall.at_s - share * length_s) <= min(_NEAR_S, length_s / 20)
            and abs(fall.ratio / factor - 1) <= 1 / 5
        )
    return found / count


def simulate(rng: numpy.random.Generator, case: Case, length_s: int, memory: float) -> list[SecondFigures]:
    """Return the seconds of a run; throughput is in proportion to the users."""
    seconds = []
    for second, figures in enumerate(simulation.run(rng, case.shape, length_s, memory)):
        users = next((users for share, users in reversed(case.users) if second >= share * length_s), 0)
        count = figures.sample_count * users // _USERS
        elapsed_ms = figures.elapsed_sum_ms * count // max(1, figures.sample_count)
        is_failing = second >= case.failing_from * length_s
        seconds.append(SecondFigures(count, elapsed_ms, users if count else None, count if is_failing else 0))
    return seconds


def _find(seconds: Sequence[SecondFigures]) -> Throttle | None:
    return find_throttle(seconds, full_load_s(seconds, Drive()))


def _recorded(names: Sequence[str]) -> Iterator[Aim]:
    with KNOWN.open(encoding="utf-8", newline="") as lines:
        known = {row["run"]: row["at"] for row in csv.DictReader(lines)}
    rows, near_count, wrong_count, named_count = [], 0, 0, 0
    for name in names:
        run = Path(name).stem
        fall = summary_of_jtls(resolve([name]), Counting(with_timeline=False)).throttle
        at = known.get(run)
        difference = fall.at_s - _seconds(at) if fall and at else None
        rows.append([run, at or "", *_cells(fall), "" if difference is None else f"{difference:+d}"])
        named_count += bool(at)
        near_count += difference is not None and abs(difference) <= _NEAR_S
        wrong_count += fall is not None and at == ""
    heads = ("run", "by hand", "found at", "constant from", "users", "req/s", "%", "average ms", "difference s")
    print(f"**Recorded runs**\n\n{table(heads, rows)}\n")
    what = f"falls found within {_NEAR_S} s"
    yield Aim(what, f"{near_count} of {named_count}", f"{named_count}", near_count == named_count)
    yield Aim("found in runs without one", f"{wrong_count}", "0", not wrong_count)


def _cells(fall: Throttle | None) -> list[str]:
    if fall is None:
        return [""] * 6
    return [
        clock_text(fall.at_s),
        clock_text(fall.constant_s),
        str(fall.user_count),
        f"{fall.before_per_s:.2f} → {fall.after_per_s:.2f}",
        percent_text(fall.ratio, 0),
        f"{fall.before_ms:.0f} → {fall.after_ms:.0f}",
    ]


def _seconds(clock: str) -> int:
    """Return the seconds of a time such as 1:02:03."""
    total = 0
    for part in clock.split(":"):
        total = 60 * total + int(part)
    return total
