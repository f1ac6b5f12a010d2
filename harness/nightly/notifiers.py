"""Lists the notifiers of nightly runs. To add one, write a module with a Notifier and add it to NOTIFIERS."""

from __future__ import annotations

from harness.base.errors import HarnessError
from harness.base.log import Log
from harness.nightly.notice import Notice, Notifier
from harness.nightly.step_summary import append_step_summary

NOTIFIERS: tuple[Notifier, ...] = (append_step_summary,)


def notify_all(notice: Notice, log: Log) -> None:
    """Send the notice to every notifier. A notifier that fails is reported; the others still get the notice."""
    for notify in NOTIFIERS:
        try:
            notify(notice)
        except (HarnessError, OSError) as error:
            log(str(error))
