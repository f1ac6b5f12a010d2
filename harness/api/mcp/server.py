"""The server: the tools of `Answers` over standard input and output, and `run` where loads are allowed."""

from __future__ import annotations

import functools
from collections.abc import Callable
from threading import Event
from typing import Any

from harness import __version__
from harness.api.mcp.answers import Answer, Answers
from harness.api.mcp.files import Loads
from harness.base.config import did_you_mean
from harness.base.errors import HarnessError, UsageError

_INSTRUCTIONS = (
    "Results of load tests. State a number only with its verdict, its interval and its warnings. A verdict of "
    "DOUBTFUL or CANNOT TELL is no answer: explain_doubt says what to do."
)


def serve(answers: Answers, loads: Loads | None) -> None:
    """Answer a client until it closes standard input; without `loads` nothing can be started."""
    from mcp.server.mcpserver import MCPServer  # imported late: an optional package
    from mcp.types import ToolAnnotations

    server = MCPServer("load-test-harness", version=__version__, instructions=_INSTRUCTIONS, log_level="WARNING")
    for name in ("list_runs", "run_result", "report", "compare", "plans", "explain_doubt"):
        server.add_tool(_told(getattr(answers, name)), annotations=ToolAnnotations(read_only_hint=True))
    if loads:
        server.add_tool(_runner(answers, loads), name="run", annotations=ToolAnnotations(read_only_hint=False))
    server.run("stdio")


def _told(tool: Callable[..., Answer]) -> Callable[..., Any]:
    """Return a tool whose errors reach the client as one line."""
    from mcp.server.mcpserver.exceptions import ToolError

    @functools.wraps(tool)
    def told(*arguments: Any, **named: Any) -> Answer:
        try:
            return tool(*arguments, **named)
        except HarnessError as error:
            raise ToolError(str(error)) from None

    return told


def _runner(answers: Answers, loads: Loads) -> Callable[..., Any]:
    from anyio import to_thread  # imported late: mcp brings it

    def load(plan: str, users: int, duration: str, stop: Event) -> Answer:
        plans = [one["plan"] for one in answers.plans()["plans"]]
        if plan not in plans:
            raise UsageError(f"{plan}: no plan of this project", f"{did_you_mean(plan, plans)}there are: {plans}")
        return answers.run_result(loads.run(plan, users, duration, stop))

    async def run(plan: str, users: int, duration: str) -> Answer:
        """Run a plan of the project with a number of users for a time such as 2m, and return its result."""
        stop = Event()
        try:
            return await to_thread.run_sync(_told(load), plan, users, duration, stop, abandon_on_cancel=True)
        finally:
            stop.set()  # the request was cancelled, or the client left

    return run
