"""A new project, and a project of what a team added to a clone."""

import shutil

import pytest

from harness.base.errors import UsageError
from harness.base.project import read_project
from harness.plan.adopt.project_files import copy_of_clone, name_of_address, plan_name_of, project_toml, write_project
from tests.support.paths import ROOT


@pytest.fixture
def clone(tmp_path):
    """A clone of 1.0 with a plan, a changed profile, a system and a report of the team's own."""
    folder = tmp_path / "clone"
    for kind in ("plans", "env"):
        shutil.copytree(ROOT / kind, folder / kind)
    shutil.copytree(ROOT / "systems" / "okapi", folder / "systems" / "okapi")
    (folder / "aggregate.py").write_text("")
    (folder / "plans" / "shop.toml").write_text("shop")
    (folder / "env" / "local.toml").write_text("ours")
    (folder / "systems" / "web").mkdir()
    (folder / "systems" / "web" / "system.toml").write_text("web")
    (folder / "reports" / "shop").mkdir(parents=True)
    (folder / "reports" / "shop" / "run-01_1.md").write_text("# run")
    (folder / "secrets.toml").write_text("A = 'x'")
    return folder


def files_of(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_only_what_the_team_added_or_changed_is_copied(clone, tmp_path):
    before = files_of(clone)
    home = tmp_path / "project"
    copied = copy_of_clone(clone, home)
    assert copied == ["plans/shop.toml", "env/local.toml", "systems/web", "reports", "secrets.toml"]
    assert files_of(home) == {
        "plans/shop.toml", "env/local.toml", "systems/web/system.toml", "reports/shop/run-01_1.md", "secrets.toml",
    }  # fmt: skip
    assert files_of(clone) == before


def test_a_changed_file_of_a_shipped_system_brings_the_whole_system(clone, tmp_path):
    (clone / "systems" / "okapi" / "README.md").write_text("ours")
    assert "systems/okapi" in copy_of_clone(clone, tmp_path / "project")


def test_nothing_is_replaced(clone, tmp_path):
    home = tmp_path / "project"
    copy_of_clone(clone, home)
    with pytest.raises(UsageError, match=r"plans/shop\.toml exists here; choose another folder"):
        copy_of_clone(clone, home)


def test_a_folder_that_is_no_clone_is_refused(tmp_path):
    with pytest.raises(UsageError, match=r"no clone of the tool; name the folder that has aggregate\.py and plans/"):
        copy_of_clone(tmp_path, tmp_path / "project")


@pytest.mark.parametrize("targets", [{}, {"local": "http://127.0.0.1:8080"}])
def test_a_new_project_is_read_as_it_was_written(tmp_path, targets):
    assert write_project(tmp_path, "shop", targets) == ["loadtest.toml", ".gitignore"]
    found = read_project(tmp_path)
    assert (found.plan, found.target, dict(found.targets)) == ("shop", next(iter(targets), ""), targets)
    assert write_project(tmp_path, "other", {}) == []
    assert (tmp_path / "loadtest.toml").read_text() == project_toml("shop", targets)


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError):
        write_project(tmp_path / "file" / "below", "shop", {})


@pytest.mark.parametrize(
    ("text", "name"), [("shop", "shop"), ("My Tests (2)", "my-tests-2"), ("2026-11", "first"), ("--", "first")]
)
def test_a_plan_gets_a_usable_name(text, name):
    assert plan_name_of(text) == name


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://shop.example.org/cart", "shop"), ("http://127.0.0.1:8080/", "first"), ("http://[::1]/", "first"),
        ("http://localhost", "first"),
    ],
)  # fmt: skip
def test_a_plan_of_an_address_is_called_after_its_host(url, name):
    assert name_of_address(url) == name
