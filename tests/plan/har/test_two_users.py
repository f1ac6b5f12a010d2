"""Two recordings of two users are two rows, each with the secret of its user."""

from __future__ import annotations

import csv
import io
import json
import tomllib
from pathlib import Path

import pytest

from harness.cli.verbs import main
from harness.plan.checks.lint import lint
from harness.plan.jmx.tree import plan_tree
from tests.support.har import entry, write

LOG_IN = (
    '<title>Log in</title><form action="/in" method="post"><input name="user">'
    '<input type="password" name="pw"><button>Log in</button></form>'
)
JSON = "application/json"


def form(user: str, password: str) -> list[dict[str, object]]:
    return [entry("/", LOG_IN), entry("/in", "<p>in</p>", method="POST", body=f"user={user}&pw={password}", at_s=3)]


def posted(user: str, password: str) -> list[dict[str, object]]:
    body = json.dumps({"username": user, "password": password})
    return [entry("/"), entry("/in", "{}", kind=JSON, method="POST", body=body, body_type=JSON, at_s=3)]


def made(home: Path, *recordings: list[dict[str, object]]) -> tuple[list[dict[str, str]], dict[str, object], str]:
    """Return the rows of the data file, the secrets, and the body that logs in."""
    for number, one in enumerate(recordings):
        write(home / f"{number}.har", *one)
    given = [word for number in range(len(recordings)) for word in ("--har", str(home / f"{number}.har"))]
    folders = ["--home", str(home), "--build", str(home / "build")]
    assert main(["shop", *given, "--no-replay", "--force", *folders], "scripts/init") == 0
    rows = (home / "plans" / "data" / "shop" / "users.csv").read_text()
    secrets = tomllib.loads((home / "secrets.toml").read_text())
    sampler = next(node for node in plan_tree(home / "plans" / "shop.jmx").walk() if node.name == "POST /in")
    sent = [prop.text or "" for prop in sampler.element.iter() if prop.get("name") == "Argument.value"]
    return list(csv.DictReader(io.StringIO(rows))), secrets, " ".join(sent)


@pytest.mark.parametrize("visit", [form, posted])
def test_each_recording_is_a_row_with_its_own_password(home: Path, visit) -> None:
    rows, secrets, sent = made(home, visit("ann", "opensesame1"), visit("bob", "closedsesame2"))
    name, password = list(rows[0])
    assert [row[name] for row in rows] == ["ann", "bob"]
    assert [secrets[row[password]] for row in rows] == ["opensesame1", "closedsesame2"]
    assert f"${{__V(${{{password}}})}}" in sent
    assert tomllib.loads((home / "plans" / "shop.toml").read_text())["secrets"] == [row[password] for row in rows]
    jmx = (home / "plans" / "shop.jmx").read_text()
    assert all(f'<stringProp name="Argument.name">{row[password]}</stringProp>' in jmx for row in rows)
    assert "sesame" not in jmx
    assert lint(home / "plans" / "shop.jmx") == ()


def test_the_same_password_stays_one_secret(home: Path) -> None:
    rows, secrets, sent = made(home, form("ann", "opensesame1"), form("bob", "opensesame1"))
    assert rows == [{"user": "ann"}, {"user": "bob"}]
    assert list(secrets.values())[1:] == ["opensesame1"]
    assert "__V" not in sent


def test_two_recordings_of_one_user_are_one_row(home: Path) -> None:
    assert made(home, form("ann", "opensesame1"), form("ann", "opensesame1"))[0] == [{"user": "ann"}]
    assert made(home, form("ann", "opensesame1"))[0] == [{"user": "ann"}]
