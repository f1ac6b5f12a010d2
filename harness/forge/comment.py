"""Makes the sticky comment and the status of a commit from the report of a comparison."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from harness.base.http_client import retried
from harness.base.log import Log
from harness.base.plain_text import one_line
from harness.forge.api import PullRequest, State, Status
from harness.judge.result import Result
from harness.report.results import with_headline

if TYPE_CHECKING:
    from harness.forge.github import GitHub
    from harness.forge.gitlab import GitLab

# A project on a forge. Every method may raise a HarnessError; BusyError when it is worth a repetition.
Forge: TypeAlias = "GitHub | GitLab"

_STATES = {"REGRESSED": State.FAILURE, **dict.fromkeys(("OK", "IMPROVED", "CANNOT TELL"), State.SUCCESS)}
_SHORT_SHA = 7
# Invisible: GitHub and GitLab take @name and a line that begins with / for a mention and a command.
_WORD_JOINER = "\u2060"
_QUIET = {"@": f"@{_WORD_JOINER}", "/": f"{_WORD_JOINER}/"}
_ACTIVE = re.compile(r"(?<![\w`])@(?=\w)|^/(?=\w)", re.MULTILINE)
# Comments of ours begin a line; a text of others may have the signs of one within a line, escaped or as code.
_COMMENT = re.compile(r"^<!--.*?-->\n?", re.DOTALL | re.MULTILINE)
_IMAGE = re.compile(r"!\[[^\]\n]*(?:\\\][^\]\n]*)*\]\([^)\n]*\)\n?")
# A relative link: there are no files next to the text.
# Of a reference image only its text is left. HTML is shown as it is written.
_IMAGE_MARK = re.compile(r"!(?=\[)")
_TAG = re.compile(r"<(?=[A-Za-z/!?])(?!https?://)")
# They turn the direction of the text that follows.
_DIRECTION = re.compile("[\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]")
# The lines that fold a part of a report; HTML of other lines is shown as it is written.
_FOLD = re.compile(r"<details><summary>[\w ,-]+</summary>|</details>")
_UNFOLD = "</details>"
_RELATIVE_LINK = re.compile(r"(?<!\\)\[([^\]\n]+)\]\((?![a-z][a-z0-9+.-]*://)[^)\n]*\)")
_BLANK_LINES = re.compile(r"\n{3,}")
_CHANGES_MOST = 30
_CHANGE_MOST = 300  # characters of one
_HEAD_LINES = 2  # of a table: the titles, and the line below them
_FENCE = "```"
_FENCE_LINE = f"{_FENCE}\n"
_UNFOLD_LINE = f"\n{_UNFOLD}\n"
_CUT = "\n… cut here: {left} more lines in {rest}\n"


@dataclass(frozen=True)
class ComparisonReport:
    """The report of a comparison: its Markdown and its result, both empty when it ended without a result.

    `plan_changes` are the changes of the test plans in the pull request, a line each.
    """

    markdown: str = ""
    result: Result = field(default_factory=Result)
    plan_changes: tuple[str, ...] = ()


@dataclass(frozen=True)
class CommentSubject:
    """What was compared and where its report is: the commit and a link, empty when unknown."""

    context: str
    sha: str = ""
    link: str = ""


def status_of(report: ComparisonReport, subject: CommentSubject) -> Status:
    """Return the status of the commit.

    CANNOT TELL is a success whose text names it: a noisy machine must not block a pull request. INTERRUPTED is an
    error, and so is everything that is no verdict.
    """
    verdict = report.result.verdict or "ABORTED"
    headline = report.result.headline or "no result"
    state = _STATES.get(verdict, State.ERROR)
    text = headline if headline.startswith(verdict) else f"{verdict}: {headline}"
    return Status(subject.context, state, one_line(text), subject.link)


def marker_of(context: str) -> str:
    """Return the hidden first line by which the sticky comment is found."""
    return f"<!-- load-test-harness: {context} -->"


def comment_text(report: ComparisonReport, subject: CommentSubject, newest_sha: str, limit: int) -> str:
    """Return the text of the sticky comment, of at most `limit` characters: the report, with the headline of its JSON.

    `newest_sha` is the newest commit of the pull request: the text names it when another one was measured.
    """
    head = f"{marker_of(subject.context)}\n"
    foot = _plan_changes(report.plan_changes) + _foot(subject, newest_sha)
    rest = f"[the report]({subject.link})" if subject.link else "the report"
    markdown = with_headline(report.markdown, report.result) or f"**{status_of(report, subject).text}**\n"
    # In this order: what is left out must not leave a mention or a command behind.
    body = _ACTIVE.sub(lambda match: _QUIET[match[0]], without_files(markdown))
    return f"{head}{cut(body, limit - _units(head) - _units(foot), rest, _units)}{foot}"


def stick(forge: Forge, found: PullRequest, context: str, body: str, log: Log) -> str:
    """Write the sticky comment, or edit it when the pull request has one; return its address.

    Only a comment of the token's owner is edited: anyone can write the marker.
    """

    def written() -> str:
        # A repetition looks again: the server can fail after it has stored the comment.
        for comment in forge.own_comments(found):
            if comment.body.startswith(marker_of(context)):
                return f"{forge.write_comment(found, body, comment).url} (edited)"
        return f"{forge.write_comment(found, body).url} (created)"

    return retried(written, log)


def _plan_changes(lines: Sequence[str]) -> str:
    """Return the changes of test plans as a code block, in which names of elements are no Markdown."""
    if not lines:
        return ""
    more = [f"and {len(lines) - _CHANGES_MOST} more"] if len(lines) > _CHANGES_MOST else []
    shown = [_shortened(without_direction(line)) for line in lines[:_CHANGES_MOST]]
    text = "\n".join([*shown, *more]).replace("`", "\u02cb")
    return f"\nChanged test plans:\n\n{_FENCE_LINE}{_ACTIVE.sub(lambda match: _QUIET[match[0]], text)}\n{_FENCE_LINE}"


def _shortened(line: str) -> str:
    return line if len(line) <= _CHANGE_MOST else f"{line[:_CHANGE_MOST]}…"


def _units(text: str) -> int:
    """Return the length of a text in UTF-16, the longest way in which a forge may count characters."""
    return len(text.encode("utf-16-le", errors="replace")) // 2


def _foot(subject: CommentSubject, newest_sha: str) -> str:
    parts = []
    if subject.link:
        parts.append(f"[Report, charts and logs]({subject.link})")
    if subject.sha:
        parts.append(f"commit {subject.sha[:_SHORT_SHA]}")
        if newest_sha and newest_sha != subject.sha:
            parts.append(f"newer commits up to {newest_sha[:_SHORT_SHA]} are not measured")
    return f"\n{' · '.join(parts)}\n" if parts else ""


def without_files(report: str) -> str:
    """Return a report without comments, images, relative links and HTML; its folded parts stay folded."""
    text = _RELATIVE_LINK.sub(r"\1", _IMAGE.sub("", _COMMENT.sub("", report)))
    lines: list[str] = []
    is_code = False
    for line in text.split("\n"):
        is_code = is_code != line.startswith(_FENCE)
        lines.append(line if is_code or _is_fold(line) else _TAG.sub("&lt;", _IMAGE_MARK.sub("", line)))
    text = "\n".join(lines)
    return _BLANK_LINES.sub("\n\n", text).strip() + "\n"


def without_direction(text: str) -> str:
    """Return a text without the characters that change the direction of writing."""
    return _DIRECTION.sub("", text)


def _is_fold(line: str) -> bool:
    return _FOLD.fullmatch(line.rstrip("\n")) is not None


def _drop_head(lines: list[str]) -> None:
    """Remove the head of a table at the end of the lines, if no row follows it."""
    count = next((at for at, line in enumerate(reversed(lines)) if not line.startswith("|")), len(lines))
    if count <= _HEAD_LINES:
        del lines[len(lines) - count :]


def cut(text: str, limit: int, rest: str, size: Callable[[str], int] = len) -> str:
    """Return a text whose `size` (characters) is at most `limit`; a longer one is cut between lines.

    A code block or folded part that is cut is closed, and a table has at least one row. `rest` names where the whole
    text is.
    """
    if size(text) <= limit:
        return text
    lines = text.splitlines(keepends=True)
    has_folds = any(map(_is_fold, lines))
    room = limit - size(_CUT.format(left=len(lines), rest=rest)) - (size(_UNFOLD_LINE) if has_folds else 0)
    fitting: list[str] = []
    is_code = False
    for line in lines:
        is_code_after = is_code != line.startswith(_FENCE)
        if size(line) + (size(_FENCE_LINE) if is_code_after else 0) > room:
            break
        room -= size(line)
        fitting.append(line)
        is_code = is_code_after
    if not is_code:
        _drop_head(fitting)
    end = _CUT.format(left=len(lines) - len(fitting), rest=rest)
    folds = [line for line in fitting if _is_fold(line)]
    is_folded = bool(folds) and not folds[-1].startswith(_UNFOLD)
    return "".join(fitting) + (_FENCE_LINE if is_code else "") + (_UNFOLD_LINE if is_folded else "") + end
