"""Sends the exports of a run to a receiver in a thread of its own: the run never waits for the receiver."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue

from google.protobuf.message import DecodeError

from harness.base import units
from harness.base.log import Log
from harness.live.otlp.messages import Export, Messages, rejected_points, rejected_spans
from harness.live.otlp.receiver import NotDeliveredError, Receiver
from harness.run.record import DeliveryRecord

METRICS_PATH, SPANS_PATH = "v1/metrics", "v1/traces"
# More exports than these do not wait for a slow receiver: each contains the counts of all before it.
WAITING_MOST = 4
# The last values may take so long.
FLUSH_S = 5.0
_QUIET_S = 1.0


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
