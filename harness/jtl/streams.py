"""Streams of the original bytes of files that were compressed or written as UTF-16."""

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
# zstandard returns everything that its input contains at once, and NUL bytes shrink 30,000-fold.
_ZSTD_STEP_BYTES = 1024
_ZSTD_WINDOW_MAX = 2**31


class StreamSource(io.RawIOBase):
    """A file or S3 object, or its first `most_bytes`, read once from start to end; `position` is how many were read.

    Read errors become UsageErrors.
    """

    def __init__(self, raw: io.RawIOBase, name: str, most_bytes: int | None = None) -> None:
        self.raw = raw
        self.position = 0
        self._name = name
        self._most_bytes = most_bytes

    def readable(self) -> bool:
        """Return True: the stream can be read."""
        return True

    def tell(self) -> int:
        """Return how many bytes were read; a buffered stream takes off those that it still has."""
        return self.position

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Fill the buffer, even from a slow pipe, and return the byte count; less than full only at the end."""
        view = memoryview(buffer).cast("B")
        if self._most_bytes is not None:
            view = view[: self._most_bytes - self.position]
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
    """A stream of the chunks that an iterator yields."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        """Return True: the stream can be read."""
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Fill the buffer and return the byte count; less than full only at the end."""
        view = memoryview(buffer).cast("B")
        filled = 0
        while filled < len(view):
            while not self._rest:
                if (chunk := next(self._chunks, None)) is None:
                    return filled
                self._rest = memoryview(chunk)
            count = min(len(self._rest), len(view) - filled)
            view[filled : filled + count] = self._rest[:count]
            self._rest = self._rest[count:]
            filled += count
        return filled


def buffered(raw: io.RawIOBase) -> io.BufferedReader:
    """Return a buffered stream that allows peeking and small reads."""
    return io.BufferedReader(raw, _BUFFER_BYTES)


def is_zstd(head: bytes) -> bool:
    """Return whether a zstd frame begins here, or a skippable frame such as pzstd writes first."""
    return head.startswith(ZSTD_MAGIC) or (head[1:4] == b"\x2a\x4d\x18" and head[0] & 0xF0 == 0x50)


def gunzipped(source: io.BufferedReader, cut: Callable[[str], None]) -> Iterator[bytes]:
    """Yield the contents of the members of a gzip file; call `cut` with the reason if it ends early."""
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
            data = decoder.unused_data.lstrip(b"\0")  # padding of a block device or tape
            while not data and (more := source.read(_CHUNK_BYTES)):
                data = more.lstrip(b"\0")
            if not data:
                return
            if not GZIP_MAGIC.startswith(data[:2]):
                cut("other data follows the gzip data")
                return
            decoder = zlib.decompressobj(wbits=31)
    yield decoder.flush()
    cut("the gzip data is cut off")


def _before_damage(decoder: zlib._Decompress, data: bytes) -> Iterator[bytes]:
    """Decompress byte by byte up to the damage: an error discards all output of its call."""
    try:
        for offset in range(len(data)):
            if out := decoder.decompress(data[offset : offset + 1]):
                yield out
    except zlib.error:
        return


def unzstd(source: io.BufferedReader, cut: Callable[[str], None]) -> Iterator[bytes]:
    """Yield the contents of the frames of a zstd file; call `cut` with the reason if it ends early."""
    from harness.base.install.python_packages import ensure_zstandard  # here, because only these files need it

    ensure_zstandard()
    import zstandard

    decompressor = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_MAX)
    decoder = None
    while data := source.read(_CHUNK_BYTES):
        for offset in range(0, len(data), _ZSTD_STEP_BYTES):
            piece = data[offset : offset + _ZSTD_STEP_BYTES]
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
    """Yield UTF-16 text, which begins with its byte order mark, as UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-16")("replace")
    while chunk := source.read(_CHUNK_BYTES):
        yield decoder.decode(chunk).encode()
    yield decoder.decode(b"", final=True).encode()
