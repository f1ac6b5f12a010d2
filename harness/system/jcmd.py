"""Makes the JVMs of a running system start, stop and write JFR recordings, with the JDK's `jcmd`."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from harness.base import process as child
from harness.base.errors import UsageError
from harness.base.java import java_context

# A recording of hours takes a second; a JVM that is stopped or swapped out never answers.
_DEADLINE_S = 20.0
# Options of a tool of the JDK that ends soon: one thread for garbage collection, and only quick compilation.
SHORT_JVM = ("-J-XX:+UseSerialGC", "-J-XX:TieredStopAtLevel=1")
# The settings of every profile, and the additional ones of a profile without async-profiler.
SETTINGS = Path(__file__).with_name("profile.jfc")
METHOD_SETTINGS = Path(__file__).with_name("methods.jfc")
_NAME = "profile"
_STARTED = "Started recording"
_SAID_MOST = 200
# Pairs (process, what is wrong with it), and what there is of each process.
Problems = tuple[tuple[str, str], ...]
Pids = Mapping[str, int]
Paths = Mapping[str, Path]
Environment = Mapping[str, str]


@dataclass(frozen=True)
class Answer:
    """The exit code of jcmd and what it printed; `why` is what went wrong, "" for nothing."""

    code: int | None = None
    text: str = ""
    why: str = ""


def dump_recordings(pids: Pids, recordings: Paths, environment: Environment) -> Problems:
    """Make each process write its recording to the given path; return (process, why its heap is not known).

    Problems are returned, never raised, as when recordings are read. `environment` is for `jcmd`.
    """

    def why(jcmd: Path, process: str) -> str:
        path = recordings[process]
        return _why_unwritten(path, ask(jcmd, pids[process], ("JFR.dump", f'filename="{path}"'), path, environment))

    no_jcmd = "this Java has no jcmd, which writes the recording of a running JVM"
    return tuple((process, f"not known: {text}") for process, text in problems_of(recordings, no_jcmd, why))


def start_profiles(pids: Pids, with_methods: Container[str], folder: Path, environment: Environment) -> Problems:
    """Start a flight recording in each process; return (process, why it has none). `folder` is for jcmd's output.

    Those of `with_methods` sample methods, too.
    """

    def why(jcmd: Path, process: str) -> str:
        settings = [SETTINGS, METHOD_SETTINGS] if process in with_methods else [SETTINGS]
        command = ("JFR.start", f"name={_NAME}", *(f'settings="{path}"' for path in settings))
        answer = ask(jcmd, pids[process], command, folder / process, environment)
        if answer.why or _STARTED in answer.text:
            return answer.why
        lines = answer.text.splitlines()[1:]  # after the number of the process
        said = " ".join(line for line in lines if not line.startswith("\tat ")).strip()
        return f"the JVM refused to start a recording{f' ({said[:_SAID_MOST]})' if said else ''}"

    return problems_of(pids, "this Java has no jcmd, which starts a profile", why)


def stop_profiles(pids: Pids, recordings: Paths, environment: Environment) -> Problems:
    """End the profile of each process and write it to the given path; return (process, why it is not known)."""

    def why(jcmd: Path, process: str) -> str:
        path = recordings[process]
        command = ("JFR.stop", f"name={_NAME}", f'filename="{path}"')
        return _why_unwritten(path, ask(jcmd, pids[process], command, path, environment))

    return problems_of(recordings, "this Java has no jcmd, which ends a profile", why)


def problems_of(processes: Iterable[str], no_jcmd: str, why: Callable[[Path, str], str]) -> Problems:
    """Return what `why` finds wrong, with the path of jcmd and the process; `no_jcmd` is for a Java without it."""
    jcmd = jcmd_path()
    found = [(process, why(jcmd, process) if jcmd else no_jcmd) for process in processes]
    return tuple((process, text) for process, text in found if text)


def is_jvm(pid: int) -> bool:
    """Return whether a process is a JVM."""
    try:
        return Path(psutil.Process(pid).exe()).name == "java"
    except psutil.Error:
        return False


def jcmd_path() -> Path | None:
    """Return the program jcmd of our JDK; None without one."""
    java_bin = java_context().get("java_bin")
    jcmd = Path(java_bin) / "jcmd" if java_bin else None
    return jcmd if jcmd and jcmd.is_file() else None


def ask(jcmd: Path, pid: int, command: Sequence[str], path: Path, environment: Environment) -> Answer:
    """Send a command to a JVM and return its answer; `path` is the file that it is about."""
    printed = path.with_name(f".{path.name}.jcmd")
    try:
        launch = child.Launch("jcmd", (str(jcmd), *SHORT_JVM, str(pid), *command), path.parent, environment, printed)
        code = exit_code_within(launch, _DEADLINE_S)
        text = printed.read_text(encoding="utf-8", errors="replace")
    except (OSError, UsageError) as error:
        return Answer(why=f"jcmd cannot be run ({error})")
    finally:
        printed.unlink(missing_ok=True)
    return Answer(code, text, f"jcmd did not end within {_DEADLINE_S:g} s" if code is None else "")


def exit_code_within(launch: child.Launch, deadline_s: float | None) -> int | None:
    """Run a program and return its exit code; None when it did not end in time and was stopped."""
    process = child.start(launch)
    try:
        return process.wait(deadline_s)
    except subprocess.TimeoutExpired:
        return None
    finally:
        child.stop(process, deadline_s=1.0)


def _why_unwritten(path: Path, answer: Answer) -> str:
    """Return what went wrong, "" when the recording was written; jcmd ends with 0 even when the JVM refuses."""
    if answer.why or path.is_file():
        return answer.why
    return f"the JVM did not write {path.name} (jcmd ended with code {answer.code})"
