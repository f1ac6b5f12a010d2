"""The clock is set while JMeter runs: the report says so, and the length of the run is that of the monotonic clock."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from harness.base.install import toolchain
from tests.support.programs import program
from tests.support.tiny import DUMMY_JMX, report, run_json, samples_under_way

# libfaketime breaks the sleep of Python 3.11, and with FORCE_MONOTONIC_FIX that of Java.
JAVA = """\
#!/bin/sh
export LD_PRELOAD={library} FAKETIME_TIMESTAMP_FILE={clock} FAKETIME_NO_CACHE=1
export FAKETIME_FORCE_MONOTONIC_FIX=0 DONT_FAKE_MONOTONIC=1
exec {java} "$@"
"""
PYTHON = """\
import datetime, pathlib, time

wall, at = time.time, datetime.datetime
ahead_s = lambda: float(pathlib.Path({clock!r}).read_text())
time.time = lambda: wall() + ahead_s()


class Ahead(at):
    @classmethod
    def now(cls, tz=None):
        return at.now(tz) + datetime.timedelta(seconds=ahead_s())


datetime.datetime = Ahead
"""


@pytest.mark.counterpart
@pytest.mark.parametrize("jump", ["+3600", "-3600", "-7"])
def test_a_clock_that_is_set_during_the_load_is_said_in_the_report(command, environment, home, target, tmp_path, jump):
    program("faketime", package="faketime")
    (library,) = Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1")
    (home / "plans" / "tiny.jmx").write_text(DUMMY_JMX)
    clock, java = tmp_path / "clock", tmp_path / "bin" / "java"
    clock.write_text("+0\n")
    java.parent.mkdir()
    java.write_text(JAVA.format(library=library, clock=clock, java=shutil.which("java")))
    java.chmod(0o755)
    (tmp_path / "bin" / "sitecustomize.py").write_text(PYTHON.format(clock=str(clock)))
    path = f"{java.parent}{os.pathsep}{environment['PATH']}"
    set_clock = {
        **environment,
        "JMETER_HOME": str(toolchain.ensure_jmeter()),
        "PATH": path,
        "PYTHONPATH": str(java.parent),
    }
    process = subprocess.Popen(
        command("run", "--target", target, "--duration", "12"),
        env=set_clock, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    samples_under_way(tmp_path, seconds=60)
    clock.write_text(f"{jump}\n")
    out, err = process.communicate(timeout=120)
    assert "Traceback" not in out + err
    page, facts = report(tmp_path / "reports"), run_json(tmp_path / "reports")
    assert (process.returncode, facts["state"]) == (3, "finished"), out + err
    assert "**INVALID: " in page
    assert "A clock was set by about " in page
    assert 2 < facts["took_s"] < 100  # JMeter's own schedule follows its clock, back until the harness ends it
