"""The real KillBill with its Stripe stand-in: what it stores, what it answers to each gateway, and its databases.

Most tests share one KillBill and change its gateway. The others share what a second one, with MariaDB and without the
rights of root, left when it was stopped.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import pytest

from harness.system.exceptions import count_exceptions
from harness.system.heap import heap_uses, read_heaps
from harness.system.jfr import write_heap
from harness.system.own_metrics import values_of
from harness.system.supervisor import Supervisor
from harness.system.system import render
from tests.support.killbill_client import KillBill
from tests.support.killbill_instance import (
    BUILD,
    FAST,
    MANIFEST,
    Instance,
    free_ports,
    started,
    started_without_root,
)

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Instance]:
    ports = free_ports()
    with started(FAST, tmp_path_factory.mktemp("logs"), ports) as supervisor:
        yield Instance(supervisor.target_url, supervisor.processes, ports)


@pytest.fixture
def killbill(instance: Instance) -> KillBill:
    """The client of the shared KillBill, with the normal gateway."""
    instance.set_gateway()
    return instance.client


def amounts_of(killbill: KillBill, payment: str) -> dict[str, float]:
    body = killbill.call("GET", f"/payments/{payment}").body
    names = ("authAmount", "capturedAmount", "purchasedAmount", "refundedAmount")
    return {name: body[name] for name in names if body[name]}


def transactions_of(killbill: KillBill, payment: str) -> list[tuple[str, str]]:
    body = killbill.call("GET", f"/payments/{payment}").body
    return [(step["transactionType"], step["status"]) for step in body["transactions"]]


def last_status_of(killbill: KillBill, account: str) -> str:
    (payment,) = killbill.call("GET", f"/accounts/{account}/payments").body
    return str(payment["transactions"][-1]["status"])


def pay_through(killbill: KillBill) -> str:
    """Authorise 50, capture 20, refund 5; return the payment's id."""
    payment = killbill.pay(killbill.account(), "AUTHORIZE", 50)
    assert payment.status == 201
    assert killbill.call("POST", f"/payments/{payment.id}", {"amount": 20, "currency": "USD"}).status == 201
    assert killbill.call("POST", f"/payments/{payment.id}/refunds", {"amount": 5, "currency": "USD"}).status == 201
    return payment.id


def test_killbill_stores_what_was_sent(killbill: KillBill) -> None:
    payment = pay_through(killbill)
    assert amounts_of(killbill, payment) == {"authAmount": 50, "capturedAmount": 20, "refundedAmount": 5}
    steps = [("AUTHORIZE", "SUCCESS"), ("CAPTURE", "SUCCESS"), ("REFUND", "SUCCESS")]
    assert transactions_of(killbill, payment) == steps


def test_a_purchase_is_stored_as_purchased(killbill: KillBill) -> None:
    payment = killbill.pay(killbill.account(), "PURCHASE", 10)
    assert payment.status == 201
    assert amounts_of(killbill, payment.id) == {"purchasedAmount": 10}


def test_a_voided_authorisation_has_no_amount_left(killbill: KillBill) -> None:
    payment = killbill.pay(killbill.account(), "AUTHORIZE", 30)
    assert killbill.call("DELETE", f"/payments/{payment.id}", {}).status == 204
    assert amounts_of(killbill, payment.id) == {}
    assert transactions_of(killbill, payment.id) == [("AUTHORIZE", "SUCCESS"), ("VOID", "SUCCESS")]


def test_a_declined_card_is_402_and_is_stored_as_a_failure(killbill: KillBill) -> None:
    account = killbill.account("pm_card_chargeDeclined")
    answer = killbill.pay(account, "AUTHORIZE", 50)
    assert answer.status == 402
    assert "Your card was declined." in answer.body["message"]
    assert last_status_of(killbill, account) == "PAYMENT_FAILURE"


@pytest.mark.parametrize("settings", [{"gateway": "decline"}, {"decline_ratio": 1.0}], ids=str)
def test_a_profile_can_decline_every_card(killbill: KillBill, instance: Instance, settings: dict[str, object]) -> None:
    instance.set_gateway(**settings)
    account = killbill.account()
    assert [killbill.pay(account, kind, 10).status for kind in ("AUTHORIZE", "PURCHASE")] == [402, 402]


def test_a_decline_ratio_declines_about_that_share(killbill: KillBill, instance: Instance) -> None:
    instance.set_gateway(decline_ratio=0.3)
    account = killbill.account()
    count = Counter(killbill.pay(account, "PURCHASE", 1).status for _ in range(200))
    assert set(count) == {201, 402}
    # Mean 60, standard deviation sqrt(200 * 0.3 * 0.7) = 6.5: five of them either way, once in a million runs outside.
    assert 28 <= count[402] <= 92


def test_a_slow_gateway_within_the_plugin_timeout_delays_a_successful_payment(
    killbill: KillBill, instance: Instance
) -> None:
    account = killbill.account()
    instance.set_gateway(gateway="slow", gateway_slow_factor=100, gateway_sigma=0)
    begin_s = time.monotonic()
    assert killbill.pay(account, "PURCHASE", 10).status == 201
    assert time.monotonic() - begin_s >= 0.5  # 100 times 5 ms


def test_a_gateway_slower_than_the_plugin_timeout_is_504_and_the_payment_is_unknown(
    killbill: KillBill, instance: Instance
) -> None:
    account = killbill.account()
    instance.set_gateway(gateway="slow", gateway_slow_factor=1400, gateway_sigma=0)  # 7 s; the time-out is 5 s
    answer = killbill.pay(account, "PURCHASE", 10)
    assert (answer.status, answer.body["code"]) == (504, 7100)
    assert last_status_of(killbill, account) == "UNKNOWN"


def test_a_failing_gateway_is_400_with_code_7199_and_the_payment_is_unknown(
    killbill: KillBill, instance: Instance
) -> None:
    instance.set_gateway(gateway="failing")
    account = killbill.account()
    answers = [killbill.pay(account, "PURCHASE", 10) for _ in range(8)]
    assert {(answer.status, answer.body["code"]) for answer in answers} == {(400, 7199)}
    payments = killbill.call("GET", f"/accounts/{account}/payments").body
    assert {payment["transactions"][0]["status"] for payment in payments} == {"UNKNOWN"}


@pytest.mark.parametrize(
    "url",
    [
        "https://api.stripe.com/v1/unknown",
        "https://api.stripe.com/v2/customers",
        "https://example.org/v1/unknown",
        "https://example.org/",
        "http://example.org/",
    ],
)
def test_unknown_requests_to_the_stand_in_get_501_and_are_never_forwarded(instance: Instance, url: str) -> None:
    status, body = instance.ask_through_proxy(url)
    assert (status, "nothing was forwarded" in body) == (501, True)


def test_killbill_reaches_the_stand_in_over_tls_with_its_own_ca(instance: Instance) -> None:
    status, body = instance.ask_through_proxy("https://api.stripe.com/v1/customers/cus_1", Authorization="Bearer sk_x")
    assert (status, json.loads(body)["id"]) == (200, "cus_1")
    listeners = psutil.Process(instance.processes["killbill"]).net_connections(kind="tcp")
    peers = {connection.raddr.ip for connection in listeners if connection.raddr}
    assert {peer.removeprefix("::ffff:") for peer in peers} <= {"127.0.0.1"}


def test_delayed_answers_do_not_wait_for_each_other(instance: Instance) -> None:
    instance.set_gateway(gateway="slow", gateway_slow_factor=600, gateway_sigma=0)  # reads: a third of 3 s
    begin_s = time.monotonic()
    with ThreadPoolExecutor(40) as pool:
        url = "https://api.stripe.com/v1/customers/cus_1"
        statuses = list(pool.map(lambda _: instance.ask_through_proxy(url, Authorization="Bearer sk_x")[0], range(40)))
    assert statuses == [200] * 40
    assert time.monotonic() - begin_s < 10  # one after the other they would take 40 s


def test_the_published_plugin_is_unchanged_on_disk() -> None:
    (jar,) = (BUILD / "systems" / "killbill" / "bundles").rglob("*.jar")
    maven = Path.home() / ".m2" / "repository" / "org/kill-bill/billing/plugin/java/stripe-plugin/7.3.3"
    if not (maven / jar.name).exists():
        pytest.skip("Maven's local repository is elsewhere")
    assert jar.read_bytes() == (maven / jar.name).read_bytes()


def test_the_pools_of_the_profile_are_those_of_the_running_killbill(instance: Instance) -> None:
    with urllib.request.urlopen(f"{instance.target_url}/1.0/metrics", timeout=10) as answer:
        gauges = json.load(answer)["gauges"]
    assert gauges["main.pool.MaxConnections"]["value"] == MANIFEST.settings["dao_max_active"]
    assert gauges["osgi.pool.MaxConnections"]["value"] == MANIFEST.settings["osgi_dao_max_active"]


def test_the_metrics_of_the_manifest_are_those_of_the_running_killbill(killbill: KillBill, instance: Instance) -> None:
    (source,) = (process.metrics for process in MANIFEST.processes if process.metrics)
    url = render(source.url, {"ports": instance.ports}, "metrics")

    def published() -> dict[str, Any]:
        with urllib.request.urlopen(url, timeout=10) as answer:
            values = values_of(json.load(answer), source.metrics)
        return dict(zip([metric.name for metric in source.metrics], values, strict=True))

    before = published()
    pay_through(killbill)
    after = published()
    assert [name for name, value in after.items() if value is None] == []
    grown = {metric.name: after[metric.name] - before[metric.name] for metric in source.metrics if metric.is_total}
    # An account, its method, an authorisation, a capture and a refund; the last may be counted after its answer.
    assert 4 <= grown["responses 201"] <= 5
    assert grown["responses 500"] == grown["exceptions thrown to Tomcat"] == 0
    assert 50 * 1024**2 < after["Metaspace in use"] < MANIFEST.settings["max_metaspace_mb"] * 1024**2
    assert after["main pool: open connections"] > 0


class Stopped(NamedTuple):
    """What a KillBill with MariaDB left that ran beside the shared one, with a failing gateway first, and was stopped.

    A process without the rights of root started it. `kept` is what another KillBill, with the address of that MariaDB,
    found of a payment.
    """

    other_target_url: str
    user_ids: dict[str, int]
    statuses: list[int]
    shared_answered: bool
    stored: dict[str, float]
    kept: dict[str, float]
    facts: tuple[dict[str, str], dict[str, str]]
    processes: tuple[list[str], list[str]]
    logs: Path
    recordings: dict[str, Path]
    exception_logs: list[str]


@pytest.fixture(scope="module")
def stopped(instance: Instance, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stopped]:
    folder = Path(tempfile.mkdtemp(prefix="lt-without-root-")).resolve()
    try:
        yield ran_beside(instance, folder, tmp_path_factory.mktemp("given"))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def ran_beside(instance: Instance, folder: Path, logs_of_given: Path) -> Stopped:
    ports = free_ports()
    settings = {**FAST, "database": "mariadb", "gateway": "failing"}
    with started_without_root(settings, folder, ports) as other:
        failing = Instance(other.target_url, other.processes, ports)
        client = failing.client
        account = client.account()
        statuses = [client.pay(account, "PURCHASE", 10).status for _ in range(3)]
        with socket.create_connection(("127.0.0.1", instance.ports["http"]), timeout=5) as connection:
            answered = bool(connection.getpeername())
        failing.set_gateway()
        payment = pay_through(client)
        given = {
            "database_url": f"jdbc:mysql://127.0.0.1:{ports['mariadb']}/killbill",
            "database_user": "killbill",
            "database_password": "killbill",
        }
        with started({**FAST, **given}, logs_of_given, {}) as second:
            kept = amounts_of(KillBill(second.target_url, client.tenant), payment)
            return Stopped(
                other.target_url,
                {name: psutil.Process(pid).uids().real for name, pid in other.processes.items()},
                statuses,
                answered,
                amounts_of(client, payment),
                kept,
                (other.facts, dict(second.facts)),
                (list(other.processes), list(second.processes)),
                folder / "logs",
                {name: Path(path) for name, path in other.recordings.items()},
                other.exception_logs,
            )


def test_mariadb_stores_the_same_and_a_given_database_url_is_not_cleared(stopped: Stopped) -> None:
    assert stopped.stored == stopped.kept == {"authAmount": 50, "capturedAmount": 20, "refundedAmount": 5}
    first, second = stopped.facts
    assert first["database"] == "MariaDB 11.4.5 on the same machine"
    assert "killbill" not in second["database"]
    assert stopped.processes == (["stripe", "mariadb", "killbill"], ["stripe", "killbill"])


def test_mariadb_runs_without_root(stopped: Stopped) -> None:
    assert list(stopped.user_ids) == ["stripe", "mariadb", "killbill"]
    assert 0 not in stopped.user_ids.values()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can start it as root")
def test_mariadb_starts_as_root_too(tmp_path: Path) -> None:
    databases = replace(MANIFEST, processes=tuple(one for one in MANIFEST.processes if one.name == "mariadb"))
    settings = databases.resolve_settings({"database": "mariadb"})
    with Supervisor(databases, settings, build_dir=BUILD, log_dir=tmp_path) as supervisor:
        supervisor.prepare()
        supervisor.start()
        assert supervisor.is_up
        assert psutil.Process(supervisor.processes["mariadb"]).uids().real == 0


def test_two_instances_run_side_by_side(instance: Instance, stopped: Stopped) -> None:
    assert stopped.other_target_url != instance.target_url
    assert stopped.statuses == [400] * 3
    assert stopped.shared_answered


def test_a_stopped_killbill_has_recorded_its_heap(stopped: Stopped, tmp_path: Path) -> None:
    assert stopped.recordings == {"killbill": stopped.logs / "killbill.jfr"}
    assert write_heap(tmp_path / "heap.csv", stopped.recordings, {}) == ()
    (use,) = heap_uses(read_heaps((tmp_path / "heap.csv").read_text().splitlines()), 0, 2**63)
    assert use.process == "killbill"
    assert use.point_count >= 2
    low, high = MANIFEST.settings["heap_min_mb"] * 1024**2, MANIFEST.settings["heap_max_mb"] * 1024**2
    assert 0 < use.used_bytes_min < use.used_bytes_max <= use.committed_bytes_max <= high
    assert use.committed_bytes_min >= low
    assert (use.reserved_bytes_min, use.reserved_bytes_max) == (high, high)


def test_the_recorder_records_the_heap_and_nothing_else(stopped: Stopped) -> None:
    jfr = Path(os.path.realpath(str(shutil.which("java")))).parent / "jfr"
    summary = subprocess.run(
        [str(jfr), "summary", str(stopped.recordings["killbill"])], capture_output=True, text=True, check=True
    ).stdout
    counts = dict(re.findall(r"^ *(\S+\.\S+) +(\d+) +\d+ *$", summary, re.MULTILINE))
    recorded = {name for name, count in counts.items() if int(count)}
    assert recorded == {"jdk.GCHeapSummary", "jdk.Metadata", "jdk.CheckPoint"}
    assert stopped.recordings["killbill"].stat().st_size < 1_000_000


def test_the_exceptions_of_a_failing_gateway_are_counted_in_killbills_log(stopped: Stopped) -> None:
    assert stopped.exception_logs == ["killbill.log"]
    with (stopped.logs / "killbill.log").open() as lines:
        counts = count_exceptions(lines, "killbill.log")
    payments = [kind for kind in counts if "Error connecting to Stripe" in kind.example]
    assert sum(kind.count for kind in payments) == 3  # one trace for each payment that failed
    assert {kind.class_name.rpartition(".")[2] for kind in payments} == {"MappableException"}
    # The gateway fails in two ways, by chance.
    assert {kind.cause for kind in payments} <= {"com.stripe.exception.ApiException", "java.io.IOException"}
