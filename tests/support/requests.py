"""Requests as commands make them of their options."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from harness.run.request import Request, resolve_request


def options_of(home: Path, build: Path, plan: str, env: str = "local", target: str | None = None, **more: Any) -> Any:
    """Return the parsed options of `lth run`, without those that are not given."""
    given = {"curl": None, **more}
    return argparse.Namespace(verb="run", home=home, build=build, plan=plan, env=env, target=target, **given)


def request_of(
    home: Path, build: Path, plan: str, env: str = "local", target: str | None = None, **more: Any
) -> Request:
    """Return the request of these options."""
    return resolve_request(options_of(home, build, plan, env, target, **more))
