"""`scripts/bench`: benchmark the aggregator, the start of a run, comparisons, A/B tests, the gate and sweeps."""

from __future__ import annotations

import argparse

from bench import ab as bench_ab
from bench import aggregate as bench_aggregate
from bench import auto as bench_auto
from bench import compare as bench_compare
from bench import failures as bench_failures
from bench import gate as bench_gate
from bench import generator as bench_generator
from bench import profile as bench_profile
from bench import push as bench_push
from bench import remote as bench_generators
from bench import run as bench_run
from bench import sweep as bench_sweep
from bench import throttle as bench_throttle
from bench import verdicts as bench_verdicts
from bench import window as bench_window
from harness.base.errors import EXIT_OK
from harness.base.interrupts import Interrupts
from harness.base.units import mb_text
from harness.run import machine

_EPILOG = """\
examples:
  scripts/bench                                                 all parts, as make bench does (twenty minutes)
  scripts/bench aggregate                                       the aggregator and other readers, 1M and 10M rows
  scripts/bench aggregate --rows 1000000 --without csv,jmeter-g
  scripts/bench compare                                         false alarms, power and time of comparisons
  scripts/bench gate                                            false alarms and power of the nightly gate
  scripts/bench ab                                              false alarms and power of A/B tests
  scripts/bench sweep                                           peaks, cliffs and knees of simulated sweeps
  scripts/bench window                                          false alarms and power of the steady-state check
  scripts/bench auto                                            how long DURATION=auto takes, and its means
  scripts/bench throttle                                        false alarms and power of the throttle detector
  scripts/bench throttle recorded/*.jtl                         what it finds in these runs
  scripts/bench generator                                       CPU time per request of JMeter with other settings
  scripts/bench generators                                      two load generators next to one: lost samples, rates
  scripts/bench failures                                        what it costs to store failed requests, when none fails
  scripts/bench profile                                         what PROFILE=1 costs: runs with and without, in turn
  scripts/bench push                                            upload of a JTL file, next to a plain copy
  scripts/bench verdicts --plans lb-nginx --repeat 10           how often a good run is DOUBTFUL
  scripts/bench run --cold                                      the start of a run, also from a fresh clone

exit codes: 0 success; 1 a target is missed; 2 wrong use; 3 a run failed.
"""
# Parts that are too slow to run with all others.
_BY_NAME = ("verdicts", "generator")
# The parts in the order in which they run.
_PARTS = {
    "run": (bench_run, "a run: time until ready, time until the first sample, CPU"),
    "aggregate": (bench_aggregate, "the aggregator next to other readers"),
    "compare": (bench_compare, "false alarms, power and time of comparisons"),
    "gate": (bench_gate, "false alarms and power of the nightly gate, on simulated histories"),
    "ab": (bench_ab, "false alarms and power of A/B tests, on simulated runs of a machine that drifts"),
    "sweep": (bench_sweep, "peaks, cliffs and knees that simulated sweeps report"),
    "window": (bench_window, "false alarms and power of the steady-state check, on simulated runs"),
    "auto": (bench_auto, "how long DURATION=auto takes and how far its means are off, on simulated loads"),
    "throttle": (bench_throttle, "falls of the throughput to a constant fraction, in simulated or recorded runs"),
    "generator": (bench_generator, "JMeter with other garbage collectors, heaps, columns and settings, in turn"),
    "generators": (bench_generators, "two load generators next to one on this machine: lost samples, rates"),
    "failures": (bench_failures, "runs that watch for failed requests next to runs that do not; none fails"),
    "profile": (bench_profile, "profiled runs next to runs that are not profiled"),
    "verdicts": (bench_verdicts, "every plan that starts a system, ten times: how many runs are VALID (hours)"),
    "push": (bench_push, "upload of a JTL file to S3, next to a plain copy to the same server"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Set the options of `scripts/bench`."""
    parser.description = (
        "Benchmark the harness and print Markdown for docs/benchmarks.md. Without PART: all parts with their defaults."
    )
    parser.epilog = _EPILOG
    parts = parser.add_subparsers(dest="part", metavar="PART")
    for name, (part, about) in _PARTS.items():
        part.add_options(parts.add_parser(name, help=about))


def run(options: argparse.Namespace) -> int:
    """Run the benchmarks and return the exit code."""
    host = machine.host_facts()
    print(f"{host.cpu_model}, {host.cpu_count} cores, {mb_text(host.memory_bytes)} MB, {host.kernel}\n", flush=True)
    with Interrupts():
        if options.part:
            code: int = _PARTS[options.part][0].bench(options)
            return code
        codes = []
        for name, (part, _) in _PARTS.items():
            if name in _BY_NAME:
                continue
            defaults = argparse.ArgumentParser()
            part.add_options(defaults)
            codes.append(part.bench(defaults.parse_args([])))
            print(flush=True)
        return max(codes, default=EXIT_OK)
