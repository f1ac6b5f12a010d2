"""A JMeter without a harness around it that loads a system until the end of a block, and what a JVM used meanwhile."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import psutil

from harness.base.errors import StartError
from harness.base.install import toolchain
from harness.base.process import stop
from harness.base.project import SHIPPED
from harness.metrics.interval import IntervalMs
from harness.run.jmeter.connections import FOREIGN_NAME, agent_argument, sampler_option
from harness.run.jmeter.exchanges import STORE_FAILURES

if TYPE_CHECKING:
    import pandas

_JMX = SHIPPED / "plans" / "lb.jmx"
_SETTINGS = SHIPPED / "jmeter" / "jmeter.properties"
_PERIOD_S = 0.5


@dataclass(frozen=True)
class Variant:
    """Settings of JMeter: its garbage collector, heap and other options of the JVM, and JMeter properties.

    `is_lean` means that it uses the lean HTTP sampler, which needs the agent.
    """

    gc: str = ""
    heap: str = "-Xms1g -Xmx1g"
    options: str = ""
    has_agent: bool = True
    is_lean: bool = True
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Slice:
    """A part of a load: its interval, and the CPU time in it of the JVMs that are measured, without their compilers."""

    interval_ms: IntervalMs
    cpu_s: float


@contextmanager
def jmeter_load(variant: Variant, users: int, target: str, folder: Path) -> Iterator[LoadingJMeter]:
    """Start JMeter with the plan lb.jmx and end it at the end of the block; `samples.jtl` is in the folder."""
    folder.mkdir(exist_ok=True)
    for path in folder.iterdir():
        path.unlink()
    address = urlsplit(target)
    properties = {
        "host": address.hostname or "",
        "port": str(address.port),
        "base_path": address.path,
        "users": str(users),
        "ramp_s": "0",
        "duration_s": "3600",
        "warm_up_requests": "0",
        **variant.properties,
    }
    command = [str(toolchain.ensure_jmeter() / "bin" / "jmeter"), "-n", "-t", str(_JMX), "-l", "samples.jtl"]
    command += ["-j", "jmeter.log", "-q", str(_SETTINGS), *(f"-J{name}={value}" for name, value in properties.items())]
    with (folder / "jmeter.out").open("wb") as out:
        process = subprocess.Popen(
            command, cwd=folder, env=_environment(variant, folder), stdout=out, stderr=out, start_new_session=True
        )
        try:
            yield LoadingJMeter(folder / "samples.jtl", process)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGCONT)
            stop(process, 5.0)


def _environment(variant: Variant, folder: Path) -> dict[str, str]:
    agent = (
        f'"{agent_argument(toolchain.ensure_agent(), folder / FOREIGN_NAME)}" {STORE_FAILURES}'
        if variant.has_agent
        else ""
    )
    if variant.has_agent and variant.is_lean:
        agent += f" {sampler_option(toolchain.ensure_sampler(toolchain.ensure_jmeter()))}"
    return {
        **os.environ,
        "TMPDIR": str(folder),
        "HEAP": variant.heap,
        "JVM_ARGS": variant.options,
        "JDK_JAVA_OPTIONS": agent,
        **({"GC_ALGO": variant.gc} if variant.gc else {}),
    }


def cpu_s(pid: int) -> float:
    """Return the CPU time of a JVM without its compiler, which works longer on a busy machine."""
    tasks = Path(f"/proc/{pid}/task")
    compilers = [thread.name for thread in tasks.iterdir() if "Compiler" in (thread / "comm").read_text()]
    watched = psutil.Process(pid)
    by_compiler = sum(one.user_time + one.system_time for one in watched.threads() if str(one.id) in compilers)
    whole = watched.cpu_times()
    return float(whole.user + whole.system - by_compiler)


class LoadingJMeter:
    """A JMeter that loads a system, and the number of rows in its JTL, at `path`."""

    def __init__(self, path: Path, process: subprocess.Popen[bytes]) -> None:
        self.count = 0
        self.process = process
        self.path = path
        self._offset = 0

    def pause(self) -> None:
        """Stop all its threads where they are; it keeps its connections. StartError when it has ended."""
        self._check()
        os.killpg(self.process.pid, signal.SIGSTOP)

    def resume(self) -> None:
        """Let it continue."""
        os.killpg(self.process.pid, signal.SIGCONT)

    def wait_for(self, count: int) -> None:
        """Return when there are so many rows; StartError when JMeter ends before that."""
        while self.count < count:
            self._check()
            time.sleep(_PERIOD_S)
            if self.path.is_file():
                self.read()

    def read(self) -> None:
        """Count the rows since the last call."""
        with self.path.open("rb") as stream:
            stream.seek(self._offset)
            data = stream.read()
        self._offset += len(data)
        self.count += data.count(b"\n")

    def _check(self) -> None:
        if self.process.poll() is not None:
            raise StartError("JMeter ended early", f"see {self.path.parent / 'jmeter.log'}")


def elapsed_in(jtl: Path, slices: Sequence[Slice]) -> list[pandas.Series[float]]:
    """Return the elapsed times, ms, of the requests that ended in each slice. StartError when a slice has none."""
    import pandas  # here, because it loads slowly

    # The last row is incomplete while JMeter writes: its numbers are then not known, which whole numbers cannot say.
    rows = pandas.read_csv(jtl, usecols=["timeStamp", "elapsed"], dtype="float64")
    ends_ms = rows["timeStamp"] + rows["elapsed"]
    found = [
        rows["elapsed"][(ends_ms >= one.interval_ms.from_ms) & (ends_ms < one.interval_ms.to_ms)] for one in slices
    ]
    if any(elapsed_ms.empty for elapsed_ms in found):
        raise StartError("a slice of the load has no samples", "take longer slices: --duration 10")
    return found
