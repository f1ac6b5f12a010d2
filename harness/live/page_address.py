"""Where a live page is served, and which requests may see it: this machine only, or others with a token."""

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

TOKEN_VARIABLE = "LIVE_TOKEN"
_TOKEN_LEAST = 16
_TOKEN = re.compile(r"[A-Za-z0-9._~-]+")
_HOST_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?")
_TODO = "give 1, a port, or host:port such as 0.0.0.0:8090"
_PORT_LEAST, _PORT_MOST = 1024, 65535


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
    def is_ipv6(self) -> bool:
        """Whether the host is an address of IPv6."""
        return ":" in self.host

    @property
    def _is_every(self) -> bool:
        return self.host in ("0.0.0.0", "::")

    def url(self, port: int) -> str:
        """Return the address of the page, which is served on `port`."""
        host = (self.machine or LOOPBACK) if self._is_every else f"[{self.host}]" if self.is_ipv6 else self.host
        return f"http://{host}:{port}/" + (f"?token={self.token_shown}" if self.token else "")

    def names(self, header: str, port: int) -> bool:
        """Return whether the Host of a request is this address; by another name it may be a page of somebody else.

        Of a page on all addresses of this machine the host may be any IP address: no other page has one as its name.
        """
        host, _, given_port = header.lower().rpartition(":")
        host = host.removeprefix("[").removesuffix("]")
        if given_port != str(port):
            return False
        if self._is_every:
            return host in ("localhost", self.machine.lower()) or _ip(host) is not None
        own = _ip(self.host)
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
        return LiveAddress(port=_port(port))
    host = host[1:-1] if host.startswith("[") and host.endswith("]") and ":" in host else host
    if not _HOST_NAME.fullmatch(host) and _ip(host) is None:
        raise UsageError(f"--live {text}: '{host}' is neither the name nor an IP address of a machine", _TODO)
    given = _given_token()
    shown = f"${TOKEN_VARIABLE}" if given else ""
    token = given or secrets.token_urlsafe(_TOKEN_LEAST)
    return LiveAddress(host, _port(port), token, shown or token, socket.gethostname())


def _port(text: str) -> int:
    try:
        return units.parse_whole_number(text, "--live", _PORT_LEAST, _PORT_MOST)
    except UsageError as error:
        raise UsageError(error.what, _TODO) from None


def _given_token() -> str:
    token = os.environ.get(TOKEN_VARIABLE, "")
    if token and len(token) < _TOKEN_LEAST:
        raise UsageError(
            f"{TOKEN_VARIABLE}: shorter than {_TOKEN_LEAST} characters, too easy to guess", "use a longer one"
        )
    if token and not _TOKEN.fullmatch(token):
        raise UsageError(f"{TOKEN_VARIABLE}: only letters, digits and . _ ~ - can be in an address", "use another one")
    return token


def _ip(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None
