"""`make check` sends after `make init FIX=1` what plain JMeter sends for the JMX: a real JMeter on both sides."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.plans.capture import Received, make_certificate
from bench.plans.traffic import NAMED, Comparison, Outcome, table
from bench.plans.traffic_difference import differences, request_of
from harness.plan.checks.finding import Rule
from harness.plan.jmx.tree import parse
from tests.support.off_host import element, flag, jmx, request, text, variables


def entries(kind: str, rows: str, *entry: str) -> str:
    return element(kind, kind, f'<collectionProp name="{rows}">{"".join(entry)}</collectionProp>')


def entry(kind: str, name: str, /, **values: str) -> str:
    props = "".join(text(f"{kind}.{key}", value) for key, value in values.items())
    return f'<elementProp name="{name}" elementType="{kind}" testname="{name}">{props}</elementProp>'


def body(value: str) -> str:
    argument = f'<elementProp name="" elementType="HTTPArgument">{text("Argument.value", value)}</elementProp>'
    arguments = f'<collectionProp name="Arguments.arguments">{argument}</collectionProp>'
    return (
        flag("HTTPSampler.postBodyRaw")
        + f'<elementProp name="HTTPsampler.Arguments" elementType="Arguments">{arguments}</elementProp>'
    )


SHOP = "shop.example.org"
AUTHORIZATION = entries(
    "AuthManager",
    "AuthManager.auth_list",
    entry("Authorization", "", url=f"https://{SHOP}/admin", username="bob", password="open"),
)
COOKIES = entries(
    "CookieManager",
    "CookieManager.cookies",
    entry("Cookie", "lang", value="de", domain=SHOP, path="/", secure="true"),
    entry("Cookie", "cart", value="7", domain=SHOP, path="/cart", secure="false"),
    entry("Cookie", "other", value="1", domain="other.example.org", path="/", secure="false"),
)
ORIGIN = entries("HeaderManager", "HeaderManager.headers", entry("Header", "", name="Origin", value=f"https://{SHOP}"))
ORDER = request(body('{"item": 7}'), name="Order", path="/cart/order?a=1&b=2", below=ORIGIN)
PLAN = jmx(
    AUTHORIZATION
    + COOKIES
    + request(name="Page", path="/")
    + request(name="Admin", path="/admin/users")
    + request(flag("HTTPSampler.follow_redirects"), name="Moved", path="/moved/cart")
    + ORDER.replace('"HTTPSampler.method">GET', '"HTTPSampler.method">POST'),
    domain=SHOP,
).replace("${port}", "").replace("${scheme}", "https")  # fmt: skip


@pytest.mark.counterpart
@pytest.mark.real
def test_credentials_cookies_redirects_and_bodies_are_sent_as_by_plain_jmeter(tmp_path: Path) -> None:
    (tmp_path / "repository").mkdir()
    own = tmp_path / "repository" / "own.jmx"
    own.write_text(PLAN)
    comparison = Comparison(own, "repository/own.jmx", tmp_path / "work", make_certificate(tmp_path / "key.pem"))
    outcome = comparison.run()
    assert (outcome.plain, outcome.ours) == (5, 5), outcome
    # The header that keeps the old host is sent as it is, and init names it.
    assert [part for part, _, _ in outcome.differences] == ["header origin"]
    assert outcome.state == NAMED
    assert Rule.OLD_HOST.code in outcome.named
    page, admin, moved, cart, order = (dict(one.parts) for one in comparison.sent)
    assert "header authorization" not in page
    assert admin["header authorization"].startswith("Basic ")
    assert page["header cookie"] == "lang=de"
    assert (moved["path"], cart["path"]) == ("/moved/cart", "/cart")
    assert sorted(order["header cookie"].split("; ")) == ["cart=7", "lang=de"]
    assert (order["method"], order["query"], order["body"]) == ("POST", "a=1&b=2", '{"item": 7}')


def test_variables_and_scripts_of_the_original_name_the_data_files_of_the_fixed_plan(tmp_path: Path) -> None:
    (tmp_path / "repository").mkdir()
    own = tmp_path / "repository" / "own.jmx"
    script = element("JSR223PreProcessor", "Read", text("script", 'new File("/Users/bob/codes.csv").text // ids.csv'))
    named = variables(path="/Users/bob/ids.csv", title="ids.csv of today")
    own.write_text(jmx(named + request(name="Page", path="/a/ids.csv", below=script), domain=SHOP))
    comparison = Comparison(own, "repository/own.jmx", tmp_path / "work", tmp_path / "key.pem")
    comparison.write()
    data = comparison.fixed.parent / "data" / "plan"
    assert {file.name for file in data.iterdir()} == {"ids.csv", "codes.csv"}
    texts = [one.text for one in parse(comparison.source.with_name("plain.jmx")).iter("stringProp")]
    assert str(data / "ids.csv") in texts
    assert f'new File("{data}/codes.csv").text // ids.csv' in texts
    assert {"ids.csv of today", "/a/ids.csv"} <= set(texts)


def sent(origin: str, target: str = "/", body: bytes = b"", **headers: str) -> Received:
    return Received(origin, "GET", target, tuple(headers.items()), body)


def test_the_host_alone_is_no_difference_and_everything_else_is() -> None:
    plain = sent("https://shop.example.org", "/a?x=1", Host="shop.example.org", Referer="https://shop.example.org/b")
    ours = sent("http://127.0.0.1:81", "/a?x=1", Host="127.0.0.1:81", Referer="http://127.0.0.1:81/b", Connection="x")
    assert differences([request_of(plain)], [request_of(ours)]) == []
    for other, part in (
        (sent("http://h", "/b?x=1", Referer="http://h/b"), "request"),
        (sent("http://h", "/a?x=2", Referer="http://h/b"), "query"),
        (sent("http://h", "/a?x=1", Referer="https://shop.example.org/b"), "header referer"),
        (sent("http://h", "/a?x=1", Referer="http://h/b", Cookie="a=1"), "header cookie"),
        (sent("http://h", "/a?x=1", b"a", Referer="http://h/b"), "body"),
    ):
        assert [one.part for one in differences([request_of(plain)], [request_of(other)])] == [part]


def test_order_and_number_count() -> None:
    one, two = (request_of(sent("http://h", path)) for path in ("/1", "/2"))
    assert len(differences([one, two], [two, one])) == 2
    assert differences([one, two], [two, one], in_order=False) == []
    assert [(diff.plain, diff.ours) for diff in differences([one, two], [one])] == [("GET /2", "")]


def test_the_table_counts_plans_by_repository() -> None:
    states = ["equal", "equal", "different, named", "not comparable"]
    outcomes = [Outcome(f"a+b/{number}.jmx", state) for number, state in enumerate(states)]
    assert table([*outcomes, Outcome("c+d/x.jmx", "different, not named")]).splitlines()[2:] == [
        "| a/b | 4 | 3 | 2 | 1 | 0 |",
        "| c/d | 1 | 1 | 0 | 0 | 1 |",
        "| all | 5 | 4 | 2 | 1 | 1 |",
    ]
