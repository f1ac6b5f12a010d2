"""The JMX of a recording."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from defusedxml.ElementTree import fromstring

from harness.plan.checks.lint import lint
from harness.plan.har.jmx import recorded_jmx
from harness.plan.har.recorded import Recorded
from tests.support.har import correlated, entry

TOKEN = "9f3c01aa7be244d1"


def recorded(folder: Path, *entries: dict[str, Any], pauses_s: float = 0.0, **more: Any) -> Recorded:
    steps, correlation = correlated(folder, list(entries))
    return Recorded("shop", steps, correlation, [step.pause_s or pauses_s for step in steps], **more)


def jmx(one: Recorded) -> bytes:
    return recorded_jmx(one, {"Users": [variable.name for variable in one.found.variables]})


def root(one: Recorded) -> Any:
    return fromstring(jmx(one))


def texts(element: Any, name: str) -> list[str]:
    return [prop.text or "" for prop in element.iter() if prop.get("name") == name]


def samplers(tree: Any) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Yield label, path and arguments of each request."""
    for one in tree.iter("HTTPSamplerProxy"):
        arguments = [entry for entry in one.iter("elementProp") if entry.get("elementType") == "HTTPArgument"]
        fields = {"".join(texts(entry, "Argument.name")): texts(entry, "Argument.value")[0] for entry in arguments}
        yield one.get("testname"), texts(one, "HTTPSampler.path")[0], fields


def visit() -> tuple[dict[str, Any], ...]:
    form = f'<title>Edit</title><form method="post" action="/save"><input type="hidden" name="t" value="{TOKEN}">'
    form += '<input name="text"><input type="password" name="pw"><button>Save it</button></form>'
    body = f"t={TOKEN}&text=a+%24%7Bb%7D%5Cc&pw=opensesame"
    return entry("/edit", form), entry("/save", "<title>Saved</title>", method="POST", body=body, at_s=4.1)


def test_host_load_and_think_time_are_those_of_the_run(tmp_path):
    (tmp_path / "shop.jmx").write_bytes(jmx(recorded(tmp_path, *visit())))
    (tmp_path / "data" / "shop").mkdir(parents=True)
    (tmp_path / "data" / "shop" / "users.csv").write_text("text\nx\n")
    assert lint(tmp_path / "shop.jmx") == ()


def test_a_form_is_sent_as_arguments_with_what_was_extracted_and_typed(tmp_path):
    found = list(samplers(root(recorded(tmp_path, *visit()))))
    assert found[1] == (
        "POST /save",
        "${__P(base_path,)}/save",
        {"t": "${t}", "text": "${text}", "pw": '${__groovy(System.getenv("SHOP_PW"))}'},
    )


def test_a_variant_without_an_extractor_sends_the_recorded_value(tmp_path):
    tree = fromstring(recorded_jmx(recorded(tmp_path, *visit()), {"all": ["t"], "without t": []}))
    assert [fields["t"] for _, path, fields in samplers(tree) if path.endswith("/save")] == ["${t}", TOKEN]
    assert len(tree.findall(".//HtmlExtractor")) == 1
    assert texts(tree, "TestPlan.serialize_threadgroups") == ["true"]


def test_transactions_have_readable_names_and_the_pause_before_them(tmp_path):
    tree = root(recorded(tmp_path, *visit()))
    assert [one.get("testname") for one in tree.iter("TransactionController")] == ["01 Edit", "02 Save it"]
    (delay,) = texts(tree, "ConstantTimer.delay")
    assert delay == "${__jexl3((${__P(think_time_ms,2000)} * 2.0).intValue())}"


def test_values_in_a_url_are_encoded(tmp_path):
    page = "<script>key = 'a b/c9f3c01';</script>"
    tree = root(recorded(tmp_path, entry("/x y", page), entry("/go?k=a%20b%2Fc9f3c01&z=%C3%BC", at_s=3)))
    assert [path for _, path, _ in samplers(tree)] == [
        "${__P(base_path,)}/x%20y", "${__P(base_path,)}/go?k=${__urlencode(${k})}&z=%C3%BC",
    ]  # fmt: skip


def test_json_is_sent_raw_and_only_whole_values_are_replaced(tmp_path):
    body = json.dumps({"id": 4711, "about": "4711 is no id", "list": [4711], "key": TOKEN, "path": "c:\\x"})
    answer = json.dumps({"id": 4711, "key": TOKEN})
    tree = root(
        recorded(
            tmp_path, entry("/a", answer, kind="application/json"),
            entry("/b", method="POST", body=body, body_type="application/json", at_s=3),
        )
    )  # fmt: skip
    sent = [fields for _, _, fields in samplers(tree)][1][""]
    assert sent == ('{"id": ${id}, "about": "4711 is no id", "list": [${id}], "key": "${key}", "path": "c:\\\\\\\\x"}')


def test_a_text_that_looks_like_a_variable_is_sent_as_it_is(tmp_path):
    tree = root(recorded(tmp_path, entry("/b", method="POST", body="choice=%24%7Bb%7D%5Cc")))
    assert next(samplers(tree))[2] == {"choice": "${__char(36)}{b}\\\\c"}


def test_an_upload_is_a_file_beside_the_plan(tmp_path):
    part = '--x\r\nContent-Disposition: form-data; name="f"; filename="my list.csv"\r\n'
    part += "Content-Type: text/csv\r\n\r\na,b\r\n"
    kind = "multipart/form-data; boundary=x"
    one = recorded(tmp_path, entry("/up", method="POST", body=part + "--x--\r\n", body_type=kind))
    tree = root(one)
    assert one.uploads == {"data/shop/my list.csv": "a,b"}
    assert (texts(tree, "File.path"), texts(tree, "File.paramname")) == (["data/shop/my list.csv"], ["f"])


def uploads(*files):
    """Return an entry per file: its name and its content."""
    for at_s, (name, content) in enumerate(files):
        one = entry("/up", method="POST", body="x", body_type="multipart/form-data; boundary=x", at_s=3 * at_s)
        del one["request"]["postData"]["text"]
        file = {"name": "f", "fileName": name, "contentType": "text/plain", "value": content}
        one["request"]["postData"]["params"] = [file]
        yield one


@pytest.mark.parametrize(
    ("name", "stored"),
    [
        ("übung.txt", "übung.txt"), ("a b (1).txt", "a b (1).txt"), ("日本.png", "日本.png"),
        ("it's, one & all = 5 %.csv", "it's, one & all = 5 %.csv"), ("..", "file"), ("a/b\\c.txt", "a-b-c.txt"),
        (".gitignore", "gitignore"), ("../../up.txt", "-..-up.txt"), ("a\nb\u202ec.txt", "a-b-c.txt"),
        ("ab " * 99 + ".txt", "b " + "ab " * 78 + ".txt"),
        ("ü" * 200, "ü" * 120), ("dot.", "dot"),
    ],
)  # fmt: skip
def test_an_upload_has_its_recorded_name_where_a_file_can_have_it(tmp_path, name, stored):
    assert recorded(tmp_path, *uploads((name, "a"))).uploads == {f"data/shop/{stored}": "a"}


def test_uploads_of_one_name_with_other_contents_are_files_of_their_own(tmp_path):
    one = recorded(tmp_path, *uploads(("a.txt", "1"), ("a.txt", "2"), ("A.txt", "3"), ("a.txt", "1"), ("b.txt", "2")))
    assert one.uploads == {
        "data/shop/a.txt": "1", "data/shop/2/a.txt": "2", "data/shop/3/A.txt": "3", "data/shop/b.txt": "2"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("method", "kind", "is_kept"),
    [("POST", "text/plain", True), ("POST", "application/json", True), ("GET", "application/json", True),
     ("POST", "application/x-www-form-urlencoded", False)],
)  # fmt: skip
def test_a_request_without_a_body_has_its_recorded_type(tmp_path, method, kind, is_kept):
    tree = root(recorded(tmp_path, entry("/a", method=method, headers={"Content-Type": kind})))
    assert (kind in texts(tree, "Header.value")) == is_kept


def test_static_files_are_retrieved_only_when_asked_for_and_from_the_target(tmp_path):
    assert texts(root(recorded(tmp_path, *visit())), "HTTPSampler.image_parser") == []
    tree = root(recorded(tmp_path, *visit(), with_static=True))
    assert texts(tree, "HTTPSampler.image_parser") == ["true", "true"]
    assert set(texts(tree, "HTTPSampler.embedded_url_re")) == {"https?://${__P(host,127.0.0.1)}[:/].*"}


def test_each_user_begins_with_empty_cookies_and_cache(tmp_path):
    tree = root(recorded(tmp_path, *visit()))
    assert texts(tree, "CookieManager.clearEachIteration") == ["true"]
    assert texts(tree, "clearEachIteration") == ["true"]


def test_labels_are_unique_and_name_what_varies(tmp_path):
    found = recorded(
        tmp_path,
        entry("/new", method="POST", body="a=b", status=303, answer_headers={"Location": "/items/4711"}),
        entry("/items/4711", at_s=0.2), entry("/items/4711/edit", at_s=5), entry("/new", method="POST", at_s=9),
    )  # fmt: skip
    assert found.labels() == ["POST /new", "GET /items/{items_id}/edit", "POST /new #2"]


def test_a_transaction_that_is_named_by_its_path_has_the_names_of_ids(tmp_path):
    new = entry("/new", method="POST", body="a=b", status=303, answer_headers={"Location": "/items/4711"})
    tree = root(recorded(tmp_path, new, entry("/items/4711", at_s=0.2), entry("/items/4711/edit", at_s=5)))
    names = [one.get("testname") for one in tree.iter("TransactionController")]
    assert names == ["01 POST /new", "02 GET /items/{items_id}/edit"]


def test_the_address_of_the_target_in_a_parameter_is_encoded(tmp_path):
    tree = root(recorded(tmp_path, entry("/?to=http%3A%2F%2F127.0.0.1%3A8080%2Fa")))
    assert [path for _, path, _ in samplers(tree)] == ["${__P(base_path,)}/?to=${__urlencode(${origin})}%2Fa"]
    assert texts(tree, "Argument.value")[0].startswith("${__P(scheme,http)}://")
