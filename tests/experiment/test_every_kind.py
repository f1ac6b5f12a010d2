"""What is true of every kind of experiment: interrupted, resumed, out of time, with bad input. Runs take no time."""

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.base import git
from harness.base.errors import UsageError
from harness.base.spellings import MASK
from harness.cli.verbs import main
from harness.experiment import runner
from harness.kinds.trust import design
from harness.report.results import stated_result
from tests.support.fake_runs import behave, calls, use_fake_children, use_fake_levels, with_delay
from tests.support.processes import interrupted_when
from tests.support.weekly import often

pytestmark = pytest.mark.real  # seconds of CPU

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
    # The names of its records when they do not begin with the verb.
    names: str = ""

    @property
    def started(self) -> str:
        """The verb that resumes it."""
        return "sweep" if self.verb == "capacity" else self.verb

    @property
    def pattern(self) -> str:
        """The names of its records."""
        return self.names or f"{self.verb}-*.json"

    @property
    def folder(self) -> str:
        """Where its records are in the folder of all reports."""
        folders = {verb: f"{verb}/tiny" for verb in ("ab", "tune", "bisect", "trust")}
        return {"nightly": "nightly", **folders}.get(self.verb, "tiny")


AB = Kind(
    "ab", ("--plan=tiny", "--a=delay_ms=0", "--b=delay_ms=20"), "A/B test",
    ("--plan=tiny", "--a=delay_ms=0", "--b=delay_ms=30"), ("--b=delay_m=1", "delay_m"), 9,
)  # fmt: skip
TUNE = Kind(
    "tune", ("--plan=tiny", "--set=delay_ms=0,20", "--repeat=2"), "experiment",
    ("--plan=tiny", "--set=delay_ms=0,30", "--repeat=2"), ("--repeat=0", "--repeat=0"), 5,
)  # fmt: skip
BISECT = Kind(
    "bisect", ("--plan=tiny", "--set=delay_ms=0,1,20,21"), "bisection", ("--plan=tiny", "--set=delay_ms=0,30"),
    ("--metric=p42", "--metric p42: no such metric"), 6,
)  # fmt: skip
NIGHTLY = Kind(
    "nightly", ("--suite=SUITE",), "nightly run", ("--suite=OTHER",), ("--s3=nowhere", "nowhere"), 3, "20*.json",
)  # fmt: skip
OVERLOAD = Kind(
    "overload", ("--plan=tiny", "--rate=20", "--goal=p90<2s", "--set=delay_ms=0,20,40"), "overload test",
    ("--plan=tiny", "--rate=20", "--goal=p90<2s", "--set=delay_ms=0,30"), ("--duration=1", "--duration=1"), 3,
)  # fmt: skip
SWEEP = Kind(
    "sweep", ("--plan=tiny", "--users=1,2,3"), "sweep", ("--plan=tiny", "--users=1,2"),
    ("--repeat=0", "--repeat=0"), 3,
)  # fmt: skip
CAPACITY = Kind(
    "capacity", ("--plan=tiny", "--p90=1000", "--most=4"), "sweep", ("--plan=tiny", "--p90=500", "--most=4"),
    ("--most=0", "--most=0"), 3, "sweep-*.json",
)  # fmt: skip
TRUST = Kind(
    "trust", ("--plan=tiny", "--users=2"), "trust test", ("--plan=tiny", "--users=3"), ("--detect=0", "--detect=0"), 6,
)  # fmt: skip
ALL = (AB, TUNE, BISECT, TRUST, NIGHTLY, OVERLOAD, SWEEP, CAPACITY)
KINDS = pytest.mark.parametrize(
    "kind",
    [pytest.param(one, marks=pytest.mark.real) if one is TRUST else one for one in ALL],
    ids=lambda kind: kind.verb,
)
# What takes longer is tried for these each time, and for all kinds weekly.
SOME_KINDS = pytest.mark.parametrize("kind", often(4, ALL), ids=lambda kind: kind.verb)


@pytest.fixture
def home(home):
    (home / "env" / "suite.toml").write_text(SUITE)
    (home / "env" / "other.toml").write_text(SUITE.replace("repeats = 3", "repeats = 2"))
    return with_delay(home)


@pytest.fixture
def start(home, tmp_path, monkeypatch) -> Callable[..., int]:
    """Run a command of a kind and return its exit code; the harness is that of a commit without changes."""
    use_fake_children(tmp_path, monkeypatch)
    use_fake_levels(tmp_path, monkeypatch)
    monkeypatch.setattr(git, "facts", lambda _: git.Checkout("0123456789abcdef", False))
    for name in ("STARTS", "STARTS_MOST"):
        monkeypatch.setattr(design, name, design.STARTS_LEAST)

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
    with interrupted_when((tmp_path / "fakes" / "waits").exists):
        return start(kind, behaviour={str(number): "wait"})


def path_of(tmp_path: Path, kind: Kind) -> Path:
    (path,) = (tmp_path / "reports" / kind.folder).glob(kind.pattern)
    return path


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def ended(record: dict) -> list[str]:
    return [run["run"] for run in record["runs"] if run["state"] == "ended"]


@KINDS
def test_an_interrupted_one_is_resumed_by_its_command_and_loses_no_run(kind, start, tmp_path, capsys):
    assert interrupted(start, kind, tmp_path, 2) == 130
    assert re.search(
        rf": not finished; resume with: lth {kind.started} (--plan=tiny )?--resume=\S+\n", capsys.readouterr().out
    )
    (record,) = records(tmp_path, kind)
    assert record["state"] == "running"
    first = record["runs"][0]["run"]
    assert start(kind) in (0, 1)
    (record,) = records(tmp_path, kind)
    assert (record["state"], record["runs"][0]["run"]) == ("finished", first)
    assert len(ended(record)) >= kind.run_count
    assert len(set(ended(record))) == len(ended(record))
    assert "resumed after 1 run" in (out := capsys.readouterr().out)
    assert f"(--new starts another {kind.what})" in out


@pytest.mark.real
@SOME_KINDS
def test_resume_needs_no_settings_and_finds_the_last_unfinished_one_or_that_of_a_name(
    kind, start, tmp_path, monkeypatch
):
    assert interrupted(start, kind, tmp_path, 2) == 130
    assert start(kind, "--new") in (0, 1)
    assert [record["state"] for record in records(tmp_path, kind)] == ["running", "finished"]
    name = records(tmp_path, kind)[0]["name"]
    monkeypatch.setattr(git, "facts", lambda _: git.Checkout("fedcba9876543210", True))
    alone = "--html" if kind is NIGHTLY else "--plan=tiny"
    assert start(kind, "--resume", arguments=(alone,)) in (0, 1)
    first, second = records(tmp_path, kind)
    assert (first["state"], second["state"]) == ("finished", "finished")
    assert len(ended(first)) >= kind.run_count
    assert first["command"] == second["command"]
    short = name.removeprefix(f"{kind.started}-")
    for resume, found in (("--resume", second["name"]), ("--resume=1", second["name"]), (f"--resume={short}", name)):
        with pytest.raises(UsageError, match=f"{found} is finished; leave it out to start a new"):
            start(kind, resume, arguments=(alone,))


@SOME_KINDS
def test_one_with_other_settings_or_of_changed_code_is_not_resumed_unasked(kind, start, tmp_path, monkeypatch, capsys):
    assert interrupted(start, kind, tmp_path, 2) == 130
    with pytest.raises(UsageError, match=r"--resume: .* has other settings: --"):
        start(kind, "--resume", arguments=kind.other)
    monkeypatch.setattr(git, "facts", lambda _: git.Checkout("0123456789abcdef", True))
    assert start(kind) in (0, 1)
    assert re.search(r"the code may have changed since: lth .*--resume=\S+ resumes it\n", capsys.readouterr().out)
    assert [record["state"] for record in records(tmp_path, kind)] == ["running", "finished"]


@SOME_KINDS
def test_a_killed_one_keeps_its_runs_and_is_resumed(kind, start, tmp_path):
    # What kill -9 leaves: a record that still says that a run is under way.
    assert interrupted(start, kind, tmp_path, 3) == 130
    path = path_of(tmp_path, kind)
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


@pytest.mark.counterpart
@SOME_KINDS
def test_a_run_that_was_deleted_is_measured_again(kind, start, tmp_path):
    assert interrupted(start, kind, tmp_path, 3) == 130
    path = path_of(tmp_path, kind)
    deleted = json.loads(path.read_text())["runs"][1]["run"]
    for file in (tmp_path / "reports").rglob(f"{deleted}*"):
        shutil.rmtree(file) if file.is_dir() else file.unlink()
    assert start(kind) in (0, 1)
    (record,) = records(tmp_path, kind)
    assert record["state"] == "finished"
    assert deleted not in ended(record)
    assert len(ended(record)) >= kind.run_count


@pytest.mark.counterpart
@SOME_KINDS
def test_the_budget_ends_it_before_the_next_run_and_a_larger_one_continues(kind, start, tmp_path, monkeypatch, capsys):
    with monkeypatch.context() as patch:
        # As if each run took much longer after the second one.
        patch.setattr(runner, "time_left_s", lambda planned, done, _: 1e9 if len(done) >= 2 else 1.0 * len(planned))
        assert start(kind, "--max=1h") in (0, 1, 3)
    (record,) = records(tmp_path, kind)
    assert (record["state"], record["budget_s"]) == ("finished", 3600)
    assert 2 <= len(ended(record)) <= 3
    if kind is NIGHTLY:  # a later run may be short enough
        assert "not enough time: it needs about " in record["runs"][2]["problem"]
        return
    assert record["stop_reason"].startswith("the budget of 1 h 0 min is used up")
    assert "--resume=01 and a larger --max\n" in capsys.readouterr().out
    assert start(kind, "--max=2h", "--resume") in (0, 1)
    (record,) = records(tmp_path, kind)
    assert (record["state"], record["budget_s"], record["stop_reason"]) == ("finished", 7200, "")
    assert len(ended(record)) >= kind.run_count


@pytest.mark.real
@SOME_KINDS
def test_note_properties_and_headers_are_those_of_each_run_and_no_secret_is_stored(kind, start, tmp_path):
    properties = "httpclient4.retrycount=1 api_password=s3cret"
    header = "X-Api-Key: k-4711-77"
    more = () if kind is NIGHTLY else (f"--properties={properties}", f"--header={header}")
    assert start(kind, "--note=before the fix", *more) in (0, 1)
    path = path_of(tmp_path, kind)
    record = json.loads(path.read_text())
    assert record["note"] == "before the fix"
    written = path.read_text() + path.with_suffix(".md").read_text()
    assert "s3cret" not in written and "k-4711-77" not in written
    for call in calls(tmp_path) if kind in (AB, TUNE, BISECT, NIGHTLY, OVERLOAD) else ():
        assert call["note"].startswith("before the fix")
        assert call.get("properties") == (properties if more else None)
        assert call.get("header") == (header if more else None)
    if more:
        assert record["properties"] == f"httpclient4.retrycount=1 api_password={MASK}"
        assert record["headers"] == [f"X-Api-Key: {MASK}"]
        assert f"'--header=X-Api-Key: {MASK}'" in record["command"]
        assert "'--properties=httpclient4.retrycount=1 api_password=" in record["command"]


@KINDS
def test_wrong_use_is_one_line_and_nothing_starts(kind, start, tmp_path):
    option, message = kind.wrong
    for given, expected in (
        ([option], message), (["--max=soon"], "--max=soon"), (["--resume"], f"there is no {kind.what} "),
        (["--resume=77"], f"77: no such {kind.what}"),
    ):  # fmt: skip
        with pytest.raises(UsageError) as refused:
            start(kind, *given)
        assert expected in str(refused.value)
        assert len(str(refused.value).splitlines()) == 1
    assert calls(tmp_path) == []
    assert records(tmp_path, kind) == []


@KINDS
def test_resume_and_new_exclude_each_other(kind, start):
    with pytest.raises(UsageError, match="not allowed with argument"):
        start(kind, "--resume", "--new")


@KINDS
def test_an_unknown_name_is_one_line(kind, tmp_path):
    name = "2026-01-01" if kind is NIGHTLY else f"{kind.started}-77"
    for verb in ("experiment", "report"):
        with pytest.raises(UsageError, match=f"no such {kind.what}; there are: none"):
            main([verb, name, f"--reports={tmp_path}"], "aggregate.py")


@pytest.mark.counterpart
@SOME_KINDS
def test_its_report_and_charts_are_written_again_to_the_byte_by_its_name(kind, start, tmp_path, capsys):
    assert start(kind) in (0, 1)
    path = path_of(tmp_path, kind)
    page = path.with_suffix(".md")
    before, headline = contents(path.parent), stated_result(page).headline
    for file in (page, *path.with_suffix("").glob("*.svg")):
        file.unlink()
    capsys.readouterr()
    assert main(["report", path.stem, f"--reports={tmp_path / 'reports'}"], "lth") in (0, 1)
    assert contents(path.parent) == before
    assert headline in capsys.readouterr().out
