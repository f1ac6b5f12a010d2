"""The main job as the README gives it: make, the real JMeter, the real KillBill with its Stripe plugin."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.support.paths import ROOT
from tests.support.processes import QUICK_JAVA, processes_of
from tests.support.tiny import check_short_run

pytestmark = pytest.mark.real


def make_run(reports: Path, *variables: str, **environment: str) -> str:
    command = ["make", "-C", str(ROOT), "--no-print-directory", "run", f"REPORTS={reports}", *variables]
    everything = {**os.environ, **environment}
    done = subprocess.run(command, env=everything, capture_output=True, text=True, check=False, timeout=400)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def codes_of(summary: dict, label: str) -> dict[str, int]:
    return {code["code"]: code["sample_count"] for code in summary["codes"] if code["label"] == label}


def test_one_command_writes_a_trustworthy_report(tmp_path):
    text = make_run(tmp_path, "PLAN=killbill-stripe", "USERS=4", "DURATION=40", **QUICK_JAVA)
    directory = tmp_path / "killbill-stripe" / "run-01_1"
    summary = json.loads(directory.with_suffix(".json").read_text())
    check_short_run(summary["verdict"])
    assert f"killbill-stripe/run-01_1: {summary['verdict']['state']}" in text
    groups = {group["name"]: {label["label"]: label for label in group["labels"]} for group in summary["groups"]}
    assert set(groups["load"]) == {"Authorize Payment", "Capture Payment", "Purchase Payment"}
    once = groups["once"]
    assert set(once) == {"Create Account", "Visit Account", "Stripe (Default) Payment Method"}
    assert {label["sample_count"] for label in once.values()} == {4}
    # A captured or purchased payment is a 201 and nothing else; the machine may be slow, but it may not fail.
    for label in groups["load"]:
        assert set(codes_of(summary, label)) == {"201"}
    # A window of some seconds: a request in flight at its beginning counts whole, one at its end not at all.
    law = summary["littles_law"]
    at_the_ends = max(label["average_ms"] for label in groups["load"].values()) / 1000 / law["over_s"]
    assert law["ratio"] == pytest.approx(1.0, abs=0.1 + at_the_ends)
    # A virtual machine may have been denied CPU time, which is a line of its own.
    used = {usage["process"] for usage in summary["observed"]["usages"]} - {"stolen"}
    assert used == {"jmeter", "harness", "host", "killbill", "stripe"}
    for name in ("threads-before.txt", "threads-after.txt", "metrics-before.json", "metrics-after.json"):
        assert (directory / name).stat().st_size > 1000
    figures = dict(summary["run"]["dump_figures"])
    assert int(figures["live threads in KillBill after the load"]) > 20
    report = directory.with_suffix(".md").read_text()
    for heading in ("Set-up", "Results", "Response codes", "CPU and memory", "Warnings", "Notes"):
        assert f"\n## {heading}\n" in report
    assert "Stripe's place is taken by a stand-in" in report
    assert str(tmp_path) not in report
    assert str(ROOT) not in report
    assert processes_of(tmp_path) == []


def test_the_litle_variant_on_the_smallest_size_reports_what_replaces_litle(tmp_path):
    # Loops: on a slow machine one core may need longer for a first payment than a short load lasts.
    make_run(tmp_path, "PLAN=killbill-litle", "USERS=2", "LOOPS=1", "ENV=t2.small", **QUICK_JAVA)
    directory = tmp_path / "killbill-litle" / "run-01_1"
    summary = json.loads(directory.with_suffix(".json").read_text())
    assert set(codes_of(summary, "Litle Payment Method")) == {"201"}
    assert set(codes_of(summary, "Purchase Payment")) == {"201"}
    assert summary["run"]["properties"]["method.plugin"] == "__EXTERNAL_PAYMENT__"
    report = directory.with_suffix(".md").read_text()
    assert "Litle's place is taken by KillBill's built-in external payment" in report
    assert summary["run"]["system_settings"]["cpus"] == 1
    # One core is all that KillBill may use, however many the machine has.
    (killbill,) = [usage for usage in summary["observed"]["usages"] if usage["process"] == "killbill"]
    assert killbill["cpu_cores_max"] < 1.2
