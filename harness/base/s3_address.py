"""Parses S3 addresses: s3://bucket/prefix, and the URL of an S3-compatible server."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from harness.base.errors import UsageError

SCHEME = "s3://"
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_TODO = "give s3://bucket/prefix"


@dataclass(frozen=True)
class Location:
    """A bucket and what all keys in it begin with; of an object its whole key."""

    bucket: str
    prefix: str

    @property
    def url(self) -> str:
        """The address as users write it."""
        return f"{SCHEME}{self.bucket}/{self.prefix}".rstrip("/")

    def key(self, path: str) -> str:
        """Return the key of the file at a path below it."""
        return f"{self.prefix}/{path}" if self.prefix else path


def parse_location(text: str) -> Location:
    """Return what s3://bucket/prefix names; UsageError when it is no such address, and no credentials repeated."""
    if not text.startswith(SCHEME):
        raise UsageError(f"{text}: not an S3 address", _TODO)
    bucket, _, prefix = text.removeprefix(SCHEME).partition("/")
    if "@" in bucket or ":" in bucket:
        raise UsageError(
            "an S3 address must not contain credentials or a port",
            "give s3://bucket/prefix; credentials come from the environment or ~/.aws, a server from --endpoint-url",
        )
    if not _BUCKET.fullmatch(bucket):
        raise UsageError(f"{text}: {bucket!r} is not a bucket name", _TODO)
    if re.search(r"[?#\x00-\x1f]", prefix):
        raise UsageError(f"{text}: the prefix contains ?, # or a control character", _TODO)
    return Location(bucket, prefix.strip("/"))


def parse_endpoint_url(text: str) -> str:
    """Return the URL of an S3-compatible server; UsageError, without credentials, for anything else."""
    todo = "give http://host:9000"
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError as error:
        raise UsageError(f"--endpoint-url: {error}", todo) from None
    if parts.username or parts.password:
        raise UsageError(
            "--endpoint-url must not contain credentials", "they come from the environment or ~/.aws: lth help storage"
        )
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"--endpoint-url {text}: not an http or https address", todo)
    return text
