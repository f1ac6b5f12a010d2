"""Reads JTLs into samples and tallies."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from harness.errors import UsageError
from harness.jtl import Dropped, Sample, parse
from harness.tally import SampleTally
from harness.units import mb_text

_PROGRESS_PERIOD_S = 2.0
_ROWS_PER_LOOK = 20_000


def read_samples(path: Path, dropped: Dropped) -> Iterator[Sample]:
    """Yield the samples of a CSV JTL, noting in `dropped` what was left out; says on stderr how far it is.

    UsageError when the file cannot be read or is no CSV JTL.
    """
    next_look_s = time.monotonic() + _PROGRESS_PERIOD_S
    try:
        with path.open("rb") as stream:
            size = path.stat().st_size
            for number, sample in enumerate(parse(stream, path.name, dropped)):
                if number % _ROWS_PER_LOOK == 0 and time.monotonic() > next_look_s:
                    next_look_s += _PROGRESS_PERIOD_S
                    print(f"reading {path.name}: {mb_text(stream.tell())} of {mb_text(size)} MB", file=sys.stderr)
                yield sample
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})", "name a JTL file") from None


def read_tally(
    paths: Sequence[Path], once_labels: Sequence[str] = (), window_ms: tuple[int, int] | None = None
) -> tuple[SampleTally, Dropped]:
    """Return the tally of JTLs as of one run, and what could not be used of them."""
    whole, dropped = SampleTally(once_labels, window_ms=window_ms), Dropped()
    for source, path in enumerate(paths):
        tally = SampleTally(once_labels, source, window_ms)
        for sample in read_samples(path, dropped):
            tally.add(sample)
        whole.merge(tally)
    return whole, dropped
