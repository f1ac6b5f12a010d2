"""Chooses the requests of a traced run that get a span: the failed and the slow ones, few per second."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from harness.jtl.sample import Sample
from harness.live.run_counts import RunSnapshot

# Failed requests come first, then the slowest ones.
SPANS_PER_S = 10
# A request is slow above this quantile of its label so far, which is known from so many samples on.
SLOW_RATIO = 0.99
SAMPLES_LEAST = 100
_TRACE_ID = re.compile("[0-9a-f]{32}")


class SpanPicker:
    """Chooses among the samples that have a trace id; `left_out_count` is how many more were slow or failed."""

    def __init__(self) -> None:
        self.left_out_count = 0
        self._has_traces = False
        self._slow_ms: dict[str, int] = {}
        self._chosen: list[Sample] = []

    def add(self, samples: Sequence[Sample]) -> None:
        """Choose among the samples of about a second. Of rows with one id, as of a redirect, the first is whole."""
        found: dict[str, Sample] = {}
        for sample in samples:
            if not sample.trace_id:
                continue
            self._has_traces = True
            is_slow = sample.elapsed_ms > self._slow_ms.get(sample.label, math.inf)
            if (is_slow or not sample.success) and _TRACE_ID.fullmatch(sample.trace_id):
                found.setdefault(sample.trace_id, sample)
        chosen = sorted(found.values(), key=lambda sample: (sample.success, -sample.elapsed_ms))[:SPANS_PER_S]
        self._chosen += chosen
        self.left_out_count += len(found) - len(chosen)

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
