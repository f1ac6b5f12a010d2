"""The services of a run in its report: who took part, the load of databases, and what could not be gathered."""

from __future__ import annotations

from harness.base import units
from harness.cloudwatch.services import DatabaseLoad, Missing, Participant, Services
from harness.report.charts.cloudwatch import NOT_KNOWN
from harness.report.tables import cell, table


def missing_text(missing: Missing) -> str:
    """Return what is missing, why, and the right that the credentials need, without a full stop."""
    todo = f"; these credentials need {missing.right}: see lth help cloudwatch" if missing.right else ""
    return f"{missing.source}: {missing.resource}: {missing.reason}{todo}"


def services_text(services: Services | None, source: str) -> str:
    """Return the Markdown of the services of the run `source`: participants, databases, what is missing; else empty."""
    if services is None:
        return ""
    parts = [_participants_text(services.participants)] if services.participants else []
    parts += [_database_text(one) for one in services.databases]
    if services.missing:
        lines = "\n".join(f"- {cell(missing_text(one))}." for one in services.missing)
        parts.append(f"Missing; `lth metrics {source}` fetches again:\n\n{lines}")
    return "\n\n".join(parts)


def _participants_text(participants: tuple[Participant, ...]) -> str:
    rows = [
        [cell(f"{one.cluster}/{one.service}"), _tenths(one.cpu_before_percent), _tenths(one.cpu_percent)]
        for one in participants
        if one.took_part
    ]
    unknown = sum(one.took_part is None for one in participants)
    lines = [f"{len(rows)} of {units.plural(len(participants), 'service')} took part."]
    if unknown:
        why = "CloudWatch has no CPU of them, or another run of the plan ended in the ten minutes before"
        lines.append(f"Of {unknown} it is not known: {why}.")
    rule = (
        "A service took part when its CPU in the window was at least 1 percentage point above its highest minute of "
        "the ten before the load. The table of metrics leaves out the others."
    )
    shown = [table(("service that took part", "CPU % before", "CPU %"), rows)] if rows else []
    return "\n\n".join([" ".join(lines), *shown, rule])


def _database_text(database: DatabaseLoad) -> str:
    waits = [[cell(one.wait), _sessions(one.average_sessions)] for one in database.waits]
    statements = [
        [
            cell(statement.text or statement.id),
            _sessions(statement.average_sessions),
            NOT_KNOWN if statement.calls_per_s is None else units.rate_text(statement.calls_per_s),
            NOT_KNOWN if statement.ms_per_call is None else units.ms_text(statement.ms_per_call, 2),
        ]
        for statement in database.sql
    ]
    parts = [f"**Load of {cell(database.name)}** (Performance Insights, in the measurement window)"]
    if not waits and not statements:
        parts.append("It lists no waits and no statements.")
    if waits:
        parts.append(table(("wait", "average active sessions"), waits))
    if statements:
        parts.append(table(("statement", "average active sessions", "calls/s", "ms per call"), statements))
    return "\n\n".join(parts)


def _sessions(value: float | None) -> str:
    return NOT_KNOWN if value is None else f"{value:.2f}"


def _tenths(value: float | None) -> str:
    return NOT_KNOWN if value is None else f"{value:.1f}"
