"""The load test tools that `scripts/bench tools` compares: how each is called, and what its own summary states."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.measure import OUT_NAME
from harness.base.install import toolchain
from harness.base.java import java_path
from harness.base.project import SHIPPED
from harness.jtl.inputs import Input, opened
from harness.jtl.readers import SUMMARY, refuse_summary
from harness.jtl.tools.summary import NoSamplesError

_PROGRAMS = Path(__file__).parent / "programs"
PERCENTILES = ("50", "90", "99")
PLAN = "lb-direct"
_OURS, _RUN = f"reports/{PLAN}/run-01_1-????.json", f"reports/{PLAN}/run-01_1-????/samples.jtl*"
_JMETER = "{jmeter} -n -t {shipped}/plans/lb.jmx -l samples.jtl -j jmeter.log -Jhost={host} -Jport={port}"
_K6 = (
    "k6 run --quiet --vus {connections} --duration {seconds}s -e TARGET={target} --summary-export summary.json"
    " --summary-trend-stats med,p(90),p(99),avg,max {programs}/load.js"
)
_OHA = "oha --no-tui -z {seconds}s -c {connections} {target}"
_HEY = "hey -z {seconds}s -c {connections}"
_AB = "ab -q -k -c {connections} -t {seconds} -n 2000000"
_GATLING_OPENS = "--add-opens java.base/java.lang=ALL-UNNAMED"


@dataclass(frozen=True)
class Stated:
    """What a summary or a reader states of a load: the count, the rate, and percentiles in ms; None for unknown."""

    sample_count: int | None
    rate_per_s: float | None
    percentiles_ms: Mapping[str, float]


@dataclass(frozen=True)
class LoadTool:
    """A tool: the program that must be there, its command, its summary, and its file with samples, if any.

    `samples_command` is for a tool that writes either samples or a summary, or that samples cost much. `after` makes
    its files readable, once the load has ended.
    """

    name: str
    program: str
    command: str
    summary: str = OUT_NAME
    samples: str = ""
    samples_command: str = ""
    after: tuple[str, ...] = ()
    read: Callable[[Path], Stated | None] = field(default=lambda path: _summary(path))


def arguments(command: str, values: Mapping[str, str]) -> list[str]:
    """Return a command with the values in it."""
    return [part.format_map(values) for part in shlex.split(command)]


def _summary(path: Path) -> Stated | None:
    """Return what a summary states that our readers know; None for another file, such as one with samples."""
    with opened(Input(str(path), path)) as file:
        if file.kind != SUMMARY:
            return None
        try:
            refuse_summary(file.stream, str(path))
        except NoSamplesError as error:
            total = error.summary.total
            return Stated(total.sample_count, total.rate_per_s, total.percentiles_ms)


def _ours(path: Path) -> Stated:
    return read_total(json.loads(path.read_text(encoding="utf-8")))


def read_total(printed: Mapping[str, Any]) -> Stated:
    """Return the total of the load in the JSON of a run or of a table."""
    total = printed["groups"][0]["total"]
    return Stated(total["sample_count"], total["rate_per_s"], total["percentiles_ms"])


def _dashboard(path: Path) -> Stated:
    """Return what JMeter's own dashboard states; its first and third percentile are p90 and p99."""
    total = json.loads(path.read_text(encoding="utf-8"))["Total"]
    times = {"50": total["medianResTime"], "90": total["pct1ResTime"], "99": total["pct3ResTime"]}
    return Stated(total["sampleCount"], total["throughput"], times)


def _gatling(path: Path) -> Stated:
    """Return what Gatling prints at its end, which has no p90."""
    text = path.read_text(encoding="utf-8").partition("Global Information")[2].replace(",", "")
    numbers = dict(re.findall(r"> (.+?) +\|\s*([\d.]+)", text))
    times = {name: float(numbers[f"response time {name}th percentile (ms)"]) for name in ("50", "99")}
    return Stated(int(numbers["request count"]), float(numbers["mean throughput (rps)"]), times)


TOOLS = (
    LoadTool(
        "lth run",
        "",
        f"{{python}} {{shipped}}/scripts/lth run {PLAN} --env fast --target {{target}} --users {{connections}} --ramp 0"
        " --duration {seconds}s --set warm_up_requests=0 --compare 0 --reports reports",
        summary=_OURS,
        samples=_RUN,
        read=_ours,
    ),
    LoadTool(
        "JMeter",
        "",
        f"{_JMETER} -Jusers={{connections}} -Jramp_s=0 -Jduration_s={{seconds}} -Jwarm_up_requests=0",
        summary="dashboard/statistics.json",
        samples="samples.jtl",
        after=("{jmeter} -g samples.jtl -o dashboard -j dashboard.log",),
        read=_dashboard,
    ),
    LoadTool(
        "Gatling",
        "{gatling}",
        f"{{java}} {_GATLING_OPENS} -Xmx1g -cp {{gatling_classes}}:{{gatling}}/* -Dtarget={{target}}"
        " -Dusers={connections} -Dseconds={seconds} io.gatling.app.Gatling -s Load -rf results",
        samples="results/*/simulation.log",
        read=_gatling,
    ),
    LoadTool("k6", "k6", _K6, "summary.json", "samples.csv", f"{_K6} --out csv=samples.csv"),
    LoadTool(
        "Locust",
        "locust",
        "locust -f {programs}/locustfile.py --headless --users {connections} --spawn-rate {connections}"
        " --run-time {seconds}s --host {target} --csv locust --only-summary --processes {cores}",
        summary="locust_stats.csv",
    ),
    LoadTool(
        "Vegeta",
        "vegeta",
        "vegeta attack -targets {targets} -rate 0 -max-workers {connections} -connections {connections}"
        " -duration {seconds}s -output results.bin",
        summary="report.json",
        samples="results.csv",
        after=(
            "vegeta report -type json -output report.json results.bin",
            "vegeta encode --to csv --output results.csv results.bin",
        ),
    ),
    LoadTool(
        "oha",
        "oha",
        f"{_OHA} --output-format json",
        OUT_NAME,
        "samples.txt",
        f"{_OHA} --output-format csv -o samples.txt",
    ),
    LoadTool("hey", "hey", f"{_HEY} {{target}}", OUT_NAME, OUT_NAME, f"{_HEY} -o csv {{target}}"),
    LoadTool("wrk", "wrk", "wrk -t {threads} -c {connections} -d {seconds}s --latency {target}"),
    LoadTool("ab", "ab", f"{_AB} {{target}}/", OUT_NAME, "samples.tsv", f"{_AB} -g samples.tsv {{target}}/"),
)


def values_of(target: str, connections: int, seconds: int, folder: Path, gatling: str) -> dict[str, str]:
    """Return the values for the commands of all tools; the compiled simulation of Gatling is in `folder`."""
    host, _, port = target.removeprefix("http://").rstrip("/").partition(":")
    cores = os.cpu_count() or 1
    return {
        "target": target.rstrip("/"),
        "host": host,
        "port": port,
        "connections": str(connections),
        "seconds": str(seconds),
        "cores": str(cores),
        "threads": str(min(cores, connections)),
        "python": sys.executable,
        "shipped": str(SHIPPED),
        "programs": str(_PROGRAMS),
        "java": java_path(),
        "jmeter": str(toolchain.ensure_jmeter() / "bin" / "jmeter"),
        "targets": str(folder / "targets.txt"),
        "gatling": gatling,
        "gatling_classes": str(folder / "gatling"),
    }


def is_here(tool: LoadTool, gatling: str) -> bool:
    """Return whether the program of a tool is on PATH; of Gatling, whether the folder of its jars is given."""
    return bool(gatling) if tool.name == "Gatling" else not tool.program or shutil.which(tool.program) is not None


def prepare(folder: Path, target: str, gatling: str) -> None:
    """Write what some tools need into `folder`: Vegeta's targets, and Gatling's compiled simulation."""
    (folder / "targets.txt").write_text(f"GET {target}\n", encoding="utf-8")
    if gatling:
        classes = folder / "gatling"
        classes.mkdir(exist_ok=True)
        (classes / "logback.xml").write_text('<configuration><root level="WARN"/></configuration>', encoding="utf-8")
        compiler = str(Path(java_path()).with_name("javac"))
        source = str(_PROGRAMS / "Load.java")
        subprocess.run([compiler, "-d", str(classes), "-cp", f"{gatling}/*", source], check=True)
