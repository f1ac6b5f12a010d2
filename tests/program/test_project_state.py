"""What a project makes besides reports is in the project and ignored by git: two projects replace nothing."""

import subprocess

import pytest

from harness.base import project as of_project
from harness.base.project import BUILD, CHECKOUT, own_folder, site_folder
from harness.commands import doctor
from harness.plan.adopt.project_files import GITIGNORE
from tests.support.commands import command
from tests.support.off_host import jmx, request
from tests.support.report_folder import add_run


@pytest.fixture
def projects(tmp_path):
    folders = [tmp_path / name for name in ("one", "two")]
    for folder in folders:
        folder.mkdir()
        (folder / "loadtest.toml").write_text("format_version = 1\n")
        (folder / ".gitignore").write_text(GITIGNORE)
        subprocess.run(["git", "init", "-q", folder], check=True)
    yield folders
    of_project.current_project.cache_clear()


def lth(folder, monkeypatch, *arguments):
    monkeypatch.chdir(folder)
    of_project.current_project.cache_clear()
    return command("lth", *arguments)


def untracked(folder):
    done = subprocess.run(["git", "status", "--short", "-uall"], cwd=folder, check=True, capture_output=True, text=True)
    return {line[3:] for line in done.stdout.splitlines()}


@pytest.mark.real
def test_the_sites_of_two_projects_are_two_folders_that_git_ignores(projects, monkeypatch):
    for number, folder in enumerate(projects, start=1):
        add_run(folder / "reports", f"shop/run-01_{number}")
        before = untracked(folder)
        assert lth(folder, monkeypatch, "site").stdout.startswith("site/index.html: 1 run")
        assert untracked(folder) == before
    assert [(folder / "site" / "shop" / "run-01_1.html").exists() for folder in projects] == [True, False]


def test_the_diffs_of_init_are_in_their_project_also_without_our_gitignore(projects, monkeypatch, tmp_path):
    for folder, name in zip(projects, ("Item", "Cart"), strict=True):
        (folder / ".gitignore").unlink()
        (tmp_path / "own.jmx").write_text(jmx(request(name=name)))
        assert lth(folder, monkeypatch, "init", "../own.jmx", "--plan=shop").returncode == 0
    texts = [(folder / ".lth" / "init" / "shop.diff").read_text() for folder in projects]
    assert ["Cart" in text for text in texts] == [False, True]
    assert not any(name.startswith(".lth") for name in untracked(projects[0]))


def test_a_checkout_keeps_its_build_folder_and_a_given_one_is_used(tmp_path):
    assert own_folder(CHECKOUT) == BUILD and site_folder(CHECKOUT) == BUILD / "site"
    assert own_folder(tmp_path, tmp_path / "build") == tmp_path / "build"


@pytest.mark.real
def test_doctor_lists_what_lies_where(projects, monkeypatch):
    folder = projects[0]
    own_folder(folder)
    (folder / "secrets.toml").write_text("A = 'b'\n")
    monkeypatch.chdir(folder)
    of_project.current_project.cache_clear()
    texts = [fact.text for fact in doctor._folders()]
    assert any(text.startswith(f"{folder} (loadtest.toml), reports") for text in texts)
    assert any(text.startswith(".lth: diffs of init, recordings with what was typed") for text in texts)
    assert "secrets.toml: values of secrets, 8 bytes, not for git" in texts


def test_a_second_request_of_a_host_gets_a_name_of_its_own(projects, monkeypatch):
    folder = projects[0]
    for path in ("items", "items/5"):
        done = lth(folder, monkeypatch, "init", "--curl", f"curl http://127.0.0.1:8080/{path}")
        assert done.returncode == 0, done.stderr
    assert sorted(plan.name for plan in (folder / "plans").glob("*.jmx")) == ["first-items-5.jmx", "first.jmx"]
    # The same request once more is refused, as a plan of this name always was.
    assert "first-items-5.jmx exists" in lth(folder, monkeypatch, "init", "http://127.0.0.1:8080/items/5").stderr
