"""Warnings: when each is raised, when it is not, and that it names the remedy."""

import re
from dataclasses import fields, replace
from string import Formatter

import pytest

from harness.jtl.sample import Dropped
from harness.judge import summarise, warnings
from harness.judge.account import LINES, Balance, Sides
from harness.judge.evidence import Evidence
from harness.judge.warning_order import ORDER
from harness.judge.warnings import ReportPart, RunWarning, Severity, distinct, explained, warning_kinds
from harness.metrics.window import Window
from harness.plan.load import OPEN
from harness.plan.load.model import LoadRecord
from harness.run.telemetry.table import Usage
from tests.support.factories import closed_load, failed, record, sample, two_users
from tests.support.paths import ROOT
from tests.support.summaries import summary_of, warnings_of


def usage(process, cores):
    return Usage(process, 10, cores, cores, cores, 10**9, 10**9, 10**9, 40)


# For each code that makes a run DOUBTFUL, values of its text as they are in reports.
EXAMPLES = {
    "clock-step": {
        "brief": "A clock was set, or several files were put together",
        "what": "In the JTL time stamps go back by 1 h",
        "advice": "Give the files one by one: lth table FILE FILE adds them up.",
    },
    "offered-read": {
        "brief": "Rows are missing, or a clock was set: no samples for 59 min 59 s",
        "advice": "This is no stall: too few samples waited meanwhile (62 s to 3661 s). Run again.",
    },
    "appended": {"count": "2", "lines": "1002"},
    "long-span": {"days": "31"},
    "generator-stopped": {"length": "5 s", "when": "15 s to 20 s", "process": "jmeter"},
    "asked-offered": {
        "brief": "2 of 20 users ended at 150 s of the requested 10 min",
        "advice": "A data file may have ended that stops its users. Look in jmeter.log for threads that ended.",
    },
    "generator-cpu": {"plural": "s", "percent": "85", "cores": "2 cores of gen2"},
    "few-parts": {
        "parts": "8 parts are", "busy": "3", "limit": "80", "enough": "at least 10",
        "machines": "96 % of the 2 cores of gen2",
    },
    "users-time": {
        "brief": "The load generator may be the bottleneck: 1.0 users of Buy active, 0.5 busy",
        "advice": "Look at the generator's CPU, or drive from a machine of its own.",
    },
    "slow-generator": {"names": "gen2, gen3", "factor": "1.5"},
    "failing-generator": {"names": "gen2, gen3", "factor": "2"},
    "clocks-apart": {"most": "500 ms", "clocks": "gen2 -500 ms"},
    "other-run": {
        "tests": "2 other load tests", "they": "They share",
        "runs": "tiny/run-01_1, pid 7 of me; tiny/run-02_1, pid 8 of me",
    },
    "stolen-cpu": {"percent": "6", "cores": "2 cores of gen2"},
    "other-cpu": {"percent": "84", "machine": "this machine's CPU"},
    "generator-delay": {"added": "31", "p99": "120"},
    "profile-cost": {"process": "shop", "percent": "4.5", "part": "thread dumps 3.0 %"},
    "many-errors": {"share": "25.00 % of the samples", "does": "limits errors", "advice": "set --errors=1%"},
    "stopped-early": {"why": "p90 was above 1 ms for 2 s"},
    "stall": {"length": "5 s", "users": " while 10 users were active", "gaps": "15 s to 20 s"},
    "throttled": {
        "what": "Throttled? The throughput", "look": "Look at CPU credits",
        "percent": "20", "at": "10:00", "before": "10", "after": "2", "during": "", "users": " with 2 steady users",
        "times": "response times rose from 200 to 999 ms", "failed": "", "balances": "", "began_s": "600",
        "constant_s": "600",
    },
    "one-state": {
        "brief": "The average depends on when you look: 49 to 195 ms",
        "advice": "It was 195 ms from 50 to 80 s, otherwise 49 ms. Run longer, or count one interval.",
    },
    "read-counted": {
        "brief": "The system became slower within the 28 s that are excluded as warm-up",
        "advice": "In these seconds response times changed at 12 s: 10 ms before, 50 ms after. Look at its CPU.",
    },
    "same-work": {"brief": "Pay is only in the baseline", "advice": "Look at each label."},
    "too-short": {"length": "8 s", "least": "50 s", "remedy": "Run again with --duration=60s."},
    "too-few-samples": {"count": "98", "least": "100", "remedy": "Run longer."},
}  # fmt: skip
DOUBTFUL_KINDS = [kind for kind in warning_kinds().values() if kind.severity is Severity.DOUBTFUL]
# A remedy begins with one of these, or is the command behind "; ".
ACTIONS = re.compile(
    r"(?:^|[.;] |: )(?:Run|Drive|Look|Give|Split|Have NTP|count one|set --errors|--stop=none|read the corrected)\b"
)


@pytest.mark.parametrize("kind", DOUBTFUL_KINDS, ids=lambda kind: kind.code)
def test_a_doubtful_warning_names_the_cause_in_at_most_15_words_and_then_what_to_do(kind):
    values = EXAMPLES[kind.code]
    assert {name for _, name, _, _ in Formatter().parse(kind.full_text) if name} == set(values)
    warning = RunWarning(kind.code, kind.full_text.format(**values))
    assert warning.brief == kind.brief.format(**values)
    assert warning.brief[0].isupper() or warning.brief[0].isdigit()
    assert len(warning.brief.split()) <= 15
    assert ACTIONS.search(warning.advice), warning.advice
    assert f"{warning.brief}. {warning.advice}" == warning.text
    assert len(re.findall(r"\.(?= [A-Z])", warning.advice)) < 3


def test_doubtful_warnings_are_explained_by_code_and_no_other_code_has_a_section():
    page = (ROOT / "docs" / "doubtful.md").read_text(encoding="utf-8")
    sections = re.split(r"^## (.+)\n", page, flags=re.MULTILINE)
    texts = dict(zip(sections[1::2], sections[2::2], strict=True))
    assert list(texts) == [kind.code for kind in DOUBTFUL_KINDS]
    assert [code for code, text in texts.items() if not 40 <= len(text.split()) <= 90] == []
    assert [RunWarning(kind.code, "").page for kind in DOUBTFUL_KINDS] == [f"doubtful.md#{code}" for code in texts]


def test_the_codes_that_a_warning_hides_and_those_with_a_weight_exist():
    kinds = warning_kinds()
    assert set(ORDER) <= set(kinds)
    assert len(set(ORDER)) == len(ORDER)
    assert {code for kind in kinds.values() for code in kind.hides} <= set(kinds)


def test_a_warning_needs_fields_of_evidence_and_names_a_version_of_the_changelog():
    versions = set(re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.MULTILINE))
    names = {field.name for field in fields(Evidence)}
    for kind in warning_kinds().values():
        assert set(kind.needs) <= names, kind.code
        assert kind.since in versions, kind.code


def test_what_makes_the_numbers_most_wrong_is_named_first():
    order = [
        "stopped-early",
        "clock-step",
        "generator-cpu",
        "other-run",
        "other-cpu",
        "one-state",
        "too-short",
        "too-few-samples",
    ]
    assert [code for code in warning_kinds() if code in order] == order
    run = record(other_runs=("tiny/run-09_1, pid 7 of me",), stopped_early="errors above 50 % for 10 s")
    found = summary_of(two_users(count=40), run, usage=(usage("jmeter", 1.7),))
    doubtful = [warning.code for warning in found.warnings if warning.severity is Severity.DOUBTFUL]
    assert doubtful == ["stopped-early", "generator-cpu", "other-run"]
    assert list(found.verdict.reasons) == [
        "Stopped early: errors above 50 % for 10 s",
        "The load generator used 85 % of the 2 cores",
        "Another load test ran on this machine at the same time",
    ]


HIDDEN = [(cause, code) for cause, kind in warning_kinds().items() for code in kind.hides]


@pytest.mark.parametrize(("cause", "follow_up"), HIDDEN)
def test_what_only_follows_from_another_warning_is_not_listed(monkeypatch, cause, follow_up):
    kinds = dict(warning_kinds())

    def raised(*codes):
        found = {}
        off = Sides(balance=Balance.DOUBT, brief="x", advice="x")
        account = {line.code: replace(off, explains=line.hides) if line.code in codes else Sides() for line in LINES}
        monkeypatch.setattr(summarise, "measured", lambda _, found=account: found)
        for code, kind in kinds.items():
            values = [dict.fromkeys((name for _, name, _, _ in Formatter().parse(kind.full_text) if name), "x")]
            found[code] = replace(kind, needs=(), found_in=lambda _, each=values if code in codes else (): each)
        monkeypatch.setattr(warnings, "warning_kinds", lambda: found)
        return {warning.code for warning in summary_of(two_users()).warnings}

    assert raised(cause, follow_up, "growth") == {cause, "growth"}
    assert raised(follow_up) == {follow_up}


def test_reasons_that_differ_only_in_numbers_are_one():
    reasons = [
        "Too short to judge: 8 s measured, 50 s needed",
        "Not steady",
        "Too short to judge: 9.5 s measured, 50 s needed",
    ]
    assert distinct(reasons) == reasons[:2]


def test_one_sentence_says_where_the_reasons_are_explained():
    short, few = RunWarning("too-short", "Too short."), RunWarning("few-samples", "Few.")
    assert explained([short, few]) == "What DOUBTFUL means, and what to do: lth help too-short"
    several = [short, RunWarning("offered-read", "Rows are missing.")]
    assert explained(several).endswith("what to do: lth help doubtful")
    assert explained([few]) == ""


def test_a_number_or_a_file_in_a_cause_does_not_end_its_sentence():
    warning = RunWarning("stall", "No sample of a.jmx ended for 1.5 s. Look at its logs.")
    assert (warning.brief, warning.advice) == ("No sample of a.jmx ended for 1.5 s", "Look at its logs.")
    assert RunWarning("bad-weather", "It rains.").advice == ""


def test_an_unknown_warning_code_is_a_plain_warning_at_the_verdict():
    old = RunWarning("bad-weather", "It rains.")
    assert (old.severity, old.concerns, old.page) == (Severity.WARNING, (ReportPart.VERDICT,), "")


def test_a_202_that_counts_as_success_is_a_warning():
    text = warnings_of([sample(code="202")])["unexpected-success-code"]
    assert text.startswith("Code 202 counts as success (Pay: 1 sample): the work may not be complete")


def test_labels_with_the_same_odd_code_share_a_warning():
    samples = [sample(code="302"), sample("Visit", code="302"), sample(code="200"), sample(code="204"), failed()]
    found = [warning for warning in summary_of(samples).warnings if warning.code == "unexpected-success-code"]
    assert [(warning.subject, warning.text.split(":")[0]) for warning in found] == [
        ("302", "Code 302 counts as success (Pay")
    ]
    assert "Pay: 1 sample, Visit: 1 sample" in found[0].text
    assert "Assert on the code" in found[0].text


@pytest.mark.parametrize("code", ["101", "1000", "OK", "250"])
def test_a_success_as_other_protocols_define_it_is_no_odd_code(code):
    assert ("unexpected-success-code" in warnings_of([sample(code=code)])) == (code == "250")


def test_arrivals_that_were_left_out_make_a_run_doubtful_with_their_number():
    load = LoadRecord(OPEN, None, 26.0, 0.0, 50.0, None, 0.0)
    found = warnings_of(two_users(), record(load=load, left_out_arrivals=1200, users_most=5000))
    assert found["asked-offered"].startswith("1,200 arrivals were not made: 5,000 users were waiting. ")
    fair = record(load=replace(load, rate_per_s=2.0), users_most=5000)
    assert "asked-offered" not in warnings_of(two_users(), fair)


def test_the_closed_model_is_noted_and_the_open_one_is_not():
    assert "--rate=" in warnings_of(two_users(), record())["closed-model"]
    open_load = closed_load(users=None, model="open", rate_per_s=2.0)
    assert "closed-model" not in warnings_of(two_users(), record(load=open_load))


@pytest.mark.parametrize(
    ("count", "start"),
    [
        (999, "999 samples: too few for a p95 (1000) or p99 (5000)."),
        (1000, "1000 samples: too few for a p99 (5000)."),
        (4999, "4999 samples: too few for a p99 (5000)."),
    ],
)
def test_too_few_samples_for_the_last_percentiles_are_a_warning(count, start):
    assert warnings_of([sample()] * count)["few-samples"].startswith(start)


def test_enough_samples_have_no_warning():
    assert "few-samples" not in warnings_of([sample()] * 5000)


@pytest.mark.parametrize(("elapsed_ms", "is_coarse"), [(4, True), (5, False)])
def test_a_median_near_the_clock_resolution_is_a_warning(elapsed_ms, is_coarse):
    assert ("coarse-clock" in warnings_of([sample(elapsed_ms=elapsed_ms)])) is is_coarse


def test_counted_failed_samples_are_a_warning():
    assert "include 2 failed samples" in warnings_of([sample()] * 98 + [failed()] * 2)["errors-in-figures"]


def test_dropped_rows_are_a_warning_with_their_first_line_numbers():
    dropped = Dropped()
    for line in range(1, 9):
        dropped.note(line, "torn record")
    text = warnings_of([sample()], dropped=dropped)["offered-read"]
    assert "8 of 9 rows of the JTL could not be read. No number includes them (line 1: torn record; line 2: " in text
    assert " and more)" in text
    assert "Look at these lines" in text


def test_a_run_that_is_not_steady_names_the_remedy():
    window = Window("steady", 0, 50, 50, 50, is_steady=False, reason="response times did not settle")
    text = warnings_of(two_users(), window=window)["one-state"]
    assert text.startswith("Response times did not settle. ")
    assert "--window FROM..TO" in text


def seconds_of(averages_ms):
    """One sample a second, of that response time, which ends within its second."""
    return [
        sample(elapsed_ms=elapsed_ms, start_ms=1_000_000 + 1000 * second)
        for second, elapsed_ms in enumerate(averages_ms)
    ]


def test_a_slow_down_in_the_excluded_warm_up_is_a_warning_and_a_slow_start_is_none():
    slow_down = "response times changed at 12 s: 10 ms before, 50 ms after"
    window = Window("steady", 30, 100, 70, 100, ramp_cut_s=2, warm_up_cut_s=28, is_steady=True, slow_down=slow_down)
    text = warnings_of(two_users(), window=window)["read-counted"]
    assert text.startswith(
        f"The system became slower within the 28 s that are excluded as warm-up. In these seconds {slow_down}. "
    )
    assert "read-counted" not in warnings_of(two_users(), window=replace(window, slow_down=""))


def test_a_run_that_is_too_short_says_only_that_and_how_long_it_must_be():
    # 1 s of ramp-up and 7 s after it were measured; with 50 s after it the run takes 58 s.
    window = Window("steady", 2, 10, 8, 11, is_steady=False, reason="8 s are too short")
    load = closed_load(duration_s=15.0)
    found = warnings_of(two_users(), record(load=load), window=window)
    assert found["too-short"] == ("Too short to judge: 8 s measured, 50 s needed. Run again with --duration=60s.")
    assert "one-state" not in found
    assert warnings_of(two_users(), window=window)["too-short"].endswith("Run longer.")
    # 20 samples in 8 s: 100 take 40 s; 10 take 80 s.
    assert "50 s needed" in warnings_of(two_users(count=10), record(load=load), window=window)["too-short"]
    assert warnings_of(two_users(count=5), record(load=load), window=window)["too-short"] == (
        "Too short to judge: 8 s measured, 80 s needed. 100 samples take so long. Run again with --duration=90s."
    )


def test_a_file_over_more_than_a_month_has_a_warning_and_no_time_series():
    samples = [sample(start_ms=0), sample(start_ms=40 * 24 * 3600 * 1000)]
    summary = summary_of(samples, record())
    assert summary.timeline is None
    assert "more than 31 days" in next(warning.text for warning in summary.warnings if warning.code == "long-span")


def test_a_jtl_without_a_run_has_no_warning_about_a_run():
    assert set(warnings_of(two_users(), usage=(usage("host", 2.0),))) == {"few-samples"}
