"""Checks, within ten seconds, that a system that we did not start answers HTTP."""

from __future__ import annotations

import http.client
import ssl
import threading

from harness.base.errors import UsageError
from harness.plan.spec import Target

DEADLINE_S = 8.0


def check_target(target: Target) -> None:
    """Raise a UsageError with the address unless it answers HTTP; any answer is accepted."""
    problem = ["no answer"]

    def ask() -> None:
        try:
            _ask(target)
        except (OSError, http.client.HTTPException) as error:
            problem[0] = str(error) or type(error).__name__
        else:
            problem[0] = ""

    # In a separate thread: name resolution and connections to several addresses have no common time-out.
    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(DEADLINE_S)
    if problem[0]:
        raise UsageError(
            f"TARGET={target.url}: nothing answers HTTP at {target.origin} ({problem[0]})",
            "start it, or leave TARGET out to have the system started here",
        )


def _ask(target: Target) -> None:
    if target.scheme == "https":
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # like JMeter, which trusts any certificate
        connection: http.client.HTTPConnection = http.client.HTTPSConnection(
            target.host, target.port, timeout=DEADLINE_S, context=context
        )
    else:
        connection = http.client.HTTPConnection(target.host, target.port, timeout=DEADLINE_S)
    try:
        connection.request("GET", target.base_path or "/")
        connection.getresponse().read(1)
    finally:
        connection.close()
