"""Commits as sides of scripts/ab: built once, refused when their traffic differs."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness.base.errors import UsageError
from harness.base.git import Checkout, facts
from harness.base.guardian import Guardian
from harness.commands import ab as ab_command
from harness.experiment.worktree import checked_out, files_of
from tests.support.ab_tests import SIDES, commit, git, page_of, record_of
from tests.support.fake_runs import calls
from tests.support.paths import ROOT
from tests.support.processes import output_until, processes_of, wait_for

# What a test of runs that take no time replaces.
GUARDIAN = {name: getattr(Guardian, name) for name in ("_begin_once", "_send")}


@pytest.fixture
def guarded(ab, monkeypatch):
    """scripts/ab with a guardian process."""
    for name, method in GUARDIAN.items():
        monkeypatch.setattr(Guardian, name, method)
    return ab


@pytest.fixture
def repository(home):
    """The home as a repository whose first commit is tagged v1; its profile builds a commit with a command."""
    profile = home / "env" / "local.toml"
    profile.write_text(f'build = ["sh", "-c", "printf yes > built"]\n{profile.read_text()}')
    git(home, "init", "-q")
    commit(home, "First")
    git(home, "tag", "v1")
    return home


@pytest.mark.real
def test_a_commit_is_run_with_its_own_files_and_built_once(ab, repository, tmp_path):
    system = repository / "systems" / "tiny" / "system.toml"
    system.write_text(system.read_text().replace("A file server", "Another file server"))
    commit(repository, "Second")
    assert ab("--a=v1", "--b=HEAD delay_ms=20") == 1
    started = list(zip(record_of(tmp_path)["runs"], calls(tmp_path), strict=True))  # the order of a pair is random
    homes = {run["side"]: Path(call["home"]) for run, call in started}
    a, b = homes["A"], homes["B"]
    assert [path.parent.parent for path in (a, b)] == [tmp_path / "build" / "ab"] * 2
    assert 'title = "A file server"' in (a / "systems" / "tiny" / "system.toml").read_text()
    assert 'title = "Another file server"' in (b / "systems" / "tiny" / "system.toml").read_text()
    assert (a / "built").read_text() == (b / "built").read_text() == "yes"
    assert not (repository / "built").exists()
    for run, call in started:
        assert call["build"] == str(homes[run["side"]].parent / "build")
    page = page_of(tmp_path)
    assert f"| plans, env and systems of | {a.parent.name} | {b.parent.name} |" in page
    assert record_of(tmp_path)["a"]["ref"] == "v1"
    (a / "built").unlink()
    assert ab("--a=v1", "--b=HEAD delay_ms=20") == 1
    assert not (a / "built").exists()  # it is not built again


def worktrees(repository):
    """The worktrees that the repository knows, without its own folder."""
    listed = git(repository, "worktree", "list", "--porcelain")
    return [line for line in listed.splitlines() if line.startswith("worktree ")][1:]


@pytest.mark.real
def test_a_budget_that_is_too_short_is_refused_before_a_commit_is_checked_out(guarded, repository, tmp_path):
    ab = guarded
    system = repository / "systems" / "tiny" / "system.toml"
    system.write_text(system.read_text().replace("A file server", "Another file server"))
    commit(repository, "Second")
    for sides in (("--a=v1", "--b=HEAD"), ("--a=v1", "--b=delay_ms=5"), ("--a=delay_ms=5", "--b=HEAD")):
        with pytest.raises(UsageError, match=r"--max=1m is too short for 4 pairs: .* 9 runs"):
            ab(*sides, "--max=1m")
        assert not (tmp_path / "build" / "ab").exists()
    plan = repository / "plans" / "tiny.toml"
    plan.write_text(plan.read_text().replace("duration_s = 2", "duration_s = 3"))
    commit(repository, "A longer load")
    with pytest.raises(UsageError, match="--max=1m is too short for 4 pairs"):
        ab("--a=v1", "--b=HEAD~1", "--duration=9", "--max=1m")
    assert not (tmp_path / "build" / "ab").exists()
    with pytest.raises(UsageError, match="--max=1m is too short for 4 pairs"):
        ab("--a=v1", "--b=HEAD~1", "--max=1m")  # only the commits have their load
    assert worktrees(repository) == []


@pytest.mark.counterpart
def test_the_repository_knows_worktrees_only_during_a_test(guarded, repository, tmp_path, monkeypatch):
    ab = guarded
    hook = repository / ".git" / "hooks" / "post-checkout"
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/hooked\n")
    hook.chmod(0o755)
    system = repository / "systems" / "tiny" / "system.toml"
    system.write_text(system.read_text().replace("A file server", "Another file server"))
    commit(repository, "Second")
    seen = []

    def build(side, _):
        seen.append((len(worktrees(repository)), facts(side.files.home)))

    monkeypatch.setattr(ab_command, "build_side", build)
    commits = [git(repository, "rev-parse", name).strip() for name in ("v1", "HEAD")]
    for _ in range(2):  # checked out, then found
        assert ab("--a=v1", "--b=HEAD", "--new") == 0
        assert worktrees(repository) == []
    assert seen == [(2, Checkout(one, False)) for one in commits] * 2
    assert not (tmp_path / "hooked").exists()
    jmx = repository / "plans" / "tiny.jmx"
    jmx.write_text(jmx.read_text().replace('testname="Users"', 'testname="People"'))
    commit(repository, "Other traffic")
    with pytest.raises(UsageError, match="not the same traffic"):
        ab("--a=v1", "--b=HEAD")
    assert worktrees(repository) == []


@pytest.mark.real
def test_a_test_that_is_killed_leaves_no_worktree(repository, tmp_path):
    profile = repository / "env" / "local.toml"
    profile.write_text(profile.read_text().replace("printf yes > built", "sleep 60"))
    commit(repository, "A long build")
    folders = (f"--home={repository}", f"--reports={tmp_path / 'ab'}", f"--build={tmp_path / 'build'}")
    arguments = ["--plan=tiny", "--a=HEAD", "--b=HEAD delay_ms=20", *folders]
    command = [sys.executable, str(ROOT / "scripts" / "ab"), *arguments]
    killed = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    output_until(killed, "sleep 60", 60)
    assert len(worktrees(repository)) == 1
    killed.kill()
    killed.communicate()
    wait_for(lambda: worktrees(repository) == [])
    wait_for(lambda: processes_of(tmp_path) == [])


@pytest.mark.real
def test_the_working_copy_is_the_last_commit_unless_it_has_changes(ab, repository, tmp_path):
    with pytest.raises(UsageError, match="--a=HEAD and --b=local are the same"):
        ab("--a=HEAD", "--b=local")
    system = repository / "systems" / "tiny" / "system.toml"
    system.write_text(system.read_text() + "# changed\n")
    assert ab("--a=HEAD", "--b=local") == 0
    assert record_of(tmp_path)["b"]["commit"] is None


@pytest.mark.real
@pytest.mark.parametrize("is_there", [True, False])
def test_a_check_out_that_was_killed_is_done_again_and_leaves_no_worktree_behind(repository, tmp_path, is_there):
    commit_id = git(repository, "rev-parse", "HEAD").strip()
    folder = files_of(repository, commit_id, tmp_path / "build").build.parent
    # What git leaves when it is killed: an entry with a lock, and a part of the files.
    git(repository, "worktree", "add", "--detach", "--no-checkout", str(folder / "empty"), commit_id)
    (repository / ".git" / "worktrees" / "empty" / "locked").write_text("initializing")
    if not is_there:
        shutil.rmtree(folder)
    tree = folder / "tree"
    with Guardian() as guardian:
        checked_out(repository, commit_id, tmp_path / "build", guardian)
        listed = git(repository, "worktree", "list", "--porcelain")
        assert (tree / "plans" / "tiny.jmx").is_file()
        assert listed.count(f"worktree {tree}\n") == listed.count("detached\n") == 1
        assert "locked" not in listed
    assert str(folder) not in git(repository, "worktree", "list", "--porcelain")


@pytest.mark.real
def test_commits_with_different_plans_are_refused(ab, repository, tmp_path):
    jmx = repository / "plans" / "tiny.jmx"
    jmx.write_text(jmx.read_text().replace('testname="Users"', 'testname="People"'))
    commit(repository, "Other traffic")
    with pytest.raises(UsageError, match=r"plans/tiny\.jmx differs between --a=v1 and --b=HEAD: not the same traffic"):
        ab("--a=v1", "--b=HEAD")
    assert calls(tmp_path) == []


@pytest.mark.counterpart
def test_commits_with_different_test_data_are_refused(ab, repository, tmp_path):
    jmx = repository / "plans" / "tiny.jmx"
    element = (
        '<CSVDataSet testname="Users"><stringProp name="filename">data/users.csv</stringProp></CSVDataSet><hashTree/>'
    )
    jmx.write_text(jmx.read_text().replace("<ThreadGroup guiclass", f"{element}<hashTree/><ThreadGroup guiclass"))
    users = repository / "plans" / "data" / "users.csv"
    users.parent.mkdir()
    for number, text in enumerate(("name\nanna\n", "name\nanna\n", "name\nbert\n")):
        users.write_text(text)
        (repository / "systems" / "tiny" / "notes").write_text(str(number))
        commit(repository, f"Users {number}")
    with pytest.raises(
        UsageError, match=r"plans/data/users\.csv differs between --a=HEAD~1 and --b=HEAD: not the same"
    ):
        ab("--a=HEAD~1", "--b=HEAD")
    users.unlink()
    with pytest.raises(UsageError, match=r"plans/data/users\.csv differs between --a=HEAD and --b=local: not the same"):
        ab("--a=HEAD", "--b=local")
    assert calls(tmp_path) == []
    assert ab("--a=HEAD~2", "--b=HEAD~1") == 0


@pytest.mark.real
def test_a_commit_without_the_plan_or_the_profile_is_refused_in_one_line(ab, repository, tmp_path):
    (repository / "env" / "quick.toml").write_text((repository / "env" / "local.toml").read_text())
    commit(repository, "Add a profile")
    git(repository, "rm", "-q", "-r", "plans")
    commit(repository, "Remove the plan")
    git(repository, "checkout", "-q", "HEAD~1", "--", "plans")
    for side, message in (
        ("v1 quick", "--b=v1 quick: --env=quick: unknown; there are: "),
        ("HEAD", "--b=HEAD: --plan=tiny: unknown; there are: "),
    ):
        with pytest.raises(UsageError) as refused:
            ab("--a=local", f"--b={side}")
        assert str(refused.value).startswith(message)
        assert len(str(refused.value).splitlines()) == 1
    assert calls(tmp_path) == []


@pytest.mark.real
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
        "--resume: tiny/ab-01 has another load, or a commit has moved; "
        "leave out what differs, or repeat its command: lth ab --a=v1 '--b=HEAD delay_ms=20' --plan=tiny"
    )
    assert len(calls(tmp_path)) == count


@pytest.mark.real
@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("printf yes", "exit 1; printf yes", r"--b=HEAD does not build: .* ended with code 1"),
        ('["', '["/nowhere/', r"--b=HEAD does not build: .* cannot start /nowhere/"),
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
        UsageError, match="--a=delay_ms=0 does not build: tiny: jar: false ended with code 1; see"
    ) as refused:
        ab(*SIDES)
    assert len(str(refused.value).splitlines()) == 1
    assert calls(tmp_path) == []
