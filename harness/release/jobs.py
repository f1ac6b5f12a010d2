"""The jobs of releases: how long they took, and what the interactive loads did meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from statistics import fmean
from typing import NamedTuple

from harness.base import units
from harness.judge.jobs import JobRun
from harness.metrics.metric import AVERAGE
from harness.plan.job import DONE
from harness.release.cells import ReleaseCell, Runs, TitledTable, all_cells, cell_heads, cell_texts, cells_text
from harness.release.changes import CHANGE_HEADS
from harness.release.release import Release
from harness.release.repeats import Block, Judgement, RepeatedChange, change_in, median_of, scatter_of
from harness.release.resources import change_cells, change_heads
from harness.report.run_result import RunResult
from harness.report.tables import cell
from harness.report.wide_tables import narrow_tables

_WHEN = ("before", "during", "after")


class JobKey(NamedTuple):
    """A job in a cell; `tenant` is empty without one."""

    name: str
    tenant: str
    cell: ReleaseCell

    @property
    def text(self) -> str:
        """The job in a sentence: import of diku (8 users)."""
        return f"{self.name}{f' of {self.tenant}' if self.tenant else ''} ({cells_text([self.cell])})"


class JobChange(NamedTuple):
    """The change of a job's duration against an earlier release."""

    key: JobKey
    change: RepeatedChange


_Of = Callable[[JobRun], float | None]


def job_keys(results: Sequence[Runs]) -> list[JobKey]:
    """Return the jobs of all releases, in order of first appearance, each in each cell."""
    return list(
        dict.fromkeys(
            JobKey(job.name, job.tenant or "", load)
            for load in all_cells(results)
            for side in results
            for run in side.get(load, ())
            for job in run.jobs
        )
    )


def job_tables(release: Release) -> list[TitledTable]:
    """Return the tables of the jobs' durations, with changes as in the response times, and of records per second."""
    keys = job_keys(release.results)
    first = _heads(keys)
    shape = {"text_columns": len(first) - 1, "kept": len(first) + 1, "together": 4}
    durations, rates = [], []
    for key in keys:
        changes = [_change(release, at, key, len(keys)) for at in range(len(release.bases))]
        row = [*_key_texts(key, keys), units.rate_text(changes[0].contender)]
        durations.append(row + [text for one in changes for text in (units.rate_text(one.baseline), *one.cells)])
        values = [_values(side, key, lambda job: job.records_per_s) for side in release.results]
        rates.append([*_key_texts(key, keys), *change_cells([*map(median_of, values)], units.rate_text)])
    new, *bases = (f"{cell(name)} s" for name in release.names)
    columns = [*first, new, *(head for base in bases for head in (base, *CHANGE_HEADS))]
    tables = [TitledTable("Duration", narrow_tables(columns, durations, **shape))] if keys else []
    if any(row[len(first)] for row in rates):
        columns = [*first, *change_heads("records/s", release.names)]
        tables.append(TitledTable("Records per second", narrow_tables(columns, rates, **{**shape, "together": 2})))
    return tables


def duration_changes(release: Release) -> list[JobChange]:
    """Return the changes of the durations against the last release."""
    keys = job_keys(release.results)
    return [JobChange(key, _change(release, 0, key, len(keys))) for key in keys]


def _change(release: Release, at: int, key: JobKey, job_count: int) -> RepeatedChange:
    """Return the change of a job's duration (s) against an earlier release.

    Its verdict is that of the comparison of its cell, which has the job as a label; where that has none, as in runs of
    earlier versions, Student's t decides, and all jobs share its alpha.
    """
    new, base = (_values(release.results[side], key, lambda job: job.duration_s) for side in (0, at + 1))
    judgement = Judgement(release.thresholds.of(AVERAGE), release.thresholds.alpha, job_count)
    block = Block(base, new)
    own = change_in(block, scatter_of([block]), judgement)
    levels = release.all_levels[at]
    labels = levels[key.cell].labels if key.cell in levels else ()
    average_of_job = next((average for one in labels if one.label == key.name and (average := one.of(AVERAGE))), None)
    if average_of_job is None or average_of_job.low_ratio is None or own.ratio is None:
        return own
    return replace(own, low=average_of_job.low_ratio, high=average_of_job.high_ratio, verdict=average_of_job.word)


def _values(side: Runs, key: JobKey, of: _Of) -> list[float]:
    """Return the value of each run in which all repetitions of the job were done: the mean of these."""
    values = []
    for jobs in _jobs_of(side, key):
        known = [value for job in jobs if job.state == DONE and (value := of(job)) is not None and value > 0]
        if jobs and len(known) == len(jobs):
            values.append(fmean(known))
    return values


def _jobs_of(side: Runs, key: JobKey) -> Iterator[list[JobRun]]:
    """Yield the repetitions of a job in each run of its cell."""
    for run in side.get(key.cell, ()):
        yield [job for job in run.jobs if (job.name, job.tenant or "") == key[:2]]


def _heads(keys: Sequence[JobKey]) -> list[str]:
    tenant = ["tenant"] if any(key.tenant for key in keys) else []
    return ["job", *tenant, *cell_heads(key.cell for key in keys)]


def _key_texts(key: JobKey, keys: Sequence[JobKey]) -> list[str]:
    tenant = [cell(key.tenant)] if any(one.tenant for one in keys) else []
    return [cell(key.name), *tenant, *cell_texts(key.cell)]


def load_table(release: Release) -> str:
    """Return the table of the interactive loads: their p95 before, during and after each job, medians of the runs."""
    keys = job_keys(release.results)
    rows = []
    for key in keys:
        for name in dict.fromkeys(load for side in release.results for load in _loads_of(side, key)):
            texts = [
                units.ms_text(median_of(times))
                for side in release.results
                for times in (_times_ms(side, key, name, when) for when in _WHEN)
            ]
            rows.append([*_key_texts(key, keys), cell(name), *texts])
    first = [*_heads(keys), "load"]
    columns = [*first, *(f"{cell(name)} p95 ms {when}" for name in release.names for when in _WHEN)]
    return narrow_tables(columns, rows, text_columns=len(first), kept=len(first), together=3) if rows else ""


def _loads_of(side: Runs, key: JobKey) -> list[str]:
    return [load.load for jobs in _jobs_of(side, key) for job in jobs for load in job.loads]


def _times_ms(side: Runs, key: JobKey, load: str, when: str) -> list[float]:
    found = (one for jobs in _jobs_of(side, key) for job in jobs for one in job.loads if one.load == load)
    return [value for one in found if (value := getattr(one, f"{when}_p95_ms")) is not None]


def not_done(runs: Sequence[RunResult]) -> list[str]:
    """Return the jobs of runs that were not done: import: failed in 2 runs."""
    counts: dict[tuple[str, str], int] = {}
    for run in runs:
        for name, state in dict.fromkeys((job.name, job.state) for job in run.jobs if job.state != DONE):
            counts[name, state] = counts.get((name, state), 0) + 1
    return [f"{name}: {state} in {units.plural(count, 'run')}" for (name, state), count in counts.items()]
