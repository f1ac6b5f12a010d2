"""A run of a plan that has ended, with what it stored."""

from __future__ import annotations

import csv
import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class EndedRun:
    """The first run of a plan below `reports`, and what its process returned and printed."""

    done: subprocess.CompletedProcess[str]
    reports: Path
    plan: str

    @property
    def directory(self) -> Path:
        """The run directory."""
        return self.reports / self.plan / "run-01_1"

    @property
    def rows(self) -> list[dict[str, str]]:
        """The rows of the JTL."""
        with (self.directory / "samples.jtl").open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    @property
    def load_rows(self) -> list[dict[str, str]]:
        """The rows of the JTL without those of setUp."""
        return [row for row in self.rows if "setUp" not in row["threadName"]]

    @property
    def summary(self) -> dict[str, Any]:
        """The JSON of the run."""
        return dict(json.loads(self.directory.with_suffix(".json").read_text()))

    @property
    def load(self) -> dict[str, Any]:
        """The load in the JSON, of the whole run where its window is a part of it."""
        summary = self.summary
        groups = [summary["whole"]] if summary["whole"] else summary["groups"]
        return dict(next(group for group in groups if group["name"] == "load"))
