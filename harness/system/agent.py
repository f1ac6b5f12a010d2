"""Has running JVMs load async-profiler, which samples their methods and threads."""

from __future__ import annotations

import platform
from pathlib import Path

from harness.base.install import toolchain
from harness.system.jcmd import Answer, Environment, Paths, Pids, Problems, ask, problems_of

# CPU time of a thread between two samples, and time between two samples of what every thread does.
CPU_INTERVAL_MS, WALL_INTERVAL_MS = 10, 100
# A timer of each thread. perf_events, the other source of CPU time on Linux, takes 12 % more CPU time of the system in
# a virtual machine (docs/benchmarks.md).
_CPU_EVENTS = {"Linux": "ctimer", "Darwin": "itimer"}
_LOADED = "return code: 0"
_LINUX = {"x86_64": "linux-x64.so", "aarch64": "linux-arm64.so"}


def agent_library() -> Path | None:
    """Return the library of async-profiler for this machine; None without one, or when it is not downloaded."""
    jar = toolchain.flame_graphs_jar()
    suffix = {"Linux": _LINUX.get(platform.machine()), "Darwin": "macos.dylib"}.get(platform.system())
    found = sorted((jar.parent / "libs").glob(f"libasyncProfiler-*-{suffix}")) if jar and suffix else []
    return found[0] if found else None


def start_agents(pids: Pids, agent: Path, recordings: Paths, environment: Environment) -> Problems:
    """Have each process load async-profiler and record to the given path; return (process, why it does not)."""

    def why(jcmd: Path, process: str) -> str:
        path = recordings[process]
        log = path.with_name(f".{path.name}.log")
        command = ("JVMTI.agent_load", f'"{agent}"', f'"{_options(path, log)}"')
        problem = _why_not_loaded(ask(jcmd, pids[process], command, path, environment), log)
        log.unlink(missing_ok=True)
        if problem:
            path.unlink(missing_ok=True)
        return problem

    return problems_of(pids, "this Java has no jcmd", why)


def stop_agents(pids: Pids, agent: Path, recordings: Paths, environment: Environment) -> Problems:
    """End the recordings of async-profiler; return (process, why its recording is not complete)."""

    def why(jcmd: Path, process: str) -> str:
        path = recordings[process]
        log = path.with_name(f".{path.name}.log")
        command = ("JVMTI.agent_load", f'"{agent}"', f'"stop,log={log}"')
        answer = ask(jcmd, pids[process], command, path, environment)
        log.unlink(missing_ok=True)
        return answer.why or ("" if _LOADED in answer.text else f"async-profiler did not complete {path.name}")

    return problems_of(recordings, "this Java has no jcmd", why)


def _options(path: Path, log: Path) -> str:
    """Return the options; jfropts leaves out the command line and the system properties, which may contain secrets."""
    samples = f"event={_CPU_EVENTS[platform.system()]},interval={CPU_INTERVAL_MS}ms,wall={WALL_INTERVAL_MS}ms"
    return f"start,{samples},jfropts=31,log={log},file={path}"


def _why_not_loaded(answer: Answer, log: Path) -> str:
    """Return why async-profiler did not start, "" when it did: what it logged, else what the JVM answered."""
    if answer.why or _LOADED in answer.text:
        return answer.why
    logged = log.read_text(encoding="utf-8", errors="replace") if log.is_file() else ""
    last = [line.strip() for line in (logged or answer.text).splitlines()[-1:]]
    return f"the JVM did not load async-profiler ({' '.join(last) or f'jcmd ended with code {answer.code}'})"
