"""`make init FIX=1` keeps what JMeter sends to one host only (credentials, cookies), and names texts with it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.plan.adopt.adopt import Adoption, adopt
from harness.plan.checks.finding import Rule
from harness.plan.jmx.tree import Node
from tests.support.off_host import element, host, request, text, variables

BASE = "${__P(base_path,)}"
SHOP = "${__P(host,shop.example.org)}"
TARGET = f"${{__P(scheme,https)}}://{SHOP}:${{__P(port,443)}}"


def entry(kind: str, **values: str) -> str:
    props = "".join(text(f"{kind}.{name}", value) for name, value in values.items() if name != "entry")
    return f'<elementProp name="{values.get("entry", "")}" elementType="{kind}">{props}</elementProp>'


def credentials(url: str) -> str:
    rows = entry("Authorization", url=url, username="bob", password="${p}")
    return element("AuthManager", "Log in", f'<collectionProp name="AuthManager.auth_list">{rows}</collectionProp>')


def cookie(domain: str, path: str = "/", secure: str = "true") -> str:
    rows = entry("Cookie", entry="lang", value="de", domain=domain, path=path, secure=secure)
    return element("CookieManager", "Cookies", f'<collectionProp name="CookieManager.cookies">{rows}</collectionProp>')


def headers(**values: str) -> str:
    rows = "".join(entry("Header", name=name, value=value) for name, value in values.items())
    return element("HeaderManager", "Headers", f'<collectionProp name="HeaderManager.headers">{rows}</collectionProp>')


@pytest.fixture
def adopted(tmp_path: Path) -> Callable[..., Adoption]:
    """Return the fixes of a plan with these elements and a request to https://shop.example.org/admin."""

    def fixes(more: str, address: str = "shop.example.org", port: str = "") -> Adoption:
        more += request(
            host(address), text("HTTPSampler.port", port), text("HTTPSampler.protocol", "https"), path="/admin"
        )
        group = element("ThreadGroup", "Users", text("ThreadGroup.num_threads", "1"), below=more)
        shop = variables(SHOP="shop.example.org")
        (tmp_path / "own.jmx").write_text(
            f'<jmeterTestPlan><hashTree><TestPlan testname="Shop"/><hashTree>{shop}{group}</hashTree></hashTree>'
            "</jmeterTestPlan>"
        )
        return adopt(tmp_path / "own.jmx", "shop", tmp_path)

    return fixes


def found(adoption: Adoption, kind: str) -> Node:
    return next(node for node in adoption.draft.plan.walk() if node.kind == kind)


@pytest.mark.parametrize(
    ("url", "fixed"),
    [
        ("https://shop.example.org/admin", f"{TARGET}{BASE}/admin"),
        ("https://shop.example.org:443/", f"{TARGET}{BASE}/"),
        ("https://shop.example.org", TARGET),
        ("https://${SHOP}/admin", f"{TARGET}{BASE}/admin"),
        ("https://shop.example.org/${page}", f"{TARGET}{BASE}/${{page}}"),
    ],
)
def test_credentials_for_the_host_of_the_plan_are_for_target(adopted, url: str, fixed: str) -> None:
    adoption = adopted(credentials(url))
    assert found(adoption, "AuthManager").value("Authorization.url") == fixed
    assert adoption.left == ()


def test_credentials_follow_a_host_that_is_a_variable(adopted) -> None:
    adoption = adopted(credentials("https://${SHOP}/admin"), address="${SHOP}")
    assert found(adoption, "AuthManager").value("Authorization.url") == f"{TARGET}{BASE}/admin"


@pytest.mark.parametrize(
    "url", ["https://other.example.org/", "http://shop.example.org/", "https://shop.example.org:8443/", "shop", ""]
)
def test_credentials_that_jmeter_sends_with_no_request_stay(adopted, url: str) -> None:
    assert found(adopted(credentials(url)), "AuthManager").value("Authorization.url") == url


def test_credentials_of_an_address_that_only_the_run_knows_are_a_finding(adopted) -> None:
    (left,) = adopted(credentials("${address}")).left
    assert left.text == "Log in: its credentials are for ${address}, which is known only during the run"


@pytest.mark.parametrize("domain", ["shop.example.org", ".example.org", "example.org", "SHOP.example.org", "${SHOP}"])
def test_cookies_of_the_host_are_those_of_target(adopted, domain: str) -> None:
    manager = found(adopted(cookie(domain, "/admin")), "CookieManager")
    assert manager.value("Cookie.domain") == SHOP
    assert manager.value("Cookie.path") == f"{BASE}/admin"
    assert manager.value("Cookie.secure") == "false"  # JMeter sends it also to a TARGET with http


@pytest.mark.parametrize("domain", ["other.example.org", "hop.example.org", ""])
def test_cookies_that_jmeter_sends_with_no_request_stay(adopted, domain: str) -> None:
    manager = found(adopted(cookie(domain)), "CookieManager")
    assert [manager.value(f"Cookie.{name}") for name in ("domain", "path", "secure")] == [domain, "/", "true"]


def test_a_second_host_has_its_own_credentials_and_cookies(adopted) -> None:
    second = request(host("img.example.org"), text("HTTPSampler.protocol", "https"), name="Picture")
    two = request(host("shop.example.org"), text("HTTPSampler.protocol", "https"), name="Page")
    adoption = adopted(second + two + credentials("https://img.example.org/") + cookie("img.example.org"))
    (left,) = [left for left in adoption.left if left.rule is not Rule.SECRET]
    assert left.rule is Rule.SEVERAL_ADDRESSES
    assert left.text == (
        "Log in: sends --target the cookies or credentials of several addresses: https://img.example.org:443, "
        "https://shop.example.org:443"
    )
    text_of_it = f"${{__P(host_2,{SHOP})}}"
    assert found(adoption, "CookieManager").value("Cookie.domain") == text_of_it
    assert text_of_it in found(adoption, "AuthManager").value("Authorization.url")


def test_headers_and_bodies_that_keep_the_old_host_are_findings_with_their_lines(adopted) -> None:
    body = (
        '<elementProp name="HTTPsampler.Arguments" elementType="Arguments"><collectionProp name="Arguments.arguments">'
        + entry("HTTPArgument", value='{"back": "https://shop.example.org/x"}')
        + "</collectionProp></elementProp>"
    )
    more = headers(Origin="https://shop.example.org", Referer="https://${SHOP}/x", Accept="*/*")
    post = request(body, host("shop.example.org"), text("HTTPSampler.protocol", "https"), name="Post", path="/x")
    header, posted = adopted(more + post).left
    assert header.rule is posted.rule is Rule.OLD_HOST
    assert header.text == (
        "Headers: its header Origin: https://shop.example.org names shop.example.org, also when --target is another"
    )
    assert posted.text == "Post: its body names shop.example.org, also when --target is another"
    assert header.line is not None


def test_another_host_in_a_header_is_no_finding(adopted) -> None:
    assert adopted(headers(Referer="https://www.example.com/", Host="my-shop.example.org.uk")).left == ()


def test_fixing_twice_changes_nothing(adopted, tmp_path: Path) -> None:
    adoption = adopted(credentials("https://shop.example.org/admin") + cookie(".example.org", "/admin"))
    (tmp_path / "fixed.jmx").write_bytes(adoption.draft.text())
    assert adopt(tmp_path / "fixed.jmx", "shop", tmp_path).draft.changes == []
