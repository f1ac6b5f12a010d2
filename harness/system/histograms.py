"""Class histograms of JVMs: what jcmd prints, histograms.tsv.gz, and the classes that grew during a load.

A histogram counts live objects: the JVM collects all garbage first.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from harness.base.units import MS_PER_S

FILE_NAME = "histograms.tsv.gz"
COLUMNS = ("moment", "process", "time_ms", "took_ms", "class", "instances", "bytes")
START, MIDDLE, END = "start", "middle", "end"
CLASSES_MOST = 10

# "   1:        123456       12345678  [B (java.base@17.0.9)"
_LINE = re.compile(r"\s*\d+:\s+(\d+)\s+(\d+)\s+(\S+)")
# The address in the name of a hidden class differs from JVM to JVM.
_ADDRESS = re.compile(r"[/+]0x[0-9a-f]+$")
_PRIMITIVES = {
    "B": "byte", "C": "char", "D": "double", "F": "float", "I": "int", "J": "long", "S": "short", "Z": "boolean",
}  # fmt: skip


class ClassSize(NamedTuple):
    """The live objects of one class."""

    instance_count: int
    size_bytes: int


_NO_OBJECTS = ClassSize(0, 0)


@dataclass
class HeapHistogram:
    """The live objects of one JVM at one moment of a load, by class.

    `time_ms` is the instant (epoch ms) at which it was requested; the JVM was paused for at most `took_ms`.
    """

    moment: str
    process: str
    time_ms: int
    took_ms: int
    classes: dict[str, ClassSize] = field(default_factory=dict)


@dataclass(frozen=True)
class HeapMoment:
    """The live objects of a JVM at a moment, `at_s` seconds after the load began; it was paused for `took_ms`."""

    moment: str
    at_s: float
    took_ms: int
    live_bytes: int


@dataclass(frozen=True)
class ClassGrowth:
    """A class whose objects grew: instances and bytes at each moment."""

    class_name: str
    instances: tuple[int, ...]
    size_bytes: tuple[int, ...]


@dataclass(frozen=True)
class LiveHeap:
    """The live objects of a JVM during a load, and the classes that grew most between the last two moments."""

    process: str
    moments: tuple[HeapMoment, ...]
    classes: tuple[ClassGrowth, ...]


def printed_classes(lines: Iterable[str]) -> dict[str, ClassSize]:
    """Return the live objects of each class in the output of `jcmd PID GC.class_histogram`."""
    sizes: dict[str, ClassSize] = {}
    for line in lines:
        if match := _LINE.match(line):
            name = _java_name(match[3])
            before = sizes.get(name, _NO_OBJECTS)
            sizes[name] = ClassSize(before.instance_count + int(match[1]), before.size_bytes + int(match[2]))
    return sizes


def _java_name(name: str) -> str:
    """Return a class as in source code: [B is byte[], and a hidden class has no address."""
    depth = len(name) - len(name.lstrip("["))
    element = _ADDRESS.sub("", name[depth:])
    if depth:
        element = _PRIMITIVES.get(element, element.removeprefix("L").removesuffix(";"))
    return element + "[]" * depth


def histogram_rows(histograms: Iterable[HeapHistogram]) -> Iterator[Sequence[str]]:
    """Yield the rows of histograms.tsv.gz, its header first."""
    yield COLUMNS
    for histogram in histograms:
        for name, size in histogram.classes.items():
            cells = (histogram.time_ms, histogram.took_ms, name, size.instance_count, size.size_bytes)
            yield (histogram.moment, histogram.process, *map(str, cells))


def read_histograms(lines: Iterable[str]) -> tuple[HeapHistogram, ...]:
    """Return the histograms in the lines of a histograms.tsv.gz, in its order; incomplete rows are skipped."""
    by_moment: dict[tuple[str, str], HeapHistogram] = {}
    for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
        try:
            moment, process = row["moment"], row["process"]
            size = ClassSize(int(row["instances"]), int(row["bytes"]))
            empty = HeapHistogram(moment, process, time_ms=int(row["time_ms"]), took_ms=int(row["took_ms"]))
        except (TypeError, ValueError, KeyError):
            continue
        by_moment.setdefault((moment, process), empty).classes[row["class"]] = size
    return tuple(by_moment.values())


def forced_ms(histograms: Iterable[HeapHistogram]) -> Mapping[str, tuple[int, ...]]:
    """Return when (epoch ms) each process collected all garbage because of a histogram."""
    times: dict[str, tuple[int, ...]] = {}
    for one in histograms:
        times[one.process] = (*times.get(one.process, ()), one.time_ms)
    return times


def live_heaps(histograms: Iterable[HeapHistogram], origin_s: int) -> tuple[LiveHeap, ...]:
    """Return the live objects of each process; `origin_s` (s since 1970) is the second in which the load began."""
    by_process: dict[str, list[HeapHistogram]] = {}
    for histogram in histograms:
        by_process.setdefault(histogram.process, []).append(histogram)
    return tuple(
        LiveHeap(process, tuple(_moment(histogram, origin_s) for histogram in same), _grown(same))
        for process, same in by_process.items()
    )


def _moment(of: HeapHistogram, origin_s: int) -> HeapMoment:
    live_bytes = sum(size.size_bytes for size in of.classes.values())
    return HeapMoment(of.moment, round(of.time_ms / MS_PER_S - origin_s, 1), of.took_ms, live_bytes)


def _grown(histograms: Sequence[HeapHistogram]) -> tuple[ClassGrowth, ...]:
    """Return the classes whose bytes grew most between the last two histograms: of three those after the warm-up."""
    if len(histograms) < 2:
        return ()
    before, after = histograms[-2].classes, histograms[-1].classes
    rises = {name: size.size_bytes - before.get(name, _NO_OBJECTS).size_bytes for name, size in after.items()}
    names = sorted((name for name, rise in rises.items() if rise > 0), key=lambda name: (-rises[name], name))
    return tuple(
        ClassGrowth(
            name,
            tuple(one.classes.get(name, _NO_OBJECTS).instance_count for one in histograms),
            tuple(one.classes.get(name, _NO_OBJECTS).size_bytes for one in histograms),
        )
        for name in names[:CLASSES_MOST]
    )
