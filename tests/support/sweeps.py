"""Levels for tests: published figures of others, and levels with what matters alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from harness.experiment.record import ENDED, FINISHED, RUNNING
from harness.judge.verdict import INVALID, Verdict
from harness.sweep.levels import Figures, Level, LevelRun, Sweep, levels_of
from harness.sweep.record import SWEEP, SweepRecord, SweepRun

# ThruZero: a web site of JSF pages, throughput per s over users.
THRUZERO = {1: 5.6, 5: 27.4, 10: 31.4, 25: 32.3, 50: 32.1, 75: 23.2, 100: 7.4}
# A benchmark of load balancers in front of Netty services, read off its graphs: requests per s.
_CONCURRENCY = (500, *range(1000, 12_001, 1000))
NGINX = dict(
    zip(
        _CONCURRENCY,
        (12083, 11667, 10724, 10746, 11031, 10724, 10548, 11075, 10768, 10855, 11118, 10943, 11169),
        strict=True,
    )
)
GATEWAY = dict(
    zip(
        _CONCURRENCY,
        (18416, 19189, 17802, 16178, 14800, 15482, 14461, 14304, 11338, 13309, 12232, 11425, 11425),
        strict=True,
    )
)
DIRECT = dict(
    zip(
        _CONCURRENCY,
        (68498, 71747, 78759, 77864, 75235, 78850, 77207, 76056, 77700, 77535, 76085, 70962, 69977),
        strict=True,
    )
)
BROKEN = Verdict(INVALID, ("all 10 samples failed: response times of errors are not meaningful",), (), ())


def levels(rates: dict[int, float]) -> tuple[Level, ...]:
    """Return a level with one run for each throughput."""
    return levels_of((users, LevelRun("run", Figures(rate_per_s=rate))) for users, rate in rates.items())


def sweep(name: str, figures: dict[int, Figures]) -> Sweep:
    """Return a sweep of one run per level."""
    return Sweep(name, levels_of((users, LevelRun("run", found)) for users, found in figures.items()))


def repeated(users: int, runs: Sequence[LevelRun]) -> Level:
    """Return one level of several runs."""
    return levels_of((users, run) for run in runs)[0]


def measured_level(users: int, repeat: int, name: str, setting: str = "") -> SweepRun:
    """Return a completed run of a sweep."""
    return SweepRun(users, repeat, setting, run=name, state=ENDED)


# A finished sweep of three levels.
SWEEP_RECORD = SweepRecord(
    name="sweep-07",
    kind=SWEEP,
    plan="tiny",
    profile="local",
    command="lth sweep --plan=tiny --users=1,2,4",
    users=(1, 2, 4),
    repeat=1,
    fresh=False,
    warm_up_s=30.0,
    ramp_s=None,
    duration_s=20.0,
    loops=None,
    target=None,
    note="why we looked",
    goal=None,
    first_users=None,
    most_users=None,
    state=FINISHED,
    runs=(
        measured_level(1, 1, "run-07_1"),
        measured_level(2, 1, "run-07_2"),
        measured_level(4, 1, "run-07_3"),
    ),
    budget_s=None,
    started_at="2026-11-24T08:00:00Z",
    spent_s=0.0,
    git_changed=False,
    git_commit=None,
)

# A sweep of two levels, each measured twice, that has not measured any yet.
NEW_SWEEP = replace(
    SWEEP_RECORD,
    command="lth sweep --plan=tiny --users=1,5",
    users=(1, 5),
    repeat=2,
    note="",
    state=RUNNING,
    runs=(),
    git_commit="0123456789abcdef",
)
