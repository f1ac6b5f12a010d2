"""Fixes what is bound to a host: credentials and cookies follow it to TARGET; texts that still name it are findings."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import NamedTuple
from xml.etree import ElementTree  # types only

from harness.plan.adopt.fix import Fix
from harness.plan.adopt.hosts import ADDRESS, DEFAULT_PORTS, TargetFix, host_of
from harness.plan.adopt.variables import Variables
from harness.plan.finding import Finding, Rule
from harness.plan.jmx import CODE, Node

_URL, _DOMAIN, _SECURE = "Authorization.url", "Cookie.domain", "Cookie.secure"
_TODO = "write ${__P(host,…)} there if the system compares it with its own name"
_TODO_SEVERAL = "give a host that TARGET does not stand for its own property and permission in the plan's TOML"
_SHOWN_MOST = 60


def fix_host_bound(mapping: Variables, target: TargetFix) -> Iterator[Finding]:
    """Let credentials and cookies of the plan's hosts be sent to TARGET; yield the texts that keep an old host."""
    for node in mapping.nodes:
        for entry in node.element.iter("elementProp"):
            if entry.get("elementType") == "Authorization":
                yield from _authorization(mapping, target, node, entry)
            elif entry.get("elementType") == "Cookie":
                _cookie(mapping, target, entry)
    managers = [node for node in mapping.nodes if node.kind in ("CookieManager", "AuthManager")]
    if managers and len(target.origins) > 1:
        addresses = sorted(f"{scheme}://{host}:{port}" for scheme, host, port in target.origins)
        what = f"holds what is sent to TARGET for each of the plan's addresses: {', '.join(addresses)}"
        yield Finding.at(managers[0], Rule.SEVERAL_ADDRESSES, what, _TODO_SEVERAL)
    hosts = [host for host in target.texts if re.search(r"[A-Za-z0-9]", host) and "${" not in host]
    for node in mapping.nodes:
        for text in _texts(node):
            if host := _named_host(text.value, hosts):
                yield Finding.at(node, Rule.OLD_HOST, f"{text.what} names {host}, also when TARGET is another", _TODO)


def _authorization(mapping: Variables, target: TargetFix, node: Node, entry: ElementTree.Element) -> Iterator[Finding]:
    """Rewrite the address of credentials: JMeter sends them with each request whose URL begins with it."""
    prop = _property(entry, _URL)
    raw = (prop.text or "").strip() if prop is not None else ""
    if prop is None or not raw or {"host", "port"} <= mapping.values.properties_in(raw):
        return
    match = ADDRESS.match(raw) or ADDRESS.match(mapping.known(raw) or "")
    if not match:
        if "${" in raw and mapping.known(raw) is None:
            what, todo = f"its credentials are for {raw}, which is known only during the run", "write the whole address"
            yield Finding.at(node, Rule.UNKNOWN_HOST, what, todo, _URL)
        return
    scheme, host, port = (mapping.known(part or "") or part or "" for part in match.groups())
    text = target.texts.get(host)
    if text is None or (scheme.lower(), host, port or DEFAULT_PORTS.get(scheme.lower(), "")) not in target.origins:
        return  # no request of the plan has this address: JMeter sends these credentials with none
    path = match.string[match.end() :]
    base = "${__P(base_path,)}" if path.startswith("/") else ""
    mapping.draft.set_text(prop, f"{target.read('scheme')}://{text}:{target.read('port')}{base}{path}", Fix.TARGET)


def _cookie(mapping: Variables, target: TargetFix, entry: ElementTree.Element) -> None:
    """Rewrite domain and path of a cookie of the plan."""
    domain = _property(entry, _DOMAIN)
    raw = (domain.text or "").strip() if domain is not None else ""
    if domain is None or not raw or "host" in mapping.values.properties_in(raw):
        return
    known = host_of(mapping, raw).removeprefix(".").lower()
    host = next((host for host in target.texts if host.lower() == known or host.lower().endswith(f".{known}")), None)
    if not host:
        return
    mapping.draft.set_text(domain, target.texts[host], Fix.TARGET)
    secure, path = _property(entry, _SECURE), _property(entry, "Cookie.path")
    is_https = any(origin.host == host and origin.scheme == "https" for origin in target.origins)
    if secure is not None and secure.text == "true" and is_https:
        mapping.draft.set_text(secure, "false", Fix.TARGET)  # TARGET may be http
    if path is not None and re.match(r"/.", path.text or ""):
        mapping.draft.set_text(path, f"${{__P(base_path,)}}{path.text}", Fix.TARGET)


def _property(entry: ElementTree.Element, name: str) -> ElementTree.Element | None:
    return next((prop for prop in entry if prop.get("name") == name), None)


class _Text(NamedTuple):
    """A text that a request sends, and its description."""

    value: str
    what: str


def _texts(node: Node) -> Iterator[_Text]:
    """Yield the headers, parameters, bodies and scripts of an element."""
    if CODE.match(node.kind):
        yield _Text(node.value("script") or node.value("BeanShellSampler.query"), "its script")
        return
    for entry in node.element.iter("elementProp"):
        texts = {prop.get("name", "").rpartition(".")[2]: prop.text or "" for prop in entry}
        if entry.get("elementType") == "Header":
            yield _Text(texts.get("value", ""), f"its header {texts.get('name')}: {_shortened(texts.get('value', ''))}")
        elif entry.get("elementType") == "HTTPArgument":
            name = texts.get("name")
            yield _Text(texts.get("value", ""), f"its parameter {name}" if name else "its body")


def _shortened(text: str) -> str:
    return text if len(text) <= _SHOWN_MOST else f"{text[:_SHOWN_MOST]}…"


def _named_host(text: str, hosts: Collection[str]) -> str:
    """Return the first of the hosts that a text names, as a whole name; empty without one."""
    return next((host for host in hosts if re.search(rf"(?i)(?<![\w.-]){re.escape(host)}(?![\w-]|\.\w)", text)), "")
