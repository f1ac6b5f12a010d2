"""What virtual threads do, from thread dumps that a JVM wrote as text one after another.

A thread that is in the same place in dumps after one another has been there from halfway to the dump before until
halfway to the dump after.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

# Java 21 writes neither state nor time. A thread without a name has the name "".
_HEADER = re.compile(r'#(\d+) "(.*)" virtual(?: ([A-Z_]+))?(?: .*)?')
# Objects at which threads park or block have a number in each dump, which would make every stack another one.
_OBJECT = re.compile(r"@[0-9a-f]+>")
_STACKS_MOST = 100_000


@dataclass
class _Stay:
    """A thread at the same place since an instant (µs)."""

    name: str
    state: str
    stack: int
    since_us: int


@dataclass
class DumpedThreads:
    """Turns dumps into lines for VirtualThreads.java: what each virtual thread did from when to when."""

    most: int = 0
    count: int = 0
    _stacks: dict[str, int] = field(default_factory=dict)
    _staying: dict[str, _Stay] = field(default_factory=dict)
    _last_us: int = 0

    def add(self, text: str, at_us: int) -> Iterator[str]:
        """Yield the lines that are known with the dump of an instant (µs)."""
        yield f"A\t{at_us}\n"
        between_us = (self._last_us + at_us) // 2 if self._last_us else at_us
        before, self._staying = self._staying, {}
        for block in text.split("\n\n"):
            if '" virtual' not in block.partition("\n")[0]:
                continue
            header, _, body = block.strip("\n").partition("\n")
            match = _HEADER.fullmatch(header)
            if not match:
                continue
            thread, name, state = match[1], match[2].replace("\t", " "), match[3] or ""
            body = _OBJECT.sub("@>", body)
            stack = self._stacks.get(body)
            if stack is None:
                if len(self._stacks) == _STACKS_MOST:
                    continue
                stack = self._stacks[body] = len(self._stacks)
                yield f"S\t{stack}\t{_frames(body)}\n"
            stay = before.get(thread)
            if stay and (stay.state, stay.stack) == (state, stack):
                self._staying[thread] = before.pop(thread)
            else:
                self._staying[thread] = _Stay(name, state, stack, between_us)
        for thread, stay in before.items():
            yield _line(thread, stay, between_us)
        self._last_us = at_us
        self.count += 1
        self.most = max(self.most, len(self._staying))

    def end(self) -> Iterator[str]:
        """Yield the lines of the threads in the last dump."""
        for thread, stay in self._staying.items():
            yield _line(thread, stay, self._last_us)


def _line(thread: str, stay: _Stay, until_us: int) -> str:
    return f"T\t{thread}\t{stay.name}\t{stay.state}\t{stay.stack}\t{stay.since_us}\t{until_us}\n"


def _frames(body: str) -> str:
    lines = (line.strip().removeprefix("at ") for line in body.splitlines())
    return ";".join(line.replace("\t", " ").replace(";", ",") for line in lines)
