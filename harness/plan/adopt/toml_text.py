"""Writes the TOML of an adopted plan: its load, its permissions and, as comments, what its JMX contains."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from harness.base import units
from harness.base.toml_text import toml_comment, toml_string, toml_strings
from harness.plan.adopt.contents import Contents, known_plugins
from harness.plan.adopt.data import DataFile
from harness.plan.adopt.groups import GroupSize, needs_tables
from harness.plan.adopt.schedules import ARRIVALS, CONCURRENCY
from harness.plan.jmx.elements import class_of
from harness.plan.load.groups import Stage
from harness.plan.load.model import DURATION_MAX_S, LOOPS_MAX, RATE_MAX_PER_S, USERS_MAX


def plan_toml(contents: Contents, name: str, source: str, secrets: Sequence[str] = ()) -> str:
    """Return the TOML of the plan `name`, made from the JMX `source`; `secrets` are environment variables."""
    head = [
        f"# Written by `lth init` from {toml_comment(source)}. plans/README.md explains every key.",
        "format_version = 1",
        f"title = {toml_string(toml_comment(contents.title) or name)}",
        f"shape = {toml_string(f'{name}.jmx')}",
        *secrets_lines(secrets),
        "",
        *_contents(contents),
        "",
        *_load(contents.sizes),
    ]
    tail = ["", "[allow]", *allow] if (allow := list(_allow(contents))) else []
    if plugins := known_plugins(contents):
        tail += ["", "[jmeter]", f"plugins = {toml_strings(plugins)}"]
    return "\n".join([*head, *tail]) + "\n"


def secrets_lines(names: Sequence[str]) -> list[str]:
    """Return the line that names the environment variables with the secrets of a plan."""
    return [f"secrets = {toml_strings(names)}"] if names else []


def others_toml(others: Mapping[str, str]) -> str:
    """Return the comment that explains the properties of further hosts, ports and schemes; empty without any."""
    if not others:
        return ""
    lines = [
        "",
        "# The plan names further addresses. Their requests go to --target, until you name them here, and allow them:",
        "# hosts = […] under [allow], and allowed_targets in the profile.",
        "[properties]",
        *(f"# {name} = {toml_string(toml_comment(value))}" for name, value in others.items()),
    ]
    return "\n".join(lines) + "\n"


def headers_toml(headers: Mapping[str, str]) -> str:
    """Return the table of the headers that all requests carry; empty without any."""
    lines = [f"{toml_string(name)} = {toml_string(value)}" for name, value in headers.items()]
    return "\n".join(["", "[headers]", *lines]) + "\n" if lines else ""


def data_lines(data: Sequence[DataFile]) -> list[str]:
    """Return a line for each data file of a fixed plan."""
    lines = []
    for file in data:
        sample = f"values ({', '.join(file.columns)})" if file.columns else "contents"
        left = f" ({file.left} is not below the JMX's folder or work tree, or is hidden)" if file.left else ""
        state = f"copied from {file.source}" if file.source else f"SAMPLE {sample}: replace them{left}"
        lines.append(f"plans/{file.name}: {state}")
    return lines


def size_text(size: GroupSize) -> str:
    """Return the size of a thread group as text: `8 users, ramp-up 80 s, 180 s`."""
    length = units.plural(size.loops, "loop") if size.loops else f"{size.duration_s} s"
    length += f" or {units.plural(size.loops_before, 'loop')}" if size.loops_before else ""
    rates = [stage.rate_per_s for stage in size.stages if stage.rate_per_s is not None]
    rate = max(rates, default=size.rate_per_s)
    level = units.plural(size.users, "user") if rate is None else f"{units.number_text(round(rate, 6))} new users/s"
    if size.stages:
        return f"{level} at most, {units.plural(len(size.stages), 'stage')}, {length}"
    return f"{level}, ramp-up {size.ramp_s} s, {length}"


def _contents(contents: Contents) -> Iterator[str]:
    for size in contents.sizes:
        yield f"# thread group {toml_comment(size.name)}: {size_text(size)}"
    if contents.side_groups:
        yield f"# before and after the load: {', '.join(map(toml_comment, contents.side_groups))}"
    yield f"# samplers: {samplers_text(contents)}"
    yield f"# hosts: {', '.join(map(toml_comment, contents.hosts)) or 'none'}"
    for name, columns in contents.csv_files:
        yield f"# CSV file {toml_comment(name)}: {toml_comment(columns) or 'columns in its first line'}"
    counts, states = Counter[str](), dict[str, str]()
    for name, count in contents.plugins:
        known = class_of(name)
        plugin = (known and known.plugin) or name
        counts[plugin] += count
        states[plugin] = "not part of the harness's JMeter"
        if known:
            has_state = "put its jar beside the plan" if known.plugin else "part of the harness's JMeter"
            states[plugin] = "listed below" if known.is_in_maven else has_state
    for plugin, count in counts.items():
        yield f"# plugin {toml_comment(plugin)} ({units.plural(count, 'element')}): {states[plugin]}"


def samplers_text(contents: Contents) -> str:
    """Return the numbers of samplers by the short names of their classes: `2 HTTPSamplerProxy, 1 JDBCSampler`."""
    counts = Counter[str]()
    for kind, count in contents.samplers:
        counts[kind.rpartition(".")[2]] += count
    return ", ".join(f"{count} {kind}" for kind, count in counts.items()) or "none"


def _load(sizes: Sequence[GroupSize]) -> Iterator[str]:
    if needs_tables(sizes):
        yield from _loads(sizes)
        return
    users = min(USERS_MAX, sum(size.users for size in sizes)) or 1
    ramp_s = max((size.ramp_s for size in sizes), default=0)
    yield "[load]"
    yield f"users = {users}"
    yield f"ramp_per_user_s = {units.number_text(round(ramp_s / users, 3))}"
    loops = sizes[0].loops if sizes else None
    yield f"loops = {min(LOOPS_MAX, loops)}" if loops else f"duration_s = {_duration_s(sizes)}"
    yield from _remarks(sizes[0]) if sizes and sizes[0].loops_before else ()
    if sizes and sizes[0].think_time_s:
        yield f"think_time_s = {units.number_text(sizes[0].think_time_s)}"
    if delay_s := max((size.delay_s for size in sizes), default=0):
        yield f"# its users start after {delay_s} s, as in the JMX; --rate starts them at once"
    if any(size.own_pauses for size in sizes):
        yield "# its own timers pause its users: change them in the JMX, or read ${__P(think_time_ms,…)} in one of them"


def _loads(sizes: Sequence[GroupSize]) -> Iterator[str]:
    """Yield a [[load]] table for each thread group; one with a number of loops lasts as long as the others."""
    yield "# Each thread group has its load; --users and --duration of a run scale all of them."
    if first_s := min(size.delay_s for size in sizes):
        yield f"# In the JMX the first users start after {first_s} s, here at once."
    for size in sizes:
        duration_s = _duration_s([size]) if size.duration_s else _duration_s(sizes)
        yield ""
        yield "[[load]]"
        yield f"group = {toml_string(size.name)}"
        if stages := size.stages or _after(size, size.delay_s - first_s, duration_s):
            yield f"stages = [{', '.join(map(_stage_text, stages))}]"
        else:
            rate_per_s = None if size.rate_per_s is None else min(RATE_MAX_PER_S, round(size.rate_per_s, 6))
            users = f"users = {min(USERS_MAX, size.users)}"
            yield users if rate_per_s is None else f"rate_per_s = {units.number_text(rate_per_s)}"
            yield f"ramp_s = {min(size.ramp_s, duration_s // 2)}"
            yield f"duration_s = {duration_s}"
        if size.rate_per_s is not None:
            yield "users_return = true"
        yield from _remarks(size)


def _after(size: GroupSize, delay_s: int, duration_s: int) -> tuple[Stage, ...]:
    """Return the stages of a group whose users begin later than the first of all; nothing for that one."""
    ramp_s = float(min(size.ramp_s, duration_s))
    load = Stage(size.users, None, ramp_s, duration_s - ramp_s)
    return (Stage(0, None, 0.0, float(delay_s)), load) if delay_s else ()


def _stage_text(stage: Stage) -> str:
    """Return a stage as an inline table: {users = 10, over = 30, for = 60}."""
    times = [("over", stage.over_s), ("for", stage.for_s)]
    parts = [f"{name} = {units.number_text(time_s)}" for name, time_s in times if time_s]
    level = f"users = {min(USERS_MAX, stage.users or 0)}"
    if stage.rate_per_s is not None:
        level = f"rate_per_s = {units.number_text(min(RATE_MAX_PER_S, round(stage.rate_per_s, 6)))}"
    return f"{{{', '.join([level, *parts])}}}"


def _remarks(size: GroupSize) -> Iterator[str]:
    """Yield what the table of a load does to its thread group."""
    kind = size.kind.rpartition(".")[2]
    if size.is_fed_back:
        yield "# a Throughput Shaping Timer set how many of these users run; here all run, and the timer paces them"
    elif size.stages or kind in (CONCURRENCY, ARRIVALS):
        yield f"# the schedule of its {kind}, which a run replaces by this one"
        if size.is_even:
            yield "# its even_arrivals come at random times in a run, at the same rate"
    elif kind != "ThreadGroup":
        yield f"# replaces the schedule of its {kind}; stages = […] can rebuild it"
    elif loops := size.loops or size.loops_before:
        yield f"# in the JMX it ends after {units.plural(loops, 'loop')}; here it repeats them until its end"


def _duration_s(sizes: Sequence[GroupSize]) -> int:
    """Return the longest duration in s; 60 when no group has one."""
    return min(int(DURATION_MAX_S), max((size.duration_s or 0 for size in sizes), default=0) or 60)


def _allow(contents: Contents) -> Iterator[str]:
    if contents.scripts:
        yield "# These scripts run in JMeter; the line below them permits it. Their connections to other hosts are"
        yield "# refused; those of programs that they start are refused or watched, and the report says which."
        yield "# Read the scripts, and remove the line if you do not trust them."
        for script in contents.scripts:
            at = f" (line {script.line})" if script.line else ""
            size = f", {units.plural(script.lines, 'line')}" if script.lines else ""
            yield f"#   {toml_comment(script.path)}{at}: {script.kind}{size}"
        yield "scripts = true"
    if contents.has_other_protocols:
        yield "# The plan has elements besides HTTP requests, such as JDBC or a Backend Listener. This permits them:"
        yield "# other_protocols = true"
