"""Real web applications that nobody here wrote: how each is started, and what a user does in Chromium.

A visit types texts with the name user0; each other user types the same with another number.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import Request, urlopen
from zipfile import ZipFile

from harness.base.ports import free_port
from harness.base.project import BUILD
from harness.cli.verbs import main
from harness.commands.record import record
from harness.system.manifest import load_manifest
from harness.system.supervisor import Supervisor
from tests.support.paths import ROOT

_CACHE = BUILD / "applications"
_WAGTAIL = "wagtail==8.0.1"
_KEYCLOAK = "26.7.0"
_START_S = 600
USERS = 20
PASSWORD = "a long password"
_WAIT_MS = 60_000


@dataclass(frozen=True)
class Application:
    """An application: `start` gets an empty folder and yields the address, `visit` gets Playwright's page and it."""

    name: str
    path: str
    start: Callable[[Path], AbstractContextManager[str]]
    visit: Callable[[Any, str], None]


@dataclass(frozen=True)
class Outcome:
    """What was made of an application: the exit code of `lth init`, what it printed, and a run of 20 users."""

    code: int
    printed: str
    columns: list[str]
    run_code: int = -1
    requests: int = 0
    errors: int = 0

    def count(self, pattern: str) -> int:
        """Return the number in what was printed, 0 without it."""
        found = re.search(pattern, self.printed)
        return int(found[1]) if found else 0

    @property
    def extractors(self) -> int:
        """The number of proven extractors."""
        return self.count(r"users passed with (\d+) extractor")

    @property
    def dropped(self) -> int:
        """The number of extractors that the replay dropped."""
        found = re.search(r"not needed, so sent as recorded: (.*)", self.printed)
        return len(found[1].split(",")) if found else 0

    @property
    def unexplained(self) -> int:
        """The number of values without a source."""
        return self.printed.count("\nunexplained: ")


def outcome_of(application: Application, folder: Path, duration_s: int = 20) -> Outcome:
    """Record a visit, make its plan with `lth init`, which replays it, and run it with 20 users."""
    home, har, printed = folder / "home", folder / "visit.har", io.StringIO()
    folders = ["--home", str(home), "--build", str(BUILD)]
    with application.start(folder / "application") as origin:

        def visit(page: Any) -> None:
            page.set_default_timeout(_WAIT_MS)
            application.visit(page, origin)

        record(f"{origin}{application.path}", har, visit, is_headless=True)
        with contextlib.redirect_stdout(printed):
            code = main(["init", "shop", "--har", str(har), "--replay", *folders], "lth")
        data = home / "plans" / "data" / "shop" / "users.csv"
        head, row = data.read_text().splitlines()
        if code:
            return Outcome(code, printed.getvalue(), head.split(","))
        rows = [row.replace("user0", f"user{number}") for number in range(USERS)]
        data.write_text("\n".join([head, *rows, ""]))
        reports = ["--reports", str(home / "reports")]
        load = ["-u", str(USERS), "-d", str(duration_s)]
        run_code = main(["run", "shop", "-t", origin, *load, *folders, *reports], "lth")
    total = json.loads(next((home / "reports" / "shop").glob("run-01_1*.json")).read_text())["whole"]["total"]
    counts = total["sample_count"], total["error_count"]
    return Outcome(code, printed.getvalue(), head.split(","), run_code, *counts)


@contextmanager
def _printing_its_port(command: list[str]) -> Iterator[str]:
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        process.terminate()


def _start_django(folder: Path) -> AbstractContextManager[str]:
    folder.mkdir()
    return _printing_its_port([sys.executable, "-m", "tests.support.django_admin", str(folder), PASSWORD, str(USERS)])


def _visit_django(page: Any, _: str) -> None:
    page.fill("#id_username", "user0")
    page.fill("#id_password", PASSWORD)
    page.click("input[type=submit]")
    page.click("text=Groups")
    page.click("text=Add group")
    page.fill("#id_name", "Editors of user0")
    page.click("input[name=_save]")
    page.click("#result_list a:has-text('Editors of user0')")
    page.fill("#id_name", "Writers of user0")
    page.click("input[name=_save]")
    page.click("#result_list a:has-text('Writers of user0')")
    page.click("a.deletelink")
    page.click("input[type=submit]")


def _start_wagtail(folder: Path) -> AbstractContextManager[str]:
    python = _CACHE / _WAGTAIL / "bin" / "python"
    if not python.is_file():
        subprocess.run([sys.executable, "-m", "venv", str(python.parents[1])], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "-q", _WAGTAIL], check=True)
    return _printing_its_port(
        # -P: its own folder has a module with the name of the library requests.
        [str(python), "-P", str(ROOT / "tests" / "support" / "wagtail_site.py"), str(folder), PASSWORD, str(USERS)]
    )


def _visit_wagtail(page: Any, origin: str) -> None:
    """Write a page with a rich text, which is saved while it is written, publish, edit, upload a picture, delete."""

    def publish() -> None:
        page.wait_for_timeout(3000)
        page.locator("[data-w-dropdown-target=toggle]").last.click()
        page.locator("[name=action-publish]").click()
        page.wait_for_url("**/admin/pages/3/")

    page.fill("#id_username", "user0")
    page.fill("#id_password", PASSWORD)
    page.click("button[type=submit]")
    page.wait_for_url("**/admin/")
    page.goto(f"{origin}/admin/pages/3/")
    page.click("a[href*='/admin/pages/3/add_subpage/']")
    page.locator("#id_title").press_sequentially("News of user0", delay=20)
    page.locator(".public-DraftEditor-content").click()
    page.keyboard.type('Fresh bread & "butter" of user0', delay=15)
    publish()
    page.locator("table a:has-text('News of user0')").first.click()
    page.fill("#id_title", "Notes of user0")
    publish()
    page.goto(f"{origin}/admin/images/add/")
    page.set_input_files("#id_file", ROOT / "docs" / "report.png")
    page.fill("#id_title", "Photo of user0")
    page.locator("form[enctype] button[type=submit]").last.click()
    page.wait_for_url("**/admin/images/")
    page.goto(f"{origin}/admin/pages/3/")
    page.locator("table a:has-text('Notes of user0')").first.click()
    page.wait_for_url("**/edit/")
    page.wait_for_timeout(2000)
    page.goto(page.url.replace("/edit/", "/delete/"))
    page.click("form[action*=delete] [type=submit]")
    page.wait_for_url("**/admin/pages/3/")


@contextmanager
def _start_keycloak(folder: Path) -> Iterator[str]:
    """Yield the https address of Keycloak, whose cookies are Secure, with users who may do everything."""
    archive = _CACHE / f"keycloak-quarkus-dist-{_KEYCLOAK}.zip"
    if not archive.is_file():
        artifact = f"org.keycloak:keycloak-quarkus-dist:{_KEYCLOAK}:zip"
        command = ["mvn", "-B", "-q", "dependency:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={_CACHE}"]
        subprocess.run(command, check=True)
    folder.mkdir()
    with ZipFile(archive) as file:
        file.extractall(folder)
    keys, port, log = folder / "keys.p12", free_port(), folder / "keycloak.log"
    names = ["-alias", "own", "-dname", "CN=127.0.0.1"]
    store = ["-keyalg", "RSA", "-storetype", "PKCS12", "-keystore", str(keys), "-storepass", PASSWORD]
    subprocess.run(["keytool", "-genkeypair", *names, *store], check=True, capture_output=True)
    admin = {"KC_BOOTSTRAP_ADMIN_USERNAME": "admin", "KC_BOOTSTRAP_ADMIN_PASSWORD": PASSWORD}
    options = [f"--http-port={free_port([port])}", f"--https-port={port}", "--http-host=127.0.0.1",
               f"--https-key-store-file={keys}", f"--https-key-store-password={PASSWORD}"]  # fmt: skip
    command = ["bash", str(folder / f"keycloak-{_KEYCLOAK}" / "bin" / "kc.sh"), "start-dev", *options]
    with log.open("w") as output, subprocess.Popen(command, stdout=output, env={**os.environ, **admin}) as process:
        try:
            end_s = time.monotonic() + _START_S
            while "Listening on" not in log.read_text():
                if process.poll() is not None or time.monotonic() > end_s:
                    raise RuntimeError(f"Keycloak does not start: {log.read_text()[-2000:]}")
                time.sleep(1)
            _add_users(f"https://127.0.0.1:{port}")
            yield f"https://127.0.0.1:{port}"
        finally:
            process.terminate()


def _add_users(origin: str) -> None:
    trusting = ssl._create_unverified_context()

    def call(path: str, body: bytes | None, headers: dict[str, str]) -> Any:
        with urlopen(Request(origin + path, body, headers), context=trusting) as answer:
            text = answer.read()
            return json.loads(text) if text else None

    for number in range(USERS):
        login = {"grant_type": "password", "client_id": "admin-cli", "username": "admin", "password": PASSWORD}
        token = call("/realms/master/protocol/openid-connect/token", urlencode(login).encode(), {})["access_token"]
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        name = f"user{number}"
        user = {"username": name, "enabled": True, "email": f"{name}@example.org", "firstName": "A", "lastName": "B",
                "credentials": [{"type": "password", "value": PASSWORD}]}  # fmt: skip
        call("/admin/realms/master/users", json.dumps(user).encode(), headers)
        (made,) = call(f"/admin/realms/master/users?exact=true&username={name}", None, headers)
        role = json.dumps([call("/admin/realms/master/roles/admin", None, headers)]).encode()
        call(f"/admin/realms/master/users/{made['id']}/role-mappings/realm", role, headers)


def _visit_keycloak(page: Any, _: str) -> None:
    """Add a role in the console, which is one page of scripts, change it, and delete it."""
    page.fill("#username", "user0")
    page.fill("#password", PASSWORD)
    page.click("[type=submit]")
    page.click("#nav-item-roles")
    page.click("[data-testid=create-role]")
    page.fill("[data-testid=name]", "baker-of-user0")
    page.fill("[data-testid=description]", "Bakes bread for user0")
    page.click("button[type=submit]")
    page.wait_for_url("**/details")
    page.wait_for_timeout(2500)
    page.fill("[data-testid=description]", "Bakes cakes for user0")
    page.click("button[type=submit]")
    page.wait_for_timeout(2500)
    page.click("[data-testid=action-dropdown]")
    page.click("text=Delete this role")
    page.click("#modal-confirm, [data-testid=confirm]")
    page.wait_for_timeout(2500)


@contextmanager
def _start_thruzero(folder: Path) -> Iterator[str]:
    manifest = load_manifest(ROOT / "systems" / "thruzero")
    supervisor = Supervisor(manifest, manifest.resolve_settings({"store_query_ms": 1}), build_dir=BUILD, log_dir=folder)
    supervisor.prepare()
    try:
        supervisor.start()
        yield supervisor.target_url
    finally:
        supervisor.stop()


def _visit_thruzero(page: Any, _: str) -> None:
    """Log in, add a viewer, and type into a field that Faces sends at once."""
    page.click("text=Secured page 2")
    page.fill("[id='f:user']", "user0")
    page.fill("[id='f:password']", "demo")
    page.click("[id='f:enter']")
    page.click("text=List of viewers")
    page.click("[id='f:create']")
    page.fill("[id='f:name']", "Viewer of user0")
    page.fill("[id='f:email']", "user0@example.org")
    page.click("[id='f:save']")
    page.click("text=Ajax")
    page.fill("[id='f:name']", "Echo of user0")
    page.keyboard.press("Tab")
    page.wait_for_timeout(2500)
    page.click("text=Command buttons")
    page.click("[id='f:about']")
    page.wait_for_url("**/commandButtons.jsf")


APPLICATIONS = {
    "django": Application("Django's admin", "/admin/", _start_django, _visit_django),
    "wagtail": Application("Wagtail", "/admin/", _start_wagtail, _visit_wagtail),
    "keycloak": Application("Keycloak", "/admin/", _start_keycloak, _visit_keycloak),
    "thruzero": Application("ThruZero", "/home.jsf", _start_thruzero, _visit_thruzero),
}
