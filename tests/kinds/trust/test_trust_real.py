"""A trust test of lb-nginx with a real JMeter and short runs."""

import json
from pathlib import Path

import pytest

from harness.kinds.trust import design
from tests.support.commands import command
from tests.support.paths import ROOT
from tests.support.processes import QUICK_JAVA

PROFILE = """\
format_version = 1
title = "Short"
[system.lb]
heap_min_mb = 16
heap_max_mb = 32
workers = 1
delay_ms = 5
[plan.lb-nginx]
properties = { warm_up_users = 4, warm_up_requests = 1001 }
"""


@pytest.mark.counterpart
def test_the_system_is_started_again_before_every_other_run(tmp_path: Path, monkeypatch):
    home = tmp_path / "home"
    (home / "env").mkdir(parents=True)
    for folder in ("plans", "systems"):
        (home / folder).symlink_to(ROOT / folder)
    (home / "env" / "short.toml").write_text(PROFILE)
    monkeypatch.setattr(design, "STARTS", 3)
    arguments = ("--plan=lb-nginx", "--env=short", "--users=2", "--duration=3", "--ramp=1")
    done = command("scripts/trust", *arguments, f"--home={home}", f"--reports={home / 'reports'}", **QUICK_JAVA)
    assert done.returncode in (0, 3), done.stdout + done.stderr
    folder = home / "reports" / "trust" / "lb-nginx"
    [path] = folder.glob("trust-01*.json")
    record = json.loads(path.read_text())
    assert record["state"] == "finished", done.stdout
    runs = [json.loads((folder / one["run"] / "run.json").read_text()) for one in record["runs"]]
    assert [one["index"] for one in record["runs"][:6]] == [0, 1, 0, 1, 0, 1]
    assert done.stdout.count(": ready after ") == max(one["repeat"] for one in record["runs"])
    assert {(one["system"], one["kept_up"], one["target"]) for one in runs} == {("lb", True, None)}
    assert {one["metric"] for one in record["metrics"]} == {"average", "50", "90", "95", "99", "throughput"}
    assert all(one["parts"]["total"]["ratio"] >= 0 for one in record["metrics"] if one["parts"])
    assert "| average |" in path.with_suffix(".md").read_text()
