"""A server that speaks S3, and a proxy before it that makes faults."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from harness.storage.bucket import Storage, open_storage
from tests.support.ceph import ceph
from tests.support.fault_proxy import Proxy
from tests.support.moto_server import OWNER, Server, moto

SERVERS = {"moto": moto, "ceph": ceph}


@pytest.fixture(scope="session", params=["moto", pytest.param("ceph", marks=pytest.mark.counterpart)])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    with SERVERS[request.param]() as server:
        yield server


@pytest.fixture(scope="session")
def beside(server: Server) -> Any:
    """A client of the server itself, past the proxy."""
    import boto3  # deferred: it takes long to load

    keys = {name.lower(): server.clients[OWNER][name] for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")}
    return boto3.client("s3", endpoint_url=server.address, region_name="us-east-1", **keys)


@pytest.fixture
def proxy(server: Server, beside: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    """A proxy before a server with the empty bucket `kept`; tests and what they start know no other.

    boto3 does not wait before it tries again in a test.
    """
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0.01)
    for name, value in server.clients[OWNER].items():
        monkeypatch.setenv(name, value)
    beside.create_bucket(Bucket="kept")
    proxy = Proxy(server.address)
    monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.address)
    yield proxy
    proxy.close()
    server.remove_buckets(beside)


@pytest.fixture
def storage(proxy: Proxy) -> Storage:
    return open_storage("s3://kept/load", proxy.address)
