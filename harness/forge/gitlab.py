"""Merge requests on GitLab, by version 4 of its REST API."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote

from harness.base.errors import UsageError
from harness.forge.api import Api, Comment, PullRequest, State, Status

TOKEN = "GITLAB_TOKEN"
_RIGHTS = "the scope api and the role Developer"
_NUMBER = re.compile(r"[!#]?([1-9][0-9]{0,17})")
# GitLab has no state "error".
_STATES = {State.SUCCESS: "success", State.FAILURE: "failed", State.ERROR: "failed"}
_TEXT_MOST = 255


@dataclass(frozen=True)
class _MergeRequest:
    iid: int
    sha: str
    web_url: str
    reads_part = True


@dataclass(frozen=True)
class _User:
    id: int
    reads_part = True


@dataclass(frozen=True)
class _Note:
    id: int
    body: str
    author: _User
    reads_part = True


class GitLab:
    """A project on GitLab; `repo` is its path, GROUP/NAME, and `address` is $CI_API_V4_URL."""

    comment_limit = 1_000_000  # characters

    def __init__(self, repo: str, token: str, address: str) -> None:
        self._api = Api(address, TOKEN, token, "PRIVATE-TOKEN", "", _RIGHTS)
        self._repo = f"/projects/{quote(repo, safe='')}"

    def find(self, pull_request: str) -> PullRequest:
        """Return a merge request by its number."""
        number = _NUMBER.fullmatch(pull_request)
        if number is None:
            raise UsageError(f"--pr {pull_request}: not a merge request", "write its number, $CI_MERGE_REQUEST_IID")
        found = self._api.read(_MergeRequest, "GET", f"{self._repo}/merge_requests/{number[1]}")
        return PullRequest(found.iid, found.sha, found.web_url)

    def own_comments(self, found: PullRequest) -> Iterator[Comment]:
        """Yield the notes that the token's owner wrote, oldest first."""
        owner = self._api.read(_User, "GET", "/user")
        for note in self._api.pages(_Note, f"{self._notes(found)}?sort=asc&order_by=created_at"):
            if note.author == owner:
                yield _comment(found, note)

    def write_comment(self, found: PullRequest, body: str, old: Comment | None = None) -> Comment:
        """Write a new note, or replace the text of an old one."""
        method, end = ("PUT", f"/{old.number}") if old else ("POST", "")
        data = {"body": self._api.masked(body)}
        return _comment(found, self._api.read(_Note, method, self._notes(found) + end, data))

    def set_status(self, sha: str, status: Status) -> None:
        """Set a status of a commit; one of the same context is replaced."""
        data = {
            "state": _STATES[status.state],
            "name": status.context,
            "description": self._api.masked(status.text)[:_TEXT_MOST],
            **({"target_url": status.link} if status.link else {}),
        }
        self._api.send("POST", f"{self._repo}/statuses/{sha}", data)

    def _notes(self, found: PullRequest) -> str:
        return f"{self._repo}/merge_requests/{found.number}/notes"


def _comment(found: PullRequest, note: _Note) -> Comment:
    return Comment(note.id, note.body, f"{found.url}#note_{note.id}")
