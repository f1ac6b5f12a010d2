"""What extractors did not find: a doubt where it was sent on silently, and often; never where the plan may mean it."""

import pytest

from harness.judge.account import Balance
from harness.judge.verdict import DOUBTFUL, VALID
from harness.plan.jmx.steps import PlanStep
from harness.run.group_counts import ExtractionCount
from tests.judge.test_account_lines import line
from tests.judge.test_ignored import run_of


def extraction(count, missed, unset=0, kept=0, mark=0, value=0, *, label="Log in", variable="token", default=""):
    default = default or ("NOT_FOUND" if mark else "0" if value else "")
    return ExtractionCount("get", variable, label, default, count, missed, unset, kept, mark + value)


DEFAULT = "token, of Log in): its default was sent on"
NAME = "token, of Log in): the variable's name was sent"
EARLIER = "token, of Log in): an earlier value was sent on"


def run_that_extracts(*extractions):
    return run_of({"extractions": extractions})


@pytest.mark.parametrize(
    ("extractions", "of", "text"),
    [
        ([extraction(105, 105, mark=105)], "105 of 105 answers", DEFAULT),
        # Its plan reads it in a condition in some of the cases, or does not come to send it in each.
        ([extraction(100, 100, mark=5)], "100 of 100 answers", DEFAULT),
        ([extraction(100, 5, mark=5)], "5 of 100 answers", DEFAULT),
        ([extraction(100, 5, unset=5)], "5 of 100 answers", NAME),
        ([extraction(1, 1, unset=1)], "1 of 1 answer", NAME),
        ([extraction(2000, 1990, kept=1990)], "1,990 of 2,000 answers", EARLIER),
        ([extraction(100, 100, value=100)], "100 of 100 answers", DEFAULT),
        ([extraction(100, 100, value=40)], "100 of 100 answers", DEFAULT),
        ([extraction(100, 95, value=95)], "95 of 100 answers", DEFAULT),
        (
            [extraction(100, 100, mark=90), extraction(5, 5, unset=5, variable="id"), extraction(9, 9, 9, label="Buy")],
            "100 of 100 answers", DEFAULT.replace("Log in", "Log in and 2 others"),
        ),
        # An earlier value that no step of the extractor found, such as one of User Defined Variables.
        (
            [extraction(100, 100, kept=100), extraction(90, 90, label="Buy")],
            "100 of 100 answers", EARLIER,
        ),
    ],
)  # fmt: skip
def test_what_was_sent_in_place_of_what_an_extractor_did_not_find_is_a_doubt(extractions, of, text):
    summary = run_that_extracts(*extractions)
    found = line(summary, "asked-offered")
    assert (found.balance, found.text) == (Balance.DOUBT, f"An extractor found nothing in {of} ({text}")
    assert summary.verdict.state == DOUBTFUL
    assert found.text in summary.verdict.reasons
    assert "; sent without what an extractor should find: token, of Log in, " in found.right
    assert [one.code for one in summary.account if one.balance is not Balance.BALANCED] == ["asked-offered"]


@pytest.mark.parametrize(
    ("extractions", "stated"),
    [
        ([extraction(1000, 0)], ""),
        # Nobody sends it, or the plan asks for it first.
        ([extraction(1000, 1000)], ""),
        # Seldom.
        ([extraction(1000, 49, mark=49)], "token, of Log in, 49 of 1,000"),
        ([extraction(1000, 1, unset=1)], "token, of Log in, 1 of 1,000"),
        # Optional values.
        ([extraction(1000, 700, value=700)], "token, of Log in, 700 of 1,000"),
        ([extraction(1000, 400, kept=400)], "token, of Log in, 400 of 1,000"),
        # An extractor of all steps, which only some answer; the others keep what it found.
        ([extraction(100, 0), extraction(900, 900, kept=900, label="Search")], ""),
    ],
)
def test_what_the_plan_may_mean_or_seldom_lacks_is_stated_at_most(extractions, stated):
    summary = run_that_extracts(*extractions)
    found = line(summary, "asked-offered")
    assert found.balance is Balance.BALANCED
    assert summary.verdict.state == VALID
    assert found.right.partition("; sent without what an extractor should find: ")[2] == stated


@pytest.mark.parametrize(
    "default",
    ["NOT_FOUND", "NOTFOUND", "notFound", "not found", "tokenNotFound", "TOKEN_MISSING", "null", "None", "ERROR",
     "ERR_TOKEN", "errToken", "failed", "no_value", "noToken", "NO TOKEN", "-1", "???", "xxx", "N/A", "NA", "undefined",
     "default_value", "<none>", "token-not-found", "extraction failed!"],
)  # fmt: skip
def test_a_default_that_stands_for_nothing_is_a_doubt_in_a_tenth_of_the_answers(default):
    assert run_that_extracts(extraction(1000, 100, value=100, default=default)).verdict.state == DOUBTFUL


@pytest.mark.parametrize(
    "default", [" ", "0", "1", "10", "true", "no", "NO", "en", "en_US", "guest", "USD", "Norway", "vanilla", "cherry",
                "note", "notebook", "mission", "/home", "nobody", "a1b2c3", "terrace", "emptying", "NORTH", "NOTE",
                "Nancy"],
)  # fmt: skip
def test_a_default_that_the_system_may_take_is_one_in_nearly_all_answers_only(default):
    assert run_that_extracts(extraction(1000, 850, value=850, default=default)).verdict.state == VALID
    assert run_that_extracts(extraction(1000, 1000, value=1000, default=default)).verdict.state == DOUBTFUL


def test_an_extractor_of_all_steps_that_overwrites_what_it_found_with_its_default_is_a_doubt():
    summary = run_that_extracts(extraction(100, 0), extraction(900, 900, mark=800, label="Search"))
    text = "An extractor found nothing in 900 of 900 answers (token, of Search): its default was sent on"
    assert line(summary, "asked-offered").text == text


def test_parts_of_a_run_are_one_count():
    part = extraction(1000, 30, mark=30)
    assert run_that_extracts(part, extraction(1000, 80, mark=80)).verdict.state == DOUBTFUL
    assert run_that_extracts(part, extraction(1000, 0)).verdict.state == VALID


def unset(count, variable="user", label="Pay"):
    return ExtractionCount("", variable, label, f"${{{variable}}}", count, count, count, 0, 0)


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ([unset(6000)], "6000 samples (${user} of Pay)"),
        ([unset(301)], "301 samples (${user} of Pay)"),
        ([unset(301), unset(20, "item"), unset(400, "token")], "701 samples (${token} of Pay, ${user} of Pay)"),
        # All samples of a step, of which each user sends one, or which has no rows.
        ([unset(20, label="Log in")], "20 samples (${user} of Log in)"),
        # What an extractor did not find elsewhere is another variable.
        ([unset(6000), extraction(100, 0)], "6000 samples (${user} of Pay)"),
    ],
)
def test_names_of_variables_that_were_sent_are_a_doubt(counts, said):
    summary = run_that_extracts(*counts)
    found = line(summary, "asked-offered")
    text = f"Names of variables were sent in place of values: {said}"
    assert (found.balance, found.text) == (Balance.DOUBT, text)
    assert summary.verdict.reasons == (text,)
    assert "; sent by name: " in found.right
    assert "sent without what an extractor should find" not in found.right


@pytest.mark.parametrize("count", [1, 20, 300])
def test_names_that_are_sent_seldom_as_in_the_first_iteration_of_each_user_are_stated_only(count):
    found = line(run_that_extracts(unset(count)), "asked-offered")
    assert (found.balance, found.text) == (Balance.BALANCED, "")
    assert found.right.endswith("; sent by name: ${user} of Pay")


def test_a_variable_that_an_extractor_did_not_find_is_told_once():
    found = line(run_that_extracts(extraction(100, 100, unset=100), unset(100, "token")), "asked-offered")
    assert found.text == f"An extractor found nothing in 100 of 100 answers ({NAME}"
    assert "sent by name" not in found.right


@pytest.mark.parametrize(
    ("extractions", "text"),
    [
        ([extraction(90, 90, variable="ids")], "Never sent: Open; the list ids was in none of 90 answers of Log in"),
        # It was found once, another extractor finds it, or none of the plan's extractors reads it.
        ([extraction(90, 89, variable="ids")], ""),
        ([extraction(90, 90, variable="ids"), extraction(9, 0, variable="ids", label="Search")], ""),
        ([extraction(90, 90, variable="id")], ""),
        ([], ""),
    ],
)
def test_a_step_of_a_list_that_no_answer_had_is_a_doubt(extractions, text):
    steps = (PlanStep("Pay", False), PlanStep("Open", True, lists=("ids",)), PlanStep("Return", True))
    found = line(run_of({"extractions": extractions}, steps=steps), "asked-offered")
    assert (found.balance, found.text) == (Balance.DOUBT if text else Balance.BALANCED, text)
