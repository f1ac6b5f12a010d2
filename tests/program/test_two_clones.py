"""Two people measure in clones of one project and merge: each run keeps its own files, and no name is lost."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from harness.history.files import read_catalogue
from harness.history.summary_files import SUMMARY_NAME
from harness.run.directory import ID_VARIABLE
from harness.run.kinds import short_name
from harness.run.names import find_paths
from harness.site.files import write_site
from tests.support.commands import command
from tests.support.paths import FAKE_JMETER, ROOT
from tests.support.tiny import arguments_of_run, tiny_home

pytestmark = pytest.mark.real


def git(folder: Path, *arguments: str) -> str:
    own = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    person = {f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    done = subprocess.run(
        ["git", *arguments],
        cwd=folder,
        env={**os.environ, **own, **person},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def clones(tmp_path):
    project = tmp_path / "project"
    tiny_home(project).rename(project / "files")
    for path in (project / "files").iterdir():
        path.rename(project / path.name)
    (project / "files").rmdir()
    shutil.copy(ROOT / ".gitignore", project)
    git(project, "init", "--quiet")
    git(project, "add", ".")
    git(project, "commit", "--quiet", "--message", "A plan")
    for name in ("mine", "yours"):
        git(tmp_path, "clone", "--quiet", str(project), name)
    return tmp_path / "mine", tmp_path / "yours"


@pytest.fixture
def measure(target, monkeypatch):
    """Measure in a clone with random ids, and commit what git does not ignore."""
    monkeypatch.delenv(ID_VARIABLE)

    def measured(clone: Path, *more: str) -> set[str]:
        for script, *options in (*[("run",)] * 2, ("sweep", "--users", "1,2", "--warmup", "0"), ("run", *more)):
            arguments = arguments_of_run(clone, clone, ["--target", target, "--duration", "1", *options])
            done = command(f"scripts/{script}", *arguments, JMETER_HOME=str(FAKE_JMETER), FAKE_JMETER="works")
            assert done.returncode in (0, 1, 3), done.stdout + done.stderr
        git(clone, "add", "reports")
        git(clone, "commit", "--quiet", "--message", "Runs")
        return {path.stem for path in (clone / "reports" / "tiny").glob("*.md")}

    return measured


def refusal(*arguments: object) -> str:
    """Return the one line of a command that ends with code 2."""
    done = command("aggregate.py", *arguments)
    assert done.returncode == 2, done.stdout + done.stderr
    (line,) = done.stderr.splitlines()
    return line


@pytest.mark.counterpart
def test_two_clones_with_runs_and_sweeps_merge_without_conflict(clones, measure, charts, tmp_path):
    mine, yours = clones
    own, others = measure(mine), measure(yours, "--series", "7")
    shorts = [f"run-01_{number}" for number in (1, 2)] + ["run-02_1", "run-02_2", "sweep-02"]
    assert sorted(map(short_name, own)) == sorted([*shorts, "run-01_3"])
    assert sorted(map(short_name, others)) == sorted([*shorts, "run-07_1"])
    assert not own & others
    git(mine, "pull", "--quiet", "--no-rebase", str(yours))
    assert git(mine, "status", "--porcelain") == ""
    assert SUMMARY_NAME not in git(mine, "ls-files")

    reports = mine / "reports"
    here = ("--reports", reports)
    names = own | others
    runs = {name for name in names if name.startswith("run-")}
    (my_sweep,), (your_sweep,) = own - runs, others - runs
    assert {entry.name for entry in read_catalogue(reports).entries if entry.result} == runs
    for name in runs:
        assert find_paths([f"tiny/{name}"], reports) == find_paths([name], reports) == [reports / "tiny" / name]
    for sweep in (my_sweep, your_sweep):
        assert command("aggregate.py", "sweep", sweep, *here).returncode == 0

    # A short name suffices where one run has it.
    (last,) = own - {name for name in own if short_name(name) != "run-01_3"}
    (single,) = {name for name in others if short_name(name) == "run-07_1"}
    assert find_paths(["run-01_3", "tiny/run-07_1"], reports) == [reports / "tiny" / last, reports / "tiny" / single]
    assert command("aggregate.py", "compare", "run-01_3", "run-07_1", "--save", "--anyway", *here).returncode in (0, 1)
    assert (reports / "tiny" / f"compare-{last}-{single}.md").is_file()
    both = sorted(f"tiny/{name}" for name in names if short_name(name) == "run-01_1")
    line = f"run-01_1: 2 of tiny have this short name; choose one: {', '.join(both)}"
    assert refusal("report", "run-01_1", *here).endswith(line)
    assert refusal("compare", "run-01_1", "run-07_1", *here).endswith(line)
    both = sorted(f"tiny/{name}" for name in (my_sweep, your_sweep))
    assert refusal("sweep", "sweep-02", *here).endswith(f"choose one: {', '.join(both)}")

    assert command("aggregate.py", "summary", reports).returncode == 0
    write_site(reports, tmp_path / "site", charts)
    for text in ((reports / SUMMARY_NAME).read_text(), (tmp_path / "site" / "index.html").read_text()):
        assert [name for name in names if name not in text] == []
    assert SUMMARY_NAME not in git(mine, "status", "--porcelain")
