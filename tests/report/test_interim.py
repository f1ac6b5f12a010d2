"""The interim table of a run, as it is printed."""

import io

import pytest
from rich.console import Console

from harness.report.screen import show_interim
from harness.run.jmeter.interim import InterimFigures
from tests.support.factories import failed, sample, tally_of


@pytest.fixture
def printed(monkeypatch):
    """Return the printed lines for samples of which `read_ratio` of the rows were read."""
    monkeypatch.setenv("COLUMNS", "100")

    def lines_of(samples, read_ratio=1.0):
        out = io.StringIO()
        figures = InterimFigures(tally_of(samples).groups(), 20.0, read_ratio)
        show_interim(Console(file=out, width=100), figures)
        return out.getvalue().splitlines()

    return lines_of


def pays(count=20, step_ms=1000):
    """Return 19 samples of 100 ms and one of 1000 ms, one a second; the last one ends 20 s after the first start."""
    return [sample("Pay", 100 if index < count - 1 else step_ms, index * step_ms) for index in range(count)]


def test_the_table_has_the_columns_of_the_last_one_and_is_called_interim(printed):
    assert printed(pays()) == [
        "",
        "Interim results after 20 s of load, ramp-up and warm-up included; the report at the end excludes them.",
        "",
        "                     p50  p95   max  errors",
        "label  count  req/s   ms   ms    ms       %",
        "─" * 43,
        "Pay       20   1.00  100  100  1000    0.00",
        "TOTAL     20   1.00  100  100  1000    0.00",
        "",
    ]


def test_the_rates_of_labels_are_those_of_the_same_time_and_add_up_to_total(printed):
    # 20 s: Pay throughout, and Log in four times within the first second, which would be 4 per s of its own time.
    log_in = [sample("Log in", 100, 300 * index) for index in range(4)]
    rows = {line.split("  ")[0].strip(): line.split()[-5] for line in printed([*log_in, *pays()])[6:9]}
    assert rows == {"Log in": "0.20", "Pay": "1.00", "TOTAL": "1.20"}


def test_counts_and_rates_of_a_part_of_the_rows_are_scaled_up_and_called_an_estimate(printed):
    lines = printed(pays(), read_ratio=0.1)
    assert lines[2] == "Estimated from 10.00 % of the samples, so that counting does not slow JMeter down."
    assert lines[-2].split() == ["TOTAL", "200", "10.00", "100", "100", "1000", "0.00"]


def test_errors_are_marked_as_in_the_last_table(printed):
    lines = printed([*pays(19), failed("Pay", start_ms=19_000)])
    assert "! errors" in lines
    assert lines[-3].split()[-1] == "!5.00"
