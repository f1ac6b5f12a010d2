"""What no row of the window is of is compared with what is counted: answers that never came, steps before it."""

import re
from dataclasses import replace

import pytest

from harness.judge.account import Balance
from harness.judge.summarise import SummaryOptions, summarise, window_of, window_span_ms
from harness.judge.verdict import VALID
from harness.judge.warnings import without_numbers
from harness.metrics.tally import Scope
from harness.plan.load import OPEN
from harness.plan.load.model import LoadRecord
from harness.run.counted import closes_ms
from harness.run.group_counts import LabelCount
from tests.judge.test_account_lines import (
    LENGTH_S,
    SOCKET_CLOSED,
    START_S,
    STEADY,
    USERS,
    arrivals,
    counted,
    line,
    users_of,
)
from tests.support.factories import closed_load, failed, record, sample, tally_of


@pytest.mark.parametrize(
    ("label", "thread", "failed_count", "text"),
    [
        ("Log in", "Users 1-{}", 2, ""),
        ("Log in", "Users 1-{}", 10, "10 of 20 samples of Log in failed, and the window has none of them"),
        ("Once", "Users 1-{}", 20, "20 of 20 samples of Once failed, and the window has none of them"),
        ("Seed", "setUp Thread Group 1-{}", 10, ""),  # a part may be meant to fail: what is to be deleted is not there
        ("Seed", "setUp Thread Group 1-{}", 11, "11 of 20 samples of setUp failed: what it prepares may be missing"),
    ],
)
def test_a_step_before_the_window_that_fails_is_a_doubt(label, thread, failed_count, text):
    begin_ms = START_S * 1000 - 30_000 * ("setUp" in thread)
    first = [
        (failed if user < failed_count else sample)(
            label, start_ms=begin_ms + 20 * user, thread_name=thread.format(user + 1), all_threads=USERS
        )
        for user in range(USERS)
    ]
    load = closed_load(users=USERS, ramp_s=0.0, duration_s=float(LENGTH_S), loops=None, think_time_s=0.78)
    run = record(load=load, once_labels=("Once",), took_s=LENGTH_S + 3.0 + START_S - begin_ms / 1000)
    samples = sorted([*first, *users_of()], key=lambda one: one.end_ms)
    tally, counted_tally = Scope(("Once",)).tally(), None
    for one in samples:
        tally.add(one)
    window = window_of(tally, STEADY, run)
    counted_tally = Scope(("Once",), window_ms=window_span_ms(tally, window)).tally()
    for one in samples:
        counted_tally.add(one)
    summary = summarise(tally, "x", run, options=SummaryOptions(window=window, counted=counted_tally))
    found = line(summary, "read-counted")
    assert (found.balance, found.text) == (Balance.DOUBT if text else Balance.BALANCED, text)
    assert (summary.verdict.state != VALID) is bool(text)


@pytest.mark.real
@pytest.mark.parametrize(
    ("share", "balance"), [(0.0, Balance.BALANCED), (0.02, Balance.DOUBT), (0.1, Balance.DOUBT), (0.5, Balance.DOUBT)]
)
def test_requests_that_never_had_an_answer_are_slower_than_what_is_counted(share, balance):
    """The last requests of each load wait when it ends; others hung since long, and are in no table."""
    every = round(1 / share) if share else 10**6
    end_ms = (START_S + LENGTH_S) * 1000
    samples, closed = [], []
    for number, one in enumerate(arrivals(30)):
        if number % every == every - 1 or end_ms - one.start_ms < 150:
            socket = {"code": "Non HTTP response code: java.net.SocketException", "failure": "", "all_threads": 300}
            wait_ms = end_ms - one.start_ms + 100
            closed.append(failed("Pay", elapsed_ms=wait_ms, start_ms=one.start_ms, message=SOCKET_CLOSED, **socket))
        else:
            samples.append(one)
    groups = (replace(counted([3] * LENGTH_S, arrivals=(30,) * LENGTH_S), closed=(LabelCount("Pay", len(closed)),)),)
    run = record(load=LoadRecord(OPEN, None, 30.0, 0.0, float(LENGTH_S), None, 0.0), once_labels=(), groups=groups)
    tally = Scope(closes_ms=closes_ms(run)).tally()
    for one in sorted([*samples, *closed], key=lambda one: one.end_ms):
        tally.add(one)
    found = line(summarise(tally, "x", run), "read-counted")
    assert found.balance is balance
    if share:
        hung = int(found.text.split()[0])
        assert hung == pytest.approx(9000 * share, abs=5)
        assert found.text.endswith(" of 9000 requests were never answered, though all others were long before")


@pytest.mark.parametrize("at_s", [5, 75, 240])
@pytest.mark.parametrize("hanging", [0, 2, 10])
def test_users_who_wait_in_vain_are_missing_from_what_is_counted_whenever_they_began(hanging, at_s):
    samples = users_of(left=lambda user, second: user < hanging and second >= at_s)
    waits_ms = 1000 * (LENGTH_S - at_s) + 300
    begin_ms = 1000 * (START_S + at_s)
    hung = [sample("Pay", waits_ms, begin_ms, thread_name=f"Users 1-{user + 1}") for user in range(hanging)]
    samples = [one._replace(all_threads=USERS) for one in sorted([*samples, *hung], key=lambda one: one.end_ms)]
    tally, counted_tally = tally_of(samples), None
    load = closed_load(users=USERS, ramp_s=0.0, duration_s=float(LENGTH_S), loops=None, think_time_s=0.78)
    run = record(load=load, once_labels=(), took_s=LENGTH_S + 3.0)
    window = window_of(tally, STEADY, run)
    counted_tally = Scope(window_ms=window_span_ms(tally, window)).tally()
    for one in samples:
        counted_tally.add(one)
    summary = summarise(tally, "x", run, options=SummaryOptions(window=window, counted=counted_tally))
    found = line(summary, "read-counted")
    assert found.balance is (Balance.DOUBT if hanging else Balance.BALANCED)
    if hanging:
        users, rest = found.text.split(maxsplit=1)
        share = min(1, (window.to_s - at_s) / window.length_s)
        assert float(users) == pytest.approx(hanging * share, rel=0.03)
        assert rest == "of 20 users waited for answers that are in no number"
        assert [one for one in summary.verdict.reasons if "depends on when" in one] == []


@pytest.mark.real
def test_what_jmeter_closed_at_the_end_of_an_open_load_is_no_failure_of_the_system():
    samples = arrivals(30)
    end_ms = (START_S + LENGTH_S) * 1000
    socket = {"code": "Non HTTP response code: java.net.SocketException", "failure": "", "all_threads": 300}
    closed = [
        failed("Pay", elapsed_ms=9000 + n, start_ms=end_ms - 9000, message=SOCKET_CLOSED, **socket) for n in range(300)
    ]
    own = [failed("Pay", start_ms=START_S * 1000 + 100 * n, **socket) for n in range(30)]
    groups = (replace(counted([3] * LENGTH_S, arrivals=(30,) * LENGTH_S), closed=(LabelCount("Pay", 300),)),)
    run = record(load=LoadRecord(OPEN, None, 30.0, 0.0, float(LENGTH_S), None, 0.0), once_labels=(), groups=groups)
    tally = Scope(closes_ms=closes_ms(run)).tally()
    for one in sorted([*samples, *closed, *own], key=lambda one: one.end_ms):
        tally.add(one)
    summary = summarise(tally, "x", run)
    assert summary.groups[0].total.error_count == 30
    assert tally.row_count == len(samples) + 330
    assert line(summary, "offered-read").right.endswith(", 300 requests closed by the end of the load left out (Pay)")
    assert closes_ms(replace(run, groups=())) is None


def _until(seconds):
    """Return when a user is not there: before the first number of its pair, and from the second one on."""
    return lambda user, at_s: not seconds(user)[0] <= at_s < seconds(user)[1]


@pytest.mark.parametrize(
    ("there", "text", "seconds"),
    [
        (lambda _: (0, 120), "", 0),
        (lambda user: (1.2 * user, 108 + 1.2 * user), "", 0),  # a tenth of the time each
        (lambda user: (4 * user, 120), "", 0),  # a ramp-up of a third
        (lambda user: (0 if user < 9 else 15, 120), "", 0),
        (lambda user: (0 if user else 40, 120), "The first # of # s are in no number: there were fewer users", 41),
        (lambda user: (0 if user < 5 else 60, 120), "The first # of # s are in no number: there were fewer users", 61),
        (lambda user: (0, 60 if user < 5 else 120), "The last # of # s are in no number: there were fewer users", 61),
        (lambda user: (0, 60 if user < 1 else 120), "The last # of # s are in no number: there were fewer users", 61),
        (lambda user: (0, 95 if user < 9 else 120), "The last # of # s are in no number: there were fewer users", 26),
        (lambda user: (0, 60 + 6 * user), "The last # of # s are in no number: there were fewer users", 55),
        (lambda user: (9.6 * user, 120), "All users were there for # of # s: most samples are in no number", 32),
        (lambda user: (3 * user, 48 + 3 * user), "", 0),  # the file itself is too short
    ],
)
def test_what_is_left_out_of_a_file_is_a_ramp_and_no_other_load(there, text, seconds):
    # The first answer comes in the second second: before it, the number of users is not known.
    tally = tally_of(users_of(120, 10, left=_until(there), elapsed_ms=1000))
    summary = summarise(tally, "x", options=SummaryOptions(window=window_of(tally, STEADY, None)))
    found = line(summary, "read-counted")
    assert (found.balance, without_numbers(found.text)) == (Balance.DOUBT if text else Balance.BALANCED, text)
    if text:
        assert int(re.findall(r"\d+", found.text)[0]) == pytest.approx(seconds, abs=2)
        assert summary.verdict.reasons == (found.text,)
