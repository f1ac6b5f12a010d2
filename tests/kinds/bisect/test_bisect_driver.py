"""scripts/bisect as a user calls it; a stand-in for scripts/run leaves the results of runs that take no time."""

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest

from harness.base.errors import UsageError
from harness.cli.verbs import main
from harness.history.summary_files import SUMMARY_NAME, write_summary
from harness.kinds.bisect import build
from harness.run import kinds
from tests.support.ab_tests import commit, git
from tests.support.fake_runs import calls
from tests.support.first_screens import assert_first_screen
from tests.support.processes import interrupted_when

VALUES = "--set=delay_ms=0,1,20,21,22"


def record_of(tmp_path: Path, name: str = "bisect-01") -> dict:
    return json.loads((tmp_path / "bisect" / "tiny" / f"{name}.json").read_text())


def page_of(tmp_path: Path, name: str = "bisect-01") -> str:
    return (tmp_path / "bisect" / "tiny" / f"{name}.md").read_text()


def refused(bisect, *arguments: str) -> str:
    """Return the message of a command that starts nothing: one line."""
    with pytest.raises(UsageError) as error:
        bisect(*arguments)
    assert len(str(error.value).splitlines()) == 1
    return str(error.value)


@pytest.fixture
def repository(home):
    """The home as a repository of twelve commits: the eighth is slower, the fourth and the seventh do not build."""
    (home / "env" / "local.toml").write_text(f'build = ["sh", "build.sh"]\n{(home / "env" / "local.toml").read_text()}')
    system = home / "systems" / "tiny" / "system.toml"
    git(home, "init", "-q")
    for number in range(1, 13):
        (home / "build.sh").write_text(f"exit {int(number in (4, 7))}\n")
        (home / "number").write_text(str(number))
        if number == 8:
            system.write_text(system.read_text().replace("delay_ms = 0", "delay_ms = 30"))
        commit(home, "Use a pessimistic lock" if number == 8 else f"Change {number}")
        git(home, "tag", f"c{number}")
    return home


@pytest.mark.real
def test_the_value_that_slows_a_system_is_named_first_with_its_change(bisect, tmp_path, capsys):
    assert bisect(VALUES, "--metric=average") == 0
    record, page = record_of(tmp_path), page_of(tmp_path)
    found = re.fullmatch(
        r"FOUND (9[5-9]|over 99) %: delay_ms=20 \(average \+(\d+) %, (\d+) to (\d+)\)\.", record["headline"]
    )
    assert found
    low, high = int(found[3]), int(found[4])
    assert low <= 19 <= high  # of 101 ms 120 ms: + 18.8 %
    assert f"\n{chr(0x2705)} **{record['headline']}**\n" in page
    assert_first_screen(page, "answer", "chart", "table", "doubts")
    assert "![Which one made the change: delay_ms=20: 9" in page
    assert (tmp_path / "bisect" / "tiny" / "bisect-01" / "probability.svg").is_file()
    assert sum(record["probabilities"]) + record["several"] + record["none"] == pytest.approx(1.0)
    order = [run["candidate"] for run in record["runs"]]
    assert (order[:5], record["runs"][0]["is_warm_up"]) == ([0, 0, 4, 4, 0], True)
    assert all(one != other for one, other in pairwise(order[4:]))
    assert "so far " in capsys.readouterr().out
    assert re.search(r"^- scatter of runs: 4\.0 % expected, \d\.\d % estimated from these runs$", page, re.MULTILINE)
    write_summary(tmp_path)
    assert "bisect-01" in (tmp_path / SUMMARY_NAME).read_text()


@pytest.mark.real
@pytest.mark.parametrize("candidates", [("--good=c1", "--bad=c12"), (VALUES,)])
def test_a_budget_that_is_too_short_is_refused_before_anything_is_checked_out(bisect, repository, tmp_path, candidates):
    assert repository
    found = refused(bisect, *candidates, "--max=5s")
    assert found.startswith(
        "--max=5s is too short for a run of both ends: with the warm-up run they are 3 runs of about "
    )
    assert not (tmp_path / "build").exists()


@pytest.mark.real
def test_good_and_bad_that_are_exchanged_are_said_to_be(bisect, tmp_path):
    assert bisect("--set=delay_ms=30,29,0,1", "--metric=throughput") == 0
    headline = record_of(tmp_path)["headline"]
    assert re.match(r"FOUND .*: delay_ms=0 \(throughput \+\d+ %, ", headline)
    assert headline.endswith("It is better: good and bad exchanged?")


@pytest.mark.real
def test_values_that_change_nothing_have_no_effect(bisect, tmp_path):
    assert bisect("--set=python=python3,python3.11,/usr/bin/python3", "--metric=p90") == 0
    headline = record_of(tmp_path)["headline"]
    assert re.fullmatch(r"NO EFFECT after \d+ runs: p90 of both ends differs by less than \d\.\d %\.", headline)


@pytest.mark.real
def test_values_that_slow_a_system_bit_by_bit_are_no_single_one(bisect, tmp_path):
    assert bisect("--set=delay_ms=0,10,20,30,40,50", "--metric=average") == 0
    headline = record_of(tmp_path)["headline"]
    assert re.fullmatch(r"FOUND (9\d|over 99) %: no single commit: average( \+\d+ %,)+ \+\d+ %\.", headline)
    assert "<summary>Parts of the change</summary>" in page_of(tmp_path)


@pytest.mark.real
@pytest.mark.usefixtures("repository")
def test_a_slow_commit_is_found_and_commits_that_do_not_build_are_skipped(bisect, tmp_path):
    assert bisect("--good=c1", "--bad=c12", "--metric=average") == 0
    record, page = record_of(tmp_path), page_of(tmp_path)
    assert [one["subject"] for one in record["candidates"][:2]] == ["Change 1", "Change 2"]
    assert len(record["candidates"]) == 12
    slow = record["candidates"][7]
    title = f"{slow['text']} Use a pessimistic lock or 1 before it"
    assert re.match(rf"FOUND .* %: {title} \(average \+3\d %, \d+ to \d+\)\.", record["headline"])
    broken = [run for run in record["runs"] if not run["is_built"]]
    assert broken
    assert {run["candidate"] for run in broken} <= {3, 6}
    assert all(run["problem"].startswith("does not build: ") and run["run"] is None for run in broken)
    assert " skipped, so the commit after it shares its probability: does not build: " in page
    assert f"`git show {slow['commit'][:12]}`" in page
    for run, call in zip([run for run in record["runs"] if run["is_built"]], calls(tmp_path), strict=True):
        number = Path(call["home"], "number").read_text()
        assert int(number) == run["candidate"] + 1


@pytest.mark.counterpart
def test_an_end_that_does_not_build_or_hangs_is_refused(bisect, repository, tmp_path, monkeypatch):
    message = refused(bisect, "--good=c4")
    assert re.match(r"--good=\w{7} does not build: .*sh ended with code 1", message)
    assert "does not build" in refused(bisect, "--good=c1", "--bad=c7")
    (repository / "build.sh").write_text("sleep 600\n")
    commit(repository, "Hang")
    monkeypatch.setattr(build, "BUILD_LIMIT_S", 0.5)
    assert re.match(r"--bad=\w{7} does not build: sh: stopped after 0\.5 s: it hung", refused(bisect, "--good=c12"))
    assert calls(tmp_path) == []


@pytest.mark.real
def test_ctrl_c_ends_a_build_and_the_bisection_can_be_resumed(bisect, home, tmp_path):
    (home / "env" / "local.toml").write_text(f'build = ["sh", "build.sh"]\n{(home / "env" / "local.toml").read_text()}')
    git(home, "init", "-q")
    for script in ("exit 0", f"touch {tmp_path / 'waits'}; sleep 60", "exit 0 "):
        (home / "build.sh").write_text(f"{script}\n")
        commit(home, script)
    system = home / "systems" / "tiny" / "system.toml"
    system.write_text(system.read_text().replace("delay_ms = 0", "delay_ms = 30"))
    commit(home, "Slower")

    with interrupted_when((tmp_path / "waits").exists):
        assert bisect("--good=HEAD~3") == 130
    record = record_of(tmp_path)
    assert (record["state"], record["runs"][-1]["candidate"]) == ("running", 1)
    assert all(run["state"] == "ended" for run in record["runs"][:-1])
    assert record["runs"][-1]["state"] == "under way"
    assert "**INTERRUPTED, so far CANNOT TELL after 4 runs: " in page_of(tmp_path)


@pytest.mark.real
def test_a_history_that_cannot_be_bisected_is_refused_in_one_line(bisect, repository, tmp_path):
    git(repository, "checkout", "-q", "-b", "side", "c2")
    (repository / "number").write_text("13")
    commit(repository, "Beside it")
    for given, message in (
        (("--good=c9", "--bad=c3"), "--good=c9 and --bad=c3 are exchanged: --good is after --bad; exchange them"),
        (("--good=side", "--bad=c12"), "the history of --bad=c12 does not contain --good=side"),
        (("--good=c3", "--bad=c3"), "--good=c3 and --bad=c3 are the same commit"),
        (("--good=v9",), "--good=v9: no commit that git knows here"),
        (("--good=c1", "--metric=p42"), "--metric p42: no such metric"),
        (("--good=c1", VALUES), "--good=c1 and --set=delay_ms=0,1,20,21,22: commits or values"),
        ((), "--good is missing; give --good=v1.4, or one setting with values"),
        (("--set=delay_ms=0,x",), "delay_ms"),
    ):
        assert message in refused(bisect, *given)
    assert calls(tmp_path) == []


@pytest.mark.real
def test_a_bad_end_whose_runs_fail_is_invalid(bisect, tmp_path):
    assert bisect(VALUES, behaviour={"3": "fail", "4": "fail"}) == 3
    assert record_of(tmp_path)["headline"].startswith("INVALID: the bad end cannot be tested: lth run ended with")


@pytest.mark.real
def test_a_bisection_that_failed_goes_on_when_it_is_resumed(bisect, tmp_path):
    assert bisect(VALUES, behaviour={"3": "fail", "4": "fail"}) == 3
    assert bisect("--resume") == 0
    assert record_of(tmp_path)["headline"].startswith("FOUND ")


@pytest.mark.real
def test_runs_that_do_not_count_are_repeated_and_three_in_a_row_end_it(bisect, tmp_path):
    assert bisect(VALUES, behaviour={"6": "doubt"}) == 0
    assert "| no: DOUBTFUL: " in page_of(tmp_path)
    assert bisect(VALUES, "--new", behaviour={str(number): "doubt" for number in range(1, 99)}) == 3
    assert record_of(tmp_path, "bisect-02")["headline"].startswith("INVALID: 3 runs in a row do not count: ")


@pytest.mark.real
def test_its_report_is_written_again_by_its_name(bisect, tmp_path, capsys):
    assert bisect(VALUES) == 0
    capsys.readouterr()
    assert main(["bisect", "bisect-01", f"--reports={tmp_path / 'bisect'}"], "aggregate.py") == 0
    assert record_of(tmp_path)["headline"] in capsys.readouterr().out
    assert kinds.kind_of("bisect-01") is kinds.BISECTION
