"""`lth setup`: build and download what runs need, before the first one."""

from __future__ import annotations

import argparse

from harness.base.errors import EXIT_OK
from harness.base.install.first_setup import set_up_tools
from harness.base.interrupts import Interrupts
from harness.base.java import java_version
from harness.cli.options import take

_EPILOG = """\
examples:
  lth setup
  lth setup --all          no later command with the profile local needs a network

Each command does what it needs of this by itself. exit codes: 0 success; 2 a tool is missing; 3 a download failed.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Set the options of `setup`."""
    parser.description = "Download JMeter and its plugins, and compile the tool's Java classes."
    parser.epilog = _EPILOG
    take(parser, "all")


def run(options: argparse.Namespace) -> int:
    """Build what is missing and return 0."""
    with Interrupts():
        java_version()
        set_up_tools(everything=options.all)
    return EXIT_OK
