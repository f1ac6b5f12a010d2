"""Which combinations a designed experiment runs, how often, and in which order."""

import math
import random
from collections import Counter

import numpy as np
import pytest

from harness.base.errors import UsageError
from harness.kinds.tune.design import designs, freedom, repeat_that_finds
from harness.kinds.tune.factors import Factor, parse_factors
from harness.kinds.tune.model import row, term_count


def factors(*sizes: int) -> tuple[Factor, ...]:
    return tuple(Factor(f"f{index}", tuple(map(str, range(size)))) for index, size in enumerate(sizes))


def chosen(*sizes: int, repeat: int | None = None, index: int = 0):
    return list(designs(factors(*sizes), repeat, random.Random(1)))[index]


def test_a_word_of_set_is_a_setting_with_its_values_and_the_first_is_the_baseline():
    assert parse_factors("plugin_threads=30,60,100 'gc=G1, Z'") == (
        Factor("plugin_threads", ("30", "60", "100")),
        Factor("gc", ("G1", "Z")),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", '--set is missing; give the settings with the values to try: --set="plugin_threads=30,60 dao_max_active='),
        ("a=1,2 b=3", "b=3: one value only, so there is nothing to compare; give several, such as b=3,…; a fixed"),
        ("a=1,2,1", "a=1,2,1: a value occurs twice; give each value once"),
        ("a=1,2 a=3,4", "a occurs twice; give all of its values in one word"),
        ("a", 'a is not name=value,value; give --set="'),
        ("a=1,,2", "a=1,,2 is not name=value,value"),
        ("=1,2", "=1,2 is not name=value,value"),
        ("'a=1,2", "'a=1,2: no closing quotation; close the quote"),
    ],
)
def test_a_wrong_word_of_set_is_refused_in_one_line(text, message):
    with pytest.raises(UsageError) as refused:
        parse_factors(text)
    assert str(refused.value).startswith(message)
    assert len(str(refused.value).splitlines()) == 1


def test_few_combinations_all_run_twice_in_two_blocks_with_one_more_baseline_each():
    design = chosen(2, 2, 2)
    assert design.cells[0] == (0, 0, 0)
    assert sorted(design.cells) == [(a, b, c) for a in (0, 1) for b in (0, 1) for c in (0, 1)]
    assert [sorted(block) for block in design.blocks] == [[0, 0, 1, 2, 3, 4, 5, 6, 7]] * 2
    assert (design.repeat, design.run_count) == (2, 18)


def test_blocks_are_in_random_order():
    orders = {next(designs(factors(2, 2, 2), 2, random.Random(seed))).blocks[0] for seed in range(20)}
    assert len(orders) == 20


def test_one_setting_with_two_values_is_repeated_until_the_scatter_is_known():
    # Per block 3 runs; terms: mean and 1 effect, one more per further block. 5 × 3 - 2 - 4 = 9, with four blocks 7.
    assert chosen(2).repeat == 5
    assert freedom(factors(2), 2, 5) == 9
    # 3 × (4 + 1) runs less 4 terms less 2 blocks: 9.
    assert chosen(2, 2).repeat == 3
    assert freedom(factors(2, 2), 4, 3) == 9


def test_too_few_repeats_are_refused():
    # 2 × 3 runs less 2 terms less 1 block: 3 degrees of freedom; once: 3 - 2 = 1.
    assert chosen(2, repeat=2).run_count == 6
    with pytest.raises(
        UsageError, match="--repeat=1 of 2 combinations is too few runs to know the scatter; give --repeat"
    ):
        chosen(2, repeat=1)


def test_many_combinations_are_divided_into_blocks_in_which_each_value_is_equally_often():
    design = chosen(2, 2, 2, 2)
    assert [len(block) for block in design.blocks] == [9] * 4
    for pair in (design.blocks[:2], design.blocks[2:]):
        assert sorted(index for block in pair for index in block) == sorted([*range(16), 0, 0])
        for block in pair:
            rest = list(block)
            rest.remove(0)
            for factor in range(4):
                # Of 8 combinations 4 have each value; the search may leave one of them over.
                count = Counter(design.cells[index][factor] for index in rest)[0]
                assert 3 <= count <= 5


def test_of_more_than_32_combinations_a_part_runs_that_determines_all_effects_and_pairs():
    design = chosen(2, 2, 2, 2, 2, 2)
    terms = term_count(factors(*[2] * 6))
    assert terms == 1 + 6 + 15
    assert len(design.cells) == len(set(design.cells)) == terms + 7
    assert design.cells[0] == (0,) * 6
    matrix = np.array([row(factors(*[2] * 6), cell) for cell in design.cells])
    assert np.linalg.matrix_rank(matrix) == terms
    # The variance of each term is 1/29 at best, with orthogonal terms. Random parts have a mean of 1/7.
    variances = np.diag(np.linalg.inv(matrix.T @ matrix))
    assert variances.mean() < 1 / 15


def test_all_combinations_are_tried_before_a_part_of_them():
    found = list(designs(factors(2, 2, 2, 2, 2), None, random.Random(1)))
    assert [len(design.cells) for design in found] == [32, 23]


@pytest.mark.parametrize("sizes", [(10, 10, 10, 5), (6, 6, 6)])
def test_too_many_unknowns_are_refused(sizes):
    with pytest.raises(UsageError, match=r"combinations are too many: their effects and pairs are .* unknowns; vary"):
        chosen(*sizes)


def test_a_noisier_metric_needs_more_repeats_and_a_quiet_one_those_that_show_its_scatter():
    needed = [repeat_that_finds(factors(2, 2), 4, cv**2, math.log1p(0.10), 0.05) for cv in (0.0, 0.03, 0.06, 0.12, 9.0)]
    # bench/statistics/tune.py: 95 and 77 % of experiments with 3 and 5 repeats find it.
    assert needed[:3] == [3, 3, 5]
    assert needed[3] > 4 * (needed[2] - 1)
    assert needed[4] is None
