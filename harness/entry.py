"""What every front door does first and last: the right Python, clear errors, exit codes."""

from __future__ import annotations

import importlib
import os
import re
import sys
import traceback

from harness.base import standard_streams
from harness.base.errors import EXIT_BUG, EXIT_INTERRUPTED, EXIT_OK, EXIT_USAGE, HarnessError
from harness.base.interrupts import Interrupts
from harness.base.toolchain import enter_venv

_MODULES = {
    "aggregate": "harness.cli",
    "bench": "bench.command",
    "capacity": "harness.sweep.capacity_command",
    "check_otava": "bench.check_otava",
    "generator": "harness.run.remote.command",
    "generator_keys": "harness.run.remote.keys_command",
    "nightly": "harness.nightly.command",
    "run": "harness.run.command",
    "sweep": "harness.sweep.command",
    "system": "harness.system.command",
}
# What make passes on as an option without a value.
_FLAGS = ("ANYWAY", "SURE", "FRESH", "REPLACE", "FIGURES_ONLY", "DRY_RUN")


def run(module: str, program: str, *, output_counts: bool = False) -> None:
    """Run `main(arguments)` of a module of the table inside .venv and exit with what it returns.

    The module is imported only then: it needs packages that a new checkout does not have yet. What cannot be printed
    does not end the command. With `output_counts` it is an error in the end, unless the reader has gone.
    """
    standard_streams.protect()
    try:
        code = _code_of(module, program)
    except SystemExit as ended:  # argparse: --help, or arguments that it does not understand
        code, output_counts = ended.code if isinstance(ended.code, int) else EXIT_OK, True
    lost = standard_streams.output_error()
    if lost and not standard_streams.is_reader_gone():
        print(f"{program}: not all of the output could be written ({lost.strerror})", file=sys.stderr)
        code = code or (EXIT_USAGE if output_counts else EXIT_OK)
    sys.exit(code)


def _code_of(module: str, program: str) -> int:
    try:
        with Interrupts():
            enter_venv()
        code: int = importlib.import_module(_MODULES[module]).main(sys.argv[1:])
    except HarnessError as error:
        print(f"{program}: {with_variables(str(error))}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print(f"{program}: interrupted; nothing was measured", file=sys.stderr)
        return EXIT_INTERRUPTED
    except Exception:  # noqa: BLE001 - the last resort
        # An error of ours must not look like a missed goal: Python's own code would be 1.
        traceback.print_exc()
        print(f"{program}: this is an error of the harness itself", file=sys.stderr)
        return EXIT_BUG
    return code


def with_variables(text: str) -> str:
    """Return a message with make's variables in place of options, when make called: ANYWAY=1 for --anyway."""
    for name in os.environ.get("MAKE_VARIABLES", "").split():
        option = re.escape(f"--{name.lower().replace('_', '-')}")
        text = re.sub(rf"{option}(?![\w-])", f"{name}=1" if name in _FLAGS else name, text)
    return text
