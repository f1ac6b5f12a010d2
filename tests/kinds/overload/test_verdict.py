"""The verdict on simulated systems: the claim is made where it is true, and not where it is false."""

import math
from dataclasses import replace

import pytest

from harness.compare.comparison import CANNOT_TELL
from harness.kinds.overload import verdict as rule
from harness.kinds.overload.result import level_results, recovery_result, requests_per_user
from harness.kinds.overload.verdict import COLLAPSE, GRACEFUL, kept_share
from harness.metrics.batch_means import Estimate
from tests.support.overloads import LIMIT_MS, SERVED_PER_S, level, levels_with, simulated
from tests.support.weekly import often

_SEEDS = range(100)
_FLAT, _FALLEN = (10, 15, 19, 20, 20, 20), (10, 15, 19, 16, 12, 8)
_AT_THE_LIMIT = (10, 15, 20, 19, 18, 16)


def judge(levels, limit_ms=LIMIT_MS):
    return rule.judge(levels, limit_ms)


def states(goodputs, length_s=30) -> dict[str, float]:
    """Return the share of each verdict on levels with these true goodputs."""
    found = [judge(levels_with(goodputs, seed, length_s)).state for seed in _SEEDS]
    return {state: found.count(state) / len(found) for state in (COLLAPSE, GRACEFUL, CANNOT_TELL)}


@pytest.mark.real
def test_an_unbounded_queue_collapses_and_recovers_when_it_is_served():
    found = simulated(queue_most=100_000, level_s=30)
    levels = level_results(found, SERVED_PER_S, 30)
    verdict = judge(levels)
    assert verdict.state == COLLAPSE
    assert verdict.kept.high_ratio < 0.1
    assert levels[-1].timed_out_count > 0.9 * levels[-1].sample_count
    assert levels[-1].rejected_fast_count == 0
    # 5, 10 and 20 requests per second too many for 30 s each are served at 10 per second in 105 s.
    assert recovery_result(found, 30).after_s == pytest.approx(105, abs=10)


def test_a_bounded_queue_is_graceful_and_recovers_at_once():
    found = simulated(queue_most=10, level_s=30)
    levels = level_results(found, SERVED_PER_S, 30)
    verdict = judge(levels)
    assert verdict.state == GRACEFUL
    assert verdict.kept.low_ratio > 0.8
    assert levels[-1].rejected_fast_count == pytest.approx(levels[-1].sample_count / 2, rel=0.05)
    assert (levels[-1].late_count, levels[-1].timed_out_count) == (0, 0)
    assert recovery_result(found, 30).after_s <= 3


@pytest.mark.real
@pytest.mark.parametrize(("level_s", "limit_s"), often(2, [(10, 8), (10, 12), (10, 17), (10, 20), (15, 20), (15, 26)]))
def test_an_unbounded_queue_is_never_called_graceful_however_short_the_levels_are(level_s, limit_s):
    for seed in range(10):
        found = simulated(100_000, level_s, seed, limit_ms=1000 * limit_s, time_out_ms=60_000)
        verdict = judge(level_results(found, SERVED_PER_S, level_s), 1000.0 * limit_s)
        assert verdict.state != GRACEFUL
    if 1.75 * level_s < limit_s:
        assert verdict.reason == "the levels are too short for the goal"
        assert verdict.detail.startswith("even without any bound a queue would reach")
        assert verdict.next_level_s == 12


@pytest.mark.real
def test_a_bounded_queue_stays_graceful_in_levels_that_are_long_enough_for_its_goal():
    found = [
        judge(level_results(simulated(40, 15, seed, limit_ms=3000), SERVED_PER_S, 15), 3000.0).state
        for seed in range(20)
    ]
    assert found.count(GRACEFUL) >= 19


def test_the_counts_of_a_level_are_all_its_requests():
    for one in level_results(simulated(30, 20), SERVED_PER_S, 20):
        failed = one.rejected_fast_count + one.rejected_slowly_count + one.timed_out_count
        assert one.good_count + one.late_count + failed == one.sample_count
        assert one.sample_count == pytest.approx(one.offered_per_s * 20, rel=0.02)
        assert one.started_user_count == pytest.approx(one.scheduled_user_count, abs=2)
        # Answers that arrive after the level's end belong to the next one: at most those of a second.
        assert one.goodput.value == pytest.approx(one.good_count / 20, abs=1.0)


@pytest.mark.real
def test_a_goodput_that_stays_is_never_called_a_collapse():
    found = states(_FLAT)
    assert found[COLLAPSE] == 0
    assert found[GRACEFUL] > 0.6


def test_a_goodput_that_falls_to_two_fifths_is_found_and_never_called_graceful():
    found = states(_FALLEN)
    assert found[GRACEFUL] == 0
    assert found[COLLAPSE] > 0.95


@pytest.mark.real
def test_at_the_limit_of_the_rule_a_claim_is_rare():
    found = states(_AT_THE_LIMIT)
    assert found[GRACEFUL] <= 0.05
    assert found[COLLAPSE] <= 0.10


def test_short_levels_are_judged_less_often_and_not_wrongly():
    assert states(_FLAT, length_s=10)[COLLAPSE] == 0
    assert states(_FALLEN, length_s=10)[GRACEFUL] == 0


def test_a_load_generator_that_starts_too_few_users_is_named_and_nothing_is_claimed():
    levels = levels_with(_FALLEN, seed=1)
    assert judge(levels).state == COLLAPSE
    last = levels[-1]
    behind = replace(last, missing_user_count=120)
    verdict = judge((*levels[:-1], behind))
    assert verdict.state == CANNOT_TELL
    assert verdict.reason == "the load generator fell behind at 200 % load"
    assert verdict.detail == "a second after the level 120 users of the schedule had not started"
    assert verdict.next_rate_ratio == 0.5


def test_two_missing_users_of_a_small_level_do_not_spoil_the_verdict():
    levels = levels_with(_FALLEN, seed=1)
    few = replace(levels[0], scheduled_user_count=8, started_user_count=6, missing_user_count=2)
    assert judge((few, *levels[1:])).state == COLLAPSE


def test_users_who_start_more_than_a_second_late_are_missing():
    found = simulated(queue_most=10, level_s=10)
    assert {one.missing_user_count for one in level_results(found, SERVED_PER_S, 10)} == {0}
    # From the beginning of the last level on, at 60 s, users start 3 s late: 80 are due between 67 and 69 s.
    late = [replace(user, start_s=user.start_s + 3 * (user.start_s >= 60)) for user in found.users]
    last = level_results(replace(found, users=tuple(late)), SERVED_PER_S, 10)[-1]
    assert last.missing_user_count == pytest.approx(80, abs=20)
    assert judge(level_results(replace(found, users=tuple(late)), SERVED_PER_S, 10)).state == CANNOT_TELL


def test_the_interval_of_a_goodput_is_within_what_was_requested():
    interval = level(1.0, [20.0] * 5 + [0.0] * 5).interval
    assert (interval.low_per_s, interval.high_per_s) == (0.0, 20.0)


def test_a_system_that_serves_everything_was_not_overloaded():
    verdict = judge(levels_with((10, 15, 20, 25, 30, 40), seed=1))
    assert verdict.state == CANNOT_TELL
    assert verdict.reason == "too little overload at 200 % load"
    assert verdict.detail.startswith("only 40.00 requests/s started")
    assert verdict.next_rate_ratio == 2


def test_users_who_wait_for_their_answers_and_request_less_are_no_overload():
    levels = levels_with(_FLAT, seed=2)
    last = replace(levels[-1], sample_count=round(20.5 * 30))
    assert judge((*levels[:-1], last)).reason.startswith("too little overload")


def test_the_goodput_of_a_busy_server_scatters_less_than_the_arrivals():
    # The queue has room for three of four Poisson arrivals; the server answers 20 per second, evenly.
    last = level_results(simulated(queue_most=10, level_s=10), SERVED_PER_S, 10)[-1]
    assert last.goodput.value == pytest.approx(20, abs=0.2)
    assert last.goodput.error < 0.2


def test_a_system_that_is_overloaded_from_the_beginning_is_not_called_graceful():
    # It has collapsed in the warm-up: 4 good answers per second at every level, so nothing is lost later.
    levels = tuple(level(ratio, [4.0] * 30) for ratio in (0.5, 0.75, 1.0, 1.25, 1.5, 2.0))
    verdict = judge(levels)
    assert verdict.state == CANNOT_TELL
    assert verdict.reason == "overloaded at 50 % load already"
    assert verdict.detail == "only 40 % of the requests were good there"
    # The same goodput of a system that is idle enough at first is a graceful one.
    assert judge((replace(levels[0], good_count=levels[0].sample_count), *levels[1:])).state == GRACEFUL


def test_without_any_good_answer_nothing_is_claimed():
    verdict = judge([level(ratio, [0.0] * 10) for ratio in (0.5, 0.75, 1.0, 1.25, 1.5, 2.0)])
    assert verdict.state == CANNOT_TELL
    assert verdict.kept is None


def test_the_interval_of_a_kept_share_by_hand():
    # 8 ± 1 of 20 ± 1: the ratio is 0.4, its error sqrt(1 + 0.16) / 20 = 0.0539;
    # Welch: 1.16² / (1/9 + 0.16²/9) = 11.8 degrees of freedom, t = 2.183.
    kept = kept_share(Estimate(8.0, 1.0, 9.0, 10), Estimate(20.0, 1.0, 9.0, 10))
    assert kept.ratio == 0.4
    assert kept.high_ratio - kept.ratio == pytest.approx(2.183 * math.sqrt(1.16) / 20, rel=0.002)
    assert kept.ratio - kept.low_ratio == pytest.approx(kept.high_ratio - kept.ratio)


def test_goodputs_without_scatter_have_an_interval_without_width():
    assert kept_share(Estimate(0.0, 0.0, 9.0, 10), Estimate(20.0, 0.0, 9.0, 10)) == (0.0, 0.0, 0.0)


def test_the_requests_of_a_user_are_those_before_the_overload():
    assert requests_per_user(simulated(10, 10), 10) == 1.0
