"""What follows a run while it lasts, such as its live page, and the options that ask for it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from harness.base import units
from harness.base.errors import UsageError
from harness.base.interrupts import Interrupts
from harness.base.log import log
from harness.base.ports import free_port
from harness.base.python_packages import ensure_opentelemetry
from harness.base.toolchain import ensure_charts
from harness.jtl.sample import Sample
from harness.live.address import Address, parse_address
from harness.plan.spec import RunSpec
from harness.report.summary import RunSummary
from harness.run.directory import RunDirectory
from harness.run.progress import Watch

if TYPE_CHECKING:
    from harness.live.metrics_endpoint import MetricsEndpoint
    from harness.live.otlp.receiver import Receiver
    from harness.live.otlp.watcher import OtlpRun
    from harness.live.view import LiveRun

# The port that exporters of OpenTelemetry use for Prometheus, too.
METRICS_PORT = 9464


class Watcher(Protocol):
    """Follows one run. None of its methods may raise an error, and only `finish` may wait: the run is worth more."""

    def begin(self, directory: RunDirectory, spec: RunSpec) -> None:
        """Take the run that starts in a directory."""

    def add(self, samples: Sequence[Sample], passed_s: float) -> None:
        """Take the samples of about the last second; `passed_s` is since the first of all."""

    def finish(self) -> None:
        """Take that the load has ended: run.json is complete, and the report is written next.

        What the report should say of the watcher is added to run.json here. It may take a few seconds.
        """

    def end(self, summary: RunSummary, report: str) -> None:
        """Take the results of the run and the path of its report."""


@dataclass(frozen=True)
class Watchers:
    """The watchers of a run, each told the same."""

    members: tuple[Watcher, ...]

    @property
    def watch(self) -> Watch | None:
        """What takes the samples; None without watchers, so that nobody reads more of the JTL than needed."""
        return self.add if self.members else None

    def begin(self, directory: RunDirectory, spec: RunSpec) -> None:
        """Tell them which run starts."""
        for member in self.members:
            member.begin(directory, spec)

    def add(self, samples: Sequence[Sample], passed_s: float) -> None:
        """Give them the newest samples."""
        for member in self.members:
            member.add(samples, passed_s)

    def finish(self) -> None:
        """Tell them that the load has ended, before the report is written."""
        for member in self.members:
            member.finish()

    def end(self, summary: RunSummary, report: str) -> None:
        """Give them the results."""
        for member in self.members:
            member.end(summary, report)


def add_watchers(parser: argparse.ArgumentParser) -> None:
    """Add the options that ask for watchers."""
    live = "serve a page with the current values while the run lasts: 1, or a port; only this machine can open it"
    parser.add_argument("--live", metavar="PORT", help=live)
    metrics = "serve metrics for Prometheus while the run lasts: 1 (port 9464), a port, or an IP address with a port"
    parser.add_argument("--metrics", metavar="ADDRESS", help=metrics)
    otlp = "send metrics, and with --trace spans, to an OpenTelemetry receiver while the run lasts: http://host:4318"
    parser.add_argument("--otlp", metavar="URL", help=otlp)


@dataclass(frozen=True)
class WatcherOptions:
    """The watchers that were asked for; `live_port` is 0 for any free one, None without a live page.

    `metrics_address` is None without metrics for Prometheus, `receiver` without those by OTLP.
    """

    live_port: int | None
    metrics_address: Address | None = None
    receiver: Receiver | None = None

    @contextmanager
    def open(self, interrupts: Interrupts) -> Iterator[Watchers]:
        """Provide the watchers while the run and its report last."""
        with ExitStack() as stack:
            members: list[Watcher] = []
            if self.live_port is not None:
                members.append(stack.enter_context(_live_page(self.live_port, interrupts)))
            if self.metrics_address is not None:
                members.append(stack.enter_context(_metrics_endpoint(self.metrics_address, interrupts)))
            if self.receiver is not None:
                members.append(stack.enter_context(_otlp_run(self.receiver)))
            yield Watchers(tuple(members))


def watcher_options(options: argparse.Namespace) -> WatcherOptions:
    """Return the watchers that the command line asks for; UsageError for a value that cannot be."""
    metrics_address = parse_address(options.metrics, "--metrics", METRICS_PORT)
    return WatcherOptions(_live_port(options.live), metrics_address, _receiver(options.otlp))


def _live_port(text: str | None) -> int | None:
    if text in (None, "0"):
        return None
    if text == "1":
        return 0
    if ":" in str(text):
        raise UsageError(f"--live {text}: the live page is for this machine only", "give 1, or a port")
    return units.parse_whole_number(str(text), "--live", 1024, 65535)


def _live_page(port: int, interrupts: Interrupts) -> LiveRun:
    from harness.live.view import LiveRun  # deferred: only --live needs the site's scripts

    return LiveRun(port or free_port(), ensure_charts(), interrupts.ask, log)


def _metrics_endpoint(address: Address, interrupts: Interrupts) -> MetricsEndpoint:
    from harness.live.metrics_endpoint import MetricsEndpoint  # deferred: only --metrics needs prometheus_client

    return MetricsEndpoint(address, log, lambda: interrupts.count > 0)


def _receiver(address: str | None) -> Receiver | None:
    if not address:
        return None
    from harness.live.otlp.receiver import receiver_at  # deferred: only --otlp needs HTTP

    return receiver_at(address)


def _otlp_run(receiver: Receiver) -> OtlpRun:
    ensure_opentelemetry()
    from harness.live.otlp.watcher import OtlpRun  # deferred: only --otlp needs the packages of OpenTelemetry

    return OtlpRun(receiver, log)
