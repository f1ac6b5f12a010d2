"""Commands as a part of this process: much quicker than in a process of their own."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from unittest import mock

from harness.base import log
from harness.cli import entry


def command(program: str, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Return the exit code of aggregate.py or scripts/NAME, and what it writes to streams that are no terminals."""
    out, err = io.StringIO(newline=""), io.StringIO(newline="")
    argv = [program, *map(str, arguments)]
    with (
        mock.patch.dict(os.environ, environment),
        mock.patch.object(sys, "argv", argv),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            code = entry.code_of(program)
        finally:
            log.spell_with(str)  # the next test may call a function without a command
    return subprocess.CompletedProcess(argv, code, out.getvalue(), err.getvalue())
