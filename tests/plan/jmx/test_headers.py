"""Headers for all requests: their texts, what is refused, and the Header Manager of a run."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.base.errors import UsageError
from harness.plan.checks.allowances import parse_allowances
from harness.plan.jmx.headers import (
    checked_headers,
    jmx_text,
    merged,
    parse_headers,
    resolved,
    secret_header_names,
    secrets_of_headers,
    variables_in,
    with_headers,
    with_manager,
)
from harness.plan.jmx.tree import tree_of
from harness.plan.jmx_writer import Expression
from tests.support.off_host import element, jmx, request, text
from tests.support.requests import request_of
from tests.support.tiny import TINY_PLAN

TARGET = "http://127.0.0.1:8098"


def test_a_text_has_variables_and_dollars():
    words = "a $B ${C_1} $$D $5 ${ $"
    assert variables_in(words, "$B") == ("B", "C_1")
    assert resolved(words, str.lower, str.upper) == "A b c_1 $D $5 ${ $"


@pytest.mark.real
@given(st.text())
def test_a_doubled_dollar_is_read_as_a_dollar(text):
    assert resolved(text.replace("$", "$$"), str) == text
    assert variables_in(text.replace("$", "$$")) == ()


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("a\\b $5", "a\\b $5"),  # without a reference JMeter sends backslashes as they are
        ("$A\\b", '${__groovy(System.getenv("A"))}\\\\b'),
        ("\\$${x}", "\\\\${__char(36)}{x}"),
    ],
)
def test_a_text_in_a_jmx_is_escaped_only_where_jmeter_reads_escapes(written, expected):
    assert jmx_text(written) == expected


@pytest.mark.parametrize(
    ("given_text", "message"),
    [
        ("Bearer abc", "--header: a text without a colon; give --header='Name: value'"),
        ("Authorization: Bearer abc", r"the value of Authorization is written out; put it into .*Bearer \$TOKEN'"),
        ("proxy-authorization: Basic $$A", "the value of proxy-authorization is written out"),
        ("Content-Length: 5", "JMeter sets Content-Length itself"),
        ("X Y: 5", "'X Y' is no name of a header"),
        (": 5", "'' is no name of a header"),
        ("X: ü", "X has a value that is not ASCII"),
        ("X: a\nY: b", "X has a value that is not ASCII"),
    ],
)
def test_what_is_no_header_is_refused_without_its_value(given_text, message):
    with pytest.raises(UsageError, match=message) as raised:
        parse_headers([given_text])
    assert "abc" not in str(raised.value)


def test_a_header_of_toml_is_a_text():
    with pytest.raises(UsageError, match=r"shop.toml \[headers\]: X = 5; give a text"):
        checked_headers({"X": 5}, "shop.toml [headers]")


def test_later_headers_replace_those_of_the_same_name():
    assert parse_headers(["A: 1", "b:2 ", "a: x: y"]) == {"a": "x: y", "b": "2"}
    assert merged({"A": "1", "B": "2"}, {}, {"b": "3"}) == {"A": "1", "b": "3"}


def test_secrets_are_found_in_what_is_sent():
    headers = {"Authorization": "$AUTH", "Cookie": "id=0123456789; a=$A", "X-Api-Key": "k-77", "X-Plain": "plain"}
    found = secrets_of_headers(headers, {"AUTH": "Basic Ym9iOmh1bnRlcjI=", "A": "abcdefghij"})
    assert {"Ym9iOmh1bnRlcjI=", "hunter2", "0123456789", "abcdefghij", "k-77"} <= set(found)
    assert "plain" not in found


def manager(name: str, **headers: str) -> str:
    texts = (text("Header.name", one) + text("Header.value", value) for one, value in headers.items())
    rows = "".join(f'<elementProp name="" elementType="Header">{one}</elementProp>' for one in texts)
    return element("HeaderManager", name, f'<collectionProp name="HeaderManager.headers">{rows}</collectionProp>')


def test_headers_of_the_run_are_instead_of_those_of_the_plan_with_their_names():
    plan = jmx(request(below=manager("Own", accept="jmx", other="jmx")), manager("All", Accept="all"))
    tree = tree_of(ElementTree.fromstring(with_headers(plan.encode(), {"ACCEPT": "$X", "New": "1"})), {})
    found = {
        node.name: [(one.findtext("*[1]"), one.findtext("*[2]")) for one in node.element.iter("elementProp")]
        for node in tree.walk()
        if node.kind == "HeaderManager"
    }
    assert found == {
        "Headers of the run": [("ACCEPT", '${__groovy(System.getenv("X"))}'), ("New", "1")],
        "All": [],
        "Own": [("other", "jmx")],
    }
    assert tree.children[0].name == "Headers of the run"
    assert with_headers(plan.encode(), {}) == plan.encode()


def test_carriage_returns_of_a_body_stay():
    plan = jmx(request(text("Body", "a\r\nb").replace("\r", "&#13;")))
    root = ElementTree.fromstring(with_headers(plan.encode(), {"X": "1"}))
    assert [one.text for one in root.iter("stringProp") if one.get("name") == "Body"] == ["a\r\nb"]


def test_headers_are_those_of_project_plan_and_command_line(home, monkeypatch):
    (home / "loadtest.toml").write_text('format_version = 1\n[headers]\nA = "project"\nB = "project"\nC = "$C_TOKEN"\n')
    toml = TINY_PLAN.replace('system = "tiny"\n', "") + '[headers]\nb = "plan"\nD = "plan"\n'
    (home / "plans" / "tiny.toml").write_text(toml)
    monkeypatch.setenv("C_TOKEN", "of-the-environment")
    request = request_of(home, home, "tiny", "local", TARGET, header=("d: line",))
    assert request.plan.headers == {"A": "project", "b": "plan", "C": "$C_TOKEN", "d": "line"}
    assert request.secrets == {"C_TOKEN": "of-the-environment"}
    assert "of-the-environment" in request.hidden
    monkeypatch.delenv("C_TOKEN")
    with pytest.raises(UsageError, match="the plan needs C_TOKEN; set the environment variable"):
        request_of(home, home, "tiny", "local", TARGET)


def test_a_plan_of_an_address_has_neither_the_headers_of_the_project_nor_another_target(home, tmp_path):
    (home / "loadtest.toml").write_text('format_version = 1\n[headers]\nA = "project"\n')
    request = request_of(home, tmp_path, f"{TARGET}/items", "local", header=("X: 1",))
    assert (request.plan.headers, request.target.url) == ({"X": "1"}, TARGET)
    with pytest.raises(UsageError, match="--target and an address cannot be used together"):
        request_of(home, tmp_path, f"{TARGET}/items", "local", TARGET)
    with pytest.raises(UsageError, match=r"shop.example.org is not this machine"):
        request_of(home, tmp_path, "https://shop.example.org/items", "local")
    with pytest.raises(UsageError, match=r"shop.example.org is not this machine"):
        request_of(home, tmp_path, "", "local", curl="curl https://shop.example.org/")


@pytest.mark.parametrize(
    ("name", "value", "is_secret"),
    [
        ("authorization", "Bearer x", True),
        ("X-Api-Key", "fixed", True),
        ("X-Session", "${login_token}", True),
        ("X-Tenant", "${__P(tenant_code,)}", True),
        ("X-Shop", '${__groovy(System.getenv("SHOP"))}', True),
        ("X-Page", "${page}", False),
        ("X-Run", "${__P(run_id)}", False),
        ("Accept", "*/*", False),
    ],
)
def test_headers_whose_name_or_value_is_a_secret_stay_at_their_origin(name, value, is_secret):
    root = ElementTree.fromstring(jmx(request()))
    written = with_manager(root, "More", {"Accept-Language": "de", name: Expression(value)})
    assert secret_header_names(written, ("tenant_code",)) == ((name,) if is_secret else ())


def test_the_permission_to_send_credentials_elsewhere_is_in_the_report():
    assert parse_allowances({"credentials_across": True}, "[allow]").lines == ("send credentials to other hosts",)
    assert parse_allowances({}, "[allow]").lines == ()
