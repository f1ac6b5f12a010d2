"""Credentials for a CloudWatch on this machine, and no delay before boto3 repeats a call."""

from __future__ import annotations

import pytest

from tests.support.moto_server import ENVIRONMENT


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    if request.node.get_closest_marker("real"):  # others load no boto3
        monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0.01)
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    for name in ("AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
