"""Runs a system's preparation steps once per machine; each has a stamp, the hash of everything it was made from."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.base import process as child
from harness.base.errors import UsageError
from harness.base.install import integrity
from harness.base.log import Log
from harness.base.once import has_stamp, lock, stamp_of
from harness.base.writable import writing_into
from harness.system.system import Context, Manifest, Prepare, applies, render, render_argv


@dataclass(frozen=True)
class _Step:
    name: str
    argv: tuple[str, ...]
    creates: tuple[Path, ...]
    stamp_file: Path
    stamp: str

    @property
    def is_done(self) -> bool:
        return has_stamp(self.stamp_file, self.stamp) and all(path.exists() for path in self.creates)


def prepare(manifest: Manifest, context: Context, environment: Mapping[str, str], artifacts: Path, log: Log) -> None:
    """Run the steps that are not done yet; a second harness waits for the first one."""
    if all(step.is_done for step in _steps(manifest, context, artifacts)):
        integrity.check(artifacts, manifest.folder / integrity.LOCK_NAME)
        return
    with writing_into(artifacts):
        artifacts.mkdir(parents=True, exist_ok=True)
    with lock(artifacts.parent / f"{manifest.name}.lock", manifest.name, log):
        # A generator, because an input of one step may be created by an earlier one.
        for step in _steps(manifest, context, artifacts):
            if not step.is_done:
                log_path = artifacts.parent / f"{manifest.name}-{step.name}.log".replace(" ", "-")
                _run(step, manifest, environment, log_path, log)


def _steps(manifest: Manifest, context: Context, artifacts: Path) -> Iterator[_Step]:
    for spec in manifest.prepare:
        where = f"system {manifest.name}, prepare {spec.name}"
        if applies(spec.when, context, where):
            argv = render_argv(spec.argv, context, where)
            yield _Step(
                name=spec.name,
                argv=argv,
                creates=tuple(Path(render(path, context, where)) for path in spec.creates),
                stamp_file=artifacts / f".stamp-{spec.name}",
                stamp=_stamp(spec, argv, [Path(render(path, context, where)) for path in spec.inputs], where),
            )


def _stamp(spec: Prepare, argv: tuple[str, ...], inputs: list[Path], where: str) -> str:
    try:
        return stamp_of(inputs, *argv, *spec.creates)
    except OSError as error:
        what = f"{where}: input {error.filename} cannot be read ({error.strerror})"
        raise UsageError(what, "correct inputs") from None


def _run(step: _Step, manifest: Manifest, environment: Mapping[str, str], log_path: Path, log: Log) -> None:
    log(f"{manifest.name}: {step.name}, one-time preparation (log: {log_path})")
    started_s = time.monotonic()
    step.stamp_file.unlink(missing_ok=True)
    for path in step.creates:  # files of an older version must not mix with new ones
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    child.run_or_fail(child.Launch(f"{manifest.name}: {step.name}", step.argv, manifest.folder, environment, log_path))
    integrity.check(step.stamp_file.parent, manifest.folder / integrity.LOCK_NAME)
    step.stamp_file.write_text(step.stamp)
    size = sum(map(_bytes_of, step.creates))
    log(f"{manifest.name}: {step.name} done in {time.monotonic() - started_s:.1f} s, {size / 1e6:.1f} MB")


def _bytes_of(path: Path) -> int:
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.lstat().st_size for file in files if not file.is_dir())
