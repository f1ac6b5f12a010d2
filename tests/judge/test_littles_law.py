"""Little's law: users, responses and pauses must fit together, and a warning names what they lack."""

import pytest

from harness.judge.account import Balance
from harness.judge.summarise import summarise
from harness.judge.verdict import DOUBTFUL
from harness.judge.warning_kind import Severity
from harness.metrics.interval import IntervalMs
from harness.metrics.littles_law import littles_law
from harness.metrics.tally import Scope
from harness.metrics.window import Window
from harness.plan.jmx.steps import PlanStep
from harness.run.group_counts import GroupCounts, LabelCount
from tests.support.factories import closed_load, record, sample, tally_of, two_users
from tests.support.summaries import summary_of, warnings_of

WHOLE = "Number of samples in transaction : 1, number of failing samples : 0"


def test_busy_users_satisfy_littles_law():
    summary = summary_of(two_users(), record())
    assert summary.littles_law.ratio == pytest.approx(1.0, abs=0.03)
    assert "users-time" not in {warning.code for warning in summary.warnings}


def test_a_starved_generator_breaks_littles_law_and_the_report_names_the_remedy():
    # The samples last 10 ms of every second: where were the two users for the rest?
    samples = [sample(elapsed_ms=10, start_ms=1_000_000 + 1000 * number, all_threads=2) for number in range(50)]
    text = warnings_of(samples, record())["users-time"]
    assert text.startswith("The load generator may be the bottleneck: 2.0 users active, 0.0 busy. ")
    # 50 samples of two users in 49.01 s: each came round every 2 · 49.01 / 50 s.
    assert "Users ÷ throughput is 1960 ms, mean response and think time 10 ms" in text
    assert "Look at the generator's CPU" in text


@pytest.mark.parametrize(
    ("locked_ms", "brief"),
    [
        ((), "The load generator may be the bottleneck"),
        ((LabelCount("Login", 20_000),), "The load generator may be the bottleneck"),
        ((LabelCount("Login", 5_000), LabelCount("Pay", 60_000)), "Users waited for each other"),
    ],
)
def test_users_who_wait_at_a_critical_section_are_not_the_generators(locked_ms, brief):
    samples = [sample(elapsed_ms=10, start_ms=1_000_000 + 1000 * number, all_threads=2) for number in range(50)]
    counts = GroupCounts("Users", 1000, 1, (0,) * 50, 0, (2000,) * 50, None, locked_ms=locked_ms)
    text = warnings_of(samples, record(groups=(counts,)))["users-time"]
    assert text.startswith(f"{brief}: 2.0 users active, 0.0 busy. ")
    assert ("Pay, Login: this Critical Section" in text) is (brief == "Users waited for each other")


@pytest.mark.parametrize(("together_ms", "is_off"), [(0, True), (49_000, False)])
def test_users_whose_samples_are_sent_at_the_same_time_wait_for_the_slowest(together_ms, is_off):
    # Each user sends two requests of a second at the same time, every second.
    starts_ms = [1_000_000 + 1000 * (number // 4) for number in range(200)]
    samples = [sample(elapsed_ms=1000, start_ms=start_ms, all_threads=2) for start_ms in starts_ms]
    together = (LabelCount("Page", together_ms * 2),) if together_ms else ()
    counts = GroupCounts("Users", 1000, 1, (0,) * 51, 0, (2000,) * 51, None, together_ms=together)
    run = record(groups=(counts,))
    assert ("users-time" in warnings_of(samples, run)) is is_off


def test_samples_that_say_more_time_than_they_took_are_not_the_generators():
    # Each user's sampler says 2 s of every second.
    samples = [sample("Own", 2000, 1_000_000 + 1000 * (at // 2), all_threads=2) for at in range(100)]
    beyond = {"beyond_ms": (LabelCount("Own", 100_000),), "locked_ms": (LabelCount("Login", 9),)}
    counts = GroupCounts("Users", 1000, 1, (0,) * 51, 0, (2000,) * 51, None, **beyond)
    text = warnings_of(samples, record(groups=(counts,)))["users-time"]
    assert text.startswith("Samples say that they took longer than they did: 2.0 users active, 3.9 busy. Own: this sam")
    overlap = GroupCounts("Users", 1000, 1, (0,) * 51, 0, (2000,) * 51, None, locked_ms=beyond["locked_ms"])
    assert warnings_of(samples, record(groups=(overlap,)))["users-time"].startswith("The load generator may be")


def test_users_who_wait_for_messages_are_told_by_their_steps():
    samples = [sample("Read", 1000, 1_000_000 + 1000 * at, all_threads=1) for at in range(50)]
    counts = GroupCounts("Users", 1000, 1, (), 0, (1000,) * 51, None, awaited_ms=(LabelCount("Read", 50_000),))
    (line,) = (one for one in summary_of(samples, record(groups=(counts,))).account if one.code == "users-time")
    assert (line.balance, line.right) == (Balance.BALANCED, "1.0 waiting + 0.0 pausing; for messages: Read")


@pytest.mark.parametrize(("outside_ms", "more"), [(40_000, "; in samplers beside their samples: Own"), (500, "")])
def test_what_a_sampler_does_beside_its_samples_is_pausing_that_is_told(outside_ms, more):
    samples = [sample("Own", 200, 1_000_000 + 1000 * at, all_threads=1) for at in range(50)]
    outside = (LabelCount("Own", outside_ms),)
    counts = GroupCounts("Users", 1000, 1, (800,) * 50, 50, (1000,) * 50, None, outside_ms=outside)
    (line,) = (one for one in summary_of(samples, record(groups=(counts,))).account if one.code == "users-time")
    assert (line.balance, line.right) == (Balance.BALANCED, f"0.2 waiting + 0.8 pausing{more}")


@pytest.mark.parametrize(("awaited_ms", "is_stall"), [(0, True), (100_000, True), (200_000, False)])
def test_users_who_wait_for_messages_are_no_stall_of_the_system(awaited_ms, is_stall):
    # Ten users ask every second, and wait for a message for 20 s once.
    asks = [sample("Ask", 10, 1_000_000 + 1000 * at, all_threads=10) for at in range(100) for _ in range(10)]
    asks = [one for one in asks if not 50 <= one.start_ms / 1000 - 1000 < 70]
    reads = [sample("Read", 20_000, 1_050_000, all_threads=10) for _ in range(10)]
    awaited = (LabelCount("Read", awaited_ms),) if awaited_ms else ()
    counts = GroupCounts("Users", 1000, 1, (), 0, (10_000,) * 100, None, awaited_ms=awaited)
    assert ("stall" in warnings_of([*asks, *reads], record(groups=(counts,)))) is is_stall


def test_samples_that_never_ended_are_not_the_generators_time_nor_steps_that_were_not_sent():
    samples = [sample(elapsed_ms=10, start_ms=1_000_000 + 1000 * number, all_threads=2) for number in range(50)]
    counts = GroupCounts("Users", 1000, 1, (0,) * 50, 0, (2000,) * 50, None)
    hung = {"groups": (counts,), "steps": (PlanStep("Hang", True),), "stop_reasons": ("still waiting in Hang",)}
    lines = {line.code: line for line in summary_of(samples, record(**hung)).account}
    assert lines["users-time"].balance is Balance.NOT_KNOWN
    assert lines["users-time"].right == "0.0 waiting + 0.0 pausing; samples that did not end: not known"
    assert "never sent" not in lines["asked-offered"].right


def test_users_in_scripts_that_compute_are_not_the_generators():
    samples = [sample(elapsed_ms=10, start_ms=1_000_000 + 1000 * number, all_threads=2) for number in range(50)]
    counts = GroupCounts("Users", 1000, 1, (0,) * 50, 0, (2000,) * 50, None, scripts_ms=(LabelCount("Sign", 60_000),))
    text = warnings_of(samples, record(groups=(counts,)))["users-time"]
    assert text.startswith("Users were in scripts of the plan: 2.0 users active, 0.0 busy. Sign: this script computes")


@pytest.mark.parametrize(
    ("late_ms", "pause_ms", "is_off"), [(0, 1900, True), (45_000, 1900, False), (45_000, 100, True)]
)
def test_what_a_plan_does_after_an_answer_is_no_waiting_although_the_sample_has_its_time(late_ms, pause_ms, is_off):
    # Each of two users waits for 50 ms, and a script sleeps for 900 ms, which a sub-result moves into the sample.
    samples = [sample(elapsed_ms=950, start_ms=1_000_000 + 1000 * (at // 2), all_threads=2) for at in range(100)]
    late = (LabelCount("Buy", late_ms * 2),) if late_ms else ()
    counts = GroupCounts("Users", 1000, 1, (pause_ms,) * 50, 100, (2000,) * 50, None, late_ms=late)
    assert ("users-time" in warnings_of(samples, record(groups=(counts,)))) is is_off


@pytest.mark.parametrize(
    ("each_ms", "late_ms", "brief"),
    [
        (85, 32, "The times of Buy go on after the answer: 32 of 85 ms on average"),
        (3, 1, "The times of Buy go on after the answer: 1.00 of 3.00 ms on average"),
        (85, 7, ""),
        (1, 0.09, ""),
        (85, 0, ""),
    ],
)
def test_times_that_go_on_after_the_answer_are_a_doubt_if_an_average_is_off(each_ms, late_ms, brief):
    samples = [sample("Buy", each_ms, 1_000_000 + 100 * at, all_threads=1) for at in range(1000)]
    samples += [sample("Pay", 50, 1_000_050 + 100 * at, all_threads=1) for at in range(1000)]
    late = (LabelCount("Buy", round(1000 * late_ms)), LabelCount("Gone", 9000)) if late_ms else ()
    run = record(groups=(GroupCounts("Users", 1000, 1, (), 0, (1000,) * 100, None, late_ms=late),))
    (line,) = (one for one in summary_of(samples, run).account if one.code == "read-counted")
    assert (line.balance, line.text) == (Balance.DOUBT if brief else Balance.BALANCED, brief)
    assert ("after the answer: Buy" in line.right) is bool(brief)


def test_answers_in_less_than_a_millisecond_break_littles_law_too():
    samples = [sample(elapsed_ms=0, start_ms=1_000_000 + 1000 * number, all_threads=2) for number in range(50)]
    text = warnings_of(samples, record())["users-time"]
    assert "Users ÷ throughput is 1960 ms, mean response and think time 0.00 ms" in text


@pytest.mark.parametrize(
    ("step", "more"),
    [
        (PlanStep("Order", False, includes_pauses=True), ", which the times of Order include"),
        (PlanStep("Order", False), ""),
        (PlanStep("Other", False, includes_pauses=True), ""),
    ],
)
def test_transactions_that_include_pauses_are_named_beside_them(step, more):
    samples = [
        one
        for at_s in range(50)
        for one in (
            sample(elapsed_ms=100, start_ms=1_000_000 + 1000 * at_s, all_threads=1),
            sample("Order", elapsed_ms=1000, start_ms=1_000_000 + 1000 * at_s, message=WHOLE),
        )
    ]
    load = closed_load(users=1, think_time_s=0.9)
    (line,) = (one for one in summary_of(samples, record(load=load, steps=(step,))).account if one.code == "users-time")
    assert (line.balance, line.right) == (Balance.BALANCED, f"0.1 waiting + 0.9 pausing{more}")


def test_a_think_time_in_the_plan_does_not_break_littles_law():
    samples = [sample(elapsed_ms=100, start_ms=1_000_000 + 1000 * number, all_threads=1) for number in range(50)]
    thinking = closed_load(users=1, think_time_s=0.9)
    assert "users-time" not in warnings_of(samples, record(load=thinking))
    assert "users-time" in warnings_of(samples, record(load=closed_load(users=1)))


def test_a_saturated_generator_is_doubtful_in_a_short_window_too():
    # 2,000 users in 5 s, of whom 26.5 wait for an answer at any time: 1,350 answers of 100 ms in 5.096 s.
    samples = [
        sample(elapsed_ms=100, start_ms=1_000_000 + number * 5000 // 1350, all_threads=2000) for number in range(1350)
    ]
    summary = summary_of(samples, record(load=closed_load(users=2000)))
    text = next(warning.text for warning in summary.warnings if warning.code == "users-time")
    assert "2000.0 users active, 26.5 busy" in text
    assert summary.verdict.state == DOUBTFUL
    assert any("2000.0 users active" in reason for reason in summary.verdict.reasons)


def test_below_ten_seconds_littles_law_warns_only_when_it_is_off_by_half():
    # Two users of whom 1.6 are busy over 5 s; and 0.01.
    fair = [sample(elapsed_ms=800, start_ms=1_000_000 + 500 * number, all_threads=2) for number in range(10)]
    assert "users-time" not in warnings_of(fair, record())
    starved = [one._replace(elapsed_ms=5) for one in fair]
    assert "users-time" in warnings_of(starved, record())


def test_seconds_without_an_answer_keep_the_last_known_number_of_users():
    tally = tally_of(
        [sample(start_ms=0, elapsed_ms=500, all_threads=4), sample(start_ms=500, elapsed_ms=9400, all_threads=4)]
    )
    law = littles_law(tally.second_series.by_second(0, 9), span_ms=9900, waited_ms=9900)
    assert (law.active_users, law.peak_users, law.busy_users) == (4.0, 4, 1.0)


def test_users_that_were_all_active_outside_of_the_window_are_enough():
    # Five users in the first second alone, two in those that are counted.
    samples = [sample(elapsed_ms=500, start_ms=1_000_000, all_threads=5), *two_users()]
    counted = Scope(window_ms=IntervalMs(1_010_000, 1_040_000)).tally()
    for one in samples:
        counted.add(one)
    window = Window("given", 10, 40, 30, 51)
    summary = summary_of(samples, record(load=closed_load(users=5)), window=window, counted=counted)
    assert summary.littles_law.peak_users == 2
    assert summary.verdict.state != "INVALID"


@pytest.mark.parametrize(("elapsed_ms", "is_off"), [(100, True), (2000, False)])
def test_samples_in_flight_at_the_ends_of_a_window_do_not_break_littles_law(elapsed_ms, is_off):
    # Two users over 20 s, one of them busy for 14.8 s or so: 87 % are accounted for. Slow answers may be in flight at
    # both ends (10 % + 2 s / 20 s are allowed), fast ones are not.
    first = [
        sample(elapsed_ms=elapsed_ms, start_ms=1_000_000 + at, all_threads=2) for at in range(0, 20_000, elapsed_ms)
    ]
    second = [sample(elapsed_ms=elapsed_ms * 74 // 100, start_ms=one.start_ms, all_threads=2) for one in first]
    samples = sorted([*first, *second], key=lambda one: one.end_ms)
    summary = summary_of(samples, record())
    assert summary.littles_law.ratio == pytest.approx(0.87, abs=0.005)
    assert ("users-time" in {warning.code for warning in summary.warnings}) is is_off


@pytest.mark.parametrize(("unit", "at_once", "is_off"), [(1000, 1, True), (1, 1, False), (1, 20, False)])
def test_a_file_whose_users_wait_many_times_as_long_as_they_were_there_has_another_unit(unit, at_once, is_off):
    """Two users for a minute: a request of 90 ms in each 100 ms, or several at once."""
    starts_ms = [1_700_000_000_000 + 100 * (at // at_once) for at in range(600 * at_once) for _ in range(2)]
    rows = [sample("Pay", 90 * unit, start_ms, all_threads=2) for start_ms in starts_ms]
    (found,) = (one for one in summarise(tally_of(rows), "a.jtl").account if one.code == "users-time")
    assert (found.balance is Balance.DOUBT) is is_off
    assert ("requests were in flight on average, of at most 2 users" in found.text) is is_off


def test_times_in_another_unit_are_no_missing_rows_and_no_stall():
    rows = [
        sample("Pay", 30_000 if at < 500 else 130_000, 1_700_000_000_000 + 250 * at, all_threads=5)
        for at in range(1000)
    ]
    summary = summarise(tally_of(rows), "a.jtl")
    assert summary.gaps
    assert [one.code for one in summary.warnings if one.severity is Severity.DOUBTFUL] == ["users-time"]
