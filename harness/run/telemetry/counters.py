"""Reads the kernel's counters of this machine and of CPU quotas, from /proc and /sys of Linux."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from harness.run.telemetry.resources import RESOURCE_COLUMNS
from harness.run.telemetry.table import MACHINE_COLUMNS, QUOTA_COLUMNS

_SECTOR_BYTES = 512
_OPEN_FILES_LIMIT = "Max open files"
# Version 1 of cgroups reports this much and more for no limit.
_UNLIMITED_BYTES = 1 << 60
_KHZ_PER_MHZ = 1000
# Reading a frequency can take milliseconds, and machines have up to hundreds of cores.
_FREQUENCIES_MOST = 4
# Interfaces whose bytes another one counts, too, and the loopback.
_INNER_INTERFACES = ("lo", "veth", "docker", "br-", "virbr", "cni", "flannel", "cali", "ifb", "tun", "tap")
# Devices that are part of another one, or memory.
_INNER_DISKS = ("loop", "ram", "zram", "dm-", "md", "sr")


class _Periods(NamedTuple):
    """The periods of a CPU quota: those in which it was used up, and all. The largest is the most throttled one."""

    throttled_count: int
    all_count: int


class MachineCounters:
    """The machine's counters, as rates since the last call. `root` is the folder of proc/ and sys/."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._proc, self._sys = root / "proc", root / "sys"
        self._last: dict[str, float] = {}

    def cells(self, passed_s: float) -> tuple[str, ...]:
        """Return the values of MACHINE_COLUMNS; one that the system does not have is empty."""
        with suppress(ValueError, IndexError):  # another format than that of this kernel
            return self._cells(passed_s)
        return ("",) * len(MACHINE_COLUMNS)

    def _cells(self, passed_s: float) -> tuple[str, ...]:
        stat = dict(_lines(self._proc / "stat"))
        cells = dict.fromkeys(MACHINE_COLUMNS, "") | {
            "iowait_cores": self._rate("iowait", _iowait_s(stat.get("cpu", [])), passed_s, 3),
            "runnable_threads": stat.get("procs_running", [""])[0],
            "switches_per_s": self._rate("switches", _number(stat.get("ctxt", [])), passed_s),
            "cpu_mhz": self._mhz(),
        }
        transferred = _network_bytes(dict(_lines(self._proc / "net" / "dev"))) | self._disk_bytes()
        cells |= {f"{name}_bytes_per_s": self._rate(name, value, passed_s) for name, value in transferred.items()}
        return tuple(cells.values())

    def _rate(self, name: str, value: float | None, passed_s: float, decimals: int = 0) -> str:
        last = self._last.get(name)
        if value is None:
            return ""
        self._last[name] = value
        return "" if last is None else f"{max(0.0, (value - last) / passed_s):.{decimals}f}"

    def _disk_bytes(self) -> dict[str, float]:
        """Return the bytes that all disks have read and written since the machine's start; nothing without a disk."""
        disk_bytes = Counter[str]()
        for _, fields in _lines(self._proc / "diskstats"):
            # minor, name, reads, merged, sectors read, ms, writes, merged, sectors written
            name = fields[1] if len(fields) > 8 else ""
            if name and not name.startswith(_INNER_DISKS) and (self._sys / "block" / name).is_dir():
                disk_bytes.update(read=int(fields[4]) * _SECTOR_BYTES, written=int(fields[8]) * _SECTOR_BYTES)
        return dict(disk_bytes)

    def _mhz(self) -> str:
        frequencies_mhz = []
        for core in range(_FREQUENCIES_MOST):
            path = self._sys / "devices" / "system" / "cpu" / f"cpu{core}" / "cpufreq" / "scaling_cur_freq"
            with suppress(OSError, ValueError):
                frequencies_mhz.append(int(path.read_text(encoding="ascii")) / _KHZ_PER_MHZ)
        return f"{fmean(frequencies_mhz):.0f}" if frequencies_mhz else ""


class QuotaCounters:
    """The periods of the CPU quota of a process's cgroup, of version 1 or 2, and of the cgroups above it."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._proc, self._groups = root / "proc", root / "sys" / "fs" / "cgroup"
        self._files: dict[int, tuple[Path, ...]] = {}
        self._last: dict[tuple[int, Path], _Periods] = {}

    def cells(self, pid: int) -> tuple[str, ...]:
        """Return the values of QUOTA_COLUMNS: the periods since the last call; empty without a quota.

        They are those of the cgroup that was throttled most.
        """
        if pid not in self._files:
            files = (folder / "cpu.stat" for folder, _ in _groups_of(pid, self._proc, self._groups, "cpu"))
            self._files[pid] = tuple(dict.fromkeys(file for file in files if file.is_file()))
        most_periods = _Periods(0, 0)
        for file in self._files[pid]:
            counts = _periods(file)
            if counts is None:
                continue
            last = self._last.get((pid, file), counts)
            self._last[pid, file] = counts
            passed = _Periods(counts.throttled_count - last.throttled_count, counts.all_count - last.all_count)
            most_periods = max(most_periods, passed)
        if most_periods.all_count <= 0:
            return ("",) * len(QUOTA_COLUMNS)
        return (str(most_periods.all_count), str(most_periods.throttled_count))


def memory_limit_of(pid: int, proc: Path = Path("/proc"), groups: Path = Path("/sys/fs/cgroup")) -> int | None:
    """Return the least memory limit (bytes) of the process's cgroup, of version 1 or 2, and of those above it."""
    limits_bytes = []
    for folder, is_first_version in _groups_of(pid, proc, groups, "memory"):
        with suppress(OSError, ValueError):  # "max" is no limit
            name = "memory.limit_in_bytes" if is_first_version else "memory.max"
            limits_bytes.append(int((folder / name).read_text(encoding="ascii")))
    limit = min(limits_bytes, default=_UNLIMITED_BYTES)
    return limit if limit < _UNLIMITED_BYTES else None


def _groups_of(pid: int, proc: Path, groups: Path, controller: str) -> Iterator[tuple[Path, bool]]:
    """Yield the folder of a process's cgroup and of each one above it, and whether its version is 1.

    A container sees only some of them.
    """
    with suppress(OSError, ValueError):
        for line in (proc / str(pid) / "cgroup").read_text(errors="replace").splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers and controller not in controllers.split(","):
                continue
            group = Path(path.lstrip("/"))
            for mount in [controllers, controller] if controllers else ["", "unified"]:
                for folder in (group, *group.parents):
                    yield groups / mount / folder, bool(controllers)


def _periods(file: Path) -> _Periods | None:
    """Return the periods of a cgroup; None where it counts none."""
    counts = dict(_lines(file))
    try:
        return _Periods(int(counts["nr_throttled"][0]), int(counts["nr_periods"][0]))
    except (KeyError, ValueError, IndexError):
        return None


def _lines(file: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield the first word of each line, without its colon, and the other ones; nothing without the file."""
    with suppress(OSError):
        for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
            head, *fields = line.replace(":", ": ", 1).split() or [""]
            yield head.rstrip(":"), fields


def _number(fields: list[str]) -> float | None:
    return float(fields[0]) if fields else None


def _iowait_s(fields: list[str]) -> float | None:
    """Return the seconds that idle cores waited for disks, of the line `cpu`: user, nice, system, idle, iowait, …"""
    return int(fields[4]) / os.sysconf("SC_CLK_TCK") if len(fields) > 4 else None


def _network_bytes(interfaces: Mapping[str, list[str]]) -> dict[str, float]:
    """Return the bytes that outer interfaces have received and sent; nothing without one."""
    network_bytes = Counter[str]()
    for name, fields in interfaces.items():
        if len(fields) == 16 and not name.startswith(_INNER_INTERFACES):  # 8 counters of each direction
            network_bytes.update(received=int(fields[0]), sent=int(fields[8]))
    return dict(network_bytes)


class ResourceCounters:
    """What processes have open, and their limits. `root` is the folder of proc/ and sys/."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._proc, self._groups = root / "proc", root / "sys" / "fs" / "cgroup"

    def of_host(self, memory_bytes: int, folder: Path) -> tuple[str, ...]:
        """Return the values of RESOURCE_COLUMNS of the host: its memory, and the disk of a folder."""
        with suppress(OSError):
            disk = os.statvfs(folder)
            used = (disk.f_blocks - disk.f_bfree) * disk.f_frsize
            return ("", "", "", str(memory_bytes), str(used), str(used + disk.f_bavail * disk.f_frsize))
        return ("", "", "", str(memory_bytes), "", "")

    def cells(self, pids: Sequence[int]) -> tuple[str, ...]:
        """Return the values of RESOURCE_COLUMNS of a process with its descendants; empty where not known."""
        descriptors = [one for pid in pids if (one := self._descriptors(pid))]
        if not descriptors:
            return ("",) * len(RESOURCE_COLUMNS)
        limits = (self._open_files_limit(pids[0]), memory_limit_of(pids[0], self._proc, self._groups))
        shown = ["" if limit is None else str(limit) for limit in limits]
        # The limit is that of each process; a leak of one worker reaches it alone.
        open_files, sockets = max(map(len, descriptors)), sum(map(sum, descriptors))
        return (str(open_files), shown[0], str(sockets), shown[1], "", "")

    def _descriptors(self, pid: int) -> list[bool]:
        """Return whether each open descriptor of a process is a socket; nothing where it has ended."""
        are_sockets = []
        with suppress(OSError):
            for entry in (self._proc / str(pid) / "fd").iterdir():
                are_sockets.append(False)
                with suppress(OSError):  # closed meanwhile
                    are_sockets[-1] = str(entry.readlink()).startswith("socket:")
        return are_sockets

    def _open_files_limit(self, pid: int) -> int | None:
        with suppress(OSError, ValueError):
            for line in (self._proc / str(pid) / "limits").read_text(errors="replace").splitlines():
                if line.startswith(_OPEN_FILES_LIMIT):
                    return int(line.removeprefix(_OPEN_FILES_LIMIT).split()[0])
        return None
