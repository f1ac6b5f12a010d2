"""The HTML of the live page: everything is in it, and it asks only the server that sent it."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from pathlib import Path

import jinja2
from markupsafe import Markup

from harness.live.state import TIMES
from harness.report.charts.run_charts import CHARTS
from harness.site.files import asset_text, library_scripts
from harness.site.single import single_page


def live_page(run: str, load: str, stops: str, stop_token: str, charts: Path) -> bytes:
    """Return the page of a run, which has no name before the first one begins.

    The button ends `stops`, such as "the load", with `stop_token`. `charts` is the chart library.
    """
    times = [metric.phrase for metric in TIMES]
    lines = {"response-time": times, "throughput": ["samples"], "errors": ["errors"], "users": ["users"]}
    # Those of the report, but for the charts of several loads.
    kinds = [kind for kind in CHARTS if kind.name in lines and "{}" not in kind.title]
    drawn = [{"key": kind.name, "title": kind.title, "unit": kind.unit, "names": lines[kind.name]} for kind in kinds]
    about = {"run": run, "stops": stops, "token": stop_token, "times": times, "charts": drawn}
    # A script cannot be ended by what has no "<".
    start = f"startLive({json.dumps(about)});\n".replace("<", "\\u003c")
    scripts = [*library_scripts(charts), asset_text("charts.js"), _asset("live.js"), start]
    title = run or "Before the first run"
    body = Markup(_template().render(title=title, load=load, stops=stops))
    return single_page(f"{title}, live", body, asset_text("site.css"), scripts, connects=True).encode()


def _asset(name: str) -> str:
    return (resources.files("harness.live") / "assets" / name).read_text(encoding="utf-8")


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("harness.live", "assets"), undefined=jinja2.StrictUndefined, autoescape=True
    )
    return environment.get_template("live.html.j2")
