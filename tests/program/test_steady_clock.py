"""A test that fails while the machine's clock is set runs again; no other test does."""

import os
import re
import subprocess
import sys

import pytest

from tests.support.paths import ROOT

_FILE = """
import time
import pytest
import tests.support.steady_clock as steady

RUNS = {}

def ran(name):
    RUNS[name] = RUNS.get(name, 0) + 1
    return RUNS[name]

def set_clock(monkeypatch, step_s):
    offset_s = steady.offset_s()
    monkeypatch.setattr(steady, "offset_s", lambda: offset_s + step_s)

@pytest.fixture(scope="module")
def shared(request):
    if ran("shared") == 1:
        offset_s = steady.offset_s()
        steady.offset_s = lambda: offset_s + 30
        raise ValueError("made while the clock was set")
    return 5

def test_whose_file_needs_what_failed(shared):
    assert (shared, RUNS["shared"]) == (5, 2)

@pytest.mark.parametrize("step_s", [66.0, -66.0])
def test_that_fails_once(step_s):
    if ran(step_s) == 1:
        offset_s = steady.offset_s()
        steady.offset_s = lambda: offset_s + step_s
        assert not "the clock was set"

def test_that_always_fails():
    offset_s = steady.offset_s()
    steady.offset_s = lambda: offset_s + 9
    assert ran("always") > 9, RUNS["always"]

def test_that_passes():
    offset_s = steady.offset_s()
    steady.offset_s = lambda: offset_s + 9
    assert ran("passes") == 1

def test_that_fails_at_a_steady_clock():
    assert ran("steady") == 2, RUNS["steady"]
"""


@pytest.fixture(scope="module")
def output(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clock")
    (folder / "test_clock.py").write_text(_FILE)
    options = ("-p", "tests.support.steady_clock", "-p", "no:cacheprovider", "-q", "-rA")
    program = [sys.executable, "-m", "pytest", *options, "--rootdir", folder, folder]
    return subprocess.run(
        program, cwd=ROOT, capture_output=True, text=True, timeout=60, env={**os.environ, "COLUMNS": "200"}
    ).stdout


@pytest.mark.real
def test_what_failed_while_the_clock_was_set_ran_again_and_that_is_said(output):
    passed = {re.sub(r".*::", "", line) for line in output.splitlines() if line.startswith("PASSED")}
    assert passed == {
        "test_whose_file_needs_what_failed", "test_that_fails_once[66.0]", "test_that_fails_once[-66.0]",
        "test_that_passes",
    }, output  # fmt: skip
    assert "test_that_fails_once[66.0] failed while the clock was set by +66.0 s: it ran again" in output
    assert "test_that_fails_once[-66.0] failed while the clock was set by -66.0 s: it ran again" in output
    assert "test_that_passes failed" not in output


@pytest.mark.real
def test_a_failure_stays_one_when_it_repeats_and_when_no_clock_was_set(output):
    assert re.search(r"FAILED .*test_that_always_fails - AssertionError: 2", output), output
    assert re.search(r"FAILED .*test_that_fails_at_a_steady_clock - AssertionError: 1", output), output
