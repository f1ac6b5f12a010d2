"""Counts with polars and its streaming engine what a table of ours is made of: with_polars_figures.py FILE.

Per label and elapsed the samples; per label errors, bytes received and sent, first start and last end.
"""

import json
import sys

import polars
from polars import col

by_time = (
    polars.scan_csv(sys.argv[1])
    .group_by("label", "elapsed")
    .agg(
        polars.len(),
        errors=(~col("success")).sum(),
        received=col("bytes").sum(),
        sent=col("sentBytes").sum(),
        first=col("timeStamp").min(),
        last=(col("timeStamp") + col("elapsed")).max(),
    )
    .collect(engine="streaming")
)
by_label = by_time.group_by("label").agg(
    col("errors").sum(), col("received").sum(), col("sent").sum(), col("first").min(), col("last").max()
)
counts = by_time.select("label", "elapsed", "len").rows()
print(json.dumps({"version": polars.__version__, "counts": counts, "labels": by_label.rows()}))
