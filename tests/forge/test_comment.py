"""aggregate.py comment against a server that speaks the part of the APIs of GitHub and GitLab that it needs."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from harness.base import http_client
from tests.support.commands import command
from tests.support.forge_server import (
    BOT,
    COMMENT_MOST,
    OTHER,
    SHA,
    TOKEN,
    Answer,
    Forge,
    GitHubServer,
    GitLabServer,
)
from tests.support.local_server import serving

MARKER = "<!-- load-test-harness: performance -->\n"
LINK = "https://github.example/owner/name/actions/runs/5"
NEWER = "f" * 40
BASES = ("GITHUB_BASE_REF", "CI_MERGE_REQUEST_DIFF_BASE_SHA")

Comment = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(autouse=True)
def _no_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out what a CI server sets, and any proxy."""
    for name in ("CI_API_V4_URL", "CI_PROJECT_PATH", "GITHUB_REPOSITORY", "GITHUB_TOKEN", "GITLAB_TOKEN", *BASES):
        monkeypatch.delenv(name, raising=False)
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.setenv(name, "*")


@pytest.fixture
def forge() -> Forge:
    """What the server stores."""
    return Forge()


@pytest.fixture
def address(forge: Forge) -> Iterator[str]:
    """The address of GitHub's API."""
    with serving(GitHubServer, forge=forge) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.fixture
def report(tmp_path: Path) -> Path:
    return write_result(tmp_path / "ab-01.md", "REGRESSED", "REGRESSED: p95 of TOTAL is 12 % higher.")


def write_result(
    path: Path, verdict: str, headline: str, text: str = "# A/B\n\n**{}**\n", state: str = "finished"
) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.replace("{}", headline), encoding="utf-8")
    data = {"state": state, "result": {"verdict": verdict, "headline": headline}, "pairs": [1]}
    path.with_suffix(".json").write_text(json.dumps(data))
    return path


@pytest.fixture
def comment(address: str) -> Comment:
    """Run the verb for pull request 12 of the server."""

    def run(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
        variables = {"GITHUB_API_URL": address, "GITHUB_TOKEN": TOKEN, **environment}
        given = ("--repo", "owner/name", "--pr", "12", *arguments)
        return command("aggregate.py", "comment", *given, **variables)

    return run


def failure(done: subprocess.CompletedProcess[str], code: int) -> str:
    """Return the one line on standard error of a command that failed without showing the token."""
    assert done.returncode == code, done.stderr
    assert TOKEN not in done.stdout + done.stderr
    (line,) = done.stderr.splitlines()
    return line


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
        ("FINE\n\x1b[2J", "x" * 200, Status("error", f"FINE [2J: {'x' * 130}")),
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
        == f"{MARKER}@\u2060octocat a@b.example @\u2060octocat\n\u2060/merge\n\u2060/close\nrun\n"
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


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"GITHUB_TOKEN": ""}, "GITHUB_TOKEN is not set; set it to a token that may write comments and statuses"),
        ({"GITHUB_TOKEN": f"{TOKEN}\nX-Injected: 1"}, "GITHUB_TOKEN is empty or has a character that no token has"),
        ({"GITHUB_TOKEN": "wrong-token"}, "GITHUB_TOKEN is not accepted (401 Bad credentials); it is wrong or expired"),
        ({"GITHUB_API_URL": "file:///etc"}, "file:///etc: not an http address"),
        ({"CI_API_V4_URL": "http://127.0.0.1:1"}, "GITLAB_TOKEN is not set; set it to a token that may write comments"),
    ],
)
def test_a_missing_or_wrong_token_is_one_line_and_the_report_stays(
    environment: dict[str, str], message: str, comment: Comment, report: Path, forge: Forge
) -> None:
    line = failure(comment(report, **environment), 2)
    assert message in line
    assert line.endswith("ab-01.md")
    assert "; the report is complete: " in line
    assert forge.comments == []


def test_a_token_without_rights_is_one_line_that_names_them(comment: Comment, report: Path, forge: Forge) -> None:
    message = '{"message": "Resource not accessible by integration"}'
    forge.answers = [Answer("GET", 403, message)]
    line = failure(comment(report), 2)
    assert "/repos/owner/name/pulls/12: permission denied (403 Resource not accessible by integration)" in line
    assert "GITHUB_TOKEN needs pull-requests: write and statuses: write" in line


def test_an_unknown_pull_request_is_one_line(comment: Comment, report: Path) -> None:
    line = failure(comment(report, "--pr", "13"), 2)
    assert "/repos/owner/name/pulls/13: not found; check --repo, --pr and --sha; GITHUB_TOKEN must have access" in line


def test_a_token_in_an_error_of_the_server_is_masked(comment: Comment, report: Path, forge: Forge) -> None:
    forge.answers = [Answer("POST", 422, json.dumps({"message": f"bad\n{TOKEN}"}))]
    assert "is refused (422 bad •••)" in failure(comment(report), 2)


def test_a_server_that_fails_after_it_stored_the_comment_has_one_comment(
    comment: Comment, report: Path, forge: Forge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_client, "_WAITS_S", (0.01, 0.01, 0.01))
    forge.answers = [Answer("GET", 502), Answer("POST /graphql", 500), Answer("POST /repos", 502, stores=True)]
    done = comment(report)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("the server failed (50") == 3
    assert len(forge.comments) == 1


@pytest.mark.real
def test_a_short_rate_limit_is_waited_for(comment: Comment, report: Path, forge: Forge) -> None:
    forge.answers = [
        Answer("GET", 403, '{"message": "You have exceeded a secondary rate limit"}', {"Retry-After": "1"})
    ]
    began = time.monotonic()
    done = comment(report)
    assert done.returncode == 0, done.stderr
    assert "the rate limit of GITHUB_TOKEN is reached; next attempt in 1 s\n" in done.stdout
    assert time.monotonic() - began >= 1
    assert len(forge.comments) == 1


def test_a_long_rate_limit_is_one_line_with_the_time_of_its_end(comment: Comment, report: Path, forge: Forge) -> None:
    reset_s = int(time.time()) + 3600
    forge.answers = [Answer("GET", 403, "{}", {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(reset_s)})]
    line = failure(comment(report), 3)
    end = time.strftime("%H:%M:%S", time.gmtime(reset_s))
    assert (
        f"the rate limit of GITHUB_TOKEN is reached; repeat the command after {end} UTC; the report is complete: "
        in line
    )


def test_a_redirect_gets_no_token(comment: Comment, report: Path, forge: Forge) -> None:
    elsewhere = Forge()
    with serving(GitHubServer, forge=elsewhere) as port:
        forge.answers = [Answer("GET", 301, "{}", {"Location": f"http://127.0.0.1:{port}/repos/owner/name/pulls/12"})]
        line = failure(comment(report), 2)
    assert "/repos/owner/name/pulls/12: moved (301); give the new name to --repo" in line
    assert elsewhere.requests == []


@pytest.mark.parametrize("body", ["<html>proxy</html>", "[]", '{"number": "12"}'])
def test_an_answer_of_another_server_is_one_line(body: str, comment: Comment, report: Path, forge: Forge) -> None:
    forge.answers = [Answer("GET", 200, body)]
    line = failure(comment(report), 3)
    assert "/repos/owner/name/pulls/12: the answer is not that of this API (" in line


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--repo", "owner"), "--repo owner: not a repository of GitHub; write OWNER/NAME"),
        (("--repo", "owner/.."), "--repo owner/..: not a repository of GitHub"),
        (("--pr", "twelve"), "--pr twelve: not a pull request; write its number, or OWNER:BRANCH of its head"),
        (("--sha", "HEAD"), "--sha HEAD: not a whole commit hash; write that of git rev-parse HEAD"),
        (("--link", "javascript:alert(1)"), "--link javascript:alert(1): not an http address"),
        (("--context", "a --> b"), "--context a --> b: not a name"),
    ],
)
def test_a_wrong_option_is_one_line_and_nothing_is_sent(
    arguments: tuple[str, str], message: str, comment: Comment, report: Path, forge: Forge
) -> None:
    assert message in failure(comment(report, *arguments), 2)
    assert forge.requests == []


def test_a_wrong_result_is_one_line_and_nothing_is_sent(
    comment: Comment, report: Path, tmp_path: Path, forge: Forge
) -> None:
    beside = report.with_suffix(".json")
    for text, message in (
        ("[]", "not the result of a comparison (not an object)"),
        ('{"verdict": "OK", "headline": 7}', "not the result of a comparison (headline is a whole number, not a text)"),
        ('{"result": {"verdict": "OK", "headline": 7}}', "(result.headline is a whole number, not a text)"),
        ("{" + " " * 2**20 + "}", "too large for a report; the limit is 1 MB"),
    ):
        beside.write_text(text)
        assert message in failure(comment(report, "--sha", SHA), 2)
    beside.unlink()
    assert "ab-01.json is missing: the status is unknown" in failure(comment(report, "--sha", SHA), 2)
    assert "cannot be read (No such file" in failure(comment(tmp_path / "ab-09.md"), 2)
    for number in (1, 2):
        write_result(tmp_path / "two" / f"ab-0{number}.md", "OK", "OK")
    assert "two has several results: ab-01.json, ab-02.json" in failure(comment(tmp_path / "two"), 2)
    assert forge.requests == []


def test_a_link_in_an_artefact_is_not_followed(comment: Comment, tmp_path: Path, forge: Forge) -> None:
    (tmp_path / "private.txt").write_text("private")
    folder = tmp_path / "artefact"
    folder.mkdir()
    (folder / "ab-01.json").write_text('{"verdict": "OK", "headline": "OK"}')
    (folder / "ab-01.md").symlink_to(tmp_path / "private.txt")
    assert "ab-01.md: a link, not a report" in failure(comment(folder), 2)
    (folder / "ab-01.json").unlink()
    (folder / "ab-01.json").symlink_to(tmp_path / "private.txt")
    assert comment(folder).returncode == 0
    assert "private" not in str(forge.comments)


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
