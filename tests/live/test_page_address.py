"""Where the live page is served, and which requests it answers."""

import pytest

from harness.base.errors import UsageError
from harness.live.page_address import LiveAddress, parse_page_address

TOKEN = "a-token-of-20-letter"


@pytest.fixture(autouse=True)
def _no_token(monkeypatch):
    monkeypatch.delenv("LIVE_TOKEN", raising=False)


@pytest.mark.parametrize("text", [None, "0"])
def test_nothing_and_0_are_no_page(text):
    assert parse_page_address(text) is None


@pytest.mark.parametrize(("text", "port"), [("1", 0), ("8089", 8089)])
def test_without_a_host_only_this_machine_is_served_and_no_token_is_needed(text, port):
    assert parse_page_address(text) == LiveAddress("127.0.0.1", port)


@pytest.mark.parametrize("text", ["0.0.0.0:8090", "127.0.0.1:8090", "box.example:8090", "[::1]:8090"])
def test_a_host_always_has_a_token_which_is_new_each_time(text):
    first, second = parse_page_address(text), parse_page_address(text)
    assert len(first.token) >= 20
    assert first.token != second.token
    assert first.url(8090).endswith(f":8090/?token={first.token}")


def test_the_token_of_the_environment_is_used_and_not_printed(monkeypatch):
    monkeypatch.setenv("LIVE_TOKEN", TOKEN)
    address = parse_page_address("10.0.0.7:8090")
    assert address.token == TOKEN
    assert address.url(8090) == "http://10.0.0.7:8090/?token=$LIVE_TOKEN"
    assert parse_page_address("1").token == ""


@pytest.mark.parametrize(
    ("token", "why"),
    [("fifteen-letters", "shorter than 16 characters"), ("sixteen letters & more", "only letters, digits and . _ ~ -")],
)
def test_a_token_that_is_easily_guessed_or_fits_no_address_is_refused(monkeypatch, token, why):
    monkeypatch.setenv("LIVE_TOKEN", token)
    with pytest.raises(UsageError, match=f"LIVE_TOKEN: {why}"):
        parse_page_address("0.0.0.0:8090")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("0.0.0.0:", "--live=: not a whole number from 1024 to 65535"),
        ("0.0.0.0:80", "--live=80: not a whole number from 1024 to 65535"),
        ("yes", "--live=yes: not a whole number from 1024 to 65535; give 1, a port, or host:port"),
        (":8090", "--live :8090: '' is neither the name nor an IP address of a machine; give 1, a port, or host:port"),
        ("http://box:8090", "'http://box' is neither the name"),
        ("::1:8090", None),
        ("[::1:8090", "neither the name"),
    ],
)
def test_an_address_that_cannot_be_is_one_line(text, why):
    if why is None:
        assert parse_page_address(text).host == "::1"
        return
    with pytest.raises(UsageError) as error:
        parse_page_address(text)
    assert why in str(error.value)
    assert "\n" not in str(error.value)


EVERYWHERE = LiveAddress("0.0.0.0", 8090, TOKEN, TOKEN, "Box")


@pytest.mark.parametrize(
    ("address", "header", "is_named"),
    [
        (LiveAddress(), "127.0.0.1:8090", True),
        (LiveAddress(), "localhost:8090", True),
        (LiveAddress(), "127.0.0.1:8091", False),
        (LiveAddress(), "127.0.0.1", False),
        (LiveAddress(), "", False),
        (LiveAddress(), "evil.example:8090", False),
        (EVERYWHERE, "10.0.0.7:8090", True),
        (EVERYWHERE, "[fe80::1]:8090", True),
        (EVERYWHERE, "box:8090", True),
        (EVERYWHERE, "evil.example:8090", False),
        (EVERYWHERE, "127.0.0.1.evil.example:8090", False),
        (LiveAddress("10.0.0.7", 8090, TOKEN), "10.0.0.7:8090", True),
        (LiveAddress("10.0.0.7", 8090, TOKEN), "10.0.0.8:8090", False),
        (LiveAddress("10.0.0.7", 8090, TOKEN), "localhost:8090", False),
        (LiveAddress("::1", 8090, TOKEN), "[::1]:8090", True),
    ],
)
def test_only_requests_to_the_address_itself_are_answered(address, header, is_named):
    assert address.names(header, 8090) is is_named


def test_the_printed_address_is_one_that_the_page_answers():
    assert EVERYWHERE.url(8090) == f"http://Box:8090/?token={TOKEN}"
    assert LiveAddress().url(8090) == "http://127.0.0.1:8090/"
    assert LiveAddress("::1", 8090, TOKEN, TOKEN).url(8090) == f"http://[::1]:8090/?token={TOKEN}"


@pytest.mark.parametrize("token", ["", TOKEN[:-1], f"{TOKEN}x", "ä" * 20])
def test_another_token_is_not_let_in(token):
    assert not EVERYWHERE.lets_in(token)
    assert EVERYWHERE.lets_in(TOKEN)


def test_a_wrong_address_is_refused_and_nothing_is_started(refused):
    assert "--live=99999: not a whole number from 1024 to 65535" in refused("--live", "99999")
    assert "LIVE_TOKEN: shorter than 16 characters" in refused("--live", "0.0.0.0:8090", LIVE_TOKEN="short")
