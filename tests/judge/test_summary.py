import json

import pytest

from harness.base.records import build, to_plain
from harness.jtl.sample import Dropped
from harness.judge.summarise import SummaryOptions, summarise
from harness.judge.summary import RunSummary
from harness.metrics.figures import LOAD, ONCE, SETUP, TEARDOWN, LabelCounts, LabelFigures
from harness.metrics.interval import IntervalMs
from harness.metrics.tally import Scope
from harness.metrics.window import Window
from tests.support.factories import failed, record, sample, tally_of


def summary_of(samples, run=None, dropped=None):
    return summarise(tally_of(samples, run.once_labels if run else (), dropped), "tiny/run-01_1", run)


def test_metrics_of_a_label_are_those_worked_out_by_hand():
    samples = [sample(elapsed_ms=10 * n, start_ms=1000 * n) for n in range(1, 11)]  # 10..100 ms, one a second
    (figures,) = summary_of(samples).group(LOAD).labels
    assert (figures.sample_count, figures.average_ms, figures.median_ms, figures.p90_ms) == (10, 55.0, 50, 90)
    assert (figures.min_ms, figures.max_ms, figures.error_count) == (10, 100, 0)
    # from the first start at 1.0 s to the last end at 10.1 s: 9.1 s
    assert figures.rate_per_s == pytest.approx(10 / 9.1)
    assert figures.received_bytes_per_s == pytest.approx(3000 / 9.1)
    assert figures.sent_bytes_per_s == pytest.approx(1000 / 9.1)


def test_setup_teardown_and_once_per_user_steps_are_not_in_the_loads_total():
    samples = [
        sample("Tenant", 900, thread_name="setUp 1-1"),
        sample("Create", 700),
        sample("Pay", 100),
        sample("Pay", 300),
        sample("Threads", 50, thread_name="tearDown 1-1"),
    ]
    summary = summary_of(samples, record())
    assert {group.name: group.total.sample_count for group in summary.groups} == {
        LOAD: 2,
        ONCE: 1,
        SETUP: 1,
        TEARDOWN: 1,
    }
    assert summary.group(LOAD).total.average_ms == 200.0


def test_setup_is_recognised_in_thread_names_of_remote_generators():
    summary = summary_of([sample("Tenant", thread_name="10.0.0.7:1099-setUp 1-1"), sample("Pay")])
    assert summary.group(SETUP).total.sample_count == 1


def test_a_single_sample_of_0_ms_has_no_rate():
    (figures,) = summary_of([sample(elapsed_ms=0)]).group(LOAD).labels
    assert figures.rate_per_s is None


def test_errors_are_grouped_by_label_code_and_cause_with_first_and_last_time():
    samples = [
        sample(start_ms=1_000_000),
        failed(start_ms=1_002_000),
        failed(start_ms=1_009_500),
        failed(code="503", failure="expected\n 201", start_ms=1_003_000),
    ]
    first, second = summary_of(samples).errors
    assert (first.label, first.code, first.cause, first.count, first.first_s, first.last_s) == (
        "Pay", "402", "expected 201", 2, 2.0, 9.5,
    )  # fmt: skip
    assert (second.code, second.cause, second.count) == ("503", "expected 201", 1)


def test_codes_are_counted_per_label_with_their_errors():
    counts = summary_of([sample(), sample(), failed(), sample("Visit", code="200")]).codes
    assert [(count.label, count.code, count.sample_count, count.error_count) for count in counts] == [
        ("Pay", "201", 2, 0),
        ("Pay", "402", 1, 1),
        ("Visit", "200", 1, 0),
    ]


def test_the_json_of_a_summary_reads_back_equal():
    dropped = Dropped()
    dropped.note(7, "torn record")
    summary = summary_of([sample(), failed(), sample("Create")], record(), dropped)
    assert build(RunSummary, json.loads(json.dumps(to_plain(summary)))) == summary


def test_without_a_sent_bytes_column_the_rate_of_sent_bytes_is_missing_not_zero():
    (figures,) = summary_of([sample(sent_bytes=None), sample(sent_bytes=None, start_ms=1_000_500)]).group(LOAD).labels
    assert (figures.sent_bytes_per_s, figures.received_bytes_per_s is None) == (None, False)


def in_window(samples, from_s, to_s, run_s):
    """The summary of samples that begin at second 1000, the load counted from second `from_s` to `to_s`."""
    counted = Scope(window_ms=IntervalMs(1000 * (1000 + from_s), 1000 * (1000 + to_s))).tally()
    for one in samples:
        counted.add(one)
    window = Window("given", from_s, to_s, to_s - from_s, run_s)
    return summarise(tally_of(samples), "samples.jtl", options=SummaryOptions(window, counted))


def test_rates_in_a_window_use_its_length_however_early_its_samples_began():
    # Four samples of 10 s end at 11, 14, 17 and 22 s; two of them between 12 and 20 s.
    samples = [sample(elapsed_ms=10_000, start_ms=1_000_000 + 1000 * second) for second in (1, 4, 7, 12)]
    summary = in_window([sample(start_ms=1_000_000), *samples], 12, 20, 23)
    total = summary.group(LOAD).total
    assert (total.sample_count, total.rate_per_s, total.received_bytes_per_s) == (2, 0.25, 75.0)
    assert build(RunSummary, json.loads(json.dumps(to_plain(summary)))) == summary


def test_a_window_that_ends_after_the_run_is_no_longer_than_the_run():
    samples = [sample(start_ms=1_000_000, elapsed_ms=500), sample(start_ms=1_000_500, elapsed_ms=1000)]
    assert in_window(samples, 1, 2, 3).group(LOAD).total.rate_per_s == 2.0  # one sample in 1.0 to 1.5 s


def test_a_window_in_which_no_sample_ended_has_no_load_and_the_whole_run_remains():
    samples = [sample(start_ms=1_000_000), sample(start_ms=1_009_000)]
    summary = in_window(samples, 3, 6, 10)
    assert summary.group(LOAD) is None
    assert summary.whole.total.sample_count == 2
    assert summary.verdict.state == "VALID"


def test_labels_of_a_window_keep_the_order_of_the_whole_run():
    samples = [sample("A", start_ms=1_000_000), sample("B", start_ms=1_001_000), sample("B", start_ms=1_005_000)]
    summary = in_window([*samples, sample("A", start_ms=1_006_000)], 4, 8, 9)
    assert [label.label for label in summary.group(LOAD).labels] == ["A", "B"]


def test_seconds_count_from_the_begin_of_the_load_and_setup_errors_are_earlier():
    samples = [
        failed("Tenant", thread_name="setUp 1-1", start_ms=997_500),
        sample(start_ms=1_000_400),
        failed(start_ms=1_002_000),
    ]
    summary = summary_of(samples)
    assert summary.origin_s == 1000
    assert sorted((kind.label, kind.first_s) for kind in summary.errors) == [("Pay", 2.0), ("Tenant", -2.5)]


def test_without_a_load_errors_count_from_the_first_sample():
    summary = summary_of([failed("Tenant", thread_name="setUp 1-1", start_ms=997_500)])
    assert (summary.origin_s, summary.errors[0].first_s) == (None, 0.0)


@pytest.mark.parametrize(
    ("per_second", "run_s", "bucket_s"),
    [
        (10, 100, 1),  # ten samples a point
        (5, 100, 2),
        (4, 100, 4),  # 8 s would be 13 points
        (1, 100, 4),
        (1, 30, 1),
        (1, 400, 16),
    ],
)
def test_points_of_the_timeline_have_ten_samples_if_twenty_points_remain(per_second, run_s, bucket_s):
    samples = [sample(start_ms=1_024_000 + 1000 * second) for second in range(run_s) for _ in range(per_second)]
    timeline = summary_of(samples).timeline
    assert timeline.bucket_s == bucket_s
    assert sum(timeline.sample_count) == len(samples)


def test_the_json_of_two_runs_merges_into_the_metrics_of_both():
    first = [sample(elapsed_ms=10 * n, start_ms=1_000_000 + n) for n in range(1, 40)]
    second = [sample(elapsed_ms=7 * n, start_ms=2_000_000 + n) for n in range(1, 60)] + [failed(start_ms=2_000_100)]
    counts = LabelCounts()
    for samples in (first, second):
        data = json.loads(json.dumps(to_plain(summary_of(samples))))
        counts.merge(build(RunSummary, data).group(LOAD).labels[0].counts)
    (whole,) = summary_of([*first, *second]).group(LOAD).labels
    assert LabelFigures.of("Pay", False, counts) == whole
