"""Records a profile of each JVM of a system during a load, and writes profile.tsv.gz."""

from __future__ import annotations

import gzip
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from harness.base import process as child
from harness.base.errors import UsageError
from harness.base.install import toolchain
from harness.base.java import java_path
from harness.base.units import MS_PER_S
from harness.system import statements
from harness.system.agent import WALL_INTERVAL_MS, agent_library, start_agents, stop_agents
from harness.system.cost_files import CostMeter
from harness.system.database_files import DatabaseReader, databases
from harness.system.dumps_files import thread_sampler
from harness.system.jcmd import Problems, exit_code_within, is_jvm, start_profiles, stop_profiles
from harness.system.profile import ProcessProfile, profiles
from harness.system.profile_events import FILE_NAME
from harness.system.recorder import Reading, Recorder, Recording, Started
from harness.system.run_queue_files import run_queue_sampler

# A recording of ten minutes takes some seconds to read.
_DEADLINE_S = 300.0
# The kinds of flame graphs, with the converter's further options: locks and allocations by time and bytes.
_FLAME_GRAPHS = {"cpu": (), "wall": ("--wall",), "lock": ("--lock", "--total"), "alloc": ("--alloc", "--total")}
# The names of the files, in a run directory.
FLAME_GRAPHS = "profile-*.html"
# Those made of the recording of async-profiler if there is one.
_OF_AGENT = ("cpu", "wall")
NO_JVM = "the system has no JVM that the harness started"
NOT_A_JVM = "it is not a JVM"
NO_AGENT = "async-profiler has no version for this machine"


class _Recorded(NamedTuple):
    """The arguments of ReadProfile.java for a process: its name, the paths of both recordings, why the second one,
    that of async-profiler, is absent ("" when it is not), and the paths of the samples of virtual threads and of
    waits for a CPU ("" without them).
    """

    process: str
    recording: str
    samples: str
    no_agent: str
    virtual: str
    delays: str


@dataclass
class Profiler:
    """Records profiles of the JVMs among some processes and the statements of `databases`, from entering to leaving it.

    `agent` is the library of async-profiler, which samples methods and threads; `no_agent` is the reason why it does
    not in a process: there JFR samples methods. `unknown` has (process, why its profile is not known). Problems never
    end a run. `environment` is for child processes.
    """

    pids: Mapping[str, int]
    folder: Path
    environment: Mapping[str, str]
    databases: DatabaseReader | None = None
    agent: Path | None = None
    no_agent: dict[str, str] = field(default_factory=dict)
    unknown: list[tuple[str, str]] = field(default_factory=list)
    _samplers: ExitStack = field(default_factory=ExitStack)
    _meters: dict[str, CostMeter] = field(default_factory=dict)
    _delays_s: dict[str, float] = field(default_factory=dict)
    _costs: list[str] = field(default_factory=list)

    def __enter__(self) -> Profiler:
        others = [process for process, pid in self.pids.items() if not is_jvm(pid)]
        self.pids = {process: pid for process, pid in self.pids.items() if process not in others}
        if self.pids or self.databases:
            self.unknown += [(process, NOT_A_JVM) for process in others]
        else:
            self.unknown.append(("system", NO_JVM))
        if self.agent:
            samples = {process: self.folder / samples_name(process) for process in self.pids}
            self.no_agent = dict(start_agents(self.pids, self.agent, samples, self.environment))
        else:
            self.no_agent = dict.fromkeys(self.pids, NO_AGENT)
        self.unknown += start_profiles(self.pids, self.no_agent, self.folder, self.environment)
        # What starts recordings made the JVM listen for commands.
        threads, delays = (
            {process: self.folder / name_of(process) for process in self.pids}
            for name_of in (threads_name, delays_name)
        )
        self._samplers.enter_context(thread_sampler(self.pids, threads))
        self._samplers.enter_context(run_queue_sampler(self.pids, delays, self._delays_s))
        self._meters = {process: CostMeter(pid) for process, pid in self.pids.items()}
        if self.databases:
            self.databases.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._samplers.close()
        for process, meter in self._meters.items():
            self._costs += meter.lines(process, self._delays_s.get(process, 0.0))
        if self.agent:
            samples = {name: self.folder / samples_name(name) for name in self.pids if name not in self.no_agent}
            self.no_agent |= stop_agents(self.pids, self.agent, samples, self.environment)
        started = self.pids.keys() - dict(self.unknown).keys()
        recordings = {process: self.folder / recording_name(process) for process in self.pids if process in started}
        self.unknown += stop_profiles(self.pids, recordings, self.environment)
        if self.databases:
            self.databases.__exit__()
            self.unknown += self.databases.unknown

    def write(self, path: Path) -> Problems:
        """Write profile.tsv.gz from the recordings and return `unknown`, with what cannot be read."""
        missing = dict(self.unknown)
        recordings = [self._recorded(process) for process in self.pids if process not in missing]
        if not recordings:
            return tuple(self.unknown)
        printed = path.with_name(f".{path.name}.printed")
        try:
            self.unknown += _print(recordings, self.environment, printed)
            with printed.open("rb") as lines, gzip.GzipFile(path, "wb", mtime=0) as packed:
                for block in iter(lambda: lines.read(1 << 20), b""):
                    packed.write(block)
                packed.write("".join(self._costs).encode())
        except (OSError, UsageError) as error:
            why = error.what if isinstance(error, UsageError) else str(error.strerror)
            self.unknown += [(process, f"its recording cannot be read ({why})") for process, *_ in recordings]
        finally:
            printed.unlink(missing_ok=True)
        return tuple(self.unknown)

    def _recorded(self, process: str) -> _Recorded:
        why = self.no_agent.get(process, "")
        samples = "" if why else str(self.folder / samples_name(process))
        sampled = (self.folder / name_of(process) for name_of in (threads_name, delays_name))
        paths = (str(path) if path.is_file() else "" for path in sampled)
        return _Recorded(process, str(self.folder / recording_name(process)), samples, why, *paths)


def recording_name(process: str) -> str:
    """Return the name of the file with the flight recording of a profile."""
    return f"profile-{process}.jfr"


def samples_name(process: str) -> str:
    """Return the name of the file with the samples of async-profiler."""
    return f"samples-{process}.jfr"


def threads_name(process: str) -> str:
    """Return the name of the file with the samples of virtual threads."""
    return f"threads-{process}.tsv"


def delays_name(process: str) -> str:
    """Return the name of the file with the waits of threads for a CPU."""
    return f"delays-{process}.tsv"


def flame_graphs(folder: Path, profile: ProcessProfile) -> tuple[str, ...]:
    """Return the names of the flame graphs of a profile that exist in `folder`."""
    return tuple(name for name in _graph_names(profile).values() if (folder / name).is_file())


def write_flame_graphs(folder: Path, profile: ProcessProfile, recording: Path, first_ms: int, last_ms: int) -> None:
    """Write the flame graphs of the time between two instants (epoch ms) into `folder`.

    There are none without a recording or the converter.
    """
    jar = toolchain.flame_graphs_jar()
    samples = recording.with_name(samples_name(profile.process))
    if jar and recording.is_file():
        for kind, name in _graph_names(profile).items():
            source = samples if kind in _OF_AGENT and samples.is_file() else recording
            _convert(jar, kind, source, folder / name, first_ms, last_ms)


def _graph_names(profile: ProcessProfile) -> dict[str, str]:
    """Return the name of the flame graph of each kind that the profile has events of."""
    found = {"cpu": profile.sample_count, "wall": profile.pools, "lock": profile.locks, "alloc": profile.allocations}
    return {kind: FLAME_GRAPHS.replace("*", f"{profile.process}-{kind}") for kind in _FLAME_GRAPHS if found[kind]}


def _convert(jar: Path, kind: str, recording: Path, path: Path, first_ms: int, last_ms: int) -> None:
    """Write one flame graph; there is none when the converter fails."""
    title, window = f"{path.stem} of {path.parent.name}", ("--from", str(first_ms), "--to", str(last_ms))
    options = (*_FLAME_GRAPHS[kind], "--dot", "--norm", "--title", title, *window, "-o", "html")
    command = (java_path(), "-jar", str(jar), "converter", *options, str(recording), str(path))
    printed = path.with_name(f".{path.name}.printed")
    try:
        if exit_code_within(child.Launch("flame graph", command, path.parent, {}, printed), _DEADLINE_S):
            path.unlink(missing_ok=True)
    except (OSError, UsageError):
        path.unlink(missing_ok=True)  # the tables are there without it
    finally:
        printed.unlink(missing_ok=True)


def _print(recorded: Sequence[_Recorded], environment: Mapping[str, str], printed: Path) -> list[tuple[str, str]]:
    """Print all recordings to a file; return (process, why) of those that cannot be read."""
    classes = toolchain.ensure_profile_reader()
    processes = [one.process for one in recorded]
    options = ("-XX:+UseSerialGC", "-Xmx512m", "-cp", str(classes), "ReadProfile", str(WALL_INTERVAL_MS * 1_000_000))
    command = (java_path(), *options, *(argument for one in recorded for argument in one))
    launch = child.Launch("profile reader", command, printed.parent, environment, printed)
    code = exit_code_within(launch, _DEADLINE_S)
    if code is None:
        return [(process, f"its recording was not read within {_DEADLINE_S:g} s") for process in processes]
    if code:
        return [(process, f"its recording cannot be read (Java ended with code {code})") for process in processes]
    with printed.open(encoding="utf-8", errors="replace") as lines:
        parts = [line.rstrip("\n").split("\t") for line in lines if line.startswith("X\t")]
    return [(process, f"its recording cannot be read ({why})") for _, process, why in parts]


def _start(of: Recording) -> Started | None:
    """Return what profiles the system during the load and sums up statements; None unless the run is profiled."""
    system = of.system if of.spec.is_profiled else None
    named = of.spec.profile.database
    commands = {statements.POSTGRESQL: statements.statement_commands(named.url, named.password)} if named else {}
    if system is None and not commands:
        return None
    if system:
        commands.update(system.statement_commands)
    agent = agent_library() if system else None
    reader = DatabaseReader(commands, of.logs, of.environment) if commands else None
    profiler = Profiler(system.processes if system else {}, of.logs, of.environment, reader, agent)
    return Started(profiler, lambda: profiler.write(of.folder / FILE_NAME))


def _read(of: Reading) -> dict[str, Any]:
    """Return the profiles of the window, and the statements of databases, as far as snapshots know the window."""
    origin_ms = of.origin_s * MS_PER_S
    first_ms, last_ms = (origin_ms + second * MS_PER_S for second in (of.window.from_s, of.window.to_s))

    def with_graphs(profile: ProcessProfile) -> ProcessProfile:
        if of.may_write:
            recording = of.logs / recording_name(profile.process)
            write_flame_graphs(of.folder, profile, recording, first_ms, last_ms)
        return replace(profile, flame_graphs=flame_graphs(of.folder, profile))

    def interval_of(from_ms: int, to_ms: int) -> statements.StatementInterval:
        from_s, to_s = (round((at_ms - origin_ms) / MS_PER_S, 1) for at_ms in (from_ms, to_ms))
        return statements.StatementInterval(from_s, to_s, of.tally.second_series.ended_between(from_ms, to_ms))

    return {
        "profiles": tuple(map(with_graphs, profiles(of.events or {}, *of.window_ms))),
        "databases": databases(of.logs, *of.window_ms, interval_of),
    }


RECORDER = Recorder("profile", FILE_NAME, _start, read=_read)
