"""Writes the JMX of a recording, or of several variants of it that a replay compares."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from urllib.parse import quote, urlsplit
from xml.etree import ElementTree  # builds XML; harness.plan.jmx reads files safely
from xml.etree.ElementTree import Element, SubElement

from harness.base.units import MS_PER_S
from harness.plan.har.correlate import json_texts
from harness.plan.har.correlation import Use, Variable
from harness.plan.har.extract import Kind
from harness.plan.har.recorded import Recorded
from harness.plan.har.steps import ORIGIN, Field, Where, is_json, path_shape
from harness.plan.thread_groups import LOOPS

NOT_FOUND = "NOT_FOUND"
_LEAST_TYPED = 4
# A shorter secret may be in a longer word by chance.
_LEAST_LONG = 8
_URL_SAFE = re.compile(r"[\w.~-]+")
# Characters for private use mark the places of variables.
_MARKERS, _MARKERS_END = 0xE000, 0xF8FF
_PORT = "${__P(port,8080)}"
_ORIGIN_VALUE = (
    "${__P(scheme,http)}://${__P(host,127.0.0.1)}"
    f'${{__jexl3({_PORT} == 80 || {_PORT} == 443 ? "" : ":" + {_PORT})}}'
)
_IMAGES = r"https?://${__P(host,127.0.0.1)}[:/].*"


def recorded_jmx(recorded: Recorded, groups: Mapping[str, Collection[str]]) -> bytes:
    """Return the JMX; `groups` are its thread groups with the names of their extractors; they run one by one."""
    root = Element("jmeterTestPlan", version="1.2", properties="5.0", jmeter="5.6.3")
    top = SubElement(root, "hashTree")
    plan = _add(top, "TestPlan", "TestPlanGui", recorded.name)
    _bool(plan, "TestPlan.serialize_threadgroups", len(groups) > 1)
    _arguments(plan, "TestPlan.user_defined_variables", ())
    tree = SubElement(top, "hashTree")
    _common(tree, recorded)
    for name, active in groups.items():
        group = _add(tree, "ThreadGroup", "ThreadGroupGui", name)
        _string(group, "ThreadGroup.num_threads", "${__P(users,5)}")
        _string(group, "ThreadGroup.ramp_time", "${__jexl3((${__P(ramp_s,1)} + 0.5).intValue())}")
        _string(group, "ThreadGroup.duration", "${__jexl3((${__P(duration_s,60)} + 0.999).intValue())}")
        _string(group, "ThreadGroup.scheduler", "${__jexl3(${__P(duration_s,60)} > 0)}")
        _bool(group, "ThreadGroup.same_user_on_next_iteration", False)
        _string(group, "ThreadGroup.on_sample_error", "continue")
        loop = SubElement(group, "elementProp", name="ThreadGroup.main_controller", elementType="LoopController",
                          guiclass="LoopControlPanel", testclass="LoopController", testname="Loop")  # fmt: skip
        _string(loop, LOOPS, "${__P(loops,-1)}")
        _bool(loop, "LoopController.continue_forever", False)
        _steps(SubElement(tree, "hashTree"), recorded, active)
    ElementTree.indent(root)
    text: bytes = ElementTree.tostring(root, encoding="UTF-8", xml_declaration=True)
    return text + b"\n"


def _common(tree: Element, recorded: Recorded) -> None:
    target = _leaf(tree, "ConfigTestElement", "HttpDefaultsGui", "Target")
    _arguments(target, "HTTPsampler.Arguments", ())
    for name, value in (
        ("protocol", "${__P(scheme,http)}"), ("domain", "${__P(host,127.0.0.1)}"), ("port", _PORT),
        ("contentEncoding", "UTF-8"), ("connect_timeout", "10000"), ("response_timeout", "60000"),
    ):  # fmt: skip
        _string(target, f"HTTPSampler.{name}", value)
    if any(ORIGIN in one.text for step in recorded.steps for one in step.fields):
        variables = _leaf(tree, "Arguments", "ArgumentsPanel", "Address for headers")
        _collection(variables, "Arguments.arguments", "Argument", [(("Argument.name", "origin"),
                    ("Argument.value", _ORIGIN_VALUE), ("Argument.metadata", "="))])  # fmt: skip
    languages = Counter(step.answers[0].header("accept-language") for step in recorded.steps)
    headers = [("User-Agent", "JMeter (${__P(run_id,adhoc)})"), ("Accept-Encoding", "gzip, deflate")]
    language = languages.most_common(1)[0][0]
    _headers(tree, "Browser", [*headers, *([("Accept-Language", language)] if language else [])])
    cookies = _leaf(tree, "CookieManager", "CookiePanel", "Cookies")
    SubElement(cookies, "collectionProp", name="CookieManager.cookies")
    _bool(cookies, "CookieManager.clearEachIteration", True)
    _string(cookies, "CookieManager.policy", "standard")
    cache = _leaf(tree, "CacheManager", "CacheManagerGui", "Cache")
    _bool(cache, "clearEachIteration", True)
    _bool(cache, "useExpires", True)
    if recorded.columns:
        data = _leaf(tree, "CSVDataSet", "TestBeanGUI", "What a user types")
        for name, value in (
            ("filename", recorded.data_name), ("fileEncoding", "UTF-8"), ("variableNames", ""),
            ("delimiter", ","), ("shareMode", "shareMode.all"),
        ):  # fmt: skip
            _string(data, name, value)
        for name, flag in (("quotedData", True), ("recycle", True), ("stopThread", False), ("ignoreFirstLine", False)):
            _bool(data, name, flag)


def _steps(tree: Element, recorded: Recorded, active: Collection[str]) -> None:
    labels, below, count = recorded.labels(), tree, 0
    for number, step in enumerate(recorded.steps):
        if step.title:
            count += 1
            title = labels[number] if step.title.startswith(f"{step.method} /") else step.title
            for column, value in sorted(recorded.columns.items(), key=lambda pair: -len(pair[1])):
                title = title.replace(value, column) if len(value) >= _LEAST_TYPED else title
            transaction = _add(tree, "TransactionController", "TransactionControllerGui", f"{count:02d} {title}")
            _bool(transaction, "TransactionController.includeTimers", False)
            _bool(transaction, "TransactionController.parent", False)
            below = SubElement(tree, "hashTree")
        _sampler(below, recorded, number, labels[number], active)
        own = SubElement(below, "hashTree")
        pause_s = recorded.pauses_s[number]
        if step.title and pause_s and recorded.think_time_s:
            timer = _leaf(own, "ConstantTimer", "ConstantTimerGui", f"Think time: {pause_s:.1f} s recorded")
            scale = round(pause_s / recorded.think_time_s, 3)
            read = f"${{__P(think_time_ms,{round(recorded.think_time_s * MS_PER_S)})}}"
            _string(timer, "ConstantTimer.delay", f"${{__jexl3(({read} * {scale}).intValue())}}")
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
        assertion = _leaf(own, "ResponseAssertion", "AssertionGui", f"Code {codes}")
        tests = SubElement(assertion, "collectionProp", name="Asserion.test_strings")
        _string(tests, "code", codes)
        _string(assertion, "Assertion.custom_message", f"expected {codes.replace('|', ' or ')}")
        _string(assertion, "Assertion.test_field", "Assertion.response_code")
        _bool(assertion, "Assertion.assume_success", code[0] in "45")
        SubElement(assertion, "intProp", name="Assertion.test_type").text = "1"


def _assert_page(tree: Element, path: str) -> None:
    """Add an assertion that the last redirect leads to the recorded page, and not to that of the log-in."""
    shape = path_shape(path)
    pattern = "[^/?]+".join(re.sub(r"([\\^$.|?*+()\[\]{}])", r"\\\1", part) for part in shape.split("#"))
    assertion = _leaf(tree, "ResponseAssertion", "AssertionGui", f"Page {shape}")
    _string(SubElement(assertion, "collectionProp", name="Asserion.test_strings"), "page", rf"[^?]*{pattern}(?:\?.*)?")
    _string(assertion, "Assertion.custom_message", f"expected the page {shape}")
    _string(assertion, "Assertion.test_field", "Assertion.sample_label")
    _bool(assertion, "Assertion.assume_success", False)
    SubElement(assertion, "intProp", name="Assertion.test_type").text = "1"


def _sampler(tree: Element, recorded: Recorded, number: int, label: str, active: Collection[str]) -> None:
    step = recorded.steps[number]
    sampler = _add(tree, "HTTPSamplerProxy", "HttpTestSampleGui", label)
    by_place = {where: [one for one in step.fields if one.where is where] for where in Where}
    path = "".join(f"/{_text(recorded, number, one, active)}" for one in by_place[Where.PATH]) or "/"
    pairs = (
        f"{quote(one.name.partition('#')[0], safe='[]')}={_text(recorded, number, one, active)}"
        for one in by_place[Where.QUERY]
    )
    query = "&".join(pairs)
    _string(sampler, "HTTPSampler.path", f"${{__P(base_path,)}}{path}{f'?{query}' if query else ''}")
    _string(sampler, "HTTPSampler.method", step.method)
    _bool(sampler, "HTTPSampler.follow_redirects", step.follows)
    _bool(sampler, "HTTPSampler.auto_redirects", False)
    _bool(sampler, "HTTPSampler.use_keepalive", True)
    if recorded.with_static and "html" in step.answers[-1].response_type:
        _bool(sampler, "HTTPSampler.image_parser", True)
        _bool(sampler, "HTTPSampler.concurrentDwn", True)
        _string(sampler, "HTTPSampler.embedded_url_re", _IMAGES)
    is_multipart = "multipart" in step.answers[0].body_type
    if is_multipart:
        _bool(sampler, "HTTPSampler.DO_MULTIPART_POST", True)
    form = [one for one in by_place[Where.FORM] if not one.file]
    body = by_place[Where.BODY]
    _bool(sampler, "HTTPSampler.postBodyRaw", bool(body))
    sent = [
        (one.name.partition("#")[0] if not body else "", _text(recorded, number, one, active)) for one in body or form
    ]
    encode = "false" if body or is_multipart else "true"
    _arguments(sampler, "HTTPsampler.Arguments", sent, encode)
    if files := [one for one in by_place[Where.FORM] if one.file]:
        holder = SubElement(sampler, "elementProp", name="HTTPsampler.Files", elementType="HTTPFileArgs")
        _collection(holder, "HTTPFileArgs.files", "HTTPFileArg", [
            (("File.path", recorded.upload_name(one)), ("File.paramname", one.name.partition("#")[0]),
             ("File.mimetype", one.content_type)) for one in files
        ])  # fmt: skip


def _text(recorded: Recorded, number: int, one: Field, active: Collection[str]) -> str:
    """Return the text of a field with its variables, escaped for JMeter and for its place in the request."""
    uses = [use for variable in recorded.found.variables if variable.name in active for use in variable.uses]
    for typed, places in recorded.found.typed.items():
        read = f'${{__groovy(System.getenv("{recorded.secret_name(typed.column)}"))}}' if typed.is_secret else ""
        uses += [use._replace(expression=read or f"${{{typed.column}}}") for use in places]
    own = [use for use in uses if use.step == number and use.key == one.key]
    text, expressions = one.text, dict[str, str]()
    if ORIGIN in text:
        own.append(Use(number, one.key, ORIGIN, ORIGIN))
    is_in_url = one.where in (Where.PATH, Where.QUERY)
    for use in sorted(own, key=lambda use: -len(use.text)):
        marker = chr(_MARKERS + len(expressions))
        pattern = _part(use.text) if use.is_part else _pattern(use.text, is_json=use.text != ORIGIN and is_json(one))
        text = re.sub(pattern, marker, text)
        needs_encoding = is_in_url and not _URL_SAFE.fullmatch(use.text)
        expressions[marker] = f"${{__urlencode({use.expression})}}" if needs_encoding else use.expression
    has_calls = "${" in text or any(marker in text for marker in expressions)
    safe = "@:!$'()*,;+" if one.where is Where.PATH else ""
    out = []
    for piece in re.split(f"([{chr(_MARKERS)}-{chr(_MARKERS_END)}])", text):
        literal = quote(piece, safe=safe) if is_in_url else piece
        out.append(expressions.get(piece) or (_literal(literal) if has_calls else literal))
    return "".join(out)


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


def _literal(text: str) -> str:
    return text.replace("\\", "\\\\").replace("${", "${__char(36)}{")


def _extractor(tree: Element, variable: Variable) -> None:
    one, name = variable.extractor, variable.name
    if one.kind is Kind.CSS:
        element = _leaf(tree, "HtmlExtractor", "HtmlExtractorGui", name)
        values = {"refname": name, "expr": one.a, "attribute": one.b, "default": NOT_FOUND,
                  "match_number": str(one.number), "extractor_impl": "JSOUP"}  # fmt: skip
        prefix = "HtmlExtractor."
    elif one.kind is Kind.JSON:
        element = _leaf(tree, "JSONPostProcessor", "JSONPostProcessorGui", name)
        values = {"referenceNames": name, "jsonPathExprs": one.a, "match_numbers": "1", "defaultValues": NOT_FOUND}
        prefix = "JSONPostProcessor."
    elif one.kind is Kind.BOUNDARY:
        element = _leaf(tree, "BoundaryExtractor", "BoundaryExtractorGui", name)
        values = {"useHeaders": "false", "refname": name, "lboundary": one.a, "rboundary": one.b,
                  "default": NOT_FOUND, "match_number": str(one.number)}  # fmt: skip
        prefix = "BoundaryExtractor."
    else:
        element = _leaf(tree, "RegexExtractor", "RegexExtractorGui", name)
        headers = one.kind is Kind.HEADER
        values = {"useHeaders": str(headers).lower(), "refname": name, "regex": one.a, "template": "$1$",
                  "default": NOT_FOUND, "match_number": str(one.number)}  # fmt: skip
        prefix = "RegexExtractor."
        if headers:
            _string(element, "Sample.scope", "all")
    for key, value in values.items():
        _string(element, prefix + key, value)


def _headers(tree: Element, name: str, headers: Iterable[tuple[str, str]]) -> None:
    manager = _leaf(tree, "HeaderManager", "HeaderPanel", name)
    rows = [(("Header.name", key), ("Header.value", value)) for key, value in headers]
    _collection(manager, "HeaderManager.headers", "Header", rows, is_named=False)


def _arguments(parent: Element, name: str, pairs: Iterable[tuple[str, str]], encode: str = "") -> None:
    holder = SubElement(parent, "elementProp", name=name, elementType="Arguments", guiclass="HTTPArgumentsPanel",
                        testclass="Arguments")  # fmt: skip
    collection = SubElement(holder, "collectionProp", name="Arguments.arguments")
    for key, value in pairs:
        entry = SubElement(collection, "elementProp", name=key, elementType="HTTPArgument")
        SubElement(entry, "boolProp", name="HTTPArgument.always_encode").text = encode
        _string(entry, "Argument.value", value)
        _string(entry, "Argument.metadata", "=")
        if key:
            SubElement(entry, "boolProp", name="HTTPArgument.use_equals").text = "true"
            _string(entry, "Argument.name", key)


def _collection(
    parent: Element, name: str, kind: str, rows: Iterable[Sequence[tuple[str, str]]], *, is_named: bool = True
) -> None:
    collection = SubElement(parent, "collectionProp", name=name)
    for row in rows:
        entry = SubElement(collection, "elementProp", name=row[0][1] if is_named else "", elementType=kind)
        for key, value in row:
            _string(entry, key, value)


def _add(tree: Element, tag: str, gui: str, name: str) -> Element:
    return SubElement(tree, tag, guiclass=gui, testclass=tag, testname=name, enabled="true")


def _leaf(tree: Element, tag: str, gui: str, name: str) -> Element:
    element = _add(tree, tag, gui, name)
    SubElement(tree, "hashTree")
    return element


def _string(parent: Element, name: str, text: str) -> None:
    SubElement(parent, "stringProp", name=name).text = text


def _bool(parent: Element, name: str, flag: bool) -> None:
    SubElement(parent, "boolProp", name=name).text = str(flag).lower()
