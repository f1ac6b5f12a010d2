"""Growth of resources in a report: texts, forecasts, the warning, the table, CloudWatch, and the chart."""

import csv
import json
from dataclasses import replace
from random import Random

import jsonschema
import pytest

from harness.base.records import build, to_plain
from harness.cloudwatch.points import CloudMetric, CloudMetrics, read_cloudwatch
from harness.cloudwatch.queries import AVERAGE
from harness.judge.growth import growth_text, left_text, with_cloud
from harness.judge.summarise import SummaryOptions, summarise
from harness.judge.summary import Observed, RunSummary
from harness.metrics.resource_growth import CANNOT_TELL, GROWS, HEAP, MEMORY_RATIO, RSS, STEADY, THREADS, Growth
from harness.metrics.window import Window
from harness.report.charts.run_charts import GROWTH, run_charts
from harness.report.files import write_report
from harness.report.machine import live_heap_text
from harness.report.run_tables import growth_notes, growth_table
from harness.report.schema.generate import summary_schema
from harness.run.telemetry.table import UsageSeries
from harness.system.heap import HeapSeries
from harness.system.histograms import ClassGrowth, HeapMoment, LiveHeap
from tests.support.factories import record, sample, tally_of
from tests.support.full_run import HEAD, START_MS, jtl_row, run_directory

MB = 1024 * 1024
SCHEMA = summary_schema()


def growth(resource=HEAP, scale=MB, **changes):
    """The growth of the shop: 4.1 (3.2 to 5.0) per hour."""
    values = {"process": "shop", "resource": resource, "point_count": 60, "first": 100.0 * scale, "last": 133.0 * scale}
    rates = {"per_hour": 4.1 * scale, "low_per_hour": 3.2 * scale, "high_per_hour": 5.0 * scale}
    return Growth(**{**values, **rates, "verdict": GROWS, **changes})


def forecast(left_h, low_h, high_h):
    return growth(limit=1024.0 * MB, left_h=left_h, left_low_h=low_h, left_high_h=high_h)


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (forecast(264.0, 216.0, 336.0), "11 days (9-14)"),
        (forecast(11.2, 9.0, 14.4), "11 h (9-14)"),
        (forecast(1.5, 1.0, 2.5), "90 min (60-150)"),
        (forecast(0.0, 0.0, 0.0), "reached"),
        (growth(), ""),
    ],
)
def test_a_forecast_is_printed_in_days_hours_or_minutes(found, text):
    assert left_text(found) == text


def test_a_growth_is_one_sentence_with_interval_and_forecast():
    text = "heap after GC of shop grows 4.1 MB/h (3.2-5): limit in 11 days (9-14)"
    assert growth_text(forecast(264.0, 216.0, 336.0)) == text
    assert growth_text(forecast(0.0, 0.0, 0.0)).endswith("): limit reached")
    assert growth_text(growth(THREADS, 1.0)) == "threads of shop grow 4.1/h (3.2-5)"
    assert growth_text(growth(MEMORY_RATIO, 0.01, process="mod-x")) == "memory of mod-x grows 4.1 %/h (3.2-5)"


def test_the_table_has_a_row_per_resource_with_units():
    rows = growth_table([forecast(264.0, 216.0, 336.0), growth(RSS, verdict=STEADY)]).splitlines()
    assert rows[2] == ("| shop | heap after GC, MB | 100 | 133 | 4.1 | 3.2 to 5 | **grows** | 1024 | 11 days (9-14) |")
    assert rows[3] == "| shop | memory, MB | 100 | 133 | 4.1 | 3.2 to 5 | steady |  |  |"


def test_notes_explain_a_missing_table_of_a_soak_alone():
    assert growth_notes([], 300, is_soak=True) == [
        "No growth is estimated: the measurement window is shorter than 10 min."
    ]
    assert growth_notes([], 300, is_soak=False) == []
    assert len(growth_notes([growth(verdict=STEADY)], 3600, is_soak=True)) == 1
    assert len(growth_notes([growth(verdict=CANNOT_TELL), forecast(1.0, 1.0, 1.0)], 3600, is_soak=True)) == 3


def summary_with(*growths, **observed) -> RunSummary:
    """A run of half an hour of two users whose answers take longer and longer."""
    samples = [
        sample(start_ms=1_000_000 + 1000 * second, elapsed_ms=100 + second // 10, all_threads=2)
        for second in range(1800)
    ]
    options = SummaryOptions()
    return summarise(tally_of(samples), "tiny/run-01_1", record(), Observed(growths=growths, **observed), options)


@pytest.mark.real
def test_what_grows_is_a_warning_and_what_is_steady_is_none():
    texts = {one.code: one.text for one in summary_with(growth(), growth(THREADS, 1.0)).warnings}
    what = "heap after GC of shop grows 4.1 MB/h (3.2-5); threads of shop grow 4.1/h (3.2-5)"
    assert texts["growth"].startswith(f"Growth under a constant load: {what}. ")
    assert "growth" not in {one.code for one in summary_with(growth(verdict=STEADY)).warnings}
    assert summary_with(growth()).verdict.state == summary_with().verdict.state


def test_growth_survives_json_and_older_files_have_none():
    heap = LiveHeap("shop", (HeapMoment("start", -1.0, 250, 600),), (ClassGrowth("Cart", (1, 2), (3, 4)),))
    summary = summary_with(growth(), live_heaps=(heap,))
    data = to_plain(summary)
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(json.dumps(data)))
    assert build(RunSummary, data).observed == summary.observed
    del data["observed"]["growths"], data["observed"]["live_heaps"], data["run"]["is_soak"]
    assert build(RunSummary, data).observed.growths == ()


def cloud(*averages, kind="ecs"):
    """The memory of a service per minute."""
    seconds = tuple(60.0 * number + 30 for number in range(len(averages)))
    name = "folio/mod-circulation" if kind == "ecs" else "i-0123456789abcdef0"
    shares = (len(averages), len(averages), 0, True, 1.0, 1.0, 1.4)
    metric = CloudMetric(kind, name, MEMORY_RATIO, *shares, seconds, averages)
    return CloudMetrics(60, 0, 60 * len(averages), "within", (metric,))


def window(length_s):
    return Window("all", 0, length_s, length_s, length_s)


def test_the_memory_of_a_service_grows_beyond_its_reservation_and_has_no_limit():
    # From 103 to 140 % in two hours, as of mod-circulation.
    rising = cloud(*(1.03 + 0.37 * minute / 120 for minute in range(120)))
    (found,) = with_cloud((), rising, window(7200), record())
    assert (found.verdict, found.limit) == (GROWS, None)
    assert found.per_hour == pytest.approx(0.185, rel=1e-3)
    assert growth_text(found).startswith("memory of ")
    assert with_cloud((growth(), found), rising, window(7200), record()) == (growth(), found)
    assert with_cloud((), cloud(*([0.5] * 120), kind="ec2"), window(7200), record())[0].limit == 1.0
    assert with_cloud((growth(),), None, window(7200), record()) == (growth(),)


@pytest.mark.real
def test_a_chart_shows_response_times_against_the_memory_of_what_grows():
    seconds = tuple(float(second) for second in range(0, 1800, 5))
    rss = tuple(round((200 + second / 30) * MB) for second in seconds)
    till = tuple(900 * MB for _ in seconds)
    usages = (
        UsageSeries("till", seconds, (0.0,) * len(seconds), till),
        UsageSeries("shop", seconds, (0.0,) * len(seconds), rss),
    )
    summary = summary_with(growth(RSS), growth(RSS, process="till", verdict=STEADY), usage_series=usages)
    (chart,) = run_charts(summary)[GROWTH]
    assert chart.name == "response-memory.svg"
    assert "resident memory of shop, MB" in chart.alternative
    # 100 to 159 ms in the first 600 s, 220 to 279 in the last; a sample counts at its end, a little later.
    assert "first third of the window: 210 MB, 129 ms; last third: 250 MB, 249 ms" in chart.alternative
    heap = HeapSeries("shop", seconds, rss, rss, rss)
    with_heap = replace(summary, observed=replace(summary.observed, heap_series=(heap,)))
    assert "least heap of shop, MB" in run_charts(with_heap)[GROWTH][0].alternative
    assert run_charts(summary_with(usage_series=usages))[GROWTH] == ()


def test_live_objects_name_the_classes_and_the_pause_within_the_window():
    moments = tuple(
        HeapMoment(moment, at_s, 300, size * MB)
        for moment, at_s, size in (("start", -3.0, 10), ("middle", 600.0, 20), ("end", 1203.0, 35))
    )
    heap = LiveHeap("shop", moments, (ClassGrowth("byte[]", (1, 2, 3), (MB, 2 * MB, 4 * MB)),))
    window = Window("given", 20, 1190, 1170, 1203)
    text = live_heap_text(heap, window)
    assert "### Live objects of shop\n\n10.0 MB at the start, 20.0 MB at the middle, 35.0 MB at the end." in text
    assert r"| byte\[\] | 1.00 | 2.00 | 4.00 | 2.00 | 1 | 2 | 3 |" in text
    assert "which stopped the JVM: within the window at 10:00 for up to 300 ms." in text
    assert "outside of the window" in live_heap_text(replace(heap, moments=moments[::2], classes=()), window)


# Averages of the memory of modules in four consecutive runs of 30 minutes, % of their reservation, as FOLIO's
# performance team published them: 8, 5, 1 and 20 users. mod-circulation crashed in the last run, at 140 %.
FOLIO_CSV = """\
service,8 users,5 users,1 user,20 users
okapi,67,67,67,67
mod-circulation,103,120,128,140
mod-circulation-storage,45.67,45.7,45.7,45.7
mod-inventory,55,55,55,55
mod-inventory-storage,56,56,56,56
"""


def folio_cloudwatch():
    """The four runs as one cloudwatch.csv of two hours: a value per minute, straight lines between the averages."""
    lines = ["time_s,period_s,kind,resource,metric,statistic,value,status"]
    for row in csv.DictReader(FOLIO_CSV.splitlines()):
        service, *averages = row.values()
        ratios = [float(average) / 100 for average in averages]
        for minute in range(120):
            at = min(max((minute - 15) / 30, 0), 3)
            index = min(int(at), 2)
            value = ratios[index] + (ratios[index + 1] - ratios[index]) * (at - index)
            lines.append(f"{60 * minute},60,ecs,folio/{service},memory_ratio,{AVERAGE},{value:.4f},Complete")
    return lines


def test_of_the_published_memory_of_folio_only_mod_circulation_grows():
    found = read_cloudwatch(folio_cloudwatch(), 0, window(7200))
    verdicts = {one.process.split("/")[-1]: one for one in with_cloud((), found, window(7200), record())}
    assert {name for name, one in verdicts.items() if one.verdict == GROWS} == {"mod-circulation"}
    leak = verdicts["mod-circulation"]
    # 37 points in the 90 minutes between the middles of the first and the last run are 25 an hour; flat at both ends.
    assert 0.15 < leak.low_per_hour < leak.per_hour < leak.high_per_hour < 0.3
    assert len(verdicts) == 5


def half_an_hour(folder, leaked_per_s):
    """A run of half an hour of a JVM: 2 GB of heap, collected every 10 s, of which `leaked_per_s` bytes leak."""
    directory = run_directory(folder, record(took_s=1801.0, is_soak=True, once_labels=()), "")
    seconds = range(1800)
    rows = [jtl_row(second, 1, elapsed_ms=100 + (second % 7), users=1) for second in seconds]
    directory.samples.write_text("\n".join([HEAD, *rows]) + "\n")
    telemetry, heap = ["time_ms,process,cpu_cores,rss_bytes,thread_count,open_files,open_files_limit"], []
    for second in seconds:
        rng = Random(second)
        used = 100 * MB + leaked_per_s * second + rng.randrange(2 * MB)
        files = f"{50 + rng.randrange(5)},1024" if second % 10 == 0 else ","
        telemetry.append(f"{START_MS + 1000 * second},shop,0.5,{used + 300 * MB},{20 + second % 3},{files}")
        if second % 10 == 0:
            # Old garbage is collected every five minutes.
            old = (second % 300) * MB // 10
            after = f"{START_MS + 1000 * second},shop,{used + old},{1024 * MB},{2048 * MB},after"
            heap += [after.replace(f",{used + old},", f",{used + 500 * MB},").replace("after", "before"), after]
    (directory.path / "telemetry.csv").write_text("\n".join(telemetry) + "\n")
    (directory.path / "heap.csv").write_text(
        "\n".join(["time_ms,process,used_bytes,committed_bytes,reserved_bytes,when", *heap]) + "\n"
    )
    return write_report(directory), directory.report.read_text()


@pytest.mark.real
def test_a_run_that_leaks_is_reported_with_its_forecast_from_its_files(tmp_path):
    # 20 MB a minute, so 1,200 an hour: 600 MB in the run, and 2,048 - 700 left at its end.
    summary, text = half_an_hour(tmp_path, 20 * MB // 60)
    found = {one.resource: one for one in summary.observed.growths}
    heap = found[HEAP]
    assert (heap.verdict, found[RSS].verdict, found[THREADS].verdict) == (GROWS, GROWS, STEADY)
    assert heap.per_hour / MB == pytest.approx(1200, rel=0.1)
    assert heap.left_h == pytest.approx((2048 - 700) / 1200, rel=0.1)
    assert heap.left_low_h < heap.left_h < heap.left_high_h
    section = text.split("\n## Growth\n")[1].split("\n## ")[0]
    assert "| shop | heap after GC, MB | 1" in section
    assert "response-memory.svg" in section
    assert "Growth under a constant load: " in text.split("\n## Results\n")[0]


@pytest.mark.real
def test_the_same_run_without_the_leak_claims_nothing(tmp_path):
    summary, text = half_an_hour(tmp_path, 0)
    assert {one.verdict for one in summary.observed.growths} == {STEADY}
    assert "Growth under a constant load" not in text
    assert "\n## Growth\n" in text
