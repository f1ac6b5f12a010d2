"""Headers for all HTTP requests of a run: their texts, the secrets in them, and the Header Manager that sends them."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import NamedTuple
from xml.etree import ElementTree  # builds and writes XML; defusedxml reads it

from defusedxml.ElementTree import fromstring

from harness.base.config import check_keys
from harness.base.errors import UsageError
from harness.base.secrecy import is_secret_header, is_secret_name, secret_values, secrets_of_header
from harness.plan.jmx_writer import Expression, header_manager, insert_first, jmx_bytes, joined, of_jmx

# In a text $NAME and ${NAME} are environment variables, and $$ is a dollar sign.
_REFERENCE = re.compile(r"\$(?:\$|([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})", re.ASCII)
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[ -~\t]*")
# What a value of a JMX reads: a variable, or a property by ${__P(name)}.
_READ = re.compile(r"\$\{(?:__P\(|__property\()?([\w.-]+)")
# JMeter sets them for the request that it sends.
OF_JMETER = ("connection", "content-length", "transfer-encoding")
CREDENTIALS = ("authorization", "proxy-authorization")


class HeaderPart(NamedTuple):
    """A part of a text: the name of an environment variable, else what is between them."""

    text: str
    name: str = ""


def parts_of(text: str) -> Iterator[HeaderPart]:
    """Yield the parts of a text in a row; what is between two variables is one of them."""
    plain, position = "", 0
    for match in _REFERENCE.finditer(text):
        plain, position = plain + text[position : match.start()], match.end()
        if name := match[1] or match[2]:
            yield HeaderPart(plain)
            yield HeaderPart("", name)
            plain = ""
        else:
            plain += "$"
    yield HeaderPart(plain + text[position:])


def resolved(text: str, variable: Callable[[str], str], literal: Callable[[str], str] = str) -> str:
    """Return a text with `variable` of each environment variable's name and `literal` of what is between them."""
    return "".join(variable(part.name) if part.name else literal(part.text) for part in parts_of(text))


def literal(text: str) -> str:
    """Return a foreign text such that no variable is read in it."""
    return text.replace("$", "$$")


def variables_in(*texts: str) -> tuple[str, ...]:
    """Return the names of the environment variables in texts, each once."""
    found = (match[1] or match[2] for text in texts for match in _REFERENCE.finditer(text))
    return tuple(dict.fromkeys(filter(None, found)))


def jmx_read(name: str) -> Expression:
    """Return how a JMX reads an environment variable."""
    return of_jmx(f'${{__groovy(System.getenv("{name}"))}}')


def jmx_text(text: str, read: Callable[[str], Expression] = jmx_read) -> Expression:
    """Return a text as it is written into a JMX, with `read` of each variable's name and everything else as it is."""
    return joined(*(read(part.name) if part.name else part.text for part in parts_of(text)))


def is_header_name(name: str) -> bool:
    """Return whether a text can be the name of a header."""
    return bool(_NAME.fullmatch(name))


def parse_headers(texts: Iterable[str]) -> dict[str, str]:
    """Return the headers of a command line, `Name: value` each; of equal names the last one counts."""
    found: dict[str, str] = {}
    for text in texts:
        name, colon, value = text.partition(":")
        if not colon:
            raise UsageError("--header: a text without a colon", "give --header='Name: value'")
        found = merged(found, {name: value.strip()})
    return checked_headers(found, "--header")


def checked_headers(table: Mapping[str, object], where: str) -> dict[str, str]:
    """Return the table of headers. UsageError for what is no header, JMeter sets itself, or is a written credential."""
    check_keys(table, dict.fromkeys(table, str), where)
    headers = {name: str(value) for name, value in table.items()}
    for name, value in headers.items():
        if not is_header_name(name):
            raise UsageError(f"{where}: {name!r} is no name of a header", "use letters, digits and -")
        if not _VALUE.fullmatch(value):
            raise UsageError(f"{where}: {name} has a value that is not ASCII text", "encode it")
        if name.lower() in OF_JMETER:
            raise UsageError(f"{where}: JMeter sets {name} itself", "leave it out")
        if name.lower() in CREDENTIALS and value and not variables_in(value):
            todo = f"put it into an environment variable and write '{name}: Bearer $TOKEN' in single quotes"
            raise UsageError(f"{where}: the value of {name} is written out", todo)
    return headers


def merged(*tables: Mapping[str, str]) -> dict[str, str]:
    """Return the headers of all tables; a later one replaces those with its name in upper or lower case."""
    found: dict[str, tuple[str, str]] = {}
    for table in tables:
        found |= {name.lower(): (name, value) for name, value in table.items()}
    return dict(found.values())


def secrets_of_headers(headers: Mapping[str, str], secrets: Mapping[str, str]) -> tuple[str, ...]:
    """Return the secret values of headers; `secrets` are the values of the environment variables."""
    texts = ((name, resolved(value, lambda one: secrets[one])) for name, value in headers.items())
    found = (secret for name, text in texts for secret in secrets_of_header(name, text))
    return secret_values(("password", secret) for secret in found)


def secret_header_names(jmx: bytes, secret_properties: Collection[str]) -> tuple[str, ...]:
    """Return the names of a test plan's headers with secrets: those that stay at the origin of a request.

    They are the name of a secret, or their value reads an environment variable, or a property or variable that is one.
    """
    root: ElementTree.Element = fromstring(jmx, forbid_dtd=True)
    names = []
    for table in root.iter("collectionProp"):
        for header in table if table.get("name") == "HeaderManager.headers" else ():
            name = (header.findtext("stringProp[@name='Header.name']") or header.get("name") or "").strip()
            value = header.findtext("stringProp[@name='Header.value']") or ""
            is_read = any(one in secret_properties or is_secret_name(one) for one in _READ.findall(value))
            if _NAME.fullmatch(name) and (is_secret_header(name) or is_read or "System.getenv" in value):
                names.append(name)
    return tuple(dict.fromkeys(names))


def with_headers(jmx: bytes, headers: Mapping[str, str]) -> bytes:
    """Return a test plan whose HTTP requests carry these headers instead of its own ones with their names."""
    if not headers:
        return jmx
    root: ElementTree.Element = fromstring(jmx, forbid_dtd=True)
    replaced = {name.lower() for name in headers}
    for table in root.iter("collectionProp"):
        if table.get("name") == "HeaderManager.headers":
            for header in list(table):
                own = header.findtext("stringProp[@name='Header.name']") or header.get("name") or ""
                if own.strip().lower() in replaced:
                    table.remove(header)
    return with_manager(root, "Headers of the run", {name: jmx_text(value) for name, value in headers.items()})


def with_manager(root: ElementTree.Element, title: str, headers: Mapping[str, str]) -> bytes:
    """Return a checked test plan with one more Header Manager, for all its requests."""
    children = root.find("hashTree/hashTree")
    assert children is not None  # the plan has been checked
    insert_first(children, header_manager(title, headers.items()))
    return jmx_bytes(root)
