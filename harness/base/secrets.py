"""Finds the secrets of a run and removes them from the files that the run stores."""

from __future__ import annotations

import json
import mmap
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO
from xml.sax.saxutils import escape

from defusedxml.ElementTree import ParseError, fromstring

from harness.base.config import load_toml
from harness.base.errors import UsageError
from harness.base.machine_credentials import check_name, check_variables
from harness.base.packed import beginning_of, is_part
from harness.base.secrecy import AWS_VARIABLES, is_common_word
from harness.base.spellings import LEAST_LENGTH, MASK, Spellings

FILE_NAME = "secrets.toml"
# Distinguishes AWS keys (16 characters or more) from those of test servers ("test"), which appear in any log.
_LEAST_AWS_LENGTH = 16
# A file with a NUL byte within this many first bytes is binary.
_HEAD_BYTES = 8192
# Larger XML and JSON files are masked line by line.
_WHOLE_BYTES = 64 * 1024 * 1024
_CHUNK_BYTES = 1024 * 1024
_TABLES = (".jtl", ".csv")
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


def find_secrets(names: Iterable[str], given: Mapping[str, str], home: Path, who: str = "the plan") -> dict[str, str]:
    """Return the secrets by name: from `given`, else from environment variables, else from secrets.toml in `home`.

    The UsageError names `who` needs them, missing values, values too short to mask, credentials of this machine, and
    variables of programs with a value that is not that of the environment.
    """
    names = tuple(names)
    check_variables((name for name in names if not given.get(name)), who)
    path = home / FILE_NAME
    stored = load_toml(path, "the secrets file", path.stem) if path.is_file() else {}
    values = {name: given.get(name) or os.environ.get(name) or str(stored.get(name, "")) for name in names}
    for name, value in values.items():
        if value and value != os.environ.get(name):
            check_name(name, who)
    missing = [name for name, value in values.items() if not value]
    if missing:
        raise UsageError(
            f"{who} needs {', '.join(missing)}",
            f'set the environment variable, or write {missing[0]} = "…" into {FILE_NAME} below the line '
            "format_version = 1; git ignores this file",
        )
    known = [name for name, value in values.items() if is_common_word(value)]
    if known:
        raise UsageError(
            f"{', '.join(known)}: the value is a word of JSON and of every JTL and cannot be masked in the run's files",
            "use another value",
        )
    short = [name for name, value in values.items() if len(value) < LEAST_LENGTH]
    if short:
        raise UsageError(
            f"{', '.join(short)}: shorter than {LEAST_LENGTH} characters, too short to mask in the run's files",
            "use a longer value",
        )
    return values


def environment_secrets() -> tuple[str, ...]:
    """Return the AWS keys in our environment. No program that a run starts gets them: see process.inherited."""
    found = (os.environ.get(name, "") for name in AWS_VARIABLES)
    return tuple(value for value in found if len(value) >= _LEAST_AWS_LENGTH)


def mask_secrets(folder: Path, values: Iterable[str], *, but: Path | None = None) -> tuple[str, ...]:
    """Replace the values with ••• in the files of a folder; return the names of the changed files.

    In binary files, each value is replaced by asterisks of the same length, so that offsets do not change. Files below
    `but` are not changed: a process that still writes them would continue to write to the replaced file.
    """
    spellings = Spellings(values)
    changed = []
    for path in sorted(folder.rglob("*")) if spellings else []:
        is_ours = path.is_file() and not path.is_symlink() and (but is None or but not in path.parents)
        is_ours = is_ours and not is_part(path.name)
        if is_ours and _may_contain(path, spellings) and _rewrite(path, spellings):
            changed.append(path.relative_to(folder).as_posix())
    return tuple(changed)


def masked_rows(rows: bytes, spellings: Spellings) -> bytes:
    """Return whole lines of a CSV JTL with ••• in place of every value."""
    if not spellings.may_be_in(rows):
        return rows
    return b"".join(masked_line(line, spellings, is_table=True) for line in rows.splitlines(keepends=True))


def _start_of(path: Path) -> int:
    """Return the offset of the first byte that is not in a packed file beside this one, where it is masked."""
    beginning = beginning_of(path)
    return beginning.text_bytes if beginning else 0


def _may_contain(path: Path, spellings: Spellings) -> bool:
    start, size = _start_of(path), path.stat().st_size
    if size <= start:
        return False
    start -= start % mmap.ALLOCATIONGRANULARITY
    length = size - start
    with path.open("rb") as stream, mmap.mmap(stream.fileno(), length, access=mmap.ACCESS_READ, offset=start) as data:
        return spellings.may_be_in(data)


def _rewrite(path: Path, spellings: Spellings) -> bool:
    """Mask the values in a file; return whether it contained any."""
    draft = path.with_name(f".{path.name}.masked")
    is_changed, is_binary = False, _is_binary(path)
    with path.open("rb") as stream, draft.open("wb") as out:
        stream.seek(_start_of(path))
        out.seek(stream.tell())  # a hole, like that of the original
        for chunk in _chunks(stream, path):
            masked = _masked(chunk, spellings, is_binary=is_binary, is_table=path.suffix in _TABLES)
            is_changed = is_changed or masked != chunk
            out.write(masked)
    if is_changed:
        shutil.copymode(path, draft)
        draft.replace(path)
    else:
        draft.unlink()
    return is_changed


def _chunks(stream: BinaryIO, path: Path) -> Iterator[bytes]:
    """Yield a small file whole, and a large one in chunks of whole lines."""
    if path.stat().st_size <= _WHOLE_BYTES:
        yield stream.read()
        return
    while lines := stream.readlines(_CHUNK_BYTES):
        yield b"".join(lines)


def _is_binary(path: Path) -> bool:
    with path.open("rb") as stream:
        return path.suffix not in _TABLES and b"\0" in stream.read(_HEAD_BYTES)


def _masked(chunk: bytes, spellings: Spellings, *, is_binary: bool, is_table: bool) -> bytes:
    if not spellings.may_be_in(chunk):
        return chunk
    if is_binary:
        return spellings.masked(chunk, lambda length: b"*" * length)
    if is_table and not chunk.lstrip().startswith(b"<"):
        return masked_rows(chunk, spellings)
    return masked_file(chunk, spellings)


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
