"""`scripts/bench`: measures the aggregator, how a run gets going, what comparisons, the gate and sweeps see."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from bench import aggregate as bench_aggregate
from bench import compare as bench_compare
from bench import gate as bench_gate
from bench import push as bench_push
from bench import remote as bench_generators
from bench import run as bench_run
from bench import sweep as bench_sweep
from bench import verdicts as bench_verdicts
from bench import window as bench_window
from harness.base.errors import EXIT_OK
from harness.base.interrupts import Interrupts
from harness.base.units import mb_text
from harness.run import machine

_EPILOG = """\
examples:
  scripts/bench                                                 all of it, as make bench does (twenty minutes)
  scripts/bench aggregate                                       the aggregator and the other readers, 1M and 10M rows
  scripts/bench aggregate --rows 1000000 --without csv,jmeter-g
  scripts/bench compare                                         false alarms and power of comparisons, and their time
  scripts/bench gate                                            false alarms and power of the nightly's gate
  scripts/bench sweep                                           peaks, cliffs and knees of simulated sweeps
  scripts/bench window                                          how often a run is called not steady, by what happens
  scripts/bench generators                                      two generators beside one: samples lost, rates
  scripts/bench push                                            a JTL to S3 beside a plain copy
  scripts/bench verdicts --plans lb-nginx --repeat 10           how often a good run is called DOUBTFUL
  scripts/bench run --cold                                      the start of a run, also from a fresh clone

exit codes: 0 fine; 1 an aim is not met; 2 wrong use; 3 a run failed.
"""
# Too long to be part of all: every plan ten times.
_BY_NAME = ("verdicts",)
# In the order in which all of them are done.
_PARTS = {
    "run": (bench_run, "the harness itself: to ready, to the first sample, its CPU"),
    "aggregate": (bench_aggregate, "the aggregator beside the other readers"),
    "compare": (bench_compare, "false alarms and power of comparisons, and their time"),
    "gate": (bench_gate, "false alarms and power of the nightly's gate, on simulated histories"),
    "sweep": (bench_sweep, "peaks, cliffs and knees that sweeps report, on simulated ones"),
    "window": (bench_window, "false alarms and power of the check for a steady state, on simulated runs"),
    "generators": (bench_generators, "two generators beside one on this machine: samples lost, rates"),
    "verdicts": (bench_verdicts, "each plan that starts a system, ten times: how many runs are VALID (hours)"),
    "push": (bench_push, "a JTL to S3, beside a plain copy to the same server"),
}


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    result = argparse.ArgumentParser(
        prog="scripts/bench",
        description="Measure, and print Markdown for docs/benchmarks.md. Without a word: all, with the defaults.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    words = result.add_subparsers(dest="word", metavar="|".join(_PARTS))
    for word, (part, about) in _PARTS.items():
        part.add_options(words.add_parser(word, help=about))
    return result


def main(arguments: Sequence[str]) -> int:
    """Do what the arguments ask for; return the exit code."""
    options = parser().parse_args(arguments)
    host = machine.host_facts()
    print(f"{host.cpu_model}, {host.cpu_count} cores, {mb_text(host.memory_bytes)} MB, {host.kernel}\n", flush=True)
    with Interrupts():
        if options.word:
            code: int = _PARTS[options.word][0].bench(options)
            return code
        codes = []
        for word, (part, _) in _PARTS.items():
            if word in _BY_NAME:
                continue
            codes.append(part.bench(parser().parse_args([word])))
            print(flush=True)
        return max(codes, default=EXIT_OK)
