"""Fixes host, port, protocol and path of the requests of a JMX: they become those of the run's TARGET."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from harness.plan.adopt.draft import Fix
from harness.plan.adopt.variables import Variables
from harness.plan.allowed_targets import HOST_NAME
from harness.plan.checks.finding import Finding, Rule
from harness.plan.checks.lint import text_parts
from harness.plan.checks.reach import inherited
from harness.plan.jmx.csv_data import KINDS as CSV_KINDS
from harness.plan.jmx.tree import SAMPLER, VARIABLE, Node, has_http

ADDRESS = re.compile(r"(?i)(https?|\$\{[\w.-]+\})://([^/?#:$]+|\$\{[^}]*\})(?::([^/?#]*))?(?=[/?#]|$)")
DEFAULT_PORTS = {"http": "80", "https": "443"}
# The properties of a request, and those of the run that they must read.
_READ_BY = (("port", "port"), ("protocol", "scheme"))
# A thread of a plan can only get these from its own data, so the run's target may replace them.
_DATA_KINDS = (*CSV_KINDS, "UserParameters")


def host_of(mapping: Variables, raw: str) -> str:
    """Return the host that a text means, as people know it: its value, or the text when only the run knows that."""
    return raw if (known := mapping.known(raw)) is None else known


def _most_common(texts: Iterable[str]) -> str:
    return next((text for text, _ in Counter(texts).most_common(1)), "")


class Origin(NamedTuple):
    """The address of requests before the fixes, in lower case; `host` as in the plan."""

    scheme: str
    host: str
    port: str

    def __str__(self) -> str:
        return f"{self.scheme}://{self.host}:{self.port}"


class TargetFix:
    """The fixes of one JMX; `defaults` are the texts that the plan has in plain JMeter.

    `texts` are the new texts of the hosts that have been mapped, by host; `origins` are the addresses before the fixes,
    and `others` the values of the properties that name further hosts, ports and schemes.
    """

    def __init__(self, mapping: Variables, defaults: dict[str, str]) -> None:
        self._mapping = mapping
        self._defaults = defaults
        self._elements = [node for node in mapping.nodes if has_http(node)]
        self._samplers = [node for node in self._elements if SAMPLER.search(node.kind)]  # also those of plugins
        self._main = Origin("http", "", DEFAULT_PORTS["http"])
        self._numbers: dict[Origin, int] = {}
        self.others: dict[str, str] = {}
        self.texts: dict[str, str] = {}
        self.origins: set[Origin] = set()

    def apply(self) -> Iterator[Finding]:
        """Change the requests; yield those whose host or path cannot be mapped."""
        for node in self._samplers:
            self._split_address(node)
        main = _most_common(raw for node in self._samplers if (raw := inherited(node, "domain")))
        known = self._mapping.known(main) or ""
        self._defaults.setdefault("host", known if HOST_NAME.fullmatch(known) else "127.0.0.1")
        host = host_of(self._mapping, main)
        of_main = [origin for node in self._samplers if (origin := self._origin(node)).host == host]
        self._main = next((origin for origin, _ in Counter(of_main).most_common(1)), self._main)
        scheme, port = self._main.scheme, self._main.port
        self._defaults.setdefault("scheme", scheme if scheme in DEFAULT_PORTS else "http")
        # A JMX that reads the property scheme may have any default for it.
        by_scheme = DEFAULT_PORTS.get(self._defaults["scheme"], DEFAULT_PORTS["http"])
        self._defaults.setdefault("port", port if port.isdigit() else by_scheme)
        origins = [self._origin(node) for node in self._elements]
        of_samplers = [(node, self._origin(node)) for node in self._samplers]
        self.origins = {origin for _, origin in of_samplers if origin.host}
        homeless = [node for node, origin in of_samplers if not origin.host]
        for node, origin in zip(self._elements, origins, strict=True):
            yield from self._address(node, main, origin)
        for node in self._samplers:
            if not inherited(node, "domain"):
                for name, reads in (("domain", "host"), *_READ_BY):
                    self._read(node, name, reads)
            yield from self._path(node)
        for node in homeless:
            what = "has no host in the JMX, so JMeter alone sends nothing; a run sends it to --target"
            todo = "delete it if that is not meant"
            yield Finding.at(node, Rule.NO_HOST, what, todo, "HTTPSampler.domain")
        yield from self._several(of_samplers)

    def _several(self, of_samplers: Sequence[tuple[Node, Origin]]) -> Iterator[Finding]:
        """Yield the first request to each further port or scheme of a host."""
        for origin, number in self._numbers.items():
            same_host = [one for one in self.origins if one.host == origin.host and one != origin]
            own = [name for name in (f"port_{number}", f"scheme_{number}") if name in self.others]
            node = next((node for node, one in of_samplers if one == origin), None)
            if node and same_host and own:
                first = self._main if self._main in same_host else same_host[0]
                what = f"goes to {origin}, other requests to {first}; a run sends both to --target"
                values = " and ".join(f'{name} = "{self.others[name]}"' for name in own)
                todo = f"unless that is one system now, set {values} under [properties]"
                todo += f', and hosts = ["{origin.host}:{origin.port}"] under [allow], in the plan\'s TOML'
                yield Finding.at(node, Rule.SEVERAL_SYSTEMS, what, todo)

    def read(self, name: str, origin: Origin | None = None) -> str:
        """Return the text that reads a property of the run with the plan's default.

        For `name` port or scheme, an `origin` that has another one than the plan's main address gets a property of its
        own, which has the run's value unless the plan's TOML sets it.
        """
        own = f"${{__P({name},{self._defaults[name]})}}"
        other = self._property(name, origin) if origin else name
        return own if other == name else f"${{__P({other},{own})}}"

    def _property(self, name: str, origin: Origin) -> str:
        """Return the property that a request to an address reads for its port or scheme."""
        value, main = getattr(origin, name), getattr(self._main, name)
        if value == main or not (value.isdigit() if name == "port" else value in DEFAULT_PORTS):
            return name
        other = f"{name}_{self._number(origin)}"
        self.others[other] = value
        return other

    def _number(self, origin: Origin) -> int:
        return self._numbers.setdefault(origin, len(self._numbers) + 2)

    def _origin(self, node: Node) -> Origin:
        """Return the address of an element; one that only the run knows has the main scheme and port."""
        scheme, port = (self._mapping.known(inherited(node, name)) for name in ("protocol", "port"))
        host = host_of(self._mapping, inherited(node, "domain"))
        if scheme is None or port is None:
            return self._main._replace(host=host)
        scheme = scheme.lower() or "http"
        return Origin(scheme, host, port or DEFAULT_PORTS.get(scheme, ""))

    def _split_address(self, node: Node) -> None:
        """Turn a path that is a whole address into protocol, host, port and path."""
        raw = node.value("HTTPSampler.path").strip()
        text = raw
        if raw.startswith("${") and "://" not in raw and (known := self._mapping.known(raw.partition("}")[0] + "}")):
            text = known + raw.partition("}")[2]
        match = ADDRESS.match(text)
        if not match:
            return
        port = match[3] or DEFAULT_PORTS.get((self._mapping.known(match[1]) or "").lower(), "")
        parts = {"path": text[match.end() :] or "/", "protocol": match[1], "domain": match[2], "port": port}
        for name, part in parts.items():
            self._mapping.draft.set_value(node, f"HTTPSampler.{name}", part, Fix.TARGET)

    def _address(self, node: Node, main: str, origin: Origin) -> Iterator[Finding]:
        raw = node.value("HTTPSampler.domain").strip()
        setters = (setter for name in VARIABLE.findall(raw) for setter in self._mapping.values.setters.get(name, ()))
        if setter := next((setter for setter in setters if setter.kind not in _DATA_KINDS), None):
            # A response or a script sets the host.
            what = f"its host {raw} is known only during the run ({setter.name} sets it)"
            todo = "name the hosts: hosts = […] under [allow] in the plan's TOML"
            yield Finding.at(node, Rule.UNKNOWN_HOST, what, todo)
            return
        if raw:
            known = self._mapping.known(raw)
            if raw == main or known in (None, self._mapping.known(main)) or not HOST_NAME.fullmatch(known or ""):
                self._read(node, "domain", "host")
                self.texts[host_of(self._mapping, raw)] = self.texts[raw] = self.read("host")
            else:
                # A further host gets a property of its own, which is TARGET's host unless the plan's TOML sets it.
                host = host_of(self._mapping, raw)
                named = (name for name, value in self.others.items() if name.startswith("host_") and value == host)
                name = next(named, None) or f"host_{self._number(origin)}"
                self.others[name] = host
                text = self.texts[host] = self.texts[raw] = f"${{__P({name},{self.read('host')})}}"
                self._mapping.map(node, "HTTPSampler.domain", text, reads=name, fix=Fix.TARGET)
        for name, reads in _READ_BY:
            is_own = SAMPLER.search(node.kind) and self._property(reads, origin) != reads
            if raw or is_own or node.value(f"HTTPSampler.{name}").strip():
                self._read(node, name, reads, origin)
        if node.value("HTTPSampler.proxyHost").strip():
            what = f"uses the proxy {node.value('HTTPSampler.proxyHost')}"
            yield Finding.at(node, Rule.UNKNOWN_HOST, what, "remove it: the load goes to --target directly")

    def _read(self, node: Node, name: str, reads: str, origin: Origin | None = None) -> None:
        other = self._property(reads, origin) if origin else reads
        self._mapping.map(node, f"HTTPSampler.{name}", self.read(reads, origin), reads=other, fix=Fix.TARGET)

    def _path(self, node: Node) -> Iterator[Finding]:
        """Put the base path of --target before a path."""
        raw = node.value("HTTPSampler.path").strip()
        values = self._mapping.values
        if "base_path" in values.properties_in(raw) or (not raw and inherited(node, "path")):
            return
        start = self._start(raw)
        if start is None:
            what = f"its path {raw} begins with a value that is known only during the run"
            todo = "write ${__P(base_path,)}/ before it, if that value begins without /"
            yield Finding.at(node, Rule.UNKNOWN_HOST, what, todo)
            return
        # JMeter puts a slash before a path that has none.
        separator = "" if start.startswith(("/", "?")) else "/"
        self._mapping.draft.set_value(node, "HTTPSampler.path", f"${{__P(base_path,)}}{separator}{raw}", Fix.BASE_PATH)

    def _start(self, path: str) -> str | None:
        """Return the known beginning of a path, without references before it that are empty; None without one."""
        if not path:
            return ""
        for part in text_parts(path):
            known = self._mapping.known(part.text) if part.is_reference else part.text
            if known:
                return known
            if known is None:
                return "/" if part.text.startswith("${__P(") else None
        return "/"
