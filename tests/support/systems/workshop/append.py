"""`append.py FILE LINE` adds a line; `append.py FILE` alone tells by its exit code whether FILE is there."""

from __future__ import annotations

import sys
from pathlib import Path

path = Path(sys.argv[1])
if len(sys.argv) == 2:
    sys.exit(not path.exists())
with path.open("a") as file:
    file.write(sys.argv[2] + "\n")
