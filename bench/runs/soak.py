"""`scripts/bench soak`: soaks a system of two JVMs, of which one leaks at a known rate, and checks what is reported."""

from __future__ import annotations

import argparse
import gzip
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench.results import Aim
from bench.tables import print_aims
from harness.base.errors import EXIT_INVALID
from harness.base.project import SHIPPED
from harness.base.units import BYTES_PER_MB, MS_PER_S, duration_text
from harness.metrics.resource_growth import GROWS, HEAP, SPAN_LEAST_S, growths
from harness.run.directory import RunDirectory
from harness.system.heap import FILE_NAME as HEAP_NAME
from harness.system.heap import heap_after_gc, read_heaps
from harness.system.histograms import FILE_NAME as HISTOGRAMS
from harness.system.histograms import forced_ms, read_histograms

LEAKY, SOUND, LEAKED_CLASS = "leaky", "sound", "Leaky$Entry"
_S_PER_MIN, _MIN_PER_H = 60, 60
_HEAP_MB = 1024
_GARBAGE_PER_S = 20 * BYTES_PER_MB
# The rate and the forecast may differ from the planted ones by this share.
_TOLERANCE = 0.2
_PLAN = """format_version = 1
title = "A server that leaks, and one that does not"
shape = "leaky.jmx"
system = "leaky"
[load]
users = 2
think_time_s = 0.2
duration_s = 60
"""
_PROCESS = """
[[process]]
name = "NAME"
command = [
  "{{ java }}", "-XX:+UseSerialGC", "-XmsHEAPm", "-XmxHEAPm", "-Xmn8m",
  "-XX:StartFlightRecording=settings=ROOT/systems/lb/heap.jfc,filename={{ logs }}/NAME.jfr,dumponexit=true",
  "ROOT/bench/runs/programs/Leaky.java", "{{ ports.PORT }}", "LEAKED", "GARBAGE",
]
ready = { url = "http://127.0.0.1:{{ ports.PORT }}/", contains = "ok", deadline_s = 30 }
recording = "NAME.jfr"
"""


def system_toml(leaked_per_s: int, garbage_per_s: int, heap_mb: int) -> str:
    """Return the manifest of a system with a JVM that leaks so many bytes per second, and one that does not leak."""
    head = 'format_version = 1\ntitle = "A leak and none"\ntarget = "http://127.0.0.1:{{ ports.http }}"\n'
    parts = [f"{head}[ports]\nhttp = 0\nother = 0\n"]
    for name, port, leaked in ((LEAKY, "http", leaked_per_s), (SOUND, "other", 0)):
        values = {"NAME": name, "PORT": port, "LEAKED": leaked, "GARBAGE": garbage_per_s, "HEAP": heap_mb}
        text = _PROCESS.replace("ROOT", str(SHIPPED))
        for key, value in values.items():
            text = text.replace(key, str(value))
        parts.append(text)
    return "".join(parts)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this part of the benchmark."""
    duration = "of the soak (4m); with 12m the report itself estimates the growth, which it does from 10 min on"
    parser.add_argument("--duration", default="4m", help=duration)
    parser.add_argument("--leak", type=int, default=20, help="MB that one JVM leaks per minute (20)")


def bench(options: argparse.Namespace) -> int:
    """Print the aims and what was measured; return 0, 1 when an aim is missed, 3 when there was no report."""
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        _write_home(folder / "home", options.leak * BYTES_PER_MB // _S_PER_MIN)
        command = [sys.executable, str(SHIPPED / "scripts" / "run"), "--soak", "--plan", LEAKY]
        command += [
            "--duration",
            options.duration,
            "--home",
            str(folder / "home"),
            "--reports",
            str(folder / "reports"),
        ]
        done = subprocess.run(command, check=False)
        directory = RunDirectory(folder / "reports" / LEAKY / "run-01_1")
        if not directory.summary_json.is_file():
            print(f"the soak ended with code {done.returncode} and has no report")
            return EXIT_INVALID
        summary = json.loads(directory.summary_json.read_text(encoding="utf-8"))
        aims = list(_aims(_growths(directory, summary), summary["observed"]["live_heaps"], options.leak))
    return print_aims(aims, "a soak with a planted leak")


def _write_home(home: Path, leaked_per_s: int) -> None:
    for name in ("plans", "env", f"systems/{LEAKY}"):
        (home / name).mkdir(parents=True)
    shutil.copy(SHIPPED / "harness" / "plan" / "adopt" / "new.jmx", home / "plans" / "leaky.jmx")
    (home / "plans" / "leaky.toml").write_text(_PLAN, encoding="utf-8")
    (home / "env" / "local.toml").write_text('format_version = 1\ntitle = "Bench"\n', encoding="utf-8")
    manifest = system_toml(leaked_per_s, _GARBAGE_PER_S, _HEAP_MB)
    (home / "systems" / LEAKY / "system.toml").write_text(manifest, encoding="utf-8")


def _growths(directory: RunDirectory, summary: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return the growths of the report; of a window that is too short for it, those of the heaps by the same code."""
    window = summary["window"]
    if window["length_s"] >= SPAN_LEAST_S:
        found: Sequence[Mapping[str, Any]] = summary["observed"]["growths"]
        return found
    least, length = duration_text(SPAN_LEAST_S), duration_text(window["length_s"])
    print(f"The window is {length}, and reports estimate growth from {least} on: computed here from heap.csv instead.")
    origin_s = summary["origin_s"]
    window_ms = (origin_s + window["from_s"]) * MS_PER_S, (origin_s + window["to_s"]) * MS_PER_S
    with gzip.open(directory.path / HISTOGRAMS, "rt", encoding="utf-8") as lines:
        forced = forced_ms(read_histograms(lines))
    heaps = read_heaps((directory.path / HEAP_NAME).read_text(encoding="utf-8").splitlines())
    series = heap_after_gc(heaps, *window_ms, forced)
    return [asdict(one) for one in growths(series, window["length_s"], least_s=window["length_s"])]


def _aims(found: Sequence[Mapping[str, Any]], live_heaps: Sequence[Any], leak_mb: int) -> Iterator[Aim]:
    """Yield what must be found of the soak, and what is."""
    heaps = {one["process"]: one for one in found if one["resource"] == HEAP}
    leaky, sound = heaps.get(LEAKY), heaps.get(SOUND)
    planted = leak_mb * _MIN_PER_H
    rate = leaky["per_hour"] / BYTES_PER_MB if leaky else None
    is_near = rate is not None and abs(rate / planted - 1) <= _TOLERANCE
    shown = "no growth found" if rate is None else f"{rate:.0f} MB/h"
    yield Aim(f"heap after GC of {LEAKY}", shown, f"{planted} MB/h ± 20 %", is_near)
    left_h = leaky["left_h"] if leaky else None
    expected_h = (_HEAP_MB - leaky["last"] / BYTES_PER_MB) / planted if leaky else None
    is_right = left_h is not None and expected_h is not None and abs(left_h / expected_h - 1) <= _TOLERANCE
    wanted = f"{expected_h:.2f} h ± 20 %" if expected_h is not None else "a forecast"
    yield Aim("limit of its heap", "none" if left_h is None else f"{left_h:.2f} h", wanted, is_right)
    is_silent = sound is not None and sound["verdict"] != GROWS
    yield Aim(f"heap after GC of {SOUND}", sound["verdict"] if sound else "not known", "steady", is_silent)
    for process, is_wanted in ((LEAKY, True), (SOUND, False)):
        classes = [one["class_name"] for heap in live_heaps if heap["process"] == process for one in heap["classes"]]
        is_named = LEAKED_CLASS in classes
        wanted = "named" if is_wanted else "not named"
        yield Aim(f"{LEAKED_CLASS} of {process}", "named" if is_named else "not named", wanted, is_named == is_wanted)
