"""Plans of generated web applications, next to what the applications know about their values."""

from __future__ import annotations

import contextlib
import io
import json
import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from defusedxml.ElementTree import parse

from harness.base.project import BUILD
from harness.cli.verbs import main
from tests.support.web_apps import WebApp
from tests.support.web_client import recorded, served

_EXTRACTORS = ("HtmlExtractor", "RegexExtractor", "BoundaryExtractor", "JSONPostProcessor")


@dataclass(frozen=True)
class Outcome:
    """The plan of an application: its exit code, the number of `needed` values, and by part what is wrong."""

    seed: int
    code: int
    needed: int
    missed: frozenset[str]
    unnecessary: frozenset[str]
    not_named: frozenset[str]
    printed: str

    @property
    def passes(self) -> int:
        """The number of passes of the replay, 0 where it failed."""
        found = re.search(r"proven in (\d+) passes", self.printed)
        return int(found[1]) if found else 0


def outcome_of(seed: int, folder: Path, recordings: int) -> Outcome:
    """Record the application of a seed, make its plan with `lth init`, which replays it, and judge the plan."""
    app, printed, arguments = WebApp(seed), io.StringIO(), list[str]()
    with served(app) as origin:
        for number in range(recordings):
            har = folder / f"visit-{number}.har"
            har.write_text(json.dumps(recorded(app, origin)))
            arguments += ["--har", str(har)]
        with contextlib.redirect_stdout(printed):
            code = main(
                ["init", "shop", *arguments, "--home", str(folder), "--build", str(BUILD), "--force", "--replay"], "lth"
            )
    needed = needed_parts(app)
    script_made = {prefix for prefix, part in app.parts.items() if part.script_made}
    extracted = parts_with_variables(folder / "plans" / "shop.jmx")
    lines = [line for line in printed.getvalue().splitlines() if line.startswith("unexplained: ")]
    named = {prefix for prefix in app.parts for line in lines if f" {prefix}/" in line}
    return Outcome(
        seed, code, len(needed), needed - extracted, frozenset(extracted - needed),
        frozenset(script_made ^ named), printed.getvalue(),
    )  # fmt: skip


def needed_parts(app: WebApp) -> frozenset[str]:
    """Return the parts of an application in which a client must send a new value."""
    return frozenset(prefix for prefix, part in app.parts.items() if part.needed)


def parts_with_variables(jmx: Path) -> set[str]:
    """Return the first segment of the path of each request that sends an extracted value."""
    root = parse(jmx).getroot()
    names = {one.get("testname") for kind in _EXTRACTORS for one in root.iter(kind)}
    found = set()
    for tree in root.iter("hashTree"):
        for sampler, below in pairwise(tree):
            if sampler.tag == "HTTPSamplerProxy":
                texts = [text for element in (sampler, below) for text in element.itertext()]
                if any(f"${{{name}}}" in text or f'"{name}"' in text for name in names for text in texts):
                    path = sampler.findtext("stringProp[@name='HTTPSampler.path']").partition("}")[2]
                    found.add("/" + path.split("/")[1].partition("?")[0])
    return found
