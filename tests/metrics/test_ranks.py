"""Exact tests over ranks: by hand for two and three values, against SciPy for more."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.metrics.ranks import adjusted_p_values, least_p_value, p_value, shift, shift_interval


@pytest.mark.parametrize(
    ("base", "new", "expected"),
    [
        ([1, 2, 3], [4, 5, 6], 2 / 20),
        ([4, 5, 6], [1, 2, 3], 2 / 20),
        ([1, 2, 3, 4, 5], [6, 7, 8, 9, 10], 2 / 252),
        ([1, 4], [2, 3], 1.0),
        ([1], [2], 1.0),
        ([5, 5, 5], [5, 5, 5], 1.0),
        # Ranks 1, 2.5, 2.5, 4: sums of two are 3.5, 3.5, 5, 5, 6.5, 6.5, four of six are 1.5 from 5.
        ([1, 2], [2, 3], 4 / 6),
    ],
)
def test_the_p_value_is_the_share_of_orders_at_least_as_extreme(base, new, expected):
    assert p_value(base, new) == pytest.approx(expected, abs=1e-12)


def test_groups_of_five_can_be_significant_and_groups_of_three_cannot():
    assert least_p_value(3, 3) == pytest.approx(0.1)
    assert least_p_value(5, 5) == pytest.approx(0.0079365, abs=1e-7)


def test_the_shift_is_the_median_of_all_differences():
    # 2-1, 2-2, 2-3, 4-1, 4-2, 4-3, 6-1, 6-2, 6-3: -1, 0, 1, 1, 2, 3, 3, 4, 5.
    assert shift([1, 2, 3], [2, 4, 6]) == 2


def test_the_interval_matches_the_table_of_critical_values():
    # Critical values of U at 5 % two-sided: none at 3 v 3, 0 at 4 v 4, 2 at 5 v 5, 23 at 10 v 10.
    assert shift_interval([1, 2, 3], [7, 8, 9], 0.95) is None
    assert shift_interval([0, 1, 2, 3], [10, 20, 30, 40], 0.95) == (7, 40)
    ten = [0.0] * 10
    hundred = sorted(float(value) for value in range(10))
    assert shift_interval(ten[:5], hundred[:5], 0.95) == (0, 4)  # each of 0 to 4 five times: the 3rd from each end
    assert shift_interval(ten, hundred, 0.95) == (2, 7)  # each of 0 to 9 ten times: the 24th from each end


@pytest.mark.parametrize(("base_n", "new_n"), [(2, 5), (4, 4), (5, 8), (10, 10), (20, 20)])
@pytest.mark.real
def test_p_values_agree_with_scipy(base_n, new_n):
    from scipy.stats import mannwhitneyu

    random = np.random.default_rng(base_n * new_n)
    for offset in (0.0, 0.5, 2.0):
        base, new = random.normal(size=base_n).tolist(), random.normal(offset, size=new_n).tolist()
        assert p_value(base, new) == pytest.approx(mannwhitneyu(base, new, method="exact").pvalue, rel=1e-9)


@pytest.mark.real
def test_p_values_of_large_groups_with_ties_agree_with_scipy():
    from scipy.stats import mannwhitneyu

    random = np.random.default_rng(1)
    base, new = random.integers(0, 30, 25).tolist(), random.integers(5, 35, 30).tolist()
    assert p_value(base, new) == pytest.approx(mannwhitneyu(base, new, method="asymptotic").pvalue, rel=1e-9)
    assert p_value([3] * 25, [3] * 25) == 1.0


def test_intervals_of_large_groups_are_near_the_exact_ones():
    random = np.random.default_rng(2)
    base, new = random.normal(size=21).tolist(), random.normal(1.0, size=21).tolist()
    # Critical value of U at 21 v 21: 441/2 - 1.96 * sqrt(441 * 43 / 12) = 142.6, so the 142nd from each end.
    differences = sorted(after - before for after in new for before in base)
    assert shift_interval(base, new, 0.95) == (differences[141], differences[-142])


def test_adjusted_p_values_are_those_of_benjamini_and_hochberg():
    # 0.005 * 4 / 1, 0.01 * 4 / 2, 0.03 * 4 / 3, 0.04 * 4 / 4.
    assert adjusted_p_values([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.02, 0.04, 0.04, 0.02])
    # 0.03 * 3 / 2 is more than 0.04 * 3 / 3, which it must not exceed.
    assert adjusted_p_values([0.03, 0.04, 0.001]) == pytest.approx([0.04, 0.04, 0.003])
    assert adjusted_p_values([]) == []


_VALUES = st.lists(st.integers(0, 6), min_size=1, max_size=6)


@given(_VALUES, _VALUES)
def test_exchanging_the_sides_changes_only_the_sign(base, new):
    assert p_value(base, new) == pytest.approx(p_value(new, base))
    assert 0 < p_value(base, new) <= 1
    assert shift(base, new) == -shift(new, base)


@given(_VALUES, _VALUES)
def test_the_p_value_is_that_of_all_permutations(base, new):
    from itertools import combinations

    everything = [*new, *base]
    ranks = [
        sum(other < value for other in everything) + (sum(other == value for other in everything) + 1) / 2
        for value in everything
    ]
    centre = len(new) * (len(everything) + 1) / 2
    observed = abs(sum(ranks[: len(new)]) - centre)
    deals = [abs(sum(deal) - centre) >= observed for deal in combinations(ranks, len(new))]
    assert p_value(base, new) == pytest.approx(sum(deals) / len(deals))
