"""Reads a CSV JTL into samples, and counts and names every record that it has to drop.

One rule finds a torn record: a closing quote must be followed by the delimiter, a line end or the end of the file.
Otherwise the record with the opening quote is torn. It is dropped and counted, and reading resumes at the line after
its first one. A record whose number of fields differs from the header is torn too. Of such a record only the first line
is dropped, because a quote of a later record may have closed the torn quote.
"""

from __future__ import annotations

import io
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain
from typing import IO, NamedTuple

from harness.base.errors import UsageError
from harness.base.units import BYTES_PER_MB
from harness.jtl.layout import Layout, assumed_layout, is_header, lacks_columns, spelled
from harness.jtl.sample import FIRST_LINES_MOST, Dropped, Sample
from harness.jtl.times import ALWAYS, HEAD_BYTES, BadTimeError, Times, times_near

DELIMITERS = (",", "|", ";", "\t")
# Bytes that are not UTF-8 become \\xe4 and so on, so that labels that differ only in them stay distinct and printable.
NOT_UTF_8 = "backslashreplace"
_TORN = "torn record: a quote that does not close properly"
# A record with quotes may span lines. One that spans more than this has a torn quote.
_LINES_PER_RECORD_MAX = 10_000
# A longer line, or record, is torn: it costs no more memory than this. Part.java reads no record of half this length.
LINE_BYTES_MAX = 16 * BYTES_PER_MB
# A chunk with one of these has records that take a closer look.
_BOM = "\ufeff".encode()
_LINE_END = ord("\n")
_ODD = (b'"', b"\r", b"\0", _BOM)


def parse(stream: IO[bytes], name: str, dropped: Dropped, columns: Sequence[str] | None = None) -> Iterator[Sample]:
    """Yield the samples of the lines of a CSV JTL in file order; count dropped records in `dropped`.

    Errors call the file `name`; `columns` are used for a file without a header line. UsageError when this is
    not a CSV JTL.
    """
    lines, head, size_bytes = lines_of(stream), list[bytes](), 0
    while size_bytes < HEAD_BYTES and (line := next(lines, b"")):
        head.append(line)
        size_bytes += len(line)
    rows = RowReader.of(name, dropped, columns, b"".join(head))
    yield from Records(chain(head, lines), dropped, rows).samples()


def _times_of(head: bytes, columns: Sequence[str] | None) -> Times:
    """Return the possible time stamps of a CSV JTL whose first bytes are these."""
    text = head[:HEAD_BYTES]
    text = text[: text.rfind(b"\n") + 1]
    try:
        rows = RowReader("", Dropped(), Layout.of(columns, "") if columns else None)
        return times_near(Records(lines_of(io.BytesIO(text)), Dropped(), rows).samples())
    except UsageError:
        return ALWAYS  # whoever reads on from there refuses it


def lines_of(stream: IO[bytes]) -> Iterator[bytes]:
    """Return the lines of a stream; one longer than LINE_BYTES_MAX in pieces, all but the last without a line end."""
    return iter(partial(stream.readline, LINE_BYTES_MAX), b"")


class GrowingCsv:
    """Reads a CSV JTL chunk by chunk while JMeter writes it: the samples of all chunks are those of `parse`, and the
    ones whose time stamps are impossible.

    Nearly all rows are plain: no quotes, no odd bytes, each field as JMeter writes it. Chunks of only such rows are
    read in half the time that `parse` takes.
    """

    def __init__(self, name: str) -> None:
        self._dropped = Dropped()  # the report reads the file again and counts for itself
        self._rows = RowReader(name, self._dropped)
        self._delimiter = ""
        self._unfinished = b""

    def samples(self, data: bytes) -> list[Sample]:
        """Return the samples of the next whole lines; a record that does not end in them waits for the next ones."""
        samples = None if self._unfinished else self._plain(data)
        return self._others(self._unfinished + data) if samples is None else samples

    def skip(self) -> None:
        """Forget a record that waits for lines which will not be read."""
        self._unfinished = b""

    def rest(self) -> list[Sample]:
        """Return the samples of what waits at the end of the file."""
        records = Records(lines_of(io.BytesIO(self._unfinished)), self._dropped, self._rows, self._delimiter)
        self._unfinished = b""
        return [sample for record in iter(records.next, None) if (sample := self._rows.sample(*record)) is not None]

    def _plain(self, data: bytes) -> list[Sample] | None:
        """Return the samples of lines; None when one of them is not plain."""
        layout, delimiter = self._rows.layout, self._delimiter
        read = layout.plain_sample if layout else None
        if layout is None or read is None or any(odd in data for odd in _ODD):
            return None
        samples = []
        for line in data.decode("utf-8", errors=NOT_UTF_8).removesuffix("\n").split("\n"):
            fields = line.split(delimiter)
            sample = read(fields) if len(fields) == layout.width else None
            if sample is None:
                return None
            samples.append(sample)
        return samples

    def _others(self, data: bytes) -> list[Sample]:
        """Return the samples of lines of any kind; what follows the last whole record becomes `_unfinished`."""
        stream = io.BytesIO(data)
        records = Records(_until_end(stream), self._dropped, self._rows, self._delimiter)
        samples, used = [], 0
        with suppress(_ChunkEndError):
            while (record := records.next()) is not None:
                used = stream.tell() - len(records.read_ahead)
                if (sample := self._rows.sample(*record)) is not None:
                    samples.append(sample)
        self._delimiter, self._unfinished = records.delimiter, data[used:]
        return samples


class _ChunkEndError(Exception):
    """The lines of a chunk are used up: the record that is being read may continue in the next chunk."""


def _until_end(stream: io.BytesIO) -> Iterator[bytes]:
    yield from lines_of(stream)
    raise _ChunkEndError


class Records:
    """Splits lines into records. A quoted field may contain delimiters, doubled quotes and newlines."""

    def __init__(
        self, lines: Iterator[bytes], dropped: Dropped, rows: RowReader, delimiter: str = "", lines_before: int = 0
    ) -> None:
        self.delimiter = delimiter
        self._lines = lines
        self._dropped = dropped
        self._rows = rows
        self._line_count = lines_before
        self._waiting: deque[_Line] = deque()
        # Whether the last line was a piece of a longer one, which continues.
        self._is_piece = False

    @property
    def line_count(self) -> int:
        """Return the number of lines read so far, including those before the first record."""
        return self._waiting[0].number - 1 if self._waiting else self._line_count

    @property
    def read_ahead(self) -> bytes:
        """Return the bytes read in search of a closing quote that belong to no record yet."""
        return b"".join(line.raw for line in self._waiting)

    def samples(self) -> Iterator[Sample]:
        """Yield the samples of the records."""
        while True:
            layout, is_between = self._rows.layout, not self._waiting and not self._is_piece
            if layout and (read := layout.plain_sample) and self.delimiter and is_between:
                # Nearly all records are plain, and read here in half the time.
                width, delimiter = layout.width, self.delimiter
                for raw in self._lines:
                    fields = _plain_fields(raw, delimiter)
                    sample = read(fields) if fields and len(fields) == width else None
                    if sample is None:
                        self._waiting.append(self._line(raw))
                        break
                    self._line_count += 1
                    yield sample
            if (record := self.next()) is None:
                return
            if (sample := self._rows.sample(*record)) is not None:
                yield sample

    def next(self) -> tuple[int, list[str]] | None:
        """Return (line number, fields) of the next record, None at the end; count and skip torn records.

        A plain tuple, because one is made for each record.
        """
        if not self._waiting and self.delimiter and (raw := next(self._lines, None)) is not None:
            if not self._is_piece and (fields := _plain_fields(raw, self.delimiter)):
                self._line_count += 1
                return self._line_count, fields
            self._waiting.append(self._line(raw))
        while (line := self._waiting.popleft() if self._waiting else self._pull()) is not None:
            text = line.text
            if text in ("", "\r"):
                continue
            if not self.delimiter:
                self.delimiter = max(DELIMITERS, key=text.count)
            self._rows.is_last = not line.raw.endswith(b"\n")
            fields = self._split(line) if '"' in text else text.removesuffix("\r").split(self.delimiter)
            if fields is not None:
                return line.number, fields
        return None

    def _pull(self) -> _Line | None:
        raw = next(self._lines, None)
        return None if raw is None else self._line(raw)

    def _line(self, raw: bytes) -> _Line:
        is_rest, self._is_piece = self._is_piece, len(raw) >= LINE_BYTES_MAX and not raw.endswith(b"\n")
        if is_rest:
            return _Line(self._line_count, raw, "")
        self._line_count += 1
        if self._is_piece:
            self._dropped.note(self._line_count, f"a line longer than {LINE_BYTES_MAX // BYTES_PER_MB} MB")
            return _Line(self._line_count, raw, "")
        text = raw.removesuffix(b"\n").decode("utf-8", errors=NOT_UTF_8)
        text = text.removeprefix("\ufeff")  # at the start of the file, or of one appended to it
        if "\0" in text:  # a full disk leaves a block of NUL bytes in place of lost data
            self._dropped.note(self._line_count, "NUL bytes: data was lost here")
            text = text[text.rindex("\0") + 1 :]
        return _Line(self._line_count, raw, text)

    def _split(self, line: _Line) -> list[str] | None:
        """Return the fields of the record that begins with `line`; None, and counted, when it is torn."""
        text, used, size_bytes = line.text, 0, len(line.raw)
        fields = _split_quoted(text, self.delimiter)
        while fields is None and used <= _LINES_PER_RECORD_MAX and size_bytes <= LINE_BYTES_MAX:
            # The record continues in the next line: one that was put back, else from the file.
            if used == len(self._waiting):
                if (following := self._pull()) is None:
                    self._rows.is_last = True
                    break
                self._waiting.append(following)
            following = self._waiting[used]
            text += "\n" + following.text
            size_bytes += len(following.raw)
            used += 1
            if '"' in following.text:
                fields = _split_quoted(text, self.delimiter)
        if not fields:
            self._dropped.note(line.number, _TORN, is_torn_end=self._rows.is_last and not self._waiting)
            return None
        if used and (misfit := self._rows.misfit(fields)):
            self._dropped.note(line.number, misfit)
            return None
        for _ in range(used):
            self._rows.is_last = not self._waiting.popleft().raw.endswith(b"\n")
        return fields


class _Line(NamedTuple):
    number: int
    raw: bytes
    text: str


def _plain_fields(raw: bytes, delimiter: str) -> list[str] | None:
    """Return the fields of a line that is one whole record, as nearly all are; None for one to look at closely.

    Its quotes are all around whole fields, with none within them.
    """
    if raw[-1] != _LINE_END or b"\0" in raw or (not raw.isascii() and _BOM in raw):
        return None
    text = raw[:-1].decode("utf-8", errors=NOT_UTF_8).removesuffix("\r")
    if b'"' not in raw:
        return text.split(delimiter) if text else None
    first, *parts = text.split('"')
    if len(parts) % 2 or (first and not first.endswith(delimiter)):
        return None
    fields = first[:-1].split(delimiter) if first else []
    *between, quoted, last = parts
    for inner, outer in zip(between[::2], between[1::2], strict=True):
        if not (outer.startswith(delimiter) and outer.endswith(delimiter)):
            return None
        fields.append(inner)
        if len(outer) > 1:
            fields += outer[1:-1].split(delimiter)
    fields.append(quoted)
    if last and not last.startswith(delimiter):
        return None
    return [*fields, *last[1:].split(delimiter)] if last else fields


def _split_quoted(text: str, delimiter: str) -> list[str] | None:
    """Return the fields of a text with quotes; None while one is open, none when one is not before a delimiter."""
    fields: list[str] = []
    position = 0
    text = text.removesuffix("\r")  # of a CRLF line end; an open quote makes the caller retry with the whole record
    while True:
        if text.startswith('"', position):
            end = position + 1
            while True:
                end = text.find('"', end)
                if end < 0:
                    return None
                if not text.startswith('""', end):
                    break
                end += 2
            fields.append(text[position + 1 : end].replace('""', '"'))
            position = end + 1
            if position == len(text):
                return fields
            if not text.startswith(delimiter, position):
                return []
            position += 1
        else:
            end = text.find(delimiter, position)
            if end < 0:
                fields.append(text[position:])
                return fields
            fields.append(text[position:end])
            position = end + 1


class RowReader:
    """Turns records into samples. Any header line, also a later one, sets the current columns.

    `times` are the possible time stamps.
    """

    def __init__(self, name: str, dropped: Dropped, layout: Layout | None = None, times: Times = ALWAYS) -> None:
        self.layout = layout
        self.times = times
        # Whether the record is the last one of its file, without the end of its line: a killed writer leaves it torn.
        self.is_last = False
        self._is_padded = False
        self._name = name
        self._dropped = dropped

    @classmethod
    def of(cls, name: str, dropped: Dropped, columns: Sequence[str] | None, head: bytes) -> RowReader:
        """Return the reader of a file whose first HEAD_BYTES, or more, are `head`; errors call it `name`.

        `columns` are those of a file without a header line.
        """
        times = _times_of(head, columns)
        return cls(name, dropped, Layout.of(columns, f"{name}: --columns", times) if columns else None, times)

    def misfit(self, fields: Sequence[str]) -> str:
        """Return what is wrong with the number of fields; "" while the columns are unknown."""
        if self.layout is None or len(fields) == self.layout.width:
            return ""
        return f"{len(fields)} fields where the header has {self.layout.width}"

    def sample(self, line_number: int, fields: list[str]) -> Sample | None:
        """Return the sample of a record; None for a header line and for a dropped record."""
        layout = self.layout
        if layout is not None and layout.plain_sample and len(fields) == layout.width:
            # First, because nearly all records are plain; a header line never is.
            sample = layout.plain_sample(fields)
            if sample is not None:
                return sample
        if is_header(fields) or (layout is None and is_header(spelled(fields))):
            if layout is not None and len(fields) != layout.width and lacks_columns(fields):
                self._dropped.note(line_number, f"a torn header line: {self.misfit(fields)}")
                return None
            if line_number > 1 and self.layout is not None and len(self._dropped.header_lines) < FIRST_LINES_MOST:
                self._dropped.header_lines.append(line_number)
            self.layout = Layout.of(fields, f"{self._name}:{line_number}", self.times)
            self._is_padded = any(name != name.strip() for name in fields)
            return None
        if self.layout is None:
            self.layout = assumed_layout(fields, f"{self._name}:{line_number}", self.times)
        if len(fields) != self.layout.width:
            surplus = len(fields) - self.layout.width
            self._dropped.note(line_number, self.misfit(fields), surplus=surplus, is_torn_end=self.is_last)
            return None
        if self._is_padded and fields[elapsed := self.layout.index_of["elapsed"]] != fields[elapsed].strip():
            raise UsageError(f"{self._name}:{line_number}: blanks are beside the delimiters", "write it without them")
        try:
            return self.layout.checked_sample(fields)
        except ValueError as error:
            is_bad_time = isinstance(error, BadTimeError)
            self._dropped.note(line_number, str(error), is_torn_end=self.is_last, is_bad_time=is_bad_time)
            return None
