"""Before its packages are there, a fresh clone checks a command, and reads plans with the standard library."""

import shutil
import subprocess
import sys

import pytest

from tests.support.paths import ROOT

_CHECK = """
import sys
from harness.cli.program import _check_first
for plan in sys.argv[1:]:
    _check_first(["run", plan, "--users=5"], "lth")
    print(plan)
"""


@pytest.mark.real
def test_a_right_command_for_each_plan_passes_the_check_before_the_set_up(tmp_path):
    for name in ("harness", "scripts", "plans", "env", "systems", "jmeter"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("requirements.txt", "loadtest.toml"):
        shutil.copy(ROOT / name, tmp_path)
    plans = ["folio-checkin", "killbill-stripe", "thruzero"]
    command = [sys._base_executable, "-S", "-c", _CHECK, *plans]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    checked = [line for line in done.stdout.splitlines() if line in plans]
    assert (done.returncode, checked, done.stderr) == (0, plans, "")
