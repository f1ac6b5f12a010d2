"""The charts of a designed experiment."""

import math
import re

import pytest

from harness.kinds.tune.charts import _effects_chart, _pair_chart
from harness.kinds.tune.factors import Factor
from harness.kinds.tune.model import Observation, fit
from harness.metrics.metric import metric_of

FACTORS = (Factor("threads", ("2", "30", "60")), Factor("gc", ("G1", "Z")))


def fitted(pair: float = 1.0):
    """Fit 800, 400, 300 ms with more threads, and 1.2 times as much with Z; `pair` times with both 60 and Z."""
    return fit(
        FACTORS,
        [
            Observation((a, b), block, math.log((800, 400, 300)[a] * (1, 1.2)[b] * (pair if (a, b) == (2, 1) else 1)))
            for block in (1, 2)
            for a in range(3)
            for b in range(2)
        ],
    )


def heights(chart: str) -> list[float]:
    """Return the px of the means, from the top."""
    return [float(y) for y in re.findall(r'<circle cx="[\d.]+" cy="([\d.]+)"', chart)]


def test_settings_that_do_not_depend_on_each_other_have_parallel_lines():
    points = heights(_pair_chart(FACTORS, (0, 1), fitted(), metric_of("p90")))
    assert len(points) == 6
    gaps = [low - high for low, high in zip(points[:3], points[3:], strict=True)]
    assert gaps == pytest.approx([gaps[0]] * 3, abs=0.2)
    assert gaps[0] > 5


def test_settings_that_depend_on_each_other_have_lines_that_are_not_parallel():
    points = heights(_pair_chart(FACTORS, (0, 1), fitted(2.0), metric_of("p90")))
    gaps = [low - high for low, high in zip(points[:3], points[3:], strict=True)]
    assert gaps[2] > 2 * gaps[0]


def test_the_chart_of_effects_has_a_mean_for_each_value_of_each_setting():
    chart = _effects_chart(FACTORS, fitted(), metric_of("p90"))
    points = heights(chart)
    assert len(points) == 5
    # Of G1 and Z the geometric means are √1.2 below and above that of all.
    assert "gc=G1: 458 (458 to 458). gc=Z: 549 (549 to 549)." in chart
    assert "threads=2: 876 (876 to 876)." in chart  # 800 √1.2
