#!/usr/bin/env -S python3 -S
"""Make tables and reports from JTL files and run directories: ./aggregate.py --help."""

# -S skips site-packages: this first Python only starts the one in .venv, which has the packages.
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))  # noqa: PTH120 - pathlib loads slowly

from harness.cli.entry import start

start("aggregate.py")
