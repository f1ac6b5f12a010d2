"""Counters of the machine and of CPU quotas, from a made /proc and /sys."""

import os
from typing import NamedTuple

import pytest

from harness.metrics.interval import IntervalMs
from harness.run.telemetry.counters import MachineCounters, QuotaCounters, ResourceCounters
from harness.run.telemetry.resources import RESOURCE_COLUMNS
from harness.run.telemetry.table import COLUMNS, MACHINE_COLUMNS, read_telemetry
from harness.run.telemetry.writer import TelemetryWriter

TICKS = os.sysconf("SC_CLK_TCK")
NET_HEAD = (
    "Inter-|   Receive                            |  Transmit\n face |bytes    packets errs|bytes    packets errs\n"
)


def put(root, name, text):
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def interface(name, received, sent):
    return f"{name:>6}: {received} 9 0 0 0 0 0 0 {sent} 8 0 0 0 0 0 0\n"


class Counts(NamedTuple):
    """What a machine has counted since its start, and `running`, its runnable threads; disks count sectors."""

    running: int
    iowait_ticks: int = 0
    switches: int = 0
    received_bytes: int = 0
    sent_bytes: int = 0
    read_sectors: int = 0
    written_sectors: int = 0


def machine(root, counts):
    """Write the counters of a machine with one disk of two partitions and one network card."""
    times = f"500 0 500 9000 {counts.iowait_ticks} 0 0 0 0 0"
    stat = f"ctxt {counts.switches}\nbtime 1\nprocs_running {counts.running}\nprocs_blocked 0\n"
    put(root, "proc/stat", f"cpu  {times}\ncpu0 {times}\n{stat}")
    card = interface("eth0", counts.received_bytes, counts.sent_bytes)
    others = interface("lo", 10**9, 10**9) + interface("docker0", 5000, 5000)
    put(root, "proc/net/dev", NET_HEAD + card + others)
    disk = f"5 0 {counts.read_sectors} 3 6 0 {counts.written_sectors} 4 0 0 0"
    put(root, "proc/diskstats", f"7 0 loop0 9 9 9 9 9 9 9 9\n8 0 sda {disk}\n8 1 sda1 {disk}\n")
    (root / "sys/block/sda").mkdir(parents=True, exist_ok=True)
    (root / "sys/block/loop0").mkdir(parents=True, exist_ok=True)


def cells_of(counters, passed_s):
    return dict(zip(MACHINE_COLUMNS, counters.cells(passed_s), strict=True))


def test_rates_are_differences_per_second_and_loopback_and_partitions_are_not_counted(tmp_path):
    before = Counts(3, 100, switches=1000, received_bytes=10_000, sent_bytes=500, read_sectors=200, written_sectors=80)
    machine(tmp_path, before)
    counters = MachineCounters(tmp_path)
    assert set(counters.cells(1.0)) == {"", "3"}  # the first call has no rates yet
    machine(tmp_path, Counts(5, 100 + TICKS, 5000, 30_000, 1500, 1200, 480))
    assert cells_of(counters, 2.0) == {
        "iowait_cores": "0.500",  # one second of two
        "runnable_threads": "5",
        "switches_per_s": "2000",
        "received_bytes_per_s": "10000",
        "sent_bytes_per_s": "500",
        "read_bytes_per_s": "256000",  # 1000 sectors of 512 bytes in two seconds
        "written_bytes_per_s": "102400",
        "cpu_mhz": "",
    }


def test_the_frequency_is_that_of_the_first_cores(tmp_path):
    for core, khz in enumerate((2_000_000, 3_000_000)):
        put(tmp_path, f"sys/devices/system/cpu/cpu{core}/cpufreq/scaling_cur_freq", f"{khz}\n")
    assert cells_of(MachineCounters(tmp_path), 1.0)["cpu_mhz"] == "2500"


@pytest.mark.parametrize("stat", [None, "", "cpu a b c d e f\n", "cpu 1 2\nctxt\nprocs_running\n", "\x00\x00"])
def test_a_system_without_counters_or_with_others_has_empty_cells(tmp_path, stat):
    if stat is not None:
        put(tmp_path, "proc/stat", stat)
        put(tmp_path, "proc/diskstats", "8 0\n")
    for _ in range(2):
        assert set(MachineCounters(tmp_path).cells(1.0)) == {""}


V1 = ("4:memory:/pod\n3:cpu,cpuacct:/pod/web\n0::/\n", "sys/fs/cgroup/cpu,cpuacct/pod/web/cpu.stat")
V1_ALONE = ("1:cpu:/\n", "sys/fs/cgroup/cpu/cpu.stat")
V2 = ("0::/pod/web\n", "sys/fs/cgroup/pod/web/cpu.stat")
# The quota is on the pod.
V2_ABOVE = ("0::/pod/web\n", "sys/fs/cgroup/pod/cpu.stat")
# A container whose path is not below its own mount.
V1_CONTAINER = ("3:cpu,cpuacct:/docker/0a1b\n", "sys/fs/cgroup/cpu,cpuacct/cpu.stat")


@pytest.mark.parametrize(("groups", "file"), [V1, V1_ALONE, V2, V2_ABOVE, V1_CONTAINER])
def test_throttled_periods_are_those_of_the_cgroup_with_a_quota(tmp_path, groups, file):
    put(tmp_path, "proc/42/cgroup", groups)
    put(tmp_path, file, "nr_periods 100\nnr_throttled 40\nthrottled_time 9000\n")
    counters = QuotaCounters(tmp_path)
    assert counters.cells(42) == ("", "")
    put(tmp_path, file, "usage_usec 1\nnr_periods 110\nnr_throttled 44\nthrottled_usec 9\n")
    assert counters.cells(42) == ("10", "4")
    assert counters.cells(42) == ("", "")


def test_of_several_quotas_the_one_that_throttled_counts(tmp_path):
    put(tmp_path, "proc/42/cgroup", "0::/pod/web\n")
    for name, periods, throttled in (("pod/web", 100, 0), ("pod", 50, 7)):
        put(tmp_path, f"sys/fs/cgroup/{name}/cpu.stat", f"nr_periods {periods}\nnr_throttled {throttled}\n")
    counters = QuotaCounters(tmp_path)
    counters.cells(42)
    put(tmp_path, "sys/fs/cgroup/pod/web/cpu.stat", "nr_periods 110\nnr_throttled 0\n")
    put(tmp_path, "sys/fs/cgroup/pod/cpu.stat", "nr_periods 60\nnr_throttled 10\n")
    assert counters.cells(42) == ("10", "3")


@pytest.mark.parametrize("text", ["nr_periods x\nnr_throttled 1\n", "nr_periods\n", "usage_usec 5\n", ""])
def test_a_cgroup_without_a_quota_or_with_odd_counts_has_empty_cells(tmp_path, text):
    put(tmp_path, "proc/42/cgroup", "0::/\n")
    put(tmp_path, "sys/fs/cgroup/cpu.stat", text)
    counters = QuotaCounters(tmp_path)
    assert (counters.cells(42), counters.cells(42), counters.cells(43)) == (("", ""),) * 3


def test_telemetry_has_the_machine_in_the_rows_of_the_host_and_the_quota_in_those_of_processes(tmp_path):
    put(tmp_path, f"proc/{os.getpid()}/cgroup", "0::/\n")
    put(tmp_path, "sys/fs/cgroup/cpu.stat", "nr_periods 0\nnr_throttled 0\n")
    machine(tmp_path, Counts(1))
    writer = TelemetryWriter(tmp_path / "telemetry.csv", {}, tmp_path)
    rows = []
    for second in range(1, 4):
        machine(tmp_path, Counts(second, switches=100 * second, sent_bytes=2**20 * second))
        put(tmp_path, "sys/fs/cgroup/cpu.stat", f"nr_periods {10 * second}\nnr_throttled {3 * second}\n")
        rows += [",".join(map(str, (1000 * second, *row[1:]))) for row in writer.rows(1.0)]
    with (tmp_path / "telemetry.csv").open("w") as out:
        out.write("\n".join([",".join(COLUMNS), *rows]))
    lines = (tmp_path / "telemetry.csv").read_text().splitlines()
    found = read_telemetry(lines, IntervalMs(0, 9000), IntervalMs(0, 9000))
    figures = {figure.figure: (figure.mean, figure.minimum, figure.maximum) for figure in found.machines}
    assert {figure.process for figure in found.machines} == {"host"}
    assert figures["runnable_threads"] == (2, 1, 3)
    assert figures["switches_per_s"] == (100, 100, 100)
    assert figures["sent_bytes_per_s"] == (2**20, 2**20, 2**20)
    assert "cpu_mhz" not in figures
    ratios = {usage.process: usage.throttled_ratio for usage in found.usages}
    assert ratios == {**dict.fromkeys(ratios), "harness": 0.3}


def process(root, pid, files, sockets, cgroup="0::/shop\n"):
    """Write a process with open files and sockets."""
    folder = root / "proc" / str(pid) / "fd"
    folder.mkdir(parents=True)
    for number in range(files + sockets):
        (folder / str(number)).symlink_to("/dev/null" if number < files else f"socket:[{number}]")
    put(
        root,
        f"proc/{pid}/limits",
        "Limit       Soft Limit   Hard Limit   Units\nMax open files   1024   4096   files\n",
    )
    put(root, f"proc/{pid}/cgroup", cgroup)


def test_descriptors_are_those_of_the_member_with_most_and_sockets_those_of_all(tmp_path):
    process(tmp_path, 1, 5, 2)
    process(tmp_path, 2, 3, 6)
    put(tmp_path, "sys/fs/cgroup/shop/memory.max", "max\n")
    put(tmp_path, "sys/fs/cgroup/memory.max", "5000000\n")
    cells = dict(zip(RESOURCE_COLUMNS, ResourceCounters(tmp_path).cells([1, 2, 4711]), strict=True))
    assert cells == {
        "open_files": "9",
        "open_files_limit": "1024",
        "sockets": "8",
        "memory_limit_bytes": "5000000",
        "disk_used_bytes": "",
        "disk_size_bytes": "",
    }


def test_a_process_without_limits_or_that_ended_has_empty_cells(tmp_path):
    process(tmp_path, 1, 1, 0, cgroup="3:cpu:/shop\n2:memory:/shop\n")
    put(tmp_path, "proc/1/limits", "Max open files   unlimited   unlimited   files\n")
    put(tmp_path, "sys/fs/cgroup/memory/shop/memory.limit_in_bytes", "9223372036854771712\n")
    assert ResourceCounters(tmp_path).cells([1]) == ("1", "", "0", "", "", "")
    assert set(ResourceCounters(tmp_path).cells([4711])) == {""}


def test_the_host_has_its_memory_and_the_disk_of_the_folder(tmp_path):
    *others, memory, used, size = ResourceCounters(tmp_path).of_host(8_000, tmp_path)
    assert (others, memory) == (["", "", ""], "8000")
    assert 0 < int(used) <= int(size)
    assert ResourceCounters(tmp_path).of_host(8_000, tmp_path / "gone")[3:] == ("8000", "", "")
