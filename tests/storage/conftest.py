"""A server that speaks S3, and a proxy before it that makes faults."""

from __future__ import annotations

import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from harness.storage.bucket import Storage, open_storage
from tests.support.fault_proxy import Proxy
from tests.support.moto_server import ENVIRONMENT, moto_server


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    with moto_server() as address:
        yield address


@pytest.fixture(scope="session")
def beside(server: str) -> Any:
    """A client of the server itself, past the proxy."""
    import boto3  # deferred: it takes long to load

    keys = {name.lower(): ENVIRONMENT[name] for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")}
    return boto3.client("s3", endpoint_url=server, region_name="us-east-1", **keys)


@pytest.fixture
def proxy(server: str, beside: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    """A proxy before a server with the empty bucket `kept`; tests and what they start know no other.

    boto3 does not wait before it tries again in a test.
    """
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0.01)
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    beside.create_bucket(Bucket="kept")
    proxy = Proxy(server)
    monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.address)
    yield proxy
    proxy.close()
    urllib.request.urlopen(urllib.request.Request(f"{server}/moto-api/reset", method="POST"), timeout=10).close()


@pytest.fixture
def storage(proxy: Proxy) -> Storage:
    return open_storage("s3://kept/load", proxy.address)
