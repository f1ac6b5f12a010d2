"""Reads an S3 object as a stream and resumes after a broken connection."""

from __future__ import annotations

import io
import time
from collections.abc import Iterator, Mapping
from typing import IO, TYPE_CHECKING, Any

from harness.base.aws import aws_errors, client
from harness.base.errors import UsageError
from harness.base.s3_address import Location, parse_location

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_ATTEMPTS = 4
_PAUSE_S = 0.5
CHUNK_BYTES = 1024 * 1024


def chunks(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield the bytes of a stream, a MB at a time."""
    while data := stream.read(CHUNK_BYTES):
        yield data


class NoObjectError(UsageError):
    """No object exists at an S3 address."""


class ObjectStream(io.RawIOBase):
    """The bytes of an object; `size_bytes` is its size. Raises the errors of harness.base.errors."""

    def __init__(self, client: Any, location: Location) -> None:
        self._client = client
        self._location = location
        self._target = {"Bucket": location.bucket, "Key": location.prefix}
        self._position = 0
        with aws_errors(location.url):
            answer = self._first()
        self._body, self._etag = answer["Body"], answer["ETag"]
        self.size_bytes: int = answer["ContentLength"]

    def readable(self) -> bool:
        """Return True: the stream can be read."""
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Fill the buffer with the next bytes and return their number; 0 only at the end."""
        view = memoryview(buffer).cast("B")
        if self._position >= self.size_bytes or not view:
            return 0
        with aws_errors(self._location.url):
            data = self._next(len(view))
        view[: len(data)] = data
        self._position += len(data)
        return len(data)

    def close(self) -> None:
        """Close the connection."""
        if self._body is not None:
            self._body.close()
        super().close()

    def _next(self, size: int) -> bytes:
        from botocore.exceptions import HTTPClientError, IncompleteReadError

        for attempt in range(1, _ATTEMPTS + 1):
            try:
                if self._body is None:
                    self._body = self._rest()
                data: bytes = self._body.read(size)
                if data:
                    return data
                raise IncompleteReadError(actual_bytes=self._position, expected_bytes=self.size_bytes)
            except (HTTPClientError, IncompleteReadError):
                self._body = None
                if attempt == _ATTEMPTS:
                    raise
                time.sleep(_PAUSE_S * attempt)
        raise AssertionError("the last attempt returns or raises")

    def _first(self) -> Mapping[str, Any]:
        """Return the answer of S3 to the first request. NoObjectError when the object does not exist."""
        exceptions = self._client.exceptions
        try:
            answer: Mapping[str, Any] = self._client.get_object(**self._target)
        except exceptions.NoSuchKey:
            what = f"{self._location.url}: there is no such object"
            raise NoObjectError(what, "give its full key: s3://bucket/…/samples.jtl.zst") from None
        return answer

    def _rest(self) -> Any:
        from botocore.exceptions import ClientError

        try:
            answer = self._client.get_object(**self._target, Range=f"bytes={self._position}-", IfMatch=self._etag)
        except ClientError as error:
            if error.response["Error"]["Code"] in ("PreconditionFailed", "412", "NoSuchKey"):
                what = f"{self._location.url}: was replaced or removed while it was read"
                raise UsageError(what, "repeat the command") from None
            raise
        return answer["Body"]


def open_object(url: str, endpoint_url: str | None) -> ObjectStream:
    """Return a stream of the object s3://bucket/key. UsageError when it is missing or not readable for us."""
    location = parse_location(url)
    if not location.prefix:
        raise UsageError(
            f"{url}: a bucket, not an object", "give s3://bucket/…/samples.jtl.zst; ls lists the stored runs"
        )
    return ObjectStream(client("s3", endpoint_url), location)
