"""`scripts/bench ab`: measures false alarms and power of A/B tests on simulated runs of a machine that drifts."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy

from bench.results import Aim
from bench.tables import print_aims
from harness.base.log import stderr_log
from harness.base.units import parse_whole_number, percent_text
from harness.compare.comparison import BETTER, CANNOT_TELL, OK, REGRESSED
from harness.kinds.ab.pairs import series_of
from harness.kinds.ab.record import A, B, order_of
from harness.kinds.ab.rule import LOOKS, PAIRS_LEAST, is_sure, judge, verdict_of
from harness.metrics.metric import AVERAGE, percentiles
from harness.plan.thresholds import Thresholds
from harness.report.run_result import LabelResult
from harness.report.tables import table

_log = stderr_log("bench: ")

_CV, _DRIFT = 0.03, 0.02
_SAMPLES = 10_000
_MS = 10_000.0
_ALARMS_MOST = 0.01
_FOUND_LEAST, _PAIRS_MOST = 0.99, 6.5
_BLOCKS_LEAST = 0.10
_SHIFT_OF_AIM = 0.20
_SEEDS = 1_000_000
# Disturbances that repeat: after so many runs, with so much change in each direction.
_PERIODS, _AMPLITUDES = (2, 2.5, 3, 3.5, 4, 4.5, 5, 5.5, 6, 7, 8, 9, 10, 11, 12), (0.04, 0.08, 0.12, 0.20)
_WAVE_ALARMS_MOST = 0.03
# One metric with a threshold of 10 %, as in the published tables of sequential tests; and all compared metrics.
_ONE = Thresholds().changed({"average": 0.10})
_VERDICTS = (REGRESSED, BETTER, OK, CANNOT_TELL)


@dataclass(frozen=True)
class Scene:
    """A simulated A/B test: coefficient of variation of runs, drift per run, the true change of B.

    `alike` is how much of a run's noise all of its metrics share (0-1); None judges the average alone. With `in_blocks`
    all runs of A come first, then all of B. A `wave` disturbs the machine.
    """

    change: float
    cv: float = _CV
    drift: float = _DRIFT
    alike: float | None = None
    in_blocks: bool = False
    wave: Wave | None = None


class Wave(NamedTuple):
    """A disturbance that repeats after so many runs: a sine, or two halves of equal length, of this amplitude."""

    period: float
    amplitude: float
    is_square: bool


@dataclass(frozen=True)
class Found:
    """The share of tests with each verdict, and the mean number of their pairs."""

    shares: dict[str, float]
    mean_pairs: float


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this part of the benchmark."""
    parser.add_argument("--repetitions", default="2000", metavar="N", help="simulated tests per row (2000)")
    parser.add_argument("--seed", default="1", metavar="N", help="of the random numbers, to repeat it with others (1)")


def bench(options: argparse.Namespace) -> int:
    """Print the tables; return 0, or 1 when an aim is missed."""
    repetitions = parse_whole_number(options.repetitions, "--repetitions", 100, 1_000_000)
    seed = parse_whole_number(options.seed, "--seed", 0, 1_000_000)
    found = {scene: simulated(scene, repetitions, seed) for scene in _scenes()}
    rows = [_row(scene, one) for scene, one in found.items()]
    heads = ("metrics", "CV of runs %", "drift per run %", "true change %", "order", *_VERDICTS, "pairs, mean")
    print(f"**% of {repetitions:,} simulated A/B tests**\n")
    print(table(heads, rows), end="\n\n", flush=True)
    waves = {wave: simulated(Scene(0.0, drift=0.0, wave=wave), repetitions, seed) for wave in _waves()}
    print("**% REGRESSED and IMPROVED of unchanged sides, one metric, greatest of all amplitudes**\n")
    print(table(("period, runs", "sine", "square"), [_wave_row(waves, period) for period in _PERIODS]), end="\n\n")
    aims = [*_aims(found), _wave_aim(waves)]
    return print_aims(aims, "A/B tests")


def _waves() -> Iterator[Wave]:
    for period, amplitude, is_square in product(_PERIODS, _AMPLITUDES, (False, True)):
        yield Wave(period, amplitude, is_square)


def _wave_row(waves: dict[Wave, Found], period: float) -> list[str]:
    cells = []
    for is_square in (False, True):
        chosen = [one for wave, one in waves.items() if (wave.period, wave.is_square) == (period, is_square)]
        worst = [percent_text(max(one.shares[verdict] for one in chosen), 1) for verdict in (REGRESSED, BETTER)]
        cells.append(" and ".join(worst))
    return [f"{period:g}", *cells]


def _wave_aim(waves: dict[Wave, Found]) -> Aim:
    most = max(one.shares[REGRESSED] for one in waves.values())
    return Aim(
        f"nothing changed, a disturbance that repeats: greatest of {len(waves)} rates of REGRESSED, %",
        percent_text(most, 2),
        f"≤ {_percent(_WAVE_ALARMS_MOST)}",
        most <= _WAVE_ALARMS_MOST,
    )


def simulated(scene: Scene, repetitions: int, seed: int) -> Found:
    """Return the verdicts of simulated tests; all scenes with the same seed use the same random numbers."""
    _log(f"{_metrics_text(scene)}, CV {_percent(scene.cv)} %, change {_percent(scene.change)} %, {_order_text(scene)}")
    random = numpy.random.default_rng(seed)
    ends = [_one_test(scene, random) for _ in range(repetitions)]
    verdicts = [end.verdict for end in ends]
    return Found(
        {verdict: verdicts.count(verdict) / repetitions for verdict in _VERDICTS},
        sum(end.pair_count for end in ends) / repetitions,
    )


class _End(NamedTuple):
    """How a test ends: its verdict, and the number of pairs that it took."""

    verdict: str
    pair_count: int


def _one_test(scene: Scene, random: numpy.random.Generator) -> _End:
    """Return the end of one simulated test."""
    pairs = _pairs(scene, random)
    thresholds = _ONE if scene.alike is None else Thresholds()
    verdict = CANNOT_TELL
    for look in LOOKS:
        series = series_of(pairs[:look], thresholds)
        if scene.alike is None:
            series = tuple(one for one in series if one.metric == AVERAGE)
        metrics = judge(series, thresholds)
        verdict = verdict_of(metrics)
        if is_sure(metrics):
            break
    return _End(verdict, look)


def _pairs(scene: Scene, random: numpy.random.Generator) -> list[tuple[LabelResult, LabelResult]]:
    """Return the pairs (A, B) of a test, with as many pairs as the last look needs."""
    order = list(_order(scene, random))
    machine = numpy.cumsum(random.normal(0.0, scene.drift, len(order)))
    if scene.wave:
        turns = numpy.arange(len(order)) / scene.wave.period + random.random()
        height = numpy.sin(2 * numpy.pi * turns)
        machine += numpy.log1p(scene.wave.amplitude * (numpy.sign(height) if scene.wave.is_square else height))
    sides: dict[str, list[LabelResult]] = {A: [], B: []}
    for index, side in enumerate(order):
        level = machine[index] + (numpy.log1p(scene.change) if side == B else 0.0)
        sides[side].append(_run(scene, random, float(level)))
    return list(zip(sides[A], sides[B], strict=True))


def _order(scene: Scene, random: numpy.random.Generator) -> Iterator[str]:
    if scene.in_blocks:
        yield from A * max(LOOKS) + B * max(LOOKS)
        return
    seed = int(random.integers(_SEEDS))
    for number in range(1, max(LOOKS) + 1):
        yield from order_of(number, seed)


def _run(scene: Scene, random: numpy.random.Generator, level: float) -> LabelResult:
    """Return the metrics of a run whose times are exp(level) times the usual; its rate is lower by as much."""
    texts = percentiles()
    alike = 1.0 if scene.alike is None else scene.alike
    common = random.normal(0.0, scene.cv * alike**0.5)
    own = random.normal(0.0, scene.cv * (1 - alike) ** 0.5, 2 + len(texts))
    times = _MS * numpy.exp(level + common + own)
    return LabelResult(
        label="TOTAL",
        sample_count=_SAMPLES,
        error_count=0,
        error_ratio=0.0,
        average_ms=float(times[0]),
        percentiles_ms={text: round(float(time)) for text, time in zip(texts, times[2:], strict=True)},
        min_ms=None,
        max_ms=None,
        rate_per_s=1_000.0 * _MS / float(times[1]),
        received_bytes_per_s=None,
    )


def _scenes() -> Iterator[Scene]:
    for drift in (0.0, _DRIFT):
        yield Scene(0.0, drift=drift)
    yield Scene(0.0, in_blocks=True)
    for change in (0.05, 0.10, _SHIFT_OF_AIM):
        yield Scene(change)
    for alike in (0.8, 0.0):
        for change in (0.0, 0.05, 0.10, _SHIFT_OF_AIM, -_SHIFT_OF_AIM):
            yield Scene(change, alike=alike)
    for change in (0.0, 0.10, _SHIFT_OF_AIM):
        yield Scene(change, cv=0.05, alike=0.8)
    yield Scene(0.0, alike=0.8, in_blocks=True)


def _row(scene: Scene, found: Found) -> list[str]:
    return [
        _metrics_text(scene),
        _percent(scene.cv),
        _percent(scene.drift),
        _percent(scene.change),
        _order_text(scene),
        *(percent_text(found.shares[verdict], 1) for verdict in _VERDICTS),
        f"{found.mean_pairs:.1f}",
    ]


def _aims(found: dict[Scene, Found]) -> Iterator[Aim]:
    """Yield the aims: false alarms of the random order, those of blocks, and large changes that are found."""
    unchanged = [
        one.shares[REGRESSED]
        for scene, one in found.items()
        if (scene.change, scene.cv, scene.in_blocks) == (0.0, _CV, False)
    ]
    yield Aim(
        f"nothing changed, random order: greatest of {len(unchanged)} rates of REGRESSED, %",
        percent_text(max(unchanged), 2),
        f"≤ {_percent(_ALARMS_MOST)}",
        max(unchanged) <= _ALARMS_MOST,
    )
    blocks = [one.shares[REGRESSED] for scene, one in found.items() if scene.in_blocks]
    yield Aim(
        f"nothing changed, in blocks: least of {len(blocks)} rates of REGRESSED, which alternating avoids, %",
        percent_text(min(blocks), 1),
        f"> {_percent(_BLOCKS_LEAST)}",
        min(blocks) > _BLOCKS_LEAST,
    )
    large = [one for scene, one in found.items() if (scene.change, scene.cv) == (_SHIFT_OF_AIM, _CV)]
    yield from _power(large)


def _power(large: Sequence[Found]) -> Iterator[Aim]:
    shift, cases = _percent(_SHIFT_OF_AIM), f"{len(large)} cases"
    least = min(one.shares[REGRESSED] for one in large)
    pairs = max(one.mean_pairs for one in large)
    yield Aim(
        f"+{shift} %: least share found in {cases}, %",
        percent_text(least, 1),
        f"≥ {_percent(_FOUND_LEAST)}",
        least >= _FOUND_LEAST,
    )
    yield Aim(
        f"+{shift} %: greatest mean number of pairs in {cases}",
        f"{pairs:.2f}",
        f"≤ {_PAIRS_MOST:g} (a test has at least {PAIRS_LEAST})",
        pairs <= _PAIRS_MOST,
    )


def _metrics_text(scene: Scene) -> str:
    if scene.alike is None:
        return "one, threshold 10 %"
    return "all, independent" if scene.alike == 0 else f"all, {_percent(scene.alike)} % of noise in common"


def _order_text(scene: Scene) -> str:
    return "A…A B…B" if scene.in_blocks else "random"


def _percent(ratio: float) -> str:
    return percent_text(ratio, 0)
