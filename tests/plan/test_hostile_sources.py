"""A hostile recording, OpenAPI file or JMX ends in one line with its place: nothing hangs, crashes or grows."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.base import bounded
from harness.base.errors import UsageError
from harness.plan.adopt.openapi.requests import plan_of_openapi
from harness.plan.har.read import read_har
from harness.plan.har.steps import steps_of
from harness.plan.jmx.tree import plan_tree
from tests.support.har import entry, write
from tests.support.tiny import TINY_JMX
from tests.support.weekly import often

OK = {"responses": {"200": {"description": "ok"}}}
EVIL = r"^(a|a|b?)*c$"


def api(folder: Path, schema: object, **more: object) -> Path:
    operation = {"parameters": [{"name": "q", "in": "query", "required": True, "schema": schema, **more}], **OK}
    path = folder / "api.json"
    paths = {"/bad": {"get": operation}, "/good": {"get": OK}}
    path.write_text(json.dumps({"openapi": "3.1.0", "info": {"title": "A", "version": "1"}, "paths": paths}))
    return path


def arrays(depth: int, least: int) -> dict[str, Any]:
    return {"type": "array", "minItems": least, "items": arrays(depth - 1, least)} if depth else {"type": "string"}


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"type": "string", "minLength": 10**9}, "q has at least 1000000000 characters, more than 1000000"),
        ({"type": "string", "pattern": "a", "minLength": 10**9}, "q has at least 1000000000 characters"),
        ({"type": "array", "minItems": 10**9}, "q has at least 1000000000 items, more than 1000"),
        (arrays(3, 1000), "q would be larger than 1000000 characters"),
    ],
)
def test_a_size_that_a_schema_asks_for_is_limited(tmp_path, schema, reason):
    start_s = time.monotonic()
    plan = plan_of_openapi(api(tmp_path, schema), (), "http://127.0.0.1:8080/", "")
    assert [one.label for one in plan.requests] == ["GET /good"]
    assert reason in plan.lines[0]
    assert time.monotonic() - start_s < 20


@pytest.mark.real
def test_a_pattern_that_hangs_ends_with_its_operation(tmp_path, monkeypatch):
    monkeypatch.setattr(bounded, "PART_MOST_S", 1.0)
    path = api(tmp_path, {"type": "string", "pattern": EVIL}, example="a" * 60)
    with pytest.raises(UsageError, match=r"^api\.json: GET /bad: takes longer than 1 s; repair the file") as raised:
        plan_of_openapi(path, (), "http://127.0.0.1:8080/", "")
    assert "\n" not in str(raised.value)


def test_work_that_takes_gigabytes_ends_with_its_place(monkeypatch):
    monkeypatch.setattr(bounded, "MEMORY_MOST_BYTES", 200_000_000)

    def work(at: Callable[[str], None]) -> int:
        at("GET /bad")
        return len(bytearray(10**9))

    with pytest.raises(UsageError, match=r"^api\.json: GET /bad: needs more than 0\.2 GB of memory"):
        bounded.bounded("api.json", work)


@pytest.mark.real
@pytest.mark.parametrize("sign", often(1, ["[", "{a: ", "- "]))
def test_a_file_at_which_the_parser_crashes_is_refused(tmp_path, sign):
    path = tmp_path / "api.yaml"
    path.write_text(f"openapi: 3.1.0\nx: {sign * 50_000}" if sign != "- " else f"- {sign * 100_000}a")
    with pytest.raises(UsageError, match=r"^api\.yaml: (nested too deeply|cannot be read)") as raised:
        plan_of_openapi(path, (), "http://127.0.0.1:8080/", "")
    assert "\n" not in str(raised.value)


def test_a_mistake_of_ours_is_not_blamed_on_the_file():
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        bounded.bounded("x", lambda _: 1 // 0)


def test_a_jmx_with_too_many_levels_or_bytes_is_refused(tmp_path, monkeypatch):
    jmx = tmp_path / "deep.jmx"
    jmx.write_text(
        TINY_JMX.replace("</jmeterTestPlan>", f"{'<hashTree>' * 5000}{'</hashTree>' * 5000}</jmeterTestPlan>")
    )
    with pytest.raises(UsageError, match=rf"{tmp_path.name}/deep\.jmx:\d+: nested too deeply: more than 400 elements"):
        plan_tree(jmx)
    monkeypatch.setattr("harness.plan.jmx.tree._SIZE_MOST_BYTES", 1_000_000)
    jmx.write_text(TINY_JMX.replace('testname="', f'testname="{"a" * 1_000_000}', 1))
    with pytest.raises(UsageError, match=r"deep\.jmx: is larger than 1 MB"):
        plan_tree(jmx)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"method": "${__P(a)}"}, "entry 2 is not that of a HAR .*the method"),
        ({"url": "http://[::1/"}, "entry 2 is not that of a HAR"),
        ({"postData": {"mimeType": "text/plain", "text": "a" * 10_000_001}}, "entry 2 .* larger than 10000000"),
    ],
)
def test_a_request_that_cannot_be_is_refused_with_its_entry(tmp_path, change, message):
    bad = entry("/b")
    bad["request"] |= change
    with pytest.raises(UsageError, match=message) as raised:
        read_har(write(tmp_path / "v.har", entry("/a"), bad))
    assert len(str(raised.value)) < 300


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('"status": 1e999', "entry 1 is not that of a HAR"),
        (f'"status": {"9" * 5000}', r"no JSON before the first entry ends \(a number is too large\)"),
        (f'"status": {"[" * 100_000}', r"no JSON before the first entry ends \(nested too deeply\)"),
    ],
)
def test_a_number_or_a_depth_that_python_cannot_read_is_refused(tmp_path, text, message):
    har = write(tmp_path / "v.har", entry("/a"))
    har.write_text(re.sub(r'"status": 200', text, har.read_text()))
    with pytest.raises(UsageError, match=message):
        read_har(har)


@pytest.mark.parametrize(
    "page",
    [
        "<title>A</title><![foo[ x",
        "<a " * 200_000,
        "<!--" * 200_000,
        "x" * 20_000_000,
        '<form action="http://["><input name="q"></form>',
        "{" * 100_000,
        "[" * 100_000,
    ],
)
def test_an_answer_that_is_no_html_url_or_json_is_only_not_understood(tmp_path, page):
    har = write(
        tmp_path / "v.har", entry("/a", page), entry("/b?q=1", status=302, answer_headers={"Location": "http://["}),
        entry("/c", method="POST", body="[" * 100_000, body_type="application/json"),
    )  # fmt: skip
    assert [step.path for step in steps_of(read_har(har)).steps] == ["/a", "/b", "/c"]
