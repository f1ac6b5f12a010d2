"""The schedules of jmeter-plugins as `make init` imports them, against the users that the plugins really start."""

from __future__ import annotations

import csv
import subprocess
import tomllib
from dataclasses import dataclass

import pytest

from harness.base.install import toolchain
from harness.plan.adopt.adopt import adopt
from harness.plan.adopt.files import write_adopted
from harness.plan.load.groups import GroupLoad
from harness.plan.plan import load_plan
from tests.support.several import group, sampler, several_jmx

pytestmark = pytest.mark.real

STEPS = {"TargetLevel": "12", "RampUp": "3", "Steps": "3", "Hold": "1", "Unit": "S"}
# Users, delay, ramp-up, hold, ramp-down: 8 users grow and end within a second; 5 more in the third second.
ROWS = ((8, 0, 1, 2, 1), (5, 2, 0, 1, 0))
SECONDS = range(4)


def jmx() -> str:
    """Return a plan with a Concurrency and an Ultimate Thread Group, side by side."""
    steps = "".join(f'<stringProp name="{name}">{value}</stringProp>' for name, value in STEPS.items())
    rows = ""
    for number, row in enumerate(ROWS):
        cells = "".join(f'<stringProp name="{at}">{value}</stringProp>' for at, value in enumerate(row))
        rows += f'<collectionProp name="{number}">{cells}</collectionProp>'
    table = f'<collectionProp name="ultimatethreadgroupdata">{rows}</collectionProp>'
    concurrency = group(
        "Steps", sampler("Step", 40), "com.blazemeter.jmeter.threads.concurrency.ConcurrencyThreadGroup", steps
    ).replace('elementType="LoopController"', 'elementType="com.blazemeter.jmeter.control.VirtualUserController"')
    ultimate = group("Rows", sampler("Row", 40), "kg.apc.jmeter.threads.UltimateThreadGroup", table)
    endless = '<stringProp name="LoopController.loops">'
    return several_jmx(concurrency, ultimate.replace(f"{endless}1", f"{endless}-1"))


@dataclass(frozen=True)
class Running:
    """When the users of a group ran: thread, from_ms and to_ms of each sample, in ms after the first of the plan."""

    samples: list[tuple[str, int, int]]

    def at(self, at_s: float) -> int:
        """Return how many users are running; one that asks again within a tenth of a second is."""
        at_ms = 1000 * at_s
        return len({thread for thread, from_ms, to_ms in self.samples if from_ms - 100 <= at_ms <= to_ms + 100})


@pytest.fixture(scope="module")
def users(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Running]:
    """Return the running users by group, of the plugins' own groups in a plain JMeter."""
    folder = tmp_path_factory.mktemp("plugins")
    (folder / "plan.jmx").write_text(jmx())
    home = toolchain.ensure_jmeter()
    command = [str(home / "bin" / "jmeter"), "-n", "-t", "plan.jmx", "-l", "samples.jtl", "-j", "jmeter.log"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=60)
    with (folder / "samples.jtl").open(newline="") as lines:
        rows = [(row["threadName"], int(row["timeStamp"]), int(row["elapsed"])) for row in csv.DictReader(lines)]
    begin_ms = min(start_ms for _, start_ms, _ in rows)
    found: dict[str, Running] = {"Steps": Running([]), "Rows": Running([])}
    for thread, start_ms, elapsed_ms in rows:
        name = "Steps" if "Step" in thread else "Rows"
        found[name].samples.append((thread, start_ms - begin_ms, start_ms + elapsed_ms - begin_ms))
    return found


@pytest.fixture(scope="module")
def loads(tmp_path_factory: pytest.TempPathFactory) -> dict[str, GroupLoad]:
    """Return the loads that `make init` makes of the same groups."""
    folder = tmp_path_factory.mktemp("adopted")
    (folder / "own.jmx").write_text(jmx())
    write_adopted(folder / "plans", "own", adopt(folder / "own.jmx", "own", folder / "plans"), "own.jmx")
    assert len(tomllib.loads((folder / "plans" / "own.toml").read_text())["load"]) == 2
    return {load.group: load for load in load_plan(folder / "plans", "own").load.loads}


@pytest.mark.parametrize("name", ["Steps", "Rows"])
def test_an_imported_schedule_has_the_users_of_the_plugin_in_each_second(
    users: dict[str, Running], loads: dict[str, GroupLoad], name: str
) -> None:
    wanted = [loads[name].level_at(second + 0.5) for second in SECONDS]
    assert off_by(users[name], wanted) <= 1.5


def off_by(users: Running, wanted: list[float]) -> float:
    """Return by how many users a run differs from the schedule, in the second in which it differs most."""
    # The first sample may begin later than the schedule, and JMeter starts its users one by one, some tenths of a
    # second late: the same shift for all seconds.
    shifts = [tenths / 10 for tenths in range(-6, 7)]
    real = [[users.at(second + 0.5 + shift_s) for second in SECONDS] for shift_s in shifts]
    return min(max(abs(a - b) for a, b in zip(found, wanted, strict=True)) for found in real)
