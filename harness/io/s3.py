"""Runs in S3: pushed whole, pulled and verified, listed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.io.rundir import RunDirectory
from harness.storage import Location

Say = Callable[[str], None]


@dataclass(frozen=True)
class Place:
    """Where runs are kept: an address in S3 and the client that speaks to it."""

    location: Location
    client: Any = field(repr=False)


@dataclass(frozen=True)
class Pushed:
    """What a push did: `uploaded` files, none when all were there already; `url` is where the run lies."""

    run: str
    url: str
    uploaded: tuple[str, ...]
    sent_bytes: int


@dataclass(frozen=True)
class Pulled:
    """What a pull did, by plan/run: `refused` are told with the reason, as another run of that name is here."""

    runs: tuple[str, ...]
    there: tuple[str, ...]
    incomplete: tuple[str, ...]
    refused: tuple[str, ...]


def open_place(url: str, endpoint_url: str | None = None) -> Place:
    """Return the place that s3://bucket/prefix names; UsageError when it is no such address. Nothing is asked yet."""
    raise NotImplementedError


def check_writable(place: Place) -> None:
    """Raise an error of one line unless runs can be pushed there; nothing stays behind."""
    raise NotImplementedError


def push(directory: RunDirectory, place: Place, say: Say) -> Pushed:
    """Push a run that has its report, go on with a push that was broken off, or find it there already.

    UsageError for what cannot be pushed, no rights, no bucket; ServiceError when the server does not do it.
    """
    raise NotImplementedError


def pull(
    place: Place,
    reports: Path,
    say: Say,
    plan: str | None = None,
    since: str | None = None,
    figures_only: bool = True,
) -> Pulled:
    """Put pushed runs into the folder of reports, each file verified before it gets its name.

    `since` is a date such as 2026-11-01; `figures_only` leaves samples, telemetry and charts in S3.
    """
    raise NotImplementedError
