"""Uploads a file to S3: compresses it on the way, sends large files in parts, and resumes interrupted uploads."""

from __future__ import annotations

import hashlib
import itertools
import sys
from base64 import b64encode
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

from harness.base.aws import aws_errors
from harness.base.errors import ServiceError, UsageError
from harness.base.install.python_packages import ensure_zstandard
from harness.base.log import print_text
from harness.base.s3_stream import chunks
from harness.base.units import BYTES_PER_MB
from harness.storage.stored_runs import StoredFile

# S3 accepts at most 10,000 parts, and parts below 5 MB only at the end.
_PART_BYTES = 8 * BYTES_PER_MB
_PARTS_MAX = 10_000
_AT_ONCE = 4
# One thread at one level always produces the same bytes, so that parts that are already uploaded are recognized.
# A higher level takes twice as long and gains nothing: KillBill's JTL shrinks to 1/7.0 by level 1, to 1/6.3 by level 3.
_LEVEL = 1
# Metadata of the object: the checksum of the local file before compression.
SUM_KEY = "sha256"

# The request parameters that identify the object: Bucket and Key.
Target = Mapping[str, str]


def upload(
    client: Any, target: Target, source: Path, file: StoredFile, read: Callable[[int], None], *, is_broken: bool = False
) -> int:
    """Upload a file and return the number of bytes sent; `read` receives the number of bytes read so far.

    A large object that was assembled by an interrupted push is not sent again, unless it `is_broken`.
    Every part has its SHA-256, which S3 checks; the checksum that S3 returns is also checked. ServiceError for a wrong
    checksum, UsageError when the file changes during the upload.
    """
    before = source.stat()
    metadata = {SUM_KEY: file.sha256}
    with aws_errors(_address(target)), source.open("rb") as stream:
        part_bytes = max(_PART_BYTES, -(-file.size_bytes // _PARTS_MAX))
        parts = _parts(_packed(stream) if file.is_packed else chunks(stream), part_bytes, lambda: read(stream.tell()))
        first, second = next(parts, b""), next(parts, None)
        if second is None:
            put(client, target, first, Metadata=metadata)
            sent_bytes = len(first)
        elif not is_broken and _is_whole(client, target, file):
            sent_bytes = 0
        else:
            sent_bytes = _send_parts(client, target, metadata, itertools.chain((first, second), parts))
    after = source.stat()
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns) or after.st_size != file.size_bytes:
        raise UsageError(f"{source.name}: changed while it was pushed", "repeat the command after the run")
    return sent_bytes


def put(client: Any, target: Target, data: bytes, **more: Any) -> None:
    """Store an object of one part; `more` are further parameters of PutObject. ServiceError when it arrived damaged.

    Without a checksum of ours boto3 sends one of its own behind the contents, in aws-chunked frames if the connection
    is encrypted: servers that do not know these store the frames, too.
    """
    _check(client.put_object(**target, Body=data, ChecksumSHA256=_sum_of(data), **more), data, target)


def _packed(stream: IO[bytes]) -> Iterator[bytes]:
    ensure_zstandard()
    import zstandard

    packer = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True).compressobj()
    for data in chunks(stream):
        yield packer.compress(data)
    yield packer.flush()


def _parts(chunks: Iterator[bytes], part_bytes: int, on_chunk: Callable[[], None]) -> Iterator[bytes]:
    """Yield the data of the chunks in parts of equal length; the last one is shorter."""
    pending = bytearray()
    for chunk in chunks:
        pending += chunk
        on_chunk()
        while len(pending) >= part_bytes:
            yield bytes(pending[:part_bytes])
            del pending[:part_bytes]
    if pending:
        yield bytes(pending)


def _send_parts(client: Any, target: Target, metadata: Mapping[str, str], parts: Iterator[bytes]) -> int:
    """Upload an object in parts and return the bytes sent; parts that are already uploaded are not sent again."""
    started = _unfinished(client, target)
    if started is None:
        answer = client.create_multipart_upload(**target, ChecksumAlgorithm="SHA256", Metadata=metadata)
        started = _Upload(answer["UploadId"], {})
    size_bytes = sent_bytes = 0
    sending: deque[Future[dict[str, Any]]] = deque()
    done: list[dict[str, Any]] = []
    # At the end, also after an error or Ctrl-C, wait for the few parts in transit: they count the next time.
    with ThreadPoolExecutor(_AT_ONCE) as pool, _announced_wait():
        for number, data in enumerate(parts, 1):
            size_bytes += len(data)
            part = started.parts.get(number)
            if part is not None and _matches(part, data):
                done.append(_part(number, part["ETag"], data))
                continue
            while len(sending) >= _AT_ONCE:
                done.append(sending.popleft().result())
            sending.append(pool.submit(_send_part, client, {**target, "UploadId": started.id}, number, data))
            sent_bytes += len(data)
        done += [future.result() for future in sending]
    done.sort(key=lambda part: part["PartNumber"])
    client.complete_multipart_upload(**target, UploadId=started.id, MultipartUpload={"Parts": done})
    stored_bytes = client.head_object(**target)["ContentLength"]
    if stored_bytes != size_bytes:
        raise _damaged(target, f"has {stored_bytes:,} bytes instead of {size_bytes:,}")
    return sent_bytes


@contextmanager
def _announced_wait() -> Iterator[None]:
    """Print a message at once when Ctrl-C arrives within the block: parts take long over a slow line."""
    try:
        yield
    except KeyboardInterrupt:
        print_text("waiting for the parts in transit, so that they are not sent again", file=sys.stderr, flush=True)
        raise


def _is_whole(client: Any, target: Target, file: StoredFile) -> bool:
    """Return whether the object exists and was assembled from correct parts."""
    from botocore.exceptions import ClientError

    try:
        return bool(client.head_object(**target)["Metadata"].get(SUM_KEY) == file.sha256)
    except ClientError as error:
        if error.response["Error"]["Code"] == "404":
            return False
        raise


class _Upload(NamedTuple):
    id: str
    parts: Mapping[int, Any]


def _unfinished(client: Any, target: Target) -> _Upload | None:
    """Return the object's newest interrupted upload; None without one."""
    pages = client.get_paginator("list_multipart_uploads").paginate(Bucket=target["Bucket"], Prefix=target["Key"])
    uploads = [one for page in pages for one in page.get("Uploads", ()) if one["Key"] == target["Key"]]
    if not uploads:
        return None
    upload_id = max(uploads, key=lambda one: one["Initiated"])["UploadId"]
    pages = client.get_paginator("list_parts").paginate(**target, UploadId=upload_id)
    return _Upload(upload_id, {part["PartNumber"]: part for page in pages for part in page.get("Parts", ())})


def _send_part(client: Any, target: Target, number: int, data: bytes) -> dict[str, Any]:
    answer = client.upload_part(**target, PartNumber=number, Body=data, ChecksumSHA256=_sum_of(data))
    _check(answer, data, target)
    return _part(number, answer["ETag"], data)


def _part(number: int, etag: str, data: bytes) -> dict[str, Any]:
    return {"PartNumber": number, "ETag": etag, "ChecksumSHA256": _sum_of(data)}


def _check(answer: Mapping[str, Any], data: bytes, target: Target) -> None:
    if not _matches(answer, data):
        raise _damaged(target, "got different contents from those sent")


def _matches(answer: Mapping[str, Any], data: bytes) -> bool:
    """Return whether the server's checksum of a part or object matches the data.

    Servers without SHA-256 return at least the MD5 as ETag, unless they encrypt with a key of their own.
    """
    if "ChecksumSHA256" in answer:
        return bool(answer["ChecksumSHA256"] == _sum_of(data))
    if str(answer.get("ServerSideEncryption", "")).startswith("aws:kms"):
        return True
    return bool(answer["ETag"].strip('"') == hashlib.md5(data, usedforsecurity=False).hexdigest())


def _sum_of(data: bytes) -> str:
    return b64encode(hashlib.sha256(data).digest()).decode()


def _damaged(target: Target, what: str) -> ServiceError:
    return ServiceError(
        f"{_address(target)}: the server {what} (wrong checksum)", "repeat the command to send it again"
    )


def _address(target: Target) -> str:
    return f"s3://{target['Bucket']}/{target['Key']}"
