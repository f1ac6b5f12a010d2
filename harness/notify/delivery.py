"""Delivers a message to all recipients within a time limit. What is not delivered is reported, and ends nothing."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from harness.base.errors import HarnessError
from harness.base.http_client import retried
from harness.base.log import Log
from harness.notify.channels import Channel
from harness.notify.message import Message
from harness.notify.recipients import Recipients

LIMIT_S = 30.0
# A delivery that takes longer logs what it waits for.
_QUIET_S = 2.0
# A server may ask for a longer wait than this; then there is no second attempt.
_LONGEST_WAIT_S = 5.0


def deliver(
    message: Message,
    recipients: Recipients,
    log: Log,
    limit_s: float = LIMIT_S,
    pause: Callable[[float], None] = time.sleep,
) -> tuple[str, ...]:
    """Send a message to all recipients at once, and return one sentence for each that did not get it.

    Every channel has up to four attempts, and all of them together at most `limit_s`. What happened is logged.
    """
    problems = {channel.name: f"{channel.name}: no answer within {limit_s:g} s" for channel in recipients.channels}

    def work(channel: Channel) -> None:
        try:
            retried(lambda: channel.send(message), lambda _: None, pause, _LONGEST_WAIT_S)
        except HarnessError as error:
            problems[channel.name] = str(error)
        except Exception as error:  # noqa: BLE001 - the thread's error is a line of the report
            problems[channel.name] = f"{channel.name}: the message could not be made ({type(error).__name__})"
        else:
            del problems[channel.name]

    # Daemons: what hangs in the network must not outlast the command.
    threads = [threading.Thread(target=work, args=(channel,), daemon=True) for channel in recipients.channels]
    for thread in threads:
        thread.start()
    ends_s = time.monotonic() + limit_s
    _join(threads, min(_QUIET_S, limit_s))
    waiting = [channel.name for channel, thread in zip(recipients.channels, threads, strict=True) if thread.is_alive()]
    if waiting:
        log(f"sending the result to {' and '.join(waiting)}: at most {limit_s:g} s")
        _join(threads, ends_s - time.monotonic())
    failed = dict(problems)  # a late thread must not change what is returned
    sent = [channel.name for channel in recipients.channels if channel.name not in failed]
    if sent:
        log(f"sent to {' and '.join(sent)}")
    undelivered = (*recipients.unset, *failed.values())
    for problem in undelivered:
        log(f"not delivered: {problem}")
    return undelivered


def _join(threads: list[threading.Thread], limit_s: float) -> None:
    """Wait until the threads end, together at most `limit_s`."""
    ends_s = time.monotonic() + limit_s
    for thread in threads:
        thread.join(max(0.0, ends_s - time.monotonic()))
