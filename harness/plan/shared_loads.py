"""Divides several loads among load generators that share one test plan: each reads its own numbers as properties."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from xml.etree import ElementTree  # types only

from harness.base.errors import UsageError
from harness.plan.group_load import GroupLoad, Stage
from harness.plan.load_scaling import REQUESTS_LEAST_PER_S
from harness.plan.thread_groups import ROWS, Row, add_row, tree_with_loads, written

_PROPERTY = "part_"
_NO_USERS = Row(0, 0, 0, 0, 0)


@dataclass(frozen=True)
class SharedPlan:
    """A test plan for several generators, and the properties of each that contain its part of the loads."""

    jmx: bytes
    properties: tuple[Mapping[str, str], ...]


def parts(loads: Sequence[GroupLoad], count: int) -> tuple[tuple[GroupLoad, ...], ...]:
    """Return the loads of each of `count` generators; the first generators have one user more.

    Each stage is divided by itself, so that the sums are those of the plan in every stage. A rate is divided equally.
    UsageError for a load with fewer users than generators, because one of them would not have it.
    """
    for load in loads:
        if 0 < (load.users or 0) < count:
            what = f"the load {load.group} has {load.users} of the users, less than the {count} generators"
            raise UsageError(f"REMOTES: {what}", "give more USERS, or fewer REMOTES")
    found = tuple(
        tuple(replace(load, stages=tuple(_part(stage, number, count) for stage in load.stages)) for load in loads)
        for number in range(count)
    )
    for load in found[-1]:  # no other part is smaller
        least = min(stage.requests_per_s or REQUESTS_LEAST_PER_S for stage in load.stages)
        if least < REQUESTS_LEAST_PER_S:
            what = (
                f"REMOTES: the load {load.group} has a stage of {least:.3g} requests/s for each of {count} generators"
            )
            raise UsageError(what, "give more USERS, or fewer REMOTES: a timer lets at least one pass in each second")
    return found


def _part(stage: Stage, number: int, count: int) -> Stage:
    if stage.users is None:
        return replace(stage, rate_per_s=(stage.rate_per_s or 0.0) / count)
    users = stage.users // count + (number < stage.users % count)
    if stage.requests_per_s is None:
        return replace(stage, users=users)
    return replace(stage, users=users, requests_per_s=stage.requests_per_s * users / stage.users)


def shared_plan(jmx: Path, loads: Sequence[GroupLoad], count: int) -> SharedPlan:
    """Return the plan with these loads for `count` generators: a number that differs among them is a property."""
    trees = [tree_with_loads(jmx, part) for part in parts(loads, count)]
    _fill_rows([tree.getroot() for tree in trees])
    properties: list[dict[str, str]] = [{} for _ in trees]
    for elements in zip(*(tree.getroot().iter() for tree in trees), strict=True):
        texts = [element.text or "" for element in elements]
        if len(set(texts)) > 1:
            name = f"{_PROPERTY}{len(properties[0]) + 1}"
            for own, text in zip(properties, texts, strict=True):
                own[name] = text
            elements[0].text = f"${{__P({name},{texts[0]})}}"
    return SharedPlan(written(trees[0]), tuple(properties))


def _fill_rows(plans: Sequence[ElementTree.Element]) -> None:
    """Add rows without users to the Ultimate Thread Groups, at their ends, where JMeter does not reach them."""
    for tables in zip(*(plan.iterfind(f".//collectionProp[@name='{ROWS}']") for plan in plans), strict=True):
        most = max(map(len, tables))
        for table in tables:
            while len(table) < most:
                add_row(table, _NO_USERS)
