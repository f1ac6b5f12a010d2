"""Finds the hosts that a test plan's requests may reach in one run besides the target.

This checks the text of the plan. Values that only the run knows (responses, scripts) are refused unless the plan's
[allow] permits them; the Java agent in harness/run/java checks the connections themselves, also those of redirects.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from harness.plan.checks.allowances import Allowances
from harness.plan.checks.finding import Finding, Rule
from harness.plan.jmx.elements import Effect, effect_of
from harness.plan.jmx.tree import VARIABLE, Node, has_http
from harness.plan.jmx.values import FunctionCall, UnknownValueError, Values, functions_in, functions_of
from harness.plan.spec import Target

_SCRIPT_FUNCTIONS = ("__groovy", "__BeanShell", "__javaScript", "__jexl", "__jexl2", "__jexl3")
# The agent lets these only compute: harness/run/java/JexlRules.java.
_RESTRICTED = ("__jexl3",)
# AJP requests have the properties of HTTP requests, but also need other_protocols.
_HTTP_SAMPLER = re.compile(r"(HTTPSampler(Proxy|2)?|AjpSampler)$")
_ABSOLUTE = ("http://", "https://")
_DEFAULT_PORTS = {"http": 80, "https": 443}
_STRINGS = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'")
# What stands for a string in an expression that is judged.
_STRING = "\xa7"
# Strings that are names of methods ('a'.'execute'()), and texts that begin otherwise than with one quotation mark.
_NOT_SIMPLE = re.compile(
    rf"[`$\[\]{{}}\\;@#\"']|::|\.\s*&?\s*{_STRING}|{_STRING}\s*\(|\d\s*\(|/[*/]|(?<![\d) ])\s*/|(?<![\d)]) +/"
)
_TRIPLE = re.compile("\"{3}|'{3}")
_MAIN_CONTROLLERS = ("LoopController", "VirtualUserController", "OpenModelThreadGroupController", "GenericController")
# Functions that evaluate a text as if it were one of the plan.
_EVALUATES = ("__eval", "__evalVar")
# Functions whose results are numbers, names of threads and flags, whatever their parameters are.
_RESULT_IS_NO_CODE = re.compile(
    "__(Random|threadNum|counter|intSum|longSum|isVarDefined|isPropDefined|UUID|machineIP|iterationNum|"
    "threadGroupName|time)"
)
# How a plan reads its secrets, after the name was replaced by 0.
_SECRET = re.compile(r"\bSystem\.getenv\(0\)")
# How a recorded plan converts a value in base64.
_NEW_TEXT = re.compile(r"\bnew String(?=\()")
# Methods of texts and numbers, and `vars.get`.
_CALLS = re.compile(
    "encodeBase64|decodeBase64|empty|size|and|or|not|intValue|longValue|doubleValue|isEmpty|length|equals|equalsIgnoreCase|contains|startsWith|"
    "endsWith|matches|trim|toLowerCase|toUpperCase|toString|indexOf"
)
# Literals, operators and objects.
_NAMES = re.compile("true|false|null|empty|size|not|and|or|eq|ne|lt|le|gt|ge|div|mod|vars|bytes")
_DEPTH_MOST = 5
_DEFAULTS = {"host": "127.0.0.1", "port": "8080", "scheme": "http"}


@dataclass(frozen=True)
class Reach:
    """What a plan may reach in one run: the target, and the hosts in its [allow]."""

    values: Values
    target: Target
    allow: Allowances

    def findings(self, nodes: Sequence[Node]) -> Iterator[Finding]:
        """Yield a finding for each element that could send requests elsewhere without the plan's permission."""
        for node in nodes:
            checks = [self._kind, self._scripts, self._embedded_resources, self._dns]
            checks += [self._address, self._path] if has_http(node) else []
            checks += [self._inherits] if _HTTP_SAMPLER.search(node.kind) else []
            for check in checks:
                yield from check(node)

    def _kind(self, node: Node) -> Iterator[Finding]:
        kind, effect = node.kind.rpartition(".")[2], effect_of(node)
        if effect is Effect.INCLUDE:
            todo = "put its elements into this plan"
            yield Finding.at(node, Rule.OTHER_PLAN, "loads another test plan, which is not checked", todo)
        elif effect is Effect.SCRIPTS and not self.allow.scripts:
            what = f"runs code ({kind}), which can reach any host"
            yield Finding.at(node, Rule.SCRIPT, what, _opt_in("scripts = true"))
        elif effect is Effect.CONNECTS and not self.allow.other_protocols:
            todo = _opt_in("other_protocols = true")
            yield Finding.at(node, Rule.OTHER_PROTOCOL, f"may reach another host ({kind})", todo)
        elif effect is Effect.UNKNOWN and not self.allow.other_protocols:
            todo = f"remove it, or find out what it sends, and {_opt_in('other_protocols = true')}"
            yield Finding.at(node, Rule.UNKNOWN_ELEMENT, f"is an unknown element ({node.kind})", todo)

    def _scripts(self, node: Node) -> Iterator[Finding]:
        if self.allow.scripts:
            return
        for name in functions_with_code(node, self.values):
            what = f"{name} runs code, which can reach any host"
            yield Finding.at(node, Rule.SCRIPT, what, _opt_in("scripts = true"))
        if has_code_as_condition(node, self.values):
            todo = f"tick “Interpret Condition as Variable Expression”, or {_opt_in('scripts = true')}"
            what, attribute = "its condition is JavaScript, which can reach any host", "IfController.condition"
            yield Finding.at(node, Rule.SCRIPT, what, todo, attribute)
        for prop in node.element.iter("elementProp"):
            kind = prop.get("elementType", "").rpartition(".")[2]
            if prop.get("name") == "ThreadGroup.main_controller" and kind not in _MAIN_CONTROLLERS:
                what = f"has the main controller {kind}, which JMeter's editor never writes"
                yield Finding.at(node, Rule.SCRIPT, what, "save the plan from JMeter again")
        if node.value("TestPlan.user_define_classpath"):
            what, attribute = "adds classes to the class path", "TestPlan.user_define_classpath"
            yield Finding.at(node, Rule.SCRIPT, what, _opt_in("scripts = true"), attribute)

    def _embedded_resources(self, node: Node) -> Iterator[Finding]:
        if not self.allow.embedded_resources and self._is_on(_http(node, "image_parser")):
            what, todo = "retrieves embedded resources from any host", _opt_in("embedded_resources = true")
            attribute = "HTTPSampler.image_parser"
            yield Finding.at(node, Rule.EMBEDDED_RESOURCES, what, f"switch it off, or {todo}", attribute)

    def _dns(self, node: Node) -> Iterator[Finding]:
        if node.kind != "DNSCacheManager" or self.allow.hosts:
            return
        entries = (".//elementProp[@elementType='StaticHost']", "collectionProp[@name='DNSCacheManager.servers']/*")
        if any(node.element.find(entry) is not None for entry in entries):
            todo = f"remove it, or {_opt_in('hosts = […]')}"
            yield Finding.at(node, Rule.DNS, "resolves host names differently from this machine", todo)

    def _address(self, node: Node) -> Iterator[Finding]:
        """Yield a finding for each host, port, scheme and proxy of an element that differs from the target's."""
        for what, name, wanted in (
            ("host", "domain", self.target.host),
            ("port", "port", str(self.target.port)),
            ("scheme", "protocol", self.target.scheme),
            ("proxy", "proxyHost", ""),
        ):
            raw = _http(node, name)
            try:
                value = self.values.text(raw).strip()
            except UnknownValueError as error:
                if not self.allow.hosts:
                    todo = f"write {_property(what)} instead, or name the hosts: {_opt_in('hosts = […]')}"
                    text = f"its {what} {raw} is known only at run time ({error})"
                    yield Finding.at(node, Rule.UNKNOWN_HOST, text, todo, f"HTTPSampler.{name}")
                continue
            if not value or value.lower() == wanted or (what == "host" and self._is_target_host(value)):
                continue
            is_host = what in ("host", "proxy")
            if self._is_allowed(value) if is_host else self._goes_elsewhere(node):
                continue
            goes = f"uses the {what} {value}" + (f" ({raw})" if value != raw else "")
            todo = f"write {_property(what)} instead"
            todo += ", or " + _opt_in(f'hosts = ["{value}"]') if is_host else ""
            text = f"{goes}; the target has {wanted or 'none'}"
            yield Finding.at(node, Rule.FIXED_HOST, text, todo, f"HTTPSampler.{name}")

    def _path(self, node: Node) -> Iterator[Finding]:
        """Yield a finding for a path that is, or may become, the full address of another host."""
        raw = _http(node, "path")
        todo = f"write a path that begins with / or ${{base_path}}/, or {_opt_in('hosts = […]')}"
        try:
            paths = [self.values.text(raw)]
        except UnknownValueError as error:
            start = error.known_start.strip().lower()
            may_be_url = any(start.startswith(scheme) or scheme.startswith(start) for scheme in _ABSOLUTE)
            if self.allow.hosts or not may_be_url:
                return
            columns = None if start else self.values.column(error.variable)
            if columns is None:
                what = f"its path {raw} may be a complete URL ({error})"
                yield Finding.at(node, Rule.UNKNOWN_HOST, what, todo, "HTTPSampler.path")
                return
            paths = columns
        for path in map(str.strip, paths):
            if path.startswith("//") or (path.lower().startswith(_ABSOLUTE) and not self._is_target(path)):
                what = f"its path is the URL {path}, which is not the target's"
                yield Finding.at(node, Rule.FIXED_HOST, what, todo, "HTTPSampler.path")
                return

    def _inherits(self, node: Node) -> Iterator[Finding]:
        """Yield a finding for a request without a host, or whose default scheme or port differs from the target's."""
        if _http(node, "path").lower().startswith(_ABSOLUTE):
            return
        domain, port, scheme = (inherited(node, name) for name in ("domain", "port", "protocol"))
        host, number, by = (self.values.known(text) for text in (domain, port, scheme))
        if host is None or number is None or by is None:
            return  # reported at its definition, or allowed
        host, by = host.strip(), by.strip().lower() or "http"
        if not host:
            what, todo = "has no host, and the HTTP Request Defaults have none", f"write {_property('host')} there"
            yield Finding.at(node, Rule.NO_HOST, what, todo, "HTTPSampler.domain")
        elif not self._is_target_host(host):
            return  # reported at its definition, or allowed
        if not scheme and by != self.target.scheme:
            what, todo = f"uses {by}, not {self.target.scheme}", f"write {_property('scheme')}"
            yield Finding.at(node, Rule.FIXED_HOST, what, todo, "HTTPSampler.protocol")
        elif not number.strip() and _DEFAULT_PORTS.get(self.target.scheme) != self.target.port:
            what = f"has no port: it uses {_DEFAULT_PORTS.get(self.target.scheme)}, not {self.target.port}"
            yield Finding.at(node, Rule.FIXED_HOST, what, f"write {_property('port')}", "HTTPSampler.port")

    def _is_on(self, raw: str) -> bool:
        """Return whether a flag is true, or may become true."""
        known = self.values.known(raw)
        return known is None or known.strip().lower() == "true"

    def _is_target_host(self, host: str) -> bool:
        return host.strip("[]").lower().removesuffix(".") == self.target.host.lower()

    def _is_target(self, address: str) -> bool:
        try:
            parts = urlsplit(address)
            host, port = parts.hostname or "", parts.port or _DEFAULT_PORTS[parts.scheme]
        except ValueError:
            return False
        is_same = self._is_target_host(host) and (parts.scheme, port) == (self.target.scheme, self.target.port)
        return is_same or self._is_allowed(host)

    def _is_allowed(self, host: str) -> bool:
        names = (urlsplit(f"//{entry.rpartition('//')[2]}").hostname for entry in self.allow.hosts)
        return host.strip("[]").lower().removesuffix(".") in names

    def _goes_elsewhere(self, node: Node) -> bool:
        """Return whether the element's host differs from the target's with the plan's permission."""
        host = self.values.known(_http(node, "domain"))
        return bool(self.allow.hosts) if host is None else bool(host.strip()) and self._is_allowed(host.strip())


def functions_with_code(node: Node, values: Values) -> Iterator[str]:
    """Yield the function of each call in an element that may run arbitrary code."""
    for call in functions_in(node):
        if call.name in _SCRIPT_FUNCTIONS and not _is_safe(call, values):
            yield call.name
        if call.name in _EVALUATES and _may_be_code(call, values):
            yield call.name


def _is_safe(call: FunctionCall, values: Values) -> bool:
    text = call.parameters[0]
    return _is_simple(text, values) and (call.name in _RESTRICTED or _is_known(text, values))


def _is_known(expression: str, values: Values) -> bool:
    """Return whether the plan's files say all that JMeter puts into an expression; a text of an answer may be code."""
    functions = [call.name for call in functions_of(expression)]
    if expression.count("${__") > len(functions) or not all(map(_is_no_code, functions)):
        return False
    return all(values.constants(name) is not None for name in VARIABLE.findall(expression))


def _may_be_code(call: FunctionCall, values: Values) -> bool:
    """Return whether a text that is evaluated may have functions: one of an answer or a file, or a hidden one.

    A text of the plan, or of a column, that only reads variables has none.
    """
    text = call.parameters[0] if call.name == "__eval" else f"${{{call.parameters[0].strip()}}}"
    if values.known(f"${{__eval({text})}}") is not None:
        return False
    names = set(VARIABLE.findall(text))
    if len(names) > 1 or "${" in VARIABLE.sub("", text):
        return True
    if any("${__" in one for one in values.properties.values()):
        return True
    for name in names:
        for one in values.constants(name) or ("${__",):
            expanded = text.replace(f"${{{name}}}", values.known(one) or one)
            found = [call.name for call in functions_of(expanded)]
            if expanded.count("${__") > len(found) or not all(map(_is_no_code, found)):
                return True
    return False


def _is_no_code(function: str) -> bool:
    return function in ("__P", "__property") or bool(_RESULT_IS_NO_CODE.fullmatch(function))


def has_code_as_condition(node: Node, values: Values) -> bool:
    """Return whether an element is an If Controller whose condition may run arbitrary code."""
    # JMeter takes the last of several, and only the element's own.
    uses = [prop.text for prop in node.element if prop.get("name") == "IfController.useExpression"]
    is_javascript = node.kind == "IfController" and set(uses) != {"true"}
    condition = node.value("IfController.condition")
    return is_javascript and not (_is_simple(condition, values) and _is_known(condition, values))


def _http(node: Node, name: str) -> str:
    return node.value(f"HTTPSampler.{name}").strip()


def inherited(node: Node, name: str) -> str:
    """Return a sampler's own value, or that of the nearest HTTP Request Defaults."""
    defaults = (one for one in node.in_scope() if one.kind == "ConfigTestElement")
    return next((value for one in (node, *defaults) if (value := _http(one, name))), "")


def _property(what: str) -> str:
    return f"${{__P({what},{_DEFAULTS[what]})}}" if what in _DEFAULTS else "nothing"


def _opt_in(line: str) -> str:
    return f"add {line} under [allow] in the plan's TOML"


def _is_simple(expression: str, values: Values) -> bool:
    """Return whether an expression is simple with all texts of the plan and its data files that JMeter puts into it."""
    texts = dict(values.variables)
    for name in {
        *VARIABLE.findall(expression),
        *(one for text in texts.values() for one in VARIABLE.findall(str(text))),
    }:
        if found := values.rows(name):
            texts[name] = (*texts.get(name, ()), *dict.fromkeys(found))
    return is_simple(expression, texts, values.properties)


def is_simple(
    expression: str, variables: Mapping[str, tuple[str, ...]], properties: Mapping[str, str] | None = None
) -> bool:
    """Return whether a JEXL, Groovy or JavaScript expression can only compare, count and read the environment.

    `variables` are the plan's User Defined Variables, which may contain code, as the defaults of properties and
    `properties` themselves may: JMeter puts their texts into the expression.
    """
    text = _with_texts(expression, variables, properties or {})
    strings = _STRINGS.findall(text)
    if _TRIPLE.search(text) or _STRING in text or any("$" in string for string in strings):
        return False  # a Groovy text with $ in it is code
    text = _SECRET.sub("0", _STRINGS.sub(lambda match: "0" if _is_secret(text, match) else _STRING, text))
    text = _NEW_TEXT.sub("", text)
    if _NOT_SIMPLE.search(text):
        return False
    for match in re.finditer(r"([A-Za-z_]\w*)\s*(\(?)", text):
        name, is_call = match[1], bool(match[2])
        if is_call and name == "get" and text[: match.start()].endswith("vars."):
            continue
        if not (_CALLS if is_call else _NAMES).fullmatch(name):
            return False
    return True


def _is_secret(text: str, match: re.Match[str]) -> bool:
    return text[: match.start()].endswith("System.getenv(")


def _with_texts(text: str, variables: Mapping[str, tuple[str, ...]], properties: Mapping[str, str]) -> str:
    """Return the text with what each reference may put into it; @ for what is not known to be no code."""
    for _ in range(_DEPTH_MOST):
        text = VARIABLE.sub(lambda match: " ".join(variables.get(match[1], ("0",))), text)
    while (start := text.rfind("${__")) >= 0:
        end = text.find("}", start)
        if end < 0:
            return text
        inner = next(functions_of(text[start : end + 1]), None)
        text = f"{text[:start]}{_text_of(inner, variables, properties) if inner else '@'}{text[end + 1 :]}"
    return text


def _text_of(call: FunctionCall, variables: Mapping[str, tuple[str, ...]], properties: Mapping[str, str]) -> str:
    """Return what a function without others in it may put into an expression."""
    first = call.parameters[0].strip()
    if call.name in ("__P", "__property"):
        default = call.parameters[1 if call.name == "__P" else 2 :]
        return properties.get(first, default[0] if default else "0") or "0"
    if call.name == "__V":
        return " ".join(variables.get(first, ("0",)))
    is_number = call.name in _SCRIPT_FUNCTIONS and not _STRINGS.search(first)  # it is judged by itself
    return "0" if is_number or _RESULT_IS_NO_CODE.fullmatch(call.name) else "@"
