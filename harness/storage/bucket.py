"""The server that stores runs: its clients, its objects, the check before a run, and a second attempt."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from harness.base.aws import aws_errors, client, no_service
from harness.base.errors import UnavailableError
from harness.base.log import Log
from harness.base.s3_address import Location, parse_endpoint_url, parse_location
from harness.storage.stored_runs import StoredObject

_T = TypeVar("_T")
_PROBE = ".write-check"
# A gateway that restarts is back after some seconds; boto3's own attempts take four.
_LATER_S = 20.0


@dataclass(frozen=True)
class Storage:
    """Where runs are stored: an S3 address, the server's address unless it is AWS, and the client."""

    location: Location
    endpoint_url: str | None
    client: Any = field(repr=False)

    @cached_property
    def sender(self) -> Any:
        """The client that sends files."""
        return client("s3", self.endpoint_url, sends=True)

    def target(self, path: str) -> Mapping[str, str]:
        """Return the request parameters for a path."""
        return {"Bucket": self.location.bucket, "Key": self.location.key(path)}

    def url(self, path: str) -> str:
        """Return the address of a path."""
        return f"{self.location.url}/{path}"


def open_storage(url: str, endpoint_url: str | None = None) -> Storage:
    """Return the storage at s3://bucket/prefix without a request. UsageError for another address."""
    location = parse_location(url)
    endpoint_url = parse_endpoint_url(endpoint_url) if endpoint_url else None
    return Storage(location, endpoint_url, client("s3", endpoint_url))


def check_writable(storage: Storage, log: Log) -> None:
    """Raise a one-line error unless runs can be pushed; nothing is left behind."""

    def check() -> None:
        with aws_errors(storage.location.url):
            target = storage.target(_PROBE)
            storage.client.list_objects_v2(Bucket=target["Bucket"], Prefix=target["Key"], MaxKeys=1)
            storage.client.list_multipart_uploads(Bucket=target["Bucket"], Prefix=target["Key"], MaxUploads=1)
            # Starting and aborting an upload checks the permissions of a push and leaves no object; deleting one would
            # need more.
            begun = storage.client.create_multipart_upload(**target)
            storage.client.abort_multipart_upload(**target, UploadId=begun["UploadId"])

    again_later(check, log)


def again_later(act: Callable[[], _T], log: Log) -> _T:
    """Return what `act` returns, which is repeated once when the server was unavailable."""
    try:
        return act()
    except UnavailableError as error:
        log(f"{error.what}; trying again in {_LATER_S:.0f} s")
        time.sleep(_LATER_S)
        return act()


def objects(storage: Storage, below: str) -> dict[str, StoredObject]:
    """Return the objects below a path, by path."""
    own = len(storage.location.key(""))
    pages = storage.client.get_paginator("list_objects_v2").paginate(
        Bucket=storage.location.bucket, Prefix=storage.location.key(below)
    )
    listed: dict[str, StoredObject] = {}
    for page in pages:
        if "Name" not in page:
            raise no_service(storage.location.url)
        for found in page.get("Contents", ()):
            listed[found["Key"][own:]] = StoredObject(found["Size"], found["ETag"].strip('"'))
    return listed
