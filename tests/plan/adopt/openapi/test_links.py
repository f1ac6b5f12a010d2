"""An id of a later request is the one that a link of the file names, or that the header Location ends with."""

from __future__ import annotations

import json
import subprocess
import threading
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from harness.base.install import toolchain
from harness.plan.adopt.curl import CurlExtractor
from harness.plan.adopt.one_request import write_requests
from harness.plan.adopt.openapi.requests import ApiPlan, plan_of_openapi
from tests.support.local_server import serving

TARGET = "http://127.0.0.1:8080/"
ID = {"name": "orderId", "in": "path", "required": True, "schema": {"type": "integer", "example": 7}}
NUMBER = {"name": "number", "in": "query", "schema": {"type": "string"}}
GET_ORDER = {"operationId": "getOrder", "responses": {"200": {"description": "ok"}}}
BY_ID = {"operationId": "getOrder", "parameters": {"orderId": "$response.body#/made/0/no"}}


def posting(links: object = None, headers: object = None, code: str = "201", **more: object) -> dict[str, Any]:
    response = {"description": "ok", **({"links": links} if links else {}), **({"headers": headers} if headers else {})}
    return {"/orders": {"post": {"responses": {code: response}}}, "/orders/{orderId}": {"get": GET_ORDER}, **more}


def made(folder: Path, paths: dict[str, Any], kind: str = "integer", **more: object) -> ApiPlan:
    paths["/orders/{orderId}"].setdefault("parameters", [{**ID, "schema": {"type": kind, "example": 7}}])
    path = folder / "api.json"
    info = {"openapi": "3.1.0", "info": {"title": "A", "version": "1"}}
    path.write_text(json.dumps({**info, "paths": paths, **more}))
    return plan_of_openapi(path, ["*"], TARGET, "")


@pytest.mark.parametrize(
    ("link", "json_path"),
    [
        (BY_ID, "$.made[0].no"),
        ({**BY_ID, "parameters": {"path.orderId": "$response.body#/no"}}, "$.no"),
        ({"operationRef": "#/paths/~1orders~1{orderId}/get", "parameters": BY_ID["parameters"]}, "$.made[0].no"),
        ({"operationRef": "#/paths/~1orders~1%7BorderId%7D/get", "parameters": BY_ID["parameters"]}, "$.made[0].no"),
        ({"$ref": "#/components/links/byId"}, "$.made[0].no"),
    ],
)
def test_a_link_says_which_part_of_the_answer_is_the_id(tmp_path: Path, link: object, json_path: str) -> None:
    plan = made(tmp_path, posting({"order": link}), components={"links": {"byId": BY_ID}})
    post, get = plan.requests
    assert post.extractors == (CurlExtractor("orders_orderid", json_path, "7"),)
    assert get.url == TARGET + "orders/${orders_orderid}"
    assert plan.lines == (f"orderId is {json_path} of POST /orders, 7 if it answers none",)


@pytest.mark.parametrize(
    "link",
    [
        {**BY_ID, "operationId": "other"},
        {**BY_ID, "parameters": {"query.orderId": "$response.body#/no"}},
        {**BY_ID, "parameters": {"orderId": "$request.body#/no"}},
        {**BY_ID, "parameters": {"orderId": "$response.body#/${__groovy(1)}"}},
        {**BY_ID, "parameters": {"orderId": 5}},
        {"operationId": "getOrder"},
    ],
)
def test_a_link_that_names_no_part_of_the_answer_is_not_used(tmp_path: Path, link: object) -> None:
    plan = made(tmp_path, posting({"order": link}))
    assert [one.extractors for one in plan.requests] == [(), ()]
    assert plan.requests[1].url == TARGET + "orders/7"


def test_a_link_may_lead_to_another_path_and_to_a_query(tmp_path: Path) -> None:
    bills = {"/bills": {"get": {"operationId": "bills", "parameters": [NUMBER], "responses": {"200": {}}}}}
    link = {"operationId": "bills", "parameters": {"number": "$response.header.X-Bill-No"}}
    listing = {"/a": {"get": {"responses": {"200": {"description": "ok", "links": {"bill": link}}}}}}
    first, last = made(tmp_path, {**listing, **bills, **posting()}).requests[:2]
    assert first.extractors == (
        CurlExtractor("bills_number", "", "number", "X-Bill-No", r"(?i)\nX-Bill-No: *([^\r\n]+)"),
    )
    assert last.url == TARGET + "bills?number=${bills_number}"


def test_the_end_of_the_location_of_a_post_that_creates_is_the_id(tmp_path: Path) -> None:
    plan = made(tmp_path, posting(headers={"location": {"schema": {"type": "string"}}}))
    ((variable, _, default, header, _),) = plan.requests[0].extractors
    assert (variable, default, header) == ("orders_orderid", "7", "Location")
    assert plan.requests[1].url == TARGET + "orders/${orders_orderid}"
    assert plan.lines == ("orderId is in the header Location of POST /orders, 7 if it answers none",)


@pytest.mark.parametrize(
    ("headers", "code", "kind"),
    [(None, "201", "integer"), ({"ETag": {}}, "201", "integer"), ({"Location": {}}, "202", "integer"),
     ({"Location": {}}, "201", "array")],
)  # fmt: skip
def test_only_a_documented_location_of_something_created_is_one(tmp_path: Path, headers, code: str, kind: str) -> None:
    plan = made(tmp_path, posting(headers=headers, code=code), kind)
    assert [one.extractors for one in plan.requests] == [(), ()]


class Creating(BaseHTTPRequestHandler):
    """Answers a POST with the next Location; the plan must then read what is there."""

    seen: list[str]
    locations: list[str]
    lock: threading.Lock

    def do_POST(self) -> None:
        self.send_response(201)
        self.send_header("Content-Location", "/wrong/3")
        self.send_header("Location", self.locations.pop(0))
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_GET(self) -> None:
        self.seen.append(self.path)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.mark.real
def test_jmeter_reads_the_id_of_each_form_of_location(tmp_path: Path) -> None:
    plan = made(tmp_path, posting(headers={"Location": {}}), "string")
    write_requests(plan.requests, tmp_path / "plans", "shop", "shop")
    locations = ["/orders/a-1", "http://h:1/orders/b.2/", "orders/c3?x=/d/e#f", "/orders/%20", "/orders/4 "]
    seen: list[str] = []
    with serving(Creating, seen=seen, locations=locations, lock=threading.Lock()) as port:
        command = [str(toolchain.ensure_jmeter() / "bin" / "jmeter"), "-n", "-t", "shop.jmx", "-j", "jmeter.log"]
        command += ["-Jhost=127.0.0.1", f"-Jport={port}", "-Jscheme=http", "-Jusers=1", "-Jloops=5", "-Jduration=-1"]
        done = subprocess.run(command, cwd=tmp_path / "plans", timeout=60, capture_output=True, text=True, check=False)
    assert seen == ["/orders/a-1", "/orders/b.2", "/orders/c3", "/orders/orderId", "/orders/4"], (
        done.stdout + done.stderr
    )
