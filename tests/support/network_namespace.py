"""Runs a Python program in a network namespace of its own, where any address may be tried; that needs root."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.paths import ROOT

# The addresses of the namespace's loopback interface, beside 127.0.0.1 and ::1: by our rules not those of this machine.
ADDRESSES = ("10.99.0.1/32", "10.99.0.2/32", "10.99.0.3/32", "fd00::7/128")


def in_namespace(code: str, *arguments: str, hosts: Path | None = None) -> list[str]:
    """Return the lines that the program prints; `hosts` is its /etc/hosts."""
    begin = ["ip link set lo up", *(f"ip addr add {one} dev lo" for one in ADDRESSES)]
    if hosts is not None:
        begin.append(f"mount --bind {hosts} /etc/hosts")
    script = f'{"; ".join(begin)}; exec "$@"'
    command = ["unshare", "-n", "-m", "sh", "-ec", script, "sh", sys.executable, "-c", code, *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=60, check=False)
    except FileNotFoundError:
        pytest.skip("NOT TESTED what leaves the machine: there is no `unshare`")
    if "Operation not permitted" in done.stderr and not done.stdout:
        pytest.skip(f"NOT TESTED what leaves the machine: no network namespace can be made ({done.stderr.strip()})")
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()
