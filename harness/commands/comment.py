"""`lth comment`: write the result of a comparison into a pull request, as one comment and a status."""

from __future__ import annotations

import argparse
import os
import re
import stat
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from harness.base import strict_json
from harness.base.errors import EXIT_OK, HarnessError, UsageError
from harness.base.git import changed_files, merge_base, write_version
from harness.base.http_client import retried
from harness.base.log import log, print_page, print_text
from harness.base.paths import shown
from harness.cli.options import take, take_argument
from harness.forge import github, gitlab
from harness.forge.comment import (
    CommentSubject,
    ComparisonReport,
    Forge,
    comment_text,
    status_of,
    stick,
    without_direction,
)
from harness.plan.jmx.diff import changes_of
from harness.report.results import result_in
from harness.run import kinds
from harness.run.names import full_path

_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_LINK = re.compile(r"https?://[^\s()<>\[\]]+")
_CONTEXT = re.compile(r"\w(?:[\w./ -]*\w)?")
_EPILOG = """\
examples:
  lth comment reports/ab/lb-nginx/ab-01.md --repo owner/name --pr 12 --dry-run              prints it, sends nothing
  lth comment reports/ab/lb-nginx/ab-01.md --repo owner/name --pr 12 --sha "$(git rev-parse HEAD)"
  lth comment reports/ab --repo owner/name --pr octocat:patch-1 --sha … --link https://…

With --sha the comment also has what changed in the JMX files since the base of the pull request, where git has both.

The comment is created once and edited later: one per pull request and --context. Comments of others are never edited.
The status of --sha is failure for REGRESSED, success for OK, IMPROVED and CANNOT TELL (the text says which), and error
without a result.

GitHub: the token is in GITHUB_TOKEN, the address of the API in GITHUB_API_URL. Where CI_API_V4_URL is set it is
GitLab, with the token in GITLAB_TOKEN. docs/pull-requests.md has the workflows.

exit codes: 0 written, whatever the verdict; 2 wrong use, or the server refuses; 3 the server fails or limits the rate.
"""
# A pull request from elsewhere can put anything into its artefact.
_MOST_BYTES = 1024 * 1024


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Set the options of `comment`."""
    parser.description = "Write the result of lth ab into a pull request: one comment, and the status of a commit."
    parser.epilog = _EPILOG
    take_argument(parser, "result", "?")
    take(parser, "repo pr sha link context dry-run")


def run(options: argparse.Namespace) -> int:
    """Write the comment and the status, or print them, and return the exit code."""
    subject = _subject(options)
    report = read_report(options.result)
    if subject.sha and report.markdown and not report.result.verdict:
        beside = shown(options.result.with_suffix(".json"))
        raise UsageError(f"{beside} is missing: the status is unknown", "leave --sha out to write the comment alone")
    report = replace(report, plan_changes=tuple(_plan_changes(subject.sha)))
    status = status_of(report, subject)
    if options.dry_run:
        if subject.sha:
            print_text(f"status {status.context} of {subject.sha}: {status.state.value}, {status.text}")
        print_page(comment_text(report, subject, "", github.GitHub.comment_limit), end="")
        return EXIT_OK
    try:
        forge = _forge(options.repo)
        found = retried(lambda: forge.find(options.pr), log)
        body = comment_text(report, subject, found.sha, forge.comment_limit)
        log(f"comment: {stick(forge, found, subject.context, body, log)}")
        if subject.sha:
            retried(lambda: forge.set_status(subject.sha, status), log)
            log(f"status {status.context} of {subject.sha}: {status.state.value}, {status.text}")
    except HarnessError as error:
        if options.result:
            error.todo += f"; the report is complete: {shown(options.result)}"
        raise
    return EXIT_OK


def _plan_changes(sha: str) -> Iterator[str]:
    """Yield how the JMX files of the checkout differ between the base of the pull request and a commit.

    Nothing where git does not know both: the second workflow of GitHub has no checkout of the pull request.
    """
    folder, environment = Path.cwd(), os.environ
    base = environment.get("CI_MERGE_REQUEST_DIFF_BASE_SHA") or f"origin/{environment.get('GITHUB_BASE_REF') or 'HEAD'}"
    base_sha = merge_base(folder, base, sha) if sha else None
    if not base_sha:
        return
    with tempfile.TemporaryDirectory(prefix="comment-") as made:
        old, new = Path(made) / "old.jmx", Path(made) / "new.jmx"
        for name in changed_files(folder, base_sha, sha, "*.jmx"):
            write_version(folder, base_sha, name, old)
            write_version(folder, sha, name, new)
            try:
                yield from (f"{name}: {one.line}" for one in changes_of(old, new))
            except UsageError:
                yield f"{name}: one version is not a test plan"


def _subject(options: argparse.Namespace) -> CommentSubject:
    if options.sha and not _SHA.fullmatch(options.sha):
        raise UsageError(f"--sha {options.sha}: not a whole commit hash", "write that of git rev-parse HEAD")
    if options.link and not _LINK.fullmatch(options.link):
        raise UsageError(f"--link {options.link}: not an http address", "write one without spaces and brackets")
    if not _CONTEXT.fullmatch(options.context) or "--" in options.context:
        raise UsageError(f"--context {options.context}: not a name", "write a word such as performance")
    return CommentSubject(options.context, options.sha or "", options.link or "")


def _forge(repo: str | None) -> Forge:
    """Return GitLab's project where GitLab's CI sets the address of its API, else GitHub's repository."""
    environment = os.environ
    address = environment.get("CI_API_V4_URL", "")
    token_name, repo_name = (gitlab.TOKEN, "CI_PROJECT_PATH") if address else (github.TOKEN, "GITHUB_REPOSITORY")
    repo = repo or environment.get(repo_name, "")
    if not repo:
        raise UsageError("no repository", f"give --repo, or set {repo_name}")
    token = environment.get(token_name, "").strip()
    if not token:
        raise UsageError(f"{token_name} is not set", "set it to a token that may write comments and statuses")
    if address:
        return gitlab.GitLab(repo, token, address)
    return github.GitHub(repo, token, environment.get("GITHUB_API_URL") or github.ADDRESS)


def read_report(path: Path | None) -> ComparisonReport:
    """Return the report of a comparison.

    `path` is a report, or a folder that contains one; without a path, or in a folder without a report, the comparison
    ended without a result. In a folder, links are not followed.
    """
    if path is None:
        return ComparisonReport()
    path = full_path(path)
    if not path.is_dir():
        return _result(path)
    records = sorted(path.rglob(f"{kinds.AB_TEST.named('*')}.json"))
    files = [one for one in records if one.is_file() and not one.is_symlink()]
    if len(files) > 1:
        names = ", ".join(one.relative_to(path).as_posix() for one in files)
        raise UsageError(f"{path} has several results: {names}", "name the report of one of them")
    if not files:
        return ComparisonReport()
    report = files[0].with_suffix(".md")
    if report.is_symlink():
        raise UsageError(f"{report}: a link, not a report", "run the comparison again")
    return _result(report)


def _result(report: Path) -> ComparisonReport:
    text = without_direction(_read(report).decode("utf-8", errors="replace"))
    beside = report.with_suffix(".json")
    if not beside.exists():
        return ComparisonReport(text)
    try:
        result = result_in(strict_json.parse_object(_read(beside)))
    except ValueError as error:
        raise UsageError(f"{beside}: not the result of a comparison ({error})", "run it again") from None
    verdict, headline = map(without_direction, (result.verdict, result.headline))
    return ComparisonReport(text, replace(result, verdict=verdict, headline=headline))


def _read(path: Path) -> bytes:
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise UsageError(f"{path}: not a file", "name a report, reports/ab/NAME/ab-01.md")
        if path.stat().st_size > _MOST_BYTES:
            raise UsageError(f"{path}: too large for a report", "the limit is 1 MB")
        return path.read_bytes()
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be read ({error.strerror})", "name a report, reports/ab/NAME/ab-01.md"
        ) from None
