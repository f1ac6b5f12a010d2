"""The steps of an overload test: its variants one after the other, each with a system of its own."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from harness.base import units
from harness.base.errors import InvalidRunError, UsageError
from harness.compare.result import RunResult
from harness.experiment.counting import Needs, problem_of
from harness.experiment.execute import Measured, Step
from harness.experiment.files import ExperimentFiles, Experiments
from harness.experiment.record import FINISHED, ExperimentRun
from harness.experiment.runner import Design
from harness.jtl.inputs import Input
from harness.metrics.files import each_sample
from harness.overload.attempts import Attempts, attempts_of
from harness.overload.levels import load_s, stages
from harness.overload.record import GIVEN_RATE, OverloadRecord, VariantRun
from harness.overload.render import result_line, write_overload_report
from harness.overload.result import VariantResult, level_results, recovery_result, requests_per_user
from harness.plan.group_load import REQUEST, GroupLoad, SeveralLoads
from harness.plan.jmx import LOAD_GROUP, read_properties
from harness.plan.load import ClosedLoad
from harness.plan.spec import RunSpec
from harness.plan.thread_groups import DRAIN_S
from harness.run.context import RunContext
from harness.run.directory import RunDirectory, reserve
from harness.run.measure import measure_with_system
from harness.run.request import Request
from harness.run.set_values import split_text
from harness.sweep.record import CAPACITY, SweepRecord

# What a variant takes beside its load: start of the system and of JMeter, last samples, report.
OVERHEAD_S = 40.0 + DRAIN_S
_TIME_OUTS = ("connect_timeout_ms", "response_timeout_ms")


class OverloadRuns:
    """The runs of an overload test, each with a system of its own: `requests` has the request of each variant."""

    def __init__(
        self, record: OverloadRecord, files: ExperimentFiles, requests: Mapping[str, Request], context: RunContext
    ) -> None:
        self.record = record
        self._files = files
        self._requests = requests
        self._context = context

    def find_rate(self, capacity: Capacity) -> OverloadRecord:
        """Run one user once, and return the record with the new users per second whose requests are the capacity."""
        variant = self.record.variants[0]
        self._context.log(f"{self.record.id}: one user, not counted, shows how many requests a user makes")
        request = self._requests[variant]
        spec = request.run_spec(one_user(), note="", command="")
        with tempfile.TemporaryDirectory(prefix="overload-") as folder:
            self._context.guardian.remove_at_end(Path(folder))
            directory = RunDirectory(Path(folder) / "one-user")
            directory.path.mkdir()
            run = measure_with_system(spec, request, directory, replace(self._context, watch=None))
            if run.interrupted:
                raise KeyboardInterrupt
            attempts = self._attempts(directory)
        count = len(attempts.attempts)
        if not count:
            raise InvalidRunError(f"{self.record.id}: one user made no request", "make check shows what the plan does")
        source = f"{capacity.source}; {units.plural(count, 'request')} of one user"
        return replace(self.record, capacity_per_s=capacity.requests_per_s / count, capacity_source=source)

    def measured(self, run: ExperimentRun, began: Callable[[RunDirectory, RunSpec], None]) -> Measured:
        """Measure a variant; `began` is called before its system starts."""
        assert isinstance(run, VariantRun)
        record, request = self.record, self._requests[run.variant]
        load = load_of(request, record.capacity_per_s or 0.0, record.level_s)
        link = f"A variant of [{record.name}]({record.name}.md): {record.variant_names[run.variant]}."
        note = record.note_of(link)
        spec = request.run_spec(load, note=note, command=record.command)
        directory = reserve(self._files.folder.parent.parent, record.plan, record.series)
        try:
            began(directory, spec)
            done = measure_with_system(spec, request, directory, self._context)
            return Measured(directory, done.interrupted)
        finally:
            if not directory.run_json.is_file():
                directory.discard()

    def noted(self, run: ExperimentRun, directory: RunDirectory, result: RunResult) -> tuple[ExperimentRun, str]:
        """Return the run with its result, and a line about it."""
        assert isinstance(run, VariantRun)
        attempts, level_s = self._attempts(directory), self.record.level_s
        state, reasons = (result.verdict.state, result.verdict.reasons) if result.verdict else ("", ())
        if problem_of(result, needs=Needs.VALID).text or not attempts.attempts:
            run = replace(run, problem="; ".join(reasons) or "no request of the load")
        else:
            variant_result = VariantResult(
                levels=level_results(attempts, self.record.capacity_per_s or 0.0, level_s),
                recovery=recovery_result(attempts, level_s),
                requests_per_user=requests_per_user(attempts, level_s),
                most_users=attempts.most_users,
                time_outs=_time_outs_text(self._requests[run.variant]),
                run_state=state,
                run_reasons=reasons,
            )
            run = replace(run, result=variant_result)
        return run, result_line(run, self.record.limit_ms)

    def _attempts(self, directory: RunDirectory) -> Attempts:
        inputs = [Input(path.name, path) for path in directory.all_samples]
        return attempts_of((sample for _, sample in each_sample(inputs)), self.record.limit_ms)


@dataclass(frozen=True)
class OverloadTest(Design[OverloadRecord, OverloadRecord]):
    """An overload test with its files."""

    files: ExperimentFiles

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
        number = len(record.variants) - left + 1
        heading = f"{record.id}: variant {number} of {len(record.variants)}, {record.variant_names[variant]}"
        each_s = load_s(record.level_s)
        return Step(run=VariantRun(variant), heading=heading, planned_s=[each_s], left_s=[each_s] * left)


def one_user() -> ClosedLoad:
    """Return the load of one user who runs the plan once."""
    return ClosedLoad(1, 0.0, None, 1)


def load_of(request: Request, capacity_per_s: float, level_s: int) -> SeveralLoads:
    """Return the load of a variant: new users in steps."""
    plan = request.plan.load
    per = None if plan.think_time_per == REQUEST else plan.think_time_per
    group = GroupLoad(LOAD_GROUP, stages(capacity_per_s, level_s), plan.think_time_s, per)
    return SeveralLoads((group,))


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
class Capacity:
    """The successful requests per second at the greatest number of users within a goal, and where that was found."""

    requests_per_s: float
    source: str


def last_capacity(
    reports: Path, plan: str, profile: str, target: str | None, assignments: Collection[str]
) -> Capacity | None:
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


def _capacity(files: ExperimentFiles, record: SweepRecord) -> Capacity | None:
    # Imported here, because NumPy loads slowly and a given RATE does not need it.
    from harness.sweep.analysis import analyse
    from harness.sweep.sources import read_sweep

    sweep = read_sweep(files.record).sweep
    answer = analyse(sweep.levels, sweep.goal).answer
    users = answer.users
    rates = [level.figures.success_rate_per_s for level in sweep.levels if level.users == users]
    if not users or not rates or not rates[0]:
        return None
    least = "at least " if answer.is_least else ""
    text = f"{least}{units.rate_text(rates[0])} successful requests/s at {units.plural(users, 'user')} ({record.name})"
    return Capacity(rates[0], text)
