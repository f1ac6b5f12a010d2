"""Decides what a replay shows: whether users pass, and what differs when a request sends a recorded value."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import urlsplit

from harness.plan.har.correlation import Variable
from harness.plan.har.page import joined_url, read_page
from harness.plan.har.steps import RecordedStep, Where, json_leaves, path_shape

_PUNCTUATION = ".,;:!?()[]{}<>\"'“”‘’«»…"
_LEAST_WORD = 3
_CONSTANT = re.compile(r"(?<=[:\[,])\s*(true|false|null)\b")
_TAGS = re.compile(r"(?s)<(script|style)\b.*?</\1>|<[^>]*>")
_NAMED_WORDS = 3


class ReplayAnswer(NamedTuple):
    """The last response of a step: its code, URL and body."""

    code: str
    url: str
    body: str


# The answers of a user to each step, None for a step that was not reached.
Answers = Sequence[ReplayAnswer | None]


@dataclass(frozen=True)
class Signature:
    """What people see of a response: code, path, title, forms, and the words of its text or the keys of its JSON."""

    code: str
    path: str
    title: str
    forms: frozenset[str]
    words: frozenset[str]


def signature_of(answer: ReplayAnswer) -> Signature:
    """Return the signature of a response; numbers and long ids are left out."""
    page = read_page(answer.body)
    forms = {
        f"{path_shape(urlsplit(joined_url('', form.action)).path)} {' '.join(sorted(form.inputs))}".strip()
        for form in page.forms
    }
    leaves = list(json_leaves(answer.body))
    words = {_plain(".".join(map(str, path))) for path, _ in leaves} | set(_CONSTANT.findall(answer.body))
    words |= _words(" ".join(str(value) for _, value in leaves) if leaves else _TAGS.sub(" ", answer.body))
    return Signature(
        answer.code,
        path_shape(urlsplit(joined_url("", answer.url)).path),
        _plain(page.title),
        frozenset(forms),
        frozenset(words),
    )


def failures(steps: Sequence[RecordedStep], labels: Sequence[str], answers: Answers) -> Iterator[str]:
    """Yield how the answers of a user with all extractors differ from the recording: the step, expected and got."""
    for number, (step, answer) in enumerate(zip(steps, answers, strict=True)):
        call, where = step.answers[-1], f"step {number + 1} {labels[number]}"
        if answer is None:
            yield f"{where}: was not reached"
            continue
        old, new = signature_of(ReplayAnswer(str(call.status), call.url, call.response)), signature_of(answer)
        is_same_code = old.code[0] == new.code[0] or {old.code, new.code} <= {"200", "304"}
        has_page = call.response and answer.code != "304"
        sent = {one.name for one in step.fields if one.where is Where.FORM}
        again = [form for form in new.forms - old.forms if sent & set(form.split())]
        if not is_same_code:
            yield f"{where}: expected {old.code}, got {new.code}"
        elif old.path != new.path:
            yield f"{where}: expected {old.path}, got {new.path}"
        elif has_page and again:
            yield f"{where}: shows its form again: {again[0]}"
        elif has_page and _letters(old.title) != _letters(new.title):
            yield f'{where}: expected the page "{old.title}", got "{new.title}"'


def difference(
    variable: Variable, number: int, labels: Sequence[str], full: Sequence[Answers], other: Answers, sent: Sequence[str]
) -> str:
    """Return how an answer differs without an extractor, as "step 7 POST /save answers 403"; empty when none does.

    `full` has the answers of users with all extractors, to which `sent` are the values that the extractor found. What
    differs among those users is not compared. `number` is the first step that sends the value. A difference before it
    has another reason, such as data of an earlier pass: then only codes and paths are compared, if they were equal.
    """
    for at, what in enumerate(differences(number, full, other)):
        where = f"step {at + 1} {labels[at]}"
        if at < number and what:
            return f"not tested: {where} {what}"
        if what:
            return f"{where} {what}"
        if at >= number and is_for_recorded(variable.values[0], at, full, other, sent):
            return f"{where} answers for the recorded value"
    return ""


def differences(number: int, full: Sequence[Answers], other: Answers) -> list[str]:
    """Return how each answer differs from those of all users with all extractors; empty texts where none does.

    `number` is the first step that sends another value: before it only other codes and paths count, and after it, too,
    if another page was shown before.
    """
    texts, has_other_data = list[str](), False
    for at, answer in enumerate(other):
        known = [one for user in full if (one := user[at])]
        if len(known) < len(full):
            texts.append("")
            continue
        old = [signature_of(one) for one in known]
        plain = _refused(old, answer)
        page = "" if plain or answer is None or has_other_data else _other_page(old, signature_of(answer))
        has_other_data = has_other_data or (at < number and bool(page))
        texts.append(plain or (page if at >= number else ""))
    return texts


def is_for_recorded(value: str, at: int, full: Sequence[Answers], other: Answers, sent: Sequence[str]) -> bool:
    """Return whether the answer to a step has the recorded value where the answers of other users have theirs."""
    known, answer = [one for user in full if (one := user[at])], other[at]
    return answer is not None and len(known) == len(full) and _is_for_recorded(value, answer, known, sent)


def _refused(old: Sequence[Signature], answer: ReplayAnswer | None) -> str:
    """Return how code or path of an answer differ from those of all users with all extractors."""
    if answer is None:
        return "is not reached"
    new = signature_of(answer)
    for name, text in (("code", "answers {}"), ("path", "leads to {}")):
        before, now = {getattr(one, name) for one in old}, getattr(new, name)
        if len(before) == 1 and now not in before:
            return text.format(now)
    return ""


def _other_page(old: Sequence[Signature], new: Signature) -> str:
    """Return how title, forms or words of an answer differ from what those of all users with all extractors share."""
    if len({one.title for one in old}) == 1 and new.title != old[0].title:
        return f'shows "{new.title}"'
    if len({one.forms for one in old}) == 1 and old[0].forms != new.forms:
        return f"shows {_list(new.forms - old[0].forms) if new.forms - old[0].forms else 'no form'}"
    if missing := frozenset.intersection(*(one.words for one in old)) - new.words:
        return f"lacks {_list(missing)}"
    added = new.words.difference(*(one.words for one in old))
    has_noise = any(one.words.difference(*(two.words for two in old if two is not one)) for one in old)
    return f"adds {_list(added)}" if added and not has_noise else ""


def _is_for_recorded(value: str, answer: ReplayAnswer, known: Sequence[ReplayAnswer], sent: Sequence[str]) -> bool:
    """Return whether an answer has the recorded value where the answers of other users have theirs."""
    texts = [f"{one.url} {one.body}" for one in known]
    is_own = all(len(own) > 1 and own in text for own, text in zip(sent, texts, strict=True))
    is_recorded = value in f"{answer.url} {answer.body}" and not any(value in text for text in texts)
    return is_own and is_recorded and value not in sent


def _plain(text: str) -> str:
    return re.sub(r"\d+", "#", text)


def _letters(text: str) -> str:
    return " ".join(re.sub(r"[^a-z ]", "", text.lower()).split())


def _words(text: str) -> frozenset[str]:
    """Return the words of a text: letters between spaces or punctuation; parts of ids are none."""
    tokens = (token.strip(_PUNCTUATION) for token in text.split())
    return frozenset(token for token in tokens if len(token) >= _LEAST_WORD and token.isalpha())


def _list(words: frozenset[str]) -> str:
    shown = sorted(words)[:_NAMED_WORDS]
    return (", ".join(shown) + (" …" if len(words) > _NAMED_WORDS else "")) or "none"
