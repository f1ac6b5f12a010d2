import json

import pytest

from harness.figures import LOAD, ONCE, SETUP, TEARDOWN
from harness.jtl import Dropped
from harness.summary import RunSummary, summarise
from harness.tally import tally_of
from tests.factories import failed, record, sample


def summary_of(samples, run=None, dropped=None):
    return summarise(tally_of(samples, run.once_labels if run else ()), dropped or Dropped(), "tiny/run-01_1", run)


def test_figures_of_a_label_are_those_worked_out_by_hand():
    samples = [sample(elapsed_ms=10 * n, start_ms=1000 * n) for n in range(1, 11)]  # 10..100 ms, one a second
    (figures,) = summary_of(samples).group(LOAD).labels
    assert (figures.sample_count, figures.average_ms, figures.median_ms, figures.p90_ms) == (10, 55.0, 50, 90)
    assert (figures.min_ms, figures.max_ms, figures.error_count) == (10, 100, 0)
    # from the first start at 1.0 s to the last end at 10.1 s: 9.1 s
    assert figures.rate_per_s == pytest.approx(10 / 9.1)
    assert figures.received_bytes_per_s == pytest.approx(3000 / 9.1)
    assert figures.sent_bytes_per_s == pytest.approx(1000 / 9.1)


def test_setup_teardown_and_once_per_user_steps_stand_apart_from_the_loads_total():
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


def test_a_distributed_threads_name_still_tells_setup_from_load():
    summary = summary_of([sample("Tenant", thread_name="10.0.0.7:1099-setUp 1-1"), sample("Pay")])
    assert summary.group(SETUP).total.sample_count == 1


def test_one_sample_of_no_length_has_no_rate_rather_than_an_infinite_one():
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
    assert RunSummary.from_json(json.loads(json.dumps(summary.to_json()))) == summary


def test_without_a_sent_bytes_column_the_rate_of_sent_bytes_is_missing_not_zero():
    (figures,) = summary_of([sample(sent_bytes=None), sample(sent_bytes=None, start_ms=1_000_500)]).group(LOAD).labels
    assert (figures.sent_bytes_per_s, figures.received_bytes_per_s is None) == (None, False)
