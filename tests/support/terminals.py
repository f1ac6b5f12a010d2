"""A program in a terminal of its own, and the screen that its output leaves."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
from collections.abc import Sequence
from typing import NamedTuple

# A control sequence, or other text up to the next one.
_PART = re.compile(r"\x1b\[([\d;?]*)([A-Za-z])|([^\x1b]+)")


class InTerminal(NamedTuple):
    """What a program wrote on its terminal, and its exit code."""

    text: str
    exit_code: int


def in_terminal(columns: int, command: Sequence[object], **environment: str) -> InTerminal:
    """Run a program on a terminal of so many columns; its standard error is dropped."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    variables = {name: value for name, value in os.environ.items() if name != "NO_COLOR"} | environment
    for name in ("COLUMNS", "LINES"):
        variables.pop(name, None)
    with subprocess.Popen(
        [str(word) for word in command],
        stdout=theirs,
        stderr=subprocess.DEVNULL,
        env={**variables, "TERM": "xterm-256color"},
    ) as process:
        os.close(theirs)
        written = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # how Linux reports that the other end is closed
                break
            if not part:
                break
            written += part
    os.close(ours)
    return InTerminal(written.decode().replace("\r\n", "\n"), process.returncode)


def screen(written: str) -> list[str]:
    """Return the lines that a terminal shows after this output; it is as wide and as high as they need."""
    rows, row, column = [""], 0, 0
    for match in _PART.finditer(written.replace("\n", "\r\n")):
        count, command, text = match.groups()
        if command == "A":
            row -= int(count or 1)
        elif command == "K":
            assert count == "2", "other parts of a line are not supported"
            rows[row] = ""
        else:
            assert command in (None, "m", "h", "l"), f"unknown control sequence {command}"
        for letter in text or "":
            if letter == "\n":
                row += 1
                rows += [""] if row == len(rows) else []
            elif letter == "\r":
                column = 0
            else:
                rows[row] = rows[row].ljust(column)[:column] + letter + rows[row][column + 1 :]
                column += 1
    return rows
