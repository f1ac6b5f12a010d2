"""A plan of an OpenAPI file: another library finds each request valid that a real JMeter sends."""

import json
import re
from itertools import cycle
from pathlib import Path
from urllib.parse import unquote

import pytest
import yaml
from openapi_core import OpenAPI

from harness.base.install import toolchain
from tests.support.commands import command
from tests.support.local_server import serving
from tests.support.openapi_server import Checking

pytestmark = pytest.mark.real
BOOKS = Path(__file__).parents[1] / "plan" / "adopt" / "openapi" / "books.yaml"
# Each loop draws one of two ids: that all draw the same happens once in eight million runs.
LOOPS = 24
# What the file requires of a book.
NEW = cycle((73, 74))
BOOK = {"name": "a", "isbn": "978-3", "price": 1, "written": "2026-01-01", "next": None}
SECRETS = {"SHOP_TOKEN": "token-4711", "SHOP_USER": "YW5uOmhpZGRlbg==", "SHOP_KEY": "key-4711"}


def answered(method: str, path: str) -> tuple[int, object]:
    """Answer lists with two ids, and all else with a documented success."""
    if path.endswith("/books") and method == "GET":
        return 200, {"total": 2, "books": [{"id": 71}, {"id": 72}]}
    if path.endswith("/reviews"):
        return 200, [{"id": "x/1ä"}]
    if method == "POST" and path.endswith("/books"):
        return 201, {"id": next(NEW), **BOOK}
    return {"DELETE": 204}.get(method, 200), BOOK


# What 3.1 spells differently is read in tests/plan/adopt/openapi.
@pytest.mark.parametrize("version", ["3.0.3", pytest.param("3.1.0", marks=pytest.mark.counterpart)])
def test_all_requests_of_the_plan_are_valid_and_use_the_ids_of_lists(tmp_path, version):
    text = BOOKS.read_text(encoding="utf-8").replace("openapi: 3.0.3", f"openapi: {version}")
    if version == "3.1.0":
        text = text.replace("minimum: 0, exclusiveMinimum: true", "exclusiveMinimum: 0")
        text = text.replace("maximum: 1, exclusiveMaximum: true", "exclusiveMaximum: 1")
        text = text.replace("type: string, nullable: true", "type: [string, 'null']")
    (tmp_path / "books.yaml").write_text(text, encoding="utf-8")
    api, got, wrong = OpenAPI.from_dict(yaml.safe_load(text)), [], []
    jmeter = {"JMETER_HOME": str(toolchain.ensure_jmeter()), **SECRETS}
    home = ("--home", tmp_path, "--build", tmp_path / "build")
    words = ("shop", "--openapi", tmp_path / "books.yaml", "--only", "*")
    handler = {"api": api, "got": got, "wrong": wrong, "answer": answered, "origin": "http://127.0.0.1:8080"}
    with serving(Checking, **handler) as port:
        made = command("scripts/init", *words, f"http://127.0.0.1:{port}/v2", *home)
        target = ("--target", f"http://127.0.0.1:{port}")
        load = ("-u", 1, "--loops", LOOPS, "--reports", tmp_path / "reports")
        done = command("scripts/run", "shop", *target, *load, *home, **jmeter)
    assert sorted({*wrong}) == []
    assert (made.returncode, done.returncode) == (0, 0), made.stderr + done.stdout + done.stderr
    assert len(got) == LOOPS * 10
    books = {path.rpartition("/")[2] for method, path, *_ in got if method == "DELETE"}
    assert books == {"73", "74"}  # those that the plan has made
    read = {path.rpartition("/")[2] for _, path, *_ in got if re.fullmatch(r"/v2/books/7[12]", path)}
    assert read == {"71", "72"}  # those of the list
    reviews = {path.rpartition("/")[2] for _, path, *_ in got if "/reviews/" in path}
    assert {unquote(one) for one in reviews} == {"x/1ä?api key=key-4711"}
    sent = {(method, path.partition("?")[0]): (headers, body) for method, path, headers, body in got}
    assert sent["POST", "/v2/note"][1] == "cost: $5 ${x} \\ ü"
    assert "authorization" not in sent["POST", "/v2/note"][0]
    assert sent["POST", "/v2/login"][0]["authorization"] == f"Basic {SECRETS['SHOP_USER']}"
    assert sent["GET", "/v2/books"][0]["authorization"] == f"Bearer {SECRETS['SHOP_TOKEN']}"
    assert json.loads(sent["POST", "/v2/books"][1])["stock"] == 10
    for label in ("listBooks", "getBook", "DELETE /books/{bookId}"):
        assert f"\n{label} " in done.stdout


@pytest.mark.counterpart
def test_an_undocumented_code_fails(tmp_path):
    """The server answers 202, which the file does not list."""
    (tmp_path / "api.yaml").write_text(
        "openapi: 3.1.0\ninfo: {title: A, version: '1'}\npaths: {/a: {get: {responses: {'200': {description: a}}}}}\n"
    )
    api, got, wrong = OpenAPI.from_file_path(str(tmp_path / "api.yaml")), [], []
    home = ("--home", tmp_path, "--build", tmp_path / "build")
    handler = {"api": api, "got": got, "wrong": wrong, "answer": lambda *_: (202, {}), "origin": "http://localhost"}
    with serving(Checking, **handler) as port:
        command("scripts/init", "shop", "--openapi", tmp_path / "api.yaml", f"http://127.0.0.1:{port}", *home)
        jmeter = {"JMETER_HOME": str(toolchain.ensure_jmeter())}
        done = command("scripts/check", "shop", "--target", f"http://127.0.0.1:{port}", *home, **jmeter)
    assert (done.returncode, len(got)) == (1, 1)
    assert "expected 200" in done.stdout
