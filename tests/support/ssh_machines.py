"""Machines that ssh reaches, on loopback addresses: a real sshd for each, as the user who runs the tests."""

from __future__ import annotations

import contextlib
import getpass
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
_CONFIG = """\
Port {port}
ListenAddress {address}
HostKey {folder}/host
PidFile none
AuthorizedKeysFile {folder}/client.pub
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin yes
SetEnv {variables}
"""
_CLIENT = """\
Host *
  User {user}
  Port {port}
  IdentityFile {folder}/client
  UserKnownHostsFile {folder}/known_hosts
  StrictHostKeyChecking accept-new
  LogLevel ERROR
"""


@contextlib.contextmanager
def ssh_machines(folder: Path, machines: Mapping[str, Mapping[str, str]]) -> Iterator[Path]:
    """Start an sshd at each loopback address, with variables of its sessions; yield a folder with an ssh for PATH."""
    assert SSHD
    for name in ("host", "client"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with contextlib.ExitStack() as stack:
        for address, variables in machines.items():
            config = folder / f"sshd-{address}.conf"
            settings = " ".join(f'"{name}={value}"' for name, value in variables.items())
            config.write_text(_CONFIG.format(port=port, address=address, folder=folder, variables=settings))
            command = [SSHD, "-D", "-f", config, "-E", folder / f"sshd-{address}.log"]
            process = stack.enter_context(subprocess.Popen(command))
            stack.callback(process.terminate)
            _wait_for(address, port)
        (folder / "config").write_text(_CLIENT.format(port=port, folder=folder, user=getpass.getuser()))
        ssh = folder / "bin" / "ssh"
        ssh.parent.mkdir()
        ssh.write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {folder}/config "$@"\n')
        ssh.chmod(0o755)
        yield ssh.parent


def _wait_for(address: str, port: int) -> None:
    for _ in range(100):
        with contextlib.suppress(OSError), socket.create_connection((address, port), timeout=1):
            return
        time.sleep(0.05)
    raise AssertionError(f"no sshd listens at {address}:{port}")
