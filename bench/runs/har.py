"""`scripts/bench har`: the time from an empty folder with a HAR to a VALID report, and a HAR of 500 MB."""

from __future__ import annotations

import argparse
import base64
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random

from bench.measure import measure
from bench.results import Aim
from bench.tables import print_aims
from harness.base.project import TOP
from harness.base.units import BYTES_PER_MB
from tests.support.har import ORIGIN, entry
from tests.support.web_apps import WebApp
from tests.support.web_client import recorded, served

_LTH = str(TOP / "scripts" / "lth")
_PEAK_MOST_MB = 300


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this part of the benchmark."""
    parser.add_argument("--mb", type=int, default=500, help="size of the large HAR (500)")
    parser.add_argument("--duration", default="1m", help="of the run (1m)")


def bench(options: argparse.Namespace) -> int:
    """Print the times and the aims; return 1 when one is missed."""
    with tempfile.TemporaryDirectory(prefix="har-") as folder:
        aims = [*_first_report(Path(folder), options.duration), *_large(Path(folder), options.mb)]
    return print_aims(aims, "HAR files:")


def _first_report(folder: Path, duration: str) -> Iterator[Aim]:
    app = WebApp(1)
    with served(app) as origin:
        har = folder / "visit.har"
        har.write_text(json.dumps(recorded(app, origin)))
        plan = measure([_LTH, "init", "shop", "--har", str(har)], folder, {})
        yield Aim("lth init --har with its proof, s", f"{plan.wall_s:.0f}", "exit code 0", plan.exit_code == 0)
        done = measure([_LTH, "run", "shop", "-t", origin, "-d", duration], folder, {})
        records = [json.loads(path.read_text()) for path in (folder / "reports" / "shop").glob("run-*.json")]
        verdict = records[0]["verdict"]["state"] if records else "no report"
        yield Aim(f"lth run -d {duration}, s", f"{done.wall_s:.0f}, {verdict}", "VALID", verdict == "VALID")


def _large(folder: Path, most_mb: int) -> Iterator[Aim]:
    har = folder / "large.har"
    count = _write_large(har, most_mb * BYTES_PER_MB)
    command = [_LTH, "init", "large", "--har", str(har), "--no-replay"]
    made = measure(command, folder, {}, watch_memory=True)
    peak_mb = (made.peak_bytes or 0) / BYTES_PER_MB
    name = f"{most_mb} MB, {count} requests: CPU s"
    yield Aim(name, f"{made.cpu_s:.0f}", "exit code 0", made.exit_code == 0)
    yield Aim("its peak MB", f"{peak_mb:.0f}", f"≤ {_PEAK_MOST_MB}", 0 < peak_mb <= _PEAK_MOST_MB)


def _write_large(path: Path, size_bytes: int) -> int:
    """Write a HAR of pages, JSON, scripts and pictures, most of it pictures; return the number of requests."""
    picture = base64.b64encode(Random(1).randbytes(750_000)).decode()
    items = json.dumps({"items": [{"id": number, "price": number * 1.5} for number in range(2000)]})
    bodies = {"text/html": "<p>A line of a page</p>\n" * 2000, "application/json": items,
              "text/javascript": "var a = 1;\n" * 25_000, "image/png": picture}  # fmt: skip
    count = 0
    with path.open("w", encoding="utf-8") as file:
        file.write(f'{{"log": {{"version": "1.2", "entries": [{json.dumps(entry(ORIGIN + "/"))}')
        while file.tell() < size_bytes:
            for kind, body in bodies.items():
                count += 1
                one = entry(f"/{kind}/{count}", body, kind=kind, at_s=count * 2.0)
                if kind == "image/png":
                    one["response"]["content"]["encoding"] = "base64"
                file.write(f",\n{json.dumps(one)}")
        file.write("]}}")
    return count
