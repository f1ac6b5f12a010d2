"""Defines which changes matter when runs are compared: a plan's [compare], or the command line's values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.base.config import check_keys, did_you_mean
from harness.base.errors import UsageError
from harness.base.records import build
from harness.base.units import parse_number
from harness.metrics.metric import Metric, compared_metrics

_ALPHA = "alpha"


def threshold_names() -> tuple[str, ...]:
    """Return the names in a plan's [compare] and of --threshold: those of the compared metrics, and alpha."""
    return (*(metric.name for metric in compared_metrics()), _ALPHA)


def _usual_ratios() -> dict[str, float]:
    return {metric.name: metric.threshold for metric in compared_metrics() if metric.threshold is not None}


@dataclass(frozen=True)
class Thresholds:
    """The smallest change of each metric that matters, by its name, and the significance level `alpha`.

    All are ratios of the baseline's value, except for a share: that is a difference (0.005 is half a percent of all
    samples).
    """

    ratios: Mapping[str, float] = field(default_factory=_usual_ratios)
    alpha: float = 0.05

    def of(self, metric: Metric) -> float:
        """Return the smallest change of a metric that matters."""
        return self.ratios[metric.name]

    def changed(self, values: Mapping[str, float]) -> Thresholds:
        """Return these thresholds, updated with others by name. TypeError for an unknown name."""
        if unknown := values.keys() - set(threshold_names()):
            raise TypeError(f"no such threshold: {', '.join(sorted(unknown))}")
        ratios = {name: value for name, value in values.items() if name != _ALPHA}
        return Thresholds({**self.ratios, **ratios}, values.get(_ALPHA, self.alpha))

    @classmethod
    def from_plain(cls, data: object, where: str) -> Thresholds:
        """Return the thresholds that `to_plain` wrote; ValueError names the key that is wrong."""
        kind: Any = Mapping[str, float]
        values: Mapping[str, float] = build(kind, data, where)
        try:
            return cls().changed(values)
        except TypeError as error:
            raise ValueError(f"{where}: {error}") from None

    def to_plain(self) -> dict[str, float]:
        """Return plain data: the ratios by their names, and alpha."""
        return {**self.ratios, _ALPHA: self.alpha}

    def with_table(self, table: Mapping[str, object], where: str) -> Thresholds:
        """Return these thresholds, updated with the ratios of a plan's [compare]. UsageError for invalid ones."""
        check_keys(table, dict.fromkeys(threshold_names(), (int, float)), where)
        return self.changed(
            {key: parse_number(str(value), f"{where}: {key}", 0.0, 1.0) for key, value in table.items()}
        )

    def with_option(self, text: str) -> Thresholds:
        """Return these thresholds, updated with `average=5%` or `average=0.05`. UsageError for another text."""
        name, _, value = (part.strip() for part in text.partition("="))
        names = threshold_names()
        key = next((one.name for one in compared_metrics() if name in (one.id, one.key, *one.aliases)), name)
        if key not in names:
            near = did_you_mean(key, names)
            raise UsageError(f"--threshold {text}: no such metric", f"{near}give one of: {', '.join(names)}")
        if not value:
            raise UsageError(f"--threshold {text}: no value", f"give one, such as {key}=20%")
        is_percent = value.endswith("%")
        number = parse_number(value.removesuffix("%"), f"--threshold {name}", 0.0, 100.0 if is_percent else 1.0)
        return self.changed({key: number / 100 if is_percent else number})
