"""What a page names: planted changes of SQL, consumer lag and jobs, and nothing without a plant."""

from __future__ import annotations

import math
from dataclasses import replace
from random import Random

import pytest

from harness.cloudwatch.points import read_cloudwatch
from harness.cloudwatch.services import DatabaseLoad, Services, SessionWait, Sql
from harness.compare.comparison import BETTER, CANNOT_TELL, OK, REGRESSED
from harness.judge.jobs import JobRun, LoadAround
from harness.metrics.metric import AVERAGE, P95
from harness.metrics.window import Window
from harness.release.changes import total_tables
from harness.release.databases import database_charts, slower_sql, sql_changes, sql_table, wait_table
from harness.release.jobs import duration_changes, job_tables, load_table, not_done
from harness.release.lag import lagging
from harness.release.repeats import NO_VERDICT, Block, Judgement, change_in, change_over, scatter_of
from tests.cloudwatch.test_insights import QUICK, planted, read
from tests.cloudwatch.test_insights import SLOW as SLOW_SQL
from tests.support.markdown_rows import rows_of
from tests.support.moto_server import ENVIRONMENT
from tests.support.releases import release_of_results
from tests.support.results import label_result, run_result

LEVELS, REPEATS = (1, 5, 8, 20), 3
SLOW = "SELECT jsonb FROM diku_mod_inventory_storage.item WHERE id = $1"
STATEMENTS = {
    "a": SLOW,
    **{name: f"SELECT {name} FROM diku_mod_users.users" for name in "bcdefgh"},
}
NOISE = 0.1
JUDGED = Judgement(0.05, 0.05)


def services(random: Random, factors: dict[str, float]) -> Services:
    sql = tuple(
        Sql(name, text, 0.5 * factors.get(name, 1) * random.lognormvariate(0, NOISE), 40.0, 12.0 * factors.get(name, 1))
        for name, text in STATEMENTS.items()
    )
    waits = (SessionWait("CPU", 2.0, (1.5, 2.5)), SessionWait("IO:DataFileRead", 1.0, (1.0, None)))
    return Services((), (), (DatabaseLoad("folio-db", 0, 60, waits, sql),))


def lag_of(random: Random, counts: dict[str, float]):
    rows = [
        f"0,60,consumer,kafka/{group}/inventory,lag_count,{statistic},{count * random.lognormvariate(0, 0.5)},Complete"
        for group, count in counts.items()
        for statistic in ("average", "minimum", "maximum")
    ]
    return read_cloudwatch(["time_s,period_s,kind,resource,metric,statistic,value,status", *rows], 0, Window.whole(60))


def side(name: str, seed: object, factors=None, lags=None, levels=LEVELS, repeats=REPEATS):
    random = Random(f"{name} {seed}")
    rate = label_result("TOTAL", rate_per_s=100.0)
    return {
        users: [
            run_result(
                f"{name}-{users}-{at}",
                total=rate,
                services=services(random, factors or {}),
                cloudwatch=lag_of(random, lags or {"di": 40.0, "search": 500.0}),
            )
            for at in range(repeats)
        ]
        for users in levels
    }


def test_a_planted_regression_of_one_modules_sql_is_named_and_nothing_else():
    release = release_of_results(side("ff", 1), side("gr", 1, {"a": 1.5}))
    (found,) = slower_sql(release)
    assert found.sentence.startswith(f"{SLOW} (folio-db, schema diku_mod_inventory_storage): ")
    assert found.change.low < 0.5 < found.change.high
    first, *others = rows_of(sql_table(release))
    assert (first["SQL"].replace("\\", ""), first["verdict"]) == (SLOW, REGRESSED)
    assert REGRESSED not in {row["verdict"] for row in others}


def test_a_planted_consumer_lag_is_named_and_nothing_else():
    release = release_of_results(side("ff", 2), side("gr", 2, lags={"di": 50_000.0, "search": 500.0}))
    (found,) = lagging(release)
    assert found.title == "MSK consumer kafka/di/inventory"
    assert "messages (" in found.sentence


def test_a_lag_of_a_few_messages_is_not_named_however_many_times_it_grew():
    assert lagging(release_of_results(side("ff", 3, lags={"di": 0.1}), side("gr", 3, lags={"di": 30.0}))) == []


@pytest.mark.real
def test_without_a_change_nothing_is_named_beyond_the_stated_rate():
    # At most one page in twenty names something; three of 20 or more have a probability of 8 % at that rate.
    pages = [release_of_results(side("ff", seed), side("gr", seed)) for seed in range(20)]
    assert sum(bool(slower_sql(page) or lagging(page)) for page in pages) <= 2


def test_one_run_per_cell_and_one_cell_judge_no_statement():
    release = release_of_results(*(side(name, 4, levels=(8,), repeats=1) for name in ("ff", "gr")))
    assert {one.change.verdict for one in sql_changes(release)} == {NO_VERDICT}
    assert slower_sql(release) == lagging(release) == []


def test_a_statement_that_a_run_does_not_list_is_not_compared():
    base, new = side("ff", 5), side("gr", 5, {"a": 3.0})
    run = base[1][0]
    (database,) = run.services.databases
    short = replace(run.services, databases=(replace(database, sql=database.sql[1:]),))
    base = {users: [replace(one, services=short) for one in runs] for users, runs in base.items()}
    assert slower_sql(release_of_results(base, new)) == []
    rows = rows_of(sql_table(release_of_results(base, new)))
    assert [row["verdict"] for row in rows if row["SQL"].replace("\\", "") == SLOW] == ["not in every run"]


def test_sessions_are_a_table_by_wait_and_a_chart_over_time():
    release = release_of_results(side("ff", 6), side("gr", 6))
    row = rows_of(wait_table(release))[0]
    assert [row[title] for title in ("wait", "users", "GR sessions", "FF sessions", "change %")] == [
        "CPU", "1", "2.000", "2.000", "0.00"
    ]  # fmt: skip
    (chart,) = database_charts(release)
    assert chart.alternative.startswith("folio-db, 20 users: average active sessions over time")
    # 1.5 + 1 sessions, then a period in which one of both waits is unknown.
    assert "GR: least 2.5, most 2.5, last 2.5; 1 of 2 points without a value." in chart.alternative


def job(duration_s: float | None, state: str = "done", tenant: str | None = None) -> JobRun:
    rate = None if duration_s is None else 5000 / duration_s
    loads = (LoadAround("check-in", 400, 900, 410, 99, 99, 99),)
    return JobRun("import", tenant, state, 0, duration_s, 5000, rate, 1, loads)


def jobs(name: str, *durations_s: float | None, state: str = "done"):
    runs = [run_result(f"{name}-{at}", label_result(), jobs=(job(one, state),)) for at, one in enumerate(durations_s)]
    return {8: runs}


def test_a_job_that_takes_longer_in_repeated_runs_is_regressed_and_equal_ones_are_not():
    slower = release_of_results(jobs("ff", 600, 606, 594), jobs("gr", 720, 727, 713))
    (found,) = duration_changes(slower)
    assert (found.key.text, found.change.verdict) == ("import (8 users)", REGRESSED)
    assert found.change.low < 0.2 < found.change.high
    durations, rates = job_tables(slower)
    (row,) = rows_of(durations.table)
    assert [row[title] for title in ("job", "users", "GR s", "FF s", "change %", "verdict")] == [
        "import", "8", "720.00", "600.00", "+20.0", REGRESSED
    ]  # fmt: skip
    assert rows_of(rates.table)[0]["change %"] == "-16.67"
    same = release_of_results(jobs("ff", 600, 606, 594), jobs("gr", 603, 598, 601))
    assert [one.change.verdict for one in duration_changes(same)] == [OK]


def test_one_run_a_side_is_a_number_without_a_verdict():
    (found,) = duration_changes(release_of_results(jobs("ff", 600), jobs("gr", 720)))
    assert (found.change.ratio, found.change.low, found.change.verdict) == (pytest.approx(0.2), None, NO_VERDICT)


def test_a_job_that_was_not_done_has_no_duration_and_is_named():
    release = release_of_results(jobs("ff", 600, 606), jobs("gr", None, None, state="limit"))
    (found,) = duration_changes(release)
    assert (found.change.contender, found.change.verdict) == (None, "")
    assert not_done([run for runs in release.results[0].values() for run in runs]) == ["import: limit in 2 runs"]


def test_the_loads_around_a_job_have_p95_before_during_and_after_of_both_releases():
    (row,) = rows_of(load_table(release_of_results(jobs("ff", 600), jobs("gr", 720))))
    assert [row[f"{name} p95 ms {when}"] for name in ("GR", "FF") for when in ("before", "during", "after")] == [
        "400", "900", "410", "400", "900", "410"
    ]  # fmt: skip


def test_the_change_of_a_cell_is_students_t_with_the_pooled_scatter():
    # By hand: deviations of the logarithms 0.1 within each of two sides of two values, freedom 2, t(0.975, 2) = 4.303.
    step = 0.1 * math.sqrt(2) / 2
    block = Block([math.exp(-step), math.exp(step)], [2 * math.exp(-step), 2 * math.exp(step)])
    change = change_in(block, scatter_of([block]), JUDGED)
    assert math.log1p(change.low) == pytest.approx(math.log(2) - 4.3027 * 0.1, abs=1e-4)
    assert math.log1p(change.high) == pytest.approx(math.log(2) + 4.3027 * 0.1, abs=1e-4)
    assert change.verdict == REGRESSED


def test_the_change_over_cells_of_one_run_each_is_the_t_test_of_pairs():
    # Differences of the logarithms 0.1, 0.2 and 0.3: mean 0.2, standard error 0.1 / sqrt(3), t(0.975, 2) = 4.303.
    blocks = [Block([level], [level * math.exp(shift)]) for level, shift in ((1, 0.1), (50, 0.2), (9, 0.3))]
    change = change_over(blocks, JUDGED)
    assert math.log1p(change.low) == pytest.approx(0.2 - 4.3027 * 0.1 / math.sqrt(3), abs=1e-4)
    assert change.verdict == CANNOT_TELL


def test_the_runs_of_a_round_over_all_cells_count_as_one_value():
    # By hand: logarithms of rounds -0.1, 0 and 0.1, standard error 0.1 * sqrt(2 / 3), t(0.975, 4) = 2.776.
    rounds = [math.exp(shift) for shift in (-0.1, 0.0, 0.1)]
    blocks = [Block([level * one for one in rounds], [2 * level * one for one in rounds]) for level in (1, 50)]
    change = change_over(blocks, JUDGED)
    assert math.log1p(change.low) == pytest.approx(math.log(2) - 2.7764 * 0.1 * math.sqrt(2 / 3), abs=1e-4)


def test_a_change_of_one_cell_is_no_change_of_all():
    rounds = [math.exp(shift) for shift in (-0.01, 0.0, 0.01)]
    blocks = [Block(rounds, [factor * one for one in rounds]) for factor in (1.0, 1.0, 1.0, 1.6)]
    assert change_over(blocks, JUDGED).verdict == CANNOT_TELL


def test_equal_repeats_are_no_proof_of_a_change():
    block = Block([10.0, 10.0], [20.0, 20.0])
    assert change_in(block, scatter_of([block]), JUDGED).verdict == CANNOT_TELL


def test_a_rate_that_falls_is_worse_and_one_that_rises_is_better():
    falls, rises = Block([100, 101], [50, 51]), Block([50, 51], [100, 101])
    rate = replace(JUDGED, more_is_better=True)
    assert [change_in(one, scatter_of([one]), rate).verdict for one in (falls, rises)] == [REGRESSED, BETTER]


def times(name: str, seed: int, factor: float = 1.0, repeats: int = 3):
    random = Random(f"{name} {seed}")
    return {
        users: [
            run_result(f"{name}-{users}-{at}", label_result("Pay", 1000 * factor * random.lognormvariate(0, 0.02)))
            for at in range(repeats)
        ]
        for users in LEVELS
    }


def with_totals(side):
    return {users: [replace(run, total=run.labels[0]) for run in runs] for users, runs in side.items()}


def test_three_repeats_have_intervals_and_find_a_change_that_the_rank_test_cannot():
    release = release_of_results(with_totals(times("ff", 1)), with_totals(times("gr", 1, 1.2)))
    rows = rows_of(next(one.table for one in total_tables(release) if one.title == "Average"))
    assert {row["verdict"] for row in rows} == {REGRESSED}
    assert all(row["95 % interval"].startswith("+") for row in rows)
    assert release.wholes["tiny"].verdict == REGRESSED


@pytest.mark.real
def test_repeats_without_a_change_are_regressed_on_at_most_one_page_in_twenty():
    pages = [release_of_results(with_totals(times("ff", seed)), with_totals(times("gr", seed))) for seed in range(20)]
    assert sum(page.wholes["tiny"].verdict == REGRESSED for page in pages) <= 2
    verdicts = [one.total.of(metric).verdict for page in pages for one in page.levels[0].values()
                for metric in (AVERAGE, P95)]  # fmt: skip
    assert verdicts.count(REGRESSED) <= 2
    assert verdicts.count(OK) > 50


@pytest.mark.real
def test_slow_sql_of_one_module_in_performance_insights_is_named(monkeypatch):
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)

    def of_insights(name: str, load: float):
        services, random = read(planted(statements=[{**SLOW_SQL, "load": load}, QUICK])), Random(name)
        rates = (100.0 * random.lognormvariate(0, 0.03) for _ in range(6))
        totals = [label_result("TOTAL", rate_per_s=rate) for rate in rates]
        runs = [run_result(f"{name}-{at}", total=total, services=services) for at, total in enumerate(totals)]
        return {5: runs[:3], 8: runs[3:]}

    (found,) = slower_sql(release_of_results(of_insights("ff", 2.5), of_insights("gr", 4.0)))
    assert found.text == "SELECT * FROM item WHERE name LIKE $1"
    assert slower_sql(release_of_results(of_insights("ff", 2.5), of_insights("gr", 2.5))) == []
