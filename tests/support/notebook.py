"""Executes docs/notebook.ipynb. `python -m tests.support.notebook` stores the outputs of today's code in it."""

from __future__ import annotations

import os
import tempfile
from typing import Any

import nbformat
from nbclient import NotebookClient

from tests.support.paths import ROOT

NOTEBOOK = ROOT / "docs" / "notebook.ipynb"
_TIMEOUT_S = 120


def read() -> Any:
    """Return the notebook as it is stored."""
    return nbformat.read(NOTEBOOK, as_version=4)


def executed() -> Any:
    """Return the notebook after it ran in its folder, without the settings of the user."""
    notebook = read()
    with tempfile.TemporaryDirectory() as folder:
        own = dict.fromkeys(("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR"), folder)
        client = NotebookClient(
            notebook,
            timeout=_TIMEOUT_S,
            record_timing=False,
            coalesce_streams=True,
            resources={"metadata": {"path": str(NOTEBOOK.parent)}},
        )
        client.execute(env={**os.environ, **own})
    return notebook


if __name__ == "__main__":
    found = executed()
    found.metadata.pop("language_info", None)  # the version of Python differs between machines
    nbformat.write(found, NOTEBOOK)
