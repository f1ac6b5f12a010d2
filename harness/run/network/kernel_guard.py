"""Has the kernel refuse a process and its descendants all addresses that are not allowed, by BPF programs of a cgroup.

It needs root (CAP_BPF and CAP_NET_ADMIN), cgroups of version 2 and Linux 5.7. The programs end with this process,
however it ends; an empty cgroup may then be left, which the guardian removes.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from harness.run.network import bpf, programs
from harness.run.network.addresses import Allowed
from harness.run.network.programs import ALLOWED_KEY, ANY_PORT, COUNT, NO_PORT, REFUSED_KEY

_ALLOWED_MOST, _REFUSED_MOST = 65_536, 4096
_PROC = Path("/proc/self")


class Refused(NamedTuple):
    """An attempt that was refused `times` times; `port` is None for what has none, such as a ping."""

    address: bytes
    port: int | None
    protocol: int
    pid: int
    program: str
    times: int


def group_path(name: str) -> Path | None:
    """Return the folder of a cgroup below that of this process; None where there are none of version 2."""
    try:
        own = next(line for line in (_PROC / "cgroup").read_text().splitlines() if line.startswith("0::"))[3:]
        for line in (_PROC / "mountinfo").read_text().splitlines():
            before, _, after = line.partition(" - ")
            root, mount = before.split()[3:5]
            if after.split()[0] == "cgroup2" and Path(own).is_relative_to(root):
                return Path(mount) / Path(own).relative_to(root) / name
    except (OSError, StopIteration, IndexError, ValueError):
        pass
    return None


class KernelGuard:
    """Refuses what processes of the cgroup `group` send to addresses that are not allowed; OSError where it cannot."""

    def __init__(self, group: Path) -> None:
        if sys.byteorder != "little" or sys.platform != "linux":
            raise OSError("the programs are for Linux on little-endian machines")
        if "cpu" in (group.parent / "cgroup.subtree_control").read_text().split():
            raise OSError("a cgroup of its own would change how much of the CPU JMeter gets")
        self.group = group
        self._known: set[Allowed] = set()
        self._stack = contextlib.ExitStack()
        with contextlib.ExitStack() as stack:
            group.mkdir()
            stack.callback(_remove, group)
            self._allowed = bpf.Map(ALLOWED_KEY.size, 1, _ALLOWED_MOST)
            stack.callback(self._allowed.close)
            self._refused = bpf.Map(REFUSED_KEY.size, COUNT.size, _REFUSED_MOST)
            stack.callback(self._refused.close)
            folder = os.open(group, os.O_RDONLY | os.O_DIRECTORY)
            stack.callback(os.close, folder)
            self._members_file = os.open(group / "cgroup.procs", os.O_WRONLY)
            stack.callback(os.close, self._members_file)
            for program, attached_to in self._programs(stack):
                stack.callback(os.close, bpf.attached(program, folder, attached_to))
            self._stack = stack.pop_all()

    def _programs(self, stack: contextlib.ExitStack) -> Iterator[tuple[int, int]]:
        maps = self._allowed.descriptor, self._refused.descriptor
        kinds = (
            (bpf.SOCKET_ADDRESS, bpf.CONNECT4, [programs.connect4]),
            (bpf.SOCKET_ADDRESS, bpf.CONNECT6, [programs.connect6]),
            (bpf.SKB, bpf.EGRESS, [programs.egress]),
        )
        for kind, attached_to, (make,) in kinds:
            try:
                program = bpf.loaded(kind, attached_to, make(*maps, with_process=True))
            except OSError:
                # Older kernels do not tell every kind of program which process it is.
                program = bpf.loaded(kind, attached_to, make(*maps, with_process=False))
            stack.callback(os.close, program)
            yield program, attached_to

    def join(self) -> None:
        """Enter the cgroup; called in the child, before it becomes JMeter."""
        with contextlib.suppress(OSError):
            os.write(self._members_file, b"0")

    def has(self, pid: int) -> bool:
        """Return whether a process is in the cgroup."""
        return str(pid) in self._members()

    def _members(self) -> list[str]:
        with contextlib.suppress(OSError):
            return (self.group / "cgroup.procs").read_text().split()
        return []

    def allow(self, addresses: Iterable[Allowed]) -> bool:
        """Allow addresses from now on; return whether one of them is new."""
        new = set(addresses) - self._known
        for address in new:
            port = socket.htons(address.port) if address.port else ANY_PORT
            for key in (port, NO_PORT):
                self._allowed.put(ALLOWED_KEY.pack(address.address, key), b"\1")
            self._known.add(address)
        return bool(new)

    def refused(self) -> Iterator[Refused]:
        """Yield what was refused since the last call."""
        for key, value in self._refused.take():
            address, port, protocol, pid, name = REFUSED_KEY.unpack(key)
            number = None if port == NO_PORT else socket.ntohs(port)
            program = name.rstrip(b"\0").decode(errors="replace")
            yield Refused(address, number, protocol, pid, program, COUNT.unpack(value)[0])

    def close(self) -> None:
        """End the refusals, unless programs of the plan still run: these stay without a way out until they end."""
        if not self._members():
            self._stack.close()


def _remove(group: Path) -> None:
    with contextlib.suppress(OSError):
        group.rmdir()
