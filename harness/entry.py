"""What every program does first: enter .venv, before anything is imported that .venv's Python would import again.

`harness.program` does the rest. This module runs before .venv exists: standard library only, and little of it.
"""

from __future__ import annotations

import os
import sys

_ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))  # noqa: PTH120 - pathlib loads slowly
_VENV = f"{_ROOT}/.venv"
_AGGREGATE = "aggregate.py"
# What harness/base/python_packages.py leaves when it has installed the packages: a copy of their list.
_STAMP = ".installed-requirements.txt"


def start(program: str) -> None:
    """Run a program of `harness.cli` inside .venv and exit with its exit code."""
    _enter_complete_venv(program)
    _store_bytecode()
    from harness.program import run  # here, because the first Python of a command does not need it

    sys.exit(run(program, in_current_venv=_has_current_packages()))


def console_script() -> None:
    """Run the program that a console script is named after: `harness-run` is scripts/run, `harness` is aggregate.py."""
    _, _, name = os.path.basename(sys.argv[0]).partition("-")  # noqa: PTH119
    start(f"scripts/{name}" if name else _AGGREGATE)


def _enter_complete_venv(program: str) -> None:
    """Run the program again with the Python of .venv, unless .venv was never completed: then it is built first."""
    python = f"{_VENV}/bin/python"
    is_complete = os.path.exists(f"{_VENV}/{_STAMP}") and os.access(python, os.X_OK)  # noqa: PTH110
    if is_complete and os.path.realpath(sys.prefix) != os.path.realpath(_VENV):
        os.execv(python, [python, f"{_ROOT}/{program}", *sys.argv[1:]])


def _has_current_packages() -> bool:
    """Return whether this is the Python of .venv, and .venv has the packages of requirements.txt."""
    try:
        with open(f"{_ROOT}/requirements.txt", "rb") as wanted, open(f"{_VENV}/{_STAMP}", "rb") as installed:  # noqa: PTH123
            return os.path.realpath(sys.prefix) == os.path.realpath(_VENV) and wanted.read() == installed.read()
    except OSError:
        return False


def _store_bytecode() -> None:
    """Store compiled modules in build/ where PYTHONDONTWRITEBYTECODE keeps them out of the checkout.

    Without them every start compiles all modules: that takes longer than a small table.
    """
    if sys.dont_write_bytecode and sys.pycache_prefix is None and os.access(f"{_ROOT}/build", os.W_OK):
        sys.dont_write_bytecode, sys.pycache_prefix = False, f"{_ROOT}/build/pycache"
