"""Creates and checks the key store with which generators and the harness authenticate each other."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from harness.base.errors import StartError, UsageError
from harness.base.java import java_context
from harness.base.writable import writing_into
from harness.run.remote.load import KEY_PROPERTIES, KEY_STORE

_VALID_DAYS = 3650
_TIMEOUT_S = 60
_PASSWORD_VARIABLE = "GENERATOR_KEYS_PASSWORD"
_PROPERTIES = """\
# The key settings of JMeter's RMI. All machines have the same two files; other users must not read them.
server.rmi.ssl.keystore.type=PKCS12
server.rmi.ssl.keystore.file={store}
server.rmi.ssl.keystore.alias=rmi
server.rmi.ssl.keystore.password={password}
# The base of the ports on which the harness receives samples; 0 uses free ports. Behind a firewall open the four ports
# above this number.
client.rmi.localport=0
"""


def make_keys(folder: Path) -> None:
    """Create the key store in a new folder that only this user can read; UsageError when the folder exists."""
    if folder.exists():
        raise UsageError(f"{folder} exists already", "to create new keys, remove it first on every machine")
    draft = folder.with_name(f".{folder.name}.new")
    shutil.rmtree(draft, ignore_errors=True)
    with writing_into(folder.parent):
        draft.mkdir(mode=0o700, parents=True)
    password = secrets.token_hex(16)
    try:
        _run_keytool(draft, password)
        properties = _PROPERTIES.format(store=KEY_STORE, password=password)
        for name, text in ((KEY_PROPERTIES, properties), (".gitignore", "*\n")):
            (draft / name).touch(mode=0o600)
            (draft / name).write_text(text, encoding="utf-8")
        (draft / KEY_STORE).chmod(0o600)
        draft.rename(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def check_keys(folder: Path) -> None:
    """Raise a UsageError unless both files exist and no other user can read them."""
    for name in (KEY_STORE, KEY_PROPERTIES):
        path = folder / name
        if not path.is_file():
            todo = "create it with make generator-keys, or copy the whole folder from a generator that has it"
            raise UsageError(f"{path} is missing", todo)
        if path.stat().st_mode & 0o077:
            raise UsageError(f"{path} can be read by other users", f"chmod -R go= {folder}")


def _run_keytool(folder: Path, password: str) -> None:
    """Run the JDK's keytool; the password is passed in the environment, which `ps` does not show."""
    java_bin = java_context().get("java_bin")
    keytool = Path(java_bin) / "keytool" if java_bin else Path("keytool")
    command: Sequence[str] = [
        str(keytool), "-genkeypair", "-alias", "rmi", "-keyalg", "EC", "-groupname", "secp256r1",
        "-keystore", str(folder / KEY_STORE), "-storetype", "PKCS12", "-storepass:env", _PASSWORD_VARIABLE,
        "-validity", str(_VALID_DAYS), "-dname", "CN=load generators",
    ]  # fmt: skip
    environment = {**os.environ, _PASSWORD_VARIABLE: password}
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        raise StartError(f"{keytool} does not run", "install a JDK") from None
    if done.returncode:
        raise StartError("keytool created no key store", "see below", (done.stdout + done.stderr).strip())
