"""The workflows of GitHub: what they may do, and that the command of every step does what it is there for."""

import argparse
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from harness.cli.verbs import VERBS, parser_of
from tests.support.bytecode import share_bytecode
from tests.support.paths import ROOT
from tests.support.tiny import TINY_SYSTEM
from tests.support.workflows import WORKFLOWS, jobs, load, run_step, steps

KEYS = {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"}
AWS = KEYS | {"AWS_ENDPOINT_URL"}
# The traffic of lb.jmx on the small system of conftest: nothing is built for it.
PLAN = """format_version = 1
title = "A short load"
shape = "lb.jmx"
system = "tiny"
[load]
users = 2
duration_s = 3
[embedded]
properties = { warm_up_requests = 0, expected_text = "Directory" }
"""
SUITE = """format_version = 1
title = "A suite of one short load"
budget = "5m"
repeats = 1
[[run]]
plan = "tiny"
"""


# Commands are make targets: all but those of the workflow that starts another one, and the one that installs programs.
ASK, COMMENT = "pr-performance-ask.yml", "pr-performance-comment.yml"
INSTALL = "bash .ci/install"
COMMANDS = [
    step for name in WORKFLOWS if name != ASK for step in steps(name, "run") if not step["run"].startswith(INSTALL)
]
MEASURING = [name for name in WORKFLOWS if name not in (ASK, COMMENT)]
# What a job may do beside reading the repository. The workflows of pull requests have tests of their own.
RIGHTS = {
    "nightly.yml": {"id-token": "write"},
    COMMENT: {"actions": "read", "pull-requests": "write", "statuses": "write"},
    ASK: {"actions": "write", "pull-requests": "read"},
}
every_workflow = pytest.mark.parametrize("name", WORKFLOWS)
every_command = pytest.mark.parametrize("step", COMMANDS, ids=lambda step: step["run"])


def test_there_is_a_workflow_for_tests_one_for_the_nightly_and_those_of_pull_requests():
    assert {name: sorted(load(name)["on"]) for name in WORKFLOWS} == {
        "counterparts.yml": ["schedule", "workflow_dispatch"],
        "nightly.yml": ["schedule", "workflow_dispatch"],
        ASK: ["issue_comment"],
        COMMENT: ["workflow_run"],
        "pr-performance.yml": ["pull_request", "workflow_dispatch"],
        "test.yml": ["pull_request", "push"],
    }


def test_a_branch_with_a_pull_request_is_tested_once():
    events = load("test.yml")["on"]
    assert events["push"] == {"branches": ["main"]}
    assert not events["pull_request"]


def test_the_nightly_fetches_all_commits():
    checkout = next(step for step in steps("nightly.yml", "uses") if step["uses"].startswith("actions/checkout@"))
    assert checkout["with"]["fetch-depth"] == "0"


def test_a_fork_is_told_to_enable_the_schedule():
    assert "In a fork GitHub runs no scheduled workflow until" in (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")


@every_command
def test_a_command_is_a_make_target_and_nothing_else(step):
    target = re.fullmatch(r"make ([a-z-]+)", step["run"])
    assert target
    assert target[1] in {*VERBS, "lint", "test", "test-real"}


def test_the_tests_are_those_of_ci_run_and_none_is_skipped_where_a_program_is_missing():
    commands = [line for line in (ROOT / ".ci" / "run").read_text().splitlines() if re.match("bash|make|export", line)]
    assert commands == [INSTALL, "export HARNESS_CI=1", "make lint", "make test"]
    assert [step["run"] for step in steps("test.yml", "run")] == [INSTALL, "make lint", "make test"]
    assert [step["run"] for step in steps("counterparts.yml", "run")] == [f"{INSTALL} real", "make test-real"]
    assert [job["env"] for name in ("test.yml", "counterparts.yml") for job in jobs(name)] == [{"HARNESS_CI": "1"}] * 2


@pytest.fixture
def install(tmp_path):
    """Run .ci/install where only these programs are; return the calls of apt-get, which does nothing."""
    folder = tmp_path / "bin"
    folder.mkdir()
    bash = shutil.which("bash")

    def run(*programs, arguments=()):
        fakes = {"apt-get": f'echo "$*" >>{tmp_path}/calls', "sudo": '"$@"'} | dict.fromkeys(programs, ":")
        for name, text in fakes.items():
            (folder / name).write_text(f"#!{bash}\n{text}\n")
            (folder / name).chmod(0o755)
        done = subprocess.run(
            [bash, ROOT / ".ci" / "install", *arguments],
            env={"PATH": str(folder)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        calls = tmp_path / "calls"
        return calls.read_text().splitlines() if calls.exists() else []

    return run


def test_ci_installs_what_the_tests_look_at_and_nothing_that_is_there(install):
    options = "install -q -y --no-install-recommends"
    there = ["java", "mvn", "python3.11"]
    assert install(*there) == ["update -q", f"{options} chromium prometheus haproxy xvfb x11-utils"]
    there += ["google-chrome", "prometheus", "haproxy", "Xvfb", "xwininfo"]
    assert len(install(*there)) == 2  # the calls before
    assert re.search(
        "buildah debootstrap debian-archive-keyring bubblewrap .*golang", install(*there, arguments=["real"])[3]
    )


@every_command
def test_commands_get_only_variables_of_the_makefile_or_of_aws(step):
    variables = set(step.get("env", {})) - AWS - ({"GITHUB_TOKEN"} if step["run"] == "make comment" else set())
    verb = step["run"].removeprefix("make ")
    parser = parser_of(verb) if verb in VERBS else argparse.ArgumentParser()
    flags = {flag.lstrip("-").upper().replace("-", "_") for action in parser._actions for flag in action.option_strings}
    assert variables <= flags | {action.dest.upper() for action in parser._actions}


@every_workflow
def test_no_github_text_is_inserted_into_a_command(name):
    """An input of `x; rm -rf /` in the environment is a text; put into a script it would be a command."""
    assert [step["run"] for step in steps(name, "run") if "${{" in step["run"]] == []


@every_workflow
def test_only_aws_keys_are_passed_as_secrets_and_only_to_a_command(name):
    given = {key for step in steps(name, "run") for key, value in step.get("env", {}).items() if "secrets." in value}
    assert given <= KEYS
    assert WORKFLOWS[name].read_text().count("secrets.") == len(given)


def test_every_input_of_the_nightly_reaches_a_variable_of_its_own():
    inputs = load("nightly.yml")["on"]["workflow_dispatch"]["inputs"]
    (step,) = steps("nightly.yml", "run")
    used = {one: re.findall(r"inputs\.(\w+)", text) for one, text in step["env"].items() if "inputs." in text}
    assert used == {one.upper(): [one] for one in inputs}


@every_workflow
def test_a_workflow_may_read_the_repository_and_no_more(name):
    assert load(name)["permissions"] == {"contents": "read"}
    for job in jobs(name):
        more = {one: right for one, right in job.get("permissions", {}).items() if one != "contents"}
        assert more in ({}, RIGHTS.get(name))
        if "id-token" in more:
            assert "role-to-assume" in str(job["steps"])


@every_workflow
def test_a_job_ends_in_time_and_only_one_of_a_kind_runs_at_once(name):
    assert "group" in load(name)["concurrency"]
    most = 180 if name == "counterparts.yml" else 90  # weekly
    assert all(int(job["timeout-minutes"]) <= most for job in jobs(name))


@every_workflow
def test_actions_are_pinned_to_a_commit_and_keep_no_credentials(name):
    lines = [line for line in WORKFLOWS[name].read_text().splitlines() if re.search(r"\buses:", line)]
    pinned = re.compile(r"\s*(- )?uses: [\w-]+/[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
    assert [line for line in lines if not pinned.fullmatch(line)] == []
    for step in steps(name, "uses"):
        if step["uses"].startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] == "false"


@pytest.mark.parametrize("name", MEASURING)
def test_artifacts_are_kept_on_failure_too_and_expire(name):
    kept = [step for step in steps(name, "uses") if re.search(r"upload-artifact|cache/save", step["uses"])]
    assert kept
    for step in kept:
        assert step["if"] == "${{ always() }}"
        assert "upload-artifact" not in step["uses"] or int(step["with"]["retention-days"]) <= 90


def test_the_history_is_saved_where_it_is_restored():
    saved, restored = (
        next(step["with"] for step in steps("nightly.yml", "uses") if f"cache/{verb}@" in step["uses"])
        for verb in ("save", "restore")
    )
    assert (saved["path"], saved["key"]) == (restored["path"], restored["key"])
    assert saved["key"].startswith(restored["restore-keys"])


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> Path:
    """A copy of the project as it is, like a checkout; only what was built once is that of here."""
    folder = tmp_path_factory.mktemp("checkout")
    listed = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.run(listed, capture_output=True, text=True, check=True).stdout.split("\0"):
        source = ROOT / name
        if name and source.is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, folder / name, follow_symlinks=False)
    (folder / "build").mkdir()
    once = ("jmeter", "counter", "connections")
    built = [path.relative_to(ROOT) for path in (ROOT / "build").glob("*") if path.name in once]
    for name in (".venv", ".mypy_cache", ".ruff_cache", *built):
        if (ROOT / name).exists():
            (folder / name).symlink_to(ROOT / name)
    share_bytecode(folder)
    return folder


@pytest.mark.counterpart
@pytest.mark.parametrize("step", steps("test.yml", "run")[1:], ids=lambda step: step["run"])
def test_a_step_of_the_tests_does_its_work_in_a_clean_copy(copy, step):
    done = run_step(step, copy, TESTS="tests/base/test_units.py", PYTHONPYCACHEPREFIX=str(copy / "build" / "pycache"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert {"make lint": "All checks passed!", "make test": " passed"}[step["run"]] in done.stdout


@pytest.mark.counterpart
def test_the_nightly_leaves_its_page_and_its_summary_in_a_clean_copy(copy, tmp_path):
    for name, text in (("plans/tiny.toml", PLAN), ("systems/tiny/system.toml", TINY_SYSTEM), ("suite.toml", SUITE)):
        (copy / name).parent.mkdir(exist_ok=True)
        (copy / name).write_text(text)
    (step,) = steps("nightly.yml", "run")
    summary = tmp_path / "summary.md"
    given = {"SUITE": "suite.toml", "GITHUB_STEP_SUMMARY": str(summary), "GC_ALGO": os.environ["GC_ALGO"]}
    given["PYTHONPYCACHEPREFIX"] = str(copy / "build" / "pycache")
    done = run_step(step, copy, **given)
    assert done.returncode == 0, done.stdout + done.stderr
    (page,) = (copy / "reports" / "nightly").glob("????-??-??.md")
    assert "tiny" in page.read_text()
    assert "tiny" in summary.read_text()
    save = next(step for step in steps("nightly.yml", "uses") if "cache/save@" in step["uses"])
    assert [path for path in save["with"]["path"].split() if not list(copy.glob(path))] == []


@pytest.mark.real
def test_an_input_is_text_and_never_make_syntax(tmp_path):
    (step,) = steps("nightly.yml", "run")
    harm = f"$(shell touch {tmp_path}/harm)'; touch {tmp_path}/harm; '"
    given = {name: harm for name, value in step["env"].items() if re.search(r"inputs\.(suite|s3)\b", value)}
    assert set(given) == {"SUITE", "S3"}
    done = run_step(step, ROOT, **given, DRY_RUN="1")
    assert done.returncode != 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("is_there", [True, False])
def test_ci_names_the_golden_runs_to_the_tests_where_they_are(tmp_path, is_there):
    """`.ci/run` of a clean checkout, with a make that prints what it is given."""
    checkout = tmp_path / "checkout"
    shutil.copytree(ROOT / ".ci", checkout / ".ci")
    (checkout / ".ci" / "install").write_text("")
    make = tmp_path / "bin" / "make"
    make.parent.mkdir()
    make.write_text('#!/bin/sh\necho "$1 ${HARNESS_GOLDEN:-none}"\n')
    make.chmod(0o755)
    if is_there:
        (tmp_path / "shared" / "golden").mkdir(parents=True)
    variables = {"PATH": f"{make.parent}:{os.environ['PATH']}"}
    done = subprocess.run([checkout / ".ci" / "run"], env=variables, capture_output=True, text=True, check=True)
    named = tmp_path / "shared" / "golden" if is_there else "none"
    assert done.stdout.splitlines() == [f"lint {named}", f"test {named}"]
