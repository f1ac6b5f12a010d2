"""What GitHub and GitLab have in common: pull requests, their comments, and the status of a commit."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


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
