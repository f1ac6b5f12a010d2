"""Measures the levels of a sweep: starts and warms up the system once, or again before each level."""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from harness.base import units
from harness.base.errors import StartError
from harness.base.secrets import mask_secrets
from harness.experiment.execute import MeasuredRun
from harness.experiment.files import ExperimentFiles
from harness.experiment.record import ExperimentRun
from harness.plan.division import check_users
from harness.plan.load.model import Load, LoadRequest, load_record, resolve_load
from harness.plan.spec import RunSpec
from harness.report.setup import load_text
from harness.run.context import RunContext, start, system_of
from harness.run.directory import RunDirectory, reserve
from harness.run.measure import measure
from harness.run.prepare import PreparedRun, prepare
from harness.run.record import RunRecord
from harness.run.recorders import finished
from harness.run.request import Request
from harness.sweep.record import SweepRecord, SweepRun
from harness.system.jcmd import dump_recordings
from harness.system.supervisor import Supervisor

# Gets the directory and the spec of a run that starts.
Began = Callable[[RunDirectory, RunSpec], None]


def level_load(request: Request, sweep: SweepRecord, users: int) -> Load:
    """Return the load of a level. UsageError when the sweep's ramp, duration and loops are invalid for it."""
    wanted = LoadRequest(None, sweep.ramp_s, sweep.duration_s, sweep.loops, sweep.rate_per_s, sweep.requests)
    wanted = wanted if sweep.rate_per_s else replace(wanted, users=users)
    # All levels have the same length.
    load = resolve_load(wanted, replace(request.plan.load, auto_most_s=None))
    check_users(load, len(request.remotes))
    return load


class Levels:
    """The system or target of a sweep's levels; the system is stopped at the end of the block.

    `requests` has the request of each level by its value of the swept setting, such as delay_ms=20; the key is empty in
    a sweep over users. `folder` is temporary: it contains the logs of the system, and the warm-up.
    """

    def __init__(
        self,
        requests: Mapping[str, Request],
        files: ExperimentFiles,
        context: RunContext,
        folder: Path,
        warm_up_users: int,
    ) -> None:
        self._requests = requests
        self._request = next(iter(requests.values()))
        self._files = files
        self._context = context
        self._logs = folder / "logs"
        self._warm_up_directory = RunDirectory(folder / "warm-up")
        self._warm_up_users = warm_up_users
        self._system: Supervisor | None = None
        self._is_warm = False

    def __enter__(self) -> Levels:
        return self

    def __exit__(self, *_: object) -> None:
        with self._context.interrupts.deferred():
            self._stop()

    def measured(self, sweep: SweepRecord, run: ExperimentRun, began: Began) -> MeasuredRun:
        """Measure one level of a sweep. `began` is called before the run.

        StartError when the system does not start, or dies during the warm-up.
        """
        assert isinstance(run, SweepRun)
        since_s = time.monotonic()
        if sweep.restarts_before(run) or (self._system and not self._system.is_up):
            self._stop()
        self._request = self._requests[run.setting]
        if self._request.target is None and self._system is None:
            self._system = system_of(self._request, self._logs, self._context)
            start(self._system, self._logs, self._request, self._context)
        if not self._is_warm:
            self._warm_up(sweep)
        if not sweep.restarts_before(run):  # the system starts once, before the first level
            since_s = time.monotonic()
        directory = reserve(self._files.folder.parent.parent, sweep.plan, sweep.series)
        try:
            return MeasuredRun(directory, self._measure(sweep, run, directory, began).interrupted, since_s)
        finally:
            if not directory.run_json.is_file():
                directory.discard()

    def _measure(self, sweep: SweepRecord, run: SweepRun, directory: RunDirectory, began: Began) -> RunRecord:
        load, system, note = level_load(self._request, sweep, run.users), self._system, sweep.run_note()
        spec = self._request.run_spec(load, note=sweep.note_of(note), command=self._command(sweep, run))
        with self._context.guardian.masking(directory.path, spec.hidden):
            prepared = prepare(spec, directory, system, self._context, (("warm-up", _warm_up_text(sweep)),))
            kept_up = system is not None and not sweep.fresh
            prepared = replace(prepared, record=replace(prepared.record, kept_up=kept_up))
            with self._context.interrupts.deferred():
                began(directory, spec)
                ends = log_ends(self._logs) if kept_up else {}
                record = measure(prepared, self._context)
                if system:
                    record = self._finished(prepared, record, system, ends)
        return record

    def _command(self, sweep: SweepRecord, run: SweepRun) -> str:
        """Return the command that measures only this level."""
        level = {} if sweep.rate_per_s else {"users": str(run.users)}
        return str(self._request.command.changed(**level))

    def _finished(self, run: PreparedRun, record: RunRecord, system: Supervisor, ends: Mapping[str, int]) -> RunRecord:
        """Store the log lines and JVM heaps of this run; return the record with what is not known of them."""
        directory, recordings = run.directory, system.recordings
        with contextlib.suppress(OSError):  # the report lists the missing logs
            copy_new_lines(self._logs, ends, directory.system_logs, recordings.values())
            mask_secrets(directory.system_logs, self._request.hidden)
        copies = {process: directory.system_logs / path.name for process, path in recordings.items()}
        missing = dump_recordings(system.processes, copies, self._context.guardian.environment)
        whole = {process: path for process, path in copies.items() if process not in dict(missing)}
        return finished(run, self._context, record, whole, missing)

    def _stop(self) -> None:
        if self._system:
            self._system.stop()
            self._system, self._is_warm = None, False

    def _warm_up(self, sweep: SweepRecord) -> None:
        """Load the system and discard the samples: JVMs compile, caches and pools fill."""
        self._is_warm = True
        if not sweep.warm_up_s:
            return
        load = resolve_load(LoadRequest(self._warm_up_users, duration_s=sweep.warm_up_s), self._request.plan.load)
        spec, directory = self._request.run_spec(load, note="", command=""), self._warm_up_directory
        # A cold system may be slow, and what it does is not of interest. A job may last longer than a warm-up.
        spec = replace(spec, plan=replace(spec.plan, stop=(), jobs=()), is_profiled=False)
        self._context.log(f"warm-up, not counted: {load_text(load_record(load, self._request.plan.load))}")
        shutil.rmtree(directory.path, ignore_errors=True)
        directory.path.mkdir(parents=True)
        run = prepare(spec, directory, self._system, self._context)
        with self._context.interrupts.deferred():
            record = measure(run, replace(self._context, watch=None))
        if record.interrupted:
            raise KeyboardInterrupt
        for reason in record.stop_reasons:
            self._context.log(f"warm-up: {reason}")
        if self._system and not self._system.is_up:
            raise StartError(f"{self._system.manifest.title}: died during the warm-up", "see the lines above")


def _warm_up_text(sweep: SweepRecord) -> str:
    """Return the warm-up of a run for its set-up section."""
    if not sweep.warm_up_s:
        return "none"
    when = "before this level" if sweep.fresh else "before the first level of the sweep"
    return f"{units.duration_text(sweep.warm_up_s)} {when}"


def log_ends(folder: Path) -> Mapping[str, int]:
    """Return the size in bytes of every log in `folder` by name: the next run's part begins there."""
    return {path.name: path.stat().st_size for path in folder.iterdir() if path.is_file()}


def copy_new_lines(folder: Path, ends: Mapping[str, int], target: Path, leave_out: Iterable[Path] = ()) -> None:
    """Copy what was added to the logs in `folder` since `ends` to `target`; a log that shrank is copied whole.

    A log without new lines becomes an empty file, which shows that nothing was logged. `leave_out` are files that are
    not logs.
    """
    target.mkdir(parents=True, exist_ok=True)
    for name, size in log_ends(folder).items():
        path = folder / name
        if path in set(leave_out):
            continue
        begin = ends.get(name, 0)
        with path.open("rb") as log, (target / name).open("wb") as out:
            log.seek(begin if begin <= size else 0)
            shutil.copyfileobj(log, out)
