"""A home with the plan `shop` of a test's own JMX."""

import json
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

from harness.base.install import toolchain
from tests.support.commands import command
from tests.support.local_server import serving
from tests.support.tiny import TINY_PLAN, TINY_PROFILE

_SHOP = TINY_PLAN.replace("tiny.jmx", "shop.jmx").replace('system = "tiny"\n', "")


def make_home(folder: Path, jmx: str, more: str = "", profile: str = TINY_PROFILE) -> None:
    """Write the plan, its TOML with `more` at its end, and a profile."""
    files = ("plans/shop.jmx", jmx), ("plans/shop.toml", _SHOP + more), ("env/local.toml", profile)
    for name, content in files:
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content)


def shop_run(
    folder: Path,
    handler: type[BaseHTTPRequestHandler],
    plan: str,
    *arguments: str,
    profile: str = "",
    more: str = "",
    **served: Any,
) -> tuple[int, str, dict[str, Any]]:
    """Run the plan of a shop with a real JMeter; return the exit code, the report and its JSON."""
    make_home(folder, plan, more, profile or TINY_PROFILE)
    with serving(handler, **served) as port:
        folders = ("--home", folder, "--reports", folder / "reports", "--target", f"http://127.0.0.1:{port}")
        variables = {"JMETER_HOME": str(toolchain.ensure_jmeter()), "SHOP_TOKEN": "tk-4711-of-the-day"}
        done = command("scripts/run", "--plan", "shop", *folders, *arguments, **variables)
    reports = folder / "reports" / "shop"
    return done.returncode, (reports / "run-01_1.md").read_text(), json.loads((reports / "run-01_1.json").read_text())
