"""`lth push`, `pull` and `ls`: upload runs to S3, download them, list them."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from harness.base import units
from harness.base.errors import EXIT_INTERRUPTED, EXIT_INVALID, EXIT_OK, EXIT_USAGE, UsageError
from harness.base.log import print_text
from harness.base.project import folder_with
from harness.base.s3_address import SCHEME
from harness.cli.options import take, take_argument
from harness.history.files import read_catalogue
from harness.plan.spec import load_profile
from harness.report.tables import table
from harness.run.consent import check_powers
from harness.run.directory import RunDirectory
from harness.run.names import find_paths
from harness.run.powers import is_shipped, of_storage
from harness.storage.bucket import Storage, open_storage
from harness.storage.s3 import DifferentError, broken_files, pull_runs, push, runs_there
from harness.storage.stored_runs import ManifestError, RunKey, StoredRun, Wanted

PUSH, PULL, LS = "push", "pull", "ls"
ALL = "all"
_LAST_MAX = 1_000_000
_DESCRIPTIONS = {
    PUSH: "Upload runs to S3, each completely or not at all.",
    PULL: "Download runs from S3 into reports/ and verify them.",
    LS: "List the runs in S3, and those whose upload is incomplete.",
}
_OPTIONS = {
    PUSH: "replace reports",
    PULL: "figures-only reports plan/only since last",
    LS: "verify plan/only since last",
}
_EPILOG = """\
examples:
  lth push killbill-stripe/run-07_1 s3://bucket/prefix               one run; 'run-07_*' and all work, too
  lth ls s3://bucket/prefix --plan killbill-stripe --since 2026-11-01
  lth pull s3://bucket/prefix --plan killbill-stripe --last 20 --figures-only
  lth pull s3://bucket/prefix run-07_1 --reports other               when another run has that name here
  lth ls --env lab                                                   the bucket in [storage] of env/lab.toml
  lth ls s3://bucket/prefix --endpoint-url http://127.0.0.1:9000               MinIO and others

Credentials are found as the AWS CLI finds them. Repeat the command to resume an interrupted push; files that are
already in S3 are not sent again. lth help storage describes the layout in S3 and the rights that are needed.

exit codes: 0 success; 2 wrong use, no credentials or rights, or another run has that name; 3 the server failed, or its
data differ from what was uploaded.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Set the options of `push`, `pull` or `ls`."""
    verb = parser.get_default("verb")
    parser.description = _DESCRIPTIONS[verb]
    parser.epilog = _EPILOG
    take_argument(parser, "runs/stored", "*")
    take(parser, "s3 endpoint-url env/storage yes home")
    take(parser, _OPTIONS[verb])


def run(options: argparse.Namespace) -> int:
    """Upload, download or list runs and return the exit code."""
    try:
        storage = _storage(options)
        # Addresses and names of runs may be given in any order.
        names = tuple(text for text in options.runs if not text.startswith(SCHEME))
        if options.verb == PUSH:
            return _push(options, storage, names)
        wanted = _wanted(options, names)
        return _list(storage, wanted, options.verify) if options.verb == LS else _pull(options, storage, wanted)
    except KeyboardInterrupt:
        print_text("lth: interrupted; finished files remain, repeat the command to resume", file=sys.stderr)
        return EXIT_INTERRUPTED


def _storage(options: argparse.Namespace) -> Storage:
    urls = [text for text in (*options.runs, options.s3 or "") if text.startswith(SCHEME)]
    if len(urls) > 1:
        raise UsageError(f"{' and '.join(urls)}: two addresses", "give one")
    home: Path = options.home
    folder = folder_with(home, "env", options.env or "")
    is_known = options.env is not None and (folder / f"{options.env}.toml").is_file()
    profile = load_profile(folder, options.env) if options.env and (is_known or not urls) else None
    settings = profile.storage if profile else {}
    if profile and profile.path and not is_shipped(profile.path):
        check_powers(home, tuple(of_storage(profile)))
    url = urls[0] if urls else settings.get("s3")
    if url is None:
        what = f"env/{options.env}.toml has no [storage] with s3" if profile else "no S3 address is given"
        here = "lth list lists the runs here; for others " if options.verb == "ls" else ""
        raise UsageError(what, f"{here}give s3://bucket/prefix, or --env of a profile with [storage]")
    return open_storage(url, options.endpoint_url or settings.get("endpoint_url"))


def _wanted(options: argparse.Namespace, names: Sequence[str]) -> Wanted:
    return Wanted(
        names=() if ALL in names else tuple(names),
        plan=options.plan,
        profile=options.env,
        since=units.parse_date(options.since, "--since") if options.since else None,
        last=units.parse_whole_number(options.last, "--last", 1, _LAST_MAX) if options.last else None,
    )


def _push(options: argparse.Namespace, storage: Storage, names: Sequence[str]) -> int:
    if not names:
        raise UsageError("no run is named", "name runs such as killbill-stripe/run-07_1 or 'run-07_*', or all")
    code = EXIT_OK
    paths = _all_runs(options.reports) if ALL in names else find_paths(names, options.reports)
    for directory in map(RunDirectory, paths):
        try:
            push(directory, storage, print, options.replace)
        except (DifferentError, ManifestError) as error:
            print_text(f"lth: {error}", file=sys.stderr)
            code = EXIT_USAGE
    return code


def _all_runs(reports: Path) -> list[Path]:
    """Return the runs that can be pushed and have a report; print the others with the reason."""
    paths = []
    for entry in read_catalogue(reports).entries:
        path = reports / entry.plan / entry.name
        try:
            if entry.run is None or entry.result is None or not RunDirectory(path).run_json.is_file():
                raise UsageError(entry.problem or "only its report is on this machine")
            RunKey.of(entry.run)
            paths.append(path)
        except UsageError as error:
            print_text(f"{entry.id}: left out: {error.what.removeprefix(f'{entry.id}: ')}", file=sys.stderr)
    return paths


def _pull(options: argparse.Namespace, storage: Storage, wanted: Wanted) -> int:
    runs = wanted.of(runs_there(storage, wanted.plan))
    pulled = pull_runs(storage, options.reports, print, runs, options.figures_only)
    for run in pulled.incomplete:
        print_text(f"{run}: left out: its push was interrupted and not repeated", file=sys.stderr)
    for reason in (*pulled.refused, *pulled.damaged):
        print_text(f"lth: {reason}", file=sys.stderr)
    where = os.path.relpath(options.reports)
    print_text(f"{where}: {units.plural(len(pulled.runs), 'run')} pulled, {len(pulled.there)} already present")
    if pulled.damaged:
        return EXIT_INVALID
    is_missing = bool(pulled.refused or (wanted.names and pulled.incomplete))
    return EXIT_USAGE if is_missing else EXIT_OK


def _list(storage: Storage, wanted: Wanted, is_verified: bool) -> int:
    runs = wanted.of(runs_there(storage, wanted.plan))
    broken = {run.key: broken_files(storage, run) for run in runs if run.is_whole} if is_verified else {}
    if runs:
        columns = ("run", "profile", "date", "run_id", "state", "files", "MB")
        print_text(table(columns, (_row(run, broken.get(run.key, ())) for run in runs), text_columns=5))
        print_text()
    size_bytes = sum(run.size_bytes for run in runs)
    print_text(f"{storage.location.url}: {units.plural(len(runs), 'run')}, {units.mb_text(size_bytes, 1)} MB")
    damaged_count = sum(map(bool, broken.values()))
    if not damaged_count:
        return EXIT_OK
    what = f"{units.plural(damaged_count, 'run')} not as pushed"
    print_text(f"lth: {what}; push again from the machine that has the files", file=sys.stderr)
    return EXIT_INVALID


def _row(run: StoredRun, broken: Sequence[str]) -> tuple[str, ...]:
    key = run.key
    state = ", ".join(broken) or ("complete" if run.is_whole else "incomplete")
    return key.id, key.profile, key.date, key.run_id, state, str(run.file_count), units.mb_text(run.size_bytes, 1)
