"""What a plan is written of: the steps of a recording, with what varies in them, and the names of its files."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from harness.plan.har.correlate import Correlation
from harness.plan.har.steps import Field, Step, Where

_FILE_NAME_MOST = 100


@dataclass(frozen=True)
class Recorded:
    """What a plan is written of; `name` is that of the plan, `pauses_s` has the pause before each step."""

    name: str
    steps: Sequence[Step]
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
        """The columns of the data file, with the recorded values."""
        return {one.column: one.value for one in self.found.typed if not one.is_secret}

    @property
    def varied(self) -> tuple[str, ...]:
        """The columns whose texts may be unlike the recorded ones."""
        return tuple(one.column for one in self.found.typed if one.may_vary)

    @property
    def secrets(self) -> dict[str, str]:
        """The environment variables of the secrets, with the recorded values."""
        return {self.secret_name(one.column): one.value for one in self.found.typed if one.is_secret}

    @property
    def uploads(self) -> dict[str, str]:
        """The files that are sent, by their name relative to plans/, with their recorded contents."""
        fields = (one for step in self.steps for one in step.fields if one.file)
        return {self.upload_name(one): one.text for one in fields}

    def upload_name(self, one: Field) -> str:
        """Return where an upload is, relative to plans/."""
        name = re.sub(r"[^A-Za-z0-9_.-]+", "-", one.file)[-_FILE_NAME_MOST:]
        return f"data/{self.name}/{name.lstrip('.') or 'file'}"

    def secret_name(self, column: str) -> str:
        """Return the environment variable of a secret."""
        name = re.sub(r"[^\x00-\x7f]", lambda sign: f"_{ord(sign[0]):x}", f"{self.name}_{column}")
        return re.sub(r"\W+", "_", name).upper()

    def labels(self) -> list[str]:
        """Return the unique label of each step; a segment of its path that varies has the name of its variable."""
        counts: Counter[str] = Counter()
        labels = []
        for number, step in enumerate(self.steps):
            parts = step.path.split("/")
            for variable in self.found.variables:
                for use in variable.uses:
                    if use.step == number and use.key[0] == Where.PATH:
                        at = int(use.key[1]) + 1
                        parts[at] = parts[at].replace(use.text, f"{{{variable.name}}}")
            label = f"{step.method} {'/'.join(parts)[:60]}"
            counts[label] += 1
            labels.append(label if counts[label] == 1 else f"{label} #{counts[label]}")
        return labels


def csv_text(rows: Iterable[Sequence[str]]) -> str:
    """Return rows as JMeter reads them from a CSV file."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
