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
from tests.support.off_host import element, flag, request, script, text

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
PATTERNS = '<collectionProp name="Asserion.test_strings"><stringProp name="1">x</stringProp></collectionProp>'
READ = element("ResponseAssertion", "Thanks", text("Assertion.test_field", "Assertion.response_data"), PATTERNS)
CODE = element("ResponseAssertion", "Code", text("Assertion.test_field", "Assertion.response_code"), PATTERNS)
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


def faces(path: str = "/orders.xhtml;jsessionid=1?tab=2", **values: str) -> str:
    """The POST of a form of Faces."""
    return sent(**values).replace("/login", path)


FILES = {"three.csv": "ann\nbob\ncid\n", "blank.csv": "ann\nbob\n\ncid\n", "end.csv": "ann\nbob\ncid\n\n"}
IGNORES_FIRST = flag("ignoreFirstLine")
FILES |= {
    "head.csv": "User \nann\nbob\ncid\n", "wide.csv": "user,a\nann,1\nbob,2\n", "off.csv": "name,user\nann,1\nbob,2\n",
}  # fmt: skip


def data(name: str, mode: str = "all", *more: str) -> str:
    properties = (text("filename", name), text("variableNames", "user"), text("shareMode", f"shareMode.{mode}"))
    return element("CSVDataSet", "Accounts", *properties, *more)


def transaction(below: str, *more: str, parent: bool = True) -> str:
    is_parent = (flag("TransactionController.parent"),) if parent else ()
    return element("TransactionController", "Order", *is_parent, *more, below=below)


def asserting(field: str, *more: str, pattern: str = "Thanks") -> str:
    """A Response Assertion on a field, with a pattern."""
    patterns = f'<collectionProp name="Asserion.test_strings">{text("1", pattern) if pattern else ""}</collectionProp>'
    return element("ResponseAssertion", "Says", text("Assertion.test_field", f"Assertion.{field}"), patterns, *more)


def cache(*flags: str) -> str:
    return element("CacheManager", "Cache", *map(flag, flags))


@pytest.fixture
def codes(tmp_path: Path):
    """Return the codes of the advice for a plan; without a flaw it has none."""

    def found(
        inside: str = "", beside: str = "", more: str = "", cookie: str = "", header: str = "", **load: object
    ) -> list[str]:
        values = {"users": 3, "ramp": 1, "length": "duration_s = 60", "think_time": 1, **load}
        (tmp_path / "shop.jmx").write_text(GROUP.format(beside=beside, inside=inside or request(below=READ)))
        (tmp_path / "shop.toml").write_text(TOML.format(**values) + more)
        for name, content in FILES.items():
            (tmp_path / name).write_text(content)
        headers = f"HTTP/1.1 200 OK\n{header}\nSet-Cookie: {cookie}" if cookie else f"HTTP/1.1 200 OK\n{header}"
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
OWN_VALUE = "${__UUID}"
OWN = sent(note=OWN_VALUE)
EMPTY = flag("RegexExtractor.default_empty_value")
# They set their variable also when they find nothing.
ALWAYS_SET = ("JSONPostProcessor", "JMESPathExtractor", "XPathExtractor", "XPath2Extractor")


def extracting(kind: str, *props: str) -> str:
    return request(below=READ + element(kind, "Value", *props))


def meeting(users: int, timeout_ms: int = 0) -> str:
    return element("SyncTimer", "Meet", text("groupSize", str(users)), text("timeoutInMs", str(timeout_ms)))


KEPT = {"inside": cache("useExpires") + get("/")}
NO_PAUSES = '<boolProp name="TransactionController.includeTimers">false</boolProp>'
UNTIMED = transaction(get("/"), NO_PAUSES, parent=False)
FOREVER = '<boolProp name="LoopController.continue_forever">{}</boolProp>'
INNER = element("LoopController", "Twice", FOREVER, text("LoopController.loops", "2"), below=get("/"))
ONCE = element("OnceOnlyController", "Once", below=get("/"))
DEFAULTS = element("ConfigTestElement", "Defaults", text("HTTPSampler.path", "/"))


def with_flag(one: str, name: str) -> str:
    """An element with one more property."""
    start, _, rest = one.partition(">")
    return f"{start}>{flag(name)}{rest}"


SEEN_COOKIES = COOKIES.replace("TestBeanGUI", "CookiePanel")
OWN_COOKIE = with_flag(SEEN_COOKIES, "x").replace(flag("x"), '<elementProp name="id" elementType="Cookie"/>')
DELETE = text("HTTPSampler.method", "DELETE")
SENT = sent(user="${__UUID}").replace(">POST<", ">DELETE<")
PRECISE = element("PreciseThroughputTimer", "Precise")
PARALLEL = element("com.blazemeter.jmeter.controller.ParallelSampler", "At once", below=get("/"))
WEIGHTED = element("com.blazemeter.jmeter.control.WeightedSwitchController", "Choice", below=get("/"))
ONE_PASS = {"length": "loops = 1"}


def share(per_user: str, style: int = 1) -> str:
    properties = (
        f'<boolProp name="ThroughputController.perThread">{per_user}</boolProp>',
        f'<intProp name="ThroughputController.style">{style}</intProp>',
    )
    return element("ThroughputController", "Share", *properties, below=get("/"))


def repeating(condition: str, below: str) -> str:
    return element("WhileController", "While", text("WhileController.condition", condition), below=below)


def with_header(name: str) -> str:
    headers = f'<collectionProp name="HeaderManager.headers">{text("Header.name", name)}</collectionProp>'
    return get("/") + element("HeaderManager", "Headers", headers).replace("TestBeanGUI", "HeaderPanel")


def late(beside: str) -> str:
    """A thread group of its own that begins after ten seconds."""
    return element("ThreadGroup", "Late", text("ThreadGroup.delay", "10"), below=beside + get("/"))


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
        ({"inside": request()}, {"inside": element("JDBCSampler", "Sell")}),
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
    "no-view-state": [
        ({"inside": flawed}, {"inside": good})
        for flawed in (faces(**{"f:q": OWN_VALUE}), faces("/shop", **{"javax.faces.partial.ajax": OWN_VALUE}))
        for good in (
            faces(**{"f:q": OWN_VALUE, "jakarta.faces.ViewState": "${state}"}),
            faces(**{"f:q": OWN_VALUE, "${name}": "1"}), faces(q=OWN_VALUE), faces("/soap", **{"f:q": OWN_VALUE}),
        )
    ],
    "blank-row": [
        ({"inside": data("blank.csv") + get("/")}, {"inside": data("blank.csv", "all", flag("quotedData")) + get("/")}),
        ({"inside": data("end.csv", "all", flag("recycle")) + get("/")}, {"inside": data("end.csv") + get("/")}),
    ],
    "header-row": [
        ({"inside": data("head.csv") + get("/")}, {"inside": data("head.csv", "all", IGNORES_FIRST) + get("/")}),
        ({"inside": data("wide.csv") + get("/")}, {"inside": data("off.csv") + get("/")}),
        ({"inside": data("head.csv") + get("/")}, {"inside": data("three.csv") + get("/")}),
        ({"inside": data("head.csv") + get("/")}, {"inside": data("head.csv").replace(">user<", "><") + get("/")}),
    ],
    "cached-label": [
        ({"inside": cache("useExpires") + get("/"), "header": header}, {"inside": cache("useExpires") + get("/")})
        for header in ("ETag: 1", "Cache-Control: private, max-age=60", "Last-Modified: Wed, 21 Oct 2015 07:28:00 GMT")
    ] + [
        ({**KEPT, "header": 'ETag: "1"'}, {**KEPT, "header": header})
        for header in ("Cache-Control: no-cache\nETag: 1", "Expires: 0\nETag: 1", "Cache-Control: max-age=0\nETag: 1")
    ] + [
        ({**KEPT, "header": "ETag: 1"}, good) for good in (
            {**KEPT, "header": "ETag: 1", "length": "loops = 1"},
            {"inside": cache() + get("/"), "header": "ETag: 1"},
            {"inside": cache("useExpires", "clearEachIteration") + get("/"), "header": "ETag: 1"},
        )
    ],
    "untimed-transaction": [
        ({"inside": transaction(UNTIMED + get("/"))}, {"inside": transaction(UNTIMED)}),
        ({"inside": transaction(UNTIMED + get("/"))}, {"inside": transaction(UNTIMED + get("/"), parent=False)}),
        ({"inside": transaction(UNTIMED + get("/"))}, {"inside": transaction(transaction(get("/")) + get("/"))}),
        ({"inside": transaction(element("GenericController", "Part", below=UNTIMED) + get("/"))},
         {"inside": transaction(transaction(get("/"), parent=False) + get("/"))}),
    ],
    "failing-transaction": [
        ({"inside": transaction(get("/")), "beside": asserting("response_data")}, {"inside": transaction(get("/"))}),
        ({"inside": transaction(get("/") + asserting("response_message"))},
         {"inside": transaction(get("/") + asserting("response_code"))}),
        ({"inside": transaction(get("/") + element("JSONPathAssertion", "Has id"))},
         {"inside": transaction(get("/") + element("SizeAssertion", "Small"))}),
        ({"inside": transaction(get("/") + asserting("response_headers"))},
         {"inside": transaction(get("/") + asserting("response_headers", text("Assertion.test_type", "6")))}),
        ({"inside": transaction(get("/") + asserting("response_data"))},
         {"inside": transaction(get("/") + asserting("response_data", text("Assertion.scope", "variable")))}),
        ({"inside": transaction(get("/") + asserting("response_data"))},
         {"inside": transaction(get("/") + asserting("response_data"), parent=False)}),
    ],
    "empty-assertion": [({"inside": get("/") + asserting("response_data", pattern="")}, {"inside": get("/")})],
    "loop-once": [
        ({"inside": INNER.format("false")}, {"inside": INNER.format("true")}),
        ({"inside": INNER.format("false")}, {"inside": INNER.format("false"), "length": "loops = 1"}),
    ],
    "repeated-once": [
        ({"inside": element("LoopController", "Twice", text("LoopController.loops", "2"), below=ONCE)},
         {"inside": ONCE}),
    ],
    "waiting-users": [
        ({"inside": meeting(4) + get("/")}, {"inside": meeting(3) + get("/")}),
        ({"inside": meeting(4) + get("/")}, {"inside": meeting(4, 500) + get("/")}),
    ],
    "unseen-settings": [
        *(({"beside": COOKIES.replace("TestBeanGUI", gui)}, {"beside": COOKIES.replace("TestBeanGUI", good)})
          for gui in ("", "LogicControllerGui") for good in ("CookiePanel", "org.apache.jmeter.CookiePanel")),
        ({"beside": DEFAULTS.replace("TestBeanGUI", "")}, {"beside": DEFAULTS}),
        ({"beside": DEFAULTS.replace("TestBeanGUI", "")},
         {"beside": DEFAULTS.replace("TestBeanGUI", "").replace("HTTPSampler", "FTPSampler")}),
    ],
    "catching-up": [
        ({"beside": late(PRECISE)}, {"beside": late(PAUSE), "inside": PRECISE + get("/")}),
        ({"beside": SETUP.format(loops=1), "inside": PRECISE + get("/")}, {"inside": PRECISE + get("/")}),
    ],
    "shared-schedule": [
        ({"inside": get("/") + PRECISE + PRECISE}, {"inside": PRECISE + get("/") + get("/")}),
        ({"inside": PRECISE + request(below=READ + PRECISE)}, {"beside": late(PAUSE), "inside": PRECISE + get("/")}),
    ],
    "parallel-transaction": [
        ({"inside": flawed}, {"inside": good})
        for flawed in (transaction(PARALLEL), transaction(PARALLEL, NO_PAUSES, parent=False))
        for good in (
            PARALLEL + transaction(get("/")), transaction(with_flag(PARALLEL, "PARENT_SAMPLE")),
            transaction(PARALLEL, parent=False),
        )
    ],
    "all-or-none": [
        ({"inside": share("true"), **ONE_PASS}, {"inside": share("false"), **ONE_PASS}),
        ({"inside": share("true"), **ONE_PASS}, {"inside": share("true", style=0), **ONE_PASS}),
        ({"inside": share("true"), **ONE_PASS}, {"inside": share("true")}),
        ({"inside": WEIGHTED, **ONE_PASS}, {"inside": with_flag(WEIGHTED, "IsRandomChoice"), **ONE_PASS}),
        ({"inside": WEIGHTED, **ONE_PASS}, {"inside": WEIGHTED, "users": 1, **ONE_PASS}),
    ],
    "lost-cookie": [
        ({"beside": SEEN_COOKIES, "inside": with_header("Cookie"), "cookie": "id=1"}, good) for good in (
            {"beside": SEEN_COOKIES, "inside": with_header("Cookie")},
            {"beside": SEEN_COOKIES, "inside": with_header("Accept"), "cookie": "id=1"},
        )
    ] + [({"beside": OWN_COOKIE, "inside": with_header("Cookie")}, {"inside": with_header("Cookie")})],
    "sent-twice": [
        ({"inside": SENT}, {"inside": sent(user="${__UUID}")}),
        ({"inside": SENT}, {"inside": with_flag(SENT, "HTTPSampler.postBodyRaw")}),
        ({"inside": SENT}, {"inside": request(DELETE, below=READ)}),
    ],
    "counting-condition": [
        ({"inside": repeating(flawed, get("/"))}, {"inside": repeating(good, get("/"))})
        for flawed in ("${__jexl3(${__counter(TRUE)} < 3)}", "${__CSVRead(rows.csv,next)}")
        for good in ("LAST", "${__jexl3(${n} < 3)}", "${__CSVRead(rows.csv,0)}")
    ],
    "kept-cookie": [
        ({"beside": SEEN_COOKIES, "cookie": flawed}, {"beside": SEEN_COOKIES, "cookie": good})
        for flawed in ("a=deleted; Path=/; Max-Age=0", "a=x; expires=Thu, 01-Jan-1970 00:00:00 GMT")
        for good in ("a=; Max-Age=0", "a=x; Max-Age=10", "a=x; expires=Thu, 01 Jan 1970 00:00:10 GMT")
    ],
    "grabbing-script": [
        ({"inside": script("JSR223Sampler", "S", "@Grab('a:b:1') import a.B") + get("/")},
         {"inside": script("JSR223Sampler", "S", "import a.B") + get("/")}),
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
