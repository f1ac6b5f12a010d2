"""What an A/B test of the tiny plan left, and commits of its home."""

import json
import subprocess
from pathlib import Path

from harness.cli import main

SIDES = ("--a=delay_ms=0", "--b=delay_ms=20")


def record_of(tmp_path: Path, name: str = "ab-01") -> dict:
    return json.loads((tmp_path / "ab" / "tiny" / f"{name}.json").read_text())


def page_of(tmp_path: Path, name: str = "ab-01") -> str:
    return (tmp_path / "ab" / "tiny" / f"{name}.md").read_text()


def again(tmp_path: Path, *arguments: str) -> int:
    """Run aggregate.py ab."""
    return main(["ab", *arguments, f"--reports={tmp_path / 'ab'}"], "aggregate.py")


def git(home: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", str(home), *identity, *arguments], check=True, capture_output=True)


def commit(home: Path, message: str) -> None:
    git(home, "add", "-A")
    git(home, "commit", "-q", "-m", message)
