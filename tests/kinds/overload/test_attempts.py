"""What became of each request: good, late, rejected fast or slowly, timed out."""

import pytest

from harness.kinds.overload.attempts import AttemptsOutcome, attempts_of, outcome_of
from tests.support.overloads import sample

_NON_HTTP = "Non HTTP response code: "


@pytest.mark.parametrize(
    ("elapsed_ms", "code", "message", "expected"),
    [
        (500, "200", "OK", AttemptsOutcome.GOOD),
        (2000, "200", "OK", AttemptsOutcome.GOOD),
        (2001, "200", "OK", AttemptsOutcome.LATE),
        (3, "503", "Service Unavailable", AttemptsOutcome.REJECTED_FAST),
        (1000, "500", "Internal Server Error", AttemptsOutcome.REJECTED_FAST),
        (1001, "500", "Internal Server Error", AttemptsOutcome.REJECTED_SLOWLY),
        (
            1,
            f"{_NON_HTTP}org.apache.http.conn.HttpHostConnectException",
            "Connection refused",
            AttemptsOutcome.REJECTED_FAST,
        ),
        (4000, f"{_NON_HTTP}java.net.SocketException", "Connection reset", AttemptsOutcome.REJECTED_SLOWLY),
        (5000, f"{_NON_HTTP}java.net.SocketTimeoutException", "Read timed out", AttemptsOutcome.TIMED_OUT),
        (
            1000,
            f"{_NON_HTTP}org.apache.http.conn.ConnectTimeoutException",
            "Connect to … failed",
            AttemptsOutcome.TIMED_OUT,
        ),
        (9000, f"{_NON_HTTP}java.net.ConnectException", "Connection timed out", AttemptsOutcome.TIMED_OUT),
    ],
)
def test_the_outcome_of_a_request(elapsed_ms, code, message, expected):
    assert outcome_of(sample(0, elapsed_ms, code, message), limit_ms=2000) is expected


def test_a_rejection_that_takes_longer_than_the_goal_is_not_fast():
    assert outcome_of(sample(0, 300, "503", "Busy"), limit_ms=200) is AttemptsOutcome.REJECTED_SLOWLY


def test_users_are_counted_by_their_first_request_and_setup_is_left_out():
    samples = [
        sample(7000, 10, thread="setUp 1-1"),
        sample(8500, 10, thread="Users 1-2"),
        sample(8000, 10, thread="Users 1-1"),
        sample(9000, 10, thread="Users 1-1"),
        sample(9900, 10, thread="tearDown 1-1"),
        sample(9900, 10, message="Number of samples in transaction : 2, number of failing samples : 0"),
    ]
    found = attempts_of(samples, 1000)
    assert [attempt.start_s for attempt in found.attempts] == [0.0, 0.5, 1.0]
    assert [(user.start_s, user.attempt_count) for user in found.users] == [(0.0, 2), (0.5, 1)]
    assert found.most_users == 1


def test_a_run_without_requests_of_the_load_has_none():
    assert attempts_of([sample(7000, 10, thread="setUp 1-1")], 1000).attempts == ()
