"""The addresses that a run may reach: those of its allowed hosts, and the name servers of this machine."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from harness.run.network.programs import packed

_RESOLVERS = (Path("/etc/resolv.conf"), Path("/run/systemd/resolve/resolv.conf"))
_DNS_PORT = 53


class Allowed(NamedTuple):
    """An allowed address of 16 bytes with its port; 0 is any port."""

    address: bytes
    port: int


class Addresses:
    """The addresses of `allowed` entries (host:port, port 0 is any) so far; names are looked up more than once.

    An address that a name once had stays allowed: a balancer may return others each time, and connections last.
    """

    def __init__(self, allowed: Sequence[str]) -> None:
        self.found: set[Allowed] = set()
        self._servers: set[Allowed] = set()
        self._names: list[tuple[str, int]] = []
        for entry in allowed:
            host, _, port = entry.rpartition(":")
            host = host.strip("[]")
            try:
                self.found.add(Allowed(packed(host), int(port)))
            except ValueError:
                self._names.append((host, int(port)))

    @property
    def passed(self) -> set[Allowed]:
        """What is no foreign address: those found, and the name servers."""
        return self.found | self._servers

    @property
    def has_names(self) -> bool:
        """Whether an allowed host is a name, whose addresses may change."""
        return bool(self._names)

    def look_up(self) -> None:
        """Look up all names, and add their addresses; it takes as long as the name servers do."""
        self._servers |= set(_name_servers())
        for host, port in self._names:
            try:
                answers = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
            except (OSError, UnicodeError):
                continue  # it has no address now, so it allows none
            self.found = self.found | {Allowed(packed(str(answer[4][0])), port) for answer in answers}

    def add(self, lines: Iterable[str]) -> None:
        """Add the addresses that JMeter's agent resolved: lines of an address, a blank and its port."""
        for address, _, port in (line.partition(" ") for line in lines):
            with contextlib.suppress(ValueError):
                self.found = self.found | {Allowed(packed(address), int(port))}

    def has(self, address: bytes, port: int | None) -> bool:
        """Return whether an address may be reached at a port; None is no port at all, such as for a ping."""
        return any(one.address == address and (port is None or one.port in (0, port)) for one in self.passed)


def _name_servers() -> Iterator[Allowed]:
    """Yield the name servers of this machine: whoever looks up a name asks them."""
    for path in _RESOLVERS:
        try:
            lines = path.read_text(errors="replace").splitlines()
        except OSError:
            continue
        for words in map(str.split, lines):
            if words[:1] == ["nameserver"] and len(words) > 1:
                with contextlib.suppress(ValueError):
                    yield Allowed(packed(words[1]), _DNS_PORT)
