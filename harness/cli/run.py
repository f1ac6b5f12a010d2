"""`scripts/run`: starts a system or takes a target, drives it with JMeter, leaves a run directory and its report."""

from __future__ import annotations

import argparse
import os
import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

from rich.console import Console

from harness import spec as specs
from harness.errors import StartError, UsageError
from harness.generator import (
    DUMP_DIR,
    LOG_NAME,
    environment,
    jmeter_command,
    load_properties,
    stop_word,
    target_properties,
)
from harness.io import machine, toolchain
from harness.io.drive import Outcome, drive
from harness.io.dumps import read_figures
from harness.io.guardian import Guardian
from harness.io.interrupts import Interrupts
from harness.io.jfr import write_heap
from harness.io.jmeter import JMeter, JMeterHome, free_udp_port, reason_from_logs
from harness.io.ports import check_port
from harness.io.progress import JtlTail, Progress
from harness.io.results import write_report
from harness.io.rundir import RunDirectory, check_space, reserve
from harness.io.supervisor import Supervisor
from harness.io.target import check_target
from harness.io.telemetry import TelemetryWriter
from harness.manifest import load_configured
from harness.plan import effective_jmx, load_plan
from harness.record import FINISHED, FORMAT_VERSION, RUNNING, RunRecord
from harness.render.setup import load_text
from harness.render.terminal import closing_text
from harness.spec import RunSpec
from harness.telemetry import GENERATOR
from harness.units import MS_PER_S

_HEAP_NOT_READ_YET = "not known: the run did not come to its end"
_EPILOG = """\
examples:
  scripts/run --plan killbill-stripe --users 50
  scripts/run --plan killbill-stripe --users 100 --ramp 20 --duration 10m --series 7
  scripts/run --plan killbill-stripe --rate 20 --duration 5m          (open model: 20 new users a second)
  scripts/run --plan killbill-stripe --target http://10.0.0.5:8080    (a system that runs already)

exit codes: 0 fine; 1 a goal of the plan was missed; 2 wrong use, nothing was measured;
3 the run is invalid; 70 an error of the harness itself; 130 interrupted.
Through make every failure is 2: call scripts/run where the code matters.
"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line; every value is a text that harness.spec checks."""
    result = argparse.ArgumentParser(
        prog="scripts/run",
        description="Drive a system with JMeter and leave reports/<plan>/run-<series>_<n> with its report.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    option = result.add_argument
    option("--plan", default="killbill-stripe", help="plans/<PLAN>.toml (killbill-stripe)")
    option("--env", default="local", help="profile env/<ENV>.toml: sizes of system and generator (local)")
    option("--users", help="concurrent users, closed model (the plan's default)")
    option("--rate", help="new users per second, open model, instead of --users")
    option("--ramp", help="time until all users run: 25, 25s, 2m; part of the duration (the plan's default)")
    option("--duration", help="length of the load with its ramp: 100, 100s, 4h (the plan's default)")
    option("--loops", help="loops per user, instead of --duration")
    option("--target", help="address of a running system, http://host:8080; nothing is started here")
    option("--port", help="port of the system that is started here (a free one)")
    option("--series", help="series in the run's name: 7 gives run-07_1, run-07_2, … (the last one used, or 01)")
    option("--note", default="", help="text for the report's notes block")
    option("--reports", type=Path, default=toolchain.ROOT / "reports", help="where the run directory goes (reports/)")
    option("--home", type=Path, default=toolchain.ROOT, help="folder that holds plans/, env/ and systems/ (this one)")
    option("--build", type=Path, default=toolchain.BUILD, help=argparse.SUPPRESS)
    return result


def resolve(options: argparse.Namespace) -> RunSpec:
    """Return the validated spec of the options; UsageError when they make no sense together."""
    for name, value in vars(options).items():
        if isinstance(value, str) and not value.strip() and name != "note":
            raise UsageError(f"--{name} is empty", "give a value, or leave the option out")
    plan = load_plan(options.home / "plans", options.plan)
    profile = specs.load_profile(options.home / "env", options.env)
    load = specs.resolve_load(
        specs.LoadArguments(options.users, options.ramp, options.duration, options.loops, options.rate), plan.load
    )
    if options.target and options.port:
        raise UsageError(f"TARGET={options.target} and PORT={options.port} exclude each other", "give one")
    return RunSpec(
        plan=plan,
        profile=profile,
        load=load,
        target=specs.parse_target(options.target) if options.target else None,
        series=specs.parse_series(options.series) if options.series else None,
        note=options.note,
        port=specs.parse_port(options.port) if options.port else 0,
        command=_make_command(options),
    )


def _make_command(options: argparse.Namespace) -> str:
    given = {name: getattr(options, name) for name in ("users", "rate", "ramp", "duration", "loops", "target")}
    words = [f"PLAN={options.plan}"] + [f"{name.upper()}={value}" for name, value in given.items() if value]
    return " ".join(["make run", *words, *([f"ENV={options.env}"] if options.env != "local" else [])])


def main(arguments: Sequence[str]) -> int:
    """Run what the arguments ask for; return the exit code."""
    options = parser().parse_args(arguments)
    spec = resolve(options)
    manifest, settings = load_configured(
        options.home / "systems", spec.plan.system, spec.profile.system_settings, f"env/{spec.profile.name}.toml"
    )
    console = Console()
    with Interrupts() as interrupts:
        java = toolchain.java_version()
        home = toolchain.ensure_jmeter()
        check_space(options.reports, spec.profile.min_free_mb)
        if spec.target:
            check_target(spec.target)
        elif spec.port:
            check_port("http", spec.port)
        directory = reserve(options.reports, spec.plan.name, spec.series)

        def new_system(guardian: Guardian, say: Callable[[str], None]) -> Supervisor:
            return Supervisor(
                manifest,
                settings,
                build_dir=options.build,
                log_dir=directory.system_logs,
                fixed_ports={"http": spec.port} if spec.port else {},
                guardian=guardian,
                say=say,
            )

        try:
            _measure(spec, directory, Progress(console), interrupts, JMeterHome(home, java), new_system)
        except StartError as error:
            raise _with_logs_kept(error, directory, options.build) from None
        finally:
            if not directory.run_json.is_file():
                directory.discard()  # nothing was measured: an empty run directory would only mislead
        with interrupts.held():
            summary = write_report(directory)
        console.print(closing_text(summary, _shown(directory.report)), markup=False, highlight=False, soft_wrap=True)
        return summary.verdict.exit_code


def _measure(
    spec: RunSpec,
    directory: RunDirectory,
    progress: Progress,
    interrupts: Interrupts,
    jmeter: JMeterHome,
    new_system: Callable[[Guardian, Callable[[str], None]], Supervisor],
) -> None:
    """Start the system unless there is a target, drive it and write run.json; everything started is stopped again."""
    say = progress.say
    say(f"{spec.plan.name}/{directory.name}: {load_text(specs.load_record(spec.load, spec.plan.load.think_time_s))}")
    with ExitStack() as stack:
        guardian = stack.enter_context(Guardian(uuid4().hex))
        target, system = spec.target, None
        if target is None:
            system = stack.enter_context(new_system(guardian, say))
            system.prepare()
            say(f"{system.manifest.title}: starting")
            started_s = time.monotonic()
            system.start()
            say(f"{system.manifest.title}: ready after {time.monotonic() - started_s:.1f} s")
            target = specs.parse_target(system.target_url)
        record = _record(spec, directory.name, target, system, jmeter)
        directory.effective_plan.write_bytes(effective_jmx(spec.plan.shape_path, spec.load))
        with interrupts.held():
            directory.write_run(record.to_json())
            started_s = time.monotonic()
            outcome = _drive(spec, directory, record, system, progress, interrupts, jmeter, guardian)
            record = replace(
                record,
                state=FINISHED,
                ended_at=_now(),
                took_s=round(time.monotonic() - started_s, 1),
                exit_codes={GENERATOR: outcome.exit_code},
                interrupted=outcome.interrupted,
                stop_reasons=outcome.reasons + _reason_of_silence(directory, outcome),
                dump_figures=read_figures(directory.path, spec.plan.dumps),
            )
            directory.write_run(record.to_json())
            if system:
                recordings = system.recordings
                system.stop()  # a JVM writes its recording when it ends
                record = replace(record, heap_unknown=write_heap(directory.heap, recordings, guardian.environment))
                directory.write_run(record.to_json())
            stack.close()


def _record(spec: RunSpec, name: str, target: specs.Target, system: Supervisor | None, jmeter: JMeterHome) -> RunRecord:
    plan, profile = spec.plan, spec.profile
    commit, changed = machine.git_facts(toolchain.ROOT)
    properties = {
        **plan.properties,
        **(plan.embedded_properties if system else {}),
        **target_properties(target),
        **load_properties(spec.load),
        "think_time_ms": str(round(plan.load.think_time_s * MS_PER_S)),
        "run_id": f"{name}-{uuid4().hex[:8]}",
        "dump_dir": DUMP_DIR,
    }
    return RunRecord(
        format_version=FORMAT_VERSION,
        name=name,
        plan=plan.name,
        plan_title=plan.title,
        profile=profile.name,
        profile_title=profile.title,
        command=spec.command,
        state=RUNNING,
        load=specs.load_record(spec.load, plan.load.think_time_s),
        goal=plan.goal,
        once_labels=plan.once_labels,
        plan_notes=(plan.embedded_note,) if system and plan.embedded_note else (),
        note=spec.note,
        target=spec.target.url if spec.target else None,
        system=plan.system,
        system_settings=system.settings if system else {},
        system_facts=system.facts if system else (),
        properties=properties,
        generator_heap_mb=profile.generator_heap_mb,
        versions=jmeter.versions(),
        host=machine.host_facts(),
        git_commit=commit,
        git_changed=changed,
        started_at=_now(),
        exception_logs=system.exception_logs if system else (),
        heap_unknown=tuple((name, _HEAP_NOT_READ_YET) for name in system.recordings) if system else (),
    )


def _drive(
    spec: RunSpec,
    directory: RunDirectory,
    record: RunRecord,
    system: Supervisor | None,
    progress: Progress,
    interrupts: Interrupts,
    jmeter: JMeterHome,
    guardian: Guardian,
) -> Outcome:
    port = free_udp_port()
    command = jmeter_command(jmeter.path, toolchain.ROOT / "jmeter" / "jmeter.properties", record.properties, port)
    process = JMeter(
        command, directory.path, {**environment(spec.profile), **guardian.environment}, port, stop_word(spec.load)
    )
    pids = {GENERATOR: process.pid, **(system.processes if system else {})}
    try:
        with TelemetryWriter(directory.telemetry, pids), progress:
            return drive(
                process,
                JtlTail(directory.samples),
                progress,
                interrupts,
                system.check if system else lambda: (),
                spec.load.duration_s,
                spec.profile.overrun_s,
            )
    finally:
        process.stop(0.0, 0.0)  # nothing to do, unless an error of ours left it running


def _reason_of_silence(directory: RunDirectory, outcome: Outcome) -> tuple[str, ...]:
    """Return what jmeter.log says where JMeter took no sample or ended badly; nothing where there is nothing to say."""
    has_samples = directory.samples.is_file() and directory.samples.stat().st_size > 0
    if outcome.interrupted or (has_samples and not outcome.exit_code):
        return ()
    reason = reason_from_logs(directory.path, LOG_NAME)
    return (f"jmeter.log: {reason}",) if reason else ()


def _with_logs_kept(error: StartError, directory: RunDirectory, build: Path) -> StartError:
    """Return the error with the place where the logs of the failed start can be read."""
    if not directory.system_logs.is_dir():
        return error
    kept = build / "failed-start"
    shutil.rmtree(kept, ignore_errors=True)
    shutil.copytree(directory.system_logs, kept)
    return StartError(error.what, f"{error.todo}; its logs: {_shown(kept)}".lstrip("; "), error.detail)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _shown(path: Path) -> str:
    """Return a path as the user would type it from here."""
    return os.path.relpath(path)
