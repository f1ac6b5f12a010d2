"""Evidence of load generators and of the machines of a run: the values for the texts of warnings about them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from harness.base import units
from harness.judge.evidence import COARSE_CLOCK_MS, Evidence, Values
from harness.judge.loads import pause_s
from harness.judge.lost_cpu import OTHER_CPU_RATIO, STOLEN_CPU_RATIO
from harness.metrics.figures import LabelFigures
from harness.metrics.gaps import Gap
from harness.metrics.generators import GeneratorFigures
from harness.metrics.littles_law import LittlesLaw
from harness.metrics.throttle import Throttle
from harness.run.record import GeneratorRecord
from harness.run.telemetry.table import GENERATOR, GENERATOR_PREFIX, HARNESS, HOST, STOLEN, ProcessStop, process_at

if TYPE_CHECKING:  # it loads slowly, and most JTLs have none
    from harness.cloudwatch.points import CloudMetrics

LITTLES_LAW_TOLERANCE = 0.10
# Users are counted per second: over a shorter time the first and last second alone make the difference.
LITTLES_LAW_LEAST_S = 10.0
# Off by this factor it is a finding over any time; below a second users are not counted.
LITTLES_LAW_FACTOR = 1.5
LITTLES_LAW_FACTOR_LEAST_S = 1.0
GENERATOR_CPU_RATIO = 0.80
# Above it, what was missing is not known.
FULL_CPU_RATIO = 0.95
HOST_CPU_RATIO = 0.90
# A few throttled periods at the start of a process are usual.
QUOTA_RATIO = 0.05
# Generators of one load differ by chance: an average of 200 samples as scattered as response times are by a seventh.
SLOW_GENERATOR_RATIO = 1.5
SLOW_GENERATOR_LEAST_SAMPLES = 200
# One sample of half a minute raises an average, but not a p90.
SLOW_GENERATOR_P90_RATIO = 1.1
FAILING_GENERATOR_RATIO = 2.0
FAILING_GENERATOR_LEAST_RATIO = 0.01
FAILING_GENERATOR_LEAST_ERRORS = 10
# Generators start within a second or two of each other. One that is absent for longer than this changes the load.
ABSENT_LEAST_S = 5.0
ABSENT_RATIO = 0.02
# Charts over time have whole seconds: half of one puts every second sample into another second.
CLOCKS_APART_MS = 500
# A stop of the load generator explains a gap of which it is more than this share.
_STOPPED_RATIO = 0.5
# A smaller share of failed samples after a fall of the throughput is not mentioned.
_FAILED_NAMED_RATIO = 0.01


def left_out_arrivals(evidence: Evidence) -> Iterator[Values]:
    """Yield how many arrivals of an open load had no room in the load generator."""
    run = evidence.run
    if run and run.left_out_arrivals:
        count, plural = run.left_out_arrivals, "s were" if run.left_out_arrivals > 1 else " was"
        heap, most = str(run.generator_heap_mb), f"{run.users_most:,}"
        yield {"arrivals": f"{count:,} arrival{plural}", "most": most, "heap": heap}


def separate_clocks(evidence: Evidence) -> Iterator[Values]:
    """Yield for how long all generators of a merged run drove together, by their own clocks."""
    generators = evidence.generators
    if generators and evidence.run and evidence.run.is_merged and not _parts(evidence):
        firsts_s, lasts_s = zip(*((one.first_s, one.last_s) for one in generators), strict=True)
        together, whole = f"{max(0.0, min(lasts_s) - max(firsts_s)):.0f}", f"{max(lasts_s) - min(firsts_s):.0f}"
        yield {"count": str(len(generators)), "together": together, "whole": whole}


def absent_generators(evidence: Evidence) -> Iterator[Values]:
    """Yield the generators that began late or ended early."""
    generators = evidence.generators
    if not generators:
        return
    first_s, last_s = min(one.first_s for one in generators), max(one.last_s for one in generators)
    least_s = max(ABSENT_LEAST_S, ABSENT_RATIO * (last_s - first_s))
    longest_s = (evidence.longest_ms or 0) / units.MS_PER_S
    late = [one for one in generators if one.first_s - first_s > least_s]
    # A sample that takes long ends late: without one a generator may seem to have stopped before the others.
    early = [one for one in generators if last_s - one.last_s > least_s + longest_s]
    if late or early:
        began = ", ".join(f"{one.name} {one.first_s:.0f} s" for one in late)
        ended = ", ".join(f"{one.name} {one.last_s:.0f} s" for one in early)
        when = [f"began late ({began})"] * bool(late) + [f"ended early ({ended})"] * bool(early)
        names = ", ".join(dict.fromkeys(one.name for one in (*late, *early)))
        yield {"names": names, "when": " or ".join(when), "first": f"{first_s:.0f}", "last": f"{last_s:.0f}"}


def slow_generators(evidence: Evidence) -> Iterator[Values]:
    """Yield the generators whose samples took much longer than those of the others."""
    if slow := [one.name for one in evidence.generators if _is_slow(one, evidence.generators)]:
        yield {"names": ", ".join(slow), "factor": f"{SLOW_GENERATOR_RATIO:g}"}


def failing_generators(evidence: Evidence) -> Iterator[Values]:
    """Yield the generators with a much higher share of failed samples than the others."""
    if failing := [one.name for one in evidence.generators if _is_failing(one, evidence.generators)]:
        yield {"names": ", ".join(failing), "factor": f"{FAILING_GENERATOR_RATIO:g}"}


def _is_slow(generator: GeneratorFigures, generators: tuple[GeneratorFigures, ...]) -> bool:
    others = [one for one in generators if one is not generator]
    others_count = sum(one.sample_count for one in others)
    average_ms = sum((one.average_ms or 0.0) * one.sample_count for one in others) / max(1, others_count)
    return (
        generator.average_ms is not None
        and min(generator.sample_count, others_count) >= SLOW_GENERATOR_LEAST_SAMPLES
        and generator.average_ms >= max(SLOW_GENERATOR_RATIO * average_ms, average_ms + COARSE_CLOCK_MS)
        and (generator.p90_ms or 0) >= SLOW_GENERATOR_P90_RATIO * max(one.p90_ms or 0 for one in others)
    )


def _is_failing(generator: GeneratorFigures, generators: tuple[GeneratorFigures, ...]) -> bool:
    others = [one for one in generators if one is not generator]
    ratio = sum(one.error_count for one in others) / max(1, sum(one.sample_count for one in others))
    return (
        generator.error_ratio is not None
        and generator.error_count >= FAILING_GENERATOR_LEAST_ERRORS
        and generator.error_ratio >= max(FAILING_GENERATOR_RATIO * ratio, ratio + FAILING_GENERATOR_LEAST_RATIO)
    )


def _driven(evidence: Evidence) -> list[GeneratorRecord]:
    return [one for one in evidence.run.generators if one.host is None] if evidence.run else []


def unwatched_generators(evidence: Evidence) -> Iterator[Values]:
    """Yield the generators on other machines."""
    if unwatched := [one.name for one in _driven(evidence) if not one.is_local]:
        yield {"names": ", ".join(unwatched)}


def _parts(evidence: Evidence) -> list[GeneratorRecord]:
    """Return the parts of the run, whose rows have the times of one clock."""
    return [one for one in evidence.run.generators if one.machine] if evidence.run else []


def clocks_apart(evidence: Evidence) -> Iterator[Values]:
    """Yield the generators whose clocks differ from the controller's; of parts what is left after the correction."""
    all_ms = {one.name: one.clock_ahead_ms or 0 for one in _driven(evidence)}
    all_ms |= {one.name: one.clock_moved_ms or 0 for one in _parts(evidence)}
    if apart_ms := {name: ahead_ms for name, ahead_ms in all_ms.items() if abs(ahead_ms) >= CLOCKS_APART_MS}:
        most_ms = max(0, *apart_ms.values()) - min(0, *apart_ms.values())
        clocks = ", ".join(f"{name} {units.ms_text(ahead_ms)} ms" for name, ahead_ms in apart_ms.items())
        yield {"most": f"{units.ms_text(most_ms)} ms", "clocks": clocks}


def other_runs(evidence: Evidence) -> Iterator[Values]:
    """Yield the runs whose load was on at the same time."""
    if runs := evidence.run.other_runs if evidence.run else ():
        tests = "Another load test" if len(runs) == 1 else f"{len(runs)} other load tests"
        yield {"tests": tests, "runs": units.first_two(runs)}


class _Machine(NamedTuple):
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


def _machines(evidence: Evidence) -> Iterator[_Machine]:
    run = evidence.run
    if run is None:
        return
    by_process = {usage.process: usage.cpu_cores_mean for usage in evidence.usages}
    # Generators of one machine share its cores; of its host there are rows once.
    elsewhere: dict[str, list[GeneratorRecord]] = {}
    for one in run.generators:
        if one.host and not one.is_local:
            elsewhere.setdefault(one.machine or one.name, []).append(one)
    is_once = (HOST, STOLEN)
    theirs = {
        process_at(process, one.name): (
            machine,
            process if process in is_once else process_at(process, one.name),
        )
        for machine, ones in elsewhere.items()
        for one in ones
        for process in (GENERATOR, HARNESS, HOST, STOLEN)
    }
    if not run.is_merged or any(one.is_local for one in run.generators):
        used = {process: cores for process, cores in by_process.items() if process not in theirs}
        yield _Machine("this machine's CPU", units.plural(run.host.cpu_count, "core"), run.host.cpu_count, used)
    for machine, ones in elsewhere.items():
        found = {process: theirs[process] for process in by_process if process in theirs}
        used = {name: by_process[process] for process, (where, name) in found.items() if where == machine}
        core_count, names = ones[0].host.cpu_count if ones[0].host else 1, ", ".join(one.name for one in ones)
        cores = f"{units.plural(core_count, 'core')} of {names}"
        yield _Machine(f"the CPU of {names}", cores, core_count, used, is_part=ones[0].machine is not None)


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


def stopped_generators(evidence: Evidence) -> Iterator[Values]:
    """Yield when a signal or a debugger had stopped a load generator."""
    for stop in evidence.stops:
        length = units.duration_text(stop.to_s - stop.from_s)
        yield {"process": stop.process, "length": length, "when": f"{stop.from_s:.0f} s to {stop.to_s:.0f} s"}


def busy_generators(evidence: Evidence) -> Iterator[Values]:
    """Yield the machines on which the generator used nearly all cores."""
    for machine in _machines(evidence):
        if machine.driving_ratio > GENERATOR_CPU_RATIO and not machine.is_part:
            plural, percent = "s" if len(machine.driving) > 1 else "", units.percent_text(machine.driving_ratio, 0)
            yield {"plural": plural, "percent": percent, "cores": machine.cores}


def few_parts(evidence: Evidence) -> Iterator[Values]:
    """Yield how many machines of parts had too little CPU, and how many parts keep the busiest one below the limit.

    Parts have equal shares, so the work of each falls with their number. A machine that is full may need even more.
    """
    machines = [machine for machine in _machines(evidence) if machine.is_part]
    if busy := [machine for machine in machines if machine.driving_ratio > GENERATOR_CPU_RATIO]:
        most, count = max(machine.driving_ratio for machine in busy), len(_parts(evidence))
        yield {
            "parts": f"{units.plural(count, 'part')} {'is' if count == 1 else 'are'}",
            "busy": str(len(busy)),
            "limit": units.percent_text(GENERATOR_CPU_RATIO, 0),
            "machines": ", ".join(f"{units.percent_text(one.driving_ratio, 0)} % of the {one.cores}" for one in busy),
            "enough": f"{'at least ' * (most > FULL_CPU_RATIO)}{math.ceil(count * most / GENERATOR_CPU_RATIO)}",
        }


def busy_machines(evidence: Evidence) -> Iterator[Values]:
    """Yield the machines whose cores were nearly all busy."""
    for machine in _machines(evidence):
        if evidence.run and machine.host_ratio > HOST_CPU_RATIO:
            cores, advice = machine.cores, "Drive fewer users, or from a larger machine."
            if evidence.run.is_embedded:
                cores += " that generator and system share"
                advice = "Give the system a machine of its own (TARGET=…), or fewer users."
            yield {"cores": cores, "percent": units.percent_text(machine.host_ratio, 0), "advice": advice}


def shared_machines(evidence: Evidence) -> Iterator[Values]:
    """Yield the machines on which processes outside of the run used many of the cores."""
    for machine in _machines(evidence):
        listed = sum(cores for process, cores in machine.used.items() if process not in (HOST, STOLEN))
        other_ratio = (machine.used.get(HOST, 0.0) - listed) / machine.core_count
        if other_ratio > OTHER_CPU_RATIO:
            yield {"percent": units.percent_text(other_ratio, 0), "machine": machine.cpu}


def stolen_cpu(evidence: Evidence) -> Iterator[Values]:
    """Yield the virtual machines whose hypervisor gave much of their time to others."""
    for machine in _machines(evidence):
        ratio = machine.used.get(STOLEN, 0.0) / machine.core_count
        if ratio > STOLEN_CPU_RATIO:
            yield {"percent": units.percent_text(ratio, 0), "cores": machine.cores}


def used_up_quotas(evidence: Evidence) -> Iterator[Values]:
    """Yield the processes whose CPU quota was used up in many of its periods."""
    if over := [usage for usage in evidence.usages if (usage.throttled_ratio or 0.0) > QUOTA_RATIO]:
        shares = (f"{usage.process} {units.percent_text(usage.throttled_ratio, 0)} %" for usage in over)
        yield {"shares": ", ".join(shares)}


def throttled(evidence: Evidence) -> Iterator[Values]:
    """Yield from when on the throughput was a constant fraction, and what the response times did.

    A window that ends before the fall has the figures of a machine at full speed: it gets no warning.
    """
    if evidence.throttle and evidence.throttle.began_s < evidence.window.to_s:
        yield throttle_values(evidence.throttle, evidence.cloudwatch)


def throttle_values(fall: Throttle, cloudwatch: CloudMetrics | None) -> Values:
    """Return the values for the warning about a fall; `cloudwatch` may have balances that were used up."""
    before_ms, after_ms = (units.average_text(average) for average in (fall.before_ms, fall.after_ms))
    during = f" (the fall began at {units.clock_text(fall.began_s)})" if fall.began_s != fall.constant_s else ""
    verb = "rose" if fall.after_ms > fall.before_ms else "did not rise:"
    failed = f", and {units.percent_text(fall.after_error_ratio, 0)} % of the samples failed"
    return {
        "at": units.clock_text(fall.constant_s),
        "percent": units.percent_text(fall.ratio, 0),
        "before": f"{fall.before_per_s:.3g}",
        "after": f"{fall.after_per_s:.3g}",
        "users": "" if fall.user_count is None else f" with {units.plural(fall.user_count, 'steady user')}",
        "during": during,
        "times": f"response times {verb} from {before_ms} to {after_ms} ms",
        "failed": failed if fall.after_error_ratio >= _FAILED_NAMED_RATIO else "",
        "balances": _balances(cloudwatch),
        "began_s": str(fall.began_s),
        "constant_s": str(fall.constant_s),
    }


def _balances(cloudwatch: CloudMetrics | None) -> str:
    """Return a sentence with the balances that reached zero in the measurement window; empty without one."""
    if cloudwatch is None:
        return ""
    from harness.cloudwatch.queries import CPU_CREDITS, resource_title

    metrics = [metric for metric in cloudwatch.metrics if metric.is_used_up]
    kinds = ["CPU credits" if metric.metric == CPU_CREDITS else "burst balance" for metric in metrics]
    used_up = [f"the {kind} of {resource_title(metric.of)}" for kind, metric in zip(kinds, metrics, strict=True)]
    return f" In the measurement window {' and '.join(used_up)} reached 0." if used_up else ""


def _is_off(law: LittlesLaw, load: LabelFigures) -> bool:
    """Return whether the law is off by more than the two ends of the window can cause.

    A sample counts where it ends: one in flight at the window's beginning counts whole, one at its end not at all.
    """
    at_the_ends = load.average_ms / units.MS_PER_S / law.over_s
    if law.over_s >= LITTLES_LAW_LEAST_S and abs(law.ratio - 1) > LITTLES_LAW_TOLERANCE + at_the_ends:
        return True
    is_far = law.ratio + at_the_ends < 1 / LITTLES_LAW_FACTOR or law.ratio - at_the_ends > LITTLES_LAW_FACTOR
    return law.over_s >= LITTLES_LAW_FACTOR_LEAST_S and is_far


def broken_law(evidence: Evidence) -> Iterator[Values]:
    """Yield both sides of Little's law of each closed load where they differ."""
    run = evidence.run
    # Users of an open load come and go within a second: the samples do not show how many were active.
    if run is None or evidence.is_open:
        return
    loads = {one.group: one for one in run.load.loads or ()}
    checks = [] if loads else [("", evidence.law, evidence.load, evidence.pause_s)]
    for figures in evidence.loads if loads else ():
        if figures.group:
            think_s = pause_s(loads[figures.name], figures.group)
            checks.append((f" of {figures.name}", figures.littles_law, figures.group.total, think_s))
    for name, law, load, think_s in checks:
        if law and load and _is_off(law, load):
            users = {"of": name, "active": f"{law.active_users:.1f}", "busy": f"{law.busy_users:.1f}"}
            round_ms = units.average_text(law.active_users * law.over_s / load.sample_count * units.MS_PER_S)
            accounted_ms = units.average_text(load.average_ms + think_s * units.MS_PER_S)
            yield {**users, "round_ms": round_ms, "accounted_ms": accounted_ms}
