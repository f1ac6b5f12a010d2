import pytest

from harness.base import units
from harness.base.errors import UsageError


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        *(("90", 90), ("90s", 90), ("2m", 120), ("1h30m", 5400), ("4h", 14400), ("1.5m", 90), ("0", 0), ("500ms", 0.5)),
        *(("31:00", 1860), ("0:07", 7), ("90:00", 5400), ("1:09:20", 4160)),
    ],
)
def test_a_duration_is_read_in_the_usual_spellings(text, seconds):
    assert units.parse_duration_s(text, "--duration") == seconds


@pytest.mark.parametrize("text", ["", "abc", "-5", "10x", "s", "5 5 y", "1:60", ":30", "1:2", "1:2:3:4"])
def test_an_invalid_duration_is_refused_with_its_name(text):
    with pytest.raises(UsageError, match="--duration="):
        units.parse_duration_s(text, "--duration")


@pytest.mark.parametrize("text", ["0", "-1", "abc", "1e9", "1000000000", "5.0", ""])
def test_users_outside_the_range_are_refused(text):
    with pytest.raises(UsageError, match=r"--users=.*not a whole number from 1 to 100000"):
        units.parse_whole_number(text, "--users", 1, 100_000)


@pytest.mark.parametrize("text", ["0", "-3", "nan", "inf", "many"])
def test_a_rate_must_be_a_positive_number(text):
    with pytest.raises(UsageError, match="--rate="):
        units.parse_number(text, "--rate", 0.0, 1000.0)


def test_the_seeds_error_fraction_becomes_a_true_percentage():
    assert units.percent_text(0.19357) == "19.36"


def test_a_missing_metric_is_an_empty_cell_and_never_zero():
    assert [units.ms_text(None), units.rate_text(None), units.kb_text(None), units.percent_text(None)] == [""] * 4


def test_bytes_per_second_are_printed_as_kb_of_1024():
    assert units.kb_text(6410.24) == "6.26"


@pytest.mark.parametrize(("seconds", "text"), [(7, "0:07"), (100, "1:40"), (3723, "1:02:03")])
def test_elapsed_time_is_printed_as_a_clock(seconds, text):
    assert units.clock_text(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(45, "45 s"), (100, "1 min 40 s"), (120, "2 min"), (14400, "4 h 0 min"), (0.5, "0.5 s")]
)
def test_a_duration_is_printed_in_its_natural_units(seconds, text):
    assert units.duration_text(seconds) == text


@pytest.mark.parametrize(
    ("average_ms", "text"),
    [
        (0.0, "0.00"), (0.748, "0.75"), (1.38, "1.38"), (9.994, "9.99"), (9.996, "10"), (10.4, "10"), (563.2, "563"),
        (None, ""),
    ],
)  # fmt: skip
def test_an_average_below_10_ms_has_decimals(average_ms, text):
    assert units.average_text(average_ms) == text


@pytest.mark.parametrize("text", ["yesterday", "2026-13-01", "1.11.2026"])
def test_since_is_a_date(text):
    assert units.parse_date("2026-11-01", "--since") == "2026-11-01"
    with pytest.raises(UsageError, match=f"--since {text}: not a date"):
        units.parse_date(text, "--since")


@pytest.mark.parametrize(
    ("ratio", "text"), [(0.1087, "+10.87"), (-0.0059, "-0.59"), (0.00001, "0.00"), (-0.00001, "0.00"), (None, "")]
)
def test_changes_have_a_sign_and_two_decimals(ratio, text):
    assert units.signed_percent(ratio) == text
