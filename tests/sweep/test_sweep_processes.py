"""What a sweep's report contains on CPU and memory, and on memory from run to run."""

from dataclasses import replace
from xml.etree import ElementTree

import pytest

from harness.judge.verdict import INTERRUPTED, VALID, Verdict
from harness.report.charts.chart import Chart
from harness.run.telemetry.table import Usage
from harness.sweep.analysis import analyse
from harness.sweep.charts import FILE_NAME
from harness.sweep.growth import RunMemory, memory_of_runs
from harness.sweep.levels import Figures, LevelRun, Sweep, levels_of
from harness.sweep.processes import growth_section, heap_table, process_table, recorded_table
from harness.sweep.render import SweepPage, sweep_report
from harness.sweep.usage_charts import heap_charts, recorded_charts, usage_charts
from harness.system.flight_recording import RecordedUse
from harness.system.heap import HeapUse
from tests.support.factories import record
from tests.support.sweep_reports import SVG, texts_of
from tests.support.sweeps import BROKEN

MB = 1024 * 1024
FINE = Verdict(VALID, (), (), ())


def usage(process: str, cores: float, rss_mb: float) -> Usage:
    """A process with its range a little about its means."""
    low, high = round((rss_mb - 1) * MB), round((rss_mb + 1) * MB)
    return Usage(process, 60, cores, cores / 2, cores * 2, round(rss_mb * MB), low, high, 9)


def run(number: int, rss_mb: float, verdict: Verdict = FINE, kept_up: bool = True) -> LevelRun:
    """Return the run that was the so many'th to start; its name does not have the number."""
    facts = record(name="run", started_at=f"2026-01-01T00:{number:02d}:00Z", kept_up=kept_up)
    usages = (usage("jmeter", 0.1, 200 + number), usage("shop", 0.25, rss_mb), usage("host", 0.5, 900))
    return LevelRun(f"run-{number}", Figures(rate_per_s=10.0), verdict, facts, usages=usages)


def sweep(*runs: tuple[int, LevelRun]) -> Sweep:
    return Sweep("tiny/sweep-07", levels_of(runs))


def test_memory_covers_the_systems_processes_in_order_of_start():
    rounds = sweep((1, run(1, 100)), (1, run(3, 120)), (8, run(2, 150)), (8, run(4, 170)))
    assert memory_of_runs(rounds) == tuple(
        RunMemory(users, {"shop": size * MB}) for users, size in ((1, 100), (8, 150), (1, 120), (8, 170))
    )


@pytest.mark.parametrize(
    "left_out",
    [run(2, 300, kept_up=False), run(2, 300, BROKEN), run(2, 300, Verdict(INTERRUPTED, ("by hand",), (), ()))],
    ids=["started anew", "INVALID", "interrupted"],
)
def test_interrupted_series_and_uncounted_runs_are_excluded(left_out):
    assert len(memory_of_runs(sweep((1, run(1, 100)), (1, left_out)))) == 1


def test_a_process_that_grows_from_run_to_run_is_a_suspect():
    # As in tests/sweep/test_growth.py: 9.6 MB a run, from 5.95 to 13.25.
    section = growth_section(sweep(*((8, run(number, size)) for number, size in enumerate((100, 112, 118, 130)))))
    assert section.verdict.startswith("Leak suspect: shop. A JVM's memory also grows until")
    assert section.table.splitlines()[2] == "| shop | 4 | 115 | 100 | 130 | 9.60 | 5.95 to 13.25 | yes |"


def test_a_process_that_does_not_grow_is_not_a_suspect():
    section = growth_section(sweep(*((8, run(number, size)) for number, size in enumerate((100, 120, 110, 110)))))
    assert section.verdict == "No leak suspect."
    assert section.table.splitlines()[2].endswith("| 2.00 | -16.25 to 20.25 | no |")


def test_growth_is_unknown_without_repeated_levels():
    section = growth_section(sweep((1, run(1, 100)), (5, run(2, 120)), (8, run(3, 140)), (20, run(4, 160))))
    assert section.verdict.startswith("Memory growth from run to run is unknown: more users need more")
    assert section.table == ""


def test_restarted_systems_have_no_growth_section():
    assert growth_section(sweep(*((8, run(number, 100, kept_up=False)) for number in range(4)))) is None


def test_processes_are_listed_per_level_with_median_and_range():
    rows = process_table(
        sweep((8, run(1, 100)), (8, run(2, 110)), (8, run(3, 130)), (1, run(4, 90))).levels
    ).splitlines()
    assert rows[0] == "| users | process | CPU % of one core | range | memory MB | range |"
    assert rows[3] == "| 1 | shop | 25.0 | 12.5-50.0 | 90 | 89-91 |"
    assert rows[6] == "| 8 | shop | 25.0 | 12.5-50.0 | 110 | 99-131 |"
    assert rows[7] == "| 8 | host, all processes | 50.0 | 25.0-100.0 | 900 | 899-901 |"


def test_memory_and_growth_come_after_the_charts():
    levels = sweep(*((8, run(number, size)) for number, size in enumerate((100, 112, 118, 130))))
    text = sweep_report(levels, analyse(levels.levels, None), SweepPage([], "", "sweep-07", "lth sweeps x"), {})
    assert "<summary>CPU and memory, per process</summary>\n\n| users | process |" in text
    assert "values of repeats are medians of the runs' means; ranges" in text
    assert "\n## Memory from run to run\n\nLeak suspect: shop." in text
    assert text.index("## Findings") < text.index("## Memory from run to run") < text.index("## All numbers")


def heap(process: str, used_mb: int | None) -> HeapUse:
    """A JVM whose heap has 100 MB more committed than used, and 1024 MB reserved."""
    if used_mb is None:
        return HeapUse(process, 0, *[None] * 9)
    used, committed = ([(size + part) * MB for part in (0, -5, 5)] for size in (used_mb, used_mb + 100))
    return HeapUse(process, 6, *used, *committed, *[1024 * MB] * 3, (used_mb - 50) * MB)


def with_heap(number: int, used_mb: int | None, **changes: object) -> LevelRun:
    return replace(run(number, 100), heap_uses=(heap("shop", used_mb),), **changes)


def chart(charts: tuple[Chart, ...], name: str) -> ElementTree.Element:
    return ElementTree.fromstring(next(one.svg for one in charts if one.name == name))


def test_cpu_and_memory_have_a_line_per_process():
    levels = sweep((1, run(1, 100)), (8, run(2, 300)), (8, run(3, 320))).levels
    cpu, memory = (chart(usage_charts(levels), name) for name in ("cpu.svg", "memory.svg"))
    assert {"jmeter", "shop", "host, all processes", "least to greatest of the repeats"} <= set(texts_of(cpu))
    assert "shop: least 100, most 310 at 8 users, last 310 at 8 users." in memory.findtext(f"{SVG}desc")
    assert "host, all processes" not in texts_of(memory)


def test_the_heap_has_a_chart_per_jvm_and_a_table():
    levels = sweep((1, with_heap(1, 200)), (8, with_heap(2, 300)), (8, with_heap(3, 500))).levels
    [heap] = heap_charts(levels)
    assert heap.name == "heap.svg"
    found = ElementTree.fromstring(heap.svg)
    assert {"used", "after GC", "committed", "reserved"} <= set(texts_of(found))
    assert "used: least 200, most 400 at 8 users" in found.findtext(f"{SVG}desc")
    assert heap_table(levels).splitlines()[2:] == [
        "| 1 | shop | 200 | 195-205 | 150 | 300 | 295-305 | 1024 | 6 |",
        "| 8 | shop | 400 | 295-505 | 350 | 500 | 395-605 | 1024 | 12 |",
    ]


def test_a_heap_of_an_older_version_has_no_line_after_collections():
    old = replace(run(1, 100), heap_uses=(replace(heap("shop", 200), after_gc_bytes_mean=None),))
    levels = sweep((1, old)).levels
    assert "after GC" not in texts_of(chart(heap_charts(levels), "heap.svg"))
    assert heap_table(levels).splitlines()[2] == "| 1 | shop | 200 | 195-205 |  | 300 | 295-305 | 1024 | 6 |"


def recorded(pause_ms: float, cpu_ratio: float | None) -> RecordedUse:
    """A recorded JVM whose machine is twice as busy, with 4 collections in 50 s."""
    machine = None if cpu_ratio is None else 2 * cpu_ratio
    return RecordedUse("gateway", 50.0, 4, pause_ms, pause_ms / 2, None, None, None, cpu_ratio, cpu_ratio, machine)


def test_a_recorded_jvm_elsewhere_has_a_row_per_level_and_a_chart_of_its_cpu():
    runs = (recorded(100, 0.1), recorded(200, 0.2), recorded(400, 0.4))
    levels = sweep(*((users, replace(run(number, 100), recorded=(use,))) for number, (users, use) in
                     enumerate(zip((1, 8, 8), runs, strict=True)))).levels  # fmt: skip
    rows = recorded_table(levels).splitlines()
    heads = "users | process | collections | pauses ms | longest ms | % of time | JVM CPU % | machine CPU %"
    assert rows[0] == f"| {heads} |"
    assert rows[2:] == [
        "| 1 | gateway | 4 | 100 | 50 | 0.20 | 10.0 | 20.0 |",
        "| 8 | gateway | 8 | 600 | 200 | 0.60 | 30.0 | 60.0 |",
    ]
    [cpu] = recorded_charts(levels)
    assert FILE_NAME.fullmatch(cpu.name)
    assert "gateway: least 10, most 30 at 8 users" in chart((cpu,), "jvm-cpu.svg").findtext(f"{SVG}desc")
    both = Sweep("tiny/sweep-07", levels)
    text = sweep_report(both, analyse(levels, None), SweepPage((cpu,), "", "sweep-07", "make"), {})
    assert text.index("## JVM heap") < text.index("jvm-cpu.svg") < text.index("| 8 | gateway |")
    assert recorded_table(sweep((1, run(1, 100))).levels) == ""
    assert recorded_charts(sweep((1, replace(run(1, 100), recorded=(recorded(1, None),)))).levels) == ()


def test_several_jvms_have_numbered_charts():
    both = replace(run(1, 100), heap_uses=(heap("a", 100), heap("b", 200)))
    assert [one.name for one in heap_charts(sweep((1, both)).levels)] == ["heap-1.svg", "heap-2.svg"]


def test_nothing_is_drawn_of_uncounted_runs_and_without_collections():
    levels = sweep((1, with_heap(1, None)), (8, with_heap(2, 300, verdict=BROKEN))).levels
    assert heap_charts(levels) == ()
    assert heap_table(levels) == ""
    assert usage_charts(sweep((8, run(1, 100, BROKEN))).levels) == ()


def test_the_charts_are_in_their_sections():
    levels = sweep((1, with_heap(1, 200)), (8, with_heap(2, 300)))
    charts = (*usage_charts(levels.levels), *heap_charts(levels.levels))
    text = sweep_report(levels, analyse(levels.levels, None), SweepPage(charts, "", "sweep-07", "make"), {})
    assert "\n## Charts\n" not in text
    positions = [text.index(part) for part in ("## CPU and memory", "sweep-07/memory.svg", "## JVM heap", "heap.svg")]
    assert positions == sorted(positions)
    assert all(FILE_NAME.fullmatch(one.name) for one in charts)
