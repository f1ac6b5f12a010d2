"""A soak of a system with two JVMs: one leaks at a known rate, the other does not."""

import gzip
import json

import pytest

from bench.runs.soak import LEAKED_CLASS, system_toml
from harness.metrics.resource_growth import GROWS, STEADY, growths
from harness.run.directory import RunDirectory
from harness.system.heap import heap_after_gc, read_heaps
from harness.system.histograms import forced_ms, read_histograms
from tests.support.commands import command
from tests.support.paths import FAKE_JMETER
from tests.support.processes import QUICK_JAVA, interrupted_after
from tests.support.tiny import arguments_of_run

LEAK_PER_S, GARBAGE_PER_S = 4_000_000, 100_000_000
HEAP_MB = 256
DURATION_S = 8


@pytest.mark.real
@pytest.mark.counterpart
def test_a_soak_finds_the_leak_its_class_and_its_end_and_no_leak_where_there_is_none(home, tmp_path):
    manifest = system_toml(LEAK_PER_S, GARBAGE_PER_S, HEAP_MB)
    (home / "systems" / "tiny" / "system.toml").write_text(manifest)
    arguments = arguments_of_run(home, tmp_path, ["--soak", "--duration", str(DURATION_S)])
    with interrupted_after(120):
        done = command("scripts/run", *arguments, JMETER_HOME=str(FAKE_JMETER), **QUICK_JAVA)
    directory = RunDirectory(tmp_path / "reports" / "tiny" / "run-01_1")
    assert directory.summary_json.is_file(), done.stdout + done.stderr

    summary = json.loads(directory.summary_json.read_text())
    heaps = {heap["process"]: heap for heap in summary["observed"]["live_heaps"]}
    assert [moment["moment"] for moment in heaps["leaky"]["moments"]] == ["start", "middle", "end"]
    assert LEAKED_CLASS in [grown["class_name"] for grown in heaps["leaky"]["classes"]]
    assert LEAKED_CLASS not in [grown["class_name"] for grown in heaps["sound"]["classes"]]
    assert summary["run"]["is_soak"] and "histograms" not in summary["run"]["unknown"]

    # Ten minutes are the least for a report; the same computation takes these seconds.
    first_ms = summary["origin_s"] * 1000
    window_ms = first_ms, first_ms + DURATION_S * 1000
    with gzip.open(directory.path / "histograms.tsv.gz", "rt") as lines:
        forced = forced_ms(read_histograms(lines))
    series = heap_after_gc(read_heaps((directory.path / "heap.csv").read_text().splitlines()), *window_ms, forced)
    found = {growth.process: growth for growth in growths(series, DURATION_S, least_s=DURATION_S)}
    leaky, sound = found["leaky"], found["sound"]
    assert leaky.verdict == GROWS, leaky
    assert leaky.per_hour / 3600 == pytest.approx(LEAK_PER_S, rel=0.2)
    assert leaky.left_h * 3600 == pytest.approx((HEAP_MB * 1024 * 1024 - leaky.last) / LEAK_PER_S, rel=0.3)
    assert sound.verdict == STEADY, sound

    report = directory.report.read_text()
    assert summary["observed"]["growths"] == []
    assert "No growth is estimated: the measurement window is shorter than 10 min." in report
    assert "### Live objects of leaky" in report
    assert "Each forced a full garbage collection" in report
