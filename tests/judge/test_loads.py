"""Runs with several loads: users, Little's law, window and verdict of each."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace

import pytest

from harness.base.records import build, to_plain
from harness.compare.preconditions import mismatches
from harness.jtl.sample import Sample, thread_group_of
from harness.judge.loads import LoadTally, rows_by_tenant
from harness.judge.summarise import SummaryOptions, summarise, window_of
from harness.judge.summary import RunSummary
from harness.judge.verdict import INVALID
from harness.metrics.tally import Scope
from harness.metrics.window import parse_window
from harness.plan.goal import Goal
from harness.plan.load.groups import GroupLoad, SeveralLoads, Stage
from harness.plan.load.model import PlanLoad, load_record
from harness.report.charts.run_charts import run_charts
from harness.report.markdown import report
from harness.report.markdown_report import parse_report
from harness.report.run_result import RunResult
from harness.report.screen import closing
from tests.support.factories import record, sample, tally_of

BROWSE = GroupLoad("Browse", (Stage(2, None, 0, 60),), think_time_s=0.9)
BUY = GroupLoad("Buy", (Stage(1, None, 0, 60),))
# Several loads have think times of their own.
PLAN = PlanLoad(users=3, ramp_per_user_s=0.0, duration_s=60.0, think_time_s=0.0)


def user(group: str, number: int, users: int, elapsed_ms: int, pause_ms: int = 0, seconds: int = 60) -> list[Sample]:
    """Return the samples of one user of a load."""
    step_ms = elapsed_ms + pause_ms
    return [
        sample(
            label=group,
            elapsed_ms=elapsed_ms,
            start_ms=1_000_000 + iteration * step_ms + pause_ms,
            thread_name=f"{group} 1-{number}",
            all_threads=3,
            group_threads=users,
        )
        for iteration in range(seconds * 1000 // step_ms)
    ]


def browsing(users: int = 2) -> list[Sample]:
    return [one for number in range(users) for one in user("Browse", number + 1, users, 100, 900)]


def summary_of(samples: Iterable[Sample], *loads: GroupLoad, goals: Mapping[str, Goal] | None = None) -> RunSummary:
    listed = sorted(samples, key=lambda one: one.end_ms)
    whole = Scope(thread_groups=tuple(load.thread_names for load in loads)).tally()
    for one in listed:
        whole.add(one)
    tallies = [LoadTally.of(load, whole, None) for load in loads]
    run = record(load=load_record(SeveralLoads(loads), PLAN), goal=Goal(), load_goals=goals or {})
    return summarise(tally_of(listed), run.id, run, options=SummaryOptions(loads=tallies))


def test_each_load_has_its_labels_users_and_law() -> None:
    summary = summary_of([*browsing(), *user("Buy", 1, 1, 500)], BROWSE, BUY)
    browse, buy = summary.loads
    assert browse.group and buy.group and browse.littles_law and buy.littles_law
    assert [label.label for label in browse.group.labels] == ["Browse"]
    assert (browse.group.total.sample_count, buy.group.total.sample_count) == (120, 120)
    assert (browse.users_most, buy.users_most) == (2, 1)
    assert 0.98 < browse.littles_law.ratio < 1.02  # 2/s × (0.1 + 0.9 s) = 2 users
    assert 0.98 < buy.littles_law.ratio < 1.02  # 2/s × 0.5 s = 1 user
    assert summary.littles_law and 0.98 < summary.littles_law.ratio < 1.02
    assert not [one for one in summary.warnings if one.code == "users-time"]
    assert summary.verdict.state != INVALID
    assert build(RunSummary, json.loads(json.dumps(to_plain(summary)))) == summary


@pytest.mark.real
def test_the_slow_loads_of_a_tenant_do_not_hide_behind_the_requests_of_another() -> None:
    stage = (Stage(1, None, 0, 60),)
    names = {"Browse (college)": "college", "Buy (college)": "college", "Browse (school)": "school"}
    loads = [GroupLoad(name, stage, tenant=tenant) for name, tenant in names.items()]
    slow = [*user("Browse (school)", 1, 1, 900, 100)]
    fast = [one for name in list(names)[:2] for one in user(name, 1, 1, 20)]
    summary = summary_of([*slow, *fast], *loads)
    total = summary.group("load")
    assert total and total.total.percentiles_ms["95"] == 20  # 60 slow requests of 6,060
    tenants = rows_by_tenant(summary.loads, loads, total)
    assert tenants and [(one.label, one.sample_count, one.percentiles_ms["95"]) for one in tenants.labels] == [
        ("college", 6000, 20), ("school", 60, 900),
    ]  # fmt: skip
    text = report(summary, run_charts(summary), "", "run-01_1")
    assert "| school | 60 |" in text.split("### Tenants\n")[1].split("###")[0]
    # With a load per tenant, the table of the loads is that of the tenants.
    assert rows_by_tenant(summary.loads, loads[1:], total) is None


def test_the_summary_and_the_end_of_a_run_have_a_row_for_each_load() -> None:
    summary = summary_of([*browsing(), *user("Buy", 1, 1, 500)], BROWSE, BUY)
    text = report(summary, run_charts(summary), "", "run-01_1")
    part = text.split("## Results\n")[0].split("**Loads**\n")[1]
    assert [row.split(" | ")[:2] for row in part.splitlines() if row.startswith("| B")] == [
        ["| Browse", "120"],
        ["| Buy", "120"],
    ]
    last = closing(summary, "x.md", "", 80)
    assert [table.title for table in last.tables] == ["Load", "Loads"]
    assert [label for label, _ in last.tables[1].rows] == ["Browse", "Buy"]
    result = parse_report(text, "x.md")  # compare reads the full table
    assert result.total is not None and result.total.average_ms == 300.0


def test_each_load_is_judged_by_its_own_goals() -> None:
    goals = {"Browse": Goal(p90_ms=50), "Buy": Goal(p90_ms=600, error_ratio=0.0)}
    verdict = summary_of([*browsing(), *user("Buy", 1, 1, 500)], BROWSE, BUY, goals=goals).verdict
    assert verdict.goals_missed == ("load Browse: p90 100 ms, goal 50 ms",)
    found = [(one.load, one.goal_text, one.measured_text, one.is_met) for one in verdict.goals if one.load]
    assert found == [
        ("Browse", "load Browse: p90 ≤ 50 ms", "100 ms", False),
        ("Buy", "load Buy: p90 ≤ 600 ms", "500 ms", True),
        ("Buy", "load Buy: errors ≤ 0 %", "0.00 %", True),
    ]
    assert verdict.exit_code == 1


def test_a_load_with_too_few_users_makes_the_run_invalid() -> None:
    summary = summary_of([*browsing(1), *user("Buy", 1, 1, 500)], BROWSE, BUY)
    assert summary.verdict.state == INVALID
    assert summary.verdict.reasons[0].startswith("1 user of Browse at the peak, not the requested 2")


def test_a_load_without_samples_makes_the_run_invalid() -> None:
    summary = summary_of(browsing(), BROWSE, BUY)
    assert summary.verdict.reasons == ("no sample of the load Buy was taken",)


def test_littles_law_names_the_load_of_which_users_are_lost() -> None:
    starved = [one for one in user("Buy", 1, 1, 500) if one.start_ms % 2000 < 1000]
    summary = summary_of([*browsing(), *starved], BROWSE, BUY)
    texts = [one.text for one in summary.warnings if one.code == "users-time"]
    assert len(texts) == 1
    assert "The load generator may be the bottleneck: 1.0 users of Buy active, 0.5 busy." in texts[0]


def test_users_whom_a_throughput_timer_pauses_are_not_lost() -> None:
    slow = [one for one in user("Buy", 1, 1, 500) if one.start_ms % 2000 < 1000]
    summary = summary_of([*browsing(), *slow], BROWSE, replace(BUY, is_paced=True))
    assert summary.loads[1].littles_law is None
    assert not [one for one in summary.warnings if one.code == "users-time"]


def test_a_spike_that_is_too_short_for_a_sample_of_each_user_is_no_reason() -> None:
    spike = replace(BROWSE, stages=(Stage(1, None, 0, 30), Stage(2, None, 0, 1), Stage(1, None, 0, 29)))
    assert summary_of([*browsing(1), *user("Buy", 1, 1, 500)], spike, BUY).verdict.state != INVALID
    longer = replace(BROWSE, stages=(Stage(1, None, 0, 30), Stage(2, None, 0, 20), Stage(1, None, 0, 10)))
    assert summary_of([*browsing(1), *user("Buy", 1, 1, 500)], longer, BUY).verdict.state == INVALID


def test_a_run_with_stages_has_no_steady_state_and_all_of_it_is_measured() -> None:
    staged = replace(BROWSE, stages=(Stage(1, None, 0, 30), Stage(2, None, 0, 30)))
    run, tally = record(load=load_record(SeveralLoads((staged, BUY)), PLAN)), tally_of(browsing())
    window = window_of(tally, parse_window("steady"), run)
    assert (window.from_s, window.to_s, window.is_steady) == (0, window.run_s, None)
    late = tally_of([*browsing(), *(one._replace(start_ms=one.start_ms + 60_000) for one in browsing(1)[:20])])
    window = window_of(late, parse_window("steady"), run)
    assert (window.to_s, window.tail_cut_s) == (60, window.run_s - 60) and window.run_s >= 70
    plain = record(load=load_record(SeveralLoads((BROWSE, BUY)), PLAN))
    assert window_of(tally, parse_window("steady"), plain).is_steady


def test_runs_with_different_loads_are_not_compared() -> None:
    runs = [
        RunResult.of(summary_of([*browsing(), *user("Buy", 1, 1, 500)], BROWSE, BUY)),
        RunResult.of(summary_of([*browsing(), *user("Buy", 1, 1, 500)], BROWSE, replace(BUY, think_time_s=0.5))),
    ]
    assert mismatches(runs[:1], runs[:1]) == []
    found = " ".join(mismatches(runs[:1], runs[1:]))
    assert (
        "load Buy: 1 user, 60 s in all in the baseline, 1 user, 60 s in all, think time 0.5 s in the contender" in found
    )


def test_the_thread_group_is_in_the_name_of_the_thread() -> None:
    names = {
        "Buy 1-12": "Buy",
        "10.0.0.7:1099-Night batch 2-3": "Night batch",
        "a-b 1-1": "a-b",
        "Buy": "",
        "Buy 1": "",
    }
    assert {name: thread_group_of(name) for name in names} == names


def test_the_samples_of_thread_groups_are_counted_apart_with_their_own_users() -> None:
    whole = Scope(thread_groups=("Buy",)).tally()
    for one in (*browsing()[:1], *user("Buy", 1, 1, 500)[:1]):
        whole.add(one)
    own = whole.by_thread_group["Buy"]
    assert (list(whole.labels), list(own.labels)) == (
        [("load", "Browse", False), ("load", "Buy", False)],
        [("load", "Buy", False)],
    )
    users = [[*by_second.values()] for tally in (whole, own) for by_second in tally.requests.users.values()]
    assert users == [[3, 3], [1]]


def test_a_pause_per_transaction_is_divided_among_its_requests() -> None:
    # Two users: each transaction has two requests of 100 ms and a pause of 800 ms after them.
    paused = replace(BROWSE, think_time_s=0.8, think_time_per="transaction")
    samples = [*user("Buy", 1, 1, 500)]
    for number in (1, 2):
        for iteration in range(60):
            start_ms, thread = 1_000_000 + iteration * 1000, f"Browse 1-{number}"
            rows = [
                ("Page", 0, 100, ""),
                ("Item", 100, 100, ""),
                ("Visit", 0, 200, "Number of samples in transaction : 2"),
            ]
            for label, after_ms, elapsed_ms, message in rows:
                samples.append(
                    sample(
                        label, elapsed_ms=elapsed_ms, start_ms=start_ms + after_ms, thread_name=thread,
                        all_threads=3, group_threads=2, message=message,
                    )
                )  # fmt: skip
    summary = summary_of(samples, paused, BUY)
    browse = summary.loads[0]
    assert browse.littles_law is not None
    assert 0.98 < browse.littles_law.ratio < 1.02  # 4/s × (0.1 + 0.8 / 2 s) = 2 users
    assert not [one for one in summary.warnings if one.code == "users-time"]


def test_the_users_of_a_load_on_several_generators_add_up() -> None:
    both = [
        one._replace(thread_name=f"127.0.0.1:{number}-{one.thread_name}")
        for number in (1, 2)
        for one in user("Browse", number, 1, 100, 900)
    ]
    (browse,) = summary_of(both, BROWSE).loads
    assert browse.users_most == 2
