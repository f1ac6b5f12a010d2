"""Measures one run with a system that is up, or with a target; starting and stopping it is up to the caller."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from rich.console import Console

from harness.base import git, toolchain, units
from harness.base.errors import InvalidRunError, StartError
from harness.base.guardian import Guardian
from harness.base.interrupts import Interrupts
from harness.base.ports import check_port
from harness.base.secrecy import masked, masked_table
from harness.base.secrets import mask_secrets
from harness.base.units import MS_PER_S
from harness.plan import spec as specs
from harness.plan.load import ClosedLoad, load_record
from harness.plan.plan import Plan, effective_jmx
from harness.plan.properties import load_properties, target_properties
from harness.plan.spec import RunSpec
from harness.run import machine
from harness.run.arguments import Asked
from harness.run.connections import (
    FOREIGN_NAME,
    agent_option,
    allowed_connections,
    foreign_reasons,
    generator_connections,
)
from harness.run.directory import RunDirectory, check_space
from harness.run.drive import Outcome, drive
from harness.run.dumps import read_figures
from harness.run.jmeter import (
    JMeter,
    JMeterHome,
    ending_text,
    free_udp_port,
    has_dead_thread,
    reason_from_logs,
    signal_of,
    words_of_plan,
)
from harness.run.jmeter_command import DUMP_DIR, LOG_NAME, environment, jmeter_command, stop_word
from harness.run.other_runs import OtherRun, OtherRuns, registered
from harness.run.progress import JtlTail, Progress
from harness.run.record import FINISHED, FORMAT_VERSION, RUNNING, RunRecord
from harness.run.remote.drive import Generators
from harness.run.remote.load import generator_log, load_of_each
from harness.run.target import check_target
from harness.run.telemetry import GENERATOR
from harness.run.telemetry_writer import TelemetryWriter
from harness.system.supervisor import Supervisor

if TYPE_CHECKING:
    from harness.run.auto_end import AutoEnd

# Read by the launcher of every Java from 9 on; it takes quotes, so that paths may have blanks.
_JAVA_OPTIONS = "JDK_JAVA_OPTIONS"
_UNWATCHED = "nothing watches the connections of the generators"
_HEAP_NOT_READ_YET = "not known: the run did not come to its end"


@dataclass(frozen=True)
class Workplace:
    """What the runs of one command share; `generators` drive in the place of JMeter itself where there are some."""

    jmeter: JMeterHome
    interrupts: Interrupts
    console: Console
    guardian: Guardian
    generators: Generators | None = None

    def say(self, text: str) -> None:
        """Print a line."""
        self.console.print(text, markup=False, highlight=False, soft_wrap=True)


def ready_jmeter(asked: Asked, reports: Path) -> JMeterHome:
    """Return the JMeter to run; UsageError when none can: no Java, no room for reports, nothing at the target."""
    java = toolchain.jmeter_java_version()
    home = toolchain.ensure_jmeter()
    check_space(reports, asked.profile.min_free_mb)
    if asked.target:
        check_target(asked.target)
    elif asked.port:
        check_port("http", asked.port)
    return JMeterHome(home, java, toolchain.ensure_agent())


def warn_of(others: Sequence[OtherRun], say: Callable[[str], None]) -> None:
    """Print a line for each other run."""
    for other in others:
        say(f"warning: another run is going on here: {other}; the figures of both are doubtful")


@contextmanager
def generators_of(asked: Asked, keys: Path, place: Workplace) -> Iterator[Workplace]:
    """Yield the workplace with the generators that were asked for, claimed for as long as this is entered.

    StartError when one of them cannot be used.
    """
    if not asked.remotes:
        yield place
        return
    with Generators(asked.remotes, keys, place.jmeter.path, place.guardian) as generators:
        names = ", ".join(remote.name for remote in asked.remotes)
        place.say(f"{units.plural(len(asked.remotes), 'generator')} ready: {names}")
        yield replace(place, generators=generators)


def system_of(asked: Asked, logs: Path, place: Workplace) -> Supervisor:
    """Return the system that was asked for, not started yet; its logs go to `logs`."""
    assert asked.manifest is not None  # a plan without a system has a target
    return Supervisor(
        asked.manifest,
        asked.settings,
        build_dir=asked.build,
        log_dir=logs,
        fixed_ports={"http": asked.port} if asked.port else {},
        guardian=place.guardian,
        say=place.say,
    )


def start(system: Supervisor, logs: Path, asked: Asked, say: Callable[[str], None]) -> None:
    """Start the system; StartError when it does not come up, with the place where its logs are kept."""
    try:
        system.prepare()
        say(f"{system.manifest.title}: starting")
        started_s = time.monotonic()
        system.start()
        say(f"{system.manifest.title}: ready after {time.monotonic() - started_s:.1f} s")
    except StartError as error:
        raise _with_logs_kept(error, logs, asked) from None


def begin(
    spec: RunSpec,
    directory: RunDirectory,
    system: Supervisor | None,
    place: Workplace,
    start_facts: tuple[tuple[str, str], ...] = (),
) -> RunRecord:
    """Return the record of a run that is about to be driven; its effective plan is in the directory then.

    `start_facts` are lines of the set-up about how the system came to its state.
    """
    target = spec.target or specs.parse_target(system.target_url if system else "")
    shape, load = spec.plan.shape_path, spec.load
    if place.generators is None:
        directory.add_plan(effective_jmx(shape, load), shape)
        return _record(spec, directory.name, target, system, place.jmeter, start_facts)
    directory.add_plan(effective_jmx(shape, load_of_each(load, len(place.generators.remotes))), shape)
    record = _record(spec, directory.name, target, system, place.jmeter, start_facts)
    properties = {**record.properties, **_of_plan(spec.plan, system)}
    allowed = allowed_connections(target, spec.plan.allow.hosts)
    place.generators.begin(directory, shape, properties, load, tuple(spec.secrets), allowed)
    return replace(record, generators=place.generators.records(load))


def measure(
    spec: RunSpec, directory: RunDirectory, record: RunRecord, system: Supervisor | None, place: Workplace
) -> RunRecord:
    """Drive the system and return the finished record; run.json holds it. Interrupts must be held."""
    directory.write_run(record.to_json())
    started_s = time.monotonic()
    allowed = _allowed(spec, system, place)
    with registered(record.id) as others:
        auto_end = _auto_end(spec)
        outcome = _drive(spec, directory, record, system, place, others, auto_end, allowed)
        others.new()  # one that began in the last second
    if not directory.path.is_dir():
        what = f"{directory.plan}/{directory.name}: the run's folder was removed while it ran"
        raise InvalidRunError(what, "its samples are gone")
    # The logs of a system that still writes them come after its end.
    changed = mask_secrets(directory.path, spec.hidden, but=directory.system_logs)
    if changed:
        place.say(f"secrets stood in {', '.join(changed)}: they are masked")
    record = replace(
        record,
        state=FINISHED,
        ended_at=_now(),
        took_s=round(time.monotonic() - started_s, 1),
        exit_codes={GENERATOR: outcome.exit_code},
        interrupted=outcome.interrupted,
        stop_reasons=tuple(
            masked(reason, spec.hidden)
            for reason in (
                *outcome.reasons,
                *_foreign(directory, allowed, 0 if outcome.reasons else len(record.generators)),
                *_reasons_from_log(directory, outcome),
            )
        ),
        dump_figures=read_figures(directory.path, spec.plan.dumps),
        other_runs=tuple(map(str, others.seen)),
        auto_end=auto_end.record if auto_end else None,
    )
    directory.write_run(record.to_json())
    return record


def shown(path: Path) -> str:
    """Return a path as the user would type it from here."""
    return os.path.relpath(path)


def _record(
    spec: RunSpec,
    name: str,
    target: specs.Target,
    system: Supervisor | None,
    jmeter: JMeterHome,
    start_facts: tuple[tuple[str, str], ...],
) -> RunRecord:
    plan, profile = spec.plan, spec.profile
    commit, changed = git.git_facts(toolchain.ROOT)
    embedded = plan.embedded_properties if system else {}
    secret = [name for name in plan.secret_properties if name not in embedded]
    properties = {
        **masked_table(_of_plan(plan, system), secret, spec.hidden),
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
        load=load_record(spec.load, plan.load.think_time_s),
        goal=plan.goal,
        once_labels=plan.once_labels,
        plan_notes=(plan.embedded_note,) if system and plan.embedded_note else (),
        note=masked(spec.note, spec.hidden),
        target=spec.target.url if spec.target else None,
        system=plan.system,
        system_settings=masked_table(system.settings, (), spec.hidden) if system else {},
        system_facts=(system.facts if system else ()) + profile.facts + start_facts,
        properties=properties,
        generator_heap_mb=profile.generator_heap_mb,
        versions=jmeter.versions(),
        host=machine.host_facts(),
        git_commit=commit,
        git_changed=changed,
        started_at=_now(),
        exception_logs=system.exception_logs if system else (),
        heap_unknown=tuple((name, _HEAP_NOT_READ_YET) for name in system.recordings) if system else (),
        cloudwatch=profile.cloudwatch,
        allowances=plan.allow.lines,
    )


def _auto_end(spec: RunSpec) -> AutoEnd | None:
    """Return what decides when a load of the length `auto` ends; None for others."""
    if not (isinstance(spec.load, ClosedLoad) and spec.load.is_auto):
        return None
    from harness.run.auto_end import AutoEnd  # here, because no other run waits for SciPy

    return AutoEnd(spec.load, spec.plan.once_labels)


def _allowed(spec: RunSpec, system: Supervisor | None, place: Workplace) -> tuple[str, ...]:
    target = spec.target or specs.parse_target(system.target_url if system else "")
    remotes = place.generators.remotes if place.generators else ()
    return allowed_connections(target, spec.plan.allow.hosts, [remote.host for remote in remotes])


def _foreign(directory: RunDirectory, allowed: Sequence[str], generator_count: int) -> tuple[str, ...]:
    """Return what JMeter tried to reach beside the allowed hosts; nothing of a JMeter that took no sample.

    `generator_count` is the number of load generators that finished the run: a lost one leaves no file.
    """
    names = [FOREIGN_NAME, *(generator_connections(number + 1) for number in range(generator_count))]
    reasons: list[str] = []
    for path in (directory.path / name for name in names):
        if path.is_file():
            reasons += foreign_reasons(path.read_text(errors="replace"), allowed, path.name)
        elif directory.samples.is_file():
            reasons += foreign_reasons(None, allowed, path.name)
    return tuple(reasons)


def _drive(
    spec: RunSpec,
    directory: RunDirectory,
    record: RunRecord,
    system: Supervisor | None,
    place: Workplace,
    others: OtherRuns,
    auto_end: AutoEnd | None,
    allowed: Sequence[str],
) -> Outcome:
    port = free_udp_port()
    settings = toolchain.ROOT / "jmeter" / "jmeter.properties"
    properties = {**record.properties, **_of_plan(spec.plan, system)}  # in the record some of them are masked
    generators = place.generators
    if generators:
        more = generators.controller_options(properties, spec.plan.shape_path)
        command = jmeter_command(place.jmeter.path, settings, {}, port, more)
    else:
        command = jmeter_command(place.jmeter.path, settings, properties, port)
    java_options = f"{os.environ.get(_JAVA_OPTIONS, '')} {agent_option(place.jmeter.agent, allowed)}".strip()
    variables = {
        **environment(spec.profile),
        **toolchain.jmeter_environment(),
        **spec.secrets,
        **place.guardian.environment,
        _JAVA_OPTIONS: java_options,
    }
    with ExitStack() as stack:
        if generators:
            stack.enter_context(generators.keys_in(directory))
        process = JMeter(command, directory.path, variables, port, stop_word(spec.load))
        stack.callback(process.stop, 0.0, 0.0)  # nothing to do, unless an error of ours left it running
        pids = {GENERATOR: process.pid, **(generators.local_processes if generators else {})}
        progress = Progress(place.console)

        def look() -> tuple[str, ...]:
            warn_of(others.new(), progress.say)
            return _troubles(system, generators, place.guardian)

        warn_of(others.new(), progress.say)
        telemetry = TelemetryWriter(directory.telemetry, {**pids, **(system.processes if system else {})})
        with telemetry, progress:
            outcome = drive(
                process,
                JtlTail(directory.samples),
                progress,
                place.interrupts,
                look,
                spec.load.duration_s,
                spec.profile.overrun_s,
                spec.load.requests if isinstance(spec.load, ClosedLoad) else None,
                auto_end,
            )
    if telemetry.trouble:
        place.say(f"{directory.telemetry.name} is not whole ({telemetry.trouble}): CPU and memory are not all known")
    if generators:
        reasons = generators.end(directory)
        if not outcome.interrupted and not outcome.reasons:
            outcome = replace(outcome, reasons=reasons)
    return outcome


def _troubles(system: Supervisor | None, generators: Generators | None, guardian: Guardian) -> tuple[str, ...]:
    """Return what has died since the last look, a line each; a guardian that has died is replaced."""
    guardian.keep_up()
    dead = system.check() if system else ()
    died = tuple(f"{name} died during the run: it {ending_text(code)}" for name, code, _ in dead)
    return died + (generators.troubles() if generators else ())


def _of_plan(plan: Plan, system: Supervisor | None) -> Mapping[str, str]:
    return {**plan.properties, **(plan.embedded_properties if system else {})}


def _reasons_from_log(directory: RunDirectory, outcome: Outcome) -> tuple[str, ...]:
    """Return what jmeter.log says of a run that is not what was asked for; nothing where there is nothing to say.

    That is what the plan itself says, else, where JMeter took no sample, lost a user or ended badly, its own errors.
    """
    if outcome.interrupted:
        return ()
    path = directory.path
    logs = [LOG_NAME, *sorted(log.name for log in path.glob(generator_log("*")))]
    words = dict.fromkeys(text for log in logs for text in words_of_plan(path, log))
    if words:
        return tuple(f"the plan says: {text}" for text in words)
    has_samples = directory.samples.is_file() and directory.samples.stat().st_size > 0
    telling = [
        log for log in logs if not has_samples or has_dead_thread(path, log) or (log == LOG_NAME and outcome.exit_code)
    ]
    with_console = signal_of(outcome.exit_code) is None
    reasons = ((log, reason_from_logs(path, log, with_console=with_console)) for log in telling)
    return tuple(f"{log}: {reason}" for log, reason in reasons if reason)


def _with_logs_kept(error: StartError, logs: Path, asked: Asked) -> StartError:
    """Return the error with the place where the logs of the failed start can be read; no secret stands in either."""
    what, detail = masked(error.what, asked.hidden), masked(error.detail, asked.hidden)
    if not logs.is_dir():
        return StartError(what, error.todo, detail)
    kept = asked.build / "failed-start"
    shutil.rmtree(kept, ignore_errors=True)
    try:
        shutil.copytree(logs, kept)
    except OSError:  # build/ is somebody else's: what is known is the tail of the logs in `detail`
        return StartError(what, "", detail)
    mask_secrets(kept, asked.hidden)
    # Where the logs are now is gone when the harness ends.
    told = error.todo.replace(str(logs), shown(kept))
    todo = told if told != error.todo else f"{told}; its logs: {shown(kept)}".lstrip("; ")
    return StartError(what, todo, detail)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
