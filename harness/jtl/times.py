"""Decides which time stamps are possible in a JTL: those of its first rows, give or take a year.

JMeter writes 0 for a sample that never started, such as one whose class is missing. Other tools write seconds, and
machines without a clock begin in 1970. Such a row has no place in a run: its span and its rates would be wrong.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from harness.base import units
from harness.jtl.sample import START_MAX_MS, Sample

# The first bytes of a file, whose rows show its time.
HEAD_BYTES = 64 * 1024
_FAR_MS = 366 * 24 * 3600 * units.MS_PER_S
# Milliseconds have 13 digits since 2001; fewer are seconds, or those of a clock that begins in 1970.
_REAL_MS = 10**12


class BadTimeError(ValueError):
    """The time stamp of a row is impossible."""


class Times(NamedTuple):
    """The first and the last possible time stamp of a file, ms since 1970."""

    first_ms: int = 0
    last_ms: int = START_MAX_MS

    def check(self, start_ms: int, shown: str) -> None:
        """Raise a BadTimeError for an impossible time stamp, which is `shown` in the file."""
        if self.first_ms <= start_ms <= self.last_ms:
            return
        if start_ms == 0:
            raise BadTimeError("timeStamp 0: the sample never started")
        if 0 < start_ms <= START_MAX_MS:
            raise BadTimeError(f"timeStamp {shown} is over a year from those of the first rows")
        raise BadTimeError(f"timeStamp {shown} is impossible")


ALWAYS = Times()


def times_near(samples: Iterable[Sample]) -> Times:
    """Return the possible time stamps of a file whose first rows are these; all without a real one among them."""
    starts = sorted(sample.start_ms for sample in samples if sample.start_ms >= _REAL_MS)
    if not starts:
        return ALWAYS
    usual_ms = starts[len(starts) // 2]
    return Times(max(0, usual_ms - _FAR_MS), min(START_MAX_MS, usual_ms + _FAR_MS))
