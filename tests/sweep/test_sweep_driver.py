"""scripts/sweep and scripts/capacity as a user calls them: a fake JMeter at the edge, and once the real one."""

import json
from pathlib import Path

import psutil
import pytest

from harness.base.command import Command
from harness.base.errors import UsageError
from harness.base.install import toolchain
from harness.cli.verbs import main
from tests.support.markdown_rows import rows_of
from tests.support.paths import FAKE_JMETER
from tests.support.processes import meanwhile, press_ctrl_c, processes_of, wait_for, words_of
from tests.support.several import TWO_LOADS, group, several_jmx
from tests.support.tiny import DUMMY_JMX, run_json

LEVELS = ("--users", "1,2,3", "--duration", "2", "--warmup", "0")


def sweep_json(tmp_path: Path, name: str = "sweep-01") -> dict:
    return json.loads((tmp_path / "reports" / "tiny" / f"{name}.json").read_text())


def measured(tmp_path: Path, name: str = "sweep-01") -> list[tuple[int, int, str]]:
    """Return (users, round, run) of the levels that count."""
    return [
        (run["users"], run["repeat"], run["run"])
        for run in sweep_json(tmp_path, name)["runs"]
        if run["state"] == "ended"
    ]


def broken_off(tmp_path: Path) -> list[tuple[int, int, str]]:
    """Return (users, round, run) of the runs that did not end."""
    return [
        (run["users"], run["repeat"], run["run"]) for run in sweep_json(tmp_path)["runs"] if run["state"] != "ended"
    ]


def under_way(tmp_path: Path, name: str) -> None:
    """Wait until the run takes samples."""
    samples = tmp_path / "reports" / "tiny" / name / "samples.jtl"
    wait_for(lambda: samples.is_file() and samples.read_text().count("\n") > 3, 60)


def nothing_is_left(tmp_path: Path) -> bool:
    return processes_of(tmp_path) == [] and list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.counterpart
def test_a_sweep_stopped_in_its_second_level_resumes_there(finished, home, tmp_path):
    """The rest is measured with the real JMeter."""
    (home / "plans" / "tiny.jmx").write_text(DUMMY_JMX)
    command = ("sweep", "--users", "1,2", "--duration", "2", "--warmup", "1", "--note", "before the fix")

    def interrupt():
        under_way(tmp_path, "run-01_2")
        press_ctrl_c()

    with meanwhile(interrupt):
        code, out = finished(*command)
    assert code == 130, out
    assert "warm-up, not counted: closed model, 2 users, ramp 0 s, 1 s in all" in out
    assert "not finished; resume with: lth sweep --plan=tiny --resume=01\n" in out
    assert measured(tmp_path) == [(1, 1, "run-01_1")]
    assert broken_off(tmp_path) == [(2, 1, "run-01_2")]
    reports = tmp_path / "reports" / "tiny"
    assert "INTERRUPTED" in (reports / "run-01_2.md").read_text()
    assert "[run-01_1](run-01_1.md)" in (reports / "sweep-01.md").read_text()
    assert nothing_is_left(tmp_path)

    code, out = finished(*command, JMETER_HOME=str(toolchain.ensure_jmeter()))
    assert code == 0, out
    assert "tiny/sweep-01: resumed after 1 run (--new starts another sweep)" in out
    assert "level 2 of 2, 2 users" in out
    assert out.count(": ready after") == 1  # the system was kept up
    assert measured(tmp_path) == [(1, 1, "run-01_1"), (2, 1, "run-01_3")]
    assert sweep_json(tmp_path)["state"] == "finished"
    assert len(list(reports.glob("run-*.md"))) == 3  # the warm-ups left none
    last = run_json(tmp_path / "reports", "run-01_3")
    assert (last["load"]["users"], last["command"]) == (2, "lth run --plan=tiny --duration=2 --users=2")
    assert ["warm-up", "1 s before the first level of the sweep"] in last["system_facts"]
    assert last["kept_up"] is True
    assert (reports / "run-01_3" / "system" / "web.log").read_text() == ""  # its start was before the run
    assert last["note"] == "before the fix\n\nA level of [sweep-01](sweep-01.md)."
    text = (reports / "run-01_3.md").read_text()
    assert "| web |" in text
    assert "- system: tiny, started here, running across several runs\n" in text
    report = (reports / "sweep-01.md").read_text()
    assert "before the fix" in report
    assert str(tmp_path) not in report
    assert nothing_is_left(tmp_path)


@pytest.mark.real
def test_goal_stop_conditions_and_headers_of_the_command_line_are_those_of_each_level(finished, tmp_path):
    given = ("--goal", "p95<700, errors<20%", "--stop", "errors>50% for 1s", "--header", "X-Tenant: blue")
    secrets = ("--header", "X-Token: $SHOP_TOKEN", "--header", "X-Api-Key: k-4711-77")
    levels = ("--users", "1,2", "--duration", "60", "--warmup", "1")
    code, out = finished("sweep", *levels, *given, *secrets, mode="all-failed", SHOP_TOKEN="of-the-environment")
    assert code == 0, out
    assert "warm-up: " not in out  # it was not stopped
    reports = tmp_path / "reports"
    goal, stop = "'--goal=p95<700, errors<20%'", "'--stop=errors>50% for 1s'"
    headers = "'--header=X-Tenant: blue' '--header=X-Token: $SHOP_TOKEN' '--header=X-Api-Key: •••'"
    for name, users in (("run-01_1", 1), ("run-01_2", 2)):
        run = run_json(reports, name)
        assert run["stopped_early"].startswith("errors above 50 % for 1 s")
        assert (run["goal"]["p95_ms"], run["goal"]["p90_ms"], run["goal"]["error_ratio"]) == (700, None, 0.2)
        assert run["headers"] == {"X-Tenant": "blue", "X-Token": "$SHOP_TOKEN", "X-Api-Key": "•••"}
        assert run["command"] == f"lth run --plan=tiny {headers} --duration=60 {goal} {stop} --users={users}"
    command = f"lth sweep --users=1,2 --plan=tiny {headers} --duration=60 {goal} {stop} --warmup=1"
    assert sweep_json(tmp_path)["command"] == command
    report = (reports / "tiny" / "sweep-01.md").read_text()
    assert "\nGoal: p95 ≤ 700 ms, errors ≤ 20 %.\n" in report
    assert "Stopped early: errors above 50 % for 1 s" in report
    stored = [path.read_bytes() for path in reports.rglob("*") if path.is_file()]
    assert not [text for text in stored if b"of-the-environment" in text or b"k-4711-77" in text]
    assert nothing_is_left(tmp_path)


@pytest.mark.counterpart
def test_the_levels_of_a_plan_with_several_loads_scale_all_of_them(finished, home, tmp_path):
    (home / "plans" / "tiny.jmx").write_text(several_jmx(group("Browse", ""), group("Buy", "")))
    (home / "plans" / "tiny.toml").write_text(TWO_LOADS + 'goal = "p90<500"\n')
    code, out = finished("sweep", "--users", "3,9", "--duration", "1", "--warmup", "1")
    assert code == 0, out
    reports = tmp_path / "reports"
    for name, users in (("run-01_1", [2, 1]), ("run-01_2", [6, 3])):
        load = run_json(reports, name)["load"]
        assert [one["stages"][0]["users"] for one in load["loads"]] == users
        assert load["users"] == sum(users)
        summary = json.loads((reports / "tiny" / f"{name}.json").read_text())
        assert [one["users_most"] for one in summary["loads"]] == users
        assert [goal["load"] for goal in summary["verdict"]["goals"]] == ["", "Buy"]
    code, out = finished("sweep", "--users", "1,3", "--new")
    assert code == 2
    assert "--users=1 is less than the 2 loads with users, so one would have none" in out
    assert nothing_is_left(tmp_path)


@pytest.mark.counterpart
def test_a_system_that_dies_is_restarted_and_the_sweep_continues(finished, tmp_path):
    def kill():
        under_way(tmp_path, "run-01_2")
        (server,) = [found for found in psutil.Process().children() if "http.server" in words_of(found)]
        server.kill()

    with meanwhile(kill):
        code, out = finished("sweep", *LEVELS)
    assert code == 3, out
    assert out.count(": ready after") == 2
    assert [users for users, _, _ in measured(tmp_path)] == [1, 2, 3]
    states = [
        json.loads((tmp_path / "reports" / "tiny" / f"run-01_{number}.json").read_text())["verdict"]["state"]
        for number in (1, 2, 3)
    ]
    assert [state == "INVALID" for state in states] == [False, True, False]
    assert sweep_json(tmp_path)["state"] == "finished"
    assert nothing_is_left(tmp_path)


@pytest.mark.real
def test_three_invalid_levels_in_a_row_stop_a_sweep_with_the_reason(finished, target, tmp_path):
    command = ("sweep", "--users", "1,2,3,4", "--duration", "1", "--warmup", "0", "--target", target)
    code, out = finished(*command, mode="all-failed")
    assert code == 3, out
    assert "stopped after 3 INVALID runs in a row, the last one because all " in out
    assert [users for users, _, _ in measured(tmp_path)] == [1, 2, 3]
    code, out = finished(*command)  # the cause is removed: what is left is measured, what was INVALID stays so
    assert code == 3, out
    assert [users for users, _, _ in measured(tmp_path)] == [1, 2, 3, 4]


@pytest.mark.real
@pytest.mark.counterpart
def test_repeats_are_measured_in_rounds_and_a_fresh_system_is_started_for_each(finished, tmp_path):
    command = ("sweep", "--users", "2,1", "--repeat", "2", "--duration", "1", "--warmup", "1", "--fresh")
    code, out = finished(*command)
    assert code == 0, out
    assert [(users, repeat) for users, repeat, _ in measured(tmp_path)] == [(2, 1), (1, 1), (2, 2), (1, 2)]
    assert (out.count(": ready after"), out.count("warm-up, not counted")) == (4, 4)
    assert "level 3 of 4, 2 users, round 2 of 2; about " in out
    log = tmp_path / "reports" / "tiny" / "run-01_4" / "system" / "web.log"
    assert '"GET / HTTP/1.1" 200' in log.read_text()  # from its start: the probe of whether it is ready
    command = "lth sweep --plan=tiny --users=2,1 --repeat=2 --fresh --duration=1 --warmup=1"
    assert Command.parse(sweep_json(tmp_path)["command"]).values == Command.parse(command).values


@pytest.mark.real
def test_a_search_finds_the_most_users_within_the_goal_and_shows_its_steps(finished, target, tmp_path):
    # An answer takes 10 ms per user: 25 ms are met with two users, and missed with three. Which steps lead there is
    # tested without a machine in test_capacity: where other processes use this one's cores, every level is DOUBTFUL.
    command = ("capacity", "--p90", "25", "--from", "2", "--duration", "1", "--warmup", "0", "--target", target)
    code, out = finished(*command, "--jfr", str(tmp_path / "shop.jfr"), mode="queueing")
    assert code == 0, out
    assert "the recording shop.jfr is missing; attach it later: " in " ".join(out.split())
    why = ["shop", "not known: the recording shop.jfr is missing"]
    assert run_json(tmp_path / "reports")["unknown"] == {"heap": [why]}
    report = (tmp_path / "reports" / "tiny" / "sweep-01.md").read_text()
    steps = rows_of(report, "<details><summary>Steps of the search</summary>")
    assert [int(step["users"]) for step in steps] == [users for users, _, _ in measured(tmp_path)]
    assert {step["goal"] for step in steps} <= {"met", "missed", "CANNOT TELL"}
    is_unsure = any(step["goal"] == "CANNOT TELL" for step in steps)
    text = "CANNOT TELL" if is_unsure else "FOUND: 2 users within p90 ≤ 25 ms; 3 users miss it"
    assert text in out
    assert text in report
    assert sweep_json(tmp_path)["goal"]["p90_ms"] == 25
    assert run_json(tmp_path / "reports")["goal"]["p90_ms"] == 25


BAD = [
    ((), "--users is missing; give the levels: --users=1,5,10,25,50"),
    (("--users", "5", "--jfr", "shop.jfr"), "--jfr=shop.jfr: the harness starts the system, and reads its own"),
    (("--users", "5,5"), "--users=5,5: 5 is listed twice; give --repeat=2"),
    (("--users", "5,5,0,abc"), "--users=5,5,0,abc: 5 is listed twice"),
    (("--users", "1,0"), "--users=0: not a whole number from 1"),
    (("--users", "1,abc"), "--users=abc: not a whole number"),
    (("--users", "1,,2"), "--users=1,,2: not a list of levels"),
    (("--users", "1 2"), "--users=1 2: not a list of levels"),
    (("--users", "1,5", "--warmup", "soon"), "--warmup=soon: not a duration"),
    (("--users", "1,5", "--warmup", "2h"), "--warmup=2h: must be 0, or from 1 s to 1 h"),
    (("--users", "1,5", "--ramp", "30", "--duration", "10"), "--ramp=30 is not shorter than --duration=10"),
    (("--users", "1,5", "--loops", "3", "--duration", "10"), "--loops=3 and --duration=10 cannot be used together"),
    (("--users", "1,5", "--note", "x", "--plan", "tinny"), "--plan=tinny: unknown; did you mean tiny"),
    (("--users", ""), "--users is empty"),
    (("--users", "10000"), "10000 users need 11000 open files, but the limit is 8192"),
]
BAD_SEARCH = [
    (("--p90", "0"), "--p90=0: not a whole number from 1"),
    (("--errors", "1"), "--errors=1: has no % sign; give --errors=1%"),
    (("--errors", "101%"), "--errors=101: not a number above 0 and up to 100"),
    (("--from", "500"), "--from=500 is more than --most=400"),
]


@pytest.mark.parametrize(
    ("script", "arguments", "message"),
    [("sweep", *case) for case in BAD] + [("capacity", *case) for case in BAD_SEARCH],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_bad_input_is_one_clear_error_and_nothing_is_started_or_left(
    home, tmp_path, monkeypatch, script, arguments, message
):
    monkeypatch.setenv("JMETER_HOME", str(FAKE_JMETER))
    monkeypatch.setattr("resource.getrlimit", lambda _: (1024, 8192))
    folders = ["--home", str(home), "--reports", str(tmp_path / "reports"), "--build", str(tmp_path / "build")]
    with pytest.raises(UsageError) as caught:
        main(["--plan", "tiny", *folders, *arguments], f"scripts/{script}")
    assert message in str(caught.value)
    assert not (tmp_path / "reports").exists()


def test_a_search_needs_a_goal(home, tmp_path):
    plan = home / "plans" / "tiny.toml"
    plan.write_text(plan.read_text().partition("[goal]")[0])
    folders = ["--home", str(home), "--reports", str(tmp_path / "reports")]
    with pytest.raises(UsageError, match="--plan=tiny has no goal for the search; give one, such as --goal='p95<1s'"):
        main(["--plan", "tiny", *folders], "scripts/capacity")


JOB = """
[[job]]
name = "import"
start = {method = "POST", path = "/imports", id = "$.id"}
poll = {path = "/imports/{id}", state = "$.status"}
done = "DONE"
"""


def test_a_warm_up_in_parts_does_not_send_the_jobs_of_the_plan(home, tmp_path, target):
    with (home / "plans" / "tiny.toml").open("a") as plan:
        plan.write(JOB)
    folders = ("--home", str(home), "--reports", str(tmp_path / "reports"), "--target", target)
    with pytest.raises(UsageError, match=r"the parts would send the jobs of tiny in the warm-up, too; leave .* out: "):
        main(["sweep", "tiny", *folders, "--on=local:2", "-d", "20", "-u", "2,4"], "lth")
    assert not (tmp_path / "reports").exists()


@pytest.mark.parametrize("verb", [("sweep", "-u", "1,5"), ("trust", "-u", "5")])
def test_parts_that_cannot_each_have_rows_are_refused_before_anything_starts(home, tmp_path, target, verb):
    rows = (
        '<CSVDataSet testclass="CSVDataSet" testname="Rows"><stringProp name="filename">rows.csv</stringProp>'
        '<stringProp name="variableNames">row</stringProp></CSVDataSet><hashTree/>'
    )
    jmx = home / "plans" / "tiny.jmx"
    jmx.write_text(jmx.read_text().replace("<hashTree>", f"<hashTree>{rows}", 2).replace(rows, "", 1))
    (home / "plans" / "rows.csv").write_text("a\n")
    folders = ("--home", str(home), "--reports", str(tmp_path / "reports"), "--target", target)
    with pytest.raises(UsageError, match=r"rows\.csv has 1 row for 2 parts, so one would have none"):
        main([verb[0], "tiny", *folders, "--on=local:2", "-d", "20", *verb[1:]], "lth")
    assert not (tmp_path / "reports").exists()
