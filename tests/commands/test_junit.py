"""--junit: verdict, goals and runs as JUnit XML, of every verb that judges."""

import pytest

from harness.base.errors import InvalidRunError
from harness.base.project import current_project
from harness.cli.verbs import ALIASES, LOADS, VERBS, parser_of
from harness.report.junit_files import JUnitFile
from tests.support.commands import command
from tests.support.junit_cases import cases_in
from tests.support.report_folder import add_run

_PROJECT = 'format_version = 1\nplan = "shop"\n'
_OTHERS = ("table", "report", "compare", "experiment", "sweeps", "release")


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project with a run that is VALID, one that missed its goal, and one that is INVALID."""
    monkeypatch.chdir(tmp_path)
    current_project.cache_clear()
    (tmp_path / "loadtest.toml").write_text(_PROJECT)
    reports = tmp_path / "reports"
    add_run(reports, "shop/run-01_1", elapsed_ms=100)
    add_run(reports, "shop/run-01_2", elapsed_ms=100, failures=5)
    add_run(reports, "shop/run-02_1", elapsed_ms=100, failures=100)
    yield tmp_path
    current_project.cache_clear()


def cases(*arguments, code=0):
    """Return the exit code's cases by suite: name and what became of each."""
    done = command("lth", *arguments, "--junit=cases.xml")
    assert done.returncode == code, done
    return cases_in("cases.xml")


@pytest.mark.real
@pytest.mark.usefixtures("project")
def test_verdict_and_each_goal_of_a_run_are_test_cases():
    assert cases("report", "run-01_1") == {
        "verdict": {"shop/run-01_1": "passed"},
        "goals": {"shop/run-01_1: p90 ≤ 1000 ms": "passed", "shop/run-01_1: errors ≤ 1 %": "passed"},
    }
    assert cases("report", "run-01_2") == {
        "verdict": {"shop/run-01_2": "failed"},
        "goals": {"shop/run-01_2: p90 ≤ 1000 ms": "passed", "shop/run-01_2: errors ≤ 1 %": "failed"},
    }
    assert cases("report", "run-02_1") == {"verdict": {"shop/run-02_1": "error"}}


@pytest.mark.real
@pytest.mark.usefixtures("project")
def test_each_file_of_a_table_is_a_test_case_with_the_goals_that_were_given():
    good, bad = (f"reports/shop/run-0{number}_1/samples.jtl" for number in (1, 2))
    assert cases("table", good, "--goal=p95<50", code=1) == {
        "verdict": {"samples.jtl": "failed"},
        "goals": {"samples.jtl: p95 ≤ 50 ms": "failed"},
    }
    assert cases("table", "--each", good, bad)["verdict"] == {good: "passed", bad: "error"}


@pytest.mark.real
@pytest.mark.usefixtures("project")
def test_each_metric_of_a_comparison_is_a_test_case():
    found = cases("compare", "run-01_1", "run-01_2", "--format=json", code=3)
    assert found["verdict"] == {"shop/run-01_1 → shop/run-01_2": "error"}
    assert found["metrics"]["Pay: p95"] == "skipped"  # nothing is judged of an INVALID run
    assert cases("compare", "run-01_1", "run-01_2", code=3) == found


def test_every_verb_that_judges_takes_it():
    judging = {*LOADS, *_OTHERS} - {"check"}
    assert judging <= {*VERBS, *ALIASES}
    for verb in judging:
        taken = parser_of(ALIASES.get(verb, (verb,))[0]).get_default("taken")
        assert "junit" in [one.name for one in taken], verb


@pytest.mark.real
@pytest.mark.usefixtures("project")
def test_an_earlier_file_does_not_survive_a_command_that_measured_nothing():
    cases("report", "run-01_1")
    assert command("lth", "report", "run-09_9", "--junit=cases.xml").returncode == 2
    with pytest.raises(FileNotFoundError):
        cases_in("cases.xml")
    refused = command("lth", "report", "run-01_1", "--junit=none/cases.xml")
    assert (refused.returncode, refused.stderr) == (
        2,
        "lth report: --junit=none/cases.xml: not a file in an existing folder; name another file\n",
    )


def test_an_error_after_the_start_is_a_test_case(tmp_path):
    path = tmp_path / "cases.xml"
    with pytest.raises(InvalidRunError), JUnitFile(path):
        raise InvalidRunError("shop/run-01_1: no samples")
    assert cases_in(path) == {"command": {"exit code": "error"}}
    assert "shop/run-01_1: no samples" in path.read_text()
    with JUnitFile(path) as file:  # a VALID run that could not be uploaded
        file.add({"result": {"kind": "run", "title": "shop/run-01_1", "verdict": "VALID", "headline": "VALID."}})
        file.end(3)
    assert cases_in(path) == {"verdict": {"shop/run-01_1": "passed"}, "command": {"exit code": "error"}}
