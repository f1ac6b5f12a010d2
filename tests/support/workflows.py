"""The workflows of GitHub as data, and a step of theirs as a runner runs it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import yaml

from tests.support.paths import ROOT

WORKFLOWS = {path.name: path for path in sorted((ROOT / ".github" / "workflows").glob("*.yml"))}


def load(name: str) -> dict[str, Any]:
    """Return a workflow; without BaseLoader the key `on` would be True, as YAML 1.1 has it."""
    return dict(yaml.load(WORKFLOWS[name].read_text(), Loader=yaml.BaseLoader))


def jobs(name: str) -> list[dict[str, Any]]:
    """Return the jobs of a workflow."""
    return list(load(name)["jobs"].values())


def steps(name: str, kind: str) -> list[dict[str, Any]]:
    """Return the steps of a workflow that have this key: `run` or `uses`."""
    return [step for job in jobs(name) for step in job["steps"] if kind in step]


def run_step(step: dict[str, Any], folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command of a step as a runner does: bash -e, little in the environment, and what the step gives."""
    own = {
        name: os.environ[name]
        for name in ("PATH", "HOME", "LANG", "JAVA_HOME", "TMPDIR", "HARNESS_RUNS", "HARNESS_RUN_ID")
        if name in os.environ
    }
    given = {name: environment.get(name, "") for name in step.get("env", {})}
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"]],
        cwd=folder, env={**own, "CI": "true", **given, **environment}, capture_output=True, text=True, check=False,
    )  # fmt: skip
