"""When a system is again as good as in the first level."""

from harness.kinds.overload.attempts import Attempt, AttemptsOutcome, p90_ms, recovery_of
from harness.kinds.overload.levels import OverloadLevel

_BEFORE, _AFTER = OverloadLevel(0.5, 0, 10), OverloadLevel(0.5, 20, 60)


def every_100_ms(
    from_s: int, to_s: int, elapsed_ms: int, outcome: AttemptsOutcome = AttemptsOutcome.GOOD
) -> list[Attempt]:
    """Return ten requests per second."""
    return [Attempt(tenth / 10, elapsed_ms, outcome) for tenth in range(10 * from_s, 10 * to_s)]


def test_recovery_is_the_first_second_from_which_on_five_seconds_are_as_good_as_before():
    attempts = [
        *every_100_ms(0, 10, 200),
        *every_100_ms(20, 33, 4000, AttemptsOutcome.LATE),
        *every_100_ms(33, 60, 210),
    ]
    found = recovery_of(attempts, _BEFORE, _AFTER)
    assert (found.after_s, found.watched_s) == (13, 40)
    assert (found.goodput_least_per_s, round(found.p90_most_ms)) == (9.0, 220)


def test_answers_that_are_good_but_slower_than_before_are_no_recovery():
    attempts = [*every_100_ms(0, 10, 200), *every_100_ms(20, 60, 300)]
    assert recovery_of(attempts, _BEFORE, _AFTER).after_s is None


def test_quick_rejections_are_no_recovery():
    attempts = [*every_100_ms(0, 10, 200), *every_100_ms(20, 60, 2, AttemptsOutcome.REJECTED_FAST)]
    assert recovery_of(attempts, _BEFORE, _AFTER).after_s is None


def test_a_system_that_was_never_slow_has_recovered_at_once():
    assert recovery_of([*every_100_ms(0, 10, 200), *every_100_ms(20, 60, 200)], _BEFORE, _AFTER).after_s == 0


def test_without_good_answers_before_the_overload_recovery_is_unknown():
    attempts = [*every_100_ms(0, 10, 4000, AttemptsOutcome.LATE), *every_100_ms(20, 60, 200)]
    found = recovery_of(attempts, _BEFORE, _AFTER)
    assert found.after_s is None
    assert "nothing to return to" in found.reason


def test_a_first_level_that_is_an_overload_itself_is_no_measure():
    attempts = [*every_100_ms(0, 8, 200), *every_100_ms(8, 10, 4000, AttemptsOutcome.LATE), *every_100_ms(20, 60, 200)]
    found = recovery_of(attempts, _BEFORE, _AFTER)
    assert found.after_s is None
    assert found.reason == "the first level was an overload already: there is nothing to return to"


def test_p90_is_the_nearest_rank():
    assert p90_ms([Attempt(0.0, elapsed_ms, AttemptsOutcome.GOOD) for elapsed_ms in range(1, 11)]) == 9.0
    assert p90_ms([]) is None
