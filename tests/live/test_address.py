"""The address on which a watcher serves a run."""

import pytest

from harness.base.errors import UsageError
from harness.live.page_address import Address, parse_address


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, None),
        ("0", None),
        ("1", Address("127.0.0.1", 9464)),
        ("9500", Address("127.0.0.1", 9500)),
        ("localhost:9500", Address("127.0.0.1", 9500)),
        ("[::1]:9500", Address("::1", 9500)),
        ("10.0.0.7:9500", Address("10.0.0.7", 9500)),
        ("0.0.0.0:9500", Address("0.0.0.0", 9500)),
    ],
)
def test_one_is_the_default_a_port_is_on_this_machine_and_other_addresses_are_written_out(text, expected):
    assert parse_address(text, "--metrics", 9464) == expected


@pytest.mark.parametrize(
    "text",
    [
        "yes",
        "2x",
        "80",
        "70000",
        "::1:9464",
        "[::1]",
        "host:9464",
        "10.0.0.7",
        ":9464",
        "1.2.3.4:",
        "http://1.2.3.4:9464",
    ],
)
def test_anything_else_is_refused_in_one_line(text):
    with pytest.raises(UsageError, match=r"^--metrics=") as error:
        parse_address(text, "--metrics", 9464)
    assert "\n" not in str(error.value)
    assert "; give 1, a port, or an address of this machine" in str(error.value)


def test_only_loopback_is_this_machine_alone():
    assert Address("127.0.0.1", 1).is_loopback
    assert Address("::1", 1).is_loopback
    assert not Address("0.0.0.0", 1).is_loopback
    assert not Address("10.0.0.7", 1).is_loopback


def test_an_address_is_written_as_in_a_url():
    assert str(Address("::1", 9464)) == "[::1]:9464"
    assert str(Address("127.0.0.1", 9464)) == "127.0.0.1:9464"
