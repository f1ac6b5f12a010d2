"""Defines what a forge (GitHub, GitLab) can do for a pull request: comments and the status of a commit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Protocol


@dataclass(frozen=True)
class PullRequest:
    """An open pull request (GitLab: merge request); `sha` is its newest commit."""

    number: int
    sha: str
    url: str


@dataclass(frozen=True)
class Comment:
    """A comment on a pull request, with its text in Markdown."""

    number: int
    body: str
    url: str


class State(Enum):
    """The state of a commit's status."""

    SUCCESS = "success"
    FAILURE = "failure"
    ERROR = "error"


@dataclass(frozen=True)
class Status:
    """The status of a commit: `context` is its name, `link` the address behind it, or empty."""

    context: str
    state: State
    text: str
    link: str = ""


class Forge(Protocol):
    """A project on a forge. Every method may raise a HarnessError; BusyError when it is worth a repetition."""

    comment_limit: int
    """The longest text of a comment, in characters."""

    def find(self, pull_request: str) -> PullRequest:
        """Return a pull request by its number, or by OWNER:BRANCH where the forge knows it by that."""

    def own_comments(self, found: PullRequest) -> Iterator[Comment]:
        """Yield the comments that the token's owner wrote, oldest first."""

    def add_comment(self, found: PullRequest, body: str) -> Comment:
        """Write a new comment."""

    def edit_comment(self, found: PullRequest, comment: Comment, body: str) -> Comment:
        """Replace the text of a comment."""

    def set_status(self, sha: str, status: Status) -> None:
        """Set a status of a commit; one of the same context is replaced."""
