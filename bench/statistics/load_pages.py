"""Simulates growth in soaks with its forecast, and loads that DURATION=auto ends."""

from __future__ import annotations

import math

import numpy as np

from bench.statistics.answer_pages import Answers
from bench.statistics.auto import LONG_S, Scene, simulate
from bench.statistics.scatter import Kind
from harness.base.units import BYTES_PER_MB
from harness.metrics.resource_growth import BIN_COUNT, GROWS, RSS, ResourceSeries, growths
from harness.run.jmeter.auto_end import enough_ms

_SPAN_S = 3600.0
_LEVEL_MB, _NOISE_MB, _LIMIT_MB = 200.0, 5.0, 1000.0
# Processes whose memory is followed in a run.
_PROCESSES = 4
_SECOND_SD = 0.1


def soaked(random: np.random.Generator, kind: Kind, pages: int, change: float) -> Answers:
    """Return the share of soaks in which memory grows; with a change by this share of 200 MB in an hour.

    Covered is the true time until the limit.
    """
    found = known = covered = 0
    grown_mb = change * _LEVEL_MB
    true_h = (_LIMIT_MB - _LEVEL_MB - grown_mb) / grown_mb if grown_mb else 0.0
    for _ in range(pages):
        line = np.linspace(0.0, grown_mb, BIN_COUNT)
        run = [_series(_noise(random, kind) + line * (process == 0), process) for process in range(_PROCESSES)]
        growth = growths(run, _SPAN_S)
        found += growth[0].verdict == GROWS if change else any(one.verdict == GROWS for one in growth)
        if change and growth[0].left_low_h is not None and growth[0].left_high_h is not None:
            known += 1
            covered += growth[0].left_low_h <= true_h <= growth[0].left_high_h
    return Answers(found / pages, covered / known if known else None)


def _noise(random: np.random.Generator, kind: Kind) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    new = random.standard_t(3, BIN_COUNT) / math.sqrt(3) if kind.is_heavy else random.standard_normal(BIN_COUNT)
    values = [float(new[0])]
    for one in new[1:]:
        values.append(kind.rho * values[-1] + math.sqrt(1 - kind.rho**2) * float(one))
    jumps = 4 * (random.random(BIN_COUNT) < kind.outlier + kind.slow_start / 10)
    return np.asarray(_LEVEL_MB + _NOISE_MB * (np.array(values) + jumps))


def _series(values_mb: np.ndarray[tuple[int], np.dtype[np.float64]], process: int) -> ResourceSeries:
    step_s = _SPAN_S / BIN_COUNT
    points = tuple(((at + 0.5) * step_s, float(value) * BYTES_PER_MB) for at, value in enumerate(values_mb))
    return ResourceSeries(f"process {process}", RSS, points, _LIMIT_MB * BYTES_PER_MB)


def auto_ended(random: np.random.Generator, kind: Kind, pages: int, _: float) -> Answers:
    """Return the share of loads that end with a mean beyond the precision that is promised.

    Covered is the true mean by the interval.
    """
    wrong = covered = known = 0
    memory = kind.rho or 0.5
    scene = Scene(
        lambda _: 4 * kind.base_ms,
        _SECOND_SD * math.sqrt(1 - memory**2),
        memory=memory,
    )
    for _page in range(pages):
        end = simulate(scene, int(random.integers(1_000_000)), LONG_S)
        if end.is_met and end.average_ms is not None and end.within_ms is not None:
            known += 1
            error = abs(end.average_ms - scene.true_ms)
            wrong += error > enough_ms(scene.true_ms)
            covered += error <= end.within_ms
    return Answers(wrong / max(1, known), covered / known if known else None)
