"""Which folder is the project, what its loadtest.toml says, and where a name is looked up."""

import pytest

from harness import __version__
from harness.base import project
from harness.base.errors import UsageError
from harness.base.project import (
    SHIPPED,
    Project,
    current_project,
    default_plan,
    folder_with,
    names_in,
    read_project,
)


@pytest.fixture(autouse=True)
def fresh():
    current_project.cache_clear()
    read_project.cache_clear()
    yield
    current_project.cache_clear()
    read_project.cache_clear()


def written(folder, text="", *plans):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "loadtest.toml").write_text(text)
    for name in plans:
        (folder / "plans").mkdir(exist_ok=True)
        (folder / "plans" / f"{name}.toml").write_text("")
    return folder


def test_the_nearest_of_two_nested_projects_is_used(tmp_path, monkeypatch):
    outer, inner = written(tmp_path / "outer"), written(tmp_path / "outer" / "inner")
    (inner / "deep" / "er").mkdir(parents=True)
    for here, home in ((outer, outer), (inner / "deep" / "er", inner)):
        current_project.cache_clear()
        monkeypatch.chdir(here)
        assert current_project().folder == home


def test_without_a_file_an_installed_tool_uses_the_current_folder_and_a_checkout_itself(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert current_project().folder == project.CHECKOUT
    current_project.cache_clear()
    monkeypatch.setattr(project, "CHECKOUT", None)
    assert current_project() == Project(tmp_path)


def test_the_defaults_and_targets_of_the_file(tmp_path):
    text = 'format_version = 1\nplan = "shop"\nprofile = "lab"\ntarget = "staging"\ngoal = "p95<1s"\n'
    home = written(tmp_path, text + '[targets]\nstaging = "https://staging.example.org"\n')
    found = read_project(home)
    assert (found.plan, found.profile, found.target, found.goal) == ("shop", "lab", "staging", "p95<1s")
    assert found.target_url("staging") == "https://staging.example.org"
    assert found.target_url("http://127.0.0.1:1") == "http://127.0.0.1:1"
    assert found.reports == home / "reports"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("plan = 5", "plan = 5; give a text"),
        ("paln = 'x'", "unknown key paln; did you mean plan?"),
        ("plan = ", "correct the file"),
        ("format_version = 2", "format_version is 2; this version reads 1"),
        ("[targets]\na = 1", r"\[targets\]: a = 1; give a text"),
        ('requires = "new"', "requires = 'new' is no range of versions"),
        ('requires = ">=99"', f"requires load-test-harness >=99, this is {__version__}; install such a version"),
        ('requires = ">=1, <1.1"', "requires load-test-harness >=1, <1.1"),
    ],
)
def test_a_wrong_file_is_one_line(tmp_path, text, message):
    with pytest.raises(UsageError, match=message):
        read_project(written(tmp_path, text))


@pytest.mark.parametrize("range_", [">=1.1", ">=1", ">1.0", "<2", ">=1.1, <2", f"=={__version__}", "~=1.1", "<=1.1"])
def test_versions_that_the_project_accepts(tmp_path, range_):
    assert read_project(written(tmp_path, f'requires = "{range_}"')).file


@pytest.mark.parametrize("range_", ["~=1.0.0", "<1.1", "==1.0.0", ">1.1", "~=2.0"])
def test_versions_that_the_project_does_not_accept(tmp_path, range_):
    with pytest.raises(UsageError, match="install such a version"):
        read_project(written(tmp_path, f'requires = "{range_}"'))


def test_an_unknown_target_lists_the_others(tmp_path):
    home = read_project(written(tmp_path, '[targets]\nstaging = "https://a"\nlab = "https://b"\n'))
    with pytest.raises(UsageError, match=r"--target=stagin: .*did you mean staging. there are: staging, lab"):
        home.target_url("stagin")


def test_a_name_is_that_of_the_project_and_else_the_shipped_one(tmp_path):
    home = written(tmp_path, "", "lb-nginx", "shop")
    assert folder_with(home, "plans", "lb-nginx") == home / "plans"
    assert folder_with(home, "plans", "lb-jvm") == SHIPPED / "plans"
    assert folder_with(home, "env", "local") == SHIPPED / "env"
    assert folder_with(home, "systems", "lb") == SHIPPED / "systems"
    assert folder_with(home, "plans", "nope") == home / "plans"
    names = names_in(home, "plans", "*.toml")
    assert home / "plans" / "shop.toml" in names
    assert home / "plans" / "lb-nginx.toml" in names
    assert SHIPPED / "plans" / "lb-nginx.toml" not in names


def test_the_default_plan_is_that_of_the_file_or_the_only_one(tmp_path):
    assert default_plan(written(tmp_path / "a", 'plan = "x"', "shop")) == "x"
    assert default_plan(written(tmp_path / "b", "", "shop")) == "shop"
    with pytest.raises(UsageError, match="--plan is missing; give one of cart, shop"):
        default_plan(written(tmp_path / "c", "", "shop", "cart"))
    with pytest.raises(UsageError, match="lth init"):
        default_plan(written(tmp_path / "d"))


def test_the_cache_of_an_installed_tool_is_one_per_version(tmp_path, monkeypatch):
    monkeypatch.setattr(project, "CHECKOUT", None)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert project.cache_folder() == tmp_path / "load-test-harness" / __version__
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert project.cache_folder() == tmp_path / "home" / ".cache" / "load-test-harness" / __version__
