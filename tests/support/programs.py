"""Programs of the machine that tests use: .ci/install installs them."""

from __future__ import annotations

import os
import shutil
import subprocess
import venv
from pathlib import Path

import pytest

from harness.base.project import BUILD


def program(*names: str, package: str) -> str:
    """Return the path of the first of these programs that is on PATH.

    Where none is installed, skip the test, and fail it in .ci/run.
    """
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        why = f"NOT CHECKED: no {' or '.join(names)} on this machine: install the package {package}"
        if os.environ.get("HARNESS_CI"):
            pytest.fail(why)
        pytest.skip(why)
    return found


def packages(requirement: str) -> Path:
    """Return the Python of an environment with this package in build/; skip the test where it cannot be installed."""
    folder = BUILD / "counterparts" / requirement.replace("==", "-")
    python = folder / "bin" / "python"
    if not (folder / "whole").exists():
        venv.create(folder, with_pip=True, clear=True)
        installed = subprocess.run(
            [python, "-m", "pip", "install", "-q", requirement], stderr=subprocess.PIPE, check=False
        )
        if installed.returncode:
            pytest.skip(f"NOT CHECKED: {requirement} cannot be installed: {installed.stderr.decode()[-300:]}")
        (folder / "whole").touch()
    return python
