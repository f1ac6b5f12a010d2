"""What the agent counts of results that a plan hides, and of users without data or work: stated, or a doubt."""

from dataclasses import replace

import pytest

from harness.judge.account import Balance
from harness.judge.verdict import DOUBTFUL, VALID
from harness.plan.jmx.steps import PlanStep
from harness.run.group_counts import IgnoredCount, LabelCount
from tests.judge.test_account_lines import LENGTH_S, USERS, a_run, counted, line, users_of
from tests.support.summaries import summary_of


def run_of(noted, samples=None, **more):
    agents = replace(counted([USERS] * LENGTH_S, 16_000 - 50), **noted)
    return a_run(samples, groups=(agents,), **more)


def run_that_ignores(*ignored, **more):
    return run_of({"ignored": ignored}, **more)


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


@pytest.mark.parametrize(
    ("field", "brief", "stated"),
    [
        ("unanswered", "400 requests without an answer counted as success (Pay)", "without an answer: "),
        (
            "exited",
            "400 programs with an error as exit code counted as success (Pay)",
            "with an error as exit code: ",
        ),
    ],
)
def test_successes_that_are_none_are_a_doubt_if_they_are_many_of_a_step(field, brief, stated):
    for count, text in ((400, brief), (100, ""), (0, "")):
        found = line(run_of({field: (LabelCount("Pay", count),) if count else ()}), "offered-read")
        assert (found.balance, found.text) == (Balance.DOUBT if text else Balance.BALANCED, text)
        assert (f"; {stated}{count} (Pay)" in found.right) is bool(count)


def test_an_ignored_step_was_sent_and_an_absent_one_was_not():
    steps = (PlanStep("Pay", False), PlanStep("Poll  it", False))
    assert line(run_that_ignores(steps=steps), "asked-offered").text == "Never sent: 1 step of the plan (Poll  it)"
    quiet = run_that_ignores(IgnoredCount("Poll it", 10, 0, 90), steps=steps)
    assert line(quiet, "asked-offered").balance is Balance.BALANCED


@pytest.mark.parametrize(
    ("noted", "code", "text"),
    [
        ({"made_good": (LabelCount("Pay", 1),)}, "offered-read",
         "The plan made 1 failure a success (Pay)"),
        ({"without_data": (LabelCount("Pay", 1), LabelCount("Ship", 4))}, "asked-offered",
         "A data file ended: 5 samples had <EOF> in place of data (Ship, Pay)"),
        ({"script_failed": (LabelCount("Pay", 301),)}, "asked-offered",
         "Scripts of the plan failed 301 times (Pay)"),
        # Of a step that each user sends once, and of one without rows.
        ({"script_failed": (LabelCount("Pay", 9), LabelCount("Log in", 20))}, "asked-offered",
         "Scripts of the plan failed 20 times (Log in)"),
        # Of a condition that fails seldom, and of one that always does.
        ({"conditions": (LabelCount("If paid", 200), LabelCount("Until done", 7)),
          "bad_conditions": (LabelCount("If paid", 10), LabelCount("Until done", 7))}, "asked-offered",
         "Conditions failed, or were neither true nor false, 7 times (Until done)"),
        ({"idle": (LabelCount("Rest", 2),)}, "asked-offered",
         "2 of 20 users only paused for most of the load (Rest)"),
        ({"idle": (LabelCount("Rest", 9), LabelCount("Pay", 11))}, "asked-offered",
         "All 20 users only paused for most of the load (Pay, Rest)"),
    ],
)  # fmt: skip
def test_failures_made_successes_samples_without_data_and_idle_users_are_doubts(noted, code, text):
    summary = run_of(noted)
    assert (line(summary, code).balance, line(summary, code).text) == (Balance.DOUBT, text)
    assert text in summary.verdict.reasons
    assert [one.code for one in summary.account if one.balance is not Balance.BALANCED] == [code]


@pytest.mark.parametrize(
    ("noted", "stated"),
    [
        ({"script_failed": (LabelCount("Pay", 300),)}, "; scripts failed: Pay"),
        ({"conditions": (LabelCount("If paid", 200),), "bad_conditions": (LabelCount("If paid", 10),)},
         "; conditions failed: If paid"),
        ({"conditions": (LabelCount("If paid", 200),)}, "20 users for 5 min"),
    ],
)  # fmt: skip
def test_scripts_and_conditions_that_fail_seldom_are_stated_only(noted, stated):
    summary = run_of(noted)
    found = line(summary, "asked-offered")
    assert found.balance is Balance.BALANCED
    assert found.right.endswith(stated)
    assert summary.verdict.state == VALID


def test_one_idle_user_of_20_is_a_chance_and_a_load_that_was_stopped_has_none():
    assert run_of({"idle": (LabelCount("Rest", 1),)}).verdict.state == VALID
    stopped = run_of({"idle": (LabelCount("Rest", 20),)}, stopped_early="errors above 50 %")
    assert line(stopped, "asked-offered").balance is Balance.BALANCED


def with_codes(bad_code, bad_count, steps=(), **changes):
    """Return the summary of a run of 6,000 samples, of which so many have a code of their own."""
    samples = users_of()
    samples[:bad_count] = [one._replace(code=bad_code, **changes) for one in samples[:bad_count]]
    return run_of({}, samples=samples, steps=steps)


def of_codes(bad_code, bad_count, steps=(), **changes):
    return line(with_codes(bad_code, bad_count, steps, **changes), "offered-read")


def odd_codes(summary):
    return [one.subject for one in summary.warnings if one.code == "unexpected-success-code"]


NO_ANSWER = "Non HTTP response code: java.net.SocketTimeoutException"


@pytest.mark.parametrize(
    ("bad_code", "text"),
    [
        ("503", "400 answers of 5xx counted as success (Pay)"),
        ("429", "400 answers of 429 counted as success (Pay)"),
        *(pytest.param(code, f"400 answers of {code} counted as success (Pay)", marks=pytest.mark.real)
          for code in ("400", "401", "403", "407", "408", "422", "440", "499")),
        (NO_ANSWER, "400 requests without an answer counted as success (Pay)"),
    ],
)  # fmt: skip
def test_refusals_that_count_as_successes_are_a_doubt_of_a_run_and_of_a_bare_file(bad_code, text):
    samples = users_of()
    samples[:400] = [one._replace(code=bad_code) for one in samples[:400]]
    whether_meant = "If they are meant, assert on their code", "Whether they are meant, this file does not say"
    summaries = (with_codes(bad_code, 400, (PlanStep("Pay", False),)), summary_of(samples))
    for summary, meant in zip(summaries, whether_meant, strict=True):
        assert meant in next(one.text for one in summary.warnings if one.code == "offered-read")
        assert (line(summary, "offered-read").balance, line(summary, "offered-read").text) == (Balance.DOUBT, text)
        assert odd_codes(summary) == []  # no footnote tells them again
    assert odd_codes(with_codes(bad_code, 250, (PlanStep("Pay", False),))) == [bad_code]


def test_only_refusals_that_are_successes_are_counted_and_named():
    samples = users_of()
    samples[:400] = [one._replace(code="429") for one in samples[:400]]
    samples[400:500] = [one._replace(code="503", success=False, error_count=1) for one in samples[400:500]]
    found = line(summary_of(samples), "offered-read")
    assert found.text == "400 answers of 429 counted as success (Pay)"
    samples[400:900] = [one._replace(code=NO_ANSWER) for one in samples[400:900]]
    found = line(summary_of(samples), "offered-read")
    assert found.text == "800 requests of 429 or without an answer counted as success (Pay)"
    samples[900:1400] = [one._replace(code="401") for one in samples[900:1400]]
    found = line(summary_of(samples), "offered-read")
    assert found.text == "1300 requests of 401 or 429 or without an answer counted as success (Pay)"


@pytest.mark.parametrize("code", ["503", "404"])
def test_nothing_is_said_of_the_codes_of_a_step_that_the_plan_checks(code):
    checked = PlanStep("Pay", False, expects_5xx=True, checks_code=True)
    assert odd_codes(with_codes(code, 400, (checked,))) == []
    assert odd_codes(with_codes(code, 200, (PlanStep("Ship", False, checks_code=True),))) == [code]


@pytest.mark.parametrize(
    ("bad_code", "count", "steps", "changes"),
    [
        # The plan names the code, the answer is one on purpose, few, other protocols, and failures.
        ("503", 3_000, (PlanStep("Pay", False, expects_5xx=True),), {}),
        *((code, 3_000, (), {}) for code in ("404", "409", "410", "412", "416")),
        ("401", 250, (), {}),
        ("401", 3_000, (PlanStep("Pay", False, checks_code=True),), {}),
        ("403", 400, (), {"success": False, "error_count": 1}),
        ("429", 3_000, (PlanStep("Pay", False, checks_code=True),), {}),
        (NO_ANSWER, 3_000, (PlanStep("Pay", False, checks_code=True),), {}),
        ("429", 250, (), {}),
        (NO_ANSWER, 400, (), {"success": False, "error_count": 1}),
        ("503", 250, (), {}),
        ("OK", 3_000, (), {}),
        ("5", 3_000, (), {}),
        ("503", 400, (), {"success": False, "error_count": 1}),
    ],
)
def test_codes_that_the_plan_names_other_codes_few_and_failures_are_none(bad_code, count, steps, changes):
    assert of_codes(bad_code, count, steps, **changes).balance is Balance.BALANCED


@pytest.mark.parametrize(
    ("count", "text"),
    [(300, ""), (301, "Failed connections have no row: 301 requests sent again (Pay)")],
)
def test_requests_that_the_client_sent_again_are_stated_and_a_doubt_if_they_are_many(count, text):
    summary = run_of({"repeated": (LabelCount("Pay", count),)})
    found = line(summary, "offered-read")
    assert found.right.endswith(f"; sent again by the client: {count} (Pay)")
    assert (found.text, summary.verdict.state) == (text, DOUBTFUL if text else VALID)
