"""The cause of an error is the sampler's own message, unless only an assertion made the sample fail."""

from __future__ import annotations

import pytest

from harness.metrics.figures import cause_of

EXPECTED = "expected 2xx"
NO_ROUTE = "Non HTTP response message: No route to host"
TRANSACTION = "Number of samples in transaction : 2, number of failing samples : 1"


@pytest.mark.parametrize(
    ("failure", "message", "code", "cause"),
    [
        # Codes and messages of samplers of JDBC, gRPC and JMS.
        (EXPECTED, 'ERROR: relation "shop" does not exist', "42P01 0", 'ERROR: relation "shop" does not exist'),
        (EXPECTED, "UNAVAILABLE: io exception", "14", "UNAVAILABLE: io exception"),
        (EXPECTED, "Could not connect to broker", "Connect", "Could not connect to broker"),
        (EXPECTED, NO_ROUTE, "Non HTTP response code: java.net.NoRouteToHostException", NO_ROUTE),
        # The sampler had no message, or no failure of its own.
        (EXPECTED, "", "14", EXPECTED),
        ("expected 201: the password is wrong", "Unprocessable Entity", "422", "expected 201: the password is wrong"),
        ("", "Could not connect to broker", "502", "Could not connect to broker"),
        ("no order in the page", "OK", "200", "no order in the page"),
        ("moved", "Found", "302", "moved"),
        ("", "OK", "200", "OK"),
        # A parent transaction has the code of a part.
        ("too slow", TRANSACTION, "42P01 0", "too slow"),
        ("", TRANSACTION, "500", TRANSACTION),
        ("too slow", "from a file without codes", "", "too slow"),
    ],
)
def test_the_cause_is_the_samplers_own_message_where_it_failed_itself(
    failure: str, message: str, code: str, cause: str
) -> None:
    assert cause_of(failure, message, code).example == cause


@pytest.mark.parametrize(
    ("message", "cause"),
    [
        ("Close frame with status code 1008", "Close frame with status code 1008"),
        ("ORA-00942: table or view does not exist", "ORA-00942: table or view does not exist"),
        ("Duplicate entry (Error code: 1062) of id 10621", "Duplicate entry (Error code: 1062) of id …"),
        ("SQLSTATE 42601", "SQLSTATE 42601"),
        # Longer ones are ids.
        ("status code 1234567", "status code …"),
        ("promotion code 12345", "promotion code …"),
        ("no table [42102-252]\n\tat a.Db.get(Db.java:514)\n\tat a.Db$1.put(Db.java:1)", "no table […-252]"),
        ("refused at org.h2.engine (see the log)", "refused at org.h2.engine (see the log)"),
        ("down at java.base/java.net.Socket.<init>(Unknown Source) and more", "down"),
    ],
)
def test_codes_are_a_part_of_the_cause_and_ids_and_stack_traces_are_none(message: str, cause: str) -> None:
    assert cause_of("", message, "42P01").text == cause
