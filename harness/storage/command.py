"""`aggregate.py push`, `pull`, `ls`: what they take. What they need is loaded when one of them is called."""

from __future__ import annotations

import argparse
from pathlib import Path

from harness.base.s3_address import parse_endpoint_url
from harness.base.toolchain import ROOT

PUSH, PULL, LS = "push", "pull", "ls"
_EPILOG = """\
examples:
  ./aggregate.py push killbill-stripe/run-07_1 s3://bucket/prefix    a run; several, run-07_*, and all will do as well
  ./aggregate.py ls s3://bucket/prefix --plan killbill-stripe --since 2026-11-01
  ./aggregate.py pull s3://bucket/prefix --plan killbill-stripe --last 20 --figures-only
  ./aggregate.py pull s3://bucket/prefix run-07_1 --reports other    beside another run of that name
  ./aggregate.py ls --env lab                                        where [storage] of env/lab.toml says
  ./aggregate.py ls s3://bucket/prefix --endpoint-url http://127.0.0.1:9000    MinIO and others

Credentials are found as the AWS CLI finds them. A push that was broken off goes on when the command is repeated, and
what is there already is not sent again. docs/storage.md says what lies there, and which rights it takes.

exit codes: 0 fine; 2 wrong use, no credentials or rights, or another run of that name is there; 3 the server fails, or
has something else than what was pushed.
"""


def add_storage(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the verbs `push`, `pull` and `ls` and their options."""
    push = _verb(
        verbs, PUSH, "put runs into S3, each whole or not at all", "RUN… and s3://bucket/prefix; RUN may be all"
    )
    push.add_argument("--replace", action="store_true", help="put reports made again in place of those there")
    pull = _verb(
        verbs, PULL, "get runs out of S3 into reports/, verified", "s3://bucket/prefix, then RUN… or all of them"
    )
    pull.add_argument(
        "--figures-only", action="store_true", help="only run.json, summary and report: enough for history and compare"
    )
    ls = _verb(verbs, LS, "list the runs in S3, and those that are not whole", "s3://bucket/prefix, then RUN… or all")
    for verb in (push, pull):
        verb.add_argument("--reports", type=Path, default=ROOT / "reports", help="default: reports/")
    for verb in (pull, ls):
        verb.add_argument("--plan", help="only runs of this plan")
        verb.add_argument("--since", metavar="DATE", help="only runs since that day: 2026-11-01")
        verb.add_argument("--last", metavar="N", help="only the N newest")


def add_endpoint(parser: argparse.ArgumentParser) -> None:
    """Add where the server is that speaks S3."""
    parser.add_argument(
        "--endpoint-url", metavar="URL", help="a server other than that of AWS, such as MinIO (AWS_ENDPOINT_URL)"
    )


def endpoint_of(options: argparse.Namespace) -> str | None:
    """Return the server's address that was asked for; None when none was. UsageError when it is none."""
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
    verb.add_argument("--env", help=f"{only}without s3://… its [storage] says where")
    verb.add_argument("--home", type=Path, default=ROOT, help=argparse.SUPPRESS)
    add_endpoint(verb)
    return verb
