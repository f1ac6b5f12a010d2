"""Runs a load and finishes its record: of a prepared run, or with the start and the end of its system."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from harness.base import units
from harness.base.errors import InvalidRunError
from harness.base.guardian import Guardian
from harness.base.interrupts import held
from harness.base.log import Log
from harness.base.secrecy import masked
from harness.base.secrets import mask_secrets
from harness.plan.http_sampler import JMETERS, LEAN
from harness.plan.job import latest_end_s
from harness.plan.load.model import OpenLoad
from harness.plan.plan import Dump
from harness.plan.spec import RunSpec
from harness.run.context import RunContext, start, system_of, warn_of
from harness.run.directory import RunDirectory
from harness.run.jmeter import exchanges
from harness.run.jmeter import process as jmeter
from harness.run.jmeter.command import LOG_NAME
from harness.run.jmeter.connections import connection_reasons, other_addresses, take_list
from harness.run.jmeter.drive import DriveOutcome, EndOfLoad, drive, with_steps
from harness.run.jmeter.early_stop import EarlyStop
from harness.run.jmeter.interim import interim_of
from harness.run.jmeter.process import JMeter, StopLimits, release
from harness.run.jmeter.progress import JtlTail, Progress, Tails
from harness.run.other_runs import OtherRuns, registered
from harness.run.packing import packing
from harness.run.parts.drive import PartMachines, PartsEnd
from harness.run.parts.share import starting_at
from harness.run.prepare import JAVA_OPTIONS, PreparedRun, held_jmeter, now, prepare
from harness.run.record import FINISHED, SYSTEM_DIED, RunRecord, WarmUpRecord
from harness.run.recorders import finished, recording, stored
from harness.run.request import Request
from harness.run.reserve import reserved
from harness.run.telemetry.processes import GENERATOR
from harness.system.recorder import Started
from harness.system.supervisor import Supervisor

if TYPE_CHECKING:
    from harness.run.jmeter.auto_end import AutoEnd
REMOVED = "the run's folder was removed while it ran"
# A file system without so many free bytes takes no more rows.
_FULL_BYTES = 64 * 1024
_PART_BYTES = 1024 * 1024
_AT_ONCE = StopLimits(0.0, 0.0, 0.0)
_TIME = slice(11, 19)  # of 2026-11-28T19:16:10Z
_COUNTS_NAME, _WARM_UP_NAME = ".http-requests.json", ".warm-up.json"


def measure_with_system(spec: RunSpec, request: Request, directory: RunDirectory, context: RunContext) -> RunRecord:
    """Start the system unless there is a target, run JMeter, write run.json and return it; stop what was started.

    JMeter starts, and warms up, while the system starts. StartError when that does not start.
    """
    with ExitStack() as stack:
        # From the start: the system writes its logs into the directory, and the plan there is masked only at the end.
        stack.enter_context(context.guardian.masking(directory.path, spec.hidden))
        system, prepared = None, None
        if spec.target is None:
            system = stack.enter_context(system_of(request, directory.system_logs, context))

            def start_jmeter() -> None:
                nonlocal prepared
                with held():
                    run = prepare(spec, directory, system, context)
                    jmeter = held_jmeter(run)
                    stack.callback(jmeter.stop, _AT_ONCE)
                    prepared = replace(run, jmeter=jmeter)

            start(system, directory.system_logs, request, context, None if context.parts else start_jmeter)
        prepared = prepared or prepare(spec, directory, system, context)
        record = replace(prepared.record, started_at=now())
        prepared = replace(prepared, manifest=request.manifest, record=record)
        with context.interrupts.deferred():
            record = measure(prepared, context)
            if system:
                recordings = system.recordings
                system.stop()  # a JVM writes its recording when it ends
                mask_secrets(directory.system_logs, spec.hidden)
                record = finished(prepared, context, record, recordings)
        return record


def measure(run: PreparedRun, context: RunContext) -> RunRecord:
    """Run the load, write the finished record to run.json and return it. Interrupts must be held."""
    with run.directory.held():
        return _measure(run, context)


def _measure(run: PreparedRun, context: RunContext) -> RunRecord:
    spec, directory, record = run.spec, run.directory, run.record
    directory.write_run(record)
    remove_if_killed(directory.path, context.guardian)
    started_s = time.monotonic()
    with nullcontext(OtherRuns(is_off=True)) if context.parts else registered(record.id) as others:
        auto_end = _auto_end(spec)
        tail = _tail(run, context)
        offset = (lambda: tail.offset) if isinstance(tail, JtlTail) else None
        packing_samples = packing(spec, directory.samples, offset, context.log)
        with (
            packing_samples as packer,
            reserved(directory.path, context.guardian) as free,
            recording(run, context) as started,
        ):
            driven = _drive(run, context, others, tail, auto_end, free)
        outcome = driven.outcome
        others.new()  # finds a run that started in the last second
    if not directory.path.is_dir():
        what = f"{directory.plan}/{directory.name}: {REMOVED}"
        raise InvalidRunError(what, "its samples are gone")
    noted = take_list(run.command.connections, directory)
    unknown = stored({**started, **driven.recorders}, context.log)
    # The system still writes its logs; they are masked after it stops.
    store_failures(directory, spec.hidden)
    http_requests = _taken_counts(directory)
    warm_up = _taken_warm_up(directory)
    if changed := mask_secrets(directory.path, spec.hidden, but=directory.system_logs):
        context.log(f"masked secrets in {', '.join(changed)}")
    ended = driven.ended
    deaths = ended.deaths if ended else noted.deaths
    reasons = outcome.reasons if ended else _reasons(run, driven, noted.busy, are_deaths_known=bool(deaths))
    record = replace(
        record,
        state=FINISHED,
        ended_at=now(),
        took_s=round(time.monotonic() - started_s, 1),
        exit_codes=ended.exit_codes if ended else {GENERATOR: outcome.exit_code},
        interrupted=outcome.interrupted,
        stop_reasons=tuple(masked(reason, spec.hidden) for reason in reasons),
        dump_figures=read_figures(directory.path, spec.plan.dumps),
        generators=context.parts.records(spec.load) if context.parts else record.generators,
        other_runs=ended.other_runs if ended else tuple(map(str, others.seen)),
        auto_end=auto_end.record if auto_end else None,
        stopped_early=outcome.stopped_early,
        left_out_arrivals=ended.left_out_arrivals if ended else noted.left_out_count,
        deaths=tuple(replace(one, cause=masked(one.cause, spec.hidden)) for one in deaths),
        rows=ended.rows if ended else noted.rows,
        groups=tuple(one.masked(spec.hidden) for one in (ended.groups if ended else noted.groups)),
        wake_delays=ended.wake_delays if ended else noted.wake_delays,
        heap_dumps={path.name: path.stat().st_size for path in sorted(directory.path.glob("*.hprof"))},
        unknown={**record.unknown, **unknown},
        packed_samples=packer.packed if packer else None,
        http_requests=ended.http_requests if ended else http_requests,
        warm_up=warm_up,
        other_addresses=other_addresses(directory),
    )
    directory.write_run(record)
    return record


def _reasons(run: PreparedRun, driven: _Driven, busy: Mapping[str, int], *, are_deaths_known: bool) -> tuple[str, ...]:
    """Return why a run of this process is INVALID: what JMeter says, connections, and errors of its log."""
    outcome, directory = driven.outcome, run.directory
    own = tuple(with_steps(reason, busy) for reason in outcome.reasons)
    reasons = own + connection_reasons(directory, run.command.allowed_connections)
    if driven.was_full:
        return reasons
    return reasons + _reasons_from_log(directory, outcome, are_deaths_known=are_deaths_known)


def _taken_counts(directory: RunDirectory) -> Mapping[str, int]:
    """Return and remove the numbers that LeanSampler.java writes when JMeter ends; nothing without them."""
    try:
        counts = _taken(directory, _COUNTS_NAME)
        return {name: int(counts[name]) for name in (LEAN, JMETERS)}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _taken_warm_up(directory: RunDirectory) -> WarmUpRecord | None:
    """Return and remove what WarmUp.java writes before the load; None without it."""
    try:
        return WarmUpRecord(**_taken(directory, _WARM_UP_NAME))
    except (OSError, ValueError, TypeError):
        return None


def _taken(directory: RunDirectory, name: str) -> Any:
    path = directory.path / name
    data = json.loads(path.read_text())
    path.unlink()
    return data


class _Driven(NamedTuple):
    """The end of a load, what recorded with JMeter, by recorder, and the end of its parts, if it had any.

    `was_full` means that its disk was.
    """

    outcome: DriveOutcome
    recorders: Mapping[str, Started]
    ended: PartsEnd | None
    was_full: bool


def _drive(
    run: PreparedRun,
    context: RunContext,
    others: OtherRuns,
    tail: JtlTail | Tails,
    auto_end: AutoEnd | None,
    free: Callable[[], None],
) -> _Driven:
    """Run JMeter until it ends, and show progress; then `free` the disk for what is written afterwards."""
    spec, directory, system = run.spec, run.directory, run.system
    parts, command = context.parts, run.command
    request_count = None if isinstance(spec.load, OpenLoad) else spec.load.requests
    jobs_s = latest_end_s(spec.plan.jobs)
    early_stop = EarlyStop(spec.plan.stop, spec.load, spec.plan.once_labels) if spec.plan.stop else None
    end = EndOfLoad(spec.load.duration_s, spec.profile.overrun_s, request_count, auto_end, early_stop, jobs_s)
    with ExitStack() as stack:
        if spec.start_at:
            command = starting_at(command, spec.start_at, JAVA_OPTIONS)
        process = parts.launch(context.interrupts) if parts else run.jmeter or JMeter(command, directory.path)
        # This does nothing unless an error of the harness left JMeter running.
        stack.callback(process.stop, _AT_ONCE)
        pids = {GENERATOR: process.pid} if isinstance(process, JMeter) else {}
        interim = interim_of(context.show_interim, spec.load.duration_s, spec.plan.once_labels)
        progress = Progress(context.console, context.log, interim, context.watch)

        def failures() -> tuple[str, ...]:
            warn_of(others.new(), progress.log)
            problems = [one.problem() for one in started.values()]
            return folder.failures(problems) or _failures(system, parts, context.guardian)

        warn_of(others.new(), progress.log)
        folder = FolderWatch(directory.path, progress.log)
        with recording(run, context, pids) as started, progress:
            if run.jmeter:
                release(command)
            outcome = drive(process, tail, progress, context.interrupts, failures, end)
            folder.failures()  # the disk may have become full in the last second
            free()
            if context.watch:
                context.watch(tail.new_rows().samples, 0.0, None)  # what JMeter wrote at its end
    full = folder.reasons(directory.samples)
    if full:  # whatever else went wrong follows from it
        outcome = replace(outcome, reasons=full)
    ended = parts.end(directory) if parts else None
    if ended and ended.reasons and not outcome.interrupted:
        outcome = replace(outcome, reasons=tuple(dict.fromkeys((*outcome.reasons, *ended.reasons))))
    return _Driven(outcome, started, ended, bool(full))


def _tail(run: PreparedRun, context: RunContext) -> JtlTail | Tails:
    """Return what reads the rows of a load while it lasts; those of a part are read by its launcher."""
    is_whole = context.watch is not None
    if context.parts:
        return context.parts.tail(run.directory, is_whole=is_whole)
    is_launched = Path(run.spec.start_at).is_absolute()
    return Tails([]) if is_launched else JtlTail(run.directory.samples, is_whole=is_whole)


def _auto_end(spec: RunSpec) -> AutoEnd | None:
    """Return the end condition of a load of the length `auto`; None for other loads."""
    if isinstance(spec.load, OpenLoad) or not spec.load.is_auto:
        return None
    from harness.run.jmeter.auto_end import AutoEnd  # imported here, because other runs do not need it

    return AutoEnd(spec.load, spec.plan.once_labels)


def _failures(system: Supervisor | None, parts: PartMachines | None, guardian: Guardian) -> tuple[str, ...]:
    """Return a line for each process that died since the last call; restart a guardian that died."""
    guardian.keep_up()
    ended = system.check() if system else ()
    died = tuple(f"{process.name} {SYSTEM_DIED}: it {jmeter.ending_text(process.exit_code)}" for process in ended)
    return died + (parts.failures() if parts else ())


def _reasons_from_log(directory: RunDirectory, outcome: DriveOutcome, *, are_deaths_known: bool) -> tuple[str, ...]:
    """Return the reasons in jmeter.log why a run does not match its request.

    These are the messages of the plan, else samples that left no row. Without them, they are JMeter's own errors, if
    JMeter recorded no sample, lost a user that the agent does not know, or ended with an error.
    """
    if outcome.interrupted:
        return ()
    path, log = directory.path, LOG_NAME
    if messages := dict.fromkeys(jmeter.plan_messages(path, log)):
        return tuple(f"the plan says: {text}" for text in messages)
    if lost := jmeter.lost_samples(path, log):
        return (lost,)
    has_failed = outcome.exit_code != 0 and not outcome.stopped_early
    has_samples = directory.samples.is_file() and directory.samples.stat().st_size > 0
    if has_samples and not has_failed and (are_deaths_known or not jmeter.has_dead_thread(path, log)):
        return ()
    with_console = jmeter.signal_of(outcome.exit_code) is None
    reason = jmeter.reason_from_logs(path, log, with_console=with_console)
    return (f"{log}: {reason}",) if reason else ()


def read_figures(directory: Path, dumps: Sequence[Dump]) -> tuple[tuple[str, str], ...]:
    """Return (label, value) for every dump; a missing value is reported as unknown, never as 0."""
    return tuple((dump.label, _figure(directory / dump.file, dump.path)) for dump in dumps)


def _figure(path: Path, keys: Sequence[str]) -> str:
    try:
        value: Any = json.loads(path.read_text(encoding="utf-8"))
        for key in keys:
            value = value[key]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return f"not known ({path.name} does not contain it)"
    return str(value)


class FolderWatch:
    """Watches the folder of a run; call `failures` about once a second. `log` prints a line."""

    def __init__(self, folder: Path, log: Log) -> None:
        self._folder, self._log, self._full_at = folder, log, ""

    def failures(self, problems: Iterable[str] = ()) -> tuple[str, ...]:
        """Return why the run cannot continue, and print once that samples are being lost.

        `problems` are why recorders could not write their rows, "" for nothing.
        """
        try:
            free_bytes = shutil.disk_usage(self._folder).free
        except OSError:
            return (REMOVED,)
        problem = next(filter(None, problems), "")
        if (problem or free_bytes < _FULL_BYTES) and not self._full_at:
            self._full_at = now()[_TIME]
            why = problem or "its disk is full"
            what = f"{self._folder.name} cannot be written ({why})"
            self._log(f"warning: {what}: samples are being lost; free disk space")
        return ()

    def reasons(self, samples: Path) -> tuple[str, ...]:
        """Return why the samples of the run are not complete."""
        if not self._full_at:
            return ()
        stored = f"{units.plural(_row_count(samples), 'row')} of samples are stored, " if samples.is_file() else ""
        return (
            f"the disk was full at {self._full_at} UTC: {stored}later ones are lost; free disk space, then run again",
        )


def _row_count(samples: Path) -> int:
    """Return the number of whole rows of a JTL, without its head."""
    with samples.open("rb") as file:
        return max(0, sum(part.count(b"\n") for part in iter(lambda: file.read(_PART_BYTES), b"")) - 1)


def remove_if_killed(folder: Path, guardian: Guardian) -> None:
    """Have the unmasked file removed when the harness dies before `store_failures`."""
    guardian.remove_at_end(folder / exchanges.RAW_NAME)


def store_failures(directory: RunDirectory, hidden: Iterable[str]) -> None:
    """Write the masked exchanges of JMeter; remove the unmasked file. A run without failures has neither."""
    raw = directory.path / exchanges.RAW_NAME
    if not raw.is_file():
        return
    if found := exchanges.parse_exchanges(raw.read_text(encoding="utf-8", errors="replace")):
        text = exchanges.exchanges_text(exchanges.masked_exchanges(exchanges.first_of_each_cause(found), hidden))
        directory.failures.write_text(text, encoding="utf-8")
    raw.unlink()
