"""Flight recordings of a Java program that makes garbage, and what jfr prints of a recording."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.support.java_program import java_command

GARBAGE = """
public class Garbage {
    public static byte[] kept;
    public static void main(String[] arguments) throws Exception {
        if (arguments.length == 0) {
            for (;;) {
                kept = new byte[2_000_000];
                Thread.sleep(5);
            }
        }
        for (int round = 0; round < Integer.parseInt(arguments[0]); round++) kept = new byte[200_000];
    }
}
"""
JFC = """<?xml version="1.0" encoding="UTF-8"?>
<configuration version="2.0">
  <event name="jdk.GCHeapSummary"><setting name="enabled">%s</setting></event>
</configuration>
"""


_HEAP_SUMMARY = """{
      "type": "jdk.GCHeapSummary",
      "values": {
        "startTime": "%s",
        "gcId": 2,
        "when": "%s",
        "heapSpace": {
          "start": 4026531840,
          "committedEnd": 4095737856,
          "committedSize": 69206016,
          "reservedEnd": 4294967296,
          "reservedSize": 268435456
        },
        "heapUsed": %d
      }
    }"""


def printed_recording(*events: str) -> str:
    """Return what jfr of OpenJDK 17 prints of a recording with these events, each as it prints it."""
    return f"""{{\n  "recording": {{\n    "events": [{", ".join(events)}]\n  }}\n}}\n"""


def printed_heap(start_time: str, when: str, used_bytes: int) -> str:
    """Return what jfr prints of the heap before or after a collection: `when` is Before GC or After GC."""
    return _HEAP_SUMMARY % (start_time, when, used_bytes)


def garbage_command(
    folder: Path, collector: str, round_count: int | None, name: str = "shop", enabled: str | None = "true"
) -> tuple[list[str], Path]:
    """Return a command that makes garbage, and the path of its recording: of the heap if it is `enabled`.

    With None it has what the JDK records by itself. Without a count of rounds there are garbage collections until the
    program is killed, about twenty a second: as many as it can would take a core.
    """
    recording = folder / f"{name}.jfr"
    settings = ""
    if enabled is not None:
        (folder / "own.jfc").write_text(JFC % enabled)
        settings = f"settings={folder / 'own.jfc'},"
    options = [f"-XX:+Use{collector}GC", "-Xms32m", "-Xmx128m"]
    options += [f"-XX:StartFlightRecording={settings}filename={recording}"]
    rounds = [] if round_count is None else [str(round_count)]
    return [*java_command("Garbage", GARBAGE, *options), *rounds], recording


def record_garbage(
    folder: Path, collector: str, round_count: int, name: str = "shop", enabled: str | None = "true"
) -> Path:
    """Make garbage as in `garbage_command` and return the recording."""
    command, recording = garbage_command(folder, collector, round_count, name, enabled)
    subprocess.run(command, capture_output=True, check=True, cwd=folder)
    return recording
