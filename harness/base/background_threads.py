"""Threads that work beside a load, from entering to leaving a block."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Self

# Waits for seconds; returns True at once when the block ends.
Wait = Callable[[float], bool]


class BackgroundThreads:
    """Runs functions, by the names of their threads, from entering to leaving it; leaving waits for their ends."""

    def __init__(self, works: Mapping[str, Callable[[Wait], None]]) -> None:
        self._over = threading.Event()
        self._threads = [
            threading.Thread(target=work, args=(self._over.wait,), name=name, daemon=True)
            for name, work in works.items()
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()
