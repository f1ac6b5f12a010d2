"""`lth mcp`: a server of the Model Context Protocol, which a client starts."""

from __future__ import annotations

import argparse

from harness.base.errors import EXIT_OK
from harness.base.install.python_packages import ensure_mcp
from harness.base.units import parse_duration_s
from harness.cli.options import take

_EPILOG = """\
examples:
  lth mcp                        a client starts it and asks over standard input and output; nothing can be changed
  lth mcp --allow-run 30m        the client may also start loads: allowed targets only, 30 minutes in all

Tools: list_runs, run_result, report, compare, plans, explain_doubt and, if allowed, run. Every answer has the verdict
and the warnings, and each number its interval or the reason why it has none. Nothing outside of the project is read.

exit codes: 0 success; 2 wrong use.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Set the options of `mcp`."""
    parser.description = "Answer questions about runs over the Model Context Protocol; read-only by default."
    parser.epilog = _EPILOG
    take(parser, "allow-run reports home")


def run(options: argparse.Namespace) -> int:
    """Serve until the client closes standard input, and return the exit code."""
    budget_s = parse_duration_s(options.allow_run, "--allow-run") if options.allow_run is not None else None
    ensure_mcp()
    from harness.api.mcp.answers import Answers  # deferred, as below: pandas is slow to load
    from harness.api.mcp.files import Loads
    from harness.api.mcp.server import serve

    folders = (options.home, options.reports)
    serve(Answers(*folders), Loads(*folders, budget_s) if budget_s is not None else None)
    return EXIT_OK
