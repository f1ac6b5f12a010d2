"""The command comment in tests: what it publishes, and the one line of its errors."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.support.forge_server import (
    TOKEN,
)

MARKER = "<!-- load-test-harness: performance -->\n"
LINK = "https://github.example/owner/name/actions/runs/5"
NEWER = "f" * 40
BASES = ("GITHUB_BASE_REF", "CI_MERGE_REQUEST_DIFF_BASE_SHA")

Comment = Callable[..., subprocess.CompletedProcess[str]]


def write_result(
    path: Path, verdict: str, headline: str, text: str = "# A/B\n\n**{}**\n", state: str = "finished"
) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.replace("{}", headline), encoding="utf-8")
    data = {"state": state, "result": {"verdict": verdict, "headline": headline}, "pairs": [1]}
    path.with_suffix(".json").write_text(json.dumps(data))
    return path


def failure(done: subprocess.CompletedProcess[str], code: int) -> str:
    """Return the one line on standard error of a command that failed without showing the token."""
    assert done.returncode == code, done.stderr
    assert TOKEN not in done.stdout + done.stderr
    (line,) = done.stderr.splitlines()
    return line
