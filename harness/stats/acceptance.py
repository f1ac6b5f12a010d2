"""Changes that were intended: from such a night on a history begins anew."""

from __future__ import annotations

from dataclasses import dataclass

from harness.stats.conditions import Conditions


@dataclass(frozen=True, order=True)
class Acceptance:
    """A change that was intended, from the night `since` (a date, 2026-11-20) on.

    It is of one plan; `users`, `profile`, `label` and `metric` narrow it down, None is all of them.
    """

    since: str
    plan: str
    users: int | None
    profile: str | None
    label: str | None
    metric: str | None
    reason: str

    def covers(self, plan: str, conditions: Conditions, label: str, metric: str) -> bool:
        """Return whether it is of that figure; `label` may be TOTAL."""
        return (
            self.plan == plan
            and self.users in (None, conditions.load.users)
            and self.profile in (None, conditions.profile)
            and self.label in (None, label)
            and self.metric in (None, metric)
        )
