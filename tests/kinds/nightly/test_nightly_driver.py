"""scripts/nightly as a user calls it, with a fake JMeter at the edge of the process."""

import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path

import psutil
import pytest
from junitparser import JUnitXml

from harness.base.errors import UsageError
from harness.cli.verbs import main
from harness.storage import bucket
from tests.support.commands import command
from tests.support.moto_server import ENVIRONMENT, moto_server
from tests.support.off_host import ALIAS, host, jmx, request
from tests.support.processes import meanwhile, processes_of, wait_for, words_of
from tests.support.several import TWO_LOADS, group, several_jmx
from tests.support.tiny import TINY_PLAN, finish_script, start_script

SUITE = """format_version = 1
title = "Nights"
budget = "10m"
slack = "30s"
[[run]]
plan = "tiny"
users = 4
duration = 2
"""
SHORT = SUITE.replace("duration = 2", "duration = 1")


@pytest.fixture
def start(home, tmp_path):
    """Start scripts/nightly on a suite; output is captured as text."""

    def started(*arguments: str, suite: str = SUITE, mode: str = "works", **environment: str) -> subprocess.Popen[str]:
        return start_script("nightly", of_suite(home, tmp_path, suite, arguments), tmp_path, mode, environment)

    return started


@pytest.fixture
def finished(home, tmp_path):
    """Run scripts/nightly on a suite to its end in this process; return its exit code and its output."""

    def to_the_end(*arguments: str, suite: str = SHORT, mode: str = "works", **environment: str) -> tuple[int, str]:
        return finish_script("nightly", of_suite(home, tmp_path, suite, arguments), tmp_path, mode, environment)

    return to_the_end


def of_suite(home: Path, tmp_path: Path, suite: str, more: Sequence[str]) -> list[str]:
    """Write the suite; return the arguments of scripts/nightly on it."""
    return [*arguments(home, tmp_path, suite), f"--build={tmp_path / 'build'}", *more]


def reports_of(tmp_path: Path) -> Path:
    return tmp_path / "reports" / "nightly"


def record_of(tmp_path: Path) -> dict:
    """Return the record of the only nightly run."""
    (path,) = reports_of(tmp_path).glob("*.json")
    return json.loads(path.read_text())


def page_of(tmp_path: Path) -> str:
    (path,) = reports_of(tmp_path).glob("20*.md")
    return path.read_text()


def under_way(tmp_path: Path, number: int) -> None:
    """Wait until the run of that number takes samples."""
    (samples,) = wait_for(lambda: list((reports_of(tmp_path) / "tiny").glob(f"run-*_{number}/samples.jtl")), 60)
    wait_for(lambda: samples.read_text().count("\n") > 3, 30)


def nothing_is_left(tmp_path: Path) -> bool:
    return processes_of(tmp_path) == [] and list((tmp_path / "tmp").iterdir()) == []


def arguments(home: Path, tmp_path: Path, suite: str) -> list[str]:
    path = home / "env" / "nightly.toml"
    path.write_text(suite)
    return ["--suite", str(path), "--home", str(home), "--reports", str(reports_of(tmp_path))]


def test_a_dry_run_prints_the_order_and_starts_nothing(home, tmp_path, capsys):
    suite = SUITE.replace("[[run]]", 'repeats = 2\n[[run]]\nplan = "tiny"\n[[run]]')
    assert main([*arguments(home, tmp_path, suite), "--dry-run"], "scripts/nightly") == 0
    assert capsys.readouterr().out == (
        "Nights: 4 runs, nothing is started\n"
        "  1. tiny, profile local, round 1 of 2: 2 s\n"
        "  2. tiny, 4 users, profile local, round 1 of 2: 2 s\n"
        "  3. tiny, profile local, round 2 of 2: 2 s\n"
        "  4. tiny, 4 users, profile local, round 2 of 2: 2 s\n"
        "about 48 s in total, including 10 s for each start; the budget is 10 min\n"
        "not known yet which change runs of tiny see: lth trust tiny\n"
    )
    assert not reports_of(tmp_path).exists()


def test_a_load_with_auto_duration_is_planned_with_its_maximum(home, tmp_path, capsys):
    suite = SUITE.replace("duration = 2", 'duration = "auto"').replace('"10m"', '"20m"')
    assert main([*arguments(home, tmp_path, suite), "--dry-run"], "scripts/nightly") == 0
    assert "  1. tiny, 4 users, profile local, round 1 of 1: 600 s\n" in capsys.readouterr().out


def test_a_plan_with_several_loads_is_planned_like_any_other(home, tmp_path, capsys):
    (home / "plans" / "tiny.jmx").write_text(several_jmx(group("Browse", ""), group("Buy", "")))
    (home / "plans" / "tiny.toml").write_text(TWO_LOADS)
    suite = SUITE.replace("duration = 2", "duration = 3")
    assert main([*arguments(home, tmp_path, suite), "--dry-run"], "scripts/nightly") == 0
    assert "  1. tiny, 4 users, profile local, round 1 of 1: 3 s\n" in capsys.readouterr().out
    with pytest.raises(UsageError, match=r"nightly\.toml: tiny, 1 user: --users=1 is less than the 2 loads with users"):
        main([*arguments(home, tmp_path, suite.replace("users = 4", "users = 1")), "--dry-run"], "scripts/nightly")
    with pytest.raises(UsageError, match="it ends after a number of loops, so its duration is unknown"):
        main([*arguments(home, tmp_path, suite.replace("duration = 3", "loops = 3")), "--dry-run"], "scripts/nightly")


BAD = [
    ('plan = "tiny"', 'plan = "tinny"', "nightly.toml: tinny, 4 users: --plan=tinny: unknown; did you mean tiny?"),
    ("duration = 2", 'duration = 2\nenv = "moon"', "nightly.toml: tiny, 4 users: --env=moon: unknown; there are:"),
    (
        "duration = 2",
        "loops = 2",
        "nightly.toml: tiny, 4 users: it ends after a number of loops, so its duration is",
    ),
    (
        "duration = 2",
        "duration = 2\nramp = 5",
        "nightly.toml: tiny, 4 users: --ramp=5 is not shorter than --duration=2",
    ),
    ("duration = 2", "goal = { errors = 1 }", "nightly.toml: tiny, 4 users: --errors=1: has no % sign"),
    (
        "duration = 2",
        'goal = "p99<5"\nstop = "x"',
        "nightly.toml: tiny, 4 users: --stop=x: x is no condition; write errors",
    ),
    (
        "duration = 2",
        'goal = "Pya: p99<5"',
        "nightly.toml: tiny, 4 users: plans/tiny.jmx: the goal: no sampler or Transaction Controller has the label Pya",
    ),
    ("duration = 2", 'target = "http://10.0.0.5:1"', "nightly.toml: tiny, 4 users: --target=http://10.0.0.5:1"),
    (
        "duration = 2",
        'duration = 2\ntarget = "http://127.0.0.1:1"\nprofile = true',
        "nightly.toml: tiny, 4 users: --profile and --target cannot be used together",
    ),
    ("duration", "duratoin", "env/nightly.toml [[run]] tiny: unknown key duratoin; did you mean duration?"),
]


@pytest.mark.parametrize(("old", "new", "message"), BAD, ids=[new for _, new, _ in BAD])
def test_an_invalid_suite_is_refused_in_one_line_before_anything_runs(home, tmp_path, old, new, message):
    with pytest.raises(UsageError) as refused:
        main(arguments(home, tmp_path, SUITE.replace(old, new)), "scripts/nightly")
    assert str(refused.value).startswith(message)
    assert len(str(refused.value).splitlines()) == 1
    assert not reports_of(tmp_path).exists()


@pytest.mark.counterpart
def test_a_nightly_run_continues_after_a_run_that_a_stop_condition_ended(finished, tmp_path):
    suite = SUITE.replace("duration = 2", 'duration = 60\nstop = "errors>50% for 1s"\ngoal = "p99<5ms"\nrepeats = 2')
    code, out = finished(suite=suite, mode="all-failed")
    assert code == 1, out
    assert [(run["state"], run["exit_code"]) for run in record_of(tmp_path)["runs"]] == [("ended", 1)] * 2
    page = page_of(tmp_path)
    assert page.count("stopped early: errors above 50 % for 1 s; errors 100.00 % in the last second") == 2
    assert page.count("| p99 ≤ 5 ms | 20 ms | **missed** |") == 2
    assert page.count("| errors ≤ 1 % | 100.00 % | **missed** |") == 2
    (path,) = reports_of(tmp_path).glob("20*.xml")
    goals = next(one for one in JUnitXml.fromfile(str(path)) if one.name == "goals")
    assert (goals.tests, goals.failures) == (4, 4)


@pytest.mark.real
def test_a_nightly_run_continues_after_failed_runs_and_reports_all(finished, home, tmp_path):
    system = home / "systems" / "broken" / "system.toml"
    system.parent.mkdir()
    tiny = (home / "systems" / "tiny" / "system.toml").read_text()
    system.write_text(tiny.replace('"-m", "http.server"', '"-c", "raise SystemExit(\'no licence\')"'))
    (home / "plans" / "broken.toml").write_text(TINY_PLAN.replace('system = "tiny"', 'system = "broken"'))
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    # The broken one ends at once: that does not show how long the last one takes.
    broken = '[[run]]\nplan = "broken"\nduration = "5m"\n[[run]]'
    suite = SUITE.replace("[[run]]", broken) + "goal = { p90 = 5 }\n"
    suite += '[[run]]\nplan = "tiny"\nusers = 3\nduration = "599s"\n'
    code, out = finished(suite=suite, GITHUB_STEP_SUMMARY=str(summary))
    assert code == 1, out  # the goal that was missed counts more than the run that failed
    page = page_of(tmp_path)
    assert "\u274c **GOAL MISSED: 1 of 3 runs FAILED, 1 GOAL MISSED, 1 NOT RUN.**" in page
    assert "- FAILED: broken: lth run ended with code 3: broken: web ended with code 1" in page
    assert "p90 20 ms, goal 5 ms" in page
    assert "not enough time: it needs about 10 min" in page
    assert str(tmp_path) not in page
    states = [(run["state"], run["exit_code"]) for run in record_of(tmp_path)["runs"]]
    assert states == [("ended", 3), ("ended", 1), ("not run", None)]
    (xml,) = reports_of(tmp_path).glob("*.xml")
    found = JUnitXml.fromfile(str(xml))
    assert (found.errors, found.failures) == (1, 2)  # the run that missed its goal, and the goal
    assert summary.read_text().startswith("before\n# Nights ")
    assert "GOAL MISSED" in summary.read_text()
    # The same bytes again, out of what is stored.
    before = {path: path.read_bytes() for path in reports_of(tmp_path).glob("20*.*") if path.is_file()}
    assert rendered(reports_of(tmp_path), home, record_of(tmp_path)["name"])[0] == 1
    assert {path: path.read_bytes() for path in before} == before
    assert nothing_is_left(tmp_path)


@pytest.mark.counterpart
def test_kill_9_of_a_nightly_run_leaves_no_process_and_loses_nothing(start, finished, tmp_path):
    suite = SHORT.replace("duration = 1", "duration = 1\nrepeats = 2")
    process = start(suite=suite)
    under_way(tmp_path, 2)
    process.kill()
    process.wait()
    process.stdout.close()
    wait_for(lambda: nothing_is_left(tmp_path), 30)
    code, out = finished("--resume", suite=suite)
    assert code == 0, out
    assert "resumed after 1 run\n" in out
    runs = record_of(tmp_path)["runs"]
    assert [(run["state"], run["run"].rpartition("_")[2]) for run in runs] == [("ended", "1"), ("ended", "3")]
    (killed,) = (reports_of(tmp_path) / "tiny").glob("run-*_2.md")
    # Its guardian sent TERM first: a harness that had the time for it wrote its report.
    assert re.search("INTERRUPTED: stopped by hand|INVALID: the harness was killed before", killed.read_text())


@pytest.mark.real
def test_a_killed_run_is_reported_by_the_nightly(finished, tmp_path):
    def kill():
        under_way(tmp_path, 1)
        (child,) = [one for one in psutil.Process().children() if "__main__.py run" in " ".join(words_of(one))]
        child.kill()

    with meanwhile(kill):
        code, out = finished(suite=SUITE.replace("duration = 2", "duration = 8"))
    assert code == 3, out
    assert "lth run ended with code -9: it wrote no result" in page_of(tmp_path)
    assert [run["run"].rpartition("_")[2] for run in record_of(tmp_path)["runs"]] == ["1"]
    assert list(reports_of(tmp_path).glob("20*/*.result.json")) == []
    wait_for(lambda: nothing_is_left(tmp_path), 30)


@pytest.mark.counterpart
def test_a_run_that_takes_too_long_is_stopped_and_reported(finished, home, tmp_path):
    system = home / "systems" / "tiny" / "system.toml"  # never ready, and patient about it
    text = system.read_text().replace('.http }}/"', '.http }}/nowhere"')
    system.write_text(text.replace("deadline_s = 20", "deadline_s = 90"))
    profile = home / "env" / "local.toml"
    profile.write_text(profile.read_text().replace("overrun_s = 30", "overrun_s = 1"))
    code, out = finished(suite=SUITE.replace('slack = "30s"', 'slack = "2s"'))
    assert code == 3, out
    # Two seconds of load, one of overrun, two of slack.
    assert "- FAILED: tiny, 4 users: stopped after 5 s: it hung; [its output](" in page_of(tmp_path)
    assert nothing_is_left(tmp_path)


def believed(folder):
    """Make runs of a second VALID: they are DOUBTFUL, and what is doubtful is not judged."""
    for path in folder.glob("*/run-*.json"):
        data = json.loads(path.read_text())
        assert data["verdict"]["state"] in ("VALID", "DOUBTFUL"), data["verdict"]
        data["verdict"] = {**data["verdict"], "state": "VALID", "reasons": []}
        path.write_text(json.dumps(data))


def rendered(folder, home, name):
    """Return exit code and output of rendering a nightly report again."""
    done = command("aggregate.py", "nightly", name, "--reports", folder, "--home", home)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.real
@pytest.mark.counterpart
def test_a_slower_nightly_run_warns_and_the_next_one_fails(finished, home, tmp_path):
    code, out = finished()
    assert code == 0, out
    assert "DOUBTFUL: 1 of 1 run DOUBTFUL. 1 load not judged: no run is VALID." in out
    believed(reports_of(tmp_path))
    today = date.fromisoformat(record_of(tmp_path)["name"][:10])
    for days in range(1, 11):
        as_of(reports_of(tmp_path), today, today - timedelta(days=days))
    forget(reports_of(tmp_path), today)
    code, out = finished(mode="queueing")  # 40 ms instead of 20
    assert code == 0, out
    believed(reports_of(tmp_path))
    code, out = rendered(reports_of(tmp_path), home, str(today))
    assert code == 0, out
    assert "WARNED: average 20 → 40 ms (+100.0 %) for the first time." in out
    as_of(reports_of(tmp_path), today, today - timedelta(days=1))
    code, out = finished(mode="queueing")  # judged with the run of the first nightly run of this date
    assert code == 1, out
    assert "REGRESSED: average 20 → 40 ms (+100.0 %). 1 of 1 run DOUBTFUL." in out
    page = (reports_of(tmp_path) / f"{today}-2.md").read_text()
    yesterday = today - timedelta(days=1)
    assert re.search(r"^\u274c \*\*REGRESSED: ", page, re.MULTILINE)
    assert "TOTAL average ms: 40 against 20 (+100.00 %, limit" in page
    assert f"since {yesterday}" in page
    assert f"accept --since {yesterday} --plan tiny --users 4" in page
    (chart,) = (reports_of(tmp_path) / f"{today}-2").glob("*.svg")
    assert f"]({today}-2/{chart.name})" in page
    reports_of_runs = [path.read_text() for path in reports_of(tmp_path).glob("tiny/run-*.md")]
    assert len(reports_of_runs) == 2
    assert not any("Compared with" in text for text in reports_of_runs)  # the gate is the judge
    # The folder of the nightly runs is a folder of reports, and the one above it does not take it for a plan.
    for reports in (reports_of(tmp_path), reports_of(tmp_path).parent):
        assert command("aggregate.py", "summary", reports).returncode == 0
    assert "nightly" not in (reports_of(tmp_path).parent / "SUMMARY.md").read_text()
    assert command("aggregate.py", "site", reports_of(tmp_path), "--output", tmp_path / "site").returncode == 0


@pytest.mark.real
@pytest.mark.counterpart
def test_a_nightly_run_downloads_earlier_metrics_uploads_its_runs_and_survives_a_lost_storage(
    finished, tmp_path, monkeypatch
):
    import boto3  # deferred: it takes long to load

    monkeypatch.setattr(bucket, "_LATER_S", 0.1)
    arguments = ("--s3", "s3://kept/load")
    with moto_server() as address:
        access = {**ENVIRONMENT, "AWS_ENDPOINT_URL": address}
        keys = {"aws_access_key_id": "x", "aws_secret_access_key": "y", "region_name": "us-east-1"}
        client = boto3.client("s3", endpoint_url=address, **keys)
        assert finished(*arguments, **access)[0] == 2  # there is no such bucket
        assert not list(reports_of(tmp_path).glob("20*"))
        client.create_bucket(Bucket="kept")
        assert finished(*arguments, **access)[0] == 0
        shutil.rmtree(reports_of(tmp_path))  # another machine: it has no memory
        code, out = finished(*arguments, **access)
        assert code == 0, out
        assert record_of(tmp_path)["runs"][0]["run"].endswith("_2")
        assert record_of(tmp_path)["storage_problems"] == []
        keys = [found["Key"] for found in client.list_objects_v2(Bucket="kept")["Contents"]]
        assert len({key.partition("/run=")[2].partition("/")[0] for key in keys}) == 2
    shutil.rmtree(reports_of(tmp_path))
    code, out = finished(*arguments, **access)
    assert code == 3, out
    page = page_of(tmp_path)
    assert "- STORAGE: metrics of earlier nightly runs were not downloaded: " in page
    assert "- STORAGE: tiny/run-" in page
    assert "lth push tiny/run-" in page.replace("\\", "")
    assert "testing-secret" not in out + page


def as_of(reports: Path, day: date, other: date) -> None:
    """Put the first run of a day into the reports as if it had been measured on another one."""
    old, new = (f"run-{one:%y%m%d}_1" for one in (day, other))
    text = (reports / "tiny" / f"{old}.json").read_text()
    (reports / "tiny" / f"{new}.json").write_text(text.replace(old, new).replace(day.isoformat(), other.isoformat()))


def forget(reports: Path, day: date) -> None:
    """Remove the nightly run of a day with its runs."""
    for path in (*reports.glob(f"{day}*"), *(reports / "tiny").glob(f"run-{day:%y%m%d}*")):
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def test_a_plan_that_could_leave_its_target_ends_a_nightly_before_anything_runs(home, tmp_path):
    (home / "plans" / "tiny.jmx").write_text(jmx(request(host(ALIAS))))
    with pytest.raises(UsageError, match=rf"tiny, 4 users: plans/tiny\.jmx:.*Buy: uses the host {ALIAS}|tiny: plans/"):
        main(arguments(home, tmp_path, SUITE), "scripts/nightly")
    assert not reports_of(tmp_path).exists()
