"""Finds what changed between two versions of a JMX, in the words of JMeter's GUI.

Elements have no ids: which one of the old plan is which of the new one is decided by position, name and contents. That
suffices to describe a change, not to merge two: what follows what, and which elements a timer or an assertion applies
to, depends on positions, so a merge without a conflict could still measure something else. There is no merge driver.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from pathlib import Path

from harness.base.errors import UsageError
from harness.base.secrecy import masked
from harness.plan.jmx.tree import Node, is_own_enabled, plan_tree, secrets_of_element
from harness.plan.jmx.words import Property, name_of, noun_of, one_line, properties_of, title_of

_VALUES = ("Argument.value", "Header.value")
ABSENT, EMPTY, _NO_NAME = "(absent)", "(empty)", "(no name)"
_WIDTH = 60
_WHOLE, _CALLED = attrgetter("whole"), attrgetter("called")
# What decides which items of one parent are the same, the most certain first.
_KEYS = (
    _WHOLE, attrgetter("called", "own"), _CALLED, attrgetter("nameless"), attrgetter("own", "is_on", "first"),
)  # fmt: skip
_DEPENDENT = ("assertion", "timer", "extractor", "pre-processor", "post-processor", "listener", "configuration")


@dataclass(frozen=True)
class PlanChange:
    """One change: of the value `what` of a subject, or what happened to it, such as `added`.

    `old` and `new` are the values, or where it was and is: `from *Users*`, `to *Users* after *Cart*`.
    """

    subject: str
    what: str
    old: str = ""
    new: str = ""
    is_value: bool = False

    @property
    def name(self) -> str:
        """The subject, and what changed of it."""
        return f"{self.subject}{':' if self.is_value else ''} {self.what}"

    @property
    def line(self) -> str:
        """The change in one line."""
        if self.is_value:
            return f"{self.name} {' → '.join(self.texts)}"
        return " ".join(filter(None, (self.name, self.old, self.new)))

    @property
    def texts(self) -> tuple[str, ...]:
        """The old and the new text in one line each; of long ones only what is around the first difference."""
        old, new = one_line(self.old), one_line(self.new)
        if old == new and self.is_value:
            return old[:_WIDTH], f"{new[:_WIDTH]} (other blanks or a masked value)"
        if max(len(old), len(new)) <= _WIDTH:
            return old, new
        same = next((at for at, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
        start = max(0, same - _WIDTH // 3)
        return tuple(
            f"{'…' if start else ''}{text[start : start + _WIDTH]}{'…' if len(text) > start + _WIDTH else ''}"
            for text in (old, new)
        )


def changes_of(old: Path, new: Path) -> tuple[PlanChange, ...]:
    """Return the changes between two JMX files; secrets in them are masked.

    UsageError when a file is not a test plan.
    """
    try:
        trees = plan_tree(old), plan_tree(new)
        found_changes = changes(*trees)
    except RecursionError:
        raise UsageError(f"{new.name}: nested too deeply", "save it from JMeter again") from None
    nodes = (node for tree in trees for node in (tree, *tree.walk_all())) if found_changes else ()
    secrets = tuple(
        dict.fromkeys(s for node in nodes for part in node.element.iter() for s in secrets_of_element(part))
    )
    if not secrets:
        return found_changes
    return tuple(
        replace(one, subject=masked(one.subject, secrets), old=masked(one.old, secrets), new=masked(one.new, secrets))
        for one in found_changes
    )


def changes(old: Node, new: Node) -> tuple[PlanChange, ...]:
    """Return the changes from one plan to another in the order of the new one; empty for equal plans.

    Order of attributes and properties, blanks between XML elements, and the kinds of properties are not compared.
    """
    ids: dict[Hashable, int] = {}
    before, after = _Item.of(old, None, 0, ids), _Item.of(new, None, 0, ids)
    if before.whole == after.whole:
        return ()
    _pair(before, after)
    _pair_elsewhere(before, after)
    return tuple(_changes(after))


@dataclass(eq=False)
class _Item:
    """An element of one version; `other` is that of the other version. Equal contents have equal numbers:

    `own` of its properties, `whole` of everything with the elements below it, `nameless` of everything but its name.
    """

    node: Node
    parent: _Item | None
    place: int
    properties: tuple[Property, ...]
    children: list[_Item] = field(default_factory=list)
    own: int = 0
    whole: int = 0
    nameless: int = 0
    other: _Item | None = None

    @classmethod
    def of(cls, node: Node, parent: _Item | None, place: int, ids: dict[Hashable, int]) -> _Item:
        """Return the item of an element with those below it; `ids` has the numbers of contents so far."""
        item = cls(node, parent, place, properties_of(node.element))
        item.children = [cls.of(child, item, at, ids) for at, child in enumerate(node.children)]
        item.own = ids.setdefault((node.kind, item.properties), len(ids))
        rest = (item.own, item.is_on, *(child.whole for child in item.children))
        item.nameless = ids.setdefault((rest,), len(ids))
        item.whole = ids.setdefault((rest, node.name), len(ids))
        return item

    @property
    def is_on(self) -> bool:
        """Whether the element itself is enabled."""
        return is_own_enabled(self.node.element)

    @property
    def called(self) -> Hashable:
        """Its class and name."""
        return self.node.kind, self.node.name

    @property
    def first(self) -> Hashable:
        """What is below it first; for an item without anything below it, something that no other one has."""
        return self.children[0].whole if self.children else id(self)

    @property
    def title(self) -> str:
        """The element in a sentence; one that belongs to another is named with it."""
        is_part = noun_of(self.node) in _DEPENDENT and self.parent and self.parent.parent
        return title_of(self.node) + (_of(self.parent) if is_part and self.parent else "")

    def walk(self) -> Iterator[_Item]:
        """Yield the item and those below it."""
        yield self
        for child in self.children:
            yield from child.walk()


def _couple(old: Iterable[_Item], new: Iterable[_Item], key: Callable[[_Item], Hashable]) -> None:
    """Pair items of equal keys, in their order."""
    waiting: dict[Hashable, deque[_Item]] = defaultdict(deque)
    for item in old:
        if item.other is None:
            waiting[key(item)].append(item)
    for item in new:
        if item.other is None and waiting.get(key(item)):
            _join(waiting[key(item)].popleft(), item)


def _join(old: _Item, new: _Item) -> None:
    old.other, new.other = new, old


def _pair(old: _Item, new: _Item) -> None:
    """Pair two items, and those below them with each other."""
    _join(old, new)
    for step in (1, -1):
        ends = zip(old.children[::step], new.children[::step], strict=False)
        for a, b in ends:
            if a.whole != b.whole or a.other or b.other:
                break
            _join(a, b)
    for key in _KEYS:
        _couple(old.children, new.children, key)
    for child in old.children:
        if child.other and child.other.parent is new:
            _pair(child, child.other)


def _pair_elsewhere(old: _Item, new: _Item) -> None:
    """Pair what is left with what is left at other places: it was moved. One of both is not below another one left."""
    for key in (_WHOLE, _CALLED):
        left = [[item for item in side.walk() if item.other is None] for side in (old, new)]
        tops = [[item for item in side if item.parent and item.parent.other] for side in left]
        for olds, news in ((tops[0], left[1]), (left[0], tops[1])):
            free = [item for item in olds if item.other is None and _is_telling(item, key)]
            _couple(free, (item for item in news if _is_telling(item, key)), key)
            for item in free:
                if item.other:
                    _pair(item, item.other)


def _is_telling(item: _Item, key: Callable[[_Item], Hashable]) -> bool:
    """Return whether a key identifies an item: two assertions of one name need not be the same."""
    return key is _WHOLE or noun_of(item.node) in ("request", "controller", "thread group")


def _changes(new: _Item) -> Iterator[PlanChange]:
    """Yield the changes of an item of the new version, then those of the items below it."""
    old = new.other
    if old is None:
        if new.parent and new.parent.other:
            yield PlanChange(title_of(new.node), "added", new=_to(new))
    else:
        yield from _own_changes(old, new)
    moved = _moved(new.children)
    for child in new.children:
        if child in moved:
            yield PlanChange(title_of(child.node), "moved", new=f"within {_to(child).removeprefix('to ')}")
        yield from _changes(child)
    for child in old.children if old else ():
        if child.other is None:
            count = sum(item.other is None for item in child.walk()) - 1
            with_them = f" with {count} element{'s' if count > 1 else ''} below it" if count else ""
            yield PlanChange(title_of(child.node), "removed", old=f"from {name_of(new.node)}{with_them}")


def _own_changes(old: _Item, new: _Item) -> Iterator[PlanChange]:
    if old.node.name != new.node.name:
        yield PlanChange(old.title, "renamed", new=f"to {_new_name(new)}{_blanks(old, new)}")
    if old.is_on != new.is_on:
        yield PlanChange(new.title, "enabled" if new.is_on else "disabled")
    if old.parent and new.parent and old.parent.other is not new.parent:
        yield PlanChange(title_of(new.node), "moved", f"from {name_of(old.parent.node)}", _to(new))
    if old.own != new.own:
        yield from _property_changes(new.title, old.properties, new.properties)


def _new_name(item: _Item) -> str:
    return name_of(item.node) if one_line(item.node.name) else _NO_NAME


def _blanks(old: _Item, new: _Item) -> str:
    """Return that two names look alike; empty where they do not."""
    return " (only blanks differ)" if one_line(old.node.name).split() == one_line(new.node.name).split() else ""


def _of(parent: _Item) -> str:
    return f" of {name_of(parent.node)}"


def _to(item: _Item) -> str:
    """Return where an item is: `to *Users* after *Cart*`."""
    assert item.parent
    place = f"to {name_of(item.parent.node)}"
    before = item.parent.children[item.place - 1].node if item.place else None
    return f"{place} after {name_of(before)}" if before else f"{place} at the beginning"


def _moved(items: Sequence[_Item]) -> list[_Item]:
    """Return the fewest items of one parent that were moved within it."""
    places = [item.other.place if item.other and _stayed(item) else -1 for item in items]
    tails: list[int] = []  # the ends of the longest increasing runs of places, by their lengths
    lengths = []
    for place in places:
        at = bisect_left(tails, place)
        lengths.append(at if place >= 0 else -1)
        if place >= 0:
            tails[at : at + 1] = [place]
    length, limit, moved = len(tails) - 1, 1 << 60, []
    for item, place, at in zip(reversed(items), reversed(places), reversed(lengths), strict=True):
        if at == length >= 0 and place < limit:
            length, limit = length - 1, place
        elif place >= 0:
            moved.append(item)
    return moved[::-1]


def _stayed(item: _Item) -> bool:
    return bool(item.other and item.other.parent and item.other.parent.other is item.parent)


def _property_changes(
    subject: str, old: Sequence[Property], new: Sequence[Property], above: str = ""
) -> Iterator[PlanChange]:
    """Yield the changes of properties; `above` is the name of what contains them."""
    before, after = ({one.key: one for one in side} for side in (old, new))
    gone, added = ([one for one in side if one.key not in other] for side, other in ((old, after), (new, before)))
    for removed in list(gone):
        alike = (other for other in added if removed.name_key == other.name_key != "" and removed.rest == other.rest)
        if renamed := next(alike, None):
            gone.remove(removed)
            added.remove(renamed)
            yield PlanChange(removed.label, "renamed", f"in {subject}", f"to {renamed.label}")
    for what, direction, side in (("removed", "from", gone), ("added", "to", added)):
        for one in side:
            yield from _whole_property(subject, one, what, direction, above)
    for key, one in before.items():
        if key in after and one != after[key]:
            yield from _changed_property(subject, one, after[key], above)


def _whole_property(subject: str, one: Property, what: str, direction: str, above: str) -> Iterator[PlanChange]:
    if one.parts:
        where = f"{direction} {subject}"
        yield PlanChange(one.label, what, where if what == "removed" else "", where if what == "added" else "")
    else:
        old, new = (one.text or EMPTY, ABSENT) if what == "removed" else (ABSENT, one.text or EMPTY)
        yield PlanChange(subject, f"{above} {one.label}".strip(), old, new, is_value=True)


def _changed_property(subject: str, old: Property, new: Property, above: str) -> Iterator[PlanChange]:
    label = above if above and old.key in _VALUES else f"{above} {old.label}".strip()
    if old.text != new.text:
        yield PlanChange(subject, label, old.text or EMPTY, new.text or EMPTY, is_value=True)
    yield from _property_changes(subject, old.parts, new.parts, label if old.name_key else above)
    if old.is_list:
        keys, others = ([one.key for one in side.parts] for side in (old, new))
        if [key for key in keys if key in others] != [key for key in others if key in keys]:
            yield PlanChange(subject, f"order of {label}", ", ".join(keys), ", ".join(others), is_value=True)
