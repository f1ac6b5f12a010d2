"""Defines which changes matter when runs are compared: a plan's [compare], or the command line's values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace

from harness.base.config import check_keys, did_you_mean
from harness.base.errors import UsageError
from harness.base.units import parse_number


@dataclass(frozen=True)
class Thresholds:
    """The smallest change of each metric that matters, and the significance level `alpha`.

    All are ratios of the baseline's value, except `errors`: that is a difference of two error ratios (0.005 is half a
    percent of all samples).
    """

    average: float = 0.05
    p50: float = 0.05
    p75: float = 0.05
    p90: float = 0.10
    p95: float = 0.10
    p99: float = 0.10
    throughput: float = 0.05
    errors: float = 0.005
    alpha: float = 0.05

    def of(self, metric: str) -> float:
        """Return the smallest change of a metric that matters; a percentile is named 50 or p50."""
        values: Mapping[str, float] = asdict(self)
        return values[metric] if metric in values else values[f"p{metric}"]

    def with_table(self, table: Mapping[str, object], where: str) -> Thresholds:
        """Return these thresholds, updated with the ratios of a plan's [compare]. UsageError for invalid ones."""
        check_keys(table, dict.fromkeys(NAMES, (int, float)), where)
        return replace(
            self, **{key: parse_number(str(value), f"{where}: {key}", 0.0, 1.0) for key, value in table.items()}
        )

    def with_option(self, text: str) -> Thresholds:
        """Return these thresholds, updated with `average=5%` or `average=0.05`. UsageError for another text."""
        name, _, value = (part.strip() for part in text.partition("="))
        key = "p50" if name == "median" else f"p{name}" if f"p{name}" in NAMES else name
        if key not in NAMES:
            near = did_you_mean(key, NAMES)
            raise UsageError(f"--threshold {text}: no such metric", f"{near}give one of: {', '.join(NAMES)}")
        is_percent = value.endswith("%")
        number = parse_number(value.removesuffix("%"), f"--threshold {name}", 0.0, 100.0 if is_percent else 1.0)
        return replace(self, **{key: number / 100 if is_percent else number})


NAMES = tuple(field.name for field in fields(Thresholds))
