"""Controls the load generators of a command: claims them, sends them their part of each run, collects their files."""

from __future__ import annotations

import contextlib
import os
import queue
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.base import process as child
from harness.base.errors import StartError
from harness.base.guardian import Guardian
from harness.base.install import toolchain
from harness.base.java import jmeter_java_path
from harness.plan.data_rows import read_data
from harness.plan.jmx.csv_data import data_sets, divided
from harness.plan.jmx.tree import plan_tree
from harness.plan.load.groups import GroupLoad
from harness.plan.load.model import Load
from harness.plan.plan import Plan
from harness.run.directory import RunDirectory, generator_log
from harness.run.jmeter.connections import DEAD_NAME, FOREIGN_NAME, generator_connections, generator_dead
from harness.run.jmeter.exchanges import RAW_NAME, generator_exchanges
from harness.run.record import GeneratorRecord
from harness.run.remote import load as generators
from harness.run.remote.keys import check_keys
from harness.run.remote.load import ALLOWED_CONNECTIONS, KEY_PROPERTIES, KEY_STORE, LOG_NAME, Remote
from harness.run.telemetry.table import GENERATOR_PREFIX

# The start of a JVM, the first handshake and the reading of all jars take two seconds on a busy machine.
_CLAIM_S = 30.0
# A generator needs up to 10 s to stop a load that still runs.
_COMMAND_S = 30.0
_END_S = 15.0
# Replaces a line of the generator client after it has ended.
_END = "end"
# The files of a generator that have its number in the run directory.
_NUMBERED = {
    LOG_NAME: generator_log, FOREIGN_NAME: generator_connections, RAW_NAME: generator_exchanges,
    DEAD_NAME: generator_dead,
}  # fmt: skip


@dataclass
class _Peer:
    """One generator, its facts, and why it was lost."""

    remote: Remote
    facts: dict[str, str]
    clock_ahead_ms: int = 0
    lost: str = ""


# A generator's answer to a command: its kind, such as done or failed, and a text, such as the reason.
_Answer = tuple[str, str]


class Generators:
    """The generators of one command: claimed at the start, and released however the harness ends.

    A StartError names a generator that is missing, in use, or different from this machine.
    """

    def __init__(self, remotes: Sequence[Remote], keys: Path, home: Path, guardian: Guardian) -> None:
        check_keys(keys)
        self._keys = keys.resolve()
        self._guardian = guardian
        self._peers = [_Peer(remote, {}) for remote in remotes]
        self._own: dict[str, str] = {}
        self._lines: queue.SimpleQueue[list[str]] = queue.SimpleQueue()
        classpath = os.pathsep.join([str(toolchain.ensure_generators(home)), toolchain.jmeter_classpath(home)])
        who = f"a harness on {socket.gethostname()}"
        command = generators.client_command(jmeter_java_path(), home, classpath, who, self.remotes)
        self._folder = Path(tempfile.mkdtemp(prefix="generators-"))
        guardian.remove_at_end(self._folder)
        with (self._folder / "client.log").open("wb") as log:
            self._client = subprocess.Popen(
                command,
                cwd=self._keys,
                env={**child.inherited(), **guardian.environment},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
            )
        threading.Thread(target=self._read, name="generators", daemon=True).start()
        try:
            self._wait_for_all("ready", _CLAIM_S)
            for peer in self._peers:
                if unlike := generators.difference(self._own, peer.facts):
                    raise _not_usable(peer.remote, unlike, "install what this machine has there, and restart it")
        except BaseException:  # Ctrl-C as well
            self.close()
            raise

    @property
    def remotes(self) -> tuple[Remote, ...]:
        """The addresses of the generators."""
        return tuple(peer.remote for peer in self._peers)

    @property
    def local_processes(self) -> Mapping[str, int]:
        """The process ids of the generators on this machine, by their name in telemetry."""
        return {f"{GENERATOR_PREFIX}{p.remote.name}": int(p.facts["pid"]) for p in self._peers if p.remote.is_local}

    def records(self, load: Load) -> tuple[GeneratorRecord, ...]:
        """Return the record of each generator for run.json."""
        facts, ahead_ms = [peer.facts for peer in self._peers], [peer.clock_ahead_ms for peer in self._peers]
        return generators.records(self.remotes, facts, ahead_ms, load)

    def begin(
        self,
        directory: RunDirectory,
        plan: Plan,
        properties: Mapping[str, str],
        parts: Sequence[Mapping[str, str]],
        variables: Sequence[str],
        allowed: Sequence[str],
    ) -> None:
        """Send each generator its part of the load and the plan's data; lines that can be used only once are divided.

        `parts` are the properties of each generator with its part, such as its users. `variables` must be in the
        environment of each generator; `allowed` are the addresses that it may connect to.
        """
        folders = [self._folder / str(number) for number in range(len(self._peers))]
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
        own = distribute_data(directory.path, plan.jmx_path, plan.load.loads, properties, folders)
        samples_go_to = f"{_address_towards(generators.far_first(self.remotes))}:0"
        hosts = ",".join((*allowed, samples_go_to))
        for number, (folder, part) in enumerate(zip(folders, parts, strict=True)):
            values = {**own, **part, "generator": str(number + 1), ALLOWED_CONNECTIONS: hosts}
            fields = [f"{name}={value}" for name, value in values.items()]
            self._send("begin", str(number), str(folder), ",".join(variables), *fields)
        self._wait_for_all("done", _COMMAND_S)

    def controller_options(self, properties: Mapping[str, str], jmx_path: Path) -> list[str]:
        """Return the options with which JMeter controls the generators with these properties."""
        # These are sent to each generator separately.
        own = {"users", *(data.property_name for data in data_sets(plan_tree(jmx_path)))}
        alike = {name: value for name, value in properties.items() if name not in own}
        return generators.controller_options(self.remotes, _address_towards(generators.far_first(self.remotes)), alike)

    @contextlib.contextmanager
    def keys_in(self, directory: RunDirectory) -> Iterator[None]:
        """Link the keys into the run directory, JMeter's working directory, until the block ends.

        A generator sends JMeter the path of its key store, and JMeter opens that path. Only a name without a folder is
        valid on both machines.
        """
        links = [directory.path / name for name in (KEY_STORE, KEY_PROPERTIES)]
        for link in links:
            self._guardian.remove_at_end(link)
            link.symlink_to(self._keys / link.name)
        try:
            yield
        finally:
            for link in links:
                link.unlink(missing_ok=True)

    def failures(self) -> tuple[str, ...]:
        """Return a line for each generator that was lost."""
        with contextlib.suppress(queue.Empty):
            while True:
                self._take(self._lines.get_nowait())
        if self._client.poll() is not None:
            return ("the program that watches the generators ended",)
        return tuple(f"generator {peer.remote.name} was lost: {peer.lost}" for peer in self._peers if peer.lost)

    def end(self, directory: RunDirectory) -> tuple[str, ...]:
        """Stop a load that still runs; copy the files that the plan saved, and the logs, into the run directory.

        When several generators saved a file, that of the first is copied. Return a line for each generator that was
        lost or whose load still ran: JMeter ends with code 0 when a generator dies while JMeter starts them.
        """
        problems: list[str] = []
        present = [number for number, peer in enumerate(self._peers) if not peer.lost]
        for number in present:
            folder = self._folder / f"{number}-left"
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            self._send("end", str(number), str(folder))
        for number, (kind, text) in self._answers("done", present, _COMMAND_S).items():
            name = self._peers[number].remote.name
            if kind != "done":
                problems.append(f"generator {name} was lost: {text}")
            elif text == "ran on":
                problems.append(f"the load of generator {name} still ran when JMeter ended")
        for number in present:
            folder = self._folder / f"{number}-left"
            for path in sorted(path for path in folder.rglob("*") if path.is_file()):
                name = path.relative_to(folder).as_posix()
                copy = directory.path / (_NUMBERED[name](number + 1) if name in _NUMBERED else name)
                # A plan may have saved a file with the name of an agent's list.
                if not copy.exists() or path.name == FOREIGN_NAME:
                    copy.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(path, copy)
        return tuple(problems)

    def close(self) -> None:
        """Release the generators; repeated calls do nothing."""
        if self._client.stdin and not self._client.stdin.closed:
            with contextlib.suppress(BrokenPipeError):
                self._client.stdin.close()
        try:
            self._client.wait(timeout=_END_S)
        except subprocess.TimeoutExpired:
            self._client.kill()
            self._client.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Generators:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read(self) -> None:
        assert self._client.stdout is not None
        for line in self._client.stdout:
            self._lines.put(line.rstrip("\n").split("\t"))
        self._lines.put([_END])

    def _send(self, *fields: str) -> None:
        assert self._client.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # the wait for the answer reports it
            self._client.stdin.write("\t".join(fields) + "\n")
            self._client.stdin.flush()

    def _wait_for_all(self, kind: str, within_s: float) -> None:
        """Wait until each generator has sent an answer of this kind; a StartError names the first that does not."""
        for number, (answered, text) in self._answers(kind, range(len(self._peers)), within_s).items():
            if answered != kind:
                raise _not_usable(self._peers[number].remote, text, "see docs/generators.md for the cause")

    def _answers(self, kind: str, numbers: Iterable[int], within_s: float) -> dict[int, _Answer]:
        """Return the answers by generator: of this kind, or failed or lost with the reason; no answer is failed."""
        answers: dict[int, _Answer] = {}
        waiting, until_s = set(numbers), time.monotonic() + within_s
        while waiting:
            try:
                fields = self._lines.get(timeout=max(0.0, until_s - time.monotonic()))
            except queue.Empty:
                return answers | dict.fromkeys(waiting, ("failed", f"no answer within {within_s:.0f} s"))
            self._take(fields)
            if fields[0] == _END:
                why = " ".join((self._folder / "client.log").read_text(errors="replace").split())
                return answers | dict.fromkeys(waiting, ("failed", f"the program that talks to it ended: {why}"))
            if fields[0] in (kind, "failed", "lost"):
                answers[int(fields[1])] = (fields[0], fields[2])
                waiting.discard(int(fields[1]))
        return answers

    def _take(self, fields: Sequence[str]) -> None:
        match fields:
            case ["own", name, value]:
                self._own[name] = value
            case ["fact", number, name, value]:
                self._peers[int(number)].facts[name] = value
            case ["ready", number, ahead_ms]:
                self._peers[int(number)].clock_ahead_ms = int(ahead_ms)
            case ["lost", number, why]:
                self._peers[int(number)].lost = why


def _not_usable(remote: Remote, why: str, todo: str) -> StartError:
    return StartError(f"generator {remote.name}: {why}", todo)


def _address_towards(remote: Remote) -> str:
    """Return the address of this machine that a generator sees; this sends no packet."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((remote.host, remote.port))
        address: str = probe.getsockname()[0]
        return address


def distribute_data(
    run: Path, jmx_path: Path, loads: Sequence[GroupLoad], properties: Mapping[str, str], folders: Sequence[Path]
) -> dict[str, str]:
    """Write the plan's data files into each generator's folder; return the properties with their names."""
    changed = {}
    for data, copy_name, lines in read_data(run, jmx_path, loads, properties):
        if data.property_name:
            changed[data.property_name] = copy_name
        parts = divided(lines, data.has_head, len(folders)) if data.is_used_up else (lines,) * len(folders)
        for folder, part in zip(folders, parts, strict=True):
            copy = folder / copy_name
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(b"".join(part))
    return changed
