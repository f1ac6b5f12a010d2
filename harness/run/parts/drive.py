"""Drives the parts of a run on their machines as one JMeter: connects and starts them, and collects what they have."""

from __future__ import annotations

import contextlib
import os
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness import __version__
from harness.base import units
from harness.base.errors import UsageError
from harness.base.interrupts import Interrupts
from harness.base.log import Log
from harness.base.project import PACKAGE
from harness.base.secrets import mask_secrets
from harness.base.units import MS_PER_S
from harness.jtl.sample import Sample, samples_name
from harness.metrics.wake_delays import WakeDelays
from harness.plan.division import shares
from harness.plan.load.model import Load
from harness.plan.spec import RunSpec, Target
from harness.run.directory import RunDirectory
from harness.run.group_counts import GroupCounts
from harness.run.jmeter.process import JMeterHome, StopLimits, TearDown
from harness.run.jmeter.progress import JtlTail, Tails
from harness.run.other_runs import WHOLE_VARIABLE
from harness.run.parts import bundle, relay
from harness.run.parts.channel import Channel, Rows
from harness.run.parts.left import locked
from harness.run.parts.part import MachinePart
from harness.run.parts.places import Place
from harness.run.parts.stored_files import store_files
from harness.run.record import FINISHED, DeathRecord, GeneratorRecord, RowsRecord, RunRecord
from harness.run.telemetry.processes import process_at

if TYPE_CHECKING:
    from harness.run.request import Request

_HELLO_S = 30.0
_SEND_S = 600.0
# Python, the plan's checks and an answer of the target, also on a busy machine.
_READY_S = 120.0
# A message arrives within this time, and JMeter sees it.
_LEAD_S = 1.0
_WAIT_S = 0.2
# After a load was asked twice to end.
_LAST_S = 20.0
_LIBRARIES = {"PYTHONPATH": "{tool}"}


@dataclass(frozen=True)
class PartsEnd:
    """How all parts ended: why they were no run together, the exit codes of their JMeters, and runs beside them.

    `http_requests`, `left_out_arrivals`, `rows`, `groups` and `wake_delays` are the sums of the parts; `deaths` are
    those of all.
    """

    reasons: tuple[str, ...]
    exit_codes: Mapping[str, int]
    other_runs: tuple[str, ...]
    http_requests: Mapping[str, int]
    left_out_arrivals: int
    deaths: tuple[DeathRecord, ...]
    rows: RowsRecord | None
    groups: tuple[GroupCounts, ...]
    wake_delays: WakeDelays | None


class PartMachines:
    """The parts of a run: connected at once, and ended with the channel however the harness ends.

    It has the methods of a JMeter that the harness drives. A UsageError names the part, before any load.
    """

    def __init__(self, places: Sequence[Place], jmeter: JMeterHome, log: Log) -> None:
        self._log = log
        self._request: Request | None = None
        self._arguments: Sequence[str] = ()
        self._stack = contextlib.ExitStack()
        self.teardown = TearDown(Path(os.devnull))
        # Those of the next run, and all.
        self._parts: list[MachinePart] = []
        self._all: list[MachinePart] = []
        try:
            self._parts = self._all = [MachinePart(place, Channel(place)) for place in places]
            self._each(self._greet)
            folders = {} if all(part.has_tool for part in self._parts) else bundle.folders(jmeter)
            stamps = {name: bundle.stamp(files) for name, files in folders.items()}
            self._each(lambda part: self._connect(part, folders, stamps))
        except BaseException:
            self.close()
            raise

    def __len__(self) -> int:
        return len(self._parts)

    def take(self, request: Request, arguments: Sequence[str], count: int | None = None) -> None:
        """Set what the next run is: its request, the arguments of each part, and how many parts there are (all)."""
        self._request, self._arguments, self._parts = request, arguments, self._all[:count]
        for part in self._all:
            part.record, part.moved_ms = None, None

    @property
    def is_lost(self) -> bool:
        """Whether a machine cannot be reached any more."""
        return any(part.channel.check() for part in self._all)

    def _each(self, act: Callable[[MachinePart], object]) -> None:
        """Do something with all parts at once; the first error in their order is raised."""
        with ThreadPoolExecutor(len(self._parts)) as pool:
            waiting = [pool.submit(act, part) for part in self._parts]
            try:
                for done in waiting:
                    done.result()
            except BaseException:  # Ctrl-C as well; the others wait no longer
                for part in self._parts:
                    part.channel.close(at_once=True)
                raise

    def _greet(self, part: MachinePart) -> None:
        hello = self._answer(part, "hello", _HELLO_S)
        part.machine = hello["machine"]
        if part.place.has_tool:
            part.tool = str(PACKAGE.parent)
        elif hello["tool"] == __version__:
            part.tool = "{here}"
        elif hello["system"] != relay.system():
            what = f"--on: {part.name} has {hello['system']}, this machine {relay.system()}"
            raise UsageError(what, "start the parts by hand: lth run PLAN --part 1/2; see lth help generators")

    def _connect(self, part: MachinePart, folders: Mapping[str, bundle.Files], stamps: Mapping[str, str]) -> None:
        part.channel.send("begin", folders={} if part.has_tool else stamps)
        for name in self._answer(part, "lacks", _HELLO_S)["names"]:
            if name not in folders:
                raise UsageError(f"--on: {part.name} cannot be used: it asks for {name}, which is no folder of ours")
            archive = bundle.archive(folders[name])
            self._log(f"{part.name}: sending {name}, {units.mb_text(len(archive))} MB, once")
            part.channel.send("folder", archive, name=name)
            self._answer(part, "has", _SEND_S)

    def _measure_clock(self, part: MachinePart) -> None:
        part.ahead_ms = part.channel.measure_clock() or 0

    def _answer(self, part: MachinePart, kind: str, within_s: float) -> Mapping[str, Any]:
        message = part.channel.receive(kind, within_s)
        if message is None:
            what = f"--on: {part.name} cannot be used: {part.channel.lost}"
            raise UsageError(what, f"see whether this works: {part.place.by_hand}")
        return message[0]

    def begin(self, spec: RunSpec, target: Target, directory: RunDirectory, run_id: str) -> None:
        """Start all parts; each checks plan and target, starts JMeter's command, and waits."""
        assert self._request
        self._stack.close()
        self._stack.enter_context(locked(directory.path))
        self._each(self._measure_clock)
        project = bundle.archive(bundle.project(self._request, target.url))
        database = spec.profile.database
        secrets = {**spec.secrets, **({database.password_name: database.password} if database else {})}
        since_ms = time.time() * MS_PER_S
        for number, part in enumerate(self._parts, start=1):
            self._receive_into(directory, number, part.ahead_ms, since_ms)
            argv = [
                f"{part.tool}/harness/__main__.py",
                *(
                    "run",
                    f"--plan={spec.plan.name}",
                    f"--env={spec.profile.name}",
                    f"--target={target.url}",
                    *self._arguments,
                ),
                *(f"--part={number}/{len(self)}", "--start-at={work}/start", "--result={work}/result.json"),
                *("--reports={work}/reports", "--home={work}/project", "--compare=0"),
            ]
            caches = (
                {} if part.has_tool else {"XDG_CACHE_HOME": "{tool}/cache", "JMETER_HOME": "{jmeter}", **_LIBRARIES}
            )
            # The launcher has asked; what it sends is what its user trusts.
            environment = {WHOLE_VARIABLE: run_id, "LTH_TRUST": "1", **caches}
            run = f"{run_id}-{number}"
            part.channel.send("start", project, run=run, argv=argv, environment=environment, secrets=secrets)
        self._each(self._wait_until_ready)
        if unlike := difference({part.name: part.record.versions for part in self._parts if part.record}):
            raise UsageError(f"--on: {unlike}", "install the same on both")

    def _wait_until_ready(self, part: MachinePart) -> None:
        message = part.channel.receive("ready", _READY_S)
        if message is None or message[0]["is"] != "ready":
            reason = message[0]["reason"] if message else part.channel.lost
            raise UsageError(f"part {part.name}: {reason}")
        part.record = part.read(message[1])

    def fetch(self, directory: RunDirectory, run: RunRecord) -> None:
        """Store all that the parts have of a run whose launcher was killed; it ended by itself, or does so now.

        A part that lost its files has the rows that arrived before.
        """
        self._log(f"{run.id}: its launcher was killed; fetching what its parts have")
        for number, (part, stored) in enumerate(zip(self._parts, run.generators, strict=True), start=1):
            since_ms = datetime.fromisoformat(run.started_at).timestamp() * MS_PER_S
            self._receive_into(directory, number, stored.clock_ahead_ms or 0, since_ms)
            part.channel.send("resume", run=f"{run.properties['run_id']}-{number}")
        while self.poll() is None:
            self.wait(1.0)
        ended = self.end(directory)
        mask_secrets(directory.path, self._request.hidden if self._request else ())
        ends = [part.record.ended_at for part in self._parts if part.record and part.record.ended_at]
        run = replace(run, state=FINISHED, ended_at=max(ends, default=run.started_at), interrupted=True)
        directory.write_run(replace(run, exit_codes=ended.exit_codes, other_runs=ended.other_runs))

    def _receive_into(self, directory: RunDirectory, number: int, ahead_ms: int, since_ms: float) -> None:
        part = self._parts[number - 1]
        part.rows = Rows(directory.path / samples_name(number), ahead_ms, since_ms)
        part.channel.on_rows, part.channel.on_file = part.rows.write, part.files.__setitem__

    def launch(self, interrupts: Interrupts) -> PartMachines:
        """Start the load of all parts at one moment, as soon as all have JMeter ready; return what drives them.

        Without a part that ended before, and after an interrupt, there is no start.
        """
        until_s = time.monotonic() + _READY_S
        while not (all(part.channel.is_held for part in self._parts) or interrupts.count or self.failures()):
            time.sleep(_WAIT_S)
            if time.monotonic() > until_s:
                for part in self._parts:
                    part.channel.lost = "" if part.channel.is_held else f"its JMeter did not start in {_READY_S:.0f} s"
        at_ms = (time.time() + _LEAD_S) * MS_PER_S
        for part in self._parts if all(part.channel.is_held for part in self._parts) else ():
            part.channel.send("go", at_ms=at_ms + part.ahead_ms)
        return self

    def records(self, load: Load) -> tuple[GeneratorRecord, ...]:
        """Return the record of each part for run.json."""
        of_parts = [(part, part.record) for part in self._parts if part.record]
        return tuple(
            GeneratorRecord(
                part.name,
                *share,
                jmeter=run.versions["jmeter"],
                java=run.versions["java"],
                clock_ahead_ms=part.ahead_ms,
                is_local=part.machine == relay.machine(),
                host=run.host,
                machine=part.machine,
                clock_moved_ms=part.moved_ms,
                pod=part.place.pod,
            )
            for (part, run), share in zip(of_parts, shares(load, len(self)), strict=True)
        )

    @property
    def versions(self) -> Mapping[str, str]:
        """The versions of JMeter, its plugins and Java, which are the same in all parts."""
        return next(part.record.versions for part in self._parts if part.record)

    def tail(self, directory: RunDirectory, *, is_whole: bool) -> Tails:
        """Return what reads the rows of all parts."""
        names = (samples_name(number) for number in range(1, len(self) + 1))
        return Tails([JtlTail(directory.path / name, is_whole=is_whole) for name in names])

    def active_users(self) -> int | None:
        """Return how many users are active on all machines; None when only the rows say it."""
        counts = [part.channel.users for part in self._parts]
        known = [count for count in counts if count is not None]
        return sum(known) if len(known) == len(counts) else None

    def poll(self) -> int | None:
        """Return 0 when all parts have ended and their files are here; None before."""
        is_over = all(part.channel.ended is not None or part.channel.check() for part in self._parts)
        return 0 if is_over else None

    def wait(self, seconds: float) -> int | None:
        """Return 0 when all parts end; None when one still runs after `seconds`."""
        until_s = time.monotonic() + seconds
        while self.poll() is None and time.monotonic() < until_s:
            time.sleep(_WAIT_S)
        return self.poll()

    def stop(
        self,
        limits: StopLimits,
        new_samples: Callable[[], Sequence[Sample]] = tuple,
        hurry: Callable[[], bool] = lambda: False,
    ) -> int:
        """End the load of all parts: gracefully, then at once, then by a kill; return 0."""
        patience = ((limits.samples_s + limits.teardown_s, hurry, False), (limits.term_s + _LAST_S, _never, False))
        for seconds, is_enough, kill in (*patience, (_LAST_S, _never, True)):
            until_s = time.monotonic() + seconds
            for part in self._parts if self.poll() is None else ():
                part.channel.send("stop", kill=kill)
            while self.poll() is None and time.monotonic() < until_s and not is_enough():
                new_samples()
                self.wait(1.0)
        return 0

    def failures(self) -> tuple[str, ...]:
        """Return a line for each part that was lost, or did not do its share."""
        return tuple(filter(None, (part.problem() for part in self._parts)))

    def end(self, directory: RunDirectory) -> PartsEnd:
        """Store in the run directory what all parts have: telemetry, failed requests, logs, what the plan saved."""
        for part in self._parts:
            if part.channel.ended is None:
                part.channel.lost = part.channel.check() or "it did not end"
            if part.rows:
                with contextlib.suppress(ValueError):  # the part is lost already
                    part.rows.close()
            if part.channel.ended and not part.channel.lost:
                ahead_ms = part.channel.measure_clock()
                part.moved_ms = None if ahead_ms is None else ahead_ms - part.ahead_ms
        self._find_copies()
        store_files(self._parts, directory)
        reasons = self.failures()
        runs = {part.name: part.record for part in self._parts if part.record}
        own = tuple(f"{run.id}," for run in runs.values())
        others = dict.fromkeys(one for run in runs.values() for one in run.other_runs if not one.startswith(own))
        codes = {
            process_at(process, name): code
            for name, run in runs.items()
            for process, code in (run.exit_codes or {}).items()
        }
        for part in self._parts:
            if part.channel.ended:
                part.channel.send("end")
                part.channel.reset()
            part.files, part.rows = {}, None
        counts = sum((Counter(run.http_requests) for run in runs.values()), Counter[str]())
        left_out = sum(run.left_out_arrivals for run in runs.values())
        rows = RowsRecord.of_all([part.record.rows if part.record else None for part in self._parts])
        of_parts = [(part.ahead_ms, part.record.groups if part.record else ()) for part in self._parts]
        groups = GroupCounts.of_all(of_parts)
        late = WakeDelays.of_all(
            [(one.ahead_ms, one.record.wake_delays if one.record else None) for one in self._parts]
        )
        return PartsEnd(reasons, codes, tuple(others), counts, left_out, self._deaths(), rows, groups, late)

    def _deaths(self) -> tuple[DeathRecord, ...]:
        """Return what died in all parts, with times by the clock of this machine."""
        of_parts = [(part.ahead_ms, one) for part in self._parts if part.record for one in part.record.deaths]
        return tuple(replace(one, first_ms=one.first_ms - ahead_ms) for ahead_ms, one in of_parts)

    def _find_copies(self) -> None:
        """Note the parts whose rows are those of an earlier one: they count twice."""
        first: dict[bytes, str] = {}
        for part in self._parts:
            if part.rows and (digest := part.rows.digest):
                other = first.setdefault(digest, part.name)
                if other != part.name:
                    part.rows.problem = part.rows.problem or f"it sent the same rows as {other}"

    def close(self) -> None:
        """Close all channels: what still runs there ends by itself."""
        self._stack.close()
        for part in self._all:
            part.channel.close()

    def __enter__(self) -> PartMachines:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _never() -> bool:
    return False


def difference(parts: Mapping[str, Mapping[str, str]]) -> str:
    """Return how the versions of the first part and another one differ, by the names of the parts; "" for not at all.

    A Java of the same release is the same: its updates do not change the load.
    """
    (first, own), *others = parts.items()
    for name, versions in others:
        for program, version in own.items():
            theirs = versions.get(program, "not")
            is_java = program == "java"
            if (version.partition(".")[0] if is_java else version) != (theirs.partition(".")[0] if is_java else theirs):
                title = {"java": "Java", "jmeter": "JMeter"}.get(program, program)
                return f"{first} has {title} {version}, {name} has {theirs}"
    return ""
