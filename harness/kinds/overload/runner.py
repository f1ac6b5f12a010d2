"""The steps of an overload test: its variants one after the other, each with a system of its own."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from harness.base import units
from harness.base.errors import InvalidRunError, UsageError
from harness.experiment.arguments import SLACK_S
from harness.experiment.counting import Needs, problem_of
from harness.experiment.execute import Done, Step
from harness.experiment.files import ExperimentFiles, Experiments
from harness.experiment.record import ENDED, FINISHED
from harness.experiment.runner import Design
from harness.jtl.inputs import Input
from harness.kinds.overload.attempts import Attempts, attempts_of
from harness.kinds.overload.levels import load_s
from harness.kinds.overload.record import GIVEN_RATE, OverloadRecord, VariantRun
from harness.kinds.overload.render import result_line, write_overload_report
from harness.kinds.overload.result import VariantResult, level_results, recovery_result, requests_per_user
from harness.metrics.files import each_sample
from harness.plan.jmx.thread_groups import DRAIN_S
from harness.plan.jmx.tree import read_properties
from harness.plan.load.model import ClosedLoad
from harness.report.run_result import RunResult
from harness.run.child import ChildRun
from harness.run.context import RunContext
from harness.run.directory import RunDirectory
from harness.run.measure import measure_with_system
from harness.run.request import Request
from harness.run.set_values import split_text
from harness.sweep.record import CAPACITY, SweepRecord

# What a variant takes beside its load: start of the system and of JMeter, last samples, report.
OVERHEAD_S = 40.0 + DRAIN_S
_TIME_OUTS = ("connect_timeout_ms", "response_timeout_ms")


@dataclass(frozen=True)
class OverloadTest(Design[OverloadRecord, OverloadRecord]):
    """An overload test with its files. To measure, it needs `requests`, those of its variants.

    `arguments` are options of lth run for all variants, `folders` its options reports, home and build.
    """

    files: ExperimentFiles
    requests: Mapping[str, Request] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()
    folders: Mapping[str, Path] = field(default_factory=dict)

    def judge(self, record: OverloadRecord, results: Mapping[str, RunResult]) -> OverloadRecord:  # noqa: ARG002
        """Return the record: it has the results of the variants."""
        return record

    def store(self, outcome: OverloadRecord) -> None:
        """Write the record as soon as the rate is known or a run began."""
        if outcome.runs or outcome.capacity_source not in ("", GIVEN_RATE):
            self.files.write(outcome)

    def write_page(self, outcome: OverloadRecord) -> None:
        """Write report and chart of the variants so far."""
        if self.files.record.is_file():
            write_overload_report(self.files, outcome)

    def next_step(self, outcome: OverloadRecord) -> Step | None:
        """Return the first variant that is not measured yet."""
        record = outcome
        if not record.variants_left:
            return None
        variant, left = record.variants_left[0], len(record.variants_left)
        number, name = len(record.variants) - left + 1, record.variant_names[variant]
        each_s = load_s(record.level_s)
        own = (
            *((f"--set={variant}",) if variant else ()),
            f"--overload={record.capacity_per_s},{record.level_s},{record.command}",
            "--stop=none",  # it would end the overload
            "--compare=0",
            f"--series={record.series}",
            f"--note={record.note_of(f'A variant of [{record.name}]({record.name}.md): {name}.')}",
        )
        return Step(
            run=VariantRun(variant),
            heading=f"{record.id}: variant {number} of {len(record.variants)}, {name}",
            child=ChildRun(
                f"{record.plan}, {name}", (*self.arguments, *own), self.folders, self.files.next_log(record)
            ),
            runs_in=self.files.folder.parent,
            limit_s=each_s + DRAIN_S + self.requests[variant].profile.overrun_s + SLACK_S,
            planned_s=[each_s],
            left_s=[each_s] * left,
        )

    def ended(self, outcome: OverloadRecord, done: Done) -> Done:
        """Return the variant with its result, which its samples give, and a line about it."""
        run, record = done.run, outcome
        assert isinstance(run, VariantRun)
        if run.state != ENDED:
            return done
        verdict = done.result.verdict if done.result else None
        state, reasons = (verdict.state, verdict.reasons) if verdict else ("", ())
        attempts = None
        if done.directory and not problem_of(done.result, run.problem, Needs.VALID).text:
            attempts = attempts_in(done.directory, record.limit_ms)
        if attempts is None or not attempts.attempts:
            run = replace(run, problem=run.problem or "; ".join(reasons) or "no request of the load")
        else:
            result = VariantResult(
                levels=level_results(attempts, record.capacity_per_s or 0.0, record.level_s),
                recovery=recovery_result(attempts, record.level_s),
                requests_per_user=requests_per_user(attempts, record.level_s),
                most_users=attempts.most_users,
                time_outs=_time_outs_text(self.requests[run.variant]),
                run_state=state,
                run_reasons=reasons,
            )
            run = replace(run, result=result)
        return done._replace(run=run, line=result_line(run, record.limit_ms))


def attempts_in(directory: RunDirectory, limit_ms: float) -> Attempts:
    """Return the requests of a run; `limit_ms` is the longest response time within the goal."""
    inputs = [Input(path.name, path) for path in directory.all_samples]
    return attempts_of((sample for _, sample in each_sample(inputs)), limit_ms)


def with_rate(record: OverloadRecord, request: Request, capacity: KnownCapacity, context: RunContext) -> OverloadRecord:
    """Run one user once, and return the record with the new users per second whose requests are the capacity.

    The run is not stored, nor uploaded, and therefore in this process.
    """
    context.log(f"{record.id}: one user, not counted, shows how many requests a user makes")
    spec = request.run_spec(one_user(), note="", command="")
    with tempfile.TemporaryDirectory(prefix="overload-") as folder:
        context.guardian.remove_at_end(Path(folder))
        directory = RunDirectory(Path(folder) / "one-user")
        directory.path.mkdir()
        if measure_with_system(spec, request, directory, context).interrupted:
            raise KeyboardInterrupt
        count = len(attempts_in(directory, record.limit_ms).attempts)
    if not count:
        raise InvalidRunError(f"{record.id}: one user made no request", "lth check shows what the plan does")
    source = f"{capacity.source}; {units.plural(count, 'request')} of one user"
    return replace(record, capacity_per_s=capacity.requests_per_s / count, capacity_source=source)


def one_user() -> ClosedLoad:
    """Return the load of one user who runs the plan once."""
    return ClosedLoad(1, 0.0, None, 1)


def planned_s(level_s: int, variant_count: int) -> float:
    """Return about how long so many variants take, s."""
    return variant_count * (load_s(level_s) + OVERHEAD_S)


def _time_outs_text(request: Request) -> str:
    """Return the client's time-outs as text: the properties of the plan that set them."""
    known = read_properties(request.plan.jmx_path)
    own = request.plan.own_properties(is_embedded=request.target is None)
    found = [f"{name} {own.get(name) or known[name]}" for name in _TIME_OUTS if name in known]
    return ", ".join(found) or f"not known: the plan reads no {' and no '.join(_TIME_OUTS)}"


@dataclass(frozen=True)
class KnownCapacity:
    """The successful requests per second at the greatest number of users within a goal, and where that was found."""

    requests_per_s: float
    source: str


def last_capacity(
    reports: Path, plan: str, profile: str, target: str | None, assignments: Collection[str]
) -> KnownCapacity | None:
    """Return the capacity that the plan's last finished search found; None without one.

    It must have used the same profile, the same target, and a SET of just these assignments.
    """
    searches = Experiments(SweepRecord, reports)
    for files in reversed(searches.of(plan)):
        try:
            record = searches.read(files)
        except UsageError:
            continue  # of another version, or damaged: it does not count
        same = (record.kind, record.state, record.profile, record.target) == (CAPACITY, FINISHED, profile, target)
        is_of_set = sorted(split_text(record.set_values or "")) == sorted(assignments)
        if same and is_of_set and not record.stop_reason and (found := _capacity(files, record)):
            return found
    return None


def _capacity(files: ExperimentFiles, record: SweepRecord) -> KnownCapacity | None:
    # Imported here, because NumPy loads slowly and a given RATE does not need it.
    from harness.sweep.analysis import analyse
    from harness.sweep.sources import read_sweep

    sweep = read_sweep(files.record).sweep
    answer = analyse(sweep.levels, sweep.goal).answer
    users = answer.users
    rates = [level.figures.success_rate_per_s for level in sweep.levels if level.users == users]
    if not users or not rates or not rates[0]:
        return None
    least = "at least " if answer.is_least or answer.perhaps_users is not None else ""
    text = f"{least}{units.rate_text(rates[0])} successful requests/s at {units.plural(users, 'user')} ({record.name})"
    return KnownCapacity(rates[0], text)
