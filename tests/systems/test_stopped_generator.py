"""Proof by injection: a JMeter that stands still makes samples slow, and the account of their tail says so."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness.base.records import build
from harness.judge.tail import TailAccount
from harness.judge.tail_matching import GENERATOR
from tests.support.paths import ROOT
from tests.support.processes import processes_of, wait_for, words_of
from tests.support.slow_server import RESULTS, append_accounts

pytestmark = pytest.mark.counterpart
STOPPED_S, EACH_S, LOAD_S = 0.3, 2.0, 40


def jmeter_of(reports):
    """Return the JMeter of a run whose load has begun."""
    found = [one for one in processes_of(reports) if words_of(one)[:1] == ["java"] and "-n" in words_of(one)]
    return found[0] if found and any(path.stat().st_size for path in reports.rglob("samples.jtl")) else None


def test_the_time_for_which_the_load_generator_stood_still_is_recovered(tmp_path):
    """Four users ask a back-end of 60 ms; a signal stops JMeter again and again, and no longer than 40 s."""
    reports = tmp_path / "reports"
    given = ("--plan=lb-direct", "--users=4", "--ramp=0", f"--duration={LOAD_S}", "--set=delay_ms=60", "--profile")
    command = [sys.executable, str(ROOT / "scripts" / "run"), *given, f"--reports={reports}"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
        jmeter = wait_for(lambda: jmeter_of(reports), 120)
        for _ in range(round((LOAD_S - 6) / EACH_S)):
            time.sleep(EACH_S - STOPPED_S)
            jmeter.send_signal(signal.SIGSTOP)
            time.sleep(STOPPED_S)
            jmeter.send_signal(signal.SIGCONT)
        run.wait(120)
    [summary] = reports.glob("lb-direct/run-*.json")
    [tail] = json.loads(summary.read_text())["observed"]["tails"]
    account = build(TailAccount, tail)
    if results := os.environ.get(RESULTS):
        append_accounts(Path(results), "JMeter stopped", [account])
    stopped = [one.ms for one in account.causes if one.kind == GENERATOR]
    assert stopped == [pytest.approx(1000 * STOPPED_S, rel=0.15)], tail
