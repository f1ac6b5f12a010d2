"""Tells a JTL by its first bytes: CSV or XML; anything else is named for what it is."""

from __future__ import annotations

import re

from harness.errors import UsageError
from harness.xml_elements import ROOT_TAG, SAMPLE_TAGS

CSV, XML = "csv", "xml"
_MAGIC = {
    b"PK\x03\x04": "a zip archive",
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"\xca\xfe\xba\xbe": "a Java class",
    b"\xac\xed\x00\x05": "serialised Java objects",
    b"FLR\x00": "a Java flight recording",
    b"JAVA PROFILE": "a heap dump",
    b"\x7fELF": "a program",
    b"PAR1": "a Parquet file",
    b"SQLite format 3": "an SQLite database",
    b"%PDF": "a PDF document",
    b"BZh": "compressed with bzip2",
    b"\xfd7zXZ": "compressed with xz",
}
_TAR_PLACE, _TAR_MAGIC = 257, b"ustar"
_TODO = {
    "a zip archive": "unpack it: unzip",
    "a tar archive": "unpack it: tar -x",
    "compressed with bzip2": "unpack it: bunzip2",
    "compressed with xz": "unpack it: unxz",
}
_CONTROL = bytes(set(range(32)) - set(b"\t\n\r\f\x1b"))
_LOOK_BYTES = 1024
# What only a JTL has: the column that every header names, or a row that begins with a time stamp in milliseconds.
_CSV_SIGN = re.compile(rb"timeStamp|(?:^|[\n\0])[\"']?\d{12,14}[\"']?[,|;\t]")
_FIRST_TAG = re.compile(rb"(?:\s|<\?.*?\?>|<!--.*?-->|<!(?!--)[^>\[]*(?:\[.*?\]\s*)?>)*<([^\s<>/!?]+)", re.DOTALL)
_SAY_JTL = "name a JTL that JMeter wrote"


def kind_of(head: bytes, name: str) -> str:
    """Return CSV or XML for the first bytes of a JTL, in UTF-8; UsageError when they are not those of a JTL.

    A table without a header line passes as CSV: whether its columns are known is for the reader to say.
    """
    if not head:
        raise UsageError(f"{name}: empty", "JMeter has written nothing to it: see its jmeter.log")
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text.startswith(b"<"):
        return _xml(text, name)
    _refuse_binary(head, name)
    if text.startswith((b"{", b"[")):
        todo = "aggregate.py report takes the run's folder" if b'"format_version"' in head else _SAY_JTL
        raise UsageError(f"{name}: JSON, not a JTL", todo)
    return CSV


def _xml(text: bytes, name: str) -> str:
    first = _FIRST_TAG.match(text)
    tag = first[1].decode(errors="replace") if first else ""
    if tag == "jmeterTestPlan":
        raise UsageError(f"{name}: a JMeter plan (JMX), not a JTL", "name the file that jmeter -l wrote")
    if tag.lower() == "html" or text[:14].lower() == b"<!doctype html":
        raise UsageError(f"{name}: a web page, not a JTL", "was it downloaded? Its address answered with a page")
    # Without a tag there is no more than a head, of a file that was cut off at once or whose head is very long.
    if tag in ("", ROOT_TAG) or tag in SAMPLE_TAGS:
        return XML
    raise UsageError(f"{name}: XML that begins with <{tag}>, not a JTL", _SAY_JTL)


def _refuse_binary(head: bytes, name: str) -> None:
    """Raise a UsageError for what is no text, save a JTL with a hole: a full disk leaves a block of NUL bytes."""
    kind = next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), "")
    if head.startswith(_TAR_MAGIC, _TAR_PLACE):
        kind = "a tar archive"
    if kind:
        raise UsageError(f"{name}: {kind}, not a JTL", _TODO.get(kind, _SAY_JTL))
    look = head[:_LOOK_BYTES]
    if look.translate(None, _CONTROL) != look and not _CSV_SIGN.search(head):
        raise UsageError(f"{name}: a binary file, not a JTL", _SAY_JTL)
