"""The command-line option for an S3 server, shared by all verbs that use S3."""

from __future__ import annotations

import argparse


def add_endpoint(parser: argparse.ArgumentParser) -> None:
    """Add the option for the address of an S3 server."""
    parser.add_argument(
        "--endpoint-url", metavar="URL", help="address of an S3 server other than AWS, such as MinIO (AWS_ENDPOINT_URL)"
    )


def endpoint_of(options: argparse.Namespace) -> str | None:
    """Return the address of the S3 server, or None without one; UsageError when it is not a valid address."""
    if options.endpoint_url is None:
        return None
    from harness.base.s3_address import parse_endpoint_url  # imported late, because `table` seldom needs it

    return parse_endpoint_url(options.endpoint_url)
