"""A long run with few samples is read by its samples, not by its seconds, and has the numbers of all seconds."""

import random
import time
from pathlib import Path

import pytest

from harness.jtl.inputs import resolve
from harness.metrics.load_seconds import LoadSeconds, each, spells_of, sum_of
from harness.metrics.timeline import SecondSeries, Source, total
from harness.metrics.window import STEADY, WindowSpec, find_window, parse_window
from harness.report.jtls import Counting, summary_of_jtls
from tests.support.counting import HEAD


def test_spells_are_the_seconds_of_a_list():
    values = [0] * 5 + [7] + [0] * 4 + [3]
    sparse = LoadSeconds([0, 5, 6, 10], [0, 7, 0, 3], 11)
    assert [*sparse] == values and [sparse[at] for at in range(-11, 11)] == values + values
    for begin in range(11):
        for end in range(begin, 12):
            assert [*sparse[begin:end]] == values[begin:end]
    assert [*spells_of(sparse)] == [(0, 5, 0), (5, 6, 7), (6, 10, 0), (10, 11, 3)]
    assert sum_of(sparse) == 10 and [*each(sparse, str)] == [str(value) for value in values]
    with pytest.raises(IndexError):
        sparse[11]


def series_of(rows, gaps_s, seed):
    """Return a series whose rows are so many seconds apart, from two load generators, some of them slow."""
    found, chance, at_ms = SecondSeries(), random.Random(seed), 1_000_000
    for number in range(rows):
        at_ms += round(chance.expovariate(1 / gaps_s) * 1000) + 100
        elapsed_ms = chance.choice([40, 70, 20_000])
        found.add(at_ms, elapsed_ms, 1, number % 9 == 0, number % 7 or None, Source(number % 2, ""))
    return found


@pytest.mark.real
@pytest.mark.parametrize("seed", range(8))
def test_a_sparse_series_has_the_seconds_of_a_dense_one(seed, monkeypatch):
    series = series_of(30, 400, seed)
    span_s = series.seconds.span_s
    for first_s, last_s in ((span_s.first_s - 5, span_s.last_s + 3), (span_s.first_s + 3000, span_s.last_s - 500)):
        sparse = series.by_second(first_s, last_s)
        with monkeypatch.context() as patch:
            patch.setattr("harness.metrics.timeline._SPARSE_ONE_IN", 10**9)
            dense = series.by_second(first_s, last_s)
        assert isinstance(sparse, LoadSeconds) and isinstance(dense, list)
        assert [*sparse] == dense and total(sparse) == total(dense)
        assert find_window(WindowSpec(STEADY), sparse) == find_window(WindowSpec(STEADY), dense)


@pytest.mark.parametrize("each_s", [9, 16, 60, 600])
def test_a_series_with_a_row_every_so_many_seconds_is_sparse(each_s):
    series = SecondSeries()
    for number in range(200):
        series.add(1_000_000 + 1000 * each_s * number, 40, 1, 0, 5, Source(0, ""))
    span_s = series.seconds.span_s
    assert isinstance(series.by_second(span_s.first_s, span_s.last_s), LoadSeconds)
    assert len(series.seconds) == sum(1 for _ in series.seconds) == 200


def file_over(span_s: int, path: Path) -> Path:
    """Return a JTL of 3,000 rows that are spread over so many seconds, from five users."""
    chance = random.Random(1)
    ends_ms = sorted(chance.randrange(1000 * span_s) for _ in range(3000))
    lines = (
        b"%d,%d,L%d,200,Users 1-%d,true,500,5,1,0\n" % (1_700_000_000_000 + end_ms, 50 + at % 99, at % 3, 1 + at % 5)
        for at, end_ms in enumerate(ends_ms)
    )
    path.write_bytes(HEAD + b"".join(lines))
    return path


@pytest.mark.counterpart
@pytest.mark.parametrize(("window", "most"), [pytest.param("all", 4.0, marks=pytest.mark.counterpart), ("steady", 4.0)])
def test_rows_over_25_days_take_about_the_time_of_rows_over_an_hour(window, most, tmp_path):
    hour, days = (resolve([str(file_over(span_s, tmp_path / f"{span_s}.jtl"))]) for span_s in (3600, 25 * 86_400))
    counting = Counting(window=parse_window(window))

    def cpu_s(inputs) -> float:
        began_s = time.process_time()
        codes = summary_of_jtls(inputs, counting).codes
        assert sum(code.sample_count for code in codes) == 3000
        return time.process_time() - began_s

    least_s = [min(each) for each in zip(*((cpu_s(hour), cpu_s(days)) for _ in range(4)), strict=True)]
    print(f"{window}: {least_s[0]:.3f} s over an hour, {least_s[1]:.3f} s over 25 days")
    assert least_s[1] <= most * least_s[0]
