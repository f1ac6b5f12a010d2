"""The image of the Containerfile, built and used without a container engine."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.support.paths import ROOT
from tests.support.programs import program

pytestmark = pytest.mark.counterpart

USER = "10001"
SCRIPT = ROOT / "tests" / "support" / "image.sh"
AS_ROOT = [] if os.geteuid() == 0 else ["sudo", "-n"]
VARIABLES = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/tmp", "TMPDIR": "/tmp", "PYTHONDONTWRITEBYTECODE": "1"}


@pytest.fixture
def image(tmp_path):
    """The mounted image; it is removed afterwards."""
    for name in ("buildah", "debootstrap", "bwrap"):
        program(name, package="buildah debootstrap bubblewrap")
    if subprocess.run([*AS_ROOT, "true"], check=False).returncode:
        pytest.skip("NOT CHECKED: only root can build an image without an engine")
    try:
        command = [*AS_ROOT, SCRIPT, tmp_path / "image"]
        built = subprocess.run(command, capture_output=True, text=True, timeout=3600, check=False)
        assert built.returncode == 0, built.stderr[-3000:]
        yield Path(built.stdout.splitlines()[-1])
    finally:
        subprocess.run([*AS_ROOT, SCRIPT, tmp_path / "image", "rm"], check=True)


def in_image(image: Path, reports: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a command as `podman run --read-only --tmpfs /tmp --volume reports --network none` does."""
    sandbox = [
        *AS_ROOT, "bwrap", "--unshare-net", "--unshare-ipc", "--unshare-pid",
        "--as-pid-1", "--die-with-parent", "--new-session",
        "--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID", "--cap-add", "CAP_SETPCAP",
        "--clearenv", *(word for item in VARIABLES.items() for word in ("--setenv", *item)),
        "--ro-bind", image, "/", "--proc", "/proc", "--dev", "/dev", "--perms", "1777", "--tmpfs", "/tmp",
        "--bind", reports, "/srv/load-test/reports", "--chdir", "/srv/load-test",
    ]  # fmt: skip
    # As the user of the image, without any capability.
    become = ["setpriv", "--reuid", USER, "--regid", USER, "--clear-groups", "--bounding-set=-all", "--no-new-privs"]
    return subprocess.run([*sandbox, *become, *command], capture_output=True, text=True, timeout=600, check=False)


def test_a_run_in_the_image_needs_no_network_no_root_and_writes_only_its_reports(image, tmp_path):
    reports = tmp_path / "reports"
    subprocess.run([*AS_ROOT, "install", "-d", "-o", USER, "-g", USER, reports], check=True)
    refused = in_image(image, reports, "touch", "/srv/load-test/harness/x", "/x")
    assert refused.stderr.count("Read-only file system") == 2
    network = in_image(image, reports, "cat", "/proc/net/dev").stdout.splitlines()[2:]
    assert [line.split(":")[0].strip() for line in network] == ["lo"]
    done = in_image(image, reports, "/usr/bin/tini", "--", "scripts/lth", "run", "lb-direct", "-u", "5", "-d", "15s")
    assert done.returncode == 0, done.stdout + done.stderr
    (run,) = (reports / "lb-direct").glob("run-01_1-*.md")
    assert run.stat().st_uid == int(USER)
    assert "errors 0.00 %" in done.stdout
