#!/usr/bin/env python3
"""Make tables and reports from JTL files and run directories: ./aggregate.py --help."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))  # noqa: PTH120 - pathlib loads slowly

from harness.entry import start

start("aggregate.py")
