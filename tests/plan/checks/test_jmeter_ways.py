"""What advice says of JMeter is what a real JMeter does: one plan with all of it, run once."""

from __future__ import annotations

import csv
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import ClassVar

import pytest

from tests.plan.adopt.test_same_traffic import jmeter
from tests.plan.checks.test_advice import INNER, NO_PAUSES, asserting, cache, data, transaction
from tests.support.local_server import serving
from tests.support.off_host import element, flag, text

LOOPS = 4


class _Tagged(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    seen: ClassVar[list[str]]

    def do_GET(self) -> None:
        self.seen.append(self.path)
        self.send_response(200)
        if "tagged" in self.path:
            self.send_header("ETag", '"1"')
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"hello")

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
    flaws = (cached, unseen, rows, inner, twice, untimed, failing, lone)
    return "".join(group(inside, f"Group {number}") for number, inside in enumerate(flaws))


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
