"""Makes a plan of requests: of an address, a curl command or an OpenAPI file."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import quote, urlsplit
from xml.etree import ElementTree  # builds XML; harness.plan.jmx reads files

from harness.base.errors import UsageError
from harness.plan.adopt.adopt import adopt
from harness.plan.adopt.bash_words import bash_words
from harness.plan.adopt.curl import CurlExtractor, OneRequest, request_of_curl
from harness.plan.adopt.files import kept, new_plans, write_adopted
from harness.plan.adopt.request_secrets import without_secrets
from harness.plan.checks.check import refuse_scripts
from harness.plan.checks.finding import Finding
from harness.plan.jmx.headers import checked_headers, jmx_read, jmx_text, literal, parts_of, resolved, variables_in
from harness.plan.jmx.tree import parse
from harness.plan.jmx_writer import (
    Expression,
    add_bool,
    add_int,
    add_string,
    call,
    child,
    header_manager,
    joined,
    new_element,
    set_attribute,
    set_text,
    variable,
    written,
    xml_element,
)
from harness.plan.spec import Target, parse_target

_TEMPLATE = Path(__file__).with_name("new.jmx")
_NAME_MOST = 80
# JMeter sends no request with these in its path, or in its query.
_BRACKETS, _BRACES = re.compile(r"[{}\[\]]"), re.compile("[{}]")
_FORM_FLAGS = ("DO_MULTIPART_POST", "BROWSER_COMPATIBLE_MULTIPART")


@dataclass(frozen=True)
class MadePlan:
    """A written plan of requests to the target.

    `left` is what stays to be done, `secrets` are the values of secrets by environment variable.
    """

    folder: Path
    name: str
    labels: tuple[str, ...]
    target: Target
    left: tuple[Finding, ...]
    secrets: Mapping[str, str] = field(repr=False)


def read_request(address: str, curl: str | None) -> OneRequest:
    """Return the request of an address or of a curl command. UsageError for both, and for one that cannot be read."""
    if not curl:
        return OneRequest(literal(address))
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


def write_requests(
    requests: Sequence[OneRequest], plans: Path, name: str, prefix: str, source: str = "one request"
) -> MadePlan:
    """Write the plan `name` of requests; `prefix` begins the names of environment variables for their secrets."""
    target = target_of(requests[0])
    secrets: dict[str, str] = {}
    taken = variables_in(*(text for one in requests for text in _texts(one)))
    requests = [without_secrets(one, prefix, secrets, taken) for one in requests]
    checked = [checked_headers(one.headers, "-H") for one in requests]
    common = {name: text for name, text in checked[0].items() if all(headers.get(name) == text for headers in checked)}
    requests = [
        replace(
            one, label=one.label or _label(one), headers={name: headers[name] for name in headers if name not in common}
        )
        for one, headers in zip(requests, checked, strict=True)
    ]
    found = {extractor.variable for one in requests for extractor in one.extractors}
    variables = [name for one in requests for name in variables_in(*_texts(one)) if name not in found]
    with tempfile.TemporaryDirectory(prefix="request-") as folder:
        path = Path(folder) / "request.jmx"
        path.write_bytes(_jmx(requests, name if len(requests) > 1 else requests[0].label))
        adoption = adopt(path, name, plans, moves_secrets=False)
        path.write_bytes(adoption.draft.text())
        refuse_scripts(path, source)
    own = [name for name in taken if name not in found]
    names = dict.fromkeys((*own, *variables), "")
    write_adopted(plans, name, replace(adoption, secrets=names), source, common)
    return MadePlan(plans, name, tuple(one.label for one in requests), target, adoption.left, secrets)


def first_request(address: str, curl: str | None, build: Path) -> MadePlan:
    """Write a plan for a run of an address or a curl command, outside of plans/."""
    request = read_request(address, curl)
    target_of(request)  # refuses a wrong address
    name = run_name(without_secrets(request, "", {}))
    with new_plans(build) as new:
        made = write_requests([request], new, name, "curl")
        return replace(made, folder=kept(new))


def _texts(request: OneRequest) -> tuple[str, ...]:
    return (request.url, request.body or "", *(text for _, text in request.form), *request.headers.values())


def _label(request: OneRequest) -> str:
    path = urlsplit(request.url).path or "/"
    return f"{request.method} {_BRACES.sub(_encoded, resolved(path, str))}"


def _jmx(requests: Sequence[OneRequest], title: str) -> bytes:
    """Return the template of a new plan with the requests."""
    tree = parse(_TEMPLATE)
    root = tree.getroot()
    set_attribute(_element_at(root, "hashTree/TestPlan"), "testname", title)
    steps = _element_at(root, "hashTree/hashTree/hashTree[last()]")
    *_, sampler, below = steps
    steps[-2:] = []
    variables = {extractor.variable for one in requests for extractor in one.extractors}
    for request in requests:
        copies = deepcopy(sampler), deepcopy(below)
        _fill(*copies, request, lambda one: call("__urlencode", variable(one)) if one in variables else jmx_read(one))
        steps.extend(copies)
    return written(tree)


def _fill(
    sampler: ElementTree.Element, below: ElementTree.Element, request: OneRequest, read: Callable[[str], Expression]
) -> None:
    """Turn the template of a sampler, and of what is below it, into a request."""
    set_attribute(sampler, "testname", request.label)
    parts = urlsplit(request.url)
    path = _url_text(parts.path or "/", read, _BRACKETS)
    if parts.query:
        path = joined(path, "?", _url_text(parts.query, read, _BRACES))
    for name, value in (
        ("path", joined(Expression("${__P(base_path,)}"), path)),
        ("method", request.method),
        ("follow_redirects", str(request.follows_redirects).lower()),
    ):
        set_text(_element_at(sampler, f"*[@name='HTTPSampler.{name}']"), value)
    arguments = _element_at(sampler, "elementProp/collectionProp")
    for name, text in request.form or ([("", request.body)] if request.body is not None else []):
        _add_argument(arguments, name, text)
    for flag in _FORM_FLAGS if request.form else ("postBodyRaw",) if request.body is not None else ():
        add_bool(sampler, f"HTTPSampler.{flag}", True)
    if request.codes:
        assertion = _element_at(below, "ResponseAssertion")
        set_attribute(assertion, "testname", f"Code {request.codes}")
        set_text(_element_at(assertion, "*/stringProp[@name='code']"), request.codes)
        set_text(_element_at(assertion, "*[@name='Assertion.custom_message']"), f"expected {request.codes}")
    if request.parts:
        below.extend((_parts_assertion(request.parts), xml_element("hashTree")))
    for extractor in request.extractors:
        below.extend((_extractor(extractor), xml_element("hashTree")))
    if request.headers:
        headers = ((name, jmx_text(text)) for name, text in request.headers.items())
        below.extend((header_manager("Headers", headers), xml_element("hashTree")))


def _url_text(text: str, read: Callable[[str], Expression], unsafe: re.Pattern[str]) -> Expression:
    """Return a part of a URL as it is written into a JMX; what JMeter could not send is encoded."""
    parts = parts_of(text)
    return joined(*(read(part.name) if part.name else unsafe.sub(_encoded, part.text) for part in parts))


def _parts_assertion(parts: Sequence[str]) -> ElementTree.Element:
    element = new_element("ResponseAssertion", "AssertionGui", "Response as documented")
    texts = child(element, "collectionProp", name="Asserion.test_strings")  # JMeter's spelling
    for number, part in enumerate(parts, 1):
        add_string(texts, f"part {number}", part)
    add_string(element, "Assertion.test_field", "Assertion.response_data")
    add_bool(element, "Assertion.assume_success", False)
    add_int(element, "Assertion.test_type", 2)  # contains all of them
    return element


def _extractor(extractor: CurlExtractor) -> ElementTree.Element:
    if extractor.header:
        name = f"{extractor.variable}: header {extractor.header}"
        element = new_element("RegexExtractor", "RegexExtractorGui", name)
        for key, text in (
            ("useHeaders", "true"),
            ("refname", extractor.variable),
            ("regex", extractor.pattern),
            ("template", "$1$"),
            ("default", extractor.default),
            ("match_number", "1"),
        ):
            add_string(element, f"RegexExtractor.{key}", text)
        return element
    random = "a random one of " if "[*]" in extractor.json_path else ""
    name = f"{extractor.variable}: {random}{extractor.json_path}"
    element = new_element("JSONPostProcessor", "JSONPostProcessorGui", name)
    for key, text in (
        ("referenceNames", extractor.variable),
        ("jsonPathExprs", extractor.json_path),
        ("match_numbers", "0"),
        ("defaultValues", extractor.default),
    ):
        add_string(element, f"JSONPostProcessor.{key}", text)
    return element


def _encoded(match: re.Match[str]) -> str:
    return quote(match[0])


def _element_at(parent: ElementTree.Element, path: str) -> ElementTree.Element:
    found = parent.find(path)
    assert found is not None, path  # the template has it
    return found


def _add_argument(arguments: ElementTree.Element, name: str, text: str) -> None:
    argument = child(arguments, "elementProp", name=jmx_text(name), elementType="HTTPArgument")
    add_bool(argument, "HTTPArgument.always_encode", False)
    add_string(argument, "Argument.value", jmx_text(text))
    add_string(argument, "Argument.metadata", "=")
    if name:
        add_string(argument, "Argument.name", jmx_text(name))
