"""Bytes of a file as they were before they were compressed, or written as UTF-16: streams over iterators of chunks."""

from __future__ import annotations

import codecs
import io
import zlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from harness.base.errors import UsageError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

GZIP_MAGIC = b"\x1f\x8b"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
UTF_16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_BUFFER_BYTES = 1024 * 1024
_CHUNK_BYTES = 256 * 1024
# zstandard gives out all that the input holds at once; NUL bytes shrink to a 30,000th.
_ZSTD_STEP_BYTES = 1024
_ZSTD_WINDOW_MAX = 2**31


class Source(io.RawIOBase):
    """A file or an object of S3 that is read from its beginning to its end; `position` counts the bytes.

    Errors become UsageErrors.
    """

    def __init__(self, raw: io.RawIOBase, name: str) -> None:
        self.raw = raw
        self.position = 0
        self._name = name

    def readable(self) -> bool:
        """Whether it can be read: yes."""
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Fill the buffer, whatever pieces a pipe comes in, and return how much is in it: less at the end alone."""
        view = memoryview(buffer).cast("B")
        filled = 0
        try:
            while filled < len(view) and (count := self.raw.readinto(view[filled:])):
                filled += count
        except OSError as error:
            raise UsageError(f"{self._name}: cannot be read ({error.strerror})", "name another file") from None
        self.position += filled
        return filled

    def close(self) -> None:
        """Close the file."""
        self.raw.close()
        super().close()


class ChunkStream(io.RawIOBase):
    """A stream of what an iterator of chunks yields."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        """Whether it can be read: yes."""
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Fill the buffer and return how much is in it: less at the end alone."""
        view = memoryview(buffer).cast("B")
        filled = 0
        while filled < len(view):
            if not self._rest:
                chunk = next(self._chunks, None)
                if chunk is None:
                    break
                self._rest = memoryview(chunk)
                continue
            count = min(len(self._rest), len(view) - filled)
            view[filled : filled + count] = self._rest[:count]
            self._rest = self._rest[count:]
            filled += count
        return filled


def buffered(raw: io.RawIOBase) -> io.BufferedReader:
    """Return a stream to look into and to read from, in small pieces as well as in large ones."""
    return io.BufferedReader(raw, _BUFFER_BYTES)


def is_zstd(head: bytes) -> bool:
    """Return whether a zstd frame begins here, or one that decoders skip: pzstd writes such a one first."""
    return head.startswith(ZSTD_MAGIC) or (head[1:4] == b"\x2a\x4d\x18" and head[0] & 0xF0 == 0x50)


def gunzipped(source: io.BufferedReader, cut: Callable[[str], None]) -> Iterator[bytes]:
    """Yield what the members of a gzip file hold; `cut` is told why it ends before the end."""
    decoder = zlib.decompressobj(wbits=31)
    data = b""
    while data := data or source.read(_CHUNK_BYTES):
        before = decoder.copy()
        try:
            out = decoder.decompress(data, _BUFFER_BYTES)
        except zlib.error:
            yield from _before_damage(before, data)
            cut("the gzip data is damaged")
            return
        if out:
            yield out
        data = decoder.unconsumed_tail
        if decoder.eof:
            data = decoder.unused_data.lstrip(b"\0")  # the end of a block device or tape
            while not data and (more := source.read(_CHUNK_BYTES)):
                data = more.lstrip(b"\0")
            if not data:
                return
            if not GZIP_MAGIC.startswith(data[:2]):
                cut("behind the gzip data there is something else")
                return
            decoder = zlib.decompressobj(wbits=31)
    yield decoder.flush()
    cut("the gzip data is cut off")


def _before_damage(decoder: zlib._Decompress, data: bytes) -> Iterator[bytes]:
    """Yield what comes out byte by byte before the bad one: an error takes along all that its call had got."""
    try:
        for place in range(len(data)):
            out = decoder.decompress(data[place : place + 1])
            if out:
                yield out
    except zlib.error:
        return


def unzstd(source: io.BufferedReader, cut: Callable[[str], None]) -> Iterator[bytes]:
    """Yield what the frames of a zstd file hold; `cut` is told why it ends before the end."""
    import zstandard

    decompressor = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_MAX)
    decoder = None
    while data := source.read(_CHUNK_BYTES):
        for place in range(0, len(data), _ZSTD_STEP_BYTES):
            piece = data[place : place + _ZSTD_STEP_BYTES]
            while piece:
                decoder = decoder or decompressor.decompressobj()
                try:
                    out = decoder.decompress(piece)
                except zstandard.ZstdError:
                    cut("the zstd data is damaged")
                    return
                if out:
                    yield out
                piece = b""
                if decoder.eof:
                    piece, decoder = decoder.unused_data, None
    if decoder is not None:
        cut("the zstd data is cut off")


def utf_8(source: io.BufferedReader) -> Iterator[bytes]:
    """Yield UTF-16 text, which begins with its mark, as UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-16")("replace")
    while chunk := source.read(_CHUNK_BYTES):
        yield decoder.decode(chunk).encode()
    yield decoder.decode(b"", final=True).encode()
