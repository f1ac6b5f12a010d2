"""Probabilities of the place of a step, from runs whose levels are known."""

import math
import random

import pytest

from harness.compare.comparison import CANNOT_TELL
from harness.judge.result import FOUND, NO_EFFECT
from harness.kinds.bisect.decision import SURE, Decision, decide, most_informative, opening
from harness.kinds.bisect.information import information
from harness.kinds.bisect.posterior import NONE, ONE, Noise, Observation, posterior

EXACT = Noise(0.01, 0.1)
UNDECIDED = Decision(CANNOT_TELL)


def runs(*levels: tuple[int, float], seed: int = 1, noise: float = 0.01, drift: float = 0.0) -> list[Observation]:
    """Return runs of positions with the given levels; the machine slows by `drift` from run to run."""
    chance = random.Random(seed)
    return [
        Observation(position, 4.0 + math.log1p(level) + number * drift + chance.gauss(0.0, noise))
        for number, (position, level) in enumerate(levels)
    ]


STEP = ((0, 0.0), (8, 0.2), (8, 0.2), (0, 0.0), (4, 0.0), (6, 0.2), (5, 0.2), (4, 0.0), (5, 0.2))


def test_all_explanations_together_are_certain():
    found = posterior(runs(*STEP), EXACT)
    assert sum(found.commits) + found.several + found.none == pytest.approx(1.0)
    assert found.commits[0] == 0.0
    assert len(found.commits) == 9


def test_runs_that_scatter_by_far_more_than_any_step_change_nothing():
    found = posterior(runs((0, 0.0), (10, 0.0), (10, 0.0), (0, 0.0), noise=0.0), Noise(50.0, 0.01))
    assert sum(found.intervals) == pytest.approx(ONE, abs=0.01)
    assert found.none == pytest.approx(NONE, abs=0.01)
    assert found.commits[1:] == pytest.approx([ONE / 10] * 10, abs=0.001)


def test_a_step_is_found_where_it_is_with_its_size():
    decision = decide(posterior(runs(*STEP), EXACT), range(9), 0.1)
    assert decision.verdict == FOUND
    assert decision.named is not None
    assert decision.named.positions == range(5, 6)
    assert decision.named.change.low_ratio < 0.2 < decision.named.change.high_ratio
    assert decision.named.change.high_ratio - decision.named.change.low_ratio < 0.05


def test_a_commit_that_cannot_be_run_shares_its_probability_with_the_next_one():
    found = posterior(runs(*(one for one in STEP if one[0] != 5), (4, 0.0), (6, 0.2)), EXACT)
    testable = [position for position in range(9) if position != 5]
    assert found.commits[5] == found.commits[6]
    decision = decide(found, testable, 0.1)
    assert decision.named is not None
    assert decision.named.positions == range(5, 7)
    assert decision.named.probability == pytest.approx(found.commits[5] + found.commits[6])
    # While it may be run, nothing is named.
    assert decide(found, range(9), 0.1).verdict == CANNOT_TELL


def test_nothing_is_named_by_a_single_run_which_may_be_an_outlier():
    once = [one for index, one in enumerate(STEP) if index not in (4, 7)] + [(4, 0.0)]
    found = posterior(runs(*once), EXACT)
    decision = decide(found, range(9), 0.1)
    assert decision.suspects[0].probability >= SURE
    assert (decision.verdict, decision.unconfirmed) == (CANNOT_TELL, (4,))
    assert most_informative(found, decision, range(9), before=5) == 4
    assert decide(posterior(runs(*once, (5, 0.2), (4, 0.0)), EXACT), range(9), 0.1).verdict == FOUND


def test_two_steps_are_no_single_commit_and_their_sizes_are_reported():
    levels = [(0, 0.0), (9, 0.32), (9, 0.32), (0, 0.0), (4, 0.1), (6, 0.1), (3, 0.1), (2, 0.0), (7, 0.32), (6, 0.1)]
    levels += [(2, 0.0), (7, 0.32), (3, 0.1)]
    found = posterior(runs(*levels), EXACT)
    decision = decide(found, range(10), 0.1)
    assert (decision.verdict, decision.named) == (FOUND, None)
    assert found.several >= SURE
    (first, second), changes = [part[:2] for part in found.parts()], [part[2] for part in found.parts()]
    assert (first, second) == ((2, 3), (6, 7))
    assert changes[0].low_ratio < 0.1 < changes[0].high_ratio
    assert changes[1].low_ratio < 0.2 < changes[1].high_ratio


def test_equal_ends_have_no_effect():
    decision = decide(posterior(runs(*((0, 0.0), (9, 0.0), (9, 0.0), (0, 0.0)) * 2), EXACT), range(10), 0.1)
    assert decision.verdict == NO_EFFECT


def test_a_machine_that_slows_down_is_no_step():
    levels = [(position, 0.0) for position in (0, 9, 9, 0, 4, 9, 0, 9, 4, 0)]
    drifting = posterior(runs(*levels, noise=0.002, drift=0.01), Noise(0.02, 0.6))
    assert drifting.none > 0.5
    # The same runs in the order of their commits are a step or a gradual change.
    in_order = posterior(runs(*sorted(levels), noise=0.002, drift=0.01), Noise(0.02, 0.6))
    assert in_order.none < drifting.none


def test_the_scatter_is_estimated_from_the_runs_themselves():
    levels = ((0, 0.0), (9, 0.0)) * 15
    found = posterior(runs(*levels, noise=0.06), Noise(0.03, 0.6))
    assert found.noise_ratio == pytest.approx(0.06, rel=0.3)


def test_a_run_in_the_middle_of_where_the_step_may_be_shows_most():
    found = posterior(runs((0, 0.0), (64, 0.3), (64, 0.3), (0, 0.0)), EXACT)
    at = information(found, [0, 8, 32, 56, 64])
    assert max(at) == at[2]
    # One step is before it or behind it: a bit. That there are two is learned as well.
    assert math.log(2) * 0.95 < at[2] < math.log(4)
    assert at[1] == pytest.approx(at[3], abs=0.02)
    assert most_informative(found, UNDECIDED, range(65), before=0) == 32


def test_a_run_that_needs_a_build_must_show_more_and_none_repeats_the_run_before():
    found = posterior(runs((0, 0.0), (8, 0.05), (8, 0.05), (0, 0.0), noise=0.03), Noise(0.03, 0.1))
    assert most_informative(found, UNDECIDED, range(9), before=0) == 4
    assert most_informative(found, UNDECIDED, range(9), before=0, cost_s=[1.0, *[1e6] * 7, 1.0]) == 8
    assert most_informative(found, UNDECIDED, range(9), before=8, cost_s=[1.0, *[1e6] * 7, 1.0]) == 0


def test_the_first_runs_are_both_ends_in_an_order_that_drift_does_not_touch():
    assert [opening(count, 12) for count in range(4)] == [0, 12, 12, 0]
