"""The failed requests that a run stores."""

import subprocess
import sys
from dataclasses import replace

import pytest

from harness.run.directory import RunDirectory
from harness.run.jmeter.exchanges import exchanges_text, parse_exchanges
from harness.run.measure import store_failures
from tests.support.exchanges import ONE
from tests.support.paths import ROOT
from tests.support.processes import wait_for

KILLED = """
import os, pathlib, sys
from harness.base.guardian import Guardian
from harness.run.measure import remove_if_killed
with Guardian() as guardian:
    remove_if_killed(pathlib.Path(sys.argv[1]), guardian)
    os.kill(os.getpid(), 9)
"""


def test_failures_are_masked_and_the_unmasked_file_is_removed(tmp_path):
    token = "Bearer abcdef-0123"
    one = replace(ONE, request_headers=f"Authorization: {token}", request_body="from hunter22")
    (tmp_path / ".exchanges.jsonl").write_text(exchanges_text([one]))
    store_failures(RunDirectory(tmp_path), ["hunter22"])
    assert [path.name for path in tmp_path.iterdir()] == ["failures.jsonl"]
    [found] = parse_exchanges((tmp_path / "failures.jsonl").read_text())
    assert found == replace(one, request_headers="Authorization: Bearer •••", request_body="from •••")


def test_the_first_three_of_a_cause_are_stored(tmp_path):
    many = [replace(ONE, start_ms=start) for start in (21, 31, 12, 22, 11)]
    (tmp_path / ".exchanges.jsonl").write_text(exchanges_text(many))
    store_failures(RunDirectory(tmp_path), ())
    found = parse_exchanges((tmp_path / "failures.jsonl").read_text())
    assert [one.start_ms for one in found] == [11, 12, 21]
    assert [path.name for path in tmp_path.iterdir()] == ["failures.jsonl"]


def test_a_run_without_failures_has_no_file(tmp_path):
    store_failures(RunDirectory(tmp_path), ["hunter22"])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.real
def test_the_unmasked_file_is_removed_when_the_harness_is_killed(tmp_path):
    raw = tmp_path / ".exchanges.jsonl"
    raw.write_text(exchanges_text([ONE]))
    (tmp_path / "samples.jtl").touch()
    assert subprocess.run([sys.executable, "-c", KILLED, tmp_path], cwd=ROOT, check=False).returncode == -9
    wait_for(lambda: not raw.exists(), 40)
    assert [path.name for path in tmp_path.iterdir()] == ["samples.jtl"]
