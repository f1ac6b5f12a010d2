"""A home with the plan `shop` of a test's own JMX, and runs of it against a server of the test."""

from pathlib import Path

from harness.base import toolchain
from tests.support.commands import command
from tests.support.tiny import TINY_PLAN, TINY_PROFILE

_SHOP = TINY_PLAN.replace("tiny.jmx", "shop.jmx").replace('system = "tiny"\n', "")


def make_home(folder: Path, jmx: str, more: str = "", profile: str = TINY_PROFILE) -> None:
    """Write the plan, its TOML with `more` at its end, and a profile."""
    files = ("plans/shop.jmx", jmx), ("plans/shop.toml", _SHOP + more), ("env/local.toml", profile)
    for name, content in files:
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content)


def run_shop(folder: Path, port: int, *arguments: str) -> None:
    """Run the plan with a real JMeter and one user; the reports are in reports/shop/ of the home."""
    folders = ("--home", folder, "--reports", folder / "reports", "--target", f"http://127.0.0.1:{port}")
    arguments = ("--plan", "shop", "--users", "1", *arguments)
    command("scripts/run", *arguments, *folders, JMETER_HOME=str(toolchain.ensure_jmeter()))
