"""Defines run.json: how a run was set up, the machine it ran on, and how it ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, ClassVar

from harness.plan.goal import Goal
from harness.plan.load.groups import SeveralLoads
from harness.plan.load.model import LoadRecord
from harness.run.kinds import check_names

if TYPE_CHECKING:  # imported late, see `LATE_TYPES`
    from harness.cloudwatch.queries import CloudWatchSpec
    from harness.metrics.wake_delays import WakeDelays
    from harness.plan.jmx.steps import PlanStep
    from harness.plan.job import JobRecord
    from harness.run.group_counts import GroupCounts

FORMAT_VERSION = 1
# By recorder, of which all is known if it is absent: pairs of a process and why what it did is not known.
Unknown = Mapping[str, tuple[tuple[str, str], ...]]
RUNNING, FINISHED = "running", "finished"
# In the reason of a run that a process of its system did not survive.
SYSTEM_DIED = "died during the run"
# The key of the HTTP sampler in `versions`.
SAMPLER = "HTTP sampler"
# The types of fields that few records have.
LATE_TYPES = {
    "CloudWatchSpec": "harness.cloudwatch.queries",
    "GroupCounts": "harness.run.group_counts",
    "JobRecord": "harness.plan.job",
    "PlanStep": "harness.plan.jmx.steps",
    "WakeDelays": "harness.metrics.wake_delays",
}


@dataclass(frozen=True)
class AutoEndRecord:
    """The result of the last check of a load of the length `auto`, `after_s` seconds after its start.

    `is_met` is true when the load was steady and its mean was precise enough. The steady window begins at
    `steady_from_s`; its mean is `average_ms` ± `within_ms` (95 % interval). These are None when it was not steady.
    """

    is_met: bool
    after_s: int
    steady_from_s: int | None
    average_ms: float | None
    within_ms: float | None


@dataclass(frozen=True)
class HostRecord:
    """The machine that ran JMeter and, unless there was a target, the system."""

    cpu_model: str
    cpu_count: int
    memory_bytes: int
    kernel: str
    python: str


@dataclass(frozen=True)
class GeneratorRecord:
    """One of several generators; `name` is its address, which starts its thread names in the JTL.

    `users` is None in the open model, `rate_per_s` in the closed model. `is_local` means that it ran on this machine,
    with telemetry. `clock_ahead_ms` is how far its clock was ahead of this machine's before the run, None if unknown.
    `host` is the machine of a generator whose separate run was merged into this one. Of a part of a run `machine` is an
    id of that machine, the times of its rows are those of this machine's clock, and `clock_moved_ms` is how much
    further ahead its clock was after the run; None if unknown. `pod` is its pod on Kubernetes.
    """

    name: str
    users: int | None
    rate_per_s: float | None
    jmeter: str
    java: str
    clock_ahead_ms: int | None
    is_local: bool
    host: HostRecord | None = None
    machine: str | None = None
    clock_moved_ms: int | None = None
    pod: str | None = None


@dataclass(frozen=True)
class DeliveryRecord:
    """What a receiver of OpenTelemetry data got of a run, with OTLP.

    Of `export_count` times the metrics were sent, `lost_export_count` did not reach it or were rejected in part; spans
    likewise. `problem` is the first reason, empty without one. `left_out_count` slow or failed requests have no span.
    """

    export_count: int
    lost_export_count: int
    span_count: int
    lost_span_count: int
    problem: str
    left_out_count: int = 0


@dataclass(frozen=True)
class PackedSamples:
    """A JTL that was packed while the run lasted: its `text_bytes` of rows take `packed_bytes`."""

    text_bytes: int
    packed_bytes: int


@dataclass(frozen=True)
class DeathRecord:
    """Threads of JMeter that one Error or exception ended, the first of them at `first_ms` (ms since 1970).

    `what` is `user`, or `download` for those that fetched embedded resources. `cause` is the class and its message.
    """

    what: str
    count: int
    first_ms: int
    cause: str


@dataclass(frozen=True)
class WarmUpRecord:
    """How JMeter's JVM was warmed before the load; `problem` is why it was not."""

    requests: int = 0
    seconds: float = 0.0
    problem: str = ""


@dataclass(frozen=True)
class RowsRecord:
    """What the agent in JMeter counted: the rows that JMeter wrote into its JTL, `at_least` where it was killed.

    `clock_step_ms` is by how much the clock was set while users ran; negative when it was set back.
    """

    written_count: int
    at_least: bool
    clock_step_ms: int

    @classmethod
    def of_all(cls, parts: Sequence[RowsRecord | None]) -> RowsRecord | None:
        """Return the sum of several JMeters, with the largest step; None when one is not known."""
        known = [rows for rows in parts if rows]
        if not known or len(known) < len(parts):
            return None
        step_ms = max((rows.clock_step_ms for rows in known), key=abs)
        return cls(sum(rows.written_count for rows in known), any(rows.at_least for rows in known), step_ms)


@dataclass(frozen=True)
class RunRecord:
    """run.json. Times are UTC in ISO 8601; `state` stays `running` when the harness was killed.

    `cloudwatch` contains the CloudWatch metrics of the profile, or those requested later.
    `exception_logs` are files in system/. `unknown` contains, by the name of a recorder such as heap, pairs of a
    process and why nothing is known of it.
    `allowances` describe the opt-ins of the plan, such as "run scripts and programs". `given_properties` are the names
    of those `properties` that the command line gave; `plugins` are those of the plan; a file has its SHA-256.
    `kept_up` means that the system was already running and was not stopped; its logs contain only this run.
    `stopped_early` is the stop condition that ended the run, and what was measured then; empty without one.
    `set_values` are the assignments of SET: killbill.plugin_threads=30, amount=25.
    `headers` are those that all requests carried, with the names of environment variables.
    `left_out_arrivals` are those of an open load at which `users_most` users were active, or their memory was full.
    `is_traced` means that each HTTP request carried a traceparent header, whose id is in the JTL.
    `http_requests` are the numbers of HTTP requests by the sampler that sent them, lean or jmeter; empty when JMeter
    was killed, had only its own, or sent none.
    `is_soak` means that heap histograms were taken. `jobs` are those of the plan.
    `other_addresses` is how addresses that are not allowed were refused or watched; empty when JMeter did not run here.
    `otlp` is what a receiver of OpenTelemetry data got; None when nothing was sent.
    `packed_samples` is None when samples.jtl was not packed while the run lasted.
    `deaths` are threads that an Error or an exception ended. `rows` is what JMeter wrote; None when that is not known,
    as of older runs. `groups` are what the users of each thread group did; empty when that is not known, as of older
    runs. `heap_dumps` are the bytes of JMeter's heap dumps, by name. `steps` are those of the plan's load; empty when
    they are not known, as of older runs. `wake_delays` is how late a thread of JMeter woke up; None when that is not
    known, as of older runs. `warm_up` is None when JMeter was not to be warmed, and on other machines.
    `source_hashes` has hashes of the harness's code and of the files of plan, profile and system; older records have
    none. `generators` is empty when the JMeter of this machine produced the load. `other_runs` names the runs whose
    load ran at the same time on the machine.
    """

    format_version: int
    name: str
    plan: str
    plan_title: str
    profile: str
    profile_title: str
    command: str
    state: str
    load: LoadRecord
    goal: Goal
    once_labels: tuple[str, ...]
    plan_notes: tuple[str, ...]
    note: str
    target: str | None
    system: str
    system_settings: Mapping[str, Any]
    system_facts: tuple[tuple[str, str], ...]
    properties: Mapping[str, str]
    generator_heap_mb: int
    versions: Mapping[str, str]
    host: HostRecord
    git_commit: str | None
    git_changed: bool | None
    started_at: str
    ended_at: str | None = None
    took_s: float | None = None
    exit_codes: Mapping[str, int] | None = None
    interrupted: bool = False
    stop_reasons: tuple[str, ...] = ()
    dump_figures: tuple[tuple[str, str], ...] = ()
    exception_logs: tuple[str, ...] = ()
    unknown: Unknown = field(default_factory=dict)
    kept_up: bool = False
    cloudwatch: CloudWatchSpec | None = None
    generators: tuple[GeneratorRecord, ...] = ()
    other_runs: tuple[str, ...] = ()
    auto_end: AutoEndRecord | None = None
    allowances: tuple[str, ...] = ()
    stopped_early: str = ""
    given_properties: tuple[str, ...] = ()
    plugins: tuple[str, ...] = ()
    load_goals: Mapping[str, Goal] = field(default_factory=dict)
    is_profiled: bool = False
    set_values: tuple[str, ...] = ()
    is_traced: bool = False
    is_soak: bool = False
    otlp: DeliveryRecord | None = None
    packed_samples: PackedSamples | None = None
    source_hashes: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    users_most: int | None = None
    left_out_arrivals: int = 0
    http_requests: Mapping[str, int] = field(default_factory=dict)
    jobs: tuple[JobRecord, ...] = ()
    other_addresses: str = ""
    deaths: tuple[DeathRecord, ...] = ()
    rows: RowsRecord | None = None
    groups: tuple[GroupCounts, ...] = ()
    heap_dumps: Mapping[str, int] = field(default_factory=dict)
    steps: tuple[PlanStep, ...] = ()
    warm_up: WarmUpRecord | None = None
    wake_delays: WakeDelays | None = None
    what: ClassVar = "a run"
    version: ClassVar = FORMAT_VERSION

    def __post_init__(self) -> None:
        """Raise ValueError for what is no name of a plan or a run, and for a log outside of its folder."""
        check_names(self.plan, self.name)
        for name in self.exception_logs:
            if "\0" in name or PurePath(name).is_absolute() or ".." in PurePath(name).parts:
                raise ValueError(f"exception_logs: {name!r} is not in system/")

    @classmethod
    def of_earlier(cls, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the JSON of earlier versions, which had the reasons of each recorder in a key of its own."""
        earlier = {"heap_unknown": "heap", "histogram_unknown": "histograms", "profile_unknown": "profile"}
        if not earlier.keys() & data.keys():
            return data
        unknown = {name: data[key] for key, name in earlier.items() if data.get(key)}
        return {**{key: value for key, value in data.items() if key not in earlier}, "unknown": unknown}

    def with_unknown(self, recorder: str, problems: tuple[tuple[str, str], ...]) -> RunRecord:
        """Return the record with what is not known of a recorder, instead of what was not known of it before."""
        others = {name: reasons for name, reasons in self.unknown.items() if name != recorder}
        return replace(self, unknown={**others, recorder: problems} if problems else others)

    @property
    def id(self) -> str:
        """Plan and run, such as killbill-stripe/run-07_1."""
        return f"{self.plan}/{self.name}"

    @property
    def cut_labels(self) -> tuple[str, ...]:
        """The labels of parent transactions that the end of their user cut, as the agent counted them."""
        return tuple(dict.fromkeys(one.label for group in self.groups for one in group.cut))

    @property
    def is_staged(self) -> bool:
        """Whether it has jobs, or a load that changes after its ramp: no state of it is the steady one."""
        return bool(self.jobs) or SeveralLoads(self.load.loads or ()).is_staged

    @property
    def is_merged(self) -> bool:
        """Whether it was merged from separate runs of several generators."""
        return any(generator.host for generator in self.generators)

    @property
    def is_embedded(self) -> bool:
        """Whether the harness started the system, on the machine of the generator."""
        return self.target is None
