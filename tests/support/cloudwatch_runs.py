"""Runs whose metrics CloudWatch has, and the command that fetches them."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from harness.cli.verbs import main
from harness.cloudwatch.queries import parse_cloudwatch
from harness.run.directory import RunDirectory
from tests.support.report_folder import add_run

REGION = "eu-central-1"
# Young enough for every period, and a full hour, so that its minutes are those of the run.
BEGAN_S = int(time.time()) // 3600 * 3600 - 3600
NO_SERVER = "http://127.0.0.1:9"
RESOURCES = {"ecs": ["perf/okapi"], "rds": ["folio-db"], "ec2": ["i-0123456789abcdef0"]}


def spec(url: str, **changes: Any):
    return parse_cloudwatch({"region": REGION, "endpoint_url": url, **RESOURCES, **changes}, "env/x.toml [cloudwatch]")


def metrics(*arguments: object) -> int:
    """Call the command in this process: boto3 takes long to load."""
    return main(["metrics", *map(str, arguments)])


def add_recent_run(reports: Path, run: str = "tiny/run-01_1", **changes: Any) -> RunDirectory:
    """A run of 240 s at one sample a second of which 1 to 239 s are counted."""
    return add_run(reports, run, samples=240, duration_s=240.0, began_ms=BEGAN_S * 1000, **changes)
