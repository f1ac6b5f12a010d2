"""`scripts/generator-keys`: create the keys that load generators and the harness share."""

from __future__ import annotations

import argparse

from harness.base.errors import EXIT_OK
from harness.base.interrupts import Interrupts
from harness.base.java import java_version
from harness.base.log import print_text
from harness.base.paths import shown
from harness.cli.options import take
from harness.run.remote.keys import make_keys


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Set the options of `scripts/generator-keys`."""
    parser.description = (
        "Create the keys that load generators and the harness share: once, on one machine. See docs/generators.md."
    )
    take(parser, "keys")


def run(options: argparse.Namespace) -> int:
    """Create the keys, print how to copy them to other machines and return 0."""
    with Interrupts():
        java_version()
        make_keys(options.keys)
    folder = shown(options.keys)
    print_text(f"{folder}: created; everyone who has it can control your generators, and git ignores it")
    print_text(f"for each other machine: scp -rp {folder} HOST:PATH/OF/THE/CHECKOUT/")
    return EXIT_OK
