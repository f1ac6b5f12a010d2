"""Claims generators for a command, tells each its part of every run, notices one that dies, takes home what it left."""

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
from harness.base import toolchain
from harness.base.errors import StartError, UsageError
from harness.base.guardian import Guardian
from harness.plan.data_sets import data_sets, divided
from harness.plan.load import ClosedLoad, OpenLoad
from harness.run.connections import FOREIGN_NAME, generator_connections
from harness.run.directory import RunDirectory
from harness.run.record import GeneratorRecord
from harness.run.remote import load as generators
from harness.run.remote.keys import check_keys
from harness.run.remote.load import ALLOWED_CONNECTIONS, KEY_PROPERTIES, KEY_STORE, LOG_NAME, Remote

# A JVM's start, the first handshake and the reading of all jars take two seconds on a busy machine.
_CLAIM_S = 30.0
# A generator whose last load still goes on takes 10 s to stop it.
_COMMAND_S = 30.0
_END_S = 15.0
# What stands in the place of a line when the program that talks to the generators has ended.
_END = "end"


@dataclass
class _Peer:
    """What is known of one generator."""

    remote: Remote
    facts: dict[str, str]
    clock_ahead_ms: int = 0
    lost: str = ""


class Generators:
    """The generators of one command: claimed from the start on, and given free however the harness ends.

    StartError names the one that is not there, is in use, or is not like this machine.
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
        command = generators.client_command(toolchain.jmeter_java_path(), home, classpath, who, self.remotes)
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
                    raise _not_usable(peer.remote, unlike, "give it what this machine has, and start it again")
        except BaseException:  # Ctrl-C as well
            self.close()
            raise

    @property
    def remotes(self) -> tuple[Remote, ...]:
        """Where they listen."""
        return tuple(peer.remote for peer in self._peers)

    @property
    def local_processes(self) -> Mapping[str, int]:
        """The process ids of those on this machine, by what telemetry calls them."""
        return {generators.process_name(p.remote): int(p.facts["pid"]) for p in self._peers if p.remote.is_local}

    def records(self, load: ClosedLoad | OpenLoad) -> tuple[GeneratorRecord, ...]:
        """Return what run.json says of each for a load."""
        facts, ahead_ms = [peer.facts for peer in self._peers], [peer.clock_ahead_ms for peer in self._peers]
        return generators.records(self.remotes, facts, ahead_ms, load)

    def begin(
        self,
        directory: RunDirectory,
        shape_path: Path,
        properties: Mapping[str, str],
        load: ClosedLoad | OpenLoad,
        variables: Sequence[str],
        allowed: Sequence[str],
    ) -> None:
        """Send each generator its users and the plan's data; lines that are used up are divided.

        `variables` are those that must be in the environment of each, `allowed` the addresses that it may connect to.
        """
        folders = [self._folder / str(number) for number in range(len(self._peers))]
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
        own = _deal_out_data(directory.path, shape_path, properties, folders)
        samples_go_to = f"{_address_towards(generators.far_first(self.remotes))}:0"
        hosts = ",".join((*allowed, samples_go_to))
        for number, (folder, record) in enumerate(zip(folders, self.records(load), strict=True)):
            users = "" if record.users is None else str(record.users)
            values = {**own, "users": users, "generator": str(number + 1), ALLOWED_CONNECTIONS: hosts}
            told = [f"{name}={value}" for name, value in values.items()]
            self._tell("begin", str(number), str(folder), ",".join(variables), *told)
        self._wait_for_all("done", _COMMAND_S)

    def controller_options(self, properties: Mapping[str, str], shape_path: Path) -> list[str]:
        """Return what JMeter is told so that it drives the generators with these properties."""
        own = {"users", *(data.property_name for data in data_sets(shape_path))}  # each was told them by itself
        alike = {name: value for name, value in properties.items() if name not in own}
        return generators.controller_options(self.remotes, _address_towards(generators.far_first(self.remotes)), alike)

    @contextlib.contextmanager
    def keys_in(self, directory: RunDirectory) -> Iterator[None]:
        """Have the keys in the run directory, where JMeter works, for as long as this is entered.

        A generator tells JMeter where its key store is, and JMeter looks there: only a name without a folder can be
        right on both machines.
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

    def troubles(self) -> tuple[str, ...]:
        """Return a line for each generator that was lost."""
        with contextlib.suppress(queue.Empty):
            while True:
                self._take(self._lines.get_nowait())
        if self._client.poll() is not None:
            return ("the program that watches the generators ended",)
        return tuple(f"generator {peer.remote.name} was lost: {peer.lost}" for peer in self._peers if peer.lost)

    def end(self, directory: RunDirectory) -> tuple[str, ...]:
        """Stop what still runs; put into the run directory what the plan saved, and each one's log.

        Of a file that several saved the first generator's is kept. Return a line for each generator that was lost, or
        on which the load still went on: JMeter ends with code 0 when one of them dies while it starts them.
        """
        found: list[str] = []
        there = [number for number, peer in enumerate(self._peers) if not peer.lost]
        for number in there:
            folder = self._folder / f"{number}-left"
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            self._tell("end", str(number), str(folder))
        for number, answer in self._answers("done", there, _COMMAND_S).items():
            peer = self._peers[number]
            match answer:
                case ["done", _, "ran on"]:
                    found.append(f"the load of generator {peer.remote.name} still went on when JMeter ended")
                case ["failed" | "lost", _, why]:
                    found.append(f"generator {peer.remote.name} was lost: {why}")
        for number in there:
            folder = self._folder / f"{number}-left"
            for path in sorted(path for path in folder.rglob("*") if path.is_file()):
                name = path.relative_to(folder).as_posix()
                if name == LOG_NAME:
                    name = generators.generator_log(number + 1)
                elif name == FOREIGN_NAME:
                    name = generator_connections(number + 1)
                copy = directory.path / name
                if not copy.exists():
                    copy.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(path, copy)
        return tuple(found)

    def close(self) -> None:
        """Give them free. Can be called again."""
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

    def _tell(self, *fields: str) -> None:
        assert self._client.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # the wait for the answer says so
            self._client.stdin.write("\t".join(fields) + "\n")
            self._client.stdin.flush()

    def _wait_for_all(self, word: str, within_s: float) -> None:
        """Wait until each generator has said `word`; StartError names the first that does not."""
        for number, answer in self._answers(word, range(len(self._peers)), within_s).items():
            if answer[0] != word:
                raise _not_usable(self._peers[number].remote, answer[2], "docs/generators.md says what that may be")

    def _answers(self, word: str, numbers: Iterable[int], within_s: float) -> dict[int, list[str]]:
        """Return what each of these generators says: `word`, or failed or lost with the reason; silence has failed."""
        answers: dict[int, list[str]] = {}
        waiting, until_s = set(numbers), time.monotonic() + within_s
        while waiting:
            try:
                fields = self._lines.get(timeout=max(0.0, until_s - time.monotonic()))
            except queue.Empty:
                answers |= {n: ["failed", str(n), f"no answer within {within_s:.0f} s"] for n in waiting}
                return answers
            self._take(fields)
            if fields[0] == _END:
                why = " ".join((self._folder / "client.log").read_text(errors="replace").split())
                answers |= {n: ["failed", str(n), f"the program that talks to it ended: {why}"] for n in waiting}
                return answers
            if fields[0] in (word, "failed", "lost"):
                answers[int(fields[1])] = fields
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
    """Return the address of this machine that a generator sees: no packet is sent to find it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((remote.host, remote.port))
        address: str = probe.getsockname()[0]
        return address


def _deal_out_data(
    run: Path, shape_path: Path, properties: Mapping[str, str], folders: Sequence[Path]
) -> dict[str, str]:
    """Put into each generator's folder the data that the plan reads there; return the properties that name them."""
    told = {}
    for data in data_sets(shape_path):
        name = data.file(properties)
        if not name:
            continue
        source = Path(name) if Path(name).is_absolute() else run / name
        there = f"data/{source.name}" if Path(name).is_absolute() else name
        if data.property_name:
            told[data.property_name] = there
        try:
            lines = source.read_bytes().splitlines(keepends=True)
        except OSError as error:
            raise UsageError(f"{shape_path.name}: its data file {name}: {error.strerror}", "correct its name") from None
        parts = divided(lines, data.has_head, len(folders)) if data.is_used_up else (lines,) * len(folders)
        for folder, part in zip(folders, parts, strict=True):
            copy = folder / there
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(b"".join(part))
    return told
