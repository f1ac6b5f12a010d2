"""The launcher's end of a channel to the machine of a part: messages, samples, and how far its clock is ahead."""

from __future__ import annotations

import contextlib
import hashlib
import json
import queue
import re
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

from harness.base.errors import UsageError
from harness.base.plain_text import short_line
from harness.base.process import inherited
from harness.base.units import BYTES_PER_MB, MS_PER_S
from harness.run.parts import relay
from harness.run.parts.messages import Message, PartMessages
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
_TIME = re.compile(rb"^\d{1,20}(?=\D)", re.MULTILINE)
# Rows of another time than that of the run are not of it.
_OTHER_TIME_MS = 10 * 60 * 1000
_HEAD = (b"timeStamp", b"elapsed", b"label")
# So many rows with the same times are a copy.
_ALIKE_LEAST = 20
_ROW_BYTES = 1024 * 1024
# A relay sends fewer before the launcher reads them.
_WAITING_MOST = 1000
_ERROR_BYTES = 4096


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
        self._closed = threading.Event()
        self._errors = b""
        try:
            self._process = subprocess.Popen(
                place.argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={**inherited(), **place.environment},
                start_new_session=True,  # Ctrl-C in the terminal does not reach it
            )
        except OSError as error:
            what = f"{self.name}: {place.argv[0]} cannot be started ({error.strerror})"
            raise UsageError(what, "install it, or put it on PATH") from None
        source = Path(relay.__file__).read_bytes()
        self._unsent: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._unsent.put(b"%d\n%s" % (len(source), source))
        targets = (self._read_errors, self._read, self._write, self._beat)
        threads = [threading.Thread(target=target, name=f"part on {self.name}", daemon=True) for target in targets]
        self._error_reader = threads[0]  # the thread of `_read` joins it, at once where the command has ended
        for thread in threads:
            thread.start()

    def reset(self) -> None:
        """Know of no part."""
        self.ended: Mapping[str, Any] | None = None
        self.is_held = False
        self.users: int | None = None
        self._messages: queue.Queue[Message | None] = queue.Queue(_WAITING_MOST)

    def send(self, kind: str, payload: bytes = b"", **fields: Any) -> None:
        """Send a message; this never waits. A relay that is gone, or does not read, is noticed by its silence."""
        self._unsent.put(json.dumps({"is": kind, **fields, "size": len(payload)}).encode() + b"\n" + payload)

    def receive(self, kind: str, within_s: float) -> Message | None:
        """Return the next message of a kind, or the one instead of it; None when the relay is lost."""
        until_s = time.monotonic() + within_s
        while not self.lost:
            try:
                message = self._messages.get(timeout=max(0.0, min(_BEAT_S, until_s - time.monotonic())))
            except queue.Empty:
                message = None
            if message and message[0]["is"] in (kind, *(_FINAL if kind == "ready" else ())):
                return message
            if time.monotonic() > until_s:
                self.lost = self.lost or f"no answer for {within_s:.0f} s"
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
        self._unsent.put(None)
        try:
            self._process.wait(timeout=0.0 if self.lost else _END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()  # one that is stopped ignores anything else
            self._process.wait()

    def _write(self) -> None:
        stream = self._process.stdin
        assert stream is not None
        with contextlib.suppress(OSError, ValueError):
            while (data := self._unsent.get()) is not None:
                stream.write(data)
                stream.flush()
        with contextlib.suppress(OSError):
            stream.close()

    def _beat(self) -> None:
        while not self._closed.wait(_BEAT_S):
            if self._unsent.empty():  # else it has enough to read
                self.send("beat")

    def _read_errors(self) -> None:
        """Remember the end of what the command prints as errors."""
        stream = self._process.stderr
        assert stream is not None
        with contextlib.suppress(OSError, ValueError):
            while data := stream.read1(_ERROR_BYTES):  # type: ignore[attr-defined]
                self._errors = (self._errors + data)[-_ERROR_BYTES:]

    def _read(self) -> None:
        stream = self._process.stdout
        assert stream is not None
        messages = PartMessages(stream)
        try:
            while message := messages.next():
                self._take(message)
        except (OSError, ValueError) as error:  # rows that cannot be written, or a broken message
            self.lost = self.lost or short_line(str(error))
        except queue.Full:
            self.lost = self.lost or "it sent too many messages"
        self.lost = self.lost or self._why_ended()
        with contextlib.suppress(queue.Full):
            self._messages.put_nowait(None)

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
                self._messages.put_nowait(message)

    def _why_ended(self) -> str:
        try:
            code = self._process.wait(timeout=_END_S)
        except subprocess.TimeoutExpired:
            return "it closed the connection"
        if not self._closed.is_set() and (why := self._why_gone()):
            return why
        self._error_reader.join(_BEAT_S)
        lines = self._errors.decode(errors="replace").strip().splitlines()
        return short_line(lines[-1]) if lines else f"the connection ended with code {code}"


class Rows:
    """Writes the rows of a part to a JTL, with their times by the clock of this machine.

    `problem` is what is wrong with them, else "": a run that began at `since_ms` has no rows of other times.
    """

    def __init__(self, path: Path, ahead_ms: int, since_ms: float) -> None:
        self._path, self._ahead_ms, self._since_ms = path, ahead_ms, since_ms
        self._file: IO[bytes] | None = None
        self._rest = b""
        self._is_quoted = False
        self._digest, self._line_count = hashlib.sha256(), 0
        self.problem = ""

    def write(self, data: bytes) -> None:
        """Write the whole lines so far; ValueError for a line that never ends."""
        data = self._rest + data
        end = data.rfind(b"\n") + 1
        self._rest = data[end:]
        if end:
            if self._file is None and not set(_HEAD) <= set(data[: data.find(b"\n")].strip().split(b",")):
                raise ValueError("it sent rows without the header of a JTL")
            self._file = self._file or self._path.open("wb", buffering=0)
            lines = self._in_our_time(data[:end])
            self._digest.update(lines)
            self._line_count += lines.count(b"\n")
            self._file.write(lines)
        if len(self._rest) > _ROW_BYTES:
            raise ValueError(f"it sent a row of more than {_ROW_BYTES // BYTES_PER_MB} MB")

    @property
    def digest(self) -> bytes:
        """A hash of so many rows that no other part has the same; empty for a few."""
        return self._digest.digest() if self._line_count >= _ALIKE_LEAST else b""

    def close(self) -> None:
        """Write what is left, which may be a torn row."""
        if self._rest and self._file:
            self.write(b"\n")
        if self._file:
            self._file.close()
        else:
            self._path.touch()

    def _in_our_time(self, lines: bytes) -> bytes:
        if not self._is_quoted and b'"' not in lines:
            self._check(_TIME.findall(lines))
            return _TIME.sub(self._shifted, lines) if self._ahead_ms else lines
        shifted = []
        for line in lines.splitlines(keepends=True):
            if not self._is_quoted:
                self._check(_TIME.findall(line))
                line = _TIME.sub(self._shifted, line) if self._ahead_ms else line
            shifted.append(line)
            self._is_quoted ^= bool(line.count(b'"') % 2)
        return b"".join(shifted)

    def _check(self, times: list[bytes]) -> None:
        numbers = [int(one) - self._ahead_ms for one in times]
        first_ms, last_ms = self._since_ms - _OTHER_TIME_MS, time.time() * MS_PER_S + _OTHER_TIME_MS
        others = sum(not first_ms <= one <= last_ms for one in (min(numbers), max(numbers))) if numbers else 0
        if others and not self.problem:
            self.problem = (
                "it sent rows of another time than that of the run: its clock was set, or they are of another run"
            )

    def _shifted(self, match: re.Match[bytes]) -> bytes:
        return b"%d" % (int(match[0]) - self._ahead_ms)
