"""Stalls of a system, in which users wait, are told from gaps of the rows, and corrected. Each true rate is known."""

import gzip
import json
from itertools import accumulate, pairwise

import pytest

from harness.base.records import build, to_plain
from harness.jtl.inputs import resolve
from harness.judge.summarise import SummaryOptions, gaps_of, summarise, window_of
from harness.judge.summary import Observed, RunSummary
from harness.metrics.coordinated_omission import corrected_times
from harness.metrics.files import read_tally
from harness.metrics.gaps import Gap
from harness.metrics.histogram import Histogram
from harness.metrics.tally import Scope
from harness.metrics.tally_file import from_bytes, to_bytes
from harness.plan.load import OPEN
from harness.run.telemetry.table import ProcessStop
from tests.metrics.test_time_checks import START_MS, STEADY, a_run, codes, shifted, summary_of
from tests.support.factories import sample, tally_of

# Stalls


def stalled(stall_s=5, length_s=30, users=10, elapsed_ms=10):
    """Return a run of 10 users at 10 ms whose system answers nothing from second 15 on."""
    before = [
        sample(elapsed_ms=elapsed_ms, start_ms=START_MS + number * elapsed_ms, all_threads=users)
        for number in range(15_000 // elapsed_ms)
        for _ in range(users)
    ]
    delayed = [sample(elapsed_ms=1000 * stall_s, start_ms=START_MS + 15_000, all_threads=users) for _ in range(users)]
    rest_s = length_s - 15 - stall_s
    return [*before, *delayed, *shifted(before[: rest_s * 1000 // elapsed_ms * users], (15 + stall_s) * 1000)]


@pytest.mark.real
def test_a_closed_run_that_stalls_is_doubtful_and_has_corrected_figures():
    summary = summary_of(stalled(), a_run(33.0))
    assert summary.verdict.state == "DOUBTFUL"
    assert "The system stalled: no sample ended for 5 s while 10 users were active" in summary.verdict.reasons
    (gap,) = summary.gaps
    assert (gap.is_waited, gap.user_count) == (True, 10)
    assert gap.length_s == pytest.approx(5, abs=0.1)
    total = summary.group("load").total
    assert total.p90_ms == 10
    assert summary.corrected.expected_interval_ms == 10.0
    assert 1900 <= summary.corrected.percentiles_ms["90"] <= 2100
    assert "users-time" not in codes(summary)


@pytest.mark.real
@pytest.mark.parametrize("process", ["jmeter", "generator 127.0.0.1:1099", "web"])
def test_a_load_generator_that_was_stopped_is_no_stall_of_the_system(process):
    tally, run = tally_of(stalled()), a_run(33.0)
    options = SummaryOptions(window=window_of(tally, STEADY, run))
    observed = Observed(stops=(ProcessStop(process, 15.0, 20.0),))
    summary = summarise(tally, "tiny/run-01_1", run, observed, options)
    texts = {warning.code: warning.text for warning in summary.warnings}
    assert summary.verdict.state == "DOUBTFUL"
    if process == "web":  # a process of the system
        assert "generator-stopped" not in texts
        assert "stall" in texts
        return
    assert texts["generator-stopped"].startswith("The load generator was stopped for 5 s (15 s to 20 s). ")
    assert f"stopped {process}: it sent nothing" in texts["generator-stopped"]
    assert "stall" not in texts
    assert (summary.gaps, summary.corrected) == ((), None)


@pytest.mark.real
def test_a_stop_that_explains_a_part_of_a_stall_does_not_hide_it():
    tally, run = tally_of(stalled()), a_run(33.0)
    options = SummaryOptions(window=window_of(tally, STEADY, run))
    observed = Observed(stops=(ProcessStop("jmeter", 15.0, 16.0),))
    summary = summarise(tally, "tiny/run-01_1", run, observed, options)
    assert {"generator-stopped", "stall"} <= codes(summary)


def test_the_correction_by_hand():
    # 25,000 samples of 10 ms, and 10 of 5,000 ms. Each of the 10 gets 4,990, 4,980, …, 10: 499. So 30,000 samples, of
    # which 25,010 take 10 ms, and 10 each of 20, 30, …, 5,000 ms. Rank 27,000 is the 199th of these values.
    times = Histogram({10: 25_000, 5000: 10})
    corrected = corrected_times(times, [Gap(15, 20, 5.0, True, 10)], 0.0, ("50", "90", "95", "99"))
    assert corrected.added_count == 4990
    assert corrected.percentiles_ms == {"50": 10, "90": 2000, "95": 3500, "99": 4700}
    assert corrected.max_ms == 5000
    # 25,010 x 10 + 10 x (20 + 30 + … + 5,000), the last of which is measured
    assert corrected.average_ms == pytest.approx((250_100 + 10 * (10 * 500 * 501 / 2 - 10)) / 30_000)


def test_think_time_is_part_of_the_expected_interval():
    # 10 ms + 990 ms: a request of 5 s keeps its user from four others, of 4, 3, 2 and 1 s.
    times = Histogram({10: 100, 5000: 1})
    corrected = corrected_times(times, [Gap(15, 20, 5.0, True, 10)], 0.99, ("50", "90"))
    assert (corrected.expected_interval_ms, corrected.added_count) == (1000.0, 4)


def test_a_long_stall_of_fast_requests_is_corrected_in_steps():
    # 600 s at 1 ms: 600,000 requests a user were not sent.
    corrected = corrected_times(Histogram({1: 1000, 600_000: 1}), [Gap(1, 601, 600.0, True, 1)], 0.0, ("50",))
    assert corrected.added_count == pytest.approx(599_999, rel=0.002)
    assert corrected.percentiles_ms["50"] == pytest.approx(299_500, rel=0.005)


@pytest.mark.real
def test_an_open_load_that_stalls_is_measured_correctly_and_only_warned_about():
    run = a_run(33.0, users=None, load={"model": OPEN, "rate_per_s": 1000.0})
    summary = summary_of(stalled(), run)
    assert summary.corrected is None
    assert "stall" not in codes(summary)
    # How many requests waited is not known from the row before the stall.
    (text,) = [warning.text for warning in summary.warnings if warning.code == "pause"]
    assert text.startswith("The system stalled: no sample ended for 5 s (")


def test_a_stall_at_the_end_is_neither_trimmed_nor_blamed_on_the_generator():
    # The system stops 12 s after the start of a run of 15 s for 20 s; then all samples end.
    before = [one for one in stalled() if one.end_ms <= START_MS + 12_000]
    hung = [sample(elapsed_ms=20_000, start_ms=START_MS + 12_000, all_threads=10 - user) for user in range(10)]
    summary = summary_of(before + hung, a_run(36.0))
    assert summary.window.tail_cut_s == 0
    assert summary.group("load").total.max_ms == 20_000
    assert summary.verdict.state == "DOUBTFUL"
    assert "stall" in codes(summary)
    assert "users-time" not in codes(summary)
    assert summary.corrected.percentiles_ms["90"] > 10_000


def test_missing_rows_before_the_end_are_no_stall_although_the_last_answers_are_slow():
    # Ten users, each with a request of 10 ms per second. Rows of 5 s are missing. Then users leave, with slow answers.
    before = [
        sample(elapsed_ms=10, start_ms=START_MS + 1000 * second + 100 * user, all_threads=10)
        for second in range(60)
        for user in range(10)
    ]
    after = [
        sample(elapsed_ms=900, start_ms=START_MS + 1000 * second + 10 * user, all_threads=users)
        for second, users in ((65, 10), (66, 10), (67, 4), (68, 2))
        for user in range(users)
    ]
    window = window_of(tally_of(before + after), STEADY, a_run(71.0))
    assert window.tail_cut_s == 3


@pytest.mark.real
def test_the_summary_comes_back_from_its_json_with_gaps_thirds_and_correction_and_without_them():
    summary = summary_of(stalled(), a_run(33.0))
    data = json.loads(json.dumps(to_plain(summary)))
    assert build(RunSummary, data) == summary
    for key in ("gaps", "thirds", "corrected"):
        del data[key]
    old = build(RunSummary, data)
    assert (old.gaps, old.thirds, old.corrected) == ((), None, None)


def lasting(*times_ms, users):
    """Return samples of these starts and ends, ms after the start of the run, in the order of their ends."""
    ordered = sorted(times_ms, key=lambda times: times[1])
    return [
        sample(start_ms=START_MS + start_ms, elapsed_ms=end_ms - start_ms, all_threads=users)
        for start_ms, end_ms in ordered
    ]


def chained(begin_ms, *durations_ms):
    """Return start and end of a user's requests, one after the other without a pause."""
    ends_ms = list(accumulate(durations_ms, initial=begin_ms))
    return list(pairwise(ends_ms))


# 120 users without pauses, two answers per second. From 5:00 to 5:20 there are none, and then one per second, in the
# order of the requests: the times of the answers alone do not show that all users waited.
SLOWER = [times for user in range(120) for times in chained(500 * user, 60_000, 60_000, 60_000, 60_000)]
SLOWER += [
    times for user in range(120) for times in chained(240_000 + 500 * user, 80_000 + 500 * user, 120_000, 120_000)
]
# Fifty users without pauses, 10 req/s.
BUSY = [times for user in range(50) for times in chained(100 * user, *[5000] * 20)]
# Two users, each of whom pauses for 900 ms after a request of 100 ms.
PAUSING = [
    times
    for user in range(2)
    for second in range(100)
    for times in [(1000 * second + 500 * user, 1000 * second + 500 * user + 100)]
]


def without(times_ms, from_ms, to_ms):
    """Return the samples without those that end from `from_ms` to before `to_ms`."""
    return [times for times in times_ms if not from_ms <= times[1] < to_ms]


def as_jtl(path, samples):
    rows = "".join(
        f"{one.start_ms},{one.elapsed_ms},Pay,Users 1-{number},true,{one.all_threads}\n"
        for number, one in enumerate(samples)
    )
    path.write_text(f"timeStamp,elapsed,label,threadName,success,allThreads\n{rows}")
    return resolve([str(path)])


def test_a_gap_in_which_every_user_waits_is_a_stall_whatever_the_answers_after_it_take():
    summary = summary_of(lasting(*SLOWER, users=120))
    assert [(gap.from_s, gap.to_s, gap.is_waited) for gap in summary.gaps] == [(300, 320, True)]
    assert "offered-read" not in codes(summary)


def test_stalls_as_long_as_the_others_of_their_run_are_stalls():
    # Ten users whose requests take 100 ms; every ten seconds one takes 4 s.
    stalling = [times for _user in range(10) for times in chained(0, *[*[100] * 60, 4000] * 10)]
    summary = summary_of(lasting(*stalling, users=10))
    assert [(gap.from_s, gap.to_s, gap.is_waited) for gap in summary.gaps][:2] == [(7, 10, True), (17, 20, True)]
    assert len(summary.gaps) == 10
    assert "stall" in codes(summary)


def test_users_in_step_whose_requests_all_take_seconds_are_no_stall():
    in_step = [times for _user in range(10) for times in chained(0, *[4000] * 50)]
    assert summary_of(lasting(*in_step, users=10)).gaps == ()


@pytest.mark.parametrize("last_users", [1, 3])
def test_the_last_answers_of_a_load_that_ended_are_no_gap(last_users):
    rows = lasting(*[times for _user in range(10) for times in chained(0, *[100] * 600)], users=10)
    slow = [
        sample(start_ms=START_MS + 59_900, elapsed_ms=20_000, all_threads=last_users) for _user in range(last_users)
    ]
    summary = summary_of([*rows, *slow])
    assert summary.gaps == ()
    assert not {"offered-read", "stall"} & codes(summary)
    # Rows are missing where nobody waits.
    late = [sample(start_ms=START_MS + 79_800, elapsed_ms=100, all_threads=last_users)]
    assert "offered-read" in codes(summary_of([*rows, *late]))


@pytest.mark.parametrize(
    ("kept", "users"),
    [
        (without(BUSY, 30_000, 40_000), 50),
        # One request of one user spans the removed rows of all.
        ([*without(BUSY, 30_000, 40_000), (29_500, 41_000)], 50),
        ([*without(PAUSING, 40_000, 60_000), (39_900, 60_200)], 2),
    ],
)
def test_removed_rows_are_missing_also_when_a_slow_request_spans_the_gap(kept, users):
    summary = summary_of(lasting(*kept, users=users))
    assert [gap.is_waited for gap in summary.gaps][:1] == [False]
    assert "offered-read" in codes(summary)


@pytest.mark.real
def test_a_stall_is_one_in_all_readers_and_in_tallies(tmp_path, monkeypatch):
    inputs = as_jtl(tmp_path / "a.jtl", lasting(*SLOWER, users=120))
    plain = read_tally(inputs, Scope(with_timeline=False))
    monkeypatch.setattr("harness.metrics.files.LARGE_BYTES", 1)
    counted = read_tally(inputs, Scope(with_timeline=False))
    stored = from_bytes(gzip.decompress(to_bytes(plain, None)), "a.tally", 0)
    origin_s = START_MS // 1000
    waiting = [one.waiting_count for one in plain.requests.by_second(origin_s + 298, origin_s + 321)]
    assert waiting == [119, 119, *[120] * 22]
    assert plain.requests.waits == counted.requests.waits == stored.requests.waits
    assert gaps_of(plain) == gaps_of(counted) == gaps_of(stored)
