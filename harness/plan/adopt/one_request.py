"""Makes a plan of one request: an address or a curl command."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import quote, urlsplit
from xml.etree import ElementTree  # builds XML; harness.plan.jmx reads files

from harness.base.errors import UsageError
from harness.base.secrecy import secret_values, secrets_of_header
from harness.plan.adopt.adopt import adopt, secret_name
from harness.plan.adopt.bash_words import bash_words
from harness.plan.adopt.curl import OneRequest, request_of_curl
from harness.plan.adopt.files import write_adopted
from harness.plan.finding import Finding
from harness.plan.headers import checked_headers, jmx_read, jmx_text, resolved, variables_in
from harness.plan.jmx import Node, parse, tree_of
from harness.plan.spec import Target, parse_target
from harness.plan.thread_groups import add_string, written

_TEMPLATE = Path(__file__).with_name("new.jmx")
_NAME_MOST = 80
# What XML 1.0 cannot contain.
_CONTROL = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
# JMeter sends no request with these in its path, or in its query.
_BRACKETS, _BRACES = re.compile(r"[{}\[\]]"), re.compile("[{}]")
_FORM_FLAGS = ("DO_MULTIPART_POST", "BROWSER_COMPATIBLE_MULTIPART")


@dataclass(frozen=True)
class MadePlan:
    """A written plan of one request to the target.

    `left` is what stays to be done, `secrets` are the values of secrets by environment variable.
    """

    folder: Path
    name: str
    label: str
    target: Target
    left: tuple[Finding, ...]
    secrets: Mapping[str, str] = field(repr=False)


def read_request(address: str, curl: str | None) -> OneRequest:
    """Return the request of an address or of a curl command. UsageError for both, and for one that cannot be read."""
    if not curl:
        return OneRequest(address.replace("$", "$$"))
    if address:
        raise UsageError("--curl and another plan or address cannot be used together", "give one")
    if re.search(r'\^["\n]', curl):
        raise UsageError("--curl: the command is for cmd of Windows", "copy it as cURL (bash)")
    return request_of_curl(bash_words(curl))


def run_name(request: OneRequest) -> str:
    """Return the name of the reports' folder: host and path, and the method unless it is GET."""
    parts = urlsplit(request.url)
    method = "" if request.method == "GET" else f"-{request.method.lower()}"
    name = re.sub(r"[^\w.-]+", "-", f"{parts.hostname}{parts.path}"[:_NAME_MOST], flags=re.ASCII).strip("-._")
    return f"{name or 'request'}{method}"


def target_of(request: OneRequest) -> Target:
    """Return where the request is sent: scheme, host and port of its address."""
    start = request.url.partition("?")[0].partition("#")[0]
    if variables_in(start.partition("://")[2].partition("/")[0]):
        raise UsageError("--curl: the host is a variable", "write the host: only a host that is named is loaded")
    target = parse_target(start, "the address", "http://127.0.0.1:8080/")
    return replace(target, base_path="")


def write_request(request: OneRequest, plans: Path, name: str, prefix: str) -> MadePlan:
    """Write the plan `name` of a request; `prefix` begins the names of environment variables for its secrets."""
    target = target_of(request)
    secrets: dict[str, str] = {}
    headers = checked_headers({one: _moved(one, text, prefix, secrets) for one, text in request.headers.items()}, "-H")
    with tempfile.TemporaryDirectory(prefix="request-") as folder:
        path = Path(folder) / "request.jmx"
        label = _label(request)
        path.write_bytes(_jmx(request, label))
        adoption = adopt(path, name, plans)
    secrets |= adoption.secrets
    others = (*variables_in(request.url, request.body or "", *(text for _, text in request.form)), *adoption.secrets)
    write_adopted(plans, name, replace(adoption, secrets=dict.fromkeys(others, "")), "one request", headers)
    return MadePlan(plans, name, label, target, adoption.left, secrets)


def first_request(address: str, curl: str | None, build: Path) -> MadePlan:
    """Write a plan for a run of an address or a curl command, outside of plans/."""
    request = read_request(address, curl)
    target_of(request)  # refuses a wrong address
    name = run_name(request)
    return write_request(request, build / "first-look" / name, name, "curl")


def _moved(name: str, text: str, prefix: str, secrets: dict[str, str]) -> str:
    """Return the text of a header that reads its secret from an environment variable; add that to `secrets`."""
    value = resolved(text, lambda one: f"${one}")
    if variables_in(text) or not secret_values(("password", secret) for secret in secrets_of_header(name, value)):
        return text
    variable = secret_name(prefix, f"{name}_header", secrets)
    secrets[variable] = value
    return f"${variable}"


def _label(request: OneRequest) -> str:
    path = urlsplit(request.url).path or "/"
    return f"{request.method} {_BRACES.sub(_encoded, resolved(path, str))}"


def _jmx(request: OneRequest, label: str) -> bytes:
    """Return the template of a new plan with the request."""
    tree = parse(_TEMPLATE)
    plan = tree_of(tree.getroot(), {})
    sampler = next(node for node in plan.walk_all() if node.kind == "HTTPSamplerProxy")
    for node in (plan, sampler):
        node.element.set("testname", label)
    parts = urlsplit(request.url)
    path = resolved(parts.path or "/", jmx_read, lambda part: _BRACKETS.sub(_encoded, part))
    if parts.query:
        path += "?" + resolved(parts.query, jmx_read, lambda part: _BRACES.sub(_encoded, part))
    for name, value in (
        ("path", f"${{__P(base_path,)}}{path}"),
        ("method", request.method),
        ("follow_redirects", str(request.follows_redirects).lower()),
    ):
        _property(sampler, name).text = value
    arguments = sampler.element.find("elementProp/collectionProp")
    assert arguments is not None  # the template has them
    for name, text in request.form or ([("", request.body)] if request.body is not None else []):
        _add_argument(arguments, name, text)
    for flag in _FORM_FLAGS if request.form else ("postBodyRaw",) if request.body is not None else ():
        ElementTree.SubElement(sampler.element, "boolProp", name=f"HTTPSampler.{flag}").text = "true"
    return written(tree)


def _encoded(match: re.Match[str]) -> str:
    return quote(match[0])


def _property(node: Node, name: str) -> ElementTree.Element:
    return next(prop for prop in node.element if prop.get("name") == f"HTTPSampler.{name}")


def _add_argument(arguments: ElementTree.Element, name: str, text: str) -> None:
    if _CONTROL.search(name + text):
        raise UsageError("--curl: the body contains a control character, which no JMX can have", "send it from a file")
    argument = ElementTree.SubElement(arguments, "elementProp", name=name, elementType="HTTPArgument")
    ElementTree.SubElement(argument, "boolProp", name="HTTPArgument.always_encode").text = "false"
    add_string(argument, "Argument.value", jmx_text(text))
    add_string(argument, "Argument.metadata", "=")
    if name:
        add_string(argument, "Argument.name", jmx_text(name))
