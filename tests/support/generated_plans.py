"""Test plans that are made at random, of what the logic of a JMX can depend on, and a server with varied answers.

Each request names its user and its sampler. The same request of a user has the same answers in each run.
"""

from __future__ import annotations

import json
import threading
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from random import Random

from tests.support.off_host import collection, element, flag, host, text, variables

# What stands for the port of the server in a JMX.
PORT = "65001"
LOOPS, USERS, REQUESTS_MOST = 2, 2, 300
GROUPS = ("ThreadGroup", "Concurrency", "Ultimate", "Arrivals", "FreeForm", "Several")
_NAMES = ("a", "b", "c")
_EXTRACTORS = ("regex", "boundary", "html", "json", "jmespath", "xpath", "xpath2")
_KINDS = ("json", "page")
_CASUTG = "com.blazemeter.jmeter.threads"


def _bool(name: str, value: bool) -> str:
    return f'<boolProp name="{name}">{str(value).lower()}</boolProp>'


def _int(name: str, value: int) -> str:
    return f'<intProp name="{name}">{value}</intProp>'


_ENDS = _bool("LoopController.continue_forever", False)


@dataclass
class GeneratedPlan:
    """A plan of a seed: its JMX, the rows of its data file, and the kind of its thread groups."""

    seed: int
    kind: str = ""
    rows: str = ""
    jmx: str = ""
    _random: Random = field(default_factory=Random)
    _count: int = 0

    @classmethod
    def of(cls, seed: int, kind: str = "") -> GeneratedPlan:
        """Return the plan of a seed, by default with a thread group of any kind."""
        plan = cls(seed, kind, _random=Random(seed))
        plan.kind = kind or plan._random.choice(GROUPS)
        plan.rows = "".join(f"{plan._any('x1', '', 'a b', 'é')},{number}\n" for number in range(5))
        plan.jmx = plan._whole()
        return plan

    def _any(self, *choices: str) -> str:
        return self._random.choice(choices)

    def _is(self, probability: float = 0.5) -> bool:
        return self._random.random() < probability

    def _whole(self) -> str:
        own = variables(
            ctx=self._any("", "/app"), base=f"http://127.0.0.1:{PORT}/app", empty="", known=self._any("", "v")
        )
        defaults = element(
            "ConfigTestElement", "Defaults", host("127.0.0.1"), text("HTTPSampler.port", PORT),
            text("HTTPSampler.protocol", self._any("", "http", "HTTP")),
        )  # fmt: skip
        user = _headers("Who", {"X-User": "${__threadNum}"})
        cookies = element(
            "CookieManager", "Cookies", '<collectionProp name="CookieManager.cookies"/>',
            _bool("CookieManager.clearEachIteration", self._is()),
            _bool("CookieManager.controlledByThreadGroup", self._is(0.3)),
        )  # fmt: skip
        cache = element("CacheManager", "Cache", _bool("clearEachIteration", self._is()), flag("useExpires"))
        rows = element(
            "CSVDataSet", "Rows", text("filename", "rows.csv"), text("variableNames", "word,number"),
            text("delimiter", ","), text("shareMode", "shareMode.thread"), _bool("recycle", self._is()),
            _bool("stopThread", self._is(0.3)), _bool("ignoreFirstLine", False), text("fileEncoding", "UTF-8"),
        )  # fmt: skip
        counter = element(
            "CounterConfig", "Counter", text("CounterConfig.start", "1"), text("CounterConfig.incr", "1"),
            text("CounterConfig.name", "count"), text("CounterConfig.format", ""), flag("CounterConfig.per_user"),
        )  # fmt: skip
        shared = [one for one in (cookies, cache, rows, counter) if self._is(0.7)]
        groups = [self._group(number) for number in range(2 if self.kind == "Several" else 1)]
        if self._is(0.3):
            groups.insert(0, self._group(8, "SetupThreadGroup"))
        if self._is(0.3):
            groups.append(self._group(9, "PostThreadGroup"))
        below = "".join((own, defaults, user, *shared, *groups))
        return (
            '<?xml version="1.0" encoding="UTF-8"?>\n<jmeterTestPlan version="1.2" properties="5.0" jmeter="5.6.3">'
            f'<hashTree><TestPlan guiclass="TestPlanGui" testclass="TestPlan" testname="Generated {self.seed}">'
            "</TestPlan>"
            f"<hashTree>{below}</hashTree></hashTree></jmeterTestPlan>"
        )

    def _group(self, number: int, kind: str = "") -> str:
        below = "".join(self._step(2) for _ in range(self._random.randint(3, 6)))
        timer = element("ConstantTimer", "Pause", text("ConstantTimer.delay", "20"))
        below = _headers(f"Group {number}", {"X-Group": str(number)}) + (timer if self._is() else "") + below
        common = (
            text("ThreadGroup.on_sample_error", self._any("continue", "continue", "startnextloop", "stopthread")),
            _bool("ThreadGroup.same_user_on_next_iteration", self._is()),
        )
        name = self._any("Users", "Shoppers", "A b")
        if kind in ("SetupThreadGroup", "PostThreadGroup") or self.kind in ("ThreadGroup", "Several"):
            users, loops = (1, 1) if kind else (USERS, LOOPS)
            is_timed = self.kind == "Several" and not kind
            loop = _main_loop(text("LoopController.loops", "-1" if is_timed else str(loops)))
            loop += flag("ThreadGroup.scheduler") + text("ThreadGroup.duration", "3") if is_timed else ""
            size = text("ThreadGroup.num_threads", str(users)) + text("ThreadGroup.ramp_time", "0")
            return element(kind or "ThreadGroup", name, *common, loop, size, below=below)
        virtual = (
            '<elementProp name="ThreadGroup.main_controller" '
            'elementType="com.blazemeter.jmeter.control.VirtualUserController"/>'
        )
        times = text("Hold", "3") + text("Unit", "S") + text("Iterations", "") + text("LogFilename", "")
        if self.kind == "Concurrency":
            size = text("TargetLevel", str(USERS)) + text("RampUp", "0") + text("Steps", "") + times
            return element(f"{_CASUTG}.concurrency.ConcurrencyThreadGroup", name, *common, virtual, size, below=below)
        if self.kind == "Arrivals":
            size = text("TargetLevel", "2") + text("RampUp", "0") + text("Steps", "") + times
            return element(f"{_CASUTG}.arrivals.ArrivalsThreadGroup", name, *common, virtual, size, below=below)
        if self.kind == "FreeForm":
            rows = f'<collectionProp name="Schedule">{collection("row", "2", "2", "3")}</collectionProp>'
            kind = f"{_CASUTG}.arrivals.FreeFormArrivalsThreadGroup"
            return element(kind, name, *common, virtual, rows, times, below=below)
        rows = collection("row", str(USERS), "0", "0", "3", "0")
        loop = _main_loop(_int("LoopController.loops", -1))
        table = f'<collectionProp name="ultimatethreadgroupdata">{rows}</collectionProp>'
        return element("kg.apc.jmeter.threads.UltimateThreadGroup", name, *common, loop, table, below=below)

    def _step(self, depth: int) -> str:
        """A request, or a controller with steps."""
        makers: list[Callable[[int], str]] = [self._request] * 5
        if depth:
            makers += [self._if, self._if, self._while, self._controller, self._controller, self._foreach, self._switch]
        return self._random.choice(makers)(depth)

    def _steps(self, depth: int) -> str:
        return "".join(self._step(depth - 1) for _ in range(self._random.randint(1, 3)))

    def _if(self, depth: int) -> str:
        name = self._any(*_NAMES)
        condition = self._any(
            f'${{__jexl3("${{{name}}}" == "")}}', f'${{__jexl3("${{{name}}}" != "")}}',
            f'${{__jexl3("${{{name}}}" == "NOT_FOUND")}}', f"${{__isVarDefined({name})}}",
            f'${{__jexl3("${{{name}}}" == "i7" || "${{{name}_matchNr}}" == "2")}}', "${JMeterThread.last_sample_ok}",
            '${__jexl3("${known}" == "")}', '${__jexl3("${__P(x)}" == "1")}', f'${{__jexl3("${{{name}_g1}}" == "i7")}}',
        )  # fmt: skip
        return element(
            "IfController", "If", text("IfController.condition", condition), flag("IfController.useExpression"),
            _bool("IfController.evaluateAll", self._is()), below=self._steps(depth),
        )  # fmt: skip

    def _while(self, depth: int) -> str:
        self._count += 1
        name = self._any(*_NAMES)
        condition = self._any(
            "LAST", "", f'${{__jexl3(${{__counter(TRUE,w{self._count})}} &lt; 4)}}'.replace("&lt;", "<"),
            f'${{__jexl3("${{{name}}}" != "" && ${{__counter(TRUE,)}} < 5)}}',
        )  # fmt: skip
        below = self._plain(f"while{self._count}", "While step") + self._steps(depth)
        if condition in ("LAST", "") and "assume_success" in below:
            condition = "${__jexl3(${__counter(TRUE,)} < 3)}"  # it would never fail
        return element("WhileController", "While", text("WhileController.condition", condition), below=below)

    def _foreach(self, depth: int) -> str:
        props = (text("ForeachController.inputVal", self._any(*_NAMES)), text("ForeachController.returnVal", "one"))
        separator = flag("ForeachController.useSeparator")
        return element("ForeachController", "Each", *props, separator, below=self._steps(depth))

    def _switch(self, depth: int) -> str:
        value = self._any("${a}", "${b}", "1", "${count}", "${known}")
        return element("SwitchController", "Switch", text("SwitchController.value", value), below=self._steps(depth))

    def _controller(self, depth: int) -> str:
        kind = self._any("Loop", "Once", "Interleave", "Transaction", "Random", "Simple", "Order")
        if kind in ("Random", "Order"):  # which of them is chosen is not to be seen
            same = "".join(self._plain(f"same{self._count}", name) for name in ("One", "Two"))
            kinds = {"Random": "RandomController", "Order": "RandomOrderController"}
            return element(kinds[kind], kind, _int("InterleaveControl.style", 1), below=same)
        name, props = {
            "Loop": ("LoopController", _ENDS + text("LoopController.loops", "2")),
            "Once": ("OnceOnlyController", ""),
            "Interleave": ("InterleaveControl", _int("InterleaveControl.style", self._random.randint(0, 1))),
            "Transaction": ("TransactionController", _bool("TransactionController.parent", self._is())),
            "Simple": ("GenericController", ""),
        }[kind]  # fmt: skip
        return element(name, kind, props, below=self._steps(depth))

    def _plain(self, path: str, name: str) -> str:
        return element(
            "HTTPSamplerProxy", name, text("HTTPSampler.path", f"/json/{path}"), text("HTTPSampler.method", "GET")
        )

    def _request(self, _depth: int) -> str:
        self._count += 1
        kind = self._any(*_KINDS)
        end = f"{kind}/{self._count}"
        # JMeter sends no request whose URL has braces: of a variable that is not set.
        a, b, word = (f"${{__urlencode(${{{name}}})}}" for name in ("a", "b_1", "word"))
        path = self._any(
            f"/{end}", f"/{end}", end, f"${{ctx}}/{end}", f"${{empty}}{end}", f"${{base}}/{end}", f"/{end}/{a}",
            f"http://127.0.0.1:{PORT}/{end}", f"${{ctx}}${{empty}}/{end}?w={word}",
            f"/{end}?a={a}&b={b}&x=${{__P(x)}}&y=${{__P(y,d)}}&z=${{__property(z)}}",
        )  # fmt: skip
        method = self._any("GET", "GET", "POST", "PUT", "DELETE")
        sent = self._any('{"a": "${a}", "n": "${count}"}', "${b}", "${c_matchNr}${number}", "plain é")
        argument = f'<elementProp name="" elementType="HTTPArgument">{text("Argument.value", sent)}</elementProp>'
        body = (
            flag("HTTPSampler.postBodyRaw"),
            '<elementProp name="HTTPsampler.Arguments" elementType="Arguments"><collectionProp '
            f'name="Arguments.arguments">{argument}</collectionProp></elementProp>',
        )
        follow = self._any("", "follow", "auto")
        below = "".join(self._extractor(kind) for _ in range(self._random.choice((0, 1, 1, 2))))
        below += self._any("", "", "", _code("200"), _code("2.."), _ignore(), _body("i7"))
        below += _headers("Own", {"X-Value": "[${c}]"}) if self._is(0.3) else ""
        below += element("ResultAction", "On error", _int("OnError.action", 4)) if self._is(0.1) else ""
        return element(
            "HTTPSamplerProxy", self._any("Page", "Order", f"Step {self._count}"),
            text("HTTPSampler.path", path), text("HTTPSampler.method", method), flag("HTTPSampler.use_keepalive"),
            *(body if method in ("POST", "PUT") else ()),
            _bool("HTTPSampler.follow_redirects", follow == "follow"),
            _bool("HTTPSampler.auto_redirects", follow == "auto"), below=below,
        )  # fmt: skip

    def _extractor(self, kind: str) -> str:
        name = self._any(*_NAMES)
        by = self._any(*_EXTRACTORS, *(("json",) * 5 if kind == "json" else ("regex", "xpath", "html")))
        number = self._any("1", "1", "2", "-1")
        default = self._any("", "", "none", "NOT_FOUND")
        has_default, chooses_empty = self._is(0.6), self._is(0.3)
        kinds = {
            "regex": ("RegexExtractor", "RegexExtractor", "refname", {"regex": r"id[^\w]+(\w+)", "template": "$1$"}),
            "boundary": ("BoundaryExtractor", "BoundaryExtractor", "refname", {"lboundary": 'id="', "rboundary": '"'}),
            "html": ("HtmlExtractor", "HtmlExtractor", "refname", {"expr": "b", "attribute": "id"}),
            "json": ("JSONPostProcessor", "JSONPostProcessor", "referenceNames", {"jsonPathExprs": "$..id"}),
            "jmespath": ("JMESPathExtractor", "JMESExtractor", "referenceName", {"jmesPathExpr": "items[*].id"}),
            "xpath": ("XPathExtractor", "XPathExtractor", "refname", {"xpathQuery": "//b/@id"}),
            "xpath2": ("XPath2Extractor", "XPathExtractor2", "refname", {"xpathQuery": "//b/@id"}),
        }
        tag, prefix, refname, props = kinds[by]
        defaults = {"json": "defaultValues", "jmespath": "defaultValue"}.get(by, "default")
        numbers = {"regex": "match_number", "boundary": "match_number", "html": "match_number",
                   "json": "match_numbers", "jmespath": "matchNumber"}.get(by, "matchNumber")  # fmt: skip
        values = {refname: name, **props, numbers: number}
        texts = [text(f"{prefix}.{key}", value) for key, value in values.items()]
        texts += [text(f"{prefix}.{defaults}", default)] if has_default else []
        texts += [flag(f"{prefix}.{defaults}_empty_value")] if chooses_empty and not default else []
        return element(tag, f"Extract {name}", *texts)


def _main_loop(loops: str) -> str:
    start = '<elementProp name="ThreadGroup.main_controller" elementType="LoopController">'
    return f"{start}{_ENDS}{loops}</elementProp>"


def _headers(name: str, headers: dict[str, str]) -> str:
    pairs = (text("Header.name", key) + text("Header.value", value) for key, value in headers.items())
    rows = "".join(f'<elementProp name="" elementType="Header">{pair}</elementProp>' for pair in pairs)
    return element("HeaderManager", name, f'<collectionProp name="HeaderManager.headers">{rows}</collectionProp>')


def _code(code: str) -> str:
    return _assertion("Assertion.response_code", code, 1)


def _body(part: str) -> str:
    return _assertion("Assertion.response_data", part, 2)


def _ignore() -> str:
    return _assertion("Assertion.response_code", ".*", 1, flag("Assertion.assume_success"))


def _assertion(what: str, pattern: str, kind: int, *more: str) -> str:
    field_of = text("Assertion.test_field", what) + _int("Assertion.test_type", kind)
    return element("ResponseAssertion", "Assert", collection("Asserion.test_strings", pattern), field_of, *more)


class VariedAnswers(BaseHTTPRequestHandler):
    """Answers by the user, the path and how often that user has asked: present, absent, empty, many, moved, failed."""

    seen: Counter[tuple[str, str]]
    log: dict[str, list[tuple[str, ...]]]
    lock: threading.Lock
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def _respond(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        user = f"{self.headers.get('X-Group')}-{self.headers.get('X-User')}"
        with self.lock:
            self.seen[user, self.path] += 1
            number = self.seen[user, self.path]
            total = len(self.log.setdefault(user, []))
            self.log[user].append(_shown(self.command, self.path, self.headers.items(), body))
        self._send(*(_answer(self.path, user, number) if total < REQUESTS_MOST else (500, {}, b"")))

    def _send(self, code: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_DELETE = _respond  # noqa: N815

    def log_message(self, format: str, *arguments: object) -> None:
        """Print nothing."""


def _shown(method: str, path: str, headers: list[tuple[str, str]], body: bytes) -> tuple[str, ...]:
    """Return the parts of a request that do not depend on where it was sent."""
    kept = sorted(f"{name}: {value}" for name, value in headers if name.lower() not in ("host", "connection"))
    return (method, path, *kept, body.decode("utf-8", errors="replace"))


def _answer(path: str, user: str, number: int) -> tuple[int, dict[str, str], bytes]:
    is_page = path.partition("?")[0].split("/")[-2:-1] == ["page"] or "/page/" in path
    variant = zlib.crc32(f"{path.partition('?')[0]} {user} {number}".encode()) % 10
    ids = {0: [], 1: [""], 2: ["i7", "i8"], 3: ["i7", "i8", "é"]}.get(variant, ["i7"])
    text_of = (
        "".join(f'<b id="{one}"/>' for one in ids) if is_page else json.dumps({"items": [{"id": one} for one in ids]})
    )
    body = (f"<html>{text_of}</html>" if is_page else text_of).encode()
    headers = {"Content-Type": "text/html; charset=utf-8" if is_page else "application/json"}
    if variant == 4:
        headers["Set-Cookie"] = f"s{number}={user}; Path=/"
    if variant == 5 and "/moved" not in path:
        return 302, {"Location": f"{path.partition('?')[0]}/moved?n={number}"}, b""
    if variant == 6:
        return 500, headers, body
    if variant == 7:
        return 404, headers, b"{}"
    if variant == 8:
        headers |= {"ETag": '"1"', "Cache-Control": "max-age=100"}
    if variant == 9:
        return 204, {}, b""
    return 200, headers, body


def by_user(log: dict[str, list[tuple[str, ...]]]) -> Iterator[tuple[str, list[tuple[str, ...]]]]:
    """Yield each user with the requests in their order."""
    yield from sorted(log.items())
