"""Simulates sweeps of known systems: queues whose throughput never falls, the scalability law, and falls.

Users of a closed queue think, then wait at one station with one or several servers. The exact throughput is computed
directly from the product form of mean value analysis, because the recursion for several servers is numerically
unstable. Each level is one run; its throughput is the true one × (1 + CV × a normal deviate).

M. Reiser, S. S. Lavenberg, "Mean-value analysis of closed multichain queuing networks", J. ACM 27(2), 1980.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from harness.sweep import usl
from harness.sweep.analysis import SweepAnalysis, analyse
from harness.sweep.levels import Figures, Level, LevelRun, levels_of

THIRTEEN = (1, 2, 5, 10, 15, 20, 30, 40, 50, 75, 100, 150, 200)
SEVEN = (1, 5, 10, 25, 50, 100, 200)
TWENTY = tuple(range(10, 201, 10))


@dataclass(frozen=True)
class Queue:
    """A closed queue: mean think time, mean service time, and number of servers."""

    service_s: float
    think_s: float
    server_count: int = 1

    def rates_per_s(self, most: int) -> list[float]:
        """Return the throughput (per s) of 1 to `most` users."""
        return [self._rate_per_s(users) for users in range(1, most + 1)]

    def _rate_per_s(self, users: int) -> float:
        """Return the throughput (per s): mean number of busy servers ÷ service time."""
        if not self.think_s:
            return min(users, self.server_count) / self.service_s
        counts = np.arange(users + 1)
        busy = np.minimum(counts, self.server_count)
        at_servers = np.concatenate([[0.0], np.cumsum(np.log(self.service_s / busy[1:]))])
        logs = (
            at_servers
            + (users - counts) * math.log(self.think_s)
            - np.array(list(map(math.lgamma, users - counts + 1)))
        )
        shares = np.exp(logs - logs.max())
        return float((shares * busy).sum() / shares.sum() / self.service_s)

    @property
    def saturation_users(self) -> float:
        """N*: the greatest throughput × the time of an iteration without waiting."""
        return self.server_count / self.service_s * (self.service_s + self.think_s)


QUEUES: Mapping[str, Queue] = {
    "1 server, N* = 1.5": Queue(0.1, 0.05),
    "1 server, N* = 14": Queue(0.05, 0.65),
    "1 server, N* = 20": Queue(0.05, 0.95),
    "1 server, N* = 41": Queue(0.05, 2.0),
    "4 servers, N* = 10": Queue(0.2, 0.3, 4),
    "8 servers, N* = 48": Queue(0.2, 1.0, 8),
    "20 servers, N* = 20": Queue(1.0, 0.0, 20),
}


@dataclass(frozen=True)
class Law:
    """The Universal Scalability Law's parameters: γ per s, α, β."""

    gamma_per_s: float
    alpha: float
    beta: float

    def rate_per_s(self, users: int) -> float:
        """Return the throughput (per s)."""
        return usl.throughput(self.gamma_per_s, self.alpha, self.beta, users)

    @property
    def peak_users(self) -> float:
        """The users of the greatest throughput."""
        return math.sqrt((1 - self.alpha) / self.beta)


LAWS: Mapping[str, Law] = {
    "peak at 30": Law(20.0, 0.1, 0.001),
    "peak at 44": Law(20.0, 0.03, 0.0005),
    "peak at 70": Law(20.0, 0.01, 0.0002),
}


@dataclass(frozen=True)
class Fall:
    """A saturated queue whose throughput falls by `ratio` between two numbers of users, linearly over their `scale`."""

    ratio: float
    first_users: int
    last_users: int
    scale: Callable[[float], float] = float

    def rate_per_s(self, users: int) -> float:
        """Return the throughput (per s)."""
        first, last, at = map(self.scale, (self.first_users, self.last_users, users))
        return _SATURATED[users - 1] * (1 - self.ratio * min(1.0, max(0.0, (at - first) / (last - first))))


_SATURATED = Queue(0.05, 0.2).rates_per_s(max(TWENTY))
GRADUAL: Mapping[str, Fall | Law] = {
    **{
        f"falls by {round(100 * ratio)} % from {first} to {last} users{text}": Fall(ratio, first, last, scale)
        for ratio, first, last in ((0.10, 20, 200), (0.10, 20, 100), (0.20, 20, 200), (0.20, 50, 200))
        for text, scale in (("", float), (", over their logarithm", math.log))
    },
    **LAWS,
}
CLIFFS: Mapping[str, Fall] = {
    f"cliff of {round(100 * ratio)} % after {users} users": Fall(ratio, users, users + 1)
    for ratio, users in ((0.10, 50), (0.20, 20), (0.20, 50), (0.20, 100), (0.30, 50))
}


@dataclass(frozen=True)
class FallClaims:
    """Shares of sweeps that report a certain cliff, a certain fall at once or gradually, and a fall that may be chance.

    `right` is the share of the certain ones between whose users throughput truly falls most; `greatest_ratio` is the
    greatest true fall from one level to the next.
    """

    greatest_ratio: float
    cliff: float
    gradual: float
    possible: float
    right: float | None


@dataclass(frozen=True)
class Claims:
    """Shares of sweeps with a reported peak, a certain cliff, a possible cliff, and N*.

    `peak_covered` and `knee_covered` are the shares of intervals that contain the true value, of those reported.
    """

    peak: float
    peak_covered: float | None
    cliff: float
    possible_cliff: float
    knee: float
    knee_covered: float | None


def of_queue(queue: Queue, users: Sequence[int], cv: float, sweeps: int, seed: int) -> Claims:
    """Return the findings of sweeps of a queue, whose throughput never falls."""
    rates = queue.rates_per_s(max(users))
    return _claims(
        _analyses([rates[level - 1] for level in users], users, cv, sweeps, seed), None, queue.saturation_users
    )


def of_law(law: Law, users: Sequence[int], cv: float, sweeps: int, seed: int) -> Claims:
    """Return the findings of sweeps of a system that follows the law."""
    rates = [law.rate_per_s(level) for level in users]
    return _claims(_analyses(rates, users, cv, sweeps, seed), law.peak_users, None)


def of_fall(system: Fall | Law, users: Sequence[int], cv: float, sweeps: int, seed: int) -> FallClaims:
    """Return the findings of sweeps of a system whose throughput falls."""
    rates = [system.rate_per_s(level) for level in users]
    ratios = [1 - after / before for before, after in pairwise(rates)]
    after_users = users[ratios.index(max(ratios))]
    cliffs = [one.cliff for one in _analyses(rates, users, cv, sweeps, seed) if one.cliff]
    certain = [one for one in cliffs if one.is_certain]
    gradual_count = sum(one.is_gradual for one in certain)
    right_count = sum(one.users <= after_users < one.next_users for one in certain)
    return FallClaims(
        greatest_ratio=max(ratios),
        cliff=(len(certain) - gradual_count) / sweeps,
        gradual=gradual_count / sweeps,
        possible=(len(cliffs) - len(certain)) / sweeps,
        right=right_count / len(certain) if certain else None,
    )


def simulated(
    rates: Sequence[float], users: Sequence[int], cv: float, random: np.random.Generator
) -> tuple[Level, ...]:
    """Return the levels of one sweep, one run each."""
    noisy = np.array(rates) * (1 + cv * random.standard_normal(len(rates)))
    return levels_of(
        (level, LevelRun("run", Figures(rate_per_s=float(rate)))) for level, rate in zip(users, noisy, strict=True)
    )


def _analyses(rates: Sequence[float], users: Sequence[int], cv: float, sweeps: int, seed: int) -> list[SweepAnalysis]:
    random = np.random.default_rng(seed)
    return [analyse(simulated(rates, users, cv, random), None) for _ in range(sweeps)]


def _claims(found: Sequence[SweepAnalysis], peak_users: float | None, knee_users: float | None) -> Claims:
    sweeps = len(found)
    peaks = [one.usl.peak_users for one in found if one.usl and one.usl.follows and one.usl.peak_users]
    cliffs = [one.cliff for one in found if one.cliff]
    knees = [one.knee.users for one in found if one.knee]
    return Claims(
        peak=len(peaks) / sweeps,
        peak_covered=_covered(peaks, peak_users),
        cliff=sum(cliff.is_certain for cliff in cliffs) / sweeps,
        possible_cliff=sum(not cliff.is_certain for cliff in cliffs) / sweeps,
        knee=len(knees) / sweeps,
        knee_covered=_covered(knees, knee_users),
    )


def _covered(found: Sequence[usl.UslEstimate], true: float | None) -> float | None:
    """Return the share of intervals that contain the true value; None without intervals or without a true value."""
    if true is None or not found:
        return None
    return sum(one.low is not None and one.high is not None and one.low <= true <= one.high for one in found) / len(
        found
    )
