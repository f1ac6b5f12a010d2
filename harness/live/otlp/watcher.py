"""Follows runs and sends their metrics and spans to a receiver of OpenTelemetry data."""

from __future__ import annotations

import math
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from queue import SimpleQueue

from google.protobuf.message import DecodeError
from opentelemetry.sdk.resources import OTELResourceDetector

from harness import __version__
from harness.base import git, units
from harness.base.errors import HarnessError
from harness.base.log import Log
from harness.base.project import current_project
from harness.jtl.sample import Sample
from harness.live.otlp.messages import NAME, RUN_ATTRIBUTE, Export, Messages, rejected_points, rejected_spans
from harness.live.otlp.receiver import NotDeliveredError, Receiver
from harness.live.run_counts import RunCounts, RunSnapshot
from harness.live.telemetry_tail import TelemetryTail
from harness.plan.spec import RunSpec
from harness.report.watchers import Watcher
from harness.run.directory import RunDirectory, load_record
from harness.run.record import DeliveryRecord, RunRecord

PERIOD_S = 5.0
# Failed requests come first, then the slowest ones.
SPANS_PER_S = 10
# A request is slow above this quantile of its label so far, which is known from so many samples on.
SLOW_RATIO = 0.99
SAMPLES_LEAST = 100
_TRACE_ID = re.compile("[0-9a-f]{32}")
METRICS_PATH, SPANS_PATH = "v1/metrics", "v1/traces"
# More exports than these do not wait for a slow receiver: each contains the counts of all before it.
WAITING_MOST = 4
# The last values may take so long.
FLUSH_S = 5.0
_QUIET_S = 1.0


class OtlpRuns(Watcher):
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
        self._telemetry = TelemetryTail(directory.path)
        self._spans = SpanPicker()
        self._sent_s: float | None = None
        messages = Messages(
            _resource(directory, spec), time.time_ns(), __version__, spec.hidden, self._receiver.takes_explicit
        )
        self._sender = Sender(self._receiver, messages, self._log)
        what = "metrics, and spans of slow and failed requests" if spec.is_traced else "metrics"
        line = f"OTLP: {what} go to {self._receiver.address.origin} every {units.number_text(PERIOD_S)} s"
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

    def __enter__(self) -> OtlpRuns:
        return self

    def __exit__(self, *_: object) -> None:
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
    commit = git.commit_of(current_project().folder, "HEAD")
    from_environment = {name: str(value) for name, value in OTELResourceDetector().detect().attributes.items()}
    return {
        "service.name": "load-test",
        "service.instance.id": run,
        RUN_ATTRIBUTE: run,
        "loadtest.plan": directory.plan,
        "deployment.environment.name": spec.profile.name,
        # The program that makes the messages: "opentelemetry" is the name of the project's own SDK alone.
        "telemetry.sdk.name": NAME,
        "telemetry.sdk.language": "python",
        "telemetry.sdk.version": __version__,
        **({"vcs.ref.head.revision": commit} if commit else {}),
        **from_environment,
    }


class SpanPicker:
    """Chooses among the samples that have a trace id; `left_out_count` is how many more were slow or failed."""

    def __init__(self) -> None:
        self.left_out_count = 0
        self._has_traces = False
        self._slow_ms: dict[str, int] = {}
        self._chosen: list[Sample] = []

    def add(self, samples: Sequence[Sample]) -> None:
        """Choose among the samples of about a second. Of rows with one id, as of a redirect, the first is whole."""
        candidates: dict[str, Sample] = {}
        for sample in samples:
            if not sample.trace_id:
                continue
            self._has_traces = True
            is_slow = sample.elapsed_ms > self._slow_ms.get(sample.label, math.inf)
            if (is_slow or not sample.success) and _TRACE_ID.fullmatch(sample.trace_id):
                candidates.setdefault(sample.trace_id, sample)
        chosen = sorted(candidates.values(), key=lambda sample: (sample.success, -sample.elapsed_ms))[:SPANS_PER_S]
        self._chosen += chosen
        self.left_out_count += len(candidates) - len(chosen)

    def take(self, snapshot: RunSnapshot) -> tuple[Sample, ...]:
        """Return what was chosen since the last call; from now on the counts of `snapshot` determine what is slow."""
        chosen, self._chosen = tuple(self._chosen), []
        if self._has_traces:
            self._slow_ms = {
                label: slow_ms
                for (_, label, is_transaction), counts in snapshot.labels.items()
                if not is_transaction
                and counts.histogram.count >= SAMPLES_LEAST
                and (slow_ms := counts.histogram.quantile_ms(SLOW_RATIO)) is not None
            }
        return chosen


class Sender:
    """Sends what it is offered, in order. `log` gets one line when something is not delivered for the first time."""

    def __init__(self, receiver: Receiver, messages: Messages, log: Log) -> None:
        self._receiver, self._messages, self._log = receiver, messages, log
        self._waiting: SimpleQueue[Export | None] = SimpleQueue()
        self._export_count = self._span_count = 0
        self._sent_export_count = self._sent_span_count = 0
        self._problem = ""
        self._is_over = False
        self._thread = threading.Thread(target=self._send_all, name="otlp", daemon=True)
        self._thread.start()

    def offer(self, export: Export, *, is_last: bool = False) -> None:
        """Take an export to send; it is dropped, and counted as not delivered, while too many others wait."""
        self._export_count += 1
        self._span_count += len(export.samples)
        if is_last or self._waiting.qsize() < WAITING_MOST:
            self._waiting.put(export)
        else:
            self.note("the receiver is too slow")

    def finish(self, last: Export | None) -> DeliveryRecord:
        """Send the last export, for FLUSH_S at most; return what the receiver got. None is one that there is not."""
        if last:
            self.offer(last, is_last=True)
        else:
            self._export_count += 1
        self._waiting.put(None)
        self._thread.join(min(_QUIET_S, FLUSH_S))
        if self._thread.is_alive():
            self._log(f"OTLP: sending the last values, for {units.number_text(FLUSH_S)} s at most")
            self._thread.join(max(0.0, FLUSH_S - _QUIET_S))
        self.stop()
        lost_export_count = self._export_count - self._sent_export_count
        lost_span_count = self._span_count - self._sent_span_count
        is_lost = bool(lost_export_count or lost_span_count)
        problem = (self._problem or "the receiver is too slow") if is_lost else ""
        return DeliveryRecord(self._export_count, lost_export_count, self._span_count, lost_span_count, problem)

    def stop(self) -> None:
        """Send nothing more, and wait for nothing."""
        self._is_over = True
        self._waiting.put(None)

    def note(self, problem: str) -> None:
        """Print why something is not delivered, and store it for the report: the first reason alone."""
        if not self._problem and not self._is_over:
            self._problem = problem
            self._log(f"OTLP: {problem}; the run goes on, and its report counts what was not delivered")

    def _send_all(self) -> None:
        while (export := self._waiting.get()) and not self._is_over:
            try:
                lost_count = self._lost(METRICS_PATH, self._messages.metrics(export), rejected_points)
                self._sent_export_count += lost_count == 0
                if export.samples and not self._is_over:
                    lost_count = self._lost(SPANS_PATH, self._messages.spans(export.samples), rejected_spans)
                    count = len(export.samples)
                    self._sent_span_count += 0 if lost_count is None else max(0, count - lost_count)
            except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
                self.note(f"it cannot be written as a message ({type(error).__name__})")

    def _lost(self, path: str, body: bytes, rejected: Callable[[bytes], int]) -> int | None:
        """Send a message; return how many of its values the receiver rejected, None when it did not take any."""
        try:
            count = rejected(self._receiver.post(path, body))
        except NotDeliveredError as error:
            self.note(str(error))
            return None
        except DecodeError:
            self.note("the answer is not one of OTLP")
            return None
        if count:
            self.note(f"the receiver rejected {units.plural(count, 'value')} of {path}")
        return count


def record_delivery(directory: RunDirectory, delivery: DeliveryRecord, log: Log) -> None:
    """Write into run.json what the receiver got; `log` gets a line when that fails."""
    try:
        record = load_record(RunRecord, directory.run_json)
        directory.write_run(replace(record, otlp=delivery))
    except HarnessError as error:
        log(f"OTLP: the report has no delivery counts: {error}")


class NothingSent(Watcher):
    """A watcher in place of a receiver whose address or headers cannot be used; `problem` is why."""

    def __init__(self, problem: str, log: Log) -> None:
        self._problem, self._log = problem, log
        self._directory: RunDirectory | None = None

    def begin(self, directory: RunDirectory, spec: RunSpec) -> None:  # noqa: ARG002 - of Watcher
        """Remember the directory of the run."""
        self._directory = directory

    def finish(self) -> None:
        """Write into run.json why nothing was sent."""
        directory, self._directory = self._directory, None
        if directory is not None:
            record_delivery(directory, DeliveryRecord(0, 0, 0, 0, self._problem), self._log)
