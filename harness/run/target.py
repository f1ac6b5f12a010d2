"""Checks, within ten seconds, that something listens at the address of a system that we did not start."""

from __future__ import annotations

import socket
import ssl
import threading

from harness.base.errors import UsageError
from harness.plan.spec import Target

DEADLINE_S = 8.0


def check_target(target: Target) -> None:
    """Raise a UsageError with the address unless it accepts a connection, with https also TLS; no request is sent."""
    problem = ["no answer"]

    def ask() -> None:
        try:
            _connect(target)
        except OSError as error:
            problem[0] = str(error) or type(error).__name__
        else:
            problem[0] = ""

    # In a separate thread: name resolution and connections to several addresses have no common time-out.
    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(DEADLINE_S)
    if problem[0]:
        raise UsageError(
            f"TARGET={target.url}: nothing answers at {target.origin} ({problem[0]})",
            "start it, or leave TARGET out to have the system started here",
        )


def _connect(target: Target) -> None:
    with socket.create_connection((target.host, target.port), timeout=DEADLINE_S) as connection:
        if target.scheme == "https":
            context = ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # like JMeter: any certificate
            context.wrap_socket(connection, server_hostname=target.host).close()
