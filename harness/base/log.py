"""Prints progress and status messages."""

from __future__ import annotations

import sys
from collections.abc import Callable

Log = Callable[[str], None]


def log(text: str) -> None:
    """Print a message on standard output at once."""
    print(text, flush=True)


def stderr_log(prefix: str) -> Log:
    """Return a log that prints on standard error and starts each message with `prefix`."""

    def log_with_prefix(text: str) -> None:
        print(f"{prefix}{text}", file=sys.stderr, flush=True)

    return log_with_prefix
