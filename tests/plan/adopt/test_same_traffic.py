"""`lth init --fix` changes nothing that the logic of a plan can see: both plans send the same in a real JMeter."""

from __future__ import annotations

import os
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.base.install import toolchain
from harness.plan.adopt.adopt import Adoption, adopt
from harness.plan.adopt.files import write_adopted
from harness.plan.checks.finding import Rule
from harness.plan.load.model import LoadArguments, parse_load, resolve_load
from harness.plan.plan import effective_jmx, load_plan
from harness.plan.properties import load_properties, target_properties
from harness.plan.spec import Target
from tests.support.generated_plans import GROUPS, PORT, GeneratedPlan, VariedAnswers, by_user
from tests.support.local_server import serving
from tests.support.off_host import collection, element, host, request, text

Log = dict[str, list[tuple[str, ...]]]
_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xms64m -Xmx256m"
_LIMIT_S = 60
# Their length is a time, and not a number of loops: one of the runs may have gone further.
_ARRIVING = ("Arrivals", "FreeForm")
_TIMED = ("Concurrency", "Ultimate", "Several", *_ARRIVING)


@contextmanager
def answering(log: Log) -> Iterator[int]:
    with serving(VariedAnswers, seen=Counter(), log=log, lock=threading.Lock()) as port:
        yield port


def jmeter(jmx: Path, properties: Mapping[str, str], rows: str = "") -> None:
    """Run a JMX in its folder; `rows` names a JTL to write there."""
    command = [str(toolchain.ensure_jmeter() / "bin" / "jmeter"), "-n", "-t", jmx.name, "-j", "jmeter.log"]
    command += ["-Jjmeter.save.saveservice.autoflush=false", "-Jsummariser.name=none"]
    command += [f"-J{name}={value}" for name, value in properties.items()] + (["-l", rows] if rows else [])
    done = subprocess.run(
        command, cwd=jmx.parent, env={**os.environ, "JVM_ARGS": _JVM, "HEAP": " "}, timeout=_LIMIT_S,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def run_original(plan: GeneratedPlan, folder: Path) -> Log:
    log: Log = {}
    folder.mkdir()
    (folder / "rows.csv").write_text(plan.rows, encoding="utf-8")
    with answering(log) as port:
        (folder / "own.jmx").write_text(plan.jmx.replace(PORT, str(port)), encoding="utf-8")
        jmeter(folder / "own.jmx", {})
    return log


def run_fixed(plans: Path, name: str) -> Log:
    log: Log = {}
    plan = load_plan(plans, name)
    load = resolve_load(parse_load(LoadArguments()), plan.load)
    with answering(log) as port:
        (plans / "effective.jmx").write_bytes(effective_jmx(plan.jmx_path, load))
        target = Target("http", "127.0.0.1", port, "")
        own = plan.own_properties(is_embedded=False)
        jmeter(plans / "effective.jmx", {**own, **target_properties(target), **load_properties(load)})
    return log


def adopted(plan: GeneratedPlan, folder: Path) -> Adoption:
    (folder / "given").mkdir()
    (folder / "given" / "own.jmx").write_text(plan.jmx, encoding="utf-8")
    (folder / "given" / "rows.csv").write_text(plan.rows, encoding="utf-8")
    adoption = adopt(folder / "given" / "own.jmx", "shop", folder / "plans")
    write_adopted(folder / "plans", "shop", adoption, "own.jmx")
    return adoption


def compare(plan: GeneratedPlan, folder: Path) -> None:
    adoption = adopted(plan, folder)
    named = {finding.rule for finding in adoption.left}
    is_replaced = plan.kind == "Concurrency" and "stopthread" in plan.jmx
    assert named <= ({Rule.ENDED_USERS} if is_replaced else set())
    with ThreadPoolExecutor(2) as both:
        original = both.submit(run_original, plan, folder / "original")
        fixed = both.submit(run_fixed, folder / "plans", "shop")
        before, after = original.result(), fixed.result()
    assert bool(before) == bool(after)  # JMeter's Interleave Controller can call itself without end
    side = [user for user in before if user.startswith(("8-", "9-"))]
    # How many users there are depends on how long each one takes.
    users = [user for user in before if user in after or not (named or plan.kind in _ARRIVING)]
    assert set(side) <= set(users) <= set(after)
    assert len(users) > len(side) or len(before) == len(side)
    for user, requests in by_user({user: before[user] for user in users}):
        is_timed = plan.kind in _TIMED and user not in side
        count = min(len(requests), len(after[user])) if is_timed else max(len(requests), len(after[user]))
        for number in range(count):
            ours, plain = after[user][number : number + 1], requests[number : number + 1]
            assert ours == plain, f"seed {plan.seed}: user {user}, request {number + 1}, see {folder}"


@pytest.mark.real
def test_a_generated_plan_sends_what_it_sent_before(tmp_path: Path) -> None:
    compare(GeneratedPlan.of(1, "ThreadGroup"), tmp_path)


@pytest.mark.counterpart
@pytest.mark.parametrize("seed", range(2, 26))
def test_other_generated_plans_send_what_they_sent_before(tmp_path: Path, seed: int) -> None:
    compare(GeneratedPlan.of(seed, GROUPS[seed % len(GROUPS)]), tmp_path)


RATE = (("TargetLevel", "5"), ("RampUp", "0"), ("Steps", ""), ("Hold", "4"), ("Unit", "S"))
ROWS = f'<collectionProp name="Schedule">{collection("row", "5", "5", "4")}</collectionProp>{text("Unit", "S")}'


@pytest.mark.counterpart
@pytest.mark.parametrize(
    ("kind", "schedule"),
    [
        pytest.param(
            "ArrivalsThreadGroup", "".join(text(name, value) for name, value in RATE), marks=pytest.mark.counterpart
        ),
        ("FreeFormArrivalsThreadGroup", ROWS),
    ],
)
def test_users_of_arrivals_come_back_and_log_in_once(tmp_path: Path, kind: str, schedule: str) -> None:
    here = (host("127.0.0.1"), text("HTTPSampler.port", PORT))
    once = element("OnceOnlyController", "Once", below=request(*here, name="Log in", path="/login"))
    controller = "com.blazemeter.jmeter.control.VirtualUserController"
    group = element(
        f"com.blazemeter.jmeter.threads.arrivals.{kind}", "Users",
        f'<elementProp name="ThreadGroup.main_controller" elementType="{controller}"/>', schedule,
        below=once + request(*here, name="Cart", path="/cart"),
    )  # fmt: skip
    jmx = f"""<?xml version="1.0" encoding="UTF-8"?><jmeterTestPlan version="1.2"><hashTree>
<TestPlan guiclass="TestPlanGui" testclass="TestPlan" testname="Shop"/>
<hashTree>{group}</hashTree></hashTree></jmeterTestPlan>"""
    plan = GeneratedPlan(0, kind, jmx=jmx)
    assert adopted(plan, tmp_path).left == ()
    for log in (run_original(plan, tmp_path / "original"), run_fixed(tmp_path / "plans", "shop")):
        paths = Counter(request[1] for requests in log.values() for request in requests)
        assert 15 <= paths["/cart"] <= 25
        assert 1 <= paths["/login"] <= 5, paths
