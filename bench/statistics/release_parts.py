"""Simulates the jobs and the statements of databases on release pages."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from bench.statistics.answer_pages import Answers
from bench.statistics.release_pages import USERS, judged
from bench.statistics.scatter import Kind, RunFactors, run_of
from harness.cloudwatch.services import DatabaseLoad, Services, Sql
from harness.compare.comparison import REGRESSED
from harness.judge.jobs import JobRun
from harness.plan.job import DONE
from harness.plan.thresholds import Thresholds
from harness.release.cells import ReleaseCell
from harness.release.databases import sql_changes
from harness.release.jobs import duration_changes
from harness.release.release import Edition, Release
from harness.release.repeats import RepeatedChange
from harness.report.run_result import LabelResult, RunResult
from harness.sweep.levels import LevelKey
from harness.sweep.sources import FoundSweep

_REPEAT, _JOBS, _STATEMENTS = 3, 3, 10
_DURATION_S, _SESSIONS = 300.0, 0.5
# A job and a statement scatter by as much beside their run.
_OWN = 0.02
_PER_BATCH = 5


def jobs(random: np.random.Generator, kind: Kind, pages: int, change: float) -> Answers:
    """Return the answers about the durations of three jobs in each of four cells; a change is one of all jobs."""

    def with_jobs(run: RunResult, factor: float, shift: float) -> RunResult:
        durations = _DURATION_S * np.exp(factor + shift + random.normal(0.0, _OWN, _JOBS))
        names = [f"job {number}" for number in range(_JOBS)]
        done = (
            JobRun(name, None, DONE, 0, float(value), None, None, 1)
            for name, value in zip(names, durations, strict=True)
        )
        labels = (_job_label(name, float(value)) for name, value in zip(names, durations, strict=True))
        return replace(run, jobs=tuple(done), labels=(*run.labels, *labels))

    def changes(release: Release) -> list[RepeatedChange]:
        return [one.change for one in duration_changes(release)]

    return _answers(random, kind, pages, change, with_jobs, changes)


def _job_label(name: str, duration_s: float) -> LabelResult:
    ms = 1000 * duration_s
    return LabelResult(name, 1, 0, 0.0, ms, {}, ms, ms, None, None, is_job=True)


def databases(random: np.random.Generator, kind: Kind, pages: int, change: float) -> Answers:
    """Return the answers about the time of ten statements per request; a change is one of all statements."""

    def with_sql(run: RunResult, factor: float, shift: float) -> RunResult:
        assert run.total and run.total.rate_per_s
        # A statement takes its time per request, which follows the run.
        sessions = _SESSIONS * run.total.rate_per_s * np.exp(factor + shift + random.normal(0.0, _OWN, _STATEMENTS))
        sql = tuple(Sql(str(at), f"SELECT {at}", float(one) / 1000, None, None) for at, one in enumerate(sessions))
        return replace(run, services=Services(databases=(DatabaseLoad("db", 0, 60, (), sql),)))

    def changes(release: Release) -> list[RepeatedChange]:
        return [one.change for one in sql_changes(release)]

    return _answers(random, kind, pages, change, with_sql, changes)


def _answers(
    random: np.random.Generator,
    kind: Kind,
    pages: int,
    change: float,
    dressed: Callable[[RunResult, float, float], RunResult],
    changes_of: Callable[[Release], Sequence[RepeatedChange]],
) -> Answers:
    regressed = covered = known = 0
    for _ in range(pages):
        sides: list[dict[LevelKey, list[RunResult]]] = []
        for side in "AB":
            factors, shift = RunFactors(random, kind), math.log1p(change) * (side == "B")
            found: dict[LevelKey, list[RunResult]] = {LevelKey(users): [] for users in USERS}
            for number in range(_REPEAT):
                for at, users in enumerate(USERS):
                    factor = factors.next(at / (len(USERS) - 1))
                    run = run_of(random, replace(kind, label_count=1), f"{side}{users}-{number}", factor, _PER_BATCH)
                    found[LevelKey(users)].append(dressed(run, factor, shift))
            sides.append(found)
        changes = changes_of(_release(sides))
        regressed += any(one.verdict == REGRESSED for one in changes)
        for one in changes:
            if one.low is not None and one.high is not None:
                known += 1
                covered += one.low <= change <= one.high
    return Answers(regressed / pages, covered / known if known else None)


def _release(sides: Sequence[Mapping[LevelKey, Sequence[RunResult]]]) -> Release:
    base, new = sides
    sweeps = cast("Mapping[str, FoundSweep]", {"shop": None})
    results = tuple({ReleaseCell("", key.users): runs for key, runs in side.items()} for side in (new, base))
    compared = ({"shop": judged(base, new)},)
    return Release(Edition("B", sweeps), (Edition("A", sweeps),), compared, results, Thresholds())
