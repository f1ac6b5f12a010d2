"""Packs what the machine of a part needs: tool and JMeter, which are stored there by their stamps, and the project."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from importlib import metadata
from pathlib import Path

from harness import __version__
from harness.base.install.plugins import lock_file
from harness.base.once import stamp_of
from harness.base.project import BUILD, FILE_NAME, NAME, PACKAGE, SHIPPED
from harness.plan.jmx.data_files import data_files
from harness.run.jmeter.process import JMeterHome
from harness.run.request import Request

# What `lth run --part` imports; psutil is for any Python of the same system and processor.
_PACKAGES = ("defusedxml", "Jinja2", "markdown-it-py", "MarkupSafe", "mdurl", "psutil", "Pygments", "rich")
_LEFT_OUT = ("__pycache__", "shipped")
_STAMP_DIGITS = 16
Files = Mapping[str, Path | bytes]  # by the name in the archive


def folders(jmeter: JMeterHome) -> dict[str, Files]:
    """Return the folders that a machine keeps for later runs, with their files."""
    cache = f"cache/{NAME}/{__version__}"
    tool = {
        **_under("harness", PACKAGE),
        **_under("harness/shipped/jmeter", SHIPPED / "jmeter"),
        **dict(_packages()),
        **_under(f"{cache}/{jmeter.agent.parent.name}", jmeter.agent.parent),
        **(_under(f"{cache}/{jmeter.sampler.name}", jmeter.sampler) if jmeter.sampler else {}),
    }
    for folder in filter(None, [jmeter.plugin_folder]):
        tool |= _under(f"{cache}/{folder.name}", folder)
        tool |= _under(f"{cache}/trusted/{folder.name}", BUILD / "trusted" / folder.name)
    home = {name: path for name, path in _under("", jmeter.path).items() if not name.startswith("class-data/")}
    return {"tool": tool, "jmeter": home}


def stamp(files: Files) -> str:
    """Return the stamp of a folder: a hash of names and contents."""
    return stamp_of([path for _, path in sorted(files.items()) if isinstance(path, Path)], *sorted(files))[
        :_STAMP_DIGITS
    ]


def project(request: Request, target: str) -> Files:
    """Return the files of a project with the request's plan, its data and profile, which may load the target."""
    plan, profile = request.plan, request.profile
    folder = plan.jmx_path.parent
    beside = (*data_files(plan.jmx_path), *plan.own_files, *plan.plugin_files)
    files: dict[str, Path | bytes] = {
        FILE_NAME: f"format_version = 1\n[targets]\nrun = {json.dumps(target)}\n".encode(),
        f"plans/{plan.name}.toml": folder / f"{plan.name}.toml",
        f"plans/{plan.jmx_path.name}": plan.jmx_path,
        **{f"plans/{name}": folder / name for name in beside},
    }
    if plan.plugin_list.coordinates and (lock := lock_file(plan.plugin_list)):
        files[f"plans/{plan.name}.lock"] = lock
    return files | ({f"env/{profile.name}.toml": profile.path} if profile.path else {})


def archive(files: Files) -> bytes:
    """Return the files as a compressed archive."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", compresslevel=1) as packed:
        for name, source in files.items():
            if isinstance(source, Path):
                packed.add(source.resolve(), name, recursive=False)
            else:
                info = tarfile.TarInfo(name)
                info.size = len(source)
                packed.addfile(info, io.BytesIO(source))
    return out.getvalue()


def _under(name: str, folder: Path) -> dict[str, Path]:
    paths = (path for path in folder.rglob("*") if path.is_file() and not set(_LEFT_OUT) & set(path.parts))
    return {f"{name}/{path.relative_to(folder).as_posix()}".lstrip("/"): path for path in paths}


def _packages() -> Iterator[tuple[str, Path]]:
    for package in _PACKAGES:
        files: Iterable[metadata.PackagePath] = metadata.files(package) or ()
        for file in files:
            path = Path(str(file.locate()))
            if path.is_file() and ".." not in file.parts and "__pycache__" not in file.parts:
                yield str(file), path
