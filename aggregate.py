#!/usr/bin/env -S python3 -S
"""Make tables and reports from JTL files and run directories: ./aggregate.py --help."""

# -S: the first Python only starts that of .venv, and needs none of its own packages, whose search takes time.
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))  # noqa: PTH120 - pathlib loads slowly

from harness.entry import start

start("aggregate.py")
