"""The other end of a channel: runs one part on its machine, and sends its samples and files to the launcher.

The launcher sends this file as text to a Python there, before anything else: standard library only. Both sides write
messages: a line of JSON, and as many bytes as its `size`. A part whose launcher is lost ends its load by itself, and
its folder stays until the launcher has everything.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

_TICK_S, _POLL_S = 0.5, 0.02
# Without a message for so long the launcher is lost: it sends one every second.
_SILENCE_S = 15.0
# A load that was asked to end finishes its samples; then it is asked again, and killed.
_END_S = (60.0, 20.0)
# The same before its start, when there is no sample to finish.
_UNSTARTED_S = (2.0, 20.0)
# What arrived before the launcher went is done within this time.
_LAST_S = 5.0
_CHUNK_BYTES = 1024 * 1024
_UNUSED_S = 14 * 86400.0
_PDEATHSIG = 1


class Relay:
    """Serves one launcher at standard input and output."""

    def __init__(self) -> None:
        base = os.environ.get("XDG_CACHE_HOME", "")
        caches = Path(base) if base.startswith("/") else Path.home() / ".cache"
        self.root = caches / "load-test-harness" / "parts"
        self.heard_s = time.monotonic()
        self.writing = threading.Lock()
        self.folders: dict[str, str] = {}
        self.waiting: list[tuple[dict[str, Any], bytes]] = []
        self.arrived = threading.Condition()
        self.doing = threading.Lock()
        self.reset()

    def reset(self) -> None:
        """Know of no part."""
        self.pid = 0
        self.code = 0
        self.has_begun = self.has_ended = self.was_ready = self.was_held = False
        self.work = self.root
        self.rows: io.BufferedReader | None = None
        self.run: Path | None = None

    def send(self, kind: str, payload: bytes = b"", **fields: Any) -> None:
        """Send a message."""
        head = json.dumps({"is": kind, **fields, "size": len(payload)}).encode() + b"\n"
        with self.writing:
            sys.stdout.buffer.write(head + payload)
            sys.stdout.buffer.flush()

    def listen(self) -> None:
        """Read messages until the launcher is gone; a question about the clock is answered at once."""
        source = sys.stdin.buffer
        while line := source.readline():
            message = json.loads(line)
            payload = source.read(message["size"])
            self.heard_s = time.monotonic()
            if message["is"] == "ping":
                self.send("pong", ms=time.time() * 1000.0)
                continue
            with self.arrived:
                self.waiting.append((message, payload))
                self.arrived.notify()
        self.heard_s = -_SILENCE_S

    def watch(self) -> None:
        """End the load, and this program, when the launcher is lost."""
        while time.monotonic() - self.heard_s < _SILENCE_S or (self.heard_s > 0 and not self.has_begun):
            time.sleep(_TICK_S)
        self.end_load()
        until_s = time.monotonic() + _LAST_S  # its last words, such as to remove a part
        while self.waiting and time.monotonic() < until_s:
            time.sleep(_POLL_S)
        self.doing.acquire(timeout=_LAST_S)
        os._exit(0)

    def end_load(self) -> None:
        """Ask a running load to end, and see to it."""
        for seconds in _END_S if (self.work / "start").is_file() else _UNSTARTED_S:
            self.signal(signal.SIGINT)
            until_s = time.monotonic() + seconds
            while self.is_running():
                if time.monotonic() > until_s:
                    break
                time.sleep(_TICK_S)
        self.signal(signal.SIGKILL)

    def signal(self, number: int) -> None:
        """Send the load a signal if it runs."""
        if self.is_running():
            with contextlib.suppress(OSError):
                os.kill(self.pid, number)

    def is_running(self) -> bool:
        """Return whether the load's process lives; another relay may have started it."""
        if not self.pid or self.has_ended:
            return False
        with contextlib.suppress(ChildProcessError):
            ended, status = os.waitpid(self.pid, os.WNOHANG)
            if ended:
                self.has_ended, self.code = True, os.waitstatus_to_exitcode(status)
            return not ended
        try:
            return str(self.work).encode() in Path(f"/proc/{self.pid}/cmdline").read_bytes()
        except OSError:
            return False

    def messages(self) -> Iterator[tuple[dict[str, Any], bytes]]:
        """Yield the messages that arrived."""
        with self.arrived:
            arrived, self.waiting = self.waiting, []
        yield from arrived

    def serve(self) -> None:
        """Do what the launcher says; the end of its messages ends this program."""
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        os.umask(0o077)
        for target in (self.listen, self.watch):
            threading.Thread(target=target, daemon=True).start()
        self.send("hello", system=system(), machine=machine(), tool=tool())
        commands: dict[str, Callable[..., None]] = {
            "begin": self.begin, "folder": self.unpack, "start": self.start, "go": self.go, "stop": self.stop,
            "resume": self.resume, "end": self.end, "beat": lambda _message, _payload: None,
        }  # fmt: skip
        while True:
            with self.arrived:
                if not self.waiting:
                    self.arrived.wait(_TICK_S)
            with self.doing:
                for message, payload in self.messages():
                    commands[message["is"]](message, payload)
            if not self.pid:
                continue
            is_running = self.is_running()
            if not self.was_ready and (record := self.record()):
                self.was_ready = True
                self.send("ready", record.encode())
            if not self.was_held and (self.work / "start.held").is_file():
                self.was_held = True
                self.send("held")
            self.send_rows()
            self.send("beat", users=self.users())
            if not is_running:
                self.send_files()
                self.pid = 0

    def users(self) -> int | None:
        """Return how many users are active, None when JMeter does not say it."""
        with contextlib.suppress(OSError, ValueError, StopIteration):
            return int(next((self.work / "tmp").glob("connections-*/active-users.txt")).read_text())
        return None

    def begin(self, message: dict[str, Any], _: bytes) -> None:
        """Reply which folders this machine lacks; what no run has used for two weeks is removed."""
        self.folders = {name: str(self.root / f"{name}-{stamp}") for name, stamp in message["folders"].items()}
        lacks = [name for name, folder in self.folders.items() if not Path(folder).is_dir()]
        for folder in {*self.folders.values()} - {self.folders[name] for name in lacks}:
            os.utime(folder)
        for other in (*self.root.glob("*-*"), *self.root.glob("runs/*")):
            if time.time() - other.stat().st_mtime > _UNUSED_S:
                shutil.rmtree(other, ignore_errors=True)
        self.send("lacks", names=lacks)

    def unpack(self, message: dict[str, Any], payload: bytes) -> None:
        """Store a folder under its stamp."""
        folder = Path(self.folders[message["name"]])
        self.root.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="new-", dir=self.root) as draft:
            extract(payload, Path(draft) / "new")
            with contextlib.suppress(OSError):  # another part of the run was first
                (Path(draft) / "new").rename(folder)
        self.send("has", name=message["name"])

    def start(self, message: dict[str, Any], payload: bytes) -> None:
        """Start the part with the launcher's project; it waits for the time of the start."""
        self.work = self.root / "runs" / run_name(message["run"])
        for name in ("tmp", "reports"):
            (self.work / name).mkdir(parents=True)
        extract(payload, self.work / "project")
        paths = {**self.folders, "work": str(self.work), "here": str(Path.cwd())}
        argv = [filled(word, paths) for word in message["argv"]]
        own = {name: filled(value, paths) for name, value in message["environment"].items()}
        runs = os.environ.get("HARNESS_RUNS", f"{tempfile.gettempdir()}/load-test-runs")
        libraries = [own.get("PYTHONPATH"), os.environ.get("PYTHONPATH")]
        own |= {"PYTHONPATH": os.pathsep.join(filter(None, libraries))}
        own |= {"HARNESS_RUNS": runs, "TMPDIR": str(self.work / "tmp"), **message["secrets"]}
        with (self.work / "out.txt").open("wb") as out:
            process = subprocess.Popen(
                [sys.executable, *argv],
                cwd=self.work / "project",
                env={**os.environ, **own},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=ending_with_us(),
            )
        self.pid, self.has_begun = process.pid, True
        (self.work / "pid").write_text(str(self.pid))

    def go(self, message: dict[str, Any], _: bytes) -> None:
        """Tell the part when its load begins."""
        draft = self.work / "start.new"
        draft.write_text(f"{message['at_ms']:.0f}")
        draft.rename(self.work / "start")

    def stop(self, message: dict[str, Any], _: bytes) -> None:
        """Ask the load to end, or kill it."""
        self.signal(signal.SIGKILL if message["kill"] else signal.SIGINT)

    def end(self, _: dict[str, Any], __: bytes) -> None:
        """Remove a part of which the launcher has everything."""
        if self.work != self.root:
            shutil.rmtree(self.work, ignore_errors=True)
        self.reset()

    def resume(self, message: dict[str, Any], _: bytes) -> None:
        """Send a part that another launcher left: all its rows and files, once its load has ended."""
        self.work = self.root / "runs" / run_name(message["run"])
        if not self.work.is_dir():
            self.send("gone")
            return
        self.pid, self.has_begun = int((self.work / "pid").read_text()), True
        threading.Thread(target=self.end_load, daemon=True).start()

    def result(self) -> dict[str, Any]:
        """Return the result file of the part; empty before it began."""
        with contextlib.suppress(OSError, ValueError):
            found: dict[str, Any] = json.loads((self.work / "result.json").read_text())
            return found
        return {}

    def record(self) -> str:
        """Return the part's run.json as soon as it waits for its start; empty before."""
        run = self.result().get("run")
        folder = self.work / "reports" / run if run else None
        if folder is None or not (folder / "run.json").is_file():
            return ""
        self.run = folder
        text: str = (folder / "run.json").read_text()
        return text

    def send_rows(self) -> None:
        """Send the rows that are new in the part's JTL; one that is replaced when it has ended is read to its end."""
        if self.run is None:
            return
        if self.rows is None:
            with contextlib.suppress(OSError):
                self.rows = (self.run / "samples.jtl").open("rb")
        while self.rows and (data := self.rows.read(_CHUNK_BYTES)):
            self.send("rows", data)

    def send_files(self) -> None:
        """Send how the part ended, and its files."""
        self.send_rows()
        result = self.result()
        for path in sorted(self.run.rglob("*")) if self.run else ():
            name = path.relative_to(self.run or path).as_posix()
            is_of_plan = (self.work / "project" / "plans" / name).is_file() or name == "effective.jmx"
            is_huge = path.suffix == ".hprof"  # a dump of the heap
            if path.is_file() and not (is_of_plan or is_huge or name.startswith("samples.jtl")):
                self.send("file", path.read_bytes(), name=name)
        out = self.work / "out.txt"
        last = out.read_text(errors="replace").strip().splitlines()[-1:] if out.is_file() else []
        killed = [f"its harness was killed by signal {-self.code}"] if self.code < 0 else []
        reasons = result.get("reasons") or killed or last
        self.send("ended", code=result.get("exit_code"), reason=reasons[0] if reasons else "")


def run_name(text: str) -> str:
    """Return the name of a part's folder; ValueError for one that leads to another folder: it is removed at the end."""
    if not re.fullmatch(r"\w[\w.-]*", text):
        raise ValueError(f"{text!r} is no run")
    return text


def system() -> str:
    """Return operating system and processor of this machine."""
    uname = os.uname()
    return f"{uname.sysname} {uname.machine}"


def tool() -> str:
    """Return the version of the tool that this Python is set up for in the working folder, as in its image, else ""."""
    folder = Path.cwd()
    if Path(sys.prefix) != folder / ".venv":
        return ""
    with contextlib.suppress(OSError):
        found = re.findall('^__version__ = "(.*)"', (folder / "harness" / "__init__.py").read_text(), re.MULTILINE)
        return "".join(found)
    return ""


def machine() -> str:
    """Return a short text that is the same for all programs of one machine, until it boots again."""
    boot = Path("/proc/sys/kernel/random/boot_id")
    text = boot.read_text() if boot.is_file() else os.uname().nodename
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def extract(data: bytes, folder: Path) -> None:
    """Unpack an archive of the launcher into a new folder."""
    folder.mkdir(parents=True)
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        if hasattr(tarfile, "data_filter"):  # since Python 3.11.4
            archive.extraction_filter = tarfile.data_filter
        archive.extractall(folder)


def filled(text: str, paths: dict[str, str]) -> str:
    """Return a text with the paths of this machine for {name}."""
    for name, path in paths.items():
        text = text.replace(f"{{{name}}}", path)
    return text


def ending_with_us() -> Callable[[], object] | None:
    """Return what makes Linux interrupt the part when this program is killed; it runs in the main thread."""
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None).prctl
    return lambda: prctl(_PDEATHSIG, signal.SIGINT)


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        Relay().serve()
    os._exit(0)
