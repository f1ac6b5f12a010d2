"""The plan of several thread groups."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.several import BROWSE, BUY, SPIKE, several_jmx


@pytest.fixture
def plans(tmp_path: Path) -> Path:
    (tmp_path / "plans").mkdir()
    (tmp_path / "plans" / "tiny.jmx").write_text(several_jmx(BROWSE, SPIKE, BUY))
    return tmp_path / "plans"
