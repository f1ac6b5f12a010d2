"""moto's server: AWS over HTTP on this machine, for the length of a test module."""

from __future__ import annotations

import functools
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock

OWNER, READER = "tester", "reader"
# Keys that moto takes as it takes any; nothing of the machine's own settings reaches a test.
ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing-secret",
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
}


@dataclass(frozen=True)
class Server:
    """A server that speaks S3: the environment of a client by user, and what removes all buckets with a client."""

    address: str
    clients: Mapping[str, Mapping[str, str]]
    remove_buckets: Callable[[Any], None]


@contextmanager
def moto() -> Iterator[Server]:
    """Yield moto's server with one user."""

    def remove_buckets(_client: object) -> None:
        urllib.request.urlopen(urllib.request.Request(f"{address}/moto-api/reset", method="POST"), timeout=10).close()

    with moto_server() as address:
        yield Server(address, {OWNER: ENVIRONMENT}, remove_buckets)


@contextmanager
def moto_server() -> Iterator[str]:
    """Yield the address of a server with nothing in it.

    Meanwhile all sessions of boto3 share what they load: reading its models is half of the time that a client takes.
    """
    import botocore.session  # deferred: the keys alone need no boto3, which takes long to load

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    address = f"http://127.0.0.1:{port}"
    process = subprocess.Popen(
        command, env={**os.environ, **ENVIRONMENT}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    loader = functools.cache(botocore.session.create_loader)
    try:
        _wait_for(address, process)
        with mock.patch.object(botocore.session, "create_loader", loader):
            yield address
    finally:
        process.kill()
        process.wait()


def _wait_for(address: str, process: subprocess.Popen[bytes]) -> None:
    deadline_s = time.monotonic() + 30
    while time.monotonic() < deadline_s:
        assert process.poll() is None, "moto's server ended"
        try:
            with urllib.request.urlopen(f"{address}/moto-api/data.json", timeout=2):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)
    raise AssertionError("moto's server did not come up within 30 s")
