"""The numbers in the summary of another tool, which has no samples, and the error for what needs samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from harness.base.errors import UsageError

# As in harness/metrics/figures.py, which no reader imports.
TOTAL = "TOTAL"
_MOST = 1e15
NO_SAMPLES = "no verdict: this file has no samples"


@dataclass(frozen=True)
class SummaryRow:
    """What a summary states of a label, or of all requests; times in ms, unknown values are None."""

    label: str
    sample_count: int | None = None
    error_count: int | None = None
    average_ms: float | None = None
    percentiles_ms: Mapping[str, float] = field(default_factory=dict)
    min_ms: float | None = None
    max_ms: float | None = None
    rate_per_s: float | None = None
    received_bytes_per_s: float | None = None

    def __post_init__(self) -> None:
        """Raise a ValueError or TypeError for what is no number of a summary."""
        counts, times = (self.sample_count, self.error_count), (self.average_ms, self.min_ms, self.max_ms)
        values = (*counts, *times, self.rate_per_s, self.received_bytes_per_s, *self.percentiles_ms.values())
        if not all(value is None or (0 <= value <= _MOST and not isinstance(value, bool)) for value in values):
            raise ValueError(self.label)
        if not all(0 <= float(percent) <= 100 for percent in self.percentiles_ms):
            raise ValueError(self.label)

    @property
    def error_ratio(self) -> float | None:
        """The share of errors (0-1)."""
        return self.error_count / self.sample_count if self.sample_count and self.error_count is not None else None


@dataclass(frozen=True)
class ToolSummary:
    """The summary that a tool printed: its rows, `total` of all requests, and what it hides, one sentence each."""

    tool: str
    total: SummaryRow
    rows: Sequence[SummaryRow] = ()
    hides: Sequence[str] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        """Why there is no verdict, and what the summary hides."""
        return (f"Summary of {self.tool}: {NO_SAMPLES}.", *self.hides)


class NoSamplesError(UsageError):
    """Samples are needed, and the file has only the `summary` of another tool."""

    def __init__(self, name: str, summary: ToolSummary) -> None:
        super().__init__(f"{name}: {NO_SAMPLES} (a summary of {summary.tool})", "lth table prints its numbers")
        self.name, self.summary = name, summary
