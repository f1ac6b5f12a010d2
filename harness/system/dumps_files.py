"""Samples virtual threads of running JVMs: asks for thread dumps through the socket of jcmd, which costs 2 ms each."""

from __future__ import annotations

import contextlib
import socket
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from harness.base.background_threads import BackgroundThreads, Wait
from harness.base.units import MS_PER_S
from harness.system.jcmd import Paths, Pids
from harness.system.thread_dumps import DumpedThreads

# A JVM without virtual threads, and without the threads that run them, is asked so often whether it has some.
_PERIOD_S, _WITHOUT_S = 0.05, 2.0
# All dumps together take at most this CPU time, in the JVM and here: so much at once, because the first ones take ten
# times as long, and this share of one core. They take at most a share of the time, too.
AT_ONCE_S, SHARE_MOST = 0.5, 0.02
_WAIT_MOST = 0.2
_DEADLINE_S = 10.0
_NS_PER_S = 1_000_000_000
_ANSWER_BYTES = 4_096
_LISTENER = "Attach Listener"
_CARRIERS = ("ForkJoinPool-1-", "VirtualThread-")
NO_DUMPS = "dumps of virtual threads need Java 21 or newer"


def thread_sampler(pids: Pids, paths: Paths) -> BackgroundThreads:
    """Return what samples the virtual threads of processes into a file each.

    A JVM without virtual threads gets no file. Problems never end a run: they are in the file's last line.
    """
    return BackgroundThreads(
        {f"threads of {process}": partial(_watch, pid, paths[process]) for process, pid in pids.items()}
    )


def _watch(pid: int, path: Path, wait: Wait) -> None:
    dump, threads, why = path.with_name(f".{path.name}.dump"), DumpedThreads(), ""
    began_s, cost_s = time.monotonic(), 0.0
    wait_s, listener_s = 0.0, _listener_cpu_s(pid)
    try:
        with path.open("w", encoding="utf-8") as out:
            while not wait(wait_s) and not why:
                began_ns, own_s, in_jvm_s = time.time_ns(), time.thread_time(), listener_s()
                why = _why_not(pid, dump)
                if not why:
                    at_us = (began_ns + time.time_ns()) // 2_000
                    out.writelines(threads.add(dump.read_text(encoding="utf-8", errors="replace"), at_us))
                took_s = time.time_ns() / _NS_PER_S - began_ns / _NS_PER_S
                cpu_s = time.thread_time() - own_s + listener_s() - in_jvm_s
                cost_s += cpu_s
                least_s = _PERIOD_S if threads.most or _has_carriers(pid) else _WITHOUT_S
                in_budget_s = (cost_s - AT_ONCE_S) / SHARE_MOST - (time.monotonic() - began_s)
                wait_s = max(in_budget_s, max(least_s, took_s / _WAIT_MOST) - took_s)
            out.writelines(threads.end())
            length_s = time.monotonic() - began_s
            interval_ms = round(length_s * MS_PER_S / max(1, threads.count), 1)
            out.write(f"V\t{threads.most}\t{interval_ms}\t{cost_s / length_s:.4f}\t{why}\n")
    except OSError as error:
        with contextlib.suppress(OSError):
            path.write_text(f"V\t{threads.most}\t0\t0\tit cannot be written ({error.strerror})\n", encoding="utf-8")
    finally:
        dump.unlink(missing_ok=True)
        if not threads.most and why in ("", NO_DUMPS):
            path.unlink(missing_ok=True)


def _why_not(pid: int, dump: Path) -> str:
    """Have a JVM write a thread dump; return why it did not, "" when it did."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(_DEADLINE_S)
            folder = f"/proc/{pid}/root/tmp" if Path("/proc/self").exists() else tempfile.gettempdir()
            connection.connect(f"{folder}/.java_pid{pid}")
            command = f'Thread.dump_to_file -overwrite "{dump}"'
            connection.sendall(b"\0".join((b"1", b"jcmd", command.encode(), b"", b"", b"")))
            answer = b""
            while part := connection.recv(_ANSWER_BYTES):
                answer += part
    except OSError as error:
        return f"the JVM does not answer ({error.strerror or error})"
    if answer.startswith(b"0\n") and dump.is_file():
        return ""
    return (
        NO_DUMPS
        if b"Unknown diagnostic command" in answer
        else answer.decode(errors="replace").strip().replace("\n", " ")
    )


def _has_carriers(pid: int) -> bool:
    """Return whether a JVM has threads with the names of those that run virtual ones."""
    with contextlib.suppress(OSError):
        return any((task / "comm").read_text().startswith(_CARRIERS) for task in Path(f"/proc/{pid}/task").iterdir())
    return False


def _listener_cpu_s(pid: int) -> Callable[[], float]:
    """Return a function that returns the CPU time of the thread that writes dumps, s; 0 when it is not known."""
    found: list[Path] = []

    def cpu_s() -> float:
        with contextlib.suppress(OSError, ValueError, IndexError):
            if not found:
                tasks = Path(f"/proc/{pid}/task").iterdir()
                found.extend(
                    task / "schedstat" for task in tasks if (task / "comm").read_text().strip() == _LISTENER[:15]
                )
            return int(found[0].read_text().split()[0]) / _NS_PER_S
        return 0.0

    return cpu_s
