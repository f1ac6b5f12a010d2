"""Rows that are no requests, or several: of a cache, of steps that send nothing, or sums; stated, or a doubt."""

import pytest

from harness.judge.account import Balance
from harness.judge.summarise import summarise
from harness.metrics.figures import LOAD
from harness.run.group_counts import LabelCount
from tests.judge.test_account_lines import START_S, line, users_of
from tests.judge.test_ignored import run_of
from tests.support.factories import sample, tally_of

SCRIPT = {"sent_bytes": 0, "received_bytes": 0}


def rows(label, times_ms, **changes):
    """Return 1,200 rows of a label, whose times are repeated."""
    changes = {"sent_bytes": 116, **changes}
    return [sample(label, times_ms[at % len(times_ms)], 1000 * START_S + 250 * at, **changes) for at in range(1200)]


def of_file(*labels):
    return line(summarise(tally_of([one for label in labels for one in label]), "a.jtl"), "offered-read")


PAGE = rows("Page", range(38, 46))
# A twelfth of the rows of Img, whose others take 38 to 45 ms.
CACHED_SELDOM = rows("Img", [0, *range(38, 49)])
CACHED = rows("Img", [0, 38, 39, 0, 40, 41, 0, 42])


@pytest.mark.parametrize(
    ("labels", "balance", "text"),
    [
        ([PAGE], Balance.BALANCED, ""),
        ([PAGE, CACHED], Balance.DOUBT, "19 % of the rows are no requests: nothing was sent for them (Img)"),
        ([PAGE, PAGE, PAGE, PAGE, CACHED], Balance.DOUBT,
         "38 % of the rows of Img are no requests: nothing was sent for them (Img)"),
        ([PAGE, rows("Debug", [0], sent_bytes=0)], Balance.DOUBT,
         "50 % of the rows are no requests: nothing was sent for them (Debug)"),
    ],
)  # fmt: skip
def test_of_a_file_rows_of_0_ms_that_no_request_can_be_are_a_doubt_where_a_number_is_off(labels, balance, text):
    found = of_file(*labels)
    assert (found.balance, found.text) == (balance, text)


def test_few_such_rows_are_stated():
    found = of_file(PAGE, CACHED_SELDOM)
    assert (found.balance, found.text) == (Balance.BALANCED, "")
    assert found.right == "2400 rows read; never sent: 100 rows (Img)"


@pytest.mark.parametrize(
    "other",
    [
        # A system that answers within a millisecond: some of its times are 1 ms.
        rows("Fast", [0, 0, 0, 0, 0, 0, 0, 0, 0, 1]),
        # Its cache answers at once, its database in 40 ms.
        rows("Fast", [0, 0, 0, 0, 1, 0, 0, 40, 41, 42]),
        # A clock of 15.6 ms, and one of 10 ms.
        rows("Coarse", [0, 15, 16, 0, 31, 32, 46, 47, 0, 62]),
        rows("Coarse", [0, 10, 20, 0, 30]),
        # Failures at once: a refused connection.
        rows("Down", [0, 0, 38, 39, 40], success=False, error_count=1),
        # Its sampler never says what it sent: a query.
        rows("Query", [0, 0, 38, 39, 40], sent_bytes=0),
        rows("Query", [0, 0, 1], sent_bytes=0),
    ],
)
def test_quick_requests_coarse_clocks_failures_and_other_protocols_are_requests(other):
    assert "never sent" not in of_file(PAGE, other).right


def test_a_file_whose_samplers_never_say_what_they_sent_is_not_judged():
    assert "never sent" not in of_file(rows("Publish", [0], sent_bytes=0)).right


def with_steps(**not_sent):
    """Return the line of a run of 6,000 requests of Pay, and of the rows of other labels (times, count not sent)."""
    noted = tuple(LabelCount(label, count) for label, (_, count) in not_sent.items())
    more = [one for label, (times_ms, _) in not_sent.items() for one in rows(label, times_ms, **SCRIPT)]
    return line(run_of({"not_sent": noted}, samples=[*users_of(sent_bytes=116), *more]), "offered-read")


@pytest.mark.parametrize(
    ("not_sent", "text"),
    [
        # The agent counts what takes 1 ms, too, and a busy machine delays a script.
        ({"Prepare": ([0, 1, 0, 9], 900)}, "17 % of the rows are no requests: nothing was sent for them (Prepare)"),
        ({"Prepare": ([0], 1200), "Debug": ([0], 1200)},
         "29 % of the rows are no requests: nothing was sent for them (Prepare, Debug)"),
    ],
)  # fmt: skip
def test_steps_that_send_nothing_are_a_doubt_where_a_number_is_off(not_sent, text):
    found = with_steps(**not_sent)
    assert (found.balance, found.text) == (Balance.DOUBT, text)


def test_a_script_that_is_seldom_quick_does_something():
    found = with_steps(Call=([0, 200, 210, 190, 205, 195, 200, 210, 190, 205], 120))
    assert (found.balance, found.text) == (Balance.BALANCED, "")
    assert found.right.endswith("7200 rows read; never sent: 120 rows (Call)")


@pytest.mark.parametrize(
    ("count", "error_count", "share", "text"),
    [
        # JMeter sums up to 100 samples; a plan may count a batch of two as two samples.
        (100, 0, 1.0, "Rows are sums of several samples: the percentiles are those of means"),
        (10, 3, 1.0, "Rows are sums of several samples: the percentiles are those of means"),
        (2, 0, 1.0, "Rows are sums of several samples: the percentiles are those of means"),
        (10, 0, 0.1, "Rows are sums of several samples: the percentiles are those of means"),
        (10, 0, 0.002, ""),
        (1, 0, 1.0, None),
    ],
)
def test_rows_that_are_sums_of_samples_have_the_right_counts_and_percentiles_of_means(count, error_count, share, text):
    summed = rows("Sum", [count * 40 + part for part in range(7)], sample_count=count, error_count=error_count)
    kept = round(share * len(summed))
    found = summarise(tally_of([*summed[:kept], *rows("Page", range(38, 46))[kept:]]), "a.jtl")
    total = found.group(LOAD).total
    assert (total.sample_count, total.error_count) == (kept * count + len(summed) - kept, kept * error_count)
    account = line(found, "offered-read")
    assert (account.balance is Balance.DOUBT, account.text) == (bool(text), text or "")
    assert account.right.endswith("in sums of several samples") is (text is not None)
