"""The Makefile and the scripts as a user meets them."""

import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest
import zstandard

from tests.support.commands import command
from tests.support.paths import ROOT


def make(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", "-C", str(ROOT), "--no-print-directory", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


@pytest.mark.real
@pytest.mark.parametrize("folder", ["plans", "env"])
def test_make_alone_names_every_plan_and_profile(folder):
    names = {path.name.removesuffix(".toml") for path in (ROOT / folder).glob("*.toml")}
    assert names <= set(make().stdout.split())


@pytest.mark.parametrize(
    "script",
    [
        "scripts/run",
        "scripts/sweep",
        "scripts/capacity",
        "scripts/overload",
        "scripts/ab",
        "scripts/tune",
        "scripts/bisect",
        "scripts/trust",
        "scripts/nightly",
        "scripts/system",
        "aggregate.py",
    ],
)
def test_help_teaches_with_examples(script):
    done = command(script, "--help")
    assert done.returncode == 0
    assert "example" in done.stdout


def tools_without(tmp_path: Path, **fakes: str) -> str:
    """Return a PATH with the few tools that the scripts need and the given fake ones alone."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for tool in ("bash", "env", "dirname", "sed", "awk", "git", "make", "sh"):
        found = next(Path(part) / tool for part in os.environ["PATH"].split(":") if (Path(part) / tool).exists())
        (folder / tool).symlink_to(found)
    for name, script in fakes.items():
        path = folder / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
    return str(folder)


REAL_PYTHON = f'exec "{ROOT}/.venv/bin/python" "$@"'
JAVA_17 = "echo 'openjdk version \"17.0.15\" 2025-04-15' >&2"


@pytest.mark.parametrize(
    ("fakes", "message"),
    [
        ({}, "Python 3.11 or newer is missing (no python3 on PATH); install python3.11"),
        (
            {"python3": 'case "$1" in -c) exit 1;; *) echo Python 3.9.2;; esac'},
            "Python 3.11 or newer is missing (Python 3.9.2)",
        ),
        ({"python3": REAL_PYTHON}, "Java is missing (java does not run); install a JDK of Java 17"),
        (
            {"python3": REAL_PYTHON, "java": "echo 'openjdk version \"11.0.2\"' >&2"},
            "Java 11.0.2 is too old; install a JDK of Java 17",
        ),
    ],
    ids=["no python", "old python", "no java", "old java"],
)
def test_a_missing_or_old_tool_is_one_line_that_says_what_to_install(tmp_path, fakes, message):
    environment = {"PATH": tools_without(tmp_path, **fakes), "HOME": str(tmp_path)}
    done = subprocess.run(
        ["make", "-C", str(ROOT), "--no-print-directory", "setup"],
        capture_output=True, text=True, check=False, env=environment,
    )  # fmt: skip
    assert done.returncode == 2
    said = [line for line in done.stderr.splitlines() if not line.startswith("make")]
    assert len(said) == 1
    assert message in said[0]


@pytest.mark.parametrize(
    ("fakes", "message"),
    [
        ({}, "Maven is missing (mvn does not run); install Maven 3.6 or newer (maven)"),
        ({"mvn": "echo Apache Maven 3.0.5"}, "Maven is too old: Apache Maven 3.0; install Maven 3.6 or newer"),
    ],
    ids=["none", "old"],
)
def test_a_missing_or_old_maven_is_one_line_that_says_what_to_install(tmp_path, fakes, message):
    code = "from harness.base.errors import HarnessError\nfrom harness.base.install import toolchain\n"
    code += "try:\n    toolchain.check_maven()\nexcept HarnessError as error:\n    print(error)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True, text=True, check=True, cwd=ROOT, env={"PATH": tools_without(tmp_path, **fakes)},
    )  # fmt: skip
    assert done.stdout.strip().startswith(message)


JTL = "timeStamp,elapsed,label,success\n1700000000000,5,Pay,true\n"


def outside_venv(program: Path, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program with the Python that .venv was made of; without `site` it has no packages at all."""
    return subprocess.run(
        [sys._base_executable, "-S", program, *arguments],
        capture_output=True, text=True, check=False, env={**os.environ, **environment},
    )  # fmt: skip


@pytest.mark.real
def test_a_program_that_another_python_starts_has_the_packages_of_venv(tmp_path):
    path = tmp_path / "samples.jtl.zst"
    path.write_bytes(zstandard.compress(JTL.encode()))
    done = outside_venv(ROOT / "aggregate.py", "table", path)
    assert "| Pay | 1 |" in done.stdout, done.stderr


@pytest.mark.real
def test_where_python_may_not_write_bytecode_it_is_kept_in_build_and_not_in_the_checkout(tmp_path):
    for name in ("harness", "aggregate.py", "requirements.txt"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tmp_path / name)
    for folder in [*tmp_path.rglob("__pycache__")]:
        shutil.rmtree(folder)
    (tmp_path / "build").mkdir()
    (tmp_path / ".venv").symlink_to(sys.prefix)
    (tmp_path / "samples.jtl").write_text(JTL)
    variables = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPYCACHEPREFIX": ""}
    assert outside_venv(tmp_path / "aggregate.py", "table", tmp_path / "samples.jtl", **variables).returncode == 0
    assert {"verbs", "program", "tally"} <= {path.name.split(".")[0] for path in (tmp_path / "build").rglob("*.pyc")}
    assert not [*tmp_path.glob("harness/**/__pycache__")]


@pytest.mark.real
def test_a_system_stays_up_until_it_is_interrupted(home, tmp_path):
    command = [
        sys.executable,
        ROOT / "scripts" / "system",
        "--plan",
        "tiny",
        "--home",
        home,
        "--logs",
        tmp_path / "logs",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        line = next(line for line in process.stdout if "listens at" in line)
        address = re.search(r"http://\S+(?=;)", line)[0]
        assert urllib.request.urlopen(address, timeout=10).status == 200
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 0
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(address, timeout=10)


@pytest.mark.real
@pytest.mark.skipif(os.geteuid() == 0 and not shutil.which("setpriv"), reason="root may read everything")
def test_a_venv_whose_python_this_user_may_not_read_is_one_line_that_says_what_to_do(tmp_path):
    shutil.copytree(ROOT / "harness", tmp_path / "harness", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("aggregate.py", "requirements.txt"):
        shutil.copy(ROOT / name, tmp_path)
    base = tmp_path / "closed" / "python3"
    base.parent.mkdir()
    base.write_text("#!/bin/sh\n")
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".venv" / "bin" / "python").symlink_to(base)
    shutil.copy(ROOT / "requirements.txt", tmp_path / ".venv" / ".installed-requirements.txt")
    powers = "-dac_override,-dac_read_search"  # what lets root read everything
    bound = ["setpriv", f"--inh-caps={powers}", f"--bounding-set={powers}"] if os.geteuid() == 0 else []
    base.parent.chmod(0)
    try:
        done = subprocess.run(
            [*bound, sys._base_executable, "-S", tmp_path / "aggregate.py", "table", "samples.jtl"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    finally:
        base.parent.chmod(0o700)
    what = f"aggregate.py: {tmp_path}/.venv: its Python {base} may not be read by this user"
    todo = "make it readable, or remove .venv and run lth setup as this user"
    assert (done.returncode, done.stderr) == (2, f"{what}; {todo}\n")
