"""The KillBill of all tests in this folder: of the smallest size, with MariaDB, and without the rights of root."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.killbill_client import KillBill
from tests.support.killbill_instance import SETTINGS, Instance, Shared, free_ports, started_without_root


@pytest.fixture(scope="package")
def shared() -> Iterator[Shared]:
    folder = Path(tempfile.mkdtemp(prefix="lt-without-root-")).resolve()
    ports = free_ports()
    settings = {**SETTINGS, "gateway": "failing"}
    try:
        with ExitStack() as stack:
            started = stack.enter_context(started_without_root(settings, folder, ports))
            instance = Instance(started.target_url, started.processes, ports)
            account = instance.client.account()
            statuses = [instance.client.pay(account, "PURCHASE", 10).status for _ in range(3)]
            instance.set_gateway()
            payment = instance.client.pay_through()
            log_bytes = (folder / "logs" / "killbill.log").stat().st_size
            yield Shared(instance, started, folder / "logs", stack, statuses, log_bytes, payment)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="package")
def instance(shared: Shared) -> Instance:
    return shared.instance


@pytest.fixture
def killbill(instance: Instance) -> KillBill:
    """The client of the shared KillBill, with the normal gateway."""
    instance.set_gateway()
    return instance.client
