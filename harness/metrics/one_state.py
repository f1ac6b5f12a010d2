"""Compares the reported numbers of any part of the window with those of any other: is it one state of the system?

A number is a ratio of two sums: elapsed time to samples, errors to samples, samples to seconds. A run is in one state
when each number is about the same in any part of a third or more. The parts differ when the greatest number of a third
and the least differ by more than a limit, and by more than chance.

What chance makes of an average or a rate is estimated from the series itself: `noise_fit`. Shares (errors, slow
samples, labels) are counts: `share_scan`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from harness.base import units
from harness.metrics.batches import Batches
from harness.metrics.extremes import Extremes, extremes
from harness.metrics.interval import Interval
from harness.metrics.load_seconds import each, spells_of, sum_of
from harness.metrics.share_scan import share_ratio
from harness.metrics.steadiness import WindowChange, find_change, find_level
from harness.metrics.timeline import SecondFigures, seconds_by_users

# Shares differ by at least so much, and by this share of the greater.
SHARE_LEAST, SHARE_RATIO = 0.01, 0.2
# Those of labels by more: there are many, and users who go through a plan together make waves.
MIX_LEAST, LABEL_ERRORS_LEAST, CODES_LEAST = 0.05, 0.05, 0.1
# Labels have several codes, and those of data or of a cache come in bursts.
_CODES_CLEARER = 1.6
_LABELS_MOST = 20
# JMeter's times are whole ms: averages of thirds that differ by a tenth of one, and percentiles by one, are the same.
AVERAGE_LEAST_MS, _P95_LEAST_MS = 0.1, 1.0
# A number in short messages gets another digit, as from 9 to 10.
_BYTES_LEAST = 1.5
# Requests in flight differ by this ratio; a queue that is served has few of them in this share of the seconds.
_FLIGHT_RATIO, _FLIGHT_BACK_RATIO, _FEW_IN_FLIGHT, _FLIGHT_LEAST_S = 1.5, 0.15, 2.5, 50
# Or they differ by this ratio, and there are never few in the part with most.
_FLIGHT_MUCH_RATIO = 8.0
# Of 4,000 simulated queues (M/M/1, 95 % busy, 20 arrivals per s, 2 and 5 minutes) none had more than 34 times as many.
_EIGHTHS_RATIO = 100
# By this share more wait in each second at the end than in any at the beginning.
_HANGING_RATIO = 0.05
# The users of a closed load are the same in this share of the seconds.
_CONSTANT_RATIO = 0.9
# Series of more seconds (28 hours) are judged in cells of several.
_CELLS_MOST = 50_000
_DECIMALS_MORE = 2
_P95, _ERRORS = "p95", "share of errors"


@dataclass(frozen=True)
class WindowFigure:
    """A reported number as a ratio of two sums: `amounts` and `weights` have a value per cell, in order of time.

    `text` formats the number, with so many decimals more than it usually has. A share counts samples of a kind among
    all; a count is a number of samples. A number differs by more than `least`. The cells are batches where they are few
    and have many samples, else `cell_s` long. A share must be `clearer` by this factor.
    """

    name: str
    amounts: Sequence[float]
    weights: Sequence[float]
    text: Callable[[float, int], str]
    is_share: bool = False
    is_count: bool = False
    is_batches: bool = False
    least: float = 0.0
    cell_s: float = 1.0
    clearer: float = 1.0


@dataclass(frozen=True)
class StateChange:
    """A number that is not the same in all parts, and how it changes: positions are in cells."""

    figure: WindowFigure
    change: WindowChange

    def text(self, from_s: int = 0, cell_s: float | None = None) -> str:
        """Return the sentence for people; cells last `cell_s` seconds (the figure's), the first begins at `from_s`."""
        return f"the {self.figure.name} depends on when you look: {self.when(from_s, cell_s)}"

    def when(self, from_s: int = 0, cell_s: float | None = None) -> str:
        """Return which values the number has, and when."""
        change, length_s = self.change, self.figure.cell_s if cell_s is None else cell_s
        before, after = _apart(self.figure.text, change.before, change.after)

        def second(cell: int) -> int:
            return round(from_s + cell * length_s)

        if change.parts:
            first, last = (f"from {second(part.from_s)} to {second(part.to_s)} s" for part in change.parts)
            return f"{before} {first}, {after} {last}"
        if change.until_s is not None:
            return f"{after} from {second(change.at_s)} to {second(change.until_s)} s, otherwise {before}"
        return f"{before} before {second(change.at_s)} s, {after} after"


def window_difference(seconds: Sequence[SecondFigures], *, is_open: bool) -> StateChange | None:
    """Return the first reported number of a series of seconds that is not one of one state; None when all are.

    Failures come first: they are worse than other times and rates, which often follow from them. With `is_open`
    requests do not wait for answers.
    """
    is_free = is_open or not _are_users_constant(seconds)
    average, *_ = figures = _figures_in_cells(seconds)
    memory = _memory(average)
    found = (find_difference(figure, is_open=is_free, memory_s=memory) for figure in _errors_first(figures))
    return next((one for one in found if one), None)


def _errors_first(figures: Iterable[WindowFigure]) -> list[WindowFigure]:
    return sorted(figures, key=lambda figure: not figure.name.startswith(_ERRORS))


def _memory(average: WindowFigure) -> float:
    """Return for how many cells requests that wait for each other resemble each other: a response time."""
    return sum(average.amounts) / max(1.0, sum(average.weights)) / units.MS_PER_S / average.cell_s


def flight_difference(seconds: Sequence[SecondFigures], *, is_open: bool) -> StateChange | None:
    """Return how the requests in flight grow; None where they are always as many, or return to their usual number.

    A queue above its capacity has no average, but its noise resembles itself for so long that chance explains any
    growth. So the sign is another one: a queue that is served returns to nearly nothing again and again. With a closed
    load, requests that are never answered wait in each of the last seconds.
    """
    if len(seconds) < _FLIGHT_LEAST_S:
        return None
    return _queue_growth(seconds) if is_open else _hanging(seconds)


def _queue_growth(seconds: Sequence[SecondFigures]) -> StateChange | None:
    numbers = [one.waiting_count + min(float(one.sample_count), one.elapsed_sum_ms / units.MS_PER_S) for one in seconds]
    figure = WindowFigure("number of requests in flight", numbers, [1.0] * len(numbers), _number_text)
    parts = extremes(figure.amounts, figure.weights)
    if parts is None or parts.greatest + 1 < _FLIGHT_RATIO * (parts.least + 1):
        return None
    first, later = numbers[: len(numbers) // 10], numbers[len(numbers) // 4 :]
    usual = min(max(_FEW_IN_FLIGHT, fmean(first)), fmean(numbers) / 4 + 2)
    is_back = sum(number <= usual for number in later) >= _FLIGHT_BACK_RATIO * len(later)
    is_much = parts.greatest + 1 >= _FLIGHT_MUCH_RATIO * (parts.least + 1)
    is_there = is_much and min(numbers[parts.greatest_in.from_s : parts.greatest_in.to_s]) > usual
    if is_back and not is_there and not _has_other_eighths(numbers):
        return None
    return StateChange(figure, WindowChange.of(parts))


def _has_other_eighths(numbers: Sequence[float]) -> bool:
    """Return whether an eighth of the time has so many more requests in flight than another that chance is excluded."""
    size = len(numbers) // 8
    eighths = [fmean(numbers[at * size : (at + 1) * size]) for at in range(8)]
    return max(eighths) > _EIGHTHS_RATIO * max(1.0, min(eighths))


def _hanging(seconds: Sequence[SecondFigures]) -> StateChange | None:
    waiting, quarter = each(seconds, lambda second: second.waiting_count), len(seconds) // 4
    first, last = waiting[:quarter], waiting[-quarter:]
    most = max(spell.value for spell in spells_of(first))
    if min(spell.value for spell in spells_of(last)) < most + max(1, _HANGING_RATIO * most):
        return None
    figure = WindowFigure("number of requests without an answer", waiting, (), _number_text)
    parts = Interval(0, quarter), Interval(len(waiting) - quarter, len(waiting))
    before, after = (sum_of(part) / quarter for part in (first, last))
    return StateChange(figure, WindowChange(0, before, after, parts=parts))


def batch_difference(total: Batches | None, labels: Mapping[str, Batches]) -> StateChange | None:
    """Return the first number of the batches that differs between parts: errors, bytes, p95, labels, codes.

    `labels` are those of the labels of the load. Cells are batches.
    """
    if total is None:
        return None
    figures, memory = _errors_first(_figures_of_batches(total, labels)), _memory_of_batches(total)
    count = sum(not figure.is_share for figure in figures)
    found = (find_difference(figure, is_open=True, memory_s=memory, series_count=count) for figure in figures)
    return next((one for one in found if one), None)


def _memory_of_batches(total: Batches) -> float:
    """Return for how many batches requests that wait for each other resemble each other: a response time."""
    known = [average_ms for average_ms in total.average_ms if average_ms is not None]
    return fmean(known) / units.MS_PER_S / total.length_s if known else 0.0


def _figures_of_batches(total: Batches, labels: Mapping[str, Batches]) -> Iterator[WindowFigure]:
    counts = [float(count) for count in total.sample_count]
    yield from _size(total, "responses")
    p95_ms = [value for value in total.percentiles_ms.get("95", ()) if value is not None]
    if len(p95_ms) == len(counts):
        ones = [1.0] * len(p95_ms)
        yield WindowFigure(_P95, list(map(float, p95_ms)), ones, _ms_text, is_batches=True, least=_P95_LEAST_MS)
    often = sorted(labels, key=lambda label: -sum(labels[label].sample_count))[:_LABELS_MOST]
    for label in often:
        own = [float(count) for count in labels[label].sample_count]
        # Where the shares of all others stay the same, so does that of the most frequent one.
        for code, amounts in [*labels[label].codes.items()][1:]:
            having, name = list(map(float, amounts)), f"share of {code or 'no code'} in {label}"
            yield WindowFigure(name, having, own, _share_text, is_share=True, least=CODES_LEAST, clearer=_CODES_CLEARER)
        if sum(own) == sum(counts):
            continue
        yield from _size(labels[label], label) if all(own) else ()
        yield WindowFigure(f"share of {label}", own, counts, _share_text, is_share=True, least=MIX_LEAST)
        averages_ms = [average_ms for average_ms in labels[label].average_ms if average_ms is not None]
        if len(averages_ms) == len(counts):
            ones = [1.0] * len(averages_ms)
            name, least = f"average of {label}", AVERAGE_LEAST_MS
            yield WindowFigure(name, averages_ms, ones, _average_text, is_batches=True, least=least)
        errors = [float(count) for count in labels[label].error_count]
        yield WindowFigure(f"{_ERRORS} of {label}", errors, own, _share_text, is_share=True, least=LABEL_ERRORS_LEAST)


def _size(batches: Batches, name: str) -> Iterator[WindowFigure]:
    """Yield the size of responses, if it is known in all batches."""
    sizes = [float(size_bytes) for size_bytes in batches.received_bytes if size_bytes is not None]
    if sizes and len(sizes) == len(batches.sample_count):
        counts = [float(count) for count in batches.sample_count]
        yield WindowFigure(f"size of {name}", sizes, counts, _bytes_text, is_batches=True, least=_BYTES_LEAST)


def response_difference(seconds: Sequence[SecondFigures], *, is_open: bool) -> StateChange | None:
    """Return how the average response time differs between parts; None when it does not."""
    average, *_ = _figures_in_cells(seconds)
    is_free = is_open or not _are_users_constant(seconds)
    return find_difference(average, is_open=is_free, memory_s=_memory(average))


def average_extremes(seconds: Sequence[SecondFigures]) -> Extremes | None:
    """Return the thirds of a series of seconds with the least and the greatest average (ms); None without samples."""
    average, *_ = _figures_in_cells(seconds)
    return extremes(average.amounts, average.weights)


def _figures_in_cells(seconds: Sequence[SecondFigures]) -> tuple[WindowFigure, ...]:
    return figures_of(seconds, max(1, len(seconds) // _CELLS_MOST))


def figures_of(seconds: Sequence[SecondFigures], cell_s: int = 1) -> tuple[WindowFigure, ...]:
    """Return average, errors and throughput of a series of seconds, in cells of so many; a last part of one is left."""
    count = len(seconds) // cell_s
    counts, sums_ms, errors = ([0.0] * count for _ in range(3))
    for from_s, _, second in spells_of(seconds[: count * cell_s]):
        if second.sample_count:
            cell = from_s // cell_s
            counts[cell] += second.sample_count
            sums_ms[cell] += second.elapsed_sum_ms
            errors[cell] += second.error_count
    return (
        WindowFigure("average", sums_ms, counts, _average_text, least=AVERAGE_LEAST_MS, cell_s=cell_s),
        WindowFigure(_ERRORS, errors, counts, _share_text, is_share=True, least=SHARE_LEAST, cell_s=cell_s),
        WindowFigure("throughput", counts, [float(cell_s)] * count, _rate_text, is_count=True, cell_s=cell_s),
    )


def find_difference(
    figure: WindowFigure, *, is_open: bool, memory_s: float = 0.0, series_count: int = 1
) -> StateChange | None:
    """Return the parts between which a number differs by more than the limit and more than chance; None without.

    Requests that wait for each other resemble each other for `memory_s`, or so many batches. So many series of batches
    are looked at.
    """
    if not sum(figure.weights):
        return None
    if figure.is_share:
        return _share_difference(figure)
    values = [
        amount / weight if weight else None for amount, weight in zip(figure.amounts, figure.weights, strict=True)
    ]
    if figure.is_batches:
        known, are_means = [value for value in values if value is not None], figure.name != _P95
        change = find_level(known, series_count, are_means, memory_s, figure.least)
    else:
        sample_count = sum(figure.amounts if figure.is_count else figure.weights)
        change = find_change(
            values, sample_count / len(values), are_counts=figure.is_count, is_open=is_open, memory_s=memory_s,
            least=figure.least,
        )  # fmt: skip
    return StateChange(figure, change) if change else None


def _share_difference(figure: WindowFigure) -> StateChange | None:
    parts = extremes(figure.amounts, figure.weights)
    if parts is None or parts.greatest - parts.least < max(figure.least, SHARE_RATIO * parts.greatest):
        return None
    if share_ratio(figure.amounts, figure.weights) <= figure.clearer:
        return None
    return StateChange(figure, WindowChange.of(parts))


def _are_users_constant(seconds: Sequence[SecondFigures]) -> bool:
    """Return whether nearly all seconds have the same number of active users."""
    lasted = seconds_by_users(seconds)
    return bool(lasted) and max(lasted.values()) >= _CONSTANT_RATIO * lasted.total()


def _apart(text: Callable[[float, int], str], *values: float) -> tuple[str, ...]:
    """Return values as text, with as many decimals as they need to differ."""
    texts = [tuple(text(value, more) for value in values) for more in range(_DECIMALS_MORE + 1)]
    return next((some for some in texts if len(set(some)) == len(values)), texts[0])


def _ms_text(value_ms: float, more: int) -> str:
    return f"{value_ms:.{more}f} ms"


def _average_text(value_ms: float, more: int) -> str:
    """Return an average with the decimals of a table of results, or more."""
    return f"{value_ms:.{more}f} ms" if more else f"{units.average_text(value_ms)} ms"


def _rate_text(rate_per_s: float, more: int) -> str:
    return f"{rate_per_s:.{1 + more}f}/s"


def _share_text(share: float, more: int) -> str:
    return f"{units.percent_text(share, 1 + more)} %"


def _bytes_text(size_bytes: float, more: int) -> str:
    return f"{size_bytes:,.{more}f} bytes"


def _number_text(value: float, more: int) -> str:
    return f"{value:.{more}f} requests"
