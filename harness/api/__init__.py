"""The Python interface of results: runs, JTLs and comparisons as pandas DataFrames.

    from harness.api import compare, open_run, read_jtl

    run = open_run("killbill-stripe/run-07_1")
    run.table()                                           # the table of its report
    read_jtl("gen1.jtl.gz", "gen2.jtl.gz").per_second()   # JTLs of any origin
    compare("killbill-stripe/run-07_1", run).table()      # as lth compare

The figures are those of the reports: the interface calculates none of its own. Wrong input raises a `HarnessError`
whose text says what is wrong and what to do. docs/python.md describes every column.
"""

from harness.api.comparisons import ComparedRuns, ComparedSweeps, compare
from harness.api.run import Run, open_run, read_jtl
from harness.base.errors import HarnessError, UsageError

__all__ = ["ComparedRuns", "ComparedSweeps", "HarnessError", "Run", "UsageError", "compare", "open_run", "read_jtl"]
