"""A JMX with a Thread Group and two of jmeter-plugins: make init, make check and make run, with a real JMeter."""

import csv
import json
import time
import tomllib
from http.server import BaseHTTPRequestHandler

import pytest

from harness.base.install import toolchain
from tests.support.commands import command
from tests.support.local_server import serving
from tests.support.off_host import element, host, request, text
from tests.support.processes import interrupted_after
from tests.support.tiny import TINY_PROFILE, check_short_run

pytestmark = pytest.mark.real

_CASUTG = "com.blazemeter.jmeter.threads.concurrency.ConcurrencyThreadGroup"
_SHAPER = "kg.apc.jmeter.timers.VariableThroughputTimer"
_ULTIMATE = "kg.apc.jmeter.threads.UltimateThreadGroup"


def table(name: str, *rows: tuple[int, ...]) -> str:
    """A table of a plugin: each row a collection of numbers."""
    lines = "".join(
        f'<collectionProp name="{number}">{"".join(text(str(cell), str(cell)) for cell in row)}</collectionProp>'
        for number, row in enumerate(rows)
    )
    return f'<collectionProp name="{name}">{lines}</collectionProp>'


def group(kind: str, name: str, *props: str, below: str) -> str:
    loop = text("LoopController.loops", "-1") + '<boolProp name="LoopController.continue_forever">false</boolProp>'
    main = f'<elementProp name="ThreadGroup.main_controller" elementType="LoopController">{loop}</elementProp>'
    made = element(kind, name, text("ThreadGroup.on_sample_error", "continue"), main, *props, below=below)
    return made.replace('guiclass="TestBeanGUI"', f'guiclass="{kind}Gui"')


DEFAULTS = element(
    "ConfigTestElement", "Shop", host("shop.example.org"), text("HTTPSampler.port", "443"),
    text("HTTPSampler.protocol", "https"), text("HTTPSampler.connect_timeout", "2000"),
)  # fmt: skip
# 20 requests per second for a minute: longer than the run.
SHAPER = element(_SHAPER, "Shaper", table("load_profile", (20, 20, 60)))
BROWSE = group(
    "ThreadGroup", "Browse", text("ThreadGroup.num_threads", "2"), text("ThreadGroup.ramp_time", "0"),
    '<boolProp name="ThreadGroup.scheduler">true</boolProp>', text("ThreadGroup.duration", "5"),
    below=request(name="Page", path="/page"),
)  # fmt: skip
SEARCH = group(
    _CASUTG, "Search", text("TargetLevel", "3"), text("RampUp", "1"), text("Steps", ""), text("Hold", "4"),
    text("Unit", "S"), below=SHAPER + request(name="Find", path="/find"),
)  # fmt: skip
# One user for 5 s, and three more who start after 2 s, within a second, and end after another two.
SPIKE = group(
    _ULTIMATE, "Spike", table("ultimatethreadgroupdata", (1, 0, 0, 5, 0), (3, 2, 1, 1, 1)),
    below=request(name="Order", path="/order"),
)  # fmt: skip
JMX = f"""<?xml version="1.0" encoding="UTF-8"?>
<jmeterTestPlan version="1.2" properties="5.0" jmeter="5.6.3">
  <hashTree>
    <TestPlan guiclass="TestPlanGui" testclass="TestPlan" testname="Shop"/>
    <hashTree>{DEFAULTS}{BROWSE}{SEARCH}{SPIKE}</hashTree>
  </hashTree>
</jmeterTestPlan>
"""


class Shop(BaseHTTPRequestHandler):
    """Answers everything after 30 ms."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        time.sleep(0.03)
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def used(tmp_path_factory):
    """The folder, and what init, check and run of the plan return."""
    folder = tmp_path_factory.mktemp("init")
    (folder / "home" / "env").mkdir(parents=True)
    (folder / "home" / "plans").mkdir()
    (folder / "home" / "env" / "local.toml").write_text(TINY_PROFILE)
    (folder / "foreign.jmx").write_text(JMX)
    folders = ("--home", folder / "home", "--build", folder / "build")
    jmeter = str(toolchain.ensure_jmeter())
    init = command("scripts/init", "--plan", "shop", "--jmx", folder / "foreign.jmx", "--fix", *folders)
    with serving(Shop) as port:
        target = ("--plan", "shop", "--target", f"http://127.0.0.1:{port}", *folders)
        checked = command("scripts/check", *target, JMETER_HOME=jmeter)
        with interrupted_after(120):
            ran = command("scripts/run", *target, "--reports", folder / "reports", JMETER_HOME=jmeter)
    return folder, init, checked, ran


@pytest.mark.counterpart
def test_init_writes_the_schedule_of_each_group(used):
    folder, init, _, _ = used
    assert init.returncode == 0, init.stdout + init.stderr
    data = tomllib.loads((folder / "home" / "plans" / "shop.toml").read_text())
    assert data["load"] == [
        {"group": "Browse", "users": 2, "ramp_s": 0, "duration_s": 5},
        {"group": "Search", "users": 3, "ramp_s": 1, "duration_s": 5},
        {
            "group": "Spike",
            "stages": [
                {"users": 1, "for": 2}, {"users": 4, "over": 1, "for": 1}, {"users": 1, "over": 1},
            ],
        },
    ]  # fmt: skip


@pytest.mark.counterpart
def test_check_runs_each_group_once(used):
    checked = used[2]
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "shop: 3 requests, 0 failed" in checked.stdout


def test_run_drives_all_groups_as_their_own_schedules_would(used):
    folder, _, _, ran = used
    assert ran.returncode == 0, ran.stdout + ran.stderr
    directory = folder / "reports" / "shop" / "run-01_1"
    summary = json.loads(directory.with_suffix(".json").read_text())
    check_short_run(summary["verdict"])
    assert {load["name"]: load["users_most"] for load in summary["loads"]} == {"Browse": 2, "Search": 3, "Spike": 4}
    with (directory / "samples.jtl").open(newline="") as lines:
        all_rows = list(csv.DictReader(lines))
    # Three users who wait 30 ms would make 100 requests per second: the Throughput Shaping Timer still works.
    found = sum(row["label"] == "Find" for row in all_rows)
    assert found < 150, found
    rows = [row for row in all_rows if row["threadName"].startswith("Spike")]
    begin_ms = min(int(row["timeStamp"]) for row in rows)
    users = dict.fromkeys(range(6), 0)
    for row in rows:
        second = (int(row["timeStamp"]) - begin_ms) // 1000
        users[second] = max(users[second], int(row["grpThreads"]))
    assert (users[0], users[3]) == (1, 4)
