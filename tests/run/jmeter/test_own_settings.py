"""JMeter takes its settings from its home, never from the folder of a run, where files of the plan are."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from harness.base.install.toolchain import ensure_jmeter
from harness.base.project import SHIPPED
from harness.run.directory import PLAN_NAME
from harness.run.jmeter.command import jmeter_arguments, settings_options
from harness.run.jmeter.process import free_udp_port
from tests.support.off_host import element, jmx
from tests.support.processes import QUICK_JAVA

pytestmark = pytest.mark.real
_LOGGING = """<Configuration><Appenders><File name="f" fileName="{marker}"><PatternLayout/></File></Appenders>
<Loggers><Root level="info"><AppenderRef ref="f"/></Root></Loggers></Configuration>"""


def _markers(folder: Path, options: tuple[str, ...]) -> set[str]:
    """Run a plan in a folder with settings of its own that leave markers; return those that are there."""
    folder.mkdir()
    (folder / "evil.bsh").write_text(f'new java.io.File("{folder}/marker-code").createNewFile();')
    (folder / "user.properties").write_text("beanshell.init.file=evil.bsh\n")
    (folder / "system.properties").write_text("evil=true\n")
    (folder / "log4j2.xml").write_text(_LOGGING.format(marker=folder / "marker-log"))
    says = "${__groovy(new File('marker-system').text = System.getProperty('evil'))}"
    sampler = element("DebugSampler", "Debug")
    (folder / PLAN_NAME).write_text(jmx(sampler).replace('"Debug"', f'"{says}"'))
    home = ensure_jmeter()
    properties = {"users": "1", "loops": "1", "duration_s": "0"}
    command = jmeter_arguments(home, SHIPPED / "jmeter" / "jmeter.properties", properties, free_udp_port(), options)
    environment = {**os.environ, **QUICK_JAVA, "HEAP": "-Xmx256m"}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    if (folder / "marker-system").is_file() and (folder / "marker-system").read_text() != "true":
        (folder / "marker-system").unlink()
    return {path.name for path in folder.glob("marker-*")}


def test_files_in_the_folder_of_a_run_are_no_settings_of_jmeter(tmp_path):
    folder = tmp_path / "set tings-ä"
    folder.mkdir()
    assert _markers(tmp_path / "without", ()) >= {"marker-code", "marker-log"}  # as JMeter does it by itself
    assert _markers(tmp_path / "with", settings_options(ensure_jmeter(), folder)) == set()


def test_the_settings_of_the_home_itself_count(tmp_path):
    home, folder = tmp_path / "home-ü", tmp_path
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "jmeter.properties").write_text("a=1\nuser.properties=user.properties\n")
    options = settings_options(home, folder)
    assert options == ("-p", str(folder / "jmeter.properties"))
    lines = (folder / "jmeter.properties").read_text(encoding="ascii").splitlines()
    assert lines[0] == "a=1"
    path = lines[-2].removeprefix("user.properties=").encode().decode("unicode_escape")
    assert path == str((home / "bin" / "user.properties").resolve())
