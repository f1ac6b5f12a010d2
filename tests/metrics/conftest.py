"""The counter of large JTLs."""

import pytest

from harness.base.java import java_context
from harness.base.toolchain import ensure_counter
from harness.metrics.counter_process import Program


@pytest.fixture(scope="session")
def program() -> Program:
    return Program(java_context()["java"], ensure_counter())
