"""Packs the rows of a long run's JTL while the run lasts, so that it does not fill the disk.

JMeter appends to samples.jtl. The rows that the harness has read are packed in steps:

1. They are appended to samples.jtl.gz as a gzip member, which is synced to the disk. The index does not cover it yet.
2. The index, samples.jtl.packed, is replaced: from now on readers take these rows from the packed file.
3. Their space in samples.jtl is freed by a hole. Offsets do not change, so JMeter continues to append.

At the end the rest is packed, and samples.jtl and the index are removed. A kill at any moment loses no row: the index
determines from which file each row is read. Before step 2 the packed rows are still in samples.jtl, and what a killed
step left behind the end of the packed file is cut off by the next one.

Secrets are masked before the rows are packed, since they cannot be masked afterwards.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
import threading
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from harness.base.log import Log
from harness.base.packed import Beginning, index_path, packed_path
from harness.base.secrets import masked_rows
from harness.base.spellings import Spellings
from harness.base.units import BYTES_PER_MB
from harness.plan.spec import RunSpec
from harness.run.record import PackedSamples

_PERIOD_S = 1.0
# Another process that follows the file reads each second, and may be late: rows are packed so many periods after they
# were read here.
_LATE_PERIODS = 3
_CHUNK_BYTES = 1024 * 1024
# Measured on rows like those of a KillBill plan: 13 ms of CPU per MB, to 23 %. Level 3 takes 1.6 times as long.
_LEVEL = 1
_GZIP = 31
_KEEP_SIZE, _PUNCH_HOLE = 1, 2
_PROBE = ".hole-check"
_PROBE_BYTES = 64 * 1024
_LEAST_PRIORITY = 19


class SamplesPacker:
    """Packs a JTL within the block, and what is left of it at the end; a JTL shorter than a step stays as it is.

    `read_bytes` returns how much of the file the harness has read, up to a line end. `problem` is why the rows of the
    rest are not packed; they are all there.
    """

    def __init__(self, jtl: Path, hidden: Iterable[str], step_bytes: int, read_bytes: Callable[[], int]) -> None:
        self.problem = ""
        self._jtl = jtl
        self._spellings = Spellings(hidden)
        self._step_bytes = step_bytes
        self._read_bytes = read_bytes
        self._beginning: Beginning | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="packs samples", daemon=True)

    @property
    def packed(self) -> PackedSamples | None:
        """How much is packed; None when nothing is."""
        found = self._beginning
        return PackedSamples(found.text_bytes, found.packed_bytes) if found else None

    def __enter__(self) -> SamplesPacker:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        if self._beginning and not self.problem:
            with self._noted():
                self._beginning = finish(self._jtl, self._beginning, self._spellings)

    def _watch(self) -> None:
        if sys.platform == "linux":  # the load generator has priority
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _LEAST_PRIORITY)
        read_bytes = deque([0] * _LATE_PERIODS, maxlen=_LATE_PERIODS)
        with self._noted():
            while not self._ended.wait(_PERIOD_S):
                to_bytes = read_bytes[0]
                read_bytes.append(self._read_bytes())
                if to_bytes - (self._beginning.text_bytes if self._beginning else 0) >= self._step_bytes:
                    self._beginning = pack(self._jtl, self._beginning, to_bytes, self._spellings)

    @contextlib.contextmanager
    def _noted(self) -> Iterator[None]:
        """Note a full disk or a removed folder; the run continues."""
        try:
            yield
        except OSError as error:
            self.problem = error.strerror or str(error)


@contextlib.contextmanager
def packing(spec: RunSpec, jtl: Path, read_bytes: Callable[[], int] | None, log: Log) -> Iterator[SamplesPacker | None]:
    """Yield what packs the rows of a long run while the block lasts; None for other runs, and where that cannot be.

    Without `read_bytes` the rows belong to a part of a run, and are not packed.
    """
    is_wanted = spec.is_long and spec.profile.pack_mb and read_bytes
    problem = why_not(jtl.parent) if is_wanted else ""
    if problem:
        log(f"the samples are not packed while the run lasts: {problem}")
    if not is_wanted or problem or read_bytes is None:
        yield None
        return
    with SamplesPacker(jtl, spec.hidden, spec.profile.pack_mb * BYTES_PER_MB, read_bytes) as packer:
        yield packer
    if packer.problem:
        log(f"the samples are not packed any more ({packer.problem}); none is lost")


def pack(jtl: Path, before: Beginning | None, to_bytes: int, spellings: Spellings) -> Beginning:
    """Pack the rows of a JTL up to an offset, a line end or the end of the file, after those that `before` covers.

    OSError when it fails; then `before` is still right.
    """
    from_bytes, packed_bytes = (before.text_bytes, before.packed_bytes) if before else (0, 0)
    packed = packed_path(jtl)
    with packed.open("r+b" if before else "wb", buffering=0) as out, jtl.open("rb") as rows:
        out.truncate(packed_bytes)  # what a step that failed left
        out.seek(packed_bytes)
        rows.seek(from_bytes)
        for data in _member(rows, to_bytes - from_bytes, spellings):
            _write_all(out, data)
            packed_bytes += len(data)
        os.fsync(out.fileno())
    after = Beginning(packed, packed_bytes, to_bytes)
    _write_index(jtl, after)
    free(jtl, to_bytes)
    return after


def finish(jtl: Path, before: Beginning, spellings: Spellings) -> Beginning:
    """Pack what is left of a JTL that grows no more, and remove it: its packed file has all rows."""
    after = pack(jtl, before, max(jtl.stat().st_size, before.text_bytes), spellings)
    jtl.unlink()
    _sync_folder(jtl.parent)
    index_path(jtl).unlink()
    return after


def why_not(folder: Path) -> str:
    """Return why parts of files in a folder cannot be freed; an empty text when they can."""
    if sys.platform != "linux":
        return "this operating system cannot free a part of a file"
    probe = folder / _PROBE
    try:
        probe.write_bytes(b"x" * _PROBE_BYTES)
        free(probe, _PROBE_BYTES)
    except OSError as error:
        return f"the file system cannot free a part of a file ({error.strerror})"
    finally:
        probe.unlink(missing_ok=True)
    return ""


def free(path: Path, to_bytes: int) -> None:
    """Free the space of a file's first bytes, which read as NUL afterwards; its size does not change (Linux)."""
    library = ctypes.CDLL(None, use_errno=True)
    library.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]
    handle = os.open(path, os.O_RDWR)
    try:
        if library.fallocate(handle, _KEEP_SIZE | _PUNCH_HOLE, 0, to_bytes):
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), str(path))
    finally:
        os.close(handle)


def _member(rows: BinaryIO, size_bytes: int, spellings: Spellings) -> Iterator[bytes]:
    """Yield the next bytes of the rows, masked, as one gzip member."""
    packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP)
    left_bytes = size_bytes
    while left_bytes and (data := rows.read(min(left_bytes, _CHUNK_BYTES))):
        if len(data) < left_bytes:
            data += rows.readline()  # whole lines, so that no secret is cut in two
        left_bytes -= len(data)
        yield packer.compress(masked_rows(data, spellings))
    yield packer.flush()


def _write_all(out: BinaryIO, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[out.write(view) :]


def _write_index(jtl: Path, beginning: Beginning) -> None:
    """Replace the index so that it survives a crash of the machine."""
    index = index_path(jtl)
    draft = index.with_name(f".{index.name}.new")
    with draft.open("w", encoding="utf-8") as out:
        out.write(beginning.to_json() + "\n")
        out.flush()
        os.fsync(out.fileno())
    draft.replace(index)
    _sync_folder(index.parent)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
