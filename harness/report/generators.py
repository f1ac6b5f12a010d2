"""The table of load generators."""

from __future__ import annotations

from collections.abc import Sequence

from harness.base import units
from harness.metrics.generators import GeneratorFigures
from harness.metrics.metric import elapsed_metrics
from harness.report.tables import cell, table

_TIMES = elapsed_metrics()
_COLUMNS = (
    "generator", "count", *(metric.title for metric in _TIMES), "errors %", "errors", "req/s", "most users", "first s",
    "last s",
)  # fmt: skip


def generator_table(generators: Sequence[GeneratorFigures]) -> str:
    """Return a row per load generator; count to req/s cover the measurement window."""
    return table(_COLUMNS, (_row(generator) for generator in generators))


def _row(generator: GeneratorFigures) -> list[str]:
    return [
        cell(generator.name),
        str(generator.sample_count),
        *(metric.text(generator.times_ms.get(metric.key)) for metric in _TIMES),
        units.percent_text(generator.error_ratio),
        str(generator.error_count),
        units.rate_text(generator.rate_per_s),
        "" if generator.most_users is None else str(generator.most_users),
        f"{generator.first_s:.1f}",
        f"{generator.last_s:.1f}",
    ]
