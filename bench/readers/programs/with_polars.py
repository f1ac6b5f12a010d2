"""Counts elapsed per label with polars and its streaming engine: with_polars.py FILE."""

import json
import sys

import polars

counts = polars.scan_csv(sys.argv[1]).group_by("label", "elapsed").len().collect(engine="streaming")
print(json.dumps({"version": polars.__version__, "counts": counts.rows()}))
