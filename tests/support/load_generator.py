"""A load generator for other machines, started as a user starts it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from harness.base.ports import free_port
from tests.support.paths import ROOT
from tests.support.processes import QUICK_JVM, wait_for


@contextmanager
def generator(keys: Path, log: Path) -> Iterator[tuple[str, Path]]:
    """Start a generator; yield its address and its log."""
    with generators(keys, log) as (only,):
        yield only


@contextmanager
def generators(keys: Path, *logs: Path) -> Iterator[tuple[tuple[str, Path], ...]]:
    """Start a generator for each log, all at once; yield their addresses, each with its log."""
    with ExitStack() as stack:
        started = [stack.enter_context(_started(keys, log)) for log in logs]
        for (_, log), process in started:
            wait_for(lambda log=log, one=process: "listens at" in log.read_text() or one.poll() is not None, 60)
            assert process.poll() is None, log.read_text()
        yield tuple(one for one, _ in started)


@contextmanager
def _started(keys: Path, log: Path) -> Iterator[tuple[tuple[str, Path], subprocess.Popen[bytes]]]:
    port = free_port()
    command = [sys.executable, str(ROOT / "scripts" / "generator"), "--port", str(port), "--keys", str(keys)]
    environment = {**os.environ, "JDK_JAVA_OPTIONS": f"{QUICK_JVM} -XX:+UseSerialGC"}
    with log.open("w") as out:
        process = subprocess.Popen(
            command, stdout=out, stderr=subprocess.STDOUT, start_new_session=True, env=environment
        )
    try:
        yield (f"127.0.0.1:{port}", log), process
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) in (0, 3)  # 3: a test killed it
