"""Estimates from earlier runs of a plan how much equal runs scatter."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from harness.history.catalogue import Entry
from harness.kinds.bisect.posterior import Noise
from harness.metrics.metric import Metric
from harness.plan.load.model import LoadRecord

# Of fewer differences nothing is estimated.
_DIFFERENCES_LEAST = 4
# The median of the absolute difference of two normal values, in standard deviations of one.
_MEDIAN_DIFFERENCE = 0.6745 * math.sqrt(2)
# The scatter of the next runs may be another one, however many earlier runs there are.
_WIDTH_LEAST, _RATIO_LEAST = 0.25, 0.002


def noise_of(entries: Sequence[Entry], load: LoadRecord, metric: Metric) -> Noise:
    """Return the expected scatter of runs of this load: from neighbours in time, so that a trend is none of it."""
    known = []
    for entry in sorted(entries, key=lambda one: one.order_key):
        total = entry.result.total if entry.result and entry.result.is_valid else None
        value = metric.of(total) if total else None
        if value and entry.run and entry.run.load == load:
            known.append(math.log(value))
    differences = [abs(later - earlier) for earlier, later in pairwise(known)]
    if len(differences) < _DIFFERENCES_LEAST:
        return Noise()
    ratio = max(_RATIO_LEAST, median(differences) / _MEDIAN_DIFFERENCE)
    return Noise(ratio, max(_WIDTH_LEAST, 1.2 / math.sqrt(len(differences))))
