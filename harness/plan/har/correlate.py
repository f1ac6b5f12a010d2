"""Finds the values that a response gave and a later request sends, those that a person typed, and those of neither."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from itertools import chain, product
from typing import NamedTuple

from harness.base.credentials import credentials_in, is_credential
from harness.base.secrecy import is_secret_name
from harness.plan.har.correlation import Correlation, Typed, Unexplained, Use, Variable, add_typed
from harness.plan.har.extract import codings, looks_dynamic, proposals
from harness.plan.har.guess import guess_of
from harness.plan.har.hidden import add_secrets
from harness.plan.har.steps import Field, FieldKey, RecordedStep, Where, is_json, json_leaves, typed_leaves

_PARTS = re.compile(r"[\s|:;,&=/?{}\"'<>()\[\]]+")
_LEAST_PART = 6
_LEAST_TYPED = 4
_LEAST_UNEXPLAINED = 12
# Headers whose values follow from the others: known values are replaced in them, and none is looked for.
_FOLLOWING = ("referer", "origin", "accept", "content-type", "x-requested-with")


class _Atom(NamedTuple):
    """A value in a field, in each recording."""

    step: int
    field: Field
    values: tuple[str, ...]
    parts: tuple[_Atom, ...] = ()  # each with what may be a value of its own

    @property
    def key(self) -> FieldKey:
        """The key of the field in its step."""
        return FieldKey(self.field.where, "") if self.field.where is Where.BODY else self.field.key


def correlate(recordings: Sequence[Sequence[RecordedStep]]) -> Correlation:
    """Return what varies in the first of the recordings; the others are further recordings of the same steps."""
    together = aligned(recordings)
    correlation = Correlation(
        unmatched=[number for number, steps in enumerate(together) if len(steps) < len(recordings)]
    )
    first = recordings[0]
    for number, steps in enumerate(together):
        for atom in _atoms(number, steps, first, correlation):
            _explain(atom, together, correlation)
    for number, step in enumerate(first):
        for one in step.fields:
            if one.where is Where.HEADER and one.name.lower() in _FOLLOWING:
                _replace_known(number, one, correlation)
    add_secrets(first, correlation)
    return correlation


def aligned(recordings: Sequence[Sequence[RecordedStep]]) -> list[tuple[RecordedStep, ...]]:
    """Return each step of the first recording with the same steps of the others."""
    together: list[tuple[RecordedStep, ...]] = [(step,) for step in recordings[0]]
    shapes = [step.shape for step in recordings[0]]
    for other in recordings[1:]:
        matcher = SequenceMatcher(None, shapes, [step.shape for step in other], autojunk=False)
        for block in matcher.get_matching_blocks():
            for offset in range(block.size):
                together[block.a + offset] += (other[block.b + offset],)
    return together


def _atoms(
    number: int, steps: Sequence[RecordedStep], first: Sequence[RecordedStep], found: Correlation
) -> Iterator[_Atom]:
    """Yield the values of a step that may vary; those that a person typed go to `found`."""
    before = [call for step in first[:number] for call in step.answers]
    others = [{one.key: one for one in step.fields} for step in steps[1:]]
    for field in steps[0].fields:
        if field.file or (field.where is Where.HEADER and field.name.lower() in _FOLLOWING):
            continue
        known = {
            typed.value: typed for typed in found.typed if not typed.is_secret and len(typed.value) >= _LEAST_TYPED
        }
        if (
            field.text in known
            and not field.is_secret
            and _may_repeat(field, first[: found.typed[known[field.text]][0].step + 1])
        ):
            add_typed(found, number, field, known[field.text])  # a form repeats what was typed before
            continue
        if field.typed:
            add_typed(found, number, field, Typed(field.typed, field.text, field.is_secret, field.may_vary))
            continue
        texts = (field.text, *(other[field.key].text for other in others if field.key in other))
        if len(texts) > 1 and len(set(texts)) == 1 and field.where is not Where.HEADER:
            continue
        leaves = set()
        if is_json(field):
            after = [call for step in first[number + 1 :] for call in step.answers]
            columns = {value: typed.column for value, typed in known.items()}
            for column, value, is_secret in typed_leaves(field, before, after, columns):
                leaves.add(value)
                spelled = next((text for text in sorted(json_texts(value)) if text in field.text), value)
                add_typed(
                    found, number, field, Typed(column, spelled, is_secret, value in known and known[value].may_vary)
                )
        yield from (atom for atom in _atoms_of(number, field, texts) if atom.values[0] not in leaves)


def _may_repeat(one: Field, until_typed: Sequence[RecordedStep]) -> bool:
    """Return whether a field may repeat what was typed: a segment that a path had before is one of the application."""
    if one.where is not Where.PATH:
        return one.where in (Where.FORM, Where.QUERY)
    fields = (other for step in until_typed for other in step.fields)
    return not any(other.where is Where.PATH and other.text == one.text for other in fields)


def _atoms_of(number: int, one: Field, texts: Sequence[str]) -> Iterator[_Atom]:
    """Yield the values of a field: its JSON leaves, else its whole text with its parts."""

    def atoms(all_texts: Sequence[list[tuple[str, str]]]) -> Iterator[_Atom]:
        same = [part for part in all_texts if len(part) == len(all_texts[0])]
        for named in zip(*same, strict=True):
            values = tuple(value for _, value in named)
            is_constant = len(values) > 1 and len(set(values)) == 1 and not _is_secret_header(one)
            if values[0] and not is_constant:
                yield _Atom(number, replace(one, name=named[0][0]) if one.where is Where.BODY else one, values)

    leaves = [_leaves(text) for text in texts]
    if leaves[0]:
        yield from atoms(leaves)
        return
    parts = [[(one.name, part) for part in _PARTS.split(text) if len(part) >= _LEAST_PART] for text in texts]
    if one.where is Where.BODY:
        yield from atoms(parts)
    else:
        inner = tuple(part for part in atoms(parts) if part.values[0] != texts[0])
        yield from (atom._replace(parts=inner) for atom in atoms([[(one.name, text)] for text in texts]))


def _is_secret_header(one: Field) -> bool:
    return one.where is Where.HEADER and (one.name.lower() == "authorization" or is_secret_name(one.name))


def _leaves(text: str) -> list[tuple[str, str]]:
    """Return the name and text of each leaf of a JSON text; nothing of another text."""
    return [
        (next((key for key in reversed(path) if isinstance(key, str)), ""), str(leaf))
        for path, leaf in (json_leaves(text) if text[:1] in ("{", "[") else ())
    ]


def _explain(atom: _Atom, aligned: Sequence[tuple[RecordedStep, ...]], found: Correlation) -> None:
    """Find the source of a value or of its parts; without one it may be a secret, typed, or unexplained."""
    if _has_source(atom, aligned, found):
        return
    if not sum(_has_source(part, aligned, found) for part in atom.parts):  # each of them, not only the first
        _unexplained(atom, aligned, found)


def _has_source(atom: _Atom, aligned: Sequence[tuple[RecordedStep, ...]], found: Correlation) -> bool:
    """Return whether a response has a value; add the use to its variable: one that exists, else a new one."""
    known = next((one for one in found.variables if one.values == atom.values and one.source < atom.step), None)
    variable = known or _new_variable(atom, aligned, found)
    if variable is None:
        return False
    if known is None:
        found.variables.append(variable)
    variable.uses.append(Use(atom.step, atom.key, atom.values[0], variable.coding.call % variable.name))
    return True


def _new_variable(atom: _Atom, aligned: Sequence[tuple[RecordedStep, ...]], found: Correlation) -> Variable | None:
    is_varying = len(set(atom.values)) > 1
    typed = [one.value for one in found.typed if len(one.value) >= _LEAST_TYPED]
    forms = [codings(value) for value in atom.values]
    sources = [source for source in range(atom.step) if len(aligned[source]) >= len(atom.values)]
    for source, only_named in chain(product(sources, (True,)), product(sources, (False,))):
        steps = aligned[source]
        for index, (form, coding) in enumerate(forms[0]):
            wanted = [other[index][0] for other in forms]
            if not form or any(form == earlier for earlier, _ in forms[0][:index]):
                continue
            for extractor in proposals(form, atom.field, steps[0].answers, is_varying=is_varying):
                if only_named and not extractor.is_named(atom.field.name):
                    continue  # a field of the same name is better than a text of an earlier page
                if any(text in extractor.a for text in typed) or any(credentials_in("", extractor.a + extractor.b)):
                    continue  # other users type other texts, and have other secrets
                pairs = zip(steps, wanted, strict=False)
                if all(extractor.finds(step.answers, text) for step, text in pairs):
                    name = _name(atom, aligned[atom.step][0], found)
                    return Variable(name, atom.values, form, source, extractor, coding)
    return None


def _name(atom: _Atom, step: RecordedStep, found: Correlation) -> str:
    name = atom.field.name.partition("#")[0]
    if atom.field.where is Where.PATH:
        before = step.path.split("/")[int(name)]
        name = f"{before or 'path'}_id"
    base = re.sub(r"\W+", "_", name).strip("_").lower() or "value"
    taken, name, count = {one.name for one in found.variables} | {one.column for one in found.typed}, base, 1
    while name in taken:
        count += 1
        name = f"{base}_{count}"
    return name


def _unexplained(atom: _Atom, aligned: Sequence[tuple[RecordedStep, ...]], found: Correlation) -> None:
    """Add a value without a source: as a secret, as typed, or as unexplained."""
    value, field = atom.values[0], atom.field
    differs = len(set(atom.values)) > 1
    if is_credential(field.name, value):
        return  # it becomes a secret
    guess, todo = guess_of(value, field.name, aligned[atom.step][0].answers[0].start_s)
    is_random = bool(guess) or (len(value) >= _LEAST_UNEXPLAINED and looks_dynamic(value))
    if not differs and not is_random:
        return
    if any(value in other.value for other in found.unexplained if other.step == atom.step):
        return
    if differs and not is_random and field.where is not Where.PATH and not looks_dynamic(value):
        add_typed(found, atom.step, field, Typed(_name(atom, aligned[atom.step][0], found), value, False))
        return
    where = f"{field.where} {field.name}".strip()
    guess, todo = guess or "random text", todo or "find in the page's scripts how it is made, and write that"
    found.unexplained.append(Unexplained(atom.step, where, value, guess, todo))


def _replace_known(number: int, one: Field, found: Correlation) -> None:
    """Replace the values that are known in a header such as Referer."""
    for variable in found.variables:
        if variable.source < number and len(variable.values[0]) >= _LEAST_PART and variable.values[0] in one.text:
            variable.uses.append(Use(number, one.key, variable.values[0], variable.coding.call % variable.name))


def json_texts(value: str) -> set[str]:
    """Return how a JSON text may spell a value, without the quotes."""
    spelled = {json.dumps(value), json.dumps(value, ensure_ascii=False), json.dumps(value).replace("/", "\\/")}
    return {one[1:-1] for one in spelled}
