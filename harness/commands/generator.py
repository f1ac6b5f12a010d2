"""`scripts/generator`: start a load generator that runs its share of the load of `make run REMOTES=…`."""

from __future__ import annotations

import argparse
import os
import shlex
import socket
import subprocess
import tempfile
import time
from pathlib import Path

from harness.base import process as child
from harness.base.config import load_toml
from harness.base.errors import EXIT_OK, StartError, UsageError
from harness.base.guardian import Guardian
from harness.base.install import toolchain
from harness.base.interrupts import Interrupts
from harness.base.java import jmeter_java_path, jmeter_java_version
from harness.base.log import print_text
from harness.base.open_files import allow_most_open_files
from harness.base.paths import shown
from harness.base.ports import check_port
from harness.base.project import SHIPPED, folder_with
from harness.base.secrets import FILE_NAME as SECRETS_NAME
from harness.base.units import parse_whole_number
from harness.cli.options import take
from harness.plan import spec as specs
from harness.plan.allowed_targets import is_loopback
from harness.run.context import check_java_variables
from harness.run.jmeter.command import environment
from harness.run.jmeter.connections import FOREIGN_NAME, LIST_FOLDER, agent_argument, sampler_option
from harness.run.jmeter.exchanges import STORE_FAILURES
from harness.run.remote import load as generators
from harness.run.remote.keys import check_keys, make_keys
from harness.run.remote.load import KEY_PROPERTIES, KEY_STORE, LOG_NAME, PORT_MAX, READY_LINE, Remote

_PERIOD_S = 0.2
_READY_S = 60.0
_STOP_S = 5.0
_CONSOLE_NAME = "console.log"
_EPILOG = """\
examples:
  lth generator                                       for a harness on this machine only: 127.0.0.1:1099
  lth generator --host 10.0.0.7 --env lb              for other machines, with the heap size of env/lb.toml

It listens on its port and the next one. Connections are encrypted, and only a client with the same keys is accepted.
It deletes its temporary files when it ends.

exit codes: 0 ended by Ctrl-C; 2 wrong use; 3 it did not start, or died.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Set the options of `scripts/generator`."""
    parser.description = (
        "Start a load generator and keep it running until Ctrl-C. It shares the load of `make run REMOTES=…`."
    )
    parser.epilog = _EPILOG
    take(parser, "host port/generator env keys home")


def run(options: argparse.Namespace) -> int:
    """Keep the load generator running until a signal and return 0; StartError when it does not start, or dies."""
    address = _parse_address(options.host, options.port)
    profile = specs.load_profile(folder_with(options.home, "env", options.env), options.env)
    with Interrupts() as interrupts:
        check_java_variables()
        jmeter_java_version()
        home = toolchain.ensure_jmeter()
        classes = toolchain.ensure_generators(home)
        _ready_keys(options.keys, address)
        _check_host(address)
        for number in (address.port, address.port + 1):
            check_port("generator", number)
        allow_most_open_files()
        classpath = os.pathsep.join([str(classes), toolchain.jmeter_classpath(home)])
        settings = SHIPPED / "jmeter" / "jmeter.properties"
        sizes = shlex.split(" ".join(environment(profile).values()))
        agent = toolchain.ensure_agent()
        with Guardian() as guardian, tempfile.TemporaryDirectory(prefix="generator-") as name:
            folder, connections = Path(name), Path(tempfile.mkdtemp(prefix=LIST_FOLDER)) / FOREIGN_NAME
            for path in (folder, connections.parent):
                guardian.remove_at_end(path)
            sampler = shlex.split(sampler_option(toolchain.ensure_sampler(home), is_lean=False))
            sizes += [agent_argument(agent, connections), STORE_FAILURES, *sampler]
            command = generators.server_command(jmeter_java_path(), home, classpath, settings, address, sizes)
            for key in (KEY_STORE, KEY_PROPERTIES):
                (folder / key).symlink_to(options.keys.resolve() / key)
            for log in (LOG_NAME, _CONSOLE_NAME):
                (folder / log).touch()  # the server does not treat files that exist at its start as files of a plan
            variables = {**_secrets(options.home), **guardian.environment}
            console = folder / _CONSOLE_NAME
            process = child.start(child.Launch("generator", command, folder, variables, console, is_jmeter=True))
            try:
                _follow(process, console, address, interrupts)
            finally:
                child.stop(process, _STOP_S)
    return EXIT_OK


def _parse_address(host: str, port: str) -> Remote:
    number = parse_whole_number(port, "PORT", 1024, PORT_MAX)
    (address,) = generators.parse_remotes(f"{host}:{number}", "HOST")
    return address


def _check_host(remote: Remote) -> None:
    """Raise UsageError unless HOST is an address of this machine that others can reach, or a loopback address."""
    todo = "give the name or IPv4 address at which other machines reach this one"
    with socket.socket() as probe:
        try:
            probe.bind((remote.host, 0))
        except OSError as error:
            raise UsageError(f"HOST={remote.host} is not an address of this machine ({error.strerror})", todo) from None
        address: str = probe.getsockname()[0]
    if is_loopback(address) and not remote.is_local:
        raise UsageError(f"HOST={remote.host} is {address} here, which no other machine can reach", todo)


def _secrets(home: Path) -> dict[str, str]:
    """Return the secrets of secrets.toml that the environment lacks: the generator's plans read them."""
    path = home / SECRETS_NAME
    secrets = load_toml(path, "the file of secrets", path.stem) if path.is_file() else {}
    return {name: str(value) for name, value in secrets.items() if name != "format_version" and name not in os.environ}


def _ready_keys(keys: Path, remote: Remote) -> None:
    """Raise UsageError without keys; create them when the generator serves this machine only."""
    if remote.is_local and not keys.exists():
        make_keys(keys)
        print_text(f"{shown(keys)}: created for this machine only; for others use make generator-keys", flush=True)
    check_keys(keys)


def _follow(process: subprocess.Popen[bytes], console: Path, remote: Remote, interrupts: Interrupts) -> None:
    """Print the messages of the generator until Ctrl-C; StartError when it ends by itself."""
    until_s = time.monotonic() + _READY_S
    printed, is_ready = 0, False
    with interrupts.deferred():
        while not interrupts.count:
            code = process.poll()
            text = console.read_text(errors="replace")
            for line in text[printed : text.rfind("\n") + 1].splitlines():
                if line == READY_LINE:
                    is_ready = True
                    print_text(f"generator listens at {remote.name}; Ctrl-C ends it", flush=True)
                elif line.startswith("generator: "):
                    print_text(line, flush=True)
            printed = max(printed, text.rfind("\n") + 1)
            if code is not None:
                tail = child.tail_of(console, console.with_name(LOG_NAME))
                raise StartError(f"the generator ended with exit code {code}", "see below", tail)
            if not is_ready and time.monotonic() > until_s:
                raise StartError(
                    f"the generator is not ready after {_READY_S:.0f} s", "see below", child.tail_of(console)
                )
            time.sleep(_PERIOD_S)
