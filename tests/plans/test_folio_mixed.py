"""plans/folio-mixed: users of two tenants beside a data import and a bulk edit on the Okapi stand-in."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from harness.plan.plan import load_plan
from tests.support.ended_run import EndedRun
from tests.support.paths import ROOT
from tests.support.processes import processes_of

TENANTS = ("standin_tenant", "standin_branch")
# A fifth of the default's work: the jobs take the same slots for as long, with fewer records.
SMALL = {"records = 2_000": "records = 400", "records = 300": "records = 100", 'at = "15s"': 'at = "5s"'}


def test_eight_users_of_two_tenants_have_data_of_their_own() -> None:
    plan = load_plan(ROOT / "plans", "folio-mixed")
    assert [(load.tenant, load.users) for load in plan.load.loads] == [(TENANTS[0], 5), (TENANTS[1], 3)]
    assert plan.own_files == ("data/folio-barcodes-branch.csv",)
    files = [ROOT / "plans" / name for name in ("data/folio-barcodes.csv", *plan.own_files)]
    college, branch = (set(path.read_text().split()[1:]) for path in files)
    assert len(branch) > 1000 and not college & branch
    assert [(job.tenant, job.after) for job in plan.jobs] == [(TENANTS[0], ""), (TENANTS[1], "data import")]


def run(folder: Path, changes: dict[str, str], *arguments: str) -> EndedRun:
    """Run the plan with these changes."""
    home, reports = folder / "home", folder / "reports"
    home.mkdir()
    for name in ("env", "systems"):
        (home / name).symlink_to(ROOT / name)
    (home / "plans").mkdir()
    for path in (ROOT / "plans").iterdir():
        (home / "plans" / path.name).symlink_to(path)
    text = (ROOT / "plans" / "folio-mixed.toml").read_text()
    for old, new in changes.items():
        assert text.count(old) == 1
        text = text.replace(old, new)
    (home / "plans" / "folio-mixed.toml").unlink()
    (home / "plans" / "folio-mixed.toml").write_text(text)
    command = [sys.executable, str(ROOT / "scripts" / "run"), "--plan", "folio-mixed", *arguments]
    done = subprocess.run([*command, "--home", str(home), "--reports", str(reports)], capture_output=True, text=True,
                          timeout=300)  # fmt: skip
    assert (reports / "folio-mixed" / "run-01_1.json").is_file(), done.stdout + done.stderr
    return EndedRun(done, reports, "folio-mixed")


def check(ended: EndedRun) -> list[dict]:
    """Check what every run of the plan shows, and return its jobs."""
    summary = json.loads(ended.directory.with_suffix(".json").read_text())
    jobs = summary["jobs"]
    assert [(job["name"], job["tenant"], job["state"]) for job in jobs] == [
        ("data import", TENANTS[0], "done"), ("bulk edit", TENANTS[1], "done"),
    ]  # fmt: skip
    assert all(job["duration_s"] > 0 and job["records_per_s"] > 0 for job in jobs)
    names = [f"Users ({tenant})" for tenant in TENANTS]
    assert [load["name"] for load in summary["loads"]] == names
    assert [load["load"] for load in jobs[0]["loads"]] == names
    sent = {row["threadName"].split(" ")[1].strip("()") for row in ended.load_rows if row["label"] == "GET user"}
    assert sent == set(TENANTS)
    return jobs


@pytest.mark.real
@pytest.mark.counterpart
def test_the_users_feel_the_import_and_each_tenant_has_its_rows(tmp_path: Path) -> None:
    ended = run(tmp_path, SMALL, "--duration", "20", "--set", "okapi.lookup_median_ms=20")
    jobs = check(ended)
    college = jobs[0]["loads"][0]
    assert college["before_count"] >= 20 and college["before_p95_ms"] < college["during_p95_ms"]
    report = ended.directory.with_suffix(".md").read_text()
    assert "| data import | standin_tenant | done |" in report
    for tenant in TENANTS:
        assert f"### Load of Users ({tenant})" in report
    assert processes_of(ended.reports) == []


@pytest.mark.counterpart
def test_at_its_defaults_only_other_programs_make_the_run_doubtful_and_both_tenants_feel_the_import(
    tmp_path: Path,
) -> None:
    ended = run(tmp_path, {})
    assert ended.done.returncode == 0, ended.done.stdout
    others = ("Other programs used", "Another load test ran")
    assert [reason for reason in ended.summary["verdict"]["reasons"] if not reason.startswith(others)] == []
    for load in check(ended)[0]["loads"]:
        assert load["before_p95_ms"] < load["during_p95_ms"]
