"""Which systems may be loaded: this machine's, and those that a profile names."""

from dataclasses import replace
from pathlib import Path

import pytest

from harness.base.errors import UsageError
from harness.plan.allowed_targets import check_allowed, is_loopback, parse_allowed
from harness.plan.spec import load_profile, parse_target
from tests.support.paths import PROFILES, ROOT
from tests.support.requests import request_of

LOCAL = load_profile(ROOT / "env", "local")


@pytest.mark.parametrize("host", ["127.0.0.1", "127.255.255.254", "::1", "0:0:0:0:0:0:0:1", "localhost", "LOCALHOST."])
def test_this_machine_may_be_loaded_under_any_profile(host):
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host",
    [
        "10.0.0.5", "0.0.0.0", "128.0.0.1", "127.1", "2130706433", "::ffff:127.0.0.1", "fe80::1",
        "localhost.example.org", "127.0.0.1.example.org", "localtest.me", "app.localhost",
    ],
)  # fmt: skip
def test_a_name_that_only_resolves_to_this_machine_is_not_this_machine(host):
    assert not is_loopback(host)


@pytest.mark.parametrize(
    ("entry", "target", "is_allowed"),
    [
        ("http://10.0.0.5:8080", "http://10.0.0.5:8080/app", True),
        ("http://10.0.0.5:8080", "http://10.0.0.5:8081", False),
        ("http://10.0.0.5:8080", "https://10.0.0.5:8080", False),
        ("10.0.0.5:8080", "https://10.0.0.5:8080", True),
        ("10.0.0.5", "https://10.0.0.5:9000", True),
        ("10.0.0.5", "http://10.0.0.50", False),
        ("https://okapi.example.org", "https://okapi.example.org", True),
        ("https://okapi.example.org/", "https://OKAPI.example.org.:8443", True),
        ("https://okapi.example.org", "http://okapi.example.org", False),
        ("okapi.example.org", "https://okapi.example.org.evil.net", False),
        ("okapi.example.org", "https://my-okapi.example.org", False),
        ("*.example.org", "https://a.b.example.org", True),
        ("*.example.org", "https://example.org", False),
        ("*.example.org", "https://badexample.org", False),
        ("https://*.example.org:443", "https://a.example.org", True),
        ("[fd00::5]:80", "http://[fd00:0::5]", True),
        ("*.shop.co.uk", "http://a.shop.co.uk", True),
        ("*.db.de", "http://a.db.de", True),
    ],
)  # fmt: skip
def test_an_entry_allows_the_host_it_names_and_the_scheme_and_port_where_it_gives_them(entry, target, is_allowed):
    assert parse_allowed(entry, "env/x.toml").admits(parse_target(target)) == is_allowed


@pytest.mark.parametrize(
    "entry",
    [
        "", "*", "*.org", "*.", "http://", "http://*", "gopher://a.example", "http://me:pw@a.example", "10.0.0.0/8",
        "http://a.example/app", "a.example?x", "10.0.0.*", "a.*.example", "a.example:99999", "a.example:http", "a b",
        "fd00::5",
        "*.co.uk", "*.com.au", "https://*.org.nz",
    ],
)  # fmt: skip
def test_an_invalid_entry_is_refused_for_any_target(entry):
    with pytest.raises(UsageError, match=r"^env/local\.toml: allowed_targets has .*; write, for example, "):
        check_allowed(parse_target("http://127.0.0.1"), replace(LOCAL, allowed_targets=(entry,)))


def test_the_refusal_names_what_to_write_into_which_file():
    target = parse_target("http://10.0.0.5:8080/app")
    with pytest.raises(UsageError) as error:
        check_allowed(target, LOCAL)
    assert str(error.value) == (
        "--target=http://10.0.0.5:8080/app: 10.0.0.5 is not this machine, and env/local.toml allows no other; "
        "if you may "
        'load it, write allowed_targets = ["http://10.0.0.5:8080"] there, above the first [table], or choose an --env '
        "that allows it"
    )
    with pytest.raises(UsageError) as error:
        check_allowed(target, replace(LOCAL, name="staging", allowed_targets=("http://10.0.0.6:8080",)))
    assert str(error.value) == (
        "--target=http://10.0.0.5:8080/app: 10.0.0.5 is not this machine, and env/staging.toml allows "
        'http://10.0.0.6:8080; if you may load it, add "http://10.0.0.5:8080" to allowed_targets there'
    )


def test_the_entry_that_the_error_suggests_is_enough(home: Path):
    def resolved():
        return request_of(home, home, "tiny", "local", "http://[fd00::5]:8080/app")

    with pytest.raises(UsageError) as error:
        resolved()
    line = str(error.value).partition("write ")[2].partition(" there")[0]
    profile = home / "env" / "local.toml"
    profile.write_text(f"{line}\n{profile.read_text()}")
    assert resolved().target.url == "http://[fd00::5]:8080/app"


@pytest.mark.parametrize("path", PROFILES, ids=lambda path: path.stem)
def test_no_profile_of_the_project_allows_a_target(path):
    """Whoever may load a system writes it down: nothing is allowed because somebody else may."""
    assert load_profile(path.parent, path.stem).allowed_targets == ()


@pytest.mark.parametrize("text", ['"http://a.example"', "[1]", "[[]]"])
def test_allowed_targets_must_be_a_list_of_texts(home: Path, text):
    profile = home / "env" / "local.toml"
    profile.write_text(f"allowed_targets = {text}\n{profile.read_text()}")
    with pytest.raises(UsageError, match=r"env/local\.toml.*allowed_targets"):
        request_of(home, home, "tiny", "local")


@pytest.mark.parametrize(
    "text", ["http://me:hunter2@kb", "http://kb/?key=hunter2", "http://me:hunter2@kb:x", "http://me:hunter2#@kb"]
)
def test_a_refused_address_does_not_repeat_its_password(text):
    with pytest.raises(UsageError) as error:
        parse_target(text)
    assert "hunter2" not in str(error.value)
