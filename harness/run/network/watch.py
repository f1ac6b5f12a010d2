"""Watches from outside what JMeter and the programs of its plan reach, which Java's own agent cannot see.

Where it can, the kernel refuses other addresses (`kernel_guard`); elsewhere the sockets are listed a few times per
second (`sockets`). What is found is written beside the agent's list, in its form, and becomes a part of it.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from harness.run.network import owners
from harness.run.network.addresses import Addresses
from harness.run.network.kernel_guard import KernelGuard
from harness.run.network.programs import TCP, UDP, unpacked
from harness.run.network.sockets import Socket, Sockets

# In the environment of JMeter and of what it starts; another run of this harness has another value.
RUN_VARIABLE = "HARNESS_LOAD"
# Beside the agent's list: what was found from outside; the addresses that the kernel lets pass, and those that the
# agent resolved and asks for.
OUTSIDE_NAME, KNOWN_NAME, ASKED_NAME = "outside.txt", "known-addresses.txt", "asked-addresses.txt"
# Begins a line of what was not refused.
MADE = "made "
WATCHED = "other addresses: "
_REFUSED = "refused by the kernel, to JMeter and to the programs that it starts"
_LISTED = (
    "refused to Java; of native code and of programs that JMeter starts watched, not refused: their sockets are listed "
    "every {} s, and shorter connections and single datagrams can be missed"
)
_BLIND = "refused to Java; what native code and programs that JMeter starts connect to is not known on this system"
_PERIOD_S = 0.1
# Listing sockets may take so much of a core, and so much at once.
_CPU_RATIO_MOST, _CPU_AT_ONCE_S = 0.006, 0.05
_LOOK_UP_PERIOD_S = 5.0
# JMeter waits so long for slow name servers before it starts; later addresses are allowed when they are known.
_FIRST_LOOK_UP_S = 1.0
# For so long an address that was refused may turn out to be one of an allowed name.
_DOUBT_S = 3.0
# After so many looks without an owner a socket is that of another program.
_SEEN_ENOUGH = 4
_END_S = 2.0
_LINES_MOST = 1000
_PROTOCOLS = {TCP: "", UDP: " udp", socket.IPPROTO_ICMP: " ping", socket.IPPROTO_ICMPV6: " ping"}


def pause_s(spent_s: float, elapsed_s: float) -> float:
    """Return the pause before the next list of sockets, for lists that took `spent_s` of CPU time in `elapsed_s`."""
    return max(_PERIOD_S, (spent_s - _CPU_AT_ONCE_S) / _CPU_RATIO_MOST - elapsed_s)


class _Found(NamedTuple):
    """An address that was not allowed when it was found."""

    address: bytes
    port: int | None
    protocol: int
    program: str
    is_refused: bool
    times: int
    found_s: float

    @property
    def text(self) -> str:
        """The line in the list."""
        host = unpacked(self.address)
        host = f"[{host}]" if ":" in host else host
        where = host if self.port is None else f"{host}:{self.port}"
        kind = _PROTOCOLS.get(self.protocol, f" protocol {self.protocol}")
        return f"{'' if self.is_refused else MADE}{where}{kind} ({self.program})"


class Watch:
    """Watches one JMeter, from its start to its end; `listed` is the file of its agent.

    `group` is the folder of a cgroup of its own, None where there is none.
    """

    def __init__(self, listed: Path, allowed: Sequence[str], group: Path | None) -> None:
        self._folder = listed.parent
        self._addresses = Addresses(allowed)
        self._guard: KernelGuard | None = None
        self._sockets: Sockets | None = None
        self._pid = 0
        self._doubtful: list[_Found] = []
        self._seen: dict[int, int] = {}
        self._line_count = 0
        self._asked_bytes = 0
        self._period_s = _PERIOD_S
        self._began_s, self._spent_s, self._look_count = 0.0, 0.0, 0
        self._stop, self._look_up, self._looked_up = threading.Event(), threading.Event(), threading.Event()
        self._threads = [
            threading.Thread(target=target, name=name, daemon=True)
            for target, name in ((self._watch, "sockets"), (self._resolve, "names"))
        ]
        self._threads[1].start()
        if group is not None:
            with contextlib.suppress(OSError):
                self._guard = KernelGuard(group)
                self._looked_up.wait(_FIRST_LOOK_UP_S)
                self._update_known()

    @property
    def before(self) -> Callable[[], None]:
        """What the child calls before it becomes JMeter."""
        return self._guard.join if self._guard else owners.keeping_descendants()

    def begin(self, pid: int) -> None:
        """Watch the process and its descendants from now on."""
        self._pid, self._began_s = pid, time.monotonic()
        if self._guard and not self._guard.has(pid) and owners.program(pid):
            self._guard.close()
            self._guard = None
            (self._folder / KNOWN_NAME).unlink(missing_ok=True)
        if self._guard is None:
            with contextlib.suppress(OSError, AttributeError):  # not Linux
                self._sockets = Sockets()
        self._threads[0].start()

    def end(self) -> None:
        """Write what is known; it has no effect when it is called again."""
        if self._stop.is_set():
            return
        self._stop.set()
        self._look_up.set()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(_END_S)
        self._note_refused()
        self._judge(time.monotonic() + _DOUBT_S)
        self._line_count = 0
        self._write([f"{WATCHED}{self._how()}"])
        if self._guard:
            self._guard.close()

    def _how(self) -> str:
        if self._guard:
            return _REFUSED
        if not self._look_count:
            return _BLIND
        return _LISTED.format(f"{(time.monotonic() - self._began_s) / self._look_count:.2g}")

    def _watch(self) -> None:
        while not self._stop.wait(self._period_s):
            if self._guard:
                self._answer()
                self._update_known()
                self._note_refused()
            elif self._sockets:
                self._list(self._sockets)
            self._judge(time.monotonic())

    def _resolve(self) -> None:
        """Look up the names in a thread of its own: name servers may take seconds."""
        while True:
            self._addresses.look_up()
            self._looked_up.set()
            if self._stop.is_set():
                return
            self._look_up.wait(_LOOK_UP_PERIOD_S)
            self._look_up.clear()

    def _answer(self) -> None:
        """Allow the addresses that Java resolved: a name may have others each time that it is looked up."""
        asked = self._folder / ASKED_NAME
        with contextlib.suppress(OSError), asked.open("rb") as file:
            file.seek(self._asked_bytes)
            lines = file.read().rpartition(b"\n")[0]
            self._asked_bytes += len(lines) + bool(lines)
            self._addresses.add(lines.decode().splitlines())

    def _update_known(self) -> None:
        """Let the kernel pass what is allowed by now, and tell the agent."""
        is_new = False
        with contextlib.suppress(OSError):  # more addresses than the map has room for
            is_new = self._guard is not None and self._guard.allow(self._addresses.passed)
        if is_new:
            text = "".join(f"{unpacked(one.address)} {one.port}\n" for one in sorted(self._addresses.found))
            new = self._folder / f"{KNOWN_NAME}.new"
            with contextlib.suppress(OSError):
                new.write_text(text)
                new.replace(self._folder / KNOWN_NAME)

    def _note_refused(self) -> None:
        for one in self._guard.refused() if self._guard else ():
            program = owners.program(one.pid) or one.program if one.pid else ""
            self._note(one.address, one.port, one.protocol, self._named(one.pid, program), one.times, is_refused=True)

    def _list(self, sockets: Sockets) -> None:
        """List the sockets, and note those of the run that are elsewhere."""
        began_s = time.thread_time()
        try:
            found = sockets.elsewhere(self._addresses.passed)
        except OSError:
            return  # too many changes at once; the next list has them
        others = {one.inode: one for one in found if one.inode and not one.is_accepted}
        # One look is not enough: a child may just begin, and looking up a name connects a datagram socket for a moment.
        self._seen = {inode: self._seen.get(inode, 0) + 1 for inode in others}
        new = {inode: one for inode, one in others.items() if self._is_judged_now(one)}
        if new:
            marker = f"{RUN_VARIABLE}={self._folder.name}"
            for inode, pid in owners.owners(new, owners.family(self._pid, marker)).items():
                connection = new[inode]
                self._seen[inode] = _SEEN_ENOUGH + 1
                program = self._named(pid, owners.program(pid))
                self._note(connection.address, connection.port, connection.protocol, program, 1, is_refused=False)
        self._look_count += 1
        self._spent_s += time.thread_time() - began_s
        self._period_s = pause_s(self._spent_s, time.monotonic() - self._began_s)

    def _is_judged_now(self, one: Socket) -> bool:
        return (1 if one.protocol == TCP else 2) <= self._seen[one.inode] <= _SEEN_ENOUGH

    def _named(self, pid: int, program: str) -> str:
        return "JMeter" if pid in (0, self._pid) else program or f"process {pid}"

    def _note(
        self, address: bytes, port: int | None, protocol: int, program: str, count: int, *, is_refused: bool
    ) -> None:
        found = _Found(address, port, protocol, program, is_refused, count, time.monotonic())
        self._doubtful.append(found)
        self._look_up.set()

    def _judge(self, now_s: float) -> None:
        """Write what is certainly not allowed: of names only after they were looked up once more."""
        doubt_s = _DOUBT_S if self._addresses.has_names else 0.0
        certain = [one for one in self._doubtful if now_s - one.found_s >= doubt_s]
        self._doubtful = [one for one in self._doubtful if now_s - one.found_s < doubt_s]
        foreign = [one for one in certain if not self._addresses.has(one.address, one.port)]
        self._write([one.text for one in foreign for _ in range(min(one.times, _LINES_MOST))])

    def _write(self, lines: Sequence[str]) -> None:
        shown = lines[: max(0, _LINES_MOST - self._line_count)]
        self._line_count += len(shown)
        if shown:
            with contextlib.suppress(OSError), (self._folder / OUTSIDE_NAME).open("a") as file:
                file.write("".join(f"{line}\n" for line in shown))
