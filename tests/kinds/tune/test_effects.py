"""The effects, the scatter and the best values: worked out by hand, or of a published experiment."""

import math
import random
from dataclasses import replace

import pytest

from harness.judge.result import FOUND, NO_EFFECT
from harness.judge.stored_comparisons import CANNOT_TELL
from harness.kinds.tune.best import best_of
from harness.kinds.tune.effects import effects_of
from harness.kinds.tune.factors import Factor
from harness.kinds.tune.model import Observation, fit, main_contrast, pair_contrast, row
from harness.metrics.metric import metric_of

TWO = tuple(Factor(name, ("low", "high")) for name in "ABC")
# D. C. Montgomery, "Design and Analysis of Experiments", 8th edition, table 6.4: the etch rate of a plasma, 2³ twice.
ETCH_RATES = {
    (0, 0, 0): (550, 604), (1, 0, 0): (669, 650), (0, 1, 0): (633, 601), (1, 1, 0): (642, 635),
    (0, 0, 1): (1037, 1052), (1, 0, 1): (749, 868), (0, 1, 1): (1075, 1063), (1, 1, 1): (729, 860),
}  # fmt: skip
P90, THROUGHPUT = metric_of("p90"), metric_of("throughput")


def etch_fit(block_shift: float = 0.0):
    """Fit the published experiment; its second replicate is a second block when it is shifted."""
    return fit(
        TWO,
        [
            Observation(cell, 1 + (replicate if block_shift else 0), value + replicate * block_shift)
            for cell, values in ETCH_RATES.items()
            for replicate, value in enumerate(values)
        ],
    )


def test_effects_and_pairs_are_those_of_a_published_experiment():
    found = etch_fit()
    # Its effects are A -101.625, B 7.375, C 306.125. That of a pair is half of the difference of two effects.
    for index, effect in enumerate((-101.625, 7.375, 306.125)):
        assert found.value(main_contrast(TWO, index, 1)) == pytest.approx(effect)
    for indexes, effect in (((0, 1), -24.875), ((0, 2), -153.625), ((1, 2), -2.125)):
        assert found.value(pair_contrast(TWO, indexes, (1, 1))) == pytest.approx(2 * effect)
    # Its sum of squares of errors is 18,020.5, and that of ABC, which is no term here, 126.5625: 9 degrees of freedom.
    assert found.freedom == 9
    assert found.scatter == pytest.approx(math.sqrt((18_020.5 + 126.5625) / 9))
    # Of a difference of two means of 8 runs; SciPy 1.17: t.ppf(0.975, 9) is 2.262157.
    pooled = replace(found, models=found.models[:1])
    assert pooled.reach(main_contrast(TWO, 0, 1), 0.975) == pytest.approx(2.262157 * found.scatter * math.sqrt(2 / 8))
    assert found.value(row(TWO, (None, None, None))) == pytest.approx(776.0625)


def test_a_shift_between_blocks_changes_no_effect():
    shifted = etch_fit(block_shift=5_000.0)
    assert shifted.freedom == 8
    for index, effect in enumerate((-101.625, 7.375, 306.125)):
        assert shifted.value(main_contrast(TWO, index, 1)) == pytest.approx(effect)


def test_a_setting_with_three_values_has_an_effect_of_each_against_the_first():
    factors = (Factor("A", ("1", "2", "3")), Factor("B", ("x", "y")))
    # The values of A change the metric by -50 % and -75 %, B by +20 %, and in block 2 everything is 10 % slower.
    observations = [
        Observation((a, b), block, math.log(100 * (1, 0.5, 0.25)[a] * (1, 1.2)[b] * (1, 1.1)[block - 1]))
        for block in (1, 2)
        for a in range(3)
        for b in range(2)
    ]
    effects = effects_of(factors, fit(factors, observations), 0.1, 0.05)
    mains = {(one.factor_indexes, one.levels): (round(one.delta_ratio, 6), one.verdict) for one in effects}
    assert mains == {
        ((0,), (1,)): (-0.5, FOUND), ((0,), (2,)): (-0.75, FOUND), ((1,), (1,)): (0.2, FOUND),
        ((0, 1), (1, 1)): (0.0, NO_EFFECT), ((0, 1), (2, 1)): (0.0, NO_EFFECT),
    }  # fmt: skip


def noisy(effect_a: float, cv: float, seed: int = 1, repeat: int = 2, pair: float = 0.0):
    """Return observations of 2³ of a metric around 100; only the first setting and its pair with the second count."""
    chance = random.Random(seed)
    return [
        Observation(
            (a, b, c),
            block,
            math.log(100) + math.log1p(effect_a) * a + math.log1p(pair) * a * b + chance.gauss(0, cv),
        )
        for block in range(1, repeat + 1)
        for a in (0, 1)
        for b in (0, 1)
        for c in (0, 1)
    ]


def test_with_one_setting_an_interval_is_that_of_welch_or_of_student_whichever_is_wider():
    factors = (Factor("A", ("1", "2")),)
    values = {0: (4.60, 4.62, 4.58, 4.61), 1: (4.40, 4.70, 4.55, 4.90)}
    found = fit(factors, [Observation((level,), 1, value) for level in values for value in values[level]])
    contrast = main_contrast(factors, 0, 1)
    assert found.value(contrast) == pytest.approx(0.035)
    # SciPy 1.17: ttest_ind(b, a, equal_var=False).confidence_interval(0.95) is -0.303548 to 0.373548, with
    # equal_var=True -0.227164 to 0.297164.
    welch, student = (replace(found, models=(model,)) for model in reversed(found.models))
    assert welch.reach(contrast, 0.975) == pytest.approx(0.338548, rel=1e-3)
    assert student.reach(contrast, 0.975) == pytest.approx(0.262164, abs=1e-6)
    assert found.reach(contrast, 0.975) == welch.reach(contrast, 0.975)


def test_intervals_are_at_a_level_divided_by_their_number():
    found = fit(TWO, noisy(-0.3, 0.03))
    effects = effects_of(TWO, found, 0.1, 0.05)
    assert len(effects) == 6
    contrast = main_contrast(TWO, 0, 1)
    reach = found.reach(contrast, 1 - 0.05 / 12)
    # SciPy 1.17: t.ppf(1 - 0.05 / 12, 8) of 16 runs less 7 terms less 1 block, when all runs scatter equally.
    assert found.freedom == 8
    assert reach >= 3.479 * found.scatter * math.sqrt(2 / 8)
    assert effects[0].low_ratio == pytest.approx(math.expm1(found.value(contrast) - reach), abs=1e-6)
    assert effects[0].high_ratio == pytest.approx(math.expm1(found.value(contrast) + reach), abs=1e-6)


def test_a_setting_without_effect_is_distinguished_from_an_undecided_one():
    quiet = effects_of(TWO, fit(TWO, noisy(-0.3, 0.01)), 0.1, 0.05)
    assert [one.verdict for one in quiet[:3]] == [FOUND, NO_EFFECT, NO_EFFECT]
    loud = effects_of(TWO, fit(TWO, noisy(-0.3, 0.3)), 0.1, 0.05)
    assert [one.verdict for one in loud[1:3]] == [CANNOT_TELL, CANNOT_TELL]


def test_runs_that_do_not_determine_the_model_have_no_fit():
    assert fit(TWO, noisy(0, 0.03)[:8]) is not None
    assert fit(TWO, noisy(0, 0.03)[:7]) is None  # 7 terms, and nothing left for the scatter
    assert fit(TWO, [one for one in noisy(0, 0.03) if one.cell[0] == 0]) is None
    assert fit(TWO, []) is None


def best(observations, metric):
    found = fit(TWO, observations)
    return best_of(TWO, found, effects_of(TWO, found, 0.1, 0.05), metric)


def test_the_best_values_leave_out_settings_without_an_effect():
    found = best(noisy(-0.3, 0.02), P90)
    assert found.choice == (1, None, None)
    assert found.sure_ratio > 0.999
    assert found.delta_ratio == pytest.approx(-0.3, abs=0.03)
    assert found.low_ratio < found.delta_ratio < found.high_ratio
    assert found.equals == ()
    assert not found.is_baseline


def test_of_a_throughput_the_larger_value_is_better():
    assert best(noisy(-0.3, 0.02), THROUGHPUT).choice == (0, None, None)
    assert best(noisy(-0.3, 0.02), THROUGHPUT).is_baseline


def test_values_that_the_runs_cannot_distinguish_from_the_best_are_named():
    # The second setting matters only together with the first one's baseline, so both of its values are as good.
    observations = [
        Observation(one.cell, one.block, one.value + (0.4 if one.cell[:2] == (0, 1) else 0.0))
        for one in noisy(-0.3, 0.02)
    ]
    found = best(observations, P90)
    assert {found.choice, *found.equals} == {(1, 0, None), (1, 1, None)}
    assert found.sure_ratio < 0.99


def test_without_an_effect_there_is_no_best():
    assert best(noisy(0.0, 0.03), P90) is None


@pytest.mark.parametrize("seed", range(5))
def test_a_pair_of_settings_is_found(seed):
    effects = effects_of(TWO, fit(TWO, noisy(0.0, 0.02, seed, pair=0.5)), 0.1, 0.05)
    found = [(one.factor_indexes, one.delta_ratio) for one in effects if one.verdict == FOUND and one.is_pair]
    assert found == [((0, 1), pytest.approx(0.5, abs=0.1))]
