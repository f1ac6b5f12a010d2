"""A Java program that makes garbage while a flight recording is on."""

from __future__ import annotations

from pathlib import Path

from tests.support.java_program import java_command

GARBAGE = """
public class Garbage {
    public static byte[] kept;
    public static void main(String[] arguments) {
        for (int round = 0; round < Integer.parseInt(arguments[0]); round++) kept = new byte[200_000];
    }
}
"""
JFC = """<?xml version="1.0" encoding="UTF-8"?>
<configuration version="2.0">
  <event name="jdk.GCHeapSummary"><setting name="enabled">%s</setting></event>
</configuration>
"""


def garbage_command(folder: Path, collector: str, enabled: str, round_count: int) -> tuple[list[str], Path]:
    (folder / "own.jfc").write_text(JFC % enabled)
    recording = folder / "shop.jfr"
    options = [f"-XX:+Use{collector}GC", "-Xms32m", "-Xmx128m"]
    options += [f"-XX:StartFlightRecording=settings={folder / 'own.jfc'},filename={recording}"]
    return [*java_command("Garbage", GARBAGE, *options), str(round_count)], recording
