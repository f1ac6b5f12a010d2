"""The workflows of the pull-request gate: code of a pull request runs without rights, and rights without its code."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.forge_server import BOT, SHA, TOKEN, Forge, GitHubServer
from tests.support.local_server import serving
from tests.support.paths import ROOT
from tests.support.workflows import jobs, load, run_step, steps

MEASURE, COMMENT, ASK = "pr-performance.yml", "pr-performance-comment.yml", "pr-performance-ask.yml"
# A gh that stores its arguments and answers from its environment.
FAKE_GH = """#!/bin/sh
printf '%s\\000' "$@" >>"$CALLS"
printf '\\n' >>"$CALLS"
case "$*" in
  *isCrossRepository*) echo "$FORK" ;;
  *headRefName*) printf '%s\\n' "$BRANCH" ;;
esac
"""


def test_code_of_a_pull_request_runs_without_secrets_or_the_right_to_write() -> None:
    text = load(MEASURE)
    assert set(text["on"]) == {"pull_request", "workflow_dispatch"}  # never pull_request_target
    assert text["on"]["pull_request"] == {"types": ["labeled"]}
    assert [job["permissions"] for job in jobs(MEASURE)] == [{"contents": "read"}]
    source = json.dumps(text)
    assert "secrets." not in source
    assert "github.token" not in source
    # Nothing that it builds reaches the caches of other workflows.
    assert {step["uses"].partition("@")[0] for step in steps(MEASURE, "uses") if "cache" in step["uses"]} == {
        "actions/cache/restore"
    }


def test_only_the_label_performance_starts_a_measurement_and_it_has_both_sides() -> None:
    (job,) = jobs(MEASURE)
    assert "github.event.label.name == 'performance'" in job["if"]
    checkout = next(step for step in steps(MEASURE, "uses") if step["uses"].startswith("actions/checkout@"))
    assert checkout["with"]["fetch-depth"] == "0"
    assert "ref" not in checkout["with"]
    (step,) = steps(MEASURE, "run")
    assert (step["env"]["B"], step["env"]["PLAN"]) == ("HEAD", "lb-nginx")
    assert step["env"]["HTML"] == "1"  # the summary of the step links it
    assert step["env"]["A"].startswith("origin/")
    budget_minutes = int(step["env"]["MAX"].removesuffix("m"))
    assert budget_minutes + 15 <= int(job["timeout-minutes"])  # both sides are built first


def test_the_workflow_that_writes_runs_code_of_the_default_branch_only() -> None:
    assert load(COMMENT)["on"] == {"workflow_run": {"workflows": [load(MEASURE)["name"]], "types": ["completed"]}}
    (job,) = jobs(COMMENT)
    assert job["permissions"] == {
        "contents": "read", "actions": "read", "pull-requests": "write", "statuses": "write",
    }  # fmt: skip
    checkout, _, download = steps(COMMENT, "uses")
    assert checkout["with"]["ref"] == "${{ github.event.repository.default_branch }}"
    assert download["with"]["path"].startswith("${{ runner.temp }}/")  # beside the checkout, not in it
    assert [step["run"] for step in steps(COMMENT, "run")] == ["make comment"]
    # Pull request and commit come from the event, which a pull request cannot change.
    (step,) = steps(COMMENT, "run")
    for name in ("PR", "SHA", "LINK"):
        assert set(re.findall(r"\$\{\{ ([\w.]+) \}\}", step["env"][name])) <= {
            "github.event.workflow_run.head_repository.owner.login",
            "github.event.workflow_run.head_branch",
            "github.event.workflow_run.head_sha",
            "github.event.workflow_run.html_url",
        }


def test_the_artefact_has_one_name_in_both_workflows() -> None:
    (upload,) = [step for step in steps(MEASURE, "uses") if "upload-artifact" in step["uses"]]
    (download,) = [step for step in steps(COMMENT, "uses") if "download-artifact" in step["uses"]]
    assert upload["with"]["name"] == "pr-performance-${{ github.run_attempt }}"
    assert download["with"]["name"] == "pr-performance-${{ github.event.workflow_run.run_attempt }}"
    (step,) = steps(MEASURE, "run")
    folder, *left_out = upload["with"]["path"].split()
    assert step["env"]["REPORTS"] == folder
    assert not any("html" in pattern for pattern in left_out)


def test_only_a_member_starts_a_measurement_by_a_comment() -> None:
    (job,) = jobs(ASK)
    assert load(ASK)["on"] == {"issue_comment": {"types": ["created"]}}
    assert job["permissions"] == {"actions": "write", "pull-requests": "read"}
    assert steps(ASK, "uses") == []
    allowed = json.loads(re.search(r"fromJSON\('(.*?)'\), github.event.comment.author_association\)", job["if"])[1])
    assert allowed == ["OWNER", "MEMBER", "COLLABORATOR"]
    assert "github.event.issue.pull_request && startsWith(github.event.comment.body, '/performance')" in job["if"]


@pytest.fixture
def ask(tmp_path: Path) -> Callable[..., tuple[subprocess.CompletedProcess[str], list[list[str]]]]:
    """Run the step that answers /performance; return it, and the arguments of each call of gh."""
    gh = tmp_path / "bin" / "gh"
    gh.parent.mkdir()
    gh.write_text(FAKE_GH)
    gh.chmod(0o755)

    def run(**environment: str) -> tuple[subprocess.CompletedProcess[str], list[list[str]]]:
        (step,) = steps(ASK, "run")
        calls = tmp_path / "calls"
        path = f"{gh.parent}{os.pathsep}{os.environ['PATH']}"
        done = run_step(step, tmp_path, PR="12", CALLS=str(calls), PATH=path, **environment)
        return done, [line.split("\0")[:-1] for line in calls.read_text().splitlines()]

    return run


def test_a_comment_measures_the_branch_of_the_pull_request(ask: Callable[..., tuple], tmp_path: Path) -> None:
    branch = f"x$(touch {tmp_path}/harm)`touch {tmp_path}/harm`;touch {tmp_path}/harm"
    done, calls = ask(FORK="false", BRANCH=branch)
    assert done.returncode == 0, done.stderr
    assert calls[-1] == ["workflow", "run", MEASURE, f"--ref={branch}"]
    assert not (tmp_path / "harm").exists()


@pytest.mark.parametrize("fork", ["true", ""])
def test_a_comment_on_a_pull_request_of_a_fork_starts_nothing(fork: str, ask: Callable[..., tuple]) -> None:
    done, calls = ask(FORK=fork, BRANCH="main")
    assert done.returncode == 1
    assert "#12 is from a fork: set the label performance instead" in done.stdout
    assert [call[0] for call in calls] == ["pr"]


@pytest.mark.real
def test_the_step_of_the_comment_writes_what_the_artefact_says_for_the_pull_request_of_the_event(
    tmp_path: Path,
) -> None:
    artefact = tmp_path / "pull-request" / "ab" / "main-HEAD"
    artefact.mkdir(parents=True)
    (artefact / "ab-01.md").write_text("# A/B\n\n**OK: nothing is worse.**\n")
    (artefact / "ab-01.json").write_text('{"verdict": "OK", "headline": "OK: nothing is worse.", "pr": 13}')
    (step,) = steps(COMMENT, "run")
    forge = Forge()
    with serving(GitHubServer, forge=forge) as port:
        given = {
            "REPO": "owner/name", "PR": "octocat:patch-1", "SHA": SHA, "LINK": "https://github.example/run/5",
            "GITHUB_TOKEN": TOKEN, "GITHUB_API_URL": f"http://127.0.0.1:{port}", "NO_PROXY": "*", "no_proxy": "*",
        }  # fmt: skip
        first = run_step(step, ROOT, RESULT=str(tmp_path / "pull-request"), **given)
        aborted = run_step(step, ROOT, RESULT="", **given)
        harm = run_step(step, ROOT, RESULT="", **{**given, "PR": f"octocat:$(touch {tmp_path}/harm)"})
    assert first.returncode == 0, first.stderr
    assert aborted.returncode == 0, aborted.stderr
    assert [(one["sha"], one["state"]) for one in forge.statuses] == [(SHA, "success"), (SHA, "error")]
    (body,) = forge.bodies_of(BOT)
    assert "ABORTED: no result" in body
    assert harm.returncode == 2
    assert not (tmp_path / "harm").exists()
    assert TOKEN not in first.stdout + first.stderr + harm.stdout + harm.stderr
