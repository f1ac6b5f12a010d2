"""Credentials for a CloudWatch on this machine, and no delay before boto3 repeats a call."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from tests.support.moto_server import ENVIRONMENT


@functools.cache
def _loader(*_: object) -> Any:
    """Return one loader for all sessions of boto3: reading its models is half of the time that a client takes."""
    from botocore.loaders import Loader

    return Loader()


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    if request.node.get_closest_marker("real"):  # others load no boto3
        monkeypatch.setattr("botocore.session.create_loader", _loader)
        monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0.01)
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    for name in ("AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
