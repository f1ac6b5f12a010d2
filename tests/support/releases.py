"""Sweeps of a plan as releases of a system leave them, in a folder of reports, and releases of given results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

from harness.jtl.sample import Sample
from harness.judge.summarise import SummaryOptions, summarise, window_of, window_span_ms
from harness.judge.summary import Observed
from harness.metrics.batches import batch_count_of
from harness.metrics.tally import Scope
from harness.metrics.window import parse_window
from harness.plan.goal import Goal
from harness.plan.thresholds import Thresholds
from harness.release.cells import ReleaseCell
from harness.release.pooled import with_pooled
from harness.release.release import Edition, Release
from harness.report.run_result import RunResult
from harness.run.directory import json_text
from harness.sweep.level_verdicts import SweepResults, compare_results
from harness.sweep.levels import LevelKey, Sweep, level_run, levels_of
from harness.sweep.sources import FoundSweep
from tests.support.factories import closed_load, failed, record, sample, tally_of
from tests.support.sweep_reports import save_record
from tests.support.sweeps import SWEEP_RECORD, measured_level

NOTE = "A stand-in takes the place of the shop: times say nothing about the shop."
LEVELS = (2, 4)
# Averages of both labels, ms.
BASE_MS: Mapping[str, float] = {"Search": 30.0, "Pay": 50.0}
_START_MS = 1_700_000_000_000
_DURATION_S = 100
_SIGMA = 0.1


# What a run has beside its samples, by its users and its random numbers.
Seen = Callable[[int, Random], Observed]


def save_release(
    reports: Path, series: str, times_ms: Mapping[str, float] = BASE_MS, levels: Sequence[int] = LEVELS, **changes: Any
) -> Path:
    """Write a sweep with `repeat` runs per level (1), whose users are always busy; return the path of its JSON.

    `changes` are those of each run's record; `failure_count` samples of each run fail, `observed` is what was seen, or
    makes it, and `jobs` makes the jobs of a run.
    """
    failure_count, observed = changes.pop("failure_count", 0), changes.pop("observed", Observed())
    plan, repeat, jobs = changes.get("plan", "tiny"), changes.pop("repeat", 1), changes.pop("jobs", None)
    runs = []
    for number, (users, at) in enumerate(((users, at) for at in range(repeat) for users in levels), start=1):
        name, random = f"run-{series}_{number}", Random(f"{series} {users} {at or ''}".strip())
        # Repeats differ: a run is slower or faster as a whole.
        factor = random.lognormvariate(0, 0.01) if repeat > 1 else 1.0
        samples = _samples(random, users, {label: factor * ms for label, ms in times_ms.items()}, failure_count)
        seen = observed(users, random) if callable(observed) else observed
        done = jobs(random) if jobs else ()
        _save_run(reports / plan, name, samples, seen, {"load": closed_load(users), "jobs": done, **changes})
        runs.append(measured_level(users, at + 1, name))
    sweep = replace(
        SWEEP_RECORD, name=f"sweep-{series}", plan=plan, users=tuple(levels), repeat=repeat, runs=tuple(runs), note=""
    )
    return save_record(reports, sweep)


def release_of_results(
    baseline: Mapping[int, Sequence[RunResult]],
    contender: Mapping[int, Sequence[RunResult]],
    names: tuple[str, str] = ("FF", "GR"),
) -> Release:
    """Return the release of one plan whose runs are given by users, the baseline first."""
    keyed = SweepResults(*({LevelKey(users): runs for users, runs in side.items()} for side in (baseline, contender)))
    base_sweep, new_sweep = (
        Sweep(name, levels_of((users, level_run(run)) for users, runs in side.items() for run in runs))
        for name, side in zip(names, (baseline, contender), strict=True)
    )
    compared = with_pooled(compare_results((base_sweep, new_sweep), keyed, Thresholds()), Thresholds())
    base, new = (Edition(sweep.name, {"tiny": FoundSweep(sweep, None, {})}) for sweep in (base_sweep, new_sweep))
    results = tuple({ReleaseCell("", users): runs for users, runs in side.items()} for side in (contender, baseline))
    return Release(new, (base,), ({"tiny": compared},), results, Thresholds())


def _save_run(folder: Path, name: str, samples: Sequence[Sample], observed: Observed, changes: dict[str, Any]) -> None:
    jobs = changes.pop("jobs")
    goal = Goal(p90_ms=62, error_ratio=0.01)
    run = record(**{"name": name, "goal": goal, "once_labels": (), "took_s": 105.0, "plan_notes": (NOTE,), **changes})
    tally = tally_of(samples)
    window = window_of(tally, parse_window("steady"), run)
    counted = Scope(window_ms=window_span_ms(tally, window), batch_count=batch_count_of(window.length_s)).tally()
    for one in samples:
        counted.add(one)
    summary = summarise(tally, run.id, run, observed, SummaryOptions(window, counted, with_timeline=False))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json_text(replace(summary, jobs=jobs)))
    (folder / f"{name}.md").write_text("# a run\n")


def _samples(random: Random, users: int, times_ms: Mapping[str, float], failure_count: int) -> list[Sample]:
    """Return the samples in the order of their ends."""
    found: list[Sample] = []
    for user in range(users):
        at_ms = 10.0 * user
        while at_ms < _DURATION_S * 1000:
            for label, mean_ms in times_ms.items():
                elapsed_ms = max(1, round(random.gauss(mean_ms, _SIGMA * mean_ms)))
                start_ms = _START_MS + round(at_ms)
                found.append(sample(label, elapsed_ms, start_ms, all_threads=users, thread_name=f"Users 1-{user + 1}"))
                at_ms += elapsed_ms
    found.sort(key=lambda one: one.start_ms + one.elapsed_ms)
    for number in range(failure_count):
        at = 1000 + number * (len(found) - 1000) // failure_count  # all the time: else errors would be of one part
        old = found[at]
        found[at] = failed(
            old.label, elapsed_ms=old.elapsed_ms, start_ms=old.start_ms, all_threads=users, thread_name=old.thread_name
        )
    return found
