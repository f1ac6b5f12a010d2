"""Since when all requests failed: the first line of a run that mostly failed names it, and only when it is true."""

import pytest

from harness.judge.outage import find_outage
from harness.metrics.figures import ErrorKind
from harness.metrics.timeline import SecondFigures
from tests.support.factories import closed_load, failed, record, sample
from tests.support.summaries import summary_of, warnings_of

REFUSED = "Non HTTP response message: Connect to 127.0.0.1:18082 [/127.0.0.1] failed: Connection refused"
CLOSED = "Non HTTP response message: Socket closed"
START_MS = 1_700_000_000_000


def kind(count, example, first_s=5.0, last_s=19.0):
    return ErrorKind("GET /", "Non HTTP response code: x", "expected 200", count, first_s, last_s, example)


def seconds(*parts):
    """Return seconds from (number of seconds, samples per second, failed per second)."""
    return [SecondFigures(ended, 10 * ended, 5, failed) for count, ended, failed in parts for _ in range(count)]


def test_refused_connections_are_named_with_host_and_second():
    found = find_outage(seconds((5, 100, 0), (15, 1000, 1000)), [kind(15_000, REFUSED)])
    assert found == "127.0.0.1:18082 refused connections from 0:05 on"


def test_a_system_that_refused_everything_did_so_from_the_start():
    assert find_outage(seconds((20, 50, 50)), [kind(1000, REFUSED, first_s=0.1)]).endswith(
        " refused connections from the start"
    )


def test_requests_without_an_answer_are_counted():
    # Requests of an open load that were in flight when JMeter closed their sockets, all in the last second.
    found = find_outage(seconds((2, 50, 0), (33, 0, 0), (1, 1147, 1147)), [kind(1147, CLOSED, first_s=2.1)])
    assert found == "the system did not answer from 0:02 on: 1147 requests got no answer"


def test_a_system_that_gave_only_wrong_answers_before_it_stopped_did_answer_from_the_start():
    wrong = ErrorKind("GET /", "200", "expected ok", 87, 0.0, 1.9, "expected ok")
    found = find_outage(seconds((2, 44, 44), (29, 0, 0), (1, 1013, 1013)), [wrong, kind(1013, CLOSED, first_s=2.0)])
    assert found == "the system did not answer from 0:02 on: 1013 requests got no answer"


def test_other_failures_of_all_requests_are_named_without_a_cause():
    kinds = [kind(60, "500"), kind(40, "503")]
    assert find_outage(seconds((5, 10, 0), (10, 10, 10)), kinds) == "all requests failed from 0:05 on"


def test_failures_of_set_up_and_tear_down_do_not_explain_those_of_the_load():
    before, after = kind(44_950, REFUSED, -3.0, -0.5), kind(5000, REFUSED, 15.4, 16.0)
    found = find_outage(seconds((5, 10, 0), (10, 10, 10)), [before, after, kind(100, "500")])
    assert found == "all requests failed from 0:05 on"


def test_nothing_is_claimed_when_requests_succeed_again():
    assert find_outage(seconds((5, 100, 0), (15, 1000, 1000), (1, 100, 0)), [kind(15_000, REFUSED)]) == ""


def test_nothing_is_claimed_when_requests_failed_before_too():
    assert find_outage(seconds((10, 10, 5), (3, 10, 10)), [kind(80, REFUSED)]) == ""


def test_the_failures_of_the_last_requests_are_no_outage():
    assert find_outage(seconds((60, 10, 0), (2, 3, 3)), [kind(6, CLOSED)]) == ""


def test_a_run_without_a_failure_has_no_outage():
    assert find_outage(seconds((60, 10, 0)), []) == ""
    assert find_outage([], []) == ""


def dead_from_second_five():
    """Return 20 s of one user whose system dies at second 5."""
    good = [sample(elapsed_ms=100, start_ms=START_MS + 100 * number) for number in range(50)]
    bad = [
        failed(failure=REFUSED, elapsed_ms=1, start_ms=START_MS + 5000 + 10 * number) for number in range(1500)
    ]  # fmt: skip
    return [*good, *bad]


def test_the_first_reason_of_a_dead_system_is_its_death_and_no_warning_follows_from_it():
    run = record(load=closed_load(users=1, duration_s=20.0), took_s=25.0)
    summary = summary_of(dead_from_second_five(), run)
    assert summary.verdict.reasons[0] == (
        "127.0.0.1:18082 refused connections from 0:05 on; 96.77 % of 1550 samples failed"
    )
    codes = {warning.code for warning in summary.warnings}
    assert not codes & {"one-state", "too-short", "users-time", "stall", "errors-in-figures", "coarse-clock"}


def test_a_run_with_some_failures_keeps_its_warnings():
    found = warnings_of([*dead_from_second_five()[:60], *[sample(start_ms=START_MS + 9000)] * 40])
    assert "errors-in-figures" in found


def test_a_refused_connection_is_known_by_its_code_where_an_assertion_failed_too():
    code = "Non HTTP response code: org.apache.http.conn.HttpHostConnectException"
    one = ErrorKind("GET /", code, "expected 200", 150, 5.0, 19.0, "expected 200")
    assert find_outage(seconds((5, 10, 0), (15, 10, 10)), [one]) == "the system refused connections from 0:05 on"


REFUSED_CODE = "Non HTTP response code: org.apache.http.conn.HttpHostConnectException"
ASSERTED = "Test failed: code expected to equal /200/"


@pytest.mark.parametrize(
    ("code", "message", "reason"),
    [
        (REFUSED_CODE, REFUSED, "127.0.0.1:18082 refused connections from 0:05 on"),
        (
            REFUSED_CODE,
            "Non HTTP response message: Connect to 127.0.0.1:18082 [/127.0.0.1] failed: Connection timed out",
            "the system did not answer from 0:05 on: 1500 requests got no answer",
        ),
        (
            "Non HTTP response code: java.net.SocketTimeoutException",
            "Non HTTP response message: Read timed out",
            "the system did not answer from 0:05 on: 1500 requests got no answer",
        ),
        (
            "Non HTTP response code: java.net.SocketException",
            CLOSED,
            "the system did not answer from 0:05 on: 1500 requests got no answer",
        ),
        ("503", "Service Unavailable", "all requests failed from 0:05 on"),
    ],
)
def test_a_plan_that_asserts_a_code_hides_no_missing_answer(code, message, reason):
    good = dead_from_second_five()[:50]
    bad = [
        failed(code=code, message=message, failure=ASSERTED, elapsed_ms=1, start_ms=START_MS + 5000 + 10 * number)
        for number in range(1500)
    ]
    summary = summary_of([*good, *bad], record(load=closed_load(users=1, duration_s=20.0), took_s=25.0))
    assert summary.verdict.reasons[0] == f"{reason}; 96.77 % of 1550 samples failed"


def test_an_assertion_is_the_cause_where_the_system_answered():
    (kind,) = summary_of([sample(), failed(code="500", message="Server Error", failure=ASSERTED)]).errors
    assert kind.cause == ASSERTED


def test_a_run_that_failed_only_at_its_end_keeps_its_warnings():
    good = [sample(elapsed_ms=100, start_ms=START_MS + 100 * number) for number in range(150)]
    bad = [failed(elapsed_ms=1, start_ms=START_MS + 15_000 + 100 * number) for number in range(50)]
    summary = summary_of([*good, *bad], record(load=closed_load(users=1, duration_s=20.0), took_s=25.0))
    assert "errors-in-figures" in {warning.code for warning in summary.warnings}
