"""Where a live page and metrics are served, and which requests may see the page: of this machine, or with a token."""

from __future__ import annotations

import hmac
import ipaddress
import os
import re
import secrets
import socket
from dataclasses import dataclass

from harness.base import units
from harness.base.errors import UsageError
from harness.base.ports import LOOPBACK
from harness.plan.allowed_targets import HOST_NAME, ip_address

TOKEN_VARIABLE = "LIVE_TOKEN"
_TOKEN_LEAST = 16
_TOKEN = re.compile(r"[A-Za-z0-9._~-]+")
_TODO = "give 1, a port, or host:port such as 0.0.0.0:8090"


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


@dataclass(frozen=True)
class LiveAddress:
    """The host and port of a live page; port 0 is any free one.

    Every request must carry the `token`; without one only this machine can ask. `token_shown` is the token as the
    terminal prints it, and `machine` the name of this machine.
    """

    host: str = LOOPBACK
    port: int = 0
    token: str = ""
    token_shown: str = ""
    machine: str = ""

    @property
    def _is_every(self) -> bool:
        return self.host in ("0.0.0.0", "::")

    def url(self, port: int) -> str:
        """Return the address of the page, which is served on `port`."""
        host = (self.machine or LOOPBACK) if self._is_every else self.host
        return f"http://{Address(host, port)}/" + (f"?token={self.token_shown}" if self.token else "")

    def names(self, header: str, port: int) -> bool:
        """Return whether the Host of a request is this address; by another name it may be a page of somebody else.

        Of a page on all addresses of this machine the host may be any IP address: no other page has one as its name.
        """
        host, _, given_port = header.lower().rpartition(":")
        host = host.removeprefix("[").removesuffix("]")
        if given_port != str(port):
            return False
        if self._is_every:
            return host in ("localhost", self.machine.lower()) or ip_address(host) is not None
        own = ip_address(self.host)
        return host == self.host.lower() or (host == "localhost" and own is not None and own.is_loopback)

    def lets_in(self, token: str) -> bool:
        """Return whether a request with this token may be answered."""
        return not self.token or hmac.compare_digest(token.encode(), self.token.encode())


def parse_page_address(text: str | None) -> LiveAddress | None:
    """Return where `--live` serves the page: None for no page. UsageError for an address or a token that cannot be.

    A host has a token: that of the environment variable LIVE_TOKEN, else a new one.
    """
    if text in (None, "0"):
        return None
    if text == "1":
        return LiveAddress()
    host, colon, port = str(text).rpartition(":")
    if not colon:
        return LiveAddress(port=_port(port, "--live", _TODO))
    host = host[1:-1] if host.startswith("[") and host.endswith("]") and ":" in host else host
    if not HOST_NAME.fullmatch(host) and ip_address(host) is None:
        raise UsageError(f"--live {text}: '{host}' is neither the name nor an IP address of a machine", _TODO)
    given = _given_token()
    token = given or secrets.token_urlsafe(_TOKEN_LEAST)
    shown = f"${TOKEN_VARIABLE}" if given else token
    return LiveAddress(host, _port(port, "--live", _TODO), token, shown, socket.gethostname())


def _port(text: str, name: str, todo: str) -> int:
    try:
        return units.parse_whole_number(text, name, 1024, 65535)
    except UsageError as error:
        raise UsageError(error.what, todo) from None


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
    ip = ip_address(LOOPBACK if host == "localhost" or not colon else host.strip("[]"))
    if ip is None or (":" in host) != (host.startswith("[") and host.endswith("]")):
        raise UsageError(f"{name}={text}: not an IP address with a port", todo)
    return Address(str(ip), _port(port, name, todo))


def _given_token() -> str:
    token = os.environ.get(TOKEN_VARIABLE, "")
    if token and len(token) < _TOKEN_LEAST:
        raise UsageError(
            f"{TOKEN_VARIABLE}: shorter than {_TOKEN_LEAST} characters, too easy to guess", "use a longer one"
        )
    if token and not _TOKEN.fullmatch(token):
        raise UsageError(f"{TOKEN_VARIABLE}: only letters, digits and . _ ~ - can be in an address", "use another one")
    return token
