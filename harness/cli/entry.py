"""What every front door does first and last: the right Python, clear errors, exit codes."""

from __future__ import annotations

import importlib
import os
import re
import sys
import traceback

from harness.errors import EXIT_BUG, EXIT_INTERRUPTED, HarnessError
from harness.io.interrupts import Interrupts
from harness.io.toolchain import enter_venv

# What make passes on as an option without a value.
_FLAGS = ("ANYWAY", "SURE", "FRESH", "REPLACE", "FIGURES_ONLY", "DRY_RUN")


def run(module: str, program: str) -> None:
    """Run `main(arguments)` of a module of harness.cli inside .venv and exit with what it returns.

    The module is imported only then: it needs packages that a new checkout does not have yet.
    """
    try:
        with Interrupts():
            enter_venv()
        code = importlib.import_module(f"harness.cli.{module}").main(sys.argv[1:])
    except HarnessError as error:
        print(f"{program}: {with_variables(str(error))}", file=sys.stderr)
        code = error.exit_code
    except KeyboardInterrupt:
        print(f"{program}: interrupted; nothing was measured", file=sys.stderr)
        code = EXIT_INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output (head, less) has gone: no message can reach it
        code = 0
    except Exception:  # noqa: BLE001 - the last resort
        # An error of ours must not look like a missed goal: Python's own code would be 1.
        traceback.print_exc()
        print(f"{program}: this is an error of the harness itself", file=sys.stderr)
        code = EXIT_BUG
    sys.exit(code)


def with_variables(text: str) -> str:
    """Return a message with make's variables in place of options, when make called: ANYWAY=1 for --anyway."""
    for name in os.environ.get("MAKE_VARIABLES", "").split():
        option = re.escape(f"--{name.lower().replace('_', '-')}")
        text = re.sub(rf"{option}(?![\w-])", f"{name}=1" if name in _FLAGS else name, text)
    return text
