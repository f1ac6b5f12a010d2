#!/usr/bin/env python3
"""Make tables and reports from JTL files and run directories: ./aggregate.py --help."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from harness.entry import start

start("aggregate.py")
