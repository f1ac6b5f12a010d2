"""A home with the plan `shop` of a test's own JMX."""

from pathlib import Path

from tests.support.tiny import TINY_PLAN, TINY_PROFILE

_SHOP = TINY_PLAN.replace("tiny.jmx", "shop.jmx").replace('system = "tiny"\n', "")


def make_home(folder: Path, jmx: str, more: str = "", profile: str = TINY_PROFILE) -> None:
    """Write the plan, its TOML with `more` at its end, and a profile."""
    files = ("plans/shop.jmx", jmx), ("plans/shop.toml", _SHOP + more), ("env/local.toml", profile)
    for name, content in files:
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content)
