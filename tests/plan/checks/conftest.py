"""A plan that is checked before anything is started."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.plan.load.model import LoadArguments, parse_load, resolve_load
from harness.run.preflight import check_request
from tests.support.requests import request_of

TARGET = "http://127.0.0.1:8098"


@pytest.fixture
def check(home: Path):
    """Check a test plan as every command does before it starts anything."""

    def checked(
        plan: str,
        target: str | None = TARGET,
        allow: str = "",
        load: LoadArguments | None = None,
        profile: str = "",
    ) -> None:
        (home / "plans" / "tiny.jmx").write_text(plan, encoding="utf-8")
        (home / "plans" / "rows.csv").write_text("1,elsewhere\n")
        (home / "plans" / "head.csv").write_text("id,host\n1,elsewhere\n")
        toml = home / "plans" / "tiny.toml"
        toml.write_text(toml.read_text().partition("\n[allow]")[0] + (f"\n[allow]\n{allow}\n" if allow else ""))
        env = home / "env" / "local.toml"
        env.write_text(profile + env.read_text())
        requested = request_of(home, home, "tiny", "local", target)
        check_request(requested, resolve_load(parse_load(load or LoadArguments()), requested.plan.load))

    return checked
