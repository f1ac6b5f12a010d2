"""Checks once whether a starting server gives the answer that its manifest defines as ready."""

from __future__ import annotations

import http.client
import socket
import urllib.error
import urllib.request

from harness.system.system import Ready

# A server that accepts a connection but does not answer yet is tried again after this time.
_TIMEOUT_S = 2.0
_NO_PROXY = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def trouble(ready: Ready) -> str | None:
    """Return why the server (its `ready`, rendered) is not ready, or None when it is ready."""
    return _url_trouble(ready) if ready.url else _tcp_trouble(ready.tcp)


def _tcp_trouble(address: str) -> str | None:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=_TIMEOUT_S).close()
    except OSError as error:
        return f"{address}: {error.strerror or error}"
    return None


def _url_trouble(ready: Ready) -> str | None:
    try:
        with _NO_PROXY.open(ready.url, timeout=_TIMEOUT_S) as answer:
            status, body = answer.status, answer.read().decode(errors="replace")
    except urllib.error.HTTPError as error:
        with error:
            status, body = error.code, error.read().decode(errors="replace")
    except (OSError, http.client.HTTPException) as error:
        return f"{ready.url}: {getattr(error, 'reason', None) or error or type(error).__name__}"
    if status != ready.status:
        return f"{ready.url} answers {status}, not {ready.status}"
    if ready.contains not in body:
        return f"{ready.url} answers {status} without {ready.contains!r} in: {body[:300]!r}"
    return None
