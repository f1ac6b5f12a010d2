"""Lines of the account: what was asked, offered, read and counted must be equal, whatever the shape of the gap is."""

import re
from functools import cache

import pytest

from harness.jtl.inputs import resolve
from harness.judge.account import LINES, Balance
from harness.judge.summarise import SummaryOptions, summarise, window_of, window_span_ms
from harness.judge.verdict import DOUBTFUL, INVALID, VALID
from harness.metrics.tally import Scope
from harness.metrics.window import describe, parse_window
from harness.plan.load import OPEN
from harness.plan.load.model import LoadRecord
from harness.report.account_table import account_line, account_table, accounts_line, accounts_table
from harness.report.jtls import Counting, summary_of_jtls
from harness.run.group_counts import FAILED, NO_DATA, EarlyEnd, GroupCounts
from harness.run.record import RowsRecord
from tests.support.factories import closed_load, failed, record, sample, tally_of

START_S, USERS, LENGTH_S = 1_700_000_000, 20, 300
STEADY = parse_window("steady")
MORE_ROWS = {0: "", 1: "1 more row is in the JTL than JMeter wrote"}
SOCKET_CLOSED = "Non HTTP response message: Socket closed"


def users_of(length_s=LENGTH_S, users=USERS, left=lambda _user, _at_s: False, elapsed_ms=200, **changes):
    """Return the samples of users who each send one request a second, until `left` is true of them."""
    samples = []
    for at_s in range(length_s):
        there = [user for user in range(users) if not left(user, at_s)]
        for user in there:
            time_ms = elapsed_ms + 37 * (user * 7 + at_s * 13) % 41
            start_ms = START_S * 1000 + 1000 * at_s + 1000 * user // users
            more = {"thread_name": f"Users 1-{user + 1}", "all_threads": len(there), **changes}
            samples.append(sample("Pay", time_ms, start_ms, **more))
    return sorted(samples, key=lambda one: one.end_ms)


@cache  # much of the time of a test is that of its 6,000 samples
def good_tally():
    return tally_of(users_of())


def a_run(samples=None, load=None, **changes):
    """Return the summary of a run that asked for 20 users for 300 s, each with a pause of 0.8 s; None: good ones."""
    load = load or closed_load(users=USERS, ramp_s=0.0, duration_s=float(LENGTH_S), loops=None, think_time_s=0.78)
    run = record(load=load, once_labels=(), took_s=LENGTH_S + 3.0, **changes)
    tally = good_tally() if samples is None else tally_of(samples)
    return summarise(tally, "tiny/run-01_1", run, options=SummaryOptions(window=window_of(tally, STEADY, run)))


def line(summary, code):
    (found,) = (one for one in summary.account if one.code == code)
    return found


def test_each_summary_has_each_line_and_a_good_run_balances():
    summary = a_run()
    assert [one.code for one in summary.account] == [kind.code for kind in LINES]
    assert {one.balance for one in summary.account} == {Balance.BALANCED}, account_table(summary.account)
    assert summary.verdict.state == VALID


# asked = offered


@pytest.mark.parametrize(
    ("share", "at_share"), [(1.0, 0.5), (1.0, 0.9), (0.1, 0.25), (0.1, 0.45), (0.5, 0.5), (0.25, 0.8)]
)
def test_users_that_leave_early_are_missing_when_and_however_many(share, at_share):
    gone, at_s = round(share * USERS), round(at_share * LENGTH_S)
    summary = a_run(users_of(left=lambda user, second: user < gone and second >= at_s))
    missing = gone / USERS * (1 - at_share)
    found = line(summary, "asked-offered")
    assert found.balance is (Balance.INVALID if missing > 0.11 else Balance.DOUBT)
    assert found.difference_ratio == pytest.approx(missing, abs=0.02)
    who = "All" if gone == USERS else f"{gone} of"
    assert found.text in {f"{who} 20 users ended at {second} s of the requested 5 min" for second in (at_s, at_s + 1)}
    assert summary.verdict.state == (INVALID if found.balance is Balance.INVALID else DOUBTFUL)
    assert found.text in summary.verdict.reasons


def test_users_that_leave_one_by_one_are_missing_from_when_to_when_and_the_failures_are_named():
    samples = users_of(left=lambda user, second: second >= 60 + 6 * user)
    bad = [failed("Pay", start_ms=one.start_ms) for one in samples[-USERS:]]
    summary = a_run([*samples[:-USERS], *bad])
    assert line(summary, "asked-offered").text == "All 20 users ended from 61 s to 175 s of the requested 5 min"
    (advice,) = (one.advice for one in summary.warnings if one.code == "asked-offered")
    assert advice.startswith("20 requests failed: the thread group may stop a user on an error.")


@pytest.mark.parametrize("pause_s", [0, 2, 10])
def test_users_who_would_pause_beyond_the_end_are_not_missing(pause_s):
    rounds = [one for at_s in range(0, LENGTH_S - pause_s, pause_s + 1) for one in users_at(at_s)]
    load = closed_load(users=USERS, ramp_s=0.0, duration_s=float(LENGTH_S), loops=None, think_time_s=pause_s + 0.8)
    assert line(a_run(rounds, load), "asked-offered").balance is Balance.BALANCED


def users_at(at_s):
    for user in range(USERS):
        start_ms = START_S * 1000 + 1000 * at_s + 1000 * user // USERS
        yield sample("Pay", 200, start_ms, thread_name=f"Users 1-{user + 1}", all_threads=USERS)


def counted(alive, pauses_ms=0, ended=(), arrivals=None, name="Users"):
    """Return what the agent counted: the users of each second."""
    alive_ms = tuple(1000 * users for users in alive)
    return GroupCounts(name, START_S, 1, tuple(pauses_ms for _ in alive), 0, alive_ms, arrivals, ended_early=ended)


@pytest.mark.parametrize(
    ("end", "text"),
    [
        (EarlyEnd(NO_DATA, "users.csv", 2, 0), "2 users had no more rows of a data file (users.csv). "),
        (EarlyEnd(FAILED, "Pay", 2, 0), "2 users were stopped on a failed sample (Pay). "),
    ],
)
def test_the_agent_says_why_users_ended(end, text):
    alive = [20] * 150 + [18] * 150
    samples = users_of(left=lambda user, second: user < 2 and second >= 150)
    summary = a_run(samples, groups=(counted(alive, 16_000, (end,)),))
    (warning,) = (one for one in summary.warnings if one.code == "asked-offered")
    assert warning.brief == "2 of 20 users ended at 150 s of the requested 5 min"
    assert warning.advice.startswith(text)


def test_a_load_that_something_ended_on_purpose_is_not_missing_its_rest():
    half = users_of(length_s=150)
    assert line(a_run(half, stopped_early="errors above 50 %"), "asked-offered").balance is Balance.BALANCED
    requests = closed_load(users=USERS, ramp_s=0.0, duration_s=300.0, loops=None, requests=3000)
    assert line(a_run(half, requests), "asked-offered").balance is Balance.BALANCED
    assert line(a_run(half), "asked-offered").balance is Balance.INVALID


def arrivals(per_s, length_s=LENGTH_S, elapsed_ms=100):
    return [
        sample(
            "Pay", elapsed_ms, START_S * 1000 + 1000 * number // per_s, thread_name=f"Users 1-{number}", all_threads=3
        )
        for number in range(per_s * length_s)
    ]


def open_run(samples, rate_per_s=30.0, **changes):
    return a_run(samples, LoadRecord(OPEN, None, rate_per_s, 0.0, float(LENGTH_S), None, 0.0), **changes)


@pytest.mark.real
@pytest.mark.parametrize(
    ("samples", "balance", "text"),
    [
        (arrivals(30), Balance.BALANCED, ""),
        (arrivals(60), Balance.BALANCED, ""),  # two requests per arrival
        (arrivals(15), Balance.INVALID, "15 requests per s, not the requested 30"),
        (arrivals(28), Balance.DOUBT, "28 requests per s, not the requested 30"),
        (arrivals(60, 150), Balance.INVALID, "The load ended at 151 s of the requested 5 min"),
        (arrivals(30, 150), Balance.INVALID, "15 requests per s, not the requested 30"),
    ],
)
def test_arrivals_that_were_not_made_are_missing(samples, balance, text):
    summary = open_run(samples)
    found = line(summary, "asked-offered")
    assert (found.balance, found.text) == (balance, text)
    assert (summary.verdict.state != VALID) is (balance is not Balance.BALANCED)


@pytest.mark.real
def test_more_arrivals_than_asked_are_another_load():
    twice = open_run(arrivals(60), groups=(counted([6] * LENGTH_S, arrivals=(60,) * LENGTH_S),))
    assert line(twice, "asked-offered").text == "60 arrivals per s, not the requested 30"
    assert twice.verdict.state == INVALID


@pytest.mark.real
def test_arrivals_are_those_that_the_agent_counted():
    made = counted([3] * LENGTH_S, arrivals=(15,) * LENGTH_S)
    found = line(open_run(arrivals(30), groups=(made,)), "asked-offered")
    assert (found.balance, found.text) == (Balance.INVALID, "15 arrivals per s, not the requested 30")


# offered = read

HEAD = "timeStamp,elapsed,label,responseCode,responseMessage,threadName,success,bytes,allThreads"


def jtl(path, bad=(), torn="", message="no, sorry, wait"):
    """Write 1,000 rows; the bad ones have a message with delimiters that nobody quoted."""
    rows = [
        f"{START_S * 1000 + 50 * number},100,Pay,500,{message},Users 1-1,false,300,1"
        if number in bad
        else f"{START_S * 1000 + 50 * number},100,Pay,200,OK,Users 1-1,true,300,1"
        for number in range(1000)
    ]
    path.write_text("\n".join([HEAD, *rows, torn]))
    return summary_of_jtls(resolve([str(path)]), Counting())


@pytest.mark.parametrize(
    ("count", "state"), [(1, DOUBTFUL), (10, DOUBTFUL), (29, DOUBTFUL), (31, INVALID), (900, INVALID)]
)
def test_rows_that_cannot_be_read_weaken_the_verdict_and_an_unquoted_delimiter_is_named(tmp_path, count, state):
    summary = jtl(tmp_path / "a.jtl", bad=range(0, 1000, 1000 // count) if count < 500 else range(count))
    found = line(summary, "offered-read")
    unread = 1000 - summary.groups[0].total.sample_count
    assert found.text == f"{unread:,} of 1000 rows of the JTL could not be read"
    assert summary.verdict.state == state
    (advice,) = (one.advice for one in summary.warnings if one.code == "offered-read")
    why = "Each has 2 fields too many: a text of theirs has the delimiter, and the writer does not quote it."
    assert (why in advice) is (count > 1)


def test_one_row_that_cannot_be_read_proves_no_delimiter_and_the_hole_around_it_is_named(tmp_path):
    path = tmp_path / "a.jtl"
    jtl(path, bad=(500,))
    rows = path.read_text().replace(",300,1\n", ",300,9\n").splitlines(keepends=True)
    path.write_text("".join([*rows[:502], *rows[720:]]))
    (advice,) = (one.advice for one in summary_of_jtls(resolve([str(path)])).warnings if one.code == "offered-read")
    assert "delimiter" not in advice
    assert re.search(r"\(line 502: .* torn ones\. More rows may be missing: no sample ended from 26 s to 36 s", advice)


def test_a_torn_last_row_is_no_loss_and_the_table_names_it(tmp_path):
    summary = jtl(tmp_path / "a.jtl", torn="1700000050000,10")
    assert summary.verdict.state == VALID
    assert line(summary, "offered-read").right == "1000 rows read, 1 torn at the end"
    both = jtl(tmp_path / "b.jtl", bad=(7,), torn="1700000050000,10")
    assert (both.verdict.state, both.dropped_count) == (DOUBTFUL, 2)


@pytest.mark.parametrize(("missing", "state"), [(0, VALID), (1, DOUBTFUL), (100, DOUBTFUL), (400, INVALID)])
def test_rows_that_jmeter_wrote_and_the_file_lacks_are_missing(missing, state):
    samples = users_of()
    summary = a_run(samples, rows=RowsRecord(len(samples) + missing, False, 0))
    assert summary.verdict.state == state
    assert line(summary, "offered-read").left == f"{len(samples) + missing} rows written"


@pytest.mark.real
@pytest.mark.parametrize(("more", "state"), [(0, VALID), (1, DOUBTFUL), (100, DOUBTFUL), (6000, INVALID)])
def test_rows_that_the_file_has_and_jmeter_did_not_write_are_another_runs(more, state):
    """A file that was put together from two, or with rows twice, has more than one run wrote."""
    samples = users_of()
    twice = sorted([*samples, *samples[:more]], key=lambda one: one.end_ms)
    summary = a_run(twice, rows=RowsRecord(len(samples), False, 0))
    found = line(summary, "offered-read")
    assert summary.verdict.state == state
    assert found.text == MORE_ROWS.get(more, f"{more} more rows are in the JTL than JMeter wrote")
    assert line(a_run(twice, rows=RowsRecord(len(samples), True, 0)), "offered-read").balance is Balance.BALANCED


# read = counted


@pytest.mark.real
def test_a_tail_that_is_slower_than_the_window_is_a_doubt():
    samples, begin_ms = users_of(), (START_S + 270) * 1000
    before, after = ([one for one in samples if (one.start_ms >= begin_ms) is late] for late in (False, True))
    tally = tally_of([*before, *(one._replace(elapsed_ms=5 * one.elapsed_ms, all_threads=10) for one in after)])
    summary = summarise(tally, "x", None, options=SummaryOptions(window=window_of(tally, STEADY, None)))
    found = line(summary, "read-counted")
    assert found.balance is Balance.DOUBT, account_table(summary.account)
    assert "s are left out as tail: " in found.text and found.text.endswith("ms in the window")
    tally = tally_of([*before, *(one._replace(all_threads=10) for one in after)])
    fair_summary = summarise(tally, "x", None, options=SummaryOptions(window=window_of(tally, STEADY, None)))
    assert line(fair_summary, "read-counted").balance is Balance.BALANCED


# users' time = waiting + pausing


@pytest.mark.parametrize(
    ("pause_ms", "balance"), [(15_600, Balance.BALANCED), (8_000, Balance.DOUBT), (0, Balance.DOUBT)]
)
def test_pauses_are_those_of_all_timers_that_the_agent_counted_not_those_of_the_plan(pause_ms, balance):
    load = closed_load(users=USERS, ramp_s=0.0, duration_s=float(LENGTH_S), loops=None)  # the plan says nothing
    summary = a_run(load=load, groups=(counted([20] * LENGTH_S, pause_ms),))
    assert line(summary, "users-time").balance is balance, account_table(summary.account)


@pytest.mark.real
@pytest.mark.parametrize("parts", [0, 2])
def test_the_parts_of_a_redirect_are_not_time_of_their_own(parts):
    samples = users_of(elapsed_ms=400)
    rows = [
        *samples,
        *(
            one._replace(label=f"Pay-{part}", elapsed_ms=one.elapsed_ms // 2)
            for one in samples
            for part in range(parts)
        ),
    ]
    load = closed_load(users=USERS, ramp_s=0.0, duration_s=float(LENGTH_S), loops=None, think_time_s=0.58)
    found = line(a_run(sorted(rows, key=lambda one: one.end_ms), load), "users-time")
    assert found.balance is Balance.BALANCED
    assert found.difference_ratio < 0.02


def test_users_that_hang_beyond_the_window_wait_in_it():
    fair = users_of(left=lambda user, second: user < 5 and second > 100)
    fair = [one._replace(all_threads=USERS) for one in fair]
    hung = [
        sample(
            "Pay", (LENGTH_S + 5 - 101) * 1000, (START_S + 101) * 1000, thread_name=f"Users 1-{user}", all_threads=20
        )
        for user in range(5)
    ]
    found = line(a_run(sorted([*fair, *hung], key=lambda one: one.end_ms)), "users-time")
    assert found.balance is Balance.BALANCED, found
    assert found.difference_ratio < 0.05


def test_of_a_bare_jtl_the_pauses_and_what_was_asked_are_not_known(tmp_path):
    summary = jtl(tmp_path / "a.jtl")
    unknown = {one.code for one in summary.account if one.balance is Balance.NOT_KNOWN}
    assert {"asked-offered", "users-time"} <= unknown
    assert summary.littles_law is None
    assert "| users' time = waiting + pausing | not known | not known |  | not known |" in account_table(
        summary.account
    )


# How it is printed


def test_a_cause_is_named_beside_the_line_that_it_explains_and_is_no_second_reason():
    back = users_of()
    back = [*back[:3000], *(one._replace(start_ms=one.start_ms - 5000) for one in back[3000:])]
    summary = a_run(back)
    off = [one for one in summary.account if one.causes]
    assert all(one.balance is not Balance.BALANCED for one in off)
    assert not {one.code for one in off} & {warning.code for warning in summary.warnings}


def test_a_table_and_a_line_say_what_does_not_balance():
    good, bad = a_run().account, a_run(users_of(length_s=150)).account
    assert "| asked = offered | 20 users for 5 min | " in account_table(bad)
    assert account_line(bad).startswith("The account. Balanced: ") and " Invalid: asked = offered." in account_line(bad)
    assert accounts_line({"A": good, "B": bad}) == "The account. asked = offered: invalid of B."
    assert accounts_line({"A": good}) == "The account. All that is known balances."
    assert accounts_line({"A": ()}) == "" == accounts_table({"A": ()}, "run")
    assert accounts_table({"A": good, "B": bad}, "run").count("| balanced ") > 4


@pytest.mark.parametrize(
    ("duration_s", "requests", "said"), [(600.0, 400, "--requests=1000"), (20.0, 1_000_000, "--duration=60s")]
)
def test_a_run_by_requests_is_told_how_many_to_send_unless_its_duration_ended_it(duration_s, requests, said):
    load = closed_load(users=USERS, ramp_s=0.0, duration_s=duration_s, loops=None, requests=requests, think_time_s=0.78)
    (text,) = (one.text for one in a_run(users_of(length_s=20), load).warnings if one.code == "too-short")
    assert text == f"Too short to judge: 19 s measured, 50 s needed. Run again with {said}."
    assert "depends on when" not in text


def test_a_run_that_is_only_too_short_is_not_called_unsteady():
    load = closed_load(users=USERS, ramp_s=0.0, duration_s=20.0, loops=None, think_time_s=0.78)
    summary = a_run(users_of(length_s=20), load)
    assert describe(summary.window).endswith("(too short to tell); excluded: first second, last second.")
    assert line(summary, "one-state").balance is Balance.NOT_KNOWN


def test_rates_before_and_after_the_window_are_over_the_time_of_the_load_alone():
    once_s = {user: 20 + 5 * user for user in range(USERS)}
    samples = [one for user in range(USERS) for one in of_user(user, once_s[user])]
    tally = Scope(("Log in",)).tally()
    samples.sort(key=lambda one: one.end_ms)
    for one in samples:
        tally.add(one)
    run = record(load=closed_load(users=USERS, duration_s=300.0, think_time_s=0.78), once_labels=("Log in",))
    window = window_of(tally, parse_window("5s..295s"), run)
    window_tally = Scope(("Log in",), window_ms=window_span_ms(tally, window)).tally()
    for one in samples:
        window_tally.add(one)
    summary = summarise(tally, "x", run, options=SummaryOptions(window=window, counted=window_tally))
    load, whole = summary.groups[0].total, summary.whole.total
    assert load.rate_per_s == pytest.approx(whole.rate_per_s, rel=0.02)
    # The first user was done with logging in after 20 s.
    assert load.rate_per_s == pytest.approx(load.sample_count / 275, rel=0.01)


def of_user(user, once_s):
    for at_s in range(LENGTH_S):
        start_ms = START_S * 1000 + 1000 * at_s + 50 * user
        label = "Log in" if at_s < once_s else "Pay"
        yield sample(label, 200, start_ms, thread_name=f"Users 1-{user}", all_threads=USERS)


@pytest.mark.real
def test_thirds_are_not_those_of_other_requests_than_the_table():
    once = [one._replace(label="Log in") for one in users_of(users=2)]
    tally = Scope(("Log in",)).tally()
    for one in sorted([*users_of(), *once], key=lambda one: one.end_ms):
        tally.add(one)
    assert summarise(tally, "x", None).thirds is None
    assert summarise(tally_of(users_of()), "x", None).thirds is not None
