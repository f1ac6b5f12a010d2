"""The main job as the README gives it: make, the real JMeter, the real KillBill with its Stripe plugin and H2."""

import json
import os
import subprocess

import pytest

from tests.support.killbill_client import STORED, KillBill
from tests.support.killbill_instance import codes_of, run_command
from tests.support.paths import ROOT
from tests.support.processes import QUICK_JAVA, processes_of, wait_for
from tests.support.tiny import check_short_run

pytestmark = pytest.mark.real


def check_stored(port: str) -> None:
    """Fail unless the KillBill on a port stores a payment that is sent to it."""
    killbill = KillBill(f"http://127.0.0.1:{port}")
    payment = killbill.pay_through()
    assert killbill.amounts_of(payment) == STORED
    steps = [("AUTHORIZE", "SUCCESS"), ("CAPTURE", "SUCCESS"), ("REFUND", "SUCCESS")]
    assert killbill.transactions_of(payment) == steps


def test_one_command_writes_a_trustworthy_report(tmp_path):
    directory = tmp_path / "killbill-stripe" / "run-01_1"
    samples = directory / "samples.jtl"

    def is_paid() -> bool:
        return samples.is_file() and "Capture Payment" in samples.read_text()

    errors = tmp_path / "errors.txt"
    with errors.open("w") as file, subprocess.Popen(
        run_command(tmp_path, "PLAN=killbill-stripe", "USERS=4", "DURATION=40"),
        env={**os.environ, **QUICK_JAVA}, stdout=subprocess.PIPE, stderr=file, text=True,
    ) as make:  # fmt: skip
        wait_for(lambda: make.poll() is not None or is_paid(), 300)
        is_up = make.poll() is None
        if is_up:
            check_stored(json.loads((directory / "run.json").read_text())["properties"]["port"])
        text, _ = make.communicate(timeout=200)
    assert (is_up, make.returncode) == (True, 0), text + errors.read_text()
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
