"""What a plan is written of: the steps of a recording, with what varies in them, and the names of its files."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from urllib.parse import unquote

from harness.base.credentials import UUID, credentials_in, looks_random, without_credentials
from harness.base.plain_text import CONTROL
from harness.plan.har.correlation import Correlation, Use
from harness.plan.har.steps import Field, RecordedStep, Where

_FILE_NAME_MOST_BYTES, _SUFFIX_MOST = 240, 5


@dataclass(frozen=True)
class Recorded:
    """What a plan is written of; `name` is that of the plan, `pauses_s` has the pause before each step."""

    name: str
    steps: Sequence[RecordedStep]
    found: Correlation
    pauses_s: Sequence[float]
    with_static: bool = False

    @property
    def think_time_s(self) -> float:
        """The mean pause before a transaction (s)."""
        return round(fmean(pause for step, pause in zip(self.steps, self.pauses_s, strict=True) if step.title), 2)

    @property
    def data_name(self) -> str:
        """The name of the data file, relative to plans/."""
        return f"data/{self.name}/users.csv"

    @property
    def columns(self) -> dict[str, str]:
        """The columns of the data file, with the recorded values.

        A secret that differs between the users has a column with the name of its environment variable.
        """
        columns = {one.column: one.value for one in self.found.typed if not one.is_secret}
        return columns | {self.name_column(one): self.secret_name(one) for one in self.own_secrets}

    @property
    def rows(self) -> list[dict[str, str]]:
        """The rows of the data file: one for each recording with another user."""
        rows = [self.columns]
        for number, given in enumerate(self.found.rows, 2):
            names = {self.name_column(one): f"{self.secret_name(one)}_{number}" for one in self.own_secrets}
            row = self.columns | {name: text for name, text in given.items() if name in self.columns} | names
            rows += [row] if row not in rows else []
        return rows

    @property
    def own_secrets(self) -> tuple[str, ...]:
        """The columns of secrets that each user has one of."""
        typed = (one for one in self.found.typed if one.is_secret)
        return tuple(
            one.column for one in typed if any(row.get(one.column, one.value) != one.value for row in self.found.rows)
        )

    def name_column(self, secret: str) -> str:
        """Return the column with the name of a user's environment variable."""
        return f"{secret}_name"

    @property
    def varied(self) -> tuple[str, ...]:
        """The columns whose texts may be unlike the recorded ones."""
        return tuple(one.column for one in self.found.typed if one.may_vary)

    @property
    def secrets(self) -> dict[str, str]:
        """The environment variables of the secrets, with the recorded values."""
        secrets = {one.column: one.value for one in self.found.typed if one.is_secret}
        others = {
            f"{self.secret_name(name)}_{number}": row.get(name, secrets[name])
            for number, row in enumerate(self.found.rows, 2)
            for name in self.own_secrets
        }
        return {self.secret_name(name): value for name, value in secrets.items()} | others

    @property
    def uploads(self) -> dict[str, str]:
        """The files that are sent, by their name relative to plans/, with their recorded contents."""
        fields = (one for step in self.steps for one in step.fields if one.file)
        return {self.upload_name(one): one.text for one in fields}

    def upload_name(self, one: Field) -> str:
        """Return where an upload is, relative to plans/: JMeter sends the name of the file, which is the recorded one.

        A name that looks like a credential, or that no file can have, is replaced, and no file is hidden: `.gitignore`
        would act on the project. Another content with the same name has a folder of its own.
        """
        fields = [field for step in self.steps for field in step.fields if field.file]
        names = [self._file_name(field.file, [other.file for other in fields]) for field in fields]
        name = self._file_name(one.file, [field.file for field in fields])
        alike = (field.text for field, other in zip(fields, names, strict=True) if other.lower() == name.lower())
        number = list(dict.fromkeys(alike)).index(one.text)
        return f"data/{self.name}/{f'{number + 1}/' if number else ''}{name}"

    def _file_name(self, name: str, names: Sequence[str]) -> str:
        is_random = any(credentials_in("", name)) or looks_random(Path(name).stem)
        if is_random or any(secret in name for secret in self.secrets.values()):
            suffix = Path(name).suffix if len(Path(name).suffix) <= _SUFFIX_MOST else ""
            name = f"upload-{list(dict.fromkeys(names)).index(name) + 1}{suffix}"
        name = CONTROL.sub("-", re.sub(r'[\x00-\x1f/\\:*?"<>|]+', "-", name))
        return name.encode()[-_FILE_NAME_MOST_BYTES:].decode(errors="ignore").strip(" .") or "file"

    def secret_name(self, column: str) -> str:
        """Return the environment variable of a secret."""
        name = re.sub(r"[^\x00-\x7f]", lambda sign: f"_{ord(sign[0]):x}", f"{self.name}_{column}")
        return re.sub(r"\W+", "_", name).upper()

    def _replaced(self) -> Iterator[tuple[str, Sequence[Use]]]:
        """Yield the variables and the secrets with their uses."""
        yield from ((one.name, one.uses) for one in self.found.variables)
        yield from ((one.column, uses) for one, uses in self.found.typed.items() if one.is_secret)

    def labels(self) -> list[str]:
        """Return the unique label of each step; a segment of its path that varies has the name of its variable."""
        counts: Counter[str] = Counter()
        labels = []
        for number, step in enumerate(self.steps):
            parts = step.path.split("/")
            for name, uses in self._replaced():
                for use in uses:
                    if use.step == number and use.key[0] == Where.PATH:
                        at = int(use.key[1]) + 1
                        part = parts[at] if use.text in parts[at] else unquote(parts[at])
                        parts[at] = part.replace(use.text, f"{{{name}}}") if use.text in part else parts[at]
            parts = [without_credentials(part) if not UUID.fullmatch(part) else part for part in parts]
            label = f"{step.method} {'/'.join(parts)[:60]}"
            counts[label] += 1
            labels.append(label if counts[label] == 1 else f"{label} #{counts[label]}")
        return labels


def csv_text(rows: Iterable[Sequence[str]]) -> str:
    """Return rows as JMeter reads them from a CSV file."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
