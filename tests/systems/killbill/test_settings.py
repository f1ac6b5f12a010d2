"""Settings of KillBill: pools, published metrics, its other payment plugin, and its databases."""

from __future__ import annotations

import json
import os
import subprocess
import urllib.request
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from harness.plan.plan import load_plan
from harness.system import database_files
from harness.system.database_files import DatabaseReader, databases
from harness.system.own_metrics import values_of
from harness.system.statements import StatementInterval
from harness.system.supervisor import Supervisor
from harness.system.system import render
from tests.support.commands import command
from tests.support.killbill_client import STORED, KillBill
from tests.support.killbill_instance import BUILD, MANIFEST, SETTINGS, SMALLEST, Instance, Shared, codes_of
from tests.support.paths import ROOT
from tests.support.processes import interrupted_after
from tests.support.snapshots import wait_for_snapshot

pytestmark = pytest.mark.real


def test_the_published_plugin_is_unchanged_on_disk(tmp_path: Path) -> None:
    with Supervisor(MANIFEST, MANIFEST.resolve_settings(SETTINGS), build_dir=BUILD, log_dir=tmp_path) as supervisor:
        supervisor.prepare()
    (jar,) = (BUILD / "systems" / "killbill" / "bundles").rglob("*.jar")
    maven = Path.home() / ".m2" / "repository" / "org/kill-bill/billing/plugin/java/stripe-plugin/7.3.3"
    if not (maven / jar.name).exists():
        pytest.skip("Maven's local repository is elsewhere")
    assert jar.read_bytes() == (maven / jar.name).read_bytes()


@pytest.mark.counterpart
def test_the_pools_of_the_profile_are_those_of_the_running_killbill(instance: Instance) -> None:
    with urllib.request.urlopen(f"{instance.target_url}/1.0/metrics", timeout=10) as answer:
        gauges = json.load(answer)["gauges"]
    assert gauges["main.pool.MaxConnections"]["value"] == SETTINGS["dao_max_active"]
    assert gauges["osgi.pool.MaxConnections"]["value"] == SETTINGS["osgi_dao_max_active"]


@pytest.mark.counterpart
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


@pytest.mark.counterpart
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


@pytest.mark.counterpart
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


@pytest.mark.counterpart
def test_mariadb_runs_without_root(shared: Shared) -> None:
    user_ids = {name: psutil.Process(pid).uids().real for name, pid in shared.started.processes.items()}
    assert list(user_ids) == ["stripe", "mariadb", "killbill"]
    assert 0 not in user_ids.values()


@pytest.mark.counterpart
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can start it as root")
def test_mariadb_starts_as_root_too_and_reports_its_statements(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    databases = replace(MANIFEST, processes=tuple(one for one in MANIFEST.processes if one.name == "mariadb"))
    settings = databases.resolve_settings({"database": "mariadb"})
    with Supervisor(databases, settings, build_dir=BUILD, log_dir=tmp_path) as supervisor:
        supervisor.prepare()
        supervisor.profile()
        supervisor.start()
        assert supervisor.is_up
        assert psutil.Process(supervisor.processes["mariadb"]).uids().real == 0
        check_statements(supervisor, tmp_path, monkeypatch)


def check_statements(supervisor: Supervisor, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check the statements of a load of five queries on a MariaDB, in all and between two snapshots."""
    commands = supervisor.statement_commands["mariadb"]
    client = commands.read[: commands.read.index("--batch")]
    query = "SELECT x FROM killbill.numbers WHERE x > 1"
    make = "CREATE TABLE numbers AS SELECT seq AS x FROM seq_1_to_300; " + 2 * f"{query}; "
    subprocess.run([*client, "--database=killbill", f"--execute={make}"], check=True)  # before the load
    snapshots = folder / "snapshots-mariadb.jsonl"
    monkeypatch.setattr(database_files, "SNAPSHOT_PERIOD_S", 0.1)
    monkeypatch.setattr(database_files, "SHARE_MOST", 1.0)
    with DatabaseReader({"mariadb": commands}, folder, {}) as reader:
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
