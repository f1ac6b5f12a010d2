"""scripts/overload as a user calls it, with a fake JMeter at the edge."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from harness.base.errors import EXIT_INVALID, UsageError
from harness.base.guardian import Guardian
from harness.base.interrupts import Interrupts
from harness.cli.verbs import main
from harness.commands.overload import time_limit_ms
from harness.experiment.execute import InChildren
from harness.experiment.files import Experiments
from harness.experiment.record import ENDED, FINISHED
from harness.experiment.runner import Runner
from harness.history.summary_files import write_summary
from harness.kinds.overload.record import OverloadRecord
from harness.kinds.overload.runner import OVERHEAD_S, OverloadTest, last_capacity
from harness.plan.goal import Goal
from harness.run.child import Children
from harness.sweep.record import CAPACITY
from tests.support.fake_runs import behave, calls, use_fake_children, with_delay
from tests.support.overloads import RECORD
from tests.support.paths import FAKE_JMETER
from tests.support.processes import processes_of
from tests.support.requests import request_of
from tests.support.several import TWO_LOADS, group, several_jmx
from tests.support.sweep_reports import save_record, save_run
from tests.support.sweeps import SWEEP_RECORD, measured_level
from tests.support.tiny import TINY_JMX, arguments_of_run, finish_script, run_json

_WITH_LOOPS = TINY_JMX.replace(
    '<boolProp name="ThreadGroup.scheduler">true</boolProp>',
    """<stringProp name="ThreadGroup.scheduler">${__jexl3(${__P(duration_s,0)} > 0)}</stringProp>
        <elementProp name="ThreadGroup.main_controller" elementType="LoopController">
          <boolProp name="LoopController.continue_forever">false</boolProp>
          <stringProp name="LoopController.loops">${__P(loops,-1)}</stringProp>
        </elementProp>""".replace(" > 0", " &gt; 0"),
)


@pytest.fixture
def finished(home, tmp_path):
    """Run scripts/overload on the tiny plan to its end in this process; return its exit code and its output."""

    def to_the_end(*arguments: str, mode: str = "queues") -> tuple[int, str]:
        return finish_script("overload", arguments_of_run(home, tmp_path, arguments), tmp_path, mode, {})

    return to_the_end


def record_of(tmp_path: Path, name: str = "overload-01") -> dict:
    return json.loads((tmp_path / "reports" / "tiny" / f"{name}.json").read_text())


def nothing_is_left(tmp_path: Path) -> bool:
    return processes_of(tmp_path) == [] and list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.real
@pytest.mark.counterpart
def test_a_variant_is_measured_with_a_system_of_its_own_and_its_report_is_written(home, tmp_path, monkeypatch):
    # Levels of a second, which scripts/overload refuses as too short: the fake takes as long as its load.
    monkeypatch.setenv("JMETER_HOME", str(FAKE_JMETER))
    monkeypatch.setenv("FAKE_JMETER", "queues")
    reports, variant = tmp_path / "reports", "queue.waits=1 queue.most=10"
    request = request_of(home, tmp_path / "build", "tiny", "local", set=variant)
    with Interrupts() as interrupts, Guardian() as guardian, interrupts.deferred():
        tests = Experiments(OverloadRecord, reports)
        files = tests.reserve("tiny")
        record = replace(RECORD, name=files.name, plan="tiny", variants=(variant,), level_s=1)
        folders = {"reports": reports, "home": home, "build": tmp_path / "build"}
        design = OverloadTest(files, {variant: request}, ("--plan=tiny",), folders)
        done = Runner(design, record, {}, InChildren(Children(interrupts, guardian)), OVERHEAD_S).run()
    assert tests.read(files) == done
    (run,) = done.runs
    assert (done.state, run.state, run.run) == (FINISHED, ENDED, "run-01_1")
    levels = run.result.levels
    assert [level.scheduled_user_count for level in levels] == [10, 15, 20, 25, 30, 40]
    assert sum(level.started_user_count for level in levels) == pytest.approx(140, abs=4)
    assert levels[-1].rejected_fast_count >= 10
    assert run.result.requests_per_user == 1.0
    text = (reports / "tiny" / "overload-01.md").read_text()
    assert "![Goodput over the offered load](overload-01/goodput.svg)" in text
    assert str(tmp_path) not in text
    assert (reports / "tiny" / "overload-01" / "goodput.svg").is_file()
    stored = run_json(reports)
    assert stored["properties"]["queue.most"] == "10"
    assert stored["load"]["model"] == "open"
    assert "A variant of [overload-01](overload-01.md): queue.waits=1 queue.most=10." in stored["note"]
    assert (stored["state"], stored["command"]) == ("finished", RECORD.command)
    assert not (reports / "tiny" / "run-01_1" / "compared.json").exists()
    assert write_summary(reports).documents[0].kind == "overload test"


@pytest.mark.real
def test_a_variant_without_a_run_is_invalid_and_the_next_one_is_measured(home, tmp_path, monkeypatch):
    use_fake_children(tmp_path, monkeypatch)
    behave(tmp_path, {"1": "fail"})
    given = ("--rate=20.3", "--duration=10", "--set=delay_ms=0,20", "--goal=p90<2s")
    assert main(arguments_of_run(with_delay(home), tmp_path, given), "scripts/overload") == EXIT_INVALID
    for call, delay_ms in zip(calls(tmp_path), (0, 20), strict=True):
        assert (call["set"], call["goal"], call["stop"]) == (f"delay_ms={delay_ms}", "p90<2s", "none")
        assert call["overload"].startswith(
            "20.3,10,lth overload --plan=tiny --set=delay_ms=0,20 '--goal=p90<2s' --rate=20.3"
        )
    (path,) = (tmp_path / "reports" / "tiny").glob("overload-01*.md")
    text, record = path.read_text(), json.loads(path.with_suffix(".json").read_text())
    assert "- delay_ms=0: INVALID, lth run ended with code 3: web ended with code 1." in text
    assert "\n| delay_ms=0 | INVALID |  |  |  |  |  |  |\n" in text
    assert [bool(run["result"]) for run in record["runs"]] == [False, True]


@pytest.mark.real
def test_the_rate_follows_from_the_last_capacity_search_and_the_requests_of_one_user(finished, home, tmp_path):
    searched(tmp_path / "reports", set_words="queue.most=10")
    (home / "plans" / "tiny.jmx").write_text(_WITH_LOOPS)
    code, out = finished("--set", "queue.most=10", "--duration", "10")
    assert code == 3, out
    record = record_of(tmp_path, "overload-08")
    (run,) = record["runs"]
    assert run["result"] is None  # an INVALID run is none
    assert run["problem"].startswith("A clock was set")  # 120 s of samples at once
    # Two users who wait 800 ms for each answer: 2.5 requests per second; the fake's one user makes one request.
    assert record["capacity_per_s"] == pytest.approx(2.5, rel=0.1)
    assert record["capacity_source"].endswith("at 2 users (sweep-07); 1 request of one user")
    assert nothing_is_left(tmp_path)


def searched(reports: Path, set_words: str = "", **changes: object) -> None:
    """Save a finished capacity search: 2 users are within the goal, 4 are not."""
    folder = reports / "tiny"
    runs = []
    for number, (users, elapsed_ms) in enumerate(((2, 800), (4, 2000), (2, 800), (4, 2000)), start=1):
        save_run(folder, f"run-07_{number}", users, elapsed_ms)
        runs.append(measured_level(users, 1 + (number - 1) // 2, f"run-07_{number}"))
    given = {"set": set_words} if set_words else {}
    goal = Goal(p90_ms=1000, error_ratio=0.01)
    record = replace(SWEEP_RECORD, kind=CAPACITY, users=(), runs=tuple(runs), goal=goal, given=given)
    save_record(reports, replace(record, first_users=1, most_users=400, **changes))


def test_the_capacity_is_that_of_a_search_with_the_same_settings_only(tmp_path):
    reports = tmp_path / "reports"
    searched(reports, set_words="queue.most=10")
    found = last_capacity(reports, "tiny", "local", None, ["queue.most=10"])
    assert found is not None
    assert found.requests_per_s == pytest.approx(2.5, rel=0.1)
    for profile, target, assignments in (
        ("local", None, []),
        ("local", None, ["queue.most=11"]),
        ("other", None, ["queue.most=10"]),
        ("local", "http://127.0.0.1:8080", ["queue.most=10"]),
    ):
        assert last_capacity(reports, "tiny", profile, target, assignments) is None
    searched(reports, set_words="queue.most=10", stop_reason="the budget of 5 min is used up")
    assert last_capacity(reports, "tiny", "local", None, ["queue.most=10"]) is None


def test_an_answer_is_good_within_the_least_time_limit_of_the_goal():
    assert time_limit_ms(Goal(p90_ms=2000, p95_ms=3000, error_ratio=0.01)) == 2000
    assert time_limit_ms(Goal(each_average_ms=1000)) == 1000
    with pytest.raises(UsageError, match="no time limit"):
        time_limit_ms(Goal(error_ratio=0.01))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "the capacity is not known: there is no finished capacity search with these settings; run lth capacity"),
        (("--rate", "0"), "--rate=0"),
        (("--rate", "20", "--duration", "9"), "--duration=9: not a whole number of seconds from 10 to 3600"),
        (("--rate", "20", "--duration", "10.5"), "--duration=10.5: not a whole number"),
        (("--rate", "20", "--goal", "errors<1%"), "the goal has no time limit"),
        (("--rate", "20", "--set", "queue.most=1,1"), "an empty or a repeated value"),
        (("--rate", "20", "--set", "pyton=a,b"), "did you mean python?"),
        (("--rate", "20", "--max", "5m"), "this takes about 6 min 50 s, --max is 5 min"),
        (("--rate", "20", "--set", " "), "--set is empty"),
    ],
)
def test_wrong_use_is_one_line_and_nothing_starts(arguments, message, home, tmp_path):
    with pytest.raises(UsageError) as error:
        main(arguments_of_run(home, tmp_path, arguments), "scripts/overload")
    assert message in str(error.value)
    assert not (tmp_path / "reports").exists()


def test_a_plan_with_several_loads_is_refused(home, tmp_path):
    (home / "plans" / "tiny.jmx").write_text(several_jmx(group("Browse", ""), group("Buy", "")))
    (home / "plans" / "tiny.toml").write_text(TWO_LOADS)
    with pytest.raises(UsageError, match="an overload test needs a plan with one load, in a thread group Users"):
        main(arguments_of_run(home, tmp_path, ("--rate", "20")), "scripts/overload")
