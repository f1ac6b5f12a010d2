"""The comparisons of a run with its references, made when it ended: stored with the run, printed in its report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

FORMAT_VERSION = 1
# The verdicts of comparisons.
REGRESSED, OK, CANNOT_TELL, BETTER = "REGRESSED", "OK", "CANNOT TELL", "IMPROVED"
# What earlier versions stored for IMPROVED.
_BETTER_BEFORE = f"{OK}, better"


@dataclass(frozen=True)
class SettingChange:
    """A setting that differs between the reference (`base`) and the run (`new`)."""

    name: str
    base: str
    new: str


@dataclass(frozen=True)
class ComparedLabel:
    """A label, or TOTAL, of the reference (`base`) and of the run (`new`): a value per metric of the ComparedRun.

    Values are ms, 1/s or a ratio (0-1), None when unknown. `change_ratio` is (new - base) / base, of errors new - base.
    `verdicts` are REGRESSED, IMPROVED, OK or CANNOT TELL.
    """

    label: str
    is_transaction: bool
    base_sample_count: int | None
    new_sample_count: int | None
    base: tuple[float | None, ...]
    new: tuple[float | None, ...]
    change_ratio: tuple[float | None, ...]
    verdicts: tuple[str, ...]

    def __post_init__(self) -> None:
        words = (BETTER if verdict == _BETTER_BEFORE else verdict for verdict in self.verdicts)
        object.__setattr__(self, "verdicts", tuple(words))


@dataclass(frozen=True)
class ComparedRun:
    """The comparison of a run with one reference, as `lth compare` judged it at the end of the run.

    `role` is the reason that the reference was chosen: "previous run", "pinned as baseline". `link` is the path of its
    report from that of the run; empty unless it is a run in the reports folder. With a `problem` there is no
    comparison, and only `name` and `role` are set. `metrics` are ids; `threshold_ratios` are the smallest changes of
    each that matter. `only_base` and `only_new` are labels of one side; `warnings` are those of the comparison and of
    both runs.
    """

    name: str
    role: str
    link: str = ""
    problem: str = ""
    verdict: str = ""
    headline: str = ""
    settings: tuple[SettingChange, ...] = ()
    metrics: tuple[str, ...] = ()
    threshold_ratios: tuple[float, ...] = ()
    total: ComparedLabel | None = None
    labels: tuple[ComparedLabel, ...] = ()
    only_base: tuple[str, ...] = ()
    only_new: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class ComparedGroup:
    """The content of compared.json."""

    format_version: int
    compared: tuple[ComparedRun, ...]
    what: ClassVar = "the comparisons of a run"
    version: ClassVar = FORMAT_VERSION
