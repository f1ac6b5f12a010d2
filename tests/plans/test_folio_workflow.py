"""plans/folio-workflow: transactions of several requests on the Okapi stand-in, which refuses what is sent wrongly."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter, defaultdict

import pytest

from harness.plan.checks.lint import lint
from harness.plan.load.groups import TRANSACTION
from harness.plan.plan import load_plan
from harness.plan.spec import load_profile
from tests.support.ended_run import EndedRun
from tests.support.paths import ROOT
from tests.support.processes import processes_of

JMX = ROOT / "plans" / "folio-workflow.jmx"
REQUESTS = ["GET user", "POST check-out", "GET loan", "GET item", "POST check-in", "GET requests"]
TRANSACTIONS = ["Check Out", "Check In"]
# The stand-in knows no barcode that begins with 9999.
BARCODES = ["3000000001", "3000000002", "3000000003", "99990001"]
THINK_S = 0.3
PROFILE = f"""format_version = 1
title = "Fast answers"
[system.okapi]
service_median_ms = 20.0
checkout_median_ms = 20.0
lookup_median_ms = 5.0
login_median_ms = 1.0
[plan.folio-workflow]
think_time_s = {THINK_S}
properties = {{ barcodes_file = "BARCODES" }}
"""


def test_the_plan_passes_the_linter() -> None:
    assert lint(JMX) == ()


def test_users_think_five_to_seven_seconds_after_each_transaction() -> None:
    load = load_plan(ROOT / "plans", "folio-workflow").load
    assert (load.think_time_s, load.think_time_per) == (6.0, TRANSACTION)


def test_the_local_profile_makes_it_a_run_of_about_a_minute() -> None:
    profile = load_profile(ROOT / "env", "local")
    load = load_plan(ROOT / "plans", "folio-workflow", profile.plan_changes["folio-workflow"]).load
    assert load.duration_s is not None and 60 <= load.duration_s <= 90
    # All users start within the first of their rounds: two transactions and two pauses.
    assert load.ramp_s(load.users) <= 2 * load.think_time_s


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> EndedRun:
    """Three users for six seconds on the stand-in; every fourth barcode is unknown."""
    home, reports = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("reports")
    for name in ("plans", "systems"):
        (home / name).symlink_to(ROOT / name)
    (home / "barcodes.csv").write_text("\n".join(["barcode", *BARCODES]) + "\n")
    (home / "env").mkdir()
    (home / "env" / "fast.toml").write_text(PROFILE.replace("BARCODES", str(home / "barcodes.csv")))
    command = [sys.executable, str(ROOT / "scripts" / "run"), "--plan", "folio-workflow", "--env", "fast"]
    command += ["--users", "3", "--ramp", "0", "--duration", "6", "--home", str(home), "--reports", str(reports)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (reports / "folio-workflow" / "run-01_1.json").is_file(), done.stdout + done.stderr
    return EndedRun(done, reports, "folio-workflow")


@pytest.mark.counterpart
@pytest.mark.real
def test_requests_and_transactions_are_apart_and_total_has_the_requests_alone(ended: EndedRun) -> None:
    labels = ended.load["labels"]
    assert [label["label"] for label in labels if not label["is_transaction"]] == REQUESTS
    assert [label["label"] for label in labels if label["is_transaction"]] == TRANSACTIONS
    counts = Counter(row["label"] for row in ended.load_rows)
    assert ended.load["total"]["sample_count"] == sum(counts[name] for name in REQUESTS) > 40
    report = ended.directory.with_suffix(".md").read_text()
    requests, transactions = report.split("### Load\n")[1].split("### Transactions\n")[:2]
    assert "| GET user |" in requests and "| Check Out |" not in requests
    assert "| Check Out |" in transactions.split("\n\n")[0]
    assert "think time 0.3 s per transaction" in report


@pytest.mark.counterpart
@pytest.mark.real
def test_only_an_unknown_barcode_fails_and_nothing_follows_its_check_out(ended: EndedRun) -> None:
    failed = [row for row in ended.load_rows if row["success"] == "false"]
    refused = [row for row in failed if row["label"] == "POST check-out"]
    assert {row["failureMessage"] for row in refused} == {"expected 201: No item with barcode 99990001 could be found"}
    counts, failures = (Counter(row["label"] for row in rows) for rows in (ended.load_rows, failed))
    assert failures == {"POST check-out": len(refused), "Check Out": len(refused)}
    # At the end of the run a user may be between two requests.
    assert 0 <= counts["POST check-out"] - len(refused) - counts["GET loan"] <= 3
    assert 0 <= counts["GET loan"] - counts["GET item"] <= 3


@pytest.mark.counterpart
@pytest.mark.real
def test_users_think_after_each_transaction_and_not_in_it(ended: EndedRun) -> None:
    by_thread: dict[str, list[tuple[int, int, str]]] = defaultdict(list)
    for row in ended.load_rows:
        start_ms = int(row["timeStamp"])
        if row["label"] in REQUESTS:
            by_thread[row["threadName"]].append((start_ms, start_ms + int(row["elapsed"]), row["label"]))
    pauses = [
        (after[0] - before[1]) / 1000
        for rows in by_thread.values()
        for before, after in zip(sorted(rows), sorted(rows)[1:], strict=False)
        if after[2] in ("GET user", "GET item")
    ]
    assert len(pauses) > 10
    assert min(pauses) >= THINK_S * 5 / 6 - 0.01
    slowest_ms = max(int(row["elapsed"]) for row in ended.load_rows if row["label"] in REQUESTS)
    assert all(int(row["elapsed"]) <= 3 * slowest_ms + 50 for row in ended.load_rows if row["label"] in TRANSACTIONS)


@pytest.mark.counterpart
@pytest.mark.real
def test_no_stored_file_contains_user_or_password_and_no_process_is_left(ended: EndedRun) -> None:
    stored = [path for path in ended.reports.rglob("*") if path.is_file()]
    assert not [path.name for path in stored if "standin_" in path.read_text(errors="replace")]
    assert processes_of(ended.reports) == []
