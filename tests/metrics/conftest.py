"""The counter of large JTLs."""

from collections.abc import Iterator

import pytest

from harness.base.install.toolchain import ensure_counter
from harness.base.java import java_context
from harness.metrics.counter_process import Program, shared_counter


@pytest.fixture(scope="session")
def program() -> Program:
    return Program(java_context()["java"], ensure_counter())


@pytest.fixture(scope="module")
def one_process() -> Iterator[None]:
    """Let the tests of a module share the counter's process: its start takes longer than most of them."""
    with shared_counter():
        yield
