"""A folder that somebody else has written, and what a run of its plan is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.base.errors import UsageError
from tests.support.off_host import jmx, request
from tests.support.requests import request_of

PLAN = 'format_version = 1\ntitle = "Shop"\nshape = "shop.jmx"\n{keys}\n[load]\nusers = 1\nloops = 1\n{more}\n'
TARGET = "http://127.0.0.1:8098"


class Project:
    """A folder that somebody else has written."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("plans", "env"):
            (folder / name).mkdir(parents=True)
        (folder / "loadtest.toml").write_text("format_version = 1\n")
        (folder / "env" / "local.toml").write_text('format_version = 1\ntitle = "Local"\n')
        self.write()

    def write(self, in_group: str = "", keys: str = "", more: str = "") -> None:
        (self.folder / "plans" / "shop.jmx").write_text(jmx(in_group or request()))
        (self.folder / "plans" / "shop.toml").write_text(PLAN.format(keys=keys, more=more))

    def project(self, text: str) -> None:
        (self.folder / "loadtest.toml").write_text(f"format_version = 1\n{text}\n")
        from harness.base.project import read_project

        read_project.cache_clear()

    def profile(self, text: str) -> None:
        (self.folder / "env" / "local.toml").write_text(f'format_version = 1\ntitle = "L"\n{text}\n')

    def refusal(self, target: str | None = TARGET, **names: object) -> str:
        """Return what resolving a run says, empty when it may go on."""
        try:
            request_of(self.folder, self.folder / "build", "shop", "local", target, **names)  # type: ignore[arg-type]
        except UsageError as error:
            return str(error)
        return ""

    def accept(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with monkeypatch.context() as patch:
            patch.setenv("LTH_TRUST", "yes")
            assert self.refusal(None if "target" in (self.folder / "loadtest.toml").read_text() else TARGET) == ""
