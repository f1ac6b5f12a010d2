"""Users of a load that loops, requests or precision end are missing when they leave before."""

from dataclasses import replace

import pytest

from harness.judge.account import Balance
from harness.judge.loads import LoadTally
from harness.judge.summarise import SummaryOptions, summarise
from harness.metrics.tally import Scope
from harness.plan.load.groups import GroupLoad, SeveralLoads, Stage
from harness.plan.load.model import PlanLoad, load_record
from harness.run.group_counts import DONE, FAILED, NO_DATA, STOP_TEST, EarlyEnd
from harness.run.record import AutoEndRecord
from tests.judge.test_account_lines import (
    LENGTH_S,
    START_S,
    USERS,
    a_run,
    counted,
    line,
    users_of,
)
from tests.support.factories import closed_load, failed, record, sample

LOOPS = closed_load(users=USERS, ramp_s=0.0, duration_s=None, loops=300, think_time_s=0.78)


REQUESTS = closed_load(users=USERS, ramp_s=0.0, duration_s=600.0, loops=None, requests=6000, think_time_s=0.78)


ENOUGH_REQUESTS = replace(REQUESTS, requests=5235)


AUTO = closed_load(users=USERS, ramp_s=0.0, duration_s=600.0, loops=None, is_auto=True, think_time_s=0.78)


ENOUGH = AutoEndRecord(True, LENGTH_S, 10, 200.0, 3.0)


NO_ROWS = EarlyEnd(NO_DATA, "users.csv", 5, 0)


@pytest.mark.parametrize(
    ("load", "gone", "at_s", "balance", "text"),
    [
        (LOOPS, 0, 300, Balance.BALANCED, ""),
        (LOOPS, 1, 150, Balance.DOUBT, "1 of 20 users ended before their 300 loops"),
        (LOOPS, 5, 150, Balance.INVALID, "5 of 20 users ended before their 300 loops"),
        (LOOPS, 20, 60, Balance.INVALID, "All 20 users ended before their 300 loops"),
        (REQUESTS, 0, 300, Balance.BALANCED, ""),
        (ENOUGH_REQUESTS, 5, 150, Balance.INVALID, "5 of 20 users ended at 150 s of the load's 5 min"),
        (REQUESTS, 20, 60, Balance.INVALID, "All 20 users ended at 60 s of the requested 10 min"),
        (AUTO, 0, 300, Balance.BALANCED, ""),
        (AUTO, 5, 150, Balance.INVALID, "5 of 20 users ended at 150 s of the load's 5 min"),
        (AUTO, 20, 60, Balance.INVALID, "All 20 users ended at 60 s of the requested 10 min"),
    ],
)
def test_users_who_leave_a_load_that_loops_requests_or_precision_end_are_missing(load, gone, at_s, balance, text):
    alive = [20] * at_s + [20 - gone] * (LENGTH_S - at_s) * (gone < USERS)
    early = (replace(NO_ROWS, count=gone),) if gone else ()
    ended = (*early, EarlyEnd(DONE, "", 20 - gone, 0)) if load is LOOPS else early
    is_met = load is AUTO and gone < USERS
    samples = users_of(left=lambda user, second: user < gone and second >= at_s)
    groups = (counted(alive, 16_000, ended),)
    found = line(a_run(samples, load, groups=groups, auto_end=ENOUGH if is_met else None), "asked-offered")
    assert (found.balance, found.text) == (balance, text)


@pytest.mark.parametrize(
    ("came", "balance", "text"),
    [(20, Balance.BALANCED, ""), (15, Balance.INVALID, "10 users at the peak, not the requested 20")],
)
def test_users_who_had_done_their_loops_before_others_began_are_not_missing(came, balance, text):
    alive = [10] * LENGTH_S
    samples = users_of(left=lambda user, second: (user < 10) == (second >= 150))
    groups = (counted(alive, 16_000, (EarlyEnd(DONE, "", came, 0),)),)
    found = line(a_run(samples, LOOPS, groups=groups), "asked-offered")
    assert (found.balance, found.text) == (balance, text)


@pytest.mark.parametrize(
    ("ended", "advice"),
    [
        ((EarlyEnd(FAILED, "Pay", 1, 0),), "1 user was stopped on a failed sample (Pay). "),
        ((), "Run longer than the ramp-up, "),
    ],
)
def test_users_who_ended_before_all_were_there_have_their_cause(ended, advice):
    samples = users_of(length_s=60, left=lambda user, _second: user < 5)
    groups = (counted([15] * 60, 16_000, ended),)
    (warning,) = (one for one in a_run(samples, groups=groups).warnings if one.code == "asked-offered")
    assert warning.brief == "15 users at the peak, not the requested 20"
    assert warning.advice.startswith(advice)


@pytest.mark.parametrize(
    ("cause", "text"),
    [
        (STOP_TEST, "The plan stopped the test in setUp (POST /login)"),
        (FAILED, ""),
    ],
)
def test_a_test_that_setup_stopped_has_no_user(cause, text):
    groups = (counted([1], ended=(EarlyEnd(cause, "POST /login", 1, 0),), name="setUp"),)
    login = failed("POST /login", start_ms=START_S * 1000, thread_name="setUp 1-1")
    found = line(a_run([login], groups=groups), "asked-offered")
    assert found.text == text
    assert (found.balance is Balance.INVALID) is bool(text)


def test_nobody_knows_who_left_a_load_with_loops_that_the_agent_did_not_count():
    assert line(a_run(load=LOOPS), "asked-offered").balance is Balance.NOT_KNOWN


def test_users_who_wait_for_a_last_answer_after_enough_requests_are_not_missing():
    last = sample("Pay", 30_000, START_S * 1000 + 298_000, thread_name="Users 1-1", all_threads=1)
    load = replace(REQUESTS, requests=5900)
    assert line(a_run([*users_of(), last], load), "asked-offered").balance is Balance.BALANCED


@pytest.mark.real
@pytest.mark.parametrize(("left", "balance"), [(0, Balance.BALANCED), (1, Balance.DOUBT), (4, Balance.INVALID)])
def test_users_of_one_of_several_loads_that_leave_are_missing_from_it(left, balance):
    names = ("Browse", "Buy")
    loads = tuple(GroupLoad(name, (Stage(10, None, 0.0, float(LENGTH_S)),), think_time_s=0.78) for name in names)
    load = SeveralLoads(loads)
    samples = [
        one._replace(thread_name=one.thread_name.replace("Users", names[number % 2]), group_threads=10)
        for number, one in enumerate(users_of())
    ]
    alive = [[10] * LENGTH_S, [10] * 150 + [10 - left] * (LENGTH_S - 150)]
    groups = tuple(counted(users, 7800, name=name) for users, name in zip(alive, names, strict=True))
    run = record(load=load_record(load, PlanLoad(20, 0.0, 300.0, 0.78)), once_labels=(), took_s=303.0, groups=groups)
    tally = Scope(thread_groups=names).tally()
    for one in samples:
        tally.add(one)
    options = SummaryOptions(loads=[LoadTally.of(one, tally, None) for one in loads])
    found = line(summarise(tally, "x", run, options=options), "asked-offered")
    assert found.balance is balance
    assert found.text == (f"Buy: {left} of 10 users ended at 150 s of the requested 5 min" if left else "")


def test_users_who_pause_at_the_end_were_there_until_then():
    samples = users_of(left=lambda _user, second: second >= LENGTH_S - 3)
    found = line(a_run(samples, groups=(counted([20] * LENGTH_S, 16_000),)), "asked-offered")
    assert (found.left, found.right) == ("20 users for 5 min", "20 users for 5 min")
    found = line(a_run(samples, groups=(counted([20] * (LENGTH_S - 3), 16_000),)), "asked-offered")
    assert found.right == "20 users for 4 min 58 s"
