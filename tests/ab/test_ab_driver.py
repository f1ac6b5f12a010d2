"""scripts/ab as a user calls it; a stand-in for scripts/run leaves the results of runs that take no time."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from dataclasses import asdict
from pathlib import Path

import pytest

from harness.ab import command, runner
from harness.ab.files import locked
from harness.base.errors import UsageError
from harness.cli import main
from harness.history.summary_files import SUMMARY_NAME
from harness.run import child
from harness.system.profile import Collections, MethodUse, ProcessProfile
from tests.support.paths import FAKE_JMETER, ROOT
from tests.support.processes import processes_of, wait_for
from tests.support.report_folder import add_run

FAKE_RUN = ROOT / "tests" / "support" / "fakes" / "scripts_run.py"
SIDES = ("--a=delay_ms=0", "--b=delay_ms=20")


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """The JSON of a run of 2,000 samples of 100 ms."""
    reports = tmp_path_factory.mktemp("template")
    add_run(reports, "tiny/run-01_1", samples=2000, seconds=100)
    return (reports / "tiny" / "run-01_1.json").read_text()


@pytest.fixture
def home(home):
    """The home with the tiny plan, whose system has the setting delay_ms."""
    system = home / "systems" / "tiny" / "system.toml"
    system.write_text(system.read_text() + "delay_ms = 0\n")
    return home


@pytest.fixture
def ab(home, tmp_path, template, monkeypatch):
    """Run scripts/ab on the tiny plan and return its exit code; runs take no time."""
    fakes = tmp_path / "fakes"
    fakes.mkdir()
    (fakes / "template.json").write_text(template)
    monkeypatch.setattr(child, "_RUN", FAKE_RUN)
    monkeypatch.setenv("FAKE_RUN", str(fakes))
    monkeypatch.setenv("JMETER_HOME", str(FAKE_JMETER))

    def run(*arguments, behaviour=None):
        (fakes / "behaviour").write_text(json.dumps(behaviour or {}))
        folders = [f"--home={home}", f"--reports={tmp_path / 'ab'}", f"--build={tmp_path / 'build'}"]
        return main(["--plan=tiny", *arguments, *folders], "scripts/ab")

    return run


def record_of(tmp_path: Path, name: str = "ab-01") -> dict:
    return json.loads((tmp_path / "ab" / "tiny" / f"{name}.json").read_text())


def page_of(tmp_path: Path, name: str = "ab-01") -> str:
    return (tmp_path / "ab" / "tiny" / f"{name}.md").read_text()


def calls(tmp_path: Path) -> list[dict]:
    path = tmp_path / "fakes" / "calls"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def test_a_side_that_is_slower_is_found_in_pairs_that_alternate(ab, tmp_path, capsys):
    assert ab(*SIDES) == 1
    out = capsys.readouterr().out
    assert "tiny/ab-01: REGRESSED after 4 pairs: B is worse than A: average +20." in out
    assert re.search(r"^report: .*ab/tiny/ab-01\.md$", out, re.MULTILINE)
    record = record_of(tmp_path)
    assert (record["verdict"], record["state"]) == ("REGRESSED", "finished")
    assert record["headline"].startswith("REGRESSED after 4 pairs: B is worse than A: average +20.")
    # One warm-up run of A; then A B, B A, A B, B A.
    assert [(run["side"], run["pair"]) for run in record["runs"]] == [
        ("A", 0), ("A", 1), ("B", 1), ("B", 2), ("A", 2), ("A", 3), ("B", 3), ("B", 4), ("A", 4),
    ]  # fmt: skip
    assert [call["set"] for call in calls(tmp_path)[1:3]] == ["delay_ms=0", "delay_ms=20"]
    page = page_of(tmp_path)
    assert "**REGRESSED after 4 pairs: B is worse than A: average +20." in page
    assert "- A: delay_ms=0 (profile local)" in page
    assert re.search(r"^\| average ms \| 102 \| 122 \| \+20\.\d\d \|.*\*\*REGRESSED\*\* \|$", page, re.MULTILINE)
    assert "| 2 | B A | [run-01_5](run-01_5.md) | [run-01_4](run-01_4.md) |" in page
    assert str(tmp_path) not in page


def test_sides_that_do_not_differ_are_ok_within_a_bound(ab, tmp_path):
    # The setting of B changes nothing that this stand-in would measure.
    assert ab("--a=delay_ms=0", "--b=python=python3.11") == 0
    record = record_of(tmp_path)
    assert record["verdict"] == "OK"
    assert re.match(
        r"OK within \d\.\d % after 4 pairs: no metric of B is worse than A's by more\.$", record["headline"]
    )


def test_a_faster_side_is_improved(ab, tmp_path):
    assert ab("--a=delay_ms=20", "--b=delay_ms=0") == 0
    assert record_of(tmp_path)["verdict"] == "IMPROVED"
    assert "IMPROVED after 4 pairs: B is better than A: average -16." in page_of(tmp_path)


def test_a_pair_that_did_not_measure_the_system_does_not_count_and_another_one_follows(ab, tmp_path):
    assert ab(*SIDES, behaviour={"3": "doubt"}) == 1
    record = record_of(tmp_path)
    assert [bool(pair["problem"]) for pair in record["pairs"]] == [True, False, False, False, False]
    assert "after 4 pairs" in record["headline"]
    page = page_of(tmp_path)
    assert "no: B, run-01_3: DOUBTFUL: the load generator used nearly all of the CPU |" in page
    assert "- B: tiny/run-01_3: The generator used 99 %." in page


@pytest.mark.parametrize(
    ("behaviour", "headline"),
    [
        ({"1": "fail"}, "INVALID: the warm-up run of A failed: scripts/run ended with code 3: web ended with code 1."),
        ({"3": "fail", "4": "fail"}, "INVALID: B: scripts/run ended with code 3: web ended with code 1."),
    ],
)
def test_a_side_that_does_not_run_ends_the_test(ab, tmp_path, behaviour, headline):
    assert ab(*SIDES, behaviour=behaviour) == 3
    assert record_of(tmp_path)["headline"] == headline
    assert len(calls(tmp_path)) == max(map(int, behaviour)) + ("4" in behaviour)


def test_an_interrupted_test_writes_its_report_and_is_resumed_with_a_new_pair(ab, tmp_path, capsys):
    def interrupt():
        wait_for(lambda: (tmp_path / "fakes" / "waits").exists())
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    assert ab(*SIDES, behaviour={"5": "wait"}) == 130
    thread.join()
    assert "resume with: make ab A=delay_ms=0 B=delay_ms=20 PLAN=tiny RESUME=1\n" in capsys.readouterr().out
    assert "**INTERRUPTED, so far CANNOT TELL after 1 pair: a verdict needs 4 pairs.**" in page_of(tmp_path)
    assert record_of(tmp_path)["state"] == "running"
    with pytest.raises(UsageError, match="--resume: tiny/ab-01 has other sides or another load"):
        ab("--a=delay_ms=0", "--b=delay_ms=30", "--resume")
    assert ab(*SIDES, "--resume") == 1
    # The pair that was interrupted is not completed hours later: another one takes its place.
    assert [run["pair"] for run in record_of(tmp_path)["runs"]] == [0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    assert [pair["number"] for pair in record_of(tmp_path)["pairs"]] == [1, 3, 4, 5]
    with pytest.raises(UsageError, match="--resume: tiny/ab-01 is finished"):
        ab(*SIDES, "--resume")
    assert ab(*SIDES) == 1
    assert record_of(tmp_path, "ab-02")["verdict"] == "REGRESSED"


def test_the_budget_ends_a_test_after_the_last_pair_that_fits(ab, tmp_path, monkeypatch):
    assert command.FIRST_GUESS_S == runner.FIRST_GUESS_S == 30.0  # 32 s a run: five minutes are enough for four pairs
    monkeypatch.setattr(runner, "FIRST_GUESS_S", 1000.0)  # as if it took longer than it should
    assert ab(*SIDES, "--max=6m") == 0
    record = record_of(tmp_path)
    assert (record["verdict"], record["state"], calls(tmp_path)) == ("CANNOT TELL", "finished", [])
    assert record["headline"] == "CANNOT TELL: the budget of 6 min is used up."


def again(tmp_path: Path, *arguments: str) -> int:
    """Run aggregate.py ab."""
    return main(["ab", *arguments, f"--reports={tmp_path / 'ab'}"])


@pytest.mark.parametrize("name", ["ab-01", "tiny/ab-01", "tiny/ab-01.md"])
def test_a_stored_test_is_rendered_again_with_the_same_bytes_and_its_notes(ab, tmp_path, capsys, name):
    assert ab(*SIDES) == 1
    before = {suffix: (tmp_path / "ab" / "tiny" / f"ab-01{suffix}").read_bytes() for suffix in (".json", ".md")}
    page = tmp_path / "ab" / "tiny" / "ab-01.md"
    assert page.read_text().startswith("<!-- generated by ./aggregate.py ab tiny/ab-01; only the notes block survives")
    assert "<!-- command: make ab A=delay_ms=0 B=delay_ms=20 PLAN=tiny -->\n" in page.read_text()
    page.unlink()
    capsys.readouterr()
    assert again(tmp_path, name) == 1
    assert {suffix: (tmp_path / "ab" / "tiny" / f"ab-01{suffix}").read_bytes() for suffix in before} == before
    assert "ab/tiny/ab-01.md: REGRESSED after 4 pairs: B is worse than A: average +20." in capsys.readouterr().out
    page.write_text(page.read_text().replace("-->\n\n<!-- notes:end", "-->\nthe new pool\n<!-- notes:end"))
    assert again(tmp_path, name) == 1
    assert "-->\nthe new pool\n<!-- notes:end" in page.read_text()


def test_a_test_whose_run_was_deleted_keeps_its_report_and_is_not_resumed(ab, tmp_path):
    assert ab(*SIDES) == 1
    folder = tmp_path / "ab" / "tiny"
    before = page_of(tmp_path)
    (folder / "run-01_3.json").write_text("{")
    with pytest.raises(UsageError, match=r"tiny/ab-01: its run run-01_3 has no numbers any more \(its JSON"):
        again(tmp_path, "ab-01")
    (folder / "run-01_3.json").unlink()
    with pytest.raises(UsageError) as refused:
        again(tmp_path, "ab-01")
    assert str(refused.value) == (
        "tiny/ab-01: its run run-01_3 has no numbers any more (it was deleted); nothing was written; "
        "restore its .json, or repeat the test"
    )
    record = folder / "ab-01.json"
    record.write_text(record.read_text().replace('"state": "finished"', '"state": "running"'))
    count = len(calls(tmp_path))
    with pytest.raises(UsageError, match="its run run-01_3 has no numbers any more"):
        ab(*SIDES, "--resume")
    assert len(calls(tmp_path)) == count
    assert page_of(tmp_path) == before


def test_a_run_that_left_nothing_is_rendered_again_with_its_problem(ab, tmp_path):
    assert ab(*SIDES, behaviour={"3": "fail", "4": "fail"}) == 3
    before = page_of(tmp_path)
    assert again(tmp_path, "ab-01") == 3
    assert page_of(tmp_path) == before


def test_the_record_of_a_test_in_progress_belongs_to_the_process_that_runs_it(ab, tmp_path):
    assert ab(*SIDES) == 1
    record = tmp_path / "ab" / "tiny" / "ab-01.json"
    record.write_text(record.read_text().replace('"state": "finished"', '"state": "running"'))
    with (
        locked(tmp_path / "ab"),
        pytest.raises(UsageError, match=r"an A/B test is in progress in .*; wait until it ends"),
    ):
        again(tmp_path, "ab-01")
    assert again(tmp_path, "ab-01") == 130  # it was killed
    assert "**INTERRUPTED, so far REGRESSED after 4 pairs" in page_of(tmp_path)


def test_an_unknown_name_lists_the_tests(ab, tmp_path):
    with pytest.raises(UsageError, match="ab-01: no such A/B test; there are: none"):
        again(tmp_path, "ab-01")
    assert ab(*SIDES) == 1
    with pytest.raises(UsageError, match=r"ab-02: no such A/B test; did you mean ab-01\? there are: tiny/ab-01"):
        again(tmp_path, "ab-02")
    shutil.copytree(tmp_path / "ab" / "tiny", tmp_path / "ab" / "other")
    with pytest.raises(UsageError, match="ab-01: 2 plans have it; choose one: other/ab-01, tiny/ab-01"):
        again(tmp_path, "ab-01")


def test_a_test_is_in_the_summary_of_all_reports_and_in_that_of_its_runs(ab, tmp_path):
    (tmp_path / SUMMARY_NAME).touch()
    assert ab(*SIDES) == 1
    summary = (tmp_path / SUMMARY_NAME).read_text()
    assert "## tiny\n\nA/B tests:\n\n- [ab-01](ab/tiny/ab-01.md): REGRESSED after 4 pairs: B is worse" in summary
    assert "run-01_1" not in summary
    of_runs = (tmp_path / "ab" / SUMMARY_NAME).read_text()
    assert "### run-01\n\n- [ab-01](tiny/ab-01.md): REGRESSED after 4 pairs: B is worse" in of_runs
    assert "| [run-01_9](tiny/run-01_9.md) | VALID |" in of_runs


def profile_runs(tmp_path: Path, samples: dict[str, int]) -> None:
    """Add a profile to the runs of the sides in `samples`: so many samples of 2,000 of one method."""
    for run in record_of(tmp_path)["runs"]:
        path = tmp_path / "ab" / "tiny" / f"{run['run']}.json"
        data = json.loads(path.read_text())
        data["run"]["is_profiled"] = run["side"] in samples
        if run["side"] in samples:
            methods = (MethodUse("shop.Cart.sum", samples[run["side"]], 2_000),)
            profile = ProcessProfile("web", 100.0, 2_000, methods, 0.0, (), 0, (), Collections(0, 0.0, 0.0))
            data["observed"]["profiles"] = [asdict(profile)]
        path.write_text(json.dumps(data))


def test_a_regression_of_profiled_sides_shows_what_grew_inside_the_system(ab, tmp_path):
    assert ab(*SIDES) == 1
    assert "What grew" not in page_of(tmp_path)
    profile_runs(tmp_path, {"A": 400, "B": 1_200})
    assert again(tmp_path, "ab-01") == 1
    page = page_of(tmp_path)
    assert "## What grew inside the system\n\n| kind | process | what | A per request | B per request |" in page
    # Of 1,980 samples in the window, each 10 ms of the profile.
    assert f"| method | web | shop.Cart.sum | {400 * 10 / 1980:.3g} ms | {1200 * 10 / 1980:.3g} ms |" in page
    (cause,) = record_of(tmp_path)["causes"]
    assert (cause["name"], cause["is_bound"]) == ("shop.Cart.sum", False)
    assert "Only one side is profiled" not in page


def test_a_test_with_one_profiled_side_says_so(ab, tmp_path):
    assert ab(*SIDES) == 1
    profile_runs(tmp_path, {"B": 1_200})
    assert again(tmp_path, "ab-01") == 1
    assert "- Only one side is profiled: tiny/run-01_3, tiny/run-01_4, tiny/run-01_7, " in page_of(tmp_path)
    assert "What grew" not in page_of(tmp_path)


BAD = [
    (["--a=delay_ms=0"], "one side is missing; give two sides"),
    (["--a=delay_ms=0", "--b=delay_ms=0"], "A=delay_ms=0 and B=delay_ms=0 are the same: nothing to compare"),
    (["--a=local", "--b=delay_ms=0"], "A=local and B=delay_ms=0 are the same: nothing to compare"),
    (["--a=local", "--b=delay_m=1"], "B=delay_m=1: delay_m is neither a setting of tiny nor a property of tiny.jmx"),
    (["--a=local", "--b=delay_ms=x"], "B=delay_ms=x: system tiny: setting delay_ms = 'x' is not a whole number"),
    (["--a=local", "--b=tiny.nothing=x"], "B=tiny.nothing=x: tiny.nothing: tiny has no such setting"),
    (["--a=local", "--b=db_password=x"], "B=db_password=x: db_password is a secret"),
    (["--a=local", "--b=lokal"], "B=lokal: neither a profile nor a commit that git knows here; did you mean local?"),
    (["--a=local", "--b=local local"], "B=local local: local is one word too many"),
    (["--a=local", "--b='x"], "'x: no closing quotation; close the quote"),
    (["--a=local", "--b=http://10.0.0.5:1"], "B=http://10.0.0.5:1: TARGET=http://10.0.0.5:1: 10.0.0.5 is not this"),
    (["--a=local", "--b=http://127.0.0.1:1"], "B=http://127.0.0.1:1: TARGET=http://127.0.0.1:1: nothing answers"),
    (
        [*SIDES, "--max=4m"],
        "MAX=4m is too short for 4 pairs: with the warm-up run they are 9 runs of about 32 s, 4 min",
    ),
    ([*SIDES, "--max=soon"], "MAX=soon: "),
    ([*SIDES, "--max=4m", "--duration=5s"], "MAX=4m is too short for 4 pairs: with the warm-up run they are 9 runs of"),
    ([*SIDES, "--duration=auto"], "DURATION=auto: the runs would have different lengths"),
    ([*SIDES, "--resume"], "--resume: there is no A/B test of tiny yet; leave it out"),
    (["--a=local", "--b=quick"], "the loads of A=local and B=quick differ: users is 2 in A and 3 in B; give both"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=[message for _, message in BAD])
def test_bad_input_is_refused_in_one_line_before_anything_runs(ab, home, tmp_path, arguments, message):
    profile = (home / "env" / "local.toml").read_text()
    (home / "env" / "quick.toml").write_text(profile + "[plan.tiny]\nusers = 3\n")
    with pytest.raises(UsageError) as refused:
        ab(*arguments)
    assert str(refused.value).startswith(message)
    assert len(str(refused.value).splitlines()) == 1
    assert calls(tmp_path) == []


def git(home: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", str(home), *identity, *arguments], check=True, capture_output=True)


def commit(home: Path, message: str) -> None:
    git(home, "add", "-A")
    git(home, "commit", "-q", "-m", message)


@pytest.fixture
def repository(home):
    """The home as a repository whose first commit is tagged v1; its profile builds a commit with a command."""
    profile = home / "env" / "local.toml"
    building = "import pathlib; pathlib.Path('built').write_text('yes')"
    profile.write_text(f'build = ["{sys.executable}", "-c", "{building}"]\n{profile.read_text()}')
    git(home, "init", "-q")
    commit(home, "First")
    git(home, "tag", "v1")
    return home


def test_a_commit_is_run_with_its_own_files_and_built_once(ab, repository, tmp_path):
    system = repository / "systems" / "tiny" / "system.toml"
    system.write_text(system.read_text().replace("A file server", "Another file server"))
    commit(repository, "Second")
    assert ab("--a=v1", "--b=HEAD delay_ms=20") == 1
    a, b = (Path(calls(tmp_path)[place]["home"]) for place in (1, 2))
    assert [path.parent.parent for path in (a, b)] == [tmp_path / "build" / "ab"] * 2
    assert 'title = "A file server"' in (a / "systems" / "tiny" / "system.toml").read_text()
    assert 'title = "Another file server"' in (b / "systems" / "tiny" / "system.toml").read_text()
    assert (a / "built").read_text() == (b / "built").read_text() == "yes"
    assert not (repository / "built").exists()
    assert calls(tmp_path)[1]["build"] == str(a.parent / "build")
    page = page_of(tmp_path)
    assert f"| plans, env and systems of | {a.parent.name} | {b.parent.name} |" in page
    assert record_of(tmp_path)["a"]["ref"] == "v1"
    (a / "built").unlink()
    assert ab("--a=v1", "--b=HEAD delay_ms=20") == 1
    assert not (a / "built").exists()  # it is not built again


def test_the_working_copy_is_the_last_commit_unless_it_has_changes(ab, repository, tmp_path):
    with pytest.raises(UsageError, match="A=HEAD and B=local are the same"):
        ab("--a=HEAD", "--b=local")
    system = repository / "systems" / "tiny" / "system.toml"
    system.write_text(system.read_text() + "# changed\n")
    assert ab("--a=HEAD", "--b=local") == 0
    assert record_of(tmp_path)["b"]["commit"] is None


def test_commits_with_different_plans_are_refused(ab, repository, tmp_path):
    jmx = repository / "plans" / "tiny.jmx"
    jmx.write_text(jmx.read_text().replace('testname="Users"', 'testname="People"'))
    commit(repository, "Other traffic")
    with pytest.raises(UsageError, match=r"plans/tiny\.jmx differs between A=v1 and B=HEAD: not the same traffic"):
        ab("--a=v1", "--b=HEAD")
    assert calls(tmp_path) == []


def test_commits_with_different_test_data_are_refused(ab, repository, tmp_path):
    jmx = repository / "plans" / "tiny.jmx"
    element = (
        '<CSVDataSet testname="Users"><stringProp name="filename">data/users.csv</stringProp></CSVDataSet><hashTree/>'
    )
    jmx.write_text(jmx.read_text().replace("<ThreadGroup guiclass", f"{element}<hashTree/><ThreadGroup guiclass"))
    users = repository / "plans" / "data" / "users.csv"
    users.parent.mkdir()
    for place, text in enumerate(("name\nanna\n", "name\nanna\n", "name\nbert\n")):
        users.write_text(text)
        (repository / "systems" / "tiny" / "notes").write_text(str(place))
        commit(repository, f"Users {place}")
    with pytest.raises(UsageError, match=r"plans/data/users\.csv differs between A=HEAD~1 and B=HEAD: not the same"):
        ab("--a=HEAD~1", "--b=HEAD")
    users.unlink()
    with pytest.raises(UsageError, match=r"plans/data/users\.csv differs between A=HEAD and B=local: not the same"):
        ab("--a=HEAD", "--b=local")
    assert calls(tmp_path) == []
    assert ab("--a=HEAD~2", "--b=HEAD~1") == 0


def test_a_commit_without_the_plan_or_the_profile_is_refused_in_one_line(ab, repository, tmp_path):
    (repository / "env" / "quick.toml").write_text((repository / "env" / "local.toml").read_text())
    commit(repository, "Add a profile")
    git(repository, "rm", "-q", "-r", "plans")
    commit(repository, "Remove the plan")
    git(repository, "checkout", "-q", "HEAD~1", "--", "plans")
    for side, message in (
        ("v1 quick", "B=v1 quick: ENV=quick: unknown; there are: local"),
        ("HEAD", "B=HEAD: PLAN=tiny: unknown; there are: none"),
    ):
        with pytest.raises(UsageError) as refused:
            ab("--a=local", f"--b={side}")
        assert str(refused.value).startswith(message)
        assert len(str(refused.value).splitlines()) == 1
    assert calls(tmp_path) == []


def test_a_branch_that_moved_is_another_side_and_is_not_resumed(ab, repository, tmp_path):
    assert ab("--a=v1", "--b=HEAD delay_ms=20") == 1
    record = tmp_path / "ab" / "tiny" / "ab-01.json"
    record.write_text(record.read_text().replace('"state": "finished"', '"state": "running"'))
    (repository / "systems" / "tiny" / "notes").write_text("newer")
    commit(repository, "Newer")
    count = len(calls(tmp_path))
    with pytest.raises(UsageError) as refused:
        ab("--a=v1", "--b=HEAD delay_ms=20", "--resume")
    assert str(refused.value) == (
        "--resume: tiny/ab-01 has other sides or another load, or a commit has moved; "
        "repeat its command: make ab A=v1 B='HEAD delay_ms=20' PLAN=tiny RESUME=1"
    )
    assert len(calls(tmp_path)) == count


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("write_text('yes')", "write_text('yes', 'no', 'x', 1, 2)", r"B=HEAD does not build: .* ended with code 1"),
        ('["', '["/nowhere/', r"B=HEAD does not build: .* cannot start /nowhere/"),
    ],
)
def test_a_commit_that_does_not_build_is_refused_in_one_line(ab, repository, tmp_path, old, new, message):
    profile = repository / "env" / "local.toml"
    profile.write_text(profile.read_text().replace(old, new, 1))
    commit(repository, "Broken")
    with pytest.raises(UsageError, match=message) as refused:
        ab("--a=v1", "--b=HEAD")
    assert len(str(refused.value).splitlines()) == 1
    assert calls(tmp_path) == []


def test_a_system_whose_preparation_fails_is_refused_in_one_line(ab, home, tmp_path):
    system = home / "systems" / "tiny" / "system.toml"
    system.write_text(system.read_text() + '[[prepare]]\nname = "jar"\ncommand = ["false"]\n')
    with pytest.raises(
        UsageError, match="A=delay_ms=0 does not build: tiny: jar: false ended with code 1; see"
    ) as refused:
        ab(*SIDES)
    assert len(str(refused.value).splitlines()) == 1
    assert calls(tmp_path) == []


@pytest.mark.real
def test_two_commits_are_built_run_and_judged_by_the_whole_program(home, tmp_path, monkeypatch, capsys):
    """Nothing is faked but JMeter, whose answers take as long as a file says that the build of each commit makes."""
    tiny = home / "systems" / "tiny"
    system = (tiny / "system.toml").read_text()
    (tiny / "system.toml").write_text(system.replace('"127.0.0.1"]', '"127.0.0.1", "--directory", "{{ system_dir }}"]'))
    build = "cp systems/tiny/source systems/tiny/answer_ms && echo built >> built"
    profile = (home / "env" / "local.toml").read_text()
    (home / "env" / "local.toml").write_text(f'build = ["sh", "-c", "{build}"]\n{profile}')
    git(home, "init", "-q", "-b", "main")
    (tiny / "source").write_text("20")
    commit(home, "First")
    git(home, "checkout", "-q", "-b", "slow")
    (tiny / "source").write_text("30")
    commit(home, "Second")
    monkeypatch.setenv("JMETER_HOME", str(FAKE_JMETER))
    monkeypatch.setenv("FAKE_JMETER", "asks")
    folders = [f"--home={home}", f"--reports={tmp_path / 'ab'}", f"--build={tmp_path / 'build'}"]
    assert main(["--plan=tiny", "--a=main", "--b=slow", "--duration=1", *folders], "scripts/ab") == 1
    assert "tiny/ab-01: REGRESSED after 4 pairs: B is worse than A: average +50.00 % (+50.00 to +50.00)" in (
        capsys.readouterr().out
    )
    record = record_of(tmp_path)
    assert [run["exit_code"] for run in record["runs"]] == [0] * 9
    trees = [tmp_path / "build" / "ab" / record[side]["commit"][:12] / "tree" for side in ("a", "b")]
    assert [(tree / "built").read_text() for tree in trees] == ["built\n"] * 2
    assert not (tiny / "answer_ms").exists()
    assert processes_of(tmp_path) == []


@pytest.mark.real
def test_kill_9_leaves_no_process_and_keeps_what_was_measured(home, tmp_path):
    """The whole program, with a fake JMeter: its first run is killed, and then its record is resumed."""
    environment = {**os.environ, "JMETER_HOME": str(FAKE_JMETER), "FAKE_JMETER": "works", "TMPDIR": str(tmp_path)}
    command = [sys.executable, str(ROOT / "scripts" / "ab"), "--plan=tiny", *SIDES, "--duration=2"]
    command += [f"--home={home}", f"--reports={tmp_path / 'ab'}", f"--build={tmp_path / 'build'}"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, start_new_session=True) as process:
        wait_for(lambda: list((tmp_path / "ab").glob("tiny/run-01_2/samples.jtl")), 60)
        process.kill()
    wait_for(lambda: not processes_of(tmp_path), 30)
    record = record_of(tmp_path)
    assert [(run["side"], run["pair"], run["state"]) for run in record["runs"]] == [
        ("A", 0, "ended"),
        ("A", 1, "under way"),
    ]
    assert record["runs"][0]["run"] == "run-01_1"
    assert (tmp_path / "ab" / "tiny" / "run-01_1.md").is_file()
