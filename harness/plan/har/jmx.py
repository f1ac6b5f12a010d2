"""Writes the JMX of a recording, or of several variants of it that a replay compares."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain, repeat
from urllib.parse import quote, urlsplit
from xml.etree.ElementTree import Element, ElementTree  # builds XML; harness.plan.jmx reads files safely

from harness.base.units import MS_PER_S
from harness.plan.har.correlate import json_texts
from harness.plan.har.correlation import Use, Variable
from harness.plan.har.extract import ExtractorKind
from harness.plan.har.recorded import Recorded
from harness.plan.har.steps import ORIGIN, Field, Where, is_json, path_shape
from harness.plan.jmx.headers import is_header_name, jmx_read
from harness.plan.jmx.thread_groups import add_loop
from harness.plan.jmx_writer import (
    Expression,
    add_bool,
    add_element,
    add_int,
    add_string,
    call,
    child,
    header_manager,
    joined,
    new_element,
    of_jmx,
    written,
    xml_element,
)
from harness.plan.jmx_writer import (
    variable as read_variable,
)

NOT_FOUND = "NOT_FOUND"
_LEAST_TYPED = 4
# A shorter secret may be in a longer word by chance.
_LEAST_LONG = 8
_URL_SAFE = re.compile(r"[\w.~-]+")
_GROUP = {
    "num_threads": Expression("${__P(users,5)}"),
    "ramp_time": Expression("${__jexl3((${__P(ramp_s,1)} + 0.5).intValue())}"),
    "duration": Expression("${__jexl3((${__P(duration_s,60)} + 0.999).intValue())}"),
    "scheduler": Expression("${__jexl3(${__P(duration_s,60)} > 0)}"),
}
# Characters for private use mark the places of variables.
_MARKERS, _MARKERS_END = 0xE000, 0xF8FF
_LINE_BREAKS = re.compile("[\0-\x08\x0a-\x1f\x7f]")
_PORT = call("__P", "port", "8080")
_ORIGIN_VALUE = Expression(
    "${__P(scheme,http)}://${__P(host,127.0.0.1)}"
    '${__jexl3(${__P(port,8080)} == 80 || ${__P(port,8080)} == 443 ? "" : ":" + ${__P(port,8080)})}'
)
_IMAGES = Expression("https?://${__P(host,127.0.0.1)}[:/].*")


def recorded_jmx(recorded: Recorded, groups: Mapping[str, Collection[str]]) -> bytes:
    """Return the JMX; `groups` are its thread groups with the names of their extractors; they run one by one."""
    root = xml_element("jmeterTestPlan", version="1.2", properties="5.0", jmeter="5.6.3")
    top = child(root, "hashTree")
    plan = new_element("TestPlan", "TestPlanGui", recorded.name)
    top.append(plan)
    add_bool(plan, "TestPlan.serialize_threadgroups", len(groups) > 1)
    _arguments(plan, "TestPlan.user_defined_variables", ())
    tree = child(top, "hashTree")
    _common(tree, recorded)
    for name, active in groups.items():
        group = new_element("ThreadGroup", "ThreadGroupGui", name)
        tree.append(group)
        for key, text in _GROUP.items():
            add_string(group, f"ThreadGroup.{key}", text)
        add_bool(group, "ThreadGroup.same_user_on_next_iteration", False)
        add_string(group, "ThreadGroup.on_sample_error", "continue")
        add_loop(group, call("__P", "loops", "-1"))
        _steps(child(tree, "hashTree"), recorded, active)
    return written(ElementTree(root))


def _common(tree: Element, recorded: Recorded) -> None:
    target = add_element(tree, "ConfigTestElement", "HttpDefaultsGui", "Target")
    _arguments(target, "HTTPsampler.Arguments", ())
    for name, value in (
        ("protocol", call("__P", "scheme", "http")), ("domain", call("__P", "host", "127.0.0.1")), ("port", _PORT),
        ("contentEncoding", "UTF-8"), ("connect_timeout", "10000"), ("response_timeout", "60000"),
    ):  # fmt: skip
        add_string(target, f"HTTPSampler.{name}", value)
    if any(ORIGIN in one.text for step in recorded.steps for one in step.fields):
        variables = add_element(tree, "Arguments", "ArgumentsPanel", "Address for headers")
        _collection(variables, "Arguments.arguments", "Argument", [(("Argument.name", "origin"),
                    ("Argument.value", _ORIGIN_VALUE), ("Argument.metadata", "="))])  # fmt: skip
    languages = Counter(step.answers[0].header("accept-language") for step in recorded.steps)
    headers: list[tuple[str, str]] = [
        ("User-Agent", Expression("JMeter (${__P(run_id,adhoc)})")),
        ("Accept-Encoding", "gzip, deflate"),
    ]
    language = languages.most_common(1)[0][0]
    _headers(tree, "Browser", [*headers, *([("Accept-Language", language)] if language else [])])
    cookies = add_element(tree, "CookieManager", "CookiePanel", "Cookies")
    child(cookies, "collectionProp", name="CookieManager.cookies")
    add_bool(cookies, "CookieManager.clearEachIteration", True)
    add_string(cookies, "CookieManager.policy", "standard")
    cache = add_element(tree, "CacheManager", "CacheManagerGui", "Cache")
    add_bool(cache, "clearEachIteration", True)
    add_bool(cache, "useExpires", True)
    if recorded.columns:
        data = add_element(tree, "CSVDataSet", "TestBeanGUI", "What a user types")
        for name, value in (
            ("filename", recorded.data_name), ("fileEncoding", "UTF-8"), ("variableNames", ""),
            ("delimiter", ","), ("shareMode", "shareMode.all"),
        ):  # fmt: skip
            add_string(data, name, value)
        for name, flag in (("quotedData", True), ("recycle", True), ("stopThread", False), ("ignoreFirstLine", False)):
            add_bool(data, name, flag)


def _steps(tree: Element, recorded: Recorded, active: Collection[str]) -> None:
    labels, below, count = recorded.labels(), tree, 0
    for number, step in enumerate(recorded.steps):
        if step.title:
            count += 1
            title = labels[number] if step.title.startswith(f"{step.method} /") else step.title
            for column, value in sorted(recorded.columns.items(), key=lambda pair: -len(pair[1])):
                title = title.replace(value, column) if len(value) >= _LEAST_TYPED else title
            below = xml_element("hashTree")
            transaction = new_element("TransactionController", "TransactionControllerGui", f"{count:02d} {title}")
            tree.extend((transaction, below))
            add_bool(transaction, "TransactionController.includeTimers", False)
            add_bool(transaction, "TransactionController.parent", False)
        _sampler(below, recorded, number, labels[number], active)
        own = child(below, "hashTree")
        pause_s = recorded.pauses_s[number]
        if step.title and pause_s and recorded.think_time_s:
            timer = add_element(own, "ConstantTimer", "ConstantTimerGui", f"Think time: {pause_s:.1f} s recorded")
            scale = round(pause_s / recorded.think_time_s, 3)
            read = call("__P", "think_time_ms", str(round(recorded.think_time_s * MS_PER_S)))
            delay = joined(Expression("${__jexl3(("), read, of_jmx(f" * {scale}"), Expression(").intValue())}"))
            add_string(timer, "ConstantTimer.delay", delay)
        headers = [one for one in step.fields if one.where is Where.HEADER]
        if headers:
            _headers(own, "Headers", [(one.name, _text(recorded, number, one, active)) for one in headers])
        for variable in recorded.found.variables:
            if variable.source == number and variable.name in active:
                _extractor(own, variable)
        if step.follows and "html" in step.answers[-1].response_type:
            _assert_page(own, urlsplit(step.answers[-1].url).path or "/")
        code = str(step.answers[-1].status)
        codes = "200|304" if code in ("200", "304") else code
        assertion = add_element(own, "ResponseAssertion", "AssertionGui", f"Code {codes}")
        tests = child(assertion, "collectionProp", name="Asserion.test_strings")
        add_string(tests, "code", codes)
        add_string(assertion, "Assertion.custom_message", f"expected {codes.replace('|', ' or ')}")
        add_string(assertion, "Assertion.test_field", "Assertion.response_code")
        add_bool(assertion, "Assertion.assume_success", code[0] in "45")
        add_int(assertion, "Assertion.test_type", 1)


def _assert_page(tree: Element, path: str) -> None:
    """Add an assertion that the last redirect leads to the recorded page, and not to that of the log-in."""
    shape = path_shape(path)
    pattern = "[^/?]+".join(re.sub(r"([\\^$.|?*+()\[\]{}])", r"\\\1", part) for part in shape.split("#"))
    assertion = add_element(tree, "ResponseAssertion", "AssertionGui", f"Page {shape}")
    add_string(child(assertion, "collectionProp", name="Asserion.test_strings"), "page", rf"[^?]*{pattern}(?:\?.*)?")
    add_string(assertion, "Assertion.custom_message", f"expected the page {shape}")
    add_string(assertion, "Assertion.test_field", "Assertion.sample_label")
    add_bool(assertion, "Assertion.assume_success", False)
    add_int(assertion, "Assertion.test_type", 1)


def _sampler(tree: Element, recorded: Recorded, number: int, label: str, active: Collection[str]) -> None:
    step = recorded.steps[number]
    sampler = new_element("HTTPSamplerProxy", "HttpTestSampleGui", label)
    tree.append(sampler)
    by_place = {where: [one for one in step.fields if one.where is where] for where in Where}
    url: list[str] = [Expression("${__P(base_path,)}")]
    for one in by_place[Where.PATH]:
        url += ["/", _text(recorded, number, one, active)]
    url += [] if by_place[Where.PATH] else ["/"]
    for sign, one in zip(chain("?", repeat("&")), by_place[Where.QUERY], strict=False):
        name = quote(one.name.partition("#")[0], safe="[]", errors="replace")
        url += [f"{sign}{name}=", _text(recorded, number, one, active)]
    add_string(sampler, "HTTPSampler.path", joined(*url))
    add_string(sampler, "HTTPSampler.method", step.method)
    add_bool(sampler, "HTTPSampler.follow_redirects", step.follows)
    add_bool(sampler, "HTTPSampler.auto_redirects", False)
    add_bool(sampler, "HTTPSampler.use_keepalive", True)
    if charset := step.answers[0].charset:
        add_string(sampler, "HTTPSampler.contentEncoding", charset)
    if recorded.with_static and "html" in step.answers[-1].response_type:
        add_bool(sampler, "HTTPSampler.image_parser", True)
        add_bool(sampler, "HTTPSampler.concurrentDwn", True)
        add_string(sampler, "HTTPSampler.embedded_url_re", _IMAGES)
    is_multipart = "multipart" in step.answers[0].body_type
    if is_multipart:
        add_bool(sampler, "HTTPSampler.DO_MULTIPART_POST", True)
    form = [one for one in by_place[Where.FORM] if not one.file]
    body = by_place[Where.BODY]
    add_bool(sampler, "HTTPSampler.postBodyRaw", bool(body))
    sent = [
        (one.name.partition("#")[0] if not body else "", _text(recorded, number, one, active)) for one in body or form
    ]
    _arguments(sampler, "HTTPsampler.Arguments", sent, is_encoded=not (body or is_multipart))
    if files := [one for one in by_place[Where.FORM] if one.file]:
        holder = child(sampler, "elementProp", name="HTTPsampler.Files", elementType="HTTPFileArgs")
        _collection(holder, "HTTPFileArgs.files", "HTTPFileArg", [
            (("File.path", recorded.upload_name(one)), ("File.paramname", one.name.partition("#")[0]),
             ("File.mimetype", one.content_type)) for one in files
        ])  # fmt: skip


def _text(recorded: Recorded, number: int, one: Field, active: Collection[str]) -> Expression:
    """Return the text of a field with its variables, encoded for its place in the request."""
    uses = [use for variable in recorded.found.variables if variable.name in active for use in variable.uses]
    for typed, places in recorded.found.typed.items():
        read = jmx_read(recorded.secret_name(typed.column)) if typed.is_secret else read_variable(typed.column)
        uses += [use._replace(expression=read) for use in places]
    own = [use for use in uses if use.step == number and use.key == one.key]
    text, expressions = one.text, dict[str, Expression]()
    if ORIGIN in text:
        own.append(Use(number, one.key, ORIGIN, ORIGIN))
    is_in_url = one.where in (Where.PATH, Where.QUERY)
    markers = (sign for sign in map(chr, range(_MARKERS, _MARKERS_END)) if sign not in one.text)
    for use in sorted(own, key=lambda use: -len(use.text)):
        marker = next(markers)
        pattern = _part(use.text) if use.is_part else _pattern(use.text, is_json=use.text != ORIGIN and is_json(one))
        text = re.sub(pattern, marker, text)
        needs_encoding = is_in_url and not _URL_SAFE.fullmatch(use.text)
        sent = of_jmx(use.expression)
        expressions[marker] = call("__urlencode", sent) if needs_encoding else sent
    safe = "@:!$'()*,;+" if one.where is Where.PATH else ""
    out: list[str] = []
    for piece in re.split(f"([{''.join(expressions)}])", text) if expressions else [text]:
        literal = quote(piece, safe=safe, errors="replace") if is_in_url else piece
        literal = _LINE_BREAKS.sub(" ", literal) if one.where is Where.HEADER else literal
        out.append(expressions.get(piece, literal))
    return joined(*out)


def _pattern(text: str, *, is_json: bool) -> str:
    """Return the regular expression for a value; in JSON it is a whole text or number."""
    if not is_json:
        return re.escape(text)
    texts = "|".join(re.escape(spelled) for spelled in sorted({text, *json_texts(text)}))
    return rf'(?<=")(?:{texts})(?=")|(?<![\w.\"]){re.escape(text)}(?![\w.\"])'


def _part(text: str) -> str:
    """Return the regular expression for a secret anywhere in a text, but not within a longer word."""
    is_short = len(text) < _LEAST_LONG
    start, end = (r"(?<!\w)" if text[0].isalnum() else "", r"(?!\w)" if text[-1].isalnum() else "")
    return start + re.escape(text) + end if is_short else re.escape(text)


def _extractor(tree: Element, variable: Variable) -> None:
    extractor, name = variable.extractor, variable.name
    if extractor.kind is ExtractorKind.CSS:
        element = add_element(tree, "HtmlExtractor", "HtmlExtractorGui", name)
        values = {"refname": name, "expr": extractor.a, "attribute": extractor.b, "default": NOT_FOUND,
                  "match_number": str(extractor.number), "extractor_impl": "JSOUP"}  # fmt: skip
        prefix = "HtmlExtractor."
    elif extractor.kind is ExtractorKind.JSON:
        element = add_element(tree, "JSONPostProcessor", "JSONPostProcessorGui", name)
        values = {
            "referenceNames": name,
            "jsonPathExprs": extractor.a,
            "match_numbers": "1",
            "defaultValues": NOT_FOUND,
        }
        prefix = "JSONPostProcessor."
    elif extractor.kind is ExtractorKind.BOUNDARY:
        element = add_element(tree, "BoundaryExtractor", "BoundaryExtractorGui", name)
        values = {"useHeaders": "false", "refname": name, "lboundary": extractor.a, "rboundary": extractor.b,
                  "default": NOT_FOUND, "match_number": str(extractor.number)}  # fmt: skip
        prefix = "BoundaryExtractor."
    else:
        element = add_element(tree, "RegexExtractor", "RegexExtractorGui", name)
        headers = extractor.kind is ExtractorKind.HEADER
        values = {"useHeaders": str(headers).lower(), "refname": name, "regex": extractor.a, "template": "$1$",
                  "default": NOT_FOUND, "match_number": str(extractor.number)}  # fmt: skip
        prefix = "RegexExtractor."
        if headers:
            add_string(element, "Sample.scope", "all")
    for key, value in values.items():
        add_string(element, prefix + key, value)


def _headers(tree: Element, name: str, headers: Iterable[tuple[str, str]]) -> None:
    """Add the headers; no client sends one whose name is not that of a header."""
    tree.append(header_manager(name, ((key, value) for key, value in headers if is_header_name(key))))
    child(tree, "hashTree")


def _arguments(parent: Element, name: str, pairs: Iterable[tuple[str, str]], *, is_encoded: bool = False) -> None:
    holder = child(parent, "elementProp", name=name, elementType="Arguments", guiclass="HTTPArgumentsPanel",
                   testclass="Arguments")  # fmt: skip
    collection = child(holder, "collectionProp", name="Arguments.arguments")
    for key, value in pairs:
        entry = child(collection, "elementProp", name=key, elementType="HTTPArgument")
        add_bool(entry, "HTTPArgument.always_encode", is_encoded)
        add_string(entry, "Argument.value", value)
        add_string(entry, "Argument.metadata", "=")
        if key:
            add_bool(entry, "HTTPArgument.use_equals", True)
            add_string(entry, "Argument.name", key)


def _collection(parent: Element, name: str, kind: str, rows: Iterable[Sequence[tuple[str, str]]]) -> None:
    collection = child(parent, "collectionProp", name=name)
    for row in rows:
        entry = child(collection, "elementProp", name=row[0][1], elementType=kind)
        for key, value in row:
            add_string(entry, key, value)
