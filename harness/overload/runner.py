"""Runs the variants of an overload test one after the other, each with a system of its own, and stores the results."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from harness.base import units
from harness.base.errors import HarnessError, InvalidRunError, StartError
from harness.base.paths import shown
from harness.compare.result import RunResult
from harness.jtl.inputs import Input
from harness.metrics.files import each_sample
from harness.overload.attempts import Attempts, attempts_of
from harness.overload.capacity import Capacity
from harness.overload.files import OverloadFiles
from harness.overload.levels import load_s, stages
from harness.overload.record import FINISHED, OverloadRecord, VariantRun
from harness.overload.render import result_line
from harness.overload.result import VariantResult, level_results, recovery_result, requests_per_user
from harness.plan.group_load import REQUEST, GroupLoad, SeveralLoads
from harness.plan.jmx import LOAD_GROUP, read_properties
from harness.plan.load import ClosedLoad
from harness.plan.thread_groups import DRAIN_S
from harness.report.files import write_report
from harness.report.summary import RunSummary
from harness.report.watchers import Watchers
from harness.run.context import RunContext
from harness.run.directory import RunDirectory, reserve
from harness.run.request import Request
from harness.run.with_system import measure_with_system

# What a variant takes beside its load: start of the system and of JMeter, last samples, report.
OVERHEAD_S = 40.0 + DRAIN_S
_TIME_OUTS = ("connect_timeout_ms", "response_timeout_ms")


class OverloadRunner:
    """An overload test in progress: its record, and the request of each variant."""

    def __init__(
        self,
        record: OverloadRecord,
        files: OverloadFiles,
        requests: Mapping[str, Request],
        context: RunContext,
        watchers: Watchers,
    ) -> None:
        self.record = record
        self._files = files
        self._requests = requests
        self._context = context
        self._watchers = watchers

    def run(self, capacity: Capacity | None) -> HarnessError | None:
        """Run the remaining variants; return the error that stopped the test, None at its end or after Ctrl-C.

        `capacity` is needed when the record has no rate yet.
        """
        try:
            if self.record.capacity_per_s is None and capacity:
                self._find_rate(capacity)
            while self.record.variants_left and not self._context.interrupts.count:
                self._measure(self.record.variants_left[0])
        except KeyboardInterrupt:
            return None
        except (StartError, InvalidRunError) as error:
            return error
        if not self.record.variants_left:
            self._write(replace(self.record, state=FINISHED))
        return None

    def _find_rate(self, capacity: Capacity) -> None:
        """Run one user once, and store the new users per second whose requests are the capacity."""
        variant = self.record.variants[0]
        self._context.log(f"{self.record.id}: one user, not counted, shows how many requests a user makes")
        request = self._requests[variant]
        spec = request.run_spec(one_user(), note="", command="")
        with tempfile.TemporaryDirectory(prefix="overload-") as folder:
            self._context.guardian.remove_at_end(Path(folder))
            directory = RunDirectory(Path(folder) / "one-user")
            directory.path.mkdir()
            run = measure_with_system(spec, request, directory, self._context)
            if run.interrupted:
                raise KeyboardInterrupt
            attempts = self._attempts(directory)
        count = len(attempts.attempts)
        if not count:
            raise InvalidRunError(f"{self.record.id}: one user made no request", "make check shows what the plan does")
        source = f"{capacity.source}; {units.plural(count, 'request')} of one user"
        self._write(replace(self.record, capacity_per_s=capacity.requests_per_s / count, capacity_source=source))

    def _measure(self, variant: str) -> None:
        record = self.record
        request, rate_per_s = self._requests[variant], record.capacity_per_s or 0.0
        heading = self._heading(variant)
        self._context.log(heading)
        self._watchers.announce(heading)
        load = load_of(request, rate_per_s, record.level_s)
        spec = request.run_spec(load, note=_note(record, variant), command=record.command)
        directory = reserve(self._files.folder.parent.parent, record.plan, record.series)
        self._write(replace(record, under_way=VariantRun(variant, directory.name)))
        try:
            self._watchers.begin(directory, spec)
            run = measure_with_system(spec, request, directory, replace(self._context, watch=self._watchers.watch))
        finally:
            if not directory.run_json.is_file():
                directory.discard()
                self._write(replace(self.record, under_way=None))
        with self._context.interrupts.deferred():
            self._watchers.finish()
            summary = write_report(directory)
            self._watchers.end(summary, shown(directory.report))
            if run.interrupted:
                broken_off = (*record.broken_off, VariantRun(variant, directory.name))
                self._write(replace(self.record, under_way=None, broken_off=broken_off))
                return
            done = self._result(variant, directory, request, summary)
            self._write(replace(self.record, under_way=None, runs=(*record.runs, done)))
            self._context.log(f"  {result_line(done, self.record.limit_ms)}")
            self._watchers.conclude(result_line(done, self.record.limit_ms))

    def _result(self, variant: str, directory: RunDirectory, request: Request, summary: RunSummary) -> VariantRun:
        attempts = self._attempts(directory)
        result = RunResult.of(summary)
        state, reasons = (result.verdict.state, result.verdict.reasons) if result.verdict else ("", ())
        if result.is_invalid or not attempts.attempts:
            return VariantRun(variant, directory.name, None, "; ".join(reasons) or "no request of the load")
        level_s = self.record.level_s
        return VariantRun(
            variant,
            directory.name,
            VariantResult(
                levels=level_results(attempts, self.record.capacity_per_s or 0.0, level_s),
                recovery=recovery_result(attempts, level_s),
                requests_per_user=requests_per_user(attempts, level_s),
                most_users=attempts.most_users,
                time_outs=time_outs_text(request),
                run_state=state,
                run_reasons=reasons,
            ),
        )

    def _attempts(self, directory: RunDirectory) -> Attempts:
        inputs = [Input(path.name, path) for path in directory.all_samples]
        return attempts_of((sample for _, sample in each_sample(inputs)), self.record.limit_ms)

    def _heading(self, variant: str) -> str:
        record = self.record
        number = len(record.variants) - len(record.variants_left) + 1
        left_s = planned_s(record.level_s, len(record.variants_left))
        what = f"variant {number} of {len(record.variants)}, {record.variant_names[variant]}"
        return f"{record.id}: {what}; about {units.duration_text(left_s)} left"

    def _write(self, record: OverloadRecord) -> None:
        self._files.write(record)
        self.record = record


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


def time_outs_text(request: Request) -> str:
    """Return the client's time-outs as text: the properties of the plan that set them."""
    known = read_properties(request.plan.jmx_path)
    own = request.plan.own_properties(is_embedded=request.target is None)
    found = [f"{name} {own.get(name) or known[name]}" for name in _TIME_OUTS if name in known]
    return ", ".join(found) or f"not known: the plan reads no {' and no '.join(_TIME_OUTS)}"


def _note(record: OverloadRecord, variant: str) -> str:
    link = f"A variant of [{record.name}]({record.name}.md): {record.variant_names[variant]}."
    return f"{record.note}\n\n{link}" if record.note else link
