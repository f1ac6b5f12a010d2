"""Change points of a series, and that they are those of Apache Otava."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.history.change_points import change_points

# Ten values about 100, half of them 2 off.
CALM = (100, 102, 98, 101, 99, 100, 102, 98, 101, 99)


def series(*factors):
    return [value * factor for factor in factors for value in CALM]


def test_a_change_is_found_where_it_begins_with_the_means_on_both_sides():
    (change,) = change_points(series(1, 1, 1.2))
    assert change.index == 20
    assert (change.before, change.after) == (pytest.approx(100), pytest.approx(120))
    assert change.ratio == pytest.approx(0.2)
    # t = 20 / sqrt(pooled variance · (1/20 + 1/10)): variances 2 and 2.88, (19·2 + 9·2.88)/28 = 2.283, so t = 34.2
    # with 28 degrees of freedom
    assert change.p_value < 1e-20


def test_several_changes_are_found_first_to_last():
    assert [change.index for change in change_points(series(1, 1, 1.2, 1.2, 0.9, 0.9))] == [20, 40]


def test_a_change_below_the_least_ratio_is_not_reported():
    values = series(1, 1, 1.04, 1.04)
    assert change_points(values) == ()
    assert [change.index for change in change_points(values, least_ratio=0.03)] == [20]


@pytest.mark.parametrize("values", [[], [5], [5, 9], [5, 5, 5, 5], series(1), series(1, 1, 1, 1, 1, 1)])
def test_a_series_without_a_change_has_none(values):
    assert change_points(values) == ()


def test_values_that_never_vary_change_when_they_do():
    (change,) = change_points([0] * 6 + [3] * 6)
    assert (change.index, change.before, change.after, change.p_value, change.ratio) == (6, 0, 3, 0, None)


def test_otava_finds_the_same():
    # What Apache Otava 0.8.0 says of these values: analyze --output json -P 0.001 -M 0.05 (scripts/check-otava).
    texts = (
        "100 104 104 98 99 98 102 100 102 94 105 100 102 100 99 101 102 99 111 114 "
        "109 107 113 110 106 109 110 108 107 112 115 111 94 97 98 95 98 99 95 94 "
        "97 97 99 92 94 94 91 96 98 94 100 98 105 104 106 99 105 105"
    )
    values = [int(text) for text in texts.split()]
    found = [(change.index, round(change.before, 6), round(change.after, 6)) for change in change_points(values)]
    assert found == [(18, 100.5, 110.142857), (32, 110.142857, 96.0), (52, 96.0, 104.0)]


@pytest.mark.real
@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(0.5, 2.0), max_size=80))
def test_changes_do_not_depend_on_the_unit(values):
    plain = [change.index for change in change_points(values)]
    # A power of two scales without rounding, so that ties stay ties.
    assert [change.index for change in change_points([value * 8 for value in values])] == plain


def test_changes_are_farther_apart_than_the_removed_ones():
    values = series(1, 1.2, 1.2, 0.9)
    for change in change_points(values):
        assert change.p_value < 0.001
        assert abs(change.ratio) > 0.05 / 1.05
