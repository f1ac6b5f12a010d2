"""The profile of a process of a system while a test uses it."""

from __future__ import annotations

import gzip
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from harness.base.install.toolchain import ensure_flame_graphs
from harness.system.agent import agent_library
from harness.system.profile import ProcessProfile, profiles
from harness.system.profile_events import read_events
from harness.system.profile_files import Profiler
from harness.system.supervisor import Supervisor

T = TypeVar("T")


def profiled(system: Supervisor, process: str, folder: Path, load: Callable[[], T]) -> tuple[T, ProcessProfile]:
    """Return what a load returns, and what the process did meanwhile."""
    ensure_flame_graphs()
    with Profiler({process: system.processes[process]}, folder, {}, agent=agent_library()) as profiler:
        begin_ms = time.time_ns() // 1_000_000
        answers = load()
        end_ms = time.time_ns() // 1_000_000
    profiler.write(folder / "profile.tsv.gz")
    assert profiler.unknown == []
    with gzip.open(folder / "profile.tsv.gz", "rt", encoding="utf-8") as lines:
        (profile,) = profiles(read_events(lines), begin_ms, end_ms)
    return answers, profile
