"""What a foreign folder may do is asked about, also where it changes or names something of the tool."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.base.errors import UsageError
from harness.cli.verbs import main
from harness.run import powers
from tests.support.foreign_folder import TARGET, Project
from tests.support.off_host import jmx, request
from tests.support.paths import ROOT
from tests.support.requests import request_of


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A folder of somebody else, and a user who has accepted nothing yet."""
    monkeypatch.delenv("LTH_TRUST")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("SHOP_TOKEN", "long-secret-token")
    return Project(tmp_path / "shop")


# What a foreign folder gives to a system of the tool, and where it is written; numbers and choices start no program.
OPTION = 'jvm_options = ["-XX:OnError=true"]'
SETTINGS: dict[str, Callable[[Project], None]] = {
    "plan": lambda one: one.write(keys='system = "thruzero"', more=f"[embedded.settings]\n{OPTION}"),
    "profile": lambda one: (one.write(keys='system = "thruzero"'), one.profile(f"[system.thruzero]\n{OPTION}"))[0],
}


@pytest.mark.parametrize("place", SETTINGS)
def test_texts_for_a_system_of_the_tool_are_asked_about(project, monkeypatch, place):
    project.write(keys='system = "thruzero"')
    with monkeypatch.context() as patch:
        patch.setenv("LTH_TRUST", "yes")
        assert project.refusal(None) == ""
    SETTINGS[place](project)
    what = 'run the system thruzero with jvm_options = ["-XX:OnError=true"]'
    assert f"may now {what}; " in project.refusal(None)
    project.profile("[system.thruzero]\nmax_threads = 7")
    project.write(keys='system = "thruzero"', more='[embedded.settings]\ngc = "Serial"')
    assert project.refusal(None) == ""


def test_a_foreign_profile_of_a_plan_of_the_tool_is_asked_about(project, tmp_path):
    project.profile(f"[system.thruzero]\n{OPTION}")
    with pytest.raises(UsageError, match="run the system thruzero with jvm_options"):
        request_of(project.folder, tmp_path, "thruzero", "local")


@pytest.mark.parametrize("way", ["a link", "a path", "links to both"])
def test_a_foreign_plan_of_a_jmx_of_the_tool_is_asked_about(project, way):
    """Its TOML reads a variable and is no part of the tool, whatever it names."""
    plans = project.folder / "plans"
    shape = ROOT / "plans" / "lb.jmx" if way == "a path" else "own.jmx"
    for name in ("own.jmx", "lb.jmx"):
        (plans / name).symlink_to(ROOT / "plans" / "lb.jmx")
    project.write(more='[headers]\nX = "$SHOP_TOKEN"')
    text = (plans / "shop.toml").read_text().replace("shop.jmx", str(shape))
    (plans / "shop.toml").write_text(text)
    if way == "links to both":
        (plans / "shop.toml").unlink()
        (plans / "shop.toml").symlink_to(ROOT / "plans" / "lb-nginx.toml")
        assert project.refusal() == ""
    elif way == "a path":
        assert "name a .jmx file beside the plan" in project.refusal()
    else:
        assert "read $SHOP_TOKEN" in project.refusal()


@pytest.mark.parametrize("file", ["/etc/hostname", "../../../secrets.toml", "a/../../b"])
def test_no_figure_of_a_report_is_in_a_file_outside_of_its_run(project, file):
    project.write(more=f'[[dumps]]\nlabel = "x"\nfile = "{file}"\npath = ["a"]')
    assert "is not in the folder of the run; name a file that the plan saves there" in project.refusal()


SUITE = 'format_version = 1\nbudget = "5m"\n[[run]]\nduration = "5s"\nramp = "1s"\nusers = 1\n{}\n'
IN_A_SUITE = {
    "a header": (f'plan = "shop"\ntarget = "{TARGET}"\nheader = ["X: $SHOP_TOKEN"]', r"read \$SHOP_TOKEN"),
    "a setting": ('plan = "thruzero"\nset = "jvm_options=-XX:OnError=true"', "run the system thruzero with jvm_op"),
    "a JMX": (f'plan = "./own.jmx"\ntarget = "{TARGET}"', "load .*the target that you name"),
}


@pytest.mark.parametrize("kind", IN_A_SUITE)
def test_what_a_foreign_suite_gives_is_not_what_the_user_types(project, monkeypatch, kind):
    keys, what = IN_A_SUITE[kind]
    (project.folder / "env" / "night.toml").write_text(SUITE.format(keys))
    (project.folder / "own.jmx").write_text(jmx(request()))
    monkeypatch.chdir(project.folder)
    with pytest.raises(UsageError, match=what):
        main(["nightly", "--suite=env/night.toml", "--dry-run", f"--home={project.folder}"], "lth")


@pytest.mark.parametrize(
    "words", [["ls"], ["pull", "run-01_1"], ["push", "run-01_1"], ["notify"]], ids=lambda one: one[0]
)
def test_who_gets_results_by_a_foreign_profile_is_asked_about_by_each_verb_that_sends(project, words, monkeypatch):
    """AWS keys and logins of this machine would go there, too."""
    storage = '[storage]\ns3 = "s3://bucket"\nendpoint_url = "http://127.0.0.1:9"\n'
    project.profile(f'{storage}[notify]\nslack = "$SHOP_TOKEN"')
    what = r"slack \(\$SHOP_TOKEN\)" if words == ["notify"] else "s3://bucket at http://127.0.0.1:9"
    monkeypatch.setenv("SHOP_TOKEN", "http://127.0.0.1:9/x")
    with pytest.raises(UsageError, match=f"send results to {what}"):
        main([*words, "--env=local", f"--home={project.folder}"], "lth")
    if words == ["notify"]:
        suite = SUITE.format(f'plan = "shop"\ntarget = "{TARGET}"\n[notify]\nslack = "$SHOP_TOKEN"')
        (project.folder / "env" / "nightly.toml").write_text(suite)
        with pytest.raises(UsageError, match=f"send results to {what}"):
            main(["notify", f"--home={project.folder}"], "lth")


def test_a_commit_of_the_clone_of_the_tool_needs_none_and_one_of_a_project_does(tmp_path, monkeypatch):
    def git(folder: Path, *words: str) -> None:
        subprocess.run(["git", "-C", folder, "-c", "user.name=x", "-c", "user.email=x", *words], check=True)

    for name in ("tool", "project"):
        (tmp_path / name / "plans").mkdir(parents=True)
        (tmp_path / name / "plans" / "shop.toml").touch()
        git(tmp_path / name, "init", "--quiet")
        git(tmp_path / name, "add", ".")
        git(tmp_path / name, "commit", "--quiet", "-m", "first")
        git(tmp_path / name, "worktree", "add", "--quiet", "--detach", str(tmp_path / f"tree of {name}"), "HEAD")
    for clone in ("tool", "tree of tool"):
        monkeypatch.setattr(powers, "CHECKOUT", tmp_path / clone)
        monkeypatch.setattr(powers, "SHIPPED", tmp_path / clone)
        assert powers.is_shipped(tmp_path / "tree of tool" / "plans" / "shop.toml")
        assert powers.is_shipped(tmp_path / "tree of tool")
        assert not powers.is_shipped(tmp_path / "tree of project" / "plans" / "shop.toml")
        assert not powers.is_shipped(tmp_path / clone / "build" / "plans" / "shop.toml")


def test_a_folder_that_only_says_it_is_a_work_tree_of_the_tool_is_none(tmp_path, monkeypatch):
    clone, theirs = tmp_path / "tool", tmp_path / "theirs"
    for folder in (clone / ".git" / "worktrees" / "ours", theirs / "plans"):
        folder.mkdir(parents=True)
    monkeypatch.setattr(powers, "CHECKOUT", clone)
    monkeypatch.setattr(powers, "SHIPPED", clone)
    (clone / ".git" / "worktrees" / "ours" / "gitdir").write_text(f"{tmp_path / 'ours' / '.git'}\n")
    for name in ("ours", "any"):
        (theirs / ".git").write_text(f"gitdir: ../tool/.git/worktrees/{name}\n")
        assert not powers.is_shipped(theirs / "plans" / "shop.toml")
