"""The time to the first byte and to connect: percentiles, goals, the report's table and chart, and comparisons."""

import gzip
import random

import pytest

from harness.base.errors import UsageError
from harness.compare.decision import compare
from harness.history.files import read_catalogue
from harness.history.series import history
from harness.judge.summarise import summarise
from harness.metrics.batch_means import estimate
from harness.metrics.figures import LOAD, LabelCounts
from harness.metrics.histogram import Histogram
from harness.metrics.interval import IntervalMs
from harness.metrics.metric import AVERAGE, FIRST_BYTE, metric_of
from harness.metrics.tally import Scope
from harness.metrics.tally_file import from_bytes, to_bytes
from harness.plan.goal import GoalRule
from harness.plan.goal_input import parse_goal
from harness.plan.stop import parse_stop, read_stop
from harness.plan.thresholds import Thresholds
from harness.report.charts.run_charts import run_charts
from harness.report.files import write_report
from harness.report.markdown import report
from harness.report.run_result import LabelResult
from tests.support.comparisons import metric
from tests.support.factories import closed_load, record, sample, tally_of
from tests.support.report_folder import run_folder
from tests.support.results import run_result

P95 = metric_of("first byte p95")


def streamed(count=200, last_ms=450, start_ms=1_000_000, **changes):
    """Return samples, two a second, whose first bytes come after 101 to 300 ms, in turn."""
    times = [{"latency_ms": 101 + number % 200, "connect_ms": 0, **changes} for number in range(count)]
    return [sample("Chat", last_ms, start_ms + 500 * number, **some) for number, some in enumerate(times)]


def summary_of(samples, goal="errors<1%"):
    return summarise(
        tally_of(samples), "tiny/run-01_1", record(goal=parse_goal(goal, "--goal"), load=closed_load(users=1))
    )


def page(samples):
    summary = summary_of(samples)
    return report(summary, run_charts(summary), "", "run-01_1")


def total(samples):
    return next(group.total for group in tally_of(samples).groups() if group.name == LOAD)


def test_percentiles_of_the_first_byte_follow_the_rule_of_elapsed_ones():
    assert total(streamed()).first_byte_percentiles_ms == {"50": 200, "90": 280, "95": 290, "99": 298}


def test_requests_on_an_open_connection_took_0_ms_to_connect():
    samples = [*streamed(18), *streamed(2, connect_ms=7)]
    assert total(samples).connect_percentiles_ms == {"95": 7, "99": 7}
    assert total([*streamed(98), *streamed(2, connect_ms=7)]).connect_percentiles_ms == {"95": 0, "99": 7}


@pytest.mark.parametrize("latency_ms", [None, 0])
def test_without_a_latency_there_is_no_time_to_the_first_byte(latency_ms):
    figures = total(streamed(latency_ms=latency_ms))
    assert (figures.first_byte_percentiles_ms, figures.is_streamed) == ({}, False)
    assert "Time to first byte" not in page(streamed(latency_ms=latency_ms))


def test_a_part_without_the_column_leaves_the_whole_unknown():
    assert total([*streamed(), *streamed(1, latency_ms=None)]).first_byte_percentiles_ms == {}


def test_counts_of_an_earlier_version_know_averages_only():
    counts = LabelCounts(Histogram({10: 4}), latency_sum_ms=20, connect_sum_ms=2)
    assert (counts.known_first_bytes(), counts.known_connects()) == (None, None)


def test_a_row_of_several_samples_counts_as_each_of_them():
    rows = streamed(3, latency_ms=11, sample_count=5)
    assert total(rows).first_byte_percentiles_ms["95"] == 11 // 5
    assert tally_of(rows).groups()[0].total.counts.first_bytes == Histogram({2: 15})


def test_the_report_has_a_table_and_a_chart_only_where_first_bytes_come_first():
    text = page(streamed())
    assert "### Time to first byte" in text
    assert "| Chat | 200 | 200 | 280 | 290 | 298 | 0.00 |" in text
    assert "](run-01_1/first-byte.svg)" in text
    alike = page(streamed(latency_ms=449))  # a step of the clock
    assert "Time to first byte" not in alike
    assert "first-byte.svg" not in alike


@pytest.mark.parametrize(("limit", "is_met"), [(290, True), (289, False)])
def test_a_goal_limits_the_time_to_the_first_byte(limit, is_met):
    (result,) = summary_of(streamed(), f"first byte p95<{limit}").verdict.goals
    assert (result.is_met, result.text) == (is_met, f"first byte p95 290 ms, goal {limit} ms")


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("Pay: First Byte  P95 < 1.5s", GoalRule("first_byte_p95_ms", "Pay", max=1500)),
        ("first byte: p95<5", GoalRule("p95_ms", "first byte", max=5)),
        ("Pay: connect p99<5", GoalRule("connect_p99_ms", "Pay", max=5)),
        ("Pay: first_byte_p50_ms<5", GoalRule("first_byte_p50_ms", "Pay", max=5)),
    ],
)
def test_goals_name_a_part_of_the_time_in_words_or_by_its_key(text, rule):
    assert parse_goal(text, "--goal").rules == (rule,)


def test_no_stop_condition_is_about_the_first_byte():
    with pytest.raises(UsageError, match="first_byte_p95_ms: no such metric"):
        parse_stop("first_byte_p95_ms>5 for 10s")
    with pytest.raises(UsageError, match="first byte p95: no such metric"):
        read_stop({"first byte p95": ">5 for 10s"}, "[stop]")


def test_a_tally_file_keeps_the_times_and_one_of_an_earlier_version_has_none():
    tally = tally_of([*streamed(), *streamed(3, connect_ms=4)])
    tally.names[0] = "x.jtl"
    (counts,) = next(iter(tally.labels.values())).values()
    text = gzip.decompress(to_bytes(tally, None))
    (read,) = next(iter(from_bytes(text, "x.tally", 0).labels.values())).values()
    assert (read.first_bytes, read.connects) == (counts.first_bytes, counts.connects)
    assert read.connects == Histogram({4: 3})


def batched_total(first_ms, seed):
    """Return TOTAL of 300 s, ten samples a second, in 20 batches; the first bytes come up to 40 ms after `first_ms`."""
    numbers, scope = random.Random(seed), Scope(window_ms=IntervalMs(1_000_000, 1_300_000), batch_count=20)
    tally = scope.tally()
    for number in range(3000):
        first, at_ms = first_ms + numbers.randrange(40), 1_000_000 + 100 * number
        tally.add(sample("Chat", 2000 + numbers.randrange(40), at_ms - 2040, latency_ms=first, connect_ms=0))
    return LabelResult.of(tally.groups()[0].total)


def test_a_run_whose_first_bytes_come_later_has_regressed_although_it_takes_as_long():
    sides = (("a", 200), ("b", 400), ("c", 200))
    before, after, again = (run_result(name, total=batched_total(ms, seed)) for seed, (name, ms) in enumerate(sides))
    found = compare([before], [after], Thresholds(), scatter=None)
    assert (found.verdict, metric(found.total, AVERAGE).verdict) == ("REGRESSED", "OK")
    assert [metric(found.total, one).verdict for one in FIRST_BYTE if one.threshold] == ["REGRESSED", "REGRESSED"]
    assert metric(found.total, P95).unit == "batches"
    assert metric(compare([before], [again], Thresholds(), scatter=None).total, P95).verdict == "OK"


def test_runs_are_not_compared_by_first_bytes_that_are_the_last_ones():
    assert LabelResult.of(total(streamed(latency_ms=450))).first_byte_percentiles_ms == {}
    assert LabelResult.of(total(streamed())).first_byte_percentiles_ms["95"] == 290


@pytest.mark.parametrize(("latency_ms", "known"), [(101, [101, 101, 349]), (450, [None] * 3)])
def test_a_history_has_the_first_bytes_of_stored_runs(tmp_path, latency_ms, known):
    head = "timeStamp,elapsed,label,responseCode,threadName,success,Latency,Connect,responseMessage\n"
    lines = [f"{1_700_000_000_000 + 500 * n},450,Chat,200,u 1-1,true,{latency_ms},0,OK" for n in range(240)]
    directory = run_folder(tmp_path, "tiny/run-01_1")
    directory.samples.write_text(head + "\n".join(lines))
    write_report(directory)
    for name, value in zip(("first byte p50", "first byte p95", "receiving"), known, strict=True):
        found = history(read_catalogue(tmp_path).entries, "tiny", "Chat", metric_of(name))
        assert [point.value for line in found.lines for point in line.points] == [value]


def test_the_noise_of_the_p95_is_that_of_first_bytes_not_of_the_response_times():
    figures = batched_total(200, 1)
    found = estimate(figures.batches, figures.histogram_of(P95), P95)
    assert 235 <= found.value <= 239
    assert 0 < found.error <= 2
