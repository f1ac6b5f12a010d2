"""`scripts/bench`: benchmark the aggregator, runs, comparisons, A/B tests, experiments, the gate and sweeps."""

from __future__ import annotations

import argparse
import importlib
import os
from collections.abc import Sequence
from typing import Any, Protocol, cast

from harness.base.errors import EXIT_OK
from harness.base.interrupts import Interrupts
from harness.base.units import mb_text
from harness.run.prepare import host_facts

_EPILOG = """\
examples:
  scripts/bench                                                 all parts, as make bench does (half an hour)
  scripts/bench aggregate                                       the aggregator and other readers, 1M and 10M rows
  scripts/bench aggregate --rows 1000000 --without csv,jmeter-g
  scripts/bench scale                                           100 million rows, 100,000 labels, six days
  scripts/bench compare                                         false alarms, power and time of comparisons
  scripts/bench answers --only release                          false REGRESSED per page, coverage, power
  scripts/bench gate                                            false alarms and power of the nightly gate
  scripts/bench ab                                              false alarms and power of A/B tests
  scripts/bench tune                                            false effects and power of designed experiments
  scripts/bench bisect                                          commits that bisections name, and how sure they are
  scripts/bench trust                                           coverage and power of trust tests
  scripts/bench trust-real                                      are changes of the stated size found, for real (an hour)
  scripts/bench sweep                                           peaks, cliffs and knees of simulated sweeps
  scripts/bench window                                          false alarms and power of the steady-state check
  scripts/bench auto                                            how long DURATION=auto takes, and its means
  scripts/bench throttle                                        false alarms and power of the throttle detector
  scripts/bench throttle recorded/*.jtl                         what it finds in these runs
  scripts/bench held-back                                       a real system held back half-way: is it found, and when
  scripts/bench generator                                       CPU time per request of JMeter with other settings
  scripts/bench memory --users 1000,20000                       memory per user of JMeter, by plan
  scripts/bench one-user                                        what JMeter adds to response times, next to wrk
  scripts/bench tools --gatling DIR                             k6, wrk and other tools on the same back-end (12 min)
  scripts/bench first-seconds --beside DIR                      the first ten seconds, an earlier build beside this one
  scripts/bench failures                                        what it costs to store failed requests, when none fails
  scripts/bench api --rows 10000000                             the Python interface: tables, seconds, samples in chunks
  scripts/bench profile                                         what PROFILE=1 costs: runs with and without, in turn
  scripts/bench soak                                            a soak with a planted leak: what is reported of it
  scripts/bench push                                            upload of a JTL file, next to a plain copy
  scripts/bench verdicts --plans lb-nginx --repeat 10           how often a good run is DOUBTFUL
  scripts/bench correlation --apps 10                           extractors of plans of recordings, replayed
  scripts/bench har                                             from a HAR to a VALID report; a HAR of 500 MB
  scripts/bench run --cold                                      the start of a run, also from a fresh clone

exit codes: 0 success; 1 a target is missed; 2 wrong use; 3 a run failed.
"""
# Parts that are too slow to run with all others.
_BY_NAME = (
    "verdicts", "correlation", "har", "generator", "memory", "one-user", "tools", "first-seconds", "held-back", "soak",
    "scale", "trust-real", "answers",
)  # fmt: skip
# The parts in the order in which they run: the module and what it measures.
_PARTS = {
    "run": ("runs.run", "a run: time until ready, time until the first sample, CPU"),
    "aggregate": ("readers.aggregate", "the aggregator next to other readers"),
    "scale": (
        "readers.scale",
        "100 million rows, four files, 100,000 labels, six days (20 min, 18 GB)",
    ),
    "compare": ("statistics.compare", "false alarms, power and time of comparisons"),
    "answers": ("statistics.answers", "false REGRESSED per page, coverage and power of every page (half an hour)"),
    "gate": ("statistics.gate", "false alarms and power of the nightly gate, on simulated histories"),
    "ab": ("statistics.ab", "false alarms and power of A/B tests, on simulated runs of a machine that drifts"),
    "tune": ("statistics.tune", "false effects and power of designed experiments, on simulated systems"),
    "bisect": ("statistics.bisect", "commits that bisections name, and how sure they are, on simulated histories"),
    "trust": ("statistics.trust", "coverage and power of trust tests, on simulated benchmarks with known scatter"),
    "trust-real": ("runs.trust_real", "real changes of the size that a real trust test states: found or not (an hour)"),
    "sweep": ("statistics.sweep", "peaks, cliffs and knees that simulated sweeps report"),
    "window": ("statistics.window", "false alarms and power of the steady-state check, on simulated runs"),
    "auto": ("statistics.auto", "how long DURATION=auto takes and how far its means are off, on simulated loads"),
    "throttle": (
        "statistics.throttle",
        "falls of the throughput to a fraction, in simulated or recorded runs",
    ),
    "held-back": (
        "runs.held_back",
        "a real system that is held back half-way, and what the report finds",
    ),
    "generator": ("runs.generator", "JMeter with other garbage collectors, heaps, columns and settings, in turn"),
    "memory": ("runs.memory", "heap and resident memory of JMeter per user, by plan"),
    "one-user": ("runs.one_user", "what JMeter adds to the mean response time of one user, next to wrk (2 min)"),
    "tools": ("runs.tools", "load test tools on one back-end: throughput, CPU, memory, error of the p99 (12 min)"),
    "first-seconds": (
        "runs.first_seconds",
        "the first seconds of a load, by build and warm-up (8 min a round of three)",
    ),
    "failures": ("runs.failures", "runs that watch for failed requests next to runs that do not; none fails"),
    "live": ("runs.live", "CPU time that a live page costs, by samples per second"),
    "api": ("readers.api", "time and memory of the Python interface: tables, seconds, samples in chunks"),
    "profile": ("runs.profile", "profiled runs next to runs that are not profiled"),
    "verdicts": ("runs.verdicts", "every plan that starts a system, ten times: how many runs are VALID (hours)"),
    "correlation": ("runs.correlation", "plans of recordings of generated applications: which extractors (10 min)"),
    "har": ("runs.har", "from an empty folder with a HAR to a VALID report, and a HAR of 500 MB (4 min)"),
    "soak": ("runs.soak", "a soak of a JVM that leaks 20 MB/min and one that does not: what is reported (4 min)"),
    "push": ("readers.push", "upload of a JTL file to S3, next to a plain copy to the same server"),
}


class Part(Protocol):
    """What the module of every part has."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the options of the part."""

    def bench(self, options: argparse.Namespace) -> int:
        """Measure, print Markdown and return the exit code."""


def _part(name: str) -> Part:
    """Return the module of a part; NumPy and SciPy are imported only when it needs them."""
    return cast(Part, importlib.import_module(f"bench.{_PARTS[name][0]}"))


class _PartParser(argparse.ArgumentParser):
    """The parser of a part, which adds its options when the part is called."""

    def parse_known_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:  # type: ignore[override]
        _part(self.prog.split()[-1]).add_options(self)
        return super().parse_known_args(args, namespace)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Set the options of `scripts/bench`."""
    parser.description = (
        "Benchmark the harness and print Markdown for docs/benchmarks.md. Without PART: all parts with their defaults."
    )
    parser.epilog = _EPILOG
    parts = parser.add_subparsers(dest="part", metavar="PART", parser_class=_PartParser)
    for name, (_, about) in _PARTS.items():
        parts.add_parser(name, help=about)


def run(options: argparse.Namespace) -> int:
    """Run the benchmarks and return the exit code."""
    os.environ.setdefault("LTH_TRUST", "1")  # the projects are our own
    host = host_facts()
    print(f"{host.cpu_model}, {host.cpu_count} cores, {mb_text(host.memory_bytes)} MB, {host.kernel}\n", flush=True)
    with Interrupts():
        if options.part:
            return _part(options.part).bench(options)
        codes = []
        for name in _PARTS:
            if name in _BY_NAME:
                continue
            part, defaults = _part(name), argparse.ArgumentParser()
            part.add_options(defaults)
            codes.append(part.bench(defaults.parse_args([])))
            print(flush=True)
        return max(codes, default=EXIT_OK)
