"""Estimates the heap that a load needs in JMeter, before it starts: each user has a clone of the plan."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.base import units
from harness.base.errors import UsageError
from harness.plan.jmx import csv_data
from harness.plan.jmx.tree import Node, enabled_nodes, load_groups, plan_tree, texts_of
from harness.plan.load.model import Load, OpenLoad
from harness.plan.spec import Target

# Measured in JMeter 5.6.3 on Java 17 (docs/benchmarks.md, Memory per user): live objects, without bodies of responses.
_BASE_MB = 64
_USER_KB, _PROPERTY_KB, _TLS_KB = 32.0, 0.11, 14.0
# So much less while the responses of a user have at most 2 KB: its connection then has a smaller buffer.
_SMALL_KB = 6.0
# Each thread has a parser of JEXL, whatever it evaluates, and the buffers of each file that only it reads.
_JEXL_KB, _OWN_FILE_KB = 42.0, 25.0
# A heap that is fuller than this is collected all the time; responses and rows need the rest.
_FILLED = 0.7
# The part of the memory of the machine, or of its container, that the heap may take without heap_mb.
_OF_MEMORY = 0.75
_ROUND_MB = 256
# Without heap_mb: the limit has at least this room for bodies of responses, if the machine has it, and new objects have
# this part of the heap, for so many users and for each further one.
_LIMIT_MB = 1024
_YOUNG_MB, _YOUNG_USERS, _YOUNG_USER_KB = 80, 1000, 39.0
# So many users start that their new objects fill what Java has for those that are in use when it collects. They need so
# much for each user, which is a fifth to an eighth of the new objects; that leaves as much for the others in less.
_CROWD, _CROWD_YOUNG_MB = 200, 54
_SURVIVOR_KB, _SURVIVOR_RATIOS = 9.0, (5, 8)
_KB_PER_MB = units.BYTES_PER_MB // units.BYTES_PER_KB


@dataclass(frozen=True)
class Heap:
    """The heap of JMeter's JVM: its size at the start, its limit, and that of new objects; None for Java's choice.

    One of `survivor_ratio` parts of the new objects may be in use when they are collected; None for Java's choice.
    """

    first_mb: int
    limit_mb: int
    young_mb: int | None = None
    survivor_ratio: int | None = None


def heap_of(load: Load, each_kb: float, given_mb: int | None, memory_bytes: int) -> Heap:
    """Return the heap for a load: that of `heap_mb`, all of it at once, else what its users need at the start.

    Its limit is then within a machine or container that has so much memory.
    """
    if given_mb is not None:
        return Heap(given_mb, given_mb)
    users = _users(load)
    young_mb = _CROWD_YOUNG_MB if users > _CROWD else _YOUNG_MB
    young_mb += math.ceil(max(0, users - _YOUNG_USERS) * _YOUNG_USER_KB / _KB_PER_MB)
    first_mb, old_mb = (math.ceil(_live_mb(users, one_kb) / _FILLED) for one_kb in (each_kb - _SMALL_KB, each_kb))
    most_mb = int(_OF_MEMORY * memory_bytes / units.BYTES_PER_MB)
    limit_mb = min(most_mb, max(_LIMIT_MB, math.ceil((old_mb + young_mb) / _ROUND_MB) * _ROUND_MB))
    young_mb = min(young_mb, max(limit_mb // 3, limit_mb - old_mb))
    return Heap(min(first_mb + young_mb, limit_mb), limit_mb, young_mb, _survivor_ratio(users, young_mb))


def _survivor_ratio(users: int, young_mb: int) -> int | None:
    if users <= _CROWD:
        return None
    least, most = _SURVIVOR_RATIOS
    return max(least, min(most, int(young_mb * _KB_PER_MB / (users * _SURVIVOR_KB))))


def _live_mb(users: int, each_kb: float) -> float:
    return _BASE_MB + users * each_kb / _KB_PER_MB


def _users(load: Load) -> int:
    return 0 if isinstance(load, OpenLoad) else load.users or 0


def user_kb(jmx: Path, target: Target | None) -> float:
    """Return the heap (KB) that an active user of a plan needs, in the thread group that needs most.

    It has the clone of the plan, buffers of a connection, its TLS session, and what JEXL functions and files of each
    thread keep. The last response, which JMeter keeps, is not known before.
    """
    nodes = enabled_nodes(plan_tree(jmx))
    of_all = [node for node in nodes if node.thread_group is None]
    groups = [[node for node in nodes if node.thread_group is group] for group in load_groups(nodes)]
    is_tls = target is not None and target.scheme == "https"
    return _USER_KB + max(_nodes_kb([*of_all, *group]) for group in groups or [[]]) + (_TLS_KB if is_tls else 0.0)


def _nodes_kb(nodes: Sequence[Node]) -> float:
    count = sum(1 for node in nodes for _ in node.element.iter())
    # The functions of the Test Plan and of thread groups themselves are evaluated before threads start.
    of_threads = [node for node in nodes if node.kind != "TestPlan" and not node.is_thread_group]
    texts = (text for node in of_threads for text in texts_of(node.element))
    has_jexl = any("${__jexl" in text for text in texts)
    own_files = sum(node.kind == csv_data.KIND and not csv_data.has_shared_lines(node) for node in nodes)
    return _PROPERTY_KB * count + _JEXL_KB * has_jexl + _OWN_FILE_KB * own_files


def users_most(heap_mb: int, each_kb: float) -> int:
    """Return how many users fit into a heap."""
    return max(1, int((_FILLED * heap_mb - _BASE_MB) * _KB_PER_MB / each_kb))


def check_memory(load: Load, each_kb: float, heap_mb: int) -> None:
    """Raise a UsageError when the users of a closed load do not fit into JMeter's heap."""
    users = _users(load)
    if users <= users_most(heap_mb, each_kb):
        return
    needed_mb = _live_mb(users, each_kb)
    least_mb = math.ceil(needed_mb / _FILLED / _ROUND_MB) * _ROUND_MB
    what = (
        f"{users:,} users of this plan need a heap of about {least_mb} MB "
        f"({units.number_text(round(needed_mb))} MB live, {each_kb:.0f} KB each); the load generator has {heap_mb} MB"
    )
    raise UsageError(what, f"set heap_mb = {least_mb} in [generator] of the profile, or drive fewer users")
