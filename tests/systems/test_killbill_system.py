"""The real KillBill with its Stripe stand-in: what it stores, what it answers to each gateway, and its databases.

Most tests share one KillBill. They change its gateway by rendering the stand-in's mappings with other settings, as the
supervisor does at a start, and letting the stand-in read them again.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import pytest

from harness.base.ports import free_port
from harness.system.exceptions import count_exceptions
from harness.system.heap import heap_uses, read_heaps
from harness.system.jfr import write_heap
from harness.system.manifest import load_manifest
from harness.system.supervisor import Supervisor
from harness.system.system import render
from tests.support.killbill_client import KillBill
from tests.support.paths import ROOT

pytestmark = pytest.mark.real

MANIFEST = load_manifest(ROOT / "systems" / "killbill")
BUILD = ROOT / "build"
FAST = {
    "gateway_median_ms": 5.0,
    "plugin_threads": 20,
    "plugin_timeout_s": 5,
    "shiro_hash_iterations": 1,
    # A start is most of what a test asks of a KillBill: code that is compiled well does not pay.
    "jvm_options": ["-XX:TieredStopAtLevel=1"],
}
NOBODY = 65534


class Instance:
    """A running KillBill whose gateway can be changed."""

    def __init__(self, supervisor: Supervisor, ports: dict[str, int]) -> None:
        self.supervisor = supervisor
        self.ports = ports
        self.client = KillBill(supervisor.target_url)

    def set_gateway(self, **settings: object) -> None:
        """Let the stand-in behave as a start with these settings would have it."""
        source = (MANIFEST.folder / "stripe" / "mappings.json").read_text()
        text = render(source, {"settings": MANIFEST.resolve_settings({**FAST, **settings})}, "mappings.json")
        json.loads(text)
        work = Path(psutil.Process(self.supervisor.processes["stripe"]).cwd())
        (work / "stripe" / "mappings" / "stripe.json").write_text(text)
        url = f"http://127.0.0.1:{self.ports['stripe']}/__admin/mappings/reset"
        urllib.request.urlopen(urllib.request.Request(url, method="POST"), timeout=10).close()

    def ask_through_proxy(self, url: str, **headers: str) -> tuple[int, str]:
        """Return status and body of a request that goes through the stand-in's CONNECT proxy, trusting its CA alone."""
        proxy = f"http://127.0.0.1:{self.ports['stripe']}"
        proxies = urllib.request.ProxyHandler({"http": proxy, "https": proxy})
        opener = urllib.request.build_opener(proxies, urllib.request.HTTPSHandler(context=self.trusted))
        try:
            with opener.open(urllib.request.Request(url, headers=headers), timeout=20) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    @cached_property
    def trusted(self) -> ssl.SSLContext:
        """What KillBill's JVM trusts."""
        keytool = Path(os.path.realpath(str(shutil.which("java")))).parent / "keytool"
        store = BUILD / "systems" / "killbill" / "ca.p12"
        argv = [str(keytool), "-exportcert", "-rfc", "-alias", "ca", "-keystore", str(store), "-storepass", "standin"]
        certificate = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
        return ssl.create_default_context(cadata=certificate)


def free_ports() -> dict[str, int]:
    """Return free ports for the names of the manifest: fixed, so that the tests know the stand-in's."""
    ports: dict[str, int] = {}
    for name in MANIFEST.ports:
        ports[name] = free_port(ports.values())
    return ports


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Instance]:
    logs, ports = tmp_path_factory.mktemp("logs"), free_ports()
    settings = MANIFEST.resolve_settings(FAST)
    with Supervisor(MANIFEST, settings, build_dir=BUILD, log_dir=logs, fixed_ports=ports) as supervisor:
        supervisor.prepare()
        supervisor.start()
        yield Instance(supervisor, ports)


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
    listeners = psutil.Process(instance.supervisor.processes["killbill"]).net_connections(kind="tcp")
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
    with urllib.request.urlopen(f"{instance.supervisor.target_url}/1.0/metrics", timeout=10) as answer:
        gauges = json.load(answer)["gauges"]
    assert gauges["main.pool.MaxConnections"]["value"] == MANIFEST.settings["dao_max_active"]
    assert gauges["osgi.pool.MaxConnections"]["value"] == MANIFEST.settings["osgi_dao_max_active"]


def started(settings: dict[str, Any], logs: Path, ports: dict[str, int]) -> Supervisor:
    supervisor = Supervisor(
        MANIFEST, MANIFEST.resolve_settings(settings), build_dir=BUILD, log_dir=logs, fixed_ports=ports
    )
    supervisor.prepare()
    supervisor.start()
    return supervisor


# As that user the interpreter's own files may be out of reach: what Python imports late is imported before.
AS_NOBODY = """
import encodings.idna, encodings.unicode_escape, json, os, sys
from pathlib import Path
from harness.base.guardian import Guardian
from harness.system.supervisor import Supervisor
from harness.system.manifest import load_manifest
from tests.support.killbill_client import KillBill

root, build, logs, user = Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4])
manifest = load_manifest(root)
settings = manifest.resolve_settings(json.loads(sys.argv[5]))
with Guardian() as guardian:
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)
    with Supervisor(manifest, settings, build_dir=build, log_dir=logs, guardian=guardian) as system:
        system.start()
        killbill = KillBill(system.target_url)
        print("purchase", killbill.pay(killbill.account(), "PURCHASE", 10).status)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="the other test of MariaDB runs as an ordinary user already")
def test_mariadb_runs_without_root(tmp_path: Path) -> None:
    # What root prepared, and the manifest's folder, are copied to where that user can read them.
    folder = Path("/tmp") / f"lt-nobody-{os.getpid()}"
    try:
        with Supervisor(
            MANIFEST, MANIFEST.resolve_settings({"database": "mariadb"}), build_dir=BUILD, log_dir=tmp_path
        ) as supervisor:
            supervisor.prepare()
        shutil.copytree(BUILD / "systems" / "killbill", folder / "systems" / "killbill", symlinks=True)
        shutil.copytree(MANIFEST.folder, folder / "killbill")
        (folder / "logs").mkdir()
        subprocess.run(["chown", "-R", f"{NOBODY}:{NOBODY}", str(folder)], check=True)
        settings = json.dumps({**FAST, "database": "mariadb"})
        argv = [sys.executable, "-c", AS_NOBODY, folder / "killbill", folder, folder / "logs", NOBODY, settings]
        done = subprocess.run([str(word) for word in argv], cwd=ROOT, capture_output=True, text=True, timeout=180)
        assert done.stdout == "purchase 201\n", done.stderr
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Stopped(NamedTuple):
    """What a KillBill with MariaDB left that ran beside the shared one, with a failing gateway first, and was stopped.

    `kept` is what another KillBill, with the address of that MariaDB, found of a payment.
    """

    other_target_url: str
    statuses: list[int]
    shared_answered: bool
    stored: dict[str, float]
    kept: dict[str, float]
    facts: tuple[dict[str, str], dict[str, str]]
    processes: tuple[list[str], list[str]]
    logs: Path
    recordings: dict[str, Path]
    exception_logs: tuple[str, ...]


@pytest.fixture(scope="module")
def stopped(instance: Instance, tmp_path_factory: pytest.TempPathFactory) -> Stopped:
    logs, ports = tmp_path_factory.mktemp("stopped"), free_ports()
    with started({**FAST, "database": "mariadb", "gateway": "failing"}, logs, ports) as other:
        failing = Instance(other, ports)
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
        with started({**FAST, **given}, tmp_path_factory.mktemp("given"), {}) as second:
            kept = amounts_of(KillBill(second.target_url, client.tenant), payment)
            return Stopped(
                other.target_url,
                statuses,
                answered,
                amounts_of(client, payment),
                kept,
                (dict(other.facts), dict(second.facts)),
                (list(other.processes), list(second.processes)),
                logs,
                dict(other.recordings),
                other.exception_logs,
            )


def test_mariadb_stores_the_same_and_a_given_database_url_is_not_cleared(stopped: Stopped) -> None:
    assert stopped.stored == stopped.kept == {"authAmount": 50, "capturedAmount": 20, "refundedAmount": 5}
    first, second = stopped.facts
    assert first["database"] == "MariaDB 11.4.5 on the same machine"
    assert "killbill" not in second["database"]
    assert stopped.processes == (["stripe", "mariadb", "killbill"], ["stripe", "killbill"])


def test_two_instances_run_side_by_side(instance: Instance, stopped: Stopped) -> None:
    assert stopped.other_target_url != instance.supervisor.target_url
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
    assert stopped.exception_logs == ("killbill.log",)
    with (stopped.logs / "killbill.log").open() as lines:
        counts = count_exceptions(lines, "killbill.log")
    payments = [kind for kind in counts if "Error connecting to Stripe" in kind.example]
    assert sum(kind.count for kind in payments) == 3  # one trace for each payment that failed
    assert {kind.class_name.rpartition(".")[2] for kind in payments} == {"MappableException"}
    # The gateway fails in two ways, by chance.
    assert {kind.cause for kind in payments} <= {"com.stripe.exception.ApiException", "java.io.IOException"}
