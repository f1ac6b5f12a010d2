"""The options that ask for what follows runs while they last, such as their live page."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.base.interrupts import Interrupts
from harness.base.log import log
from harness.base.python_packages import ensure_opentelemetry
from harness.base.toolchain import ensure_charts
from harness.live.address import Address, parse_address
from harness.live.page_address import LiveAddress, parse_page_address
from harness.report.watchers import Watcher, Watchers
from harness.run.child import ChildWatch

if TYPE_CHECKING:
    from harness.live.metrics_endpoint import MetricsEndpoint
    from harness.live.otlp.receiver import Receiver
    from harness.live.otlp.watcher import OtlpRun
    from harness.live.view import LiveView

# The port that exporters of OpenTelemetry use for Prometheus, too.
METRICS_PORT = 9464


def add_live(parser: argparse.ArgumentParser) -> None:
    """Add the option of the live page, to a command that does several runs."""
    live = (
        "serve a page with the current values while the runs last: 1 or a port, for this machine only; or host:port, "
        "for all who have its token ($LIVE_TOKEN, else a new one)"
    )
    parser.add_argument("--live", metavar="ADDRESS", help=live)


def add_watchers(parser: argparse.ArgumentParser) -> None:
    """Add the options that ask for watchers of one run."""
    add_live(parser)
    metrics = "serve metrics for Prometheus while the run lasts: 1 (port 9464), a port, or an IP address with a port"
    parser.add_argument("--metrics", metavar="ADDRESS", help=metrics)
    otlp = "send metrics, and with --trace spans, to an OpenTelemetry receiver while the run lasts: http://host:4318"
    parser.add_argument("--otlp", metavar="URL", help=otlp)


@dataclass(frozen=True)
class WatcherOptions:
    """The watchers that were asked for; `live_address` is None without a live page, whose button ends `stops`.

    `metrics_address` is None without metrics for Prometheus, `receiver` without those by OTLP.
    """

    live_address: LiveAddress | None
    metrics_address: Address | None = None
    receiver: Receiver | None = None
    stops: str = "the load"

    @contextmanager
    def open(self, interrupts: Interrupts) -> Iterator[Watchers]:
        """Provide the watchers while the runs and their reports last."""
        with ExitStack() as stack:
            members: list[Watcher] = []
            views: list[LiveView] = []
            if self.live_address is not None:
                views.append(stack.enter_context(_live_view(self.live_address, self.stops, interrupts)))
                members += views
            if self.metrics_address is not None:
                members.append(stack.enter_context(_metrics_endpoint(self.metrics_address, interrupts)))
            if self.receiver is not None:
                members.append(stack.enter_context(_otlp_run(self.receiver)))
            yield Watchers(tuple(members), tuple(views))

    @contextmanager
    def open_for_children(self, interrupts: Interrupts) -> Iterator[ChildWatch | None]:
        """Provide what follows the runs of a command that starts each as a child process."""
        if self.live_address is None:
            yield None
            return
        from harness.live.children import ChildFollower  # deferred, like the page

        with _live_view(self.live_address, self.stops, interrupts) as view:
            yield ChildFollower(view)


def watcher_options(options: argparse.Namespace) -> WatcherOptions:
    """Return the watchers that the command line asks for; UsageError for a value that cannot be."""
    metrics = parse_address(options.metrics, "--metrics", METRICS_PORT)
    return WatcherOptions(parse_page_address(options.live), metrics, _receiver(options.otlp))


def live_options(options: argparse.Namespace, stops: str) -> WatcherOptions:
    """Return the live page that a command of several runs asks for; a stop ends all of them, which `stops` names."""
    return WatcherOptions(parse_page_address(options.live), stops=stops)


def _live_view(address: LiveAddress, stops: str, interrupts: Interrupts) -> LiveView:
    from harness.live.view import LiveView  # deferred: only --live needs the site's scripts

    return LiveView(address, ensure_charts(), stops, interrupts.ask, log)


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
