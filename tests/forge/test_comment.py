"""aggregate.py comment against a server that speaks the part of the APIs of GitHub and GitLab that it needs."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.commands import command
from tests.support.comments import BASES, LINK, MARKER, NEWER, Comment, failure, write_result
from tests.support.forge_server import (
    BOT,
    COMMENT_MOST,
    OTHER,
    SHA,
    TOKEN,
    Forge,
    GitLabServer,
)
from tests.support.local_server import serving


def test_the_comment_is_created_once_and_edited_later(comment: Comment, report: Path, forge: Forge) -> None:
    first = comment(report, "--link", LINK)
    assert first.returncode == 0, first.stderr
    assert first.stdout.endswith("#issuecomment-1000 (created)\n")
    write_result(report, "OK", "OK: nothing is worse.")
    second = comment(report, "--link", LINK)
    assert second.stdout.endswith("#issuecomment-1000 (edited)\n")
    text = f"{MARKER}# A/B\n\n\u2705 **OK: nothing is worse.**\n\n[Report, charts and logs]({LINK})\n"
    assert [one["body"] for one in forge.comments] == [text]
    assert forge.statuses == []


def test_the_own_comment_is_found_behind_a_hundred_others(comment: Comment, report: Path, forge: Forge) -> None:
    for number in range(230):
        forge.add(OTHER, f"comment {number}")
    own = forge.add(BOT, f"{MARKER}old")
    forge.add(OTHER, "the last one")
    assert comment(report).returncode == 0
    assert own["body"].startswith(f"{MARKER}# A/B")
    assert len(forge.comments) == 232
    assert [one for one in forge.requests if one.startswith(("POST /repos", "PATCH"))] == [
        f"PATCH /repos/owner/name/issues/comments/{own['id']}"
    ]


def test_a_comment_of_somebody_else_is_never_edited_whatever_it_contains(
    comment: Comment, report: Path, forge: Forge
) -> None:
    forge.add(OTHER, f"{MARKER}edit me")
    other_context = forge.add(BOT, "<!-- load-test-harness: nightly -->\nanother")["body"]
    assert comment(report).returncode == 0
    assert forge.bodies_of(OTHER) == [f"{MARKER}edit me"]
    assert forge.bodies_of(BOT) == [
        other_context,
        f"{MARKER}# A/B\n\n\u274c **REGRESSED: p95 of TOTAL is 12 % higher.**\n",
    ]


class Status(NamedTuple):
    """The state of a commit, and the text beside it."""

    state: str
    description: str


@pytest.mark.parametrize(
    ("verdict", "headline", "status"),
    [
        ("REGRESSED", "REGRESSED: p95 is 12 % higher.", Status("failure", "REGRESSED: p95 is 12 % higher.")),
        ("OK", "nothing is worse", Status("success", "OK: nothing is worse")),
        ("IMPROVED", "p95 is 9 % lower", Status("success", "IMPROVED: p95 is 9 % lower")),
        ("CANNOT TELL", "the runs differ too much", Status("success", "CANNOT TELL: the runs differ too much")),
        ("FINE\n\x1b[2J", "x" * 200, Status("error", f"FINE \ufffd[2J: {'x' * 129}")),
    ],
)
def test_the_verdict_sets_the_status_of_the_commit(
    verdict: str, headline: str, status: Status, comment: Comment, report: Path, forge: Forge
) -> None:
    write_result(report, verdict, headline)
    done = comment(report, "--sha", SHA, "--link", LINK, "--context", "gate")
    assert done.returncode == 0, done.stderr
    assert forge.statuses == [{"sha": SHA, "context": "gate", "target_url": LINK, **status._asdict()}]
    assert f"[Report, charts and logs]({LINK}) · commit 0123456\n" in forge.comments[0]["body"]


def test_an_interrupted_comparison_is_an_error_whatever_its_headline_is(
    comment: Comment, report: Path, forge: Forge
) -> None:
    write_result(report, "INTERRUPTED", "so far OK: 4 pairs", state="running")
    assert comment(report, "--sha", SHA).returncode == 0
    status = ("error", "INTERRUPTED: so far OK: 4 pairs")
    assert (forge.statuses[0]["state"], forge.statuses[0]["description"]) == status
    older = {"state": "running", "verdict": "OK", "headline": "so far OK: 4 pairs"}
    report.with_suffix(".json").write_text(json.dumps(older))
    assert comment(report, "--sha", SHA).returncode == 0
    assert (forge.statuses[0]["state"], forge.statuses[0]["description"]) == status


@pytest.mark.parametrize("has_folder", [True, False])
def test_a_comparison_without_a_result_is_an_error_and_replaces_the_old_comment(
    has_folder: bool, comment: Comment, tmp_path: Path, forge: Forge
) -> None:
    forge.add(BOT, f"{MARKER}OK: an older commit")
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "build.log").write_text("error: cannot find symbol\n")
    done = comment(*([tmp_path / "logs"] if has_folder else []), "--sha", SHA, "--link", LINK)
    assert done.returncode == 0, done.stderr
    assert (forge.statuses[0]["state"], forge.statuses[0]["description"]) == ("error", "ABORTED: no result")
    (body,) = forge.bodies_of(BOT)
    assert body == f"{MARKER}**ABORTED: no result**\n\n[Report, charts and logs]({LINK}) · commit 0123456\n"


def test_the_report_is_found_in_a_folder(comment: Comment, tmp_path: Path, forge: Forge) -> None:
    write_result(tmp_path / "artefact" / "ab" / "main-HEAD" / "ab-01.md", "OK", "OK: nothing is worse.")
    assert comment(tmp_path / "artefact", "--sha", SHA).returncode == 0
    assert forge.statuses[0]["state"] == "success"
    assert "**OK: nothing is worse.**" in forge.comments[0]["body"]


def test_a_pull_request_is_found_by_its_branch(comment: Comment, report: Path, forge: Forge) -> None:
    assert comment(report, "--pr", "octocat:patch-1").returncode == 0
    assert "GET /repos/owner/name/pulls?state=open&head=octocat%3Apatch-1&per_page=100&page=1" in forge.requests
    assert len(forge.comments) == 1
    line = failure(comment(report, "--pr", "octocat:$(id)"), 2)
    assert "octocat:$(id): no open pull request" in line
    assert len(forge.comments) == 1


def test_the_comment_names_newer_commits_that_are_not_measured(comment: Comment, report: Path, forge: Forge) -> None:
    forge.head_sha = NEWER
    assert comment(report, "--sha", SHA).returncode == 0
    assert "\ncommit 0123456 · newer commits up to fffffff are not measured\n" in forge.comments[0]["body"]
    assert forge.statuses[0]["sha"] == SHA


def test_a_long_report_is_cut_and_links_to_all_of_it(comment: Comment, report: Path, forge: Forge) -> None:
    row = "| Capture Payment | 1.23 s |\n"
    write_result(report, "OK", "OK", "# A/B\n\n" + row * 4000)
    done = comment(report, "--link", LINK)
    assert done.returncode == 0, done.stderr
    body = forge.comments[0]["body"]
    assert COMMENT_MOST - 2 * len(row) < len(body) <= COMMENT_MOST
    left = 4000 - body.count(row)
    assert f"\n… cut here: {left} more lines in [the report]({LINK})\n" in body


def test_a_report_mentions_nobody_and_gives_no_commands(comment: Comment, report: Path, forge: Forge) -> None:
    text = "@octocat a@b.example <!-- -->@octocat\n/merge\n<!-- -->/close\n"
    text += "![chart](https://track.example/x.svg)\n[run](run-01_1.md)<!-- hidden -->\n"
    write_result(report, "OK", "OK", text)
    assert comment(report).returncode == 0
    assert (
        forge.comments[0]["body"]
        == f"{MARKER}@\u2060octocat a@b.example &lt;!-- -->@\u2060octocat\n\u2060/merge\n\u2060/close\n"
        "run&lt;!-- hidden -->\n"
    )


def test_the_token_is_in_no_comment_and_no_status(comment: Comment, report: Path, forge: Forge) -> None:
    write_result(report, "OK", f"OK: {TOKEN}", f"the log has {TOKEN}\n")
    done = comment(report, "--sha", SHA)
    assert done.returncode == 0
    assert TOKEN not in str(forge.comments) + str(forge.statuses)
    assert "the log has •••" in forge.comments[0]["body"]


def test_a_dry_run_prints_and_sends_nothing(comment: Comment, report: Path, forge: Forge) -> None:
    done = comment(report, "--sha", SHA, "--dry-run", GITHUB_TOKEN="")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"status performance of {SHA}: failure, REGRESSED: p95 of TOTAL is 12 % higher.\n")
    assert f"\n{MARKER}# A/B\n" in done.stdout
    assert forge.requests == []


def test_on_gitlab_the_note_is_created_once_and_edited_and_the_status_is_set(report: Path, forge: Forge) -> None:
    for number in range(120):
        forge.add(OTHER, f"{MARKER}{number}")
    with serving(GitLabServer, forge=forge) as port:
        environment = {
            "CI_API_V4_URL": f"http://127.0.0.1:{port}/api/v4",
            "CI_PROJECT_PATH": "group/sub/name",
            "GITLAB_TOKEN": TOKEN,
        }
        first = command("aggregate.py", "comment", report, "--pr", "12", "--sha", SHA, **environment)
        write_result(report, "OK", "OK: nothing is worse.")
        second = command("aggregate.py", "comment", report, "--pr", "12", "--sha", SHA, "--link", LINK, **environment)
        unknown = command("aggregate.py", "comment", report, "--pr", "13", **environment)
    note = "https://gitlab.example/group/sub/name/-/merge_requests/12#note_1120"
    assert first.stdout.startswith(f"comment: {note} (created)\n"), first.stderr
    assert second.stdout.startswith(f"comment: {note} (edited)\n"), second.stderr
    assert forge.bodies_of(OTHER) == [f"{MARKER}{number}" for number in range(120)]
    (body,) = forge.bodies_of(BOT)
    assert body.startswith(f"{MARKER}# A/B\n\n\u2705 **OK: nothing is worse.**\n")
    assert [(one["state"], one["name"], one.get("target_url")) for one in forge.statuses] == [
        ("failed", "performance", None),
        ("success", "performance", LINK),
    ]
    assert "merge_requests/13: not found" in failure(unknown, 2)


@pytest.mark.real
@pytest.mark.parametrize("variable", BASES)
def test_the_comment_has_the_changes_of_the_test_plans_since_the_base(
    report: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    folder = tmp_path / "clone"
    users = '<ThreadGroup testname="@ann `b`"><intProp name="ThreadGroup.num_threads">{}</intProp></ThreadGroup>'
    (folder / "plans").mkdir(parents=True)
    jmx = folder / "plans" / "shop.jmx"

    def committed(count: int) -> str:
        inside = f"<hashTree>{users.format(count)}</hashTree>"
        jmx.write_text(f'<jmeterTestPlan><hashTree><TestPlan testname="Shop"/>{inside}</hashTree></jmeterTestPlan>')
        git("add", ".")
        git("commit", "-qm", "Change")
        return git("rev-parse", "HEAD")

    def git(*arguments: str) -> str:
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", *arguments]
        return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()

    git("init", "-q")
    base = committed(50)
    git("update-ref", "refs/remotes/origin/main", base)
    head = committed(80)
    monkeypatch.chdir(folder)
    monkeypatch.setenv(variable, {"GITHUB_BASE_REF": "main"}.get(variable, base))
    arguments = ("--repo", "owner/name", "--pr", "12", "--dry-run")
    done = command("aggregate.py", "comment", report, *arguments, "--sha", head)
    line = "plans/shop.jmx: thread group *@\u2060ann \u02cbb\u02cb*: Number of Threads (users) 50 → 80"
    assert f"Changed test plans:\n\n```\n{line}\n```\n" in done.stdout
    assert "Changed test plans" not in command("aggregate.py", "comment", report, *arguments, "--sha", base).stdout
    assert "Changed test plans" not in command("aggregate.py", "comment", report, *arguments).stdout
