"""Requests and responses as the agent stores them: read, masked, and limited per cause."""

from dataclasses import replace

from harness.run.jmeter.exchanges import (
    Assertion,
    Change,
    exchanges_text,
    first_of_each_cause,
    masked_exchanges,
    parse_exchanges,
    progress_at,
)
from tests.support.exchanges import ONE

TOKEN = "Zx81-quite-secret"


def test_what_is_written_is_read_again():
    binary = replace(ONE, response_body=None, variables=None)
    assert parse_exchanges(exchanges_text([ONE, binary])) == (ONE, binary)


def test_a_torn_line_is_left_out():
    text = exchanges_text([ONE, ONE])
    assert parse_exchanges(text[:-20]) == (ONE,)


def test_the_key_is_the_cause_in_the_table_of_errors():
    failed = replace(ONE, failure="Order 4711\n was not found")
    assert failed.key == ("Buy", "500", "Order … was not found")
    assert ONE.key == ("Buy", "500", "Server Error")


def test_the_earliest_three_of_each_cause_are_stored():
    many = [replace(ONE, start_ms=start) for start in (5, 4, 3, 2, 1)]
    other = replace(ONE, code="404", start_ms=9)
    assert [(one.code, one.start_ms) for one in first_of_each_cause([*many, other])] == [
        ("500", 1), ("500", 2), ("500", 3), ("404", 9),
    ]  # fmt: skip


def test_only_the_first_fifty_causes_are_stored():
    many = [replace(ONE, code=str(code), start_ms=code) for code in range(1, 70)]
    found = first_of_each_cause([*many, *many])
    assert {one.code for one in found} == {str(code) for code in range(1, 51)}
    assert len(found) == 100


def test_a_token_of_a_response_is_masked_wherever_it_is_sent():
    login = replace(ONE, response_headers=f"HTTP/1.1 201 Created\nX-Okapi-Token: {TOKEN}")
    later = replace(
        ONE,
        url=f"http://127.0.0.1/buy?next={TOKEN}",
        request_body=f"<a>{TOKEN.replace('-', '%2D')}</a>",
        response_body=f'"{TOKEN.replace("-", chr(92) + "u002d")}"',
        assertions=(Assertion("Body", False, f"found {TOKEN}"),),
        variables={"found": Change(TOKEN, "x" + TOKEN)},
    )
    text = exchanges_text(masked_exchanges([later, login], ()))
    assert TOKEN not in text
    assert "quite" not in text
    assert text.count("•••") == 7


def test_secrets_of_cookies_bodies_and_variables_are_masked():
    cookie = replace(ONE, cookies=f"session={TOKEN}")
    body = replace(ONE, request_body=f'{{"user": "bob", "password": "{TOKEN}2"}}')
    variable = replace(ONE, variables={"access_token": Change(None, f"{TOKEN}3")})
    text = exchanges_text(masked_exchanges([cookie, body, variable], ()))
    assert TOKEN not in text
    assert '\\"user\\": \\"bob\\"' in text


def test_the_secrets_of_a_run_are_masked_and_other_texts_stay():
    [found] = masked_exchanges([replace(ONE, request_body="an apple for hunter22")], ["hunter22"])
    assert found == replace(ONE, request_body="an apple for •••")
    assert masked_exchanges([ONE], ()) == (ONE,)


def test_everything_that_an_expression_matched_is_no_secret_of_its_own():
    whole = {"token_g0": Change(None, f"id: 5\ntoken: {TOKEN}"), "token_g1": Change(None, TOKEN)}
    [found] = masked_exchanges([replace(ONE, variables=whole, request_body="id: 5")], ())
    assert found.request_body == "id: 5"
    assert found.variables == {"token_g0": (None, "id: 5\ntoken: •••"), "token_g1": (None, "•••")}


def test_a_stop_is_where_samples_had_not_ended_else_after_the_last_one():
    page = replace(ONE, label="Page", is_success=True)  # from 1000 to 1012
    slow = replace(ONE, label="Slow", thread="Users 1-2", start_ms=1500, elapsed_ms=4000)
    tear_down = replace(ONE, label="Log out", start_ms=5600)
    assert progress_at([page, slow, tear_down], 5000) == "Slow (Users 1-2) had not ended"
    assert progress_at([page, slow], 5501) == "after 2 samples, the last of them Slow (Users 1-2)"
    assert progress_at([page, replace(page, label="Late", start_ms=4999)], 5000) == (
        "after 1 sample, the last of them Page (Users 1-1)"
    )
    assert progress_at([tear_down], 5000) == progress_at([], 5000) == "no sample had ended"
