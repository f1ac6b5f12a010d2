"""Settings of a system on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.base.errors import UsageError
from harness.run.request import Names, resolve_request


@pytest.fixture
def home(home: Path) -> Path:
    """The home with the tiny plan, whose system has a setting of each type."""
    system = home / "systems" / "tiny" / "system.toml"
    more = 'size = 1\nshare = 0.5\nis_on = false\nfaults = []\ndb_password = ""\n[limits]\nsize = [0, 9]\n'
    system.write_text(system.read_text() + more)
    (home / "env" / "local.toml").open("a").write("[system.tiny]\nsize = 2\n")
    (home / "plans" / "tiny.toml").open("a").write('[embedded]\nsettings = { python = "python3" }\n')
    return home


def test_given_settings_replace_those_of_the_profile_with_the_type_of_their_default(home: Path) -> None:
    text = "size=3 tiny.share=1 is_on=true 'faults=a, b' python=python3"
    assert resolve_request(Names("tiny", "local", settings=text), home, home).settings == {
        "python": "python3", "size": 3, "share": 1.0, "is_on": True, "faults": ["a", "b"], "db_password": "",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sice=3", "SETTINGS: sice: tiny has no such setting; did you mean size? there are: "),
        ("okapi.size=3", "SETTINGS: okapi.size: tiny has no such setting; "),
        ("size", "SETTINGS: size; give name=value"),
        ("size=3 tiny.size=4", "SETTINGS: size occurs twice; give each setting once"),
        ("size=x", "system tiny: setting size = 'x' is not a whole number; its default is 1"),
        ("size=10", "system tiny: setting size = 10 is out of range; give a value from 0 to 9"),
        ("is_on=maybe", "system tiny: setting is_on = 'maybe' is not a true or false; its default is False"),
        ("db_password=x", "SETTINGS: db_password is a secret, and a report has the command; set it in a profile"),
        ("python=pypy", "SETTINGS: python=pypy, but the plan sets 'python3'; leave it out, or choose another plan"),
        ("size='3", "size='3: no closing quotation; close the quote"),
    ],
)
def test_a_setting_that_cannot_be_given_is_refused(home: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError) as refused:
        resolve_request(Names("tiny", "local", settings=text), home, home)
    assert str(refused.value).startswith(message)


def test_settings_of_a_target_are_refused(home: Path) -> None:
    with pytest.raises(UsageError, match="SETTINGS and TARGET exclude each other"):
        resolve_request(Names("tiny", "local", "http://127.0.0.1:8080", settings="size=3"), home, home)
