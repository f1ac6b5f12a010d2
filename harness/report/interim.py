"""The interim table that a run prints in its first minute, with the columns of its last table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from harness.base import units
from harness.metrics.figures import LOAD, Group, LabelFigures
from harness.report.closing import BLANK, Closing, Line, key_tables
from harness.report.key_figures import key_rows_of
from harness.run.interim import InterimFigures


def interim(figures: InterimFigures, width: int, text_width: Callable[[str], int] = len) -> Closing:
    """Return the interim table for a window `width` characters wide; `text_width` measures a label.

    Counts and rates of a load of which only a part of the rows was read are scaled up.
    """
    load = next(group for group in figures.groups if group.name == LOAD)
    rows = key_rows_of(_scaled(load, 1 / figures.read_ratio))
    return Closing(
        above=(BLANK, *_texts(figures), BLANK),
        tables=key_tables(rows, width, text_width),
        below=(BLANK,),
    )


def _texts(figures: InterimFigures) -> Iterator[Line]:
    when = f"Interim results after {figures.passed_s:.0f} s of load"
    yield Line(((when, "bold"), (", ramp-up and warm-up included; the report at the end excludes them.", "")), 2)
    if figures.read_ratio < 1:
        part = units.percent_text(figures.read_ratio)
        yield Line(((f"Estimated from {part} % of the samples, so that counting does not slow JMeter down.", ""),), 2)


def _scaled(load: Group, factor: float) -> Group:
    """Return a load whose counts are multiplied by `factor`, and whose rates are those of the time of TOTAL."""
    total = load.total
    passed_s = total.sample_count / total.rate_per_s if total.rate_per_s else None
    labels = tuple(_scaled_label(label, factor, passed_s) for label in load.labels)
    return replace(load, labels=labels, total=_scaled_label(total, factor, passed_s))


def _scaled_label(label: LabelFigures, factor: float, passed_s: float | None) -> LabelFigures:
    return replace(
        label,
        sample_count=round(label.sample_count * factor),
        error_count=round(label.error_count * factor),
        rate_per_s=None if passed_s is None else label.sample_count * factor / passed_s,
    )
