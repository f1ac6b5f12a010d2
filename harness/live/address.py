"""Parses the address on which a watcher serves a run: this machine only, unless another address is written out."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from harness.base import units
from harness.base.errors import UsageError
from harness.base.ports import LOOPBACK


@dataclass(frozen=True)
class Address:
    """An IP address of this machine and a TCP port."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return ipaddress.ip_address(self.host).is_loopback

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(text: str | None, name: str, default_port: int) -> Address | None:
    """Return the address in the value of an option: 1 for the default, a port, or an IP address with a port.

    None and 0 are no address. UsageError for anything else: the name of a host may mean several addresses.
    """
    if text in (None, "0"):
        return None
    if text == "1":
        return Address(LOOPBACK, default_port)
    host, colon, port = str(text).rpartition(":")
    todo = f"give 1, a port, or an address of this machine such as {LOOPBACK}:{default_port}"
    if not colon:
        return Address(LOOPBACK, _port(port, name, todo))
    try:
        if (":" in host) != (host.startswith("[") and host.endswith("]")):
            raise ValueError
        plain = LOOPBACK if host == "localhost" else str(ipaddress.ip_address(host.strip("[]")))
    except ValueError:
        raise UsageError(f"{name}={text}: not an IP address with a port", todo) from None
    return Address(plain, _port(port, name, todo))


def _port(text: str, name: str, todo: str) -> int:
    try:
        return units.parse_whole_number(text, name, 1024, 65535)
    except UsageError as error:
        raise UsageError(error.what, todo) from None
