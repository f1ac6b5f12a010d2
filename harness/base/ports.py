"""Finds free TCP ports on this machine, the owner of a used one, and the addresses a process listens on."""

from __future__ import annotations

import errno
import ipaddress
import random
import socket
from collections.abc import Iterable

import psutil

from harness.base.errors import StartError, UsageError

LOOPBACK = "127.0.0.1"
# Below Linux's range for outgoing connections. A load test opens thousands of those, and none may take a server's port
# between its choice and its use.
_FREE_PORTS = range(20_000, 32_000)
_TRIES = 200


def free_port(taken: Iterable[int] = ()) -> int:
    """Return a loopback port that is not in use and not in `taken`."""
    source = random.SystemRandom()
    for _ in range(_TRIES):
        port = source.choice(_FREE_PORTS)
        if port not in taken and _trouble(port) is None:
            return port
    raise StartError(
        f"no free port found in {_TRIES} attempts", f"end the processes on ports {_FREE_PORTS[0]}-{_FREE_PORTS[-1]}"
    )


def check_port(name: str, port: int) -> None:
    """Raise a UsageError when `port` is in use; it names the owner if known."""
    trouble = _trouble(port)
    if trouble is None:
        return
    if trouble == errno.EADDRINUSE:
        owner = port_owner(port)
        raise UsageError(
            f"port {port} ({name}) is in use by {owner or 'a process of another user'}",
            "end that process or choose another port",
        )
    raise UsageError(f"port {port} ({name}): {errno.errorcode.get(trouble, trouble)}", "choose a port from 1024 up")


def port_owner(port: int) -> str | None:
    """Return the process that listens on `port`, such as `java (pid 4711)`, or None when unknown."""
    try:
        for connection in psutil.net_connections(kind="tcp"):
            if connection.status == psutil.CONN_LISTEN and connection.laddr.port == port and connection.pid:
                return f"{psutil.Process(connection.pid).name()} (pid {connection.pid})"
    except psutil.Error:
        return None
    return None


def exposed_listeners(pid: int) -> tuple[str, ...]:
    """Return the non-loopback addresses, such as `0.0.0.0:8080`, on which `pid` or its descendants listen."""
    exposed = set()
    try:
        root = psutil.Process(pid)
        for process in (root, *root.children(recursive=True)):
            for connection in process.net_connections(kind="tcp"):
                if connection.status == psutil.CONN_LISTEN and not _is_loopback(connection.laddr.ip):
                    exposed.add(f"{connection.laddr.ip}:{connection.laddr.port}")
    except psutil.NoSuchProcess:
        return ()
    return tuple(sorted(exposed))


def _is_loopback(text: str) -> bool:
    address = ipaddress.ip_address(text.partition("%")[0])
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback


def _trouble(port: int) -> int | None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a port in TIME_WAIT is free for a server
        try:
            probe.bind((LOOPBACK, port))
        except OSError as error:
            return error.errno
    return None
