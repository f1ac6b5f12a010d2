"""The GitHub Action: its commands run in the repository of a service, as a runner runs them."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.forge_server import BOT, TOKEN, Forge, GitHubServer
from tests.support.local_server import serving
from tests.support.paths import FAKE_JMETER, ROOT, jmeter_home
from tests.support.tiny import DUMMY_JMX, TINY_JMX, TINY_PLAN
from tests.support.workflows import run_step

ACTION: dict[str, Any] = yaml.load((ROOT / "action.yml").read_text(), Loader=yaml.BaseLoader)
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]
MEASURE = next(step for step in STEPS if step.get("id") == "measure")

Act = Callable[..., "tuple[subprocess.CompletedProcess[str], dict[str, str]]"]


@pytest.fixture
def service(tmp_path: Path) -> Path:
    """The repository of a service, with a project in a folder of it."""
    folder = tmp_path / "service" / "load tests"
    (folder / "plans").mkdir(parents=True)
    (folder / "loadtest.toml").write_text('format_version = 1\nplan = "shop"\n')
    (folder / "plans" / "shop.jmx").write_text(TINY_JMX)
    text = TINY_PLAN.replace('shape = "tiny.jmx"', 'shape = "shop.jmx"').replace('system = "tiny"\n', "")
    (folder / "plans" / "shop.toml").write_text(text)
    return folder


@pytest.fixture
def act(service: Path, tmp_path: Path, target: str) -> Act:
    """Return a function that installs and measures; it returns the last step, and all outputs."""

    def run(jmeter: Path = FAKE_JMETER, **inputs: str) -> tuple[subprocess.CompletedProcess[str], dict[str, str]]:
        output = tmp_path / "output"
        output.touch()
        variables = {
            "GITHUB_ACTION_PATH": str(ROOT), "GITHUB_OUTPUT": str(output), "RUNNER_TEMP": str(tmp_path),
            "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"), "JMETER_HOME": str(jmeter), "FAKE_JMETER": "works",
        }  # fmt: skip
        given = {"PROJECT": service.name, "TARGET": target, "DURATION": "2", **inputs}
        for step in STEPS:
            if step.get("id") in ("install", "measure"):
                done = run_step(step, service.parent, LTH=outputs(output).get("lth", ""), **variables, **given)
        return done, outputs(output)

    return run


def outputs(file: Path) -> dict[str, str]:
    return dict(line.split("=", 1) for line in file.read_text().splitlines())


def test_the_action_is_of_this_checkout_and_all_its_actions_are_pinned() -> None:
    uses = [step["uses"] for step in STEPS if "uses" in step]
    assert all(len(one.partition("@")[2]) == 40 for one in uses)
    commands = [step for step in STEPS if "run" in step]
    assert all(step["shell"] == "bash" and "${{" not in step["run"] for step in commands)
    used = {
        word for step in STEPS for text in (*step.get("env", {}).values(), step.get("if", "")) for word in text.split()
    }
    names = {word.partition("inputs.")[2] for word in used if "inputs." in word}
    assert names == set(ACTION["inputs"])


@pytest.mark.real
def test_a_run_writes_outputs_and_the_step_summary(act: Act, service: Path, tmp_path: Path) -> None:
    done, found = act(USERS="2")
    assert done.returncode == 0, done.stdout + done.stderr
    assert found["result"] == "passed"
    report = Path(found["report"])
    assert report.parent == service / "reports" / "shop"
    assert (tmp_path / "summary.md").read_text() == report.read_text()
    assert "Load: closed model, 2 users, ramp 0 s, 2 s in all." in report.read_text()
    assert Path(found["html"]).read_text().startswith("<!DOCTYPE html>")


@pytest.mark.real
@pytest.mark.counterpart
def test_a_missed_goal_fails_the_step_and_a_base_is_compared(act: Act) -> None:
    done, found = act(GOAL="p90<0.001")
    assert (done.returncode, found["result"]) == (1, "failed")
    base = Path(found["report"])
    done, found = act(BASE=str(base))
    assert f"### [{base.stem}]({base.name}), --base" in Path(found["report"]).read_text()
    # The result of lth compare: runs so short are not judged; on a busy machine one of them may even be INVALID.
    lines = [line for line in done.stdout.splitlines() if "shop/run-01_" in line]
    assert [line for line in lines if line.startswith(("CANNOT TELL: shop/", "INVALID: shop/"))], lines


@pytest.mark.real
def test_the_comment_is_the_report(tmp_path: Path) -> None:
    (step,) = (step for step in STEPS if "inputs.comment" in step.get("if", ""))
    report, forge = tmp_path / "run-01_1.md", Forge()
    report.write_text("# shop/run-01_1\n\n**VALID.**\n")
    report.with_suffix(".json").write_text("{}")  # of a run, not of a comparison
    with serving(GitHubServer, forge=forge) as port:
        done = run_step(
            step, tmp_path, LTH=str(ROOT / "scripts" / "lth"), REPORT=str(report), PR="12", LINK="https://ci.example/1",
            GITHUB_TOKEN=TOKEN, GITHUB_REPOSITORY="owner/name", GITHUB_API_URL=f"http://127.0.0.1:{port}",
            RUNNER_TEMP=str(tmp_path),
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (body,) = forge.bodies_of(BOT)
    assert "**VALID.**" in body and "https://ci.example/1" in body


@pytest.mark.real
def test_wrong_use_has_the_code_of_the_tool_and_no_report(act: Act) -> None:
    done, found = act(USERS="ten")
    assert (done.returncode, found.get("result"), "report" in found) == (2, "error", False)
    assert "ten: not a whole number" in done.stderr
    done, found = act(PROJECT=".")
    assert done.returncode == 2
    assert "::error::. has no loadtest.toml: make one with lth init" in done.stdout


@pytest.mark.counterpart
def test_a_run_with_a_real_jmeter(act: Act, service: Path) -> None:
    (service / "plans" / "shop.jmx").write_text(DUMMY_JMX)
    plan = service / "plans" / "shop.toml"
    plan.write_text(plan.read_text() + "[allow]\nother_protocols = true\n")
    done, found = act(jmeter_home())
    assert found["result"] == "passed", done.stdout + done.stderr
    assert "| Pay |" in Path(found["report"]).read_text()
