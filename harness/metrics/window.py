"""Selects the measurement window: the whole run, a given interval, or the steady state.

A sample belongs to the second in which it ended, counted from the first start of the load. The steady state is found in
three steps:

1. Ramp and tail: `full_load`.
2. Warm-up: MSER-5 on the average response time per second, `warm_up_batches`. Of few samples
   it often cuts many by chance: then it cuts fewer, if that changes nothing.
3. A check that MSER-5 cannot make: it looks for a different start, and accepts a run that breaks down near its end.
   Neither response times nor throughput may change within the rest, `steadiness`. If MSER-5 cuts half, its maximum,
   that is no warm-up: then only a start is cut that is far from the rest, and all else must pass.

A run that fails the check, or is too short for it, is not steady: then everything except ramp and tail is counted.

Sources: K. P. White, "An effective truncation heuristic for bias reduction in simulation output", Simulation 69(6),
1997 (MSER); S. C. Spratt, "Heuristics for the startup problem", University of Virginia, 1998 (MSER-5);
`steadiness` lists its own.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from harness.base.errors import UsageError
from harness.base.units import MS_PER_S, parse_duration_s
from harness.metrics.full_load import Drive, full_load_s
from harness.metrics.gaps import find_gaps
from harness.metrics.interval import Interval
from harness.metrics.load_seconds import spells_of
from harness.metrics.timeline import BATCH_S, SecondFigures, total

ALL, STEADY, GIVEN = "all", "steady", "given"
BATCHES_NEEDED = 10
# A shorter interval between ramp-up and tail is not called steady.
STEADY_LEAST_S = BATCHES_NEEDED * BATCH_S
# With fewer samples the 95 % interval of a p90 reaches from the p84 to beyond the p95 (order statistics, binomial).
LEAST_SAMPLES = 100
# Fewer batches are not enough for an average and its spread.
_BATCHES_LEFT = 5
# Where it would cut half, it may find a warm-up, or a cold start, within a quarter.
_SHORT_PART = 4
# A start is far from the rest if MSER is this many times smaller without it.
_COLD_RATIO = 4.0
# Queues may fill for so many response times after the load is full.
_FILLING_RESPONSES = 2
# What is counted is slower by this ratio than what is cut: that is no warm-up. Averages that differ less are the same.
_SLOWER_RATIO = 1.05
# JMeter's times are whole ms: what was slower by less for a while, and is not counted, may be a start of a fast system.
_CLOCK_MS = 1.0
# A shorter pause is one of the runtime.
_STALL_LEAST_S = 3.0
# Users who go on after the end of the last stage for no longer than this, and than this part of the load, only wait for
# their last answers.
_LAST_ANSWERS_S, _LATE_RATIO = 3, 0.02
# How the reason of a window begins of which too few intervals have samples.
_SPARSE = "only"
# After a stall, users leave within this many seconds of the next answers.
_LEAVING_S = 2


@dataclass(frozen=True)
class WindowSpec:
    """The requested window; `from_s` and `to_s` are seconds after the load began, None means the end of the run."""

    kind: str
    from_s: int = 0
    to_s: int | None = None


@dataclass(frozen=True)
class Window:
    """The measurement window: samples that end in from_s <= t < to_s, whole seconds after the load began, count.

    `run_s` is the length of the whole run. The three cuts are 0 unless the kind is steady; of a load with stages, whose
    kind is all, the tail is what its users sent after the last one. `is_steady` is None when it was not checked,
    because the window was given; `reason` explains why it is False. `slow_down` says how the system became slower
    within the excluded warm-up, empty where it did not.
    """

    kind: str
    from_s: int
    to_s: int
    length_s: int
    run_s: int
    ramp_cut_s: int = 0
    warm_up_cut_s: int = 0
    tail_cut_s: int = 0
    is_steady: bool | None = None
    reason: str = ""
    slow_down: str = ""

    @property
    def is_too_short(self) -> bool:
        """Whether too little is left between ramp-up and tail to find out whether it is steady."""
        return self.is_steady is False and self.length_s < STEADY_LEAST_S

    @property
    def is_too_sparse(self) -> bool:
        """Whether too few intervals have samples to find out whether it is steady."""
        return self.is_steady is False and self.reason.startswith(_SPARSE)

    @classmethod
    def whole(cls, run_s: int) -> Window:
        """Return the window of a whole run."""
        return cls(ALL, 0, run_s, run_s, run_s)


class _Cut(NamedTuple):
    """How many batches are cut, and which number of the rest depends on when one looks; "" when it is steady."""

    batch_count: int
    reason: str


STEADY_WINDOW = WindowSpec(STEADY)


def parse_window(text: str) -> WindowSpec:
    """Return the window of `all`, `steady` or `FROM..TO` (30s..2m, ..90, 10..). UsageError for anything else."""
    requested = text.strip().lower()
    if requested in (ALL, STEADY):
        return WindowSpec(requested)
    first, dots, last = (part.strip() for part in requested.partition(".."))
    if not dots or not (first or last):
        raise UsageError(
            f"--window {text}: not a window", "give all, steady, or FROM..TO such as 30s..2m, 10.. or ..90"
        )
    from_s = _whole_seconds(first, "--window FROM") if first else 0
    to_s = _whole_seconds(last, "--window TO") if last else None
    if to_s is not None and to_s <= from_s:
        raise UsageError(f"--window {text}: TO is not after FROM", "give a later TO, or none for the end")
    return WindowSpec(GIVEN, from_s, to_s)


def _whole_seconds(text: str, name: str) -> int:
    seconds = parse_duration_s(text, name)
    if not seconds.is_integer():
        raise UsageError(
            f"{name}={text}: not whole seconds", "windows begin and end at whole seconds: give 2s or 3s, not 2.5s"
        )
    return int(seconds)


def find_window(spec: WindowSpec, seconds: Sequence[SecondFigures], drive: Drive | None = None) -> Window:
    """Return the window of a run. `seconds` has one entry per second since the first start of the load.

    UsageError when a given window begins after the run's end.
    """
    run_s = len(seconds)
    if spec.kind == ALL:
        return Window.whole(run_s)
    if spec.kind == GIVEN:
        if spec.from_s >= run_s:
            raise UsageError(f"--window begins at {spec.from_s} s, but the run ends at {run_s} s", "begin earlier")
        to_s = run_s if spec.to_s is None else min(spec.to_s, run_s)
        return Window(GIVEN, spec.from_s, to_s, to_s - spec.from_s, run_s)
    drive = drive or Drive()
    full = full_load_s(seconds, drive)
    return _steady_window(seconds, full.from_s, _with_stall(seconds, full.to_s), is_open=not drive.users_are_driven)


def window_of_stages(seconds: Sequence[SecondFigures], duration_s: float | None) -> Window:
    """Return the window of a load whose stages last `duration_s`: the whole run, without what users sent long after.

    A user who waits for its turn when the last stage ends, or is within a long iteration, goes on after it.
    """
    run_s = len(seconds)
    to_s = run_s if duration_s is None else min(run_s, math.ceil(duration_s))
    if run_s - to_s <= max(_LAST_ANSWERS_S, _LATE_RATIO * to_s) or _with_stall(seconds, to_s) == run_s:
        return Window.whole(run_s)
    return Window(ALL, 0, to_s, to_s, run_s, tail_cut_s=run_s - to_s)


def describe(window: Window) -> str:
    """Return one line for the report: the measured window, whether it is steady (not why), and what is excluded."""
    if window.length_s == window.run_s:
        measured = f"Measured window: the whole run, {window.run_s} s"
    else:
        measured = f"Measured window: {window.from_s} s to {window.to_s} s of {window.run_s} s"
    if window.is_steady is not None:
        is_untold = window.is_too_short or window.is_too_sparse
        measured += " (steady)" if window.is_steady else " (too short to tell)" if is_untold else " (not steady)"
    cuts = []
    if window.ramp_cut_s:
        cuts.append("first second" if window.ramp_cut_s == 1 else f"ramp-up {window.ramp_cut_s} s")
    if window.warm_up_cut_s:
        cuts.append(f"warm-up {window.warm_up_cut_s} s")
    if window.tail_cut_s:
        cuts.append("last second" if window.tail_cut_s == 1 else f"tail {window.tail_cut_s} s")
    return f"{measured}; excluded: {', '.join(cuts)}." if cuts else f"{measured}."


def warm_up_batches(batch_means: Mapping[int, float], most: int) -> int:
    """Return how many leading batches MSER cuts: 0 to `most`. `batch_means` has those with samples, by number.

    The cut minimises the sum of squared deviations of the remaining means ÷ (their number)²; ties give the shortest
    cut. A batch without samples has no information: it counts in `most`, not in the sum.
    """
    best_cut, best = 0, math.inf
    # Welford's running mean from the end: one pass, and exact for equal values.
    mean, square_sum = 0.0, 0.0
    for count, cut in enumerate(sorted(batch_means, reverse=True), 1):
        value = batch_means[cut]
        deviation = value - mean
        mean += deviation / count
        square_sum += deviation * (value - mean)
        if cut <= most and count >= _BATCHES_LEFT and square_sum / count**2 <= best:
            best_cut, best = cut, square_sum / count**2
    return best_cut


def _steady_window(seconds: Sequence[SecondFigures], from_s: int, to_s: int, *, is_open: bool) -> Window:
    """Return the steady part of the interval of full load; with `is_open` requests do not wait for answers."""
    run_s = len(seconds)
    length_s = to_s - from_s
    if length_s < BATCH_S:
        return Window(STEADY, 0, run_s, run_s, run_s, is_steady=False, reason=_too_short(length_s))
    means, count = _batch_means(seconds[from_s:to_s]), length_s // BATCH_S
    cut = 0
    if count < BATCHES_NEEDED:
        reason = _too_short(length_s)
    elif len(means) < BATCHES_NEEDED:
        reason = f"{_SPARSE} {len(means)} of {count} intervals of {BATCH_S} s contain samples, {BATCHES_NEEDED} needed"
    else:
        cut = _warm_up_cut(seconds[from_s:to_s], means, count)
        full, quarter, least, short = Interval(from_s, to_s), count // _SHORT_PART, 0, 0
        if not _is_interior(means, cut, count // 2):
            short, cut = warm_up_batches(means, quarter), 0
            least = _cold_batches(means, short)
        # While queues fill, responses get slower: MSER-5 does not always cut that, and may cut a warm-up too late.
        cuts = (cut, _filling_batches(seconds, full, means), short if _is_interior(means, short, quarter) else 0)
        cut, reason = _steady_cut(seconds, full, [max(least, one) for one in cuts], is_open=is_open)
        reason = reason or _growth(seconds, full, is_open=is_open)
    warm_up_s = 0 if reason else cut * BATCH_S
    return Window(
        kind=STEADY,
        from_s=from_s + warm_up_s,
        to_s=to_s,
        length_s=length_s - warm_up_s,
        run_s=run_s,
        ramp_cut_s=from_s,
        warm_up_cut_s=warm_up_s,
        tail_cut_s=run_s - to_s,
        is_steady=not reason,
        reason=reason,
        slow_down=_slow_down(seconds, Interval(from_s, to_s), from_s + warm_up_s, is_open=is_open) if warm_up_s else "",
    )


def _steady_cut(seconds: Sequence[SecondFigures], full: Interval, cuts: Sequence[int], *, is_open: bool) -> _Cut:
    """Return the first of some numbers of batches whose cut leaves one state; else the first, and why it leaves none.

    Nothing is cut then, so the text is about the whole interval, if that has no state either.
    """
    reasons: dict[int, str] = {}
    for cut in dict.fromkeys(cuts):
        reasons[cut] = _change(seconds, Interval(full.from_s + cut * BATCH_S, full.to_s), is_open=is_open)
        if not reasons[cut]:
            return _Cut(cut, "")
    if reason := reasons.get(0) or _change(seconds, full, is_open=is_open):
        return _Cut(cuts[0], reason)
    return _Cut(cuts[0], f"{reasons[cuts[0]]} (from {full.from_s + cuts[0] * BATCH_S} s on)")


def _is_interior(means: Mapping[int, float], cut: int, most: int) -> bool:
    """Return whether MSER-5 cut fewer batches than it might: its maximum is no warm-up."""
    return any(cut < at <= most for at in means)


def _cold_batches(means: Mapping[int, float], cut: int) -> int:
    """Return the batches that are cut if they are a start that is far slower than the rest; else 0."""
    first, rest = ([mean for at, mean in means.items() if (at < cut) is is_first] for is_first in (True, False))
    is_slower = bool(first) and _mean(first) > _mean(rest)
    return cut if is_slower and _mser([*first, *rest]) > _COLD_RATIO * _mser(rest) else 0


def _mser(means: Sequence[float]) -> float:
    middle = _mean(means)
    return sum((one - middle) ** 2 for one in means) / len(means) ** 2


def _with_stall(seconds: Sequence[SecondFigures], to_s: int) -> int:
    """Return the end of the run if the system stalled until shortly before `to_s`, else `to_s`.

    Samples that waited through a stall end while users leave: as part of the tail, the stall would not be counted.
    """
    reaches = any(gap.is_waited and gap.from_s < to_s <= gap.to_s + _LEAVING_S for gap in find_gaps(seconds))
    return len(seconds) if reaches else to_s


def _too_short(length_s: int) -> str:
    return f"{max(0, length_s)} s between ramp-up and tail are too short; it takes {STEADY_LEAST_S} s"


def _averages_ms(seconds: Sequence[SecondFigures]) -> list[float]:
    """Return the average response time of each second with samples."""
    filled = (spell.value for spell in spells_of(seconds) if spell.value.sample_count)
    return [second.elapsed_sum_ms / second.sample_count for second in filled]


def _batch_means(seconds: Sequence[SecondFigures]) -> dict[int, float]:
    """Return the averages of the seconds' average response times, by the numbers of the whole batches with samples."""
    averages_ms: dict[int, list[float]] = {}
    end_s = len(seconds) // BATCH_S * BATCH_S
    for from_s, _, second in spells_of(seconds):
        if second.sample_count and from_s < end_s:
            averages_ms.setdefault(from_s // BATCH_S, []).append(second.elapsed_sum_ms / second.sample_count)
    return {batch: _mean(means) for batch, means in averages_ms.items()}


def _warm_up_cut(seconds: Sequence[SecondFigures], means: Mapping[int, float], count: int) -> int:
    """Return how many of so many batches to cut: as MSER-5, or fewer to leave enough samples of the same average."""
    cut = warm_up_batches(means, count // 2)
    left, spare = total(seconds[cut * BATCH_S :]), total(seconds).sample_count - LEAST_SAMPLES
    if left.sample_count >= LEAST_SAMPLES or spare < 0:
        return cut
    most = bisect_right(range(1, cut + 1), spare, key=lambda at: total(seconds[: at * BATCH_S]).sample_count)
    less = warm_up_batches(means, most)
    whole_ms, left_ms = (one.elapsed_sum_ms / one.sample_count for one in (total(seconds[less * BATCH_S :]), left))
    return less if max(whole_ms, left_ms) <= _SLOWER_RATIO * min(whole_ms, left_ms) else cut


def _filling_batches(seconds: Sequence[SecondFigures], full: Interval, means: Mapping[int, float]) -> int:
    """Return in how many batches queues fill; 0 where the run is too short to exclude them, or starts slowly."""
    count = math.ceil(_filling_s(seconds[full.from_s : full.to_s]) / BATCH_S)
    filling, rest = ([mean for at, mean in means.items() if (at < count) is is_first] for is_first in (True, False))
    is_faster = bool(filling and rest) and _mean(filling) < _mean(rest)
    return count if is_faster and len(rest) >= BATCHES_NEEDED else 0


def _filling_s(seconds: Sequence[SecondFigures]) -> int:
    """Return for how long queues may fill after the load is full: for some response times."""
    sums = total(seconds)
    return (
        math.ceil(_FILLING_RESPONSES * sums.elapsed_sum_ms / sums.sample_count / MS_PER_S) if sums.sample_count else 0
    )


def _change(seconds: Sequence[SecondFigures], window: Interval, *, is_open: bool) -> str:
    """Return a text of which number depends on when one looks at the window; "" when it is steady."""
    from harness.metrics.one_state import window_difference  # imported late: only a steady window needs it

    difference = window_difference(seconds[window.from_s : window.to_s], is_open=is_open)
    return difference.text(window.from_s) if difference else ""


def _growth(seconds: Sequence[SecondFigures], full: Interval, *, is_open: bool) -> str:
    """Return a text of how the requests in flight grow from the beginning on; "" where they do not."""
    from harness.metrics.one_state import flight_difference  # imported late: only a steady window needs it

    difference = flight_difference(seconds[full.from_s : full.to_s], is_open=is_open)
    return difference.text(full.from_s) if difference else ""


def _slow_down(seconds: Sequence[SecondFigures], full: Interval, counted_s: int, *, is_open: bool) -> str:
    """Return a text of how the system became slower before `counted_s`; "" where it did not, or started slowly.

    A warm-up gets faster, at once or after light first steps. The cut may also hide that the system became slower, for
    good or for a while. Responses are faster while queues still fill, for about two response times.
    """
    from_s = full.from_s + _filling_s(seconds[counted_s : full.to_s])
    if counted_s - from_s < BATCH_S:
        return ""
    if stall := _stall(seconds, Interval(from_s, counted_s)):
        return stall
    from harness.metrics.one_state import response_difference  # imported late: only a steady window needs it

    difference = response_difference(seconds[from_s : full.to_s], is_open=is_open)
    if difference is None:
        return ""
    change, text = difference.change, f"the {difference.figure.name} was {difference.when(from_s)}"
    cut, counted = (_averages_ms(seconds[begin:end]) for begin, end in ((from_s, counted_s), (counted_s, full.to_s)))
    if cut and counted and _mean(cut) * _SLOWER_RATIO < _mean(counted):
        return text
    is_first_use = change.until_s is not None and change.at_s * difference.figure.cell_s <= BATCH_S
    if is_first_use or change.after < change.before + _CLOCK_MS:
        return ""
    first = _averages_ms(seconds[from_s : from_s + round(change.at_s * difference.figure.cell_s)])
    is_slow_start = (_mean(first) if first else change.before) > math.sqrt(change.before * change.after)
    return "" if is_slow_start else text


def _stall(seconds: Sequence[SecondFigures], warm_up: Interval) -> str:
    """Return a text of the stall in a warm-up that began with answers; "" without one."""
    for gap in find_gaps(seconds):
        if gap.is_waited and gap.length_s >= _STALL_LEAST_S and warm_up.from_s + BATCH_S <= gap.from_s < warm_up.to_s:
            return f"no sample ended from {gap.from_s} to {gap.to_s} s"
    return ""


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
