"""Counts elapsed per label with DuckDB, the types of all columns given: with_duckdb.py FILE."""

import json
import sys

import duckdb

COLUMNS = {
    "timeStamp": "BIGINT",
    "elapsed": "BIGINT",
    "label": "VARCHAR",
    "responseCode": "VARCHAR",
    "responseMessage": "VARCHAR",
    "threadName": "VARCHAR",
    "dataType": "VARCHAR",
    "success": "BOOLEAN",
    "failureMessage": "VARCHAR",
    "bytes": "BIGINT",
    "sentBytes": "BIGINT",
    "grpThreads": "BIGINT",
    "allThreads": "BIGINT",
    "URL": "VARCHAR",
    "Latency": "BIGINT",
    "IdleTime": "BIGINT",
    "Connect": "BIGINT",
}
samples = duckdb.read_csv(sys.argv[1], header=True, columns=COLUMNS)
counts = duckdb.sql("SELECT label, elapsed, count(*) FROM samples GROUP BY label, elapsed").fetchall()
print(json.dumps({"version": duckdb.__version__, "counts": counts}))
