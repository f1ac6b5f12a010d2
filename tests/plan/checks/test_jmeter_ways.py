"""What advice says of JMeter is what a real JMeter does: one plan with all of it, run once."""

from __future__ import annotations

import csv
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import ClassVar

import pytest

from tests.plan.adopt.test_same_traffic import jmeter
from tests.plan.checks.test_advice import (
    INNER,
    NO_PAUSES,
    SEEN_COOKIES,
    asserting,
    cache,
    data,
    repeating,
    transaction,
)
from tests.support.local_server import serving
from tests.support.off_host import element, flag, text

LOOPS = 4
COUNTS = "${__jexl3(${__counter(TRUE)} <= 3)}"


class _Tagged(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    seen: ClassVar[list[str]]

    def do_GET(self) -> None:
        cookie = self.headers.get("Cookie")
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        self.seen.append(" ".join(filter(None, (self.path, cookie, body))))
        self.send_response(200)
        if "tagged" in self.path:
            self.send_header("ETag", '"1"')
        if "given" in self.path:
            self.send_header("Set-Cookie", "user=deleted; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT")
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"hello")

    do_DELETE = do_GET  # noqa: N815 - the name of http.server

    def log_message(self, *_: object) -> None:
        pass


def get(name: str, port: int, below: str = "") -> str:
    properties = (
        text("HTTPSampler.domain", "127.0.0.1"),
        text("HTTPSampler.port", str(port)),
        text("HTTPSampler.path", f"/{name}"),
        text("HTTPSampler.method", "GET"),
    )
    return element("HTTPSamplerProxy", name, *properties, below=below)


def group(inside: str, name: str = "Users", loops: int = LOOPS) -> str:
    controller = (
        '<elementProp name="ThreadGroup.main_controller" elementType="LoopController">'
        '<boolProp name="LoopController.continue_forever">false</boolProp>'
        f"{text('LoopController.loops', str(loops))}</elementProp>"
    )
    properties = (
        text("ThreadGroup.num_threads", "1"),
        flag("ThreadGroup.same_user_on_next_iteration"),
        text("ThreadGroup.on_sample_error", "continue"),
    )
    return element("ThreadGroup", name, controller, *properties, below=inside)


def elements(port: int) -> str:
    """Each flaw in a group of its own."""
    once = element("OnceOnlyController", "Once", below=get("once", port))
    inner = INNER.format("false").partition("<hashTree>")[0] + f"<hashTree>{get('inner', port)}</hashTree>"
    twice = element("LoopController", "Twice", text("LoopController.loops", "2"), below=once)
    without_pauses = transaction(get("deep", port), NO_PAUSES, parent=False).replace('"Order"', '"Untimed"')
    untimed = transaction(without_pauses + get("after", port))
    checked = get("body", port) + asserting("response_data", pattern="hello")
    failing = transaction(checked).replace('"Order"', '"Failing"')
    lone = get("lone", port, below=asserting("response_data", pattern=""))
    cached = cache("useExpires") + get("tagged", port)
    unseen = cache("useExpires").replace("TestBeanGUI", "") + get("tagged-too", port)
    rows = data("blank.csv", "all", flag("recycle")) + get("row-${user}", port)
    flaws = (
        cached,
        unseen,
        rows,
        inner,
        twice,
        untimed,
        failing,
        lone,
        with_cookies(port),
        repeating(COUNTS, get("counted", port)),
    )
    shares = share_of(50, get("half", port)) + share_of(51, get("more", port))
    others = group(shares, "Once", loops=1) + group(deleting(port), "Deleting", loops=1) + paced(port)
    return "".join(group(inside, f"Group {number}") for number, inside in enumerate(flaws)) + others


def with_cookies(port: int) -> str:
    own = pairs("HeaderManager.headers", "Header", text("Header.name", "Cookie"), text("Header.value", "mine=1"))
    lost = get("lost", port, below=element("HeaderManager", "Own", own).replace("TestBeanGUI", "HeaderPanel"))
    return SEEN_COOKIES + get("given", port) + get("kept", port) + lost


def pairs(name: str, kind: str, *properties: str) -> str:
    """A collection with one name and value."""
    pair = f'<elementProp name="a" elementType="{kind}">{"".join(properties)}</elementProp>'
    return f'<collectionProp name="{name}">{pair}</collectionProp>'


def share_of(percent: int, below: str) -> str:
    """A Throughput Controller that counts per user."""
    properties = (
        '<intProp name="ThroughputController.style">1</intProp>',
        flag("ThroughputController.perThread"),
        f"<FloatProperty><name>ThroughputController.percentThroughput</name><value>{percent}.0</value></FloatProperty>",
    )
    return element("ThroughputController", f"{percent} %", *properties, below=below)


def deleting(port: int) -> str:
    properties = (text("Argument.name", "a"), text("Argument.value", "1"), text("Argument.metadata", "="))
    arguments = pairs("Arguments.arguments", "HTTPArgument", *properties)
    sent = get("gone", port).replace(">GET<", ">DELETE<")
    rows = f'<elementProp name="HTTPsampler.Arguments" elementType="Arguments">{arguments}</elementProp>'
    return sent.replace("</HTTPSamplerProxy>", f"{rows}</HTTPSamplerProxy>")


def precise(rate: float) -> str:
    properties = (
        f"<doubleProp><name>throughput</name><value>{rate}</value></doubleProp>",
        '<intProp name="throughputPeriod">1</intProp><longProp name="duration">3600</longProp>',
        '<intProp name="exactLimit">10000</intProp><intProp name="batchSize">1</intProp>',
        "<doubleProp><name>allowedThroughputSurplus</name><value>1.0</value></doubleProp>",
    )
    return element("PreciseThroughputTimer", "Precise", *properties)


def timed(name: str, below: str, delay_s: int) -> str:
    times = flag("ThreadGroup.scheduler") + text("ThreadGroup.delay", str(delay_s)) + text("ThreadGroup.duration", "3")
    return group(below, name, loops=-1).replace("</ThreadGroup>", f"{times}</ThreadGroup>")


def paced(port: int) -> str:
    """A group that asks for 20 requests per second from the fourth second of the test on, and one for 20 and for 2."""
    both = get("often", port, below=precise(20.0)) + get("seldom", port, below=precise(2.0))
    return timed("Late", precise(20.0) + get("late", port), 3) + timed("Both", both, 0)


@pytest.mark.real
def test_a_real_jmeter_does_what_the_advice_says(tmp_path: Path) -> None:
    seen: list[str] = []
    (tmp_path / "blank.csv").write_text("ann\n\nbob\n")
    with serving(_Tagged, seen=seen) as port:
        plan = element("TestPlan", "All", below=elements(port))
        (tmp_path / "all.jmx").write_text(f"<jmeterTestPlan><hashTree>{plan}</hashTree></jmeterTestPlan>")
        jmeter(tmp_path / "all.jmx", {}, "rows.jtl")
    with (tmp_path / "rows.jtl").open() as file:
        rows = list(csv.DictReader(file))
    sent = {path: seen.count(path) for path in seen}
    assert sent["/tagged"] == 1, "cached-label"
    assert sent["/tagged-too"] == LOOPS, "unseen-settings"
    assert [one["label"] for one in rows if one["label"].startswith("row-")] == [
        "row-ann",
        "row-<EOF>",
        "row-bob",
        "row-ann",
    ]
    assert sent["/inner"] == 2, "loop-once"
    assert sent["/once"] == LOOPS, "repeated-once"
    assert [one["elapsed"] for one in rows if one["label"] == "Untimed"] == ["0"] * LOOPS
    failed = [one["failureMessage"] for one in rows if one["label"] == "Failing" and one["success"] == "false"]
    assert failed == ["Response was null"] * LOOPS
    assert [one["success"] for one in rows if one["label"] == "lone"] == ["true"] * LOOPS, "empty-assertion"
    assert sent["/kept user=deleted"] == LOOPS, "kept-cookie"
    assert sent["/lost user=deleted"] == LOOPS, "lost-cookie"
    assert sent["/counted"] == 2, "counting-condition"
    assert ("/half" in sent, sent["/more"]) == (False, 1), "all-or-none"
    assert sent["/gone?a=1 a=1"] == 1, "sent-twice"
    assert sent["/late"] > 90, "catching-up"
    assert sent["/seldom"] > 20, "shared-schedule"
