"""Warnings: when each is raised, when it is not, and that it names the remedy."""

import re
from dataclasses import fields, replace
from string import Formatter

import pytest

from harness.jtl.sample import Dropped
from harness.judge import summarise, warnings
from harness.judge.account import LINES, Balance, Sides
from harness.judge.evidence import Evidence
from harness.judge.verdict import DOUBTFUL
from harness.judge.warning_order import ORDER
from harness.judge.warnings import ReportPart, RunWarning, Severity, distinct, explained, warning_kinds
from harness.metrics.interval import IntervalMs
from harness.metrics.littles_law import littles_law
from harness.metrics.tally import Scope
from harness.metrics.window import Window
from harness.plan.load.model import OPEN, LoadRecord
from harness.run.record import GeneratorRecord
from harness.run.telemetry.table import Usage
from tests.support.factories import closed_load, failed, record, sample, tally_of, two_users
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
    "many-errors": {"percent": "25.00"},
    "stopped-early": {"why": "p90 was above 1 ms for 2 s"},
    "stall": {"length": "5 s", "users": " while 10 users were active", "gaps": "15 s to 20 s"},
    "throttled": {
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


def test_answers_in_less_than_a_millisecond_break_littles_law_too():
    samples = [sample(elapsed_ms=0, start_ms=1_000_000 + 1000 * number, all_threads=2) for number in range(50)]
    text = warnings_of(samples, record())["users-time"]
    assert "Users ÷ throughput is 1960 ms, mean response and think time 0.00 ms" in text


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


def test_a_generator_that_uses_all_cpu_is_a_warning():
    found = warnings_of(two_users(), record(), usage=(usage("jmeter", 1.7), usage("host", 1.9)))
    assert found["generator-cpu"].startswith("The load generator used 85 % of the 2 cores. ")
    assert "host-cpu" not in found  # it follows


def test_arrivals_that_were_left_out_make_a_run_doubtful_with_their_number():
    load = LoadRecord(OPEN, None, 26.0, 0.0, 50.0, None, 0.0)
    found = warnings_of(two_users(), record(load=load, left_out_arrivals=1200, users_most=5000))
    assert found["asked-offered"].startswith("1,200 arrivals were not made: 5,000 users were waiting. ")
    fair = record(load=replace(load, rate_per_s=2.0), users_most=5000)
    assert "asked-offered" not in warnings_of(two_users(), fair)


def test_a_busy_machine_is_a_warning_that_says_what_shares_it():
    text = warnings_of(two_users(), record(), usage=(usage("jmeter", 0.9), usage("shop", 0.9), usage("host", 1.9)))
    assert text["host-cpu"].startswith("The 2 cores that generator and system share were 95 % busy. ")
    assert "a machine of its own" in text["host-cpu"]


def test_with_a_remote_system_the_hosts_cpu_belongs_to_the_generator():
    found = warnings_of(two_users(), record(target="http://shop"), usage=(usage("host", 1.9),))
    assert "share" not in found["host-cpu"]
    assert "a larger machine" in found["host-cpu"]


@pytest.mark.parametrize(("host_cores", "has_warning"), [(1.29, False), (1.31, True)])
def test_cpu_use_of_other_processes_is_a_warning(host_cores, has_warning):
    # Of two cores the run accounts for 1.1: more than that by 10 % of both, 0.2, is a warning.
    run = (usage("jmeter", 0.3), usage("shop", 0.8))
    found = warnings_of(two_users(), record(), usage=(usage("host", host_cores), *run))
    assert ("other-cpu" in found) is has_warning
    if has_warning:
        assert "Other programs used 10 % of this machine's CPU during the measurement." in found["other-cpu"]
    assert "other-cpu" not in warnings_of(two_users(), record(), usage=run)  # the host is not known


@pytest.mark.parametrize(("stolen_cores", "has_warning"), [(0.09, False), (0.11, True)])
def test_a_hypervisor_that_takes_more_than_a_twentieth_of_the_cores_makes_a_run_doubtful(stolen_cores, has_warning):
    run = (usage("jmeter", 0.3), usage("shop", 0.8), usage("host", 1.1), usage("stolen", stolen_cores))
    found = warnings_of(two_users(), record(), usage=run)
    assert ("stolen-cpu" in found) is has_warning
    assert "other-cpu" not in found  # no process of this machine used it
    if has_warning:
        assert "gave 6 % of the 2 cores to other virtual machines." in found["stolen-cpu"]


def test_an_idle_generator_has_no_warning():
    found = warnings_of(two_users(), record(), usage=(usage("jmeter", 1.6), usage("host", 1.7)))
    assert not {"generator-cpu", "host-cpu"} & set(found)


@pytest.mark.parametrize(("ratio", "is_named"), [(None, False), (0.0, False), (0.05, False), (0.34, True)])
def test_a_cpu_quota_that_is_used_up_is_a_warning_with_its_share(ratio, is_named):
    run = (replace(usage("shop", 0.8), throttled_ratio=ratio), usage("jmeter", 0.3))
    summary = summary_of(two_users(), record(), usage=run)
    texts = [warning.text for warning in summary.warnings if warning.code == "cpu-quota"]
    assert bool(texts) is is_named
    if is_named:
        assert "used up in part of its periods: shop 34 %." in texts[0]
        assert summary.verdict.state == "VALID"


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


def test_sub_samples_in_rows_of_their_own_are_a_warning():
    samples = [sample("Cart"), sample("Cart-0"), sample("Cart-1"), sample("Pay-0")]
    text = warnings_of(samples)["sub-samples"]
    assert "beside their request (Cart): TOTAL counts both" in text
    assert "sub-samples" not in warnings_of([sample("Cart"), sample("Cart-1"), sample("Pay-0")])


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


def driven(name, ahead_ms, is_local):
    return GeneratorRecord(name, 1, None, "5.6.3", "17.0.15", ahead_ms, is_local)


def test_remote_generators_are_not_watched_and_their_clocks_may_differ():
    here = driven("127.0.0.1:1099", 499, True)
    there = driven("10.0.0.7:1099", -500, False)
    found = warnings_of(two_users(), record(generators=(here, there)))
    assert "Whether 10.0.0.7:1099 limited the load is not known." in found["unwatched-generator"]
    assert found["clocks-apart"].startswith("The clocks of the load generators differ by 500 ms. ")
    assert "(negative: behind it): 10.0.0.7:1099 -500 ms." in found["clocks-apart"]
    assert not {"unwatched-generator", "clocks-apart"} & set(warnings_of(two_users(), record(generators=(here,))))


HOST_RECORD = record().host


def part(name, machine, **changes):
    there = GeneratorRecord(name, 1, None, "5.6.3", "17.0.15", 700, False, HOST_RECORD, machine, 0)
    return replace(there, **changes)


def warnings_of_parts(parts, usages):
    return warnings_of(two_users(), record(generators=tuple(parts)), [usage(*one) for one in usages])


@pytest.mark.parametrize(
    ("cores", "brief"),
    [
        ((1.7, 1.0, 1.0), "3 parts are too few: 1 above 80 % CPU; 4 would do. These may"),  # 3 × 0.85 / 0.8
        ((1.95, 1.7, 1.0), "3 parts are too few: 2 above 80 % CPU; at least 4 would do. These may"),
        ((1.5, 1.5, 1.5), None),
    ],
)
def test_parts_are_too_few_when_one_of_their_machines_has_too_little_cpu(cores, brief):
    parts = [part(f"gen{number}", f"m{number}") for number in (1, 2, 3)]
    found = warnings_of_parts(parts, [(f"generator gen{number}", used) for number, used in enumerate(cores, start=1)])
    assert "generator-cpu" not in found  # one cause, one message
    assert found.get("few-parts", "").startswith(brief or "") and ("few-parts" in found) is (brief is not None)


def test_parts_on_one_machine_share_its_cores_and_are_no_other_programs():
    both = [("generator gen1", 0.9), ("harness gen1", 0.05), ("generator gen2", 0.9), ("harness gen2", 0.05)]
    together = [part("gen1", "m1"), part("gen2", "m1")]
    found = warnings_of_parts(together, [*both, ("host gen1", 1.95)])
    assert found["few-parts"].startswith("2 parts are too few: 1 above 80 % CPU; 3 would do.")
    assert "90 % of the 2 cores of gen1, gen2." in found["few-parts"]
    assert "other-cpu" not in found
    apart = [part("gen1", "m1"), part("gen2", "m2")]
    found = warnings_of_parts(apart, [*both, ("host gen1", 1.0), ("host gen2", 1.6)])
    assert "few-parts" not in found
    assert found["other-cpu"].startswith("Other programs used 32 % of the CPU of gen2")


def test_parts_on_this_machine_share_it_with_the_launcher():
    parts = [part("local-1", "m1", is_local=True), part("local-2", "m1", is_local=True)]
    used = [("host", 1.8), ("harness", 0.05), *((f"generator local-{number}", 0.85) for number in (1, 2))]
    found = warnings_of_parts(parts, used)
    assert found["generator-cpu"].startswith("The load generators used 85 % of the 2 cores.")
    assert not {"few-parts", "other-cpu"} & set(found)  # more parts here would not help


def test_the_clocks_of_parts_are_corrected_unless_they_move():
    steady = warnings_of_parts([part("gen1", "m1", clock_moved_ms=499), part("gen2", "m2")], [])
    assert not {"clocks-apart", "separate-clocks", "unwatched-generator"} & set(steady)
    found = warnings_of_parts([part("gen1", "m1", clock_moved_ms=-500), part("gen2", "m2")], [])
    assert found["clocks-apart"].startswith("The clocks of the load generators differ by 500 ms. ")
    assert "gen1 -500 ms" in found["clocks-apart"]
