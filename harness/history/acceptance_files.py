"""Read and write the file of accepted changes, which is in git next to the nightly suite."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harness.base.errors import UsageError
from harness.history.acceptance import Acceptance, acceptances_csv, parse_acceptances
from harness.run.directory import write_whole

# Path in the project's folder.
ACCEPTED = "env/nightly-accepted.csv"


def read_acceptances(path: Path) -> tuple[Acceptance, ...]:
    """Return the rows of the file, none without a file; UsageError names an invalid line."""
    if not path.exists():
        return ()
    where = f"{path.parent.name}/{path.name}"
    try:
        return parse_acceptances(path.read_text(encoding="utf-8"), where)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{where}: cannot be read ({error})", "correct the file") from None


def write_acceptances(path: Path, acceptances: Sequence[Acceptance]) -> None:
    """Write the file."""
    write_whole(path, acceptances_csv(acceptances))
