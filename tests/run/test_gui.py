"""scripts/gui: the command that opens a plan, what is refused, and the window itself on a virtual screen."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.commands import command
from tests.support.paths import ROOT, jmeter_home
from tests.support.processes import processes_of
from tests.support.programs import program

# JMeter sets the title to the file when it has put the tree of the plan into the window.
TITLE = "/plans/folio-workflow.jmx) - Apache JMeter"
FAKE = """#!/bin/sh
printf '%s\\n' "$@" >"$RECORD"
echo "headless: $JVM_ARGS, password: $SHOP_PASSWORD" >>"$RECORD"
echo "$SAYS"
exit $CODE
"""


@pytest.fixture
def jmeter(tmp_path: Path) -> Path:
    """A JMeter home whose start script writes its arguments and JVM_ARGS to $RECORD."""
    script = tmp_path / "jmeter" / "bin" / "jmeter"
    script.parent.mkdir(parents=True)
    script.write_text(FAKE)
    script.chmod(0o755)
    return script.parents[1]


@pytest.fixture
def gui(home: Path, jmeter: Path, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run scripts/gui on the tiny plan with that JMeter."""

    def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        variables = {"JMETER_HOME": str(jmeter), "RECORD": str(tmp_path / "record"), "DISPLAY": ":0"}
        variables |= {"CODE": "0", "SAYS": ""}
        given = arguments if "--plan" in arguments else ("--plan", "tiny", *arguments)
        return command("scripts/gui", *given, "--home", home, **{**variables, **environment})

    return run


@pytest.mark.real
def test_the_jmx_itself_is_opened_with_plan_properties_target_and_settings(
    gui: Callable[..., subprocess.CompletedProcess[str]], home: Path, tmp_path: Path
) -> None:
    done = gui("--properties", "httpclient4.retrycount=1", "--target", "http://127.0.0.1:8080/shop")
    assert done.returncode == 0, done.stderr
    assert "tiny.jmx: opened in JMeter" in done.stdout
    arguments = (tmp_path / "record").read_text().splitlines()
    assert arguments[:2] == ["-t", str(home / "plans" / "tiny.jmx")]
    assert str(ROOT / "jmeter" / "jmeter.properties") in arguments
    assert {
        "-Jusers=2", "-Jduration_s=2", "-Jhttpclient4.retrycount=1", "-Jhost=127.0.0.1", "-Jport=8080",
        "-Jbase_path=/shop", "-Jjmeterengine.force.system.exit=false",
    } < set(arguments)  # fmt: skip
    assert "-n" not in arguments
    assert arguments[-1].startswith("headless: ") and "-Djava.awt.headless=false," in arguments[-1]


@pytest.mark.real
def test_a_plan_opens_without_its_secrets_with_a_warning(
    gui: Callable[..., subprocess.CompletedProcess[str]], home: Path, tmp_path: Path
) -> None:
    plan = home / "plans" / "tiny.toml"
    plan.write_text(plan.read_text().replace("[load]", 'secrets = ["SHOP_PASSWORD"]\n[load]'))
    assert "warning: the plan needs SHOP_PASSWORD" in gui(SHOP_PASSWORD="").stdout
    assert gui(SHOP_PASSWORD="hunter2hunter2").returncode == 0
    assert "password: hunter2hunter2" in (tmp_path / "record").read_text()


@pytest.mark.real
def test_any_jmx_is_opened_as_it_is(
    gui: Callable[..., subprocess.CompletedProcess[str]], home: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.jmx"
    shutil.copy(home / "plans" / "tiny.jmx", other)
    assert gui("--plan", str(other)).returncode == 0
    arguments = (tmp_path / "record").read_text().splitlines()
    assert arguments[:2] == ["-t", str(other)] and "-Jusers=2" not in arguments
    refused = gui("--plan", str(other), "--target", "http://127.0.0.1:8080")
    assert (refused.returncode, "--properties and --target need a plan" in refused.stderr) == (2, True)


@pytest.mark.skipif(sys.platform != "linux", reason="only X11 has DISPLAY")
def test_without_a_display_nothing_is_started(
    gui: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    refused = gui(DISPLAY="")
    assert refused.returncode == 2
    assert "no display: DISPLAY is not set, there is no screen for a window; use a desktop session" in refused.stderr
    assert not (tmp_path / "record").exists()


@pytest.mark.real
def test_a_jmeter_that_fails_is_an_error(gui: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    failed = gui(CODE="1")
    assert failed.returncode == 3
    assert "JMeter ended with exit code 1" in failed.stderr


HEADLESS = (
    "java.awt.HeadlessException: \nNo X11 DISPLAY variable was set,\nbut this program performed an operation which "
    "requires it.\n\tat java.desktop/java.awt.GraphicsEnvironment.checkHeadless(GraphicsEnvironment.java:166)\n"
)
UNREACHABLE = "Can't connect to X11 window server using ':97' as the value of the DISPLAY variable"


@pytest.mark.real
@pytest.mark.parametrize(
    ("says", "why"),
    [
        (HEADLESS, "Java has no screen for a window (HeadlessException)"),
        (f"java.awt.AWTError: {UNREACHABLE}.\n\tat sun.awt.X11GraphicsEnvironment", UNREACHABLE),
    ],
)
def test_a_java_that_cannot_open_a_window_is_one_line_and_wrong_use(
    gui: Callable[..., subprocess.CompletedProcess[str]], says: str, why: str
) -> None:
    refused = gui(CODE="1", SAYS=says)
    assert refused.returncode == 2
    assert refused.stderr == f"scripts/gui: no display: {why}; use a desktop session, ssh -X or xvfb-run\n"


@pytest.mark.real
@pytest.mark.skipif(sys.platform != "linux", reason="only X11 has DISPLAY")
def test_the_real_jmeter_on_a_display_that_is_not_there_is_wrong_use(
    gui: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    refused = gui(DISPLAY=":97", JMETER_HOME=str(jmeter_home()))
    assert (refused.returncode, len(refused.stderr.splitlines())) == (2, 1), refused.stderr
    assert "no display: " in refused.stderr or "this Java has no windows (headless)" in refused.stderr


@pytest.fixture
def display() -> Iterator[str]:
    """A virtual screen."""
    xvfb = program("Xvfb", package="xvfb")
    program("xwininfo", package="x11-utils")
    java = Path(os.path.realpath(shutil.which("java") or ""))
    if not (java.parents[1] / "lib" / "libawt_xawt.so").exists():
        pytest.skip("NOT CHECKED: the Java of this machine has no windows")
    command = [xvfb, "-displayfd", "1", "-screen", "0", "1280x900x24"]
    screen = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert screen.stdout is not None
    try:
        yield f":{screen.stdout.readline().strip()}"
    finally:
        screen.terminate()
        screen.wait(timeout=60)


@pytest.mark.counterpart
def test_the_window_comes_up_with_the_tree_of_the_plan(display: str, tmp_path: Path) -> None:
    environment = {**os.environ, "DISPLAY": display, "JMETER_HOME": str(jmeter_home()), "TMPDIR": str(tmp_path)}
    arguments = [sys.executable, str(ROOT / "scripts" / "gui"), "--plan", "folio-workflow"]
    process = subprocess.Popen(arguments, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        windows, until_s = "", time.monotonic() + 90
        while TITLE not in windows and process.poll() is None and time.monotonic() < until_s:
            time.sleep(0.5)
            windows = subprocess.run(
                ["xwininfo", "-root", "-tree"], env=environment, capture_output=True, text=True, check=False
            ).stdout
        assert TITLE in windows
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 0, process.stdout.read() if process.stdout else ""
    assert processes_of(tmp_path) == []
