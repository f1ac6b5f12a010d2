"""Decides what a replay shows: whether users pass, and what differs when a request sends a recorded value."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import urlsplit

from harness.plan.har.correlate import Variable
from harness.plan.har.page import read_page
from harness.plan.har.steps import Step, json_leaves

_WORD = re.compile(r"[A-Za-z]{3,}(?![\w])")
_TAGS = re.compile(r"(?s)<(script|style)\b.*?</\1>|<[^>]*>")
_NAMED_WORDS = 3


class Answer(NamedTuple):
    """The last response of a step: its code, URL and body."""

    code: str
    url: str
    body: str


# The answers of a user to each step, None for a step that was not reached.
Answers = Sequence[Answer | None]


@dataclass(frozen=True)
class Signature:
    """What people see of a response: code, path, title, forms, and the words of its text or the keys of its JSON."""

    code: str
    path: str
    title: str
    forms: frozenset[str]
    words: frozenset[str]


def signature_of(answer: Answer) -> Signature:
    """Return the signature of a response; numbers and long ids are left out."""
    page = read_page(answer.body)
    forms = {f"{_shape(urlsplit(form.action).path)} {' '.join(sorted(form.inputs))}".strip() for form in page.forms}
    keys = {_plain(".".join(map(str, path))) for path, _ in json_leaves(answer.body)}
    words = _words(_TAGS.sub(" ", answer.body))
    return Signature(answer.code, _shape(urlsplit(answer.url).path), _plain(page.title), frozenset(forms), words | keys)


def failures(steps: Sequence[Step], labels: Sequence[str], answers: Answers) -> Iterator[str]:
    """Yield how the answers of a user with all extractors differ from the recording: the step, expected and got."""
    for number, (step, answer) in enumerate(zip(steps, answers, strict=True)):
        call, where = step.answers[-1], f"step {number + 1} {labels[number]}"
        if answer is None:
            yield f"{where}: was not reached"
            continue
        old, new = signature_of(Answer(str(call.status), call.url, call.response)), signature_of(answer)
        is_same_code = old.code[0] == new.code[0] or {old.code, new.code} <= {"200", "304"}
        if not is_same_code:
            yield f"{where}: expected {old.code}, got {new.code}"
        elif old.path != new.path:
            yield f"{where}: expected {old.path}, got {new.path}"
        elif call.response and old.forms != new.forms:
            yield f"{where}: the forms of the page differ: expected {_list(old.forms)}, got {_list(new.forms)}"
        elif call.response and _letters(old.title) != _letters(new.title):
            yield f'{where}: expected the page "{old.title}", got "{new.title}"'


def difference(
    variable: Variable, number: int, labels: Sequence[str], full: Sequence[Answers], other: Answers, sent: Sequence[str]
) -> str:
    """Return how an answer differs without an extractor, as "step 7 POST /save answers 403"; empty when none does.

    `full` has the answers of users with all extractors, to which `sent` are the values that the extractor found. What
    differs among those users is not compared. `number` is the first step that sends the value: a difference before it
    has another reason, such as data of an earlier pass.
    """
    value = variable.values[0]
    for at in range(len(other)):
        where = f"{'' if at >= number else 'not tested: '}step {at + 1} {labels[at]}"
        known, answer = [one for user in full if (one := user[at])], other[at]
        if len(known) < len(full):
            continue
        if answer is None:
            return f"{where} is not reached"
        old, new = [signature_of(one) for one in known], signature_of(answer)
        for name, text in (("code", "answers {}"), ("path", "leads to {}"), ("title", 'shows "{}"')):
            before, now = {getattr(one, name) for one in old}, getattr(new, name)
            if len(before) == 1 and now not in before:
                return f"{where} {text.format(now)}"
        if len({one.forms for one in old}) == 1 and old[0].forms != new.forms:
            return f"{where} shows {_list(new.forms - old[0].forms) if new.forms - old[0].forms else 'other forms'}"
        if missing := frozenset.intersection(*(one.words for one in old)) - new.words:
            return f"{where} lacks {_list(missing)}"
        added = new.words.difference(*(one.words for one in old))
        has_noise = any(one.words.difference(*(two.words for two in old if two is not one)) for one in old)
        if added and not has_noise and not any(word in value for word in added):
            return f"{where} adds {_list(added)}"
        # Users see their own value, and without the extractor the recorded one.
        if all(
            len(mine) > 1 and mine in f"{one.url} {one.body}" != value for mine, one in zip(sent, known, strict=True)
        ):
            is_own = value not in sent and not any(value in f"{one.url} {one.body}" for one in known)
            if is_own and value in f"{answer.url} {answer.body}":
                return f"{where} answers for the recorded value"
    return ""


def _shape(path: str) -> str:
    """Return a path with # for each segment that is an id."""
    return "/".join("#" if re.search(r"\d|.{24}", part) else part for part in path.split("/"))


def _plain(text: str) -> str:
    return re.sub(r"\d+", "#", text)


def _letters(text: str) -> str:
    return re.sub(r"[^a-z ]", "", text.lower()).strip()


def _words(text: str) -> frozenset[str]:
    """Return the words of a text; those joined to digits, such as parts of ids, are none."""
    return frozenset(token for token in re.split(r"[^\w-]+", text) if _WORD.fullmatch(token))


def _list(words: frozenset[str]) -> str:
    shown = sorted(words)[:_NAMED_WORDS]
    return (", ".join(shown) + (" …" if len(words) > _NAMED_WORDS else "")) or "none"
