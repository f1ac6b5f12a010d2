"""Fixtures shared by the tests: a home with one tiny plan, and scripts/run as a user calls it."""

from __future__ import annotations

import contextlib
import gc
import http.server
import importlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from harness.base.guardian import RUNS_VARIABLE
from harness.base.install import toolchain
from harness.base.install.class_data import store_class_data
from harness.base.java import jmeter_java_version
from harness.base.project import BUILD
from harness.cli import entry
from harness.run.directory import ID_VARIABLE
from tests.support.commands import command
from tests.support.local_server import serving
from tests.support.not_run import summary_of
from tests.support.paths import FAKE_JMETER, ROOT
from tests.support.processes import QUICK_JVM, interrupted_after
from tests.support.tiny import Run, Start, arguments_of_run, tiny_home

pytest_plugins = ("tests.support.steady_clock",)

# The files and folders that take longest. `make test` begins with them, so that no worker is alone with one at the end.
LONGEST = (
    "systems/killbill/test_main_job.py",
    "program/test_installed.py",
    "run/test_real_jmeter.py",
    "run/test_survival.py",
    "kinds/nightly/test_nightly_driver.py",
    "run/jmeter/test_teardown.py",
    "sweep/test_sweep_driver.py",
    "run/test_run.py",
    "site/test_every_width.py",
    "storage/test_s3.py",
    "kinds/ab/test_ab_driver.py",
    "plans/test_killbill_plan.py",
    "plans/test_folio_checkin.py",
    "plans/test_folio_mixed.py",
    "plans/test_thruzero_plan.py",
    "program/test_fresh_clone.py",
    "system/test_supervisor.py",
    "run/test_off_host.py",
    "run/test_sampler.py",
    "run/replay/test_replay.py",
    "experiment/test_every_kind.py",
)

# No deadline for an example: on a busy machine one that takes long is no failure. A CI that is red is so because of its
# commit: there the examples are the same each time. Each `make test` by hand tries others, and so does CI once a week.
settings.register_profile("harness", max_examples=40, deadline=None, derandomize=bool(os.environ.get("HARNESS_CI")))
settings.load_profile("harness")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest files first; the order within a file stays."""
    tests = Path(__file__).parent
    rank = {tests / name: index for index, name in enumerate(LONGEST)}
    items.sort(key=lambda item: rank.get(item.path, rank.get(item.path.parent, len(rank))))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print at the end how many tests were not run for which missing program, and what installs them."""
    reasons = (str(report.longrepr) for report in terminalreporter.stats.get("skipped", ()))
    for line in summary_of(reasons):
        terminalreporter.write_line(line, yellow=True)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Collect without looking for garbage, which takes a quarter of the time: what is imported is none."""
    gc.disable()
    try:
        import_all(session)
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(20_000, 20, 20)  # tests leave few cycles behind
        gc.enable()


def import_all(session: pytest.Session) -> None:
    """Import all modules of tests, each worker from another one on.

    In a fresh clone nothing is compiled. So each worker compiles another part, and not all of them everything.
    """
    worker, count = os.environ.get("PYTEST_XDIST_WORKER"), int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    tests = Path(__file__).parent
    if not worker or [Path(name).resolve() for name in session.config.args] != [tests]:
        return
    paths = sorted(path for path in tests.rglob("test_*.py") if not _is_left_out(path, session.config))
    first = len(paths) * int(worker.removeprefix("gw")) // count
    for path in paths[first:] + paths[:first]:
        with contextlib.suppress(Exception, pytest.skip.Exception):  # the collection reports it
            importlib.import_module(".".join(path.relative_to(tests.parent).with_suffix("").parts))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import no module whose tests are all `real` where these are left out: boto3 and others take long to load."""
    return _is_left_out(collection_path, config) or None


def _is_left_out(path: Path, config: pytest.Config) -> bool:
    if not config.option.markexpr.startswith("not real") or path.suffix != ".py":
        return False
    return "\npytestmark = pytest.mark.real\n" in path.read_text()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder with the tiny plan, profile and system."""
    return tiny_home(tmp_path)


@pytest.fixture(autouse=True, scope="session")
def _no_other_runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Give each worker its own folder of runs: runs of other tests are on, and killed, at the same time.

    In a workflow of GitHub no test writes into the summary of its step. With `nohup make test` they ignore no signal.
    """
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(RUNS_VARIABLE, str(tmp_path_factory.mktemp("runs") / "runs"))
        patch.delenv("GITHUB_STEP_SUMMARY", raising=False)
        yield


@pytest.fixture(autouse=True, scope="session")
def _trusted_projects(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Trust the projects that tests make; tests/run/test_consent.py and others take this back."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LTH_TRUST", "1")
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(autouse=True, scope="session")
def _names_without_ids() -> Iterator[None]:
    """Give new runs and experiments the names that tests expect: run-01_1 without a random id."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(ID_VARIABLE, "")
        yield


@pytest.fixture(autouse=True, scope="session")
def _quick_starts() -> Iterator[None]:
    """Start JMeters and scripts quickly: most tests wait for nothing else, and none is about how fast a JMeter becomes.

    The start script of JMeter reads GC_ALGO. Scripts that ask for `python3` get that of .venv, which is the right one.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GC_ALGO", f"{QUICK_JVM} -XX:+UseSerialGC")
        patch.setenv("MAVEN_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        patch.setenv("PATH", str(Path(sys.prefix) / "bin"), prepend=os.pathsep)
        yield


@pytest.fixture(autouse=True, scope="session")
def _lth_on_the_path(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Have lth on the PATH, as an installed user has it. tests/program/test_spelling.py is about others."""
    folder = tmp_path_factory.mktemp("programs")
    (folder / "lth").symlink_to(ROOT / "scripts" / "lth")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(folder), prepend=os.pathsep)
        yield


@pytest.fixture(autouse=True, scope="session")
def _set_up(pytestconfig: pytest.Config) -> None:
    """Compile what a run needs before the first test: the messages of the one-time set-up belong to no test."""
    agent = toolchain.ensure_agent()
    toolchain.ensure_counter()
    if (BUILD / "jmeter").is_dir() and not pytestconfig.option.markexpr.startswith("not real"):
        store_class_data(toolchain.ensure_jmeter(), agent, jmeter_java_version())


@pytest.fixture
def start_run(home: Path, tmp_path: Path) -> Start:
    """Start scripts/run with the fake JMeter on the tiny plan; output is captured as text."""

    def start(*arguments: str, mode: str = "works", **environment: str) -> subprocess.Popen[str]:
        command = [sys.executable, str(ROOT / "scripts" / "run"), *arguments_of_run(home, tmp_path, arguments)]
        variables = {**os.environ, "JMETER_HOME": str(FAKE_JMETER), "FAKE_JMETER": mode, **environment}
        return subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=variables, start_new_session=True
        )

    return start


@pytest.fixture
def run(home: Path, tmp_path: Path) -> Run:
    """Run scripts/run to its end as a part of this process: that is quicker than in one of its own."""

    def to_the_end(*arguments: str, mode: str = "works", **environment: str) -> subprocess.CompletedProcess[str]:
        variables = {"JMETER_HOME": str(FAKE_JMETER), "FAKE_JMETER": mode, **environment}
        with interrupted_after(180):
            return command("scripts/run", *arguments_of_run(home, tmp_path, arguments), **variables)

    return to_the_end


@pytest.fixture
def refused(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., str]:
    """Return what scripts/run writes to stderr when it ends with code 2, as part of this process: that is quick."""

    def stderr_of(*arguments: str, **environment: str) -> str:
        for name, value in ({"JMETER_HOME": str(FAKE_JMETER)} | environment).items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(sys, "argv", ["scripts/run", *arguments_of_run(home, tmp_path, arguments)])
        assert entry.code_of("scripts/run") == 2
        assert not list((tmp_path / "reports").rglob("run-*"))
        return capsys.readouterr().err

    return stderr_of


class _Quiet(http.server.SimpleHTTPRequestHandler):
    """Logs nothing: stderr belongs to the command that runs in this process."""

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def target() -> Iterator[str]:
    """The address of an HTTP server that is not ours to start."""
    with serving(_Quiet) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.fixture
def charts(tmp_path):
    """What the chart library leaves, in small."""
    for library in ("chart.js", "chartjs-plugin-zoom"):
        folder = tmp_path / "charts" / library / "1.0"
        (folder / "dist").mkdir(parents=True)
        (folder / "dist" / f"{library}.min.js").write_text("// nothing")
        (folder / "LICENSE.md").write_text("MIT")
    return tmp_path / "charts"
