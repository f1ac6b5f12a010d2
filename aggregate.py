#!/usr/bin/env python3
"""Tables and reports from JTLs and run directories: ./aggregate.py --help."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from harness.entry import run

run("aggregate", "aggregate.py", output_counts=True)
