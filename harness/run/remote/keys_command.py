"""`scripts/generator-keys`: makes the key store by which generators and the harness know each other."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from harness.base import toolchain
from harness.base.errors import EXIT_OK
from harness.base.interrupts import Interrupts
from harness.base.paths import shown
from harness.run.arguments import add_keys
from harness.run.remote.keys import make_keys


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    result = argparse.ArgumentParser(
        prog="scripts/generator-keys",
        description="Make the keys of generators, once, on one machine. docs/generators.md has the details.",
    )
    add_keys(result)
    return result


def main(arguments: Sequence[str]) -> int:
    """Make the keys and say how they get to the other machines; return 0."""
    options = parser().parse_args(arguments)
    with Interrupts():
        toolchain.java_version()
        make_keys(options.keys)
    folder = shown(options.keys)
    print(f"{folder}: made; whoever has it can drive your generators, and git ignores it")
    print(f"for each other machine: scp -rp {folder} HOST:PATH/OF/THE/CHECKOUT/")
    return EXIT_OK
