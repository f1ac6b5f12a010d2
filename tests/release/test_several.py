"""A page of several releases and workloads: two sweeps and a mixed workload, with planted changes."""

from __future__ import annotations

import json
import re
from random import Random

import pytest

from harness.base.errors import UsageError
from harness.cli.verbs import main
from harness.cloudwatch.services import DatabaseLoad, Missing, Participant, Services, SessionWait, Sql
from harness.judge.jobs import JobRun, LoadAround
from harness.judge.summary import Observed
from harness.kinds.trust.known import Known
from harness.kinds.trust.power import Costs
from harness.release.confluence import storage_format
from tests.release.test_findings import SLOW, STATEMENTS, lag_of
from tests.release.test_formats import assert_is_documented, parsed
from tests.release.test_release import recommended_on, section
from tests.support.factories import closed_load
from tests.support.markdown_rows import cells_of, rows_of, tables_of
from tests.support.releases import save_release
from tests.support.stated_rates import least_covered_text

# Slow requests: few samples, which are written and read quickly.
TIMES_MS = {"Search": 150.0, "Pay": 250.0}
PAGE = "tiny/release-sweep-01-sweep-02.md"
NEW = ("GR=tiny/sweep-02", "GR=mixed/run-02_*")
BASES = ("FF=tiny/sweep-01", "FF=mixed/run-01_*", "EE=tiny/sweep-00")


def observed(slow: float = 1.0, lag: float = 40.0):
    """Return what makes the metrics and the services of a run; its first statement takes `slow` times as long."""

    def of_run(users: int, random: Random) -> Observed:
        sql = tuple(
            Sql(name, text, 0.1 * users * (slow if name == "a" else 1) * random.lognormvariate(0, 0.05), 10.0, 5.0)
            for name, text in STATEMENTS.items()
        )
        services = Services(
            (Missing("Performance Insights", "folio-reader", "access is denied", "pi:GetResourceMetrics"),),
            (Participant("perf", "mod-circulation", 2.0, 60.0, True), Participant("perf", "mod-idle", 2.0, 2.1, False)),
            (DatabaseLoad("folio-db", 0, 60, (SessionWait("CPU", 1.0, (0.9, 1.1)),), sql),),
        )
        return Observed(cloudwatch=lag_of(random, {"di": lag}), services=services)

    return of_run


def jobs(duration_s: float):
    loads = (LoadAround("check-in", 400, 900, 410, 99, 99, 99),)
    return lambda random: (
        JobRun("import", None, "done", 0, round(duration_s * random.lognormvariate(0, 0.01), 1), 5000, 8.0, 1, loads),
    )


@pytest.fixture(scope="module")
def several(tmp_path_factory):
    """Return the reports folder and the text of a page: GR has slow SQL, a consumer that lags, and a slower job."""
    reports = tmp_path_factory.mktemp("several") / "reports"
    for series, month, seen, duration_s in (
        ("00", "01", observed(), 0),
        ("01", "02", observed(), 600),
        ("02", "03", observed(1.6, 60_000), 720),
    ):
        started = {"started_at": f"2026-{month}-01T00:00:00Z", "repeat": 3, "observed": seen}
        save_release(reports, series, TIMES_MS, **started)
        if duration_s:
            save_release(reports, series, TIMES_MS, levels=(3,), plan="mixed", jobs=jobs(duration_s), **started)
    assert release(reports) == 0
    return reports, (reports / PAGE).read_text()


def release(reports, *more, new=NEW, bases=BASES):
    return main(["release", *new, *(f"--base={base}" for base in bases), "--reports", str(reports), *more])


pytestmark = pytest.mark.real


def test_the_planted_sql_lag_and_job_are_named_and_no_other(several):
    recommended = recommended_on(several[1])
    named = [line for line in recommended.splitlines() if "SQL takes longer" in line]
    assert len(named) == 1
    assert SLOW.replace("$", "\\$") in named[0]
    assert "schema diku_mod_inventory_storage" in named[0].replace("\\", "")
    assert recommended.count("Consumers fall behind: MSK consumer kafka/di/inventory: lag ") == 1
    assert "Find why the job import (3 users of mixed) takes longer" in recommended
    assert "Find the cause of the slower response times" not in recommended


def test_the_verdict_is_of_the_worst_workload_or_job(several):
    assert re.search(r"\*\*REGRESSED: job import \(3 users of mixed\), duration \+1\d.* to \+2\d.* %\.\*\*", several[1])
    data = json.loads((several[0] / PAGE).with_suffix(".json").read_text())
    assert data["result"]["verdict"] == "REGRESSED"
    assert [one["sql"] for one in data["slower_sql"]] == [SLOW]


def test_each_workload_and_number_of_users_has_all_metrics_of_all_releases_with_intervals(several):
    for metric, title in (("average ms", "Average"), ("p50 ms", "P50"), ("p75 ms", "P75"), ("p95 ms", "P95")):
        first, *others = tables_of(several[1].partition(f"#### {title}\n")[2].partition("\n#### ")[0])
        older = others[0] if others else first
        assert cells_of(first, "workload", "users") == [["tiny", "2"], ["tiny", "4"], ["mixed", "3"]]
        assert all(row.get("95 % interval") or row[f"FF {metric}: 95 % interval"] for row in first)
        assert [bool(row[f"EE {metric}"]) for row in older] == [True, True, False]
        verdicts = {row.get("verdict") or row[f"EE {metric}: verdict"] for row in older[:2]}
        assert verdicts <= {"OK", "CANNOT TELL"}
    assert "#### Share of errors" in several[1]


def test_the_page_has_jobs_databases_brokers_and_the_services_that_took_part(several):
    text = several[1]
    (row,) = rows_of(text, "### Duration")
    assert (row["job"], row["workload"], row["verdict"]) == ("import", "mixed", "REGRESSED")
    assert "| perf/mod-circulation | 2.0 | 60.0 |" in section(text, "Services that took part")
    assert "mod-idle" not in section(text, "Services that took part")
    assert rows_of(text, "### Top SQL, and the change of its time per request")[0]["verdict"] == "REGRESSED"
    assert "sessions-1.svg" in section(text, "Database load")
    assert "lag, messages" in section(text, "Brokers, search and load balancer") + text
    assert (several[0] / PAGE).with_suffix("").joinpath("sessions-1.svg").is_file()


def test_the_page_states_how_often_intervals_of_jobs_and_databases_are_right_on_a_machine_that_drifts(several):
    text = several[1].replace("\n", " ")
    of_jobs, of_databases = least_covered_text("release, jobs"), least_covered_text("release, databases")
    assert f"resemble each other by 0.8, an interval contains the true change in {of_jobs} instead of 95 %" in text
    assert f"an interval of a statement contains the true change in {of_databases} instead of 95 %" in text


def test_what_the_page_cannot_tell_names_rights_days_and_levels_of_one_release(several):
    limits = section(several[1], "What this page cannot tell")
    assert "pi:GetResourceMetrics" in limits
    assert "GR was measured on 2026-03-01, FF on 2026-02-01" in limits
    assert "Only GR has 3 users of mixed: not compared with EE." in limits
    assert "one is named without a change on at most 5 % of pages" in limits
    assert "per cell" not in limits


def test_the_page_is_documented_storage_format_and_the_same_bytes_again(several):
    reports, text = several
    assert_is_documented(parsed(storage_format(text)))
    assert release(reports) == 0
    assert (reports / PAGE).read_text() == text


def test_one_run_per_cell_is_said_on_the_page_and_in_the_last_line(tmp_path, capsys, monkeypatch):
    load = closed_load(duration_s=100.0, loops=None)
    save_release(tmp_path, "01", levels=(2,), load=load)
    save_release(tmp_path, "02", levels=(2,), load=load, started_at="2026-02-01T00:00:00Z")
    sides = {"new": ["tiny/sweep-02"], "bases": ["tiny/sweep-01"]}
    assert release(tmp_path, **sides) == 0
    unknown = "One run per cell: which change they can see is not known, lth trust tiny measures it. Measure 3 runs"
    unknown += " of each (--repeat=3)."
    assert capsys.readouterr().out.splitlines()[-1] == unknown
    assert f"- {unknown}\n" in section((tmp_path / PAGE).read_text(), "What this page cannot tell")
    # The standard deviation of runs is 2 %: (1.96 + 0.84) · 2 % · √2 of two single runs.
    scatter = {"ratio": 0.02, "low_ratio": 0.01, "high_ratio": 0.03}
    parts = {"start": scatter, "run": None, "within": None, "total": scatter, "later": [0, 0, 0], "start_count": 3}
    known = Known("tiny/trust-01", Costs(100, 80, 10), {"average": {"parts": parts}}, None)
    monkeypatch.setattr("harness.release.files.known", lambda *_: known)
    assert release(tmp_path, **sides) == 0
    seen = "One run per cell: no change of average below 8.2 % can be seen (tiny/trust-01). Measure 3 runs"
    assert capsys.readouterr().out.splitlines()[-1] == f"{seen} of each (--repeat=3)."


@pytest.mark.parametrize(
    ("new", "bases", "words"),
    [
        ([], ["tiny/sweep-01"], "release: the release is missing; give sweeps or runs: lth release NEW --base OLD"),
        (["tiny/sweep-02"], [], "release: an earlier release is missing"),
        (["tiny/sweep-02"], ["tiny/sweep-01", "mixed/run-01_*"], "is of tiny and mixed, tiny/sweep-02 of tiny"),
        (["GR=tiny/sweep-02", "HH=mixed/run-02_*"], ["tiny/sweep-01"], "--new has the titles GR and HH"),
        (["tiny/sweep-02"], ["tiny/sweep-02"], "is both --new and --base"),
        (["tiny/sweep-07"], ["tiny/sweep-01"], "no such sweep"),
        (["tiny/run-02_99"], ["tiny/sweep-01"], "neither a file nor a run"),
    ],
)
def test_what_does_not_fit_is_one_line(several, new, bases, words):
    with pytest.raises(UsageError) as error:
        release(several[0], new=new, bases=bases)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_a_run_without_the_needed_field_is_shown_without_a_claim(tmp_path):
    # A run of an earlier version has neither jobs nor services.
    mixed = {"levels": (3,), "plan": "mixed", "repeat": 3}
    save_release(tmp_path, "01", TIMES_MS, **mixed)
    save_release(tmp_path, "02", TIMES_MS, jobs=jobs(600), started_at="2026-02-01T00:00:00Z", **mixed)
    assert release(tmp_path, new=["mixed/run-02_*"], bases=["mixed/run-01_*"]) == 0
    text = (tmp_path / "mixed" / "release-run-01_1-run-02_1.md").read_text()
    assert "\n# mixed: run-02_1+2+3 against run-01_1+2+3\n" in text.replace("\\", "")
    (row,) = rows_of(text, "### Duration")
    assert (row["change %"], row["verdict"]) == ("", "")
    assert "REGRESSED" not in text
