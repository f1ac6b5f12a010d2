"""What every program does first: in a checkout enter .venv, before anything is imported that its Python imports again.

`harness.cli.program` does the rest. This module runs before .venv exists: standard library only, and little of it.
"""

from __future__ import annotations

import gc
import os
import sys

# Looking for garbage takes 5 % of the time of a small table, and a command makes little.
_GARBAGE_LOOKS = (100_000, 20, 20)
# pathlib loads slowly
_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))  # noqa: PTH120
_VENV = f"{_ROOT}/.venv"
# An installed package has all packages that it needs in the environment that it is in.
_IS_CHECKOUT = os.path.exists(f"{_ROOT}/requirements.txt")  # noqa: PTH110
# What harness/base/install/python_packages.py leaves when it has installed the packages: a copy of their list.
_STAMP = ".installed-requirements.txt"


def lth() -> None:
    """Run the verb of the command line; `lth make VERB` reads its options from the variables of make."""
    start("lth")


def start(program: str) -> None:
    """Run a program of `harness.cli.verbs`, of a checkout inside .venv, and exit with its exit code."""
    gc.set_threshold(*_GARBAGE_LOOKS)
    code = code_of(program)
    if sys.argv[1:2] == ["table"]:
        # All is printed and closed. Python would take itself apart first: that takes longer than counting a small file.
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def code_of(program: str) -> int:
    """Run a program as a part of this process and return its exit code."""
    if _IS_CHECKOUT:
        _enter_complete_venv(program)
        _store_bytecode()
    from harness.cli.program import run  # here, because the first Python of a command does not need it

    return run(program, file_of(program), in_current_venv=not _IS_CHECKOUT or _has_current_packages())


def file_of(program: str) -> str:
    """Return the file that runs a program of the checkout."""
    return f"{_ROOT}/harness/__main__.py" if program == "lth" else f"{_ROOT}/{program}"


def _enter_complete_venv(program: str) -> None:
    """Run the program again with the Python of .venv, unless .venv was never completed: then it is built first."""
    python = f"{_VENV}/bin/python"
    is_complete = os.path.exists(f"{_VENV}/{_STAMP}") and os.access(python, os.X_OK)  # noqa: PTH110
    if is_complete and os.path.realpath(sys.prefix) != os.path.realpath(_VENV):
        os.execv(python, [python, file_of(program), *sys.argv[1:]])


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
