"""What comment does when server, token, option or result are wrong: one line, and nothing is published twice."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from harness.base import http_client
from tests.support.comments import Comment, failure, write_result
from tests.support.forge_server import (
    SHA,
    TOKEN,
    Answer,
    Forge,
    GitHubServer,
)
from tests.support.local_server import serving


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
