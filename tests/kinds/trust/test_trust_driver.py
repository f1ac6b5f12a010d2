"""scripts/trust as a user calls it; its runs take no time, except in the last test."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from harness.base.errors import UsageError
from harness.cli.verbs import main
from harness.experiment.counting import results_of
from harness.experiment.files import Experiments
from harness.history.summary_files import SUMMARY_NAME, write_summary
from harness.kinds.ab.outcome import outcome_of
from harness.kinds.ab.record import AbRecord
from harness.kinds.trust.overview import PAGE_NAME
from harness.kinds.trust.record import TrustRecord
from harness.kinds.trust.steps import trust_runs
from harness.plan.load.model import OpenLoad
from tests.support.fake_runs import tiny_command, use_fake_levels, with_delay
from tests.support.first_screens import assert_first_screen
from tests.support.report_folder import add_run
from tests.support.requests import request_of

pytestmark = pytest.mark.real


@pytest.fixture
def home(home):
    return with_delay(home)


@pytest.fixture
def run(home, tmp_path, monkeypatch):
    """Run a script on the tiny plan and return its exit code; runs take no time."""
    use_fake_levels(tmp_path, monkeypatch)
    return tiny_command(home, tmp_path, monkeypatch, "reports")


def record_of(tmp_path: Path) -> dict:
    return json.loads((tmp_path / "reports" / "trust" / "tiny" / "trust-01.json").read_text())


def page_of(tmp_path: Path) -> str:
    return (tmp_path / "reports" / "trust" / "tiny" / "trust-01.md").read_text()


def test_the_system_is_restarted_before_every_other_run_and_the_page_has_the_answer(run, tmp_path, capsys):
    assert run("trust", "--users=2") == 0
    record, page = record_of(tmp_path), page_of(tmp_path)
    starts = [(one["repeat"], one["index"]) for one in record["runs"]]
    assert starts == [(start, index) for start in range(1, 7) for index in (0, 1)]
    # All runs are the same, so they are as short as a steady run can be; p95 has too few samples.
    answer = "FOUND: this benchmark sees 5 % in p50 with 6 pairs of 1 min"
    assert record["headline"].startswith(answer)
    assert f"tiny/trust-01: {answer}" in capsys.readouterr().out
    assert_first_screen(page, "answer", "table", "doubts", "steps")
    metrics = {one["metric"]: one for one in record["metrics"]}
    assert [one["gate_problem"] for one in record["metrics"]] == [
        "", "", "392 samples, 500 needed", "392 samples, 1,000 needed", "392 samples, 5,000 needed", "",
    ]  # fmt: skip
    assert metrics["average"]["day"] is None
    assert metrics["average"]["parts"]["within"]["ratio"] < 0.001
    assert "| average | 101 ms | 0.0 (0.0 to 0.0) | 0.0 (0.0 to 0.0) | 6 pairs of 1 min (" in page
    assert "| unknown |" in page
    assert "right in 95 % of tests. It is in 84 % with heavy tails" in page
    assert "<!-- command: lth trust --plan=tiny --users=2 -->" in page
    assert "](run-01_12.md) | 6 | 2 | yes |" in page
    assert str(tmp_path) not in page
    assert main(["report", "trust-01", f"--reports={tmp_path / 'reports'}"], "lth") == 0
    assert (record_of(tmp_path), page_of(tmp_path)) == (record, page)
    write_summary(tmp_path / "reports")
    summary = (tmp_path / "reports" / SUMMARY_NAME).read_text()
    assert f"- [trust-01](trust/tiny/trust-01.md): {answer}" in summary


def test_a_start_with_a_run_that_does_not_count_is_replaced(run, tmp_path):
    behaviour = {"3": "fail"}
    assert run("trust", "--users=2", behaviour=behaviour) == 0
    record = record_of(tmp_path)
    assert [(one["repeat"], one["index"]) for one in record["runs"]][:5] == [(1, 0), (1, 1), (2, 0), (3, 0), (3, 1)]
    assert "run-01_3 does not count: INVALID" in page_of(tmp_path)


def test_it_stops_when_no_start_gets_complete_although_every_other_run_counts(run, tmp_path):
    assert run("trust", "--users=2", behaviour={str(number): "fail" for number in range(2, 100, 2)}) == 3
    record = record_of(tmp_path)
    assert [(one["repeat"], one["index"]) for one in record["runs"]] == [(s, i) for s in range(1, 5) for i in (0, 1)]
    assert record["stop_reason"].startswith("stopped after 4 starts in a row with a run that does not count: INVALID")
    assert record["stop_reason"] in page_of(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--max=1m"], "--max=1 min is too short: 3 starts of 2 runs take about "),
        (["--detect=5"], "--detect=5: has no % sign"),
        (["--detect=0%"], "--detect=0%: must be above 0"),
        (["--users=0"], "--users=0"),
        (["--duration=", "--users=2"], "--duration is empty"),
        (["--loops=2"], "--loops: no such option"),
    ],
)
def test_bad_input_is_refused_in_one_line(run, tmp_path, arguments, message):
    with pytest.raises(UsageError) as refused:
        run("trust", *arguments)
    assert message in str(refused.value)
    assert not (tmp_path / "reports" / "trust").exists()


@pytest.mark.counterpart
def test_a_budget_decides_how_many_starts_there_are(run, tmp_path):
    assert run("trust", "--users=2", "--max=24h") == 0
    assert record_of(tmp_path)["repeat"] == 12


@pytest.mark.counterpart
def test_an_ab_test_gets_the_length_that_was_found(run, tmp_path, capsys):
    sides = ("--a=delay_ms=0", "--b=delay_ms=4", "--users=2")
    with pytest.raises(UsageError, match="--pairs auto: no trust test of tiny sees a change with this load"):
        run("ab", *sides, "--pairs=auto")
    assert run("trust", "--users=2") == 0
    capsys.readouterr()
    with pytest.raises(UsageError, match="--pairs auto chooses the length"):
        run("ab", *sides, "--pairs=auto", "--duration=60")
    run("ab", *sides, "--pairs=auto")
    assert "proposed: 6 pairs of 1 min" in capsys.readouterr().out
    record = json.loads((tmp_path / "reports" / "ab" / "tiny" / "ab-01.json").read_text())
    assert record["load"]["duration_s"] == 60
    assert "proposal" not in record
    run("tune", "--set=delay_ms=0,20", "--users=2", "--duration=120")
    assert "proposed: --repeat=5 finds an effect of 10 % in p90 (tiny/trust-01)\n" in capsys.readouterr().out


def test_an_answer_of_cannot_tell_names_the_test_that_was_found(run, tmp_path, capsys):
    assert run("trust", "--users=2") == 0
    assert run("ab", "--a=delay_ms=0", "--b=delay_ms=0 python=python3.11", "--users=2", "--max=24h") == 0
    tests = Experiments(AbRecord, tmp_path / "reports")
    files = tests.find("ab-01")
    record = tests.read(files)
    outcome = outcome_of(replace(record, runs=record.runs[:3]), results_of(files, record))
    assert outcome.verdict == "CANNOT TELL"
    [step] = outcome.result.next_steps
    found = r"6 pairs of 1 min \(\S+ min\) see 5 % in p50 \(tiny/trust-01\)"
    assert re.fullmatch(
        rf"Let the runs be as long as needed, with --pairs=auto instead of --duration: {found}", step.text
    )
    for number, elapsed_ms in ((1, 100), (2, 104)):
        add_run(tmp_path / "reports", f"tiny/run-07_{number}", samples=90, elapsed_ms=elapsed_ms)
    capsys.readouterr()
    main(["compare", "tiny/run-07_1", "tiny/run-07_2", f"--reports={tmp_path / 'reports'}"], "aggregate.py")
    out = capsys.readouterr().out
    assert "**CANNOT TELL" in out
    assert re.search(rf"- The cheapest A/B test: {found}; --pairs=auto gives its runs this length\n", out)


def test_a_test_of_an_open_load_has_runs_at_its_rate(run, home, tmp_path):
    assert run("trust", "--rate=2", "--duration=60") == 0
    tests = Experiments(TrustRecord, tmp_path / "reports")
    record, request = tests.read(tests.find("trust-01")), request_of(home, tmp_path, "tiny", "local")
    assert trust_runs(record, request).extremes == (OpenLoad(2.0, 0.0, 60.0),)
    assert " --rate=2 " in record.command
    with pytest.raises(UsageError, match="--users=2 and --rate=2: a trust test has one of them; give one"):
        run("trust", "--rate=2", "--users=2")


@pytest.mark.counterpart
def test_the_page_over_all_plans_names_the_noisy_ones_and_since_when(home, tmp_path, capsys):
    reports = tmp_path / "reports"
    reports.mkdir()
    assert main(["--all", f"--home={home}", f"--reports={reports}"], "scripts/trust") == 0
    assert "No plan has a history: 6 valid runs" in capsys.readouterr().out
    for number, elapsed_ms in enumerate((100, 140, 90, 150, 100, 130, 95, 150), start=1):
        add_run(reports, f"wild/run-01_{number}", samples=2000, seconds=100, elapsed_ms=elapsed_ms)
        add_run(reports, f"calm/run-01_{number}", samples=2000, seconds=100)
    add_run(reports, "new/run-01_1", samples=2000, seconds=100)
    assert main(["--all", f"--home={home}", f"--reports={reports}"], "scripts/trust") == 0
    assert "1 of 2 plans with a history is noisy: wild." in capsys.readouterr().out
    rows = re.findall(r"^\| (?:wild|calm|new) .*$", (reports / PAGE_NAME).read_text(), re.MULTILINE)
    assert [row.split(" | ")[0] for row in rows] == ["| wild", "| calm"]
    assert " | not noisy | none |" in rows[1]
    assert re.search(r" \| 2026-01-01 \| none \|$", rows[0])


def test_without_a_trust_test_cannot_tell_names_the_command_that_makes_one(tmp_path, capsys):
    for number, elapsed_ms in ((1, 100), (2, 104)):
        add_run(tmp_path / "reports", f"tiny/run-07_{number}", samples=90, elapsed_ms=elapsed_ms)
    main(["compare", "tiny/run-07_1", "tiny/run-07_2", f"--reports={tmp_path / 'reports'}"], "aggregate.py")
    out = capsys.readouterr().out
    assert "**CANNOT TELL" in out
    assert "- Measure which change runs of this plan can show: `lth trust --plan=tiny`\n" in out
