"""The set-up lines of a report: plan, load, system, load generator and host, from run.json."""

from __future__ import annotations

from collections.abc import Mapping

from harness.base import units
from harness.plan.http_sampler import JMETERS, LEAN
from harness.plan.load import CLOSED, MIXED, OPEN
from harness.plan.load.groups import length_text
from harness.plan.load.model import LoadRecord
from harness.run.record import (
    SAMPLER,
    AutoEndRecord,
    DeliveryRecord,
    GeneratorRecord,
    HostRecord,
    PackedSamples,
    RunRecord,
    WarmUpRecord,
)

_UNKNOWN = "of an unknown version"
# Measured by `scripts/bench answers --only auto`, with seconds that resemble each other by 0.5 to 0.8.
_AUTO_RATE = "right in 92 to 99 % of simulated loads"


def setup_lines(run: RunRecord) -> list[tuple[str, str]]:
    """Return (name, value) pairs in the order of the report; values are plain text."""
    target = f"{run.target}, already running: its settings are not known here"
    if run.is_embedded:
        target = f"{run.system}, started here{', running across several runs' if run.kept_up else ' for the run'}"
    profiled = "the JVMs of the system, with flight recordings"
    traced = "each HTTP request carries a traceparent header; its trace id is in the JTL"
    soak = "heap histograms before, in the middle of and after the load"
    lines = [
        ("plan", f"{run.plan}: {run.plan_title}"),
        ("load", load_text(run.load)),
        *((f"load of {one.group}", one.text()) for one in run.load.loads or ()),
        *((f"job {one.name}", one.text) for one in run.jobs),
        ("plan may", "; ".join(run.allowances) or None),
        ("other addresses", (run.allowances and run.other_addresses) or None),
        ("--set", ", ".join(run.set_values) or None),
        ("--properties", _given_text(run) or None),
        ("headers", ", ".join(f"{name}: {value}" for name, value in run.headers.items()) or None),
        ("plugins", ", ".join(run.plugins) or None),
        ("profile", f"{run.profile}: {run.profile_title}"),
        ("system", target),
        *run.system_facts,
        ("profiled", profiled if run.is_profiled else None),
        ("traced", traced if run.is_traced else None),
        ("soak", soak if run.is_soak else None),
        ("samples", _packed_text(run.packed_samples) if run.packed_samples else None),
        ("generator", _generator_text(run)),
        ("warm-up", _warm_up_text(run.warm_up) if run.warm_up else None),
        *_hosts(run),
        ("other load tests", "; ".join(run.other_runs) if len(run.other_runs) > 2 else None),
        ("harness", _commit_text(run)),
        ("started", run.started_at),
        ("auto", _auto_text(run.auto_end) if run.auto_end else None),
        ("--otlp", _delivery_text(run.otlp) if run.otlp else None),
        ("took", None if run.took_s is None else units.duration_text(run.took_s)),
    ]
    return [(name, value) for name, value in lines if value is not None]


def _packed_text(packed: PackedSamples) -> str:
    rows, stored = units.mb_text(packed.text_bytes, 1), units.mb_text(packed.packed_bytes, 1)
    return f"packed while the run lasted: {rows} MB of rows take {stored} MB on the disk"


def _given_text(run: RunRecord) -> str:
    """Return the properties of the command line except those of SET, which has a line of its own."""
    set_names = {word.partition("=")[0] for word in run.set_values}
    return ", ".join(f"{name}={run.properties[name]}" for name in run.given_properties if name not in set_names)


def _auto_text(auto_end: AutoEndRecord) -> str:
    """Return when a load of the length `auto` ended, and its last check; the verdict covers the whole run."""
    ended = f"{'ended' if auto_end.is_met else 'not reached, ended'} after {auto_end.after_s} s; last check:"
    if auto_end.average_ms is None:
        return f"{ended} not steady"
    mean = f"{units.average_text(auto_end.average_ms)} ± {units.average_text(auto_end.within_ms)} ms"
    text = f"{ended} steady from {auto_end.steady_from_s} s on, mean {mean}"
    return f"{text} ({_AUTO_RATE})" if auto_end.is_met else text


def _delivery_text(delivery: DeliveryRecord) -> str:
    """Return what a receiver of OpenTelemetry data did not get, or that it got everything."""
    if delivery.problem and not delivery.export_count:
        return f"nothing was sent: {delivery.problem}"
    exports = (delivery.lost_export_count, delivery.export_count, "export")
    sent = [one for one in (exports, (delivery.lost_span_count, delivery.span_count, "span")) if one[1]]
    if delivery.lost_export_count or delivery.lost_span_count:
        lost_text = ", ".join(f"{lost} of {units.plural(count, noun)}" for lost, count, noun in sent)
        text = f"{lost_text} were not delivered: {delivery.problem}"
    else:
        text = f"{' and '.join(units.plural(count, noun) for _, count, noun in sent)} delivered"
    more = f"; {units.plural(delivery.left_out_count, 'more slow or failed request')} without a span"
    return text + (more if delivery.left_out_count else "")


def load_text(load: LoadRecord) -> str:
    """Return the load as text."""
    number = units.number_text
    if not load.model:
        return "unknown load"
    if load.loads:
        return _several_text(load)
    if load.model == OPEN:
        ramp = f"ramp {number(load.ramp_s)} s, " if load.ramp_s else ""
        return f"open model, {number(load.rate_per_s or 0)} new users/s, {ramp}{_length_text(load)}"
    users = units.plural(load.users or 0, "user")
    per = f" per {load.think_time_per}" if load.think_time_per else ""
    think = f", think time {number(load.think_time_s)} s{per}" if load.think_time_s else ""
    return f"closed model, {users}, ramp {number(load.ramp_s)} s, {_length_text(load)}{think}"


def _length_text(load: LoadRecord) -> str:
    text = length_text(load.duration_s, load.loops)
    if load.is_auto:
        most = units.number_text(load.duration_s or 0)
        text = f"auto: until steady and ± 5 % (short times: ± 1 ms), {most} s at most"
    return f"{text} or about {load.requests} samples, whichever is first" if load.requests else text


def _several_text(load: LoadRecord) -> str:
    count = len(load.loads or ())
    parts = [f"{units.plural(count, 'load')} side by side"] if count > 1 else []
    parts += [f"{load.model} model"] if load.model in (CLOSED, OPEN) else ["closed and open model"]
    parts += [units.plural(load.users, "user")] if load.users else []
    parts += [f"{units.number_text(load.rate_per_s)} new users/s"] if load.rate_per_s else []
    return ", ".join([*parts, _length_text(load)])


def _generator_text(run: RunRecord) -> str:
    java, heap = f"Java {run.versions.get('java', _UNKNOWN)}", f"heap {run.generator_heap_mb} MB"
    jmeter = f"JMeter {run.versions.get('jmeter', _UNKNOWN)}"
    if sampler := run.versions.get(SAMPLER):
        jmeter += f" ({_sampler_text(sampler, run.http_requests)})"
    if not run.generators:
        return f"{jmeter}, {heap}, {java}"
    others = [one.java for one in run.generators if one.java != run.versions.get("java")]
    apart = f" (and {', '.join(dict.fromkeys(others))})" if others else ""
    parts = ", ".join(f"{one.name} with {_part_text(one)}" for one in run.generators)
    return f"{units.plural(len(run.generators), 'generator')}: {parts}; {jmeter}, {java}{apart}"


def _warm_up_text(warm_up: WarmUpRecord) -> str:
    if warm_up.problem:
        return f"none, JMeter ran cold: {warm_up.problem}"
    requests = units.plural(warm_up.requests, "request")
    return f"{requests} like the plan's, within JMeter, in {units.number_text(warm_up.seconds)} s before the load"


def _sampler_text(sampler: str, counts: Mapping[str, int]) -> str:
    if sampler == JMETERS:
        return "JMeter's own HTTP sampler"
    every = sum(counts.values())
    if not every:
        return "lean HTTP sampler, requests not counted"
    if counts[LEAN] == every:
        return "lean HTTP sampler"
    return f"lean HTTP sampler for {counts[LEAN]} of {units.plural(every, 'HTTP request')}"


def _hosts(run: RunRecord) -> list[tuple[str, str]]:
    """Return the machine of the run, or the machines of load generators that ran independently."""
    if run.is_merged:
        hosts = [(one.name, one.host) for one in run.generators if one.host]
        return [(f"host of {name}", f"{_host_text(host)}, {host.kernel}") for name, host in hosts]
    return [("host", _host_text(run.host)), ("kernel", run.host.kernel)]


def _host_text(host: HostRecord) -> str:
    return f"{host.cpu_model}, {host.cpu_count} cores, {units.mb_text(host.memory_bytes)} MB memory"


def _part_text(generator: GeneratorRecord) -> str:
    texts = [] if generator.users is None else [units.plural(generator.users, "user")]
    if generator.rate_per_s is not None or not texts:
        texts.append(f"{units.number_text(generator.rate_per_s or 0)} new users/s")
    return " and ".join(texts)


def _commit_text(run: RunRecord) -> str:
    if run.git_commit is None:
        return "not in a git checkout"
    return run.git_commit[:12] + (" with uncommitted changes" if run.git_changed else "")


def users_text(load: LoadRecord) -> str:
    """Return the number of users, or the arrival rate of an open load: 50, 5/s."""
    rate = f"{units.number_text(load.rate_per_s or 0)}/s"
    if load.model == MIXED:
        return f"{load.users or 0} + {rate}"
    return rate if load.model == OPEN else str(load.users or 0)
