"""The real KillBill with its Stripe stand-in: what it stores, what it answers to each gateway, and its databases.

All tests share one KillBill of the smallest size, with MariaDB and without the rights of root. Most of them change its
gateway. `job` is what the main job of the README left: a run with a KillBill of its own, with H2. The last tests are
about what the shared one left when it was stopped.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import pytest

from harness.plan.plan import load_plan
from harness.plan.spec import load_profile
from harness.system.database_files import DatabaseReader, databases
from harness.system.exceptions import count_exceptions
from harness.system.heap import heap_uses, read_heaps
from harness.system.jfr import write_heap
from harness.system.own_metrics import values_of
from harness.system.statements import StatementInterval
from harness.system.supervisor import Supervisor
from harness.system.system import render
from tests.support.commands import command
from tests.support.killbill_client import STORED, KillBill, check_stored
from tests.support.killbill_instance import (
    BUILD,
    FAST,
    MANIFEST,
    Instance,
    Job,
    Started,
    codes_of,
    free_ports,
    main_job,
    started_without_root,
)
from tests.support.paths import ROOT
from tests.support.processes import interrupted_after
from tests.support.snapshots import wait_for_snapshot
from tests.support.tiny import check_short_run

pytestmark = pytest.mark.real

# Those of the shared KillBill. It has all cores: on one, its first payments take longer than KillBill waits for them.
SMALLEST = load_profile(ROOT / "env", "t2.small").system_settings["killbill"]
SETTINGS = {**SMALLEST, **FAST, "cpus": 0, "database": "mariadb"}


class Shared(NamedTuple):
    """The shared KillBill. It was started with a failing gateway, which its first three payments met.

    `statuses` are of those; the first `log_bytes` of its log have all that it wrote about them. `payment` came after.
    """

    instance: Instance
    started: Started
    logs: Path
    stack: ExitStack
    statuses: list[int]
    log_bytes: int
    payment: str


@pytest.fixture(scope="module")
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


@pytest.fixture(scope="module")
def instance(shared: Shared) -> Instance:
    return shared.instance


@pytest.fixture
def killbill(instance: Instance) -> KillBill:
    """The client of the shared KillBill, with the normal gateway."""
    instance.set_gateway()
    return instance.client


def last_status_of(killbill: KillBill, account: str) -> str:
    (payment,) = killbill.call("GET", f"/accounts/{account}/payments").body
    return str(payment["transactions"][-1]["status"])


def test_killbill_stores_what_was_sent(killbill: KillBill) -> None:
    check_stored(killbill)


def test_a_purchase_is_stored_as_purchased(killbill: KillBill) -> None:
    payment = killbill.pay(killbill.account(), "PURCHASE", 10)
    assert payment.status == 201
    assert killbill.amounts_of(payment.id) == {"purchasedAmount": 10}


def test_a_voided_authorisation_has_no_amount_left(killbill: KillBill) -> None:
    payment = killbill.pay(killbill.account(), "AUTHORIZE", 30)
    assert killbill.call("DELETE", f"/payments/{payment.id}", {}).status == 204
    assert killbill.amounts_of(payment.id) == {}
    assert killbill.transactions_of(payment.id) == [("AUTHORIZE", "SUCCESS"), ("VOID", "SUCCESS")]


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
    accounts = [killbill.account() for _ in range(4)]
    with ThreadPoolExecutor(len(accounts)) as pool:
        count = Counter(pool.map(lambda number: killbill.pay(accounts[number % 4], "PURCHASE", 1).status, range(200)))
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
    assert gauges["main.pool.MaxConnections"]["value"] == SETTINGS["dao_max_active"]
    assert gauges["osgi.pool.MaxConnections"]["value"] == SETTINGS["osgi_dao_max_active"]


def test_the_metrics_of_the_manifest_are_those_of_the_running_killbill(killbill: KillBill, instance: Instance) -> None:
    (source,) = (process.metrics for process in MANIFEST.processes if process.metrics)
    url = render(source.url, {"ports": instance.ports}, "metrics")

    def published() -> dict[str, Any]:
        with urllib.request.urlopen(url, timeout=10) as answer:
            values = values_of(json.load(answer), source.metrics)
        return dict(zip([metric.name for metric in source.metrics], values, strict=True))

    before = published()
    killbill.pay_through()
    after = published()
    assert [name for name, value in after.items() if value is None] == []
    grown = {metric.name: after[metric.name] - before[metric.name] for metric in source.metrics if metric.is_total}
    # An account, its method, an authorisation, a capture and a refund; the last may be counted after its answer.
    assert 4 <= grown["responses 201"] <= 5
    assert grown["responses 500"] == grown["exceptions thrown to Tomcat"] == 0
    assert 50 * 1024**2 < after["Metaspace in use"] < SETTINGS["max_metaspace_mb"] * 1024**2
    assert after["main pool: open connections"] > 0


def test_the_litle_variant_pays_with_what_replaces_litle(instance: Instance, tmp_path: Path) -> None:
    plan = load_plan(ROOT / "plans", "killbill-litle")
    assert plan.embedded_note.startswith("KillBill's built-in external payment replaces Litle")
    # A run with a target does not have the properties of a KillBill that the harness starts.
    given = " ".join(f"{name}={value}" for name, value in plan.embedded_properties.items())
    options = (f"--target={instance.target_url}", f"--reports={tmp_path}")
    load = ("--users=2", "--loops=1", f"--properties={given}")
    with interrupted_after(300):
        done = command("scripts/run", "--plan=killbill-litle", *load, *options)
    assert done.returncode == 0, done.stdout + done.stderr
    summary = json.loads((tmp_path / "killbill-litle" / "run-01_1.json").read_text())
    assert set(codes_of(summary, "Litle Payment Method")) == {"201"}
    assert set(codes_of(summary, "Purchase Payment")) == {"201"}
    assert summary["run"]["properties"]["method.plugin"] == "__EXTERNAL_PAYMENT__"


def properties_of(killbill: int, build: Path) -> str:
    """Return what the KillBill with this process id reads at its start, without the names of its folders."""
    work = Path(psutil.Process(killbill).cwd())
    return (work / "killbill.properties").read_text().replace(str(work), "").replace(str(build.resolve()), "")


def test_a_given_database_url_is_used_and_not_cleared(shared: Shared, tmp_path: Path) -> None:
    """A process that waits replaces a second KillBill: the other one shows what its properties do."""
    (killbill,) = (one for one in MANIFEST.processes if one.name == "killbill")
    waiting = replace(killbill, argv=("sleep", "100"), ready=None)
    others = tuple(one for one in MANIFEST.processes if one.name == "mariadb")
    url = f"jdbc:mysql://127.0.0.1:{shared.instance.ports['mariadb']}/killbill"
    settings = MANIFEST.resolve_settings({**SETTINGS, "cpus": SMALLEST["cpus"], "database_url": url})
    with Supervisor(
        replace(MANIFEST, processes=(*others, waiting)), settings, build_dir=BUILD, log_dir=tmp_path
    ) as supervisor:
        supervisor.start()
        assert list(supervisor.processes) == ["killbill"]
        process = supervisor.processes["killbill"]
        other = properties_of(shared.instance.processes["killbill"], shared.logs.parent)
        assert properties_of(process, BUILD) == other
        assert len(os.sched_getaffinity(process)) == SMALLEST["cpus"] == 1
        assert dict(supervisor.facts)["database"] == "given by database_url"
    assert shared.started.facts["database"] == "MariaDB 11.4.5 on the same machine"
    assert list(shared.started.processes) == ["stripe", "mariadb", "killbill"]
    # It looked for the tables, and left what is in them.
    assert [path.name for path in tmp_path.glob("tables*.log")] == ["tables-unless.log"]
    assert shared.instance.client.amounts_of(shared.payment) == STORED


@pytest.fixture(scope="module")
def job(shared: Shared, tmp_path_factory: pytest.TempPathFactory) -> Job:  # noqa: ARG001 - it is beside that one
    """The main job of the README, with a KillBill of its own, which is stopped again."""
    return main_job(tmp_path_factory.mktemp("reports"))


def test_one_command_writes_a_trustworthy_report(job: Job) -> None:
    summary, directory = job.summary, job.directory
    check_short_run(summary["verdict"])
    assert f"killbill-stripe/run-01_1: {summary['verdict']['state']}" in job.output
    groups = {group["name"]: {label["label"]: label for label in group["labels"]} for group in summary["groups"]}
    assert set(groups["load"]) == {"Authorize Payment", "Capture Payment", "Purchase Payment"}
    once = groups["once"]
    assert set(once) == {"Create Account", "Visit Account", "Stripe (Default) Payment Method"}
    assert {label["sample_count"] for label in once.values()} == {4}
    # A captured or purchased payment is a 201 and nothing else; the machine may be slow, but it may not fail.
    for label in groups["load"]:
        assert set(codes_of(summary, label)) == {"201"}
    # A window of some seconds: a request in flight at its beginning counts whole, one at its end not at all.
    law = summary["littles_law"]
    at_the_ends = max(label["average_ms"] for label in groups["load"].values()) / 1000 / law["over_s"]
    assert law["ratio"] == pytest.approx(1.0, abs=0.1 + at_the_ends)
    # A virtual machine may have been denied CPU time, which is a line of its own.
    used = {usage["process"] for usage in summary["observed"]["usages"]} - {"stolen"}
    assert used == {"jmeter", "harness", "host", "killbill", "stripe"}
    for name in ("threads-before.txt", "threads-after.txt", "metrics-before.json", "metrics-after.json"):
        assert (directory / name).stat().st_size > 1000
    figures = dict(summary["run"]["dump_figures"])
    assert int(figures["live threads in KillBill after the load"]) > 20


def test_the_report_of_the_one_command_is_complete_and_names_no_folder(job: Job) -> None:
    report = job.directory.with_suffix(".md").read_text()
    for heading in ("Set-up", "Results", "Response codes", "CPU and memory", "Warnings", "Notes"):
        assert f"\n## {heading}\n" in report
    assert "A stand-in replaces Stripe" in report
    assert str(job.directory.parents[1]) not in report
    assert str(ROOT) not in report


def test_two_instances_run_side_by_side(killbill: KillBill, shared: Shared, job: Job) -> None:
    assert job.port != str(shared.instance.ports["http"])
    assert job.processes == []  # the second one is stopped, and the first one takes payments
    check_stored(killbill)


def test_a_gateway_that_fails_from_the_start_fails_the_first_payments(shared: Shared) -> None:
    assert shared.statuses == [400] * 3


def test_mariadb_runs_without_root(shared: Shared) -> None:
    user_ids = {name: psutil.Process(pid).uids().real for name, pid in shared.started.processes.items()}
    assert list(user_ids) == ["stripe", "mariadb", "killbill"]
    assert 0 not in user_ids.values()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can start it as root")
def test_mariadb_starts_as_root_too_and_tells_its_statements(tmp_path: Path) -> None:
    databases = replace(MANIFEST, processes=tuple(one for one in MANIFEST.processes if one.name == "mariadb"))
    settings = databases.resolve_settings({"database": "mariadb"})
    with Supervisor(databases, settings, build_dir=BUILD, log_dir=tmp_path) as supervisor:
        supervisor.prepare()
        supervisor.profile()
        supervisor.start()
        assert supervisor.is_up
        assert psutil.Process(supervisor.processes["mariadb"]).uids().real == 0
        check_statements(supervisor, tmp_path)


def check_statements(supervisor: Supervisor, folder: Path) -> None:
    """Check the statements of a load of five queries on a MariaDB, in all and between two snapshots."""
    commands = supervisor.statement_commands["mariadb"]
    client = commands.read[: commands.read.index("--batch")]
    query = "SELECT x FROM killbill.numbers WHERE x > 1"
    make = "CREATE TABLE numbers AS SELECT seq AS x FROM seq_1_to_300; " + 2 * f"{query}; "
    subprocess.run([*client, "--database=killbill", f"--execute={make}"], check=True)  # before the load
    snapshots = folder / "snapshots-mariadb.jsonl"
    with DatabaseReader({"mariadb": commands}, folder, {}, period_s=0.1, share_most=1.0) as reader:
        wait_for_snapshot(snapshots)
        subprocess.run([*client, "--database=killbill", f"--execute={5 * f'{query}; '}"], check=True)
        wait_for_snapshot(snapshots)
    assert reader.unknown == []
    (whole,) = databases(folder)
    (within,) = databases(folder, 0, 2**62, lambda *ends_ms: StatementInterval(*ends_ms, request_count=5))
    for found in (whole, within):
        (use,) = [use for use in found.statements if "`numbers`" in use.statement]
        assert (use.count, use.rows_examined, use.count_without_index) == (5, 1500, 5)
        assert 0 < use.mean_ms <= use.longest_ms <= use.total_ms
        assert found.waits
        assert not [use.statement for use in found.statements if "performance_schema" in use.statement]
    assert whole.interval is None
    assert within.interval


class Stopped(NamedTuple):
    """What the shared KillBill left when it was stopped. The tests that need it running come before."""

    logs: Path
    recordings: dict[str, Path]
    exception_logs: list[str]


@pytest.fixture(scope="module")
def stopped(shared: Shared) -> Stopped:
    shared.stack.close()
    recordings = {name: Path(path) for name, path in shared.started.recordings.items()}
    return Stopped(shared.logs, recordings, shared.started.exception_logs)


def test_a_stopped_killbill_has_recorded_its_heap(stopped: Stopped, tmp_path: Path) -> None:
    assert stopped.recordings == {"killbill": stopped.logs / "killbill.jfr"}
    assert write_heap(tmp_path / "heap.csv", stopped.recordings, {}) == ()
    (use,) = heap_uses(read_heaps((tmp_path / "heap.csv").read_text().splitlines()), 0, 2**63)
    assert use.process == "killbill"
    assert use.point_count >= 2
    low, high = SETTINGS["heap_min_mb"] * 1024**2, SETTINGS["heap_max_mb"] * 1024**2
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


def test_the_exceptions_of_a_failing_gateway_are_counted_in_killbills_log(shared: Shared, stopped: Stopped) -> None:
    assert stopped.exception_logs == ["killbill.log"]
    first = (stopped.logs / "killbill.log").read_bytes()[: shared.log_bytes].decode(errors="replace")
    counts = count_exceptions(first.splitlines(keepends=True), "killbill.log")
    payments = [kind for kind in counts if "Error connecting to Stripe" in kind.example]
    assert sum(kind.count for kind in payments) == 3  # one trace for each payment that failed
    assert {kind.class_name.rpartition(".")[2] for kind in payments} == {"MappableException"}
    # The gateway fails in two ways, by chance.
    assert {kind.cause for kind in payments} <= {"com.stripe.exception.ApiException", "java.io.IOException"}
