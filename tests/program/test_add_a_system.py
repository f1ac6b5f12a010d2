"""docs/add-a-system.md: its files and its commands, as they stand there, are all that a fifth system needs."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness.base.install.toolchain import ensure_jmeter
from harness.base.project import BUILD
from harness.plan.checks.lint import lint
from tests.support.bytecode import share_bytecode
from tests.support.paths import ROOT
from tests.support.processes import processes_of
from tests.support.requests import request_of
from tests.support.tiny import check_short_run

PAGE = (ROOT / "docs" / "add-a-system.md").read_text(encoding="utf-8")
# A heading with a file's name, perhaps some lines of text, and the file.
FILE = re.compile(r"^### `([^`\n]+)`\n((?:(?!#|```)[^\n]*\n)*)```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILES = {match[1]: match[3] for match in FILE.finditer(PAGE)}
COMMANDS = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
MADE = (".venv", "build", "reports", "__pycache__", ".pytest_cache", ".ruff_cache", ".mypy_cache", ".hypothesis")
# What every run needs is compiled already.
BUILT = ("connections", "counter")


def write_files(home: Path) -> None:
    for name, text in FILES.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def contents(home: Path) -> dict[str, bytes]:
    """Every file that is not made by a run or a tool: its name and what is in it."""
    found = {}
    for folder, folders, names in os.walk(home):
        folders[:] = [name for name in folders if name not in MADE]
        found |= {str((Path(folder) / name).relative_to(home)): (Path(folder) / name).read_bytes() for name in names}
    return found


def test_every_file_in_a_heading_of_the_page_is_new() -> None:
    assert list(FILES) == re.findall(r"^### `(.+)`$", PAGE, re.MULTILINE)
    assert not [name for name in FILES if (ROOT / name).exists()]


def test_plan_and_profile_of_the_page_match_its_system(tmp_path: Path) -> None:
    write_files(tmp_path)
    assert lint(tmp_path / "plans" / "static.jmx") == ()
    asked = request_of(tmp_path, tmp_path, "static", "static-closing")
    assert asked.settings == {"workers": 0, "requests_per_connection": 1}
    assert (asked.plan.load.users, asked.plan.load.think_time_s) == (10, 0.05)


@pytest.mark.counterpart
@pytest.mark.real
def test_the_page_adds_a_system_that_runs_and_passes_the_tests_unchanged(tmp_path: Path) -> None:
    home = tmp_path / "home"
    shutil.copytree(ROOT, home, ignore=shutil.ignore_patterns(".git", *MADE))
    (home / ".venv").symlink_to(sys.prefix)
    (home / "build").mkdir()
    for name in BUILT:
        (home / "build" / name).symlink_to(BUILD / name)
    before = contents(home)
    write_files(home)
    ours = ("MAKE", "MFLAGS", "PYTEST_")  # of the make and the pytest that this test may run in
    environment = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    path = f"{home / 'scripts'}:{os.environ['PATH']}"  # lth is that of the clone
    environment |= {"JMETER_HOME": str(ensure_jmeter()), "PATH": path, **share_bytecode(home)}
    for command in COMMANDS:
        done = subprocess.run(
            ["sh", "-ec", command], cwd=home, env=environment, capture_output=True, text=True, check=False, timeout=300
        )
        assert done.returncode == 0, f"{command}{done.stdout}{done.stderr}"

    for name, settings in {
        "run-01_1": {"workers": 0, "requests_per_connection": 1000},
        "run-01_2": {"workers": 0, "requests_per_connection": 1},
    }.items():
        summary = json.loads((home / "reports" / "static" / f"{name}.json").read_text())
        check_short_run(summary["verdict"])
        (load,) = (group for group in summary["groups"] if group["name"] == "load")
        assert {label["label"]: label["error_count"] for label in load["labels"]} == {"Home": 0, "Guide": 0}
        assert summary["run"]["system_settings"] == settings
    assert processes_of(home) == []
    after = contents(home)
    assert {name: after.get(name) for name in before} == before
    assert set(after) - set(before) == {*FILES, "systems/static/find_nginx.py"}
