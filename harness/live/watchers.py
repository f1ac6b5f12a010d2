"""The options of what follows runs while they last, such as their live page."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.base.errors import UsageError
from harness.base.guardian import Guardian
from harness.base.interrupts import Interrupts
from harness.base.log import log
from harness.base.python_packages import ensure_opentelemetry
from harness.base.toolchain import ensure_charts
from harness.live.page_address import Address, LiveAddress, parse_address, parse_page_address
from harness.report.watchers import Watcher, Watchers
from harness.run.child import Children

if TYPE_CHECKING:
    from harness.live.metrics_endpoint import MetricsEndpoint
    from harness.live.otlp.receiver import Receiver
    from harness.live.view import LiveView

# The port that exporters of OpenTelemetry use for Prometheus, too.
METRICS_PORT = 9464


@dataclass(frozen=True)
class WatcherOptions:
    """The requested watchers; `live_address` is None without a live page, whose button ends `stops`.

    `metrics_address` is None without metrics for Prometheus, `receiver` without those by OTLP. `receiver_problem` is
    why a requested receiver is not used.
    """

    live_address: LiveAddress | None
    metrics_address: Address | None
    receiver: Receiver | None
    stops: str
    receiver_problem: str = ""

    @contextmanager
    def open(self, interrupts: Interrupts) -> Iterator[Watchers]:
        """Provide the watchers while the runs and their reports last."""
        with ExitStack() as stack:
            displays = self._displays(interrupts, stack)
            members: list[Watcher] = [*displays]
            if self.receiver is not None:
                ensure_opentelemetry()
                from harness.live.otlp.watcher import OtlpRuns  # deferred: it needs the packages of OpenTelemetry

                members.append(stack.enter_context(OtlpRuns(self.receiver, log)))
            if self.receiver_problem:
                from harness.live.otlp.watcher import NothingSent  # deferred, like the receiver that it replaces

                members.append(NothingSent(self.receiver_problem, log))
            yield Watchers(tuple(members), tuple(displays))

    @contextmanager
    def children(self, interrupts: Interrupts, guardian: Guardian, hidden: Sequence[str]) -> Iterator[Children]:
        """Provide what starts the runs of a command as child processes, followed; `hidden` are the secrets of all.

        Page and metrics have one address for all of them. Each child sends its own data by OTLP, as a run alone.
        """
        arguments: tuple[str, ...] = ()
        if self.receiver is not None:
            ensure_opentelemetry()
            arguments = (f"--otlp={self.receiver.address.url}",)
        with ExitStack() as stack:
            displays = self._displays(interrupts, stack)
            if not displays:
                yield Children(interrupts, guardian, None, arguments)
                return
            from harness.live.children import ChildFollower  # deferred, like what it shows

            yield Children(interrupts, guardian, ChildFollower(displays, hidden), arguments)

    def _displays(self, interrupts: Interrupts, stack: ExitStack) -> list[LiveView | MetricsEndpoint]:
        """Return the watchers that have an address, which the stack closes."""
        displays: list[LiveView | MetricsEndpoint] = []
        if self.live_address is not None:
            from harness.live.view import LiveView  # deferred: only --live needs the site's scripts

            view = LiveView(self.live_address, ensure_charts(), self.stops, interrupts.ask, log)
            displays.append(stack.enter_context(view))
        if self.metrics_address is not None:
            from harness.live.metrics_endpoint import MetricsEndpoint  # deferred: it needs prometheus_client

            endpoint = MetricsEndpoint(self.metrics_address, log, lambda: interrupts.count > 0)
            displays.append(stack.enter_context(endpoint))
        return displays


def watcher_options(options: argparse.Namespace, stops: str = "the load") -> WatcherOptions:
    """Return the watchers of the command line; the button of the page ends what `stops` names.

    UsageError for an address of page or metrics that cannot be. A receiver that cannot be is named in one line, and the
    runs continue: they do not depend on it.
    """
    live = parse_page_address(options.live)
    metrics = parse_address(options.metrics, "--metrics", METRICS_PORT)
    if not options.otlp:
        return WatcherOptions(live, metrics, None, stops)
    from harness.live.otlp.receiver import receiver_at  # deferred: only --otlp needs HTTP

    try:
        return WatcherOptions(live, metrics, receiver_at(options.otlp), stops)
    except UsageError as error:
        log(f"warning: {error}; nothing is sent, the run goes on")
        return WatcherOptions(live, metrics, None, stops, error.what)
