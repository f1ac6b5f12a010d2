"""The end of `make test` on a fresh machine: what was not run, and the command that installs what is missing."""

import os
import subprocess
import sys

import pytest

from tests.support.not_run import summary_of
from tests.support.paths import ROOT


def reason(programs, package):
    return f"Skipped: NOT CHECKED: no {programs} on this machine: install the package {package}"


def test_the_missing_programs_are_counted_and_one_command_installs_them():
    browser = reason("chromium or chromium-browser", "chromium")
    assert summary_of([browser, reason("prometheus", "prometheus"), browser, "Skipped: another reason"]) == [
        "3 tests were not run for missing programs: 2 without chromium, 1 without prometheus.",
        "This command installs them on Debian and Ubuntu: .ci/install",
    ]
    assert summary_of([reason("sshd", "openssh-server")])[1].endswith(": .ci/install real")
    assert summary_of(["Skipped: no cgroups here"]) == []


@pytest.mark.real
@pytest.mark.parametrize("more", [(), pytest.param(("-n", "2"), marks=pytest.mark.counterpart)])
def test_the_lines_are_the_last_of_a_real_pytest(tmp_path, more):
    """A conftest of its own uses the hook of ours, as `make test` does with several workers."""
    (tmp_path / "conftest.py").write_text("from tests.conftest import pytest_terminal_summary\n")
    (tmp_path / "test_it.py").write_text(
        "from tests.support.programs import program\n\n\n"
        "def test_a():\n    program('no-such-program', package='chromium')\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "--rootdir", tmp_path, "-c", "/dev/null", *more, tmp_path]
    done = subprocess.run(
        command,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "HARNESS_CI": "", "PYTHONPATH": str(ROOT)},
    )
    assert "1 test was not run for missing programs: 1 without no-such-program." in done.stdout, (
        done.stdout + done.stderr
    )
