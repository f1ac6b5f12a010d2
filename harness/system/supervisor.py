"""Starts a system from its manifest, waits until it is ready, and stops all of it again.

It contains no code for a particular system. If the harness dies, harness/base/guardian.py cleans up.
"""

from __future__ import annotations

import http.client
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from harness.base import process as child
from harness.base.errors import StartError, UsageError
from harness.base.guardian import Guardian
from harness.base.http_client import within
from harness.base.java import java_context
from harness.base.log import Log
from harness.base.ports import check_port, exposed_listeners, free_port
from harness.system import preparation, system
from harness.system.system import (
    Manifest,
    MetricsSource,
    Placement,
    ProcessSpec,
    Settings,
    StatementCommands,
    SystemCommand,
)

_POLL_S = 0.05
# A server that accepts a connection but does not answer yet is tried again after this time.
_TIMEOUT_S = 2.0
# So much of a page is looked at to see whether its server is ready.
_BODY_MOST = 16 * 2**20
_NO_PROXY = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@dataclass(frozen=True)
class _Running:
    spec: ProcessSpec
    ready: system.Ready | None
    process: subprocess.Popen[bytes]
    logs: tuple[Path, ...]
    started_s: float


class EndedProcess(NamedTuple):
    """A process that ended by itself, and the last lines of its logs."""

    name: str
    exit_code: int
    log_tail: str


class Supervisor:
    """One instance of a system: prepares it once per machine, starts, watches and stops it."""

    def __init__(
        self,
        manifest: Manifest,
        settings: Settings,
        *,
        build_dir: Path,
        log_dir: Path,
        fixed_ports: Mapping[str, int] | None = None,
        guardian: Guardian | None = None,
    ) -> None:
        self.manifest = manifest
        self.settings = settings
        self._artifacts = (build_dir / "systems" / manifest.name).resolve()
        self._log_dir = log_dir.resolve()
        self._fixed_ports = dict(fixed_ports or {})
        self._given_guardian = guardian
        self._guardian = guardian
        self._work: Path | None = None
        self._running: list[_Running] = []
        self._ready: set[str] = set()
        self._ended: set[str] = set()
        # The lines of the report's set-up; empty until the system is started.
        self.facts: tuple[tuple[str, str], ...] = ()
        self._context: dict[str, object] = {
            "system_dir": str(manifest.folder),
            "artifacts": str(self._artifacts),
            "logs": str(self._log_dir),
            "settings": dict(settings),
            "is_root": os.geteuid() == 0,
            "is_profiled": False,
            "python": sys.executable,
            **java_context(),
        }

    def profile(self) -> None:
        """Have the manifest switch on what profiles need, such as statistics of a database; call it before `start`."""
        self._context["is_profiled"] = True

    @property
    def target_url(self) -> str:
        """Return the address of the started system, such as `http://127.0.0.1:41234`."""
        return self._render(self.manifest.target, "target")

    @property
    def processes(self) -> Mapping[str, int]:
        """Return the process id of every started process by its name in the manifest."""
        return {running.spec.name: running.process.pid for running in self._running}

    @property
    def is_up(self) -> bool:
        """Return whether the system is started and all its processes are alive."""
        return bool(self._running) and all(running.process.poll() is None for running in self._running)

    @property
    def recordings(self) -> Mapping[str, Path]:
        """Return the JFR recording of every started process that has one, by name; it is complete after `stop`."""
        names = {r.spec.name: self._render(r.spec.recording, f"{r.spec.name}.recording") for r in self._running}
        return {process: self._log_dir / name for process, name in names.items() if name}

    @property
    def statement_commands(self) -> Mapping[str, StatementCommands]:
        """Return the commands that reset and print the statements of each started database, by its name."""
        by_name = {}
        for spec in (running.spec for running in self._running):
            commands, where = spec.statements, f"{spec.name}.statements"
            if commands and self._applies(commands.when, where):
                given = (commands.reset, commands.read, commands.waits, commands.snapshot)
                reset, read, waits, snapshot = (system.render_argv(argv, self._context, where) for argv in given)
                by_name[commands.name or spec.name] = StatementCommands(reset, read, waits=waits, snapshot=snapshot)
        return by_name

    @property
    def metrics_sources(self) -> Mapping[str, MetricsSource]:
        """Return where each started process publishes its metrics, by process."""
        given = {running.spec.name: running.spec.metrics for running in self._running}
        return {
            process: replace(found, url=self._render(found.url, f"{process}.metrics"))
            for process, found in given.items()
            if found
        }

    @property
    def exception_logs(self) -> tuple[str, ...]:
        """Return the names of the log files in which exceptions are counted."""
        names = (self._render(name, f"{r.spec.name}.exceptions") for r in self._running for name in r.spec.exceptions)
        return tuple(dict.fromkeys(names))

    def prepare(self, log: Log = print) -> None:
        """Run the once-per-machine steps; takes milliseconds when they are already done."""
        environment = self._guard().environment
        preparation.prepare(self.manifest, self._context, environment, self._artifacts, log)

    def start(self, meanwhile: Callable[[], None] | None = None) -> None:
        """Start every process and wait until all are ready; call `meanwhile` as soon as all are started.

        On StartError, everything is stopped again.
        """
        if self._running:
            raise UsageError(f"system {self.manifest.name} is already started", "stop it first")
        try:
            self._fill_work_folder()
            self._start_all(meanwhile)
        except BaseException:  # also for Ctrl-C: nothing may be left running
            self.stop()
            raise

    def check(self) -> tuple[EndedProcess, ...]:
        """Return the processes that ended by themselves since the last call."""
        ended = [r for r in self._running if r.spec.name not in self._ended and r.process.poll() is not None]
        self._ended.update(running.spec.name for running in ended)
        return tuple(EndedProcess(r.spec.name, r.process.returncode, child.tail_of(*r.logs)) for r in ended)

    def stop(self) -> None:
        """End every process, last started first, and remove the work folder. Calling it again has no effect."""
        try:
            while self._running:
                child.stop(self._running[-1].process, self._running[-1].spec.stop_deadline_s)
                self._running.pop()
            self._ready.clear()
            self._ended.clear()
        finally:
            if self._guardian and not self._given_guardian:
                self._guardian.close()
                self._guardian = None
            if self._work:
                shutil.rmtree(self._work, ignore_errors=True)
                self._work = None

    def __enter__(self) -> Supervisor:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _guard(self) -> Guardian:
        self._guardian = self._guardian or Guardian()
        return self._guardian

    def _environment(self) -> dict[str, str]:
        """Return the guardian's variables; Python reads no compiled file beside a program, for consent covers none."""
        return {**self._guard().environment, "PYTHONPYCACHEPREFIX": f"{self._work}/pycache"}

    def _fill_work_folder(self) -> None:
        """Choose the ports and fill the work folder: private, and with a path short enough for Unix sockets."""
        self._context["ports"] = self._choose_ports()
        guardian = self._guard()
        self._work = Path(tempfile.mkdtemp(prefix="lt-"))
        guardian.remove_at_end(self._work)
        self._context["work"] = str(self._work)
        self._log_dir.mkdir(parents=True, exist_ok=True)
        for placements, is_template in ((self.manifest.templates, True), (self.manifest.copies, False)):
            for placement in placements:
                if self._applies(placement.when, f"{placement.source}"):
                    self._put(placement, self._work, is_template=is_template)
        self.facts = system.render_facts(self.manifest, self._context, self._first_line)

    def _first_line(self, fact: str, argv: tuple[str, ...]) -> str:
        """Return the first line that a command prints. UsageError when its program is missing."""
        log = self._log_dir / f"fact-{fact.replace(' ', '-')}.log"
        assert self._work is not None
        name = f"{self.manifest.name}: {fact}"
        child.run_or_fail(child.Launch(name, argv, self._work, self._environment(), log))
        return log.read_text(encoding="utf-8", errors="replace").strip().partition("\n")[0]

    def _choose_ports(self) -> dict[str, int]:
        unknown = sorted(self._fixed_ports.keys() - self.manifest.ports.keys())
        if unknown:
            there = ", ".join(self.manifest.ports)
            raise UsageError(f"system {self.manifest.name} has no port {unknown[0]!r}", f"its ports: {there or 'none'}")
        ports: dict[str, int] = {}
        for name, default in self.manifest.ports.items():
            wanted = self._fixed_ports.get(name) or default
            if wanted:
                check_port(name, wanted)
            ports[name] = wanted or free_port(ports.values())
        return ports

    def _put(self, placement: Placement, work: Path, *, is_template: bool) -> None:
        source = self.manifest.folder / self._render(placement.source, "from")
        target = work / self._render(placement.target, "to")
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            if is_template:
                target.write_text(self._render(source.read_text(encoding="utf-8"), source.name), encoding="utf-8")
            elif source.is_dir():
                shutil.copytree(source, target, dirs_exist_ok=True)
            else:
                shutil.copy(source, target)
        except OSError as error:
            what = f"{source} cannot be copied to {target} ({error.strerror})"
            raise StartError(what, "correct the manifest") from None

    def _start_all(self, meanwhile: Callable[[], None] | None) -> None:
        waiting = [spec for spec in self.manifest.processes if self._applies(spec.when, spec.name)]
        names = {spec.name for spec in waiting}
        while waiting or len(self._ready) < len(self._running):
            for spec in [spec for spec in waiting if self._ready.issuperset(names.intersection(spec.after))]:
                self._launch(spec)
                waiting.remove(spec)
            if meanwhile and not waiting:
                meanwhile()
                meanwhile = None
            if not self._look():
                time.sleep(_POLL_S)

    def _launch(self, spec: ProcessSpec) -> None:
        for command in spec.before:
            self._run_before(spec, command)
        launch = self._to_launch(spec.name, spec, spec.argv, cpus=self._render(str(spec.cpus), f"{spec.name}.cpus"))
        logs = (launch.log, *(Path(self._render(path, f"{spec.name}.logs")) for path in spec.logs))
        ready = spec.ready
        if ready:
            given = (ready.url, ready.tcp, ready.contains)
            url, tcp, contains = (self._render(text, f"{spec.name}.ready") for text in given)
            ready = replace(ready, url=url, tcp=tcp, contains=contains)
        process = child.start(launch)
        self._guard().watch(process.pid)
        self._running.append(_Running(spec, ready, process, logs, time.monotonic()))

    def _run_before(self, spec: ProcessSpec, command: SystemCommand) -> None:
        if not self._applies(command.when, command.name):
            return
        if command.unless and child.run(self._to_launch(f"{command.name}-unless", spec, command.unless)) == 0:
            return
        child.run_or_fail(self._to_launch(command.name, spec, command.argv))

    def _to_launch(self, name: str, spec: ProcessSpec, argv: tuple[str, ...], cpus: str = "0") -> child.Launch:
        where = f"{spec.name}.{name}"
        return child.Launch(
            name=f"{self.manifest.name}: {name}",
            argv=system.render_argv(argv, self._context, where),
            cwd=Path(self._render(spec.cwd, where)),
            environment={**{key: self._render(value, where) for key, value in spec.env.items()}, **self._environment()},
            log=self._log_dir / f"{name}.log",
            cpu_count=int(cpus),
        )

    def _look(self) -> bool:
        """Check once every process that is not ready; return whether one became ready."""
        became = False
        for running in self._running:
            self._fail_if_ended(running)
            if running.spec.name in self._ready:
                continue
            why = _trouble(running.ready) if running.ready else None
            if why is None:
                self._refuse_exposed(running)
                self._ready.add(running.spec.name)
                became = True
            elif running.ready and time.monotonic() - running.started_s > running.ready.deadline_s:
                what = f"{self._title(running)} is not ready after {running.ready.deadline_s:g} s ({why})"
                raise StartError(what, f"see {self._log_dir}", child.tail_of(*running.logs))
        return became

    def _fail_if_ended(self, running: _Running) -> None:
        code = running.process.poll()
        if code is not None:
            after_s = time.monotonic() - running.started_s
            what = f"{self._title(running)} ended with code {code} after {after_s:.1f} s, before the system was ready"
            raise StartError(what, f"see {self._log_dir}", child.tail_of(*running.logs))

    def _refuse_exposed(self, running: _Running) -> None:
        exposed = exposed_listeners(running.process.pid)
        if exposed:
            what = f"{self._title(running)} listens on {', '.join(exposed)}, which other machines can reach"
            raise StartError(what, "bind it to 127.0.0.1 in its manifest")

    def _title(self, running: _Running) -> str:
        return f"{self.manifest.name}: {running.spec.name}"

    def _render(self, text: str, where: str) -> str:
        return system.render(text, self._context, f"system {self.manifest.name}, {where}")

    def _applies(self, when: str, where: str) -> bool:
        return system.applies(when, self._context, f"system {self.manifest.name}, {where}")


def _trouble(ready: system.Ready) -> str | None:
    """Return why the server (its `ready`, rendered) is not ready, or None when it is ready."""
    return _url_trouble(ready) if ready.url else _tcp_trouble(ready.tcp)


def _tcp_trouble(address: str) -> str | None:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=_TIMEOUT_S).close()
    except OSError as error:
        return f"{address}: {error.strerror or error}"
    return None


class _Page(NamedTuple):
    status: int
    body: str


def _page(url: str) -> _Page:
    try:
        with _NO_PROXY.open(url, timeout=_TIMEOUT_S) as answer:
            return _Page(answer.status, answer.read(_BODY_MOST).decode(errors="replace"))
    except urllib.error.HTTPError as error:
        with error:
            return _Page(error.code, error.read(_BODY_MOST).decode(errors="replace"))


def _url_trouble(ready: system.Ready) -> str | None:
    try:
        status, body = within(_TIMEOUT_S, lambda: _page(ready.url))
    except (OSError, http.client.HTTPException) as error:
        return f"{ready.url}: {getattr(error, 'reason', None) or error or type(error).__name__}"
    if status != ready.status:
        return f"{ready.url} answers {status}, not {ready.status}"
    if ready.contains not in body:
        return f"{ready.url} answers {status} without {ready.contains!r} in: {body[:300]!r}"
    return None
