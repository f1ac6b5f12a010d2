"""Reads the project's TOML files and rejects unknown names, keys and versions with a list of the valid ones."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from harness.base.errors import UsageError
from harness.base.paths import as_given
from harness.base.regular import regular

_DEPTH_MAX = 20
_WHOLE_MAX = 2**63 - 1
# The types of a key that is a number, for check_keys.
NUMBER = (int, float)
# Names whose characters are the same to this share are similar, as in difflib.
_SIMILAR_LEAST, _NEAREST_MOST = 0.6, 3
# A name is a file name without a folder.
YAML = (".yml", ".yaml")
# The answer to a file of Taurus, as what and todo of a UsageError.
NO_YAML = (
    "a YAML file is no test plan",
    "of Taurus give the JMX that it leaves among its artifacts, of OpenAPI lth init --openapi FILE",
)
# localhost, 10.0.0.5, www.example.org and host:8080, with a path or without.
_HOST = re.compile(r"(localhost|\d+(\.\d+){3}|www\.[\w.-]+|[\w.-]+(?=:\d))(:\d+)?([/?#]|$)")
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*")
_SUITE_SIGN = re.compile(r"^\s*\[\[\s*run\s*\]\]", re.MULTILINE)

# The types of values in messages.
TYPE_NAMES: Mapping[type, str] = {
    str: "a text", int: "a whole number", float: "a number", bool: "true or false", list: "a list", dict: "a table",
}  # fmt: skip


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return `did you mean x, y or z? ` with the names that are most similar, or begin so; empty when none is similar.

    These are at most three, all as similar: `kilbill` may be each of the plans killbill-day, killbill-litle and so on.
    """
    from difflib import SequenceMatcher  # here, because only errors need it

    matcher = SequenceMatcher(b=name)

    def similarity(text: str) -> float:
        matcher.set_seq1(text)
        return matcher.ratio()

    scores: dict[str, tuple[float, bool]] = {}
    for one in names:
        begins = [one[: sign.start()] for sign in re.finditer(r"[-_.]", one)]
        scores[one] = max((similarity(one), True), *((similarity(begin), False) for begin in begins), (0.0, False))
    best = max(scores.values(), default=(0.0, False))
    alike = [one for one, score in scores.items() if score == best and best[0] >= _SIMILAR_LEAST]
    near = sorted(alike, key=similarity, reverse=True)[:_NEAREST_MOST]
    return f"did you mean {' or '.join(filter(None, (', '.join(near[:-1]), near[-1])))}? " if near else ""


def address_meant(text: str) -> str:
    """Return the address that a text without a proper scheme may mean, such as localhost:8080/items; else empty."""
    if match := re.match(r"(https?):?/*(?=[\w.-]+[.:/])", text):
        return f"{match[1]}://{text[match.end() :]}"
    return f"http://{text}" if _HOST.match(text) else ""


def _refuse_no_plan(name: str) -> None:
    """Raise a UsageError for what was given instead of the name of a plan, unless it may be a misspelt name."""
    if re.fullmatch(r"\d+(,\d+)*", name):
        raise UsageError(f"{name}: no plan has such a name", f"did you mean -u {name}?")
    if address := address_meant(name):
        raise UsageError(f"{name}: neither a plan nor an address", f"did you mean {address}?")
    if Path(name).exists():
        what = "neither a test plan (.jmx) nor the name of a plan"
        raise UsageError(f"{name}: {what}", "name one; lth table reads files with samples")


def load_toml(path: Path, what: str, name: str, shipped: Path | None = None) -> dict[str, Any]:
    """Return the contents of the TOML file `path`. The UsageError lists the available files, or names the bad line.

    The files of the folder `shipped` are available, too.
    """
    if not _NAME.fullmatch(name) or not path.is_file():
        folder = Path(str(path).removesuffix(f"/{name}.toml"))  # `name` may contain a folder
        files = (other for each in (folder, shipped) if each for other in each.glob("*.toml"))
        there = sorted({other.stem for other in files if not is_suite(other)})
        bare = Path(name).stem
        if bare in there and Path(name).suffix in (".toml", ".jmx"):
            raise UsageError(f"{what}={name}: this is a file name", f"give the name only: {what}={bare}")
        if Path(name).suffix in YAML:
            raise UsageError(f"{name}: {NO_YAML[0]}", NO_YAML[1])
        if Path(name).suffix == ".jmx":
            beside = Path(name).parent.glob("*.jmx") if Path(name).parent.is_dir() else ()
            near = did_you_mean(Path(name).name, [other.name for other in beside])
            raise UsageError(f"{name}: no such file", f"{near}give the path of a JMX or the name of a plan")
        if path.is_file() and "/" not in name:
            todo = f"rename {as_given(path)}: a name begins with a letter (A to Z) or a digit; then also . _ and -"
            raise UsageError(f"{what}={name}: not a name that can be used", todo)
        if what == "--plan":
            _refuse_no_plan(name)
        raise UsageError(
            f"{what}={name}: unknown", f"{did_you_mean(name, there)}there are: {', '.join(there) or 'none'}"
        )
    import tomllib  # here, because a table needs no TOML file

    try:
        data = tomllib.loads(regular(path).read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else error
        raise UsageError(f"{as_given(path)}: {reason}", "correct the file") from None
    except OSError as error:
        raise UsageError(f"{as_given(path)}: cannot be read ({error.strerror})", "check its permissions") from None
    _check_values(data, as_given(path))
    if data.get("format_version") != 1:
        raise UsageError(
            f"{as_given(path)}: format_version is {data.get('format_version')!r}",
            "this version of the harness reads 1",
        )
    return data


def is_suite(path: Path) -> bool:
    """Return whether a TOML file is a nightly suite; suites and profiles share a folder."""
    try:
        return bool(_SUITE_SIGN.search(regular(path).read_text(encoding="utf-8", errors="replace")))
    except OSError:
        return False


def _check_values(value: object, where: str, depth: int = 0) -> None:
    """Raise a UsageError for values that cannot be computed with: infinite or huge numbers, deep nesting."""
    if depth > _DEPTH_MAX:
        raise UsageError(f"{where}: nested too deeply", "correct the file")
    if isinstance(value, dict):
        for key, item in value.items():
            _check_values(item, f"{where} [{key}]" if isinstance(item, dict) else f"{where}: {key}", depth + 1)
    elif isinstance(value, list):
        for item in value:
            _check_values(item, where, depth + 1)
    elif isinstance(value, int) and abs(value) > _WHOLE_MAX:
        raise UsageError(f"{where}: a number of more than 19 digits", "give a smaller one")
    elif isinstance(value, float) and not math.isfinite(value):
        raise UsageError(f"{where} = {value}", "give a finite number")


def check_keys(table: Mapping[str, Any], known: Mapping[str, type | tuple[type, ...]], where: str) -> None:
    """Raise a UsageError for an unknown key or a value of the wrong type."""
    for key, value in table.items():
        if key not in known:
            there = f"{did_you_mean(key, known)}there are: {', '.join(sorted(known))}"
            raise UsageError(f"{where}: unknown key {key}", there)
        expected = known[key]
        kinds = expected if isinstance(expected, tuple) else (expected,)
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise UsageError(f"{where}: {key} = {value!r}", f"give {type_text(kinds)}")


def type_text(kinds: Collection[type], names: Mapping[type, str] = TYPE_NAMES) -> str:
    """Return which types a value may have, in words: a number or a text."""
    return " or ".join(name for kind, name in names.items() if kind in kinds and not (kind is int and float in kinds))


def within(value: float, least: float, most: float | None, where: str, key: str) -> None:
    """Raise a UsageError unless least <= value <= most; without `most` there is no upper limit."""
    if value < least or (most is not None and value > most) or value != value:
        limits = f"from {least:g} to {most:.12g}" if most is not None else f"of at least {least:g}"
        raise UsageError(f"{where}: {key} = {value:.12g}", f"give a number {limits}")


def texts(values: Iterable[object], where: str) -> tuple[str, ...]:
    """Return the values as a tuple of texts. UsageError, starting with `where`, for any other type."""
    checked = []
    for value in values:
        if not isinstance(value, str):
            raise UsageError(f"{where}: {value!r}", "give texts")
        checked.append(value)
    return tuple(checked)
