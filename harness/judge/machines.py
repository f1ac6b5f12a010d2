"""Evidence of load generators and of the machines of a run: the values for the texts of warnings about them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from harness.base import units
from harness.judge.evidence import Evidence
from harness.metrics.gaps import Gap
from harness.run.telemetry.processes import GENERATOR, GENERATOR_PREFIX, HARNESS, HOST, STOLEN, process_at

if TYPE_CHECKING:
    from harness.run.record import GeneratorRecord
    from harness.run.telemetry.table import ProcessStop

GENERATOR_CPU_RATIO = 0.80
# A stop of the load generator explains a gap of which it is more than this share.
_STOPPED_RATIO = 0.5


def driven(evidence: Evidence) -> list[GeneratorRecord]:
    return [one for one in evidence.run.generators if one.host is None] if evidence.run else []


def parts_of(evidence: Evidence) -> list[GeneratorRecord]:
    """Return the parts of the run, whose rows have the times of one clock."""
    return [one for one in evidence.run.generators if one.machine] if evidence.run else []


class Machine(NamedTuple):
    """A machine with telemetry: its CPU and cores as text, their number, and the cores used by process.

    With `is_part` it is another machine on which parts of the run were driven.
    """

    cpu: str
    cores: str
    core_count: int
    used: Mapping[str, float]
    is_part: bool = False

    @property
    def host_ratio(self) -> float:
        """The share of the cores that was busy."""
        return self.used.get(HOST, 0.0) / self.core_count

    @property
    def driving(self) -> list[float]:
        """The cores that each load generator used, with the controller that takes samples of remote ones."""
        return [cores for name, cores in self.used.items() if is_generator(name)]

    @property
    def driving_ratio(self) -> float:
        """The share of the cores that load generators used."""
        return sum(self.driving) / self.core_count


def machines_of(evidence: Evidence) -> Iterator[Machine]:
    run = evidence.run
    if run is None:
        return
    by_process = {usage.process: usage.cpu_cores_mean for usage in evidence.usages}
    # Generators of one machine share its cores; of its host there are rows once.
    elsewhere: dict[str, list[GeneratorRecord]] = {}
    for generator in run.generators:
        if generator.host and not generator.is_local:
            elsewhere.setdefault(generator.machine or generator.name, []).append(generator)
    is_once = (HOST, STOLEN)
    theirs = {
        process_at(process, generator.name): (
            machine,
            process if process in is_once else process_at(process, generator.name),
        )
        for machine, ones in elsewhere.items()
        for generator in ones
        for process in (GENERATOR, HARNESS, HOST, STOLEN)
    }
    if not run.is_merged or any(generator.is_local for generator in run.generators):
        used = {process: cores for process, cores in by_process.items() if process not in theirs}
        yield Machine("this machine's CPU", units.plural(run.host.cpu_count, "core"), run.host.cpu_count, used)
    for machine, ones in elsewhere.items():
        found = {process: theirs[process] for process in by_process if process in theirs}
        used = {name: by_process[process] for process, (where, name) in found.items() if where == machine}
        core_count, names = (
            ones[0].host.cpu_count if ones[0].host else 1,
            ", ".join(generator.name for generator in ones),
        )
        cores = f"{units.plural(core_count, 'core')} of {names}"
        yield Machine(f"the CPU of {names}", cores, core_count, used, is_part=ones[0].machine is not None)


def is_generator(process: str) -> bool:
    """Return whether a process is a load generator."""
    return process == GENERATOR or process.startswith(GENERATOR_PREFIX)


def generator_stops(stops: Iterable[ProcessStop]) -> tuple[ProcessStop, ...]:
    """Return the times in which a load generator was stopped."""
    return tuple(one for one in stops if is_generator(one.process))


def apart_from(gaps: Iterable[Gap], stops: Iterable[ProcessStop]) -> tuple[Gap, ...]:
    """Return the gaps in which no load generator was stopped for most of the time."""
    stops = generator_stops(stops)

    def is_explained(gap: Gap) -> bool:
        stopped_s = (min(gap.to_s, stop.to_s) - max(gap.from_s, stop.from_s) for stop in stops)
        return any(one_s > _STOPPED_RATIO * (gap.to_s - gap.from_s) for one_s in stopped_s)

    return tuple(gap for gap in gaps if not is_explained(gap))
