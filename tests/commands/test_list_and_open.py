"""`lth list` and `lth open`, and the names -1 and -2: the newest runs without a look into a folder."""

import json
import os
import sys
import time
from datetime import UTC, datetime, timedelta

import pytest

from harness.base.project import current_project
from harness.run.directory import RunDirectory
from harness.run.record import RUNNING
from tests.support.commands import command
from tests.support.paths import ROOT
from tests.support.report_folder import add_run, add_samples
from tests.support.terminals import in_terminal, screen

LOADTEST = 'format_version = 1\nplan = "shop"\n'


def started(hours_ago):
    return (datetime.now(UTC) - timedelta(hours=hours_ago, minutes=1)).strftime("%Y-%m-%dT%H:%M:%SZ")


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project with two plans; the newest run is that of the other plan, and run-02 of shop is older than run-01."""
    monkeypatch.chdir(tmp_path)
    current_project.cache_clear()
    (tmp_path / "loadtest.toml").write_text(LOADTEST)
    reports = tmp_path / "reports"
    add_run(reports, "shop/run-02_1", started_at=started(50), elapsed_ms=100)
    add_run(reports, "shop/run-01_1", started_at=started(30), elapsed_ms=200)
    add_run(reports, "shop/run-01_2", started_at=started(3), elapsed_ms=400, failures=3)
    add_run(reports, "other/run-01_2", started_at=started(1), users=7)
    yield tmp_path
    current_project.cache_clear()


def printed(*arguments, code=0):
    done = command("lth", *arguments, DISPLAY="", WAYLAND_DISPLAY="", BROWSER="")
    assert (done.returncode, done.stderr) == (code, ""), done
    return done.stdout


def refused(*arguments):
    done = command("lth", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    return done.stderr


@pytest.mark.real
@pytest.mark.usefixtures("project")
def test_runs_are_listed_newest_first_with_verdict_load_and_key_metrics():
    head, *rows = printed("list").splitlines()
    assert head.split() == ["run", "age", "verdict", "users", "req/s", "p95", "ms", "errors", "%", "goal"]
    assert [row.split()[0] for row in rows] == ["other/run-01_2", "shop/run-01_2", "shop/run-01_1", "shop/run-02_1"]
    assert [row.split()[1:3] for row in rows] == [["1", "h"], ["3", "h"], ["1", "d"], ["2", "d"]]
    assert rows[0].split()[3:] == ["✔", "VALID", "7", "1.00", "102", "0.00", "met"]
    assert rows[1].split()[-3:] == ["402", "1.69", "missed"]


@pytest.mark.real
@pytest.mark.usefixtures("project")
def test_the_number_of_runs_and_the_plan_limit_the_list_which_says_what_is_left_out():
    assert printed("list", "-n", "1").splitlines()[1:][-1] == "3 more: lth list -n 4"
    *_, trend = printed("list", "shop").splitlines()
    assert trend == "p95, oldest first: ▃▅█  102 to 402 ms in 3 runs with the newest run's load"
    assert "oldest first" not in printed("list")
    assert "did you mean shop? there are runs of: other, shop" in refused("list", "shp")


@pytest.mark.real
@pytest.mark.usefixtures("project")
def test_the_list_is_printed_as_json_with_exact_numbers():
    found = json.loads(printed("list", "shop", "-n", "2", "--json"))
    assert (found["format_version"], found["left_out_count"]) == (1, 1)
    newest = found["runs"][0]
    assert (newest["run"], newest["verdict"], newest["users"], newest["p95_ms"]) == ("shop/run-01_2", "VALID", 2, 402)
    assert newest["error_ratio"] == 2 / 118 and newest["problem"] is None


def test_a_project_without_runs_is_told_how_to_make_one(tmp_path):
    assert printed("list", "--reports", tmp_path) == "No runs yet: lth run makes one.\n"
    assert "no report; lth run makes one" in refused("open", "--reports", tmp_path)


@pytest.mark.real
def test_two_thousand_runs_are_listed_without_reading_them_all(tmp_path):
    folder = tmp_path / "many"
    one = add_run(tmp_path / "first", "many/run-01_1")
    text = one.summary_json.read_text()
    folder.mkdir()
    for number in range(1, 2001):
        day = f"2026-01-{1 + number // 100:02}T00"
        (folder / f"run-01_{number}.json").write_text(text.replace("2026-01-01T00", day))
    began = time.process_time()
    assert printed("list", "--reports", tmp_path, "-n", "2").splitlines()[1].startswith("many/run-01_2000 ")
    assert time.process_time() - began < 1.0


@pytest.mark.real
@pytest.mark.usefixtures("project")
def test_the_newest_runs_are_names_of_the_projects_plan():
    answer = json.loads(command("lth", "compare", "-2", "-1", "--format=json").stdout)
    assert answer["command"] == "lth compare shop/run-01_1 shop/run-01_2"
    assert json.loads(command("lth", "compare", "--format=json").stdout) == answer
    assert "shop has 3 runs; lth list lists all" in refused("compare", "-4", "-1")
    assert "run-01_2" in printed("baseline", "-1")
    assert "baseline is run-01_2" in printed("baseline", "other/-1")


@pytest.mark.real
@pytest.mark.usefixtures("project")
def test_a_name_that_two_plans_have_is_that_of_the_projects_plan():
    assert "reports/shop/pinned.toml: baseline is run-01_2" in printed("baseline", "run-01_2")
    assert "reports/other/pinned.toml: baseline is run-01_2" in printed("baseline", "run-01_2", "-p", "other")


@pytest.mark.real
def test_a_run_has_one_name_for_all_that_read_samples_also_while_it_has_no_report(project):
    reports = project / "reports"
    (reports / "shop" / "run-02_1").rename(reports / "shop" / "run-05_1-d520")
    whole = printed("table", "shop/run-05_1-d520")
    for name in ("shop/run-05_1", "run-05_1-d520", "run-05_1", "run-05_*", reports / "shop" / "run-05_1-d520"):
        assert printed("table", name) == whole
        assert "tally: 120 samples" in printed("tally", name, "-o", project / "x.tally")
    assert "did you mean shop/run-05_1-d520?" in refused("table", "shop/run-05_1-d521")


@pytest.mark.real
def test_a_table_of_a_run_says_how_it_ended(project):
    killed = "the harness was killed before this run ended"
    ends = {
        "run-06_1-d520": ({"state": RUNNING}, 3, f"INVALID: {killed}."),
        "run-07_1-d520": ({"interrupted": True}, 130, "INTERRUPTED: stopped by hand before its end: "),
        "run-08_1-d520": ({"stop_reasons": ("JMeter ended with code 1",)}, 3, "INVALID: JMeter ended with code 1."),
        "run-09_1-d520": ({}, 0, ""),
    }
    for name, (changes, code, said) in ends.items():
        add_samples(project / "reports", f"shop/{name}", **changes)
        done = command("lth", "table", f"shop/{name}", "--sure")
        assert (done.returncode, said in done.stdout, "| Pay" in done.stdout) == (code, True, True), done
        assert ("VALID" in done.stdout) is bool(code and "INVALID" in said)
    with RunDirectory(project / "reports" / "shop" / "run-06_1-d520").held():
        for verb in (("table",), ("report",), ("tally", "-o", "x.tally"), ("compare", "-1")):
            said = refused(*verb, "shop/run-06_1")
            assert said == f"lth {verb[0]}: shop/run-06_1-d520: it is running; wait: its report is written at its end\n"


@pytest.mark.real
@pytest.mark.usefixtures("project")
def test_the_history_is_that_of_the_projects_plan():
    before = sorted(current_project().folder.rglob("*"))
    assert "# shop: TOTAL over time\n" in printed("history")
    assert sorted(current_project().folder.rglob("*")) == before  # nothing is written unasked
    assert printed("history", "--save").startswith("reports/shop/history-TOTAL-average.md: 3 runs")


@pytest.mark.real
def test_a_terminal_gets_a_short_history_and_no_file(project):
    before = sorted(project.rglob("*"))
    command_line = (sys.executable, ROOT / "harness" / "__main__.py", "history")
    lines = screen(in_terminal(100, command_line).text)
    assert lines[0] == "3 runs; average: no lasting change."
    assert lines[2].split() == ["run", "started", "UTC", "verdict", "average", "ms", "change", "%"]
    assert [line.split()[0] for line in lines[3:6]] == ["run-01_2", "run-01_1", "run-02_1"]
    assert [line for line in lines if "oldest" in line] == ["average, oldest first: ▃▅█  101 to 401 ms in 3 VALID runs"]
    assert "The page with charts: lth history --plan shop --save" in lines
    assert sorted(project.rglob("*")) == before


@pytest.mark.real
def test_the_report_written_last_is_opened_and_its_path_printed_where_there_is_no_browser(project):
    assert printed("open", "other/run-01_2") == "reports/other/run-01_2.html\n"
    page = project / "reports/other/run-01_2.html"
    assert "<html" in page.read_text()
    later = time.time_ns() + 10**9
    os.utime(project / "reports/shop/run-01_1.md", ns=(later, later))
    assert printed("open") == "reports/shop/run-01_1.html\n"
    assert "no-such" in refused("open", "no-such")


@pytest.mark.real
def test_a_browser_gets_the_address_of_the_page(project, tmp_path, monkeypatch):
    opened = tmp_path / "opened"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > {opened}\n')
    browser.chmod(0o755)
    monkeypatch.setattr("webbrowser._tryorder", None)  # it reads $BROWSER once
    done = command("lth", "open", "-1", BROWSER=str(browser))
    assert done.returncode == 0
    assert opened.read_text() == (project / "reports/shop/run-01_2.html").as_uri()


@pytest.mark.real
@pytest.mark.usefixtures("project")
def test_a_command_about_one_run_takes_the_newest_one():
    assert printed("report").startswith("reports/shop/run-01_2.md: VALID")
    assert printed("export").startswith("reports/shop/run-01_2/export/seconds.csv")
    table = command("lth", "table", "reports/shop/run-01_2", "--only=TOTAL").stdout
    assert "| TOTAL | 120 | 401 |" in table
    for name in ("-1", "run-01_2", "shop/run-01_2"):
        assert command("lth", "table", name, "--only=TOTAL").stdout == table
    assert "lth report: RUN is missing; name the runs to merge" in refused("report", "--merge")


@pytest.mark.real
@pytest.mark.usefixtures("project")
def test_a_topic_that_has_no_page_names_the_pages_that_speak_of_it():
    said = refused("help", "hadolint")
    assert "hadolint: no page of this name; it is in the pages containers; lth help containers prints one" in said
    assert printed("help", "junit").startswith("CI\n")


@pytest.mark.real
def test_compare_alone_takes_the_last_run_of_the_same_load(project):
    """Not just the two newest: run-01_3 has other users, and of run-01_2 too many samples failed to be compared."""
    add_run(project / "reports", "shop/run-01_3", started_at=started(2), users=9, elapsed_ms=100)
    add_run(project / "reports", "shop/run-01_4", started_at=started(1), elapsed_ms=100)
    answer = json.loads(command("lth", "compare", "--format=json").stdout)
    assert answer["command"] == "lth compare shop/run-01_1 shop/run-01_4"
