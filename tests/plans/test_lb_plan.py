"""The load balancer's plans: a real JMeter through real balancers for some seconds, and their reports."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from harness.base.errors import UsageError
from harness.plan.checks.lint import lint
from harness.plan.load.model import LoadArguments, load_record, parse_load, resolve_load
from harness.plan.plan import load_plan
from harness.run.preflight import check_request
from harness.sweep.published import parse_csv
from tests.support.paths import ROOT
from tests.support.processes import QUICK_JAVA, processes_of
from tests.support.requests import request_of

BALANCED = ("lb-nginx", "lb-nginx-seed", "lb-jvm", "lb-haproxy")


@pytest.mark.parametrize("name", [*BALANCED, "lb-direct"])
def test_each_plan_is_the_published_load_on_its_own_balancer(name: str) -> None:
    request = request_of(ROOT, ROOT / "build", name, "lb")
    assert request.settings["balancer"] == name.removeprefix("lb-")
    assert (request.plan.load.users, request.plan.load.duration_s, request.plan.load.requests) == (500, 80, 1_000_000)


def test_the_settings_of_a_remote_balancer_are_facts_of_its_profile() -> None:
    with pytest.raises(UsageError, match="--plan=lb-gwlb has no system to start; give --target="):
        request_of(ROOT, ROOT / "build", "lb-gwlb", "gwlb")
    request = request_of(ROOT, ROOT / "build", "lb-gwlb", "gwlb", "http://127.0.0.1:8290/stocks")
    assert request.target is not None
    assert request.target.base_path == "/stocks"
    assert "WSO2 Carbon" in dict(request.profile.facts)["balancer (by hand)"]


def test_the_published_values_are_three_sweeps_over_the_levels() -> None:
    sweeps = parse_csv((ROOT / "plans" / "data" / "lb-published.csv").read_text(), "lb-published.csv")
    assert [sweep.name for sweep in sweeps] == ["published nginx", "published GW-LB", "published direct"]
    for sweep in sweeps:
        assert [level.users for level in sweep.levels] == [500, *range(1000, 12_001, 1000)]


def test_every_balancer_has_a_plan_of_the_same_jmx() -> None:
    names = {path.stem for path in (ROOT / "plans").glob("lb-*.toml")}
    assert names == {*BALANCED, "lb-direct", "lb-gwlb", "lb-mixed", "lb-day"}
    same = names - {"lb-mixed", "lb-day"}
    assert {load_plan(ROOT / "plans", name).jmx_path.name for name in same} == {"lb.jmx"}


def test_the_plan_with_several_loads_fits_a_run_of_its_system() -> None:
    request = request_of(ROOT, ROOT / "build", "lb-mixed", "local")
    load = resolve_load(parse_load(LoadArguments()), request.plan.load)
    check_request(request, load)
    assert lint(request.plan.jmx_path, has_loads=True) == ()
    record = load_record(load, request.plan.load)
    assert (record.model, record.users, record.rate_per_s, record.duration_s) == ("mixed", 60, 40.0, 60.0)
    assert set(request.plan.load_goals) == {"Browsers", "Feed readers"}


def test_the_versions_that_a_report_names_are_those_of_the_pom() -> None:
    folder = ROOT / "systems" / "lb"
    versions = re.findall(r"<(netty|undertow)\.version>(.+)\.Final</", (folder / "pom.xml").read_text())
    manifest = (folder / "system.toml").read_text()
    assert len(versions) == 2
    assert all(f"{name.capitalize()} {version} on" in manifest for name, version in versions)


@pytest.fixture
def short_home(tmp_path: Path) -> Path:
    """The project's plans and systems with a profile for short runs: a brief warm-up, a small heap, no fewer cores."""
    home = tmp_path / "home"
    (home / "env").mkdir(parents=True)
    for folder in ("plans", "systems"):
        (home / folder).symlink_to(ROOT / folder)
    profile = 'format_version = 1\ntitle = "Short"\n[system.lb]\nheap_min_mb = 16\nheap_max_mb = 32\nworkers = 1\n'
    for plan in BALANCED:
        profile += f"[plan.{plan}]\nproperties = {{ warm_up_users = 4, warm_up_requests = 1001 }}\n"
    (home / "env" / "short.toml").write_text(profile)
    (home / "env" / "failing.toml").write_text(profile.replace("[system.lb]\n", "[system.lb]\nstatus = 500\n"))
    return home


def run(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "scripts" / "run"), "--home", str(home), "--reports", str(home / "reports")]
    environment = {**os.environ, **QUICK_JAVA}
    return subprocess.run(
        [*command, *arguments], env=environment, capture_output=True, text=True, check=False, timeout=200
    )


def figures_of(summary: dict, group: str) -> dict[str, dict]:
    """The labels of a group with their figures."""
    return {
        label["label"]: label
        for found in summary["groups"]
        if found["name"] == group
        for label in found["labels"]
    }  # fmt: skip


@pytest.mark.real
def test_two_seconds_through_the_jvm_balancer_leave_shares_and_heap_in_the_report(short_home: Path) -> None:
    done = run(short_home, "--plan", "lb-jvm", "--env", "short", "--users", "5", "--duration", "2")
    assert done.returncode in (0, 1), done.stdout + done.stderr  # the goal of 1 s is missed on a very busy machine
    directory = short_home / "reports" / "lb-jvm" / "run-01_1"
    summary = json.loads(directory.with_suffix(".json").read_text())
    load = figures_of(summary, "load")
    assert set(load) == {"GET"}
    assert load["GET"]["error_count"] == 0
    # 1,001 requests by 4 users: 251 each, so that no fewer are sent than were requested.
    assert figures_of(summary, "setUp")["Warm-up"]["sample_count"] == 1004
    counts = json.loads((directory / "backends.json").read_text())
    with (directory / "samples.jtl").open() as rows:
        sent = sum(row["label"] == "GET" for row in csv.DictReader(rows))
    assert counts["total"] == sent
    assert counts["most_apart"] <= 1
    figures = dict(summary["run"]["dump_figures"])
    assert figures["requests at each back-end"] == counts["shares"]
    assert counts["shares"].count("(20.0 %)") == 5
    with (directory / "heap.csv").open() as rows:
        points = list(csv.DictReader(rows))
    assert {(point["process"], point["reserved_bytes"]) for point in points} == {("jvm-balancer", str(32 * 1024**2))}
    assert all(0 < int(point["used_bytes"]) <= int(point["committed_bytes"]) <= 32 * 1024**2 for point in points)
    report = directory.with_suffix(".md").read_text()
    assert "Undertow 2.3.24" in report
    assert "<summary>JVM heap" in report
    assert counts["shares"] in report
    assert processes_of(short_home) == []


@pytest.mark.real
@pytest.mark.counterpart
def test_failed_requests_are_reported_when_back_ends_answer_500(short_home: Path) -> None:
    done = run(short_home, "--plan", "lb-nginx", "--env", "failing", "--users", "2", "--loops", "50", "--ramp", "0")
    assert done.returncode == 3, done.stdout + done.stderr
    directory = short_home / "reports" / "lb-nginx" / "run-01_1"
    summary = json.loads(directory.with_suffix(".json").read_text())
    codes = [code for code in summary["codes"] if code["label"] == "GET"]
    assert [(code["code"], code["sample_count"], code["error_count"]) for code in codes] == [("500", 100, 100)]
    # The back-ends counted their requests, whatever they answered.
    counts = json.loads((directory / "backends.json").read_text())
    assert counts["requests"] == [20] * 5
    assert "| GET | 500 | 100 | 100 |" in directory.with_suffix(".md").read_text()
