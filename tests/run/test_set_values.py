"""SET: settings of a system and properties of a plan on the command line of run, sweep, capacity and ab."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.base.errors import UsageError
from harness.cli.verbs import main
from harness.history.summary_files import SUMMARY_NAME, write_summary
from harness.run.request import Request
from tests.support.commands import command
from tests.support.paths import FAKE_JMETER
from tests.support.processes import interrupted_after
from tests.support.requests import request_of
from tests.support.tiny import SWEEP, TINY_JMX, Run, arguments_of_run


@pytest.fixture
def home(home: Path) -> Path:
    """The home with the tiny plan, whose system has a setting of each type and whose JMX reads the property amount."""
    system = home / "systems" / "tiny" / "system.toml"
    more = 'size = 1\nshare = 0.5\nis_on = false\nfaults = []\ndb_password = ""\n[limits]\nsize = [0, 9]\n'
    system.write_text(system.read_text() + more)
    other = home / "systems" / "okapi" / "system.toml"
    other.parent.mkdir()
    other.write_text(system.read_text())
    (home / "env" / "local.toml").open("a").write("[system.tiny]\nsize = 2\n")
    (home / "plans" / "tiny.toml").open("a").write('[embedded]\nsettings = { python = "python3" }\n')
    (home / "plans" / "tiny.jmx").write_text(TINY_JMX.replace('testname="Tiny"', 'testname="${__P(amount,1)}"'))
    return home


@pytest.fixture
def finished(home: Path, tmp_path: Path) -> Callable[..., tuple[int, str]]:
    """Run a command on the tiny plan with the fake JMeter; return its exit code and its output."""

    def to_the_end(script: str, *arguments: str) -> tuple[int, str]:
        given = arguments_of_run(home, tmp_path, arguments)
        with interrupted_after(120):
            done = command(f"scripts/{script}", *given, JMETER_HOME=str(FAKE_JMETER))
        return done.returncode, done.stdout + done.stderr

    return to_the_end


def resolved(home: Path, text: str, target: str | None = None, properties: str | None = None) -> Request:
    return request_of(home, home, "tiny", target=target, properties=properties, set=text)


def test_settings_replace_those_of_the_profile_with_the_type_of_their_default(home: Path) -> None:
    text = "size=3 tiny.share=1 is_on=true 'faults=a, b' python=python3"
    assert resolved(home, text).settings == {
        "python": "python3", "size": 3, "share": 1.0, "is_on": True, "faults": ["a", "b"], "db_password": "",
    }  # fmt: skip


def test_properties_of_the_plan_and_of_jmeter_reach_the_plan(home: Path) -> None:
    request = resolved(home, "tiny.size=3 amount=25 httpclient4.retrycount=1")
    assert request.settings["size"] == 3
    assert request.plan.given == {"amount": "25", "httpclient4.retrycount": "1"}
    assert request.set_values.shown == ("tiny.size=3", "amount=25", "httpclient4.retrycount=1")
    assert resolved(home, "size=3").set_values.shown == ("tiny.size=3",)


def test_properties_may_be_given_for_a_target(home: Path) -> None:
    assert resolved(home, "amount=25", "http://127.0.0.1:8080").plan.given == {"amount": "25"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sice=3", "sice is neither a setting of tiny nor a property of tiny.jmx; did you mean size? there are: "),
        ("amout=3", "amout is neither a setting of tiny nor a property of tiny.jmx; did you mean amount? there are: "),
        ("tinny.size=3", "tinny.size is neither a setting of tiny nor a property of tiny.jmx; did you mean tiny.size?"),
        ("tiny.sice=3", "tiny.sice: tiny has no such setting; did you mean size? there are: "),
        ("okapi.size=3", "okapi.size: this run starts tiny; leave okapi's settings out"),
        ("users=3", "users is set by the run; use --users instead"),
        ("size", 'size is not name=value; give --set="'),
        ("size=3 tiny.size=4", "tiny.size occurs twice; give each value once"),
        ("amount=3 amount=4", "amount occurs twice; give each value once"),
        ("size=1,2", 'size=1,2: a run has one value of size; give one; for all of them: lth sweep --set="size=1,2"'),
        ("size=x", "system tiny: setting size = 'x' is not a whole number; its default is 1"),
        ("size=10", "system tiny: setting size = 10 is out of range; give a value from 0 to 9"),
        ("is_on=maybe", "system tiny: setting is_on = 'maybe' is not a true or false; its default is False"),
        ("db_password=x", "db_password is a secret, and the report has the command; set it in a profile"),
        ("python=pypy", "python=pypy, but the plan sets 'python3'; leave it out, or choose another plan"),
        ("size='3", "size='3: no closing quotation; close the quote"),
    ],
)
def test_a_value_that_cannot_be_set_is_refused_in_one_line(home: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError) as refused:
        resolved(home, text)
    assert str(refused.value).startswith(message)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("size=3", "size is a setting of tiny, and --target starts no system; leave it out"),
        ("tiny.size=3", "tiny.size is a setting of tiny, and --target starts no system; leave it out"),
        ("okapi.size=3", "okapi.size: this run starts no system; leave okapi's settings out"),
    ],
)
def test_settings_of_a_target_are_refused(home: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError) as refused:
        resolved(home, text, "http://127.0.0.1:8080")
    assert str(refused.value) == message


def test_a_property_that_properties_already_give_is_refused(home: Path) -> None:
    with pytest.raises(UsageError, match="amount occurs twice"):
        resolved(home, "amount=3", properties="amount=4")


@pytest.mark.parametrize("script", ["run", "sweep", "capacity"])
def test_each_command_refuses_an_unknown_name_before_anything_starts(home: Path, tmp_path: Path, script: str) -> None:
    users = {"run": "--users=1", "sweep": "--users=1,2", "capacity": "--most=2"}[script]
    with pytest.raises(UsageError, match="sice is neither a setting of tiny nor a property"):
        main([*arguments_of_run(home, tmp_path, ()), users, "--set=sice=3"], f"scripts/{script}")
    assert not (tmp_path / "reports").exists()


@pytest.mark.real
def test_a_run_records_what_was_set_and_its_comparison_names_the_difference(tmp_path: Path, run: Run) -> None:
    for size in (3, 4):
        done = run("--set", f"size={size} amount=25", "--duration", "1")
        assert done.returncode in (0, 1), done.stdout + done.stderr
    folder = tmp_path / "reports" / "tiny"
    record = json.loads((folder / "run-01_2" / "run.json").read_text())
    assert record["set_values"] == ["tiny.size=4", "amount=25"]
    assert (record["system_settings"]["size"], record["properties"]["amount"]) == (4, "25")
    report = (folder / "run-01_2.md").read_text()
    assert "- --set: tiny.size=4, amount=25\n" in report
    assert "lth run --plan=tiny '--set=size=4 amount=25' --duration=1" in report
    assert "- --properties" not in report
    assert "| tiny: size | 3 | 4 |" in report  # what it was compared with: run-01_1
    write_summary(tmp_path / "reports")
    assert "| local, tiny.size=4, amount=25 |" in (tmp_path / "reports" / SUMMARY_NAME).read_text()


@pytest.mark.real
def test_a_sweep_sets_each_of_its_levels_and_resumes_with_what_was_set(
    home: Path, tmp_path: Path, finished: Callable[..., tuple[int, str]]
) -> None:
    code, out = finished("sweep", *SWEEP, "--set", "size=4")
    assert code in (0, 3), out
    folder = tmp_path / "reports" / "tiny"
    assert json.loads((folder / "sweep-01.json").read_text())["given"] == {"set": "size=4"}
    assert [
        json.loads((folder / name / "run.json").read_text())["set_values"] for name in ("run-01_1", "run-01_2")
    ] == [["tiny.size=4"]] * 2
    assert "--set=size=4" in (folder / "run-01_2.md").read_text()
    assert "- --set: tiny.size=4\n" in (folder / "sweep-01.md").read_text()
    again = [*arguments_of_run(home, tmp_path, ()), "--resume=01", "--set=size=5"]
    why = r"tiny/sweep-01 has other settings: --set; leave out what differs, or repeat its command: lth sweep "
    with pytest.raises(UsageError, match=why):
        main(again, "scripts/sweep")
