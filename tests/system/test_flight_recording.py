"""A flight recording of a JVM that runs elsewhere: read from what jfr prints, summed up, and attached to a run."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from harness.base.errors import UsageError
from harness.cli.verbs import main
from harness.system.flight_recording import (
    COLLECTION,
    CPU,
    RecordedEvent,
    RecordedUse,
    printed_events,
    read_recordings,
    recorded_uses,
)
from harness.system.heap import AFTER, BEFORE, HeapPoint, read_heaps
from harness.system.jfr import add_recording
from tests.support.garbage import printed_heap, printed_recording, record_garbage
from tests.support.report_folder import add_run

MB = 1024 * 1024
PRINTED = printed_recording(
    """{
      "type": "jdk.CPULoad",
      "values": {
        "startTime": "1970-01-01T00:00:01.0Z",
        "jvmUser": 0.25,
        "jvmSystem": 0.05,
        "machineTotal": 0.8
      }
    }""",
    printed_heap("1970-01-01T00:00:02.0Z", "Before GC", 19947152),
    """{
      "type": "jdk.GarbageCollection",
      "values": {
        "startTime": "1970-01-01T00:00:02.0Z",
        "duration": "PT0.0153S",
        "gcId": 2,
        "name": "G1New",
        "cause": "G1 Evacuation Pause",
        "sumOfPauses": "PT1M0.0125S",
        "longestPause": "PT0.0121S"
      }
    }""",
    """{
      "type": "jdk.GarbageCollection",
      "values": {
        "startTime": "1970-01-01T00:00:03.0Z",
        "sumOfPauses": "soon",
        "longestPause": "PT0.0121S"
      }
    }""",
)
EVENTS = (
    RecordedEvent(1_000, CPU, jvm_cpu_ratio=0.2, machine_cpu_ratio=0.5),
    RecordedEvent(2_000, BEFORE, 300 * MB, point=HeapPoint(2_000, 300 * MB, 512 * MB, 1024 * MB)),
    RecordedEvent(2_000, COLLECTION, pause_ms=10.0, longest_ms=6.0),
    RecordedEvent(2_010, AFTER, 100 * MB, point=HeapPoint(2_010, 100 * MB, 512 * MB, 1024 * MB, True)),
    RecordedEvent(3_000, CPU, jvm_cpu_ratio=0.4, machine_cpu_ratio=0.7),
    RecordedEvent(4_000, COLLECTION, pause_ms=20.0, longest_ms=20.0),
    RecordedEvent(4_020, AFTER, 200 * MB, point=HeapPoint(4_020, 200 * MB, 512 * MB, 1024 * MB, True)),
)


def test_the_events_of_a_recording_are_read_and_unreadable_ones_skipped() -> None:
    cpu, before, collection = printed_events(PRINTED.splitlines())
    assert (cpu.time_ms, cpu.kind, cpu.machine_cpu_ratio) == (1_000, CPU, 0.8)
    assert cpu.jvm_cpu_ratio == pytest.approx(0.3)
    assert before == RecordedEvent(2_000, BEFORE, 19947152, point=HeapPoint(2_000, 19947152, 69206016, 268435456))
    assert (collection.pause_ms, collection.longest_ms) == (pytest.approx(60_012.5), pytest.approx(12.1))


def test_an_interval_has_its_collections_pauses_and_cpu() -> None:
    assert recorded_uses({"shop": EVENTS}, 0, 10_000) == (
        RecordedUse("shop", 3.02, 2, 30.0, 20.0, 300 * MB, 150 * MB, 200 * MB, 0.3, 0.4, 0.6),
    )
    (part,) = recorded_uses({"shop": EVENTS}, 2_500, 3_500)
    assert part == RecordedUse("shop", 1.0, 0, 0.0, 0.0, None, None, None, 0.4, 0.4, 0.7)
    assert recorded_uses({"shop": EVENTS}, 5_000, 6_000) == ()


def test_recordings_are_added_to_those_of_other_jvms(tmp_path: Path) -> None:
    heap, recorded = tmp_path / "heap.csv", tmp_path / "recording.csv"
    heap.write_text("time_ms,process,used_bytes,committed_bytes,reserved_bytes\n1,own,1,2,3\n")
    add_recording(tmp_path, "shop", EVENTS[:2])
    add_recording(tmp_path, "till", EVENTS[4:])
    add_recording(tmp_path, "shop", EVENTS)  # again: it replaces the first
    found = read_heaps(heap.read_text().splitlines())
    assert {name: len(points) for name, points in found.items()} == {"own": 1, "shop": 3, "till": 1}
    read = read_recordings([*recorded.read_text().splitlines(), "4000,shop,gc"])  # cut off by a full disk
    assert recorded_uses(read, 0, 10_000)[0] == recorded_uses({"shop": EVENTS}, 0, 10_000)[0]
    assert list(read) == ["shop", "till"]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [("shop.jfr", None, "there is no such file"), ("shop.jfr", "no recording", "shop.jfr")],
)
def test_what_is_no_recording_is_one_clear_error(tmp_path: Path, name: str, text: str | None, message: str) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(UsageError, match=message):
        main(["heap", str(tmp_path / name)])


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """A recording of a JVM that made garbage, with the JDK's own settings, and when it began (epoch ms)."""
    folder = tmp_path_factory.mktemp("recording")
    began = time.time()
    return record_garbage(folder, "Serial", 4000, "my shop", enabled=None), round(began) * 1000


@pytest.mark.counterpart
def test_a_recording_is_printed_and_attached_to_the_run_that_it_covers(
    recording: tuple[Path, int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, began_ms = recording
    assert main(["heap", str(file)]) == 0
    printed = capsys.readouterr().out
    assert "| process | used MB | range |" in printed
    assert "| process | before GC MB | after GC MB |" in printed
    assert "\n| my-shop | " in printed

    reports = tmp_path / "reports"
    started = f"{_utc(began_ms - 2_000)}"
    directory = add_run(reports, "tiny/run-07_1", began_ms=began_ms - 2_000, started_at=started)
    assert main(["heap", str(file), "--run", "tiny/run-07_1", "--reports", str(reports)]) == 0
    report = directory.report.read_text()
    section = report[report.index("<summary>JVM heap") :]
    assert "Read from flight recordings of JVMs that the harness did not start" in section
    row = next(line for line in section.splitlines() if line.startswith("| my-shop | "))
    assert "run-07_1/heap.svg" in section
    assert row.count("|") > 5
    assert "recorded" in directory.summary_json.read_text()

    before = add_run(reports, "tiny/run-07_2", began_ms=began_ms - 10**7, started_at=_utc(began_ms - 10**7))
    with pytest.raises(UsageError, match=r"my shop\.jfr has events from .* UTC, and the run took place from"):
        main(["heap", str(file), "--run", "tiny/run-07_2", "--reports", str(reports)])
    assert not (before.path / "heap.csv").exists()
    assert "my-shop: not known: my shop.jfr has events from" in before.report.read_text()


def _utc(time_ms: int) -> str:
    return datetime.fromtimestamp(time_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
