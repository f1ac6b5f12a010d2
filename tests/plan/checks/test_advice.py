"""Advice on realism: each is given for a plan that has the flaw, and not for one that has not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from harness.base.errors import UsageError
from harness.commands.check import advice_of
from harness.plan.checks.advice import ADVICE
from harness.plan.plan import load_plan
from tests.support.exchanges import ONE
from tests.support.off_host import element, flag, request, text

TOML = """format_version = 1
title = "Shop"
shape = "shop.jmx"
[load]
users = {users}
ramp_per_user_s = {ramp}
{length}
think_time_s = {think_time}
"""
GROUP = """<jmeterTestPlan><hashTree><TestPlan testname="Shop"/><hashTree>{beside}
<ThreadGroup testname="Users">
  <stringProp name="ThreadGroup.num_threads">${{__P(users,1)}}</stringProp>
</ThreadGroup><hashTree>{inside}</hashTree></hashTree></hashTree></jmeterTestPlan>"""
SETUP = """<SetupThreadGroup testname="Before">
  <elementProp name="ThreadGroup.main_controller" elementType="LoopController">
    <stringProp name="LoopController.loops">{loops}</stringProp>
  </elementProp>
</SetupThreadGroup><hashTree/>"""
READ = element("ResponseAssertion", "Thanks", text("Assertion.test_field", "Assertion.response_data"))
CODE = element("ResponseAssertion", "Code", text("Assertion.test_field", "Assertion.response_code"))
COOKIES = element("CookieManager", "Cookies")
LOOP = element("LoopController", "For ever", text("LoopController.loops", "-1"))


def sent(**values: str) -> str:
    """The POST of a form."""
    rows = "".join(
        f'<elementProp name="{name}" elementType="HTTPArgument">{text("Argument.name", name)}'
        f"{text('Argument.value', value)}</elementProp>"
        for name, value in values.items()
    )
    arguments = f'<collectionProp name="Arguments.arguments">{rows}</collectionProp>'
    return element(
        "HTTPSamplerProxy", "Login", text("HTTPSampler.method", "POST"), text("HTTPSampler.path", "/login"),
        f'<elementProp name="HTTPsampler.Arguments" elementType="Arguments">{arguments}</elementProp>', below=READ,
    )  # fmt: skip


def data(name: str, mode: str = "all") -> str:
    properties = (text("filename", name), text("variableNames", "user"), text("shareMode", f"shareMode.{mode}"))
    return element("CSVDataSet", "Accounts", *properties)


@pytest.fixture
def codes(tmp_path: Path):
    """Return the codes of the advice for a plan; without a flaw it has none."""

    def found(inside: str = "", beside: str = "", more: str = "", cookie: str = "", **load: object) -> list[str]:
        values = {"users": 3, "ramp": 1, "length": "duration_s = 60", "think_time": 1, **load}
        (tmp_path / "shop.jmx").write_text(GROUP.format(beside=beside, inside=inside or request(below=READ)))
        (tmp_path / "shop.toml").write_text(TOML.format(**values) + more)
        (tmp_path / "three.csv").write_text("ann\nbob\n\ncid\n")
        headers = f"HTTP/1.1 200 OK\nSet-Cookie: {cookie}" if cookie else "HTTP/1.1 200 OK"
        plan, answer = load_plan(tmp_path, "shop"), replace(ONE, response_headers=headers)
        return [given.advice.code for given in advice_of(plan, [answer], is_embedded=False)]

    return found


PAUSE = element("ConstantTimer", "Think", text("ConstantTimer.delay", "500"))
PACE = element("ConstantThroughputTimer", "Pace", text("throughput", "60"))
STOP = element("TestAction", "Stop", text("ActionProcessor.action", "0"))
NO_PAUSE = element("ConstantTimer", "Think", text("ConstantTimer.delay", "0"))
WHILE = element("WhileController", "While", text("WhileController.condition", "true"))
IMAGES = request(flag("HTTPSampler.image_parser"), below=READ)


def get(path: str) -> str:
    return request(path=path, below=READ)


STOPPED = f"<hashTree>{STOP}</hashTree>"
UUID = "3b2afd06-a904-4880-96d5-12968c50fb43"
ROWS = data("three.csv")
OWN = sent(note="${__UUID}")
EMPTY = flag("RegexExtractor.default_empty_value")
# They set their variable also when they find nothing.
ALWAYS_SET = ("JSONPostProcessor", "JMESPathExtractor", "XPathExtractor", "XPath2Extractor")


def extracting(kind: str, *props: str) -> str:
    return request(below=READ + element(kind, "Value", *props))


# By code: what a plan with the flaw has, and what a good one has.
FLAWS = {
    "no-think-time": [
        ({"think_time": 0}, {"think_time": 0, "inside": PAUSE + get("/")}),
        ({"think_time": 0, "beside": NO_PAUSE}, {"think_time": 0, "beside": PAUSE}),
        ({"think_time": 0}, {"think_time": 0, "users": 1, "length": "loops = 1"}),
    ],
    "no-ramp": [
        ({"ramp": 0}, {"ramp": 0.1}),
        ({"ramp": 0}, {"ramp": 0, "users": 1}),
        ({"ramp": 0}, {"ramp": 0, "beside": PACE}),
    ],
    "same-data": [
        ({"inside": sent(user="ann", password="x")}, {"inside": sent(user="${user}", password="x") + ROWS}),
        ({"inside": sent(q="shoes")}, {"inside": OWN}),
        ({"inside": sent(user="ann", password="x") + OWN}, {"inside": sent(q="shoes") + OWN}),
        ({"inside": sent(q="shoes")}, {"inside": sent(q="shoes"), "users": 1}),
    ],
    "constant-id": [
        ({"inside": get("/orders/4711")}, {"inside": get("/orders/${order}")}),
        ({"inside": get("/item?itemId=12")}, {"inside": get("/v2/10?limit=1000")}),
        ({"inside": get(f"/item/{UUID}")}, {"inside": get("/item/first")}),
    ],
    "no-cookies": [
        ({"cookie": "session=1"}, {"cookie": "session=1", "beside": COOKIES}),
        ({"cookie": "session=1"}, {}),
    ],
    "no-cache": [({"inside": IMAGES}, {"inside": element("CacheManager", "Cache") + IMAGES})],
    "unread-answer": [
        ({"inside": request()}, {"inside": get("/")}),
        ({"inside": request(below=CODE)}, {"inside": request() + READ}),
        ({"inside": request()}, {"inside": element("JSR223Sampler", "Compute")}),
    ],
    "endless-loop": [
        ({"beside": SETUP.format(loops=-1)}, {"beside": SETUP.format(loops=2)}),
        ({"inside": LOOP + get("/"), "length": "loops = 5"}, {"inside": LOOP + get("/")}),
        ({"beside": SETUP.format(loops=-1)}, {"beside": SETUP.format(loops=-1).replace("<hashTree/>", STOPPED)}),
        ({"inside": WHILE + get("/"), "length": "loops = 5"}, {"inside": WHILE + get("/")}),
    ],
    "few-rows": [
        ({"inside": ROWS + get("/"), "users": 4}, {"inside": ROWS + get("/")}),
        ({"inside": ROWS + get("/"), "users": 4}, {"inside": data("three.csv", "thread") + get("/"), "users": 4}),
    ],
    "stale-extractor": [
        ({"inside": extracting(kind)}, {"inside": extracting(kind, text(f"{kind}.default", "NOT_FOUND"))})
        for kind in ("RegexExtractor", "BoundaryExtractor", "HtmlExtractor")
    ] + [
        ({"inside": extracting("RegexExtractor")}, {"inside": extracting("RegexExtractor", EMPTY)}),
        *(({"inside": extracting("RegexExtractor")}, {"inside": extracting(kind)}) for kind in ALWAYS_SET),
    ],
}  # fmt: skip


@pytest.mark.parametrize(("code", "at"), [(code, at) for code, pairs in FLAWS.items() for at in range(len(pairs))])
def test_an_advice_is_given_for_the_flaw_alone(codes, code: str, at: int) -> None:
    flawed, good = FLAWS[code][at]
    assert codes(**flawed) == [code]
    assert codes(**good) == []


def test_every_advice_has_a_test() -> None:
    assert [one.code for one in ADVICE] == list(FLAWS)


@pytest.mark.parametrize("code", list(FLAWS))
def test_the_plan_silences_an_advice(codes, code: str) -> None:
    assert codes(**FLAWS[code][0][0], more=f'[check]\nsilence = ["{code}"]\n') == []


def test_an_unknown_code_is_refused_with_the_nearest(codes) -> None:
    with pytest.raises(UsageError, match="silence: no-think-tme; did you mean no-think-time"):
        codes(more='[check]\nsilence = ["no-think-tme"]\n')


@pytest.mark.real
def test_the_shipped_plans_give_no_advice() -> None:
    folder = Path(__file__).parents[3] / "plans"
    for toml in folder.glob("*.toml"):
        assert advice_of(load_plan(folder, toml.stem), (), is_embedded=True) == (), toml.stem
