"""Counts elapsed per label with the csv module of the standard library: with_csv.py FILE."""

import collections
import csv
import json
import platform
import sys

with open(sys.argv[1], encoding="utf-8", newline="") as file:  # noqa: PTH123 - only necessary imports
    rows = csv.reader(file)
    header = next(rows)
    label, elapsed = header.index("label"), header.index("elapsed")
    counts = collections.Counter((row[label], row[elapsed]) for row in rows)
print(json.dumps({"version": platform.python_version(), "counts": [[*key, count] for key, count in counts.items()]}))
