"""What a plan of an OpenAPI file takes of responses: ids for later requests, and the members that they must have."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from harness.plan.adopt.curl import CurlExtractor
from harness.plan.adopt.one_request import write_requests
from harness.plan.adopt.openapi import requests
from harness.plan.adopt.openapi.requests import ApiPlan, plan_of_openapi
from harness.plan.jmx.tree import plan_tree

TARGET = "http://127.0.0.1:8080/"
ORDER = {"type": "object", "required": ["id", "state"], "properties": {"id": {"type": "integer"}, "state": {}}}
ID = {"name": "orderId", "in": "path", "required": True, "schema": {"type": "integer", "example": 7}}


def made(folder: Path, paths: object, *only: str) -> ApiPlan:
    path = folder / "api.json"
    path.write_text(json.dumps({"openapi": "3.1.0", "info": {"title": "A", "version": "1"}, "paths": paths}))
    return plan_of_openapi(path, only, TARGET, "")


def answering(schema: object, code: str = "200", **more: object) -> dict[str, object]:
    content = {"application/json": {"schema": schema}}
    return {"responses": {code: {"description": "ok", "content": content}}, **more}


def orders(answer: object = ORDER, **methods: object) -> dict[str, object]:
    one = {method: answering(ORDER) for method in ("get", "put", "delete")}
    return {"/orders": {"post": answering(answer, "201"), **methods}, "/orders/{orderId}": {"parameters": [ID], **one}}


def urls(plan: ApiPlan) -> dict[str, str]:
    return {one.label: one.url.removeprefix(TARGET) for one in plan.requests}


def test_an_id_is_that_of_the_post_that_answers_it(tmp_path: Path) -> None:
    plan = made(tmp_path, orders(), "*")
    assert plan.requests[0].extractors == (CurlExtractor("orders_orderid", "$.id", "7"),)
    assert {url for label, url in urls(plan).items() if "{" in label} == {"orders/${orders_orderid}"}
    assert plan.lines[0] == "orderId is $.id of POST /orders, 7 if it answers none"


def test_the_answer_may_have_the_object_within_it(tmp_path: Path) -> None:
    within = {"type": "object", "properties": {"order": ORDER, "count": {"type": "integer"}}}
    plan = made(tmp_path, orders(within), "*")
    assert plan.requests[0].extractors == (CurlExtractor("orders_orderid", "$.order.id", "7"),)


def test_what_is_read_is_listed_and_what_is_changed_is_ones_own(tmp_path: Path) -> None:
    listing = answering({"type": "array", "items": ORDER})
    found = urls(made(tmp_path, orders(get=listing), "*"))
    assert found["GET /orders/{orderId}"] == "orders/${orders_orderid}"
    assert found["PUT /orders/{orderId}"] == found["DELETE /orders/{orderId}"] == "orders/${orders_orderid_2}"


@pytest.mark.parametrize(
    "paths",
    [
        {"/orders/{orderId}": {"get": answering(ORDER, parameters=[ID])}},
        orders({"type": "object", "properties": {"id": {"type": "boolean"}}}),
        orders({"type": "object", "properties": {"number": {"type": "integer"}}}),
        orders({"type": "string"}),
    ],
)
def test_an_id_that_no_request_answers_is_named_as_constant(tmp_path: Path, paths: object) -> None:
    plan = made(tmp_path, paths, "*")
    assert urls(plan)["GET /orders/{orderId}"] == "orders/7"
    (line,) = [line for line in plan.lines if line.startswith("always the same orderId, since no request before it ")]
    assert "answers one: GET /orders/{orderId}" in line


@pytest.mark.parametrize(
    ("operation", "parts"),
    [
        (answering(ORDER), (r'"id"\s*:', r'"state"\s*:')),
        (answering({"type": "array", "items": ORDER}), (r"^\s*\[",)),
        (answering({"type": "object", "properties": {"id": {}}}), ()),  # it may be absent
        (answering({**ORDER, "properties": {"id": {"type": "integer", "writeOnly": True}}}), (r'"state"\s*:',)),
        (answering({"allOf": [ORDER, {"required": ["more"]}]}), (r'"id"\s*:', r'"state"\s*:', r'"more"\s*:')),
        (answering({"required": ["a b", "x" * 61, "ok"]}), (r'"ok"\s*:',)),
        (answering({"required": [f"m{number}" for number in range(99)]}), tuple(rf'"m{at}"\s*:' for at in range(10))),
        ({"responses": {"200": {"description": "ok"}}}, ()),
        ({"responses": {**answering(ORDER)["responses"], "204": {"description": "none"}}}, ()),  # type: ignore[dict-item]
    ],
)
def test_a_response_must_have_the_members_that_its_schema_requires(
    tmp_path: Path, operation: dict[str, object], parts: tuple[str, ...]
) -> None:
    plan = made(tmp_path, {"/a": {"get": operation, "head": operation}})
    assert {one.method: one.parts for one in plan.requests} == {"GET": parts, "HEAD": ()}


def test_the_members_are_asserted_in_the_plan(tmp_path: Path) -> None:
    plan = made(tmp_path, {"/a": {"get": answering(ORDER)}})
    write_requests(plan.requests, tmp_path / "plans", "shop", "shop")
    nodes = [node for node in plan_tree(tmp_path / "plans" / "shop.jmx").walk() if node.kind == "ResponseAssertion"]
    (found,) = [node for node in nodes if node.value("Assertion.test_field") == "Assertion.response_data"]
    assert [found.value("part 1"), found.value("part 2")] == [r'"id"\s*:', r'"state"\s*:']
    assert found.value("Assertion.test_type") == "2"  # contains


FILES = 60


@pytest.mark.real
def test_each_reference_of_many_files_is_followed(tmp_path: Path) -> None:
    for folder in ("paths", "parameters", "responses"):
        (tmp_path / folder).mkdir()
    (tmp_path / "responses" / "bad.yaml").write_text("{description: bad, content: {}}\n")
    for number in range(FILES):
        (tmp_path / "parameters" / f"p{number}.yaml").write_text(
            f"{{name: p{number}, in: query, schema: {{type: integer, example: {number}}}}}\n"
        )
        (tmp_path / "paths" / f"r{number}.yaml").write_text(
            f"get:\n  parameters: [{{$ref: ../parameters/p{number}.yaml}}]\n"
            "  responses: {'200': {description: ok}, '400': {$ref: ../responses/bad.yaml}}\n"
        )
    plan = made(tmp_path, {f"/r{number}": {"$ref": f"paths/r{number}.yaml"} for number in range(FILES)})
    assert list(urls(plan).values()) == [f"r{number}?p{number}={number}" for number in range(FILES)]


def test_an_operation_that_takes_too_long_is_left_out_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "_OPERATION_MOST_S", 0.2)
    asked = {"name": "q", "in": "query", "required": True, "schema": {"type": "string", "pattern": "(a*)*b(a*)*c"}}
    monkeypatch.setattr("rstr.Rstr.xeger", lambda *_: time.sleep(30))
    plan = made(tmp_path, {"/slow": {"get": answering({}, parameters=[asked])}, "/fast": {"get": answering({})}})
    assert list(urls(plan)) == ["GET /fast"]
    assert "left out: GET /slow: it takes longer than 0.2 s" in plan.lines
