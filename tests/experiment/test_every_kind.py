"""What is true of every kind of experiment: interrupted, resumed, out of time, with bad input. Runs take no time."""

import json
import os
import re
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.base import git
from harness.base.errors import UsageError
from harness.cli import main
from tests.support.fake_runs import behave, calls, use_fake_levels, use_fake_runs, with_delay
from tests.support.processes import wait_for

SUITE = """format_version = 1
title = "Nights"
budget = "1h"
[[run]]
plan = "tiny"
repeats = 3
"""


@dataclass(frozen=True)
class Kind:
    """A kind of experiment: its verb, a command of it, and what its records and runs are called."""

    verb: str
    arguments: tuple[str, ...]
    what: str
    # The arguments of a command with other settings, and a wrong one with its message.
    other: tuple[str, ...]
    wrong: tuple[str, str]
    run_count: int
    # The names of its records when they do not begin with the verb, and what resumes one, after RESUME=.
    names: str = ""
    resumption: str = "1"

    @property
    def pattern(self) -> str:
        """The names of its records."""
        return self.names or f"{self.verb}-*.json"

    @property
    def folder(self) -> str:
        """Where its records are in the folder of its reports."""
        return "" if self.verb == "nightly" else "tiny"


AB = Kind(
    "ab", ("--plan=tiny", "--a=delay_ms=0", "--b=delay_ms=20"), "A/B test",
    ("--plan=tiny", "--a=delay_ms=0", "--b=delay_ms=30"), ("--max=soon", "MAX=soon"), 9,
)  # fmt: skip
TUNE = Kind(
    "tune", ("--plan=tiny", "--set=delay_ms=0,20", "--repeat=2"), "experiment",
    ("--plan=tiny", "--set=delay_ms=0,30", "--repeat=2"), ("--max=soon", "MAX=soon"), 5,
)  # fmt: skip
NIGHTLY = Kind(
    "nightly", ("--suite=SUITE",), "nightly run", ("--suite=OTHER",), ("--s3=nowhere", "nowhere"), 3, "20*.json",
)  # fmt: skip
OVERLOAD = Kind(
    "overload", ("--plan=tiny", "--rate=20", "--goal=p90<2s", "--set=delay_ms=0,20,40"), "overload test",
    ("--plan=tiny", "--rate=20", "--goal=p90<2s", "--set=delay_ms=0,30"), ("--max=soon", "MAX=soon"), 3,
)  # fmt: skip
SWEEP = Kind(
    "sweep", ("--plan=tiny", "--users=1,2,3"), "sweep", ("--plan=tiny", "--users=1,2"),
    ("--repeat=0", "REPEAT=0"), 3, resumption="01",
)  # fmt: skip
CAPACITY = Kind(
    "capacity", ("--plan=tiny", "--p90=1000", "--most=4"), "sweep", ("--plan=tiny", "--p90=500", "--most=4"),
    ("--most=0", "MOST=0"), 3, "sweep-*.json", resumption="01",
)  # fmt: skip
# Child processes take a second a test: with them the fast tests have only the first scenario.
SLOW = [pytest.param(kind, marks=pytest.mark.real) for kind in (AB, TUNE)]
FAST = [NIGHTLY, OVERLOAD, SWEEP, pytest.param(CAPACITY, marks=pytest.mark.real)]
EVERY = pytest.mark.parametrize("kind", [*SLOW, *FAST], ids=lambda kind: kind.verb)
KINDS = pytest.mark.parametrize("kind", [AB, TUNE, NIGHTLY, OVERLOAD, SWEEP, CAPACITY], ids=lambda kind: kind.verb)
# Sweeps and searches are resumed by their name, which has messages of its own: tests/sweep/test_sweep_driver.py.
UNNAMED = pytest.mark.parametrize("kind", [*SLOW, NIGHTLY, OVERLOAD], ids=lambda kind: kind.verb)


@pytest.fixture
def home(home):
    (home / "env" / "suite.toml").write_text(SUITE)
    (home / "env" / "other.toml").write_text(SUITE.replace("repeats = 3", "repeats = 2"))
    return with_delay(home)


@pytest.fixture
def start(home, tmp_path, monkeypatch) -> Callable[..., int]:
    """Run a command of a kind and return its exit code; the harness is that of a commit without changes."""
    use_fake_runs(tmp_path, monkeypatch)
    use_fake_levels(tmp_path, monkeypatch)
    monkeypatch.setattr(git, "facts", lambda _: git.Checkout("0123456789abcdef", False))

    def run(kind: Kind, *more: str, arguments: tuple[str, ...] = (), behaviour: dict[str, str] | None = None) -> int:
        behave(tmp_path, behaviour)
        suites = {"SUITE": home / "env" / "suite.toml", "OTHER": home / "env" / "other.toml"}
        given = [
            re.sub("SUITE|OTHER", lambda match: str(suites[match[0]]), text) for text in arguments or kind.arguments
        ]
        folders = [f"--home={home}", f"--reports={tmp_path / 'reports'}", f"--build={tmp_path / 'build'}"]
        return main([*given, *more, *folders], f"scripts/{kind.verb}")

    return run


def records(tmp_path: Path, kind: Kind) -> list[dict]:
    folder = tmp_path / "reports" / kind.folder
    return [
        json.loads(path.read_text())
        for path in sorted(folder.glob(kind.pattern), key=lambda path: (len(path.name), path.name))
    ]


def interrupted(start, kind: Kind, tmp_path: Path, number: int) -> int:
    """Interrupt the run of this number, and return the exit code."""

    def interrupt() -> None:
        wait_for(lambda: (tmp_path / "fakes" / "waits").exists())
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    code = start(kind, behaviour={str(number): "wait"})
    thread.join()
    return code


@KINDS
def test_an_interrupted_one_is_resumed_by_its_command_and_loses_no_run(kind, start, tmp_path, capsys):
    assert interrupted(start, kind, tmp_path, 2) == 130
    assert f"RESUME={kind.resumption}\n" in capsys.readouterr().out
    (record,) = records(tmp_path, kind)
    assert record["state"] == "running"
    first = record["runs"][0]["run"]
    assert start(kind) in (0, 1)
    (record,) = records(tmp_path, kind)
    assert (record["state"], record["runs"][0]["run"]) == ("finished", first)
    ended = [run for run in record["runs"] if run["state"] == "ended"]
    assert len(ended) >= kind.run_count
    assert len({run["run"] for run in ended}) == len(ended)
    assert "resumed after " in (out := capsys.readouterr().out)
    assert f"(NEW=1 starts another {kind.what})" in out


@UNNAMED
def test_new_starts_another_one_and_resume_asks_for_the_last_one(kind, start, tmp_path):
    assert interrupted(start, kind, tmp_path, 2) == 130
    assert start(kind, "--new") in (0, 1)
    assert [record["state"] for record in records(tmp_path, kind)] == ["running", "finished"]
    with pytest.raises(UsageError, match="is finished; leave it out to start a new"):
        start(kind, "--resume")


@EVERY
def test_one_with_other_settings_or_of_changed_code_is_not_resumed_unasked(kind, start, tmp_path, monkeypatch, capsys):
    assert interrupted(start, kind, tmp_path, 2) == 130
    if kind.resumption == "1":
        with pytest.raises(UsageError, match="--resume: "):
            start(kind, "--resume", arguments=kind.other)
    monkeypatch.setattr(git, "facts", lambda _: git.Checkout("0123456789abcdef", True))
    assert start(kind) in (0, 1)
    assert f"RESUME={kind.resumption} resumes it" in capsys.readouterr().out
    assert [record["state"] for record in records(tmp_path, kind)] == ["running", "finished"]


@EVERY
def test_a_killed_one_keeps_its_runs_and_is_resumed(kind, start, tmp_path):
    # What kill -9 leaves: a record that still says that a run is under way.
    assert interrupted(start, kind, tmp_path, 3) == 130
    (path,) = (tmp_path / "reports" / kind.folder).glob(kind.pattern)
    record = json.loads(path.read_text())
    left = [
        {**run, "state": "under way", "exit_code": None} if index == 2 else run
        for index, run in enumerate(record["runs"])
    ]
    path.write_text(json.dumps({**record, "runs": left}))
    before = [run["run"] for run in record["runs"][:2]]
    assert start(kind) in (0, 1)
    (record,) = records(tmp_path, kind)
    assert [run["run"] for run in record["runs"][:2]] == before
    assert record["state"] == "finished"


@pytest.mark.parametrize("kind", [AB, TUNE, NIGHTLY, OVERLOAD], ids=lambda kind: kind.verb)
def test_wrong_use_is_one_line_and_nothing_starts(kind, start, tmp_path):
    option, message = kind.wrong
    with pytest.raises(UsageError) as refused:
        start(kind, option)
    assert message in str(refused.value)
    assert len(str(refused.value).splitlines()) == 1
    with pytest.raises(UsageError, match=r"--resume: there is no .* yet"):
        start(kind, "--resume")
    assert calls(tmp_path) == []
    assert records(tmp_path, kind) == []


@pytest.mark.parametrize("kind", [AB, TUNE, NIGHTLY, OVERLOAD], ids=lambda kind: kind.verb)
def test_resume_and_new_exclude_each_other(kind, start, capsys):
    with pytest.raises(SystemExit) as refused:
        start(kind, "--resume", "--new")
    assert refused.value.code == 2
    assert "not allowed with argument" in capsys.readouterr().err


@pytest.mark.parametrize("kind", [AB, TUNE, NIGHTLY, OVERLOAD], ids=lambda kind: kind.verb)
def test_an_unknown_name_is_one_line(kind, tmp_path):
    with pytest.raises(UsageError, match=f"no such {kind.what}; there are: none"):
        main([kind.verb, "2026-01-01" if kind is NIGHTLY else f"{kind.verb}-77", f"--reports={tmp_path}"])
