"""What advice is found in, and the form of an advice."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from harness.plan.jmx.elements import Effect, effect_of
from harness.plan.jmx.tree import SAMPLER, Node, load_groups
from harness.plan.jmx.values import Values
from harness.plan.load.groups import GroupLoad
from harness.plan.load.model import PlanLoad

# Secrets of the environment are the same for all users.
_SAME_FOR_ALL = re.compile(r"\$\{__(?:groovy\(System\.getenv\([^{}]*\)|env\([^{}]*\))\}")


SET_COOKIE = re.compile(r"(?im)^set-cookie:")


@dataclass(frozen=True)
class Checked:
    """What advice is found in: the enabled elements of a plan, its values and load, and responses of one pass.

    `answers` are the labels of the pass with their response headers.
    """

    nodes: Sequence[Node]
    values: Values
    load: PlanLoad
    answers: Sequence[tuple[str, str]] = ()

    @property
    def groups(self) -> list[Node]:
        """The thread groups of the load."""
        return load_groups(self.nodes)

    @property
    def in_groups(self) -> list[Node]:
        """The enabled elements of the thread groups of the load."""
        return [node for group in self.groups for node in group.walk()]

    @property
    def samplers(self) -> list[Node]:
        """The samplers of the load that send something."""
        return [node for group in self.groups for node in sending_in(group)]

    @property
    def has_several_users(self) -> bool:
        """Whether the load has more than one user."""
        return self.load.users > 1 or any(load.is_open for load in self.load.loads)

    def load_of(self, group: Node | None) -> GroupLoad | None:
        """Return the own load of a thread group; None when the plan has one load."""
        return next((load for load in self.load.loads if group and load.thread_group == group.name), None)

    def is_same_for_all(self, text: str) -> bool:
        """Return whether every user sends the same text."""
        return self.values.known(_SAME_FOR_ALL.sub("", self.without_secrets(text))) is not None

    def without_secrets(self, text: str) -> str:
        """Return a text without the User Defined Variables that read the environment."""
        for name, values in self.values.variables.items():
            if len(values) == 1 and _SAME_FOR_ALL.fullmatch(values[0]):
                text = text.replace(f"${{{name}}}", "")
        return text


def sending_in(group: Node) -> list[Node]:
    """Return the samplers of a thread group that send something."""
    effects = (Effect.HTTP, Effect.CONNECTS)
    return [node for node in group.walk() if SAMPLER.search(node.kind) and effect_of(node) in effects]


class Advice(NamedTuple):
    """An advice: its stable code, what was found, where (`found_in` yields that), why it matters, and what to do."""

    code: str
    what: str
    found_in: Callable[[Checked], Iterable[str]]
    why: str
    how: str
