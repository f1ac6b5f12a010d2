"""Writes the generated JTL files in build/bench once, and verifies them before each use, which warms the page cache."""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import dataclass
from pathlib import Path

import numpy

from bench.readers import generate, truth
from bench.readers.generate import GeneratedJtl
from bench.readers.truth import Truth
from harness.base.errors import UsageError
from harness.base.log import Log
from harness.base.once import stamp_of

_PROGRESS_PERIOD_S = 2.0


@dataclass(frozen=True)
class BenchFile:
    """A generated JTL file, its size and its true contents."""

    path: Path
    size_bytes: int
    row_count: int
    truth: Truth


def ensure(folder: Path, seed: int, row_count: int, log: Log) -> BenchFile:
    """Return the file with this seed and size; it is written unless it exists and its generator has not changed.

    UsageError when it cannot be written.
    """
    path = folder / f"samples-{seed}-{row_count}.jtl"
    notes = path.with_suffix(".json")
    # Another version of NumPy may generate other numbers from the same seed.
    sources = [Path(module.__file__ or "") for module in (generate, truth)]
    stamp = stamp_of(sources, str(seed), str(row_count), numpy.__version__)
    try:
        known = json.loads(notes.read_text(encoding="utf-8"))
        if known["stamp"] == stamp and known["sha256"] == _sha256(path):
            return BenchFile(path, path.stat().st_size, row_count, Truth.from_json(known["labels"]))
    except (OSError, ValueError, KeyError):
        pass  # missing or damaged: it is written below
    try:
        folder.mkdir(parents=True, exist_ok=True)
        notes.unlink(missing_ok=True)
        jtl = GeneratedJtl(seed, row_count)
        sha256 = _write(path, jtl, row_count, log)
        notes.write_text(json.dumps({"stamp": stamp, "sha256": sha256, "labels": jtl.truth().to_json()}))
    except OSError as error:
        raise UsageError(f"{path}: cannot be written ({error.strerror})", "free some space") from None
    return BenchFile(path, path.stat().st_size, row_count, jtl.truth())


def _write(path: Path, jtl: GeneratedJtl, row_count: int, log: Log) -> str:
    digest = hashlib.sha256()
    started_s = time.monotonic()
    next_log_s = started_s + _PROGRESS_PERIOD_S
    with path.open("wb") as out:
        for block in jtl.blocks():
            out.write(block)
            digest.update(block)
            if time.monotonic() > next_log_s:
                next_log_s += _PROGRESS_PERIOD_S
                rows = sum(label.sample_count for label in jtl.truth().labels)
                log(f"writing {path.name}: {rows:,} of {row_count:,} rows")
    return digest.hexdigest()


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
