"""A home with one tiny plan, the commands that run it, and what a run of it writes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

from harness.judge.verdict import DOUBTFUL, VALID
from harness.judge.warnings import warning_kinds
from tests.support.commands import command
from tests.support.paths import FAKE_JMETER, ROOT
from tests.support.processes import interrupted_after, wait_for

TINY_JMX = """<?xml version="1.0" encoding="UTF-8"?>
<jmeterTestPlan version="1.2" properties="5.0" jmeter="5.6.3">
  <hashTree>
    <TestPlan guiclass="TestPlanGui" testclass="TestPlan" testname="Tiny"/>
    <hashTree>
      <ThreadGroup guiclass="ThreadGroupGui" testclass="ThreadGroup" testname="Users">
        <stringProp name="ThreadGroup.num_threads">${__P(users,1)}</stringProp>
        <stringProp name="ThreadGroup.ramp_time">${__P(ramp_s,0)}</stringProp>
        <stringProp name="ThreadGroup.duration">${__P(duration_s,2)}</stringProp>
        <boolProp name="ThreadGroup.scheduler">true</boolProp>
      </ThreadGroup>
      <hashTree/>
    </hashTree>
  </hashTree>
</jmeterTestPlan>
"""
TINY_PLAN = """format_version = 1
title = "A tiny plan"
shape = "tiny.jmx"
system = "tiny"
[load]
users = 2
ramp_per_user_s = 0.0
duration_s = 2
[goal]
p90_ms = 1000
error_ratio = 0.01
"""
TINY_PROFILE = """format_version = 1
title = "Test machine"
[generator]
overrun_s = 30
[reports]
min_free_mb = 1
"""
TINY_SYSTEM = """format_version = 1
title = "A file server"
target = "http://127.0.0.1:{{ ports.http }}"
[ports]
http = 0
[[process]]
name = "web"
command = ["{{ settings.python }}", "-m", "http.server", "{{ ports.http }}", "--bind", "127.0.0.1"]
ready = { url = "http://127.0.0.1:{{ ports.http }}/", deadline_s = 20 }
[settings]
python = "python3"
"""
# A plan of one sampler that asks no server: with the plug-in of a real JMeter.
DUMMY_JMX = """<?xml version="1.0" encoding="UTF-8"?>
<jmeterTestPlan version="1.2" properties="5.0" jmeter="5.6.3">
  <hashTree>
    <TestPlan guiclass="TestPlanGui" testclass="TestPlan" testname="Dummy">
      <boolProp name="TestPlan.tearDown_on_shutdown">true</boolProp>
    </TestPlan>
    <hashTree>
      <ThreadGroup guiclass="ThreadGroupGui" testclass="ThreadGroup" testname="Users">
        <stringProp name="ThreadGroup.num_threads">${__P(users,1)}</stringProp>
        <stringProp name="ThreadGroup.ramp_time">${__P(ramp_s,0)}</stringProp>
        <boolProp name="ThreadGroup.scheduler">true</boolProp>
        <stringProp name="ThreadGroup.duration">${__P(duration_s,2)}</stringProp>
        <elementProp name="ThreadGroup.main_controller" elementType="LoopController" guiclass="LoopControlPanel"
            testclass="LoopController">
          <stringProp name="LoopController.loops">-1</stringProp>
        </elementProp>
      </ThreadGroup>
      <hashTree>
        <kg.apc.jmeter.samplers.DummySampler guiclass="kg.apc.jmeter.samplers.DummySamplerGui"
            testclass="kg.apc.jmeter.samplers.DummySampler" testname="Pay">
          <boolProp name="WAITING">true</boolProp>
          <boolProp name="SUCCESFULL">true</boolProp>
          <stringProp name="RESPONSE_CODE">201</stringProp>
          <stringProp name="RESPONSE_MESSAGE">Created, &quot;quoted&quot;</stringProp>
          <stringProp name="RESPONSE_DATA">${__P(scheme,)}${__P(host,)}${__P(port,)}${__P(base_path,)}</stringProp>
          <stringProp name="RESPONSE_TIME">50</stringProp>
          <stringProp name="LATENCY">40</stringProp>
          <stringProp name="CONNECT">1</stringProp>
        </kg.apc.jmeter.samplers.DummySampler>
        <hashTree/>
      </hashTree>
    </hashTree>
  </hashTree>
</jmeterTestPlan>
"""

# The options of a sweep of two short levels.
SWEEP = ("--users", "1,2", "--duration", "2", "--warmup", "0")

Start = Callable[..., "subprocess.Popen[str]"]
Run = Callable[..., "subprocess.CompletedProcess[str]"]

# What a run of some seconds may be DOUBTFUL for, on a machine that other tests share.
REASONS_OF_SHORT_RUNS = "|".join(
    (
        *(
            re.sub(r"\\\{\w+\\\}", ".*", re.escape(warning_kinds()[code].brief))
            for code in (
                "too-short",
                "too-few-samples",
                "other-cpu",
                "stolen-cpu",
                "generator-cpu",
                "generator-delay",
                "stall",
            )
        ),
        "The .* depends on when you look: .*",
    )
)


def check_short_run(verdict: Mapping[str, Any]) -> None:
    """Fail unless the verdict of a run's JSON is VALID, or DOUBTFUL for no more than being short on a busy machine."""
    assert verdict["state"] in (VALID, DOUBTFUL), verdict
    assert [reason for reason in verdict["reasons"] if not re.fullmatch(REASONS_OF_SHORT_RUNS, reason)] == []


def tiny_home(folder: Path) -> Path:
    """Return a new folder `home` with the tiny plan, profile and system."""
    for name, text in (
        ("plans/tiny.jmx", TINY_JMX),
        ("plans/tiny.toml", TINY_PLAN),
        ("env/local.toml", TINY_PROFILE),
        ("systems/tiny/system.toml", TINY_SYSTEM),
    ):
        path = folder / "home" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder / "home"


def arguments_of_run(home: Path, tmp_path: Path, arguments: Sequence[str]) -> list[str]:
    """Return the arguments of a run of the tiny plan."""
    folders = ["--home", str(home), "--reports", str(tmp_path / "reports"), "--build", str(tmp_path / "build")]
    return ["--plan", "tiny", *folders, *arguments]


def start_script(
    script: str, arguments: Sequence[str], tmp_path: Path, mode: str, environment: Mapping[str, str]
) -> subprocess.Popen[str]:
    """Start a script with the fake JMeter and a TMPDIR of its own; both streams come as one text."""
    return subprocess.Popen(
        [sys.executable, str(ROOT / "scripts" / script), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, **_variables(tmp_path, mode), **environment},
        start_new_session=True,
    )


def finish_script(
    script: str, arguments: Sequence[str], tmp_path: Path, mode: str, environment: Mapping[str, str]
) -> tuple[int, str]:
    """Run what `start_script` starts to its end as a part of this process; return its exit code and its output.

    That is quicker. Its runs are processes of their own, as ever, where they are children of the script.
    """
    variables = {**_variables(tmp_path, mode), **environment}
    with mock.patch.object(tempfile, "tempdir", variables["TMPDIR"]), interrupted_after(120):
        done = command(f"scripts/{script}", *arguments, **variables)
    return done.returncode, done.stdout + done.stderr


def _variables(tmp_path: Path, mode: str) -> dict[str, str]:
    """Return the environment of a script with the fake JMeter and a TMPDIR of its own.

    It has no git: a change of the code, which is none of the test's, would keep a test from resuming what it began.
    """
    (tmp_path / "tmp").mkdir(exist_ok=True)
    own = {"JMETER_HOME": str(FAKE_JMETER), "FAKE_JMETER": mode, "TMPDIR": str(tmp_path / "tmp")}
    return {**own, "GIT_DIR": str(tmp_path / "no-git")}


def run_json(reports: Path, name: str = "run-01_1") -> dict:
    return json.loads((reports / "tiny" / name / "run.json").read_text())


def report(reports: Path, name: str = "run-01_1") -> str:
    return (reports / "tiny" / f"{name}.md").read_text()


def is_whole(tmp_path: Path) -> bool:
    """Whether the run finished and was judged: on a busy machine it may be DOUBTFUL."""
    return run_json(tmp_path / "reports")["state"] == "finished" and "goals met." in report(tmp_path / "reports")


def sweep_json(tmp_path: Path) -> dict:
    """Return the record of the first sweep of the tiny plan."""
    return json.loads((tmp_path / "reports" / "tiny" / "sweep-01.json").read_text())


def samples_under_way(tmp_path: Path, rows: int = 3, seconds: float = 20.0) -> Path:
    """Return the JTL of the current run, once it has more than `rows` rows."""
    samples = tmp_path / "reports" / "tiny" / "run-01_1" / "samples.jtl"
    wait_for(lambda: samples.is_file() and samples.read_text().count("\n") > rows, seconds)
    return samples
