"""What `scripts/bench held-back` prints of a run, and how it slows a process down."""

import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from bench.runs.held_back import HeldBackRun, _held_back, _row

FALL = {"at_s": 47, "before_per_s": 900.0, "after_per_s": 225.0}
WARNING = {"code": "throttled", "text": "From 0:47 on the machine delivered 25 %."}


def run(held_s, throttle, *warnings):
    caveats = [{"code": "one-state", "text": "x"}, *warnings]
    # 90 s in points of 3 s: the rate falls from 900 to 200 a second at 45 s.
    timeline = {"bucket_s": 3, "sample_count": [2700] * 15 + [600] * 15}
    return HeldBackRun(held_s, {"throttle": throttle, "caveats": caveats, "timeline": timeline})


@pytest.mark.parametrize(("held_s", "is_near"), [(45.2, True), (52.0, True), (52.1, False), (None, False)])
def test_a_fall_counts_as_found_within_five_seconds_of_the_limit(held_s, is_near):
    assert run(held_s, FALL, WARNING).is_near is is_near
    assert not run(held_s, None).is_near


def test_the_row_has_what_was_planted_and_what_was_found():
    assert _row(run(45.2, FALL, WARNING), "20") == ["0:45", "20", "900 → 200", "0:47", "900 → 225", "25"]
    assert _row(run(None, None), "100") == ["", "100", "900 → 200", "not found", "", ""]
    assert run(45.2, FALL, WARNING).warning == "From 0:47 on the machine delivered 25 %."
    assert run(45.2, None).warning == ""


@pytest.mark.real
def test_a_process_is_stopped_for_its_share_and_runs_again_afterwards():
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as child:
        try:
            process, states = psutil.Process(child.pid), []
            with _held_back(child.pid, 0.2):
                until_s = time.monotonic() + 1.0
                while time.monotonic() < until_s:
                    states.append(process.status())
                    time.sleep(0.005)
            assert 0.4 < states.count(psutil.STATUS_STOPPED) / len(states) < 1
            assert process.status() != psutil.STATUS_STOPPED
        finally:
            child.kill()


def test_a_process_that_ends_meanwhile_is_no_error():
    command = [sys.executable, "-c", "import time; time.sleep(60)"]
    with subprocess.Popen(command) as child, _held_back(child.pid, 0.5):
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
