"""Collects the facts about the host for run.json."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import psutil

from harness.run.record import HostRecord


def host_facts() -> HostRecord:
    """Return the host's CPU, memory, kernel and Python; no host name, so that reports can be shared."""
    return HostRecord(
        cpu_model=_cpu_model(),
        cpu_count=usable_cores(),
        memory_bytes=psutil.virtual_memory().total,
        kernel=f"{platform.system()} {platform.release()} {platform.machine()}",
        python=platform.python_version(),
    )


def usable_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else psutil.cpu_count() or 1


def _cpu_model() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        for line in cpuinfo.read_text(errors="replace").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()
