"""The harness's exceptions. Each says what is wrong and where, what to do about it, and sets the exit code.

Exit codes of every command: 0 success, 1 regression or missed goal, 2 wrong use or bad input
(nothing was measured), 3 invalid run, 70 error in the harness itself, 130 interrupted by the user.
"""

from __future__ import annotations

from harness.base.plain_text import without_control

EXIT_OK = 0
EXIT_REGRESSED = 1
EXIT_USAGE = 2
EXIT_INVALID = 3
EXIT_BUG = 70
EXIT_INTERRUPTED = 130


class HarnessError(Exception):
    """An error with a message for the user.

    `what` says what is wrong and where; `todo` says what to do; `detail` contains further lines
    (the tail of a log) that are printed below the first line.
    """

    exit_code = EXIT_USAGE

    def __init__(self, what: str, todo: str = "", detail: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.todo = todo
        self.detail = detail

    def __str__(self) -> str:
        line = " ".join((f"{self.what}; {self.todo}" if self.todo else self.what).splitlines())
        return without_control(f"{line}\n{self.detail}" if self.detail else line)


class UsageError(HarnessError):
    """Wrong use or bad input: nothing was started, nothing was measured."""


class StartError(HarnessError):
    """A system or tool did not start: there is nothing to measure."""

    exit_code = EXIT_INVALID


class InvalidRunError(HarnessError):
    """A run finished, but its numbers are not valid."""

    exit_code = EXIT_INVALID


class ServiceError(HarnessError):
    """An external service such as S3 fails or does not answer. The measured data is still on this machine."""

    exit_code = EXIT_INVALID


class UnavailableError(ServiceError):
    """A service that was unreachable or failed at this moment: it may answer later."""
