"""The Prometheus of the machine as a process of the test: its own configuration, data and port."""

from __future__ import annotations

import json
import os
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from harness.base.ports import free_port
from tests.support.processes import wait_for
from tests.support.programs import program

_CONFIGURATION = """\
scrape_configs:
  - job_name: load-test
    scrape_interval: 1s
    static_configs:
      - targets: ["{target}"]
"""


class Prometheus:
    """A Prometheus that listens on a port of this machine."""

    def __init__(self, port: int) -> None:
        self._url = f"http://127.0.0.1:{port}"

    @property
    def otlp_url(self) -> str:
        """Where it receives OTLP."""
        return f"{self._url}/api/v1/otlp"

    def is_ready(self) -> bool:
        """Whether it answers queries."""
        try:
            with urllib.request.urlopen(f"{self._url}/-/ready", timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def query(self, promql: str) -> dict[tuple[str, ...], float]:
        """Return the value of each series now, by the values of its labels in order of their names."""
        found = self._answer("query", query=promql)
        return {tuple(value for _, value in sorted(one["metric"].items())): float(one["value"][1]) for one in found}

    def values_between(self, promql: str, start_s: float, end_s: float) -> list[list[float]]:
        """Return the values of each series, one for each second; seconds without a value are left out."""
        found = self._answer("query_range", query=promql, start=str(start_s), end=str(end_s), step="1")
        return [[float(value) for _, value in one["values"]] for one in found]

    def has_values(self, promql: str, start_s: float, end_s: float) -> bool:
        """Return whether a query has values other than NaN, or native histograms."""
        found = self._answer("query_range", query=promql, start=str(start_s), end=str(end_s), step="1")
        return any(one.get("histograms") or any(value != "NaN" for _, value in one.get("values", ())) for one in found)

    def _answer(self, what: str, **parameters: str) -> list[Any]:
        url = f"{self._url}/api/v1/{what}?{urllib.parse.urlencode(parameters)}"
        try:
            with urllib.request.urlopen(url, timeout=10) as answer:
                return list(json.load(answer)["data"]["result"])
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{parameters['query']}: {error.read().decode()}") from None


@contextmanager
def prometheus(folder: Path, target: str) -> Iterator[Prometheus]:
    """Start a Prometheus that scrapes a target each second."""
    # It begins to scrape seconds after it is ready, and a short run could be over by then.
    with _running(folder, program("prometheus", package="prometheus"), _CONFIGURATION.format(target=target)) as served:
        wait_for(lambda: served.query("up"))
        yield served


@contextmanager
def otlp_prometheus(folder: Path) -> Iterator[Prometheus]:
    """Start a Prometheus 3 that receives OTLP; its program is HARNESS_PROMETHEUS_3, without which tests are skipped."""
    path = os.environ.get("HARNESS_PROMETHEUS_3")
    if not path:
        pytest.skip("NOT CHECKED: HARNESS_PROMETHEUS_3 names no Prometheus 3")
    options = ("--web.enable-otlp-receiver", "--enable-feature=native-histograms")
    with _running(folder, path, "", *options) as served:
        yield served


@contextmanager
def _running(folder: Path, path: str, configuration: str, *options: str) -> Iterator[Prometheus]:
    port = free_port()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "prometheus.yml").write_text(configuration)
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [
                path, f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'data'}",
                f"--web.listen-address=127.0.0.1:{port}", "--log.level=warn",
                *options,
            ],
            stdout=log, stderr=log,
        )  # fmt: skip
        try:
            served = Prometheus(port)
            wait_for(served.is_ready)
            yield served
        finally:
            process.terminate()
            process.wait(10)
