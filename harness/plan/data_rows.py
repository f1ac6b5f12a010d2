"""Reads the data files of a plan as one run uses them, with the lines that its parts divide."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from harness.base.errors import UsageError
from harness.plan.jmx.csv_data import DataSet, data_sets
from harness.plan.jmx.thread_groups import tree_with_tenants
from harness.plan.load.groups import GroupLoad


def read_data(
    run: Path, jmx_path: Path, loads: Sequence[GroupLoad], properties: Mapping[str, str]
) -> Iterator[tuple[DataSet, str, list[bytes]]]:
    """Yield each data set of a plan, the name of its file in a run directory, and the lines of the file.

    Each of the `loads` with a tenant has separate data sets.
    """
    for data in data_sets(tree_with_tenants(jmx_path, loads)):
        name = data.file(properties)
        if not name:
            continue
        source = Path(name) if Path(name).is_absolute() else run / name
        try:
            lines = source.read_bytes().splitlines(keepends=True)
        except OSError as error:
            raise UsageError(f"{jmx_path.name}: its data file {name}: {error.strerror}", "correct its name") from None
        yield data, f"data/{source.name}" if Path(name).is_absolute() else name, lines
