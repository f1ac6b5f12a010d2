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
from harness.plan.jmx.csv_data import KIND as CSV
from harness.plan.jmx.csv_data import column
from harness.plan.jmx.elements import Effect, effect_of
from harness.plan.jmx.tree import VARIABLE, Node
from harness.plan.jmx.values import UnknownValueError, Values, functions_in
from harness.plan.spec import Target

_SCRIPT_FUNCTIONS = ("__groovy", "__BeanShell", "__javaScript", "__jexl", "__jexl2", "__jexl3")
# AJP requests have the properties of HTTP requests, but also need other_protocols.
_HTTP_SAMPLER = re.compile(r"(HTTPSampler(Proxy|2)?|AjpSampler)$")
_ABSOLUTE = ("http://", "https://")
_DEFAULT_PORTS = {"http": 80, "https": 443}
_STRINGS = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'")
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
            columns = None if start else self._column(error.variable)
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
        elif not number.strip() and _DEFAULT_PORTS[self.target.scheme] != self.target.port:
            what = f"has no port: it uses {_DEFAULT_PORTS[self.target.scheme]}, not {self.target.port}"
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

    def _column(self, variable: str) -> list[str] | None:
        """Return all values of a variable that only CSV Data Sets set; None when they are not known."""
        setters = self.values.setters.get(variable, ())
        columns = [
            column(setter, self.values.csv_file(setter), variable) if setter.kind == CSV else None for setter in setters
        ]
        return None if None in columns or not setters else [text for rows in columns for text in rows or ()]


def functions_with_code(node: Node, values: Values) -> Iterator[str]:
    """Yield the function of each call in an element that may run arbitrary code."""
    for call in functions_in(node):
        if call.name in _SCRIPT_FUNCTIONS and not is_simple(call.parameters[0], values.variables):
            yield call.name


def has_code_as_condition(node: Node, values: Values) -> bool:
    """Return whether an element is an If Controller whose condition may run arbitrary code."""
    is_javascript = node.kind == "IfController" and node.value("IfController.useExpression") != "true"
    return is_javascript and not is_simple(node.value("IfController.condition"), values.variables)


def _http(node: Node, name: str) -> str:
    return node.value(f"HTTPSampler.{name}").strip()


def has_http(node: Node) -> bool:
    """Return True for an element with properties of HTTP requests, such as HTTP Request Defaults."""
    return any(prop.get("name", "").startswith("HTTPSampler.") for prop in node.element)


def inherited(node: Node, name: str) -> str:
    """Return a sampler's own value, or that of the nearest HTTP Request Defaults."""
    children = (child for level in node.and_above() for child in level.children)
    defaults = (child for child in children if child.kind == "ConfigTestElement" and child.is_enabled)
    return next((value for one in (node, *defaults) if (value := _http(one, name))), "")


def _property(what: str) -> str:
    return f"${{__P({what},{_DEFAULTS[what]})}}" if what in _DEFAULTS else "nothing"


def _opt_in(line: str) -> str:
    return f"add {line} under [allow] in the plan's TOML"


def is_simple(expression: str, variables: Mapping[str, tuple[str, ...]]) -> bool:
    """Return whether a JEXL, Groovy or JavaScript expression can only compare, count and read the environment.

    `variables` are the plan's User Defined Variables, which may contain code. Functions in it are checked separately.
    """
    for _ in range(_DEPTH_MOST):
        expression = VARIABLE.sub(lambda match: " ".join(variables.get(match[1], ("0",))), expression)
    text = _without_functions(expression)
    strings = _STRINGS.findall(text)
    text = _NEW_TEXT.sub("", _SECRET.sub("0", _STRINGS.sub("0", text)))
    if re.search(r"[`$\[\]{}\\;@#\"']", text) or any("$" in string for string in strings):
        return False  # a Groovy text with $ in it is code
    for match in re.finditer(r"([A-Za-z_]\w*)\s*(\(?)", text):
        name, is_call = match[1], bool(match[2])
        if is_call and name == "get" and text[: match.start()].endswith("vars."):
            continue
        if not (_CALLS if is_call else _NAMES).fullmatch(name):
            return False
    return True


def _without_functions(text: str) -> str:
    """Return the text with each function replaced by 0."""
    while (start := text.rfind("${__")) >= 0:
        end = text.find("}", start)
        if end < 0:
            return text
        text = f"{text[:start]}0{text[end + 1 :]}"
    return text
