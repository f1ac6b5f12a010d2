"""Renders the findings and the warnings of a sweep as text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from harness.base import units
from harness.compare.comparison import CANNOT_TELL
from harness.compare.same_work import other_labels
from harness.judge.account import one_state
from harness.judge.verdict import DOUBTFUL, INTERRUPTED
from harness.judge.warnings import (
    RunWarning,
    Severity,
    closed_model,
    warning_kinds,
    without_numbers,
)
from harness.sweep.analysis import SweepAnalysis, outcome
from harness.sweep.drift import drift_of
from harness.sweep.levels import Level, LevelRun, Sweep
from harness.sweep.record import CAPACITY
from harness.sweep.search import MOST_RUNS
from harness.sweep.setting_findings import setting_findings, values_text
from harness.sweep.throughput_curve import CLIFF_RATIO, PLATEAU_RATIO, Cliff
from harness.sweep.usl import LEAST_LEVELS, UslEstimate

_LEVELS_NAMED = 12
# `scripts/bench answers --only find` measures these rates.
SEARCH_RATES = (
    "Of simulated searches at most 2.5 % claim more users than the true limit, and 96 to 100 % have it between the "
    "last level within the goal and the first one that missed it."
)


def users_text(levels: Iterable[int]) -> str:
    """Return numbers of users as text, such as: 1, 5 and 10 users."""
    listed = [str(users) for users in levels] or ["no"]
    named = listed[:_LEVELS_NAMED] + (["…"] if len(listed) > _LEVELS_NAMED else [])
    joined = " and ".join([", ".join(named[:-1]), named[-1]] if len(named) > 1 else named)
    return f"{joined} user{'' if listed == ['1'] else 's'}"


def levels_text(levels: Iterable[Level]) -> str:
    """Return levels as text, such as: 1, 5 and 10 users; delay_ms=10 and 20. Each is named once."""
    listed = list({(level.users, level.setting): level for level in levels}.values())
    if any(level.setting for level in listed):
        return values_text(listed)
    return users_text(level.users for level in listed)


def counted_text(levels: Sequence[Level], label: str = "") -> str:
    """Return the sentence about the measurement window, with the levels whose window is not steady.

    The errors of a single label are those in the window.
    """
    text = "Times and rates cover the measurement window of each run (without ramp-up, warm-up and tail)"
    unsteady = [level for level in levels if any(one_state.LINE.code in run.warning_codes for run in level.counted)]
    if unsteady:
        text += f"; at {levels_text(unsteady)} it is not steady"
    return f"{text}. All values are of {label} alone, errors too." if label else f"{text}. Errors cover the whole run."


def findings(sweep: Sweep, analysis: SweepAnalysis) -> dict[str, str]:
    """Return the findings by name."""
    if sweep.is_of_setting:
        return setting_findings(sweep.levels, analysis.goal)
    if analysis.best_users is None:
        return {"throughput": "unknown at all levels"}
    found = {
        "best throughput": f"{units.rate_text(analysis.best_rate_per_s)} req/s at {users_text([analysis.best_users])}",
        "plateau": _plateau(sweep, analysis),
        "cliff": _cliff(sweep, analysis),
        "saturation": _saturation(sweep, analysis),
        "knee": _knee(analysis),
        "Universal Scalability Law": _usl(analysis, [level.users for level in sweep.levels]),
    }
    return {name: text + _doubtful_text(sweep, _levels_behind(name, analysis)) for name, text in found.items()}


def _levels_behind(name: str, analysis: SweepAnalysis) -> Callable[[int], bool]:
    """Return which levels, by their users, decide a finding; none where nothing is found."""
    plateau, cliff, saturation, knee = analysis.plateau, analysis.cliff, analysis.saturation, analysis.knee
    behind: dict[str, Callable[[int], bool]] = {"best throughput": lambda users: users == analysis.best_users}
    if plateau:
        behind["plateau"] = lambda users: plateau.from_users <= users <= plateau.to_users
    if cliff:
        behind["cliff"] = lambda users: cliff.users <= users <= cliff.next_users
    if saturation:
        behind["saturation"] = lambda users: saturation.from_users <= users <= saturation.to_users
    if saturation and knee:
        behind["knee"] = lambda users: users == 1 or saturation.from_users <= users <= saturation.to_users
    if analysis.usl:
        behind["Universal Scalability Law"] = lambda _: True
    return behind.get(name, lambda _: False)


def _doubtful_text(sweep: Sweep, is_behind: Callable[[int], bool]) -> str:
    """Return which levels of a finding are DOUBTFUL; empty without any."""
    doubtful = [level for level in sweep.levels if level.doubtful and is_behind(level.users)]
    return f"; {DOUBTFUL} at {levels_text(doubtful)}" if doubtful else ""


def _is_last(sweep: Sweep, analysis: SweepAnalysis) -> bool:
    return bool(sweep.levels) and sweep.levels[-1].users == analysis.best_users


def _plateau(sweep: Sweep, analysis: SweepAnalysis) -> str:
    plateau, within = analysis.plateau, f"within {units.percent_text(PLATEAU_RATIO, 0)} % of the best"
    if plateau is None:
        if len(_rates(sweep.levels)) < 2:
            return "unknown: needs at least two levels"
        if _is_last(sweep, analysis):
            return "none: throughput still rises at the last level; repeat with more users"
        return f"none: no neighbour of the best level is {within}"
    text = f"{plateau.from_users} to {plateau.to_users} users, {within}"
    return f"{text}; it may continue beyond the last level" if plateau.is_open else text


def _saturation(sweep: Sweep, analysis: SweepAnalysis) -> str:
    saturation = analysis.saturation
    if saturation is not None:
        rate = units.rate_text(saturation.rate_per_s)
        return f"saturated at {rate} req/s from about {units.plural(saturation.from_users, 'user')}"
    if len(_rates(sweep.levels)) < 2:
        return "unknown: needs at least two levels"
    if _is_last(sweep, analysis):
        return "none: throughput still rises at the last level"
    return "none: no range of levels has the same throughput"


def _cliff(sweep: Sweep, analysis: SweepAnalysis) -> str:
    cliff = analysis.cliff
    if cliff is not None:
        fall, beyond = f"{units.percent_text(cliff.fall_ratio, 1)} %", _beyond(analysis, cliff)
        if not cliff.is_certain:
            again = ", which is less than the difference between runs"
            again = " in one run: repeat (--repeat=3)" if cliff.is_single else again
            lower = f"throughput was {fall} lower at {cliff.next_users} users than at {cliff.users}"
            return f"none certain: {lower}{again}"
        if cliff.is_gradual:
            which = " (--repeat=3 can show which)" if cliff.is_single else ""
            falls = f"throughput falls from {cliff.users} to {cliff.next_users} users by {fall}"
            return f"no certain step: {falls}, at once or gradually{which}; then {beyond}"
        after = units.plural(cliff.users, "user")
        return f"after {after}: at {cliff.next_users} throughput is {fall} lower; beyond it: {beyond}"
    if len(_rates(sweep.levels)) < 2:
        return "unknown: needs at least two levels"
    if _is_last(sweep, analysis):
        return "none: the last level is the best"
    last, best = _rates(sweep.levels)[-1], analysis.best_rate_per_s
    least = units.percent_text(CLIFF_RATIO, 0)
    text = f"none: from the best level on, no level is more than {least} % below the one before"
    if best and last < best * (1 - CLIFF_RATIO):
        text += f"; in small steps throughput falls to {units.percent_text(1 - last / best, 1)} % below the best"
    return text


def _beyond(analysis: SweepAnalysis, cliff: Cliff) -> str:
    low, high = units.rate_text(cliff.lowest_per_s), units.rate_text(cliff.highest_per_s)
    below = units.percent_text(1 - cliff.lowest_per_s / (analysis.best_rate_per_s or 1), 1)
    rates = f"{low} req/s" if low == high else f"{low} to {high} req/s"
    return f"{rates}, at most {below} % below the best"


def _rates(levels: Sequence[Level]) -> list[float]:
    return [rate for level in levels if not level.invalid and (rate := level.figures.success_rate_per_s) is not None]


def _knee(analysis: SweepAnalysis) -> str:
    knee, saturation = analysis.knee, analysis.saturation
    if saturation is None:
        return "unknown: no saturation was found"
    if knee is None:
        return "unknown: needs a level of 1 user, whose requests do not wait for each other"
    users = knee.users
    ends = f"{users.low or 0:.3g} to {users.high or 0:.3g}"
    if knee.assumed_cv is not None:
        ends += f", if single runs differ by {units.percent_text(knee.assumed_cv, 0)} %"
    product = f"{units.rate_text(saturation.rate_per_s)} req/s × {units.ms_text(knee.round_ms)} ms"
    why = "the time of an iteration at 1 user; with more users, most of the time is waiting time"
    return f"N* = {users.value:.3g} users ({ends}): {product}, {why}"


def _usl(analysis: SweepAnalysis, users: Sequence[int]) -> str:
    fit = analysis.usl
    if fit is None:
        return f"not fitted: needs at least {LEAST_LEVELS} levels"
    square = "" if fit.r_squared is None else f"R² {fit.r_squared:.2f}, "
    parts = f"γ = {_estimate(fit.gamma_per_s)} req/s, α = {_estimate(fit.alpha)}, β = {_estimate(fit.beta)}"
    worst = f"{units.percent_text(fit.worst_ratio, 1)} % of the best, at {units.plural(fit.worst_users, 'user')}"
    parts = f"{parts} (95 % intervals); {square}largest distance from the curve: {worst}"
    if not fit.follows:
        return f"{parts}: the law does not fit (it cannot follow a cliff or a sharp bend): no peak"
    if fit.peak_users is not None:
        peak = fit.peak_users
        at = f"{peak.value:.0f} users ({_end(peak.low, '.0f')} to {_end(peak.high, '.0f')})"
        return f"{parts}; peak at {at}, {units.rate_text(fit.rate_per_s(peak.value))} req/s"
    limit = fit.limit_per_s
    tail = f"; it levels off towards {units.rate_text(limit)} req/s" if limit is not None else ""
    if fit.falls:
        return f"{parts}; throughput falls, but the levels do not determine where its peak is{tail}"
    return f"{parts}; no peak: throughput does not fall by more than noise, {users[0]} to {users[-1]} users{tail}"


def _estimate(found: UslEstimate) -> str:
    return f"{_end(found.value)} ({_end(found.low)} to {_end(found.high)})"


def _end(value: float | None, form: str = ".4g") -> str:
    return "?" if value is None else f"{value:{form}}"


def warnings_of(sweep: Sweep, analysis: SweepAnalysis) -> list[str]:
    """Return every warning about a sweep as a sentence, the most serious first."""
    return [*doubts_of(sweep, analysis), *notes_of(sweep)]


def doubts_of(sweep: Sweep, analysis: SweepAnalysis) -> list[str]:
    """Return the warnings that weaken the answer, the most serious first."""
    return [
        *dict.fromkeys(note for record in sweep.records for note in record.plan_notes),
        *_of_record(sweep),
        *_of_levels(sweep.levels),
        *_of_work(sweep),
        *([drift.text] if (drift := drift_of(sweep)) else []),
        *_of_answer(sweep, analysis),
        *(f"The runs differ in {name}: {', '.join(values)}." for name, values in differing(sweep).items()),
        *sweep.remarks,
    ]


def _of_record(sweep: Sweep) -> Iterator[str]:
    record = sweep.record
    if record is None:
        return
    missing = ", ".join(sweep.missing_settings) or (users_text(sweep.missing_users) if sweep.missing_users else "")
    if missing:
        yield f"Missing: {missing}. The findings cover only the other levels."
    if record.stop_reason:
        yield f"The sweep stopped early: {record.stop_reason}."
    if record.kind == CAPACITY and len(record.measured) >= MOST_RUNS:
        yield f"The search ended after {MOST_RUNS} runs, before the limit was settled."
    short = [level for level in sweep.levels if record.users and len(level.runs) < record.repeat]
    if short and record.repeat > 1:
        yield f"Fewer than {record.repeat} runs at {levels_text(short)}."


def _of_levels(levels: Sequence[Level]) -> Iterator[str]:
    for level in levels:
        for run in level.invalid:
            why = "; ".join(run.verdict.reasons) if run.verdict else ""
            yield f"INVALID at {level.text}: {why} ({run.name}). It is not counted."
    doubtful = [
        (level, "; ".join(run.verdict.reasons))
        for level in levels
        for run in level.counted
        if run.verdict and run.verdict.state == DOUBTFUL
    ]
    for found, why in _alike(doubtful):
        yield f"{DOUBTFUL} at {found}: {why}."
    stopped = [level for level in levels if any(run.verdict and run.verdict.state == INTERRUPTED for run in level.runs)]
    if stopped:
        yield f"Interrupted runs at {levels_text(stopped)} are not counted."


def _of_work(sweep: Sweep) -> Iterator[str]:
    """Yield the levels whose labels, or shares of them, are not those of the first level: TOTAL is of other work."""
    levels = [level for level in sweep.levels if level.counted and not sweep.label]
    found = [(level, text) for level in levels[1:] for text in other_labels(levels[0].counted, level.counted)]
    for where, text in _alike(found):
        yield f"At {where} the work is not that at {levels[0].text}: {text}. Compare label by label."


def _alike(texts: Iterable[tuple[Level, str]]) -> Iterator[tuple[str, str]]:
    """Yield the levels with the same text, or one with other numbers, and the text of the first."""
    by_kind: dict[str, list[tuple[Level, str]]] = {}
    for level, text in texts:
        by_kind.setdefault(without_numbers(text), []).append((level, text))
    for each in by_kind.values():
        first = each[0][1]
        differs = any(text != first for _, text in each)
        yield levels_text(level for level, _ in each), f"{first} (other runs: other numbers)" if differs else first


def _is_separate_warning(warning: RunWarning, run: LevelRun) -> bool:
    """Return whether the verdict of a run does not include its warning."""
    is_doubtful = run.verdict is not None and run.verdict.state == DOUBTFUL
    return not (warning.severity is Severity.DOUBTFUL and is_doubtful)


def differing(sweep: Sweep) -> dict[str, list[str]]:
    """Return the facts that should be equal in all runs of a sweep but differ, with their values in order."""
    records, swept = sweep.records, sweep.setting.rpartition(".")[2]
    facts: dict[str, list[str]] = {
        "plan": [record.plan for record in records],
        "profile": [record.profile for record in records],
        "system": [record.target or record.system for record in records],
        "system settings": [
            str({name: value for name, value in record.system_settings.items() if name != swept}) for record in records
        ],
        "generators": [" ".join(one.name for one in record.generators) or "none" for record in records],
        "think time": [units.duration_text(record.load.think_time_s) for record in records],
        "versions": [", ".join(f"{name} {value}" for name, value in record.versions.items()) for record in records],
        "host": [record.host.cpu_model for record in records],
        "commit": [(record.git_commit or "none")[:12] for record in records],
    }
    return {name: unique for name, values in facts.items() if len(unique := list(dict.fromkeys(values))) > 1}


def _of_answer(sweep: Sweep, analysis: SweepAnalysis) -> Iterator[str]:
    """Yield which levels are undecided because of their number of samples, and which contradict the answer."""
    answer, goal = analysis.answer, analysis.goal
    undecided = {*answer.unsure, *([] if answer.is_missed or answer.next_users is None else [answer.next_users])}
    for level in sweep.levels:
        if goal and level.users in undecided and level.counted and not level.doubtful:
            yield f"{CANNOT_TELL} at {level.text}: {'; '.join(outcome(level, goal).reasons)}."
    if answer.again:
        again = users_text(answer.again).capitalize()
        yield f"{again} would be within the goal although {answer.next_users} are not: repeat these levels."
    if sweep.levels and all(len(level.counted) < 2 for level in sweep.levels):
        yield "One run per level: differences of a few percent between levels may be chance."


def notes_of(sweep: Sweep) -> Iterator[str]:
    """Yield the warnings about a sweep that do not weaken its answer."""
    for kind in warning_kinds().values():
        of_code = [
            (level, warning.brief)
            for level in sweep.levels
            for run in level.counted
            for warning in run.warnings
            if warning.code == kind.code and kind.brief and _is_separate_warning(warning, run)
        ]
        for found, why in _alike(of_code):
            yield f"At {found}: {why}."
    if any(level.figures.error_ratio for level in sweep.levels):
        yield "Throughput in the findings and the chart counts successful samples only; times include failed ones."
    if sweep.record and sweep.record.kind == CAPACITY:
        yield SEARCH_RATES
    if sweep.records:
        yield closed_model.WARNING.full_text
