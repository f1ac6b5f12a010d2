"""A failed request with its response."""

from harness.run.jmeter.exchanges import Assertion, Change, Exchange

ONE = Exchange(
    label="Buy",
    thread="Users 1-1",
    start_ms=1000,
    elapsed_ms=12,
    is_success=False,
    code="500",
    message="Server Error",
    failure="",
    method="POST",
    url="http://127.0.0.1/buy",
    request_headers="Content-Type: text/plain",
    cookies="",
    request_body="one apple",
    request_characters=9,
    response_headers="HTTP/1.1 500 Server Error",
    response_body="sorry",
    response_bytes=5,
    assertions=(Assertion("Code 200", False, "expected 200"),),
    variables={"id": Change(None, "7")},
)
