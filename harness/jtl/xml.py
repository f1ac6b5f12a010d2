"""Reads an XML JTL into samples, and counts and names every sample that it has to drop.

A sample whose element does not end properly is torn. It is dropped and counted, and reading resumes at the next sample
whose indentation fits the same parent. The same rule handles files that were concatenated; if both are complete,
nothing is dropped. Bytes that are invalid in the file's encoding become U+FFFD. So do references to characters that XML
forbids, which JMeter writes nevertheless (`&#x0;`).
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from itertools import chain
from typing import BinaryIO
from xml.parsers import expat

from harness.base.errors import UsageError
from harness.jtl.sample import FIRST_LINES_MOST, Dropped, Sample
from harness.jtl.times import times_near
from harness.jtl.xml_elements import ROOT_TAG, Elements, Open, TornHere

# expat copies its input, and after a tear the rest of it again: larger chunks are not faster.
_CHUNK_BYTES = 64 * 1024
# The longest tags contain a label and a message; a longer tag has no end.
_TAG_BYTES_MAX = 8 * 1024 * 1024
# Bytes before the next parsed one, so that a tag's indentation is still known after a tear.
_LOOK_BACK_BYTES = 128
_INDENT_STEP = 2  # of XStream, which writes JMeter's XML
_GAP_BYTES_MAX = 4096
_ENCODING = re.compile(rb"""\s*<\?xml[^>]*\sencoding\s*=\s*["']([A-Za-z0-9._-]+)["']""")
_ASCII = bytes(range(ord(" "), ord("~") + 1))
_WIDE_ENCODING = re.compile(r"(?i)(utf|ucs)[-_]?(16|32|2|4)")
_REFERENCE = re.compile(rb"&#(?:x([0-9a-fA-F]{1,8})|([0-9]{1,10}));")
# Text that may occur between samples of concatenated files; ignoring it loses nothing.
_BETWEEN_FILES = re.compile(rb"(?:\s|\xef\xbb\xbf|<\?[^>]*\?>|</?testResults[^<>]*>|</[A-Za-z]*(?=<))*")
_ENDS_OF_FILE = frozenset(
    expat.errors.codes[getattr(expat.errors, f"XML_ERROR_{name}")]
    for name in ("NO_ELEMENTS", "UNCLOSED_TOKEN", "PARTIAL_CHAR", "UNCLOSED_CDATA_SECTION")
)
_NO_END = f"the file ends without </{ROOT_TAG}>: JMeter was killed, or still writes"
_ROOT = f"<{ROOT_TAG}".encode()
_CUT_OFF = "torn sample: the file ends in it"


def parse_xml(stream: BinaryIO, name: str, dropped: Dropped) -> Iterator[Sample]:
    """Yield the samples of an open XML JTL as their elements end; count dropped samples in `dropped`.

    Errors call the file `name`. UsageError when it is not an XML JTL.
    """
    chunks = _utf8_chunks(stream, name)
    head = next(chunks)
    first = _Reader(Elements(name, Dropped()))
    first.feed(head)
    reader = _Reader(Elements(name, dropped, times_near(first.take())))
    for data in chain((head,), chunks):
        reader.feed(data)
        yield from reader.take()
    reader.feed(b"", final=True)
    yield from reader.take()


def _utf8_chunks(stream: BinaryIO, name: str) -> Iterator[bytes]:
    """Yield the text in UTF-8, with only characters that expat accepts."""
    chunk = stream.read(_CHUNK_BYTES)
    decoder = codecs.getincrementaldecoder(_encoding(chunk, name))("replace")
    rest = b""
    while chunk:
        data = rest + decoder.decode(chunk).encode()
        cut = data.rfind(b"&", -16)  # the end of the chunk may split a reference
        rest = data[cut:] if cut >= 0 and b";" not in data[cut:] else b""
        data = data.removesuffix(rest)
        yield _REFERENCE.sub(_allowed, data) if b"&#" in data else data
        chunk = stream.read(_CHUNK_BYTES)
    yield rest + decoder.decode(b"", final=True).encode()


def _encoding(head: bytes, name: str) -> str:
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if (declared := _ENCODING.match(head.removeprefix(codecs.BOM_UTF8))) is None:
        return "utf-8"
    encoding = declared[1].decode()
    if _WIDE_ENCODING.match(encoding):
        return "utf-8"  # the declaration is readable, so the file was converted after it was written
    try:
        if _ASCII.decode(encoding) == _ASCII.decode():
            codecs.getincrementaldecoder(encoding)("replace").decode(_ASCII)
            return encoding
    except (LookupError, UnicodeError):
        pass
    raise UsageError(f"{name}: its encoding {encoding} is unknown", "correct the file's first line")


def _allowed(reference: re.Match[bytes]) -> bytes:
    number = int(reference[1], 16) if reference[1] else int(reference[2])
    if number in (9, 10, 13) or 0x20 <= number < 0xD800 or 0xDFFF < number < 0xFFFE or 0xFFFF < number < 0x110000:
        return reference[0]
    return "\ufffd".encode()


class _Reader:
    """Feeds bytes to expat and resumes after malformed XML."""

    def __init__(self, elements: Elements) -> None:
        self._elements = elements
        self._parser: expat.XMLParserType | None = expat.ParserCreate("utf-8")
        elements.attach(self._parser)
        # The bytes that are not completely parsed, with a few before them; the number of them that the parser has
        # received; and the parser's index of the first one.
        self._window = b""
        self._given = 0
        self._parser_index = 0
        self._first_index = -1  # of the parser's first sample after a tear
        # State while there is no parser, after a tear: where the search resumes, its line, and the skipped bytes.
        self._offset, self._line, self._gap = 0, 0, b""
        self._torn_line, self._reason = 0, ""

    def take(self) -> list[Sample]:
        """Return the samples that have ended since the last call."""
        samples, self._elements.samples = self._elements.samples, []
        return samples

    def feed(self, data: bytes, *, final: bool = False) -> None:
        """Parse the next bytes; at the end of the file, also count the samples that it cut off."""
        self._window += data
        while self._resumed() and not self._parsed(final=final):
            pass
        if final and self._parser is None:
            self._note(self._elements.open, "nothing can be read after it")

    def _parsed(self, *, final: bool) -> bool:
        """Return whether the parser has all bytes; if not, there was a tear and the parser is gone."""
        parser = self._parser
        assert parser is not None
        data, self._given = self._window[self._given :], len(self._window)
        try:
            parser.Parse(data, False)
            if final:
                parser.Parse(b"", True)
        except expat.ExpatError as error:
            if final and error.code in _ENDS_OF_FILE:
                self._cut_off(parser)
                return True
            self._tear(parser.ErrorByteIndex, parser.ErrorLineNumber, expat.ErrorString(error.code))
            return False
        except TornHere as torn:
            index, line = torn.args
            self._tear(index, line, "")
            return False
        index = parser.CurrentByteIndex
        if index >= 0:
            unparsed = index - self._parser_index
            if len(self._window) - unparsed > _TAG_BYTES_MAX:
                self._tear(index + 1, parser.CurrentLineNumber, "a tag without an end")
                return False
            passed = max(0, unparsed - _LOOK_BACK_BYTES)
            self._window = self._window[passed:]
            self._given -= passed
            self._parser_index += passed
        return True

    def _cut_off(self, parser: expat.XMLParserType) -> None:
        """Note that the file ends early: a whole one has an end, whatever the last sample lacks."""
        lines = [torn.line for torn in self._elements.open if torn.counts]
        rest = self._window[parser.ErrorByteIndex - self._parser_index :]
        if rest.startswith(b"<") and not rest.startswith(b"</") and self._elements.counts_here():
            lines.append(parser.ErrorLineNumber + self._elements.lines_before)
        elif self._elements.has_root and not self._elements.open and not rest.startswith(b"</"):
            self._elements.dropped.note(0, _NO_END, is_cut=True)
        for at, line in enumerate(lines):
            self._elements.dropped.note(line, _CUT_OFF, is_torn_end=at > 0, is_cut=at == 0)

    def _tear(self, index: int, line: int, reason: str) -> None:
        # The offset is the end of the well-formed part, or the malformed tag: then the search resumes within it.
        self._offset = index - self._parser_index + (index == self._first_index)
        self._line = self._torn_line = line + self._elements.lines_before
        tag = self._window.rfind(b"<", 0, self._offset)
        is_in_tag = tag >= 0 and b">" not in self._window[tag : self._offset]
        self._gap = self._window[tag : self._offset][:_GAP_BYTES_MAX] if is_in_tag else b""
        self._torn_line -= self._gap.count(b"\n")
        is_lost = self._window.startswith(b"\0", self._offset)  # a full disk, or a machine that went down
        self._reason = "NUL bytes: data was lost here" if is_lost else f"not well-formed XML: {reason}"
        self._parser = None

    def _resumed(self) -> bool:
        """Return whether there is a parser; after a tear, create one at the next sample of the same parent."""
        if self._parser is not None:
            return True
        limit = self._column_limit()
        for start in self._elements.sample_start.finditer(self._window, self._offset):
            begin = len(self._window[: start.start()].rstrip(b" \t"))
            column = start.start() - begin
            if limit is None or column <= limit:
                self._pass_over(start.start())
                self._resume(begin, column)
                return True
        self._pass_over(max(self._offset, len(self._window) - _LOOK_BACK_BYTES))
        count = max(0, self._offset - _LOOK_BACK_BYTES)
        self._window = self._window[count:]
        self._offset -= count
        return False

    def _column_limit(self) -> int | None:
        """Return the maximum indentation of the next sample that counts; None when there is no limit."""
        elements = self._elements
        if elements.is_one_line:
            return None
        inmost = next((sample for sample in reversed(elements.open) if sample.counts), None)
        if inmost is None:
            return elements.top_column
        return inmost.column + (_INDENT_STEP if inmost.opens_up else 0)

    def _pass_over(self, offset: int) -> None:
        passed = self._window[self._offset : offset]
        self._line += passed.count(b"\n")
        self._gap = (self._gap + passed)[: _GAP_BYTES_MAX + 1]
        self._offset = offset

    def _resume(self, begin: int, column: int) -> None:
        elements = self._elements
        if _ROOT in self._gap and len(elements.dropped.header_lines) < FIRST_LINES_MOST:
            elements.dropped.header_lines.append(self._torn_line + self._gap[: self._gap.rindex(_ROOT)].count(b"\n"))
        intact_count = 0
        if not elements.is_one_line:
            for sample in elements.open:
                if sample.column >= column or not sample.opens_up:
                    break
                intact_count += 1
        torn, elements.open = elements.open[intact_count:], elements.open[:intact_count]
        self._note(torn, f"reading resumes in line {self._line}")
        self._parser = expat.ParserCreate("utf-8")
        # Open the elements that are still open, because their end tags follow.
        head = f"<{ROOT_TAG}>{''.join(f'<{sample.tag}>' for sample in elements.open)}\n".encode()
        self._parser.Parse(head, False)
        self._parser_index = len(head) - begin
        self._first_index = len(head) + column
        self._given = begin
        elements.lines_before = self._line - 2
        elements.attach(self._parser)

    def _note(self, torn: list[Open], then: str) -> None:
        counted = [sample for sample in torn if sample.counts]
        for sample in counted:
            self._elements.dropped.note(sample.line, f"torn sample: it has no proper end; {then}")
        is_between = not counted or counted[-1].opens_up
        if is_between and (len(self._gap) > _GAP_BYTES_MAX or not _BETWEEN_FILES.fullmatch(self._gap)):
            self._elements.dropped.note(self._torn_line, f"{self._reason}; {then}")
