"""The stand-in for the system of a real plan answers what the plan's own extractors and assertions accept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from bench.plans.json_document import Document
from bench.plans.plan_answers import Answers
from bench.plans.plan_server import serving


def prop(name: str, text: str) -> str:
    return f'<stringProp name="{name}">{text}</stringProp>'


def element(kind: str, *props: str, below: str = "") -> str:
    start = f'<{kind} testclass="{kind}" testname="{kind}" enabled="true">'
    return f"{start}{''.join(props)}</{kind}><hashTree>{below}</hashTree>"


def request(method: str, path: str, *elements: str, body: str = "") -> str:
    argument = (
        '<boolProp name="HTTPSampler.postBodyRaw">true</boolProp><elementProp name="" elementType="HTTPArgument">'
        f"{prop('Argument.value', body)}</elementProp>"
    )
    props = [prop("HTTPSampler.method", method), prop("HTTPSampler.path", path), argument if body else ""]
    return element("HTTPSamplerProxy", *props, below="".join(elements))


def asserts(field: str, text: str, kind: int) -> str:
    texts = f'<collectionProp name="Asserion.test_strings">{prop("1", text)}</collectionProp>'
    return element(
        "ResponseAssertion", texts, prop("Assertion.test_field", field), prop("Assertion.test_type", str(kind))
    )


def extracts(name: str, path: str) -> str:
    props = [prop("JSONPostProcessor.referenceNames", name), prop("JSONPostProcessor.jsonPathExprs", path)]
    return element("JSONPostProcessor", *props)


def validates(path: str, expected: str, **flags: str) -> str:
    values = {"JSONVALIDATION": "true", "ISREGEX": "false", "INVERT": "false", "EXPECT_NULL": "false", **flags}
    return element(
        "JSONPathAssertion",
        prop("JSON_PATH", path),
        prop("EXPECTED_VALUE", expected),
        *(prop(*one) for one in values.items()),
    )


@pytest.fixture
def answers(tmp_path: Path) -> Any:
    def of(*elements: str) -> Answers:
        plan = element("TestPlan", below=element("ThreadGroup", below="".join(elements)))
        (tmp_path / "own.jmx").write_text(f"<jmeterTestPlan><hashTree>{plan}</hashTree></jmeterTestPlan>")
        return Answers.of(tmp_path / "own.jmx")

    return of


def body(found: Answers, method: str, target: str, sent: str = "") -> Any:
    return json.loads(found.answer(method, target, sent).body)


def test_the_code_is_one_that_every_assertion_accepts(answers: Any) -> None:
    code = "Assertion.response_code"
    found = answers(
        request("POST", "/items", asserts(code, "201", 8)),
        request("GET", "/items", asserts(code, r"2\d\d", 1)),
        request("DELETE", "/items/${id}", asserts(code, "204", 16)),
        request("GET", "/odd", asserts(code, "200", 12)),  # equals, negated
    )
    codes = [found.answer(method, target, "").code for method, target in (
        ("POST", "/items"), ("GET", "/items"), ("DELETE", "/items/7"), ("GET", "/odd"),
    )]  # fmt: skip
    assert codes == [201, 200, 204, 201]
    assert found.answer("DELETE", "/items/7", "").body == ""


def test_extracted_paths_have_values_and_ids_fit_together(answers: Any) -> None:
    found = answers(
        request(
            "GET",
            "/invoices?limit=5",
            extracts("id", "invoices.*.id"),
            extracts("v", "$.invoices[?(@.id=='${id}')].vendorId"),
        ),
        request("GET", "/invoices/search", extracts("id", "$.invoices[0].id;$..total.count")),
    )
    first, second = body(found, "GET", "/invoices?limit=5"), body(found, "GET", "/invoices/search")
    assert first["invoices"][0]["id"] == second["invoices"][0]["id"] != first["invoices"][1]["id"]
    assert all(invoice["vendorId"] for invoice in first["invoices"])
    assert second["total"]["count"] == first["totalRecords"] == len(first["invoices"]) == 3


def test_json_assertions_get_their_values_and_what_must_be_absent_is_absent(answers: Any) -> None:
    found = answers(
        request(
            "GET", "/item", validates("$.status.name", "Available"), validates("$.blocks", "[]"),
            validates("$.totalRecords", r"^[1-9]\d*$", ISREGEX="true"), validates("$.next", "", EXPECT_NULL="true"),
            validates("$.errors", "", JSONVALIDATION="false", INVERT="true"),
        )
    )  # fmt: skip
    assert body(found, "GET", "/item") == {
        "status": {"name": "Available"}, "blocks": [], "totalRecords": 3, "next": None,
    }  # fmt: skip


def test_a_filter_finds_the_texts_that_scripts_assign(answers: Any) -> None:
    script = element("JSR223Sampler", prop("script", "vars.putObject('kind', 'Book'); vars.put(\"kind\", \"Map\")"))
    found = answers(script, request("GET", "/kinds", extracts("id", "$.kinds[?(@.name == '${kind}')].id")))
    assert [kind["name"] for kind in body(found, "GET", "/kinds")["kinds"]] == ["Book", "Map", "name-1"]


def test_equal_requests_that_expect_different_values_alternate(answers: Any) -> None:
    found = answers(
        request("GET", "/item", validates("$.status", "Available")),
        request("GET", "/item", validates("$.status", "Lost")),
    )
    assert [body(found, "GET", "/item")["status"] for _ in range(3)] == ["Available", "Lost", "Available"]


def test_requests_are_recognised_by_query_and_body(answers: Any) -> None:
    found = answers(
        request("GET", "/find?query=kind==${k} and x", extracts("a", "$.byKind")),
        request("GET", "/find?query=${q}", extracts("b", "$.byAny")),
        request("POST", "/do", extracts("c", "$.started"), body='{"step": "start", "id": "${id}"}'),
        request("POST", "/do", extracts("d", "$.ended"), body='{"step": "end", "id": "${id}"}'),
    )
    assert "byKind" in body(found, "GET", "/find?query=kind%3D%3Dbook+and+x")
    assert "byAny" in body(found, "GET", "/find?query=title%3D%3Dx")
    assert "started" in body(found, "POST", "/do", '{"step": "start",\n "id": "5"}')
    assert "ended" in body(found, "POST", "/do", '{"step": "end", "id": "5"}')
    assert found.answer("GET", "/unknown", "").body == "{}"


def test_a_while_controller_sees_a_value_that_ends_it(answers: Any) -> None:
    condition = '${__groovy(vars.get("state") != "COMPLETED" &amp;&amp; vars.get("state") != "FAILED")}'
    loop = element("WhileController", prop("WhileController.condition", condition))
    found = answers(loop, request("GET", "/job", extracts("state", "$.status")))
    assert body(found, "GET", "/job")["status"] == "COMPLETED"


def test_scripts_texts_and_headers_find_what_they_read(answers: Any) -> None:
    script = "def data = new JsonSlurper().parseText(prev.getResponseDataAsString()); "
    script += "data.fields[4].content + data.users.size()"
    pattern = [prop("RegexExtractor.regex", "x-okapi-token: (.+)"), prop("RegexExtractor.useHeaders", "true")]
    found = answers(
        request("GET", "/record", element("JSR223PostProcessor", prop("script", script))),
        request("GET", "/", asserts("Assertion.response_data", "&lt;title&gt;Shop&lt;/title&gt;", 2)),
        request("POST", "/tokens", element("RegexExtractor", *pattern)),
    )
    record = body(found, "GET", "/record")
    assert record["fields"][4]["content"] and record["users"][0]["id"]
    assert found.answer("GET", "/", "").body == "<title>Shop</title>"
    ((name, token),) = found.answer("POST", "/tokens", "").headers
    assert name == "x-okapi-token" and token


def test_the_server_sends_code_headers_and_body(answers: Any) -> None:
    found = answers(request("POST", "/authn/login", asserts("Assertion.response_code", "201", 8), body="{}"))
    with serving(found) as address:
        sent = Request(f"{address}/authn/login", data=b"{}", method="POST")
        with urlopen(sent) as response:
            assert response.status == 201
            assert response.headers["x-okapi-token"]
            assert [one.split("=")[0] for one in response.headers.get_all("Set-Cookie")] == [
                "folioAccessToken", "folioRefreshToken",
            ]  # fmt: skip
            assert json.loads(response.read())["id"]


@pytest.mark.parametrize("path", ["$..[?(@.name == 'x')].id", "$[*]", "$.a.[0]..b", "$.a[?(@.b != null)].c"])
def test_other_kinds_of_paths_make_a_document(path: str) -> None:
    document = Document()
    document.add(path)
    elements = document.root if isinstance(document.root, list) else next(iter(document.root.values()))
    assert len(elements) == 3
    if "name" in path:
        assert elements[0]["name"] == "x" and elements[0]["id"]
