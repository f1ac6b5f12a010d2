"""The file of accepted changes, which stands in git beside the nightly's suite."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harness.base.errors import UsageError
from harness.history.acceptance import Acceptance, acceptances_csv, parse_acceptances
from harness.run.directory import write_whole

# Where it is in the project's folder.
ACCEPTED = "env/nightly-accepted.csv"


def read_acceptances(path: Path) -> tuple[Acceptance, ...]:
    """Return the rows of the file, none when there is no file; UsageError names a line that is wrong."""
    if not path.exists():
        return ()
    where = f"{path.parent.name}/{path.name}"
    try:
        return parse_acceptances(path.read_text(encoding="utf-8"), where)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{where}: cannot be read ({error})", "correct the file") from None


def write_acceptances(path: Path, acceptances: Sequence[Acceptance]) -> None:
    """Write the file anew."""
    write_whole(path, acceptances_csv(acceptances))
