"""Installs Python packages into .venv and into environments of the benchmarks, with uv where it is present, else pip.

This module runs before .venv exists: standard library only.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from harness.base.errors import StartError, UsageError
from harness.base.install import setup_step
from harness.base.install.setup_step import SetupStep
from harness.base.once import has_stamp, lock
from harness.base.project import BUILD, CHECKOUT, NAME, TOP

VENV = TOP / ".venv"
PYTHON_LEAST = (3, 11)
_REQUIREMENTS = TOP / "requirements.txt"
_TODO = "check the network or the package index of pip"
# Their tests are 22 MB.
_WITH_TESTS = ("pandas", "numpy")
# The files requirements/<name>.txt of packages that only some commands need, and what they are for.
_OPTIONAL = {
    "zstd": "zstandard, for .zst files and S3",
    "otlp": "OpenTelemetry, for OTLP",
    "parquet": "pyarrow, for Parquet files",
    "openapi": "jsonschema, PyYAML and rstr, for OpenAPI files",
    "record": "Playwright, for lth record",
    "mcp": "the SDK of the Model Context Protocol, for lth mcp",
}
# A package with its version and its hashes, which are on the next lines.
_PIN = re.compile(r"^([\w.-]+)==(\S+)(?:\s+\\\n\s+--hash=\S+)*", re.MULTILINE)
# Most of the download. Nothing that prepares a system imports them, so it is prepared while they are installed.
_LARGE = ("boto3", "botocore", "numpy", "pandas")
# The first pip that installs into an environment without a pip of its own: its option --python.
_PIP_LEAST = (22, 3)


def check_python() -> None:
    """Raise a UsageError when this Python is too old, or when this user may not run the Python of .venv."""
    if sys.version_info < PYTHON_LEAST:
        wanted = ".".join(map(str, PYTHON_LEAST))
        raise UsageError(
            f"Python {sys.version.split()[0]} is too old", f"install Python {wanted} or newer (python{wanted}, -venv)"
        )
    python = VENV / "bin" / "python"
    try:
        is_closed = python.exists() and not os.access(python, os.X_OK)
    except PermissionError:  # its base Python is in another user's folder
        is_closed = True
    if is_closed:
        todo = "make it readable, or remove .venv and run lth setup as this user"
        raise UsageError(f"{VENV}: its Python {os.path.realpath(python)} may not be read by this user", todo)


def has_venv() -> bool:
    """Return whether .venv was ever completed; its requirements may have changed since then."""
    return _stamp_file(VENV, _REQUIREMENTS).is_file()


def pinned() -> dict[str, str]:
    """Return the version of each package that the tool needs, optional ones excluded."""
    if CHECKOUT:
        return {pin[1]: pin[2] for pin in _PIN.finditer(_REQUIREMENTS.read_text())}
    needed = importlib.metadata.requires(NAME) or []
    return {pin[1]: pin[2] for pin in map(_PIN.match, needed) if pin and "extra ==" not in pin.string}


def ensure_venv(*, tests: bool) -> Path:
    """Return the Python of .venv; build or update it first when the requirements have changed."""
    return _ensure_packages(VENV, [_REQUIREMENTS, *(map(_file, (*_OPTIONAL, "dev")) if tests else [])])


def ensure_small_packages() -> Path:
    """Return the Python of .venv with all packages but the large ones; `ensure_venv` adds these.

    That is enough to prepare a system. An environment that is not one of these two is replaced.
    """
    python, wanted = VENV / "bin" / "python", _REQUIREMENTS.read_text()
    with lock(BUILD / "venv.lock", VENV.name, setup_step.log):
        stamps = (_begun_file(VENV), _stamp_file(VENV, _REQUIREMENTS))
        if not (python.exists() and any(has_stamp(file, wanted) for file in stamps)):
            with (
                setup_step.step("small Python packages into .venv", BUILD / "venv-small.log") as step,
                tempfile.NamedTemporaryFile("w", suffix=".txt") as small,  # pip reads hashes in files only
            ):
                small.write("\n".join(small_packages(_REQUIREMENTS)))
                small.flush()
                _install(VENV, ["--no-deps", "-r", small.name], is_new=True, step=step)
            _begun_file(VENV).write_text(wanted)
    return python


def ensure_zstandard() -> None:
    """Install zstandard into .venv unless it is there: only .zst files and S3 need it, and it has 24 MB."""
    _ensure_optional("zstandard", "zstd")


def ensure_opentelemetry() -> None:
    """Install OpenTelemetry into .venv unless it is there: only --otlp=… needs it."""
    _ensure_optional("opentelemetry", "otlp")


def ensure_pyarrow() -> None:
    """Install pyarrow into .venv unless it is there: only Parquet files need it, and it has 150 MB."""
    _ensure_optional("pyarrow", "parquet")


def ensure_openapi() -> None:
    """Install jsonschema, PyYAML and rstr into .venv unless they are there: only OpenAPI files need them."""
    _ensure_optional("rstr", "openapi")


def ensure_playwright() -> None:
    """Install Playwright into .venv unless it is there: only lth record needs it."""
    _ensure_optional("playwright", "record")


def ensure_mcp() -> None:
    """Install the SDK of the Model Context Protocol into .venv unless it is there: only lth mcp needs it."""
    _ensure_optional("mcp", "mcp")


def ensure_optional_packages() -> None:
    """Install all optional packages that .venv lacks; this process may be another Python."""
    for name in _OPTIONAL:
        if not is_installed(_file(name), VENV):
            _install_optional(name)


def _ensure_optional(module: str, name: str) -> None:
    """Install the packages of requirements/<name>.txt unless the module can be found."""
    if importlib.util.find_spec(module) is None:
        if CHECKOUT is None:
            todo = f"pipx inject {NAME} '{NAME}[{name}]', or pip install '{NAME}[{name}]'"
            raise UsageError(f"{_OPTIONAL[name]}: not installed", todo)
        _install_optional(name)
        importlib.invalidate_caches()


def _install_optional(name: str) -> None:
    with (
        lock(BUILD / "venv.lock", VENV.name, setup_step.log),
        setup_step.step(_OPTIONAL[name], BUILD / f"{name}.log") as step,
    ):
        _install(VENV, _options([_file(name)]), is_new=False, step=step)


def ensure_bench_venv() -> Path:
    """Return the Python of a separate environment with the JTL readers that the benchmark compares ours with."""
    return _ensure_packages(BUILD / "bench-venv", [_file("bench")])


def ensure_otava_venv() -> Path:
    """Return the Python of a separate environment with Apache Otava, which checks our change points."""
    return _ensure_packages(BUILD / "otava-venv", [_file("otava")])


def _ensure_packages(venv: Path, files: Sequence[Path]) -> Path:
    """Return the Python of an environment with all the requirements; another version in the first file rebuilds it."""
    python = venv / "bin" / "python"
    stamps = {path: path.read_text() for path in files}  # a copy is compared faster than a hash

    def missing() -> list[Path]:
        if not python.exists():  # also when its base Python is gone
            return list(files)
        return [path for path, stamp in stamps.items() if not has_stamp(_stamp_file(venv, path), stamp)]

    if not missing():
        return python
    name = venv.name.removeprefix(".")
    with lock(BUILD / f"{name}.lock", venv.name, setup_step.log):
        wanted = [path for path in missing() if not python.exists() or not is_installed(path, venv)]
        if wanted:
            # An installation that was interrupted begins anew: only a complete first part is used again.
            has_begun = python.exists() and has_stamp(_begun_file(venv), stamps[files[0]])
            is_new = files[0] in wanted and not has_begun
            if has_begun:
                _begun_file(venv).unlink()
            with setup_step.step(f"Python packages into {venv.relative_to(TOP)}", BUILD / f"{name}.log") as step:
                _install(venv, _options(files if is_new else wanted), is_new=is_new, step=step)
                _remove_tests(venv)
        for path in files:
            _stamp_file(venv, path).write_text(stamps[path])
    return python


def _install(venv: Path, packages: Sequence[str], *, is_new: bool, step: SetupStep) -> None:
    """Install packages, which are arguments of pip, into a new environment when `is_new`.

    uv does not read the settings of pip, such as a mirror. Where it fails, pip does everything again.
    """
    if shutil.which("uv"):
        try:
            _install_with_uv(venv, packages, is_new=is_new, step=step)
            return
        except StartError:
            setup_step.log(f"{step.what}: uv failed, pip is used instead")
    python = str(venv / "bin" / "python")
    pip = _pip_for(python)
    if is_new:
        bare = [] if pip[0] == python else ["--without-pip"]  # installing one takes seconds
        command = [_base(), "-m", "venv", *bare, "--clear", str(venv)]
        setup_step.run(command, step, TOP, "install python3-venv (ensurepip)")
    elif pip[0] == python and not _has_pip(venv):
        setup_step.run([python, "-m", "ensurepip"], step, TOP, "install python3-venv (ensurepip)")
    # Modules are compiled when they are first imported: compiling all of them takes longer than the installation.
    options = ["--require-hashes", "--no-compile", "--progress-bar", "off", "--disable-pip-version-check"]
    setup_step.run([*pip, "install", *options, *packages], step, TOP, _TODO)


def _pip_for(python: str) -> list[str]:
    """Return the command of the pip that installs into the environment of `python`: that of this Python, or its own.

    A Python of an environment, and one with an old pip or none, leaves it to that of the environment.
    """
    try:
        version = tuple(map(int, importlib.metadata.version("pip").split(".")[:2]))
    except (importlib.metadata.PackageNotFoundError, ValueError):
        version = (0,)
    is_usable = sys.prefix == sys.base_prefix and version >= _PIP_LEAST
    return [sys.executable, "-m", "pip", "--python", python] if is_usable else [python, "-m", "pip"]


def _install_with_uv(venv: Path, packages: Sequence[str], *, is_new: bool, step: SetupStep) -> None:
    if is_new:
        shutil.rmtree(venv, ignore_errors=True)
        setup_step.run(["uv", "venv", "--python", _base(), str(venv)], step, TOP, _TODO)
    install = ["uv", "pip", "install", "--python", str(venv / "bin" / "python")]
    setup_step.run([*install, "--require-hashes", *packages], step, TOP, _TODO)


def _file(name: str) -> Path:
    return TOP / "requirements" / f"{name}.txt"


def _options(files: Sequence[Path]) -> list[str]:
    return [argument for path in files for argument in ("-r", str(path))]


def small_packages(requirements: Path) -> list[str]:
    """Return the packages of a file of requirements without the large ones, as its lines: pins with their hashes."""
    return [pin[0] for pin in _PIN.finditer(requirements.read_text()) if pin[1] not in _LARGE]


def _base() -> str:
    """Return the Python that .venv is made of; it stays when .venv is cleared."""
    return str(getattr(sys, "_base_executable", sys.executable))


def is_installed(requirements: Path, venv: Path) -> bool:
    """Return whether an environment has each pinned version of a file of requirements."""
    names = {f"{name}-{version}" for name, version in _PIN.findall(requirements.read_text())}
    found = {path.name.removesuffix(".dist-info") for path in venv.glob("lib/python*/site-packages/*.dist-info")}
    wanted, present = ({re.sub("[-_.]", "", name).lower() for name in some} for some in (names, found))
    return wanted <= present


def _remove_tests(venv: Path) -> None:
    for package in _WITH_TESTS:
        for folder in [*venv.glob(f"lib/python*/site-packages/{package}/**/tests")]:
            shutil.rmtree(folder, ignore_errors=True)


def _stamp_file(venv: Path, requirements: Path) -> Path:
    return venv / f".installed-{requirements.name}"


def _begun_file(venv: Path) -> Path:
    """Return the file with the requirements of which only the small packages are installed."""
    return venv / ".begun-requirements.txt"


def _has_pip(venv: Path) -> bool:
    return any(venv.glob("lib/python*/site-packages/pip"))
