"""The set-up of a fresh clone, with fakes of uv, Maven and the JDK at the edge of the process."""

import os
import re
import runpy
import shutil
import subprocess
import sys
import time
import types
from http.server import BaseHTTPRequestHandler

import pytest

from harness.base.errors import StartError, UsageError
from harness.base.install import setup_step
from harness.base.install.first_setup import system_arguments
from harness.base.install.integrity import LOCK_NAME
from harness.base.install.python_packages import is_installed, small_packages
from harness.base.install.setup_step import downloaded_bytes
from harness.cli.verbs import main
from tests.support.local_server import serving
from tests.support.paths import ROOT
from tests.support.processes import is_running, wait_for

# Each waits for the other one: one after the other they would fail.
UV = """
case "$1" in
venv) mkdir -p .venv/bin && ln -s "$REAL_PYTHON" .venv/bin/python;;
pip) touch uv-runs; echo 'Downloading pandas (10.5MiB)'; wait_for mvn-runs;;
esac
"""
MAVEN = """
[ "$1" = -v ] && { echo Apache Maven 3.9.9; exit; }
touch mvn-runs
for word; do case "$word" in -Djmeter.home=*) home="${word#*=}"; mkdir -p "$home/bin" "$home/lib";; esac; done
echo 'Downloaded from central: https://repo.example.org/jmeter.jar (2.5 MB at 1.1 MB/s)'
wait_for uv-runs
"""
# A uv that installs a zstandard of one line.
ZSTD_UV = (
    UV
    + """
case "$*" in *requirements/zstd.txt) mkdir -p site; echo "packed = 'really'" > site/zstandard.py;; esac
"""
)
# The Python of its environment prepares a system; that and the large packages wait for each other.
SYSTEM_UV = """
echo "$*" >> uv-calls
case "$*" in
venv*) mkdir -p .venv/bin && cp bin/system-python .venv/bin/python;;
*--no-deps*) [ ! -e system-runs ] || exit 9; for word; do file=$word; done; cat "$file" > small.txt;;
*) touch uv-runs; wait_for system-runs;;
esac
"""
SYSTEM_PYTHON = 'echo "$*" > system-runs; wait_for uv-runs'
WAIT = 'wait_for() { n=0; until [ -e "$1" ]; do n=$((n + 1)); [ $n -lt 100 ] || exit 9; sleep 0.05; done; }'
JAVAC = 'while [ "$1" != -d ]; do shift; done; mkdir -p "$2"'


@pytest.fixture
def clone(tmp_path):
    """Return a function that makes a fresh clone's tools and starts its set-up."""
    for name in ("harness", "scripts", "jmeter", "plans"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "jmeter" / LOCK_NAME).unlink()  # the fake Maven brings no jars
    shutil.copytree(ROOT / "requirements", tmp_path / "requirements")
    shutil.copy(ROOT / "requirements.txt", tmp_path)

    def started(uv=UV, maven=MAVEN, code=""):
        tools = {"uv": uv, "mvn": maven, "java": "echo 'openjdk version \"17.0.15\"' >&2", "javac": JAVAC}
        tools["system-python"] = SYSTEM_PYTHON
        (tmp_path / "bin").mkdir()
        for name, text in tools.items():
            path = tmp_path / "bin" / name
            path.write_text(f"#!/bin/sh\ncd {tmp_path}\n{WAIT}\n{text}\n")
            path.chmod(0o755)
        variables = {name: value for name, value in os.environ.items() if name not in ("JAVA_HOME", "JMETER_HOME")}
        variables |= {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "REAL_PYTHON": sys.executable}
        command = [sys.executable, *(["-c", code] if code else [str(tmp_path / "scripts" / "setup")])]
        return subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, env=variables)

    return started


@pytest.mark.real
def test_packages_and_jmeter_are_installed_at_the_same_time_with_their_sizes(clone, tmp_path):
    process = clone()
    text = process.communicate(timeout=60)[1]
    assert process.returncode == 0, text
    for what, size in (("Python packages into .venv", "10.5"), ("JMeter and its plugins from Maven Central", "2.5")):
        assert re.search(rf"^setup: {re.escape(what)}: done in \d+ s, {size} MB downloaded$", text, re.MULTILINE), text
    assert (tmp_path / "build" / "jmeter" / "bin" / "jmeter").is_file()


@pytest.mark.real
def test_a_system_is_prepared_while_the_large_packages_are_installed(clone, tmp_path):
    process = clone(
        uv=SYSTEM_UV, code="from harness.base.install.first_setup import set_up\nset_up(['--plan=lb-direct'])"
    )
    text = process.communicate(timeout=60)[1]
    assert process.returncode == 0, text
    assert "setup: the plan's system: done" in text
    assert (tmp_path / "system-runs").read_text().endswith("'lth')) --plan=lb-direct\n")
    new, few, rest = (tmp_path / "uv-calls").read_text().splitlines()
    assert new.startswith("venv ")
    assert all(" --require-hashes " in call for call in (few, rest))
    small = (tmp_path / "small.txt").read_text().splitlines()
    assert "Jinja2==3.1.6 \\" in small and "pandas" not in "".join(small)
    assert sum(line.startswith("    --hash=sha256:") for line in small) > len(small) / 2
    assert rest.endswith("-r " + str(tmp_path / "requirements.txt"))


@pytest.mark.real
def test_what_prepares_a_system_needs_no_large_package():
    names = [line.split("==")[0] for line in (ROOT / "requirements.txt").read_text().splitlines() if "==" in line]
    small = {pin.split("==")[0] for pin in small_packages(ROOT / "requirements.txt")}
    large = [name for name in names if name not in small]
    assert "pandas" in large and len(small) > len(large)
    code = f"import sys; sys.modules.update(dict.fromkeys({large})); import harness.commands.system"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_package_is_pinned_with_hashes():
    for file in (ROOT / "requirements.txt", *(ROOT / "requirements").glob("*.txt")):
        text = re.sub(r" \\\n +", " ", file.read_text())
        lines = [line for line in text.splitlines() if not line.startswith(("#", "-r "))]
        pin = re.compile(r"[\w.-]+==[\w.!]+( --hash=sha256:[0-9a-f]{64})+")
        assert [line for line in lines if not pin.fullmatch(line)] == []


def test_the_wheel_needs_the_plain_pins(monkeypatch):
    given = {}
    fake = types.SimpleNamespace(setup=given.update, find_packages=lambda include: include)
    monkeypatch.setitem(sys.modules, "setuptools", fake)
    runpy.run_path(str(ROOT / "setup.py"))
    assert "Jinja2==3.1.6" in given["install_requires"]
    assert given["extras_require"]["zstd"] == ["zstandard==0.25.0"]
    assert "hash" not in str(given)


@pytest.mark.real
def test_a_download_that_fails_is_one_line_with_the_end_of_its_log(clone):
    process = clone(maven='[ "$1" = -v ] && { echo Apache Maven 3.9.9; exit; }; touch mvn-runs; echo no route; exit 1')
    text = process.communicate(timeout=60)[1]
    assert process.returncode == 3
    errors = [line for line in text.splitlines() if not line.startswith("setup: ")]
    what = "scripts/setup: set-up failed: mvn ended with exit code 1; check the network or Maven's settings"
    assert errors == [what, "no route"]


@pytest.mark.real
def test_a_server_that_says_nothing_is_asked_again_and_then_named(tmp_path, monkeypatch):
    asked = []

    class Silent(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            time.sleep(1)

    (tmp_path / "pom.xml").write_text(
        "<project><modelVersion>4.0.0</modelVersion><groupId>a</groupId><artifactId>b</artifactId><version>1</version></project>"
    )
    with serving(Silent) as port:
        mirror = f"<id>m</id><mirrorOf>*</mirrorOf><url>http://127.0.0.1:{port}/m</url><blocked>false</blocked>"
        (tmp_path / "settings.xml").write_text(
            f"<settings><localRepository>{tmp_path}/repository</localRepository>"
            f"<mirrors><mirror>{mirror}</mirror></mirrors></settings>"
        )
        monkeypatch.setenv("MAVEN_OPTS", "-Dmaven.wagon.rto=200 -Daether.connector.requestTimeout=200")
        with setup_step.step("a plugin", tmp_path / "log") as one, pytest.raises(StartError) as refused:
            setup_step.run(["mvn", "-B", "-s", "settings.xml", "package"], one, tmp_path, "check the network")
    assert "mvn ended with exit code 1; check the network" in str(refused.value)
    assert "Read timed out" in (tmp_path / "log").read_text()
    assert len(asked) == 4
    assert len(set(asked)) == 1


@pytest.mark.real
def test_a_full_disk_is_one_line_and_nothing_half_built_is_left(clone, tmp_path):
    full = (
        'for word; do case "$word" in -Djmeter.home=*) mkdir -p "${word#*=}"; echo x > "${word#*=}/part";; esac; done; '
    )
    full += "echo 'part.jar: No space left on device'; exit 1"
    process = clone(maven=f'[ "$1" = -v ] && {{ echo Apache Maven 3.9.9; exit; }}; touch mvn-runs; {full}')
    text = process.communicate(timeout=60)[1]
    assert process.returncode == 3
    what = f"JMeter and its plugins from Maven Central: no space left on device; free disk space for {tmp_path}/build"
    assert [line for line in text.splitlines() if not line.startswith("setup: ")] == [
        f"scripts/setup: {what}, or set XDG_CACHE_HOME"
    ]
    assert not [*(tmp_path / "build").glob("jmeter*/")]


@pytest.mark.real
def test_packages_that_fail_end_the_other_downloads(clone, tmp_path):
    # Neither uv nor pip can make an environment of a file.
    (tmp_path / ".venv").touch()
    slow = '[ "$1" = -v ] && { echo Apache Maven 3.9.9; exit; }; echo $$ > mvn-runs; exec sleep 61'
    process = clone(uv="wait_for mvn-runs; exit 1", maven=slow)
    text = process.communicate(timeout=60)[1]
    assert process.returncode == 3
    assert "setup: Python packages into .venv: uv failed, pip is used instead\n" in text
    assert next(line for line in text.splitlines() if line.startswith("scripts/setup: ")).endswith("(ensurepip)")
    wait_for(lambda: not is_running(int((tmp_path / "mvn-runs").read_text())), 40)


@pytest.mark.real
def test_an_interrupted_set_up_leaves_nothing_behind(clone, tmp_path):
    slow = '[ "$1" = -v ] && { echo Apache Maven 3.9.9; exit; }; echo $$ > mvn-runs; exec sleep 61'
    process = clone(uv=f"{UV}\n[ $1 = venv ] || {{ echo $$ > uv-pid; exec sleep 61; }}", maven=slow)
    files = [tmp_path / "mvn-runs", tmp_path / "uv-pid"]
    wait_for(lambda: all(file.is_file() and file.read_text().strip() for file in files))
    process.terminate()
    text = process.communicate(timeout=60)[1]
    assert process.returncode == 130
    assert text.splitlines()[-1] == "scripts/setup: interrupted; run it again to finish"
    wait_for(lambda: not any(is_running(int(file.read_text())) for file in files), 40)
    assert not (tmp_path / ".venv" / ".installed-requirements.txt").exists()


def test_sizes_of_downloads_are_read_from_the_logs_of_maven_pip_and_uv():
    text = """
[INFO] Downloading from central: https://repo.example.org/a.pom
[INFO] Downloaded from central: https://repo.example.org/a.pom (900 B at 4.1 kB/s)
Downloaded from central: https://repo.example.org/b.jar (65 kB at 1.2 MB/s)
Collecting pandas==3.1.1 (from -r requirements.txt (line 8))
  Downloading pandas-3.1.1-cp311-cp311-manylinux_2_24_x86_64.whl (12.4 MB)
  Using cached rich-15.0.0-py3-none-any.whl (250 kB)
Downloading numpy (15.9MiB)
"""
    assert downloaded_bytes(text) == pytest.approx(900 + 65e3 + 12.4e6 + 15.9e6)


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ([], ["--prepare-only"]),
        (["--plan", "lb-direct", "--users", "5"], ["--prepare-only", "--plan=lb-direct"]),
        (["--plan=thruzero", "--env=folio", "--note", "--x"], ["--prepare-only", "--plan=thruzero", "--env=folio"]),
        (["--plan", "lb-direct", "--target", "http://127.0.0.1:8080"], []),
        (["--plan"], []),
    ],
)
def test_the_system_of_a_program_is_that_of_its_plan_unless_there_is_a_target(arguments, options):
    assert system_arguments(arguments) == options


def test_an_environment_with_all_pinned_versions_needs_no_installation(tmp_path):
    packages = tmp_path / "lib" / "python3.11" / "site-packages"
    for name in ("Jinja2-3.1.6", "mdit_py_plugins-0.7.0", "python_dateutil-2.9.0.post0", "scipy-1.17.1"):
        (packages / f"{name}.dist-info").mkdir(parents=True)
    wanted = tmp_path / "requirements.txt"
    wanted.write_text("# what it needs\njinja2==3.1.6\nmdit-py-plugins==0.7.0\npython-dateutil==2.9.0.post0\n")
    assert is_installed(wanted, tmp_path)
    wanted.write_text("-r other.txt\njinja2==3.1.7\n")
    assert not is_installed(wanted, tmp_path)


@pytest.mark.real
def test_the_first_zst_file_installs_zstandard_with_a_progress_line(clone, tmp_path):
    clone(uv=ZSTD_UV).communicate(timeout=60)
    code = (
        "from harness.base.install.python_packages import ensure_zstandard\nensure_zstandard()\n"
        "import zstandard\nprint(zstandard.packed)"
    )
    variables = {**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "PYTHONPATH": str(tmp_path / "site")}
    command = [sys._base_executable, "-S", "-c", code]
    for printed in ("setup: zstandard, for .zst files and S3: one-time set-up", ""):
        done = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True, check=False)
        assert done.stdout == "really\n", done.stderr
        assert done.stderr.startswith(printed) and bool(done.stderr) == bool(printed)


def test_several_plans_are_for_preparing_only():
    with pytest.raises(UsageError, match="--plan lb-nginx lb-jvm: only one system can be started; give one plan"):
        main(["--plan", "lb-nginx", "lb-jvm"], "scripts/system")
