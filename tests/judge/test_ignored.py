"""Results that the plan ignores have no row: the account states them, and doubts them if the numbers are flattered."""

from dataclasses import replace

import pytest

from harness.judge.account import Balance
from harness.judge.verdict import DOUBTFUL, VALID
from harness.plan.jmx.steps import PlanStep
from harness.run.group_counts import IgnoredCount
from tests.judge.test_account_lines import LENGTH_S, USERS, a_run, counted, line, users_of


def run_that_ignores(*ignored, elapsed_ms=200, **more):
    agents = counted([USERS] * LENGTH_S, 16_000 - 50)
    return a_run(users_of(elapsed_ms=elapsed_ms), groups=(replace(agents, ignored=ignored),), **more)


@pytest.mark.parametrize(
    ("ignored", "named"),
    [
        # Polls that were not ready, as quick as others; and a helper's own step.
        ((IgnoredCount("Poll", 900, 0, 90_000),), "900 results (Poll)"),
        ((IgnoredCount("Pay", 400, 0, 88_000), IgnoredCount("Own", 1, 0, 900)), "401 results (Pay, Own)"),
        # One slow answer is a chance.
        ((IgnoredCount("Pay", 1, 0, 230),), "1 result (Pay)"),
    ],
)
def test_a_plan_that_ignores_on_purpose_is_stated_and_valid(ignored, named):
    summary = run_that_ignores(*ignored)
    found = line(summary, "offered-read")
    assert found.balance is Balance.BALANCED
    assert found.right.endswith(f"6000 rows read; ignored by the plan: {named}")
    assert summary.verdict.state == VALID


@pytest.mark.parametrize(
    ("ignored", "text"),
    [
        ((IgnoredCount("Pay", 1, 1, 200),), "The plan ignored 1 failure (Pay)"),
        (
            (IgnoredCount("Pay", 50, 40, 9_000), IgnoredCount("Own", 99, 2, 9)),
            "The plan ignored 42 failures (Own, Pay)",
        ),
        # 6,000 of 220 ms and 1,000 of 1,000 ms.
        (
            (IgnoredCount("Pay", 1000, 0, 1_000_000),),
            "The plan ignored slow results (Pay: 331 ms on average with them, not 220 ms)",
        ),
    ],
)
def test_failures_and_slow_results_that_the_plan_hides_are_a_doubt_with_their_step(ignored, text):
    summary = run_that_ignores(*ignored)
    found = line(summary, "offered-read")
    assert (found.balance, found.text) == (Balance.DOUBT, text)
    assert summary.verdict.state == DOUBTFUL
    assert text in summary.verdict.reasons


def test_an_ignored_step_was_sent_and_an_absent_one_was_not():
    steps = (PlanStep("Pay", False), PlanStep("Poll  it", False))
    assert line(run_that_ignores(steps=steps), "asked-offered").text == "Never sent: 1 step of the plan (Poll  it)"
    quiet = run_that_ignores(IgnoredCount("Poll it", 10, 0, 90), steps=steps)
    assert line(quiet, "asked-offered").balance is Balance.BALANCED
