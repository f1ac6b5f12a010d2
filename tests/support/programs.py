"""Programs of the machine that tests use: .ci/install installs them."""

from __future__ import annotations

import os
import shutil

import pytest


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
