"""The cells of a release page: each workload at each number of users, and the runs that were made there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from harness.report.run_result import RunResult
from harness.report.tables import cell
from harness.sweep.text import users_text


class ReleaseCell(NamedTuple):
    """A workload (a plan) at a number of users; `workload` is empty on a page with one."""

    workload: str
    users: int


# The results of the runs of a release.
Runs = Mapping[ReleaseCell, Sequence[RunResult]]


class TitledTable(NamedTuple):
    """A table with its title."""

    title: str
    table: str


def cells_text(cells: Iterable[ReleaseCell]) -> str:
    """Return cells as text: 2 and 4 users; with several workloads 2 users of checkin, 8 users of mixed."""
    users_by_workload: dict[str, list[int]] = {}
    for workload, users in dict.fromkeys(cells):
        users_by_workload.setdefault(workload, []).append(users)
    named = {workload: users_text(sorted(users)) for workload, users in users_by_workload.items()}
    return ", ".join(f"{text} of {workload}" if workload else text for workload, text in named.items())


def all_cells(sides: Iterable[Mapping[ReleaseCell, object]]) -> list[ReleaseCell]:
    """Return the cells of all sides, by workload in order of first appearance, then by users."""
    found = dict.fromkeys(one for side in sides for one in side)
    order = {workload: at for at, workload in enumerate(dict.fromkeys(one.workload for one in found))}
    return sorted(found, key=lambda one: (order[one.workload], one.users))


def cell_heads(cells: Iterable[ReleaseCell]) -> list[str]:
    """Return the titles of the columns that identify a cell: its workload, if there are several, and its users."""
    return [*(["workload"] if any(one.workload for one in cells) else []), "users"]


def cell_texts(one: ReleaseCell) -> list[str]:
    """Return the texts of these columns."""
    return [*([cell(one.workload)] if one.workload else []), str(one.users)]
