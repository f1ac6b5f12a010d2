"""Masks secrets in whole files. XML and JSON stay valid, and a JTL keeps its numbers."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from xml.sax.saxutils import escape

from defusedxml.ElementTree import ParseError, fromstring

from harness.base.spellings import MASK, Spellings

_JSON_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|-?[0-9][0-9.eE+-]*', re.DOTALL)
# A comment, a CDATA section, a processing instruction or a declaration; a tag; text.
_XML_TOKEN = re.compile(
    r"""<!--.*?-->|<!\[CDATA\[.*?\]\]>|<[?!][^>]*>|<(?:[^<>"']|"[^"]*"|'[^']*')*>|[^<]+""", re.DOTALL
)
_XML_VALUE = re.compile(r"""=(\s*)("[^"]*"|'[^']*')""")
_XML_REFERENCE = re.compile(r"&(?:#([0-9]+)|#x([0-9A-Fa-f]+)|(amp|lt|gt|quot|apos));")
_XML_CHARACTERS = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_SURROGATE = re.compile("[\ud800-\udfff]")
# Characters that XML reads as a space unless they are escaped.
_XML_SPACES = {"\r": "&#13;", "\n": "&#10;", "\t": "&#9;"}
_XML_RETURN = {"\r": "&#13;"}
_CSV_ENDS = frozenset(b",;|\t\r\n")
_JTL_HEAD = b"timeStamp"


def masked_file(data: bytes, spellings: Spellings) -> bytes:
    """Return a file's bytes with ••• in place of every value. JSON and XML are parsed; other text goes line by line."""
    start = data.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    if start in (b"{", b"[", b'"') and _is_json(data):
        return _masked_json(data, spellings)
    if start == b"<" and _is_xml(data):
        return _masked_xml(data, spellings)
    return b"".join(masked_line(line, spellings) for line in data.splitlines(keepends=True))


def masked_line(line: bytes, spellings: Spellings, *, is_table: bool = False) -> bytes:
    """Return a line with ••• in place of every value; JSON stays JSON.

    In a table, numeric fields are not masked: a response time may equal a secret of digits. Nor is the header of a JTL.
    """
    if not spellings.may_be_in(line) or (is_table and line.startswith(_JTL_HEAD)):
        return line
    if line.lstrip()[:1] in (b"{", b"[") and _is_json(line):
        return _masked_json(line, spellings)
    return spellings.masked(line, is_harmless=_is_number_of_a_table if is_table else lambda *_: False)


def _is_number_of_a_table(data: bytes, start: int, end: int) -> bool:
    is_field = (start == 0 or data[start - 1] in _CSV_ENDS) and (end == len(data) or data[end] in _CSV_ENDS)
    return is_field and data[start:end].isdigit()


def _is_json(data: bytes) -> bool:
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return False
    return True


def _masked_json(data: bytes, spellings: Spellings) -> bytes:
    """Return JSON with the values masked in its texts; a number that equals a secret becomes the text •••."""

    def token(match: re.Match[str]) -> str:
        written = match[0]
        if not written.startswith('"'):
            is_secret = spellings.masked(written.encode()) == MASK.encode()
            return json.dumps(MASK, ensure_ascii=False) if is_secret else written
        text = json.loads(written, strict=False)
        changed = _masked_text(text, spellings)
        if changed == text:
            return written
        return json.dumps(changed, ensure_ascii=_SURROGATE.search(changed) is not None)

    text = data.decode(json.detect_encoding(data), errors="surrogatepass")
    return _JSON_TOKEN.sub(token, text).encode("utf-8", errors="surrogatepass")


def _is_xml(data: bytes) -> bool:
    try:
        data.decode("utf-8")
        fromstring(data, forbid_dtd=True)
    except (ParseError, ValueError):  # defusedxml raises it for a document type
        return False
    return True


def _masked_xml(data: bytes, spellings: Spellings) -> bytes:
    """Return UTF-8 XML with the values masked in texts, attributes and comments; element and attribute names stay."""

    def token(match: re.Match[str]) -> str:
        written = match[0]
        if written.startswith("<![CDATA["):
            return f"<![CDATA[{_masked_text(written[9:-3], spellings)}]]>"
        if written.startswith("<!--"):
            return f"<!--{_masked_text(written[4:-3], spellings)}-->"
        if written.startswith("<?") or written.startswith("<!"):
            return written
        return _XML_VALUE.sub(value, written) if written.startswith("<") else content(written)

    def value(match: re.Match[str]) -> str:
        quote = match[2][0]
        more = {**_XML_SPACES, '"': "&quot;", "'": "&apos;"}
        return f"={match[1]}{quote}{content(match[2][1:-1], more)}{quote}"

    def content(written: str, more: Mapping[str, str] = _XML_RETURN) -> str:
        text = _XML_REFERENCE.sub(_character, written)
        changed = _masked_text(text, spellings)
        return written if changed == text else escape(changed, more)

    return _XML_TOKEN.sub(token, data.decode("utf-8")).encode()


def _character(match: re.Match[str]) -> str:
    if match[3]:
        return _XML_CHARACTERS[match[3]]
    return chr(int(match[1]) if match[1] else int(match[2], 16))


def _masked_text(text: str, spellings: Spellings) -> str:
    data = text.encode("utf-8", errors="surrogatepass")
    return spellings.masked(data).decode("utf-8", errors="surrogatepass")
