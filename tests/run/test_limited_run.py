"""A child with a limit of time: it ends by itself, is interrupted, or is killed with its children."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness.base.interrupts import Interrupts
from harness.base.process import Launch
from harness.run import limited_run
from harness.run.limited_run import INTERRUPTED, TOO_LONG, run_limited
from tests.support.processes import is_running, wait_for

DEAF = """
import signal, subprocess, sys, time
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, signal.SIG_IGN)
print(subprocess.Popen(["sleep", "61"]).pid, flush=True)
time.sleep(60)
"""


def launch(tmp_path: Path, code: str) -> Launch:
    return Launch("run", [sys.executable, "-c", code], tmp_path, {}, tmp_path / "log")


@pytest.mark.real
def test_a_child_that_ignores_signals_is_killed_with_its_children(tmp_path, monkeypatch):
    for name in ("_AFTER_INT_S", "_AFTER_TERM_S", "_AFTER_KILL_S"):
        monkeypatch.setattr(limited_run, name, 0.2)
    # Nobody ends the sleeping process within the time that a guardian has: so it is killed, too.
    with Interrupts() as interrupts, interrupts.deferred():
        ended = run_limited(launch(tmp_path, DEAF), 0.5, interrupts)
    assert (ended.exit_code, ended.how) == (-signal.SIGKILL, TOO_LONG)
    sleeping = int((tmp_path / "log").read_text())
    wait_for(lambda: not is_running(sleeping))


SAVING = """
import time
print("up", flush=True)
try:
    time.sleep(60)
except KeyboardInterrupt:
    print("saved", flush=True)
    raise SystemExit(130)
"""


@pytest.mark.real
def test_a_child_that_is_interrupted_may_finish(tmp_path):
    log = tmp_path / "log"
    with Interrupts() as interrupts, interrupts.deferred():
        child = subprocess.Popen(
            ["sh", "-c", f"until grep -q up {log} 2>/dev/null; do :; done; kill -INT {os.getpid()}"]
        )
        ended = run_limited(launch(tmp_path, SAVING), 30, interrupts)
        child.wait()
    assert (ended.exit_code, ended.how) == (130, INTERRUPTED)
    assert log.read_text() == "up\nsaved\n"
