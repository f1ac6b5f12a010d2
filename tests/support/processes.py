"""Processes that a test started: wait for what they do, and find those that are left."""

from __future__ import annotations

import os
import time
from pathlib import Path

import psutil


def wait_for(condition, seconds: float = 20.0):
    """Return the condition's value once it is true; the test fails when it never is."""
    deadline_s = time.monotonic() + seconds
    while time.monotonic() < deadline_s:
        value = condition()
        if value:
            return value
        time.sleep(0.05)
    raise AssertionError(f"not within {seconds} s")


def processes_of(folder: Path) -> list[psutil.Process]:
    """The processes that run in `folder` or have it in their command, ours left out."""
    found = []
    for process in psutil.process_iter():
        try:
            text = " ".join([process.cwd(), *process.cmdline()])
        except (psutil.Error, OSError):
            continue
        if str(folder) in text and process.pid != os.getpid():
            found.append(process)
    return found
