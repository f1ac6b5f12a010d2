"""`scripts/bench`: measures the aggregator against other readers, how a run gets going, and what comparisons see."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from harness.cli import bench_aggregate, bench_compare, bench_run
from harness.errors import EXIT_OK
from harness.io import machine
from harness.io.interrupts import Interrupts
from harness.units import mb_text

_EPILOG = """\
examples:
  scripts/bench                                                 all of it, as make bench does (twenty minutes)
  scripts/bench aggregate                                       the aggregator and the other readers, 1M and 10M rows
  scripts/bench aggregate --rows 1000000 --without csv,jmeter-g
  scripts/bench compare                                         false alarms and power of comparisons, and their time
  scripts/bench run --cold                                      the start of a run, also from a fresh clone

exit codes: 0 fine; 1 an aim is not met; 2 wrong use; 3 a run failed.
"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    result = argparse.ArgumentParser(
        prog="scripts/bench",
        description="Measure, and print Markdown for docs/benchmarks.md. Without a word: all, with the defaults.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    words = result.add_subparsers(dest="word", metavar="aggregate|compare|run")
    bench_aggregate.add_options(words.add_parser("aggregate", help="the aggregator beside the other readers"))
    bench_compare.add_options(words.add_parser("compare", help="false alarms and power of comparisons, and their time"))
    bench_run.add_options(words.add_parser("run", help="the harness itself: to ready, to the first sample, its CPU"))
    return result


def main(arguments: Sequence[str]) -> int:
    """Do what the arguments ask for; return the exit code."""
    options = parser().parse_args(arguments)
    host = machine.host_facts()
    print(f"{host.cpu_model}, {host.cpu_count} cores, {mb_text(host.memory_bytes)} MB, {host.kernel}\n", flush=True)
    with Interrupts():
        if options.word == "aggregate":
            return bench_aggregate.bench(options)
        if options.word == "compare":
            return bench_compare.bench(options)
        if options.word == "run":
            return bench_run.bench(options)
        codes = []
        for word, part in (("run", bench_run), ("aggregate", bench_aggregate), ("compare", bench_compare)):
            codes.append(part.bench(parser().parse_args([word])))
            print(flush=True)
        return max(codes, default=EXIT_OK)
