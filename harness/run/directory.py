"""Names and creates run directories, and reads and writes their files, such as run.json."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from harness.base.errors import InvalidRunError, UsageError
from harness.base.packed import packed_path
from harness.base.records import Record, read_record, to_plain
from harness.base.regular import regular
from harness.base.strict_json import parse_object
from harness.base.units import BYTES_PER_MB
from harness.base.writable import FULL, TODO, writing_into
from harness.jtl.sample import SAMPLES_NAME, samples_number
from harness.run import kinds
from harness.run.kinds import RUN_NAME
from harness.run.record import RUNNING, RunRecord

R = TypeVar("R", bound=Record)

# The JMX that JMeter runs.
PLAN_NAME = "effective.jmx"
# The id of new names, for reproducible ones; empty for names without an id.
ID_VARIABLE = "HARNESS_RUN_ID"
_ATTEMPTS = 1000
# A folder may be renamed to anything; its name is in tables, pages and commands.
_NOT_IN_NAMES = re.compile(r"[^\w .,+()=%-]")
_REFUSALS = (errno.EACCES, errno.EPERM, errno.EROFS)
_NOT_BEGUN = "free disk space, and run again"
_SAVED = "free disk space; the samples so far are saved: lth report creates their report"


@dataclass(frozen=True)
class RunDirectory:
    """The files of one run: `path` is reports/<plan>/run-<series>_<n>."""

    path: Path

    @property
    def name(self) -> str:
        """The run's name, such as run-07_1."""
        return self.path.name

    @property
    def plan(self) -> str:
        """The plan's name, which is the name of the parent folder; signs that no name has are replaced."""
        return _NOT_IN_NAMES.sub("\N{REPLACEMENT CHARACTER}", self.path.parent.name)

    @property
    def run_json(self) -> Path:
        """The facts of the run."""
        return self.path / "run.json"

    @property
    def samples(self) -> Path:
        """JMeter's JTL; the packed one after a long run."""
        plain = self.path / SAMPLES_NAME
        packed = packed_path(plain)
        return packed if packed.is_file() and not plain.is_file() else plain

    @property
    def all_samples(self) -> tuple[Path, ...]:
        """The JTL, and those of the other generators of a merged run, in order; empty without the first."""
        first = self.samples
        if not first.is_file():
            return ()
        numbered = ((samples_number(path.name), path) for path in self.path.iterdir())
        return (
            first,
            *(path for _, path in sorted((number, path) for number, path in numbered if number and number > 1)),
        )

    @property
    def effective_plan(self) -> Path:
        """The JMX that JMeter runs."""
        return self.path / PLAN_NAME

    def add_plan(self, jmx: bytes, jmx_path: Path, own_files: Iterable[str] = ()) -> None:
        """Write the JMX that JMeter runs, and copy its data files and the `own_files` of its plan beside it."""
        try:
            self.effective_plan.write_bytes(jmx)
        except OSError as error:
            raise self._unwritable(self.effective_plan, error) from None
        where = f"{jmx_path.parent.name}/{jmx_path.name}: its data file"
        from harness.plan.jmx.data_files import data_files  # deferred: a table needs no plan

        for name in (*data_files(jmx_path), *own_files):
            if ".." in Path(name).parts:
                raise UsageError(f"{where} {name} is outside of the plan's folder", "move it into the plan's folder")
            copy = self.path / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            try:
                shutil.copyfile(jmx_path.parent / name, copy)
            except OSError as error:
                if error.errno in FULL:
                    raise self._unwritable(copy, error) from None
                raise UsageError(f"{where} {name}: {error.strerror}", "store it in the plan's folder") from None

    def _unwritable(self, path: Path, error: OSError) -> InvalidRunError:
        what = f"{self.plan}/{self.name}/{path.relative_to(self.path)} cannot be written ({error.strerror})"
        return InvalidRunError(what, _NOT_BEGUN)

    @property
    def system_logs(self) -> Path:
        """Logs of the processes of the system that was started for the run."""
        return self.path / "system"

    @property
    def failures(self) -> Path:
        """The first failed requests of each cause, with their responses."""
        return self.path / "failures.jsonl"

    @property
    def failures_page(self) -> Path:
        """The same as HTML."""
        return self.path / "failures.html"

    @property
    def compared(self) -> Path:
        """What the run was compared with when it ended."""
        return self.path / "compared.json"

    @property
    def summary_json(self) -> Path:
        """The summary JSON, next to the directory."""
        return self.path.with_name(self.path.name + ".json")

    @property
    def report(self) -> Path:
        """The Markdown report, next to the directory."""
        return self.path.with_name(self.path.name + ".md")

    @property
    def is_there(self) -> bool:
        """Whether a file with its metrics exists."""
        return self.run_json.is_file() or self.summary_json.is_file()

    def write_run(self, run: RunRecord) -> None:
        """Write run.json; a reader sees the old or the new file, never a part of it."""
        write_whole(self.run_json, json_text(run), _SAVED if self.run_json.exists() else _NOT_BEGUN)

    def read_run(self) -> RunRecord | None:
        """Return the record in run.json; None when there is no such file. UsageError for anything else in it."""
        return load_record(RunRecord, self.run_json) if self.run_json.is_file() else None

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Let others see that the run goes on; the end of the process ends that too, however it ends."""
        with contextlib.ExitStack() as stack:
            with contextlib.suppress(OSError):  # a file system without locks: nobody sees it
                handle = os.open(self.path, os.O_RDONLY)
                stack.callback(os.close, handle)
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield

    @property
    def is_held(self) -> bool:
        """Whether the run goes on, in a process of this machine."""
        try:
            handle = os.open(self.path, os.O_RDONLY)
        except OSError:
            return False
        try:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            return False
        finally:
            os.close(handle)
        return False

    def refuse_running(self, run: RunRecord) -> None:
        """Raise UsageError while the run goes on; `run` is its record."""
        if run.state == RUNNING and self.is_held:
            raise UsageError(f"{run.id}: it is running", "wait: its report is written at its end")

    def discard(self) -> None:
        """Remove the directory of a run that measured nothing, and the plan's folder if it is then empty."""
        shutil.rmtree(self.path, ignore_errors=True)
        with contextlib.suppress(OSError):  # it contains other runs
            self.path.parent.rmdir()


def json_text(data: object) -> str:
    """Return a dataclass or plain data as indented JSON, with lists of plain values on one line: it diffs well."""
    return _indented(to_plain(data), "") + "\n"


# One encoder for all values: json.dumps makes one for each, which takes longer than the encoding.
_encoded = json.JSONEncoder(ensure_ascii=False).encode


def _indented(value: Any, margin: str) -> str:
    inner = margin + " "
    if isinstance(value, Mapping) and value:
        parts = [f"{inner}{_encoded(key)}: {_indented(item, inner)}" for key, item in value.items()]
        return "{\n" + ",\n".join(parts) + f"\n{margin}}}"
    if isinstance(value, list | tuple) and any(isinstance(item, Mapping | list | tuple) for item in value):
        return "[\n" + ",\n".join(inner + _indented(item, inner) for item in value) + f"\n{margin}]"
    return _encoded(value)


def read_object(path: Path, what: str = "a run") -> dict[str, Any]:
    """Return the object in a JSON file of `what`; UsageError when it cannot be read."""
    try:
        return parse_object(regular(path).read_bytes())
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})", "name another file") from None
    except ValueError as error:
        raise UsageError(f"{path}: not the JSON of {what} ({error})", "write it again, or remove it") from None


class OtherVersionError(UsageError):
    """A file has another format version."""


def load_record(kind: type[R], path: Path) -> R:
    """Return the record in a JSON file; UsageError when it is broken, of another format version, or no such record."""
    return read_record(kind, read_json(path, kind.version, kind.what), str(path))


def read_json(path: Path, version: int, what: str = "a run") -> dict[str, Any]:
    """Return the content of a JSON file of the harness; UsageError when it is broken or of another format version."""
    data = read_object(path, what)
    if data.get("format_version") != version or isinstance(data["format_version"], bool):
        todo = "use the version of the harness that wrote it"
        raise OtherVersionError(f"{path}: not a file of format version {version}", todo)
    return data


def write_whole(path: Path, text: str, todo: str = _SAVED) -> None:
    """Write a file atomically: a crash leaves the old or the new file. `todo` is for a full disk."""
    draft = path.with_name(f".{path.name}.new")
    try:
        draft.write_text(text, encoding="utf-8", newline="\n")
        draft.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
        what = f"{path.parent.name}/{path.name} cannot be written ({error.strerror})"
        if error.errno in _REFUSALS:
            raise UsageError(what, TODO) from None
        raise InvalidRunError(what, todo if path.parent.is_dir() else "its folder was removed") from None


def check_space(reports_dir: Path, min_free_mb: int) -> None:
    """Raise a UsageError unless reports can be written and have `min_free_mb` megabytes free."""
    try:
        reports_dir.mkdir(parents=True, exist_ok=True)
        probe = reports_dir / ".write-probe"
        probe.write_bytes(b"x")
        probe.unlink()
    except OSError as error:
        raise UsageError(
            f"{reports_dir.name}/ cannot be written ({error.strerror})",
            "free disk space, or give yourself write permission",
        ) from None
    free_mb = shutil.disk_usage(reports_dir).free // BYTES_PER_MB
    if free_mb < min_free_mb:
        raise UsageError(
            f"{reports_dir.name}/ has {free_mb} MB free, a run needs {min_free_mb} MB",
            "free disk space, or lower min_free_mb in [reports] of the profile",
        )


def reserve(reports_dir: Path, plan: str, series: str | None) -> RunDirectory:
    """Return a new, empty run directory in the given or last series, with the next free number.

    The last series is never that of a sweep or an overload test, to which its runs belong. The creation of the
    directory reserves the name, so two runs that start at once get two names.
    """

    def next_name() -> str:
        names = _names_in(reports_dir / plan)
        chosen = series or _last_series(names)
        runs = [match for name in names if (match := RUN_NAME.match(name))]
        return f"run-{chosen}_{1 + max((int(run[2]) for run in runs if int(run[1]) == int(chosen)), default=0)}"

    return RunDirectory(reserve_folder(reports_dir / plan, next_name, "give another --series"))


def reserve_folder(parent: Path, next_name: Callable[[], str], todo: str) -> Path:
    """Create a folder with the next free name and an id and return it; UsageError when it cannot be created.

    The creation of the folder without the id reserves the name: another harness that gets the same name at once fails
    to create it and tries again, and so does one that creates it only after it was renamed.
    """
    end = _id_of_name()
    with writing_into(parent):
        parent.mkdir(parents=True, exist_ok=True)
    for _ in range(_ATTEMPTS):
        path = parent / next_name()
        with contextlib.suppress(FileExistsError), writing_into(parent):
            path.mkdir()
            if any(kinds.short_name(Path(name).stem) == path.name for name in _names_in(parent) if name != path.name):
                path.rmdir()
                continue
            return path.rename(f"{path}-{end}") if end else path
    raise UsageError(f"{parent.name}: no free name found", todo)


def _id_of_name() -> str:
    """Return a random id, or that of the environment; UsageError when it is none."""
    given = os.environ.get(ID_VARIABLE)
    if given and not kinds.ID.fullmatch(given):
        raise UsageError(f"{ID_VARIABLE}={given}: not an id", "set four hexadecimal digits, such as 4f2a, or unset it")
    return secrets.token_hex(2) if given is None else given


def next_series(folder: Path, kind: kinds.Kind | None = None) -> str:
    """Return the series after the last one that a run, a report of this kind or a sweep in a plan's folder uses."""
    return _next_series(_names_in(folder), *([kind.numbered] if kind else []))


def _next_series(names: Sequence[str], *more: re.Pattern[str]) -> str:
    used = _series(names, RUN_NAME, *_shared_names(), *more)
    return f"{1 + max(map(int, used), default=0):02d}"


def _last_series(names: Sequence[str]) -> str:
    """Return the last series of single runs, not of a sweep or an overload test, else a new series."""
    shared = {int(series) for series in _series(names, *_shared_names())}
    single = [series for series in _series(names, RUN_NAME) if int(series) not in shared]
    return max(single, key=int, default="") or _next_series(names)


def _shared_names() -> list[re.Pattern[str]]:
    """Return the patterns of the names of reports beside single runs that have a series of their own."""
    return [kind.numbered for kind in kinds.KINDS if kind.has_series and not kind.folder]


def _names_in(folder: Path) -> list[str]:
    """Return the names in a folder at one moment: other runs reserve theirs meanwhile."""
    return [path.name for path in folder.iterdir()]


def _series(names: Sequence[str], *patterns: re.Pattern[str]) -> list[str]:
    found = (pattern.match(name) for name in names for pattern in patterns)
    return [match[1] for match in found if match]


def generator_log(number: object) -> str:
    """Return the file name of a generator's log in a run directory; the first part is 1."""
    return f"generator-{number}.log"
