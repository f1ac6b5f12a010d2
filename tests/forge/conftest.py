"""The command comment, with a server that speaks the part of GitHub's API that it needs."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.commands import command
from tests.support.comments import BASES, Comment, write_result
from tests.support.forge_server import (
    TOKEN,
    Forge,
    GitHubServer,
)
from tests.support.local_server import serving


@pytest.fixture(autouse=True)
def _no_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out what a CI server sets, and any proxy."""
    for name in ("CI_API_V4_URL", "CI_PROJECT_PATH", "GITHUB_REPOSITORY", "GITHUB_TOKEN", "GITLAB_TOKEN", *BASES):
        monkeypatch.delenv(name, raising=False)
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.setenv(name, "*")


@pytest.fixture
def forge() -> Forge:
    """What the server stores."""
    return Forge()


@pytest.fixture
def address(forge: Forge) -> Iterator[str]:
    """The address of GitHub's API."""
    with serving(GitHubServer, forge=forge) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.fixture
def report(tmp_path: Path) -> Path:
    return write_result(tmp_path / "ab-01.md", "REGRESSED", "REGRESSED: p95 of TOTAL is 12 % higher.")


@pytest.fixture
def comment(address: str) -> Comment:
    """Run the verb for pull request 12 of the server."""

    def run(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
        variables = {"GITHUB_API_URL": address, "GITHUB_TOKEN": TOKEN, **environment}
        given = ("--repo", "owner/name", "--pr", "12", *arguments)
        return command("aggregate.py", "comment", *given, **variables)

    return run
