"""Pull requests on GitHub: its REST API, and one GraphQL query for the owner of the token."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote

from harness.base.errors import UsageError
from harness.forge.api import Api, Comment, PullRequest, Status

ADDRESS = "https://api.github.com"
TOKEN = "GITHUB_TOKEN"
_RIGHTS = "pull-requests: write and statuses: write"
_REPO = re.compile(r"[\w-]+/(?!\.\.?$)[\w.-]+")
_NUMBER = re.compile(r"#?([1-9][0-9]{0,17})")
# GitHub's limit of a status's description.
_TEXT_MOST = 140


@dataclass(frozen=True)
class _Head:
    sha: str
    label: str | None = None
    reads_part = True


@dataclass(frozen=True)
class _Pull:
    number: int
    html_url: str
    head: _Head
    reads_part = True


@dataclass(frozen=True)
class _User:
    login: str
    reads_part = True


@dataclass(frozen=True)
class _Comment:
    id: int
    html_url: str
    body: str | None = None
    user: _User | None = None
    reads_part = True


@dataclass(frozen=True)
class _Viewer:
    viewer: _User


@dataclass(frozen=True)
class _ViewerAnswer:
    data: _Viewer
    reads_part = True


class GitHub:
    """A repository on GitHub; `repo` is OWNER/NAME."""

    comment_limit = 65_536  # characters

    def __init__(self, repo: str, token: str, address: str = ADDRESS) -> None:
        if not _REPO.fullmatch(repo):
            raise UsageError(f"--repo {repo}: not a repository of GitHub", "write OWNER/NAME")
        self._api = Api(address, TOKEN, token, "Authorization", "Bearer ", _RIGHTS)
        self._repo = f"/repos/{repo}"
        # The GraphQL API of GitHub Enterprise Server is beside its REST API: /api/graphql and /api/v3.
        self._graphql = f"{address.rstrip('/').removesuffix('/v3')}/graphql"

    def find(self, pull_request: str) -> PullRequest:
        """Return a pull request by its number, or an open one by OWNER:BRANCH of its head."""
        if number := _NUMBER.fullmatch(pull_request):
            return _pull_request(self._api.read(_Pull, "GET", f"{self._repo}/pulls/{number[1]}"))
        if ":" not in pull_request:
            what = f"--pr {pull_request}: not a pull request"
            raise UsageError(what, "write its number, or OWNER:BRANCH of its head")
        # GitHub ignores a head that it does not understand.
        for pull in self._api.pages(_Pull, f"{self._repo}/pulls?state=open&head={quote(pull_request, safe='')}"):
            if pull.head.label == pull_request:
                return _pull_request(pull)
        raise UsageError(f"{pull_request}: no open pull request", "it was closed, or --repo is another one")

    def own_comments(self, found: PullRequest) -> Iterator[Comment]:
        """Yield the comments that the token's owner wrote, oldest first."""
        # GET /user is refused to the token of a workflow; this query is not.
        query = {"query": "query { viewer { login } }"}
        owner = self._api.read(_ViewerAnswer, "POST", self._graphql, query).data.viewer
        for comment in self._api.pages(_Comment, f"{self._repo}/issues/{found.number}/comments?sort=created"):
            if comment.user == owner:
                yield _comment(comment)

    def write_comment(self, found: PullRequest, body: str, old: Comment | None = None) -> Comment:
        """Write a new comment, or replace the text of an old one."""
        method, end = ("PATCH", f"comments/{old.number}") if old else ("POST", f"{found.number}/comments")
        data = {"body": self._api.masked(body)}
        return _comment(self._api.read(_Comment, method, f"{self._repo}/issues/{end}", data))

    def set_status(self, sha: str, status: Status) -> None:
        """Set a status of a commit; one of the same context is replaced."""
        data = {
            "state": status.state.value,
            "context": status.context,
            "description": self._api.masked(status.text)[:_TEXT_MOST],
            **({"target_url": status.link} if status.link else {}),
        }
        self._api.send("POST", f"{self._repo}/statuses/{sha}", data)


def _pull_request(pull: _Pull) -> PullRequest:
    return PullRequest(pull.number, pull.head.sha, pull.html_url)


def _comment(one: _Comment) -> Comment:
    return Comment(one.id, one.body or "", one.html_url)
