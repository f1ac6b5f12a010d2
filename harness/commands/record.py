"""`lth record`: record a visit in Chromium, and make a plan of it as `lth init --har` does."""

from __future__ import annotations

import argparse
import base64
import json
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from harness.base.errors import UsageError
from harness.base.install.python_packages import ensure_playwright
from harness.base.interrupts import Interrupts
from harness.base.log import log
from harness.base.paths import shown
from harness.base.project import own_folder
from harness.cli.options import take, take_argument
from harness.plan.adopt.project_files import new_home, write_project
from harness.plan.allowed_targets import is_loopback
from harness.plan.spec import parse_target
from harness.run.replay.recorded import make_har_plan

# The address of a form, and its fields.
Form = tuple[str, list[dict[str, str]]]
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_FLAGS = ("--no-first-run", "--disable-background-networking", "--disable-component-update")
_PERIOD_MS = 200
# Chromium's HAR has no form that sends files. The event comes when a form is sent, and when a script reads it.
_FORM_SCRIPT = """addEventListener("formdata", async event => {
  const entries = [...event.formData]
  if (!entries.some(([, value]) => value instanceof File)) return
  const binary = buffer => Array.from(new Uint8Array(buffer), byte => String.fromCharCode(byte)).join("")
  const base64 = async file => btoa(binary(await file.arrayBuffer()))
  lthForm(event.target.action, await Promise.all(entries.map(async ([name, value]) => value instanceof File
    ? {name, fileName: value.name, contentType: value.type, base64: await base64(value)} : {name, value})))
})"""
_EPILOG = """\
examples:
  lth record shop http://127.0.0.1:8080
  lth record shop http://127.0.0.1:8080 --no-replay

A window of Chromium opens the address. Do once what a user does, then close the window, or press Ctrl-C here. Then lth
init --har makes the plan of the recording. The recording has what you typed, also passwords: it is in
.lth/ of the project.

exit codes: as of lth init; 2 also without Chromium or a screen.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Set the options of `lth record`."""
    parser.description = "Record a visit in Chromium, and make a plan of it with extractors that a replay proves."
    parser.epilog = _EPILOG
    take_argument(parser, "plan/new")
    take_argument(parser, "address")
    take(parser, "static replay no-replay max/check force home build")


def run(options: argparse.Namespace) -> int:
    """Record until the window is closed, make the plan, and return the exit code of `init`."""
    parse_target(options.address.partition("?")[0], "the address", "http://127.0.0.1:8080/")
    options.home = new_home(options.home, Path.cwd())
    if (options.home / "plans" / f"{options.plan}.jmx").exists() and not options.force:
        raise UsageError(f"plans/{options.plan}.jmx exists", "give another --plan; --force replaces it")
    har = own_folder(options.home, options.build) / "har" / f"{options.plan}.har"
    har.parent.mkdir(parents=True, exist_ok=True)
    har.touch(mode=0o600)
    with Interrupts() as interrupts:

        def until_closed(page: Any) -> None:
            log("recording; close the window or press Ctrl-C to end")
            with interrupts.deferred():
                while page.context.pages and not interrupts.count:
                    page.context.pages[0].wait_for_timeout(_PERIOD_MS)

        record(options.address, har, until_closed, is_headless=False)
    log(f"{shown(har)}: recorded")
    code = make_har_plan(argparse.Namespace(**vars(options), har=[har], target=None), options.plan)
    for written in write_project(options.home, options.plan, {}):
        log(f"{written}: written")
    return code


def record(address: str, har: Path, visit: Callable[[Any], None], *, is_headless: bool) -> None:
    """Write the HAR of a visit in Chromium: `visit` gets Playwright's page. UsageError without Chromium or a screen."""
    ensure_playwright()
    from playwright.sync_api import Error, sync_playwright

    names = [os.environ.get("CHROME") or "", *_BROWSERS]
    program = next((found for name in names if name and (found := shutil.which(name))), None)
    if program is None:
        raise UsageError("Chromium is not installed", "install the package chromium, or set CHROME to its path")
    flags = [*_FLAGS, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    with sync_playwright() as driver:
        try:
            browser = driver.chromium.launch(executable_path=program, args=flags, headless=is_headless)
        except Error:
            todo = "use a desktop session, ssh -X or xvfb-run"
            raise UsageError(f"{program} does not start, or there is no screen", todo) from None
        try:
            # JMeter accepts each certificate, too; a test system on this machine often signs its own.
            is_own = is_loopback(urlsplit(address).hostname or "")
            context = browser.new_context(
                record_har_path=har,
                record_har_content="embed",
                no_viewport=not is_headless,
                ignore_https_errors=is_own,
            )
            forms: list[Form] = []
            context.expose_function("lthForm", lambda action, fields: forms.append((action, fields)))
            context.add_init_script(_FORM_SCRIPT)
            page = context.new_page()
            page.goto(address)
            visit(page)
        except Error as error:  # the window was closed while Playwright waited for it, or the address does not answer
            if "closed" not in str(error):
                raise UsageError(f"{address}: {str(error).partition(chr(10))[0]}", "check the address") from None
        finally:
            context.close()
            browser.close()
            add_forms(har, forms)


def add_forms(har: Path, forms: Sequence[Form]) -> None:
    """Add the fields of forms to the first requests to their addresses that a HAR has without what they send."""
    data = json.loads(har.read_text(encoding="utf-8"))
    for action, fields in forms:
        for entry in data["log"]["entries"]:
            request = entry["request"]
            if request["method"] == "POST" and request["url"] == action and "postData" not in request:
                kind = next((one["value"] for one in request["headers"] if one["name"].lower() == "content-type"), "")
                request["postData"] = {"mimeType": kind, "params": [_param(one) for one in fields]}
                break
    har.write_text(json.dumps(data), encoding="utf-8")


def _param(one: dict[str, str]) -> dict[str, str]:
    """Return a field as a HAR has it; bytes that are no UTF-8 are surrogates."""
    if "base64" not in one:
        return one
    return {**one, "value": base64.b64decode(one.pop("base64")).decode(errors="surrogateescape")}
