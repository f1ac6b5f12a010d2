"""A load generator for other machines, started as a user starts it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.base.ports import free_port
from tests.support.paths import ROOT
from tests.support.processes import QUICK_JVM, wait_for


@contextmanager
def generator(keys: Path, log: Path) -> Iterator[tuple[str, Path]]:
    """Start a generator; yield its address and the log with what it says."""
    port = free_port()
    command = [sys.executable, str(ROOT / "scripts" / "generator"), "--port", str(port), "--keys", str(keys)]
    environment = {**os.environ, "JDK_JAVA_OPTIONS": f"{QUICK_JVM} -XX:+UseSerialGC"}
    with log.open("w") as out:
        process = subprocess.Popen(
            command, stdout=out, stderr=subprocess.STDOUT, start_new_session=True, env=environment
        )
    try:
        wait_for(lambda: "listens at" in log.read_text() or process.poll() is not None, 60)
        assert process.poll() is None, log.read_text()
        yield f"127.0.0.1:{port}", log
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) in (0, 3)  # 3: a test killed it
