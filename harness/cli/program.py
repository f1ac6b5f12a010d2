"""Runs a program: protect the streams, complete .venv, call `harness.cli.verbs`, print errors, find the exit code.

This module runs before .venv exists: standard library only.
"""

from __future__ import annotations

import os
import sys
from contextlib import AbstractContextManager, nullcontext

from harness.base import standard_streams
from harness.base.command import LTH, MAKE
from harness.base.errors import EXIT_BUG, EXIT_INTERRUPTED, EXIT_INVALID, EXIT_OK, EXIT_USAGE, HarnessError
from harness.base.interrupts import Interrupts
from harness.base.log import print_page, print_text, spell_with, spelled
from harness.base.project import AGGREGATE
from harness.base.writable import FULL

# Verbs of lth whose output is their result.
_PRINTING = ("table", "compare", "history", "diff")


def run(program: str, file: str, *, in_current_venv: bool) -> int:
    """Run a program of `harness.cli.verbs`, whose file is `file`, inside .venv and return its exit code.

    Unless this is the Python of .venv with the packages of requirements.txt, that is built first.

    Output that cannot be printed does not end the command. It makes the exit code of verbs like `table`, and of
    AGGREGATE, an error, unless the reader has gone, because there the output is the result.
    """
    standard_streams.protect()
    output_counts = program == AGGREGATE or (program == LTH and "".join(sys.argv[1:2]) in _PRINTING)
    try:
        code = _code_of(program, file, in_current_venv=in_current_venv)
    except SystemExit as ended:  # argparse: --help, or arguments that it does not understand
        code, output_counts = ended.code if isinstance(ended.code, int) else EXIT_OK, True
    lost = standard_streams.output_error()
    if lost and not standard_streams.is_reader_gone():
        print_text(f"{program}: not all of the output could be written ({lost.strerror})", file=sys.stderr)
        code = code or (EXIT_USAGE if output_counts else EXIT_OK)
    return code


def _code_of(program: str, file: str, *, in_current_venv: bool) -> int:
    caller, arguments = program, sys.argv[1:]
    if program == LTH and arguments[:1] == [MAKE]:
        caller, arguments = MAKE, arguments[1:]
    spell_with(lambda text: _spelled(text, caller))
    name = " ".join([caller, *arguments[:1]]) if caller in (LTH, MAKE) and arguments else caller
    try:
        if not in_current_venv and arguments[:1] != ["doctor"]:  # it installs nothing, and needs nothing
            from harness.base.install.first_setup import enter_venv  # here, because no complete .venv needs it
            from harness.cli.verbs import verb_and_options

            with Interrupts():
                _check_first(arguments, caller)
                called = verb_and_options(arguments, caller)
                enter_venv(file, called.verb, called.arguments)
        with _prepared(arguments):
            from harness.cli.verbs import main  # here, because it is imported only inside .venv

            code = main(arguments, caller)
        if "harness.base.install.class_data" in sys.modules:  # JMeter ran
            sys.modules["harness.base.install.class_data"].leave_wanted_class_data()
        return code
    except HarnessError as error:
        # What the user typed is said once.
        text = spelled(str(error)).removeprefix(f"{arguments[0]}: " if caller in (LTH, MAKE) and arguments else "")
        print_page(f"{name}: {text}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print_text(f"{name}: interrupted; nothing was measured", file=sys.stderr)
        return EXIT_INTERRUPTED
    except OSError as error:
        if error.errno not in FULL:
            return _bug(name)
        what = f"{error.filename or 'a file'} cannot be written ({error.strerror})"
        print_text(f"{name}: {what}; free disk space", file=sys.stderr)
        return EXIT_INVALID
    except Exception:  # noqa: BLE001 - the last resort
        return _bug(name)


def _spelled(text: str, caller: str) -> str:
    """Return a text as its reader types commands and options."""
    if f"{LTH} " not in text and (caller != MAKE or "--" not in text):
        return text
    from harness.cli.spelling import spelled_for  # here, because most commands print none

    return spelled_for(caller, text)


def _prepared(arguments: list[str]) -> AbstractContextManager[None]:
    """Return a context in which what a table of a large file needs starts while its verb is imported."""
    if arguments[:1] != ["table"]:
        return nullcontext()
    from harness.metrics.counter_process import early_counter

    return early_counter(arguments[1:])


def _bug(program: str) -> int:
    """Print the exception that is being handled; return its exit code.

    An error of ours must not look like a missed goal: Python's own exit code would be 1.
    """
    import traceback

    print_text(traceback.format_exc(), file=sys.stderr, end="")
    print_text(f"{program}: this is an error of the harness itself", file=sys.stderr)
    return EXIT_BUG


def _check_first(arguments: list[str], caller: str) -> None:
    """In a fresh clone print the help or refuse a wrong command before anything is downloaded."""
    from harness.base.install.before_setup import checking
    from harness.base.install.python_packages import VENV, check_python, has_venv

    check_python()
    if has_venv() or os.path.realpath(sys.prefix) == os.path.realpath(VENV):
        return
    with checking():
        from harness.cli.verbs import check

        check(arguments, caller)
