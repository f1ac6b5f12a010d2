"""The jobs of a run: how each ended, how long it took, and what the loads did before, during and after it."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from harness.base import units
from harness.base.units import MS_PER_S
from harness.jtl.sample import JOB_MARK, Sample, thread_group_of
from harness.judge.goals import GoalResult
from harness.metrics.figures import LOAD, Group, LabelFigures, group_of
from harness.metrics.histogram import Histogram
from harness.metrics.interval import IntervalMs
from harness.metrics.metric import AVERAGE, P95
from harness.plan.job import DONE, FAILED, LIMIT, START, STATE, UNANSWERED, UNFINISHED

if TYPE_CHECKING:
    from harness.plan.job import JobRecord
    from harness.plan.load.groups import GroupLoad
    from harness.run.record import RunRecord

# The p95 of fewer samples is their greatest or second greatest.
_SAMPLES_LEAST = 20


@dataclass(frozen=True)
class LoadAround:
    """The p95 (ms) of a load, or of a label of it, before, during and after a job, and the numbers of samples.

    A p95 is None with fewer than 20 samples, and where it is not known when the job ended.
    """

    load: str
    before_p95_ms: int | None
    during_p95_ms: int | None
    after_p95_ms: int | None
    before_count: int
    during_count: int
    after_count: int


@dataclass(frozen=True)
class JobRun:
    """One repetition of a job, from 1.

    `state` is done, failed, limit, unanswered or unfinished. `started_ms` (ms since 1970) is when its start was sent,
    None for a job that did not begin. `duration_s` ends with the poll that showed its end; None unless it is done or
    failed. `loads` are the interactive loads around it.
    """

    name: str
    tenant: str | None
    state: str
    started_ms: int | None
    duration_s: float | None
    records: int | None
    records_per_s: float | None
    repetition: int
    loads: tuple[LoadAround, ...] = ()


class FoundJob(NamedTuple):
    """A repetition of a job, the record of the job, when it ended (ms since 1970) and why it is not done."""

    run: JobRun
    record: JobRecord
    ended_ms: int | None
    why: str


# Reads the samples of a run, each time from the beginning.
Samples = Callable[[], Iterable[Sample]]


def find_jobs(records: Sequence[JobRecord], samples: Samples) -> tuple[FoundJob, ...]:
    """Return the repetitions of the jobs in the order of their starts; those that did not begin come last."""
    rows = [one for one in samples() if JOB_MARK in one.thread_name] if records else []
    found = [one for record in records for one in _repetitions(record, rows)]
    return tuple(sorted(found, key=lambda one: (one.run.started_ms is None, one.run.started_ms or 0)))


def _repetitions(record: JobRecord, rows: Iterable[Sample]) -> list[FoundJob]:
    """Return the repetitions of a job; its rows are in order, because one thread wrote them."""
    repetitions: list[FoundJob] = []
    said: str | None = None
    for row in rows:
        if row.label == record.name + START:
            repetitions.append(_of(record, len(repetitions) + 1, UNFINISHED, row.start_ms))
            said = None
        elif row.label == record.name + STATE:
            said = "" if row.success else row.failure
        elif row.label == record.name and row.is_transaction and repetitions and said is not None:
            state, _, why = said.partition(": ")
            state = DONE if not said else state if state in (FAILED, LIMIT) else UNANSWERED
            number, started_ms = repetitions[-1].run.repetition, repetitions[-1].run.started_ms
            repetitions[-1] = _of(record, number, state, started_ms, row.end_ms, why or said)
    if len(repetitions) < record.repeat and not (repetitions and repetitions[-1].run.state == UNFINISHED):
        repetitions.append(_of(record, len(repetitions) + 1, UNFINISHED, None))  # the run ended before it began
    return repetitions


def _of(
    record: JobRecord, number: int, state: str, started_ms: int | None, ended_ms: int | None = None, why: str = ""
) -> FoundJob:
    duration_s = None
    if state in (DONE, FAILED) and started_ms is not None and ended_ms is not None:
        duration_s = (ended_ms - started_ms) / MS_PER_S
    rate = record.records / duration_s if record.records and duration_s and state == DONE else None
    rate = None if rate is None else round(rate, 3)
    run = JobRun(record.name, record.tenant, state, started_ms, duration_s, record.records, rate, number)
    return FoundJob(run, record, ended_ms, why)


def jobs_of_run(run: RunRecord, samples: Samples, span_ms: IntervalMs | None) -> tuple[FoundJob, ...]:
    """Return the jobs of a run with the loads around them; `span_ms` is the first start and last end of the load."""
    jobs = find_jobs(run.jobs, samples)
    if not jobs or span_ms is None:
        return jobs
    full_ms = IntervalMs(span_ms.from_ms + round(run.load.ramp_s * MS_PER_S), span_ms.to_ms + 1)
    return with_loads(jobs, samples, run.load.loads or (), run.once_labels, full_ms)


def with_loads(
    jobs: Sequence[FoundJob], samples: Samples, loads: Sequence[GroupLoad], once: Iterable[str], full_ms: IntervalMs
) -> tuple[FoundJob, ...]:
    """Return the jobs with the loads around them; `full_ms` is from the end of the ramp to the end of the load.

    Of a run with several loads each counts as a whole, else each label. A sample counts when it ends.
    """
    around = [_Around.of(job, full_ms) for job in jobs]
    counts = _Counts(sorted({at for one in around for interval in one.intervals if interval for at in interval}))
    counts.add_all(samples(), {load.thread_names: load.group for load in loads}, frozenset(once))
    names = [load.group for load in loads] or counts.labels
    return tuple(
        job._replace(run=replace(job.run, loads=tuple(one.load(name, counts) for name in names)))
        for job, one in zip(jobs, around, strict=True)
    )


class _Around(NamedTuple):
    """The times before, during and after a job; None where there is no such time, or nobody knows."""

    before: IntervalMs | None
    during: IntervalMs | None
    after: IntervalMs | None

    @classmethod
    def of(cls, job: FoundJob, full_ms: IntervalMs) -> _Around:
        started_ms, (from_ms, to_ms) = job.run.started_ms, full_ms
        if started_ms is None:
            return cls(None, None, None)
        ended_ms = to_ms if job.ended_ms is None else job.ended_ms
        # A job that reached its limit, or whose state is not known, may still run.
        is_over = job.run.state in (DONE, FAILED)
        before = IntervalMs(from_ms, min(started_ms, to_ms))
        during = IntervalMs(max(started_ms, from_ms), min(ended_ms, to_ms))
        after = IntervalMs(max(ended_ms, from_ms), to_ms if is_over else from_ms)
        return cls(*(one if one.length_ms > 0 else None for one in (before, during, after)))

    @property
    def intervals(self) -> tuple[IntervalMs | None, ...]:
        """All three."""
        return tuple(self)

    def load(self, name: str, counts: _Counts) -> LoadAround:
        """Return the figures of a load, or a label of it."""
        before, during, after = (counts.of(name, interval) for interval in self.intervals)
        return LoadAround(
            name, _p95_ms(before), _p95_ms(during), _p95_ms(after), before.count, during.count, after.count
        )


@dataclass
class _Counts:
    """The response times of each load, or label, between each two of some instants (ms since 1970)."""

    instants_ms: Sequence[int]
    by_part: dict[tuple[str, bool], dict[int, Histogram]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(Histogram))
    )

    def add_all(self, samples: Iterable[Sample], groups: dict[str, str], once: frozenset[str]) -> None:
        """Count the samples of the load; `groups` are the names of several loads by those of their threads."""
        if not self.instants_ms:
            return
        for sample in samples:
            if group_of(sample.thread_name, sample.label, once) == LOAD:
                name = groups.get(thread_group_of(sample.thread_name), "") if groups else sample.label
                part = bisect_right(self.instants_ms, sample.end_ms)
                self.by_part[name, sample.is_transaction][part].add(
                    sample.elapsed_ms // sample.sample_count, sample.sample_count
                )

    @property
    def labels(self) -> list[str]:
        """The labels in order of appearance."""
        return list(dict.fromkeys(name for name, _ in self.by_part))

    def of(self, name: str, interval: IntervalMs | None) -> Histogram:
        """Return the times of its requests that ended in an interval; of its transactions if it has no requests."""
        total = Histogram()
        if interval is not None:
            parts = self.by_part.get((name, False)) or self.by_part.get((name, True)) or {}
            begin, end = (bisect_right(self.instants_ms, at) for at in interval)
            for part in range(begin, end):
                if part in parts:
                    total.merge(parts[part].counts)
        return total


def _p95_ms(times: Histogram) -> int | None:
    return times.quantile_ms(P95.ratio) if times.count >= _SAMPLES_LEAST else None


def goals_of_jobs(jobs: Sequence[FoundJob]) -> tuple[GoalResult, ...]:
    """Return a goal for each job: its duration is at most that of its goal, else its limit, in every repetition.

    A job that is not done misses it.
    """
    by_name: dict[str, list[FoundJob]] = {}
    for job in jobs:
        by_name.setdefault(job.run.name, []).append(job)
    return tuple(map(_goal_of, by_name.values()))


def _goal_of(repetitions: Sequence[FoundJob]) -> GoalResult:
    record = repetitions[0].record
    limit_s = record.limit_s if record.goal_s is None else record.goal_s
    open_ones = [one for one in repetitions if one.run.state != DONE]
    worst_s = max(one.run.duration_s or 0.0 for one in repetitions)
    reason = f"{open_ones[0].run.state}: {open_ones[0].why}".removesuffix(": ") if open_ones else ""
    measured = reason or f"{units.number_text(round(worst_s, 1))} s"
    default = "" if record.goal_s is not None else " (the default)"
    return GoalResult(
        label=record.name,
        metric=AVERAGE.key,
        max=limit_s * MS_PER_S,
        min=None,
        measured=None if open_ones else worst_s * MS_PER_S,
        measured_label=record.name,
        label_count=1,
        missed_count=int(bool(open_ones) or worst_s > limit_s),
        is_met=not open_ones and worst_s <= limit_s,
        text=f"job {record.name}: duration {measured}, goal ≤ {units.number_text(limit_s)} s{default}",
        reason=reason,
        is_default=record.goal_s is None,
        job=record.name,
    )


def reasons_of_jobs(jobs: Sequence[FoundJob], *, was_ended: bool) -> list[str]:
    """Return why the mix of a run is not known: a job whose state nobody knows, or that had not ended.

    With `was_ended` the harness ended the load before its time, and jobs with it.
    """
    reasons = []
    for job in jobs:
        if job.run.state == UNANSWERED:
            reasons.append(f"job {job.run.name}: its state is not known: {job.why}")
        elif job.run.state == UNFINISHED and not was_ended:
            what = "did not begin" if job.run.started_ms is None else "had not ended"
            reasons.append(f"job {job.run.name}: {what} when the run ended")
    return list(dict.fromkeys(reasons))


def durations_of(group: Group | None, jobs: Sequence[JobRun]) -> tuple[LabelFigures, ...]:
    """Return the labels whose times are durations of jobs that are done; without their requests.

    A job that failed soon is no fast job. Without `jobs`, as in a bare JTL, each must have succeeded.
    """
    open_names = {job.name for job in jobs if job.state != DONE}
    labels = group.labels if group else ()
    return tuple(
        label
        for label in labels
        if label.is_transaction and (label.label not in open_names if jobs else not label.error_count)
    )
