"""Makes the requests of a plan of an OpenAPI file: parameters, bodies, credentials and assertions."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

from harness.base.bounded import TooSlowError, bounded, within
from harness.base.errors import UsageError
from harness.plan.adopt.adopt import secret_name
from harness.plan.adopt.curl import CurlExtractor, OneRequest
from harness.plan.adopt.openapi.document import NotMadeError, OpenApiDocument, read_document
from harness.plan.adopt.openapi.links import ValuePlace, linked_place, location_place
from harness.plan.adopt.openapi.operations import Choice, Operation, choose, id_path, json_content, required_parts
from harness.plan.adopt.openapi.samples import Samples
from harness.plan.adopt.project_files import plan_name_of
from harness.plan.jmx.headers import OF_JMETER, literal

_FORM, _MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data"
# Types of which only an example is sent: a schema does not say how such a text is written.
_AS_WRITTEN = re.compile(r"text/(?!plain$).*|.*[/+]xml(?:;.*)?")
# Parameters that OpenAPI ignores, since other parts of the file describe them, and those that JMeter sets.
_IGNORED_HEADERS = ("accept", "content-type", "authorization", *OF_JMETER)
_DELIMITERS = {"spaceDelimited": "%20", "pipeDelimited": "%7C"}
_NO_DEFAULT = "NOT_FOUND"
_OTHERS_SHOWN, _SERVERS_SHOWN = 10, 3
# A schema whose sample takes longer is left out with its operation.
_OPERATION_MOST_S = 10.0


@dataclass(frozen=True)
class ApiPlan:
    """The requests of an OpenAPI file, a name for their plan, and lines that explain the choices."""

    requests: tuple[OneRequest, ...]
    name: str
    lines: tuple[str, ...]


def plan_of_openapi(path: Path, only: Sequence[str], address: str, name: str) -> ApiPlan:
    """Return requests to an address for the plan `name`, or with the title of the file as its name.

    Without `only` they are those of all GET and HEAD operations. UsageError for a file of which none can be made, and
    for one with which a library hangs or crashes.
    """
    return bounded(path.name, lambda at: _plan(path, only, address, name, at))


def _plan(path: Path, only: Sequence[str], address: str, name: str, at: Callable[[str], None]) -> ApiPlan:
    """Return the requests; `at` is called with the place before each part of the work."""
    document = read_document(path)
    info = document.root.get("info")
    name = name or plan_name_of(str((isinstance(info, Mapping) and info.get("title")) or path.stem))
    maker = _Maker(document, address, choose(document, only), name)
    requests = maker.requests(at)
    if not requests:
        reason = maker.left_out[0] if maker.left_out else "it has neither GET nor HEAD"
        raise UsageError(f"{path.name}: no operation can be used: {reason}", "name others with --only")
    return ApiPlan(tuple(requests), name, tuple(maker.lines()))


class _Described(NamedTuple):
    schema: Any
    examples: list[Any]


class _Credential(NamedTuple):
    where: str
    name: str
    value: str


@dataclass
class _Maker:
    document: OpenApiDocument
    address: str
    choice: Choice
    plan_name: str
    left_out: list[str] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)  # by security scheme
    # By its source, its parameter, and where the answer has it.
    extractors: dict[tuple[str, str, ValuePlace], CurlExtractor] = field(default_factory=dict)
    fixed: dict[str, list[str]] = field(default_factory=dict)  # the operations by their parameter
    other_servers: dict[str, None] = field(default_factory=dict)
    made: dict[str, OneRequest] = field(default_factory=dict)  # by method and path

    def __post_init__(self) -> None:
        self.samples = Samples(self.document)

    def requests(self, at: Callable[[str], None]) -> list[OneRequest]:
        """Return the requests of the chosen operations; the others get a line in `left_out`."""
        for operation in self.choice.chosen:
            at(operation.title)
            try:
                with within(_OPERATION_MOST_S):
                    self.made[operation.title] = self._request(operation)
            except TooSlowError:
                self.left_out.append(f"{operation.title}: it takes longer than {_OPERATION_MOST_S:g} s")
            except (NotMadeError, LookupError, RecursionError, AttributeError, TypeError, ValueError) as error:
                reason = error if isinstance(error, NotMadeError) else "it is not written as OpenAPI defines"
                self.left_out.append(f"{operation.title}: {reason}")
        return [
            replace(one, extractors=tuple(self.extractors[key] for key in self.extractors if key[0] == title))
            for title, one in self.made.items()
        ]

    def lines(self) -> Iterator[str]:
        """Yield what was chosen and why, one line each."""
        for (title, name, place), extractor in self.extractors.items():
            random, none = ("a random ", "lists none") if "[*]" in place.json_path else ("", "answers none")
            what = f"in the header {place.header}" if place.header else f"{random}{place.json_path}"
            yield f"{name} is {what} of {title}, {extractor.default} if it {none}"
        for name, titles in self.fixed.items():
            more = f" and {len(titles) - _OTHERS_SHOWN} more" if len(titles) > _OTHERS_SHOWN else ""
            shown = ", ".join(titles[:_OTHERS_SHOWN])
            yield f"always the same {name}, since no request before it answers one: {shown}{more}"
        for scheme, variable in self.variables.items():
            kind = self._schemes()[scheme]
            what = "user:password in base64" if str(kind.get("scheme")).lower() == "basic" else "the key or token"
            yield f"set {variable} in the environment or secrets.toml: {what} of {scheme}"
        if self.other_servers:
            todo = "add their path to the address if the target has it"
            yield f"not the target, and not used: {', '.join(list(self.other_servers)[:_SERVERS_SHOWN])}; {todo}"
        for line in self.left_out:
            yield f"left out: {line}"
        others = [f"'{one.title}'" for one in self.choice.others]
        if others:
            more = f" and {len(others) - _OTHERS_SHOWN} more" if len(others) > _OTHERS_SHOWN else ""
            shown = f"{', '.join(others[:_OTHERS_SHOWN])}{more}"
            yield f"not asked for: {shown}; to add one: --only 'GET *' --only {others[0]}"

    def _request(self, operation: Operation) -> OneRequest:
        path, query, headers, cookies = literal(operation.path), [], {}, []
        if not path.startswith("/") or not path.isprintable():
            raise NotMadeError("its path does not begin with / or is not printable")
        for parameter in operation.parameters:
            name, place = str(parameter["name"]), parameter["in"]
            if place == "path":
                path = path.replace(literal(f"{{{name}}}"), self._in_path(operation, parameter))
            elif place == "query" and (variable := self._linked(operation, parameter)):
                query.append(f"{_quoted(name)}=${{{variable}}}")
            elif (pair := self._given(parameter)) is None or (place == "header" and name.lower() in _IGNORED_HEADERS):
                continue
            elif place == "query":
                query += _query(parameter, pair)
            elif place == "header":
                headers[name] = literal(_simple(parameter, pair, str))
            else:
                cookies.append(f"{literal(name)}={literal(_simple(parameter, pair, _quoted))}")
        if "{" in re.sub(r"\$\{\w+\}", "", path):
            raise NotMadeError("a parameter of its path is not described")
        for place, name, value in self._credentials(operation):
            if place == "query":
                query.append(f"{_quoted(name)}={value}")
            elif place == "cookie":
                cookies.append(f"{literal(name)}={value}")
            else:
                headers[name] = value
        if cookies:
            headers["Cookie"] = "; ".join(cookies)
        body = self._body(operation)
        url = self._base(operation) + path + (f"?{'&'.join(query)}" if query else "")
        codes = "|".join(code.upper().replace("X", r"\d") for code in operation.codes())
        headers = {**self._accept(operation), **body.headers, **headers}
        if any(not text.isascii() or not text.isprintable() for text in headers.values()):
            raise NotMadeError("a header has a value that is not ASCII text")
        codes = f"({codes})" if "|" in codes else codes
        return replace(
            body,
            url=url,
            method=operation.method,
            headers=headers,
            label=operation.label,
            codes=codes,
            parts=required_parts(self.samples, operation),
        )

    def _base(self, operation: Operation) -> str:
        """Return the address with the path of the server that it is, or of a relative one."""
        parts = urlsplit(self.address)
        origin = f"{parts.scheme}://{parts.netloc}"
        if parts.path.strip("/"):
            return literal(origin + parts.path.rstrip("/"))
        for server in operation.node.get("servers") or self.document.root.get("servers") or ():
            url = str(server["url"])
            for name, variable in (server.get("variables") or {}).items():
                url = url.replace(f"{{{name}}}", str(variable["default"]))
            there = urlsplit(url)
            if not there.netloc or f"{there.scheme}://{there.netloc}" == origin:
                return literal(f"{origin}/{there.path.strip('/')}".rstrip("/"))
            self.other_servers[url] = None
        return origin

    def _given(self, parameter: Mapping[str, Any]) -> Any:
        """Return the value of a parameter; None for an optional one without an example or default."""
        schema, examples = self._described(parameter)
        is_known = examples or {"example", "examples", "default"} & self.samples.flat(schema).keys()
        if not parameter.get("required") and not is_known:
            return None
        return self.samples.value(schema, examples, str(parameter["name"]))

    def _described(self, node: Mapping[str, Any]) -> _Described:
        """Return the schema and the examples of a parameter or a media type."""
        if content := node.get("content"):
            node = next(iter(content.values()))
        examples = [node["example"]] if "example" in node else []
        for one in (node.get("examples") or {}).values():
            example = self.document.resolved(one)
            examples += [example["value"]] if "value" in example else []
        return _Described(node.get("schema", {}), examples)

    def _in_path(self, operation: Operation, parameter: Mapping[str, Any]) -> str:
        """Return the text of a path parameter: a variable with an id that a list or POST answers, else a sample."""
        if variable := self._linked(operation, parameter):
            return f"${{{variable}}}"
        name = str(parameter["name"])
        schema, examples = self._described(parameter)
        value = self.samples.value(schema, examples, name)
        above, has_source, _ = operation.path.partition(f"/{{{name}}}")
        # What is changed or removed is best one's own.
        methods = ("GET", "POST") if operation.method in ("GET", "HEAD") else ("POST", "GET")
        for title in [f"{method} {above}" for method in methods] if has_source else ():
            if source := next((one for one in self._before() if one.title == title), None):
                kind = self.samples.flat(schema).get("type")
                path = id_path(self.samples, source, name, kind)
                if place := ValuePlace(path) if path else location_place(self.document, source, kind):
                    return f"${{{self._variable(title, operation, name, place, value)}}}"
        self.fixed.setdefault(name, []).append(operation.title)
        if parameter.get("style", "simple") != "simple":
            raise NotMadeError(f"the style {parameter['style']} of {name} is not supported")
        return _simple(parameter, value, _quoted)

    def _before(self) -> list[Operation]:
        return [one for one in self.choice.chosen if one.title in self.made]

    def _linked(self, operation: Operation, parameter: Mapping[str, Any]) -> str:
        """Return the variable of a parameter whose value an earlier response has by a link; empty without one."""
        name = str(parameter["name"])
        for source in self._before():
            if place := linked_place(self.document, source, operation, parameter):
                value = self.samples.value(*self._described(parameter), name)
                return self._variable(source.title, operation, name, place, value)
        return ""

    def _variable(self, title: str, operation: Operation, name: str, place: ValuePlace, value: Any) -> str:
        """Return the variable of a value in the answer of the operation `title`."""
        key = (title, name, place)
        if key not in self.extractors:
            parts = re.findall(r"\w+", re.sub(r"\{.*?\}", "", operation.path.partition(f"/{{{name}}}")[0]))
            taken = [one.variable.upper() for one in self.extractors.values()]
            variable = secret_name(parts[-1] if parts else "api", name, taken).lower()
            # JMeter splits defaults at semicolons.
            default = _NO_DEFAULT if ";" in _scalar(value) else _scalar(value)
            self.extractors[key] = CurlExtractor(variable, place.json_path, default, place.header, place.pattern)
        return self.extractors[key].variable

    def _body(self, operation: Operation) -> OneRequest:
        """Return the body of an operation, its type and its form as a request."""
        if not (node := operation.node.get("requestBody")):
            return OneRequest("")
        content = self.document.resolved(node).get("content") or {}
        kinds = [json_content(content), *(one for one in (_FORM, _MULTIPART, "text/plain") if one in content)]
        kinds += [one for one in content if _AS_WRITTEN.fullmatch(one)]
        kind = next(filter(None, kinds), "application/json" if "*/*" in content else "")
        if not kind:
            raise NotMadeError(f"its body is {next(iter(content), 'of no type')}, which cannot be made")
        schema, examples = self._described(content.get(kind) or content["*/*"])
        if _AS_WRITTEN.fullmatch(kind):
            value = next((one for one in examples if isinstance(one, str)), None)
            if value is None:
                raise NotMadeError(f"its body is {kind} without an example")
            return OneRequest("", headers={"Content-Type": literal(kind)}, body=literal(value))
        value = self.samples.value(schema, examples, "body")
        if kind == _MULTIPART:
            for key, one in self.samples.flat(schema).get("properties", {}).items():
                if self.samples.flat(one).get("format") == "binary":
                    raise NotMadeError(f"its body has the file {key}, which cannot be made")
            return OneRequest("", form=tuple((literal(key), literal(_scalar(one))) for key, one in value.items()))
        if kind == _FORM:
            text = "&".join(pair for key, one in value.items() for pair in _query({"name": key}, one))
        else:
            text = literal(value if kind == "text/plain" else json.dumps(value, ensure_ascii=False))
        return OneRequest("", headers={"Content-Type": literal(kind)}, body=text)

    def _accept(self, operation: Operation) -> dict[str, str]:
        """Return the header Accept for the type of the first documented success, JSON before others."""
        content = operation.success(self.document).get("content") or {}
        kind = json_content(content) or next(iter(content), "")
        return {"Accept": literal(kind)} if kind else {}

    def _schemes(self) -> Mapping[str, Any]:
        schemes = (self.document.root.get("components") or {}).get("securitySchemes") or {}
        return {name: self.document.resolved(one) for name, one in schemes.items()}

    def _credentials(self, operation: Operation) -> list[tuple[str, str, str]]:
        """Return place, name and text of the credentials of the first alternative whose schemes are all supported."""
        alternatives = operation.node.get("security", self.document.root.get("security")) or [{}]
        reason = ""
        for alternative in alternatives:
            try:
                return [self._credential(scheme) for scheme in alternative]
            except NotMadeError as error:
                reason = str(error)
        raise NotMadeError(reason)

    def _credential(self, scheme: str) -> _Credential:
        node = self._schemes().get(scheme) or {}
        kind, way = node.get("type"), str(node.get("scheme", "bearer")).lower()
        if kind not in ("http", "apiKey", "oauth2", "openIdConnect") or way not in ("basic", "bearer"):
            what = " ".join(filter(None, (kind, node.get("scheme")))) or "not defined"
            raise NotMadeError(f"its security scheme {scheme} ({what}) is not supported")
        if scheme not in self.variables:
            self.variables[scheme] = secret_name(self.plan_name, scheme, self.variables.values())
        read = f"${self.variables[scheme]}"
        if kind == "apiKey":
            return _Credential(node["in"], node["name"], read)
        return _Credential("header", "Authorization", f"{'Basic' if way == 'basic' else 'Bearer'} {read}")


def _scalar(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)


def _quoted(text: str) -> str:
    return quote(text, safe="")


def _simple(parameter: Mapping[str, Any], value: Any, written: Callable[[str], str]) -> str:
    """Return a value of a path, a header or a cookie in OpenAPI's style `simple`."""
    if isinstance(value, list):
        return ",".join(written(_scalar(one)) for one in value)
    if isinstance(value, dict) and "content" not in parameter:
        sign = "=" if parameter.get("explode") else ","
        return ",".join(f"{written(key)}{sign}{written(_scalar(one))}" for key, one in value.items())
    return written(_scalar(value))


def _query(parameter: Mapping[str, Any], value: Any) -> list[str]:
    """Return the encoded parts of a query for a parameter."""
    name, style = _quoted(str(parameter["name"])), parameter.get("style", "form")
    if "content" in parameter or not isinstance(value, (list, dict)):
        return [f"{name}={_quoted(_scalar(value))}"]
    if style == "deepObject" and isinstance(value, dict):
        return [f"{name}%5B{_quoted(key)}%5D={_quoted(_scalar(one))}" for key, one in value.items()]
    is_exploded = parameter.get("explode", style == "form")
    if isinstance(value, dict) and is_exploded:
        return [f"{_quoted(key)}={_quoted(_scalar(one))}" for key, one in value.items()]
    words = value if isinstance(value, list) else [word for pair in value.items() for word in pair]
    texts = [_quoted(_scalar(one)) for one in words]
    if is_exploded:
        return [f"{name}={text}" for text in texts]
    return [f"{name}={_DELIMITERS.get(style, ',').join(texts)}"]
