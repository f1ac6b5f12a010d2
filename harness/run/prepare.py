"""Prepares a run: writes the effective plan and creates JMeter's command and the run's record."""

from __future__ import annotations

import os
import platform
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import psutil

from harness.base import git, units
from harness.base.install.class_data import data_for
from harness.base.java import jmeter_environment
from harness.base.once import stamp_of
from harness.base.project import CHECKOUT, PACKAGE, SHIPPED, current_project
from harness.base.secrecy import masked, masked_table
from harness.cloudwatch.queries import requested
from harness.jtl.sample import TRACE_COLUMN
from harness.plan import spec as specs
from harness.plan.jmx.data_files import data_files
from harness.plan.jmx.environment import environment_option, with_properties_for
from harness.plan.jmx.headers import secret_header_names, with_headers
from harness.plan.jmx.job_threads import with_jobs
from harness.plan.jmx.steps import PlanStep, includes_its_parts, plan_steps
from harness.plan.jmx.trace import trace_columns, with_traceparent
from harness.plan.jmx.tree import plan_tree
from harness.plan.job import Job
from harness.plan.load.groups import SeveralLoads
from harness.plan.load.memory import Heap, heap_of, user_kb, users_most
from harness.plan.load.model import OpenLoad, load_record
from harness.plan.plan import SUB_RESULTS, Plan, effective_jmx
from harness.plan.properties import load_properties, target_properties
from harness.plan.spec import Profile, RunSpec, Target
from harness.run.context import RunContext
from harness.run.directory import RunDirectory
from harness.run.jmeter.command import (
    DUMP_DIR,
    JMeterCommand,
    environment,
    jmeter_arguments,
    settings_options,
    stop_word,
)
from harness.run.jmeter.connections import (
    FOREIGN_NAME,
    LIST_FOLDER,
    NO_NATIVE,
    agent_option,
    allowed_connections,
    credentials_option,
    sampler_option,
)
from harness.run.jmeter.exchanges import STORE_FAILURES
from harness.run.jmeter.process import JMeter, free_udp_port, held_at
from harness.run.network.kernel_guard import group_path
from harness.run.parts.share import keep_rows
from harness.run.record import FORMAT_VERSION, RUNNING, HostRecord, RunRecord
from harness.run.telemetry.counters import memory_limit_of
from harness.system.supervisor import Supervisor
from harness.system.system import Manifest

# Java 9 and later read this variable; it allows quotes, so paths may contain blanks.
JAVA_OPTIONS = "JDK_JAVA_OPTIONS"
# A warm-up that a run with --target does not notice (docs/benchmarks.md).
_WARM_S = 0.3
# While the system starts JMeter has nothing else to do, but they may share the cores.
_WARM_HELD_S = 1.0
_HASH_DIGITS = 12
_HEAP_NOT_READ_YET = "not known: the run did not finish"


@dataclass(frozen=True)
class PreparedRun:
    """A run that is ready to start, with JMeter's command and the record for run.json.

    `manifest` describes a system that runs elsewhere, too; None in a sweep. `jmeter` waits for the load to begin.
    """

    spec: RunSpec
    directory: RunDirectory
    system: Supervisor | None
    command: JMeterCommand
    record: RunRecord
    manifest: Manifest | None = None
    jmeter: JMeter | None = None


def prepare(
    spec: RunSpec,
    directory: RunDirectory,
    system: Supervisor | None,
    context: RunContext,
    start_facts: tuple[tuple[str, str], ...] = (),
) -> PreparedRun:
    """Return a run that is ready to start; write its effective plan into the directory.

    `start_facts` are lines of the report's set-up that describe how the system reached its state.
    """
    target = spec.target or specs.parse_target(system.target_url if system else "")
    properties = _properties(spec, target, directory.name, is_embedded=system is not None)
    jmx_path = spec.plan.jmx_path
    effective = effective_jmx(jmx_path, spec.load)
    effective = with_jobs(with_headers(effective, spec.plan.headers), _jobs(spec))
    sent = with_properties_for(with_traceparent(effective) if spec.is_traced else effective, spec.secrets)
    directory.add_plan(sent, jmx_path, spec.plan.own_files)
    if spec.part:
        own = keep_rows(directory.path, jmx_path, spec.plan.load.loads, properties, spec.part)
        properties |= {**own, "generator": str(spec.part.number)}
    if context.parts:
        context.parts.begin(spec, target, directory, properties["run_id"])
    secret_headers = secret_header_names(effective, spec.plan.secret_properties)
    credentials = credentials_option(secret_headers, goes_across=spec.plan.allow.credentials_across)
    memory = _memory(spec)
    command = _command(spec, target, properties, context, credentials, memory)
    command = replace(command, environment={**data_for(sent), **command.environment})
    record = _record(spec, directory, system, command, context, memory)
    record = replace(record, system_facts=record.system_facts + start_facts)
    return PreparedRun(spec, directory, system, command, record)


def held_jmeter(run: PreparedRun) -> JMeter:
    """Start JMeter, which warms up and waits for `release`; longer than at other times, because the system starts."""
    own = "" if "warm" in run.spec.options else f" -Dharness.warm_held={_WARM_HELD_S}"
    java_options = f'{run.command.environment[JAVA_OPTIONS]} "-Dharness.start_at={held_at(run.command)}"{own}'
    command = replace(run.command, environment={**run.command.environment, JAVA_OPTIONS: java_options})
    return JMeter(command, run.directory.path)


def _jobs(spec: RunSpec) -> tuple[Job, ...]:
    """Return the jobs that this JMeter runs: of a run on several machines its first part runs them."""
    return spec.plan.jobs if spec.part is None or spec.part.number == 1 else ()


def _properties(spec: RunSpec, target: Target, name: str, *, is_embedded: bool) -> dict[str, str]:
    """Return the properties that the plan reads with ${__P(…)}, secrets unmasked, and SUB_RESULTS.

    Rows of redirects beside the row that includes them would make TOTAL wrong.
    """
    parts = {SUB_RESULTS: "false"} if includes_its_parts(plan_tree(spec.plan.jmx_path)) else {}
    return {
        **parts,
        **spec.plan.own_properties(is_embedded=is_embedded),
        **target_properties(target),
        **load_properties(spec.load),
        **spec.plan.load.think_time,
        "run_id": f"{name}-{uuid4().hex[:8]}",
        "dump_dir": DUMP_DIR,
    }


def _command(
    spec: RunSpec,
    target: Target,
    properties: Mapping[str, str],
    context: RunContext,
    credentials: str,
    memory: _Memory,
) -> JMeterCommand:
    """Return JMeter's command for the spec; `credentials` is the option about them."""
    port = free_udp_port()
    allowed = allowed_connections(target, spec.plan.allow.hosts)
    settings = SHIPPED / "jmeter" / "jmeter.properties"
    columns = trace_columns(properties) if spec.is_traced else {}
    connections = Path(tempfile.mkdtemp(prefix=LIST_FOLDER)) / FOREIGN_NAME
    context.guardian.remove_at_end(connections.parent)
    group = group_path(f"lth-{connections.parent.name}")
    if group:
        context.guardian.remove_at_end(group)
    more = (*settings_options(context.jmeter.path, connections.parent), *context.jmeter.options)
    arguments = jmeter_arguments(context.jmeter.path, settings, {**properties, **columns}, port, more)
    own = f"{agent_option(context.jmeter.agent, connections, allowed)} {STORE_FAILURES} {NO_NATIVE}"
    if memory.users_most:
        own += f" -Dharness.users_most={memory.users_most}"
    own += f" {sampler_option(context.jmeter.sampler, is_lean=context.jmeter.is_lean)}".rstrip()
    if context.jmeter.sampler and (warm_s := _warm_s(spec)):
        own += f" -Dharness.warm={warm_s}"
    own += f" {credentials}".rstrip()
    own += f" {environment_option(spec.secrets)}".rstrip()
    if spec.plan.allow.scripts:
        own += " -Dharness.scripts=true"
    if spec.is_traced:
        own += f" -Dharness.trace={TRACE_COLUMN}"
    java_options = f"{os.environ.get(JAVA_OPTIONS, '')} {own}".strip()
    return JMeterCommand(
        arguments=tuple(arguments),
        environment={
            **environment(spec.profile, memory.heap, usable_cores()),
            **jmeter_environment(),
            **spec.secrets,
            **context.guardian.environment,
            JAVA_OPTIONS: java_options,
        },
        properties=properties,
        stop_port=port,
        stop_word=stop_word(spec.load),
        allowed_connections=tuple(allowed),
        connections=connections,
        group=group,
    )


def _warm_s(spec: RunSpec) -> float:
    text = "".join(spec.options.get("warm", ()))
    return units.parse_duration_s(text, "--warm") if text else _WARM_S


class _Memory(NamedTuple):
    """The heap of JMeter, and how many users of an open load may be active in it; None for other loads."""

    heap: Heap
    users_most: int | None


def _memory(spec: RunSpec) -> _Memory:
    load, each_kb = spec.load, user_kb(spec.plan.jmx_path, spec.target)
    heap = heap_of(load, each_kb, spec.profile.generator_heap_mb, usable_memory_bytes())
    is_open = isinstance(load, OpenLoad) or (isinstance(load, SeveralLoads) and load.has_open)
    return _Memory(heap, users_most(heap.limit_mb, each_kb) if is_open else None)


def _record(
    spec: RunSpec,
    directory: RunDirectory,
    system: Supervisor | None,
    command: JMeterCommand,
    context: RunContext,
    memory: _Memory,
) -> RunRecord:
    """Return the record of a run that starts; secrets are masked."""
    plan, profile = spec.plan, spec.profile
    checkout = git.facts(current_project().folder)
    return RunRecord(
        format_version=FORMAT_VERSION,
        name=directory.name,
        plan=plan.name,
        plan_title=plan.title,
        profile=profile.name,
        profile_title=profile.title,
        command=spec.command,
        state=RUNNING,
        load=load_record(spec.load, plan.load),
        goal=plan.goal.with_default_errors(),
        load_goals=plan.load_goals,
        once_labels=plan.once_labels,
        plan_notes=(plan.embedded_note,) if system and plan.embedded_note else (),
        note=masked(spec.note, spec.hidden),
        target=spec.target.url if spec.target else None,
        system=plan.system,
        system_settings=masked_table(system.settings, (), spec.hidden) if system else {},
        system_facts=(system.facts if system else ()) + profile.facts,
        properties=_shown_properties(spec, command, is_embedded=system is not None),
        generator_heap_mb=memory.heap.limit_mb,
        versions=context.parts.versions if context.parts else context.jmeter.versions(),
        host=host_facts(),
        git_commit=checkout.commit,
        git_changed=checkout.is_changed,
        started_at=now(),
        exception_logs=system.exception_logs if system else (),
        cloudwatch=requested(profile.cloudwatch, profile.name),
        generators=context.parts.records(spec.load) if context.parts else (),
        allowances=plan.allow.lines,
        source_hashes=source_hashes(plan, profile, system.manifest.folder if system else None),
        given_properties=tuple(plan.given),
        plugins=plan.plugin_list.described,
        is_profiled=spec.is_profiled,
        headers={name: masked(value, spec.hidden) for name, value in plan.headers.items()},
        set_values=tuple(masked(word, spec.hidden) for word in spec.set_values),
        is_traced=spec.is_traced,
        is_soak=spec.is_soak,
        users_most=memory.users_most,
        jobs=tuple(job.record for job in _jobs(spec)),
        steps=_steps(spec, command.properties),
    ).with_unknown("heap", tuple((name, _HEAP_NOT_READ_YET) for name in system.recordings) if system else ())


def _steps(spec: RunSpec, properties: Mapping[str, str]) -> tuple[PlanStep, ...]:
    """Return the steps of the plan's load, without those whose labels have a secret."""
    driven = spec.load.driven if isinstance(spec.load, SeveralLoads) else ()
    steps = plan_steps(spec.plan.jmx_path, properties, [load.thread_group for load in driven])
    return tuple(step for step in steps if masked(step.label, spec.hidden) == step.label)


def source_hashes(plan: Plan, profile: Profile, system: Path | None) -> dict[str, str]:
    """Return short hashes of what decides how a run measures: code, plan, profile, and the folder of its system.

    Reports and documents are no part of them. A file that cannot be read is left out.
    """
    folder = plan.jmx_path.parent
    read_by_plan = [folder / name for name in (*data_files(plan.jmx_path), *plan.own_files, *plan.plugin_files)]
    sources = {
        "harness": [PACKAGE, *([SHIPPED / "jmeter"] if CHECKOUT else [])],
        "plan": [plan.jmx_path, folder / f"{plan.name}.toml", *read_by_plan],
        "profile": [profile.path] if profile.path else [],
        "system": [system] if system else [],
    }
    return {name: _short_hash(paths) for name, paths in sources.items() if paths}


def _short_hash(paths: Iterable[Path]) -> str:
    found = (file for path in paths for file in (sorted(path.rglob("*")) if path.is_dir() else [path]))
    files = [one for one in found if one.is_file() and one.parent.name != "__pycache__" and os.access(one, os.R_OK)]
    return stamp_of(files)[:_HASH_DIGITS]


def _shown_properties(spec: RunSpec, command: JMeterCommand, *, is_embedded: bool) -> dict[str, str]:
    """Return the properties of the command with the plan's secrets masked."""
    plan = spec.plan
    own = plan.own_properties(is_embedded=is_embedded)
    # The own properties of the system that we start are not secret.
    embedded = plan.embedded_properties.keys() - plan.given.keys() if is_embedded else set()
    secret = [name for name in plan.secret_properties if name not in embedded]
    hidden = masked_table({name: command.properties[name] for name in own}, secret, spec.hidden)
    return {**command.properties, **hidden}


def now() -> str:
    """Return the current time in UTC, ISO 8601."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def host_facts() -> HostRecord:
    """Return the host's CPU, memory, kernel and Python; no host name, so that reports can be shared."""
    return HostRecord(
        cpu_model=_cpu_model(),
        cpu_count=usable_cores(),
        memory_bytes=psutil.virtual_memory().total,
        kernel=f"{platform.system()} {platform.release()} {platform.machine()}",
        python=platform.python_version(),
    )


def usable_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else psutil.cpu_count() or 1


def usable_memory_bytes() -> int:
    """Return how much memory this machine has, or the container of this process if that has less."""
    whole_bytes = int(psutil.virtual_memory().total)
    return min(whole_bytes, memory_limit_of(os.getpid()) or whole_bytes)


def _cpu_model() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text(errors="replace").splitlines() if cpuinfo.is_file() else []
    models = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.processor() or platform.machine())
