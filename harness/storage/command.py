"""Command-line options of `aggregate.py push`, `pull` and `ls`; heavy imports are deferred."""

from __future__ import annotations

import argparse
from pathlib import Path

from harness.base.toolchain import ROOT
from harness.storage.layout import parse_endpoint_url

PUSH, PULL, LS = "push", "pull", "ls"
_EPILOG = """\
examples:
  ./aggregate.py push killbill-stripe/run-07_1 s3://bucket/prefix    one run; also several, run-07_*, or all
  ./aggregate.py ls s3://bucket/prefix --plan killbill-stripe --since 2026-11-01
  ./aggregate.py pull s3://bucket/prefix --plan killbill-stripe --last 20 --figures-only
  ./aggregate.py pull s3://bucket/prefix run-07_1 --reports other    when reports/ has another run of that name
  ./aggregate.py ls --env lab                                        the address is in [storage] of env/lab.toml
  ./aggregate.py ls s3://bucket/prefix --endpoint-url http://127.0.0.1:9000    MinIO and others

Credentials are found as the AWS CLI finds them. Repeat the command to resume an interrupted push; files that are
already stored are not sent again. docs/storage.md describes the layout and the required permissions.

exit codes: 0 success; 2 wrong use, missing credentials or permissions, or another run has that name; 3 the server
fails, or has other data than was pushed.
"""


def add_storage(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the verbs `push`, `pull` and `ls` with their options."""
    push = _verb(
        verbs, PUSH, "upload runs to S3, each completely or not at all", "RUN… and s3://bucket/prefix; RUN may be all"
    )
    push.add_argument("--replace", action="store_true", help="replace stored reports by regenerated ones")
    pull = _verb(
        verbs,
        PULL,
        "download runs from S3 into reports/ and verify them",
        "s3://bucket/prefix, then RUN… or all of them",
    )
    pull.add_argument(
        "--figures-only", action="store_true", help="only run.json, summary and report: enough for history and compare"
    )
    ls = _verb(verbs, LS, "list the runs in S3, including incomplete ones", "s3://bucket/prefix, then RUN… or all")
    for verb in (push, pull):
        verb.add_argument("--reports", type=Path, default=ROOT / "reports", help="default: reports/")
    for verb in (pull, ls):
        verb.add_argument("--plan", help="only runs of this plan")
        verb.add_argument("--since", metavar="DATE", help="only runs since that day: 2026-11-01")
        verb.add_argument("--last", metavar="N", help="only the N newest")


def add_endpoint(parser: argparse.ArgumentParser) -> None:
    """Add the option for the address of an S3-compatible server."""
    parser.add_argument(
        "--endpoint-url", metavar="URL", help="a server other than AWS, such as MinIO (AWS_ENDPOINT_URL)"
    )


def endpoint_of(options: argparse.Namespace) -> str | None:
    """Return the requested server address; None for AWS. UsageError for an invalid one."""
    return None if options.endpoint_url is None else parse_endpoint_url(options.endpoint_url)


def _verb(
    verbs: argparse._SubParsersAction[argparse.ArgumentParser], name: str, what: str, words: str
) -> argparse.ArgumentParser:
    verb = verbs.add_parser(
        name,
        help=what,
        description=f"{what[0].upper()}{what[1:]}.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verb.add_argument("words", nargs="*", metavar="RUN|s3://…", help=words)
    only = "" if name == PUSH else "only runs of this profile; "
    verb.add_argument("--env", help=f"{only}without s3://…, its [storage] gives the address")
    verb.add_argument("--home", type=Path, default=ROOT, help=argparse.SUPPRESS)
    add_endpoint(verb)
    return verb
