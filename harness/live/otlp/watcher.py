"""Follows runs and sends their metrics and spans to a receiver of OpenTelemetry data."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import TracebackType

from opentelemetry.sdk.resources import OTELResourceDetector

from harness.base import git
from harness.base.log import Log
from harness.base.toolchain import ROOT, version
from harness.base.units import number_text
from harness.jtl.sample import Sample
from harness.live.otlp.delivery import record_delivery
from harness.live.otlp.messages import NAME, Export, Messages
from harness.live.otlp.receiver import Receiver
from harness.live.otlp.sender import Sender
from harness.live.otlp.spans import SpanPicker
from harness.live.run_counts import RunCounts
from harness.live.telemetry_tail import TelemetryTail
from harness.plan.spec import RunSpec
from harness.report.summary import RunSummary
from harness.run.directory import RunDirectory

PERIOD_S = 5.0


class OtlpRuns:
    """Sends all counts of each run every PERIOD_S, and once more when its load has ended; `log` prints a line."""

    def __init__(self, receiver: Receiver, log: Log) -> None:
        self._receiver, self._log = receiver, log
        self._sender: Sender | None = None
        self._announced = ""
        self._is_broken = False

    def begin(self, directory: RunDirectory, spec: RunSpec) -> None:
        """Start to send what the run in a directory measures."""
        if self._sender:
            self._sender.stop()  # of a run that measured nothing
        self._is_broken = False
        self._directory = directory
        self._counts = RunCounts(spec.plan.once_labels, spec.hidden)
        self._telemetry = TelemetryTail(directory.telemetry)
        self._spans = SpanPicker()
        self._sent_s: float | None = None
        messages = Messages(_resource(directory, spec), time.time_ns(), version(), spec.hidden)
        self._sender = Sender(self._receiver, messages, self._log)
        what = "metrics, and spans of slow and failed requests" if spec.is_traced else "metrics"
        line = f"OTLP: {what} go to {self._receiver.address.origin} every {number_text(PERIOD_S)} s"
        if line != self._announced:
            self._log(line)
        self._announced = line

    def add(self, samples: Sequence[Sample], passed_s: float, active_users: int | None = None) -> None:
        """Count the samples of the last second, and offer the counts to the sender when they are due."""
        if self._sender is None or self._is_broken:
            return
        with self._guarded(self._sender):
            self._counts.add(samples, active_users)
            self._spans.add(samples)
            if self._sent_s is None or passed_s - self._sent_s >= PERIOD_S:
                self._sent_s = passed_s
                self._sender.offer(self._export())

    def finish(self) -> None:
        """Send the last counts, and write into run.json what the receiver got."""
        sender, self._sender, last = self._sender, None, None
        if sender is None:
            return
        with self._guarded(sender):
            self._counts.end()
            last = None if self._is_broken else self._export()
        delivery = replace(sender.finish(last), left_out_count=self._spans.left_out_count)
        record_delivery(self._directory, delivery, self._log)

    def end(self, summary: RunSummary, report: str) -> None:
        """Send nothing more: the verdict is no metric."""

    def __enter__(self) -> OtlpRuns:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._sender:
            self._sender.stop()

    @contextmanager
    def _guarded(self, sender: Sender) -> Iterator[None]:
        """Report an error of the harness; nothing is counted after it, and the run continues."""
        try:
            yield
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            self._is_broken = True
            sender.note(f"an error of the harness ({error!r})")

    def _export(self) -> Export:
        snapshot = self._counts.snapshot()
        uses = tuple(self._telemetry.uses().values())
        return Export(time.time_ns(), snapshot, uses, self._spans.take(snapshot))


def _resource(directory: RunDirectory, spec: RunSpec) -> dict[str, str]:
    """Return what identifies the run; OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES have priority."""
    run = f"{directory.plan}/{directory.name}"
    commit = git.commit_of(ROOT, "HEAD")
    from_environment = {name: str(value) for name, value in OTELResourceDetector().detect().attributes.items()}
    return {
        "service.name": "load-test",
        "service.instance.id": run,
        "loadtest.run": run,
        "loadtest.plan": directory.plan,
        "deployment.environment.name": spec.profile.name,
        # The program that makes the messages: "opentelemetry" is the name of the project's own SDK alone.
        "telemetry.sdk.name": NAME,
        "telemetry.sdk.language": "python",
        "telemetry.sdk.version": version(),
        **({"vcs.ref.head.revision": commit} if commit else {}),
        **from_environment,
    }
