"""The launcher's end of a channel to the machine of a part: messages, samples, and how far its clock is ahead."""

from __future__ import annotations

import contextlib
import json
import queue
import re
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

from harness.base.errors import UsageError
from harness.base.process import inherited
from harness.base.units import MS_PER_S
from harness.run.parts import relay
from harness.run.parts.places import Place

# A relay sends a message twice a second.
SILENCE_S = 20.0
_BEAT_S = 1.0
# Of these round trips the shortest counts, as with NTP.
_PINGS = 8
_PING_S = 10.0
_END_S = 10.0
# Instead of a part that is ready.
_FINAL = ("ended", "gone")
_TIME = re.compile(rb"^\d{13}(?=\D)", re.MULTILINE)
Message = tuple[Mapping[str, Any], bytes]


class Channel:
    """A relay on another machine, or here; `lost` is why it can no longer be reached, "" while it can.

    `ended` is how its part ended, once its files are here; None before. It `is_held` when its JMeter waits for the time
    of the start. `users` are those that are active there.

    Rows go to `on_rows`, files to `on_file` with their names; both are called by the thread of the channel.
    """

    def __init__(self, place: Place) -> None:
        self.name = place.name
        self._why_gone = place.why_lost
        self.lost = ""
        self.reset()
        self.on_rows: Callable[[bytes], None] = lambda _: None
        self.on_file: Callable[[str, bytes], None] = lambda _name, _data: None
        self._heard_s = time.monotonic()
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - until the channel ends
        try:
            self._process = subprocess.Popen(
                place.argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                env={**inherited(), **place.environment},
                start_new_session=True,  # Ctrl-C in the terminal does not reach it
            )
        except OSError as error:
            what = f"{self.name}: {place.argv[0]} cannot be started ({error.strerror})"
            raise UsageError(what, "install it, or put it on PATH") from None
        source = Path(relay.__file__).read_bytes()
        self._write(b"%d\n%s" % (len(source), source))
        for target in (self._read, self._beat):
            threading.Thread(target=target, name=f"part on {self.name}", daemon=True).start()

    def reset(self) -> None:
        """Know of no part."""
        self.ended: Mapping[str, Any] | None = None
        self.is_held = False
        self.users: int | None = None
        self._messages: queue.SimpleQueue[Message | None] = queue.SimpleQueue()

    def send(self, kind: str, payload: bytes = b"", **fields: Any) -> None:
        """Send a message; a relay that is gone is noticed by its silence."""
        self._write(json.dumps({"is": kind, **fields, "size": len(payload)}).encode() + b"\n" + payload)

    def receive(self, kind: str, within_s: float) -> Message | None:
        """Return the next message of a kind, or the one instead of it; None when the relay is lost."""
        until_s = time.monotonic() + within_s
        while not self.lost:
            try:
                message = self._messages.get(timeout=max(0.0, min(_BEAT_S, until_s - time.monotonic())))
            except queue.Empty:
                if time.monotonic() > until_s:
                    self.lost = self.lost or f"no answer for {within_s:.0f} s"
                continue
            if message and message[0]["is"] in (kind, *(_FINAL if kind == "ready" else ())):
                return message
        return None

    def measure_clock(self) -> int | None:
        """Return how far the clock there is ahead of ours, ms: 0 where it may be none; None when the relay is lost."""
        rounds: list[tuple[float, float]] = []
        for _ in range(_PINGS):
            sent_ms, sent_s = time.time() * MS_PER_S, time.monotonic()
            self.send("ping")
            message = self.receive("pong", _PING_S)
            if message is None:
                return None
            took_ms = (time.monotonic() - sent_s) * MS_PER_S
            rounds.append((took_ms / 2, message[0]["ms"] - sent_ms - took_ms / 2))
        error_ms, ahead_ms = min(rounds)
        return round(ahead_ms) if abs(ahead_ms) > error_ms else 0

    def check(self) -> str:
        """Return why the relay is lost, "" while it answers."""
        if not self.lost and time.monotonic() - self._heard_s > SILENCE_S:
            self.lost = f"no answer for {SILENCE_S:.0f} s"
        return self.lost

    def close(self, *, at_once: bool = False) -> None:
        """End the channel: its relay ends a load that still runs, and stops by itself."""
        self._closed.set()
        if at_once:  # a message may be on its way
            self._process.kill()
        with contextlib.suppress(OSError):
            self._stdin.close()
        try:
            self._process.wait(timeout=0.0 if self.lost else _END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()  # one that is stopped ignores anything else
            self._process.wait()

    @property
    def _stdin(self) -> IO[bytes]:
        assert self._process.stdin is not None
        return self._process.stdin

    def _write(self, data: bytes) -> None:
        with self._lock, contextlib.suppress(OSError, ValueError):
            self._stdin.write(data)
            self._stdin.flush()

    def _beat(self) -> None:
        while not self._closed.wait(_BEAT_S):
            self.send("beat")

    def _read(self) -> None:
        try:
            while message := self._next():
                self._take(message)
        except (OSError, ValueError) as error:  # rows that cannot be written, or a broken message
            self.lost = self.lost or str(error)
        self.lost = self.lost or self._why_ended()
        self._messages.put(None)

    def _next(self) -> Message | None:
        stream = self._process.stdout
        assert stream is not None
        while line := stream.readline():
            if line.startswith(b'{"is": '):  # what a shell prints at its start is none
                head = json.loads(line)
                payload = stream.read(head["size"])
                return (head, payload) if len(payload) == head["size"] else None
        return None

    def _take(self, message: Message) -> None:
        head, payload = message
        self._heard_s = time.monotonic()
        match head["is"]:
            case "rows":
                self.on_rows(payload)
            case "file":
                self.on_file(head["name"], payload)
            case "beat":
                self.users = head["users"]
            case "held":
                self.is_held = True
            case kind:
                self.ended = head if kind in _FINAL else self.ended
                self._messages.put(message)

    def _why_ended(self) -> str:
        try:
            code = self._process.wait(timeout=_END_S)
        except subprocess.TimeoutExpired:
            return "it closed the connection"
        if not self._closed.is_set() and (why := self._why_gone()):
            return why
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return lines[-1].strip() if lines else f"the connection ended with code {code}"


class Rows:
    """Writes the rows of a part to a JTL, with their times by the clock of this machine."""

    def __init__(self, path: Path, ahead_ms: int) -> None:
        self._path, self._ahead_ms = path, ahead_ms
        self._file: IO[bytes] | None = None
        self._rest = b""
        self._is_quoted = False

    def write(self, data: bytes) -> None:
        """Write the whole lines so far."""
        data = self._rest + data
        end = data.rfind(b"\n") + 1
        self._rest = data[end:]
        if end:
            self._file = self._file or self._path.open("wb", buffering=0)
            self._file.write(self._in_our_time(data[:end]))

    def close(self) -> None:
        """Write what is left, which may be a torn row."""
        if self._rest:
            self.write(b"\n")
        if self._file:
            self._file.close()
        else:
            self._path.touch()

    def _in_our_time(self, lines: bytes) -> bytes:
        if not self._ahead_ms:
            return lines
        if not self._is_quoted and b'"' not in lines:
            return _TIME.sub(self._shifted, lines)
        shifted = []
        for line in lines.splitlines(keepends=True):
            shifted.append(line if self._is_quoted else _TIME.sub(self._shifted, line))
            self._is_quoted ^= bool(line.count(b'"') % 2)
        return b"".join(shifted)

    def _shifted(self, match: re.Match[bytes]) -> bytes:
        return b"%d" % (int(match[0]) - self._ahead_ms)
