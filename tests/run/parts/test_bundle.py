"""What the machine of a part gets of a project: the plan, its data, and the jars that it lists."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.base.install import plugins
from harness.base.install.plugin_list import lock_text
from harness.run.parts.bundle import project
from tests.run.jmeter.test_plugins import jar
from tests.support.requests import request_of

PLUGIN = "com.acme:shop-plugin:1.2"


@pytest.mark.parametrize("is_beside_the_plan", [True, False])
def test_jars_and_lock_of_a_plan_go_along(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_beside_the_plan: bool
) -> None:
    monkeypatch.setattr(plugins, "BUILD", tmp_path / "build")
    jar(home / "plans" / "lib" / "own.jar", "com.acme.Buy")
    toml = home / "plans" / "tiny.toml"
    toml.write_text(f'{toml.read_text()}[jmeter]\nplugins = ["{PLUGIN}", "lib/own.jar"]\n')
    request = request_of(home, tmp_path, "tiny", "local", "http://127.0.0.1:8080")
    own = plugins._own_lock(request.plan.plugin_list)
    lock = request.plan.plugin_list.lock if is_beside_the_plan else own
    lock.parent.mkdir(parents=True, exist_ok=True)
    lock.write_text(lock_text((PLUGIN,), [("0" * 64, PLUGIN)]))
    files = project(request, "http://127.0.0.1:8080")
    assert files["plans/lib/own.jar"] == home / "plans" / "lib" / "own.jar"
    assert files["plans/tiny.lock"] == lock
