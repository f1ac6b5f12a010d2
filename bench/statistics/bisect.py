"""`scripts/bench bisect`: measures which commits bisections name, and how sure they are, on simulated histories."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy

from bench.results import Aim
from bench.tables import print_aims
from harness.base.log import stderr_log
from harness.base.units import parse_whole_number, percent_text
from harness.compare.comparison import CANNOT_TELL
from harness.judge.result import FOUND, NO_EFFECT
from harness.kinds.bisect.decision import OPENING, RUNS_MOST, Decision, decide, most_informative, opening
from harness.kinds.bisect.posterior import Noise, Observation, Posterior, posterior
from harness.report.tables import table

_log = stderr_log("bench: ")

ONE, TWO, DRIFT, NOTHING = "one step", "two steps", "gradual", "no change"
# The shares of the histories of each kind.
_SHARES = {ONE: 0.4, TWO: 0.2, DRIFT: 0.2, NOTHING: 0.2}
_COMMITS, _NOISES, _STEPS = (10, 200), (0.02, 0.08), (0.05, 0.30)
_WORSE, _BROKEN, _MACHINE_DRIFT = 0.8, 0.05, 0.005
_THRESHOLD = 0.10
_BINS = (0.0, 0.5, 0.8, 0.95, 1.0)
_REPEATS = (3, 5, 10)
_RIGHT_LEAST, _FALSE_MOST, _OFF_MOST = 0.90, 0.05, 0.15
# Runs of a machine that is disturbed: Student's t with so many degrees of freedom.
_FREEDOM = 4


@dataclass(frozen=True)
class History:
    """A simulated history: the true level of each commit as a logarithm, and what its runs are like.

    `step` is the commit with the only step, None without one. Commits in `broken` do not build.
    """

    kind: str
    levels: numpy.ndarray
    step: int | None
    broken: frozenset[int]
    noise: float
    has_tails: bool = False

    @property
    def last(self) -> int:
        """The position of the bad commit."""
        return len(self.levels) - 1


@dataclass(frozen=True)
class End:
    """How a bisection of a history ended, after so many runs."""

    history: History
    decision: Decision
    several: float
    run_count: int

    @property
    def is_named(self) -> bool:
        """Whether it names a commit."""
        return self.decision.verdict == FOUND and self.decision.named is not None

    @property
    def is_right(self) -> bool:
        """Whether its best suspect is the commit with the only step, or one that does not build before it."""
        return self.history.step is not None and self.history.step in self.decision.suspects[0].positions


class Measures(Protocol):
    """Measures commits."""

    def run(self, position: int) -> Observation:
        """Return one run of a commit."""


class Machine:
    """Measures commits of a history: noise, and a machine that drifts."""

    def __init__(self, history: History, chance: numpy.random.Generator) -> None:
        self._history, self._chance, self._drift = history, chance, 0.0

    def run(self, position: int) -> Observation:
        """Return one run."""
        history, chance = self._history, self._chance
        self._drift += chance.normal(0.0, _MACHINE_DRIFT)
        scatter = chance.standard_t(_FREEDOM) / math.sqrt(2) if history.has_tails else chance.normal()
        return Observation(position, float(history.levels[position] + self._drift + history.noise * scatter))


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this part of the benchmark."""
    parser.add_argument("--histories", default="500", metavar="N", help="simulated histories (500)")
    parser.add_argument("--seed", default="1", metavar="N", help="of the random numbers, to repeat it with others (1)")


def bench(options: argparse.Namespace) -> int:
    """Print the tables; return 0, or 1 when an aim is missed."""
    count = parse_whole_number(options.histories, "--histories", 20, 100_000)
    seed = parse_whole_number(options.seed, "--seed", 0, 1_000_000)
    ends = list(simulated(count, seed))
    print(f"**{count} simulated histories, % of each kind**\n")
    heads = ("history", "names the commit", "another one", "several", "no effect", "cannot tell", "runs")
    print(table(heads, [_row(kind, ends) for kind in _SHARES]), end="\n\n")
    print("**How probable the best suspect was, and how often it was right**\n")
    bins = [[text, str(number), *map(_percent, shares)] for text, number, *shares in _reliability(ends)]
    print(table(("stated %", "histories", "stated, mean %", "right %"), bins), end="\n\n")
    tails = [end for end in simulated(count // 2, seed + 1, has_tails=True) if end.is_named]
    print(f"With outliers {_percent(_right(tails))} % of the named commits are right.\n")
    print(f"**Next to a plain bisect with fixed repeats, on histories with {ONE}**\n")
    print(table(("", "right %", "runs"), list(_plain_rows(ends, seed))), end="\n\n", flush=True)
    return print_aims(list(aims(ends)), "bisections")


def simulated(
    count: int, seed: int, *, has_tails: bool = False, runs_most: int = RUNS_MOST, commits_most: int = _COMMITS[1]
) -> Iterator[End]:
    """Yield how bisections of so many histories end."""
    chance = numpy.random.default_rng(seed)
    for kind, share in _SHARES.items():
        _log(f"{kind}{', outliers' if has_tails else ''}")
        for _ in range(round(share * count)):
            history = _history(kind, chance, commits_most, has_tails=has_tails)
            yield bisected(history, Machine(history, chance), runs_most)


def aims(ends: Sequence[End]) -> Iterator[Aim]:
    """Yield the aims: named commits that are right, false names, and how far stated probabilities are off."""
    right = _right([end for end in ends if end.is_named])
    yield Aim("named commits that are right, %", _percent(right), "≥ 90", right >= _RIGHT_LEAST)
    others = [end for end in ends if end.history.kind in (NOTHING, DRIFT)]
    false = sum(end.is_named for end in others) / len(others)
    yield Aim("histories without a step that name a commit, %", _percent(false), "≤ 5", false <= _FALSE_MOST)
    off = max(abs(stated - right) for _, number, stated, right in _reliability(ends) if number >= 20)
    yield Aim("stated probability − share that is right, largest, %", _percent(off), "≤ 15", off <= _OFF_MOST)


def _history(kind: str, chance: numpy.random.Generator, commits_most: int, *, has_tails: bool) -> History:
    least = _COMMITS[0]
    last = round(math.exp(chance.uniform(math.log(least), math.log(commits_most))))
    levels, step = numpy.zeros(last + 1), None
    sign = 1 if chance.random() < _WORSE else -1
    sizes = numpy.log1p(sign * chance.uniform(*_STEPS, size=2))
    if kind == DRIFT:
        levels = numpy.linspace(0.0, sizes[0], last + 1)
    elif kind != NOTHING:
        places = sorted(chance.choice(numpy.arange(1, last + 1), 1 if kind == ONE else 2, replace=False))
        for place, size in zip(places, sizes, strict=False):
            levels[place:] += size
        step = int(places[0]) if kind == ONE else None
    broken = frozenset(int(one) for one in numpy.flatnonzero(chance.random(last + 1) < _BROKEN) if 0 < one < last)
    return History(kind, levels, step, broken, chance.uniform(*_NOISES), has_tails)


def bisected(history: History, machine: Measures, runs_most: int) -> End:
    """Return how a bisection ends: with the decisions of scripts/bisect, all runs as expensive."""
    testable = [position for position in range(history.last + 1) if position not in history.broken]
    runs = [machine.run(opening(number, history.last)) for number in range(OPENING)]
    while True:
        found: Posterior = posterior(runs, Noise())
        decision = decide(found, testable, _THRESHOLD)
        if decision.verdict != CANNOT_TELL or len(runs) >= runs_most:
            return End(history, decision, found.several, len(runs))
        runs.append(machine.run(most_informative(found, decision, testable, runs[-1].position)))


class _Plain(NamedTuple):
    is_right: bool
    run_count: int


def _plain(history: History, machine: Machine, repeats: int) -> _Plain:
    """Return whether a plain bisect is right, and its runs: each commit is good or bad by the mean of its runs."""

    def mean(position: int) -> float:
        return sum(machine.run(position).log_value for _ in range(repeats)) / repeats

    low, high, count = 0, history.last, 2 * repeats
    ends = mean(low), mean(high)
    testable = [position for position in range(history.last + 1) if position not in history.broken]
    while between := [position for position in testable if low < position < high]:
        middle = between[len(between) // 2]
        value = mean(middle)
        count += repeats
        if abs(value - ends[0]) < abs(value - ends[1]):
            low = middle
        else:
            high = middle
    return _Plain(history.step is not None and low < history.step <= high, count)


def _plain_rows(ends: Sequence[End], seed: int) -> Iterator[list[str]]:
    ours = [end for end in ends if end.history.kind == ONE]
    named = [end for end in ours if end.is_named]
    of_named = f"{_percent(_right(named))} of the {_percent(len(named) / len(ours))} % named"
    yield [
        "lth bisect",
        f"{_percent(_right(ours))} of all, {of_named}",
        f"{sum(end.run_count for end in ours) / len(ours):.0f}",
    ]
    for repeats in _REPEATS:
        chance = numpy.random.default_rng(seed)
        plain = [_plain(end.history, Machine(end.history, chance), repeats) for end in ours]
        right = sum(is_right for is_right, _ in plain) / len(plain)
        runs = sum(number for _, number in plain) / len(plain)
        yield [f"plain, {repeats} runs each", f"{_percent(right)} of all", f"{runs:.0f}"]


def _reliability(ends: Sequence[End]) -> Iterator[tuple[str, int, float, float]]:
    """Yield for each range of stated probabilities how many suspects have it, their mean, and how many are right."""
    best = [(end.decision.suspects[0].probability, end.is_right) for end in ends]
    for low, high in pairwise(_BINS):
        inside = [(stated, is_right) for stated, is_right in best if low <= stated < high or stated == high == 1.0]
        if inside:
            stated, right = (sum(values) / len(inside) for values in zip(*inside, strict=True))
            yield f"{_percent(low)} to {_percent(high)}", len(inside), stated, right


def _row(kind: str, ends: Sequence[End]) -> list[str]:
    own = [end for end in ends if end.history.kind == kind]
    named = [end for end in own if end.is_named]
    right = sum(end.is_right for end in named)
    verdicts = [end.decision.verdict for end in own]
    several = verdicts.count(FOUND) - len(named)
    counts = (right, len(named) - right, several, verdicts.count(NO_EFFECT), verdicts.count(CANNOT_TELL))
    return [kind, *(_percent(count / len(own)) for count in counts), f"{sum(e.run_count for e in own) / len(own):.0f}"]


def _right(named: Sequence[End]) -> float:
    return sum(end.is_right for end in named) / len(named) if named else 0.0


def _percent(ratio: float) -> str:
    return percent_text(ratio, 1).removesuffix(".0")
