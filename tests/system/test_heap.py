"""The heap of a JVM: read from what jfr prints, averaged, thinned for a chart; not known is never 0 and no error."""

import itertools
import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest

from harness.base.records import build, to_plain
from harness.metrics.downsampling import SERIES_POINTS_MOST
from harness.run.record import RunRecord
from harness.system import jfr
from harness.system.flight_recording import printed_events
from harness.system.heap import (
    HeapPoint,
    HeapSeries,
    HeapUse,
    heap_after_gc,
    heap_series,
    heap_uses,
    read_heaps,
)
from harness.system.jfr import write_heap
from tests.support.factories import record
from tests.support.garbage import garbage_command, printed_heap, printed_recording, record_garbage
from tests.support.processes import wait_for

# With a blank behind most commas, as some versions print it.
PRINTED = printed_recording(
    printed_heap("1970-01-01T00:00:01.604991943Z", "Before GC", 19947152),
    printed_heap("1970-01-01T01:00:02.5+01:00", "After GC", 3297160),
).replace(",\n", ", \n")
BEFORE, AFTER = HeapPoint(1605, 19947152, 69206016, 268435456), HeapPoint(2500, 3297160, 69206016, 268435456, True)

HEAP_CSV = """\
time_ms,process,used_bytes,committed_bytes,reserved_bytes
3000,shop,400,1000,4000
1000,shop,100,500,4000
2000,shop,300,1000,4000
9000,shop,900,2000,4000
1500,till,7,8,9
9000,till,900,2"""


def test_points_are_read_from_the_output_of_jfr() -> None:
    assert [event.point for event in printed_events(PRINTED.splitlines(True))] == [BEFORE, AFTER]


@pytest.mark.parametrize("cut_at", [PRINTED.index('"heapUsed": 3'), PRINTED.index('"startTime": "1970-01-01T01')])
def test_complete_events_of_a_truncated_output_count(cut_at: int) -> None:
    torn = PRINTED[:cut_at] + "\njfr print: unexpected internal error, Index 32000 out of bounds for length 32000\n"
    assert [event.point for event in printed_events(torn.splitlines(True))] == [BEFORE]


def test_half_an_event_does_not_affect_the_next_one() -> None:
    lines = PRINTED.splitlines(True)
    without_used_before = [line for line in lines if "19947152" not in line]
    assert [event.point for event in printed_events(without_used_before)] == [AFTER]


def test_rows_are_sorted_by_time_per_process_and_torn_ones_are_skipped() -> None:
    heaps = read_heaps(HEAP_CSV.splitlines(True))
    assert [point.time_ms for point in heaps["shop"]] == [1000, 2000, 3000, 9000]
    assert heaps["till"] == (HeapPoint(1500, 7, 8, 9),)


def test_the_mean_is_interpolated_linearly_over_time() -> None:
    shop, till = heap_uses(read_heaps(HEAP_CSV.splitlines()), 1000, 3000)
    # Used: 200 on average for one second, 350 for another. Committed: 750, then 1000.
    assert shop == HeapUse("shop", 3, 275.0, 100, 400, 875.0, 500, 1000, 4000.0, 4000, 4000)
    assert till == HeapUse("till", 1, 7.0, 7, 7, 8.0, 8, 8, 9.0, 9, 9)


def test_an_interval_without_a_collection_has_no_values() -> None:
    heaps = read_heaps(HEAP_CSV.splitlines())
    use = heap_uses(heaps, 4000, 8000)[0]
    assert (use.process, use.point_count) == ("shop", 0)
    assert {value for key, value in asdict(use).items() if "bytes" in key} == {None}
    assert heap_series(heaps, 4000, 8000) == ()


def test_a_series_is_in_seconds_after_the_start_and_survives_json() -> None:
    shop, till = heap_series(read_heaps(HEAP_CSV.splitlines()), 1000, 3000)
    assert shop == HeapSeries("shop", (0.0, 1.0, 2.0), (100, 300, 400), (500, 1000, 1000), (4000, 4000, 4000))
    assert till == HeapSeries("till", (0.5,), (7,), (8,), (9,))
    assert build(HeapSeries, json.loads(json.dumps(asdict(shop)))) == shop


def test_thinning_keeps_every_peak_and_trough_in_order() -> None:
    # A saw of 10,000 collections, one of them with a peak, one with a trough, and one of more committed memory.
    points = []
    for number in range(10_000):
        peak = 999 if number == 7_777 else 500
        trough = 1 if number == 3_333 else 100
        committed = 2000 if number == 5_555 else 1000
        points += [HeapPoint(number * 100, peak, committed, 4000), HeapPoint(number * 100 + 5, trough, 1000, 4000)]
    (series,) = heap_series({"shop": tuple(points)}, 0, 1_000_000)
    assert len(series.seconds) <= SERIES_POINTS_MOST
    used = set(zip(series.seconds, series.used_bytes, strict=True))
    assert {(777.7, 999), (333.305, 1)} <= used
    assert {used for _, used in used} == {500, 100, 999, 1}
    assert max(series.committed_bytes) == 2000
    assert all(earlier < later for earlier, later in itertools.pairwise(series.seconds))


def test_the_heap_after_collections_is_the_least_of_each_part_of_the_window() -> None:
    # A minute: a part is one second. The heap before collections and outside of the window does not count.
    rows = [(500, 99, "after"), (700, 90, "after"), (900, 20, "before"), (1500, 80, "after"), (60_000, 1, "after")]
    lines = ["time_ms,process,used_bytes,committed_bytes,reserved_bytes,when"]
    lines += [f"{time_ms},shop,{used},500,4000,{when}" for time_ms, used, when in rows]
    (series,) = heap_after_gc(read_heaps(lines), 0, 59_999)
    assert (series.process, series.points, series.limit) == ("shop", ((0.5, 90), (1.5, 80)), 4000)
    assert series.is_conclusive  # it fell


def test_a_rise_without_a_fall_is_conclusive_only_after_a_forced_collection_in_the_window() -> None:
    heaps = {"shop": tuple(HeapPoint(1000 * second, 100 + second, 500, 4000, True) for second in range(60))}

    def is_conclusive(forced: dict[str, tuple[int, ...]]) -> bool:
        (series,) = heap_after_gc(heaps, 0, 59_999, forced)
        return series.is_conclusive

    assert not is_conclusive({})
    assert is_conclusive({"shop": (30_000,)})
    assert not is_conclusive({"shop": (70_000,), "till": (30_000,)})


def test_files_of_older_versions_do_not_know_the_heap_after_collections() -> None:
    assert heap_after_gc(read_heaps(HEAP_CSV.splitlines()), 0, 10_000) == ()


def test_without_recordings_nothing_is_written(tmp_path: Path) -> None:
    assert write_heap(tmp_path / "heap.csv", {}, {}) == ()
    assert list(tmp_path.iterdir()) == []


def test_a_missing_or_empty_recording_is_reported(tmp_path: Path) -> None:
    (tmp_path / "killed.jfr").touch()
    recordings = {"shop": tmp_path / "gone.jfr", "till": tmp_path / "killed.jfr"}
    shop, till = write_heap(tmp_path / "heap.csv", recordings, {})
    assert shop == ("shop", "not known: the recording gone.jfr is missing")
    assert till[1] == "not known: killed.jfr is empty: its JVM was probably killed before writing it"
    assert not (tmp_path / "heap.csv").exists()


def test_a_java_without_jfr_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = tmp_path / "jre" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.touch(mode=0o755)
    monkeypatch.setenv("JAVA_HOME", str(java.parent.parent))
    monkeypatch.setenv("PATH", os.environ["PATH"])
    (tmp_path / "shop.jfr").write_bytes(b"FLR")
    assert write_heap(tmp_path / "heap.csv", {"shop": tmp_path / "shop.jfr"}, {}) == (
        ("shop", "not known: this Java has no jfr, which reads shop.jfr"),
    )


@pytest.mark.real
def test_a_missing_recording_is_reported_and_does_not_affect_the_verdict(
    run: Callable[..., subprocess.CompletedProcess[str]], home: Path, tmp_path: Path
) -> None:
    manifest = home / "systems" / "tiny" / "system.toml"
    manifest.write_text(
        manifest.read_text().replace("ready =", 'recording = "web.jfr"\nexceptions = ["web.log"]\nready =')
    )
    done = run("--duration", "1")
    assert done.returncode == 0, done.stderr
    facts = json.loads((tmp_path / "reports" / "tiny" / "run-01_1" / "run.json").read_text())
    assert facts["unknown"] == {"heap": [["web", "not known: the recording web.jfr is missing"]]}
    assert facts["exception_logs"] == ["web.log"]
    assert not (tmp_path / "reports" / "tiny" / "run-01_1" / "heap.csv").exists()


def test_the_record_of_a_run_without_these_facts_is_still_read() -> None:
    known = record(unknown={"heap": (("shop", "not known"),)}, exception_logs=("shop.log",))
    data = json.loads(json.dumps(to_plain(known)))
    assert build(RunRecord, data) == known
    del data["unknown"], data["exception_logs"]
    assert build(RunRecord, data) == record()
    earlier = {"heap_unknown": [["shop", "not known"]], "histogram_unknown": [["till", "no jcmd"]]}
    earlier["profile_unknown"] = []
    heap, histograms = (("shop", "not known"),), (("till", "no jcmd"),)
    assert build(RunRecord, data | earlier) == record(unknown={"heap": heap, "histograms": histograms})


@pytest.mark.real
def test_a_broken_recording_is_reported_with_the_message_of_jfr(tmp_path: Path) -> None:
    (tmp_path / "shop.jfr").write_bytes(b"FLR")
    ((process, reason),) = write_heap(tmp_path / "heap.csv", {"shop": tmp_path / "shop.jfr"}, {})
    assert process == "shop"
    assert reason.startswith("not known: jfr print: could not read recording at shop.jfr.")


@pytest.mark.real
def test_a_recording_that_takes_too_long_to_read_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jfr, "_DEADLINE_S", 0.0)
    (tmp_path / "shop.jfr").write_bytes(b"FLR")
    found = write_heap(tmp_path / "heap.csv", {"shop": tmp_path / "shop.jfr"}, {})
    assert found == (("shop", "not known: jfr print did not read shop.jfr within 0 s"),)


@pytest.mark.real
@pytest.mark.parametrize(
    "collector",
    ["G1", *(pytest.param(one, marks=pytest.mark.counterpart) for one in ("Z", "Parallel", "Serial", "Shenandoah"))],
)
def test_every_collector_of_java_leaves_its_heap_in_a_recording(tmp_path: Path, collector: str) -> None:
    recording = record_garbage(tmp_path, collector, 2000)
    assert write_heap(tmp_path / "heap.csv", {"shop": recording}, {}) == ()
    with (tmp_path / "heap.csv").open() as lines:
        (use,) = heap_uses(read_heaps(lines), 0, 2**63)
    assert use.point_count >= 2
    assert use.used_bytes_min is not None and use.used_bytes_max is not None
    assert 0 < use.used_bytes_min < use.used_bytes_max <= 128 * 1024**2
    assert use.reserved_bytes_max == 128 * 1024**2  # -Xmx
    assert sorted(path.name for path in tmp_path.iterdir() if "heap" in path.name) == ["heap.csv"]


@pytest.mark.real
def test_a_recording_without_the_heap_is_reported(tmp_path: Path) -> None:
    recording = record_garbage(tmp_path, "Serial", 2000, enabled="false")
    assert write_heap(tmp_path / "heap.csv", {"shop": recording}, {}) == (
        (
            "shop",
            "not known: shop.jfr contains no jdk.GCHeapSummary: no garbage was collected, or the event is not recorded",
        ),
    )


@pytest.mark.real
def test_a_jvm_that_was_killed_leaves_an_empty_recording(tmp_path: Path) -> None:
    command, recording = garbage_command(tmp_path, "Serial", None)
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as jvm:
        wait_for(recording.exists)
        jvm.kill()
    ((_, reason),) = write_heap(tmp_path / "heap.csv", {"shop": recording}, {})
    assert reason == "not known: shop.jfr is empty: its JVM was probably killed before writing it"
