"""Goals are judged on results that exist: exit code 1 for a missed one, 3 where the results are INVALID."""

from __future__ import annotations

import gzip
import json

import pytest

from harness.base.errors import UsageError
from harness.base.project import current_project
from harness.cli.verbs import main
from tests.support.paths import ROOT


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project with a plan `shop`, whose goal is a p95 of 150 ms."""
    (tmp_path / "loadtest.toml").write_text("")
    (tmp_path / "plans").mkdir()
    (tmp_path / "plans" / "shop.jmx").write_bytes((ROOT / "plans" / "folio-checkin.jmx").read_bytes())
    load = "[load]\nusers = 1\nduration_s = 60\n"
    text = f'format_version = 1\ntitle = "Shop"\nshape = "shop.jmx"\n{load}[goal]\np95_ms = 150\n'
    (tmp_path / "plans" / "shop.toml").write_text(text)
    monkeypatch.chdir(tmp_path)
    current_project.cache_clear()
    yield tmp_path
    current_project.cache_clear()


@pytest.fixture
def results(tmp_path):
    """Two labels of 100 and 200 ms, 600 samples of each in two minutes; one in a hundred fails."""
    rows = (
        f"{1_700_000_000_000 + number * 100},{200 if number % 2 else 100},{'Pay' if number % 2 else 'List'},"
        f"{'false' if number % 100 == 0 else 'true'}\n"
        for number in range(1200)
    )
    path = tmp_path / "results.jtl"
    path.write_text("timeStamp,elapsed,label,success\n" + "".join(rows))
    return path


@pytest.mark.parametrize(
    ("goal", "code", "text"),
    [
        ("p95<500, errors<2%", 0, "Goal met: p95 200 ms, goal 500 ms."),
        ("p95<150", 1, "Goal missed: p95 200 ms, goal 150 ms."),
        ("errors<0.5%", 1, "Goal missed: errors 1.00 %"),
        ("List: p99<150, Pay: p99<150", 1, "Goal met: List: p99 100 ms, goal 150 ms."),
    ],
)
def test_a_table_judges_goals_and_fails_when_one_is_missed(results, capsys, goal, code, text):
    assert main(["table", str(results), "--goal", goal]) == code
    assert text in capsys.readouterr().out


def test_the_json_of_a_table_has_each_goal_with_its_value(results, capsys):
    assert main(["table", str(results), "--goal", "p95<150", "--format", "json"]) == 1
    (goal,) = json.loads(capsys.readouterr().out)["verdict"]["goals"]
    assert (goal["metric"], goal["max"], goal["measured"], goal["is_met"]) == ("p95_ms", 150, 200, False)


def test_without_a_goal_no_goal_is_judged(results, capsys):
    assert main(["table", str(results)]) == 0
    assert "Goal" not in capsys.readouterr().out


def test_goals_of_invalid_results_are_not_judged_and_the_exit_code_is_3(tmp_path, capsys):
    rows = "".join(f"{1_700_000_000_000 + number * 100},5,a,{'true' if number % 2 else 'x'}\n" for number in range(400))
    (tmp_path / "a.jtl").write_text("timeStamp,elapsed,label,success\n" + rows)
    assert main(["table", str(tmp_path / "a.jtl"), "--goal", "p95<500"]) == 3
    assert "No goal was judged: the results are INVALID." in capsys.readouterr().out


def test_a_goal_for_errors_says_how_many_are_expected(results, capsys):
    text = results.read_text().replace("true", "false", 200)
    results.write_text(text)
    main(["table", str(results)])
    assert "no goal limits errors" in capsys.readouterr().out
    assert main(["table", str(results), "--goal", "errors<30%"]) == 0
    assert "no goal limits errors" not in capsys.readouterr().out


def test_a_report_of_a_file_judges_goals_and_shows_them(results, tmp_path, capsys):
    into = tmp_path / "reports" / "shop" / "run-01_1"
    assert main(["report", str(results), "--into", str(into), "--goal", "p95<150, errors<2%"]) == 1
    report = into.with_suffix(".md").read_text(encoding="utf-8")
    assert "| p95 ≤ 150 ms | 200 ms | **missed** |" in report
    assert "| errors ≤ 2 % | 1.00 % | met |" in report
    assert "Goal missed" in capsys.readouterr().out or "1 of 2 goals missed" in report


@pytest.mark.real
def test_a_report_of_a_file_applies_the_goals_of_the_plan_whose_run_it_becomes(project, results, capsys):
    assert main(["report", str(results), "--into", "reports/shop/run-01_1"]) == 1
    assert "| p95 ≤ 150 ms | 200 ms | **missed** |" in (project / "reports/shop/run-01_1.md").read_text("utf-8")
    assert main(["report", str(results), "--into", "reports/shop/run-01_2", "--goal", "p95<300"]) == 0
    assert main(["report", str(results), "--into", "reports/other/run-01_1"]) == 0
    (project / "plans" / "shop.toml").write_text("title = 1\n")
    capsys.readouterr()
    assert main(["report", str(results), "--into", "reports/shop/run-01_3"]) == 0
    assert "The goals of the plan shop are not applied: plans/shop.toml: " in capsys.readouterr().err


@pytest.mark.parametrize("kept", [1.0, 0.6])
def test_the_run_of_a_packed_file_that_is_cut_lacks_its_rows_as_its_table_does(results, tmp_path, capsys, kept):
    packed, into = gzip.compress(results.read_bytes()), tmp_path / "reports" / "shop" / "run-01_1"
    file = results.with_suffix(".jtl.gz")
    file.write_bytes(packed[: int(len(packed) * kept)])
    for arguments in (["table", str(file)], ["report", str(file), "--into", str(into)]):
        assert main(arguments) == 0
        assert ("A file ends early: its last rows are missing" in capsys.readouterr().out) is (kept < 1)


def test_the_report_of_a_run_keeps_the_goals_of_its_plan(tmp_path):
    with pytest.raises(UsageError, match="a run has the goals of its plan; judge another one: lth table"):
        main(["report", str(tmp_path), "--goal", "p95<150"])


def test_a_wrong_goal_is_refused_in_one_line_before_the_file_is_read(tmp_path):
    with pytest.raises(UsageError, match="write conditions such as p95<1500") as refused:
        main(["table", str(tmp_path / "none.jtl"), "--goal", "fast"])
    assert "\n" not in str(refused.value)
